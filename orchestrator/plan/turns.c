#include "orchestrator/plan/turns.h"

#include <stdlib.h>
#include <string.h>

#include "job/crew.h"
#include "orchestrator/plan/plugin.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/plan/shares.h"

/* A point on its way into a group. */
struct member {
    size_t point, group;
    unsigned processes;
    unsigned threads; /* of a program, which has as many as it was started with; of others 0 */
    size_t rank;      /* its place in the random order */
};

static bool same_shares(const struct point_shares *a, const struct point_shares *b,
                        unsigned processes)
{
    for (unsigned p = 0; p < processes; p++)
        if (shares_at(a, p) != shares_at(b, p))
            return false;
    return true;
}

/* Whether this many of the started ones may be all that work. */
static bool may_idle(const struct point *started_for, const struct point *point)
{
    unsigned processes = point->processes, started = started_for->processes;
    if (processes == started)
        return true;
    return (processes > 1 || point_over_mps(point)) && processes < started &&
           started - processes <= CREW_IDLE_MOST * processes;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Whether a word is the same for both. */
static bool same_filled(const char *a, const char *b, bool same_processes, bool same_threads)
{
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0 && (same_processes || !placeholders_use(a, PLACEHOLDER_PROCESSES)) &&
           (same_threads || !placeholders_use(a, PLACEHOLDER_THREADS));
}

static bool same_requests(const struct point_requests *a, const struct point_requests *b,
                          bool same_processes, bool same_threads)
{
    return same_filled(a->request, b->request, same_processes, same_threads) &&
           same_filled(a->ready, b->ready, same_processes, same_threads) &&
           same_text(a->header, b->header) && same_text(a->body, b->body) &&
           same_text(a->bodies, b->bodies) && same_text(a->expect, b->expect) &&
           same_text(a->arrivals, b->arrivals) && a->timeout_ns == b->timeout_ns;
}

/* A program has its command, its streams and its CPUs from its start, and threads beyond those of a
 * point are held, where each waits by itself. Those of a server are connections of ours, of which
 * it knows what its command has. */
static bool may_share_program(const struct point *a, const struct point *b)
{
    const struct point_program *left = &a->program, *right = &b->program;
    bool same_processes = a->processes == b->processes, same_threads = a->threads == b->threads;
    if (point_streams(a) != point_streams(b) || a->bind != b->bind || b->threads > a->threads ||
        (!same_threads && point_streams(a) > 1 && !point_is_server(a)))
        return false;
    size_t i = 0;
    while (left->command[i] &&
           same_filled(left->command[i], right->command[i], same_processes, same_threads))
        i++;
    return !left->command[i] && !right->command[i] && left->seed == right->seed &&
           same_text(left->log, right->log) && same_text(left->tick, right->tick) &&
           same_requests(&left->requests, &right->requests, same_processes, same_threads);
}

/* A plug-in may leave anything behind in its process: that is shared with itself alone. */
static bool may_share(const struct point *a, const struct point *b)
{
    if (point_is_program(a) || point_is_program(b))
        return point_is_program(a) && point_is_program(b) && may_share_program(a, b);
    if (a->work.workload != WORKLOAD_PLUGIN && b->work.workload != WORKLOAD_PLUGIN)
        return true;
    return plugin_is_same(a, b);
}

bool turns_serves(const struct point *started_for, const struct point *point)
{
    const struct point *a = started_for, *b = point;
    if (point_over_mps(a) != point_over_mps(b) || point_gpus(a) != point_gpus(b) ||
        !may_idle(a, b) || !may_share(a, b))
        return false;
    for (const struct option_row *row = NULL; (row = setting_next(row));)
        if (row->setting.of_process &&
            !(row->setting.type == SETTING_SHARES
                  ? same_shares(setting_shares(row, a), setting_shares(row, b), b->processes)
                  : setting_equal(row, a, b)))
            return false;
    return true;
}

static bool may_share_crew(const struct point *started_for, const struct point *point,
                           enum turns_reuse reuse)
{
    unsigned idle = started_for->processes - point->processes;
    return reuse != TURNS_FRESH && turns_serves(started_for, point) &&
           (reuse == TURNS_LARGEST || !point_over_mps(point) ||
            idle * CREW_WORK_PER_IDLE <= point->processes);
}

/* The larger ones first, which can serve the others. */
static int larger_first(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->processes != y->processes)
        return x->processes < y->processes ? 1 : -1;
    if (x->threads != y->threads)
        return x->threads < y->threads ? 1 : -1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_group(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return larger_first(a, b);
}

/* Puts each member into the first group whose leader's crew can serve it. Sorted as they are, the
 * first of a group has as many processes as any of it. Returns the number of groups. */
static size_t find_groups(const struct plan *plan, enum turns_reuse reuse, struct member *members,
                          size_t count, size_t *leaders)
{
    size_t groups = 0;
    for (size_t i = 0; i < count; i++) {
        const struct point *point = &plan->points[members[i].point];
        size_t group = 0;
        while (group < groups && !may_share_crew(&plan->points[leaders[group]], point, reuse))
            group++;
        if (group == groups)
            leaders[groups++] = members[i].point;
        members[i].group = group;
    }
    return groups;
}

static enum status bring_together(const struct plan *plan, enum turns_reuse reuse, unsigned seed,
                                  unsigned round, size_t *order, size_t count)
{
    struct member *members = calloc(count + 1, sizeof *members);
    size_t *leaders = calloc(count + 1, sizeof *leaders);
    size_t *shuffled = calloc(count + 1, sizeof *shuffled);
    enum status status = STATUS_OK;
    if (!members || !leaders || !shuffled) {
        status = status_set(STATUS_MEMORY, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        const struct point *point = &plan->points[order[i]];
        members[i] = (struct member){.point = order[i],
                                     .processes = point->processes,
                                     .threads = point_is_program(point) ? point->threads : 0,
                                     .rank = i};
    }
    qsort(members, count, sizeof *members, larger_first);
    size_t groups = find_groups(plan, reuse, members, count, leaders);
    plan_order(groups, seed, round, shuffled);
    for (size_t i = 0; i < count; i++)
        members[i].group = shuffled[members[i].group];
    qsort(members, count, sizeof *members, by_group);
    for (size_t i = 0; i < count; i++)
        order[i] = members[i].point;
out:
    free(members);
    free(leaders);
    free(shuffled);
    return status;
}

/* Which turns share a crew, the order being made. */
static void share_crews(const struct plan *plan, enum turns_reuse reuse, struct turn *turns,
                        size_t count)
{
    const struct point *started_for = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct point *point = &plan->points[turns[i].point];
        turns[i].starts = !started_for || !may_share_crew(started_for, point, reuse);
        if (turns[i].starts)
            started_for = point;
        else
            turns[i - 1].keeps = true;
    }
    for (size_t i = count; i-- > 0;) {
        unsigned slots = point_slots(&plan->points[turns[i].point]);
        bool more = turns[i].keeps && turns[i + 1].slots_most > slots;
        turns[i].slots_most = more ? turns[i + 1].slots_most : slots;
    }
}

enum status turns_make(const struct plan *plan, const bool *done, unsigned seed, unsigned round,
                       enum turns_reuse reuse, struct turn *turns, size_t *count)
{
    size_t *order = calloc(plan->count + 1, sizeof *order);
    size_t left = 0;
    if (!order)
        return status_set(STATUS_MEMORY, "out of memory");
    plan_order(plan->count, seed, round, order);
    for (size_t i = 0; i < plan->count; i++)
        if (!done || !done[order[i]])
            order[left++] = order[i];
    enum status status = reuse != TURNS_FRESH && seed != 0
                             ? bring_together(plan, reuse, seed, round, order, left)
                             : STATUS_OK;
    if (status == STATUS_OK) {
        for (size_t i = 0; i < left; i++)
            turns[i] = (struct turn){.point = order[i]};
        share_crews(plan, reuse, turns, left);
        *count = left;
    }
    free(order);
    return status;
}
