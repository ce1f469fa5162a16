#include <math.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/console/report.h"
#include "orchestrator/merge/internal.h"
#include "orchestrator/results/origin.h"

#define MOST_ODD 1000

/* Numbers of which more digits mean nothing. */
static json_t *rounded(double value)
{
    char text[32];
    double number = 0.0;
    if (!isfinite(value))
        return json_null();
    snprintf(text, sizeof text, "%.5g", value);
    sscanf(text, "%lf", &number);
    return json_real(number);
}

static json_t *telemetry_of(const struct merge_telemetry *sums)
{
    json_t *object = json_object();
    if (sums->points == 0) {
        json_decref(object);
        return json_null();
    }
    for (enum merge_reading i = 0; i < MERGE_READINGS; i++)
        json_object_set_new(object, merge_readings[i].key, rounded(merge_reading_mean(sums, i)));
    json_object_set(object, "throttle", sums->throttle ? sums->throttle : json_null());
    return object;
}

/* The fields of a header that identify where its points come from, without the lists of points. */
static json_t *source_of(const struct merge *merge, size_t source)
{
    const struct merge_file *file = &merge->files[merge->sources[source].file];
    const json_t *header = merge->sources[source].header;
    json_t *object = json_pack("{s:s}", "file", file->path);
    /* A name may be any bytes, and a JSON text may not. */
    if (!object)
        object = json_pack("{s:n}", "file");
    for (size_t i = 0; origin_fields[i]; i++)
        if (json_object_get(header, origin_fields[i]))
            json_object_set(object, origin_fields[i], json_object_get(header, origin_fields[i]));
    json_t *shard = json_copy(json_object_get(header, "shard"));
    json_object_del(shard, "points");
    json_object_del(shard, "reference_points");
    if (shard)
        json_object_set_new(object, "shard", shard);
    return object;
}

json_t *merge_header(const struct merge *merge)
{
    json_t *record = json_copy(merge->sources[0].header);
    json_t *merged = json_array();
    json_object_del(record, "shard");
    json_object_del(record, "resumed");
    for (size_t i = 0; i < merge->source_count; i++)
        json_array_append_new(merged, source_of(merge, i));
    if (json_object_set_new(record, "merged", merged) != 0) {
        json_decref(record);
        return NULL;
    }
    return record;
}

json_t *merge_merge_record(const struct merge *merge)
{
    json_t *record =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:O, s:I, s:s, s:O}", "type", "merge", "purpose",
                  merge->fleet ? "fleet" : "shard", "files", (json_int_t)merge->file_count, "runs",
                  (json_int_t)merge->source_count, "gpus", (json_int_t)merge->gpu_count, "plan",
                  (json_int_t)merge->plan, "missing", merge->missing, "missing_points",
                  (json_int_t)merge->missing_count, "duplicates",
                  merge->duplicates ? merge->duplicates : "", "differs", merge->differs);
    json_t *cut = json_array();
    for (size_t i = 0; i < merge->file_count; i++)
        if (merge->files[i].torn)
            json_array_append_new(cut, json_string(merge->files[i].path));
    json_object_set_new(record, "cut", cut);
    if (merge->fleet)
        json_object_set(record, "same_node", merge->same_node);
    return record;
}

static json_t *gpu_row(const struct merge *merge, size_t gpu)
{
    const struct gpus_factor *factor = &merge->gpus.gpus[gpu];
    const json_t *header = NULL;
    json_t *sources = json_array();
    for (size_t i = 0; i < merge->source_count; i++) {
        if (merge->sources[i].gpu != gpu)
            continue;
        header = header ? header : merge->sources[i].header;
        json_array_append_new(sources, json_integer((json_int_t)i));
    }
    json_t *row = json_pack("{s:O?, s:O?, s:o, s:I, s:b, s:O*}", "uuid",
                            json_object_get(json_object_get(header, "gpu"), "uuid"), "host",
                            json_object_get(header, "host"), "sources", sources, "measurements",
                            (json_int_t)factor->observations, "differs", factor->differs,
                            "slurm_node", json_object_get(header, "slurm_node"));
    if (factor->observations > 0) {
        json_object_set_new(row, "factor", rounded(factor->factor));
        json_object_set_new(row, "ci95",
                            json_pack("[o, o]", rounded(factor->low), rounded(factor->high)));
    }
    return row;
}

json_t *merge_gpus_record(const struct merge *merge)
{
    const struct gpus_model *model = &merge->gpus;
    json_t *rows = json_array();
    for (size_t i = 0; i < model->count; i++)
        json_array_append_new(rows, gpu_row(merge, i));
    return json_pack("{s:s, s:b, s:I, s:f, s:o, s:o, s:b, s:o}", "type", "gpus-differ", "differ",
                     model->differ, "reference_points", (json_int_t)merge->reference_points,
                     "matters", MERGE_GPUS_MATTERS, "scatter_rel", rounded(model->scatter_rel),
                     "degrees", rounded(model->degrees), "within_runs_only",
                     model->within_runs_only, "gpus", rows);
}

static json_t *node_row(const struct merge *merge, size_t source)
{
    const struct fleet_node *node = &merge->nodes.nodes[source];
    const json_t *header = merge->sources[source].header;
    return json_pack("{s:I, s:O?, s:O?, s:O?, s:I, s:o, s:[o, o], s:b, s:o, s:O*}", "source",
                     (json_int_t)source, "host", json_object_get(header, "host"), "node",
                     json_object_get(json_object_get(header, "shard"), "index"), "uuid",
                     json_object_get(json_object_get(header, "gpu"), "uuid"), "points",
                     (json_int_t)node->points, "ratio", rounded(node->ratio), "quartiles",
                     rounded(node->low), rounded(node->high), "stands_out", node->stands_out,
                     "telemetry", telemetry_of(&merge->sources[source].telemetry), "slurm_node",
                     json_object_get(header, "slurm_node"));
}

json_t *merge_fleet_record(const struct merge *merge)
{
    const struct fleet *fleet = &merge->nodes;
    json_t *nodes = json_array(), *odd = json_array();
    for (size_t i = 0; i < fleet->node_count; i++)
        json_array_append_new(nodes, node_row(merge, i));
    for (size_t i = 0; i < fleet->odd_count && i < MOST_ODD; i++)
        json_array_append_new(
            odd, json_pack("{s:I, s:I, s:o}", "id", (json_int_t)fleet->odd[i].point, "source",
                           (json_int_t)fleet->odd[i].node, "ratio", rounded(fleet->odd[i].ratio)));
    return json_pack("{s:s, s:I, s:o, s:o, s:f, s:o, s:I, s:o}", "type", "fleet", "standing_out",
                     (json_int_t)fleet->standing_out, "spread_rel", rounded(fleet->spread_rel),
                     "limit_rel", rounded(fleet->limit_rel), "matters", FLEET_MATTERS, "nodes",
                     nodes, "odd_points", (json_int_t)fleet->odd_count, "odd", odd);
}

json_t *merge_fleet_point_record(const struct merge *merge, size_t point)
{
    const struct fleet_point *row = &merge->nodes.points[point];
    json_t *ratios = json_array();
    for (size_t i = 0; i < merge->source_count; i++)
        json_array_append_new(ratios, json_null());
    double centre = log(row->median_ips);
    for (size_t i = merge_find(merge, point);
         i < merge->entry_count && merge->entries[i].id == point; i++) {
        const struct merge_entry *entry = &merge->entries[i];
        if (!entry->repeated)
            json_array_set_new(ratios, entry->source, rounded(exp(entry->log_ips - centre)));
    }
    return json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "type", "fleet-point", "id",
                     (json_int_t)point, "nodes", (json_int_t)row->nodes, "median_ips",
                     rounded(row->median_ips), "spread_rel",
                     rounded(row->nodes > 1 ? row->spread_rel : NAN), "ratios", ratios);
}

enum status merge_each_finding(const struct merge *merge,
                               enum status (*take)(void *data, json_t *record), void *data)
{
    enum status status = take(data, merge_merge_record(merge));
    if (status == STATUS_OK && merge->gpus.compared > 0)
        status = take(data, merge_gpus_record(merge));
    if (status == STATUS_OK && merge->fleet)
        status = take(data, merge_fleet_record(merge));
    for (size_t i = 0; merge->fleet && i < merge->plan && status == STATUS_OK; i++)
        if (merge->nodes.points[i].nodes > 0)
            status = take(data, merge_fleet_point_record(merge, i));
    return status;
}

json_t *merge_footer(const struct merge *merge)
{
    json_t *points = json_object();
    double longest = 0.0;
    for (int i = 0; i < MERGE_RANKS; i++)
        if (merge->counts[i] > 0)
            json_object_set_new(points, merge_rank_words[i],
                                json_integer((json_int_t)merge->counts[i]));
    for (size_t i = 0; i < merge->file_count; i++)
        longest = fmax(longest, merge->files[i].seconds);
    bool failed = merge->counts[MERGE_FAILED] > 0 || !merge_is_whole(merge);
    return json_pack("{s:s, s:i, s:o, s:f}", "type", "footer", "status",
                     failed ? EXIT_SOME_FAILED : EXIT_ALL_MEASURED, "points", points, "seconds",
                     longest);
}
