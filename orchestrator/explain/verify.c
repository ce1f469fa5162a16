#include "orchestrator/explain/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/clock.h"
#include "statistics/statistics.h"
#include "common/text.h"
#include "orchestrator/explain/point.h"
#include "orchestrator/record/record.h"

/* The two sides of a test. */
enum { AS_IT_IS, REMEDIED, SIDES };

struct test {
    const struct explanation *point;
    struct point sides[SIDES];
    int64_t shares[SIDES][EXPLAIN_MOST_PERCENTAGES];
    double *ips[SIDES]; /* of each round */
    double *gains;
    unsigned rounds; /* measured on both sides */
    char error[1100];
    double seconds;
};

static void test_release(struct test *test)
{
    for (int side = 0; side < SIDES; side++)
        free(test->ips[side]);
    free(test->gains);
}

static enum status test_init(const struct explanation *point, const struct verify_request *request,
                             struct test *test)
{
    *test = (struct test){.point = point};
    explain_point_plan(&point->point, point->record, test->shares[AS_IT_IS],
                       &test->sides[AS_IT_IS]);
    explain_point_plan(&point->remedy.point, point->record, test->shares[REMEDIED],
                       &test->sides[REMEDIED]);
    test->gains = calloc(request->rounds, sizeof *test->gains);
    for (int side = 0; side < SIDES; side++) {
        test->sides[side].work.warmup_ns = request->warmup_ns;
        test->ips[side] = calloc(request->rounds, sizeof *test->ips[side]);
    }
    if (!test->gains || !test->ips[AS_IT_IS] || !test->ips[REMEDIED]) {
        test_release(test);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    return STATUS_OK;
}

/* One side's round. A failure of the measurement is the test's, and ends it. */
static enum status measure_side(struct test *test, int side, const struct verify_request *request)
{
    struct round_result result;
    enum status status = session_check_signals(request->session);
    if (status != STATUS_OK)
        return status;
    status = round_run(request->session, &test->sides[side], &request->limits, &result);
    if (result.status == STATUS_OK)
        test->ips[side][test->rounds] = result.throughput_ips;
    else
        snprintf(test->error, sizeof test->error, "%s: %s",
                 side == REMEDIED ? "with the remedy" : "as it is", result.error);
    round_result_release(&result);
    return status;
}

/* The sides take turns in going first, so that drift favours none. */
static enum status run_test(struct test *test, const struct verify_request *request)
{
    uint64_t begin_ns = clock_now_ns();
    enum status status = STATUS_OK;
    while (test->rounds < request->rounds && status == STATUS_OK && !*test->error) {
        int first = test->rounds % 2 ? REMEDIED : AS_IT_IS;
        status = measure_side(test, first, request);
        if (status == STATUS_OK && !*test->error)
            status = measure_side(test, SIDES - 1 - first, request);
        if (status != STATUS_OK || *test->error)
            break;
        test->gains[test->rounds] =
            test->ips[REMEDIED][test->rounds] / test->ips[AS_IT_IS][test->rounds];
        test->rounds++;
    }
    test->seconds = (double)(clock_now_ns() - begin_ns) / 1e9;
    return status;
}

/* Confirmed: faster beyond doubt, and by at least half of what was predicted. */
static const char *verdict_of(const struct test *test, double gain, double ci95_rel)
{
    if (*test->error)
        return "failed";
    double least = isfinite(ci95_rel) ? gain * (1.0 - ci95_rel) : gain;
    if (least <= 1.0)
        return "not confirmed";
    return gain >= 1.0 + 0.5 * (test->point->remedy.gain - 1.0) ? "confirmed" : "less than half";
}

static json_t *rounds_json(const struct test *test)
{
    json_t *rounds = json_array();
    for (unsigned i = 0; i < test->rounds; i++)
        json_array_append_new(rounds,
                              json_pack("{s:f, s:f}", "baseline_ips", test->ips[AS_IT_IS][i],
                                        "remedied_ips", test->ips[REMEDIED][i]));
    return rounds;
}

static json_t *test_json(const struct test *test)
{
    const struct explanation *point = test->point;
    double gain = statistics_mean(test->gains, test->rounds);
    double ci95_rel = statistics_ci95_rel(test->gains, test->rounds);
    bool failed = *test->error != '\0';
    json_t *record = json_pack(
        "{s:s, s:I, s:s, s:s, s:s, s:f, s:f, s:f, s:s, s:f}", "type", "verification", "point",
        integer_at(point->record, "id"), "limited_by", ceiling_name(point->binding.kind), "remedy",
        remedy_name(point->remedy.kind), "options", point->remedy.options, "baseline_predicted_ips",
        point->predicted.ips, "predicted_ips", point->remedy.predicted_ips, "predicted_gain",
        point->remedy.gain, "verdict", verdict_of(test, gain, ci95_rel), "seconds", test->seconds);
    char what[EXPLAIN_NAME_TEXT];
    json_object_set_new(record, "what", json_string(explain_gpus_name(point, what)));
    json_object_set_new(record, "ceiling",
                        json_string(ceiling_title(point->binding.kind, &point->point)));
    json_object_set_new(record, "error", failed ? json_text(test->error) : json_null());
    if (failed)
        return record;
    json_object_set_new(record, "baseline_ips",
                        json_real(statistics_mean(test->ips[AS_IT_IS], test->rounds)));
    json_object_set_new(record, "remedied_ips",
                        json_real(statistics_mean(test->ips[REMEDIED], test->rounds)));
    json_object_set_new(record, "gain", json_real(gain));
    json_object_set_new(record, "ci95_rel", record_real_or_null(ci95_rel));
    json_object_set_new(record, "rounds", rounds_json(test));
    return record;
}

static bool same_test(const struct explanation *a, const struct explanation *b)
{
    return a->binding.kind == b->binding.kind && a->remedy.kind == b->remedy.kind;
}

/* Whether a point is the one to test among those with its ceiling and kind of remedy. */
static bool stands_for_others(const struct explain_set *set, size_t index)
{
    const struct explanation *point = &set->points[index];
    if (point->remedy.kind == REMEDY_NONE)
        return false;
    for (size_t i = 0; i < set->count; i++) {
        const struct explanation *other = &set->points[i];
        if (i == index || !same_test(other, point))
            continue;
        double more = other->remedy.predicted_ips - point->remedy.predicted_ips;
        if (more > 0.0 || (more == 0.0 && i < index))
            return false;
    }
    return true;
}

enum status explain_verify(const struct explain_set *set, const struct verify_request *request,
                           json_t **out)
{
    json_t *records = json_array();
    enum status status = STATUS_OK;
    for (size_t i = 0; i < set->count && status == STATUS_OK; i++) {
        struct test test;
        char what[EXPLAIN_NAME_TEXT];
        if (!stands_for_others(set, i))
            continue;
        status = test_init(&set->points[i], request, &test);
        if (status != STATUS_OK)
            break;
        if (!request->quiet)
            fprintf(stderr, "verifying: %s with %s\n", explain_gpus_name(&set->points[i], what),
                    set->points[i].remedy.options);
        status = run_test(&test, request);
        if (status == STATUS_OK) {
            json_t *record = test_json(&test);
            status = results_write(request->writer, record);
            json_array_append_new(records, record);
        }
        test_release(&test);
    }
    *out = records;
    return status;
}

static bool is_confirmed(const json_t *record)
{
    return strcmp(text_at(record, "verdict"), "confirmed") == 0;
}

bool explain_verify_all_confirmed(const json_t *records)
{
    for (size_t i = 0; i < json_array_size(records); i++)
        if (!is_confirmed(json_array_get(records, i)))
            return false;
    return true;
}

void explain_verify_print(FILE *out, const json_t *records)
{
    fputs("\nverified, each in turns with the point as it is:\n", out);
    if (json_array_size(records) == 0)
        fputs("nothing: no point has a remedy\n", out);
    for (size_t i = 0; i < json_array_size(records); i++) {
        const json_t *record = json_array_get(records, i);
        const json_t *interval = json_object_get(record, "ci95_rel");
        char before[32], after[32], predicted[32], width[32] = "";
        fprintf(out, "%s, limited by %s, with %s: ", text_at(record, "what"),
                text_at(record, "ceiling"), text_at(record, "options"));
        if (!json_object_get(record, "gain")) {
            fprintf(out, "failed: %s\n", text_at(record, "error"));
            continue;
        }
        if (json_is_number(interval))
            snprintf(width, sizeof width, " ±%.1f%%", 100.0 * json_number_value(interval));
        double remedied = number_at(record, "remedied_ips");
        double off = 100.0 * (number_at(record, "predicted_ips") / remedied - 1.0);
        fprintf(out, "%s → %s/s, ×%.3g%s; predicted: %s/s, ×%.3g (%.0f%% %s than measured): %s\n",
                text_number(number_at(record, "baseline_ips"), before, sizeof before),
                text_number(remedied, after, sizeof after), number_at(record, "gain"), width,
                text_number(number_at(record, "predicted_ips"), predicted, sizeof predicted),
                number_at(record, "predicted_gain"), fabs(off), off < 0.0 ? "less" : "more",
                text_at(record, "verdict"));
    }
}
