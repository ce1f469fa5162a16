#include "orchestrator/results/point.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "job/options.h"
#include "orchestrator/results/rate.h"

/* No machine has more. */
#define GPUS_MOST 1024

unsigned point_gpus_of(const json_t *point)
{
    json_int_t gpus = integer_at(point, "gpus");
    return gpus >= 1 && gpus <= GPUS_MOST ? (unsigned)gpus : 1;
}

bool point_rate_is_searched(const json_t *point)
{
    const json_t *rate = json_object_get(point, "rate");
    return json_object_get(rate, "search") != NULL || json_object_get(rate, "goal") != NULL;
}

int point_layout(const json_t *point)
{
    const char *name = text_at(point, "layout");
    int i = 0;
    while (i < LAYOUT_KINDS && strcmp(layout_name((enum layout_kind)i), name) != 0)
        i++;
    return i;
}

const char *point_shape(const json_t *point, char text[POINT_SHAPE_BYTES])
{
    const json_int_t streams = integer_at(point, "streams");
    struct text out = {.at = text, .size = POINT_SHAPE_BYTES};
    text_append(&out, "%" JSON_INTEGER_FORMAT "×%" JSON_INTEGER_FORMAT,
                integer_at(point, "processes"), integer_at(point, "threads"));
    if (streams > 1)
        text_append(&out, "×%" JSON_INTEGER_FORMAT, streams);
    return text;
}

void point_name(const json_t *point, char text[POINT_TEXT_BYTES])
{
    char shape[POINT_SHAPE_BYTES];
    snprintf(text, POINT_TEXT_BYTES, "%.20s %s", text_at(point, "layout"),
             point_shape(point, shape));
}

/* Of a rate that was searched; a tune's looks leave it to the finals to narrow it. */
static bool is_narrowed(const json_t *point)
{
    const char *stage = text_at(json_object_get(point, "tune"), "stage");
    return !rate_is_least(json_object_get(point, "rate")) &&
           (!*stage || strcmp(stage, "final") == 0);
}

double point_half_rel(const json_t *point)
{
    double low, high;
    if (!rate_step(json_object_get(point, "rate"), &low, &high))
        return number_at(point, "ci95_rel");
    return is_narrowed(point) ? RATE_STEP : (double)NAN;
}

const char *point_half_width(const json_t *point, char text[POINT_HALF_BYTES])
{
    double half = point_half_rel(point);
    *text = '\0';
    if (isfinite(half) && strcmp(text_at(point, "status"), "unconverged") == 0)
        /* Up, or what misses the goal may read as the goal. */
        snprintf(text, POINT_HALF_BYTES, "%.1f%%", ceil(1e3 * half - 1e-9) / 10.0 + 0.0);
    else if (isfinite(half))
        snprintf(text, POINT_HALF_BYTES, "%.1f%%", 100.0 * half);
    return text;
}

/* From here on the factors down and up are no longer alike. */
#define WIDE_REL 0.2

const char *point_interval(const json_t *point, const json_t *winner,
                           char text[POINT_INTERVAL_BYTES])
{
    double half = number_at(point, "ci95_rel"), ips = number_at(point, "throughput_ips");
    double low = ips * exp(-half), high = ips * exp(half);
    char from[32], to[32], width[POINT_HALF_BYTES];
    bool searched = point_rate_is_searched(point);
    *text = '\0';
    point_half_width(point, width);
    if (*width && (searched || half <= WIDE_REL))
        snprintf(text, POINT_INTERVAL_BYTES, "±%s", width);
    if (!isfinite(half) || half <= WIDE_REL || searched)
        return text;
    /* Its value may be of another objective. */
    if (json_equal(json_object_get(winner, "point"), json_object_get(point, "id")) &&
        number_at(winner, "value") == number_at(winner, "throughput_ips") &&
        isfinite(number_in(winner, "ci95", 0)) && isfinite(number_in(winner, "ci95", 1))) {
        low = number_in(winner, "ci95", 0);
        high = number_in(winner, "ci95", 1);
    }
    snprintf(text, POINT_INTERVAL_BYTES, "%s to %s", text_number(low, from, sizeof from),
             text_number(high, to, sizeof to));
    return text;
}

double point_cpus_in_use(const json_t *point)
{
    const json_t *cpu = json_object_get(point, "cpu");
    double in_use = number_at(cpu, "in_use");
    return !isnan(in_use) ? in_use
                          : number_at(cpu, "on_cpu") * number_at(point, "processes") *
                                number_at(point, "threads") * point_gpus_of(point);
}

double point_failed_share(const json_t *point)
{
    const json_t *requests = json_object_get(point, "requests");
    double failed =
        (double)integer_at(requests, "errors") + (double)integer_at(requests, "wrong_answers");
    return failed > 0.0 ? failed / (failed + (double)integer_at(point, "iterations")) : 0.0;
}

const char *point_warning(const json_t *point, const char *kind)
{
    const json_t *warning;
    size_t index;
    json_array_foreach(json_object_get(point, "warnings"), index, warning)
    {
        if (strcmp(text_at(warning, "kind"), kind) == 0)
            return text_at(warning, "text");
    }
    return "";
}

const json_t *point_latency(const json_t *point)
{
    const json_t *all = json_object_get(json_object_get(point, "requests"), "latency_us");
    return all ? all : json_object_get(point, "latency_us");
}

double point_latency_us(const json_t *point, const char *percentile)
{
    double good_share = 1.0 - point_failed_share(point);
    if (1e3 * good_share < rate_permille(percentile) - 1e-9)
        return INFINITY;
    return number_at(point_latency(point), percentile);
}

double point_joules(const json_t *point)
{
    return number_at(json_object_get(point, "telemetry"), "joules_per_iteration");
}

const char *point_cpus_text(double cpus, char text[POINT_CPUS_BYTES])
{
    int decimals = cpus < 9.995 ? 2 : cpus < 99.95 ? 1 : 0;
    snprintf(text, POINT_CPUS_BYTES, "%.*f", decimals, cpus);
    return text;
}

bool point_status_is_measured(const char *status)
{
    return strcmp(status, "ok") == 0 || strcmp(status, "unconverged") == 0;
}

bool point_is_measured(const json_t *point)
{
    return point_status_is_measured(text_at(point, "status")) &&
           number_at(point, "throughput_ips") >= 0;
}

bool point_is_overloaded(const json_t *point)
{
    return json_is_true(json_object_get(json_object_get(point, "rate"), "saturated"));
}

bool point_is_closed(const json_t *point)
{
    return point_is_measured(point) && !json_is_object(json_object_get(point, "rate")) &&
           number_at(point, "throughput_ips") > 0;
}

/* An error behind the number of the process that it begins with: which one fails first is chance.
 */
static const char *reason_of(const char *error)
{
    static const char word[] = "process ";
    const char *number = error + sizeof word - 1;
    if (strncmp(error, word, sizeof word - 1) != 0)
        return error;
    return number + strspn(number, "0123456789");
}

bool point_fails_like(const json_t *point, const json_t *other)
{
    const char *error = text_at(point, "error");
    return other && *error && strcmp(reason_of(error), reason_of(text_at(other, "error"))) == 0;
}

const char *point_failure(const json_t *point, char text[POINT_FAILURE_TEXT])
{
    const char *status = text_at(point, "status"), *error = text_at(point, "error");
    bool more = *error && strcmp(error, status) != 0;
    snprintf(text, POINT_FAILURE_TEXT, "%s%s%s", status, more ? ": " : "", more ? error : "");
    return text;
}
