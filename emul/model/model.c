#include "emul/model/model.h"

#include <string.h>

#define DEFAULT(name, initial, least, most) .name = (initial),
const struct model_machine model_machine_default = {MODEL_MACHINE_NUMBERS(DEFAULT)};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return value / by + (value % by != 0);
}

struct model_work model_kernel(const struct model_machine *machine, uint64_t blocks,
                               uint32_t threads, uint64_t spin, uint64_t delay_ns, bool in_graph)
{
    uint64_t units =
        divide_up(blocks * later(divide_up(threads, MODEL_BLOCK_THREADS), 1), MODEL_SLOT_BLOCKS);
    uint64_t waves = divide_up(units, machine->slots);
    uint64_t work_ns = delay_ns > 0 ? delay_ns : spin * machine->spin_ns;
    return (struct model_work){
        .kind = MODEL_KERNEL,
        .slots = (uint32_t)(waves > 1 ? machine->slots : later(units, 1)),
        .duration_ns = (in_graph ? machine->graph_kernel_ns : machine->kernel_ns) + work_ns * waves,
    };
}

struct model_work model_memory_kernel(const struct model_machine *machine, uint64_t blocks,
                                      uint32_t threads, uint64_t bytes, bool in_graph)
{
    struct model_work work = model_kernel(machine, blocks, threads, 0, 0, in_graph);
    double share = (double)work.slots / (double)machine->slots;
    work.duration_ns +=
        (uint64_t)((double)bytes * 1000.0 / ((double)machine->device_mb_per_s * share));
    return work;
}

struct model_work model_copy(const struct model_machine *machine, enum model_direction direction,
                             uint64_t bytes, bool pageable)
{
    uint64_t pinned = direction == MODEL_TO_DEVICE ? machine->h2d_mb_per_s : machine->d2h_mb_per_s;
    uint64_t rate = pageable ? machine->pageable_mb_per_s : pinned; /* and bytes a microsecond */
    return (struct model_work){
        .kind = MODEL_COPY,
        .direction = direction,
        .duration_ns = machine->copy_latency_ns + bytes * 1000 / rate,
        .host_ns = machine->host_mb_per_s ? bytes * 1000 / machine->host_mb_per_s : 0,
    };
}

/* In place of an MPS server, where the GPU takes all contexts for one. */
#define COMMON_GROUP (-1)

/* -- contexts ---------------------------------------------------------------------------------- */

static void release_entry(struct model *model, struct model_context *context)
{
    struct model_group *group = &model->groups[context->group];
    if (group->contexts > 0)
        group->contexts--;
    group->holds -= context->holds;
    model->holds -= context->holds;
    memset(context, 0, sizeof *context);
    while (model->groups_end > 0 && model->groups[model->groups_end - 1].contexts == 0)
        model->groups_end--;
}

static bool find_group(struct model *model, int32_t server, uint32_t *index)
{
    uint32_t unused = MODEL_GROUPS;
    /* Each is a page of memory of its own: the others are not touched. */
    for (uint32_t i = 0; i < MODEL_GROUPS && i <= model->groups_end; i++) {
        struct model_group *group = &model->groups[i];
        if (group->contexts == 0) {
            if (unused == MODEL_GROUPS)
                unused = i;
        } else if (server != 0 && group->server == server) {
            *index = i;
            return true;
        }
    }
    if (unused == MODEL_GROUPS)
        return false;
    struct model_group *group = &model->groups[unused];
    uint32_t generation = group->generation + 1;
    memset(group, 0, sizeof *group);
    group->generation = generation;
    group->server = server;
    model->busy_until_ns[unused] = 0;
    *index = unused;
    return true;
}

bool model_context_open(struct model *model, int32_t pid, uint64_t start_time, int32_t server,
                        uint32_t queues, uint32_t slot_limit,
                        bool (*alive)(int32_t pid, uint64_t start_time),
                        struct model_process *process)
{
    struct model_context *context = NULL;
    if (server == 0 && !effect_is_on(model->effects_off, EFFECT_CONTEXT_ADMISSION))
        server = COMMON_GROUP;
    for (uint32_t i = 0; i < MODEL_CONTEXTS; i++) {
        struct model_context *entry = &model->contexts[i];
        if (entry->pid != 0 && !alive(entry->pid, entry->start_time))
            release_entry(model, entry);
        if (entry->pid == 0 && context == NULL)
            context = entry;
    }
    uint32_t group;
    if (context == NULL || !find_group(model, server, &group))
        return false;

    model->groups[group].contexts++;
    if (group >= model->groups_end)
        model->groups_end = group + 1;
    *context = (struct model_context){.pid = pid, .start_time = start_time, .group = group};

    *process = (struct model_process){
        .context = (uint32_t)(context - model->contexts),
        .group = group,
        .queue_count = queues,
        .slot_limit = slot_limit,
    };
    return true;
}

void model_context_close(struct model *model, const struct model_process *process)
{
    release_entry(model, &model->contexts[process->context]);
}

uint64_t model_memory_left(const struct model *model, const struct model_process *process)
{
    uint64_t used = 0, own = model->contexts[process->context].memory_bytes;
    for (uint32_t i = 0; i < MODEL_CONTEXTS; i++)
        used += model->contexts[i].memory_bytes;
    uint64_t left = used < MODEL_MEMORY_BYTES ? MODEL_MEMORY_BYTES - used : 0;
    if (process->memory_limit == 0 || own + left <= process->memory_limit)
        return left;
    return own < process->memory_limit ? process->memory_limit - own : 0;
}

bool model_memory_take(struct model *model, const struct model_process *process, uint64_t bytes)
{
    if (bytes > model_memory_left(model, process))
        return false;
    model->contexts[process->context].memory_bytes += bytes;
    return true;
}

bool model_memory_give(struct model *model, const struct model_process *process, uint64_t bytes)
{
    struct model_context *context = &model->contexts[process->context];
    if (bytes > context->memory_bytes)
        return false;
    context->memory_bytes -= bytes;
    return true;
}

void model_repair(struct model *model)
{
    /* All else is written in single words; the calendars are moved about, and the counts belong to
     * two tables. Losing a few reservations only lets a few copies overlap. */
    for (uint32_t i = 0; i < MODEL_GROUPS; i++) {
        struct model_group *group = &model->groups[i];
        group->engines[0].count = group->engines[1].count = 0;
        group->contexts = 0;
        group->holds = 0;
    }
    model->groups_end = 0;
    model->holds = 0;
    for (uint32_t i = 0; i < MODEL_CONTEXTS; i++) {
        const struct model_context *context = &model->contexts[i];
        if (context->pid == 0)
            continue;
        model->groups[context->group].contexts++;
        model->groups[context->group].holds += context->holds;
        model->holds += context->holds;
        if (context->group >= model->groups_end)
            model->groups_end = context->group + 1;
    }
}

/* -- copy engines ------------------------------------------------------------------------------ */

static void calendar_drop_past(struct model_calendar *calendar, uint64_t now_ns)
{
    uint32_t past = 0;
    while (past < calendar->count && calendar->intervals[past].to_ns <= now_ns)
        past++;
    calendar->count -= past;
    memmove(calendar->intervals, calendar->intervals + past,
            calendar->count * sizeof *calendar->intervals);
}

/* The end of the first interval that [from, to) meets, or 0. */
static uint64_t calendar_conflict(const struct model_calendar *calendar, uint64_t from_ns,
                                  uint64_t to_ns)
{
    for (uint32_t i = 0; i < calendar->count; i++)
        if (from_ns < calendar->intervals[i].to_ns && to_ns > calendar->intervals[i].from_ns)
            return calendar->intervals[i].to_ns;
    return 0;
}

static void calendar_insert(struct model_calendar *calendar, uint64_t from_ns, uint64_t to_ns)
{
    if (calendar->count == MODEL_INTERVALS)
        return; /* more than 256 copies ahead: this one is not seen by later ones */
    uint32_t at = calendar->count;
    while (at > 0 && calendar->intervals[at - 1].from_ns > from_ns)
        at--;
    memmove(calendar->intervals + at + 1, calendar->intervals + at,
            (calendar->count - at) * sizeof *calendar->intervals);
    calendar->intervals[at] = (struct model_interval){from_ns, to_ns};
    calendar->count++;
}

static void note_place(struct model_process *process, uint64_t begin_ns, uint64_t end_ns)
{
    if (process->places_count < process->places_room)
        process->places[process->places_count++] = (struct model_place){begin_ns, end_ns};
}

/* The earliest gap that is long enough, since a copy that still waits for its stream does not keep
 * the engine from others. */
static uint64_t place_copy(struct model *model, struct model_process *process, uint64_t now_ns,
                           uint64_t ready_ns, const struct model_work *copy)
{
    uint32_t group = process->group;
    struct model_calendar *calendar = &model->groups[group].engines[copy->direction];
    uint64_t begin, end, conflict;
    calendar_drop_past(calendar, now_ns);
    /* Counted from now, as for launches; a copy does not end before its bytes have been moved. */
    if (process->host_free_ns && copy->host_ns > 0) {
        uint64_t moved_ns = later(*process->host_free_ns, now_ns) + copy->host_ns;
        *process->host_free_ns = moved_ns;
        if (moved_ns > copy->duration_ns)
            ready_ns = later(ready_ns, moved_ns - copy->duration_ns);
    }
    if (model_is_held_by_other(model, group)) {
        while ((conflict = calendar_conflict(calendar, ready_ns, ready_ns + copy->duration_ns)) !=
               0)
            ready_ns = conflict;
        calendar_insert(calendar, ready_ns, ready_ns + copy->duration_ns);
        return ready_ns + copy->duration_ns;
    }
    for (;;) {
        end = model_slices_walk(model, group, now_ns, ready_ns, copy->duration_ns, false, &begin);
        conflict = calendar_conflict(calendar, begin, end);
        if (conflict == 0)
            break;
        ready_ns = conflict;
    }
    end = model_slices_walk(model, group, now_ns, ready_ns, copy->duration_ns, true, &begin);
    calendar_insert(calendar, begin, end);
    note_place(process, begin, end);
    return end;
}

/* -- kernels ----------------------------------------------------------------------------------- */

/* The slot that has been free for the shortest time when the kernel is ready, so that no idle time
 * of another is lost; or else the one that is free first. */
static uint32_t best_slot(const uint64_t *free_ns, uint32_t count, uint64_t ready_ns,
                          uint64_t taken)
{
    uint32_t fit = count, first = count;
    for (uint32_t i = 0; i < count; i++) {
        if (taken & UINT64_C(1) << i)
            continue;
        if (free_ns[i] <= ready_ns && (fit == count || free_ns[i] > free_ns[fit]))
            fit = i;
        if (first == count || free_ns[i] < free_ns[first])
            first = i;
    }
    return fit < count ? fit : first;
}

/* Picks slots for a kernel; returns when they are all free, and which they are. */
static uint64_t pick_slots(const uint64_t *free_ns, uint32_t count, uint32_t wanted,
                           uint64_t ready_ns, uint64_t *taken)
{
    uint64_t start = ready_ns;
    *taken = 0;
    for (uint32_t i = 0; i < wanted && i < count; i++) {
        uint32_t slot = best_slot(free_ns, count, ready_ns, *taken);
        *taken |= UINT64_C(1) << slot;
        start = later(start, free_ns[slot]);
    }
    return start;
}

static void hold_slots(uint64_t *free_ns, uint64_t taken, uint64_t until_ns)
{
    for (uint32_t i = 0; i < MODEL_SLOTS_MAX; i++)
        if (taken & UINT64_C(1) << i)
            free_ns[i] = until_ns;
}

static uint64_t place_kernel(struct model *model, struct model_process *process, uint64_t now_ns,
                             uint64_t ready_ns, const struct model_work *kernel)
{
    struct model_group *group = &model->groups[process->group];
    uint32_t slots = kernel->slots, all = (uint32_t)model->machine.slots;
    uint64_t own = 0, shared;
    uint64_t duration_ns = kernel->duration_ns, begin;

    if (process->slot_limit < all) {
        if (slots > process->slot_limit) {
            duration_ns *= divide_up(slots, process->slot_limit);
            slots = process->slot_limit;
        }
        ready_ns = pick_slots(process->slots_free_ns, process->slot_limit, slots, ready_ns, &own);
    }
    ready_ns = pick_slots(group->slots_free_ns, all, slots, ready_ns, &shared);
    uint64_t end =
        model_slices_walk(model, process->group, now_ns, ready_ns, duration_ns, true, &begin);
    hold_slots(process->slots_free_ns, own, end);
    hold_slots(group->slots_free_ns, shared, end);
    note_place(process, begin, end);
    return end;
}

/* -- issuing ----------------------------------------------------------------------------------- */

/* Moves the caller's clock on by what a call costs the host. Returns when the GPU's side may begin.
 */
static uint64_t pay(const struct model_issue *at, uint64_t cost_ns)
{
    if (at->host_ns == NULL)
        return at->now_ns;
    *at->host_ns = later(at->now_ns, *at->host_ns) + cost_ns;
    return *at->host_ns;
}

uint64_t model_pay_launch(const struct model_issue *at, uint64_t cost_ns)
{
    if (at->host_ns == NULL || !effect_is_on(at->model->effects_off, EFFECT_LAUNCH_CONTENTION))
        return pay(at, cost_ns);
    *at->host_ns = later(*at->host_ns, at->process->launch_free_ns);
    at->process->launch_free_ns = pay(at, cost_ns);
    return at->process->launch_free_ns;
}

static uint64_t finish(const struct model_issue *at, uint64_t end_ns)
{
    uint64_t *busy_until_ns = &at->model->busy_until_ns[at->process->group];
    at->stream->end_ns = end_ns;
    at->process->end_ns = later(at->process->end_ns, end_ns);
    *busy_until_ns = later(*busy_until_ns, end_ns);
    return end_ns;
}

void model_stream_init(struct model_process *process, struct model_stream *stream)
{
    stream->queue = process->next_queue;
    stream->end_ns = 0;
    process->next_queue = (process->next_queue + 1) % process->queue_count;
}

uint64_t model_issue_launch(const struct model_issue *at, const struct model_work *kernel)
{
    struct model *model = at->model;
    uint64_t ready = model_pay_launch(at, model->machine.launch_ns);
    /* Counted from now and not from the thread's clock: a process whose threads have run far ahead
     * of the time would hold up the others. */
    model->front_free_ns = later(model->front_free_ns, at->now_ns) + model->machine.front_ns;

    uint64_t *queue = &at->process->queues_free_ns[at->stream->queue];
    ready = later(later(ready, model->front_free_ns), later(at->stream->end_ns, *queue));
    *queue = place_kernel(model, at->process, at->now_ns, ready, kernel);
    return finish(at, *queue);
}

static uint64_t issue_copy(const struct model_issue *at, uint64_t ready_ns,
                           const struct model_work *copy)
{
    ready_ns = later(ready_ns, at->stream->end_ns);
    return finish(at, place_copy(at->model, at->process, at->now_ns, ready_ns, copy));
}

uint64_t model_issue_copy(const struct model_issue *at, const struct model_work *copy)
{
    return issue_copy(at, pay(at, at->model->machine.copy_call_ns), copy);
}

uint64_t model_issue_pageable(const struct model_issue *at, const struct model_work *copy)
{
    uint64_t paid = pay(at, at->model->machine.copy_call_ns);
    uint64_t end = issue_copy(at, later(paid, at->process->staging_free_ns), copy);
    at->process->staging_free_ns = end;
    *at->host_ns = end;
    return end;
}

uint64_t model_issue_direct(const struct model_issue *at, uint64_t duration_ns)
{
    uint64_t begin = later(at->now_ns, at->stream->end_ns);
    note_place(at->process, begin, begin + duration_ns);
    return finish(at, begin + duration_ns);
}

uint64_t model_issue_graph(const struct model_issue *at, const struct model_work *works,
                           uint32_t count)
{
    struct model *model = at->model;
    uint64_t queue = at->process->queues_free_ns[at->stream->queue];
    uint64_t end = model_pay_launch(at, model->machine.graph_launch_ns);
    end = later(end, at->stream->end_ns);
    for (uint32_t i = 0; i < count; i++) {
        if (works[i].kind == MODEL_COPY) {
            end = place_copy(model, at->process, at->now_ns, end, &works[i]);
            continue;
        }
        /* Counted from now, as for launches. */
        if (model->machine.graph_node_ns > 0) {
            model->graph_front_free_ns =
                later(model->graph_front_free_ns, at->now_ns) + model->machine.graph_node_ns;
            end = later(end, model->graph_front_free_ns);
        }
        end = place_kernel(model, at->process, at->now_ns, later(end, queue), &works[i]);
    }
    return finish(at, end);
}

uint64_t model_hold_begin(const struct model_issue *at)
{
    struct model *model = at->model;
    struct model_group *group = &model->groups[at->process->group];
    uint64_t begin, ready = later(at->now_ns, at->stream->end_ns) + model->machine.front_ns;
    model_slices_walk(model, at->process->group, at->now_ns, ready, 1, true, &begin);
    if (group->holds++ == 0)
        group->held_since_ns = begin;
    model->holds++;
    model->contexts[at->process->context].holds++;
    return begin;
}

void model_hold_end(const struct model_issue *at)
{
    struct model_context *context = &at->model->contexts[at->process->context];
    if (context->holds > 0) {
        context->holds--;
        at->model->groups[at->process->group].holds--;
        at->model->holds--;
    }
    finish(at, at->now_ns);
}
