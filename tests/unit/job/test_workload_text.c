/* Described workloads: what steps mean, and the errors about those that mean nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "job/workload_mix.h"
#include "job/workload_text.h"

static struct workload workload;

static int begin(void **state)
{
    (void)state;
    return workload_begin("detect", &workload) == STATUS_OK ? 0 : -1;
}

static const struct workload_step *add(const char *text)
{
    assert_int_equal(workload_add_step(&workload, text), STATUS_OK);
    return &workload.steps[workload.count - 1];
}

static void steps_mean_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct workload_step step;
        const char *again; /* as it is written back, NULL: the same */
    } table[] = {
        {"copy-in 4M", {STEP_COPY_IN, 1, 0, 0, 4 << 20, 0}, NULL},
        {"copy-in 4MiB", {STEP_COPY_IN, 1, 0, 0, 4 << 20, 0}, "copy-in 4M"},
        {"copy-in  4096K   # twice", {STEP_COPY_IN, 1, 0, 0, 4 << 20, 0}, "copy-in 4M"},
        {"copy-out 48 count=3", {STEP_COPY_OUT, 3, 0, 0, 48, 0}, NULL},
        {"device-copy 1G", {STEP_DEVICE_COPY, 1, 0, 0, 1 << 30, 0}, NULL},
        {"kernel blocks=64 threads=256 duration=15us", {STEP_COMPUTE, 1, 64, 256, 0, 15000}, NULL},
        {"kernel duration=0.0015ms bound=compute",
         {STEP_COMPUTE, 1, 1, 32, 0, 1500},
         "kernel blocks=1 threads=32 duration=1.5us"},
        {"kernel threads=512 bytes=32M blocks=132 count=4",
         {STEP_MEMORY, 4, 132, 512, 32 << 20, 0},
         "kernel blocks=132 threads=512 bytes=32M count=4"},
        {"kernel blocks=8 threads=64 bytes=16 bound=memory",
         {STEP_MEMORY, 1, 8, 64, 16, 0},
         "kernel blocks=8 threads=64 bytes=16"},
        {"kernel blocks=8 threads=64 duration=1s bound=memory",
         {STEP_MEMORY, 1, 8, 64, 0, 1000000000},
         "kernel blocks=8 threads=64 duration=1000ms bound=memory"},
        {"kernel blocks=8 threads=64 duration=3us bound=cache",
         {STEP_CACHE, 1, 8, 64, 0, 3000},
         NULL},
        {"kernel duration=15us shared=96K",
         {STEP_COMPUTE, 1, 1, 32, 0, 15000, 98304},
         "kernel blocks=1 threads=32 shared=96K duration=15us"},
        {"kernel cycles=20000 count=10",
         {STEP_CYCLES, 10, 1, 32, 20000, 0},
         "kernel blocks=1 threads=32 cycles=20000 count=10"},
        {"synchronize", {STEP_SYNCHRONIZE, 1, 0, 0, 0, 0}, NULL},
        {"think 200us", {STEP_THINK, 1, 0, 0, 200000, 0}, NULL},
        {"busy 10s", {STEP_BUSY, 1, 0, 0, 10000000000, 0}, "busy 10000ms"},
        {"work 50000", {STEP_WORK, 1, 0, 0, 50000, 0}, NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[WORKLOAD_STEP_TEXT];
        const struct workload_step *step = add(table[i].text);
        assert_memory_equal(step, &table[i].step, sizeof *step);
        assert_string_equal(workload_step_text(step, text),
                            table[i].again ? table[i].again : table[i].text);
        /* What is written back means the same. */
        assert_memory_equal(add(text), &table[i].step, sizeof *step);
    }
}

static void each_mistake_has_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "a step needs a word: copy-in, copy-out,"},
        {"# nothing", "a step needs a word"},
        {"copyin 4M", "unknown step 'copyin'; did you mean 'copy-in'?"},
        {"sync", "unknown step 'sync'; did you mean 'synchronize'?"},
        {"sleep 5ms", "unknown step 'sleep'; did you mean 'think'?"},
        {"memset 4M", "unknown step 'memset'; there are copy-in, copy-out, device-copy, kernel,"},
        {"copy-in", "'copy-in' needs a size: step = copy-in 4M"},
        {"copy-in count=2", "'copy-in' needs a size"},
        {"copy-in 0",
         "'0' is not a value of copy-in: it takes a size from 16 bytes to 1024G, as in"},
        {"copy-in 4X", "'4X' is not a value of copy-in"},
        {"copy-in -4", "'-4' is not a value"},
        {"copy-in 4.5M", "'4.5M' is not a value of copy-in: a size has no decimals: write 4608K"},
        {"kernel bytes=0.5KB", "'0.5KB' is not a value of bytes: KB may mean powers of 1000: write "
                               "512 for those of 1024"},
        {"copy-in 4MB",
         "'4MB' is not a value of copy-in: MB may mean powers of 1000: write 4M for those of 1024"},
        {"copy-in M", "'M' is not a value"},
        {"copy-in 1025G", "'1025G' is not a value"},
        {"copy-in 999999999999999999G", "is not a value"},
        {"copy-in 1000", "'1000' is not a multiple of 16 bytes"},
        {"copy-in 4M 8M", "'8M' after 'copy-in' is not a key=value; an example: step = copy-in 4M"},
        {"copy-in 4M blocks=2", "a step 'copy-in' takes no blocks"},
        {"copy-in 4M count=0", "'0' is not a value of count: it takes a number from 1 to 100000"},
        {"copy-in 4M count=", "'count' needs a value: a number from 1 to 100000"},
        {"copy-in 4M count", "'count' needs a value"},
        {"copy-in 4M count=2 count=3", "'count' is given twice in one step"},
        {"copy-in 4M cuont=2", "unknown key 'cuont' of copy-in; did you mean 'count'?"},
        {"copy-in 4M x-y-z-w-v=2", "unknown key 'x-y-z-w-v' of copy-in"},
        {"kernel", "a kernel takes one of duration=, cycles= and bytes="},
        {"kernel duration=5us cycles=3", "a kernel takes only one of duration=, cycles="},
        {"kernel bound=memory", "a kernel takes one of duration="},
        {"kernel cycles=3 bound=compute", "bound by the clock: leave bound= out"},
        {"kernel bytes=1M bound=cache", "a kernel of bytes= is bound by memory"},
        {"kernel bytes=1M bound=compute", "a kernel of bytes= is bound by memory"},
        {"kernel bytes=24", "'24' is not a multiple of 16 bytes"},
        {"kernel bound=clock duration=5us",
         "'clock' is not a value of bound: it takes compute, cache or"},
        {"kernel duration=5", "'5' has no unit: duration takes a time from 1us to 1s, as in 15us"},
        {"kernel duration=999ns", "'999ns' is not a value of duration"},
        {"kernel duration=1.001s", "'1.001s' is not a value of duration"},
        {"kernel duration=1.2.3us", "'1.2.3us' is not a value of duration"},
        {"kernel block=5 duration=5us", "unknown key 'block' of kernel; did you mean 'blocks'?"},
        {"kernel threads=1025 duration=5us", "'1025' is not a value of threads"},
        {"kernel 64 duration=5us", "'64' after 'kernel' is not a key=value"},
        {"synchronize 5us", "'5us' after 'synchronize' is not a key=value"},
        {"synchronize count=2", "a step 'synchronize' takes no count"},
        {"think", "'think' needs a time: step = think 200us"},
        {"think 0us",
         "'0us' is not a value of think: it takes a time from 1us to 10s, as in 200us"},
        {"busy 11s", "'11s' is not a value"},
        {"think 5 us", "'5' has no unit: think takes a time from 1us to 10s, as in 200us"},
        {"kernel a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1 a=1",
         "a step has at most 16 words"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(workload_add_step(&workload, table[i].text), STATUS_USAGE);
        if (!strstr(status_text(), table[i].says))
            fail_msg("'%s' gives: %s", table[i].text, status_text());
        assert_null(strchr(status_text(), '\n'));
        assert_int_equal(workload.count, 0);
    }
}

static void names_are_plain(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "a b",
                                      "a:3",
                                      "a+b",
                                      "a/b",
                                      "x.so",
                                      "builtin",
                                      "delay",
                                      "a,b",
                                      "\xc3\xa4",
                                      "01234567890123456789012345678901"};
    struct workload other = {.count = 7};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(workload_begin(bad[i], &other), STATUS_USAGE);
        assert_int_equal(other.count, 7);
    }
    assert_int_equal(workload_begin("0123456789012345678901234567_-A", &other), STATUS_OK);
    assert_int_equal(other.count, 0);
}

static void there_is_an_end_to_steps(void **state)
{
    (void)state;
    for (int i = 0; i < WORKLOAD_STEPS; i++)
        add("synchronize");
    assert_int_equal(workload_add_step(&workload, "copy-in 4M"), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "at most 256 steps: count=N repeats one, and a 'repeat' "
                                          "several"));
    assert_int_equal(workload.count, WORKLOAD_STEPS);
    assert_int_equal(workload_end(&workload), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "leaves the GPU without work"));
}

/* The steps of an iteration, a letter each, of words "in", "kernel" and "out". */
static void walked(char *out)
{
    struct workload_walk walk = {.steps = workload.steps, .count = workload.count};
    for (unsigned number; workload_walk_next(&walk, &number);)
        *out++ = "iod....k"[workload_step_is_kernel(&workload.steps[number])
                                ? 7
                                : workload.steps[number].kind];
    *out = '\0';
}

static void repeats_are_walked(void **state)
{
    char order[64];
    (void)state;
    walked(order);
    assert_string_equal(order, "");
    add("copy-in 16");
    assert_int_equal(add("repeat 2")->amount, 2);
    add("kernel cycles=1 count=5");
    add("repeat 3");
    add("device-copy 16");
    add("end");
    add("end");
    add("repeat 1");
    add("copy-out 16");
    add("end");
    assert_int_equal(workload_end(&workload), STATUS_OK);
    walked(order);
    assert_string_equal(order, "ikdddkdddo");
    assert_int_equal(workload_step_times(workload.steps, 0), 1);
    assert_int_equal(workload_step_times(workload.steps, 2), 10);
    assert_int_equal(workload_step_times(workload.steps, 4), 6);
    assert_int_equal(workload_step_times(workload.steps, 8), 1);
    char text[WORKLOAD_STEP_TEXT];
    assert_string_equal(workload_step_text(&workload.steps[1], text), "repeat 2");
    assert_string_equal(workload_step_text(&workload.steps[5], text), "end");
}

#define TOO_MANY                                                                                   \
    "an iteration of workload 'detect' goes through more than 100000 steps, all repeats unrolled"

/* The steps, separated by ';', and what the last of them, or the end, is refused with. */
static void repeats_that_mean_nothing(void **state)
{
    static const struct {
        const char *steps, *message;
    } table[] = {
        {"repeat", "'repeat' needs a number: step = repeat 12"},
        {"repeat 0", "'0' is not a value of repeat: it takes a number from 1 to 100000"},
        {"repeat 3 count=2", "a step 'repeat' takes no count"},
        {"copy-in 16;end", "an 'end' without a 'repeat' before it"},
        {"repeat 2;copy-in 16;end;end", "an 'end' without a 'repeat' before it"},
        {"repeat 2;end", "a 'repeat' without steps before its 'end'"},
        {"repeat 2;repeat 2;repeat 2;repeat 2;repeat 2", "a 'repeat' stands in at most 3 others"},
        {"repeat 2;copy-in 16", "workload 'detect' has a 'repeat' without an 'end'"},
        {"loop 3", "unknown step 'loop'; did you mean 'repeat'?"},
        {"repeat 50000;copy-in 16;copy-out 16;end;copy-out 16", TOO_MANY},
        {"repeat 65;kernel cycles=1 count=100000;end",
         "an iteration of workload 'detect' has more than 6400000 kernels and copies, all counts "
         "and repeats together"},
        {"gpu", "unknown step 'gpu'; there are copy-in, copy-out, device-copy, kernel, "
                "synchronize, think, busy, work, repeat, end"},
        {"repeat 65536;repeat 65536;repeat 65536;repeat 65536;copy-in 16;end;end;end;end",
         TOO_MANY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char steps[128], *rest = steps;
        enum status status = STATUS_OK;
        assert_int_equal(workload_begin("detect", &workload), STATUS_OK);
        snprintf(steps, sizeof steps, "%s", table[i].steps);
        for (char *step; status == STATUS_OK && (step = strtok_r(rest, ";", &rest));)
            status = workload_add_step(&workload, step);
        if (status == STATUS_OK)
            status = workload_end(&workload);
        assert_int_equal(status, STATUS_USAGE);
        assert_string_equal(status_text(), table[i].message);
    }
}

/* A copy out at the begin of a repeat brings back what its first time has worked on. */
static void repeats_are_checked(void **state)
{
    (void)state;
    add("repeat 2");
    add("copy-out 16");
    add("copy-in 16");
    add("end");
    assert_true(workload_can_check(workload.steps, workload.count));
    workload.steps[0].amount = 1;
    assert_false(workload_can_check(workload.steps, workload.count));
}

static void what_can_be_checked_is_known(void **state)
{
    (void)state;
    assert_int_equal(workload_end(&workload), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "workload 'detect' has no steps: step = copy-in 4M"));
    add("kernel duration=5us");
    add("copy-out 1M");
    assert_false(workload_can_check(workload.steps, workload.count));
    assert_int_equal(workload_end(&workload), STATUS_OK);
    assert_int_equal(workload_set_check(&workload, "yes # please"), STATUS_OK);
    assert_int_equal(workload_end(&workload), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "has nothing to check"));
    add("copy-in 1M"); /* too late */
    assert_int_equal(workload_end(&workload), STATUS_USAGE);
    add("kernel bytes=2M");
    add("copy-out 2M");
    assert_true(workload_can_check(workload.steps, workload.count));
    assert_int_equal(workload_end(&workload), STATUS_OK);
    assert_int_equal(workload_set_check(&workload, "no"), STATUS_OK);
    assert_int_equal(workload.check, WORKLOAD_CHECK_NO);
    static const char *const bad[] = {"", "maybe", "yes yes", "noo", "1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(workload_set_check(&workload, bad[i]), STATUS_USAGE);
}

static void data_is_followed(void **state)
{
    (void)state;
    struct workload_trace trace = {0};
    workload_trace_step(&trace, add("copy-in 1M"));
    assert_int_equal(trace.known_bytes, 1 << 20);
    workload_trace_step(&trace, add("kernel cycles=5"));
    assert_int_equal(trace.side, 0);
    assert_int_equal(trace.added, 0);
    workload_trace_step(&trace, add("kernel bytes=512K"));
    assert_int_equal(trace.known_bytes, 512 << 10);
    assert_int_equal(trace.side, 1);
    assert_int_equal(trace.added, 1);
    workload_trace_step(&trace, add("device-copy 256K"));
    assert_int_equal(trace.known_bytes, 256 << 10);
    assert_int_equal(trace.side, 0);
    assert_int_equal(trace.added, 1);
    workload_trace_step(&trace, add("kernel blocks=2 threads=32 duration=5us"));
    assert_int_equal(trace.known_bytes, 2 * 32 * 16);
    assert_int_equal(trace.added, 2);
    workload_trace_step(&trace, add("copy-out 1M"));
    assert_int_equal(trace.known_bytes, 2 * 32 * 16);
    workload_trace_step(&trace, add("copy-in 64K"));
    assert_int_equal(trace.added, 0);
    assert_int_equal(trace.known_bytes, 64 << 10);
    assert_int_equal(trace.side, 1);
    workload_trace_step(&trace, add("kernel blocks=1000 threads=1024 duration=5us"));
    assert_int_equal(trace.known_bytes, 4096);
    assert_int_equal(workload_worked_bytes(add("kernel bytes=100G")), 256 << 20);
}

/* -- mixes ------------------------------------------------------------------------------------- */

static struct workload some[3] = {{.name = "detect", .count = 100},
                                  {.name = "embed", .count = 100},
                                  {.name = "big", .count = 100}};

static enum status parse(const char *text, struct mix *mix, char bad[64])
{
    const char *at = NULL;
    size_t length = 0;
    enum status status = mix_parse(text, some, 3, mix, &at, &length);
    snprintf(bad, 64, "%.*s", (int)length, at ? at : "");
    return status;
}

static void mixes_have_weights(void **state)
{
    (void)state;
    struct mix mix;
    char bad[64];
    assert_int_equal(parse("detect", &mix, bad), STATUS_OK);
    assert_int_equal(mix.count, 1);
    assert_int_equal(mix.weights[0], 1);
    assert_int_equal(parse("embed:6+detect:4", &mix, bad), STATUS_OK);
    assert_int_equal(mix.count, 2);
    assert_int_equal(mix.workloads[0], 1);
    assert_int_equal(mix.weights[0], 3); /* lowest terms: the same mix is the same point */
    assert_int_equal(mix.weights[1], 2);
    assert_int_equal(parse("detect:7", &mix, bad), STATUS_OK);
    assert_int_equal(mix.weights[0], 1);
    static const struct {
        const char *text, *says;
    } table[] = {
        {"detect:0", "'detect:0': a weight is a number from 1 to 1000, as in detect:3"},
        {"detect:1001+embed", "'detect:1001': a weight is"},
        {"detect:+embed", "'detect:': a weight is"},
        {"detect:3x", "'detect:3x': a weight is"},
        {"detect+detect:2", "workload 'detect' stands twice in a mix"},
        {"detect+embed+big", "at most 256 steps together"},
    };
    struct mix before = mix;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(parse(table[i].text, &mix, bad), STATUS_USAGE);
        if (!strstr(status_text(), table[i].says))
            fail_msg("'%s' gives: %s", table[i].text, status_text());
    }
    assert_int_equal(parse("detect:3+embde:1", &mix, bad), STATUS_NOT_FOUND);
    assert_string_equal(bad, "embde");
    assert_int_equal(parse("", &mix, bad), STATUS_NOT_FOUND);
    assert_int_equal(parse("detect+", &mix, bad), STATUS_NOT_FOUND);
    assert_string_equal(bad, "");
    assert_memory_equal(&mix, &before, sizeof mix);
}

static void deal(const uint32_t *weights, unsigned count, unsigned workers, char *out)
{
    struct mix_deal state = {{0}};
    for (unsigned i = 0; i < workers; i++)
        out[i] = (char)('a' + mix_next(&state, weights, count));
    out[workers] = '\0';
}

static void workers_are_dealt_evenly(void **state)
{
    (void)state;
    char out[2001];
    deal((const uint32_t[]){1}, 1, 3, out);
    assert_string_equal(out, "aaa");
    deal((const uint32_t[]){3, 1}, 2, 8, out);
    assert_string_equal(out, "aabaaaba");
    deal((const uint32_t[]){1, 3}, 2, 4, out);
    assert_string_equal(out, "babb");
    deal((const uint32_t[]){1, 1, 1}, 3, 6, out);
    assert_string_equal(out, "abcabc");
    /* However many workers: never a whole worker away from the share of a weight. */
    const uint32_t weights[] = {5, 3, 11, 1};
    double got[4] = {0};
    deal(weights, 4, 2000, out);
    for (unsigned i = 0; i < 2000; i++) {
        got[out[i] - 'a']++;
        for (unsigned w = 0; w < 4; w++) {
            double away = got[w] - (double)weights[w] * (i + 1) / 20.0;
            assert_true(away > -1.0 && away < 1.0);
        }
    }
}

static void it_takes_workers_enough(void **state)
{
    (void)state;
    assert_int_equal(mix_workers_needed((const uint32_t[]){1}, 1), 1);
    assert_int_equal(mix_workers_needed((const uint32_t[]){1, 1}, 2), 2);
    assert_int_equal(mix_workers_needed((const uint32_t[]){3, 1}, 2), 3);
    assert_int_equal(mix_workers_needed((const uint32_t[]){9, 1}, 2), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(steps_mean_what_they_say, begin),
        cmocka_unit_test_setup(repeats_are_walked, begin),
        cmocka_unit_test_setup(repeats_that_mean_nothing, begin),
        cmocka_unit_test_setup(repeats_are_checked, begin),
        cmocka_unit_test_setup(each_mistake_has_its_line, begin),
        cmocka_unit_test(names_are_plain),
        cmocka_unit_test_setup(there_is_an_end_to_steps, begin),
        cmocka_unit_test_setup(what_can_be_checked_is_known, begin),
        cmocka_unit_test_setup(data_is_followed, begin),
        cmocka_unit_test(mixes_have_weights),
        cmocka_unit_test(workers_are_dealt_evenly),
        cmocka_unit_test(it_takes_workers_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
