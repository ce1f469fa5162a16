/*
 * The nodes of a fleet, in the order of their numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "orchestrator/plot/internal.h"
#include "common/json.h"
#include "orchestrator/results/point.h"

/* Names beside those that stand out; more would hide the nodes. */
#define MARKS_MOST 12

static bool is_drawn(const json_t *node)
{
    return isfinite(number_at(node, "ratio")) && isfinite(number_in(node, "quartiles", 0)) &&
           isfinite(number_in(node, "quartiles", 1));
}

static bool stands_out(const json_t *node)
{
    return json_is_true(json_object_get(node, "stands_out"));
}

static void write_name(FILE *file, const char *array, size_t number, const json_t *node)
{
    char name[48];
    const char *slurm = text_at(node, "slurm_node");
    snprintf(name, sizeof name, "%.40s", *slurm ? slurm : text_at(node, "host"));
    if (*name == '\0')
        snprintf(name, sizeof name, "%" JSON_INTEGER_FORMAT, integer_at(node, "node"));
    plot_write_item(file, array, number, name);
}

static void write_names(FILE *file, const json_t *nodes)
{
    fprintf(file, "array names[n_nodes]\n");
    for (size_t i = 0; i < json_array_size(nodes); i++)
        write_name(file, "names", i + 1, json_array_get(nodes, i));
}

/* Where several stand out those farthest off are named: the nodes are not sorted by that. */
static void write_marks(FILE *file, const json_t *nodes)
{
    size_t named[MARKS_MOST], count = 0;
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);
        if (!stands_out(node) || !is_drawn(node))
            continue;
        double far = fabs(log(number_at(node, "ratio")));
        size_t at = count;
        while (at > 0 && far > fabs(log(number_at(json_array_get(nodes, named[at - 1]), "ratio"))))
            at--;
        if (at == MARKS_MOST)
            continue;
        if (count < MARKS_MOST)
            count++;
        for (size_t j = count - 1; j > at; j--)
            named[j] = named[j - 1];
        named[at] = i;
    }
    fprintf(file, "n_marks = %zu\narray mark_x[%d]\narray mark_y[%d]\narray mark_text[%d]\n", count,
            MARKS_MOST, MARKS_MOST, MARKS_MOST);
    for (size_t i = 0; i < count; i++) {
        const json_t *node = json_array_get(nodes, named[i]);
        fprintf(file, "mark_x[%zu] = %zu\nmark_y[%zu] = %.6g\n", i + 1, named[i], i + 1,
                number_at(node, "ratio"));
        write_name(file, "mark_text", i + 1, node);
    }
}

static void write_nodes(FILE *file, const json_t *fleet, const json_t *nodes)
{
    double lowest = 1.0, highest = 1.0;
    double limit = number_at(fleet, "limit_rel");
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);
        if (!is_drawn(node))
            continue;
        lowest = fmin(lowest, number_in(node, "quartiles", 0));
        highest = fmax(highest, number_in(node, "quartiles", 1));
    }
    if (!(limit >= 0))
        limit = 0;
    fprintf(file, "limit_low = %.6g\nlimit_high = %.6g\n", 1 / (1 + limit), 1 + limit);
    fprintf(file, "ratio_min = %.6g\nratio_max = %.6g\n", fmin(lowest, 1 / (1 + limit)),
            fmax(highest, 1 + limit));
    fprintf(file,
            "\n# node, ratio, quartiles of its points, whether it stands out\n$nodes << EOD\n");
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);
        if (is_drawn(node))
            fprintf(file, "%zu %.6g %.6g %.6g %d\n", i, number_at(node, "ratio"),
                    number_in(node, "quartiles", 0), number_in(node, "quartiles", 1),
                    stands_out(node));
    }
    fputs("EOD\n", file);
}

enum status plot_fleet_write(const struct results *results, const char *path, FILE *file)
{
    const json_t *nodes = json_object_get(results->fleet, "nodes");
    char notes[512];
    if (json_array_size(nodes) == 0)
        return status_set(STATUS_USAGE,
                          "'%s' is not of a fleet: 'mpsweep merge' makes one of what "
                          "'mpsweep sweep --fleet' wrote on each node",
                          path);
    size_t drawn = 0;
    for (size_t i = 0; i < json_array_size(nodes); i++)
        drawn += is_drawn(json_array_get(nodes, i));
    if (drawn == 0)
        return status_set(STATUS_USAGE, "'%s' has no node that can be compared", path);
    snprintf(notes, sizeof notes,
             "Median of the ratios of %zu nodes at each point to the median node, and quartiles. "
             "%" JSON_INTEGER_FORMAT " stand out; grey: within %.1f%%.",
             drawn, integer_at(results->fleet, "standing_out"),
             number_at(results->fleet, "limit_rel") * 100);
    enum status status =
        plot_write_heading(file, "fleet", "Throughput of each node", results->header, notes);
    if (status != STATUS_OK)
        return status;
    fprintf(file, "xlabel = 'node'\nylabel = 'ratio to the median node'\nn_nodes = %zu\n",
            json_array_size(nodes));
    write_names(file, nodes);
    write_marks(file, nodes);
    write_nodes(file, results->fleet, nodes);
    return STATUS_OK;
}
