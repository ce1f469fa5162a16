/* The thread that samples, with a fake NVML that answers, lacks queries, and hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "orchestrator/session/telemetry.h"

#define PATIENCE_NS (60 * NS_PER_S)

static char whole[4096], partial[4096];
static void (*say)(const char *words);
static int (*hanging)(void), (*samples)(void), (*ends)(void);

/* What the fake exports beside NVML's own; the handle stays open, as the library's code would. */
static int load_fake(void **state)
{
    (void)state;
    const char *build = getenv("MPSWEEP_BUILD_DIR");
    snprintf(whole, sizeof whole, "%s/tests/unit/device/fake_nvml_whole.so", build ? build : ".");
    snprintf(partial, sizeof partial, "%s/tests/unit/device/fake_nvml.so", build ? build : ".");
    void *library = dlopen(whole, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return -1;
    const struct {
        const char *name;
        void *target;
    } rows[] = {{"fake_nvml_say", &say},
                {"fake_nvml_hanging", &hanging},
                {"fake_nvml_samples", &samples},
                {"fake_nvml_ends", &ends}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *symbol = dlsym(library, rows[i].name);
        memcpy(rows[i].target, &symbol, sizeof symbol);
        if (!symbol)
            return -1;
    }
    unsetenv("FAKE_NVML");
    return 0;
}

static void await(int (*value)(void), int least)
{
    uint64_t end_ns = clock_now_ns() + PATIENCE_NS;
    while (value() < least) {
        if (clock_now_ns() > end_ns)
            fail_msg("waited in vain for %d", least);
        clock_sleep_until(clock_now_ns() + NS_PER_MS);
    }
}

static struct telemetry *open_whole(const char *words)
{
    struct telemetry *telemetry;
    say(words);
    const struct telemetry_request request = {
        .library = whole, .uuids = &(const char *){"GPU-one"}, .gpus = 1};
    assert_int_equal(telemetry_open(&request, &telemetry), STATUS_OK);
    assert_non_null(telemetry);
    return telemetry;
}

/* A window of some samples, with that many processes of ours. */
static struct telemetry_window window_of(struct telemetry *telemetry, unsigned workers)
{
    struct telemetry_window window;
    int before = samples();
    telemetry_begin(telemetry, clock_now_ns(), 1, workers, false);
    await(samples, before + 3);
    telemetry_end(telemetry, clock_now_ns());
    telemetry_collect(telemetry, 0, 100.0, &window);
    return window;
}

static void window_is_sampled(void **state)
{
    (void)state;
    struct telemetry *telemetry = open_whole("alone");
    struct nvml_limits limits = telemetry_limits(telemetry, 0);
    assert_int_equal(limits.max_sm_clock_mhz, 2010);
    assert_int_equal(limits.power_limit_milliwatts, 700000);
    assert_true(limits.known_reserved);

    struct telemetry_window window = window_of(telemetry, 1);
    assert_true(window.present);
    assert_false(window.silent);
    assert_true(window.samples >= 2);
    assert_int_equal(window.energy_from, TELEMETRY_ENERGY_COUNTER);
    assert_true(window.energy_j > 0.0);
    assert_true(telemetry_joules_per_iteration(&window) == window.energy_j / 100.0);
    assert_true(window.sm_clock_mhz.min == 1980.0);
    assert_true(window.memory_clock_mhz.max == 345.0);
    assert_true(window.power_w.max == 300.0);
    assert_true(window.power_limit_w == 700.0);
    assert_int_equal(window.throttle_reasons, 0x44);
    assert_int_equal(window.throttle_held, window.throttle_known);
    assert_int_equal(window.memory_used_bytes, 4 << 20);
    assert_true(window.known_processes);
    assert_int_equal(window.processes, 0);
    assert_true(window.earlier_clock_mhz == 0.0);

    /* What changes amid the sweep. */
    say("alone calm slow no-energy");
    window = window_of(telemetry, 1);
    assert_int_equal(window.energy_from, TELEMETRY_ENERGY_POWER);
    assert_int_equal(window.throttle_held, 0);
    assert_true(window.sm_clock_mhz.max == 1200.0);
    assert_true(window.earlier_clock_mhz == 1980.0);
    telemetry_close(telemetry);
}

/* One thread samples all GPUs; each has its own numbers, and its own highest clock. */
static void each_gpu_has_its_own_window(void **state)
{
    (void)state;
    static const char *const uuids[] = {"GPU-one", "GPU-slow", "GPU-three"};
    struct telemetry *telemetry;
    struct telemetry_window windows[2];
    say("alone");
    struct telemetry_request request = {.library = whole, .uuids = uuids, .gpus = 3};
    assert_int_equal(telemetry_open(&request, &telemetry), STATUS_OK);
    assert_non_null(telemetry);
    assert_int_equal(telemetry_limits(telemetry, 2).power_limit_milliwatts, 700000);
    for (unsigned round = 0; round < 2; round++) {
        int before = samples();
        /* The third one is not in the point. */
        telemetry_begin(telemetry, clock_now_ns(), 2, 1, false);
        await(samples, before + 6);
        telemetry_end(telemetry, clock_now_ns());
        for (unsigned gpu = 0; gpu < 2; gpu++) {
            telemetry_collect(telemetry, gpu, 100.0 * (gpu + 1), &windows[gpu]);
            assert_true(windows[gpu].samples >= 2);
            assert_false(windows[gpu].silent);
            assert_true(windows[gpu].sm_clock_mhz.min == (gpu ? 1200.0 : 1980.0));
            assert_true(windows[gpu].energy_iterations == 100.0 * (gpu + 1));
            assert_true(windows[gpu].energy_j > 0.0);
            double earlier_mhz = gpu ? 1200.0 : 1980.0;
            assert_true(windows[gpu].earlier_clock_mhz == (round ? earlier_mhz : 0.0));
        }
    }
    assert_int_equal(windows[0].samples, windows[1].samples);
    telemetry_close(telemetry);
    /* All or none. */
    request = (struct telemetry_request){
        .library = whole, .uuids = (const char *const[]){"GPU-one", "none"}, .gpus = 2};
    assert_int_equal(telemetry_open(&request, &telemetry), STATUS_OK);
    assert_null(telemetry);
}

static void old_library_gives_what_it_has(void **state)
{
    (void)state;
    struct telemetry *telemetry;
    struct telemetry_window window;
    const struct telemetry_request request = {
        .library = partial, .uuids = &(const char *){"GPU-one"}, .gpus = 1};
    assert_int_equal(telemetry_open(&request, &telemetry), STATUS_OK);
    assert_non_null(telemetry);
    assert_false(telemetry_limits(telemetry, 0).known_reserved);
    uint64_t begin_ns = clock_now_ns();
    telemetry_begin(telemetry, begin_ns, 1, 2, false);
    telemetry_end(telemetry, clock_now_ns());
    telemetry_collect(telemetry, 0, 1.0, &window);
    assert_true(window.present);
    assert_int_equal(window.energy_from, TELEMETRY_ENERGY_NONE);
    telemetry_close(telemetry);
}

static void without_nvml_there_is_none(void **state)
{
    (void)state;
    struct telemetry *telemetry;
    struct telemetry_window window;
    struct telemetry_request request = {.library = "/nonexistent/libnvidia-ml.so.1",
                                        .uuids = &(const char *){"GPU-one"},
                                        .gpus = 1};
    assert_int_equal(telemetry_open(&request, &telemetry), STATUS_OK);
    assert_null(telemetry);
    request = (struct telemetry_request){
        .library = partial, .uuids = &(const char *){"GPU-two"}, .gpus = 1};
    assert_int_equal(telemetry_open(&request, &telemetry), STATUS_OK);
    assert_null(telemetry);

    telemetry_begin(NULL, 1, 1, 1, false);
    telemetry_end(NULL, 2);
    telemetry_collect(NULL, 0, 1.0, &window);
    assert_false(window.present);
    assert_int_equal(telemetry_limits(NULL, 0).max_sm_clock_mhz, 0);
    telemetry_close(NULL);
}

static void processes_are_told_by_their_ancestor(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    struct telemetry *telemetry = open_whole("alone");
    say("ours");
    struct telemetry_window window = window_of(telemetry, 1);
    assert_int_equal(window.processes, 1);
    assert_true(window.by_pid);
    assert_int_equal(window.strangers, 0);
    say("ours stranger");
    window = window_of(telemetry, 1);
    assert_int_equal(window.processes, 2);
    assert_int_equal(window.strangers, 1);

    /* One number that is ours by chance does not prove another. */
    window = window_of(telemetry, 2);
    assert_false(window.by_pid);
    assert_int_equal(window.strangers, 0);

    /* By numbers of elsewhere: two are there, of which we know one, two, or none. */
    say("");
    window = window_of(telemetry, 1);
    assert_false(window.by_pid);
    assert_int_equal(window.strangers, 1);
    assert_int_equal(window_of(telemetry, 2).strangers, 0);
    assert_int_equal(window_of(telemetry, 3).strangers, 0);
    telemetry_begin(telemetry, clock_now_ns(), 1, 1, true);
    int before = samples();
    await(samples, before + 2);
    telemetry_end(telemetry, clock_now_ns());
    telemetry_collect(telemetry, 0, 1.0, &window);
    assert_int_equal(window.strangers, 0);
    say("crowded");
    assert_int_equal(window_of(telemetry, 1).strangers, NVML_PROCESS_MAX);
    telemetry_close(telemetry);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void what_was_there_before_is_remembered(void **state)
{
    (void)state;
    struct telemetry *telemetry = open_whole("busy full");
    say("alone");
    struct telemetry_window window = window_of(telemetry, 1);
    assert_int_equal(window.before.processes, 2);
    assert_int_equal(window.before.utilisation_percent, 90);
    assert_true(window.before.known_memory);
    assert_true(window.before.memory_used_bytes == UINT64_C(40) << 30);
    telemetry_close(telemetry);

    /* The server of a given daemon is not a stranger. */
    say("");
    const struct telemetry_request request = {
        .library = whole, .uuids = &(const char *){"GPU-one"}, .gpus = 1, .expected = 1};
    assert_int_equal(telemetry_open(&request, &telemetry), STATUS_OK);
    assert_int_equal(window_of(telemetry, 1).before.processes, 1);
    assert_int_equal(window_of(telemetry, 1).strangers, 0);
    telemetry_close(telemetry);
}

static void hang_costs_the_telemetry_only(void **state)
{
    (void)state;
    struct telemetry *telemetry = open_whole("alone");
    struct telemetry_window window;
    int before = samples(), ended = ends();
    telemetry_begin(telemetry, clock_now_ns(), 1, 1, false);
    await(samples, before + 2);
    say("hang");
    await(hanging, 1);
    /* It goes on hanging: each of these returns all the same. */
    telemetry_end(telemetry, clock_now_ns());
    telemetry_collect(telemetry, 0, 1.0, &window);
    assert_true(window.silent);
    assert_true(window.samples >= 1);
    for (int i = 0; i < 3; i++) {
        telemetry_begin(telemetry, clock_now_ns(), 1, 1, false);
        telemetry_end(telemetry, clock_now_ns());
        telemetry_collect(telemetry, 0, 1.0, &window);
        assert_true(window.present);
        assert_true(window.silent);
        assert_int_equal(window.samples, 0);
    }
    /* The sample that hung is of none of the later windows. */
    say("alone");
    window = window_of(telemetry, 1);
    assert_false(window.silent);
    assert_true(window.samples >= 2);

    telemetry_begin(telemetry, clock_now_ns(), 1, 1, false);
    say("hang");
    await(hanging, 1);
    telemetry_end(telemetry, clock_now_ns());
    telemetry_collect(telemetry, 0, 1.0, &window);
    assert_int_equal(ends(), ended);
    telemetry_close(telemetry);
    say("alone");
    await(ends, ended + 1);
}

static void hang_at_the_start_is_an_error(void **state)
{
    (void)state;
    struct telemetry *telemetry;
    int ended = ends();
    say("hang-start");
    const struct telemetry_request request = {.library = whole,
                                              .uuids = &(const char *){"GPU-one"},
                                              .gpus = 1,
                                              .answer_ns = 50 * NS_PER_MS};
    assert_int_equal(telemetry_open(&request, &telemetry), STATUS_TIMEOUT);
    assert_null(telemetry);
    assert_string_equal(status_text(), "NVML does not answer within 0.05 s: no telemetry");
    say("alone");
    await(ends, ended + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window_is_sampled),
        cmocka_unit_test(each_gpu_has_its_own_window),
        cmocka_unit_test(old_library_gives_what_it_has),
        cmocka_unit_test(without_nvml_there_is_none),
        cmocka_unit_test(processes_are_told_by_their_ancestor),
        cmocka_unit_test(what_was_there_before_is_remembered),
        cmocka_unit_test(hang_costs_the_telemetry_only),
        cmocka_unit_test(hang_at_the_start_is_an_error),
    };
    return cmocka_run_group_tests_name("telemetry", tests, load_fake, NULL);
}
