#include "orchestrator/results/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/results/internal.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/rate.h"
#include "orchestrator/results/scaling.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/results/settings.h"

#define CELL 320      /* the longest list of shares */
#define CSV_CELL 1024 /* the longest list of sizes in bytes */

const char *table_setting_title(const struct option_row *row)
{
    return row->setting.title ? row->setting.title
           : row->setting.key ? row->setting.key
                              : row->name;
}

const char *table_setting_text(const json_t *point, const struct option_row *row, char *out,
                               size_t size)
{
    settings_text(point, row, true, out, size);
    if (!*out)
        snprintf(out, size, "-");
    return out;
}

static bool varies(const json_t *points, const struct option_row *row)
{
    char first[CSV_CELL], other[CSV_CELL];
    settings_text(json_array_get(points, 0), row, false, first, sizeof first);
    for (size_t i = 1; i < json_array_size(points); i++)
        if (strcmp(settings_text(json_array_get(points, i), row, false, other, sizeof other),
                   first) != 0)
            return true;
    return false;
}

static bool rates_vary(const json_t *points)
{
    char first[SETTINGS_FIGURE_BYTES], other[SETTINGS_FIGURE_BYTES];
    settings_figure_text(json_array_get(points, 0), OPTION_RATE, first);
    for (size_t i = 1; i < json_array_size(points); i++) {
        settings_figure_text(json_array_get(points, i), OPTION_RATE, other);
        if (strcmp(first, other) != 0)
            return true;
    }
    return false;
}

void table_settings_find(const json_t *points, struct table_settings *out)
{
    const size_t most = sizeof out->rows / sizeof *out->rows;
    out->count = 0;
    out->rates = rates_vary(points);
    for (const struct option_row *row = NULL; (row = settings_recorded(row));)
        if (out->count < most && varies(points, row))
            out->rows[out->count++] = row;
}

/* "4 queues", as the column is named; "" for the usual value, or where the layout shows it. */
static const char *label_part(const json_t *point, const struct option_row *row,
                              char out[SETTINGS_FIGURE_BYTES])
{
    const struct setting *setting = &row->setting;
    char value[CSV_CELL];
    settings_text(point, row, true, value, sizeof value);
    bool queues = setting->type == SETTING_QUEUES;
    bool usual = queues ? settings_number(point, row) == 0
                        : !setting->labelled && row->initial && strcmp(row->initial, value) == 0;
    settings_figure_text(point, row->id, out);
    if (usual || (setting->label && !*setting->label))
        *out = '\0';
    else if (*out && queues)
        snprintf(out, SETTINGS_FIGURE_BYTES, "%" PRId64 " queue%s", settings_number(point, row),
                 settings_number(point, row) == 1 ? "" : "s");
    return out;
}

const char *table_label(const json_t *point, const struct table_settings *varying,
                        char out[TABLE_LABEL])
{
    struct text text = {.at = out, .size = TABLE_LABEL};
    char name[POINT_TEXT_BYTES], part[SETTINGS_FIGURE_BYTES];
    point_name(point, name);
    text_append(&text, "%s", name);
    for (size_t i = 0; i < varying->count; i++)
        if (*label_part(point, varying->rows[i], part))
            text_append(&text, ", %s", part);
    if (varying->rates)
        settings_figure_text(point, OPTION_RATE, part);
    if (varying->rates && *part)
        text_append(&text, ", %s", part);
    return out;
}

void table_settings_add(struct columns *table, const struct table_settings *settings,
                        const json_t *points)
{
    for (size_t i = 0; i < settings->count; i++) {
        char key[SETTING_KEY_BYTES];
        const struct option_row *row = settings->rows[i];
        const json_t *value = json_object_get(json_array_get(points, 0), setting_key(row, key));
        columns_add(table, table_setting_title(row),
                    json_is_string(value) ? COLUMNS_LEFT : COLUMNS_RIGHT);
    }
}

static bool any_has(const json_t *points, const char *key)
{
    for (size_t i = 0; i < json_array_size(points); i++)
        if (json_object_get(json_array_get(points, i), key))
            return true;
    return false;
}

/* The settings that CSV has no column of, a bit each: those of several GPUs, and sparse ones, where
 * no point has them. */
static uint64_t find_lacked(const json_t *points)
{
    uint64_t lacked = 0;
    bool gpus = any_has(points, "gpus");
    for (const struct option_row *row = NULL; (row = settings_recorded(row));) {
        char key[SETTING_KEY_BYTES];
        bool alone = (row->setting.recorded | row->setting.where) & PLACE_GPUS && !gpus;
        if (alone || (row->setting.sparse && !any_has(points, setting_key(row, key))))
            lacked |= UINT64_C(1) << row->id;
    }
    return lacked;
}

static bool has_column(const struct option_row *row, uint64_t lacked)
{
    return !(lacked >> row->id & 1);
}

const char *table_shape_title(const json_t *points)
{
    return any_has(points, "streams") ? "P×T×S" : "P×T";
}

/* Whether the number of any point is known. */
static bool any_number(const json_t *points, double (*number_of_point)(const json_t *point))
{
    for (size_t i = 0; i < json_array_size(points); i++)
        if (!isnan(number_of_point(json_array_get(points, i))))
            return true;
    return false;
}

/* The columns that a table has beside layout, P×T and numbers. */
struct shown {
    struct table_settings settings;
    bool rate, cpus, fixed, joules;
    json_t *singles; /* points of one GPU, where others have several; or NULL */
};

static void add_columns(struct columns *table, const struct shown *shown, const json_t *points)
{
    static const char *const numbers[] = {"iterations/s", "95%", "p50 ms", "p99 ms"};
    columns_add(table, "layout", COLUMNS_LEFT);
    columns_add(table, table_shape_title(points), COLUMNS_RIGHT);
    table_settings_add(table, &shown->settings, points);
    if (shown->rate)
        columns_add(table, "offered/s", COLUMNS_RIGHT);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        columns_add(table, numbers[i], COLUMNS_RIGHT);
    if (shown->cpus)
        columns_add(table, "CPUs", COLUMNS_RIGHT);
    columns_add(table, "fair", COLUMNS_RIGHT);
    if (shown->fixed)
        columns_add(table, "fixed work/s", COLUMNS_RIGHT);
    if (shown->joules)
        columns_add(table, "J/iter", COLUMNS_RIGHT);
    if (shown->singles)
        columns_add(table, "scaling", COLUMNS_RIGHT);
}

static void add_number(struct columns *table, double value)
{
    char text[32];
    columns_cell(table, "%s", text_number(value, text, sizeof text));
}

static void add_cpus(struct columns *table, double cpus)
{
    char text[POINT_CPUS_BYTES];
    columns_cell(table, "%s", isnan(cpus) ? "-" : point_cpus_text(cpus, text));
}

/* Throughput, interval, latencies, CPUs and fairness of one point. */
static void add_numbers(struct columns *table, const struct shown *shown, const json_t *point)
{
    const json_t *latency = json_object_get(point, "latency_us");
    char half[POINT_HALF_BYTES];
    if (!latency) {
        for (int i = 0; i < 5 + shown->cpus + shown->fixed; i++)
            columns_cell(table, "-");
        return;
    }
    add_number(table, number_at(point, "throughput_ips"));
    if (*point_half_width(point, half))
        columns_cell(table, "±%s", half);
    else
        columns_cell(table, point_rate_is_searched(point) ? "-" : "?");
    add_number(table, number_at(latency, "p50") / 1e3);
    add_number(table, number_at(latency, "p99") / 1e3);
    if (shown->cpus)
        add_cpus(table, point_cpus_in_use(point));
    columns_cell(table, "%.2f", number_at(point, "fairness_jain"));
    if (shown->fixed)
        add_number(table, number_at(json_object_get(point, "fixed"), "throughput_ips"));
}

/* before: of the row above, or NULL. Its long reason is not repeated. */
static void add_row(struct columns *table, const struct shown *shown, const json_t *point,
                    const json_t *before)
{
    char text[CELL], shape[POINT_SHAPE_BYTES], remark[TABLE_REMARK];
    struct scaling scaling;
    columns_cell(table, "%s", text_at(point, "layout"));
    columns_cell(table, "%s", point_shape(point, shape));
    for (size_t i = 0; i < shown->settings.count; i++)
        columns_cell(table, "%s",
                     table_setting_text(point, shown->settings.rows[i], text, sizeof text));
    if (shown->rate)
        columns_cell(table, "%s", rate_cell(point, text, sizeof text));
    add_numbers(table, shown, point);
    if (shown->joules && isnan(point_joules(point)))
        columns_cell(table, "-");
    else if (shown->joules)
        columns_cell(table, "%.3g", point_joules(point));
    if (shown->singles)
        columns_cell(table, "%s",
                     scaling_text(scaling_find(shown->singles, point, &scaling) ? &scaling : NULL,
                                  text, sizeof text));
    if (point_fails_like(point, before))
        columns_end_row_with(table, "%s: as above", text_at(point, "status"));
    else
        columns_end_row_with(table, "%s", table_remark(point, remark));
}

static bool is_among(const struct table_settings *settings, const struct option_row *row)
{
    for (size_t i = 0; i < settings->count; i++)
        if (settings->rows[i] == row)
            return true;
    return false;
}

/* Whether a point may be bound so: a tune has the CPUs of all that it might have looked at. */
static bool any_is_bound(const json_t *points, const char *policy)
{
    size_t index;
    const json_t *point;
    json_array_foreach(points, index, point)
    {
        const char *bind = text_at(point, "bind");
        if (!*bind || strcmp(bind, policy) == 0)
            return true;
    }
    return false;
}

void table_print_heading(FILE *out, json_t *header, const json_t *points)
{
    struct table_settings varying;
    table_settings_find(points, &varying);
    const json_t *gpu = json_object_get(header, "gpu");
    origin_print_emulated(out, header);
    fprintf(out, "%s, driver CUDA %s, %s\n", text_at(gpu, "name"), text_at(header, "driver"),
            text_at(header, "topology"));
    char remark[ORIGIN_REMARK], machines[ORIGIN_MACHINES];
    if (*origin_machines(header, machines))
        fprintf(out, "%s\n", machines);
    if (*origin_remark(header, remark))
        fprintf(out, "%s\n", remark);
    const char *policy;
    const json_t *binding;
    json_object_foreach(json_object_get(header, "binding"), policy, binding)
    {
        if (any_is_bound(points, policy))
            fprintf(out, "binding %s: %s\n", policy, json_string_value(binding));
    }
    bool begun = false;
    const json_t *first = json_array_get(points, 0);
    for (const struct option_row *row = NULL; (row = settings_recorded(row));) {
        char value[CELL], key[SETTING_KEY_BYTES], phrase[2 * CELL] = "";
        if (is_among(&varying, row) || !json_object_get(first, setting_key(row, key)))
            continue;
        table_setting_text(first, row, value, sizeof value);
        /* What a built-in one does follows in numbers. */
        if (strcmp(value, "builtin") == 0 || strcmp(value, "delay") == 0)
            continue;
        const struct setting *setting = &row->setting;
        const char *form = setting->heading  ? setting->heading
                           : setting->figure ? setting->figure
                                             : setting->label;
        struct text text = {.at = phrase, .size = sizeof phrase};
        setting_form_append(row, form, value, &text);
        bool follows = *phrase == ' ';
        fprintf(out, "%s%s", begun && !follows ? ", " : "", phrase + (!begun && follows));
        begun = true;
    }
    fputs(begun ? "\n\n" : "\n", out);
}

const char *table_unfinished(const struct results *results, char out[TABLE_UNFINISHED])
{
    size_t points = json_array_size(results->points), missing = results_missing_points(results);
    size_t lacking = results_lacking_points(results), all = points + missing;
    *out = '\0';
    if (results_are_of_cut_tune(results))
        snprintf(out, TABLE_UNFINISHED,
                 "NOT FINISHED: %zu layout%s, not compared in finals; 'mpsweep tune --resume' goes "
                 "on",
                 points, points == 1 ? "" : "s");
    else if (missing + lacking > 0)
        snprintf(out, TABLE_UNFINISHED,
                 "NOT FINISHED: %zu of %zu point%s; 'mpsweep sweep --resume' measures the rest",
                 points - lacking, all, all == 1 ? "" : "s");
    return out;
}

void table_print(FILE *out, json_t *header, const json_t *points)
{
    struct columns table = {0};
    struct shown shown = {.rate = any_has(points, "rate"),
                          .fixed = any_has(points, "fixed"),
                          .cpus = any_number(points, point_cpus_in_use),
                          .joules = any_number(points, point_joules)};
    if (json_array_size(points) == 0)
        return;
    table_settings_find(points, &shown.settings);
    if (any_has(points, "gpus"))
        shown.singles = scaling_singles(points);
    add_columns(&table, &shown, points);
    for (size_t i = 0; i < json_array_size(points); i++)
        add_row(&table, &shown, json_array_get(points, i),
                i > 0 ? json_array_get(points, i - 1) : NULL);
    table_print_heading(out, header, points);
    columns_print(out, &table, 0);
    table_print_rounds(out, points);
    table_print_searched(out, points);
    table_print_gpus(out, points);
    table_print_first_bytes(out, points);
    table_print_observed(out, points);
    table_print_mixes(out, points);
    table_print_warnings(out, points);
    json_decref(shown.singles);
}

/* A further field with four digits; empty for a value that is not finite. */
static void csv_share(FILE *out, double value)
{
    char text[32] = "";
    if (isfinite(value))
        snprintf(text, sizeof text, "%.4g", value);
    csv_text(out, text);
}

/* Fields that a point may lack, and a file all of. */
struct csv_fields {
    uint64_t lacked; /* settings */
    bool fixed, requests;
};

/* A further field with a whole number; empty without it. */
static void csv_count(FILE *out, const json_t *value)
{
    fputc(',', out);
    if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

static void print_csv_point(FILE *out, const json_t *point, const struct csv_fields *fields,
                            bool emulated)
{
    static const char *const percentiles[] = {"p50", "p90", "p99", "mean"};
    const json_t *latency = json_object_get(point, "latency_us");
    const json_t *telemetry = json_object_get(point, "telemetry");
    csv_begin(out, text_at(point, "layout"));
    fprintf(out, ",%lld,%lld,%lld", (long long)integer_at(point, "processes"),
            (long long)integer_at(point, "threads"), (long long)integer_at(point, "workers"));
    for (const struct option_row *row = NULL; (row = settings_recorded(row));) {
        char value[CSV_CELL];
        if (has_column(row, fields->lacked))
            csv_text(out, settings_text(point, row, false, value, sizeof value));
    }
    rate_print_csv(out, point);
    csv_text(out, text_at(point, "status"));
    csv_number(out, latency ? number_at(point, "throughput_ips") : NAN);
    csv_share(out, latency ? point_half_rel(point) : NAN);
    for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++)
        csv_number(out, number_at(latency, percentiles[i]));
    csv_share(out, latency ? number_at(point, "fairness_jain") : NAN);
    csv_share(out, point_cpus_in_use(point));
    if (fields->fixed)
        csv_number(out, number_at(json_object_get(point, "fixed"), "throughput_ips"));
    if (fields->requests) {
        const json_t *requests = json_object_get(point, "requests");
        csv_count(out, json_object_get(requests, "errors"));
        csv_count(out, json_object_get(requests, "wrong_answers"));
    }
    csv_number(out, point_joules(point));
    csv_number(out, number_at(json_object_get(telemetry, "power_w"), "mean"));
    csv_number(out, number_at(json_object_get(telemetry, "sm_clock_mhz"), "mean"));
    /* A list of what is planned has no header. */
    csv_text(out, emulated || json_is_true(json_object_get(point, "emulated")) ? "yes" : "no");
    csv_text(out, text_at(point, "error"));
    fprintf(out, ",%lld", (long long)integer_at(point, "id"));
    fputc('\n', out);
}

void table_print_csv(FILE *out, const json_t *header, const json_t *points)
{
    bool emulated = origin_is_emulated(header);
    const struct csv_fields fields = {.lacked = find_lacked(points),
                                      .fixed = any_has(points, "fixed"),
                                      .requests = any_has(points, "requests")};
    char key[SETTING_KEY_BYTES];
    fputs("layout,processes,threads,workers", out);
    for (const struct option_row *row = NULL; (row = settings_recorded(row));)
        if (has_column(row, fields.lacked))
            fprintf(out, ",%s", setting_key(row, key));
    fputs(",offered_ips,arrival,goal_percentile,goal_us,late_share,service_p99_us,saturated", out);
    fputs(",status,throughput_ips,ci95_rel,p50_us,p90_us,p99_us,mean_us,fairness_jain,cpus_in_use",
          out);
    if (fields.fixed)
        fputs(",fixed_throughput_ips", out);
    if (fields.requests)
        fputs(",errors,wrong_answers", out);
    fputs(",joules_per_iteration,power_w,sm_clock_mhz,emulated,error,id\n", out);
    for (size_t i = 0; i < json_array_size(points); i++)
        print_csv_point(out, json_array_get(points, i), &fields, emulated);
}

static void dump(FILE *out, const json_t *record)
{
    if (!record)
        return;
    json_dumpf(record, out, JSON_COMPACT | JSON_REAL_PRECISION(10));
    fputc('\n', out);
}

void table_print_json(FILE *out, const json_t *header, const json_t *calibrations,
                      const json_t *points, const json_t *tuning, const json_t *footer)
{
    dump(out, header);
    for (size_t i = 0; i < json_array_size(calibrations); i++)
        dump(out, json_array_get(calibrations, i));
    for (size_t i = 0; i < json_array_size(points); i++)
        dump(out, json_array_get(points, i));
    dump(out, tuning);
    dump(out, footer);
}

bool table_print_planned(FILE *out, const char *format, json_t *plan, json_t *planned)
{
    bool csv = strcmp(format, "csv") == 0, json = strcmp(format, "json") == 0;
    if (csv)
        table_print_csv(out, plan, planned);
    else if (json)
        table_print_json(out, plan, NULL, planned, NULL, NULL);
    json_decref(plan);
    json_decref(planned);
    return csv || json;
}
