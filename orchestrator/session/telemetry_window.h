/*
 * Sums up the samples of a GPU for one window, and for several. No NVML and no threads here.
 */
#pragma once

#include "device/nvml.h"

/* Who computed on the GPU at one moment. */
struct telemetry_look {
    bool known;
    bool by_pid; /* all workers were listed by the numbers that we know: strangers can be known */
    uint32_t processes;
    uint32_t strangers; /* that are not ours; without by_pid, those above our own number */
};

struct telemetry_sample {
    uint64_t time_ns; /* of the energy and the rest */
    struct nvml_sample gpu;
    struct telemetry_look look;
};

/* The GPU before anything of ours used it. */
struct telemetry_before {
    bool known_utilisation, known_memory;
    uint32_t processes;
    uint32_t utilisation_percent;
    uint64_t memory_used_bytes; /* by processes; known_memory: without the driver's own */
};

/* A utilisation from which on it is busier than an idle GPU gets by itself. */
#define TELEMETRY_BUSY_PERCENT 10

struct telemetry_range {
    double min, max, sum;
    unsigned count;
};

enum telemetry_energy {
    TELEMETRY_ENERGY_NONE,
    TELEMETRY_ENERGY_COUNTER, /* difference of the GPU's own counter */
    TELEMETRY_ENERGY_POWER,   /* power integrated over the samples */
};

/* All zero bytes: nothing is known. */
struct telemetry_window {
    bool present; /* there is NVML, and it knows the GPU */
    bool silent;  /* it did not answer in time: what is here is not the whole window */
    unsigned samples;
    struct telemetry_range sm_clock_mhz, memory_clock_mhz, power_w, utilisation, temperature_c;
    bool known_memory;
    uint64_t memory_used_bytes; /* the most */
    unsigned throttle_known;    /* samples that know the reasons; */
    unsigned throttle_held;     /* of them, those with a reason of TELEMETRY_HELD */
    uint64_t throttle_reasons;  /* all that were seen */
    double power_limit_w;       /* 0: not known */
    enum telemetry_energy energy_from;
    double energy_j, energy_iterations; /* of the same windows */
    bool known_processes;
    unsigned processes; /* the most */
    unsigned strangers;
    bool by_pid;              /* in every look that counted */
    double earlier_clock_mhz; /* the highest mean of an earlier window; 0: none */
    struct telemetry_before before;
};

/* What takes speed from a GPU that works; idle and chosen clocks do not count. */
#define TELEMETRY_HELD                                                                             \
    ((uint64_t)NVML_THROTTLE_POWER_CAP | NVML_THROTTLE_HW_SLOWDOWN | NVML_THROTTLE_SW_THERMAL |    \
     NVML_THROTTLE_HW_THERMAL | NVML_THROTTLE_HW_POWER_BRAKE)

/*
 * Sums up the samples, which are in order of time, over begin_ns..end_ns. The energy counter is
 * interpolated between the samples around each end; where there is none on one side, what is known
 * of at least half the window stands for all of it. Sets what samples contain, and leaves the other
 * fields of *out as they are.
 */
void telemetry_window_sum(const struct telemetry_sample *samples, size_t count, uint64_t begin_ns,
                          uint64_t end_ns, double iterations, struct telemetry_window *out);

/* Adds an earlier round's window to a later one. */
void telemetry_window_merge(struct telemetry_window *later, const struct telemetry_window *earlier);

/* 0 for an empty range. */
double telemetry_mean(const struct telemetry_range *range);

/* Of every iteration in joules; 0 where it is not known. */
double telemetry_joules_per_iteration(const struct telemetry_window *window);
