/* Points on several GPUs, before anything is started: which GPUs, which points, which process
 * where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "emul/model/visible.h"
#include "orchestrator/plan/device_choice.h"
#include "orchestrator/plan/turns.h"
#include "tests/unit/plan/plan_rig.h"

static struct device_list list;

static int begin(void **state)
{
    list = (struct device_list){.count = 4};
    for (unsigned i = 0; i < list.count; i++)
        snprintf(list.devices[i].uuid, sizeof list.devices[i].uuid,
                 "GPU-%u0000000-0000-0000-0000-000000000000", i + 1);
    return plan_rig_begin(state);
}

static void refused(const char *says)
{
    if (!strstr(status_text(), says))
        fail_msg("'%s' is not in: %s", says, status_text());
}

/* -- which GPUs -------------------------------------------------------------------------------- */

static void gpus_are_chosen(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool emulated;
        unsigned known; /* without a driver */
        const char *numbers;
    } table[] = {
        {NULL, false, 1, "0"},
        {"", false, 1, "0"},
        {"2", false, 1, "2"},
        {"0,1,3", false, 3, "013"},
        {"3, 1", false, 2, "31"},
        {"GPU-20000000,GPU-40000000-0000", false, 2, "13"},
        {"gpu-30000000-0000-0000-0000-000000000000,0", false, 2, "20"},
        {"all", false, 0, "0123"},
        {"emulated", true, 1, "0"},
        {"emulated:all", true, 0, "0123"},
        {"emulated:1,0", true, 2, "10"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct device_choice choice;
        unsigned found[DEVICE_LIST_MAX];
        unsigned count = 0;
        assert_int_equal(device_choice_parse(table[i].text, &choice), STATUS_OK);
        assert_int_equal(choice.emulated, table[i].emulated);
        assert_int_equal(device_choice_count(&choice), table[i].known);
        assert_int_equal(device_choice_find(&choice, &list, found, &count), STATUS_OK);
        assert_int_equal(count, strlen(table[i].numbers));
        for (unsigned g = 0; g < count; g++)
            assert_int_equal(found[g], table[i].numbers[g] - '0');
    }
}

static void what_is_no_choice_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        bool asks; /* the driver's list decides */
    } table[] = {
        {"0,,1", "device '0,,1' has an empty item", false},
        {"0,", "has an empty item", false},
        {",0", "has an empty item", false},
        {"emulated:", "has an empty item", false},
        {"emulated:0,", "has an empty item", false},
        {"emulated,0", "emulated GPUs and real ones are not measured together", false},
        {"0,emulated:1", "emulated GPUs and real ones are not measured together", false},
        {"0,all", "'all' stands alone", false},
        {"1,0,1", "device '1,0,1' names GPU 1 twice", false},
        {"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", "names more than 16 GPUs", false},
        {"0,GPU-1000000", "device '0' and device 'GPU-1000000' are the same GPU, GPU-10000000",
         true},
        {"0,4", "no device 4: there are 4, numbered from 0", true},
        {"0,GPU-5", "no device 'GPU-5': it takes a number", true},
        {"0,-1", "no device -1", true},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct device_choice choice;
        unsigned found[DEVICE_LIST_MAX];
        unsigned count = 0;
        enum status status = device_choice_parse(table[i].text, &choice);
        assert_int_equal(status, table[i].asks ? STATUS_OK : STATUS_USAGE);
        if (table[i].asks)
            assert_int_equal(device_choice_find(&choice, &list, found, &count), STATUS_USAGE);
        refused(table[i].says);
    }
}

static void a_beginning_of_two_uuids_is_no_choice(void **state)
{
    (void)state;
    struct device_list alike = list;
    struct device_choice choice;
    unsigned found[DEVICE_LIST_MAX];
    unsigned count = 0;
    snprintf(alike.devices[2].uuid, sizeof alike.devices[2].uuid,
             "GPU-20000000-0000-0000-0000-000000000001");
    assert_int_equal(device_choice_parse("GPU-20000000-0000", &choice), STATUS_OK);
    assert_int_equal(device_choice_find(&choice, &alike, found, &count), STATUS_USAGE);
    refused("device 'GPU-20000000-0000' may be GPU GPU-20000000-0000-0000-0000-000000000000 or "
            "GPU-20000000-0000-0000-0000-000000000001: give more of the UUID");
    assert_int_equal(device_choice_parse(alike.devices[2].uuid, &choice), STATUS_OK);
    assert_int_equal(device_choice_find(&choice, &alike, found, &count), STATUS_OK);
    assert_int_equal(found[0], 2);
}

static void more_gpus_than_a_run_takes_are_not_left_out_silently(void **state)
{
    (void)state;
    struct device_list many = list;
    struct device_choice choice;
    unsigned found[DEVICE_LIST_MAX];
    unsigned count = 0;
    many.visible = many.count + 2;
    assert_int_equal(device_choice_parse("all", &choice), STATUS_OK);
    assert_int_equal(device_choice_find(&choice, &many, found, &count), STATUS_USAGE);
    refused("'all' would be 6 GPUs, and a run takes 4 at most: name them, as in 0,1");
    assert_int_equal(device_choice_parse("5", &choice), STATUS_OK);
    assert_int_equal(device_choice_find(&choice, &many, found, &count), STATUS_USAGE);
    refused("no device 5: of the 6 that the driver shows the first 4 can be used");
    assert_int_equal(device_choice_parse("6", &choice), STATUS_OK);
    assert_int_equal(device_choice_find(&choice, &many, found, &count), STATUS_USAGE);
    refused("no device 6: there are 6, numbered from 0");
    assert_int_equal(device_choice_parse("0,3", &choice), STATUS_OK);
    assert_int_equal(device_choice_find(&choice, &many, found, &count), STATUS_OK);
}

static void some_things_are_about_one_gpu(void **state)
{
    (void)state;
    assert_int_equal(device_choice_check_single("emulated", "a trace"), STATUS_OK);
    assert_int_equal(device_choice_check_single(NULL, "a trace"), STATUS_OK);
    assert_int_equal(device_choice_check_single("0,1", "a trace"), STATUS_USAGE);
    refused("a trace is about one GPU, and device '0,1' may be several");
    assert_int_equal(device_choice_check_single("all", "a probe"), STATUS_USAGE);
}

/* -- which points ------------------------------------------------------------------------------ */

static void gpus_are_an_axis(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:2,processes+mps:3");
    set(OPTION_GPUS_PER_POINT, "1,2,all");
    set(OPTION_MPS_DAEMONS, "shared,per-gpu");
    make_plan_for(4);
    /* Daemons make no difference without MPS, and with one GPU. */
    assert_int_equal(plan.count, 3 + 1 + 2 + 2);
    const struct point *point = &plan.points[7];
    assert_int_equal(point_gpus(point), 4);
    assert_int_equal(point_processes(point), 12);
    assert_int_equal(point_workers(point), 12);
    assert_int_equal(point_daemons(point), 4);
    assert_int_equal(point_daemons(&plan.points[6]), 1);
    assert_int_equal(point_daemons(&plan.points[2]), 0);
    assert_int_equal(point_workers(&plan.points[2]), 8);
    char text[POINT_DESCRIPTION];
    point_describe(point, text, sizeof text);
    assert_string_equal(text, "processes+mps 3×1 on each of 4 GPUs, a daemon a GPU, pinned");
    point_describe(&plan.points[0], text, sizeof text);
    assert_string_equal(text, "threads 1×2, pinned");
}

static void all_gpus_are_the_default(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:2");
    make_plan_for(1);
    assert_int_equal(point_gpus(&plan.points[0]), 1);
    make_plan_for(3);
    assert_int_equal(point_gpus(&plan.points[0]), 3);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "threads:2");
    set(OPTION_GPUS_PER_POINT, "3");
    assert_int_equal(plan_make(&job, 2, &plan), STATUS_USAGE);
    refused("gpus-per-point 3 is more than the 2 GPUs of device");
    set(OPTION_GPUS_PER_POINT, "all");
    set(OPTION_LAYOUT, "hybrid:16x33");
    assert_int_equal(plan_make(&job, 1, &plan), STATUS_OK);
    plan_release(&plan);
    assert_int_equal(plan_make(&job, 2, &plan), STATUS_USAGE);
    refused("hybrid 16x33 on 2 GPUs has 1056 workers; at most 1024");
}

static void an_external_daemon_is_one(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "processes+mps:2");
    set(OPTION_MPS, "external");
    set(OPTION_MPS_DAEMONS, "per-gpu");
    assert_int_equal(plan_make(&job, 2, &plan), STATUS_USAGE);
    refused("mps external is one daemon");
    /* Where it would be one in any case. */
    make_plan_for(1);
}

/* Results files of earlier versions can be resumed: this id never changes. */
static void the_id_is_one_for_ever(void **state)
{
    (void)state;
    char one[sizeof plan.id], shared[sizeof plan.id];
    set(OPTION_LAYOUT, "threads:1");
    set(OPTION_DURATION, "0.05");
    set(OPTION_MAX_DURATION, "0.05");
    set(OPTION_WARMUP, "0.01");
    set(OPTION_ROUNDS, "1");
    set(OPTION_PRECISION, "1");
    make_plan_for(1);
    assert_string_equal(plan.id, "2:76c5653d3c41346b");
    set(OPTION_GPUS_PER_POINT, "1");
    make_plan_for(4);
    assert_string_equal(plan.id, "2:76c5653d3c41346b");
    set(OPTION_LAYOUT, "processes+mps:2");
    make_plan_for(4);
    memcpy(one, plan.id, sizeof one);
    set(OPTION_MPS_DAEMONS, "per-gpu");
    make_plan_for(4);
    assert_string_equal(plan.id, one);
    set(OPTION_GPUS_PER_POINT, "2");
    set(OPTION_MPS_DAEMONS, "shared");
    make_plan_for(4);
    assert_string_not_equal(plan.id, one);
    memcpy(shared, plan.id, sizeof shared);
    make_plan_for(2);
    assert_string_equal(plan.id, shared);
    set(OPTION_MPS_DAEMONS, "per-gpu");
    make_plan_for(4);
    assert_string_not_equal(plan.id, shared);
}

/* -- which process where ----------------------------------------------------------------------- */

static void processes_are_dealt_to_gpus(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "processes+mps:2");
    make_plan_for(3);
    const struct point *point = &plan.points[0];
    static const unsigned gpus[] = {0, 1, 2, 0, 1, 2}, numbers[] = {0, 0, 0, 1, 1, 1};
    for (unsigned p = 0; p < point_processes(point); p++) {
        assert_int_equal(point_gpu_of(point, p), gpus[p]);
        assert_int_equal(point_number_on_gpu(point, p), numbers[p]);
    }
}

static void crews_serve_points_of_the_same_gpus_and_daemons(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "processes+mps:2,4");
    set(OPTION_GPUS_PER_POINT, "1,2");
    set(OPTION_MPS_DAEMONS, "shared,per-gpu");
    make_plan_for(2);
    assert_int_equal(plan.count, 6); /* of each size: one GPU, shared, per GPU */
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            assert_int_equal(turns_serves(&plan.points[i], &plan.points[j]),
                             i % 3 == j % 3 && i >= j);
}

static void visible_devices_are_named_by_uuid(void **state)
{
    (void)state;
#define UUID(end) "GPU-6d707377-6565-702d-656d-756c617465" end
    static const struct {
        const char *text, *numbers;
        bool chosen;
    } table[] = {
        {NULL, "0123", false},
        {"", "0123", false},
        {"1", "0123", false}, /* about the real machine, as is the next */
        {"GPU-10000000-0000-0000-0000-000000000000", "0123", false},
        {UUID("64"), "0", true},
        {UUID("67") "," UUID("65"), "31", true},
        {UUID("65") ",7," UUID("64"), "1", true}, /* what is unknown ends the list */
        {UUID("68"), "0123", false},              /* there are four */
        {UUID("6g"), "0123", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct visible visible = visible_parse(table[i].text, 4);
        assert_int_equal(visible.count, strlen(table[i].numbers));
        assert_int_equal(visible.chosen, table[i].chosen);
        for (uint32_t d = 0; d < visible.count; d++)
            assert_int_equal(visible.devices[d], table[i].numbers[d] - '0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gpus_are_chosen, begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(what_is_no_choice_is_refused, begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(a_beginning_of_two_uuids_is_no_choice, begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(more_gpus_than_a_run_takes_are_not_left_out_silently, begin,
                                        plan_rig_end),
        cmocka_unit_test_setup_teardown(some_things_are_about_one_gpu, begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(gpus_are_an_axis, begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(all_gpus_are_the_default, begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(too_much_is_refused, begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(an_external_daemon_is_one, begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(the_id_is_one_for_ever, begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(processes_are_dealt_to_gpus, begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(crews_serve_points_of_the_same_gpus_and_daemons, begin,
                                        plan_rig_end),
        cmocka_unit_test(visible_devices_are_named_by_uuid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
