#include "orchestrator/results/rate.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "job/options.h"
#include "orchestrator/console/columns.h"

static void append_arrival(struct text *text, const json_t *rate)
{
    const char *arrival = json_string_value(json_object_get(rate, "arrival"));
    if (arrival && strcmp(arrival, option_table[OPTION_ARRIVAL].initial) != 0)
        text_append(text, " %s", arrival);
}

const char *rate_asked(const json_t *rate, char *out, size_t size)
{
    const json_t *goal = json_object_get(rate, "goal");
    const char *percentile = json_string_value(json_object_get(goal, "percentile"));
    char limit[32];
    struct text text = {.at = out, .size = size};
    double us = json_number_value(json_object_get(goal, "us"));
    if (percentile)
        text_append(&text, "%.8s under %s", percentile,
                    rate_time_text(us * 1e3, limit, sizeof limit));
    else
        text_append(&text, "%.10g/s", json_number_value(json_object_get(rate, "offered_ips")));
    append_arrival(&text, rate);
    return out;
}

const char *rate_cell(const json_t *point, char *out, size_t size)
{
    const json_t *rate = json_object_get(point, "rate");
    const json_t *offered = json_object_get(rate, "offered_ips");
    const json_t *goal = json_object_get(rate, "goal");
    const char *percentile = text_at(goal, "percentile");
    struct text text = {.at = out, .size = size};
    *out = '\0';
    if (json_is_number(offered))
        text_append(&text, "%s%.5g", rate_is_least(rate) ? "≥" : "", json_number_value(offered));
    else
        text_append(&text, "-");
    append_arrival(&text, rate);
    if (*percentile) {
        char limit[32];
        double us = json_number_value(json_object_get(goal, "us"));
        text_append(&text, " %s<%s", percentile, rate_time_text(us * 1e3, limit, sizeof limit));
    }
    return out;
}

bool rate_step(const json_t *rate, double *low, double *high)
{
    double found_ips = number_at(rate, "offered_ips");
    if (!json_is_object(json_object_get(rate, "goal")) || !(found_ips > 0.0))
        return false;
    *low = found_ips * (1.0 - RATE_STEP);
    *high = fmax(found_ips * (1.0 + RATE_STEP), number_at(rate, "failed_ips"));
    return true;
}

bool rate_is_least(const json_t *rate)
{
    double low, high;
    return rate_step(rate, &low, &high) &&
           number_at(rate, "offered_ips") <
               (1.0 - RATE_STEP) * number_at(rate, "failed_ips") - 1e-3;
}

const char *rate_step_text(const json_t *rate, double share, char out[RATE_STEP_BYTES])
{
    char from[32], to[32];
    double low, high;
    *out = '\0';
    if (rate_step(rate, &low, &high))
        snprintf(out, RATE_STEP_BYTES, "%s to %s, a step of the search",
                 text_number(share * low, from, sizeof from),
                 text_number(share * high, to, sizeof to));
    return out;
}

void rate_print_csv(FILE *out, const json_t *point)
{
    const json_t *rate = json_object_get(point, "rate");
    const json_t *offered = json_object_get(rate, "offered_ips");
    const json_t *goal = json_object_get(rate, "goal");
    const json_t *late = json_object_get(rate, "late_share");
    fputc(',', out);
    if (json_is_number(offered))
        fprintf(out, "%.10g", json_number_value(offered));
    csv_text(out, text_at(rate, "arrival"));
    csv_text(out, text_at(goal, "percentile"));
    csv_number(out, number_at(goal, "us"));
    if (!late) {
        fputs(",,,", out);
        return;
    }
    fprintf(out, ",%.4g,%.6g,%s", json_number_value(late),
            json_number_value(json_object_get(json_object_get(rate, "service_us"), "p99")),
            json_is_true(json_object_get(rate, "saturated")) ? "yes" : "no");
}
