/*
 * A campaign: the rounds of many points with one session and one results file. What the commands
 * that measure share: open the session, make the plan's records, deal the points to shards, resume,
 * write. The commands measure and print.
 *
 * Nothing here prints: an error is a status, and a notice goes to the command's callback.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "files/results_read.h"
#include "files/results_write.h"
#include "job/jobfile.h"
#include "orchestrator/campaign/shard.h"
#include "orchestrator/crew/crew.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/plan/turns.h"
#include "orchestrator/round/round.h"
#include "orchestrator/session/session.h"

/* Prints a notice, which is one line without its end. */
typedef void (*campaign_notify)(const char *text);

struct campaign {
    const struct options *options; /* of the first section: those that hold for all of it */
    const char *job_path;
    const struct job *job;
    campaign_notify notify;
    struct plan plan; /* the command makes and releases it */
    struct session session;
    struct results_writer writer;
    struct results earlier; /* with --resume what the file held; see campaign_claim_results() */
    struct round_limits limits;
    json_t *header;
    json_t *plugins;  /* an array of what they are, for the header */
    json_t **records; /* a point each, NULL until it is finished */
    /* A point each: its record by an earlier run that did not finish all rounds, or NULL. */
    json_t **interrupted;
    struct crew crew; /* the workers of the last point, parked, or empty */
    bool *beyond; /* a point each: it is known to be infeasible, and its record is not written */
    json_t *elsewhere; /* record_differences() to the header of a file that --force continues */
    uint64_t started_ns;
    uint64_t deadline_ns;  /* of all of it, see session_end_at(); 0: none. Set it before the session
                              is opened */
    json_t *calibrations;  /* an array of their records */
    json_t *lengths;       /* of kernels, see lengths_find(); NULL: none are known */
    bool takes_any_rounds; /* a point of an earlier run is finished however few rounds it had */
    struct shard shard;
    uint32_t *owner; /* of each point the shard that measures it; NULL: all are this run's */
    char *output;    /* name of the file, "{shard}" filled in, or dated; NULL: as --output has it */
    const char *dated; /* "sweep": results without --output get a dated file; NULL: they get none */
};

/* Begins with the options of the job's first section; job_path may be NULL. */
void campaign_init(struct campaign *campaign, const struct job *job, const char *job_path,
                   campaign_notify notify);

/* Ends all but the session and the plan. */
void campaign_release(struct campaign *campaign);

/* Opens the session that the options ask for, unless it is open. Close it, also one that was never
 * open, before campaign_release(). */
enum status campaign_open_session(struct campaign *campaign);
enum status campaign_close_session(struct campaign *campaign);

/* Prints the first notices: that the emulated GPU stands in for a real one unasked, and how the
 * GPUs of the session differ. */
void campaign_notify_session(const struct session *session, campaign_notify notify);

/* Makes records, beyond and calibrations for the points of the plan; STATUS_MEMORY. */
enum status campaign_make_records(struct campaign *campaign);

/* STATUS_USAGE where --iterations and an option about the window are given, unless the former is of
 * the command line and overrides the latter in the job file. */
enum status campaign_check_fixed(const struct options *options);

/* STATUS_USAGE where --resume has no file, or --force no --resume. */
enum status campaign_check_resume(const struct options *options);

/* Whether work is fixed: a number of iterations, not a time. */
bool campaign_is_fixed(const struct campaign *campaign);

/* -- part.c: the points that are this run's -- */

/* Finds out which shard this run is, and the name of its file. STATUS_USAGE, STATUS_MEMORY. */
enum status campaign_name_output(struct campaign *campaign);

/* Finds out which points are this run's. STATUS_USAGE, STATUS_MEMORY. */
enum status campaign_deal(struct campaign *campaign);

/* Whether this run measures a point, and how many those are. */
bool campaign_owns(const struct campaign *campaign, size_t index);
size_t campaign_own_count(const struct campaign *campaign);

/* A plan of this run's points alone, valid as long as the campaign's; the caller releases it.
 * STATUS_MEMORY. */
enum status campaign_own_plan(const struct campaign *campaign, struct plan *out);

/* The header's "shard"; NULL without memory, or without a shard. */
json_t *campaign_shard_json(const struct campaign *campaign);

/* The file to write, or NULL. A dated one has its name once campaign_open_results() has made it. */
const char *campaign_output(const struct campaign *campaign);

/* The points of a round that have no record yet, at most one a point of the plan; the caller frees
 * turns. STATUS_MEMORY. */
enum status campaign_make_turns(const struct campaign *campaign, unsigned round,
                                struct turn **turns, size_t *count);

/* -- before measuring, with an open session -- */

/* Whether known limits apply, and the plan has points that they may rule out. */
bool campaign_limits_matter(const struct campaign *campaign);

/* Points beyond what is known to be allowed are not tried: gives them their records, which
 * campaign_begin_file() writes. Limits that cannot be read make a notice and count as none. */
enum status campaign_mark_beyond(struct campaign *campaign);

/* For lists and dry runs, and without a session: does the same to the points that their settings
 * alone rule out. A sweep tries these: each ends at once. */
enum status campaign_mark_impossible(struct campaign *campaign);
size_t campaign_count_beyond(const struct campaign *campaign);

/* A point in one line, for lists: its number, what it is, and why it is not tried. Returns line. */
#define CAMPAIGN_LINE (POINT_DESCRIPTION + 1200)
const char *campaign_point_line(const struct campaign *campaign, size_t index,
                                char line[CAMPAIGN_LINE]);

/* Asks the plug-ins of the plan what they are: one that cannot be used is better known before an
 * hour of measuring than after. Errors as of plugin_ask_all(). */
enum status campaign_ask_plugins(struct campaign *campaign);

/* Finds out how long the kernels of described workloads take, as far as the opened results do not
 * hold it. Errors as of lengths_find(). */
enum status campaign_find_lengths(struct campaign *campaign);

/*
 * Finds the amounts of work with which the kernels of the points take the time that they ask for
 * (wire/lengths.h), and fills them in. Call it after the plan is made, before anything is measured;
 * nothing else of ours may use the GPU meanwhile, and nothing is started where no kernel has a
 * duration. *lengths, an array as in the header record, holds what is known already; what is found
 * is added. The work is that of the first GPU; where points use others, too, how long it takes
 * there is measured and noted, and a notice reports what differs.
 *
 * STATUS_UNSUPPORTED: a kernel cannot take that long here. STATUS_TIMEOUT, STATUS_INTERRUPTED and
 * the errors of the driver: no amount was found.
 */
enum status lengths_find(struct session *session, struct point *points, size_t count,
                         uint64_t timeout_ns, bool quiet, campaign_notify notify, json_t *lengths);

/* -- results_file.c -- */

/* Call it after campaign_name_output(), before a driver is opened or anything starts. With
 * --resume it takes the lock of the file of --output and loads what is needed of it: STATUS_BUSY
 * while another process writes to it. Without, it makes sure that there is none: STATUS_USAGE. */
enum status campaign_claim_results(struct campaign *campaign, results_field *needed);

/* Where results without --output are kept: a file a run, "sweep-20260131-080000.jsonl". */
#define CAMPAIGN_RESULTS_DIR "mpsweep-results"

/* For a dry run: takes over what --resume would, and changes nothing. Statuses as of
 * campaign_open_results(). */
enum status campaign_look_at_results(struct campaign *campaign);

/* Makes the file of --output, or a dated one, or with --resume takes over the finished points and
 * the calibrations of the claimed one; STATUS_USAGE if they are of another plan or machine. Where
 * no dated file can be made, a notice gives the reason, and nothing is written. After
 * campaign_mark_beyond(). */
enum status campaign_open_results(struct campaign *campaign);

/* The header record, with what the workloads are; STATUS_MEMORY is the only error. */
enum status campaign_make_header(struct campaign *campaign, bool resumed);

/* Writes the header and the records of what is not tried, if all went well until now (so_far). If
 * not, or if that fails, nothing was measured, and no file that was made for it stays. */
enum status campaign_begin_file(struct campaign *campaign, bool resumed, enum status so_far);

/* Marks the record of a point that this run measured, if the file was begun on another machine. */
void campaign_mark(const struct campaign *campaign, json_t *record);

/* An array of the records that there are, in the order of the plan; the caller releases it. */
json_t *campaign_measured_points(const struct campaign *campaign);

/* -- planned.c -- */

/* An array of records of type "planned": this run's points among the plan's first count ones. It
 * lacks those for which there was no memory. */
json_t *campaign_planned(const struct campaign *campaign, size_t count);

/* A record of type "plan": what the header of the results would be, how many points are known not
 * to work, and "estimated_s" and "most_s" unless about_s is 0. Takes an open session; NULL without
 * memory. */
json_t *campaign_plan_record(struct campaign *campaign, double about_s, double most_s);

/* -- words.c: command lines to paste, without the name of the program -- */

/* "sweep my.job", " --rounds 5" and " -- ./serve". */
void campaign_write_command(const struct campaign *campaign, const char *command, FILE *out);
void campaign_write_option(FILE *out, const struct option_row *row, const char *text);
void campaign_write_program(const struct campaign *campaign, FILE *out);

/* Whether the value is from the command line. */
bool campaign_was_given(const struct option_value *value);

/* Notes each setting that the command line or the job file gives and that makes a difference to no
 * point; those of the file not where the command line has an axis, which may leave some out. */
void campaign_notify_unused(const struct campaign *campaign);

/* Writes the options of the command that the command line gave, except `but`, and --output FILE
 * --resume where there is a results file. */
void campaign_write_given(const struct campaign *campaign, enum option_command command,
                          enum option_id but, FILE *out);

/* The command line that continues an interrupted campaign, which the caller frees. NULL: there is
 * no file to continue, or no memory. */
char *campaign_resume_words(const struct campaign *campaign, const char *name,
                            enum option_command command);

/* The command line that deploys a point of the file, with the program that was measured; the caller
 * frees it. -1: emit chooses the point. NULL: no memory. */
char *campaign_emit_words(const struct campaign *campaign, const char *file, int64_t point);
