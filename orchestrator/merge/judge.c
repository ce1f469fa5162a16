#include <math.h>
#include <stdlib.h>

#include "orchestrator/merge/internal.h"

/* 2 GB. */
#define MOST_CELLS ((size_t)1 << 28)

static bool has_number(const struct merge_entry *entry)
{
    return !entry->repeated && isfinite(entry->log_ips);
}

/* Points that runs on several GPUs have: those for reference, and whatever came twice. */
static enum status compare_gpus(struct merge *merge)
{
    struct gpus_observation *all = calloc(merge->entry_count + 1, sizeof *all);
    if (!all)
        return status_set(STATUS_MEMORY, "out of memory");
    size_t count = 0, points = 0;
    for (size_t i = 0, end; i < merge->entry_count; i = end) {
        size_t first_gpu = SIZE_MAX;
        bool several = false;
        for (end = i; end < merge->entry_count && merge->entries[end].id == merge->entries[i].id;
             end++) {
            size_t gpu = merge->sources[merge->entries[end].source].gpu;
            if (!has_number(&merge->entries[end]))
                continue;
            several |= first_gpu != SIZE_MAX && gpu != first_gpu;
            first_gpu = gpu;
        }
        for (size_t j = i; j < end && several; j++) {
            const struct merge_entry *entry = &merge->entries[j];
            if (!has_number(entry))
                continue;
            all[count++] = (struct gpus_observation){
                .point = points,
                .gpu = merge->sources[entry->source].gpu,
                .log_ips = entry->log_ips,
                .half_rel = isfinite(entry->half_rel) ? entry->half_rel : INFINITY,
                .one_round = entry->one_round,
            };
        }
        points += several;
    }
    merge->reference_points = points;
    enum status status = STATUS_OK;
    if (points > 0)
        status = gpus_model_make(all, count, points, merge->gpu_count, &merge->gpus);
    free(all);
    return status;
}

static enum status compare_nodes(struct merge *merge)
{
    if (merge->plan > MOST_CELLS / merge->source_count)
        return status_set(STATUS_USAGE, "%zu points of %zu nodes are more than can be compared",
                          merge->plan, merge->source_count);
    size_t cells = merge->plan * merge->source_count;
    double *log_ips = calloc(cells + 1, sizeof *log_ips);
    if (!log_ips)
        return status_set(STATUS_MEMORY, "out of memory for %zu points of %zu nodes", merge->plan,
                          merge->source_count);
    for (size_t i = 0; i < cells; i++)
        log_ips[i] = NAN;
    for (size_t i = 0; i < merge->entry_count; i++) {
        const struct merge_entry *entry = &merge->entries[i];
        if (has_number(entry))
            log_ips[entry->source * merge->plan + entry->id] = entry->log_ips;
    }
    enum status status = fleet_make(log_ips, merge->source_count, merge->plan, &merge->nodes);
    free(log_ips);
    return status;
}

enum status merge_judge(struct merge *merge)
{
    return merge->fleet ? compare_nodes(merge) : compare_gpus(merge);
}
