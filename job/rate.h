/*
 * Rates as people write them: "closed", "400" (iterations a second), "max-under-p99=5ms".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rates are counted in thousandths of an iteration a second: a whole number can be compared. */
#define RATE_UNITS 1000

/* The highest rate is looked for at which a percentile of the latency stays under a limit. All zero
 * bytes: nothing is looked for. */
struct rate_goal {
    uint32_t permille; /* 500, 900, 990 or 999: p50, p90, p99, p999 */
    uint32_t reserved;
    uint64_t latency_ns;
};

/* Both zero: a closed loop. At most one is set. */
struct rate {
    uint64_t units; /* offered, in 1/RATE_UNITS of an iteration a second */
    struct rate_goal goal;
};

/* What rate_parse() takes, for error messages. */
#define RATE_EXPECTED                                                                              \
    "closed, a number from 0.01 to 10000000 (iterations/s of all workers together), or "           \
    "max-under-p99=5ms (p50, p90, p99 or p999; us, ms or s)"

/* False: the text is not one of these; *out is left alone. */
bool rate_parse(const char *text, struct rate *out);

/* "400", "0.25". */
const char *rate_text(uint64_t units, char *out, size_t size);

/* "p99"; and a time with its unit and up to four digits, "5 ms". */
const char *rate_percentile_name(uint32_t permille);
uint32_t rate_permille(const char *name); /* 0: there is none */
const char *rate_time_text(double ns, char *out, size_t size);
