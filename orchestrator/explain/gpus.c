/* Explains points of several GPUs beside their ceilings. */
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/explain/set.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/settings.h"

enum status explain_gpus_find(struct explain_set *set, const json_t *points)
{
    json_t *singles = scaling_singles(points);
    if (singles == NULL)
        return status_set(STATUS_MEMORY, "out of memory for the points of one GPU");
    for (size_t i = 0; i < set->count; i++) {
        struct explanation *point = &set->points[i];
        point->scales = scaling_find(singles, point->record, &point->scaling);
        point->is_split = imbalance_of(point->record, &point->imbalance);
        point->other_daemons = scaling_other_daemons(points, point->record);
    }
    json_decref(singles);
    return STATUS_OK;
}

/* By how much the other choice of daemons is better, beyond both intervals; 0: it is not. */
static double better_daemons(const struct explanation *point)
{
    const json_t *other = point->other_daemons;
    if (other == NULL)
        return 0.0;
    double gain = number_at(other, "throughput_ips") / point->measured_ips - 1.0;
    double unsure = hypot(number_at(other, "ci95_rel"), number_at(point->record, "ci95_rel"));
    return gain > unsure ? gain : 0.0;
}

static bool differ_much(const struct explanation *point)
{
    return point->is_split && imbalance_matters(&point->imbalance, point->record);
}

/* Whether what its GPUs share was measured, of as many as it has. */
static bool shares_are_known(const struct explanation *point)
{
    return point->calibration->all.gpus >= ceiling_gpus(&point->point);
}

const char *explain_gpus_name(const struct explanation *point, char out[EXPLAIN_NAME_TEXT])
{
    char name[POINT_TEXT_BYTES];
    struct text text = {.at = out, .size = EXPLAIN_NAME_TEXT};
    point_name(point->record, name);
    text_append(&text, "%s", name);
    if (ceiling_gpus(&point->point) < 2)
        return out;
    text_append(&text, " on %u GPUs", ceiling_gpus(&point->point));
    settings_figure_text(point->record, OPTION_MPS_DAEMONS, name);
    if (name[0] != '\0')
        text_append(&text, ", %s", name);
    return out;
}

static void describe(const struct explanation *point, struct text *out)
{
    char name[EXPLAIN_NAME_TEXT], text[64], apart[IMBALANCE_TEXT];
    text_append(out, "%s (point %" JSON_INTEGER_FORMAT "): ", explain_gpus_name(point, name),
                integer_at(point->record, "id"));
    if (point->scales)
        text_append(out, "%s of %u times its one GPU",
                    scaling_text(&point->scaling, text, sizeof text), point->scaling.gpus);
    else
        text_append(out, "no such point of one GPU to compare with");
    if (differ_much(point))
        text_append(out, "; %s", imbalance_text(&point->imbalance, false, apart));
    double gain = better_daemons(point);
    if (gain > 0.0)
        text_append(out, "; --mps-daemons %s was measured %.1f%% faster",
                    text_at(point->other_daemons, "mps_daemons"), 100.0 * gain);
}

void explain_gpus_print(FILE *out, const struct explain_set *set,
                        void (*print)(FILE *out, const char *text))
{
    bool begun = false, known = true;
    for (size_t i = 0; i < set->count; i++) {
        const struct explanation *point = &set->points[i];
        char line[512] = "";
        struct text text = {.at = line, .size = sizeof line};
        if (ceiling_gpus(&point->point) < 2)
            continue;
        if (!begun)
            fputs("\nseveral GPUs:\n", out);
        begun = true;
        known = known && shares_are_known(point);
        describe(point, &text);
        print(out, line);
    }
    if (!known)
        print(out,
              "what the GPUs share of this machine was not measured, so no ceiling here has it: "
              "'mpsweep sweep --calibrate' with the same --device measures it");
}

static json_t *imbalance_json(const struct explanation *point)
{
    static const char *const kinds[] = {
        [IMBALANCE_SPREAD] = "spread", [IMBALANCE_SLOW] = "slow", [IMBALANCE_FAST] = "fast"};
    const struct imbalance *imbalance = &point->imbalance;
    if (!differ_much(point))
        return json_null();
    const struct imbalance_gpu *odd = imbalance_odd(imbalance);
    json_t *object = json_pack("{s:s, s:f, s:i, s:i}", "kind", kinds[imbalance->kind], "relative",
                               imbalance->relative, "slowest", (int)imbalance->slowest.number,
                               "fastest", (int)imbalance->fastest.number);
    if (imbalance->kind == IMBALANCE_SPREAD)
        return object;
    json_object_set_new(object, "gpu", json_integer((json_int_t)odd->number));
    json_object_set_new(object, "uuid", json_string(odd->uuid));
    json_object_set_new(object, "of_the_others", json_real(imbalance->of_the_others));
    return object;
}

void explain_gpus_json(const struct explanation *point, json_t *object)
{
    double gain = better_daemons(point);
    if (ceiling_gpus(&point->point) < 2)
        return;
    json_t *scaling = json_null();
    if (point->scales)
        scaling = json_pack(
            "{s:I, s:f, s:f, s:o, s:o}", "base", integer_at(point->scaling.base, "id"), "base_ips",
            point->scaling.base_ips, "efficiency", point->scaling.efficiency, "low",
            isnan(point->scaling.low) ? json_null() : json_real(point->scaling.low), "high",
            isnan(point->scaling.high) ? json_null() : json_real(point->scaling.high));
    json_object_set_new(object, "scaling", scaling);
    json_object_set_new(object, "shares_measured", json_boolean(shares_are_known(point)));
    json_object_set_new(object, "imbalance", imbalance_json(point));
    json_object_set_new(object, "better_mps_daemons",
                        gain > 0.0 ? json_pack("{s:s, s:f}", "mps_daemons",
                                               text_at(point->other_daemons, "mps_daemons"), "gain",
                                               1.0 + gain)
                                   : json_null());
}
