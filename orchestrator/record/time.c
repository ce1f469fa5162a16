#include "orchestrator/record/internal.h"

#include <math.h>

json_t *record_real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *phase_object(const struct histogram *histogram)
{
    if (histogram->count == 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:I}", "mean", histogram_mean_ns(histogram) / 1e3, "p50",
                     histogram_quantile_ns(histogram, 0.5) / 1e3, "p99",
                     histogram_quantile_ns(histogram, 0.99) / 1e3, "samples",
                     (json_int_t)histogram->count);
}

static json_t *mean_us(const struct histogram *histogram)
{
    return histogram->count ? json_real(histogram_mean_ns(histogram) / 1e3) : json_null();
}

static void add_phases(json_t *record, const struct point *point, const struct round_phases *phases)
{
    /* One call is the whole phase: nothing is sampled then. */
    bool graph = point->work.launch == LAUNCH_GRAPH && point_is_builtin(point);
    bool single = graph || point->work.kernels == 1;
    json_object_set_new(record, "phase_us",
                        json_pack("{s:o, s:o, s:o, s:o}", "h2d", mean_us(&phases->h2d), "launch",
                                  mean_us(&phases->launch), "sync", mean_us(&phases->sync), "d2h",
                                  mean_us(&phases->d2h)));
    json_object_set_new(record, "phases",
                        json_pack("{s:o, s:o, s:o, s:o, s:o}", "h2d", phase_object(&phases->h2d),
                                  "launch", phase_object(&phases->launch), "launch_call",
                                  phase_object(single ? &phases->launch : &phases->launch_call),
                                  "sync", phase_object(&phases->sync), "d2h",
                                  phase_object(&phases->d2h)));
}

/* NAN, and so null, without an iteration. */
static double per_iteration(uint64_t sum, const struct shm_cpu *cpu)
{
    return (double)sum / (double)cpu->iterations;
}

static double on_cpu(const struct shm_cpu *cpu)
{
    return (double)cpu->cpu_ns / (double)cpu->wall_ns;
}

static void add_cpu(json_t *object, const char *cpu_name, const struct shm_cpu *cpu)
{
    json_object_set_new(object, cpu_name,
                        record_real_or_null(per_iteration(cpu->cpu_ns, cpu) / 1e3));
    json_object_set_new(object, "run_delay_us",
                        record_real_or_null(per_iteration(cpu->delay_ns, cpu) / 1e3));
    json_object_set_new(object, "voluntary_switches",
                        record_real_or_null(per_iteration(cpu->voluntary, cpu)));
    json_object_set_new(object, "involuntary_switches",
                        record_real_or_null(per_iteration(cpu->involuntary, cpu)));
    json_object_set_new(object, "on_cpu", record_real_or_null(on_cpu(cpu)));
}

static int slowest(const struct point *point, const struct round_result *result)
{
    unsigned least = 0;
    for (unsigned i = 1; i < point_workers(point); i++)
        if (result->workers[i].ips < result->workers[least].ips)
            least = i;
    return (int)least;
}

void record_add_time(json_t *record, const struct point *point, const struct round_result *result)
{
    json_t *cpu = json_object();
    add_cpu(cpu, "us_per_iteration", &result->cpu);
    json_object_set_new(cpu, "in_use", record_real_or_null(round_cpus_in_use(point, result)));
    add_phases(record, point, &result->phases);
    json_object_set_new(record, "cpu", cpu);
    json_object_set_new(record, "slowest_worker", json_integer(slowest(point, result)));
}

void record_add_worker_time(json_t *entry, const struct round_worker *worker)
{
    add_cpu(entry, "cpu_us_per_iteration", &worker->cpu);
    json_object_set_new(entry, "h2d_us", record_real_or_null(worker->h2d_us));
    json_object_set_new(entry, "launch_us", record_real_or_null(worker->launch_us));
    json_object_set_new(entry, "sync_us", record_real_or_null(worker->sync_us));
    json_object_set_new(entry, "d2h_us", record_real_or_null(worker->d2h_us));
}
