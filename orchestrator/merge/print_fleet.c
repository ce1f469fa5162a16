#include "orchestrator/merge/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/point.h"
#include "statistics/statistics.h"

/* Of more rows only what matters is shown: all are in the records. */
#define ROWS_MOST 40
#define ODD_MOST 10

/* Of all nodes; NAN without memory or telemetry. */
static double usual(const struct merge *merge, enum merge_reading reading)
{
    double *values = calloc(merge->source_count + 1, sizeof *values);
    double median = NAN;
    size_t count = 0;
    for (size_t i = 0; values && i < merge->source_count; i++) {
        double value = merge_reading_mean(&merge->sources[i].telemetry, reading);
        if (isfinite(value))
            values[count++] = value;
    }
    if (count > 0) {
        statistics_sort(values, count);
        median = values[count / 2];
    }
    free(values);
    return median;
}

static void print_telemetry(const struct merge *merge, size_t source)
{
    const struct merge_telemetry *telemetry = &merge->sources[source].telemetry;
    const char *separator = "    ";
    char reason[41];
    for (enum merge_reading i = 0; i < MERGE_READINGS; i++) {
        const struct merge_reading_row *row = &merge_readings[i];
        double value = merge_reading_mean(telemetry, i), others = usual(merge, i);
        if (!isfinite(value))
            continue;
        printf("%s%s %.0f%s (usual: %.0f)", separator, row->name, value * row->scale, row->unit,
               others * row->scale);
        separator = ", ";
    }
    for (size_t i = 0; i < json_array_size(telemetry->throttle); i++)
        printf("%s%s", i ? ", " : "; clock held down by: ",
               text_shortened(json_string_value(json_array_get(telemetry->throttle, i)), reason,
                              sizeof reason));
    puts(telemetry->points ? "" : "    no telemetry of it");
}

/* From its file, since files of other nodes may be missing. */
static long long node_number(const struct merge *merge, size_t source)
{
    return (long long)merge_shard_index(merge->sources[source].header);
}

static void print_nodes(const struct merge *merge)
{
    const struct fleet *fleet = &merge->nodes;
    bool all = fleet->node_count <= ROWS_MOST;
    double lowest = INFINITY, highest = 0.0;
    size_t left_out = 0;
    printf("\n%-6s %-24s %7s  %-16s %6s\n", "node", "host", "ratio", "quartiles", "points");
    for (size_t i = 0; i < fleet->node_count; i++) {
        const struct fleet_node *node = &fleet->nodes[i];
        char quartiles[40] = "", host[MERGE_HOST_TEXT];
        if (!all && !node->stands_out && node->points > 0) {
            lowest = fmin(lowest, node->ratio);
            highest = fmax(highest, node->ratio);
            left_out++;
            continue;
        }
        printf("%-6lld %-24.24s ", node_number(merge, i), merge_host(merge, i, host));
        if (node->points == 0) {
            puts("no point that others have measured");
            continue;
        }
        snprintf(quartiles, sizeof quartiles, "%.4f to %.4f", node->low, node->high);
        printf("%7.4f  %-16s %6zu%s\n", node->ratio, quartiles, node->points,
               node->stands_out ? "  stands out" : "");
        if (node->stands_out)
            print_telemetry(merge, i);
    }
    if (left_out > 0)
        printf("and %zu node%s from %.4f to %.4f\n", left_out, left_out == 1 ? "" : "s", lowest,
               highest);
}

/* Layout and size of a point, from the line that is kept of it. */
static void name_point(struct merge_reader *reader, size_t point, char name[POINT_TEXT_BYTES])
{
    const struct merge *merge = reader->merge;
    size_t i = merge_find(merge, point);
    while (i < merge->entry_count && !merge->entries[i].kept)
        i++;
    strcpy(name, "?");
    if (i == merge->entry_count || merge->entries[i].id != point)
        return;
    const struct merge_entry *entry = &merge->entries[i];
    if (merge_reader_line(reader, entry->source, entry->offset, entry->bytes) != STATUS_OK)
        return;
    json_t *record = json_loadb(reader->line, entry->bytes, 0, NULL);
    point_name(record, name);
    json_decref(record);
}

static void print_points(const struct merge *merge)
{
    const struct fleet *fleet = &merge->nodes;
    struct merge_reader reader = MERGE_READER(merge);
    char name[POINT_TEXT_BYTES], number[32];
    if (fleet->point_count > ROWS_MOST) {
        printf("\n%zu points: the records of type fleet-point have each node's ratio\n",
               fleet->point_count);
        return;
    }
    static const char *const titles[] = {"nodes", "median/s", "spread", "lowest", "highest"};
    struct columns table = {0};
    columns_add(&table, "point", COLUMNS_LEFT);
    columns_add(&table, "layout", COLUMNS_LEFT);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        columns_add(&table, titles[i], COLUMNS_RIGHT);
    for (size_t i = 0; i < fleet->point_count; i++) {
        const struct fleet_point *row = &fleet->points[i];
        if (row->nodes == 0)
            continue;
        name_point(&reader, i, name);
        columns_cell(&table, "%zu", i);
        columns_cell(&table, "%s", name);
        columns_cell(&table, "%zu", row->nodes);
        columns_cell(&table, "%s", text_number(row->median_ips, number, sizeof number));
        columns_cell(&table, "%.2f%%", row->spread_rel * 100);
        columns_cell(&table, "%.3f (%lld)", row->lowest, node_number(merge, row->lowest_node));
        columns_cell(&table, "%.3f (%lld)", row->highest, node_number(merge, row->highest_node));
        columns_end_row(&table);
    }
    merge_reader_close(&reader);
    putchar('\n');
    columns_print(stdout, &table, 0);
}

static void print_odd(const struct merge *merge)
{
    const struct fleet *fleet = &merge->nodes;
    char name[300];
    for (size_t i = 0; i < fleet->odd_count && i < ODD_MOST; i++)
        printf("odd: point %zu of %s: ratio %.3f, and %.3f at its other points\n",
               fleet->odd[i].point, merge_source_name(merge, fleet->odd[i].node, name, sizeof name),
               fleet->odd[i].ratio, fleet->nodes[fleet->odd[i].node].ratio);
    if (fleet->odd_count > ODD_MOST)
        printf("odd: and %zu more point%s\n", fleet->odd_count - ODD_MOST,
               fleet->odd_count - ODD_MOST == 1 ? "" : "s");
}

static void print_same(const struct merge *merge)
{
    for (size_t i = 0; i < json_array_size(merge->same_node) && i < ODD_MOST; i++) {
        const json_t *row = json_array_get(merge->same_node, i);
        const json_t *nodes = json_object_get(row, "nodes");
        printf("twice: %.200s stands for nodes", origin_host(row));
        for (size_t j = 0; j < json_array_size(nodes) && j < ROWS_MOST; j++)
            printf("%s %lld", j ? "," : "",
                   (long long)json_integer_value(json_array_get(nodes, j)));
        puts(": it was measured more than once, and others were not");
    }
}

void merge_print_fleet(const struct merge *merge)
{
    const struct fleet *fleet = &merge->nodes;
    if (fleet->node_count < FLEET_LEAST_NODES)
        printf("nodes: fewer than %d, so that none can stand out\n", FLEET_LEAST_NODES);
    else if (fleet->standing_out == 0)
        printf("nodes: none stands out: all within %.1f%% of the median (spread %.2g%%)\n",
               fleet->limit_rel * 100, fleet->spread_rel * 100);
    else
        printf("nodes: %zu of %zu stand%s out: more than %.1f%% from the median (spread %.2g%%)\n",
               fleet->standing_out, fleet->node_count, fleet->standing_out == 1 ? "s" : "",
               fleet->limit_rel * 100, fleet->spread_rel * 100);
    print_same(merge);
    print_odd(merge);
    print_nodes(merge);
    print_points(merge);
}
