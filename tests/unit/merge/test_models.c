/*
 * How GPUs and nodes differ, from simulated measurements of which the truth is known.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/random.h"
#include "orchestrator/merge/internal.h"

#define MOST_GPUS 64
#define MOST_POINTS 32

static uint64_t state_of_chance;

static double uniform(void)
{
    return ((double)(random_next(&state_of_chance) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2.0 * log(uniform())) * cos(2.0 * M_PI * uniform());
}

static struct gpus_observation observations[MOST_GPUS * MOST_POINTS];

/* Every GPU measures every point once. */
static struct gpus_model simulate(size_t gpus, size_t points, const double *log_factors,
                                  double scatter)
{
    struct gpus_model model = {0};
    size_t count = 0;
    for (size_t g = 0; g < gpus; g++)
        for (size_t p = 0; p < points; p++)
            observations[count++] = (struct gpus_observation){
                .point = p,
                .gpu = g,
                .log_ips = 5.0 + 0.3 * (double)p + log_factors[g] + scatter * normal(),
                .half_rel = 0.2 * scatter,
            };
    assert_int_equal(gpus_model_make(observations, count, points, gpus, &model), STATUS_OK);
    return model;
}

static void equal_gpus_do_not_differ(void **state)
{
    (void)state;
    const double none[MOST_GPUS] = {0};
    size_t differ = 0;
    state_of_chance = 1;
    for (int i = 0; i < 300; i++) {
        struct gpus_model model = simulate(8, 3, none, 0.01);
        differ += model.differ;
        assert_int_equal(model.compared, 8);
        gpus_model_release(&model);
    }
    /* 5% if the truth lay at the threshold itself. */
    assert_in_range(differ, 0, 6);
}

static void factors_and_their_intervals(void **state)
{
    (void)state;
    double factors[8] = {0.04, -0.06, 0, 0, 0.01, -0.01, 0.02, 0};
    size_t held = 0, named = 0, wrongly = 0;
    state_of_chance = 2;
    for (int i = 0; i < 300; i++) {
        struct gpus_model model = simulate(8, 4, factors, 0.005);
        for (size_t g = 0; g < 8; g++) {
            const struct gpus_factor *gpu = &model.gpus[g];
            held += exp(factors[g]) >= gpu->low && exp(factors[g]) <= gpu->high;
            assert_true(gpu->low < gpu->factor && gpu->factor < gpu->high);
            named += g < 2 && gpu->differs;
            wrongly += fabs(factors[g]) < 0.0095 && gpu->differs;
        }
        gpus_model_release(&model);
    }
    /* 95% of 2400; they are exact but for chance. */
    assert_in_range(held, 2220, 2340);
    assert_in_range(named, 590, 600);
    assert_in_range(wrongly, 0, 15);
}

/* A GPU that was only there for one of the points counts with what it has. */
static void not_every_gpu_has_every_point(void **state)
{
    (void)state;
    const double log_ips[3][3] = {{1.0, 2.0, 3.0}, {1.1, NAN, 3.1}, {NAN, 1.9, NAN}};
    struct gpus_observation some[9];
    struct gpus_model model;
    size_t count = 0;
    for (size_t g = 0; g < 3; g++)
        for (size_t p = 0; p < 3; p++)
            if (isfinite(log_ips[g][p]))
                some[count++] = (struct gpus_observation){p, g, log_ips[g][p], INFINITY, false};
    assert_int_equal(gpus_model_make(some, count, 3, 3, &model), STATUS_OK);
    assert_true(fabs(model.gpus[1].factor / model.gpus[0].factor - exp(0.1)) < 1e-9);
    assert_true(fabs(model.gpus[2].factor / model.gpus[0].factor - exp(-0.1)) < 1e-9);
    assert_true(fabs(model.gpus[0].factor * model.gpus[1].factor * model.gpus[2].factor - 1) <
                1e-9);
    gpus_model_release(&model);
}

static void gpus_without_a_common_point_are_not_compared(void **state)
{
    (void)state;
    const struct gpus_observation some[] = {
        {0, 0, 1.0, 0.01, false}, {0, 1, 1.0, 0.01, false}, {1, 2, 5.0, 0.01, false}};
    struct gpus_model model;
    assert_int_equal(gpus_model_make(some, 3, 2, 4, &model), STATUS_OK);
    assert_int_equal(model.compared, 2);
    assert_int_equal(model.gpus[2].observations, 0);
    assert_int_equal(model.gpus[3].observations, 0);
    assert_false(model.gpus[2].differs);
    gpus_model_release(&model);
    assert_int_equal(gpus_model_make(&some[2], 1, 2, 4, &model), STATUS_OK);
    assert_int_equal(model.compared, 0);
    gpus_model_release(&model);
    assert_int_equal(gpus_model_make(NULL, 0, 0, 0, &model), STATUS_OK);
    assert_false(model.differ);
    gpus_model_release(&model);
}

/* One point each: what is known is how a measurement scatters in itself. */
static void one_point_has_the_interval_of_its_measurements(void **state)
{
    (void)state;
    const struct gpus_observation same[] = {{0, 0, 1.0, 0.02, true}, {0, 1, 1.01, 0.02, true}};
    const struct gpus_observation other[] = {{0, 0, 1.0, 0.02, true}, {0, 1, 1.2, 0.02, true}};
    const struct gpus_observation unknown[] = {{0, 0, 1.0, INFINITY, true},
                                               {0, 1, 2.0, INFINITY, true}};
    struct gpus_model model;
    assert_int_equal(gpus_model_make(same, 2, 1, 2, &model), STATUS_OK);
    assert_false(model.differ);
    assert_true(model.within_runs_only);
    gpus_model_release(&model);
    assert_int_equal(gpus_model_make(other, 2, 1, 2, &model), STATUS_OK);
    assert_true(model.gpus[0].differs);
    assert_true(model.gpus[1].differs);
    gpus_model_release(&model);
    assert_int_equal(gpus_model_make(unknown, 2, 1, 2, &model), STATUS_OK);
    assert_false(model.differ);
    assert_true(isinf(model.gpus[0].high));
    gpus_model_release(&model);
}

/* -- fleets ------------------------------------------------------------------------------------ */

#define FLEET_CELLS (500 * MOST_POINTS)
static double log_ips[FLEET_CELLS];

/* Nodes that scatter among each other, and points on top. */
static void make_nodes(size_t nodes, size_t points, double between, double within)
{
    for (size_t n = 0; n < nodes; n++) {
        double node = between * normal();
        for (size_t p = 0; p < points; p++)
            log_ips[n * points + p] = 4.0 + (double)p + node + within * normal();
    }
}

static struct fleet judge(size_t nodes, size_t points)
{
    struct fleet fleet;
    assert_int_equal(fleet_make(log_ips, nodes, points, &fleet), STATUS_OK);
    return fleet;
}

static void equal_nodes_do_not_stand_out(void **state)
{
    (void)state;
    static const size_t sizes[] = {3, 4, 8, 40, 500};
    state_of_chance = 3;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t wrong = 0, odd = 0, runs = sizes[s] > 100 ? 20 : 200;
        for (size_t i = 0; i < runs; i++) {
            make_nodes(sizes[s], 12, 0.006, 0.005);
            struct fleet fleet = judge(sizes[s], 12);
            wrong += fleet.standing_out;
            odd += fleet.odd_count;
            assert_true(sizes[s] < 40 || (fleet.spread_rel > 0.003 && fleet.spread_rel < 0.012));
            fleet_release(&fleet);
        }
        assert_in_range(wrong, 0, 1);
        assert_in_range(odd, 0, 1);
    }
}

/* Where nodes differ much, what is far off is farther. */
static void a_wide_fleet_has_a_wide_limit(void **state)
{
    (void)state;
    size_t wrong = 0;
    state_of_chance = 4;
    for (int i = 0; i < 100; i++) {
        make_nodes(100, 12, 0.05, 0.005);
        struct fleet fleet = judge(100, 12);
        wrong += fleet.standing_out;
        assert_true(fleet.limit_rel > 0.1);
        fleet_release(&fleet);
    }
    assert_in_range(wrong, 0, 3);
}

static void a_slow_node_stands_out(void **state)
{
    (void)state;
    static const size_t sizes[] = {4, 8, 500};
    state_of_chance = 5;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t nodes = sizes[s], slow = nodes / 3;
        size_t found = 0, others = 0;
        for (int i = 0; i < 20; i++) {
            make_nodes(nodes, 12, 0.003, 0.004);
            for (size_t p = 0; p < 12; p++)
                log_ips[slow * 12 + p] -= 0.15;
            struct fleet fleet = judge(nodes, 12);
            found += fleet.nodes[slow].stands_out;
            others += fleet.standing_out - fleet.nodes[slow].stands_out;
            assert_true(fleet.nodes[slow].ratio > 0.84 && fleet.nodes[slow].ratio < 0.88);
            fleet_release(&fleet);
        }
        assert_in_range(found, 19, 20);
        assert_in_range(others, 0, 1);
    }
}

/* A fifth of the nodes must not move what all are compared with. */
static void many_slow_nodes_stand_out(void **state)
{
    (void)state;
    state_of_chance = 6;
    make_nodes(50, 12, 0.003, 0.004);
    for (size_t n = 0; n < 10; n++)
        for (size_t p = 0; p < 12; p++)
            log_ips[n * 12 + p] -= 0.3;
    struct fleet fleet = judge(50, 12);
    assert_int_equal(fleet.standing_out, 10);
    for (size_t n = 0; n < 50; n++)
        assert_int_equal(fleet.nodes[n].stands_out, n < 10);
    fleet_release(&fleet);
}

/* Slow at what goes over a broken link, and good at all else. */
static void a_node_is_unlike_itself_at_a_point(void **state)
{
    (void)state;
    state_of_chance = 7;
    make_nodes(30, 12, 0.003, 0.004);
    log_ips[7 * 12 + 5] -= 0.5;
    struct fleet fleet = judge(30, 12);
    assert_int_equal(fleet.standing_out, 0);
    assert_int_equal(fleet.odd_count, 1);
    assert_int_equal(fleet.odd[0].node, 7);
    assert_int_equal(fleet.odd[0].point, 5);
    assert_int_equal(fleet.points[5].lowest_node, 7);
    assert_true(fleet.points[5].lowest < 0.65);
    fleet_release(&fleet);
}

static void what_was_not_measured_is_left_out(void **state)
{
    (void)state;
    state_of_chance = 8;
    make_nodes(5, 4, 0.003, 0.004);
    for (size_t p = 0; p < 4; p++)
        log_ips[2 * 4 + p] = NAN;
    for (size_t n = 0; n < 5; n++)
        log_ips[n * 4 + 1] = NAN;
    struct fleet fleet = judge(5, 4);
    assert_int_equal(fleet.nodes[2].points, 0);
    assert_true(isnan(fleet.nodes[2].ratio));
    assert_int_equal(fleet.nodes[0].points, 3);
    assert_int_equal(fleet.points[1].nodes, 0);
    assert_int_equal(fleet.points[0].nodes, 4);
    fleet_release(&fleet);
}

/* Of two, neither is the odd one; one is its own median. */
static void two_nodes_are_too_few(void **state)
{
    (void)state;
    state_of_chance = 9;
    make_nodes(2, 12, 0.3, 0.004);
    struct fleet fleet = judge(2, 12);
    assert_int_equal(fleet.standing_out, 0);
    fleet_release(&fleet);
    fleet = judge(1, 12);
    assert_int_equal(fleet.nodes[0].points, 0);
    fleet_release(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_gpus_do_not_differ),
        cmocka_unit_test(factors_and_their_intervals),
        cmocka_unit_test(not_every_gpu_has_every_point),
        cmocka_unit_test(gpus_without_a_common_point_are_not_compared),
        cmocka_unit_test(one_point_has_the_interval_of_its_measurements),
        cmocka_unit_test(equal_nodes_do_not_stand_out),
        cmocka_unit_test(a_wide_fleet_has_a_wide_limit),
        cmocka_unit_test(a_slow_node_stands_out),
        cmocka_unit_test(many_slow_nodes_stand_out),
        cmocka_unit_test(a_node_is_unlike_itself_at_a_point),
        cmocka_unit_test(what_was_not_measured_is_left_out),
        cmocka_unit_test(two_nodes_are_too_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
