/*
 * Shared by the files of one calibration: which figures (run.c), and the runs and searches that
 * give each (search.c).
 */
#pragma once

#include "orchestrator/calibrate/run.h"
#include "orchestrator/session/mps_limits.h"

/* More workers are tried as long as they give this much more. */
#define WORTH_IT 1.03

/* What is measured on all GPUs, too, once everything of one is known: processes that are on one GPU
 * cannot serve several. */
enum { AGAIN_LAUNCHES, AGAIN_IN, AGAIN_OUT, AGAIN_BOTH, AGAIN_PAGEABLE, AGAIN };

struct again {
    struct point point;
    unsigned best; /* threads that gave most on one GPU; 0: it was not measured */
};

struct calibrator {
    struct session *session;
    unsigned gpus;       /* that the points have at most */
    unsigned done, soon; /* steps: behind us, and once what is being measured is known */
    struct again again[AGAIN];
    const struct point *like;
    struct round_limits limits;
    struct mps_limits known;
    bool limits_are_known;
    calibrate_progress progress;
    void *data;
    uint64_t deadline_ns;
    struct calibration_record record;
    struct crew *crew;  /* of the run before, parked, or empty */
    bool too_many;      /* the last run failed, and fewer workers might not */
    double p50_ns;      /* of the last run that did not fail */
    unsigned best;      /* threads or processes that gave most, of the last search for it */
    enum status status; /* of the session: nothing more is run unless it is OK */
};

__attribute__((format(printf, 2, 3))) void calibrate_note(struct calibrator *calibrator,
                                                          const char *format, ...);

/* One run. Iterations/s, or 0 with a note that names the figure. cpu_us may be NULL. */
double calibrate_measure(struct calibrator *calibrator, const struct point *point,
                         const char *figure, double *cpu_us);

/* The most that any number of threads gives, with the numbers growing until they give no more.
 * Threads that wait awake need a CPU each. */
double calibrate_grow(struct calibrator *calibrator, struct point *point,
                      enum work_schedule schedule, const unsigned *counts, size_t count,
                      const char *figure);

/* The most that any number of processes over MPS gives. */
double calibrate_search_processes(struct calibrator *calibrator, struct point *point,
                                  const char *figure);

/* The same load on all GPUs at once, by as many threads or processes on each as gave most on one:
 * what it gives less than N times one, the GPUs share. */
double calibrate_measure_all(struct calibrator *calibrator, const struct again *again,
                             const char *figure);
