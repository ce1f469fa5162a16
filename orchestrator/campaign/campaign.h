/*
 * Shared by the files that make up the sweep command: what it is about to do, and what is left out
 * (sweep_plan.c), doing it (sweep.c), what earlier runs and this one found (sweep_results.c), being
 * one shard of several (sweep_shard.c).
 *
 * Where a status is returned, nothing has been printed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "job/jobfile.h"
#include "files/results_write.h"
#include "orchestrator/crew/crew.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/record/record.h"
#include "orchestrator/round/round.h"
#include "orchestrator/session/session.h"
#include "orchestrator/campaign/shard.h"
#include "orchestrator/plan/turns.h"

struct sweep {
    const struct options *options; /* of the first section: those that hold for the whole sweep */
    const char *job_path;
    const struct job *job;
    struct plan plan;
    struct session session;
    struct results_writer writer;
    struct round_limits limits;
    struct measurement *measurements; /* a point each */
    json_t *header;
    json_t *plugins;  /* an array of what they said, for the header */
    json_t **records; /* a point each, NULL until it is finished */
    struct crew crew; /* the workers of the last point, parked, or empty */
    bool *beyond;     /* a point each: known limits rule it out, and its record is not written */
    uint64_t started_ns;
    json_t *calibrations; /* an array of their records */
    json_t *lengths; /* of kernels, see orchestrator/campaign/lengths.h; NULL: none are known */
    bool takes_any_rounds; /* a point of an earlier run is finished however few rounds it had */
    struct shard shard;
    uint32_t *owner; /* of each point the shard that measures it; NULL: all are this run's */
    char *output;    /* name of the file, "{shard}" filled in; NULL: as --output has it */
};

/* Finds out which points are this run's, and the name of its file. STATUS_USAGE, STATUS_MEMORY. */
enum status sweep_deal(struct sweep *sweep);
void sweep_release_shard(struct sweep *sweep);

/* Whether this run is to measure a point, and how many those are. */
bool sweep_owns(const struct sweep *sweep, size_t index);
size_t sweep_own_count(const struct sweep *sweep);

/* Forgets the records of points that other runs measure. */
void sweep_drop_others(struct sweep *sweep);

/* A plan of this run's points alone, which goes with the other one; to be released. STATUS_MEMORY.
 */
enum status sweep_own_plan(const struct sweep *sweep, struct plan *out);

/* The header's "shard"; NULL without memory, or without a shard. */
json_t *sweep_shard_json(const struct sweep *sweep);

/* The file to write, or NULL. */
const char *sweep_output(const struct sweep *sweep);

/* Whether it is for a number of iterations, not for a time. */
bool sweep_is_fixed(const struct sweep *sweep);

/* The points of a round that have no record yet, as many as there are in the plan at most; the
 * caller's to free. */
enum status sweep_make_turns(const struct sweep *sweep, unsigned round, struct turn **turns,
                             size_t *count);

/* Seconds that what is left will take, about; 0 without memory to tell. */
double sweep_estimate_s(const struct sweep *sweep);

/* Says on standard error that the emulated GPU stands in for one, if it does unasked. */
void sweep_print_notice(const struct session *session);

/* On standard output: the points, one a line, and what --dry-run has to say of them. The latter
 * needs an open session. */
void sweep_print_list(const struct sweep *sweep);
void sweep_print_plan(const struct sweep *sweep);

/* Whether known limits are to be kept to, and there are points that they could be about. */
bool sweep_limits_matter(const struct sweep *sweep);

/* Points beyond what is known to be allowed are not tried: gives them their records, which are
 * written once the results are open. Limits that cannot be read are told of and count as none.
 * Needs an open session. */
enum status sweep_mark_beyond(struct sweep *sweep);
enum status sweep_write_beyond(struct sweep *sweep);

/* Asks the plug-ins of the plan what they are: one that cannot be used is better known before an
 * hour of measuring than after. Needs an open session. Errors as of plugin_ask_all(). */
enum status sweep_ask_plugins(struct sweep *sweep);

/* STATUS_USAGE where an option about the window is given that is as strong as --iterations. */
enum status sweep_check_fixed(const struct options *options);

/* Finds out how long the kernels of described workloads are to be, as far as the opened results do
 * not hold it. Errors as of lengths_find(). */
enum status sweep_find_lengths(struct sweep *sweep);

/* The header record, with what the workloads are; STATUS_MEMORY is the only error. */
enum status sweep_make_header(struct sweep *sweep, bool resumed);

/* Opens the file of --output, if any, and with --resume takes over the finished points and the
 * calibrations that it holds; STATUS_USAGE if they are of another plan or GPU. After
 * sweep_mark_beyond(). */
enum status sweep_open_results(struct sweep *sweep);

/* Writes the header and the records of what is not tried, if all went well until now (so_far). If
 * not, or if that fails, nothing was measured, and no file that was made for it stays. */
enum status sweep_begin_file(struct sweep *sweep, bool resumed, enum status so_far);

/* Whether --publish, if given, can be done, before anything is measured. After sweep_deal(). */
enum status sweep_check_publish(const struct sweep *sweep);

/* Gives the results their final name, if that was asked for and result says that every point has a
 * record. Nothing can be written to them afterwards. Errors as of atomic_file_publish(). */
enum status sweep_publish(struct sweep *sweep, int result);

/* An array of the records that there are, in the order of the plan; the caller's to release. */
json_t *sweep_measured_points(const struct sweep *sweep);

/* On standard output, in the format asked for. */
void sweep_print_results(const struct sweep *sweep, const json_t *points, const json_t *footer);

/* Of the program, as far as the points decide it. */
int sweep_exit_status(const struct sweep *sweep);
