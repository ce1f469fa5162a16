#include "orchestrator/record/internal.h"

#include "common/json.h"

static const char *const doubts[] = {
    [TICK_STEPS] = "steps", [TICK_KINDS] = "kinds", [TICK_WAITS] = "waits"};

void record_add_observed(json_t *record, const struct point *point,
                         const struct round_result *result)
{
    const struct round_observed *observed = &result->observed;
    if (!*observed->what && point_has_tick(point))
        warnings_add(warnings_of(record), "iterations",
                     "'%s' reports its iterations: --tick %s makes no difference",
                     point_workload(point), point->program.tick);
    if (!*observed->what)
        return;
    json_object_set_new(record, "observed",
                        json_pack("{s:s, s:i, s:f}", "iteration", observed->what, "calls",
                                  (int)observed->calls, "alike", observed->match));
    if (observed->doubt != TICK_SURE)
        json_object_set_new(json_object_get(record, "observed"), "doubt",
                            json_string(doubts[observed->doubt]));
    if (round_observed_unlike(observed))
        warnings_add(warnings_of(record), "iterations",
                     "an iteration has %u calls in one process and %u in another, and the "
                     "throughput adds up both: if the processes do the same work, give what ends "
                     "an iteration with --tick",
                     observed->least_calls, observed->most_calls);
}
