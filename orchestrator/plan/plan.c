#include "orchestrator/plan/plan.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/digest.h"
#include "common/random.h"
#include "job/layout_text.h"
#include "common/text.h"
#include "orchestrator/plan/device_choice.h"

#define INITIAL_BYTES (1408 * 1024) /* as in the option table */
#define DEFAULT_CONNECTIONS 8
#define DEFAULT_CONNECTIONS_MPS 2

/* The axes, slowest first, in the order in which people read a table. */
static const enum option_id axes[] = {
    OPTION_LAYOUT,   OPTION_GPUS_PER_POINT, OPTION_MPS_DAEMONS,  OPTION_MEMORY,
    OPTION_SYNC,     OPTION_LAUNCH,         OPTION_CONNECTIONS,  OPTION_ACTIVE_THREAD_PERCENTAGE,
    OPTION_PRIORITY, OPTION_MEMORY_LIMIT,   OPTION_SCHEDULE,     OPTION_BIND,
    OPTION_WORKLOAD, OPTION_KERNELS,        OPTION_BLOCKS,       OPTION_THREADS_PER_BLOCK,
    OPTION_SPIN,     OPTION_BYTES,          OPTION_DELAY_CYCLES, OPTION_RATE,
    OPTION_ARRIVAL,
};
#define AXES (sizeof axes / sizeof axes[0])

static void set_axis(struct point *point, enum option_id axis, const struct option_item *item)
{
    uint32_t number = (uint32_t)item->integer;
    struct point_shares shares = {.values = item->shares, .count = item->share_count};
    switch (axis) {
    case OPTION_LAYOUT:
        point->layout = item->layout;
        point->processes = item->processes;
        point->threads = item->threads;
        break;
    case OPTION_GPUS_PER_POINT:
        point->gpus = number;
        break;
    case OPTION_MPS_DAEMONS:
        point->mps_daemons = (enum mps_daemons)number;
        break;
    case OPTION_MEMORY:
        point->work.memory = number;
        break;
    case OPTION_SYNC:
        point->work.sync = number;
        break;
    case OPTION_LAUNCH:
        point->work.launch = number;
        break;
    case OPTION_CONNECTIONS:
        point->connections = number;
        break;
    case OPTION_ACTIVE_THREAD_PERCENTAGE:
        point->active_thread_percentage = shares;
        break;
    case OPTION_PRIORITY:
        point->priority = shares;
        break;
    case OPTION_MEMORY_LIMIT:
        point->memory_limit = shares;
        break;
    case OPTION_SCHEDULE:
        point->work.schedule = number;
        break;
    case OPTION_BIND:
        point->bind = (enum bind_policy)number;
        break;
    case OPTION_WORKLOAD:
        point->workload = item->text;
        break;
    case OPTION_KERNELS:
        point->work.kernels = number;
        break;
    case OPTION_BLOCKS:
        point->work.blocks = number;
        break;
    case OPTION_THREADS_PER_BLOCK:
        point->work.threads_per_block = number;
        break;
    case OPTION_SPIN:
        point->work.spin = number;
        break;
    case OPTION_BYTES:
        point->work.bytes = (uint64_t)item->integer;
        break;
    case OPTION_DELAY_CYCLES:
        point->work.delay_cycles = (uint64_t)item->integer;
        break;
    case OPTION_RATE:
        point->work.rate_units = item->rate.units;
        point->goal = item->rate.goal;
        break;
    case OPTION_ARRIVAL:
        point->work.arrival = number;
        break;
    default:
        break;
    }
}

/* Drops what makes no difference, so that equal points look equal. */
static void make_canonical(struct point *point)
{
    if (point->work.memory == MEMORY_PINNED || point->work.launch == LAUNCH_GRAPH)
        point->work.sync = SYNC_STREAM;
    if (point->gpus == 1 || !point_over_mps(point))
        point->mps_daemons = MPS_DAEMONS_SHARED;
    struct point_shares *shares[] = {&point->active_thread_percentage, &point->priority,
                                     &point->memory_limit};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        *shares[i] = point_over_mps(point) ? shares_canonical(shares[i], point->processes)
                                           : (struct point_shares){0};
    if (!point_is_builtin(point)) {
        point->work.kernels = 0;
        point->work.blocks = 0;
        point->work.threads_per_block = 0;
        point->work.spin = 0;
        point->work.bytes = 0;
        point->work.delay_cycles = 0;
    } else if (point->work.workload == WORKLOAD_DELAY) {
        point->work.blocks = 1;
        point->work.threads_per_block = 1;
        point->work.spin = 0;
    } else {
        point->work.delay_cycles = 0;
    }
    if (!point_is_open(point))
        point->work.arrival = ARRIVAL_CONSTANT;
    if (point->work.arrival == ARRIVAL_CONSTANT)
        point->work.arrival_seed = 0;
}

static bool same_point(const struct point *a, const struct point *b)
{
    return a->layout == b->layout && a->processes == b->processes && a->threads == b->threads &&
           point_gpus(a) == point_gpus(b) && a->mps_daemons == b->mps_daemons &&
           a->connections == b->connections && a->bind == b->bind &&
           (a->work.workload == WORKLOAD_DESCRIBED || strcmp(a->workload, b->workload) == 0) &&
           strcmp(a->workload_options ? a->workload_options : "",
                  b->workload_options ? b->workload_options : "") == 0 &&
           shares_equal(&a->active_thread_percentage, &b->active_thread_percentage) &&
           shares_equal(&a->priority, &b->priority) &&
           shares_equal(&a->memory_limit, &b->memory_limit) &&
           memcmp(&a->goal, &b->goal, sizeof a->goal) == 0 &&
           memcmp(&a->work, &b->work, sizeof a->work) == 0 &&
           (a->mix == NULL) == (b->mix == NULL) &&
           (!a->mix || memcmp(a->mix, b->mix, sizeof *a->mix) == 0);
}

static enum status add_point(struct plan *plan, size_t *capacity, const struct point *point)
{
    for (size_t i = 0; i < plan->count; i++)
        if (same_point(&plan->points[i], point))
            return STATUS_OK;
    if (plan->count == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 64;
        struct point *points = realloc(plan->points, wanted * sizeof *points);
        if (!points)
            return status_set(STATUS_MEMORY, "out of memory");
        plan->points = points;
        *capacity = wanted;
    }
    plan->points[plan->count] = *point;
    plan->points[plan->count].id = (unsigned)plan->count;
    plan->count++;
    return STATUS_OK;
}

#define MOST_POINTS 10000
#define MOST_COMBINATIONS 1000000

/* gpus: of the run. */
static enum status set_gpus(struct point *point, unsigned gpus)
{
    if (point->gpus == 0)
        point->gpus = gpus;
    if (point->gpus > gpus)
        return status_set(
            STATUS_USAGE,
            "gpus-per-point %u is more than the %u GPU%s of device: name more of them "
            "there, as in 0,1 or all",
            point->gpus, gpus, gpus == 1 ? "" : "s");
    if (point_workers(point) > LAYOUT_MOST_WORKERS)
        return status_set(STATUS_USAGE, "%s %ux%u on %u GPUs has %u workers; at most %d can be had",
                          layout_name(point->layout), point->processes, point->threads, point->gpus,
                          point_workers(point), LAYOUT_MOST_WORKERS);
    return STATUS_OK;
}

static enum status add_section(struct plan *plan, size_t *capacity, const struct job *job,
                               const struct job_section *section, unsigned gpus)
{
    size_t at[AXES] = {0};
    const struct options *options = &section->options;
    struct point base = {.section = section->name,
                         .workload_options = options_text(options, OPTION_WORKLOAD_OPTIONS),
                         .program = plan_program_options(job, options)};
    base.work.iterations = (uint64_t)options_integer(options, OPTION_ITERATIONS);
    base.work.warmup_ns = (uint64_t)(options_real(options, OPTION_WARMUP) * 1e9);
    base.work.stagger_us = (uint32_t)(options_real(options, OPTION_STAGGER) * 1e6 + 0.5);
    base.work.arrival_seed = (uint64_t)options_integer(options, OPTION_SEED);
    double combinations = 1.0;
    for (size_t i = 0; i < AXES; i++)
        combinations *= (double)options->values[axes[i]].count;
    if (combinations > MOST_COMBINATIONS)
        return status_set(STATUS_USAGE, "the plan has more than %d combinations",
                          MOST_COMBINATIONS);
    for (;;) {
        struct point point = base;
        for (size_t i = 0; i < AXES; i++)
            set_axis(&point, axes[i], &options->values[axes[i]].items[at[i]]);
        enum status status = set_gpus(&point, gpus);
        if (status == STATUS_OK)
            status = plan_workload(job, plan, &point);
        if (status != STATUS_OK)
            return status;
        make_canonical(&point);
        if (point.mps_daemons == MPS_DAEMONS_PER_GPU &&
            strcmp(options_text(options, OPTION_MPS), "external") == 0)
            return status_set(STATUS_USAGE, "mps external is one daemon for all GPUs: leave out "
                                            "mps-daemons per-gpu");
        status = add_point(plan, capacity, &point);
        if (status != STATUS_OK)
            return status;
        if (plan->count > MOST_POINTS)
            return status_set(STATUS_USAGE, "the plan has more than %d points", MOST_POINTS);
        size_t axis = AXES;
        while (axis > 0 && ++at[axis - 1] == options->values[axes[axis - 1]].count)
            at[--axis] = 0;
        if (axis == 0)
            return STATUS_OK;
    }
}

static uint64_t digest_shares(uint64_t hash, const struct point_shares *shares)
{
    hash = digest_add(hash, &shares->count, sizeof shares->count);
    return digest_add(hash, shares->values, shares->count * sizeof *shares->values);
}

/* A plan of one GPU is what it was before there could be several. */
static uint64_t digest_gpus(uint64_t hash, const struct point *point)
{
    uint32_t fields[] = {point->gpus, (uint32_t)point->mps_daemons};
    return point_gpus(point) > 1 ? digest_add(hash, fields, sizeof fields) : hash;
}

/* How long and how well to measure belongs to it: a file goes on as it was begun. */
static void make_id(const struct job *job, struct plan *plan)
{
    static const enum option_id how[] = {OPTION_DURATION, OPTION_PRECISION, OPTION_MAX_DURATION,
                                         OPTION_ROUNDS};
    uint64_t hash = DIGEST_EMPTY;
    for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
        const char *text = options_text(&job->sections[0].options, how[i]);
        hash = digest_add(hash, text, strlen(text) + 1);
    }
    for (char *const *word = job->command; word && *word; word++)
        hash = digest_add(hash, *word, strlen(*word) + 1);
    for (size_t i = 0; i < plan->count; i++) {
        const struct point *p = &plan->points[i];
        uint32_t fields[] = {(uint32_t)p->layout, p->processes, p->threads, p->connections,
                             (uint32_t)p->bind};
        hash = digest_add(hash, fields, sizeof fields);
        hash = digest_gpus(hash, p);
        hash = digest_shares(hash, &p->active_thread_percentage);
        hash = digest_shares(hash, &p->priority);
        hash = digest_shares(hash, &p->memory_limit);
        if (!point_is_builtin(p))
            hash = digest_add(hash, p->workload, strlen(p->workload) + 1);
        if (p->workload_options)
            hash = digest_add(hash, p->workload_options, strlen(p->workload_options) + 1);
        hash = digest_add(hash, &p->goal, sizeof p->goal);
        hash = digest_add(hash, &p->work, sizeof p->work);
        if (p->mix)
            hash = digest_add(hash, p->mix, sizeof *p->mix);
    }
    snprintf(plan->id, sizeof plan->id, "%016llx", (unsigned long long)hash);
}

enum status plan_make(const struct job *job, struct plan *out)
{
    struct device_choice choice;
    enum status status =
        device_choice_parse(options_text(&job->sections[0].options, OPTION_DEVICE), &choice);
    if (status != STATUS_OK)
        return status;
    if (choice.all)
        return status_set(STATUS_USAGE, "how many GPUs 'all' are is not known here");
    return plan_make_for(job, device_choice_count(&choice), out);
}

enum status plan_make_for(const struct job *job, unsigned gpus, struct plan *out)
{
    struct plan plan = {0};
    size_t capacity = 0;
    for (size_t i = 0; i < job->count; i++) {
        enum status status = add_section(&plan, &capacity, job, &job->sections[i], gpus);
        if (status != STATUS_OK) {
            plan_release(&plan);
            return status;
        }
    }
    make_id(job, &plan);
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

bool point_equal(const struct point *a, const struct point *b)
{
    return same_point(a, b);
}

unsigned point_gpus(const struct point *point)
{
    return point->gpus ? point->gpus : 1;
}

unsigned point_processes(const struct point *point)
{
    return point->processes * point_gpus(point);
}

unsigned point_workers(const struct point *point)
{
    return point_processes(point) * point->threads;
}

unsigned point_gpu_of(const struct point *point, unsigned process)
{
    return process % point_gpus(point);
}

unsigned point_number_on_gpu(const struct point *point, unsigned process)
{
    return process / point_gpus(point);
}

unsigned point_daemons(const struct point *point)
{
    if (!point_over_mps(point))
        return 0;
    return point->mps_daemons == MPS_DAEMONS_PER_GPU ? point_gpus(point) : 1;
}

enum status point_check_stagger(const struct point *point, uint64_t window_ns)
{
    const struct work *work = &point->work;
    uint64_t last_ns = (point_workers(point) - 1) * (uint64_t)work->stagger_us * NS_PER_US;
    if (last_ns > 0 && point_is_open(point))
        return status_set(STATUS_USAGE, "stagger is for a closed loop, since a rate has starts of "
                                        "its own: leave out rate, or stagger");
    if (work->iterations || last_ns == 0 || last_ns < work->warmup_ns + window_ns)
        return STATUS_OK;
    bool windowless = window_ns == 0;
    return status_set(
        STATUS_USAGE,
        "the last of %u workers would begin %g s after the first, when the %s of %g s "
        "is over: give a longer %s, a shorter stagger, or iterations",
        point_workers(point), (double)last_ns / 1e9, windowless ? "warm-up" : "window",
        (double)(windowless ? work->warmup_ns : window_ns) / 1e9,
        windowless ? "warmup" : "duration");
}

enum status plan_check_stagger(const struct plan *plan, uint64_t window_ns)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < plan->count && status == STATUS_OK; i++)
        status = point_check_stagger(&plan->points[i], window_ns);
    return status;
}

bool point_over_mps(const struct point *point)
{
    return layout_over_mps(point->layout);
}

bool point_is_open(const struct point *point)
{
    return point->work.rate_units || point->goal.permille;
}

bool point_has_shares(const struct point *point)
{
    return point->active_thread_percentage.count || point->priority.count ||
           point->memory_limit.count;
}

unsigned point_connections(const struct point *point)
{
    if (point->connections)
        return point->connections;
    return point_over_mps(point) ? DEFAULT_CONNECTIONS_MPS : DEFAULT_CONNECTIONS;
}

/* The n-th of the words "a|b|c" of an option's row, in static storage a row. */
static const char *choice_word(enum option_id id, unsigned index)
{
    static const char *const words[][4] = {
        {"pinned", "pageable"},      {"stream", "none"},
        {"stream", "graph"},         {"auto", "spin", "yield", "block"},
        {"near", "scatter", "none"}, {"constant", "poisson"},
        {"shared", "per-gpu"},
    };
    static const enum option_id rows[] = {OPTION_MEMORY,     OPTION_SYNC, OPTION_LAUNCH,
                                          OPTION_SCHEDULE,   OPTION_BIND, OPTION_ARRIVAL,
                                          OPTION_MPS_DAEMONS};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i] == id && index < 4 && words[i][index])
            return words[i][index];
    return "unknown";
}

const char *point_memory(const struct point *point)
{
    return choice_word(OPTION_MEMORY, point->work.memory);
}

const char *point_sync(const struct point *point)
{
    return choice_word(OPTION_SYNC, point->work.sync);
}

const char *point_launch(const struct point *point)
{
    return choice_word(OPTION_LAUNCH, point->work.launch);
}

const char *point_schedule(const struct point *point)
{
    return choice_word(OPTION_SCHEDULE, point->work.schedule);
}

const char *point_bind(const struct point *point)
{
    return choice_word(OPTION_BIND, (unsigned)point->bind);
}

const char *point_arrival(const struct point *point)
{
    return choice_word(OPTION_ARRIVAL, point->work.arrival);
}

const char *point_mps_daemons(const struct point *point)
{
    return choice_word(OPTION_MPS_DAEMONS, (unsigned)point->mps_daemons);
}

static void add_if_not_initial(struct text *out, enum option_id id, uint32_t value,
                               const char *what)
{
    if (value != strtoul(option_table[id].initial, NULL, 10))
        text_append(out, ", %u %s", value, what);
}

static void add_shares(struct text *out, const struct point *point)
{
    char list[OPTION_MOST_SHARES * sizeof "1048576M"];
    if (point->active_thread_percentage.count)
        text_append(out, ", %s%% threads",
                    shares_text(&point->active_thread_percentage, false, list, sizeof list));
    if (point->priority.count)
        text_append(out, ", priority %s", shares_text(&point->priority, false, list, sizeof list));
    if (point->memory_limit.count)
        text_append(out, ", memory limit %s",
                    shares_text(&point->memory_limit, true, list, sizeof list));
}

static void add_work(struct text *out, const struct point *point)
{
    const struct work *work = &point->work;
    if (!point_is_builtin(point)) {
        /* Of a plug-in its name is enough: where it lies is the same for a whole plan. */
        const char *slash = strrchr(point_workload(point), '/');
        text_append(out, ", %s", slash ? slash + 1 : point_workload(point));
        if (point->workload_options)
            text_append(out, " '%.60s'", point->workload_options);
        return;
    }
    if (work->workload == WORKLOAD_DELAY)
        text_append(out, ", %llu cycles", (unsigned long long)work->delay_cycles);
    add_if_not_initial(out, OPTION_KERNELS, work->kernels, "kernels");
    if (work->workload != WORKLOAD_DELAY) {
        add_if_not_initial(out, OPTION_BLOCKS, work->blocks, "blocks");
        add_if_not_initial(out, OPTION_THREADS_PER_BLOCK, work->threads_per_block,
                           "threads a block");
        add_if_not_initial(out, OPTION_SPIN, work->spin, "spins");
    }
    if (work->bytes != INITIAL_BYTES)
        text_append(out, ", %llu KiB", (unsigned long long)work->bytes / 1024);
}

static void add_rate(struct text *out, const struct point *point)
{
    char text[32];
    if (point->work.rate_units)
        text_append(out, ", %s/s", rate_text(point->work.rate_units, text, sizeof text));
    else if (point->goal.permille)
        text_append(out, ", highest rate with %s under %s",
                    rate_percentile_name(point->goal.permille),
                    rate_time_text((double)point->goal.latency_ns, text, sizeof text));
    if (point->work.arrival == ARRIVAL_POISSON)
        text_append(out, ", poisson");
}

void point_describe(const struct point *point, char *text, size_t size)
{
    struct text out = {.at = text, .size = size};
    text_append(&out, "%s %u×%u", layout_name(point->layout), point->processes, point->threads);
    if (point_gpus(point) > 1)
        text_append(&out, " on each of %u GPUs", point_gpus(point));
    if (point->mps_daemons == MPS_DAEMONS_PER_GPU)
        text_append(&out, ", a daemon each");
    if (point->work.workload != WORKLOAD_PLUGIN && !point_is_program(point))
        text_append(&out, ", %s", point_memory(point));
    if (point->work.sync == SYNC_NONE)
        text_append(&out, ", no sync");
    if (point->work.launch == LAUNCH_GRAPH)
        text_append(&out, ", graph");
    if (point->connections)
        text_append(&out, ", %u connections", point->connections);
    add_shares(&out, point);
    if (point->work.schedule != SCHEDULE_AUTO)
        text_append(&out, ", %s", point_schedule(point));
    if (point->bind != BIND_NEAR)
        text_append(&out, ", bind %s", point_bind(point));
    add_work(&out, point);
    add_rate(&out, point);
    if (point->work.stagger_us)
        text_append(&out, ", released %g ms apart", point->work.stagger_us / 1e3);
    if (point->work.iterations)
        text_append(&out, ", %llu iteration%s each", (unsigned long long)point->work.iterations,
                    point->work.iterations == 1 ? "" : "s");
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
