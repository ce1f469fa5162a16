/*
 * Shared by the files that make up `mpsweep merge`: read.c reads the files, check.c refuses what
 * does not go together, choose.c keeps a line of each point, judge.c compares GPUs or nodes with
 * the models of gpus.c and fleet.c, record.c and write.c make the output, print.c and print_fleet.c
 * print it.
 *
 * Functions that return a status print nothing.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/status.h"

/* -- how far GPUs differ, from points that several of them have measured: pure maths ------------
 *
 * The logarithm of a throughput counts as the sum of what the point gives, what the GPU gives, and
 * chance. Least squares; a GPU's factor is relative to the geometric mean of all.
 */

/* Factors this near to 1, as a share, do not matter. */
#define MERGE_GPUS_MATTERS 0.01

struct gpus_observation {
    size_t point, gpu;
    double log_ips;
    double half_rel; /* half width of its own 95% interval, as a share; not finite: unknown */
    bool one_round;  /* that interval does not know how runs differ */
};

struct gpus_factor {
    size_t observations; /* 0: nothing to compare it by, and factor is 1 */
    double factor;       /* its throughput over the mean of all GPUs */
    double low, high;    /* 95% interval; 0 and INFINITY where it is not known */
    bool differs;        /* by more than MERGE_GPUS_MATTERS, beyond chance among all GPUs */
};

struct gpus_model {
    struct gpus_factor *gpus; /* one each */
    size_t count;
    size_t compared;    /* GPUs with points in common with the others */
    bool differ;        /* any does */
    double scatter_rel; /* standard deviation of one measurement */
    double degrees;     /* of freedom of that; 0: known from the measurements' own intervals only */
    bool within_runs_only; /* and those are of one round each */
};

/* Points and GPUs are numbers below the given counts. GPUs that are not linked by points to most
 * others are not compared. STATUS_MEMORY is the only error. */
enum status gpus_model_make(const struct gpus_observation *observations, size_t count,
                            size_t points, size_t gpus, struct gpus_model *out);
void gpus_model_release(struct gpus_model *model);

/* -- nodes of a fleet, which have all measured the same points: pure maths ------------------------
 *
 * How each compares with the others, and which stand out: medians, and median absolute deviations
 * from them, on the logarithmic scale, so that a few broken nodes do not move what all are compared
 * with.
 */

/* A node stands out if its ratio is FLEET_DEVIATIONS standard deviations from the median of all
 * nodes (as estimated from the median absolute deviation), and FLEET_MATTERS as a share. Among 500
 * nodes that are all the same to a percent or so, none does. */
#define FLEET_DEVIATIONS 4.5
#define FLEET_MATTERS 0.03

/* The same of one point of a node, beside what the node is like at all its points. */
#define FLEET_POINT_DEVIATIONS 6.0
#define FLEET_POINT_MATTERS 0.05

/* Among fewer nodes none is the odd one. */
#define FLEET_LEAST_NODES 3

struct fleet_point {
    size_t nodes;      /* that measured it */
    double median_ips; /* of them */
    double spread_rel; /* standard deviation of the nodes, from the median absolute deviation */
    double lowest, highest; /* ratios */
    size_t lowest_node, highest_node;
};

struct fleet_node {
    size_t points;    /* that it measured, and others, too */
    double ratio;     /* median over its points; NAN without any */
    double low, high; /* quartiles of its points' ratios */
    bool stands_out;
};

/* A point at which a node is unlike itself. */
struct fleet_odd {
    size_t point, node;
    double ratio; /* to the median of the nodes */
};

struct fleet {
    struct fleet_point *points;
    struct fleet_node *nodes;
    size_t point_count, node_count;
    double spread_rel; /* of the nodes' ratios */
    double limit_rel;  /* from the median, as a share: farther away they stand out */
    size_t standing_out;
    struct fleet_odd *odd;
    size_t odd_count;
};

/* log_ips[node * points + point], NAN where there is not a number. STATUS_MEMORY is the only error.
 */
enum status fleet_make(const double *log_ips, size_t nodes, size_t points, struct fleet *out);
void fleet_release(struct fleet *fleet);

/* -- files ------------------------------------------------------------------------------------- */

#define MERGE_MOST_POINTS 10000000
#define MERGE_MOST_SOURCES 100000

/* How good a record is: of several of a point the best counts. */
enum merge_rank {
    MERGE_INTERRUPTED,
    MERGE_FAILED,
    MERGE_INFEASIBLE,
    MERGE_UNCONVERGED,
    MERGE_OK,
    MERGE_RANKS
};
extern const char *const merge_rank_words[MERGE_RANKS]; /* statuses of points */

struct merge_file {
    const char *path; /* the caller's */
    dev_t device;
    ino_t inode;
    json_t *header; /* the first one; NULL: the file ends before it is whole */
    size_t lines;   /* whole ones */
    bool torn;      /* bytes behind the last of them */
    bool finished;  /* a footer is the last one */
    double seconds; /* of all runs together, as in the footers */
};

/* What telemetry has of each point, as a number or as an object with a mean. */
enum merge_reading { MERGE_CLOCK, MERGE_POWER, MERGE_TEMPERATURE, MERGE_THROTTLED, MERGE_READINGS };
extern const struct merge_reading_row {
    const char *key;         /* in records */
    const char *name, *unit; /* for people */
    double scale;            /* from the record's unit to that */
} merge_readings[MERGE_READINGS];

/* Sums of the telemetry of points. */
struct merge_telemetry {
    size_t points;
    double sums[MERGE_READINGS];
    size_t counts[MERGE_READINGS]; /* how many points are in each sum */
    json_t *throttle;              /* an array of reasons, each once; NULL: none */
};

/* The mean of a reading; NAN: no point has it. */
double merge_reading_mean(const struct merge_telemetry *telemetry, enum merge_reading reading);

/* A run: what a header and the lines behind it are from. */
struct merge_source {
    size_t file;
    json_t *header; /* borrowed from records */
    size_t gpu;     /* index among the different ones */
    size_t points;  /* lines */
    struct merge_telemetry telemetry;
};

/* A whole line of a point. */
struct merge_entry {
    uint64_t offset;
    uint32_t bytes, source, id;
    uint8_t rank;
    bool kept;      /* it is the point's line in the output */
    bool dropped;   /* it is in no output: another one was kept */
    bool repeated;  /* the same run has a later or better one; it is dropped, too */
    bool one_round; /* its interval does not know how runs differ */
    bool early;     /* its run went on to measure more rounds of it */
    float half_rel;
    double log_ips; /* NAN: no number, or one that no GPU decides */
};

/* Another line to copy: a calibration, or what is not known here. */
struct merge_other {
    uint64_t offset;
    uint32_t bytes, source;
};

struct merge {
    struct merge_file *files; /* by index of their shards */
    size_t file_count;
    struct merge_source *sources;
    size_t source_count, source_capacity;
    size_t current;              /* source of the lines that are being read */
    struct merge_entry *entries; /* in the order of the lines, then by point */
    size_t entry_count, entry_capacity;
    struct merge_other *others;
    size_t other_count, other_capacity;
    json_t *headers; /* an array that keeps those of the sources */

    size_t plan; /* points */
    bool fleet;

    json_t *differs;   /* an array of what is not the same in all sources */
    json_t *same_node; /* an array of {host, uuid, nodes}: a machine that counts as several nodes */
    char *duplicates;  /* points that two runs have without being asked to; NULL or "": none */
    json_t *missing;   /* an array of {points, why, ...} */
    size_t missing_count;
    size_t counts[MERGE_RANKS]; /* points of the output */

    size_t gpu_count;
    size_t reference_points; /* that several GPUs have */
    struct gpus_model gpus;  /* no gpus: nothing to compare */
    struct fleet nodes;      /* no nodes: no fleet */
};

/* Reads the files once. STATUS_USAGE: one is not an mpsweep results file, or is given
 * twice. */
enum status merge_read(struct merge *merge, const char *const *paths, size_t count);
void merge_release(struct merge *merge);

/* Writes the UUIDs of the GPUs of a run, which identify them, as text. */
#define MERGE_GPUS_TEXT 2048
void merge_gpus_text(const json_t *header, char text[MERGE_GPUS_TEXT]);

/* STATUS_USAGE: the files are not of one plan, or, if strict, differ in what can be overlooked. */
enum status merge_check(struct merge *merge, bool strict);

/* Sorts the entries by point, marks those to keep, and finds what is missing. */
enum status merge_choose(struct merge *merge);

/* Compares GPUs by the points for reference, or the nodes of a fleet. */
enum status merge_judge(struct merge *merge);

/* The records of the output beside the lines that are copied. New references; NULL: no memory. */
json_t *merge_header(const struct merge *merge);
json_t *merge_merge_record(const struct merge *merge);
json_t *merge_gpus_record(const struct merge *merge);
json_t *merge_fleet_record(const struct merge *merge);
json_t *merge_fleet_point_record(const struct merge *merge, size_t point);
json_t *merge_footer(const struct merge *merge);

/* Hands each record about the merge itself to take(), which owns it, until that fails. */
enum status merge_each_finding(const struct merge *merge,
                               enum status (*take)(void *data, json_t *record), void *data);

/* The index of a point's first entry; entry_count: there is none. */
size_t merge_find(const struct merge *merge, size_t point);

/* Reads lines of the files once more. One file at a time is open, and one line of it in memory. */
struct merge_reader {
    const struct merge *merge;
    int fd;
    size_t file; /* that fd is of */
    char *line;  /* the one read last; without an end */
    size_t capacity;
};

#define MERGE_READER(of)                                                                           \
    (struct merge_reader)                                                                          \
    {                                                                                              \
        .merge = (of), .fd = -1                                                                    \
    }

/* Reads the bytes of a line of a source, from its file's offset on, into reader->line.
 * STATUS_SYSTEM: the file cannot be read any more, or has become shorter. STATUS_MEMORY. */
enum status merge_reader_line(struct merge_reader *reader, size_t source, uint64_t offset,
                              size_t bytes);
void merge_reader_close(struct merge_reader *reader);

/* Writes the output; force: over what is there. STATUS_INTERRUPTED: one of SIGINT, SIGTERM and
 * SIGHUP, which the caller holds back, has come. */
enum status merge_write(const struct merge *merge, const char *output, bool force);

/* Prints what a person wants to know, on standard output. */
void merge_print(const struct merge *merge, const char *output);

/* The records that merge_each_finding() has, a line each. STATUS_MEMORY is the only error. */
enum status merge_print_json(const struct merge *merge);

/* Prints the nodes and points of a fleet, as far as they fit on a page, and all that stands out. */
void merge_print_fleet(const struct merge *merge);

/* The name of a source's file, without its folder. */
const char *merge_file_name(const struct merge *merge, size_t source);

/* Writes the host of a source, for people. Returns text. */
#define MERGE_HOST_TEXT 65
const char *merge_host(const struct merge *merge, size_t source, char text[MERGE_HOST_TEXT]);

/* Writes "FILE on HOST" of a source. Returns text. */
const char *merge_source_name(const struct merge *merge, size_t source, char *text, size_t size);

/* The number of a header's shard or node; -1: it has none. */
json_int_t merge_shard_index(const json_t *header);

/* Whether points, and the nodes of a fleet, are all there. */
bool merge_is_whole(const struct merge *merge);
