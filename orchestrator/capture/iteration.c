#include "orchestrator/capture/iteration.h"

#include <stdlib.h>
#include <string.h>

#include "statistics/statistics.h"

struct taking {
    const struct timeline *timeline;
    struct captured_iteration *out;
    size_t room;
    uint64_t last_end_ns; /* of the calls that gave work or waited */
    bool pending;         /* the GPU has been given work since the last wait */
    bool polling;         /* the last call was a question whether it has done it */
    double held_ns;       /* host time before the first of such questions */
    bool failed;
};

static void add(struct taking *taking, const struct captured_step *step)
{
    struct captured_iteration *out = taking->out;
    if (out->count == taking->room) {
        size_t room = taking->room ? 2 * taking->room : 64;
        struct captured_step *more = reallocarray(out->steps, room, sizeof *more);
        taking->failed |= !more;
        if (!more)
            return;
        out->steps = more;
        taking->room = room;
    }
    out->steps[out->count++] = *step;
}

static uint32_t product(const uint32_t sizes[3])
{
    uint64_t all = (uint64_t)sizes[0] * sizes[1];
    all = all < UINT32_MAX ? all * sizes[2] : UINT32_MAX;
    return all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
}

static struct captured_step step_of(const struct timeline_event *work, const char *call)
{
    const struct trace_record *record = &work->record;
    struct captured_step step = {.kind = STEP_DEVICE_COPY,
                                 .bytes = record->bytes,
                                 .duration_ns = (double)timeline_duration_ns(work),
                                 .graph = strstr(call, "GraphLaunch") != NULL};
    if (record->kind == TRACE_KERNEL) {
        step.kind = STEP_COMPUTE;
        step.name = work->name;
        step.bytes = 0;
        step.blocks = product(record->grid);
        step.threads = product(record->block);
        step.shared = record->static_shared + record->dynamic_shared;
    } else if (record->kind == TRACE_SET) {
        step.bytes /= 2;
    } else if (record->direction == TRACE_TO_DEVICE) {
        step.kind = STEP_COPY_IN;
        step.pageable = record->source == TRACE_MEMORY_PAGEABLE;
    } else if (record->direction == TRACE_TO_HOST) {
        step.kind = STEP_COPY_OUT;
        step.pageable = record->sink == TRACE_MEMORY_PAGEABLE;
    }
    return step;
}

/* A kernel, or a copy or set that moves something. */
static bool is_step(const struct timeline_event *work)
{
    return work->record.kind == TRACE_KERNEL || work->record.bytes > 0;
}

static bool gives_work(const struct taking *taking, const struct timeline_event *call)
{
    const struct timeline_event *events = taking->timeline->events;
    uint32_t i = call->work;
    while (i != TIMELINE_NONE && !is_step(&events[i]))
        i = events[i].next;
    return i != TIMELINE_NONE;
}

/* Whether a call returns when the GPU has done what it was given. A question is a wait only if
 * others came before it: memory allocators ask once, and continue with either answer. */
static bool is_wait(const struct taking *taking, const struct timeline_event *call, bool works)
{
    const char *copy = strstr(call->name, "Memcpy");
    if (copy)
        return works && !strstr(copy, "Async");
    return strstr(call->name, "Synchronize") ||
           (taking->polling && strstr(call->name, "Query") && call->record.result == 0);
}

/* A question whether it has, and it has not. */
static bool is_poll(const struct timeline_event *call)
{
    return strstr(call->name, "Query") && call->record.result != 0;
}

/* Host time before a call, with what stood before the polls that led to it. */
static double take_gap(struct taking *taking, const struct timeline_event *call)
{
    double gap_ns = taking->held_ns;
    if (!taking->polling && call->record.begin_ns > taking->last_end_ns)
        gap_ns += (double)(call->record.begin_ns - taking->last_end_ns);
    taking->held_ns = 0.0;
    return gap_ns;
}

/* The work comes in the order of its begin, behind that of its call. */
static void take_work(struct taking *taking, uint32_t index)
{
    const struct timeline *timeline = taking->timeline;
    const struct timeline_event *call = &timeline->events[index];
    taking->polling = false;
    double before_ns = take_gap(taking, call);
    for (uint32_t i = call->work; i != TIMELINE_NONE; i = timeline->events[i].next) {
        if (!is_step(&timeline->events[i]))
            continue;
        struct captured_step step = step_of(&timeline->events[i], call->name);
        step.before_ns = before_ns;
        before_ns = 0.0;
        taking->pending = true;
        add(taking, &step);
        /* A launch has this one; a copy may be several. */
        if (step.kind == STEP_COMPUTE && !step.graph)
            break;
    }
}

static void take_wait(struct taking *taking, const struct timeline_event *call, bool works)
{
    const struct captured_step wait = {.kind = STEP_SYNCHRONIZE,
                                       .before_ns = works ? 0.0 : take_gap(taking, call),
                                       .wait_ns = (double)timeline_duration_ns(call)};
    taking->pending = taking->polling = false;
    add(taking, &wait);
}

static void take_call(struct taking *taking, uint32_t index)
{
    const struct timeline_event *call = &taking->timeline->events[index];
    bool works = gives_work(taking, call), polls = taking->pending && is_poll(call);
    bool waits = (works || taking->pending) && is_wait(taking, call, works);
    if (works)
        take_work(taking, index);
    if (polls)
        taking->held_ns = take_gap(taking, call);
    taking->polling |= polls;
    if (waits)
        take_wait(taking, call, works);
    if ((works || waits || polls) && call->record.end_ns > taking->last_end_ns)
        taking->last_end_ns = call->record.end_ns;
}

enum status capture_iteration(const struct timeline *timeline, uint64_t from_ns, uint64_t to_ns,
                              struct captured_iteration *out)
{
    *out = (struct captured_iteration){.took_ns = (double)(to_ns - from_ns)};
    struct taking taking = {.timeline = timeline, .out = out, .last_end_ns = from_ns};
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct timeline_event *event = &timeline->events[i];
        if (timeline_is_call(event) && event->process == 0 && event->record.begin_ns >= from_ns &&
            event->record.begin_ns < to_ns)
            take_call(&taking, i);
    }
    if (to_ns > taking.last_end_ns)
        out->after_ns = (double)(to_ns - taking.last_end_ns);
    if (!taking.failed)
        return STATUS_OK;
    captured_iteration_release(out);
    return status_set(STATUS_MEMORY, "out of memory for an iteration");
}

void captured_iteration_release(struct captured_iteration *iteration)
{
    free(iteration->steps);
    *iteration = (struct captured_iteration){0};
}

bool captured_is_near(double a, double b, double factor)
{
    return a <= b * factor && b <= a * factor;
}

double captured_host_ns(const struct captured_iteration *iteration)
{
    double sum_ns = iteration->after_ns;
    for (size_t i = 0; i < iteration->count; i++)
        sum_ns += iteration->steps[i].before_ns;
    return sum_ns;
}

double captured_wait_ns(const struct captured_iteration *iteration)
{
    double sum_ns = 0.0;
    for (size_t i = 0; i < iteration->count; i++)
        sum_ns += iteration->steps[i].wait_ns;
    return sum_ns;
}

/* -- one of several ---------------------------------------------------------------------------- */

static bool is_same_step(const struct captured_step *a, const struct captured_step *b)
{
    bool named = a->name && b->name;
    return a->kind == b->kind && a->blocks == b->blocks && a->threads == b->threads &&
           a->shared == b->shared && a->bytes == b->bytes && a->graph == b->graph &&
           a->pageable == b->pageable &&
           (named ? strcmp(a->name, b->name) == 0 : a->name == b->name);
}

static bool do_the_same(const struct captured_iteration *a, const struct captured_iteration *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = is_same_step(&a->steps[i], &b->steps[i]);
    return same;
}

/* How many do what iteration `which` does. */
static size_t count_alike(const struct captured_iteration *iterations, size_t count, size_t which)
{
    size_t alike = 0;
    for (size_t i = 0; i < count; i++)
        alike += do_the_same(&iterations[which], &iterations[i]);
    return alike;
}

/* The first of those of which there are most; where all differ, the one of median length. */
static size_t choose(const struct captured_iteration *iterations, size_t count, double *numbers,
                     size_t *alike)
{
    size_t best = 0, nearest = 0;
    *alike = 0;
    for (size_t i = 0; i < count; i++) {
        size_t same = count_alike(iterations, count, i);
        if (same > *alike)
            best = i;
        *alike = same > *alike ? same : *alike;
        numbers[i] = iterations[i].took_ns;
    }
    if (*alike > 1)
        return best;
    statistics_sort(numbers, count);
    while (iterations[nearest].took_ns != numbers[(count - 1) / 2])
        nearest++;
    return nearest;
}

enum status capture_median(const struct captured_iteration *iterations, size_t count,
                           struct captured_iteration *out, size_t *alike)
{
    double *numbers = calloc(count + 1, sizeof *numbers);
    size_t best = numbers ? choose(iterations, count, numbers, alike) : 0;
    const struct captured_iteration *model = &iterations[best];
    *out = *model;
    out->steps = calloc(model->count + 1, sizeof *out->steps);
    if (!numbers || !out->steps) {
        free(numbers);
        captured_iteration_release(out);
        return status_set(STATUS_MEMORY, "out of memory for an iteration");
    }
    if (model->count)
        memcpy(out->steps, model->steps, model->count * sizeof *out->steps);
#define MEDIAN(to, from)                                                                           \
    do {                                                                                           \
        size_t n = 0;                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            if (do_the_same(model, &iterations[i]))                                                \
                numbers[n++] = iterations[i].from;                                                 \
        out->to = statistics_median(numbers, n);                                                   \
    } while (0)
    for (size_t s = 0; s < model->count; s++) {
        MEDIAN(steps[s].duration_ns, steps[s].duration_ns);
        MEDIAN(steps[s].before_ns, steps[s].before_ns);
        MEDIAN(steps[s].wait_ns, steps[s].wait_ns);
    }
    MEDIAN(after_ns, after_ns);
    MEDIAN(took_ns, took_ns);
#undef MEDIAN
    free(numbers);
    return STATUS_OK;
}
