/*
 * Results files of many runs, made from those of one: for measuring how merge, plot and explain
 * take a million lines, without measuring a million points.
 *
 *     make_results TEMPLATE.jsonl DIR shard|fleet RUNS POINTS
 *
 * TEMPLATE is what a sweep wrote: its header and the form of its records are kept. What is made is
 * SIMULATED: points are its points with other numbers of threads, queues and so on, throughputs are
 * drawn at random. Runs have GPUs that differ by 0.5% or so; the third part of the runs ends with
 * one whose GPU is slower by 12%. The header's "simulated" records this.
 *
 * shard: each run has POINTS / RUNS points and one for reference. fleet: each has all POINTS.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/random.h"
#include "files/results_read.h"

#define SLOWER 0.88
#define GPU_SCATTER 0.005
#define RUN_SCATTER 0.004

static uint64_t state = 1;

static double normal(void)
{
    double u = ((double)(random_next(&state) >> 11) + 0.5) / 9007199254740992.0;
    double v = (double)(random_next(&state) >> 11) / 9007199254740992.0;
    return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}

struct making {
    struct results template;
    const char *directory;
    bool fleet;
    size_t runs, points;
};

static void write_line(FILE *file, const json_t *record)
{
    json_dumpf(record, file, JSON_COMPACT | JSON_REAL_PRECISION(10));
    fputc('\n', file);
}

/* Points of a plan differ: here in the number of threads, queues, and how they wait and are bound.
 */
static void set_point(json_t *record, size_t id)
{
    static const char *const waits[] = {"auto", "spin", "yield", "block"};
    static const char *const binds[] = {"near", "scatter", "none"};
    size_t rest = id / 8;
    json_object_set_new(record, "id", json_integer((json_int_t)id));
    json_object_set_new(record, "connections", json_integer((json_int_t)(1 + rest % 32)));
    json_object_set_new(record, "connections_default", json_false());
    rest /= 32;
    json_object_set_new(record, "schedule", json_string(waits[rest % 4]));
    rest /= 4;
    json_object_set_new(record, "bind", json_string(binds[rest % 3]));
    rest /= 3;
    json_int_t threads = 1 + (json_int_t)rest;
    json_int_t processes = json_integer_value(json_object_get(record, "processes"));
    json_object_set_new(record, "threads", json_integer(threads));
    json_object_set_new(record, "workers", json_integer(threads * processes));
}

static void set_telemetry(json_t *record, bool slow)
{
    json_object_set_new(record, "telemetry",
                        json_pack("{s:i, s:{s:f, s:f, s:f}, s:{s:f}, s:{s:f}, s:f, s:[]}",
                                  "samples", 20, "sm_clock_mhz", "min", 1200.0, "mean",
                                  slow ? 1210.0 : 1980.0, "max", 1980.0, "power_w", "mean",
                                  slow ? 420.0 : 610.0, "temperature_c", "mean", slow ? 88.0 : 61.0,
                                  "throttled_share", slow ? 0.9 : 0.0, "throttle"));
    if (slow)
        json_array_append_new(json_object_get(json_object_get(record, "telemetry"), "throttle"),
                              json_string("hw thermal"));
}

static void write_point(const struct making *making, FILE *file, size_t id, double gpu, bool slow)
{
    const json_t *points = making->template.points;
    json_t *record = json_deep_copy(json_array_get(points, id % json_array_size(points)));
    double ips = json_number_value(json_object_get(record, "throughput_ips"));
    set_point(record, id);
    set_telemetry(record, slow);
    json_object_set_new(record, "throughput_ips",
                        json_real(ips * gpu * exp(RUN_SCATTER * normal())));
    json_object_set_new(record, "ci95_rel", json_real(RUN_SCATTER));
    write_line(file, record);
    json_decref(record);
}

static json_t *header_of(const struct making *making, size_t run, size_t first, size_t end)
{
    json_t *header = json_deep_copy(making->template.header);
    char text[64], points[64];
    snprintf(text, sizeof text, "GPU-simulated-%06zu", run);
    json_object_set_new(json_object_get(header, "gpu"), "uuid", json_string(text));
    snprintf(text, sizeof text, "node-%04zu", run);
    json_object_set_new(header, "host", json_string(text));
    json_object_set_new(header, "plan", json_integer((json_int_t)making->points));
    json_object_set_new(header, "simulated", json_true());
    if (making->fleet)
        snprintf(points, sizeof points, "0-%zu", making->points - 1);
    else
        snprintf(points, sizeof points, "0,%zu-%zu", first, end - 1);
    json_object_set_new(header, "shard",
                        json_pack("{s:I, s:I, s:s, s:i, s:s, s:s}", "index", (json_int_t)run,
                                  "count", (json_int_t)making->runs, "purpose",
                                  making->fleet ? "fleet" : "shard", "reference",
                                  making->fleet ? 0 : 1, "points", points, "reference_points",
                                  making->fleet ? "" : "0"));
    return header;
}

static int make_run(const struct making *making, size_t run)
{
    char path[4096];
    bool slow = run == making->runs / 3;
    double gpu = exp(GPU_SCATTER * normal()) * (slow ? SLOWER : 1.0);
    size_t first = making->fleet ? 0 : 1 + run * (making->points - 1) / making->runs;
    size_t end =
        making->fleet ? making->points : 1 + (run + 1) * (making->points - 1) / making->runs;
    snprintf(path, sizeof path, "%s/run-%06zu.jsonl", making->directory, run);
    FILE *file = fopen(path, "wx");
    if (!file) {
        fprintf(stderr, "make_results: cannot write '%s': %s\n", path, strerror(errno));
        return 1;
    }
    json_t *header = header_of(making, run, first, end);
    write_line(file, header);
    json_decref(header);
    for (size_t i = 0; i < json_array_size(making->template.calibrations); i++)
        write_line(file, json_array_get(making->template.calibrations, i));
    if (!making->fleet)
        write_point(making, file, 0, gpu, slow);
    for (size_t id = first; id < end; id++)
        write_point(making, file, id, gpu, slow);
    json_t *footer = json_pack("{s:s, s:i, s:{s:I}, s:f}", "type", "footer", "status", 0, "points",
                               "ok", (json_int_t)(end - first), "seconds", 1.0);
    write_line(file, footer);
    json_decref(footer);
    return fclose(file) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct making making = {0};
    if (argc != 6 || (strcmp(argv[3], "shard") != 0 && strcmp(argv[3], "fleet") != 0)) {
        fputs("usage: make_results TEMPLATE.jsonl DIR shard|fleet RUNS POINTS\n", stderr);
        return 1;
    }
    making.directory = argv[2];
    making.fleet = strcmp(argv[3], "fleet") == 0;
    making.runs = strtoul(argv[4], NULL, 10);
    making.points = strtoul(argv[5], NULL, 10);
    if (making.runs == 0 || making.points < 2) {
        fputs("make_results: at least 1 run and 2 points\n", stderr);
        return 1;
    }
    if (results_load(argv[1], NULL, &making.template) != STATUS_OK) {
        fprintf(stderr, "make_results: %s\n", status_text());
        return 1;
    }
    int result = json_array_size(making.template.points) > 0 ? 0 : 1;
    for (size_t run = 0; run < making.runs && result == 0; run++)
        result = make_run(&making, run);
    results_release(&making.template);
    return result;
}
