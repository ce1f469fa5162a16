#include "orchestrator/record/internal.h"

/* What share of the samples held down is more than a moment. */
#define HELD_SHARE 0.05

/* A mean clock this far below an earlier window's is more than noise: the steps are of 15 MHz. */
#define SLOWER_SHARE 0.05

/* Before we begin: more than an idle GPU has. */
#define USED_BYTES (UINT64_C(1) << 30)

static json_t *range_object(const struct telemetry_range *range)
{
    if (range->count == 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f}", "min", range->min, "mean", telemetry_mean(range), "max",
                     range->max);
}

static json_t *reasons_array(uint64_t reasons)
{
    json_t *array = json_array();
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t one = reasons & UINT64_C(1) << bit;
        char text[64];
        if (one && one != NVML_THROTTLE_IDLE)
            json_array_append_new(array, json_string(nvml_throttle_text(one, text, sizeof text)));
    }
    return array;
}

json_t *record_telemetry(const struct telemetry_window *window)
{
    static const char *const sources[] = {
        [TELEMETRY_ENERGY_COUNTER] = "counter", [TELEMETRY_ENERGY_POWER] = "power"};
    if (!window->present)
        return NULL;
    bool energy = window->energy_from != TELEMETRY_ENERGY_NONE;
    json_t *object = json_pack("{s:i, s:o, s:o, s:o, s:o}", "samples", (int)window->samples,
                               "sm_clock_mhz", range_object(&window->sm_clock_mhz),
                               "memory_clock_mhz", range_object(&window->memory_clock_mhz),
                               "power_w", range_object(&window->power_w), "temperature_c",
                               range_object(&window->temperature_c));
    if (!object)
        return NULL;
    json_object_set_new(object, "gpu_utilisation",
                        window->utilisation.count ? json_real(telemetry_mean(&window->utilisation))
                                                  : json_null());
    json_object_set_new(object, "memory_used_bytes",
                        window->known_memory ? json_integer((json_int_t)window->memory_used_bytes)
                                             : json_null());
    json_object_set_new(object, "throttle",
                        window->throttle_known ? reasons_array(window->throttle_reasons)
                                               : json_null());
    json_object_set_new(object, "throttled_share",
                        window->throttle_known
                            ? json_real((double)window->throttle_held / window->throttle_known)
                            : json_null());
    json_object_set_new(object, "energy_from",
                        energy ? json_string(sources[window->energy_from]) : json_null());
    json_object_set_new(object, "energy_j", energy ? json_real(window->energy_j) : json_null());
    json_object_set_new(object, "joules_per_iteration",
                        energy && window->energy_iterations > 0.0
                            ? json_real(telemetry_joules_per_iteration(window))
                            : json_null());
    json_object_set_new(object, "processes",
                        window->known_processes ? json_integer((json_int_t)window->processes)
                                                : json_null());
    if (window->silent)
        json_object_set_new(object, "silent", json_true());
    return object;
}

/* What helps against the worst of the reasons. */
static const char *held_advice(uint64_t reasons)
{
    if (reasons & (NVML_THROTTLE_SW_THERMAL | NVML_THROTTLE_HW_THERMAL))
        return "cool it better, or give --warmup and compare only points measured at this heat";
    if (reasons & (NVML_THROTTLE_HW_SLOWDOWN | NVML_THROTTLE_HW_POWER_BRAKE))
        return "its board or power supply asked for it: 'nvidia-smi -q -d PERFORMANCE' shows more";
    return "compare points at one clock that the limit allows: an administrator sets it with "
           "'nvidia-smi -lgc'";
}

/* No number: the table prints a text once for all points that have it. */
static const char *how_long(double share)
{
    return share > 0.95 ? "all the time" : share >= 0.5 ? "most of the time" : "some of the time";
}

static void warn_throttled(json_t *warnings, const struct telemetry_window *window)
{
    char reasons[128], limit[48] = "";
    double share =
        window->throttle_known ? (double)window->throttle_held / window->throttle_known : 0.0;
    uint64_t held = window->throttle_reasons & TELEMETRY_HELD;
    double clock_mhz = telemetry_mean(&window->sm_clock_mhz);
    if (share >= HELD_SHARE) {
        if (held & NVML_THROTTLE_POWER_CAP && window->power_limit_w > 0.0)
            snprintf(limit, sizeof limit, " (limit %.0f W)", window->power_limit_w);
        warnings_add(warnings, "throttled", "the GPU's clock was held down %s: %s%s; %s",
                     how_long(share), nvml_throttle_text(held, reasons, sizeof reasons), limit,
                     held_advice(held));
    } else if (clock_mhz > 0.0 && !(window->throttle_reasons & NVML_THROTTLE_IDLE) &&
               clock_mhz < window->earlier_clock_mhz * (1.0 - SLOWER_SHARE)) {
        warnings_add(
            warnings, "throttled",
            "the GPU's clock was over %.0f%% below that of an earlier point, with which this "
            "one does not compare; measure again with one clock ('nvidia-smi -lgc') or "
            "more --rounds",
            100.0 * SLOWER_SHARE);
    }
}

static void warn_neighbour(json_t *warnings, const struct telemetry_window *window)
{
    static const char advice[] = "'nvidia-smi' shows them; measure when the GPU is yours alone";
    const struct telemetry_before *before = &window->before;
    /* Where processes are known by their number, what was there before adds nothing. */
    unsigned earlier = window->by_pid ? 0 : before->processes;
    unsigned strangers = window->strangers > earlier ? window->strangers : earlier;
    if (strangers > 0)
        warnings_add(warnings, "neighbour", "%s%u process%s not ours held a context on the GPU; %s",
                     window->by_pid ? "" : "at least ", strangers,
                     strangers == 1 ? " that is" : "es that are", advice);
    else if (before->known_utilisation && before->utilisation_percent >= TELEMETRY_BUSY_PERCENT)
        warnings_add(warnings, "neighbour",
                     "the GPU was %u%% busy before the sweep began, with work that is not ours; %s",
                     before->utilisation_percent, advice);
    else if (before->known_memory && before->memory_used_bytes >= USED_BYTES)
        warnings_add(warnings, "neighbour",
                     "%.1f GiB of the GPU's memory were used before the sweep began, though no "
                     "process shows; a process outside this container may compute on it",
                     (double)before->memory_used_bytes / (1 << 30));
}

void warn_telemetry(json_t *warnings, const struct telemetry_window *window)
{
    if (!window->present)
        return;
    warn_throttled(warnings, window);
    warn_neighbour(warnings, window);
}
