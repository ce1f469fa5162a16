#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/probe.h"
#include "probes/outcome.h"

struct made {
    struct probe_outcome outcome;
    struct probe_note notes[PROBE_NOTES];
};

static void begin(struct made *made, const char *name)
{
    const struct probe *probe = probe_find(name);
    memset(made, 0, sizeof *made);
    assert_non_null(probe);
    assert_non_null(probe->infer[0]);
    made->outcome.probe = probe;
    made->outcome.arms = calloc(probe->arm_count, sizeof *made->outcome.arms);
    assert_non_null(made->outcome.arms);
    for (size_t a = 0; a < probe->arm_count; a++)
        made->outcome.arms[a].arm = &probe->arms[a];
}

/* A round's samples, evenly from low to high. */
static void set_round(struct made *made, const char *arm, unsigned metric, unsigned round,
                      size_t count, double low, double high)
{
    struct probe_arm_data *data = made->outcome.arms;
    while (strcmp(data->arm->name, arm) != 0)
        data++;
    struct probe_series *series = &data->series[metric][round];
    free(series->us);
    double *us = malloc(count * sizeof *us);
    assert_non_null(us);
    /* Not in order. */
    for (size_t i = 0; i < count; i++) {
        size_t at = i * 7 % count;
        us[i] = count > 1 ? low + (high - low) * (double)at / (double)(count - 1) : low;
    }
    probe_series_make(us, count, series);
    data->chosen = true;
    if (data->rounds <= round)
        data->rounds = round + 1;
}

static void end(struct made *made)
{
    const struct probe *probe = made->outcome.probe;
    for (size_t a = 0; a < probe->arm_count; a++)
        for (unsigned m = 0; m < PROBE_METRICS; m++)
            for (unsigned r = 0; r < PROBE_ROUNDS; r++)
                free(made->outcome.arms[a].series[m][r].us);
    free(made->outcome.arms);
}

/* Makes the notes that there are, and counts them. */
static size_t infer(struct made *made)
{
    size_t count = 0;
    for (size_t i = 0; made->outcome.probe->infer[i]; i++)
        count += made->outcome.probe->infer[i](&made->outcome, &made->notes[count]);
    return count;
}

static void medians_and_quantiles(void **unused)
{
    (void)unused;
    struct made made;
    begin(&made, "context-admission");
    assert_true(isnan(probe_outcome_median_us(&made.outcome, "same", 0)));
    assert_true(isnan(probe_outcome_quantile_us(&made.outcome, "same", 0, 0.5)));
    set_round(&made, "same", 0, 0, 101, 0, 100);
    set_round(&made, "same", 0, 1, 11, 190, 210);
    set_round(&made, "same", 0, 2, 11, 900, 1100);
    /* 50, 200 and 1000, which the table has as well. */
    assert_true(fabs(probe_outcome_median_us(&made.outcome, "same", 0) - cbrt(50.0 * 200 * 1000)) <
                1e-9);
    assert_true(fabs(probe_outcome_quantile_us(&made.outcome, "same", 0, 0.5) - 61) < 1e-9);
    assert_true(fabs(probe_outcome_quantile_us(&made.outcome, "same", 0, 1) - 1100) < 1e-9);
    /* What there is no sample of is not known. */
    assert_true(isnan(probe_outcome_median_us(&made.outcome, "same", 1)));
    assert_true(isnan(probe_outcome_median_us(&made.outcome, "no-such-arm", 0)));
    made.outcome.arms[0].status = STATUS_WORKER;
    assert_true(isnan(probe_outcome_median_us(&made.outcome, "same", 0)));
    end(&made);
}

static void time_slices_are_read_off_the_waits(void **unused)
{
    (void)unused;
    struct made made;
    begin(&made, "context-admission");
    assert_int_equal(infer(&made), 0);
    set_round(&made, "second-before", 0, 0, 200, 20, 2020);
    set_round(&made, "second-before", 2, 0, 20, 20, 20);
    assert_int_equal(infer(&made), 1);
    assert_non_null(strstr(made.notes[0].text, "time slices of about 1.9 ms: in arm second-before "
                                               "half of the copies waited for 1 ms or more"));
    /* Copies that take as long beside nothing do not wait for slices, but for a CPU. */
    set_round(&made, "second-before", 2, 0, 200, 20, 2020);
    assert_int_equal(infer(&made), 0);
    set_round(&made, "second-before", 2, 0, 20, 20, 20);
    /* No copy waits: nothing is known of slices. */
    set_round(&made, "second-before", 0, 0, 200, 20, 60);
    assert_int_equal(infer(&made), 0);
    /* Another arm that waits will do. */
    set_round(&made, "process", 0, 0, 200, 2020, 2020);
    set_round(&made, "process", 2, 0, 20, 20, 20);
    assert_int_equal(infer(&made), 1);
    assert_non_null(strstr(made.notes[0].text, "about 2 ms: in arm process"));
    end(&made);
}

static void a_full_gpu_keeps_its_own_out(void **unused)
{
    (void)unused;
    struct made made;
    begin(&made, "context-admission");
    set_round(&made, "same", 0, 0, 20, 15, 15);
    set_round(&made, "same", 1, 0, 20, 18, 18);
    assert_int_equal(infer(&made), 0);
    set_round(&made, "same", 1, 0, 4, 25000, 25100);
    assert_int_equal(infer(&made), 1);
    assert_non_null(strstr(made.notes[0].text, "of the same context waits, too: 25"));
    end(&made);
}

static void growth_and_rates_of_launches(void **unused)
{
    (void)unused;
    struct made made;
    begin(&made, "launch-contention");
    set_round(&made, "threads-1", 0, 0, 5, 2, 2);
    set_round(&made, "threads-8", 0, 0, 5, 10, 10);
    set_round(&made, "mps-8", 0, 0, 5, 3, 3);
    /* Without the processes' own beginning there is no growth to report. */
    assert_int_equal(infer(&made), 0);
    set_round(&made, "mps-1", 0, 0, 5, 2, 2);
    set_round(&made, "threads-8", 1, 0, 5, 16, 16);
    assert_int_equal(infer(&made), 2);
    assert_non_null(strstr(made.notes[0].text, "2.00 us in one thread and 10.00 us in each of 8 "
                                               "(5.0 times"));
    assert_non_null(strstr(made.notes[0].text, "3.00 us in each of 8 (1.5 times)"));
    assert_string_equal(made.notes[1].text, "million kernels/s in total: 8 threads 0.50");
    set_round(&made, "mps-8", 1, 0, 5, 8, 8);
    infer(&made);
    assert_string_equal(made.notes[1].text,
                        "million kernels/s in total: 8 threads 0.50, 8 processes over MPS 1.00");
    end(&made);
}

static const char *limit_of(const struct made *made, const char *arm, enum probe_verdict verdict)
{
    const struct probe *probe = made->outcome.probe;
    return probe->limit(&made->outcome, probe_arm_find(probe, arm), verdict);
}

static void limits_of_launches(void **unused)
{
    (void)unused;
    struct made made;
    begin(&made, "launch-gate");
    /* 16 workers of 220 launches: 1 million/s free, 0.8 behind the gate. */
    set_round(&made, "mps-16", 0, 0, 5, 3520, 3520);
    set_round(&made, "mps-16", 1, 0, 5, 4400, 4400);
    assert_string_equal(limit_of(&made, "mps-16", PROBE_OBSERVED), "host");
    assert_string_equal(limit_of(&made, "mps-16", PROBE_INCONCLUSIVE), "unsure");
    /* One number of workers, in however many arms, shows no limit of the GPU. */
    set_round(&made, "threads32-16", 1, 0, 5, 3520, 3520);
    assert_string_equal(limit_of(&made, "mps-16", PROBE_NOT_OBSERVED), "not the host");
    set_round(&made, "mps-8", 0, 0, 5, 3000, 3000);
    set_round(&made, "mps-8", 1, 0, 5, 3000, 3000);
    assert_string_equal(limit_of(&made, "mps-8", PROBE_NOT_OBSERVED), "not the host");
    /* Two that reach the same rate do; graphs pass by it, however fast they are. */
    set_round(&made, "threads32-32", 1, 0, 5, 7040, 7040);
    set_round(&made, "graphs-16", 1, 0, 5, 2200, 2200);
    assert_string_equal(limit_of(&made, "mps-16", PROBE_NOT_OBSERVED), "GPU");
    assert_string_equal(limit_of(&made, "mps-8", PROBE_NOT_OBSERVED), "neither");
    assert_string_equal(limit_of(&made, "graphs-16", PROBE_NOT_OBSERVED), "neither");
    set_round(&made, "mps-16", 2, 0, 5, 880, 880);
    assert_int_equal(infer(&made), 2);
    assert_string_equal(made.notes[1].text, "us for each launch's call, free: mps-16 4.00");
    assert_string_equal(
        made.notes[0].text,
        "the GPU accepts 1.00 million kernels/s from streams, however many workers");
    assert_string_equal(made.notes[0].quantity, "accepted_mkernels_per_s");
    end(&made);
}

static void bandwidths_of_copies_between_gpus(void **unused)
{
    (void)unused;
    struct made made;
    begin(&made, "peer-stall");
    assert_int_equal(infer(&made), 0);
    set_round(&made, "peer-off", 3, 0, 5, 6710.8864, 6710.8864);
    set_round(&made, "chunked", 3, 0, 5, 1342.17728, 1342.17728);
    set_round(&made, "peer-off", 1, 0, 5, 20, 20);
    assert_int_equal(infer(&made), 1);
    assert_string_equal(
        made.notes[0].text,
        "a copy of 64 MiB, alone: the driver's own staging 10 GB/s, in chunks 50 GB/s");
    set_round(&made, "peer-off", 1, 0, 5, 19800, 19800);
    assert_int_equal(infer(&made), 2);
    assert_non_null(strstr(made.notes[1].text, "keeps its thread for 19.8 ms"));
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_and_quantiles),
        cmocka_unit_test(time_slices_are_read_off_the_waits),
        cmocka_unit_test(a_full_gpu_keeps_its_own_out),
        cmocka_unit_test(growth_and_rates_of_launches),
        cmocka_unit_test(limits_of_launches),
        cmocka_unit_test(bandwidths_of_copies_between_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
