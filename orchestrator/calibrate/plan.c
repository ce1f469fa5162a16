#include "orchestrator/calibrate/plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "explain/calibration_json.h"
#include "orchestrator/calibrate/points.h"
#include "orchestrator/console/progress.h"

/* Of a figure, starts of processes included, on an H200. */
#define STEP_S 0.3

/* What is being done. */
struct making {
    const struct session *session;
    struct calibration_record *known; /* owned */
    size_t known_count;
    struct point *wanted; /* owned */
    size_t wanted_count, at;
    size_t steps_before; /* of those before */
    struct crew crew;
    struct progress progress;
    calibrate_print print;
};

static void show(void *data, const char *what, unsigned done)
{
    struct making *making = data;
    char label[64];
    snprintf(label, sizeof label, "calibration %zu/%zu", making->at + 1, making->wanted_count);
    making->progress.done = making->steps_before + done;
    progress_show(&making->progress, label, what);
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
static unsigned most_gpus(const struct plan *plan, const struct work *work)
{
    unsigned most = 1;
    for (size_t i = 0; i < plan->count; i++) {
        const struct point *point = &plan->points[i];
        struct work own;
        if (calibrate_work(point, &own) && calibration_is_same_work(&own, work) &&
            point_gpus(point) > most)
            most = point_gpus(point);
    }
    return most;
}

static void release(struct making *making)
{
    free(making->known);
    free(making->wanted);
}

/* Whether one for this work is to be made already. */
static bool is_wanted(const struct making *making, const struct work *work)
{
    for (size_t i = 0; i < making->wanted_count; i++)
        if (calibration_is_same_work(&making->wanted[i].work, work))
            return true;
    return false;
}

/* The points whose work lacks a calibration, one of each. */
static enum status find_wanted(const struct plan *plan, const json_t *calibrations,
                               struct making *making)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct work work;
        if (!calibrate_work(&plan->points[i], &work) || is_wanted(making, &work))
            continue;
        json_t *text = calibration_work_to_json(&work);
        if (!text)
            return status_set(STATUS_MEMORY, "out of memory for a calibration");
        unsigned gpus = most_gpus(plan, &work);
        if (!is_known(calibrations, text, gpus)) {
            struct point *wanted = &making->wanted[making->wanted_count++];
            *wanted = plan->points[i];
            wanted->gpus = gpus;
            wanted->work = work;
        }
        json_decref(text);
    }
    return STATUS_OK;
}

static enum status prepare(const struct session *session, const struct plan *plan,
                           const json_t *calibrations, struct making *out)
{
    size_t there = json_array_size(calibrations);
    *out = (struct making){.session = session, .crew = CREW_EMPTY};
    out->wanted = calloc(plan->count + 1, sizeof *out->wanted);
    enum status status = out->wanted ? find_wanted(plan, calibrations, out)
                                     : status_set(STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK) {
        out->known = calloc(there + out->wanted_count + 1, sizeof *out->known);
        if (!out->known)
            status = status_set(STATUS_MEMORY, "out of memory for calibrations");
    }
    for (size_t i = 0; i < there && status == STATUS_OK; i++) {
        const json_t *record = json_array_get(calibrations, i);
        if (!json_object_get(record, "source") &&
            calibration_from_json(record, &out->known[out->known_count]) == STATUS_OK)
            out->known_count++;
    }
    if (status != STATUS_OK)
        release(out);
    return status;
}

/* Steps of all that are wanted, as if each came to its end. */
static size_t count_steps(struct making *making)
{
    size_t steps = 0, known = making->known_count;
    for (size_t i = 0; i < making->wanted_count; i++) {
        struct calibration_record *record = &making->known[known + i];
        calibrate_prepare(making->session, &making->wanted[i], making->known, known + i, record);
        steps += calibrate_steps(record);
        calibration_pretend(&record->figures);
    }
    return steps;
}

__attribute__((format(printf, 2, 3))) static void print_line(const struct making *making,
                                                             const char *format, ...)
{
    char line[CALIBRATION_NOTE_BYTES + POINT_DESCRIPTION + 128];
    va_list arguments;
    if (making->progress.quiet)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    making->print(line);
}

/* The largest of what its figures' windows differ by, and how many differ by more than they are to.
 */
static double most_spread(const struct calibration_record *record, unsigned *wide)
{
    double most = 0.0;
    *wide = 0;
    for (unsigned i = 0; i < record->figures.run_count; i++) {
        most = fmax(most, record->figures.runs[i].spread_rel);
        *wide += record->figures.runs[i].spread_rel > CALIBRATE_SPREAD_REL;
    }
    for (unsigned i = 0; i < CALIBRATION_PARTS; i++) {
        most = fmax(most, record->spread_rel[i]);
        *wide += record->spread_rel[i] > CALIBRATE_SPREAD_REL;
    }
    return most;
}

static void print_made(const struct making *making, const struct point *point,
                       const struct calibration_record *record)
{
    char what[POINT_DESCRIPTION], taken[64] = "";
    unsigned wide;
    double most = most_spread(record, &wide);
    unsigned shared = (unsigned)__builtin_popcount(record->shared);
    point_describe(point, what, sizeof what);
    if (shared > 0)
        snprintf(taken, sizeof taken, ", %u figure%s taken from one before", shared,
                 shared == 1 ? "" : "s");
    progress_clear(&making->progress);
    print_line(making, "calibrated for iterations as of %s in %.1f s%s", what, record->seconds,
               taken);
    if (wide > 0)
        print_line(making, "  %u of its figures spread%s by more than ±%.0f%%, up to ±%.0f%%", wide,
                   wide == 1 ? "s" : "", 100.0 * CALIBRATE_SPREAD_REL, 100.0 * most);
    else
        print_line(making, "  its figures spread by ±%.1f%% at most", 100.0 * most);
    for (unsigned i = 0; i < record->note_count; i++)
        print_line(making, "  not measured: %s", record->notes[i]);
}

static enum status make_one(struct session *session, struct making *making,
                            const struct round_limits *limits, struct results_writer *writer,
                            json_t *calibrations)
{
    struct calibration_record *record = &making->known[making->known_count];
    const struct point *like = &making->wanted[making->at];
    calibrate_prepare(making->session, like, making->known, making->known_count, record);
    size_t steps = calibrate_steps(record);
    enum status status = calibrate_run(session, &making->crew, like, limits, show, making, record);
    if (status != STATUS_OK)
        return status;
    making->known_count++;
    making->steps_before += steps;
    print_made(making, like, record);
    json_t *json = calibration_to_json(record);
    if (!json || json_array_append_new(calibrations, json) != 0)
        return status_set(STATUS_MEMORY, "out of memory for a calibration");
    return results_write(writer, json);
}

static bool was_before(const struct plan *plan, size_t index)
{
    const char *word = point_workload(&plan->points[index]);
    for (size_t i = 0; i < index; i++)
        if (strcmp(point_workload(&plan->points[i]), word) == 0)
            return true;
    return false;
}

static void print_others(const struct making *making, const struct plan *plan)
{
    struct work work;
    for (size_t i = 0; i < plan->count; i++)
        if (!calibrate_work(&plan->points[i], &work) && !was_before(plan, i))
            print_line(making,
                       "no calibration for workload '%s': there is one for the built-in and for "
                       "described workloads, not for plug-ins, programs and mixes",
                       point_workload(&plan->points[i]));
}

enum status calibrate_plan(struct session *session, const struct plan *plan,
                           const struct round_limits *limits, bool quiet, calibrate_print print,
                           struct results_writer *writer, json_t *calibrations)
{
    struct making making;
    char text[32];
    enum status status = prepare(session, plan, calibrations, &making);
    if (status != STATUS_OK)
        return status;
    size_t steps = count_steps(&making);
    progress_init(&making.progress, quiet, steps, STEP_S * (double)steps);
    making.print = print;
    print_others(&making, plan);
    if (making.wanted_count > 1)
        print_line(&making, "calibrating for %zu kinds of iterations: about %s",
                   making.wanted_count, text_duration(STEP_S * (double)steps, text, sizeof text));
    for (; making.at < making.wanted_count && status == STATUS_OK; making.at++)
        status = make_one(session, &making, limits, writer, calibrations);
    progress_clear(&making.progress);
    status = crew_dismiss_after(&making.crew, session, limits->timeout_ns, status);
    release(&making);
    return status;
}

double calibrate_plan_estimate_s(const struct session *session, const struct plan *plan,
                                 const json_t *calibrations)
{
    struct making making;
    if (prepare(session, plan, calibrations, &making) != STATUS_OK)
        return 0.0;
    double seconds = STEP_S * (double)count_steps(&making);
    release(&making);
    return seconds;
}
