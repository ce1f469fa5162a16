/* How a workload becomes as long as a program: on machines of paper, on which a formula gives the
 * time of an iteration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "orchestrator/capture/fit.h"

#define TURNS_PER_NS 1.25

struct paper {
    double shortest_ns;  /* of a kernel */
    bool hides;          /* the host's times before the last wait pass while the GPU is at work */
    double disturbed_ns; /* what the first measurement takes longer */
    unsigned measured, refused;
    struct workload workload;
};

static double host_ns(const struct workload_step *step)
{
    if (step->kind == STEP_THINK)
        return (double)step->amount;
    return step->kind == STEP_WORK ? (double)step->amount / TURNS_PER_NS : 0.0;
}

static double time_ns(const struct paper *paper)
{
    const struct workload *workload = &paper->workload;
    double gpu = 0.0, host = 0.0, after = 0.0;
    for (unsigned i = 0; i < workload->count; i++) {
        const struct workload_step *step = &workload->steps[i];
        bool last = i + 1 == workload->count && i > 0 && step[-1].kind == STEP_SYNCHRONIZE;
        gpu += (double)step->asked_ns * step->count;
        *(last ? &after : &host) += host_ns(step);
    }
    return (paper->hides ? fmax(gpu, host) : gpu + host) + after;
}

static bool has_kernels(const struct paper *paper)
{
    for (unsigned i = 0; i < paper->workload.count; i++)
        if (paper->workload.steps[i].asked_ns > 0 &&
            (double)paper->workload.steps[i].asked_ns < paper->shortest_ns)
            return false;
    return true;
}

static enum status measure(struct fit *fit, const struct workload *before)
{
    struct paper *paper = fit->data;
    if (!has_kernels(paper)) {
        paper->refused++;
        *fit->workload = *before;
    }
    fit->took_ns = time_ns(paper) + (paper->measured++ == 0 ? paper->disturbed_ns : 0.0);
    return STATUS_OK;
}

/* Of four kernels and a host's time before them. */
static void describe(struct paper *paper, uint64_t kernel_ns, uint64_t host)
{
    struct workload *workload = &paper->workload;
    memset(workload, 0, sizeof *workload);
    workload->steps[0] = (struct workload_step){.kind = STEP_THINK, .count = 1, .amount = host};
    workload->steps[1] =
        (struct workload_step){.kind = STEP_CACHE, .count = 4, .asked_ns = kernel_ns};
    workload->count = 2;
}

static struct fit fitted(struct paper *paper, double asked_ns, bool host, bool busy)
{
    struct fit fit = {.workload = &paper->workload,
                      .asked_ns = asked_ns,
                      .took_ns = time_ns(paper),
                      .host = host,
                      .busy = busy,
                      .turns_per_ns = TURNS_PER_NS,
                      .measure = measure,
                      .data = paper};
    if (paper->disturbed_ns > 0.0)
        measure(&fit, &paper->workload);
    assert_int_equal(fit_length(&fit), STATUS_OK);
    return fit;
}

static void assert_near(const struct fit *fit)
{
    const struct paper *paper = fit->data;
    if (fabs(time_ns(paper) / fit->asked_ns - 1.0) > 0.02)
        fail_msg("an iteration takes %g ns instead of %g", time_ns(paper), fit->asked_ns);
    assert_true(fabs(fit->took_ns - time_ns(paper)) < 1.0);
}

static void kernels_or_the_host_become_longer_or_shorter(void **state)
{
    (void)state;
    for (int host = 0; host < 2; host++)
        for (double asked_ns = 75e3; asked_ns < 200e3; asked_ns *= 1.3) {
            struct paper paper = {0};
            describe(&paper, 10000, 60000);
            struct fit fit = fitted(&paper, asked_ns, host, false);
            assert_near(&fit);
            const struct workload_step *steps = paper.workload.steps;
            assert_int_equal(paper.workload.count, 2);
            if (asked_ns > 80e3 && asked_ns < 135e3)
                assert_int_equal(host ? (int)steps[1].asked_ns : (int)steps[0].amount,
                                 host ? 10000 : 60000);
        }
}

static void what_is_near_stays(void **state)
{
    (void)state;
    struct paper paper = {0};
    describe(&paper, 10000, 60000);
    fitted(&paper, 101e3, false, false);
    assert_int_equal(paper.measured, 0);
}

static void a_disturbed_measurement_changes_nothing(void **state)
{
    (void)state;
    struct paper paper = {.disturbed_ns = 80e3};
    describe(&paper, 10000, 60000);
    struct fit fit = fitted(&paper, 100e3, false, false);
    assert_near(&fit);
    assert_int_equal(paper.workload.steps[1].asked_ns, 10000);
    assert_int_equal(paper.measured, 2);
}

static void where_kernels_cannot_be_shorter_the_host_is(void **state)
{
    (void)state;
    struct paper paper = {.shortest_ns = 10000};
    describe(&paper, 10000, 60000);
    struct fit fit = fitted(&paper, 70e3, false, false);
    assert_near(&fit);
    assert_int_equal(paper.refused, 1);
    assert_int_equal(paper.workload.steps[1].asked_ns, 10000);
    assert_int_equal(paper.workload.steps[0].amount, 30000);
}

static void host_time_that_passes_beside_the_gpu_is_added_behind_it(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        struct paper paper = {.hides = true};
        describe(&paper, 25000, 30000);
        struct fit fit = fitted(&paper, 110e3, true, busy);
        assert_near(&fit);
        const struct workload_step *end = &paper.workload.steps[paper.workload.count - 1];
        assert_int_equal(end->kind, busy ? STEP_WORK : STEP_THINK);
        assert_int_equal(end[-1].kind, STEP_SYNCHRONIZE);
    }
}

static enum status fails(struct fit *fit, const struct workload *before)
{
    (void)fit, (void)before;
    return status_set(STATUS_INTERRUPTED, "interrupted");
}

static void errors_are_handed_on(void **state)
{
    (void)state;
    struct paper paper = {0};
    describe(&paper, 10000, 60000);
    struct fit fit = {.workload = &paper.workload,
                      .asked_ns = 50e3,
                      .took_ns = 100e3,
                      .turns_per_ns = TURNS_PER_NS,
                      .measure = fails};
    assert_int_equal(fit_length(&fit), STATUS_INTERRUPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_or_the_host_become_longer_or_shorter),
        cmocka_unit_test(what_is_near_stays),
        cmocka_unit_test(a_disturbed_measurement_changes_nothing),
        cmocka_unit_test(where_kernels_cannot_be_shorter_the_host_is),
        cmocka_unit_test(host_time_that_passes_beside_the_gpu_is_added_behind_it),
        cmocka_unit_test(errors_are_handed_on),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
