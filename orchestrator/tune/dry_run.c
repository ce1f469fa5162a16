/* What 'mpsweep tune --dry-run' prints. */
#include <math.h>
#include <stdio.h>

#include "common/text.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/tune/internal.h"

static bool is_in(const struct tune_batch *batch, size_t point)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].point == point)
            return true;
    return false;
}

static void print_first(struct tune *tune)
{
    struct tune_batch batches[2];
    char what[POINT_DESCRIPTION];
    /* Nothing is measured: the second batch is what comes behind the first layout, which is in it
     * once more. */
    for (int i = 0; i < 2; i++) {
        tune_search_next(tune->search, INFINITY, &tune->costs, &batches[i]);
        for (size_t j = 0; j < batches[i].count; j++) {
            size_t point = batches[i].items[j].point;
            if (i == 1 && is_in(&batches[0], point))
                continue;
            point_describe(&tune->space.plan.points[point], what, sizeof what);
            printf("%s%zu\t%s\n", columns_item(), point, what);
        }
    }
}

void tune_print_plan(struct tune *tune)
{
    char text[256];
    const struct session *session = &tune->campaign.session;
    unsigned gpus = tune->space.gpus;
    for (unsigned i = 0; i < gpus; i++) {
        const struct device_info *gpu = gpu_at(session->gpus, i);
        printf("%s      %s%s (%s), %d multiprocessors\n", i == 0 ? "GPU:" : "    ", gpu->name,
               session_mark(session), gpu->uuid, (int)gpu->sms);
    }
    printf("machine:  %s\n", bind_topology_summary(session->topology, text, sizeof text));
    printf("space:    %zu layout%s", tune->space.candidates,
           tune->space.candidates == 1 ? "" : "s");
    if (gpus > 1)
        printf(", searched on one GPU with its share of the CPUs; the best are measured on all %u",
               gpus);
    putchar('\n');
    printf("search:   for %s, %s",
           tune_goal(tune)->permille ? "the rate" : tune_objective_name(tune->objective),
           tune->rules.exhaustive ? "all of them"
           : tune->guided         ? "guided by a calibration, which is made first"
                                  : "guided by measuring alone");
    if (isfinite(tune->pace.budget_s))
        printf(", %s at most", text_duration(tune->pace.budget_s, text, sizeof text));
    printf("\n\nfirst%s:\n", tune->guided ? ", if there were no calibration" : "");
    print_first(tune);
}
