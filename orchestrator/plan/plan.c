#include "orchestrator/plan/plan.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"
#include "job/options.h"
#include "orchestrator/plan/internal.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/plan/shares.h"

#define MOST_POINTS 10000
#define MOST_COMBINATIONS 1000000

/* A point of the plan in the tree of all, by which it is found again. */
struct known_point {
    uint64_t hash;
    struct point point;
};

static int compare_points(const void *a, const void *b)
{
    const struct known_point *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (point_equal(&x->point, &y->point))
        return 0;
    return x->point.id < y->point.id ? -1 : 1;
}

/* Unless the tree has an equal one. */
static enum status add_point(struct plan *plan, void **known, const struct point *point)
{
    struct known_point *own = malloc(sizeof *own);
    if (!own)
        return status_set(STATUS_MEMORY, "out of memory");
    *own = (struct known_point){.hash = point_hash(point), .point = *point};
    own->point.id = (unsigned)plan->count;
    struct known_point *const *found = tsearch(own, known, compare_points);
    if (!found || *found != own) {
        free(own);
        return found ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
    }
    if ((plan->count & (plan->count - 1)) == 0) {
        size_t room = plan->count ? plan->count * 2 : 1;
        struct point *points = realloc(plan->points, room * sizeof *points);
        if (!points)
            return status_set(STATUS_MEMORY, "out of memory");
        plan->points = points;
    }
    plan->points[plan->count++] = own->point;
    return STATUS_OK;
}

/* Where no device is named, the GPU is the emulated one if there is no driver. */
static enum status too_many_gpus(unsigned wanted, unsigned gpus, const char *device)
{
    bool emulated = device && strncmp(device, "emulated", strlen("emulated")) == 0;
    char more[64] = "";
    if (emulated || !device || !*device)
        snprintf(more, sizeof more, "emulated:all with MPSWEEP_EMUL_DEVICES=%u", wanted);
    return status_set(STATUS_USAGE,
                      "gpus-per-point %u is more than the %u GPU%s of device: name more of them "
                      "there, as in %s%s%s",
                      wanted, gpus, gpus == 1 ? "" : "s", emulated ? "" : "0,1 or all",
                      !emulated && *more ? ", or " : "", more);
}

/* gpus: of the run; device: how its user named them. */
static enum status set_gpus(struct point *point, unsigned gpus, const char *device)
{
    if (point->gpus == 0)
        point->gpus = gpus;
    if (point->gpus > gpus)
        return too_many_gpus(point->gpus, gpus, device);
    char streams[16] = "";
    if (point->streams > 1)
        snprintf(streams, sizeof streams, "x%u", point->streams);
    if (point_workers(point) > LAYOUT_MOST_WORKERS)
        return status_set(
            STATUS_USAGE, "%s %ux%u%s on %u GPU%s has %u workers; at most %d can be had",
            layout_name(point->layout), point->processes, point->threads, streams, point->gpus,
            point->gpus == 1 ? "" : "s", point_workers(point), LAYOUT_MOST_WORKERS);
    return STATUS_OK;
}

/* What the options that have one value only give to every point of a section. */
static struct point base_of(const struct job *job, const struct job_section *section)
{
    struct point base = {.section = section->name, .program = {.command = job->command}};
    base.program.seed = options_integer(&section->options, OPTION_SEED);
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        const struct option_value *value = &section->options.values[row->id];
        if (!(row->flags & OPTION_AXIS) && value->count > 0)
            setting_store(row, &value->items[0], &base);
    }
    return base;
}

/* An axis of a section, and which of its values is next. */
struct axis {
    const struct option_row *row;
    const struct option_value *value;
    size_t at;
};

/* The layout is the slowest, and the others are in the order of the table. */
static enum status find_axes(const struct options *options, struct axis *axes, size_t *count)
{
    axes[0] = (struct axis){&option_table[OPTION_LAYOUT], &options->values[OPTION_LAYOUT], 0};
    *count = 1;
    double combinations = (double)axes[0].value->count;
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        if (!(row->flags & OPTION_AXIS) || row->id == OPTION_LAYOUT)
            continue;
        axes[*count] = (struct axis){row, &options->values[row->id], 0};
        combinations *= (double)axes[(*count)++].value->count;
    }
    if (combinations > MOST_COMBINATIONS)
        return status_set(STATUS_USAGE, "the plan has more than %d combinations",
                          MOST_COMBINATIONS);
    return STATUS_OK;
}

/* The next combination; false: there is none. */
static bool turn(struct axis *axes, size_t count)
{
    while (count > 0 && ++axes[count - 1].at == axes[count - 1].value->count)
        axes[--count].at = 0;
    return count > 0;
}

/* A thread without a part would run on those of the others. */
static enum status check_partition(const struct point *point)
{
    char text[SETTING_TEXT_BYTES];
    for (unsigned t = 0; t < point->sm_partition.count; t++)
        if (point->sm_partition.values[t] == OPTION_SHARE_DEFAULT)
            return status_set(STATUS_USAGE,
                              "sm-partition '%s' leaves a thread without a number: give each one",
                              shares_text(&point->sm_partition, false, text, sizeof text));
    return STATUS_OK;
}

/* What a word stands for is known only when the whole file is. */
static enum status find_workload(const struct job *job, struct plan *plan,
                                 const struct options *options, struct workload_found *found,
                                 struct point *point)
{
    int line = options->values[OPTION_WORKLOAD].line;
    enum status status = workload_find(job, plan, found, point);
    if (status == STATUS_OK || job->command || line == 0)
        return status;
    return status_prefix(status, "'%s' line %d: ", job->path, line);
}

static enum status add_section(struct plan *plan, void **known, const struct job *job,
                               const struct job_section *section, unsigned gpus)
{
    struct axis axes[OPTION_COUNT];
    size_t count;
    const struct options *options = &section->options;
    const struct point base = base_of(job, section);
    struct workload_found found = {0};
    enum status status = requests_check(options, job->command, &base.program.requests);
    if (status == STATUS_OK)
        status = find_axes(options, axes, &count);
    if (status != STATUS_OK)
        return status;
    do {
        struct point point = base;
        for (size_t i = 0; i < count; i++)
            setting_store(axes[i].row, &axes[i].value->items[axes[i].at], &point);
        status = set_gpus(&point, gpus, options_text(options, OPTION_DEVICE));
        if (status == STATUS_OK)
            status = find_workload(job, plan, options, &found, &point);
        if (status != STATUS_OK)
            return status;
        settings_make_canonical(&point);
        if (point.mps_daemons == MPS_DAEMONS_PER_GPU &&
            strcmp(options_text(options, OPTION_MPS), "external") == 0)
            return status_set(STATUS_USAGE, "mps external is one daemon for all GPUs: leave out "
                                            "mps-daemons per-gpu");
        status = check_partition(&point);
        if (status == STATUS_OK)
            status = add_point(plan, known, &point);
        if (status != STATUS_OK)
            return status;
        if (plan->count > MOST_POINTS)
            return status_set(STATUS_USAGE, "the plan has more than %d points", MOST_POINTS);
    } while (turn(axes, count));
    return STATUS_OK;
}

enum status plan_make(const struct job *job, unsigned gpus, struct plan *out)
{
    struct plan plan = {0};
    void *known = NULL;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < job->count && status == STATUS_OK; i++)
        status = add_section(&plan, &known, job, &job->sections[i], gpus);
    tdestroy(known, free);
    if (status == STATUS_OK)
        status = plan_make_id(job, &plan);
    if (status != STATUS_OK) {
        plan_release(&plan);
        return status;
    }
    *out = plan;
    return STATUS_OK;
}

void plan_release(struct plan *plan)
{
    for (size_t i = 0; i < plan->mix_count; i++)
        free(plan->mixes[i]);
    free(plan->mixes);
    free(plan->points);
    *plan = (struct plan){0};
}

enum status plan_check_stagger(const struct plan *plan)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < plan->count && status == STATUS_OK; i++)
        status = point_check_stagger(&plan->points[i], 0);
    return status;
}

void plan_order(size_t count, unsigned seed, unsigned round, size_t *order)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    if (seed == 0)
        return;
    uint64_t state = ((uint64_t)seed << 32) ^ round;
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)(random_next(&state) % i);
        size_t swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}
