#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/clock.h"
#include "orchestrator/round/internal.h"

static int near(double a, double b)
{
    return a - b < 1e-9 * b && b - a < 1e-9 * b;
}

/* The forum program's own lines, on microseconds. */
static double forum_ips(const uint64_t *elapsed_us, size_t workers, double iterations)
{
    uint64_t elapsed = 0;
    for (size_t t = 0; t < workers; ++t)
        elapsed += elapsed_us[t];
    return (1000000.0 / (double)elapsed) * (iterations * (double)(workers * workers));
}

static void the_formula_is_the_forums(void **state)
{
    (void)state;
    static const uint64_t elapsed_us[] = {3480000, 3500017, 12000000, 7, 999999};
    double elapsed_s[5];
    for (size_t i = 0; i < 5; i++)
        elapsed_s[i] = (double)elapsed_us[i] / 1e6;
    for (unsigned workers = 1; workers <= 5; workers++)
        assert_true(
            near(round_fixed_ips(1000, elapsed_s, workers), forum_ips(elapsed_us, workers, 1000)));
    elapsed_s[0] = 0.0;
    assert_true(round_fixed_ips(1000, elapsed_s, 1) == 0.0);
}

static void times_come_from_the_slots(void **state)
{
    (void)state;
    struct shm shm;
    const struct shm_settings settings = {
        .slice_ns = 1000, .iterations = 10, .warmup_ns = NS_PER_S / 2};
    struct round_worker workers[4];
    struct round_result result = {.workers = workers};
    memset(workers, 0, sizeof workers);
    assert_int_equal(shm_create(&settings, 2, 2, &shm), STATUS_OK);
    for (unsigned i = 0; i < 4; i++) {
        struct shm_slot *slot = shm_slot_at(&shm, i / 2, i % 2);
        slot->work_begin_ns = (4 - i) * NS_PER_S;
        slot->work_end_ns = slot->work_begin_ns + (i + 1) * NS_PER_S;
    }
    assert_int_equal(round_collect_fixed(&shm, &result), STATUS_OK);
    for (unsigned i = 0; i < 4; i++)
        assert_true(near(workers[i].elapsed_s, i + 1));
    assert_true(near(result.fixed.elapsed_s, 2.5));
    assert_true(near(result.fixed.begin_s, 0.5)); /* 0.5 to 1 */
    assert_true(near(result.fixed.seconds, 4.0)); /* 1 to 5 */
    assert_true(near(result.fixed.throughput_ips, 10.0 * 16 / (1 + 2 + 3 + 4)));
    shm_release(&shm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_formula_is_the_forums),
        cmocka_unit_test(times_come_from_the_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
