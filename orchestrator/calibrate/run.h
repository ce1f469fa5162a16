/*
 * Calibration: what the GPU, its driver and this machine can do for one kind of iteration, from
 * short runs in each of which nothing else can be the limit (see explain/calibration.h).
 */
#pragma once

#include "explain/calibration.h"
#include "orchestrator/crew/crew.h"
#include "orchestrator/round/round.h"

/* A figure whose windows differ by more is measured again. */
#define CALIBRATE_SPREAD_REL 0.05

/* Called before each run: what is measured, in a few words, and how many steps are done. */
typedef void (*calibrate_progress)(void *data, const char *what, unsigned done);

/* What a calibration begins with: what it is for, and what holds for it, too, of those that are
 * known, the latest of them first. They are of the session's GPUs. */
void calibrate_prepare(const struct session *session, const struct point *like,
                       const struct calibration_record *known, size_t count,
                       struct calibration_record *out);

/* Figures that are left to be measured. */
unsigned calibrate_steps(const struct calibration_record *prepared);

/*
 * Measures what `record`, prepared, lacks for the iteration of `like`, whose binding holds, too:
 * all of it takes about ten seconds on an H200. What
 * several GPUs may share is measured on as many at once as `like` has, too. Windows are short, and
 * not longer than the limits' duration; the timeout holds, and no run is begun after ready_by_ns,
 * where it is set. progress may be NULL. Layouts over MPS are kept to the limits that are known,
 * and are left out where there is no MPS.
 *
 * The crew is that of another calibration, or empty, and is left parked for the next one: the
 * caller dismisses it, whatever this returns.
 *
 * A run that fails leaves its figure at 0, or at what smaller runs gave, and a note with the
 * reason; so does one for which no time is left. Any other status than OK is about the session, as
 * that of round_run(): STATUS_INTERRUPTED after a signal. The record changes only on success.
 */
enum status calibrate_run(struct session *session, struct crew *crew, const struct point *like,
                          const struct round_limits *limits, calibrate_progress progress,
                          void *data, struct calibration_record *record);
