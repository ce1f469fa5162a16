#include "orchestrator/explain/set.h"

#include <stdlib.h>
#include <string.h>

#include "explain/binding.h"
#include "explain/calibration_json.h"
#include "orchestrator/explain/point.h"
#include "orchestrator/explain/programs.h"

/* Threads wait for each other's launches where their process launches at least this share of what
 * it can. */
#define LAUNCHING 0.5

static json_int_t id_of(const struct explanation *point)
{
    return json_integer_value(json_object_get(point->record, "id"));
}

static int by_id(const void *a, const void *b)
{
    json_int_t left = id_of(a), right = id_of(b);
    return (left > right) - (left < right);
}

enum status explain_set_make(const struct results *results, struct explain_set *out)
{
    struct explain_set set = {0};
    const json_t *points = results->points;
    size_t count = json_array_size(points);
    enum status status = origins_make(results->header, &set.origins);
    if (status != STATUS_OK)
        return status;
    set.points = calloc(count + 1, sizeof *set.points);
    /* There are no more works of an origin than points. */
    set.calibrations = calloc(count + 1, sizeof *set.calibrations);
    if (!set.points || !set.calibrations) {
        explain_set_release(&set);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        json_t *record = json_array_get(points, i);
        struct explanation *point = &set.points[set.count];
        set.servers += explain_point_server(record);
        if (!explain_point_measured(record)) {
            set.open += explain_point_open(record);
            set.unmeasured += !explain_point_open(record);
            continue;
        }
        if (explain_point_apart(record)) {
            set.apart++;
            continue;
        }
        if (!explain_point_known(results, record)) {
            if (set.foreign++ == 0)
                set.foreign_workload = json_string_value(json_object_get(record, "workload"));
            continue;
        }
        status = explain_point_read(results->header, record, &point->point);
        if (status == STATUS_OK)
            status = origin_of(&set.origins, record, &point->origin);
        if (status != STATUS_OK) {
            explain_set_release(&set);
            return status;
        }
        point->record = record;
        point->measured_ips = json_number_value(json_object_get(record, "throughput_ips"));
        point->point.measured_ips = point->measured_ips;
        point->point.measured_low_ips =
            point->measured_ips * (1.0 - json_number_value(json_object_get(record, "ci95_rel")));
        set.count++;
    }
    qsort(set.points, set.count, sizeof *set.points, by_id);
    status = explain_gpus_find(&set, points);
    if (status == STATUS_OK)
        *out = set;
    else
        explain_set_release(&set);
    return status;
}

enum status explain_set_empty(const struct explain_set *set, const char *path)
{
    if (set->servers > 0 && set->servers == set->open + set->apart + set->foreign)
        return status_set(STATUS_USAGE,
                          "'%s' holds only points of servers, whose workers are requests in "
                          "flight: what limits a server is not known",
                          path);
    if (set->foreign == 0 && set->open > 0)
        return status_set(STATUS_USAGE,
                          "'%s' holds only points of open loops, which do what is offered: measure "
                          "the layouts without --rate to learn what limits them",
                          path);
    if (set->foreign == 0 && set->apart > 0)
        return status_set(STATUS_USAGE,
                          "'%s' holds only points with a context or a partition for each thread: "
                          "what limits them "
                          "is not known",
                          path);
    if (set->foreign == 0)
        return status_set(STATUS_USAGE, "'%s' has no measured point: nothing to explain", path);
    return status_set(
        STATUS_USAGE,
        "'%s' holds only points of workloads without a calibration, such as '%s': "
        "'mpsweep sweep --calibrate' makes one of built-in and described workloads, and "
        "'mpsweep record' describes a program",
        path, set->foreign_workload);
}

void explain_set_release(struct explain_set *set)
{
    free(set->points);
    free(set->calibrations);
    origins_release(&set->origins);
    *set = (struct explain_set){0};
}

const struct calibration *explain_set_calibration(const struct explain_set *set,
                                                  const struct explanation *point)
{
    for (size_t i = 0; i < set->calibration_count; i++)
        if (set->calibrations[i].origin == point->origin &&
            calibration_is_same_work(&set->calibrations[i].figures.work, &point->point.work))
            return &set->calibrations[i].figures;
    return NULL;
}

bool explain_set_is_of_several(const struct explain_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->points[i].origin != 0)
            return true;
    return false;
}

/* Puts one in, in the place of an earlier one for the same work on the same GPUs. */
static void calibrate(struct explain_set *set, const struct explain_calibration *calibration)
{
    const struct calibration *figures = &calibration->figures;
    size_t at = 0;
    while (at < set->calibration_count &&
           (set->calibrations[at].origin != calibration->origin ||
            !calibration_is_same_work(&set->calibrations[at].figures.work, &figures->work)))
        at++;
    bool wanted = false;
    for (size_t i = 0; i < set->count && !wanted; i++)
        wanted = set->points[i].origin == calibration->origin &&
                 calibration_is_same_work(&figures->work, &set->points[i].point.work);
    /* One that no point is for has no place. */
    if (!wanted)
        return;
    set->calibrations[at] = *calibration;
    set->calibration_count += at == set->calibration_count;
}

enum status explain_set_calibrate_all(struct explain_set *set, const struct results *results,
                                      const char *path)
{
    for (size_t i = 0; i < json_array_size(results->calibrations); i++) {
        const json_t *json = json_array_get(results->calibrations, i);
        struct calibration_record record;
        struct explain_calibration calibration;
        enum status status = calibration_from_json(json, &record);
        if (status == STATUS_OK)
            status = origin_of(&set->origins, json, &calibration.origin);
        if (status != STATUS_OK)
            return status_prefix(status, "'%s': ", path);
        calibration.figures = record.figures;
        calibrate(set, &calibration);
    }
    return STATUS_OK;
}

static bool same_group(const struct explanation *a, const struct explanation *b)
{
    const struct explain_point *p = &a->point, *q = &b->point;
    return a->binding.kind == b->binding.kind && a->remedy.kind == b->remedy.kind &&
           a->remedy.nearer == b->remedy.nearer && a->calibration == b->calibration &&
           p->mps == q->mps && ceiling_gpus(p) == ceiling_gpus(q) &&
           (p->processes > 1) == (q->processes > 1) && (p->threads > 1) == (q->threads > 1) &&
           ceiling_polls(p) == ceiling_polls(q) && p->connections == q->connections &&
           p->memory == q->memory && p->sync == q->sync && p->launch == q->launch &&
           p->schedule == q->schedule && p->percentage_count == q->percentage_count &&
           memcmp(p->percentages, q->percentages, sizeof p->percentages) == 0;
}

/* Puts a point into its group, of which leaders has the firsts and lasts their last points. There
 * are few groups, however many points there are. */
static void group(struct explain_set *set, size_t index, size_t *leaders, size_t *lasts,
                  size_t *groups)
{
    struct explanation *point = &set->points[index];
    size_t at = 0;
    while (at < *groups && !same_group(point, &set->points[leaders[at]]))
        at++;
    if (at == *groups)
        leaders[(*groups)++] = index;
    else
        set->points[lasts[at]].next = index;
    lasts[at] = index;
    point->group = leaders[at];
    point->next = 0;
}

/* A point above the ceiling of its queues that launches about as much as it can does not launch in
 * rows: then the queues are not a ceiling. */
static void take_turns(struct explanation *point)
{
    double queues_ips = point->ceilings.ips[CEILING_QUEUES];
    double launch_ips = point->ceilings.ips[CEILING_PROCESS_LAUNCH];
    if (queues_ips <= 0.0 || launch_ips <= 0.0 ||
        point->measured_ips < BINDING_PASSED * queues_ips ||
        point->measured_ips < LAUNCHING * launch_ips)
        return;
    point->passed = CEILING_QUEUES;
    point->passed_ips = queues_ips;
    point->point.passed_ips = point->measured_ips;
    ceilings_compute(&point->point, point->calibration, &point->ceilings);
}

/* Of any other ceiling that means that the calibration found less than there is. */
static void find_passed(struct explanation *point)
{
    if (point->passed_ips > 0.0 || point->binding.passed == CEILING_KINDS)
        return;
    point->passed = point->binding.passed;
    point->passed_ips = point->ceilings.ips[point->passed];
}

enum status explain_set_compute(struct explain_set *set, const struct remedy_limits *limits)
{
    static const struct calibration no_figures = {0};
    size_t *leaders = calloc(set->count + 1, sizeof *leaders);
    size_t *lasts = calloc(set->count + 1, sizeof *lasts);
    size_t groups = 0;
    enum status status = leaders && lasts ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < set->count && status == STATUS_OK; i++) {
        struct explanation *point = &set->points[i];
        const struct calibration *calibration = explain_set_calibration(set, point);
        point->calibrated = calibration != NULL;
        point->calibration = calibration ? calibration : &no_figures;
        predict(&point->point, point->calibration, &point->predicted);
        ceilings_compute(&point->point, point->calibration, &point->ceilings);
        take_turns(point);
        binding_find(&point->point, point->calibration, &point->ceilings, &point->binding);
        find_passed(point);
        remedy_find(&point->point, point->calibration, limits, &point->remedy);
        group(set, i, leaders, lasts, &groups);
    }
    free(leaders);
    free(lasts);
    return status;
}

const struct explanation *explain_set_representative(const struct explain_set *set, size_t first)
{
    const struct explanation *best = &set->points[first];
    for (size_t i = best->next; i > 0; i = set->points[i].next) {
        const struct explanation *point = &set->points[i];
        if (point->remedy.predicted_ips > best->remedy.predicted_ips ||
            (point->remedy.predicted_ips == best->remedy.predicted_ips &&
             point->measured_ips > best->measured_ips))
            best = point;
    }
    return best;
}

/* Points without a calibration are taken out. */
static void keep_calibrated(struct explain_set *set)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++)
        if (explain_set_calibration(set, &set->points[i]))
            set->points[kept++] = set->points[i];
    set->count = kept;
}

enum status explain_results_json(const struct results *results, const char *path, json_t **out)
{
    static const struct remedy_limits unknown = {0};
    struct explain_set set;
    enum status status = explain_set_make(results, &set);
    if (status != STATUS_OK)
        return status_prefix(status, "'%s': ", path);
    status = explain_set_calibrate_all(&set, results, path);
    if (status != STATUS_OK)
        goto out;
    if (set.count == 0) {
        status = explain_set_empty(&set, path);
        goto out;
    }
    keep_calibrated(&set);
    if (set.count == 0) {
        status = status_set(STATUS_USAGE,
                            "'%s' has no calibration for its points: 'mpsweep explain %s' makes "
                            "one on its GPU, 'mpsweep sweep --calibrate' does with the points",
                            path, path);
        goto out;
    }
    status = explain_set_compute(&set, &unknown);
    if (status != STATUS_OK)
        goto out;
    *out = explain_to_json(&set);
    if (!*out)
        status = status_set(STATUS_MEMORY, "out of memory");
out:
    explain_set_release(&set);
    return status;
}

bool explain_results_any(const struct results *results)
{
    struct explain_set set;
    if (explain_set_make(results, &set) != STATUS_OK)
        return false;
    bool any = set.count > 0 || explain_has_programs(results->points);
    explain_set_release(&set);
    return any;
}
