#include "orchestrator/calibrate_plan.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "explain/calibration_json.h"

static void show(void *data, const char *what)
{
    (void)data;
    fprintf(stderr, "\r\033[Kcalibrating: %s", what);
    fflush(stderr);
}

/* What several GPUs share must have been measured on as many. */
static bool is_known(const json_t *calibrations, const json_t *work, unsigned gpus)
{
    for (size_t i = 0; i < json_array_size(calibrations); i++) {
        const json_t *record = json_array_get(calibrations, i);
        json_int_t all =
            json_integer_value(json_object_get(json_object_get(record, "all_gpus"), "gpus"));
        if (json_equal(json_object_get(record, "work"), work) && (gpus == 1 || all >= gpus))
            return true;
    }
    return false;
}

/* The most GPUs that a point of this work has. */
static unsigned most_gpus(const struct plan *plan, const struct calibration_work *work)
{
    unsigned most = 1;
    for (size_t i = 0; i < plan->count; i++) {
        const struct calibration of = {.work = *work};
        struct calibration_work other;
        if (!point_is_builtin(&plan->points[i]))
            continue;
        calibration_work_of(&plan->points[i].work, &other);
        if (calibration_is_for(&of, &other) && point_gpus(&plan->points[i]) > most)
            most = point_gpus(&plan->points[i]);
    }
    return most;
}

static void tell(const struct point *point, const struct calibration_record *record, bool terminal)
{
    char what[POINT_DESCRIPTION];
    point_describe(point, what, sizeof what);
    if (terminal)
        fputs("\r\033[K", stderr);
    fprintf(stderr, "calibrated for iterations as of %s in %.1f s\n", what, record->seconds);
    for (unsigned i = 0; i < record->note_count; i++)
        fprintf(stderr, "  not measured: %s\n", record->notes[i]);
}

size_t calibrate_plan_missing(const struct plan *plan, json_t *calibrations)
{
    json_t *known = json_array();
    size_t count = 0;
    json_array_extend(known, calibrations);
    for (size_t i = 0; i < plan->count; i++) {
        struct calibration_work work;
        if (!point_is_builtin(&plan->points[i]))
            continue;
        calibration_work_of(&plan->points[i].work, &work);
        unsigned gpus = most_gpus(plan, &work);
        json_t *record = json_pack("{s:o, s:{s:i}}", "work", calibration_work_to_json(&work),
                                   "all_gpus", "gpus", (int)gpus);
        if (record && !is_known(known, json_object_get(record, "work"), gpus)) {
            json_array_append(known, record);
            count++;
        }
        json_decref(record);
    }
    json_decref(known);
    return count;
}

static enum status calibrate(struct session *session, const struct point *point,
                             const struct round_limits *limits, bool quiet,
                             struct results_writer *writer, json_t *calibrations)
{
    struct calibration_record record;
    bool terminal = !quiet && isatty(STDERR_FILENO);
    enum status status =
        calibrate_run(session, point, limits, terminal ? show : NULL, NULL, &record);
    if (status != STATUS_OK) {
        if (terminal)
            fputs("\r\033[K", stderr);
        return status;
    }
    if (!quiet)
        tell(point, &record, terminal);
    json_t *json = calibration_to_json(&record);
    if (!json || json_array_append_new(calibrations, json) != 0)
        return status_set(STATUS_MEMORY, "out of memory for a calibration");
    return results_write(writer, json);
}

static bool told_before(const struct plan *plan, size_t index)
{
    const char *word = point_workload(&plan->points[index]);
    for (size_t i = 0; i < index; i++)
        if (strcmp(point_workload(&plan->points[i]), word) == 0)
            return true;
    return false;
}

enum status calibrate_plan(struct session *session, const struct plan *plan,
                           const struct round_limits *limits, bool quiet,
                           struct results_writer *writer, json_t *calibrations)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < plan->count && status == STATUS_OK; i++) {
        struct calibration_work work;
        if (!point_is_builtin(&plan->points[i])) {
            if (!quiet && !told_before(plan, i))
                fprintf(stderr,
                        "no calibration for workload '%s': there is one for the built-in workloads "
                        "only\n",
                        point_workload(&plan->points[i]));
            continue;
        }
        calibration_work_of(&plan->points[i].work, &work);
        json_t *text = calibration_work_to_json(&work);
        if (!text)
            return status_set(STATUS_MEMORY, "out of memory for a calibration");
        struct point like = plan->points[i];
        like.gpus = most_gpus(plan, &work);
        if (!is_known(calibrations, text, like.gpus))
            status = calibrate(session, &like, limits, quiet, writer, calibrations);
        json_decref(text);
    }
    return status;
}
