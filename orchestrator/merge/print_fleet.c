#include "orchestrator/merge/internal.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/results/point.h"

/* Of more rows only what matters is shown: all are in the records. */
#define ROWS_MOST 40
#define ODD_MOST 10

static double mean(double sum, size_t count)
{
    return count ? sum / (double)count : NAN;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum reading { CLOCK, POWER, TEMPERATURE, THROTTLED, READINGS };

static double reading_of(const struct merge *merge, size_t source, enum reading reading)
{
    const struct merge_telemetry *sums = &merge->sources[source].telemetry;
    switch (reading) {
    case CLOCK:
        return mean(sums->clock_mhz, sums->clocks);
    case POWER:
        return mean(sums->power_w, sums->powers);
    case TEMPERATURE:
        return mean(sums->temperature_c, sums->temperatures);
    default:
        return mean(sums->throttled_share, sums->shares);
    }
}

/* Of all nodes; NAN without memory or telemetry. */
static double usual(const struct merge *merge, enum reading reading)
{
    double *values = calloc(merge->source_count + 1, sizeof *values);
    double median = NAN;
    size_t count = 0;
    for (size_t i = 0; values && i < merge->source_count; i++) {
        double value = reading_of(merge, i, reading);
        if (isfinite(value))
            values[count++] = value;
    }
    if (count > 0) {
        qsort(values, count, sizeof *values, ascending);
        median = values[count / 2];
    }
    free(values);
    return median;
}

static void print_telemetry(const struct merge *merge, size_t source)
{
    static const struct {
        const char *name, *unit;
        double scale;
    } rows[READINGS] = {
        [CLOCK] = {"clock", " MHz", 1},
        [POWER] = {"power", " W", 1},
        [TEMPERATURE] = {"temperature", " °C", 1},
        [THROTTLED] = {"throttled", "% of the time", 100},
    };
    const json_t *reasons = merge->sources[source].telemetry.throttle;
    const char *separator = "    ";
    char reason[41];
    for (int i = 0; i < READINGS; i++) {
        double value = reading_of(merge, source, (enum reading)i);
        double others = usual(merge, (enum reading)i);
        if (!isfinite(value))
            continue;
        printf("%s%s %.0f%s (usual: %.0f)", separator, rows[i].name, value * rows[i].scale,
               rows[i].unit, others * rows[i].scale);
        separator = ", ";
    }
    for (size_t i = 0; i < json_array_size(reasons); i++)
        printf(
            "%s%s", i ? ", " : "; clock held down by: ",
            text_shortened(json_string_value(json_array_get(reasons, i)), reason, sizeof reason));
    puts(merge->sources[source].telemetry.points ? "" : "    no telemetry of it");
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
        printf("and %zu nodes from %.4f to %.4f\n", left_out, lowest, highest);
}

/* Layout and size of a point, from the line that is kept of it. */
static void name_point(const struct merge *merge, size_t point, char *text, size_t size)
{
    const struct merge_entry *entry = NULL;
    for (size_t i = merge_find(merge, point);
         i < merge->entry_count && merge->entries[i].id == point && !entry; i++)
        if (merge->entries[i].kept)
            entry = &merge->entries[i];
    snprintf(text, size, "?");
    char *line = entry ? malloc(entry->bytes) : NULL;
    int fd = entry
                 ? open(merge->files[merge->sources[entry->source].file].path, O_RDONLY | O_CLOEXEC)
                 : -1;
    if (line && fd >= 0 &&
        pread(fd, line, entry->bytes, (off_t)entry->offset) == (ssize_t)entry->bytes) {
        json_t *record = json_loadb(line, entry->bytes, 0, NULL);
        char name[POINT_TEXT_BYTES];
        point_name(record, name);
        snprintf(text, size, "%s", name);
        json_decref(record);
    }
    if (fd >= 0)
        close(fd);
    free(line);
}

static void print_points(const struct merge *merge)
{
    const struct fleet *fleet = &merge->nodes;
    char name[80], number[32];
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
        name_point(merge, i, name, sizeof name);
        columns_cell(&table, "%zu", i);
        columns_cell(&table, "%s", name);
        columns_cell(&table, "%zu", row->nodes);
        columns_cell(&table, "%s", text_number(row->median_ips, number, sizeof number));
        columns_cell(&table, "%.2f%%", row->spread_rel * 100);
        columns_cell(&table, "%.3f (%lld)", row->lowest, node_number(merge, row->lowest_node));
        columns_cell(&table, "%.3f (%lld)", row->highest, node_number(merge, row->highest_node));
        columns_end_row(&table);
    }
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
        printf("odd: and %zu more points\n", fleet->odd_count - ODD_MOST);
}

static void print_same(const struct merge *merge)
{
    for (size_t i = 0; i < json_array_size(merge->same_node) && i < ODD_MOST; i++) {
        const json_t *row = json_array_get(merge->same_node, i);
        const json_t *nodes = json_object_get(row, "nodes");
        printf("twice: %.200s stands for nodes", merge_node_name(row));
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
