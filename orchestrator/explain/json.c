#include <stdlib.h>

#include "explain/words.h"
#include "orchestrator/explain/point.h"
#include "orchestrator/explain/set.h"

struct named {
    enum ceiling_kind kind;
    double ips;
};

static int by_ips(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    if (left->ips != right->ips)
        return left->ips < right->ips ? -1 : 1;
    return (left->kind > right->kind) - (left->kind < right->kind);
}

static json_t *ceilings_json(const struct explanation *point)
{
    struct named named[CEILING_KINDS];
    size_t count = 0;
    json_t *array = json_array();
    for (int i = 0; i < CEILING_KINDS; i++)
        if (point->ceilings.ips[i] > 0.0)
            named[count++] = (struct named){(enum ceiling_kind)i, point->ceilings.ips[i]};
    qsort(named, count, sizeof named[0], by_ips);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            array, json_pack("{s:s, s:s, s:f, s:b}", "name", ceiling_name(named[i].kind), "title",
                             ceiling_title(named[i].kind, &point->point), "ips", named[i].ips,
                             "binding", named[i].kind == point->binding.kind));
    return array;
}

static json_t *name_or_null(enum ceiling_kind kind)
{
    return kind == CEILING_KINDS ? json_null() : json_string(ceiling_name(kind));
}

static json_t *remedy_json(const struct explanation *point)
{
    const struct remedy *remedy = &point->remedy;
    if (remedy->kind == REMEDY_NONE)
        return json_pack("{s:s, s:s}", "kind", remedy_name(remedy->kind), "advice", remedy->advice);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:o}", "kind",
        remedy_name(remedy->kind), "options", remedy->options, "advice", remedy->advice, "layout",
        layout_name(explain_layout(&remedy->point)), "processes", (int)remedy->point.processes,
        "threads", (int)remedy->point.threads, "connections", (int)remedy->point.connections,
        "predicted_ips", remedy->predicted_ips, "predicted_gain", remedy->gain, "gain",
        remedy->predicted_ips / point->measured_ips, "then", name_or_null(remedy->then));
    if (remedy->nearer)
        json_object_set_new(object, "lifts", json_false());
    if (ceiling_polls(&remedy->point))
        json_object_set_new(object, "streams", json_integer(remedy->point.streams));
    return object;
}

static json_t *point_json(const struct explanation *point)
{
    char reason[512];
    json_t *object = explain_point_json(point->record);
    json_object_set_new(object, "calibrated", json_boolean(point->calibrated));
    json_object_set_new(object, "predicted_ips", json_real(point->predicted.ips));
    if (point->predicted.half_rel > 0.0) {
        json_object_set_new(object, "predicted_rel", json_real(point->predicted.half_rel));
        json_object_set_new(object, "predicted_beyond", json_boolean(point->predicted.is_beyond));
    }
    if (point->calibrated && ceiling_may_do_either(&point->point, point->calibration))
        json_object_set_new(object, "turns_chance",
                            json_real(ceiling_turns_chance(&point->point, point->calibration)));
    json_object_set_new(object, "limited_by", name_or_null(point->binding.kind));
    json_object_set_new(object, "next", name_or_null(point->binding.next));
    if (point->binding.kind != CEILING_KINDS)
        json_object_set_new(
            object, "reached",
            json_real(point->measured_ips / point->ceilings.ips[point->binding.kind]));
    if (point->passed_ips > 0.0)
        json_object_set_new(object, "passed",
                            json_pack("{s:s, s:f, s:f}", "name", ceiling_name(point->passed), "ips",
                                      point->passed_ips, "reached",
                                      point->measured_ips / point->passed_ips));
    json_object_set_new(object, "waits_for", name_or_null(point->binding.waits_for));
    json_object_set_new(object, "lost_by_waiting", json_real(point->binding.lost));
    binding_reason(&point->binding, &point->ceilings, &point->point, point->calibration, reason,
                   sizeof reason);
    json_object_set_new(object, "reason", json_string(reason));
    json_object_set_new(object, "ceilings", ceilings_json(point));
    json_object_set_new(object, "remedy", remedy_json(point));
    explain_gpus_json(point, object);
    return object;
}

json_t *explain_to_json(const struct explain_set *set)
{
    json_t *array = json_array();
    for (size_t i = 0; i < set->count; i++)
        if (json_array_append_new(array, point_json(&set->points[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}
