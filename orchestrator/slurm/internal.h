/*
 * Measures a plan on the nodes of a Slurm cluster: what the commands of 'mpsweep slurm' share.
 *
 * A run is a directory which all nodes see:
 *
 *   run.json             what was submitted: the manifest
 *   NAME.job             the job file, copied
 *   shard.sbatch         one task of the array: measures one shard
 *   merge.sbatch         collects, when the array has ended
 *   shard-I.jsonl.part   a shard that is being measured, or was interrupted
 *   shard-I.jsonl        one that is finished: it got that name by a rename
 *   log/                 what the jobs print: shard-I.log, merge.log
 *   all.jsonl            the shards, merged
 *   run.lock             held by the mpsweep that submits
 *   shard-I.jsonl.node   fleets: the node that measures or has measured it
 *   shard-I.jsonl.part.NODE  fleets: what a node has begun, while the shard is on another one
 *   shard-I.jsonl.left   fleets: nodes that a task has left, since they had measured another shard
 *
 * Only submit and 'submit --again' write the manifest. Slurm's programs are on PATH and start
 * without a shell. Functions record errors and print nothing, unless their comment has it.
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/status.h"
#include "orchestrator/campaign/shard.h"

#define SLURM_SHARDS_MOST SHARD_MOST

/* -- the run (run.c) --------------------------------------------------------------------------- */

struct slurm_run {
    char directory[PATH_MAX]; /* absolute */
    json_t *manifest;
    unsigned shards;
    bool fleet; /* every shard is the whole plan */
};

/* Loads a run's manifest. STATUS_USAGE: the directory is not one of a run. */
enum status slurm_run_load(const char *directory, struct slurm_run *out);
enum status slurm_run_save(const struct slurm_run *run);
void slurm_run_release(struct slurm_run *run);

/* Keeps others from submitting jobs of the run, until lock is closed; -1, and STATUS_OK, where the
 * file system has no locks. STATUS_BUSY: another mpsweep
 * submits some. What was loaded before is old. */
enum status slurm_run_lock(const struct slurm_run *run, int *lock);

/* "mpsweep slurm COMMAND 'DIRECTORY'", as a shell reads it. Returns text. */
#define SLURM_HINT_BYTES (4 * PATH_MAX + 64)
const char *slurm_hint(const char *directory, const char *command, char text[SLURM_HINT_BYTES]);

/* Writes the path of a file of the run. STATUS_USAGE: it would be too long. */
enum status slurm_run_path(const struct slurm_run *run, char path[PATH_MAX], const char *format,
                           ...) __attribute__((format(printf, 3, 4)));

/* Its array of submissions: objects of time, array, cluster ("" usually), shards, merge. */
json_t *slurm_run_submissions(const struct slurm_run *run);

/* -- Slurm's programs (programs.c) ------------------------------------------------------------- */

/* Starts sbatch and reads what --parsable prints: the job's number, and the cluster's name or "".
 * STATUS_NOT_FOUND: there is no Slurm here. STATUS_UNSUPPORTED: it refuses, in its own words.
 * STATUS_TIMEOUT, STATUS_PROTOCOL: no answer, or an unreadable one; it may have the job. */
enum status slurm_sbatch(const char *const *argv, char id[32], char cluster[64]);

/* A job, or a task of an array, as Slurm knows it. */
struct slurm_job {
    char id[32];      /* of the array, or of the job */
    long task;        /* in the array; -1: none */
    char state[32];   /* lower case: "running" */
    char node[256];   /* "" unless it has one */
    char since[32];   /* when it began, or will, "" if unknown */
    char left[32];    /* time left, as Slurm writes it: "1:58" */
    char reason[128]; /* why it waits, "" for nothing in particular */
};

/* Asks which of the run's jobs are still in the queue; jobs is to be freed. STATUS_NOT_FOUND,
 * STATUS_UNSUPPORTED, STATUS_TIMEOUT: it cannot be asked. */
enum status slurm_queue(const struct slurm_run *run, struct slurm_job **jobs, size_t *count);

/* Asks how those ended that have left the queue; none where there is no accounting. */
void slurm_accounting(const struct slurm_run *run, struct slurm_job **jobs, size_t *count);

/* Finds the job of a shard, from the latest submission on: NULL if there is none. */
const struct slurm_job *slurm_job_of(const struct slurm_run *run, const struct slurm_job *jobs,
                                     size_t count, unsigned shard);

/* Whether it waits, runs or is ending: it may still write. */
bool slurm_job_is_active(const struct slurm_job *job);

/* Ends what is left of the run's jobs. */
enum status slurm_scancel(const struct slurm_run *run);

/* What these functions make of the programs' answers, for tests too. */
enum status slurm_parse_sbatch(const char *text, char id[32], char cluster[64]);
enum status slurm_parse_queue(const char *text, struct slurm_job **jobs, size_t *count);
enum status slurm_parse_accounting(const char *text, struct slurm_job **jobs, size_t *count);
/* The program's lines in one, without its name in front of each. Returns line. */
const char *slurm_one_line(const char *text, char *line, size_t size);

/* -- a shard, as its files show it (shard.c) --------------------------------------------------- */

#define SLURM_NO_SHARD UINT_MAX

struct slurm_shard {
    char path[PATH_MAX]; /* of its results; "" while there are none */
    bool published;      /* under its final name */
    size_t points;       /* that it must measure; 0: not known before its first record */
    size_t done, failed; /* of them; failed ones have a record and no number */
    char node[256]; /* where it was measured last, "" if unknown: Slurm's name, or the host's */
    unsigned
        same_as; /* of a fleet: a shard before it that is of the same node; or SLURM_NO_SHARD */
    char plan_id[32]; /* "" without a header */
    char error[512];  /* the last line of an error in its log, "" if there is none */
    char broken[512]; /* what is wrong with its results; "": nothing */
};

/* What a shard has come to. */
enum slurm_shard_state {
    SLURM_SHARD_FINISHED,
    SLURM_SHARD_AT_WORK, /* its job runs or waits */
    SLURM_SHARD_LEFT,    /* no job works at it: begun or not */
    SLURM_SHARD_BROKEN,
};

/* Looks at all; the array is to be freed. Results of another plan than the others' are broken;
 * same_as marks
 * those of a fleet's node that another shard is of. */
enum status slurm_shards_look(const struct slurm_run *run, struct slurm_shard **out);

/* -- a run and what is known of it (view.c) ---------------------------------------------------- */

struct slurm_view {
    struct slurm_run run;
    struct slurm_shard *shards;
    struct slurm_job *queue, *ended;
    size_t queue_count, ended_count;
    bool asked;                            /* Slurm has answered about the queue */
    size_t states[SLURM_SHARD_BROKEN + 1]; /* how many shards are in each */
    size_t failed;                         /* points */
    size_t same;                           /* shards of a node that has another one, too */
};

/* Looks at the run in directory. With accounting it also asks for the jobs that have ended, and
 * prints a warning if Slurm does not answer. Release it, also after an error. */
enum status slurm_view_look(const char *directory, bool accounting, struct slurm_view *out);
void slurm_view_release(struct slurm_view *view);

/* The job of a shard, in the queue or else ended; NULL: none is known. */
const struct slurm_job *slurm_view_job(const struct slurm_view *view, unsigned shard);

/* The state of a shard. */
enum slurm_shard_state slurm_view_state(const struct slurm_view *view, unsigned shard);

/* Prints a line about a shard with same_as, behind begin; nothing about another one. */
void slurm_view_print_same(const struct slurm_view *view, unsigned shard, FILE *file,
                           const char *begin);

/* -- the jobs (jobs.c, sbatch_words.c) --------------------------------------------------------- */

/* Submits an array of the shards ("0-3,7"), and a job after it that merges; saves the manifest as
 * soon as Slurm has answered, and prints what to do next. after: arrays of the run that are still
 * at work, as ":ID:ID", "" for none: the merging waits for them, too. */
enum status slurm_submit_shards(struct slurm_run *run, const char *shards, const char *after);

/* Prints the command lines; shards and after as above. */
enum status slurm_submit_print(const struct slurm_run *run, const char *shards, const char *after);

/* Submits the shards of the run in directory that are not finished and for which no job runs or
 * waits. more, NULL-ended: options of sbatch, behind those of the manifest and kept there. */
enum status slurm_submit_again(const char *directory, char *const *more, bool dry_run);

/* Checks words, NULL-ended, that a user gives to sbatch: STATUS_USAGE if one is an option that
 * mpsweep gives it itself, by its letter or whole name, or is not an option. */
enum status slurm_check_words(char *const *words);

/* -- the scripts (script.c) -------------------------------------------------------------------- */

/* Makes "shard.sbatch" or "merge.sbatch" of a run; *out is for free(). gpus: of each node; 0: the
 * script asks for no gres. */
enum status slurm_script_make(const struct slurm_run *run, const char *name, unsigned gpus,
                              char **out);
