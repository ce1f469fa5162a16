/*
 * A gauge for each number of a point, with its settings as labels: those of a layout, and those in
 * which the points of the file differ.
 */
#include <math.h>
#include <time.h>

#include "common/json.h"
#include "orchestrator/console/metrics.h"
#include "orchestrator/export/export.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/settings.h"
#include "orchestrator/results/table.h"

#define LABELS_MOST 72
#define LABEL_BYTES 256

/* Which point a value is of. */
struct labels {
    struct metrics_label at[LABELS_MOST];
    char texts[LABELS_MOST][LABEL_BYTES], keys[LABELS_MOST][SETTING_KEY_BYTES];
    size_t count;
};

static char *add(struct labels *labels, const char *name)
{
    char *text = labels->texts[labels->count];
    labels->at[labels->count++] = (struct metrics_label){name, text};
    return text;
}

static void find_labels(const json_t *point, const struct table_settings *settings,
                        struct labels *out)
{
    out->count = 0;
    snprintf(add(out, "point"), LABEL_BYTES, "%" JSON_INTEGER_FORMAT, integer_at(point, "id"));
    snprintf(add(out, "layout"), LABEL_BYTES, "%s", text_at(point, "layout"));
    point_shape(point, add(out, "shape"));
    settings_figure_text(point, OPTION_RATE, add(out, "rate"));
    if (!*out->texts[out->count - 1])
        out->count--;
    for (size_t i = 0; i < settings->count; i++) {
        const char *key = setting_key(settings->rows[i], out->keys[out->count]);
        settings_text(point, settings->rows[i], false, add(out, key), LABEL_BYTES);
    }
}

/* A family with one value for each point. */
static void print_points(FILE *out, const struct results *results,
                         const struct table_settings *settings, const char *name, const char *help,
                         double (*value_of)(const json_t *point))
{
    static struct labels labels;
    size_t index;
    const json_t *point;
    metrics_family(out, name, help);
    json_array_foreach(results->points, index, point)
    {
        find_labels(point, settings, &labels);
        metrics_value(out, name, labels.at, labels.count, value_of(point));
    }
}

static double measured(const json_t *point)
{
    return point_is_measured(point);
}

static double throughput(const json_t *point)
{
    return point_is_measured(point) ? number_at(point, "throughput_ips") : (double)NAN;
}

static double half_width(const json_t *point)
{
    return point_is_measured(point) ? point_half_rel(point) : (double)NAN;
}

static void print_latency(FILE *out, const struct results *results,
                          const struct table_settings *settings)
{
    static const char name[] = "mpsweep_point_latency_seconds";
    static const struct {
        const char *field, *quantile;
    } quantiles[] = {{"p50", "0.5"}, {"p90", "0.9"}, {"p99", "0.99"}, {"p999", "0.999"}};
    static struct labels labels;
    size_t index;
    const json_t *point;
    metrics_family(out, name, "Percentiles of the latency of an iteration.");
    json_array_foreach(results->points, index, point)
    {
        const json_t *latency = json_object_get(point, "latency_us");
        find_labels(point, settings, &labels);
        for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
            labels.at[labels.count] = (struct metrics_label){"quantile", quantiles[i].quantile};
            if (point_is_measured(point))
                metrics_value(out, name, labels.at, labels.count + 1,
                              number_at(latency, quantiles[i].field) / 1e6);
        }
    }
}

static double errors(const json_t *point)
{
    return number_at(json_object_get(point, "requests"), "errors");
}

static double wrong_answers(const json_t *point)
{
    return number_at(json_object_get(point, "requests"), "wrong_answers");
}

static bool any_is_of_server(const json_t *points)
{
    size_t index;
    const json_t *point;
    json_array_foreach(points, index, point)
    {
        if (json_object_get(point, "requests"))
            return true;
    }
    return false;
}

static void print_run(FILE *out, const json_t *header)
{
    const json_t *gpu = json_object_get(header, "gpu");
    char hosts[ORIGIN_LIST], uuids[ORIGIN_LIST];
    origin_hosts(header, hosts);
    origin_uuids(header, uuids);
    const struct metrics_label labels[] = {
        {"host", hosts},
        {"gpu", text_at(gpu, "name")},
        {"uuid", uuids},
        {"driver", text_at(header, "driver")},
        {"mpsweep", text_at(header, "mpsweep")},
        {"emulated", origin_is_emulated(header) ? "1" : "0"},
    };
    struct tm started = {0};
    metrics_family(out, "mpsweep_run", "The machine of the run.");
    metrics_value(out, "mpsweep_run", labels, sizeof labels / sizeof *labels, 1);
    metrics_family(out, "mpsweep_run_started_timestamp_seconds", "When the run began.");
    metrics_value(out, "mpsweep_run_started_timestamp_seconds", NULL, 0,
                  strptime(text_at(header, "started"), "%Y-%m-%dT%H:%M:%SZ", &started)
                      ? (double)timegm(&started)
                      : (double)NAN);
}

void export_print_openmetrics(FILE *out, const struct results *results)
{
    struct table_settings settings;
    table_settings_find(results->points, &settings);
    print_run(out, results->header);
    print_points(out, results, &settings, "mpsweep_point_measured",
                 "1 if the point has a number, 0 if it failed or is infeasible.", measured);
    print_points(out, results, &settings, "mpsweep_point_iterations_per_second", "Throughput.",
                 throughput);
    print_points(
        out, results, &settings, "mpsweep_point_half_width_ratio",
        "Half the 95% interval of the throughput, as a share of it; of a searched rate, a step "
        "of the search.",
        half_width);
    print_latency(out, results, &settings);
    if (any_is_of_server(results->points)) {
        print_points(out, results, &settings, "mpsweep_point_errors",
                     "Requests to a server that had no answer, beside the iterations.", errors);
        print_points(out, results, &settings, "mpsweep_point_wrong_answers",
                     "Requests to a server that had a wrong answer, beside the iterations.",
                     wrong_answers);
    }
    metrics_end(out);
}
