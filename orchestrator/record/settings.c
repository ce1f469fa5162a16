#include "orchestrator/plan/settings.h"
#include "orchestrator/results/shares.h"
#include "orchestrator/record/internal.h"

static json_t *value_of(const struct option_row *row, const struct point *point)
{
    switch (row->setting.type) {
    case SETTING_SHARES:
        return shares_json(setting_shares(row, point), setting_entries(row, point));
    case SETTING_CHOICE:
        return json_string(setting_word(row->id, point));
    case SETTING_QUEUES:
        return json_integer((json_int_t)point_connections(point));
    case SETTING_WORKLOAD:
        return record_text(point_workload(point));
    case SETTING_TEXT:
        return record_text(setting_string(row, point));
    default:
        return json_integer((json_int_t)setting_number(row, point));
    }
}

void record_add_settings(json_t *record, const struct point *point)
{
    char key[SETTING_KEY_BYTES], mark[SETTING_KEY_BYTES + sizeof "_default"];
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        if (!setting_is_recorded(row, point))
            continue;
        json_object_set_new(record, setting_key(row, key), value_of(row, point));
        if (row->setting.type != SETTING_QUEUES)
            continue;
        snprintf(mark, sizeof mark, "%s_default", key);
        json_object_set_new(record, mark, json_boolean(setting_number(row, point) == 0));
    }
}
