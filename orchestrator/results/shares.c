#include "orchestrator/results/shares.h"

#include "job/options.h"

json_t *shares_json_at(const struct point_shares *shares, unsigned process)
{
    int64_t value = shares_at(shares, process);
    return value == OPTION_SHARE_DEFAULT ? json_null() : json_integer(value);
}

json_t *shares_json(const struct point_shares *shares, unsigned processes)
{
    if (shares->count == 0)
        return NULL;
    if (shares->count == 1)
        return shares_json_at(shares, 0);
    json_t *array = json_array();
    for (unsigned p = 0; p < processes; p++)
        json_array_append_new(array, shares_json_at(shares, p));
    return array;
}

const char *shares_json_text(const json_t *field, bool sizes, char *out, size_t size)
{
    int64_t values[LAYOUT_MOST_WORKERS];
    struct point_shares shares = {.values = values};
    *out = '\0';
    if (json_is_integer(field)) {
        values[shares.count++] = json_integer_value(field);
    } else {
        size_t index;
        const json_t *entry;
        json_array_foreach(field, index, entry)
        {
            if (shares.count == LAYOUT_MOST_WORKERS)
                break;
            values[shares.count++] =
                json_is_integer(entry) ? json_integer_value(entry) : OPTION_SHARE_DEFAULT;
        }
    }
    shares = shares_canonical(&shares, shares.count);
    return shares_text(&shares, sizes, out, size);
}
