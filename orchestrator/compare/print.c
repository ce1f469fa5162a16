#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/compare/comparison.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/point.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/results/settings.h"
#include "orchestrator/results/table.h"

#define CELL 256
#define LISTED_MAX 8

/* With digits for differences of a hundredth of a percent, where that makes sense. */
static const char *ratio_text(double ratio, char *text, size_t size)
{
    snprintf(text, size, ratio >= 0.1 && ratio < 10 ? "%.4f" : "%.4g", ratio);
    return text;
}

static void ratio_cell(struct columns *table, double ratio, bool known)
{
    char text[32];
    columns_cell(table, "%s", known ? ratio_text(ratio, text, sizeof text) : "-");
}

static void interval_cell(struct columns *table, const struct effect *effect, bool known,
                          bool has_interval)
{
    char low[32], high[32];
    if (known && has_interval)
        columns_cell(table, "%s to %s", ratio_text(effect_low(effect), low, sizeof low),
                     ratio_text(effect_high(effect), high, sizeof high));
    else
        columns_cell(table, known ? "?" : "-");
}

/* Which columns there are besides those that always are. */
struct shown {
    bool settings, p99, p99_interval, cpus, energy;
};

static void add_row(struct columns *table, const struct comparison *comparison,
                    const struct compare_row *row, const struct shown *shown)
{
    char text[CELL], shape[POINT_SHAPE_BYTES];
    bool any = row->base_measured || row->change_measured;
    columns_cell(table, "%.60s", text_at(row->base, "layout"));
    columns_cell(table, "%s", point_shape(row->base, shape));
    if (shown->settings) {
        comparison_settings(comparison, row->base, text, sizeof text);
        columns_cell(table, "%s", text);
    }
    columns_cell(table, "%s",
                 row->base_measured
                     ? text_number(number_at(row->base, "throughput_ips"), text, sizeof text)
                     : "-");
    columns_cell(table, "%s",
                 row->change_measured
                     ? text_number(number_at(row->change, "throughput_ips"), text, sizeof text)
                     : "-");
    ratio_cell(table, effect_ratio(&row->throughput), row->has_throughput);
    interval_cell(table, &row->throughput, row->has_throughput,
                  isfinite(row->throughput.below) && isfinite(row->throughput.above));
    columns_cell(table, "%s", any ? effect_verdict_name(row->verdict) : "-");
    if (shown->p99)
        ratio_cell(table, effect_ratio(&row->p99), row->has_p99);
    if (shown->p99_interval) {
        interval_cell(table, &row->p99, row->has_p99, row->p99_has_interval);
        columns_cell(table, "%s",
                     row->p99_has_interval ? effect_verdict_name(row->p99_verdict) : "-");
    }
    if (shown->cpus)
        ratio_cell(table, row->cpus_ratio, isfinite(row->cpus_ratio));
    if (shown->energy)
        ratio_cell(table, row->energy_ratio, isfinite(row->energy_ratio));
    comparison_remark(row, text, sizeof text);
    columns_end_row_with(table, "%s", text);
}

static void print_rows(FILE *out, const struct comparison *comparison)
{
    char settings[CELL];
    struct shown shown = {0};
    struct columns table = {0};
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compare_row *row = &comparison->rows[i];
        comparison_settings(comparison, row->base, settings, sizeof settings);
        shown.settings |= *settings != '\0';
        shown.p99 |= row->has_p99;
        shown.p99_interval |= row->p99_has_interval;
        shown.cpus |= isfinite(row->cpus_ratio);
        shown.energy |= isfinite(row->energy_ratio);
    }
    const struct {
        const char *title;
        enum columns_side side;
        bool shown;
    } titles[] = {
        {"layout", COLUMNS_LEFT, true},
        {table_shape_title(comparison->base.points), COLUMNS_RIGHT, true},
        {"settings", COLUMNS_LEFT, shown.settings},
        {"BASE/s", COLUMNS_RIGHT, true},
        {"NEW/s", COLUMNS_RIGHT, true},
        {"ratio", COLUMNS_RIGHT, true},
        {"95%", COLUMNS_LEFT, true},
        {"verdict", COLUMNS_LEFT, true},
        {"p99 ratio", COLUMNS_RIGHT, shown.p99},
        {"95%", COLUMNS_LEFT, shown.p99_interval},
        {"of p99", COLUMNS_LEFT, shown.p99_interval},
        {"CPUs ratio", COLUMNS_RIGHT, shown.cpus},
        {"J/iter ratio", COLUMNS_RIGHT, shown.energy},
    };
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (titles[i].shown)
            columns_add(&table, titles[i].title, titles[i].side);
    for (size_t i = 0; i < comparison->count; i++)
        add_row(&table, comparison, &comparison->rows[i], &shown);
    columns_print(out, &table, 0);
}

static void print_file(FILE *out, const char *label, const char *path, const struct results *file)
{
    char unfinished[TABLE_UNFINISHED], hosts[ORIGIN_LIST];
    fprintf(out, "%-4s  %s: %s, driver CUDA %s, host%s %s, %s%s\n", label, path,
            text_at(json_object_get(file->header, "gpu"), "name"), text_at(file->header, "driver"),
            origin_hosts(file->header, hosts) > 1 ? "s" : "", hosts,
            text_at(file->header, "started"),
            *table_unfinished(file, unfinished) || !file->footer ? ", NOT FINISHED" : "");
}

static void print_only(FILE *out, const struct comparison *comparison, const char *label,
                       const json_t *points)
{
    size_t index;
    const json_t *point;
    if (json_array_size(points) == 0)
        return;
    fprintf(out, "only in %s:", label);
    json_array_foreach(points, index, point)
    {
        char name[POINT_TEXT_BYTES], settings[CELL];
        if (index == LISTED_MAX) {
            fprintf(out, "; and %zu more", json_array_size(points) - index);
            break;
        }
        point_name(point, name);
        comparison_settings(comparison, point, settings, sizeof settings);
        fprintf(out, "%s %s%s%s", index > 0 ? ";" : "", name, settings[0] != '\0' ? ", " : "",
                settings);
    }
    fputc('\n', out);
}

static void print_differences(FILE *out, const struct comparison *comparison)
{
    size_t index;
    const json_t *line;
    json_array_foreach(comparison->differences, index, line)
    {
        fprintf(out, "%s\n", json_string_value(line));
    }
}

void comparison_print_table(FILE *out, const struct comparison *comparison)
{
    origin_print_emulated(out, comparison->base.header);
    print_file(out, "BASE", comparison->base_path, &comparison->base);
    print_file(out, "NEW", comparison->change_path, &comparison->change);
    print_differences(out, comparison);
    fputs(
        "ratio: NEW / BASE, of iterations/s and others, with its 95% interval; the verdict is that "
        "of iterations/s,\nand at a fixed rate of p99, too\n\n",
        out);
    print_rows(out, comparison);
    fputc('\n', out);
    print_only(out, comparison, "BASE", comparison->match.only_base);
    print_only(out, comparison, "NEW", comparison->match.only_change);
    if (comparison->match.repeated > 0)
        fprintf(out,
                "%zu point%s the settings of others of their file: paired by section and order\n",
                comparison->match.repeated, comparison->match.repeated == 1 ? " has" : "s have");
    if (comparison->alone > 0)
        fprintf(out,
                "%zu unsure beyond ±%g%% by itself, but not among %zu point%s (--adjust none)\n",
                comparison->alone, comparison->threshold * 100, comparison->count,
                comparison->count == 1 ? "" : "s");
    comparison_print_next(out, comparison);
    char *summary = comparison_summary(comparison);
    fprintf(out, "%s\n", summary != NULL ? summary : "out of memory for the summary");
    free(summary);
}

static void print_csv_effect(FILE *out, const struct effect *effect, bool known)
{
    bool ends = known && isfinite(effect->below) && isfinite(effect->above);
    csv_number(out, known ? effect_ratio(effect) : NAN);
    csv_number(out, ends ? effect_low(effect) : NAN);
    csv_number(out, ends ? effect_high(effect) : NAN);
}

void comparison_print_csv(FILE *out, const struct comparison *comparison)
{
    char key[SETTING_KEY_BYTES];
    fputs("layout,processes,threads", out);
    for (int s = 0; s < SETTINGS_IDS; s++)
        if (settings_is_shown((enum option_id)s))
            fprintf(out, ",%s", setting_key(&option_table[s], key));
    fputs(",base_status,new_status,base_ips,new_ips,ratio,ratio_low,ratio_high,verdict,p99_ratio,"
          "p99_low,p99_high,p99_verdict,cpus_ratio,joules_ratio,emulated,remark\n",
          out);
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compare_row *row = &comparison->rows[i];
        char text[CELL];
        bool any = row->base_measured || row->change_measured;
        csv_begin(out, text_at(row->base, "layout"));
        fprintf(out, ",%" JSON_INTEGER_FORMAT ",%" JSON_INTEGER_FORMAT,
                integer_at(row->base, "processes"), integer_at(row->base, "threads"));
        for (int s = 0; s < SETTINGS_IDS; s++) {
            if (!settings_is_shown((enum option_id)s))
                continue;
            if (option_table[s].setting.type == SETTING_RATE)
                settings_figure_text(row->base, (enum option_id)s, text);
            else
                settings_text(row->base, &option_table[s], false, text, sizeof text);
            csv_text(out, text);
        }
        csv_text(out, text_at(row->base, "status"));
        csv_text(out, text_at(row->change, "status"));
        csv_number(out, number_at(row->base, "throughput_ips"));
        csv_number(out, number_at(row->change, "throughput_ips"));
        print_csv_effect(out, &row->throughput, row->has_throughput);
        csv_text(out, any ? effect_verdict_name(row->verdict) : "");
        print_csv_effect(out, &row->p99, row->has_p99);
        csv_text(out, row->p99_has_interval ? effect_verdict_name(row->p99_verdict) : "");
        csv_number(out, row->cpus_ratio);
        csv_number(out, row->energy_ratio);
        csv_text(out, origin_is_emulated(comparison->base.header) ? "yes" : "no");
        comparison_remark(row, text, sizeof text);
        csv_text(out, text);
        fputc('\n', out);
    }
    /* The differences that a table has in its heading must not be lost. */
    print_differences(stderr, comparison);
}

/* JSON has no infinity: the end of an interval that is not known is null. */
static json_t *real_or_null(double value)
{
    return isfinite(value) && value > 0 ? json_real(value) : json_null();
}

static json_t *effect_json(const struct effect *effect, const char *verdict)
{
    json_t *object = json_object();
    json_object_set_new(object, "ratio", real_or_null(effect_ratio(effect)));
    json_object_set_new(object, "low", real_or_null(effect_low(effect)));
    json_object_set_new(object, "high", real_or_null(effect_high(effect)));
    json_object_set_new(object, "verdict", verdict != NULL ? json_string(verdict) : json_null());
    return object;
}

/* Its place, its settings and what came of them. */
static json_t *settings_json(const json_t *point)
{
    static const char *const plain[] = {
        "id", "section", "layout", "mps", "processes", "threads", "connections_default"};
    char key[SETTING_KEY_BYTES];
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        json_object_set(object, plain[i], json_object_get(point, plain[i]));
    for (int s = 0; s < SETTINGS_IDS; s++) {
        const char *field = setting_key(&option_table[s], key);
        if (settings_is_shown((enum option_id)s))
            json_object_set(object, field, json_object_get(point, field));
    }
    return object;
}

static json_t *measured_json(const json_t *point)
{
    json_t *object = json_object();
    static const char *const fields[] = {"id", "status", "error", "throughput_ips"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        json_object_set(object, fields[i], json_object_get(point, fields[i]));
    double half = point_half_rel(point);
    if (json_object_get(point, "ci95_rel"))
        json_object_set_new(object, "ci95_rel", isfinite(half) ? json_real(half) : json_null());
    return object;
}

static json_t *row_json(const struct compare_row *row)
{
    json_t *object = settings_json(row->base);
    bool any = row->base_measured || row->change_measured;
    json_object_set_new(object, "verdict",
                        any ? json_string(effect_verdict_name(row->verdict)) : json_null());
    json_object_set_new(object, "base", measured_json(row->base));
    json_object_set_new(object, "new", measured_json(row->change));
    if (row->has_throughput)
        json_object_set_new(
            object, "throughput",
            effect_json(&row->throughput, effect_verdict_name(row->throughput_verdict)));
    if (row->has_p99) {
        json_t *p99 = effect_json(
            &row->p99, row->p99_has_interval ? effect_verdict_name(row->p99_verdict) : NULL);
        json_object_set_new(p99, "counts", json_boolean(row->p99_counts));
        json_object_set_new(object, "p99", p99);
    }
    if (isfinite(row->cpus_ratio))
        json_object_set_new(object, "cpus_ratio", json_real(row->cpus_ratio));
    if (isfinite(row->energy_ratio))
        json_object_set_new(object, "joules_ratio", json_real(row->energy_ratio));
    return object;
}

static json_t *only_json(const json_t *points)
{
    json_t *array = json_array();
    size_t index;
    const json_t *point;
    json_array_foreach(points, index, point)
    {
        json_array_append_new(array, settings_json(point));
    }
    return array;
}

void comparison_print_json(FILE *out, const struct comparison *comparison)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < comparison->count; i++)
        json_array_append_new(rows, row_json(&comparison->rows[i]));
    json_t *summary = json_object();
    for (int v = 0; v < EFFECT_VERDICTS; v++)
        json_object_set_new(summary, effect_verdict_name((enum effect_verdict)v),
                            json_integer((json_int_t)comparison->counts[v]));
    json_object_set_new(summary, "without_number", json_integer((json_int_t)comparison->neither));
    json_object_set_new(summary, "beyond_alone", json_integer((json_int_t)comparison->alone));
    json_object_set_new(summary, "too_few_rounds", json_integer((json_int_t)comparison->few));
    json_t *all = json_pack(
        "{s:o, s:o, s:f, s:s, s:b, s:O, s:o, s:o, s:o, s:o}", "base",
        json_text(comparison->base_path), "new", json_text(comparison->change_path), "threshold",
        comparison->threshold, "adjust", comparison->holm ? "holm" : "none", "emulated",
        (int)origin_is_emulated(comparison->base.header), "differences", comparison->differences,
        "points", rows, "only_in_base", only_json(comparison->match.only_base), "only_in_new",
        only_json(comparison->match.only_change), "summary", summary);
    if (all == NULL || json_dumpf(all, out, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) != 0)
        fprintf(stderr, "mpsweep: cannot print the comparison\n");
    else
        fputc('\n', out);
    json_decref(all);
}
