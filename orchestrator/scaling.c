#include "orchestrator/scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/point_key.h"

/* Beyond it a GPU is called slow. */
#define IMBALANCE_WORTH_A_WORD 0.05

#define WITHOUT_GPUS (1u << POINT_GPUS | 1u << POINT_MPS_DAEMONS)

struct entry {
    char *key;
    const json_t *point;
    size_t place; /* the first of several that are the same is taken */
};

struct scaling_index {
    struct entry *at;
    size_t count;
};

/* An open loop does what is offered. */
static bool is_closed(const json_t *point)
{
    return point_is_measured(point) && !json_is_object(json_object_get(point, "rate")) &&
           point_number(point, "throughput_ips") > 0;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = strcmp(a->key, b->key);
    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

void scaling_index_free(struct scaling_index *index)
{
    if (index == NULL)
        return;
    for (size_t i = 0; i < index->count; i++)
        free(index->at[i].key);
    free(index->at);
    free(index);
}

enum status scaling_index_new(const json_t *points, struct scaling_index **out)
{
    struct scaling_index *index = calloc(1, sizeof *index);
    size_t place;
    const json_t *point;
    if (index != NULL)
        index->at = calloc(json_array_size(points) + 1, sizeof *index->at);
    if (index == NULL || index->at == NULL)
        goto no_memory;
    json_array_foreach(points, place, point)
    {
        if (point_gpus_of(point) != 1 || !is_closed(point))
            continue;
        struct entry *entry = &index->at[index->count];
        *entry = (struct entry){point_key(point, WITHOUT_GPUS), point, place};
        if (entry->key == NULL)
            goto no_memory;
        index->count++;
    }
    qsort(index->at, index->count, sizeof *index->at, compare_entries);
    *out = index;
    return STATUS_OK;
no_memory:
    scaling_index_free(index);
    return status_set(STATUS_MEMORY, "out of memory for the points of one GPU");
}

static const json_t *find_base(const struct scaling_index *index, const json_t *point)
{
    char *key = point_key(point, WITHOUT_GPUS);
    size_t low = 0, high = index->count;
    if (key == NULL)
        return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(index->at[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < index->count && strcmp(index->at[low].key, key) == 0;
    free(key);
    return found ? index->at[low].point : NULL;
}

bool scaling_find(const struct scaling_index *index, const json_t *point, struct scaling *out)
{
    struct scaling scaling = {.gpus = point_gpus_of(point)};
    if (scaling.gpus < 2 || !is_closed(point))
        return false;
    scaling.base = find_base(index, point);
    if (scaling.base == NULL)
        return false;
    scaling.base_ips = point_number(scaling.base, "throughput_ips");
    scaling.efficiency = point_number(point, "throughput_ips") / (scaling.gpus * scaling.base_ips);
    /* Of a ratio of independent means, to the first order. NAN stays NAN. */
    double half = scaling.efficiency *
                  hypot(point_number(point, "ci95_rel"), point_number(scaling.base, "ci95_rel"));
    scaling.low = scaling.efficiency - half;
    scaling.high = scaling.efficiency + half;
    *out = scaling;
    return true;
}

const char *scaling_text(const struct scaling *scaling, char *text, size_t size)
{
    if (scaling == NULL)
        snprintf(text, size, "-");
    else if (isnan(scaling->high))
        snprintf(text, size, "%.1f%%", 100.0 * scaling->efficiency);
    else
        snprintf(text, size, "%.1f%% ±%.1f%%", 100.0 * scaling->efficiency,
                 100.0 * (scaling->high - scaling->efficiency));
    return text;
}

bool imbalance_of(const json_t *point, struct imbalance *out)
{
    const json_t *per_gpu = json_object_get(point, "per_gpu");
    struct imbalance imbalance = {.gpus = (unsigned)json_array_size(per_gpu), .slowest_uuid = ""};
    double least = INFINITY, most = 0, sum = 0;
    size_t index;
    const json_t *gpu;
    if (imbalance.gpus < 2)
        return false;
    json_array_foreach(per_gpu, index, gpu)
    {
        double ips = point_number(gpu, "throughput_ips");
        if (!(ips >= 0))
            return false;
        sum += ips;
        most = fmax(most, ips);
        if (ips >= least)
            continue;
        least = ips;
        imbalance.slowest = (unsigned)point_integer(gpu, "gpu");
        imbalance.slowest_uuid = point_string(gpu, "uuid");
    }
    if (!(sum > 0))
        return false;
    imbalance.mean_ips = sum / imbalance.gpus;
    imbalance.relative = (most - least) / imbalance.mean_ips;
    imbalance.slowest_rel = least < sum ? least * (imbalance.gpus - 1) / (sum - least) : 1;
    *out = imbalance;
    return true;
}

bool imbalance_matters(const struct imbalance *imbalance, const json_t *point)
{
    double interval = point_number(point, "ci95_rel");
    return imbalance->relative > IMBALANCE_WORTH_A_WORD &&
           !(imbalance->relative <= interval); /* also where there is none */
}

const json_t *scaling_other_daemons(const json_t *points, const json_t *point)
{
    const json_t *other, *found = NULL;
    size_t index;
    const char *daemons = point_string(point, "mps_daemons");
    char *key = point_gpus_of(point) > 1 && daemons[0] != '\0'
                    ? point_key(point, 1u << POINT_MPS_DAEMONS)
                    : NULL;
    if (key == NULL)
        return NULL;
    json_array_foreach(points, index, other)
    {
        const char *others = point_string(other, "mps_daemons");
        /* What is quick to see first: keys of all points would be dear. */
        if (others[0] == '\0' || strcmp(others, daemons) == 0 || !is_closed(other) ||
            point_gpus_of(other) != point_gpus_of(point) ||
            point_integer(other, "processes") != point_integer(point, "processes") ||
            point_integer(other, "threads") != point_integer(point, "threads"))
            continue;
        char *other_key = point_key(other, 1u << POINT_MPS_DAEMONS);
        bool same = other_key != NULL && strcmp(other_key, key) == 0;
        free(other_key);
        if (same) {
            found = other;
            break;
        }
    }
    free(key);
    return found;
}
