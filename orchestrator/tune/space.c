#include "orchestrator/tune/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/options.h"
#include "job/queues.h"
#include "common/text.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/tune/sections.h"

/* Threads and processes for each CPU that may be worth a try, and how many in any case: on an H200
 * with 16 CPUs 128 threads that wait asleep did more than any fewer. */
#define THREADS_PER_CPU 16
#define THREADS_LEAST 32
#define THREADS_MOST 256
#define PROCESSES_PER_CPU 4
#define PROCESSES_LEAST 8
#define PROCESSES_MOST 64

static unsigned clamp(unsigned value, unsigned least, unsigned most)
{
    return value < least ? least : value > most ? most : value;
}

/* GPUs of every point; 0: the machine has fewer, which the plan reports. */
static unsigned gpus_of(const struct options *options, const struct tune_machine *machine)
{
    unsigned all = machine->gpus ? machine->gpus : 1;
    int64_t wanted = options_integer(options, OPTION_GPUS_PER_POINT);
    return wanted > 0 ? (unsigned)wanted : all;
}

/* CPUs that the workers of a GPU have if those of all GPUs have as many. */
static unsigned cpus_of_a_gpu(const struct options *options, const struct tune_machine *machine)
{
    unsigned cpus = machine->cpus / gpus_of(options, machine);
    return cpus > 0 ? cpus : 1;
}

/* Of those that are given; 1: of a layout whose threads have one each. */
static unsigned most_streams(const struct options *options)
{
    const struct option_value *value = &options->values[OPTION_STREAMS];
    unsigned most = 1;
    for (size_t i = 0; i < value->count; i++)
        if (value->items[i].integer > most)
            most = (unsigned)value->items[i].integer;
    return most;
}

/* All of a GPU: its layout is what is searched, with all GPUs at work. */
static struct tune_bounds find_bounds(const struct options *options,
                                      const struct tune_machine *machine)
{
    unsigned cpus = cpus_of_a_gpu(options, machine);
    unsigned max_threads = (unsigned)options_integer(options, OPTION_MAX_THREADS);
    unsigned max_processes = (unsigned)options_integer(options, OPTION_MAX_PROCESSES);
    unsigned streams = most_streams(options);
    struct tune_bounds bounds = {
        .threads = clamp(THREADS_PER_CPU * cpus, THREADS_LEAST, THREADS_MOST),
        .processes = clamp(PROCESSES_PER_CPU * cpus, PROCESSES_LEAST, PROCESSES_MOST),
        .clients = machine->clients ? machine->clients : MPS_CLIENTS_USUAL,
        .room = LAYOUT_MOST_WORKERS / gpus_of(options, machine) / streams,
        .cpus = cpus,
        .asleep = options->values[OPTION_MAX_CPUS].count &&
                  options_real(options, OPTION_MAX_CPUS) < gpus_of(options, machine),
        .given_threads = max_threads > 0,
        .given_processes = max_processes > 0,
    };
    bounds.workers = bounds.threads;
    if (max_threads)
        bounds.threads = max_threads;
    if (max_processes)
        bounds.processes = max_processes;
    bounds.clients = smaller(bounds.clients, bounds.processes);
    bounds.workers = clamp(bounds.threads, bounds.workers, LAYOUT_MOST_WORKERS);
    return bounds;
}

/* -- what a job must be ------------------------------------------------------------------------ */

static bool same_text(const struct option_value *a, const struct option_value *b)
{
    return a->count == b->count &&
           (a->count == 0 || strcmp(a->items[0].text, b->items[0].text) == 0);
}

static enum status check_work(const struct job *job, const struct option_row *row)
{
    const struct option_value *first = &job->sections[0].options.values[row->id];
    for (size_t i = 0; i < job->count; i++) {
        const struct option_value *value = &job->sections[i].options.values[row->id];
        if (value->count > 1)
            return status_set(STATUS_USAGE,
                              "tune finds the best layout of one workload, and '%s' has %zu values",
                              row->name, value->count);
        if (!same_text(value, first))
            return status_set(
                STATUS_USAGE,
                "tune finds the best layout of one workload, and '%s' differs between "
                "the sections of the job",
                row->name);
    }
    return STATUS_OK;
}

/* More GPUs nearly always do more: which number of them is best is not a question of a layout. */
static enum status check_gpus(const struct job *job)
{
    const struct option_value *first = &job->sections[0].options.values[OPTION_GPUS_PER_POINT];
    for (size_t i = 0; i < job->count; i++) {
        const struct option_value *value = &job->sections[i].options.values[OPTION_GPUS_PER_POINT];
        if (value->count > 1)
            return status_set(STATUS_USAGE,
                              "tune searches the layout of a GPU with a fixed number of GPUs at "
                              "work: give 'gpus-per-point' as one number; 'mpsweep sweep' measures "
                              "how a layout scales");
        if (!same_text(value, first))
            return status_set(STATUS_USAGE,
                              "tune searches with a fixed number of GPUs at work, and "
                              "'gpus-per-point' differs between the sections of the job");
    }
    return STATUS_OK;
}

static enum status check_job(const struct job *job)
{
    const struct options *options = &job->sections[0].options;
    const char *work = option_table[OPTION_WORKLOAD].group;
    enum status status = STATUS_OK;
    for (int i = 0; i < OPTION_COUNT && status == STATUS_OK; i++)
        if (option_table[i].commands & OPTION_TUNE && strcmp(option_table[i].group, work) == 0)
            status = check_work(job, &option_table[i]);
    if (status != STATUS_OK)
        return status;
    status = check_gpus(job);
    if (status != STATUS_OK)
        return status;
    if (options_integer(options, OPTION_ITERATIONS) > 0)
        return status_set(STATUS_USAGE,
                          "tune measures by time: 'iterations' of the job is for a sweep only");
    return STATUS_OK;
}

/* -- naive layouts ----------------------------------------------------------------------------- */

/* An axis with several values is at its first one. */
static enum status add_plain(struct job *job, const struct job_section *like, enum layout_kind kind,
                             unsigned processes, unsigned threads)
{
    char layout[LAYOUT_TEXT_BYTES];
    struct options *options;
    enum status status = tune_section_add(job, like, &options);
    for (int i = 0; i < OPTION_COUNT && status == STATUS_OK; i++)
        if (option_table[i].flags & OPTION_AXIS && options->values[i].count > 1 &&
            i != OPTION_LAYOUT) {
            char *first = strdup(options->values[i].items[0].text);
            status = first ? tune_option_set(options, (enum option_id)i, first)
                           : status_set(STATUS_MEMORY, "out of memory");
            free(first);
        }
    return status == STATUS_OK ? tune_option_set(options, OPTION_LAYOUT,
                                                 layout_text(kind, processes, threads, layout))
                               : status;
}

/* As many workers as there are CPUs, at least two, and no more than are allowed. */
static enum status add_naive(struct job *job, const struct job_section *like,
                             const struct tune_bounds *bounds, struct tune_space *space)
{
    unsigned many = smaller(bounds->cpus < 2 ? 2 : bounds->cpus, bounds->room);
    unsigned threads = smaller(many, bounds->threads);
    unsigned processes = smaller(many, bounds->processes);
    unsigned clients = smaller(many, bounds->clients);
    static const char *const names[] = {"1×1", "N threads", "N processes", "N processes+MPS"};
    enum status status = add_plain(job, like, LAYOUT_THREADS, 1, 1);
    if (status == STATUS_OK)
        status = add_plain(job, like, LAYOUT_THREADS, 1, threads);
    if (status == STATUS_OK)
        status = add_plain(job, like, LAYOUT_PROCESSES, processes, 1);
    if (status == STATUS_OK)
        status = add_plain(job, like, LAYOUT_PROCESSES_MPS, clients, 1);
    for (size_t i = 0; i < TUNE_NAIVE; i++)
        space->naive[i].name = names[i];
    return status;
}

static enum status find_naive(struct job_section *plain, unsigned gpus, struct tune_space *space)
{
    for (size_t i = 0; i < TUNE_NAIVE; i++) {
        /* The plan of its section alone is the point as it is, merged. */
        struct job one = space->job;
        one.sections = &plain[i];
        one.count = 1;
        struct plan plan;
        enum status status = plan_make(&one, gpus, &plan);
        if (status != STATUS_OK)
            return status;
        size_t at = 0;
        while (at < space->plan.count && !point_equal(&space->plan.points[at], &plan.points[0]))
            at++;
        bool twice = false;
        for (size_t j = 0; j < space->naive_count; j++)
            twice |= space->naive[j].point == at;
        if (!twice)
            space->naive[space->naive_count++] =
                (struct tune_naive){.name = space->naive[i].name, .point = at};
        plan_release(&plan);
    }
    return STATUS_OK;
}

/* -- all together ------------------------------------------------------------------------------ */

/* The sections of a job on one GPU; the caller releases them. */
static enum status on_one_gpu(const struct job *job, struct job *out)
{
    enum status status = STATUS_OK;
    *out = (struct job){.command = job->command};
    for (size_t i = 0; i < job->count && status == STATUS_OK; i++) {
        struct options *options;
        status = tune_section_add(out, &job->sections[i], &options);
        if (status == STATUS_OK)
            status = tune_option_set(options, OPTION_GPUS_PER_POINT, "1");
    }
    return status;
}

/* How many points the sections make until now. */
static enum status count_points(const struct job *job, unsigned gpus, size_t *count)
{
    struct plan plan = {0};
    enum status status = plan_make(job, gpus, &plan);
    if (status == STATUS_OK)
        *count = plan.count;
    plan_release(&plan);
    return status;
}

/* Of several GPUs what is searched on one of them comes first. */
static enum status add_search_on_one(const struct job *job, const struct tune_bounds *bounds,
                                     unsigned gpus, struct tune_space *space)
{
    struct job one;
    enum status status = on_one_gpu(job, &one);
    if (status == STATUS_OK)
        status = tune_sections_add(&one, bounds, &space->job);
    if (status == STATUS_OK)
        status = count_points(&space->job, gpus, &space->on_all);
    job_release(&one);
    return status;
}

enum status tune_space_make(const struct job *job, const struct tune_machine *machine,
                            struct tune_space *out)
{
    unsigned gpus = machine->gpus ? machine->gpus : 1;
    enum status status = check_job(job);
    if (status != STATUS_OK)
        return status;
    const struct options *options = &job->sections[0].options;
    struct tune_space space = {.gpus = gpus_of(options, machine),
                               .cpus = cpus_of_a_gpu(options, machine),
                               .clients = machine->clients ? machine->clients : MPS_CLIENTS_USUAL};
    /* What the sections are about is the job's own. */
    space.job.command = job->command;
    space.job.workloads = job->workloads;
    space.job.workload_count = job->workload_count;
    struct tune_bounds bounds = find_bounds(options, machine);
    if (space.gpus > 1)
        status = add_search_on_one(job, &bounds, gpus, &space);
    if (status == STATUS_OK)
        status = tune_sections_add(job, &bounds, &space.job);
    if (status == STATUS_OK)
        status = count_points(&space.job, gpus, &space.candidates);
    if (space.gpus > 1) {
        space.on_all_count = space.candidates - space.on_all;
        space.candidates = space.on_all;
    }
    size_t sections = space.job.count;
    if (status == STATUS_OK)
        status = add_naive(&space.job, &job->sections[0], &bounds, &space);
    if (status == STATUS_OK)
        status = plan_make(&space.job, gpus, &space.plan);
    if (status == STATUS_OK)
        status = find_naive(space.job.sections + sections, gpus, &space);
    if (status != STATUS_OK) {
        tune_space_release(&space);
        return status;
    }
    *out = space;
    return STATUS_OK;
}

size_t tune_space_next_on_all(const struct tune_space *space, size_t candidate, size_t from)
{
    size_t end = space->on_all + space->on_all_count;
    for (size_t i = from < space->on_all ? space->on_all : from; i < end; i++) {
        struct point one = space->plan.points[i];
        one.gpus = space->plan.points[candidate].gpus;
        one.mps_daemons = space->plan.points[candidate].mps_daemons;
        if (point_equal(&one, &space->plan.points[candidate]))
            return i;
    }
    return space->plan.count;
}

void tune_space_release(struct tune_space *space)
{
    plan_release(&space->plan);
    space->job.workloads = NULL;
    space->job.workload_count = 0;
    job_release(&space->job);
    *space = (struct tune_space){0};
}
