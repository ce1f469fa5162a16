/* Of a search without a number that counts: why, and what may help. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/results/point.h"
#include "orchestrator/tune/internal.h"

/* Starts for the search, and those of the shortest finals, with some to spare. */
#define STARTS_LEAST 7.0

/* The first that failed when it was tried, or NULL. */
static const json_t *first_failure(const struct tune *tune)
{
    for (size_t i = 0; i < tune->space.plan.count; i++) {
        const json_t *record = tune->campaign.records[i];
        if (record && !tune->campaign.beyond[i] && !point_is_measured(record))
            return record;
    }
    return NULL;
}

/* What may have kept the point from a window, or from its end. */
static const char *why_unready(const struct tune *tune)
{
    if (tune->pace.unended_s > 0.0)
        return tune->rules.program ? " (does it end on SIGTERM, does its iteration end?)"
                                   : " (does its iteration end?)";
    if (tune->pace.was_ready)
        return " (it was ready)";
    if (tune->rules.server)
        return " (is it ready, does it answer the request?)";
    return tune->rules.program
               ? " (does it work on the GPU, keep the LD_PRELOAD that it gets, or call "
                 "mpsweep_ready()?)"
               : "";
}

bool tune_is_constrained(const struct tune *tune)
{
    return tune->rules.max_p99_us > 0.0 || tune->rules.max_cpus > 0.0 ||
           tune_goal(tune)->permille > 0;
}

bool tune_is_overloaded(const struct tune *tune)
{
    for (size_t i = 0; i < tune->space.plan.count; i++)
        if (tune->campaign.records[i] && point_is_overloaded(tune->campaign.records[i]))
            return true;
    return false;
}

void tune_print_no_number(const struct tune *tune)
{
    char what[POINT_DESCRIPTION];
    const json_t *failure = first_failure(tune);
    if (tune->interrupted && integer_at(tune->record, "measured") == 0) {
        puts("no layout was measured before the interruption");
    } else if (tune_is_overloaded(tune)) {
        puts("no layout that was tried keeps up with the rate: offer a lower --rate, or give a "
             "longer --budget");
    } else if (failure) {
        point_describe(&tune->space.plan.points[integer_at(failure, "id")], what, sizeof what);
        printf("no layout was found that works; %s: %s: %s\n", what, text_at(failure, "status"),
               text_at(failure, "error"));
    } else if (strcmp(text_at(tune->record, "ended"), "failed") == 0) {
        puts("no layout was found that meets the constraints");
    } else if (tune->pace.unready != TUNE_NO_POINT) {
        const struct tune_pace *pace = &tune->pace;
        bool unended = pace->unended_s > 0.0;
        point_describe(&tune->space.plan.points[pace->unready], what, sizeof what);
        printf("no layout was measured: %s %s %.1f s%s%s: give a longer --budget, of %.0fs or more "
               "if it needs that long\n",
               what, unended ? "did not end within" : "had no window after",
               unended ? pace->unended_s : pace->unready_s, unended ? " of its window" : "",
               why_unready(tune), ceil(STARTS_LEAST * pace->unready_s));
    } else if (integer_at(tune->record, "measured") > 0 && tune_is_constrained(tune)) {
        puts("no layout that was tried meets the constraints: raise the limit, or give a longer "
             "--budget");
    } else {
        puts("no layout was measured: give a longer --budget");
    }
}
