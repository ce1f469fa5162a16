/*
 * Calibration: what the GPU, its driver and this machine can do for one kind of iteration, from
 * short runs in each of which nothing else can be the limit (explain/calibration.h says which).
 */
#ifndef MPSWEEP_ORCHESTRATOR_CALIBRATE_H
#define MPSWEEP_ORCHESTRATOR_CALIBRATE_H

#include "explain/calibration.h"
#include "orchestrator/round.h"

/* Told before each run: what is measured, in a few words. */
typedef void (*calibrate_progress)(void *data, const char *what);

/*
 * Measures all figures for the iteration of `like`, whose binding holds, too; about half a minute
 * on an H200. What several GPUs may share is measured on so many at once as `like` has, too.
 * Windows are short, and not longer than the limits' duration; the timeout holds, and no run is
 * begun after ready_by_ns, where it is set. progress may be NULL. Layouts over MPS are kept to the
 * limits that are known, and are left out where there is no MPS.
 *
 * A run that fails leaves its figure at 0, or at what smaller runs gave, and a note that says why;
 * so does one for which no time is left. Any other status than OK is about the session, as that of
 * round_run(): STATUS_INTERRUPTED after a signal. *out is set only on success.
 */
enum status calibrate_run(struct session *session, const struct point *like,
                          const struct round_limits *limits, calibrate_progress progress,
                          void *data, struct calibration_record *out);

#endif
