#include "orchestrator/tune/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/options.h"
#include "common/text.h"
#include "orchestrator/plan/settings.h"

/* More than job files and the command line can give. */
#define RANK_SPACE (JOB_RANK_COMMAND_LINE + 1)

/* Threads and processes for each CPU that may be worth a try, and how many in any case: on an H200
 * with 16 CPUs 128 threads that wait asleep did more than any fewer. */
#define THREADS_PER_CPU 16
#define THREADS_LEAST 32
#define THREADS_MOST 256
#define PROCESSES_PER_CPU 4
#define PROCESSES_LEAST 8
#define PROCESSES_MOST 64

/* MPS clients that an H200 allows, where nothing is known. */
#define CLIENTS 48

/* Streams of a thread, in smaller steps where a GPU comes near its limits: on an H200 64 do 86% of
 * the most, 80 do 94%, 96 do 98%. Each thread that polls them takes a CPU, and the GPU the
 * iterations of as many streams as of threads. */
static const unsigned stream_steps[] = {2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 192, 256};
#define IN_FLIGHT_MOST 256

/* Processes that take turns gain nothing by their number. */
#define SLICED_MOST 4
#define SLICED_THREADS_MOST 16

#define QUEUES 8
#define QUEUES_MPS 2
#define QUEUES_MOST 32

#define SIZES 12

struct sizes {
    unsigned count, of[SIZES];
};

struct layout_size {
    enum layout_kind kind;
    unsigned processes, threads;
};

struct bounds {
    unsigned threads, processes, clients, workers;
    unsigned room; /* workers that a GPU can have, so that all have as many */
    unsigned cpus; /* of a GPU */
    bool asleep;   /* no thread may keep a CPU busy */
    bool given_threads, given_processes;
};

/* 1, 2, 4, ... and the most. */
static void make_sizes(unsigned most, struct sizes *out)
{
    *out = (struct sizes){0};
    for (unsigned size = 1; size < most && out->count < SIZES - 1; size *= 2)
        out->of[out->count++] = size;
    out->of[out->count++] = most;
}

static unsigned clamp(unsigned value, unsigned least, unsigned most)
{
    return value < least ? least : value > most ? most : value;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
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
static struct bounds find_bounds(const struct options *options, const struct tune_machine *machine)
{
    unsigned cpus = cpus_of_a_gpu(options, machine);
    unsigned max_threads = (unsigned)options_integer(options, OPTION_MAX_THREADS);
    unsigned max_processes = (unsigned)options_integer(options, OPTION_MAX_PROCESSES);
    unsigned streams = most_streams(options);
    struct bounds bounds = {
        .threads = clamp(THREADS_PER_CPU * cpus, THREADS_LEAST, THREADS_MOST),
        .processes = clamp(PROCESSES_PER_CPU * cpus, PROCESSES_LEAST, PROCESSES_MOST),
        .clients = machine->clients ? machine->clients : CLIENTS,
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

/* -- sections ---------------------------------------------------------------------------------- */

static enum status set(struct options *options, enum option_id id, const char *text)
{
    return options_set(options, &option_table[id], text, RANK_SPACE);
}

/* Sets an axis that the user left open. */
static enum status offer(struct options *options, enum option_id id, const char *text)
{
    return options->values[id].rank > 0 ? STATUS_OK : set(options, id, text);
}

static enum status add_section(struct job *job, const struct job_section *like,
                               struct options **options)
{
    struct job_section *sections = realloc(job->sections, (job->count + 1) * sizeof *job->sections);
    if (!sections)
        return status_set(STATUS_MEMORY, "out of memory");
    job->sections = sections;
    struct job_section *section = &sections[job->count];
    *section = (struct job_section){0};
    enum status status = options_copy(&like->options, &section->options);
    if (status != STATUS_OK)
        return status;
    if (like->name && !(section->name = strdup(like->name))) {
        options_release(&section->options);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    job->count++;
    *options = &section->options;
    return STATUS_OK;
}

static unsigned power_of_two_from(unsigned value)
{
    unsigned power = 1;
    while (power < value)
        power *= 2;
    return power;
}

/* Queues for all threads of a process, and for half of them; more than the default only. */
static const char *connections_for(bool mps, unsigned threads, char *out, size_t size)
{
    struct text text = {.at = out, .size = size};
    unsigned usual = mps ? QUEUES_MPS : QUEUES;
    unsigned all = smaller(power_of_two_from(threads), QUEUES_MOST);
    text_append(&text, "default");
    if (all / 2 > usual)
        text_append(&text, ",%u", all / 2);
    if (all > usual)
        text_append(&text, ",%u", all);
    return out;
}

/* All of the GPU for each client, or twice an even share: less in each other's way. */
static const char *percentages_for(bool mps, unsigned processes, char *out, size_t size)
{
    if (mps && processes >= 4)
        snprintf(out, size, "default,%u", 200 / processes > 0 ? 200 / processes : 1);
    else
        snprintf(out, size, "default");
    return out;
}

/* The values that the table offers. What our own workloads heed, a program decides by itself. */
static enum status offer_values(const struct job *job, struct options *options)
{
    enum status status = STATUS_OK;
    for (const struct option_row *row = NULL; status == STATUS_OK && (row = setting_next(row));) {
        bool ours = row->setting.where & PLACE_OURS;
        if (row->setting.offer && *row->setting.offer && !(ours && job->command))
            status = offer(options, row->id, row->setting.offer);
    }
    return status;
}

/* A section of one layout, with the other axes that go with it. */
static enum status add_layout(struct job *job, const struct job_section *like,
                              enum layout_kind kind, unsigned processes, unsigned threads)
{
    char layout[LAYOUT_TEXT_BYTES], text[64];
    struct options *options;
    bool mps = layout_over_mps(kind);
    enum status status = add_section(job, like, &options);
    if (status == STATUS_OK)
        status = set(options, OPTION_LAYOUT, layout_text(kind, processes, threads, layout));
    if (status == STATUS_OK)
        status =
            offer(options, OPTION_CONNECTIONS, connections_for(mps, threads, text, sizeof text));
    if (status == STATUS_OK)
        status = offer(options, OPTION_ACTIVE_THREAD_PERCENTAGE,
                       percentages_for(mps, processes, text, sizeof text));
    if (status == STATUS_OK)
        status = offer_values(job, options);
    return status;
}

static bool is_open(const struct job_section *section, enum option_id id)
{
    return section->options.values[id].rank == 0;
}

static bool may_launch(const struct job_section *section, enum work_launch launch)
{
    const struct option_value *value = &section->options.values[OPTION_LAUNCH];
    bool may = is_open(section, OPTION_LAUNCH);
    for (size_t i = 0; i < value->count && !may; i++)
        may = value->items[i].integer == (int64_t)launch;
    return may;
}

/* A section of one layout whose threads poll. Of the other axes what is worth a try there: a copy
 * of pageable memory keeps the thread from its other streams, and so does its sleep. */
static enum status add_polling_layout(struct job *job, const struct job_section *like,
                                      const struct bounds *bounds, const struct layout_size *size,
                                      unsigned streams, enum work_launch launch)
{
    char layout[LAYOUT_TEXT_BYTES], text[64];
    struct options *options;
    bool graph = launch == LAUNCH_GRAPH;
    unsigned slots = size->threads * streams;
    enum status status = add_section(job, like, &options);
    if (status == STATUS_OK)
        status = set(options, OPTION_LAYOUT,
                     layout_text(size->kind, size->processes, size->threads, layout));
    snprintf(text, sizeof text, "%u", streams);
    if (status == STATUS_OK)
        status = set(options, OPTION_STREAMS, text);
    if (status == STATUS_OK)
        status = set(options, OPTION_LAUNCH, graph ? "graph" : "stream");
    if (status == STATUS_OK)
        status = offer(options, OPTION_MEMORY, "pinned");
    if (status == STATUS_OK)
        status = offer(options, OPTION_SCHEDULE, bounds->asleep ? "auto,block" : "auto");
    if (status == STATUS_OK)
        status = offer(options, OPTION_BIND, "near");
    bool mps = layout_over_mps(size->kind);
    if (status == STATUS_OK && !graph)
        status = offer(options, OPTION_CONNECTIONS, connections_for(mps, slots, text, sizeof text));
    if (status == STATUS_OK)
        status = offer(options, OPTION_ACTIVE_THREAD_PERCENTAGE,
                       percentages_for(mps, size->processes, text, sizeof text));
    return status;
}

/* Every number of streams that goes with a layout: launched kernel by kernel no more than get
 * hardware queues. */
static enum status add_polling(struct job *job, const struct job_section *like,
                               const struct bounds *bounds, const struct layout_size *size)
{
    unsigned threads = size->processes * size->threads;
    unsigned most = smaller(IN_FLIGHT_MOST, bounds->room) / threads;
    bool vain = size->processes > 1 && !layout_over_mps(size->kind);
    enum status status = STATUS_OK;
    if (job->command || !is_open(like, OPTION_STREAMS) || vain || threads > bounds->cpus)
        return STATUS_OK;
    for (size_t i = 0; i < sizeof stream_steps / sizeof *stream_steps; i++) {
        unsigned streams = stream_steps[i];
        if (streams > most)
            break;
        if (status == STATUS_OK && may_launch(like, LAUNCH_GRAPH))
            status = add_polling_layout(job, like, bounds, size, streams, LAUNCH_GRAPH);
        if (status == STATUS_OK && may_launch(like, LAUNCH_STREAM) &&
            size->threads * streams <= QUEUES_MOST)
            status = add_polling_layout(job, like, bounds, size, streams, LAUNCH_STREAM);
    }
    return status;
}

/* Every P and T, in the family that they belong to. */
static enum status add_sizes(struct job *job, const struct job_section *like, bool mps,
                             const struct bounds *bounds)
{
    struct sizes processes, threads;
    make_sizes(smaller(mps ? bounds->clients : bounds->processes, bounds->room), &processes);
    make_sizes(smaller(bounds->threads, bounds->room), &threads);
    enum status status = STATUS_OK;
    for (unsigned p = 0; p < processes.count; p++) {
        for (unsigned t = 0; t < threads.count && status == STATUS_OK; t++) {
            unsigned P = processes.of[p], T = threads.of[t];
            enum layout_kind kind = layout_of(P, T, mps);
            bool beyond = (P * T > bounds->workers && P > 1 && T > 1) || P * T > bounds->room;
            bool vain =
                kind == LAYOUT_HYBRID_TIMESLICED && (P > SLICED_MOST || T > SLICED_THREADS_MOST);
            const struct layout_size size = {kind, P, T};
            if (!beyond && !vain)
                status = add_layout(job, like, kind, P, T);
            if (!beyond && !vain && status == STATUS_OK)
                status = add_polling(job, like, bounds, &size);
        }
    }
    return status;
}

static enum status add_given(struct job *job, const struct job_section *like,
                             const struct bounds *bounds)
{
    const struct option_value *layouts = &like->options.values[OPTION_LAYOUT];
    enum status status = STATUS_OK;
    for (size_t i = 0; i < layouts->count && status == STATUS_OK; i++) {
        const struct option_item *item = &layouts->items[i];
        if ((bounds->given_processes && item->processes > bounds->processes) ||
            (bounds->given_threads && item->threads > bounds->threads))
            continue;
        const struct layout_size size = {item->layout, item->processes, item->threads};
        status = add_layout(job, like, item->layout, item->processes, item->threads);
        if (status == STATUS_OK)
            status = add_polling(job, like, bounds, &size);
    }
    return status;
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
    if (options->values[OPTION_RATE].items[0].rate.goal.permille)
        return status_set(STATUS_USAGE,
                          "tune searches layouts, not rates: give 'rate' as a number and the limit "
                          "of the latency as --max-p99");
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
    enum status status = add_section(job, like, &options);
    for (int i = 0; i < OPTION_COUNT && status == STATUS_OK; i++)
        if (option_table[i].flags & OPTION_AXIS && options->values[i].count > 1 &&
            i != OPTION_LAYOUT) {
            char *first = strdup(options->values[i].items[0].text);
            status = first ? set(options, (enum option_id)i, first)
                           : status_set(STATUS_MEMORY, "out of memory");
            free(first);
        }
    return status == STATUS_OK
               ? set(options, OPTION_LAYOUT, layout_text(kind, processes, threads, layout))
               : status;
}

/* As many workers as there are CPUs, at least two, and no more than are allowed. */
static enum status add_naive(struct job *job, const struct job_section *like,
                             const struct tune_machine *machine, const struct bounds *bounds,
                             struct tune_space *space)
{
    unsigned cpus = cpus_of_a_gpu(&job->sections[0].options, machine);
    unsigned many = smaller(cpus < 2 ? 2 : cpus, bounds->room);
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

static enum status add_space(const struct job *job, const struct bounds *bounds,
                             struct tune_space *space)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < job->count && status == STATUS_OK; i++) {
        const struct job_section *section = &job->sections[i];
        if (section->options.values[OPTION_LAYOUT].rank > 0) {
            status = add_given(&space->job, section, bounds);
            continue;
        }
        status = add_sizes(&space->job, section, false, bounds);
        if (status == STATUS_OK)
            status = add_sizes(&space->job, section, true, bounds);
    }
    if (status == STATUS_OK && space->job.count == 0)
        return status_set(STATUS_USAGE,
                          "none of the layouts given is within --max-processes and --max-threads");
    return status;
}

enum status tune_space_make(const struct job *job, const struct tune_machine *machine,
                            struct tune_space *out)
{
    struct tune_space space = {.cpus = machine->cpus};
    struct plan plan = {0};
    unsigned gpus = machine->gpus ? machine->gpus : 1;
    enum status status = check_job(job);
    if (status != STATUS_OK)
        return status;
    /* What the sections are about is the job's own. */
    space.job.command = job->command;
    space.job.workloads = job->workloads;
    space.job.workload_count = job->workload_count;
    struct bounds bounds = find_bounds(&job->sections[0].options, machine);
    status = add_space(job, &bounds, &space);
    if (status == STATUS_OK)
        status = plan_make(&space.job, gpus, &plan);
    space.candidates = plan.count;
    plan_release(&plan);
    size_t sections = space.job.count;
    if (status == STATUS_OK)
        status = add_naive(&space.job, &job->sections[0], machine, &bounds, &space);
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

void tune_space_release(struct tune_space *space)
{
    plan_release(&space->plan);
    space->job.workloads = NULL;
    space->job.workload_count = 0;
    job_release(&space->job);
    *space = (struct tune_space){0};
}
