/*
 * Shared by the files that make up `mpsweep merge`: reading (merge_read.c), what does not go
 * together (merge_check.c), which line of a point is kept (merge_choose.c), what the numbers say of
 * the GPUs (merge_judge.c), and the output (merge_record.c, merge_write.c, merge_print.c).
 *
 * Where a status is returned, nothing has been printed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/status.h"
#include "orchestrator/merge/fleet.h"
#include "orchestrator/merge/gpus.h"

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

struct merge_file {
    const char *path; /* the caller's */
    dev_t device;
    ino_t inode;
    json_t *header; /* the first one; NULL: the file ends before it is whole */
    size_t lines;   /* whole ones */
    bool torn;      /* bytes behind the last of them */
    bool finished;  /* a footer is the last one */
    double seconds; /* as the footers say, of all runs together */
};

/* Sums of what the telemetry of points says. */
struct merge_telemetry {
    size_t points;
    double clock_mhz, power_w, temperature_c, throttled_share;
    size_t clocks, powers, temperatures, shares; /* how many of them are in the sums */
    json_t *throttle;                            /* an array of reasons, each once; NULL: none */
};

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
    bool quiet;

    json_t *differs;   /* an array of what is not the same in all sources */
    json_t *same_node; /* an array of {host, uuid, nodes}: who stands for several of a fleet */
    char *duplicates;  /* points that two runs have, and no one asked for it; NULL or "": none */
    json_t *missing;   /* an array of {points, why, ...} */
    size_t missing_count;
    size_t counts[MERGE_RANKS]; /* points of the output */

    size_t gpu_count;
    size_t reference_points; /* that several GPUs have */
    struct gpus_model gpus;  /* no gpus: nothing to compare */
    struct fleet nodes;      /* no nodes: no fleet */
};

/* Reads the files once. STATUS_USAGE: one is none of ours, or is given twice. */
enum status merge_read(struct merge *merge, const char *const *paths, size_t count);
void merge_release(struct merge *merge);

/* Takes in what one line tells. Any record is safe. STATUS_USAGE does not name file and line. */
enum status merge_take_record(struct merge *merge, size_t file, json_t *record, uint64_t offset,
                              size_t bytes);

/* What tells the GPUs of a run from those of another: their UUIDs, in text. */
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

/* The index of a point's first entry; entry_count: there is none. */
size_t merge_find(const struct merge *merge, size_t point);

/* Writes the output; force: over what is there. STATUS_INTERRUPTED: one of SIGINT, SIGTERM and
 * SIGHUP, which the caller holds back, has come. */
enum status merge_write(const struct merge *merge, const char *output, bool force);

/* What a person wants to know, on standard output. */
void merge_print(const struct merge *merge, const char *output);

/* The host of a source, for people; both return text. */
#define MERGE_HOST_TEXT 65
const char *merge_host(const struct merge *merge, size_t source, char text[MERGE_HOST_TEXT]);

/* "FILE on HOST" of a source. */
const char *merge_source_name(const struct merge *merge, size_t source, char *text, size_t size);

/* The number of a header's shard or node; -1: it has none. */
json_int_t merge_shard_index(const json_t *header);

/* The node that a header is from: Slurm's name for it, or else the host's. "" if neither is known.
 */
const char *merge_node_name(const json_t *header);

/* Whether points, and the nodes of a fleet, are all there. */
bool merge_is_whole(const struct merge *merge);
