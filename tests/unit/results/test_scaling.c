#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/results/point.h"
#include "orchestrator/results/settings.h"
#include "orchestrator/results/scaling.h"

static json_t *point_of(int id, unsigned gpus, const char *more)
{
    json_t *point = json_pack("{s:i, s:s, s:s, s:b, s:i, s:i, s:s, s:i, s:f}", "id", id, "status",
                              "ok", "layout", "threads", "mps", 0, "processes", 1, "threads", 8,
                              "memory", "pinned", "kernels", 220, "ci95_rel", 0.003);
    json_t *fields = json_loads(more, 0, NULL);
    assert_non_null(fields);
    json_object_update(point, fields);
    json_decref(fields);
    if (gpus)
        json_object_set_new(point, "gpus", json_integer(gpus));
    return point;
}

static void a_point_of_several_finds_its_point_of_one(void **state)
{
    (void)state;
    json_t *points = json_array();
    json_array_append_new(points, point_of(0, 0, "{\"threads\": 4, \"throughput_ips\": 600}"));
    json_array_append_new(points, point_of(1, 0, "{\"throughput_ips\": 1000}"));
    json_array_append_new(points,
                          point_of(2, 2, "{\"throughput_ips\": 1900, \"ci95_rel\": 0.004}"));
    json_array_append_new(points, point_of(3, 4, "{\"throughput_ips\": 3000}"));
    /* No point of one GPU, and one that was not measured, or does what is offered. */
    json_array_append_new(points, point_of(4, 2, "{\"threads\": 16, \"throughput_ips\": 1900}"));
    json_array_append_new(points, point_of(5, 0, "{\"threads\": 16, \"status\": \"failed\"}"));
    json_array_append_new(points,
                          point_of(6, 0, "{\"threads\": 16, \"throughput_ips\": 9, \"rate\": {}}"));
    struct scaling scaling;
    json_t *singles = scaling_singles(points);
    assert_true(scaling_find(singles, json_array_get(points, 2), &scaling));
    assert_int_equal(2, scaling.gpus);
    assert_ptr_equal(json_array_get(points, 1), scaling.base);
    assert_float_equal(0.95, scaling.efficiency, 1e-12);
    /* 3 and 4 permille, independent. */
    assert_float_equal(0.95 * 0.995, scaling.low, 1e-9);
    assert_float_equal(0.95 * 1.005, scaling.high, 1e-9);
    char text[64];
    assert_string_equal("95.0% ±0.5%", scaling_text(&scaling, text, sizeof text));
    assert_string_equal("-", scaling_text(NULL, text, sizeof text));
    assert_true(scaling_find(singles, json_array_get(points, 3), &scaling));
    assert_float_equal(0.75, scaling.efficiency, 1e-12);
    assert_false(scaling_find(singles, json_array_get(points, 4), &scaling));
    assert_false(scaling_find(singles, json_array_get(points, 1), &scaling));
    json_decref(singles);
    json_decref(points);
}

static void daemons_and_gpus_make_points_apart_but_scale_from_one(void **state)
{
    (void)state;
    static const char *const over[] = {"", "\"mps_daemons\": \"shared\", ",
                                       "\"mps_daemons\": \"per-gpu\", "};
    json_t *points = json_array();
    for (int i = 0; i < 3; i++) {
        char fields[160];
        snprintf(fields, sizeof fields,
                 "{\"layout\": \"threads+mps\", \"mps\": true, %s\"throughput_ips\": %d}", over[i],
                 100 + 90 * i);
        json_array_append_new(points, point_of(i, i ? 2 : 1, fields));
    }
    struct scaling scaling;
    json_t *singles = scaling_singles(points);
    for (size_t i = 1; i < 3; i++) {
        assert_true(scaling_find(singles, json_array_get(points, i), &scaling));
        assert_ptr_equal(json_array_get(points, 0), scaling.base);
        assert_ptr_equal(json_array_get(points, 3 - i),
                         scaling_other_daemons(points, json_array_get(points, i)));
    }
    assert_null(scaling_other_daemons(points, json_array_get(points, 0)));
    char *keys[3];
    for (size_t i = 0; i < 3; i++)
        keys[i] = settings_key(json_array_get(points, i), 0);
    assert_string_not_equal(keys[0], keys[1]);
    assert_string_not_equal(keys[1], keys[2]);
    for (size_t i = 0; i < 3; i++)
        free(keys[i]);
    json_decref(singles);
    json_decref(points);
}

static void one_gpu_is_one_said_or_not(void **state)
{
    (void)state;
    json_t *said = point_of(0, 1, "{}"), *unsaid = point_of(0, 0, "{}"),
           *two = point_of(0, 2, "{}");
    char *keys[] = {settings_key(said, 0), settings_key(unsaid, 0), settings_key(two, 0)};
    assert_string_equal(keys[0], keys[1]);
    assert_string_not_equal(keys[0], keys[2]);
    for (size_t i = 0; i < 3; i++)
        free(keys[i]);
    char text[POINT_TEXT_BYTES];
    settings_figure_text(two, OPTION_GPUS_PER_POINT, text);
    assert_string_equal("2 GPUs", text);
    settings_figure_text(said, OPTION_GPUS_PER_POINT, text);
    assert_string_equal("", text);
    json_decref(said);
    json_decref(unsaid);
    json_decref(two);
}

static void without_an_interval_there_is_none(void **state)
{
    (void)state;
    json_t *points = json_array();
    json_array_append_new(points, point_of(0, 1, "{\"throughput_ips\": 10, \"ci95_rel\": null}"));
    json_array_append_new(points, point_of(1, 3, "{\"throughput_ips\": 33}"));
    struct scaling scaling;
    char text[64];
    json_t *singles = scaling_singles(points);
    assert_true(scaling_find(singles, json_array_get(points, 1), &scaling));
    assert_float_equal(1.1, scaling.efficiency, 1e-12);
    assert_true(isnan(scaling.low) && isnan(scaling.high));
    assert_string_equal("110.0%", scaling_text(&scaling, text, sizeof text));
    json_decref(singles);
    json_decref(points);
}

static void the_slow_gpu_is_named(void **state)
{
    (void)state;
    json_t *point = point_of(0, 3,
                             "{\"throughput_ips\": 280, \"per_gpu\": ["
                             "{\"gpu\": 0, \"uuid\": \"GPU-a\", \"throughput_ips\": 100},"
                             "{\"gpu\": 1, \"uuid\": \"GPU-b\", \"throughput_ips\": 80},"
                             "{\"gpu\": 2, \"uuid\": \"GPU-c\", \"throughput_ips\": 100}]}");
    struct imbalance imbalance;
    assert_true(imbalance_of(point, &imbalance));
    assert_int_equal(3, imbalance.gpus);
    assert_int_equal(1, imbalance.slowest.number);
    assert_string_equal("GPU-b", imbalance.slowest.uuid);
    assert_float_equal(20.0 / (280.0 / 3.0), imbalance.relative, 1e-12);
    assert_int_equal(IMBALANCE_SLOW, imbalance.kind);
    assert_float_equal(0.8, imbalance.of_the_others, 1e-12);
    assert_true(imbalance_matters(&imbalance, point));
    /* Within what the point's own interval allows, and where that is not known. */
    json_object_set_new(point, "ci95_rel", json_real(0.3));
    assert_false(imbalance_matters(&imbalance, point));
    json_object_set_new(point, "ci95_rel", json_null());
    assert_true(imbalance_matters(&imbalance, point));
    /* It is of all three together: of two of them it leaves open the root of six times as much. */
    json_object_set_new(point, "ci95_rel", json_real(0.08));
    assert_true(imbalance_matters(&imbalance, point));
    json_object_set_new(point, "ci95_rel", json_real(0.09));
    assert_false(imbalance_matters(&imbalance, point));
    json_object_set_new(point, "ci95_rel", json_null());
    imbalance.relative = 0.04;
    assert_false(imbalance_matters(&imbalance, point));
    json_decref(point);
    /* One GPU, and rates that are none. */
    point = point_of(0, 1, "{\"throughput_ips\": 280}");
    assert_false(imbalance_of(point, &imbalance));
    json_decref(point);
    point = point_of(0, 2, "{\"per_gpu\": [{\"gpu\": 0, \"throughput_ips\": 1}, {\"gpu\": 1}]}");
    assert_false(imbalance_of(point, &imbalance));
    json_decref(point);
}

/* The words about rates, which end with 0. */
static void assert_said(const double *rates, const char *said)
{
    struct imbalance imbalance;
    char text[IMBALANCE_TEXT];
    json_t *gpus = json_array();
    for (unsigned i = 0; rates[i] > 0; i++) {
        char uuid[16];
        snprintf(uuid, sizeof uuid, "GPU-%c", 'a' + (char)i);
        json_array_append_new(gpus, json_pack("{s:i, s:s, s:f}", "gpu", (int)i, "uuid", uuid,
                                              "throughput_ips", rates[i]));
    }
    json_t *point = json_pack("{s:o}", "per_gpu", gpus);
    assert_true(imbalance_of(point, &imbalance));
    assert_string_equal(said, imbalance_text(&imbalance, false, text));
    json_decref(point);
}

static void what_is_said_is_so(void **state)
{
    (void)state;
    static const struct {
        double rates[12];
        const char *said;
    } cases[] = {
        {{100, 80, 100}, "GPU 1 is 20% slower than the median of the others"},
        {{800, 800, 600, 800}, "GPU 2 is 25% slower than the median of the others"},
        /* One of many that is fast makes none of the others slow. */
        {{100, 101, 100, 99, 108, 100, 101, 100},
         "GPU 4 is 8% faster than the median of the others"},
        {{120, 100, 100}, "GPU 0 is 20% faster than the median of the others"},
        /* Of two it is not known; nor where there are two kinds, or each is another. */
        {{100, 80}, "the GPUs differ by 22%, from GPU 1, the slowest, to GPU 0, the fastest"},
        {{100, 120, 100, 120},
         "the GPUs differ by 18%, from GPU 0, the slowest, to GPU 1, the fastest"},
        {{110, 100, 120}, "the GPUs differ by 18%, from GPU 1, the slowest, to GPU 2, the fastest"},
        /* A second one that is nearly as slow, and one that is slower by far. */
        {{100, 100, 82, 80},
         "the GPUs differ by 22%, from GPU 3, the slowest, to GPU 0, the fastest"},
        {{100, 98, 96, 50}, "GPU 3 is 49% slower than the median of the others"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_said(cases[i].rates, cases[i].said);
}

static void uuids_are_told_where_they_are_wanted_and_known(void **state)
{
    (void)state;
    struct imbalance imbalance = {.gpus = 2,
                                  .relative = 0.25,
                                  .slowest = {.number = 1, .uuid = "GPU-b"},
                                  .fastest = {.number = 0, .uuid = ""}};
    char text[IMBALANCE_TEXT];
    assert_string_equal(
        "the GPUs differ by 25%, from GPU 1 (GPU-b), the slowest, to GPU 0, the fastest",
        imbalance_text(&imbalance, true, text));
    imbalance.kind = IMBALANCE_SLOW;
    imbalance.of_the_others = 0.75;
    assert_string_equal("GPU 1 (GPU-b) is 25% slower than the median of the others",
                        imbalance_text(&imbalance, true, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_point_of_several_finds_its_point_of_one),
        cmocka_unit_test(daemons_and_gpus_make_points_apart_but_scale_from_one),
        cmocka_unit_test(one_gpu_is_one_said_or_not),
        cmocka_unit_test(without_an_interval_there_is_none),
        cmocka_unit_test(the_slow_gpu_is_named),
        cmocka_unit_test(what_is_said_is_so),
        cmocka_unit_test(uuids_are_told_where_they_are_wanted_and_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
