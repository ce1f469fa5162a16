/*
 * Shared by the files of one calibration: what is measured, in which order (run.c, figures.c), and
 * how one figure is (measure.c).
 */
#pragma once

#include "orchestrator/calibrate/run.h"
#include "orchestrator/session/mps_limits.h"

/* Figures in the order in which they can share worker processes. */
enum calibrate_phase {
    CALIBRATE_AWAKE,  /* threads of one process, waiting as CUDA chooses */
    CALIBRATE_ASLEEP, /* threads of one process that sleep */
    CALIBRATE_SLICED, /* processes without MPS */
    CALIBRATE_MPS,    /* processes over MPS, asleep */
    /* The same awake, where the host computes in an iteration: those that sleep get a CPU late, and
     * wait for each other's. */
    CALIBRATE_MPS_AWAKE,
    CALIBRATE_ALL, /* a process on each GPU */
    CALIBRATE_PHASES
};

enum calibrate_load {
    CALIBRATE_ITERATION,  /* the iteration itself */
    CALIBRATE_LAUNCHES,   /* next to nothing but launches */
    CALIBRATE_POLLING,    /* next to nothing in graphs of one kernel, copies included */
    CALIBRATE_COPIES,     /* nothing but copies each way */
    CALIBRATE_ARITHMETIC, /* nothing but the kernels' work */
    CALIBRATE_KERNELS     /* nothing but the kernels, as they are */
};

/* A figure: a load in a layout. */
struct calibrate_figure {
    const char *name;
    enum calibrate_phase phase;
    enum calibrate_load load;
    unsigned workers; /* threads, or processes, at most: see calibrate_workers() */
    unsigned streams; /* of a thread; 0: one */
    enum work_memory memory;
    enum work_sync sync;
    enum work_launch launch;
    /* Of another load than the iteration. */
    enum calibration_part part;
};

extern const struct calibrate_figure calibrate_figures[];
extern const size_t calibrate_figure_count;

/* Whether a figure is to be measured for a record that was prepared; gpus: at once. */
bool calibrate_lacks(const struct calibration_record *record,
                     const struct calibrate_figure *figure);

struct calibrate_measured {
    double ips, spread_rel, cpu_us, calls_us;
};

struct calibrator {
    struct session *session;
    const struct point *like;
    struct round_limits limits;
    struct mps_limits known;
    bool limits_are_known;
    calibrate_progress progress;
    void *data;
    unsigned done;            /* figures behind us */
    unsigned most_processes;  /* over MPS, that can be */
    uint64_t deadline_ns;     /* no run begins later */
    uint64_t repeat_until_ns; /* nor is one repeated */
    struct calibration_record record;
    struct mix_work room; /* of a figure's own steps */
    struct crew *crew;    /* of the run before, parked, or empty */
    bool too_many;        /* the last run failed, and fewer workers might not */
    enum status status;   /* of the session: nothing more is run unless it is OK */
};

__attribute__((format(printf, 2, 3))) void calibrate_note(struct calibrator *calibrator,
                                                          const char *format, ...);

/* One figure, of as many windows as it takes. False: a note has the reason. expected_s: of an
 * iteration, 0 where nothing is known. slots: of the workers' process, for those of the figures
 * after it. */
bool calibrate_measure(struct calibrator *calibrator, const struct point *point, const char *name,
                       double expected_s, struct calibrate_measured *out);
