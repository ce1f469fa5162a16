#include "orchestrator/tune/sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "job/queues.h"
#include "orchestrator/plan/settings.h"

/* More than job files and the command line can give. */
#define RANK_SPACE (JOB_RANK_COMMAND_LINE + 1)

/* Streams of a thread, in smaller steps where a GPU comes near its limits: on an H200 64 do 86% of
 * the most, 80 do 94%, 96 do 98%. Each thread that polls them takes a CPU, and the GPU the
 * iterations of as many streams as of threads. */
static const unsigned stream_steps[] = {2, 4, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 192, 256};
#define IN_FLIGHT_MOST 256

/* Processes that take turns gain nothing by their number. */
#define SLICED_MOST 4
#define SLICED_THREADS_MOST 16

#define SIZES 12

struct sizes {
    unsigned count, of[SIZES];
};

struct layout_size {
    enum layout_kind kind;
    unsigned processes, threads;
};

/* 1, 2, 4, ... and the most. */
static void make_sizes(unsigned most, struct sizes *out)
{
    *out = (struct sizes){0};
    for (unsigned size = 1; size < most && out->count < SIZES - 1; size *= 2)
        out->of[out->count++] = size;
    out->of[out->count++] = most;
}

enum status tune_option_set(struct options *options, enum option_id id, const char *text)
{
    return options_set(options, &option_table[id], text, RANK_SPACE);
}

/* Sets an axis that the user left open. */
static enum status offer(struct options *options, enum option_id id, const char *text)
{
    return options_is_given(options, id) ? STATUS_OK : tune_option_set(options, id, text);
}

enum status tune_section_add(struct job *job, const struct job_section *like,
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
    unsigned usual = mps ? QUEUES_OF_CLIENT : QUEUES_OF_PROCESS;
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

/* A section of one layout; *options are its own. */
static enum status begin_layout(struct job *job, const struct job_section *like,
                                const struct layout_size *size, struct options **options)
{
    char text[LAYOUT_TEXT_BYTES];
    enum status status = tune_section_add(job, like, options);
    if (status == STATUS_OK)
        status = tune_option_set(*options, OPTION_LAYOUT,
                                 layout_text(size->kind, size->processes, size->threads, text));
    if (status == STATUS_OK)
        status =
            offer(*options, OPTION_ACTIVE_THREAD_PERCENTAGE,
                  percentages_for(layout_over_mps(size->kind), size->processes, text, sizeof text));
    return status;
}

/* A section of one layout, with the other axes that go with it. */
static enum status add_layout(struct job *job, const struct job_section *like,
                              const struct layout_size *size)
{
    char text[64];
    struct options *options;
    bool mps = layout_over_mps(size->kind);
    /* Threads of a server's layout are those that ask it: how many use the GPU is not known. */
    unsigned users = options_switch(&like->options, OPTION_SERVER) ? 1 : size->threads;
    enum status status = begin_layout(job, like, size, &options);
    if (status == STATUS_OK)
        status = offer(options, OPTION_CONNECTIONS, connections_for(mps, users, text, sizeof text));
    if (status == STATUS_OK)
        status = offer_values(job, options);
    return status;
}

static bool is_open(const struct job_section *section, enum option_id id)
{
    return !options_is_given(&section->options, id);
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
                                      const struct tune_bounds *bounds,
                                      const struct layout_size *size, unsigned streams,
                                      enum work_launch launch)
{
    char text[64];
    struct options *options;
    bool graph = launch == LAUNCH_GRAPH;
    unsigned slots = size->threads * streams;
    enum status status = begin_layout(job, like, size, &options);
    snprintf(text, sizeof text, "%u", streams);
    if (status == STATUS_OK)
        status = tune_option_set(options, OPTION_STREAMS, text);
    if (status == STATUS_OK)
        status = tune_option_set(options, OPTION_LAUNCH, graph ? "graph" : "stream");
    if (status == STATUS_OK)
        status = offer(options, OPTION_MEMORY, "pinned");
    if (status == STATUS_OK)
        status = offer(options, OPTION_SCHEDULE, bounds->asleep ? "auto,block" : "auto");
    if (status == STATUS_OK)
        status = offer(options, OPTION_BIND, "near");
    bool mps = layout_over_mps(size->kind);
    if (status == STATUS_OK && !graph)
        status = offer(options, OPTION_CONNECTIONS, connections_for(mps, slots, text, sizeof text));
    return status;
}

/* Every number of streams that goes with a layout: launched kernel by kernel no more than get
 * hardware queues. */
static enum status add_polling(struct job *job, const struct job_section *like,
                               const struct tune_bounds *bounds, const struct layout_size *size)
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
                             const struct tune_bounds *bounds)
{
    struct sizes process_sizes, thread_sizes;
    make_sizes(smaller(mps ? bounds->clients : bounds->processes, bounds->room), &process_sizes);
    make_sizes(smaller(bounds->threads, bounds->room), &thread_sizes);
    enum status status = STATUS_OK;
    for (unsigned p = 0; p < process_sizes.count; p++) {
        for (unsigned t = 0; t < thread_sizes.count && status == STATUS_OK; t++) {
            unsigned processes = process_sizes.of[p], threads = thread_sizes.of[t];
            unsigned workers = processes * threads;
            const struct layout_size size = {layout_of(processes, threads, mps), processes,
                                             threads};
            bool beyond = (workers > bounds->workers && processes > 1 && threads > 1) ||
                          workers > bounds->room;
            bool vain = size.kind == LAYOUT_HYBRID_TIMESLICED &&
                        (processes > SLICED_MOST || threads > SLICED_THREADS_MOST);
            if (!beyond && !vain)
                status = add_layout(job, like, &size);
            if (!beyond && !vain && status == STATUS_OK)
                status = add_polling(job, like, bounds, &size);
        }
    }
    return status;
}

static enum status add_given(struct job *job, const struct job_section *like,
                             const struct tune_bounds *bounds)
{
    const struct option_value *layouts = &like->options.values[OPTION_LAYOUT];
    enum status status = STATUS_OK;
    for (size_t i = 0; i < layouts->count && status == STATUS_OK; i++) {
        const struct option_item *item = &layouts->items[i];
        if ((bounds->given_processes && item->processes > bounds->processes) ||
            (bounds->given_threads && item->threads > bounds->threads))
            continue;
        const struct layout_size size = {item->layout, item->processes, item->threads};
        status = add_layout(job, like, &size);
        if (status == STATUS_OK)
            status = add_polling(job, like, bounds, &size);
    }
    return status;
}

enum status tune_sections_add(const struct job *job, const struct tune_bounds *bounds,
                              struct job *out)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < job->count && status == STATUS_OK; i++) {
        const struct job_section *section = &job->sections[i];
        if (options_is_given(&section->options, OPTION_LAYOUT)) {
            status = add_given(out, section, bounds);
            continue;
        }
        status = add_sizes(out, section, false, bounds);
        if (status == STATUS_OK)
            status = add_sizes(out, section, true, bounds);
    }
    if (status == STATUS_OK && out->count == 0)
        return status_set(STATUS_USAGE,
                          "none of the layouts given is within --max-processes and --max-threads");
    return status;
}
