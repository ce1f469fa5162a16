/* The table of the report: the best layout, those that are as good, and the naive ones. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/console/columns.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/rate.h"
#include "orchestrator/tune/internal.h"

/* All of them stand in the record. */
#define EQUAL_SHOWN 12

/* Returns whether its rate is the least that it holds, which is marked. */
static bool add_row(struct columns *table, const struct tune *tune, const char *role, size_t point,
                    double best_ips)
{
    const json_t *record = tune->campaign.records[point];
    const json_t *winner = json_object_get(tune->record, "winner");
    double ips = number_at(record, "throughput_ips");
    bool measured = record && point_is_measured(record);
    bool least = measured && rate_is_least(json_object_get(record, "rate"));
    char text[POINT_DESCRIPTION];
    columns_cell(table, "%s", role);
    point_describe(&tune->space.plan.points[point], text, sizeof text);
    columns_cell(table, "%s", text);
    if (measured)
        columns_cell(table, "%s%s", least ? "≥" : "", tune_number_text(ips, text, sizeof text));
    else
        columns_cell(table, "%s", record ? text_at(record, "status") : "not measured");
    columns_cell(table, "%s", measured && *point_interval(record, winner, text) ? text : "-");
    double p99_us = measured ? number_at(json_object_get(record, "latency_us"), "p99") : 0.0;
    columns_cell(table, "%s", tune_number_text(p99_us / 1e3, text, sizeof text));
    double cpus = measured ? point_cpus_in_use(record) : NAN;
    if (isfinite(cpus))
        columns_cell(table, "%.2f", cpus);
    else
        columns_cell(table, "-");
    if (measured && best_ips > 0.0)
        columns_cell(table, "%.3g%%", 100.0 * ips / best_ips);
    else
        columns_cell(table, "-");
    if (measured && strcmp(text_at(record, "status"), "ok") != 0)
        columns_end_row_with(table, "%s", text_at(record, "status"));
    else
        columns_end_row(table);
    return least;
}

void tune_print_table(const struct tune *tune)
{
    static const char *const titles[] = {"iterations/s", "95%", "p99 ms", "CPUs", "share"};
    struct columns table = {0};
    bool least = false;
    const json_t *winner = json_object_get(tune->record, "winner");
    const json_t *equal = tune_record_equals(tune->record);
    const json_t *margin = json_object_get(tune->record, "margin");
    const json_t *closest = json_object_get(tune->record, "closest");
    double best = number_at(json_is_object(winner) ? winner : closest, "throughput_ips");
    json_int_t first = json_is_object(winner) ? integer_at(winner, "point") : -1;
    columns_add(&table, "", COLUMNS_LEFT);
    columns_add(&table, "layout", COLUMNS_LEFT);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        columns_add(&table, titles[i], COLUMNS_RIGHT);
    if (first >= 0)
        least |= add_row(&table, tune, "best", (size_t)first, best);
    else if (json_is_object(closest))
        least |= add_row(&table, tune, "closest", (size_t)integer_at(closest, "point"), best);
    for (size_t i = 0; i < json_array_size(equal) && i < EQUAL_SHOWN; i++) {
        json_int_t point = json_integer_value(json_array_get(equal, i));
        if (point != first)
            least |= add_row(&table, tune, "as good", (size_t)point, best);
    }
    if (margin && json_array_size(equal) == 0)
        least |= add_row(&table, tune, "next", (size_t)integer_at(margin, "over"), best);
    for (size_t i = 0; i < tune->space.naive_count; i++)
        least |= add_row(&table, tune, tune->space.naive[i].name, tune_naive_point(tune, i), best);
    columns_print(stdout, &table, 0);
    if (least)
        puts("≥: looked at in short, it holds at least that rate");
}
