/* What samples show about a window: pure computation, so that every number here is exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/session/telemetry_window.h"
#include "orchestrator/record/internal.h"

#define MS UINT64_C(1000000)
#define SAMPLES 12

/* Every 100 ms from 50 ms on, 200 W by the counter and 250 W by the power, and all else known. */
static void make_samples(struct telemetry_sample *samples)
{
    memset(samples, 0, SAMPLES * sizeof *samples);
    for (size_t i = 0; i < SAMPLES; i++) {
        struct nvml_sample *gpu = &samples[i].gpu;
        samples[i].time_ns = (50 + 100 * i) * MS;
        gpu->known_energy = gpu->known_power = gpu->known_sm_clock = gpu->known_throttle = true;
        gpu->known_memory = gpu->known_utilisation = true;
        gpu->energy_millijoules = 1000000 + 20000 * i;
        gpu->power_milliwatts = 250000;
        gpu->sm_clock_mhz = 1980;
        gpu->utilisation_percent = 50;
        gpu->memory_used_bytes = 1000 + i;
    }
}

static struct telemetry_window sum(const struct telemetry_sample *samples, size_t count,
                                   uint64_t begin_ms, uint64_t end_ms)
{
    struct telemetry_window window = {.present = true};
    telemetry_window_sum(samples, count, begin_ms * MS, end_ms * MS, 100.0, &window);
    return window;
}

static void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%.12g instead of %.12g", value, wanted);
}

static void counter_is_interpolated_at_both_ends(void **state)
{
    (void)state;
    struct telemetry_sample samples[SAMPLES];
    make_samples(samples);
    struct telemetry_window window = sum(samples, SAMPLES, 100, 1100);
    assert_int_equal(window.energy_from, TELEMETRY_ENERGY_COUNTER);
    assert_near(window.energy_j, 200.0);
    assert_near(telemetry_joules_per_iteration(&window), 2.0);
    /* Only what lies within the window. */
    assert_int_equal(window.samples, 10);
    assert_int_equal(window.memory_used_bytes, 1010);
    assert_near(telemetry_mean(&window.utilisation), 0.5);
    assert_near(telemetry_mean(&window.power_w), 250.0);
    /* Ends that fall on samples. */
    window = sum(samples, SAMPLES, 150, 1050);
    assert_near(window.energy_j, 180.0);
    assert_int_equal(window.samples, 10);
}

static void power_stands_in_for_the_counter(void **state)
{
    (void)state;
    struct telemetry_sample samples[SAMPLES];
    make_samples(samples);
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i].gpu.known_energy = false;
    struct telemetry_window window = sum(samples, SAMPLES, 100, 1100);
    assert_int_equal(window.energy_from, TELEMETRY_ENERGY_POWER);
    assert_near(window.energy_j, 250.0);

    /* A ramp from 0 W at 50 ms: the integral of t over the window. */
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i].gpu.power_milliwatts = (uint32_t)(100000 * i);
    window = sum(samples, SAMPLES, 100, 1100);
    assert_near(window.energy_j, 550.0);

    /* One sample holds for all of it; before the window as well as in it. */
    assert_near(sum(samples + 5, 1, 100, 1100).energy_j, 500.0);
    assert_near(sum(samples + 1, 1, 1000, 1100).energy_j, 10.0);

    for (size_t i = 0; i < SAMPLES; i++)
        samples[i].gpu.known_power = false;
    window = sum(samples, SAMPLES, 100, 1100);
    assert_int_equal(window.energy_from, TELEMETRY_ENERGY_NONE);
    assert_near(telemetry_joules_per_iteration(&window), 0.0);
}

/* Of 32 bits, reset with its driver, stuck, or not known around the window: no difference of it is
 * an energy. */
static void doubtful_counter_is_not_used(void **state)
{
    (void)state;
    struct telemetry_sample samples[SAMPLES];
    make_samples(samples);
    for (size_t i = 6; i < SAMPLES; i++)
        samples[i].gpu.energy_millijoules = 20000 * i;
    assert_int_equal(sum(samples, SAMPLES, 100, 1100).energy_from, TELEMETRY_ENERGY_POWER);

    make_samples(samples);
    samples[6].gpu.energy_millijoules = 3;
    assert_int_equal(sum(samples, SAMPLES, 100, 1100).energy_from, TELEMETRY_ENERGY_POWER);

    make_samples(samples);
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i].gpu.energy_millijoules = 77;
    assert_int_equal(sum(samples, SAMPLES, 100, 1100).energy_from, TELEMETRY_ENERGY_POWER);

    /* Known of half the window it stands for the whole, of less it does not. */
    make_samples(samples);
    assert_near(sum(samples, SAMPLES - 1, 100, 1100).energy_j, 200.0);
    assert_near(sum(samples + 1, SAMPLES - 1, 100, 1100).energy_j, 200.0);
    assert_int_equal(sum(samples, 7, 100, 1100).energy_from, TELEMETRY_ENERGY_COUNTER);
    assert_int_equal(sum(samples, 6, 100, 1100).energy_from, TELEMETRY_ENERGY_POWER);
    assert_int_equal(sum(samples + 7, 5, 100, 1100).energy_from, TELEMETRY_ENERGY_POWER);

    /* A sample that could not be read is passed over. */
    samples[1].gpu.known_energy = samples[7].gpu.known_energy = false;
    struct telemetry_window window = sum(samples, SAMPLES, 100, 1100);
    assert_int_equal(window.energy_from, TELEMETRY_ENERGY_COUNTER);
    assert_near(window.energy_j, 200.0);
}

static void nothing_known_is_nothing_said(void **state)
{
    (void)state;
    struct telemetry_sample samples[SAMPLES] = {0};
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i].time_ns = (50 + 100 * i) * MS;
    struct telemetry_window window = sum(samples, SAMPLES, 100, 1100);
    assert_int_equal(window.samples, 10);
    json_t *object = record_telemetry(&window);
    static const char *const keys[] = {"sm_clock_mhz",  "memory_clock_mhz",     "power_w",
                                       "temperature_c", "gpu_utilisation",      "memory_used_bytes",
                                       "throttle",      "throttled_share",      "energy_from",
                                       "energy_j",      "joules_per_iteration", "processes"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (!json_is_null(json_object_get(object, keys[i])))
            fail_msg("%s is not null", keys[i]);
    assert_null(json_object_get(object, "silent"));
    json_decref(object);
    json_t *warnings = json_array();
    warn_telemetry(warnings, &window);
    assert_int_equal(json_array_size(warnings), 0);
    json_decref(warnings);

    struct telemetry_window absent = {0};
    assert_null(record_telemetry(&absent));
    window = sum(NULL, 0, 100, 1100);
    assert_int_equal(window.samples, 0);
    assert_int_equal(window.energy_from, TELEMETRY_ENERGY_NONE);
}

static void rounds_add_up(void **state)
{
    (void)state;
    struct telemetry_sample samples[SAMPLES];
    make_samples(samples);
    struct telemetry_window later = sum(samples, SAMPLES, 100, 1100);
    for (size_t i = 0; i < SAMPLES; i++) {
        samples[i].gpu.known_energy = false;
        samples[i].gpu.sm_clock_mhz = 1000;
        samples[i].gpu.memory_used_bytes = 5000;
        samples[i].gpu.throttle_reasons = NVML_THROTTLE_POWER_CAP;
    }
    struct telemetry_window earlier = sum(samples, SAMPLES, 100, 600);
    telemetry_window_merge(&later, &earlier);
    assert_int_equal(later.samples, 15);
    assert_near(later.sm_clock_mhz.min, 1000.0);
    assert_near(later.sm_clock_mhz.max, 1980.0);
    assert_near(telemetry_mean(&later.sm_clock_mhz), (10 * 1980.0 + 5 * 1000.0) / 15);
    assert_int_equal(later.memory_used_bytes, 5000);
    assert_int_equal(later.energy_from, TELEMETRY_ENERGY_POWER);
    assert_near(later.energy_j, 200.0 + 125.0);
    assert_near(telemetry_joules_per_iteration(&later), 325.0 / 200.0);
    assert_int_equal(later.throttle_held, 5);
    assert_int_equal(later.throttle_known, 15);

    /* An empty one, of a round without an answer, changes nothing but that. */
    struct telemetry_window silent = {.present = true, .silent = true}, before = later;
    telemetry_window_merge(&later, &silent);
    assert_true(later.silent);
    assert_near(later.energy_j, before.energy_j);
    assert_near(later.sm_clock_mhz.min, 1000.0);
    telemetry_window_merge(&silent, &before);
    assert_near(silent.sm_clock_mhz.min, 1000.0);
}

static const char *warning(const struct telemetry_window *window, const char *kind)
{
    static char text[1024];
    json_t *warnings = json_array();
    *text = '\0';
    warn_telemetry(warnings, window);
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const json_t *one = json_array_get(warnings, i);
        if (strcmp(json_string_value(json_object_get(one, "kind")), kind) == 0)
            snprintf(text, sizeof text, "%s", json_string_value(json_object_get(one, "text")));
    }
    json_decref(warnings);
    return text;
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' does not contain '%s'", text, part);
}

static void throttling_amid_the_window_is_warned_of(void **state)
{
    (void)state;
    struct telemetry_sample samples[SAMPLES];
    make_samples(samples);
    assert_string_equal(warning(&(struct telemetry_window){0}, "throttled"), "");
    for (size_t i = 3; i < 7; i++)
        samples[i].gpu.throttle_reasons = NVML_THROTTLE_POWER_CAP;
    samples[9].gpu.throttle_reasons = NVML_THROTTLE_CLOCKS_SETTING;
    struct telemetry_window window = sum(samples, SAMPLES, 100, 1100);
    window.power_limit_w = 700.0;
    assert_says(warning(&window, "throttled"),
                "held down some of the time: power cap (limit 700 W); ");
    assert_says(warning(&window, "throttled"), "nvidia-smi -lgc");
    json_t *object = record_telemetry(&window);
    json_t *names = json_object_get(object, "throttle");
    assert_int_equal(json_array_size(names), 2);
    assert_string_equal(json_string_value(json_array_get(names, 0)), "clocks setting");
    assert_near(json_number_value(json_object_get(object, "throttled_share")), 0.4);
    json_decref(object);

    /* Before the window and after it, idle, or by the user's choice: no concern. */
    make_samples(samples);
    samples[0].gpu.throttle_reasons = samples[11].gpu.throttle_reasons = NVML_THROTTLE_HW_THERMAL;
    samples[4].gpu.throttle_reasons = NVML_THROTTLE_IDLE;
    samples[5].gpu.throttle_reasons = NVML_THROTTLE_CLOCKS_SETTING;
    window = sum(samples, SAMPLES, 100, 1100);
    assert_string_equal(warning(&window, "throttled"), "");
    make_samples(samples);
    samples[4].gpu.throttle_reasons = NVML_THROTTLE_HW_THERMAL;
    window = sum(samples, SAMPLES, 100, 1100);
    assert_says(warning(&window, "throttled"), "some of the time: hw thermal; cool");
    window.throttle_known = 1000; /* one moment of a long window */
    assert_string_equal(warning(&window, "throttled"), "");
}

static void slower_clock_than_before_is_warned_of(void **state)
{
    (void)state;
    struct telemetry_sample samples[SAMPLES];
    make_samples(samples);
    struct telemetry_window window = sum(samples, SAMPLES, 100, 1100);
    window.earlier_clock_mhz = 2010.0;
    assert_string_equal(warning(&window, "throttled"), "");
    window.earlier_clock_mhz = 2100.0;
    assert_says(warning(&window, "throttled"), "over 5% below that of an earlier point");
    window.throttle_reasons = NVML_THROTTLE_IDLE;
    assert_string_equal(warning(&window, "throttled"), "");
}

static void look(struct telemetry_sample *sample, bool by_pid, uint32_t processes,
                 uint32_t strangers)
{
    sample->look = (struct telemetry_look){
        .known = true, .by_pid = by_pid, .processes = processes, .strangers = strangers};
}

static void neighbour_is_one_that_two_looks_have_seen(void **state)
{
    (void)state;
    struct telemetry_sample samples[SAMPLES];
    make_samples(samples);
    look(&samples[1], true, 4, 0);
    look(&samples[6], true, 5, 1);
    struct telemetry_window window = sum(samples, SAMPLES, 100, 1100);
    assert_true(window.known_processes);
    assert_int_equal(window.processes, 5);
    assert_string_equal(warning(&window, "neighbour"), "");
    look(&samples[10], true, 6, 2);
    window = sum(samples, SAMPLES, 100, 1100);
    assert_says(warning(&window, "neighbour"), "1 process that is not ours");
    /* The one look of a short window is all there is. */
    window = sum(samples + 10, 2, 1000, 1100);
    assert_says(warning(&window, "neighbour"), "2 processes that are not ours");
    /* Not after the window, when ours are going. */
    look(&samples[11], true, 9, 9);
    window = sum(samples, SAMPLES, 100, 1100);
    assert_int_equal(window.processes, 6);

    /* By number alone. */
    look(&samples[6], false, 5, 3);
    look(&samples[10], false, 5, 3);
    window = sum(samples, SAMPLES, 100, 1100);
    assert_says(warning(&window, "neighbour"), "at least 3 processes");
}

static void work_before_the_sweep_is_warned_of(void **state)
{
    (void)state;
    struct telemetry_sample samples[SAMPLES];
    make_samples(samples);
    look(&samples[1], true, 1, 0);
    struct telemetry_window window = sum(samples, SAMPLES, 100, 1100);
    window.before = (struct telemetry_before){.known_utilisation = true,
                                              .utilisation_percent = 3,
                                              .known_memory = true,
                                              .memory_used_bytes = 500 << 20};
    assert_string_equal(warning(&window, "neighbour"), "");
    window.before.utilisation_percent = 90;
    assert_says(warning(&window, "neighbour"), "90% busy before the sweep");
    window.before.utilisation_percent = 0;
    window.before.memory_used_bytes = UINT64_C(3) << 30;
    assert_says(warning(&window, "neighbour"), "3.0 GiB of the GPU's memory");
    window.before.known_memory = false;
    assert_string_equal(warning(&window, "neighbour"), "");

    /* Processes that were there count unless we know that they are gone. */
    window.before.processes = 2;
    assert_string_equal(warning(&window, "neighbour"), "");
    window.by_pid = false;
    assert_says(warning(&window, "neighbour"), "at least 2 processes");
}

static bool few_cores(unsigned workers, enum work_schedule schedule, unsigned cpus, double quota)
{
    struct point point = {.processes = 1, .threads = workers, .work = {.schedule = schedule}};
    const struct cores cores = {.cpus = cpus, .quota = quota};
    json_t *warnings = json_array();
    warn_cores(warnings, &point, &cores);
    size_t count = json_array_size(warnings);
    json_decref(warnings);
    return count == 1;
}

static void workers_that_spin_need_a_cpu_each(void **state)
{
    (void)state;
    assert_false(few_cores(16, SCHEDULE_AUTO, 16, 0));
    assert_true(few_cores(17, SCHEDULE_AUTO, 16, 0));
    assert_true(few_cores(17, SCHEDULE_SPIN, 16, 0));
    assert_false(few_cores(17, SCHEDULE_YIELD, 16, 0));
    assert_false(few_cores(17, SCHEDULE_BLOCK, 16, 0));
    assert_true(few_cores(3, SCHEDULE_YIELD, 16, 2.5));
    assert_true(few_cores(3, SCHEDULE_AUTO, 16, 2.5));
    assert_false(few_cores(2, SCHEDULE_SPIN, 16, 2.5));
    assert_false(few_cores(3, SCHEDULE_BLOCK, 16, 2.5));
    /* A quota above the CPUs does not bind; without known CPUs there is no concern. */
    assert_false(few_cores(16, SCHEDULE_SPIN, 16, 32));
    assert_false(few_cores(40, SCHEDULE_YIELD, 16, 32));
    assert_false(few_cores(99, SCHEDULE_SPIN, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_is_interpolated_at_both_ends),
        cmocka_unit_test(power_stands_in_for_the_counter),
        cmocka_unit_test(doubtful_counter_is_not_used),
        cmocka_unit_test(nothing_known_is_nothing_said),
        cmocka_unit_test(rounds_add_up),
        cmocka_unit_test(throttling_amid_the_window_is_warned_of),
        cmocka_unit_test(slower_clock_than_before_is_warned_of),
        cmocka_unit_test(neighbour_is_one_that_two_looks_have_seen),
        cmocka_unit_test(work_before_the_sweep_is_warned_of),
        cmocka_unit_test(workers_that_spin_need_a_cpu_each),
    };
    return cmocka_run_group_tests_name("telemetry window", tests, NULL, NULL);
}
