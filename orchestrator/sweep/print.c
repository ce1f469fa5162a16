#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "orchestrator/calibrate/plan.h"
#include "orchestrator/campaign/estimate.h"
#include "orchestrator/console/closing.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/results/table.h"
#include "orchestrator/sweep/internal.h"

double sweep_estimate_s(const struct campaign *campaign, double *most_s)
{
    double sum = 0.0, most = 0.0;
    struct turn *turns;
    size_t count;
    if (most_s)
        *most_s = 0.0;
    /* Without memory for the estimate the sweep fails soon enough. */
    if (campaign_make_turns(campaign, 0, &turns, &count) != STATUS_OK)
        return 0.0;
    for (size_t i = 0; i < count; i++) {
        const struct point *point = &campaign->plan.points[turns[i].point];
        double start = turns[i].starts ? estimate_start_s(point) : 0.0;
        sum += estimate_point_s(point, &campaign->limits) + start;
        most += estimate_point_most_s(point, &campaign->limits) + ESTIMATE_SLOW * start;
    }
    free(turns);
    double rounds = (double)options_integer(campaign->options, OPTION_ROUNDS), calibrations = 0.0;
    struct plan own;
    if (options_switch(campaign->options, OPTION_CALIBRATE) &&
        campaign_own_plan(campaign, &own) == STATUS_OK) {
        calibrations = calibrate_plan_estimate_s(&campaign->session, &own, campaign->calibrations);
        plan_release(&own);
    }
    if (most_s)
        *most_s = most * rounds + ESTIMATE_SLOW * calibrations;
    return sum * rounds + calibrations;
}

void sweep_print_list(const struct campaign *campaign)
{
    char line[CAMPAIGN_LINE];
    if (table_print_planned(stdout, options_text(campaign->options, OPTION_FORMAT), NULL,
                            campaign_planned(campaign, campaign->plan.count)))
        return;
    for (size_t i = 0; i < campaign->plan.count; i++)
        if (campaign_owns(campaign, i))
            printf("%s%s\n", columns_item(), campaign_point_line(campaign, i, line));
}

/* Which GPU each process gets, for the point of most GPUs. */
static void print_spread(const struct campaign *campaign)
{
    const struct point *most = NULL;
    for (size_t i = 0; i < campaign->plan.count; i++)
        if (!most || point_gpus(&campaign->plan.points[i]) > point_gpus(most))
            most = &campaign->plan.points[i];
    if (!most || point_gpus(most) == 1)
        return;
    printf("spread:   ");
    for (unsigned p = 0; p <= point_gpus(most); p++)
        printf("process %u on GPU %u, ", p, point_gpu_of(most, p));
    puts("and so on; P×T is of one GPU");
}

/* Before, as --resume finds it. */
static size_t count_measured(const struct campaign *campaign)
{
    size_t measured = 0;
    for (size_t i = 0; i < campaign->plan.count; i++)
        measured += campaign->records[i] && !campaign->beyond[i];
    return measured;
}

void sweep_print_plan(struct campaign *campaign)
{
    char text[2048], duration[32], most[32];
    double most_s, about_s = sweep_estimate_s(campaign, &most_s);
    const struct session *session = &campaign->session;
    if (table_print_planned(stdout, options_text(campaign->options, OPTION_FORMAT),
                            campaign_plan_record(campaign, about_s, most_s),
                            campaign_planned(campaign, campaign->plan.count)))
        return;
    for (unsigned i = 0; i < session->gpus->count; i++) {
        char name[GPU_NAME_TEXT], number[GPU_NAME_TEXT + 1] = "GPU:", cuda[SESSION_CUDA_TEXT];
        const struct device_info *gpu = gpu_at(session->gpus, i);
        if (session->gpus->count > 1)
            snprintf(number, sizeof number, "%s:", gpu_name(session->gpus, i, name));
        printf("%-9s %s%s (%s), %d multiprocessors, driver CUDA %s\n", number, gpu->name,
               session_mark(session), gpu->uuid, (int)gpu->sms, session_cuda(session, cuda));
    }
    print_spread(campaign);
    printf("machine:  %s\n", bind_topology_summary(session->topology, text, sizeof text));
    bool seen[BIND_POLICIES] = {false};
    for (size_t i = 0; i < campaign->plan.count; i++) {
        enum bind_policy policy = campaign->plan.points[i].bind;
        if (seen[policy])
            continue;
        seen[policy] = true;
        printf("binding:  %s\n", bind_describe(session->topology, policy, text, sizeof text));
    }
    text_duration(about_s, duration, sizeof duration);
    text_duration(most_s, most, sizeof most);
    size_t beyond = campaign_count_beyond(campaign), own = campaign_own_count(campaign);
    size_t measured = count_measured(campaign);
    if (campaign->shard.count > 0)
        printf("shard:    %s, %zu point%s of %zu, %u of them for reference\n",
               shard_name(&campaign->shard, text, sizeof text), own, own == 1 ? "" : "s",
               campaign->plan.count, campaign->shard.reference);
    printf("plan:     %zu point%s, ", own, own == 1 ? "" : "s");
    if (beyond > 0)
        printf("%zu of them infeasible, ", beyond);
    if (measured > 0)
        printf("%zu of them measured, ", measured);
    if (campaign_is_fixed(campaign))
        printf("%s and the time that the iterations take, which is not known before\n\n", duration);
    else
        printf("about %s, at most %s%s\n\n", duration, most,
               point_is_program(campaign->plan.points) ? " without the program's starts" : "");
    sweep_print_list(campaign);
}

void sweep_print_results(const struct campaign *campaign, const char *program, const json_t *points,
                         const json_t *footer, bool interrupted)
{
    const char *format = options_text(campaign->options, OPTION_FORMAT);
    if (strcmp(format, "csv") == 0)
        table_print_csv(stdout, campaign->header, points);
    else if (strcmp(format, "json") == 0)
        table_print_json(stdout, campaign->header, campaign->calibrations, points, NULL, footer);
    else
        table_print(stdout, campaign->header, points);
    if (columns_is_format(format))
        sweep_print_closing(campaign, program, points, interrupted);
    else if (interrupted && !options_switch(campaign->options, OPTION_QUIET))
        closing_print_resume(program, campaign_resume_words(campaign, "sweep", OPTION_SWEEP));
}
