#include "orchestrator/record/internal.h"

#include "common/json.h"

static void warn_bad(json_t *warnings, const struct round_requests *requests, uint64_t good)
{
    uint64_t bad = round_failed_requests(requests);
    warnings_add(warnings, "bad_answers",
                 "%.2g%% of the requests failed: %llu had no answer, %llu a wrong one; the first: "
                 "%s. They count neither as iterations nor in the latency",
                 100.0 * (double)bad / (double)(bad + good), (unsigned long long)requests->errors,
                 (unsigned long long)requests->wrong_answers, requests->first);
}

/* A request that began before the window and lasts beyond it has no latency there, and does not
 * count as an error yet. In an open loop there may have been none. */
static void warn_unanswered(json_t *warnings, const struct point *point,
                            const struct round_result *result)
{
    unsigned silent = 0, all = point_workers(point);
    for (unsigned i = 0; i < all; i++)
        silent += !(result->workers[i].ips > 0.0);
    if (silent == 0 || point_is_open(point))
        return;
    warnings_add(warnings, "unanswered",
                 "%u of %u connections had no good answer within the window of %.3g s: their "
                 "requests take longer, or have none, and are not in the latency: give a longer "
                 "--duration, and look whether the server serves that many at once",
                 silent, all, result->window_s);
}

/* What a limit is held against. */
static json_t *latency_of_all(const struct measurement *measurement)
{
    struct histogram all;
    round_latency_of_all(&measurement->last, &all);
    json_t *object = record_latency(&all, measurement->percentiles, measurement->rounds);
    json_object_del(object, "max");
    json_object_del(object, "mean");
    return object;
}

void record_add_requests(json_t *record, const struct point *point,
                         const struct measurement *measurement)
{
    const struct round_result *result = &measurement->last;
    const struct round_requests *requests = &result->requests;
    const struct histogram *first_byte = &requests->first_byte;
    if (!point_is_server(point))
        return;
    bool any = round_failed_requests(requests) > 0;
    json_object_set_new(record, "requests",
                        json_pack("{s:I, s:I, s:o, s:o*}", "errors", (json_int_t)requests->errors,
                                  "wrong_answers", (json_int_t)requests->wrong_answers, "first",
                                  any ? json_text(requests->first) : json_null(), "latency_us",
                                  any ? latency_of_all(measurement) : NULL));
    json_object_set_new(record, "first_byte_us",
                        json_pack("{s:f, s:f, s:f, s:f}", "p50",
                                  histogram_quantile_ns(first_byte, 0.5) / 1e3, "p90",
                                  histogram_quantile_ns(first_byte, 0.9) / 1e3, "p99",
                                  histogram_quantile_ns(first_byte, 0.99) / 1e3, "max",
                                  (double)first_byte->max_ns / 1e3));
    if (any)
        warn_bad(warnings_of(record), requests, result->iterations);
    warn_unanswered(warnings_of(record), point, result);
}
