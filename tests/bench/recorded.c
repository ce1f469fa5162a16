#include "tests/bench/recorded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "explain/calibration_json.h"
#include "orchestrator/compare/match.h"
#include "orchestrator/record/record.h"
#include "orchestrator/results/point.h"
#include "tests/unit/tune/chance.h"

/* How much rounds of one layout differ, as a share, where its own are too few: that counts as much
 * as this number of rounds. */
#define ROUNDS_SD 0.02
#define ROUNDS_LIKE 3.0

/* Of a window whose own interval is not known. */
#define UNKNOWN_CI95 0.1

static double ips(const struct tune_truth *truth, const struct point *point)
{
    const struct tune_recorded *recorded = truth->recorded;
    return recorded->layouts[point - recorded->space.plan.points].ips;
}

static double p99_us(const struct tune_truth *truth, const struct point *point)
{
    const struct tune_recorded *recorded = truth->recorded;
    return recorded->layouts[point - recorded->space.plan.points].p99_us;
}

static double cpus(const struct tune_truth *truth, const struct point *point)
{
    const struct tune_recorded *recorded = truth->recorded;
    return recorded->layouts[point - recorded->space.plan.points].cpus;
}

static void calibrate(const struct tune_truth *truth, unsigned seed, const struct point *like,
                      struct calibration *out)
{
    (void)seed;
    (void)like;
    *out = truth->recorded->calibration;
}

static void look(const struct tune_truth *truth, const struct point *point, double window_s,
                 uint64_t set, uint64_t *random, struct tune_observation *out)
{
    const struct tune_recorded *recorded = truth->recorded;
    size_t index = (size_t)(point - recorded->space.plan.points);
    const struct recorded_layout *layout = &recorded->layouts[index];
    *out =
        (struct tune_observation){.outcome = layout->ips > 0.0 ? TUNE_MEASURED : TUNE_INFEASIBLE};
    if (layout->ips <= 0.0)
        return;
    /* A shorter window shows as much less as the square root of its length. */
    double shorter = sqrt(fmax(1.0, layout->window_s / window_s));
    (void)set;
    out->ips = out->value = layout->ips * exp(shorter * layout->sd * chance_normal(random));
    double half = fmin(0.9, shorter * layout->ci95_rel);
    out->low = out->value * (1.0 - half);
    out->high = out->value * (1.0 + half);
    out->p99_us = layout->p99_us;
    out->cpus = layout->cpus;
}

static const struct tune_family family = {
    .name = "recorded",
    .ips = ips,
    .p99_us = p99_us,
    .cpus = cpus,
    .calibrate = calibrate,
    .look = look,
};

/* -- from results ------------------------------------------------------------------------------ */

static struct recorded_layout layout_from(const json_t *point)
{
    struct recorded_layout layout = {0};
    const json_t *rounds = json_object_get(point, "rounds");
    size_t count = json_array_size(rounds);
    if (!point_is_measured(point) || count == 0)
        return layout;
    double mean = 0.0, squares = ROUNDS_LIKE * ROUNDS_SD * ROUNDS_SD, widths = 0.0, known = 0.0;
    for (size_t i = 0; i < count; i++) {
        const json_t *round = json_array_get(rounds, i);
        double width = number_at(round, "ci95_rel");
        mean += log(number_at(round, "throughput_ips")) / (double)count;
        layout.window_s += number_at(round, "seconds") / (double)count;
        if (width > 0.0) {
            widths += width;
            known += 1.0;
        }
    }
    for (size_t i = 0; i < count; i++)
        squares += pow(log(number_at(json_array_get(rounds, i), "throughput_ips")) - mean, 2.0);
    layout.ips = exp(mean);
    layout.sd = sqrt(squares / (ROUNDS_LIKE + (double)count - 1.0));
    layout.ci95_rel = known > 0.0 ? widths / known : UNKNOWN_CI95;
    layout.p99_us = number_at(json_object_get(point, "latency_us"), "p99");
    layout.cpus = fmax(0.0, point_cpus_in_use(point));
    return layout;
}

/* Sums over the starts of processes: how many of them, and how long until they were ready. */
struct starts {
    double n, p, pp, y, py;
};

static void add_start(double processes, double ready_s, struct starts *sums)
{
    if (processes <= 0.0 || !isfinite(ready_s))
        return;
    sums->n += 1.0;
    sums->p += processes;
    sums->pp += processes * processes;
    sums->y += ready_s;
    sums->py += processes * ready_s;
}

/* The line through all starts with the least squares, and what a point takes beside its window on
 * processes that run already. Records are in the order in which they were measured, and a start is
 * of as many processes as the largest point needs that it serves. */
static enum status find_costs(const char *path, struct tune_costs *out)
{
    struct starts sums = {0};
    double processes = 0.0, ready_s = NAN, beside_s = 0.0, points = 0.0;
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return status_set(STATUS_SYSTEM, "'%s' cannot be read", path);
    while (getline(&line, &size, file) > 0) {
        json_t *record = json_loads(line, 0, NULL);
        bool reused = json_is_true(json_object_get(record, "reused"));
        if (strcmp(text_at(record, "type"), "point") == 0) {
            if (!reused) {
                add_start(processes, ready_s, &sums);
                processes = 0.0;
                ready_s = number_at(record, "ready_s");
            } else if (json_array_size(json_object_get(record, "rounds")) == 1) {
                const json_t *round = json_array_get(json_object_get(record, "rounds"), 0);
                beside_s += number_at(record, "seconds") - number_at(round, "seconds");
                points += 1.0;
            }
            processes = fmax(processes, (double)integer_at(record, "processes"));
        }
        json_decref(record);
    }
    add_start(processes, ready_s, &sums);
    free(line);
    fclose(file);
    double spread = sums.n * sums.pp - sums.p * sums.p;
    *out = (struct tune_costs){.point_s = points > 0.0 ? beside_s / points : 0.0};
    out->process_s = spread > 0.0 ? fmax(0.0, (sums.n * sums.py - sums.p * sums.y) / spread) : 0.0;
    out->start_s = fmax(0.0, (sums.y - out->process_s * sums.p) / fmax(1.0, sums.n));
    return STATUS_OK;
}

static enum status take_points(struct tune_recorded *recorded)
{
    const struct plan *plan = &recorded->space.plan;
    struct compare_match match;
    json_t *planned = json_array();
    recorded->layouts = calloc(plan->count + 1, sizeof *recorded->layouts);
    if (!recorded->layouts)
        return status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < plan->count; i++) {
        json_t *record = record_planned(&plan->points[i], NULL);
        json_object_set_new(record, "id", json_integer((json_int_t)i));
        json_array_append_new(planned, record);
    }
    enum status status = compare_match(planned, recorded->results.points, &match);
    if (status == STATUS_OK) {
        for (size_t i = 0; i < match.count; i++) {
            size_t index = (size_t)integer_at(match.pairs[i].base, "id");
            recorded->layouts[index] = layout_from(match.pairs[i].change);
            recorded->measured +=
                index < recorded->space.candidates && recorded->layouts[index].ips > 0.0;
        }
        compare_match_release(&match);
    }
    json_decref(planned);
    return status;
}

static enum status take_calibration(const char *path, struct tune_recorded *recorded,
                                    double *seconds)
{
    struct results results;
    struct calibration_record record;
    enum status status = results_load(path, NULL, &results);
    if (status != STATUS_OK)
        return status;
    const json_t *found = json_array_get(results.calibrations, 0);
    if (!found)
        status = status_set(STATUS_USAGE, "'%s' has no calibration", path);
    if (status == STATUS_OK)
        status = calibration_from_json(found, &record);
    if (status == STATUS_OK) {
        recorded->calibration = record.figures;
        recorded->calibrated = true;
        *seconds = record.seconds;
    }
    results_release(&results);
    return status;
}

/* The program that was measured, as its job has it. */
static char **command_of(const json_t *header)
{
    const json_t *argv = json_object_get(json_object_get(header, "workload"), "argv");
    size_t count = json_array_size(argv);
    char **command = count ? calloc(count + 1, sizeof *command) : NULL;
    for (size_t i = 0; i < count && command; i++) {
        const char *word = json_string_value(json_array_get(argv, i));
        command[i] = strdup(word ? word : "");
    }
    return command;
}

enum status recorded_open(const char *job, const char *results, const char *calibration,
                          struct tune_recorded *out, struct tune_truth *truth)
{
    *out = (struct tune_recorded){0};
    *truth = (struct tune_truth){.family = &family, .recorded = out};
    enum status status = results_load(results, NULL, &out->results);
    if (status != STATUS_OK)
        return status;
    truth->cpus = (unsigned)integer_at(out->results.header, "cpus");
    status = job_load(job, &out->job);
    if (status == STATUS_OK) {
        const struct tune_machine machine = {.cpus = truth->cpus};
        out->command = command_of(out->results.header);
        out->job.command = out->command;
        status = tune_space_make(&out->job, &machine, &out->space);
    }
    if (status == STATUS_OK)
        status = take_points(out);
    if (status == STATUS_OK && calibration)
        status = take_calibration(calibration, out, &truth->calibration_s);
    if (status == STATUS_OK)
        status = find_costs(results, &truth->costs);
    if (status != STATUS_OK)
        recorded_close(out);
    return status;
}

void recorded_close(struct tune_recorded *recorded)
{
    if (recorded->space.plan.points)
        tune_space_release(&recorded->space);
    if (recorded->job.sections)
        job_release(&recorded->job);
    free(recorded->layouts);
    for (char **word = recorded->command; word && *word; word++)
        free(*word);
    free(recorded->command);
    results_release(&recorded->results);
    *recorded = (struct tune_recorded){0};
}
