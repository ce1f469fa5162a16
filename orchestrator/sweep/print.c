#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "orchestrator/calibrate/plan.h"
#include "orchestrator/campaign/estimate.h"
#include "orchestrator/campaign/limits.h"
#include "orchestrator/campaign/campaign.h"

bool sweep_is_fixed(const struct sweep *sweep)
{
    return options_integer(sweep->options, OPTION_ITERATIONS) > 0;
}

enum status sweep_make_turns(const struct sweep *sweep, unsigned round, struct turn **turns,
                             size_t *count)
{
    unsigned seed = (unsigned)options_integer(sweep->options, OPTION_SEED);
    bool reuse = !options_switch(sweep->options, OPTION_NO_REUSE);
    bool *done = calloc(sweep->plan.count + 1, sizeof *done);
    *turns = calloc(sweep->plan.count + 1, sizeof **turns);
    enum status status = STATUS_OK;
    if (!done || !*turns) {
        status = status_set(STATUS_MEMORY, "out of memory");
    } else {
        for (size_t i = 0; i < sweep->plan.count; i++)
            done[i] = sweep->records[i] != NULL || !sweep_owns(sweep, i);
        status = turns_make(&sweep->plan, done, seed, round, reuse, *turns, count);
    }
    free(done);
    if (status != STATUS_OK) {
        free(*turns);
        *turns = NULL;
    }
    return status;
}

double sweep_estimate_s(const struct sweep *sweep)
{
    double sum = 0.0;
    struct turn *turns;
    size_t count;
    /* Without memory for the estimate the sweep fails soon enough. */
    if (sweep_make_turns(sweep, 0, &turns, &count) != STATUS_OK)
        return 0.0;
    for (size_t i = 0; i < count; i++) {
        const struct point *point = &sweep->plan.points[turns[i].point];
        sum += estimate_point_s(point, &sweep->limits);
        if (turns[i].starts)
            sum += estimate_start_s(point);
    }
    free(turns);
    sum *= (double)options_integer(sweep->options, OPTION_ROUNDS);
    struct plan own;
    if (options_switch(sweep->options, OPTION_CALIBRATE) &&
        sweep_own_plan(sweep, &own) == STATUS_OK) {
        sum += calibrate_plan_estimate_s(&sweep->session, &own, sweep->calibrations);
        plan_release(&own);
    }
    return sum;
}

static const char *error_of(const json_t *record)
{
    const char *text = json_string_value(json_object_get(record, "error"));
    return text ? text : "";
}

void sweep_print_list(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->plan.count; i++) {
        char what[POINT_DESCRIPTION];
        if (!sweep_owns(sweep, i))
            continue;
        point_describe(&sweep->plan.points[i], what, sizeof what);
        printf("%zu\t%s", i, what);
        if (sweep->beyond[i])
            printf("\tinfeasible: %s", error_of(sweep->records[i]));
        putchar('\n');
    }
}

static size_t count_beyond(const struct sweep *sweep)
{
    size_t count = 0;
    for (size_t i = 0; i < sweep->plan.count; i++)
        count += sweep->beyond[i];
    return count;
}

bool sweep_limits_matter(const struct sweep *sweep)
{
    return strcmp(options_text(sweep->options, OPTION_LIMITS), "known") == 0 &&
           limits_plan_concerns(&sweep->plan);
}

enum status sweep_mark_beyond(struct sweep *sweep)
{
    if (!sweep_limits_matter(sweep))
        return STATUS_OK;
    enum status status =
        limits_plan_mark(&sweep->session, &sweep->plan, sweep->records, sweep->beyond);
    sweep_drop_others(sweep);
    if (status != STATUS_PROTOCOL && status != STATUS_SYSTEM)
        return status;
    fprintf(stderr, "mpsweep: %s; going on as if there were no limits\n", status_text());
    return STATUS_OK;
}

enum status sweep_write_beyond(struct sweep *sweep)
{
    size_t count = count_beyond(sweep);
    enum status status = STATUS_OK;
    if (count > 0 && !options_switch(sweep->options, OPTION_QUIET))
        fprintf(stderr,
                "mpsweep: %zu of %zu points left out: beyond the MPS limits found for this GPU and "
                "driver ('--limits ignore' tries them)\n",
                count, sweep_own_count(sweep));
    for (size_t i = 0; i < sweep->plan.count && status == STATUS_OK; i++)
        if (sweep->beyond[i])
            status = results_write(&sweep->writer, sweep->records[i]);
    return status;
}

/* Which GPU each process gets, for the point of most GPUs. */
static void print_spread(const struct sweep *sweep)
{
    const struct point *most = NULL;
    for (size_t i = 0; i < sweep->plan.count; i++)
        if (!most || point_gpus(&sweep->plan.points[i]) > point_gpus(most))
            most = &sweep->plan.points[i];
    if (!most || point_gpus(most) == 1)
        return;
    printf("spread:   ");
    for (unsigned p = 0; p <= point_gpus(most); p++)
        printf("process %u on GPU %u, ", p, point_gpu_of(most, p));
    puts("and so on; P×T is of one GPU");
}

void sweep_print_plan(const struct sweep *sweep)
{
    char text[2048], duration[32];
    const struct session *session = &sweep->session;
    for (unsigned i = 0; i < session->gpus->count; i++) {
        char name[GPU_NAME_TEXT], number[GPU_NAME_TEXT + 1] = "GPU:", cuda[SESSION_CUDA_TEXT];
        const struct device_info *gpu = gpu_at(session->gpus, i);
        if (session->gpus->count > 1)
            snprintf(number, sizeof number, "%s:", gpu_name(session->gpus, i, name));
        printf("%-9s %s%s (%s), %d multiprocessors, driver CUDA %s\n", number, gpu->name,
               session->emulated ? " [emulated: no real numbers]" : "", gpu->uuid, (int)gpu->sms,
               session_cuda(session, cuda));
    }
    print_spread(sweep);
    printf("machine:  %s\n", bind_topology_summary(session->topology, text, sizeof text));
    bool seen[3] = {false};
    for (size_t i = 0; i < sweep->plan.count; i++) {
        enum bind_policy policy = sweep->plan.points[i].bind;
        if (seen[policy])
            continue;
        seen[policy] = true;
        printf("binding:  %s\n", bind_describe(session->topology, policy, text, sizeof text));
    }
    text_duration(sweep_estimate_s(sweep), duration, sizeof duration);
    size_t beyond = count_beyond(sweep);
    if (sweep->shard.count > 0)
        printf("shard:    %s, %zu points of %zu, %u of them for reference\n",
               shard_name(&sweep->shard, text, sizeof text), sweep_own_count(sweep),
               sweep->plan.count, sweep->shard.reference);
    printf("plan:     %zu points, ", sweep_own_count(sweep));
    if (beyond > 0)
        printf("%zu of them infeasible, ", beyond);
    if (sweep_is_fixed(sweep))
        printf("%s and the time that the iterations take, which is not known before\n\n", duration);
    else
        printf("about %s\n\n", duration);
    sweep_print_list(sweep);
}
