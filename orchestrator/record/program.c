#include "orchestrator/record/internal.h"

#include "common/json.h"

void record_add_observed(json_t *record, const struct round_result *result)
{
    const struct round_observed *observed = &result->observed;
    if (observed->late)
        warnings_add(warnings_of(record), "observed_late",
                     "the program reports its iterations, but had not loaded libmpsweep-client when "
                     "it began to use CUDA, so that CUPTI was loaded: give --tick none");
    if (observed->graphs)
        warnings_add(warnings_of(record), "observed_graphs",
                     "CUPTI, which observes the program, slows down launches of large graphs: let "
                     "the program report its iterations, or give --tick nvtx:NAME, and compare");
    if (!*observed->what)
        return;
    json_object_set_new(record, "observed",
                        json_pack("{s:s, s:i, s:f}", "iteration", observed->what, "calls",
                                  (int)observed->calls, "alike", observed->match));
}
