/*
 * Shared by the files that make the space: the sections of a job, one for each layout (sections.c),
 * and the space that becomes of them (space.c).
 */
#pragma once

#include "job/jobfile.h"
#include "job/options.h"

/* Of the layouts of a GPU. */
struct tune_bounds {
    unsigned threads, processes, clients, workers;
    unsigned room; /* workers that a GPU can have, so that all have as many */
    unsigned cpus; /* of a GPU */
    bool asleep;   /* no thread may keep a CPU busy */
    bool given_threads, given_processes;
};

static inline unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Sets an option beyond what job files and the command line can give. */
enum status tune_option_set(struct options *options, enum option_id id, const char *text);

/* Appends a copy of a section, and gives its options. */
enum status tune_section_add(struct job *job, const struct job_section *like,
                             struct options **options);

/* Appends a section for each layout, with the other axes that go with it, of each section of a job.
 * STATUS_USAGE: there are none within the bounds. */
enum status tune_sections_add(const struct job *job, const struct tune_bounds *bounds,
                              struct job *out);
