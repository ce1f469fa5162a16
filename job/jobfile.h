/*
 * Job files: INI text (https://github.com/benhoyt/inih). [global] holds for everything; every
 * other section is a set of points of its own, which starts from [global]. Keys are the long names
 * of the command line's options. Options that are not axes hold for the whole sweep and stand in
 * [global] only. A file with no other section than [global] is one set of points. Sections named
 * "workload NAME" are no points but describe what an iteration does (job/workload_text.h): keys
 * step, as often as there are steps, and check. Keys of `mpsweep tune` mean nothing to a sweep, so
 * that one file serves both.
 */
#pragma once

#include <limits.h>

#include "job/options.h"
#include "job/workload_text.h"

#define JOB_RANK_GLOBAL 1
#define JOB_RANK_SECTION 2
#define JOB_RANK_COMMAND_LINE 3

struct job_section {
    char *name; /* NULL for the set of a job without sections */
    struct options options;
};

struct job {
    const char *path;             /* of its file, as it was given; not owned; NULL: none */
    bool empty;                   /* that has neither a section nor a key */
    struct job_section *sections; /* at least one */
    size_t count;
    struct workload *workloads; /* of its [workload NAME] sections */
    size_t workload_count;
    char *const *command; /* the program to run as workload, NULL-ended; not owned; NULL: none */
};

/* Where the job file of that name is: path itself where there is such a file, else an example that
 * comes with mpsweep: "examples/forum.job", "forum.job" or "forum". Without either, path; NULL for
 * NULL. */
const char *job_find(const char *path, char out[PATH_MAX]);

/* Reads a job file, found as of job_find(); path NULL gives one section of defaults. Errors name
 * file, line and key. */
enum status job_load(const char *path, struct job *out);

/* Sets an option in every section, as the command line does. */
enum status job_set(struct job *job, const struct option_row *row, const char *text);

void job_release(struct job *job);
