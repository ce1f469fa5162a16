/* The search for the blocks with which a workload does as much beside others as a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "orchestrator/capture/share.h"

/* A workload that does `alone` times as much as the program with its own blocks, and less by a
 * power of them from `begins` on. Bound by the cache it does `loading` times as much as that; 0:
 * its kernels cannot be. */
struct made {
    double alone, power, begins, refused_from, loading, error;
    bool no_durations;
    unsigned measured;
};

static enum status measure(void *data, struct share *share)
{
    struct made *made = data;
    made->measured++;
    if (share->scale >= made->refused_from || (share->cached && made->loading <= 0.0))
        return status_set(STATUS_UNSUPPORTED, "no such kernel");
    share->ratio = made->alone * pow(fmax(1.0, share->scale / made->begins), -made->power) *
                   (share->cached ? made->loading : 1.0);
    share->error = made->error;
    return STATUS_OK;
}

static struct share find(struct made *made, enum status expected)
{
    struct share found = {0};
    const struct share_search search = {.can_load = !made->no_durations,
                                        .least = 1.0 / 64,
                                        .most = 2000.0,
                                        .near_rel = 0.02,
                                        .tries = 8,
                                        .measure = measure,
                                        .data = made};
    assert_int_equal(share_find(&search, &found), expected);
    return found;
}

static void finds_more_blocks_from_where_they_matter(void **state)
{
    (void)state;
    for (double begins = 1.0; begins < 300.0; begins *= 3.0) {
        struct made made = {
            .alone = 1.86, .power = 1.0, .begins = begins, .refused_from = (double)INFINITY};
        struct share found = find(&made, STATUS_OK);
        assert_true(fabs(found.ratio - 1.0) <= 0.05);
        assert_true(found.scale > begins);
        assert_true(made.measured <= 8);
    }
}

static void finds_fewer_blocks(void **state)
{
    (void)state;
    /* 0.7 times as much at 1, and all that there is from a thirty-second on. */
    struct made made = {.alone = 0.7 * sqrt(32.0),
                        .power = 0.5,
                        .begins = 1.0 / 32,
                        .refused_from = (double)INFINITY};
    struct share found = find(&made, STATUS_OK);
    assert_true(fabs(found.ratio - 1.0) <= 0.05);
    assert_true(found.scale < 1.0);
}

static void measures_once_where_it_is_near(void **state)
{
    (void)state;
    struct made made = {.alone = 1.01, .begins = 1.0, .refused_from = (double)INFINITY};
    struct share found = find(&made, STATUS_OK);
    assert_int_equal(made.measured, 1);
    assert_true(found.scale == 1.0 && found.ratio == 1.01);
}

/* Other blocks need a reason that the noise of the machine cannot be. */
static void measures_once_where_it_may_be_near(void **state)
{
    (void)state;
    struct made made = {.alone = 1.035,
                        .power = 1.0,
                        .begins = 1.0,
                        .refused_from = (double)INFINITY,
                        .error = 0.04};
    assert_true(find(&made, STATUS_OK).scale == 1.0);
    assert_int_equal(made.measured, 1);
    made.error = 0.01;
    assert_true(find(&made, STATUS_OK).scale > 1.0);
    /* Nor is everything near where the noise is large. */
    made.alone = 1.08;
    made.error = 0.1;
    assert_true(find(&made, STATUS_OK).scale > 1.0);
}

static void little_more_where_it_is_nearly_right(void **state)
{
    (void)state;
    struct made made = {
        .alone = 1.06, .power = 0.2, .begins = 1.0, .refused_from = (double)INFINITY};
    struct share found = find(&made, STATUS_OK);
    assert_true(fabs(found.ratio - 1.0) <= 0.02);
    assert_true(found.scale > 1.1 && found.scale < 1.8);
}

static void goes_as_far_as_there_are_kernels(void **state)
{
    (void)state;
    struct made made = {.alone = 4.0, .power = 1.0, .begins = 1.0, .refused_from = 2.5};
    struct share found = find(&made, STATUS_OK);
    assert_true(found.scale > 1.5 && found.scale < 2.5);
    made = (struct made){.alone = 4.0, .refused_from = 0.5};
    find(&made, STATUS_UNSUPPORTED);
}

static void kernels_that_wait_for_a_cache_come_nearer(void **state)
{
    (void)state;
    /* No number of blocks makes kernels that compute do as little. */
    struct made made = {
        .alone = 1.3, .begins = 1.0, .refused_from = (double)INFINITY, .loading = 0.77};
    struct share found = find(&made, STATUS_OK);
    assert_true(found.cached && found.scale == 1.0 && fabs(found.ratio - 1.0) < 0.01);
    /* Nor would those, but for more of them. */
    made = (struct made){
        .alone = 1.6, .power = 0.3, .begins = 1.0, .refused_from = 2.0, .loading = 0.75};
    found = find(&made, STATUS_OK);
    assert_true(found.cached && found.scale > 1.0 && found.scale < 2.0);
    assert_true(fabs(found.ratio - 1.0) <= 0.05);
}

static void kernels_compute_unless_others_are_clearly_nearer(void **state)
{
    (void)state;
    struct made made = {
        .alone = 1.3, .begins = 1.0, .refused_from = (double)INFINITY, .loading = 0.9};
    struct share found = find(&made, STATUS_OK);
    assert_true(!found.cached && found.ratio == 1.3);
    /* Where those that compute are near, others are not measured. */
    made = (struct made){.alone = 1.01, .begins = 1.0, .refused_from = 9.0, .loading = 0.99};
    assert_false(find(&made, STATUS_OK).cached);
    assert_int_equal(made.measured, 1);
    /* Nor where they would do still less, or no kernel has a duration. */
    made = (struct made){
        .alone = 0.6, .begins = 1.0, .refused_from = (double)INFINITY, .loading = 1.6};
    assert_false(find(&made, STATUS_OK).cached);
    made = (struct made){.alone = 1.3,
                         .begins = 1.0,
                         .refused_from = (double)INFINITY,
                         .loading = 0.77,
                         .no_durations = true};
    assert_false(find(&made, STATUS_OK).cached);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_more_blocks_from_where_they_matter),
        cmocka_unit_test(finds_fewer_blocks),
        cmocka_unit_test(measures_once_where_it_is_near),
        cmocka_unit_test(measures_once_where_it_may_be_near),
        cmocka_unit_test(little_more_where_it_is_nearly_right),
        cmocka_unit_test(goes_as_far_as_there_are_kernels),
        cmocka_unit_test(kernels_that_wait_for_a_cache_come_nearer),
        cmocka_unit_test(kernels_compute_unless_others_are_clearly_nearer),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
