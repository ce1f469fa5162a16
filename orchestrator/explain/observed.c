#include "orchestrator/explain/observed.h"

#include "orchestrator/explain/point.h"
#include "orchestrator/results/point.h"

/* Of a CPU: more is a host that does not rest, less one that mostly sleeps. */
#define RESTLESS 0.9
#define ASLEEP 0.5
/* Of one worker's throughput, that each of several has: they do not disturb each other. */
#define UNDISTURBED 0.9

static double number(const json_t *record, const char *key)
{
    return json_number_value(json_object_get(record, key));
}

static bool is_observed(const json_t *point)
{
    return json_is_object(json_object_get(point, "observed")) && !explain_point_open(point) &&
           number(point, "throughput_ips") > 0.0;
}

static double workers_of(const json_t *point)
{
    return number(point, "processes") * number(point, "threads");
}

bool explain_has_observed(const json_t *points)
{
    for (size_t i = 0; i < json_array_size(points); i++)
        if (is_observed(json_array_get(points, i)))
            return true;
    return false;
}

static double throughput_of_one(const json_t *points)
{
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        if (is_observed(point) && workers_of(point) == 1.0)
            return number(point, "throughput_ips");
    }
    return 0.0;
}

/* Each worker is in an iteration all the time. */
static void print_host(FILE *out, const json_t *point)
{
    double took_us = 1e6 * workers_of(point) / number(point, "throughput_ips");
    double cpu_us = number(json_object_get(point, "cpu"), "us_per_iteration");
    double share = cpu_us / took_us;
    if (cpu_us <= 0.0)
        return;
    fprintf(out, "  a worker needs %.4g ms for one, and %.4g ms of a CPU (%.0f%%): %s\n",
            took_us / 1e3, cpu_us / 1e3, 100.0 * share,
            share >= RESTLESS
                ? "the host does not rest; it computes, launches, or spins as it waits"
            : share < ASLEEP ? "the host mostly sleeps, or waits for the GPU asleep"
                             : "the host works, and sleeps or waits asleep");
}

static void print_scale(FILE *out, const json_t *point, double one_ips)
{
    double times = one_ips > 0.0 ? number(point, "throughput_ips") / one_ips : 0.0;
    double workers = workers_of(point);
    if (times <= 0.0 || workers <= 1.0)
        return;
    fprintf(out, "  %.0f workers do %.3g times as much as one: %s\n", workers, times,
            times >= UNDISTURBED * workers ? "they hardly disturb each other, and more may do more"
            : json_is_true(json_object_get(point, "mps")) || number(point, "processes") <= 1.0
                ? "they share what limits them: the GPU, CPUs, or a lock of their process"
                : "without MPS processes take turns on the GPU");
}

void explain_print_observed(FILE *out, const json_t *points)
{
    double one_ips = throughput_of_one(points);
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        char name[POINT_TEXT_BYTES];
        if (!is_observed(point))
            continue;
        point_name(point, name);
        fprintf(
            out, "%s: %.4g iterations/s; an iteration is %s\n", name,
            number(point, "throughput_ips"),
            json_string_value(json_object_get(json_object_get(point, "observed"), "iteration")));
        print_host(out, point);
        print_scale(out, point, one_ips);
    }
    fputs(
        "\nCeilings are known of the built-in workloads only: 'mpsweep record' makes a workload of "
        "the program,\nand 'mpsweep trace' shows its calls and kernels.\n",
        out);
}
