/*
 * How a plan is dealt: every point once, shards about equally long, and the same on every machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/campaign/estimate.h"
#include "orchestrator/campaign/saturation.h"
#include "orchestrator/campaign/shard.h"
#include "orchestrator/results/number_ranges.h"
#include "orchestrator/plan/turns.h"
#include "tests/unit/plan/plan_rig.h"

static const struct round_limits limits = {
    .duration_ns = 1000000000, .max_duration_ns = 4000000000, .samples = 1};
static uint32_t *owner;

static int end(void **state)
{
    free(owner);
    owner = NULL;
    return plan_rig_end(state);
}

static void make(void)
{
    make_plan();
    free(owner);
    owner = calloc(plan.count + 1, sizeof *owner);
    assert_non_null(owner);
}

static struct shard deal(unsigned count, unsigned reference, unsigned seed)
{
    struct shard shard = {.count = count, .reference = reference};
    assert_int_equal(shard_deal(&plan, &limits, seed, &shard, owner), STATUS_OK);
    return shard;
}

/* Seconds that a shard takes, reference points left out: as its run will measure them. */
static double seconds_of(unsigned shard)
{
    bool *others = calloc(plan.count + 1, sizeof *others);
    struct turn *turns = calloc(plan.count + 1, sizeof *turns);
    size_t count;
    double sum = 0.0;
    assert_non_null(others);
    assert_non_null(turns);
    for (size_t i = 0; i < plan.count; i++)
        others[i] = owner[i] != shard;
    assert_int_equal(turns_make(&plan, others, 1, 0, TURNS_EQUAL, turns, &count), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        const struct point *point = &plan.points[turns[i].point];
        sum += estimate_point_s(point, &limits) + (turns[i].starts ? estimate_start_s(point) : 0.0);
    }
    free(others);
    free(turns);
    return sum;
}

static size_t count_of(uint32_t shard)
{
    size_t count = 0;
    for (size_t i = 0; i < plan.count; i++)
        count += owner[i] == shard;
    return count;
}

static void big_plan(void)
{
    set(OPTION_LAYOUT, "threads:1-16,processes:1-8,processes+mps:1-12,hybrid:2x2,4x2,4x4");
    set(OPTION_MEMORY, "pinned,pageable");
    set(OPTION_CONNECTIONS, "default,8,16");
    set(OPTION_LAUNCH, "stream,graph");
    make();
}

static void every_point_is_dealt_once(void **state)
{
    (void)state;
    static const unsigned counts[] = {1, 2, 3, 7, 64, 1000};
    big_plan();
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        deal(counts[i], 3, 1);
        size_t dealt = 0;
        for (size_t j = 0; j < plan.count; j++)
            dealt += owner[j] < counts[i];
        assert_int_equal(dealt + count_of(SHARD_ALL), plan.count);
        assert_int_equal(count_of(SHARD_ALL), 3);
    }
}

static void shards_are_about_equally_long(void **state)
{
    (void)state;
    big_plan();
    double longest_point = 0.0;
    for (size_t i = 0; i < plan.count; i++) {
        double seconds =
            estimate_point_s(&plan.points[i], &limits) + estimate_start_s(&plan.points[i]);
        longest_point = seconds > longest_point ? seconds : longest_point;
    }
    for (unsigned count = 2; count <= 16; count++) {
        deal(count, 1, 1);
        double shortest = 1e9, longest = 0.0;
        for (unsigned shard = 0; shard < count; shard++) {
            double seconds = seconds_of(shard);
            shortest = seconds < shortest ? seconds : shortest;
            longest = seconds > longest ? seconds : longest;
        }
        /* A point at either end, and a twentieth of a shard. */
        assert_true(longest - shortest < 2.0 * longest_point + 0.11 * longest);
    }
}

/* Thirty processes take longer to start than a point to measure. */
static void starting_counts(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:1-31,processes:17-31");
    make();
    deal(4, 0, 1);
    double shortest = 1e9, longest = 0.0;
    for (unsigned shard = 0; shard < 4; shard++) {
        double seconds = seconds_of(shard);
        shortest = seconds < shortest ? seconds : shortest;
        longest = seconds > longest ? seconds : longest;
    }
    assert_true(longest < 1.35 * shortest);
}

/* A search takes a dozen times as long: such points must not all be of one shard. */
static void long_points_are_spread(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:1-12");
    set(OPTION_RATE, "100,200,max-under-p99=5ms");
    make();
    deal(4, 0, 1);
    for (unsigned shard = 0; shard < 4; shard++) {
        size_t searches = 0;
        for (size_t i = 0; i < plan.count; i++)
            searches += owner[i] == shard && plan.points[i].goal.permille;
        assert_in_range(searches, 2, 4);
    }
}

static void points_that_share_workers_stay_together(void **state)
{
    (void)state;
    big_plan();
    deal(4, 0, 1);
    /* Started once for the whole plan, and at most once more for each cut. */
    size_t starts = 0, all = 0, count;
    struct turn *turns = calloc(plan.count, sizeof *turns);
    bool *others = calloc(plan.count, sizeof *others);
    assert_non_null(turns);
    assert_non_null(others);
    assert_int_equal(turns_make(&plan, NULL, 1, 0, TURNS_EQUAL, turns, &count), STATUS_OK);
    for (size_t i = 0; i < count; i++)
        all += turns[i].starts;
    for (unsigned shard = 0; shard < 4; shard++) {
        for (size_t i = 0; i < plan.count; i++)
            others[i] = owner[i] != shard;
        assert_int_equal(turns_make(&plan, others, 1, 0, TURNS_EQUAL, turns, &count), STATUS_OK);
        for (size_t i = 0; i < count; i++)
            starts += turns[i].starts;
    }
    free(turns);
    free(others);
    assert_in_range(starts, all, all + 3);
}

static void dealing_follows_from_plan_seed_and_number(void **state)
{
    (void)state;
    big_plan();
    uint32_t *before = calloc(plan.count, sizeof *before);
    assert_non_null(before);
    deal(5, 2, 1);
    memcpy(before, owner, plan.count * sizeof *before);
    struct shard other = {.index = 3, .count = 5, .reference = 2, .automatic = true};
    assert_int_equal(shard_deal(&plan, &limits, 1, &other, owner), STATUS_OK);
    assert_memory_equal(before, owner, plan.count * sizeof *before);
    deal(5, 2, 2);
    assert_memory_not_equal(before, owner, plan.count * sizeof *before);
    free(before);
}

static void reference_points_are_of_different_layouts(void **state)
{
    (void)state;
    big_plan();
    deal(4, 3, 1);
    unsigned seen = 0;
    for (size_t i = 0; i < plan.count; i++) {
        if (owner[i] != SHARD_ALL)
            continue;
        seen |= 1u << plan.points[i].layout;
        assert_int_equal(point_workers(&plan.points[i]), 8);
    }
    assert_int_equal(__builtin_popcount(seen), 3);
}

/* A rate that is given is served by every GPU alike. */
static void a_given_rate_is_no_reference(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:1-4");
    set(OPTION_RATE, "100,200");
    make();
    assert_int_equal(deal(2, 3, 1).reference, 0);
    assert_int_equal(count_of(SHARD_ALL), 0);
    set(OPTION_RATE, "100,max-under-p99=5ms");
    make();
    assert_int_equal(deal(2, 3, 1).reference, 3);
    for (size_t i = 0; i < plan.count; i++)
        assert_true(owner[i] != SHARD_ALL || plan.points[i].goal.permille);
}

static void more_shards_than_points(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:1,2,4");
    make();
    deal(10, 1, 1);
    size_t owned = 0;
    for (size_t i = 0; i < plan.count; i++)
        owned += owner[i] < 10;
    assert_int_equal(owned, 2);
    assert_int_equal(deal(10, 9, 1).reference, 3);
}

static void a_fleet_measures_all(void **state)
{
    (void)state;
    big_plan();
    struct shard shard = {.index = 1, .count = 3, .fleet = true};
    assert_int_equal(shard_deal(&plan, &limits, 1, &shard, owner), STATUS_OK);
    assert_int_equal(count_of(SHARD_ALL), plan.count);
    json_t *object = shard_json(&shard, owner, plan.count);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "purpose")), "fleet");
    assert_string_equal(json_string_value(json_object_get(object, "reference_points")), "");
    json_decref(object);
}

/* -- which shard ------------------------------------------------------------------------------- */

static const char *const variables[] = {
    "SLURM_ARRAY_TASK_ID",   "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT",
    "SLURM_ARRAY_TASK_STEP", "SLURM_PROCID",         "SLURM_NTASKS",
    "SLURM_STEP_NUM_TASKS",  "SLURM_STEP_ID",        "SLURM_STEPID"};

static void environment(const char *const *pairs)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    for (; pairs && *pairs; pairs += 2)
        setenv(pairs[0], pairs[1], 1);
}

static enum status ask(const char *text, struct shard *out)
{
    struct options options;
    assert_int_equal(options_init(&options), STATUS_OK);
    assert_int_equal(options_set(&options, &option_table[OPTION_SHARD], text, 1), STATUS_OK);
    enum status status = shard_from_options(&options, out);
    options_release(&options);
    return status;
}

static void a_shard_is_named(void **state)
{
    (void)state;
    static const char *const bad[] = {"1",   "1/",   "/2",    "2/2",     "-1/2", "0/0",
                                      "a/b", "1/2x", "0x1/2", "1/10001", "Auto"};
    struct shard shard = {0};
    assert_int_equal(ask("2/3", &shard), STATUS_OK);
    assert_int_equal(shard.index, 2);
    assert_int_equal(shard.count, 3);
    assert_int_equal(shard.reference, 1);
    assert_int_equal(ask("0/1", &shard), STATUS_OK);
    assert_int_equal(shard.reference, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(ask(bad[i], &shard), STATUS_USAGE);
}

static void slurm_names_a_shard(void **state)
{
    (void)state;
    struct shard shard = {0};
    environment(NULL);
    assert_int_equal(ask("auto", &shard), STATUS_USAGE);
    environment((const char *const[]){"SLURM_ARRAY_TASK_ID", "7", "SLURM_ARRAY_TASK_MIN", "5",
                                      "SLURM_ARRAY_TASK_COUNT", "4", NULL});
    assert_int_equal(ask("auto", &shard), STATUS_OK);
    assert_int_equal(shard.index, 2);
    assert_int_equal(shard.count, 4);
    /* 5-11:2 */
    setenv("SLURM_ARRAY_TASK_STEP", "2", 1);
    assert_int_equal(ask("auto", &shard), STATUS_OK);
    assert_int_equal(shard.index, 1);
    setenv("SLURM_ARRAY_TASK_ID", "8", 1);
    assert_int_equal(ask("auto", &shard), STATUS_USAGE);
    /* 1,5,90 */
    environment((const char *const[]){"SLURM_ARRAY_TASK_ID", "90", "SLURM_ARRAY_TASK_MIN", "1",
                                      "SLURM_ARRAY_TASK_COUNT", "3", NULL});
    assert_int_equal(ask("auto", &shard), STATUS_USAGE);
    environment((const char *const[]){"SLURM_ARRAY_TASK_ID", "1", NULL});
    assert_int_equal(ask("auto", &shard), STATUS_USAGE);
    environment((const char *const[]){"SLURM_PROCID", "3", "SLURM_NTASKS", "8", "SLURM_STEP_ID",
                                      "0", NULL});
    assert_int_equal(ask("auto", &shard), STATUS_OK);
    assert_int_equal(shard.index, 3);
    assert_int_equal(shard.count, 8);
    /* Two tasks of each of three array tasks. */
    environment((const char *const[]){"SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "2",
                                      "SLURM_NTASKS", "9", "SLURM_STEP_ID", "0",
                                      "SLURM_ARRAY_TASK_ID", "2", "SLURM_ARRAY_TASK_MIN", "0",
                                      "SLURM_ARRAY_TASK_COUNT", "3", NULL});
    assert_int_equal(ask("auto", &shard), STATUS_OK);
    assert_int_equal(shard.index, 5);
    assert_int_equal(shard.count, 6);
    /* A batch script is task 0 of none. */
    environment((const char *const[]){"SLURM_PROCID", "0", "SLURM_NTASKS", "8", NULL});
    assert_int_equal(ask("auto", &shard), STATUS_USAGE);
    environment((const char *const[]){"SLURM_PROCID", "0", "SLURM_NTASKS", "1", NULL});
    assert_int_equal(ask("auto", &shard), STATUS_OK);
    assert_int_equal(shard.count, 1);
    environment(NULL);
}

/* -- ranges ------------------------------------------------------------------------------------ */

static void ranges_are_read_as_written(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "0", "9", "0-9", "0-4,9", "1,3,5-6"};
    static const char *const bad[] = {
        "10", "-", "1-", "3-2", "1,,2", "1,", ",1", "a", "1 2", "0-10", "99999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool numbers[10] = {false};
        size_t found, counted;
        assert_true(number_ranges_read(texts[i], 10, numbers, &found));
        assert_true(number_ranges_read(texts[i], 10, NULL, &counted));
        assert_int_equal(found, counted);
        for (size_t j = 0; j < 10; j++)
            found -= numbers[j];
        assert_int_equal(found, 0);
        char *text = number_ranges_text(numbers, 10);
        assert_string_equal(text, texts[i]);
        free(text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bool numbers[10] = {false};
        size_t found;
        assert_false(number_ranges_read(bad[i], 10, numbers, &found));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_point_is_dealt_once, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(shards_are_about_equally_long, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(starting_counts, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(long_points_are_spread, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(points_that_share_workers_stay_together, plan_rig_begin,
                                        end),
        cmocka_unit_test_setup_teardown(dealing_follows_from_plan_seed_and_number, plan_rig_begin,
                                        end),
        cmocka_unit_test_setup_teardown(reference_points_are_of_different_layouts, plan_rig_begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_given_rate_is_no_reference, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(more_shards_than_points, plan_rig_begin, end),
        cmocka_unit_test_setup_teardown(a_fleet_measures_all, plan_rig_begin, end),
        cmocka_unit_test(a_shard_is_named),
        cmocka_unit_test(slurm_names_a_shard),
        cmocka_unit_test(ranges_are_read_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
