#include "orchestrator/session/telemetry_window.h"

#include <math.h>

static void range_add(struct telemetry_range *range, double value)
{
    range->min = range->count == 0 ? value : fmin(range->min, value);
    range->max = range->count == 0 ? value : fmax(range->max, value);
    range->sum += value;
    range->count++;
}

static void range_merge(struct telemetry_range *later, const struct telemetry_range *earlier)
{
    if (earlier->count == 0)
        return;
    later->min = later->count == 0 ? earlier->min : fmin(later->min, earlier->min);
    later->max = later->count == 0 ? earlier->max : fmax(later->max, earlier->max);
    later->sum += earlier->sum;
    later->count += earlier->count;
}

double telemetry_mean(const struct telemetry_range *range)
{
    return range->count ? range->sum / range->count : 0.0;
}

static void add_sample(const struct nvml_sample *gpu, struct telemetry_window *out)
{
    out->samples++;
    if (gpu->known_sm_clock)
        range_add(&out->sm_clock_mhz, gpu->sm_clock_mhz);
    if (gpu->known_memory_clock)
        range_add(&out->memory_clock_mhz, gpu->memory_clock_mhz);
    if (gpu->known_power)
        range_add(&out->power_w, gpu->power_milliwatts / 1e3);
    if (gpu->known_utilisation)
        range_add(&out->utilisation, gpu->utilisation_percent / 100.0);
    if (gpu->known_temperature)
        range_add(&out->temperature_c, gpu->temperature_celsius);
    if (gpu->known_memory) {
        out->known_memory = true;
        if (gpu->memory_used_bytes > out->memory_used_bytes)
            out->memory_used_bytes = gpu->memory_used_bytes;
    }
    if (gpu->known_throttle) {
        out->throttle_known++;
        out->throttle_held += (gpu->throttle_reasons & TELEMETRY_HELD) != 0;
        out->throttle_reasons |= gpu->throttle_reasons;
    }
}

/* The joules counted up to a moment, along a line through the samples around it; false where none
 * is before or none is after it. */
static bool energy_at(const struct telemetry_sample *samples, size_t count, uint64_t when_ns,
                      double *joules)
{
    const struct telemetry_sample *before = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct telemetry_sample *sample = &samples[i];
        if (!sample->gpu.known_energy)
            continue;
        double here = (double)sample->gpu.energy_millijoules / 1e3;
        if (sample->time_ns == when_ns) {
            *joules = here;
            return true;
        }
        if (sample->time_ns < when_ns) {
            before = sample;
            continue;
        }
        if (!before)
            return false;
        double there = (double)before->gpu.energy_millijoules / 1e3;
        double share =
            (double)(when_ns - before->time_ns) / (double)(sample->time_ns - before->time_ns);
        *joules = there + (here - there) * share;
        return true;
    }
    return false;
}

/* The time that the counter is known for. False where it runs backwards, reset with its driver or
 * wrapped: the difference would be anything. */
static bool counter_span(const struct telemetry_sample *samples, size_t count, uint64_t *first_ns,
                         uint64_t *last_ns)
{
    uint64_t last = 0;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!samples[i].gpu.known_energy)
            continue;
        if (samples[i].gpu.energy_millijoules < last)
            return false;
        last = samples[i].gpu.energy_millijoules;
        if (!any)
            *first_ns = samples[i].time_ns;
        *last_ns = samples[i].time_ns;
        any = true;
    }
    return any;
}

static bool energy_by_counter(const struct telemetry_sample *samples, size_t count,
                              uint64_t begin_ns, uint64_t end_ns, double *joules)
{
    double begin, end;
    uint64_t from_ns, to_ns;
    if (!counter_span(samples, count, &from_ns, &to_ns))
        return false;
    /* A first sample that came late, or a last one that is missing: the rest stands for it. */
    from_ns = from_ns > begin_ns ? from_ns : begin_ns;
    to_ns = to_ns < end_ns ? to_ns : end_ns;
    if (to_ns <= from_ns || (to_ns - from_ns) * 2 < end_ns - begin_ns ||
        !energy_at(samples, count, from_ns, &begin) || !energy_at(samples, count, to_ns, &end))
        return false;
    /* It moves in steps: no step within a short window is not a measurement. */
    *joules = (end - begin) * (double)(end_ns - begin_ns) / (double)(to_ns - from_ns);
    return *joules > 0.0;
}

/* Trapezoids between samples; the first and the last value hold up to the window's ends. */
static bool energy_by_power(const struct telemetry_sample *samples, size_t count, uint64_t begin_ns,
                            uint64_t end_ns, double *joules)
{
    double sum = 0.0, before_w = 0.0;
    uint64_t before_ns = 0;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!samples[i].gpu.known_power)
            continue;
        uint64_t now_ns = samples[i].time_ns;
        double now_w = samples[i].gpu.power_milliwatts / 1e3;
        uint64_t from_ns = any && before_ns > begin_ns ? before_ns : begin_ns;
        uint64_t to_ns = now_ns < end_ns ? now_ns : end_ns;
        if (to_ns > from_ns) {
            double from_w = now_w, to_w = now_w;
            if (any) {
                double length = (double)(now_ns - before_ns);
                from_w = before_w + (now_w - before_w) * (double)(from_ns - before_ns) / length;
                to_w = before_w + (now_w - before_w) * (double)(to_ns - before_ns) / length;
            }
            sum += (from_w + to_w) / 2.0 * (double)(to_ns - from_ns) / 1e9;
        }
        before_ns = now_ns;
        before_w = now_w;
        any = true;
    }
    if (any && before_ns < end_ns)
        sum += before_w * (double)(end_ns - (before_ns > begin_ns ? before_ns : begin_ns)) / 1e9;
    *joules = sum;
    return any && sum > 0.0;
}

static void add_energy(const struct telemetry_sample *samples, size_t count, uint64_t begin_ns,
                       uint64_t end_ns, double iterations, struct telemetry_window *out)
{
    double joules;
    if (energy_by_counter(samples, count, begin_ns, end_ns, &joules))
        out->energy_from = TELEMETRY_ENERGY_COUNTER;
    else if (energy_by_power(samples, count, begin_ns, end_ns, &joules))
        out->energy_from = TELEMETRY_ENERGY_POWER;
    else
        return;
    out->energy_j = joules;
    out->energy_iterations = iterations;
}

/* A process that is just ending may be seen once: a number of strangers counts that two looks have
 * reached, or the only one. */
static void add_looks(const struct telemetry_sample *samples, size_t count, uint64_t begin_ns,
                      uint64_t end_ns, struct telemetry_window *out)
{
    unsigned looks = 0;
    uint32_t most = 0, second = 0;
    bool by_pid = true;
    for (size_t i = 0; i < count; i++) {
        const struct telemetry_look *look = &samples[i].look;
        if (!look->known || samples[i].time_ns < begin_ns || samples[i].time_ns > end_ns)
            continue;
        looks++;
        by_pid = by_pid && look->by_pid;
        if (look->processes > out->processes)
            out->processes = look->processes;
        if (look->strangers > most) {
            second = most;
            most = look->strangers;
        } else if (look->strangers > second) {
            second = look->strangers;
        }
    }
    if (looks == 0)
        return;
    out->known_processes = true;
    out->by_pid = by_pid;
    out->strangers = looks > 1 ? second : most;
}

void telemetry_window_sum(const struct telemetry_sample *samples, size_t count, uint64_t begin_ns,
                          uint64_t end_ns, double iterations, struct telemetry_window *out)
{
    for (size_t i = 0; i < count; i++)
        if (samples[i].time_ns >= begin_ns && samples[i].time_ns <= end_ns)
            add_sample(&samples[i].gpu, out);
    if (end_ns > begin_ns)
        add_energy(samples, count, begin_ns, end_ns, iterations, out);
    add_looks(samples, count, begin_ns, end_ns, out);
}

void telemetry_window_merge(struct telemetry_window *later, const struct telemetry_window *earlier)
{
    later->present = later->present || earlier->present;
    later->silent = later->silent || earlier->silent;
    later->samples += earlier->samples;
    range_merge(&later->sm_clock_mhz, &earlier->sm_clock_mhz);
    range_merge(&later->memory_clock_mhz, &earlier->memory_clock_mhz);
    range_merge(&later->power_w, &earlier->power_w);
    range_merge(&later->utilisation, &earlier->utilisation);
    range_merge(&later->temperature_c, &earlier->temperature_c);
    later->known_memory = later->known_memory || earlier->known_memory;
    if (earlier->memory_used_bytes > later->memory_used_bytes)
        later->memory_used_bytes = earlier->memory_used_bytes;
    later->throttle_known += earlier->throttle_known;
    later->throttle_held += earlier->throttle_held;
    later->throttle_reasons |= earlier->throttle_reasons;
    if (later->power_limit_w <= 0.0)
        later->power_limit_w = earlier->power_limit_w;
    /* The less exact of the two is what both together are. */
    if (earlier->energy_from > later->energy_from)
        later->energy_from = earlier->energy_from;
    later->energy_j += earlier->energy_j;
    later->energy_iterations += earlier->energy_iterations;
    if (earlier->known_processes) {
        later->by_pid = earlier->by_pid && (later->by_pid || !later->known_processes);
        later->known_processes = true;
    }
    if (earlier->processes > later->processes)
        later->processes = earlier->processes;
    if (earlier->strangers > later->strangers)
        later->strangers = earlier->strangers;
    later->earlier_clock_mhz = fmax(later->earlier_clock_mhz, earlier->earlier_clock_mhz);
}

double telemetry_joules_per_iteration(const struct telemetry_window *window)
{
    return window->energy_iterations > 0.0 ? window->energy_j / window->energy_iterations : 0.0;
}
