#include "orchestrator/results/point_key.h"

/* What a field says about the setting; the rest of it is result. */
static json_t *setting_value(const json_t *point, enum point_setting setting)
{
    json_t *value = json_object_get(point, point_setting_field(setting));
    if (setting == POINT_CONNECTIONS && json_is_true(json_object_get(point, "connections_default")))
        return json_string("default");
    if (setting == POINT_RATE && json_is_object(value)) {
        json_t *kept = json_object();
        json_object_set(kept, "arrival", json_object_get(value, "arrival"));
        if (point_rate_is_searched(point))
            json_object_set(kept, "goal", json_object_get(value, "goal"));
        else
            json_object_set_new(
                kept, "offered_ips",
                json_real(json_number_value(json_object_get(value, "offered_ips"))));
        return kept;
    }
    /* One GPU is one, said or not. */
    if (setting == POINT_GPUS)
        return json_integer(point_gpus_of(point));
    /* Files of before there was a choice for each point do not say it. */
    if (setting == POINT_WORKLOAD && value == NULL)
        return json_string(json_object_get(point, "delay_cycles") != NULL ? "delay" : "builtin");
    return json_incref(value);
}

char *point_key(const json_t *point, unsigned ignored)
{
    static const char *const plain[] = {"layout", "mps", "processes", "threads"};
    json_t *settings = json_array();
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        json_t *value = json_object_get(point, plain[i]);
        json_array_append_new(settings, value != NULL ? json_incref(value) : json_null());
    }
    for (int s = 0; s < POINT_SETTINGS; s++) {
        json_t *value =
            ignored & 1u << s ? json_null() : setting_value(point, (enum point_setting)s);
        json_array_append_new(settings, value != NULL ? value : json_null());
    }
    char *key = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(settings);
    return key;
}
