/* What a daemon gives its clients by default: as a user writes it, and as it is ordered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "common/clock.h"
#include "mps/settings.h"
#include "tests/unit/mps/harness.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define SOON (clock_now_ns() + 30 * NS_PER_S)
#define UUID "GPU-0f1e2d3c-1111-2222-3333-444455556666"
#define LONG_GPU "GPU-456789012345678901234567890123456789012345"

/* -- texts ------------------------------------------------------------------------------------- */

static void good_limits_are_taken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *gpu;
        uint64_t bytes;
    } rows[] = {
        {"0=16M", "0", 16 * MIB},
        {"0=16m", "0", 16 * MIB},
        {"0=16777216", "0", 16 * MIB},
        {"0=16384K", "0", 16 * MIB},
        {"7=4G", "7", 4 * GIB},
        {"7=4GiB", "7", 4 * GIB},
        {"7=4g", "7", 4 * GIB},
        {"15=1536M", "15", 1536 * MIB},
        {"0=1T", "0", 1024 * GIB},
        {"0=1024T", "0", UINT64_C(1) << 50},
        {"0=000000000000004G", "0", 4 * GIB},
        {UUID "=2G", UUID, 2 * GIB},
        {"MIG-0f1e2d3c=2G", "MIG-0f1e2d3c", 2 * GIB},
        {LONG_GPU "7=2G", LONG_GPU "7", 2 * GIB},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mps_settings settings;
        mps_settings_init(&settings);
        if (mps_settings_add_memory(&settings, rows[i].text) != STATUS_OK)
            fail_msg("'%s': %s", rows[i].text, status_text());
        if (settings.memory_limits != 1 || strcmp(settings.memory_limit[0].gpu, rows[i].gpu) != 0 ||
            settings.memory_limit[0].bytes != rows[i].bytes)
            fail_msg("'%s': GPU '%s', %llu bytes", rows[i].text, settings.memory_limit[0].gpu,
                     (unsigned long long)settings.memory_limit[0].bytes);
        assert_true(settings.active_thread_percentage == 0.0);
        assert_int_equal(settings.priority, -1);
    }
}

static void bad_limits_are_named_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "names no GPU"},
        {"4G", "'4G' names no GPU"},
        {"0", "'0' names no GPU"},
        {"=4G", "'' is not a GPU"},
        {" 0=4G", "' 0' is not a GPU"},
        {"0 =4G", "'0 ' is not a GPU"},
        {"-1=4G", "'-1' is not a GPU"},
        {"+1=4G", "'+1' is not a GPU"},
        {"gpu=4G", "'gpu' is not a GPU"},
        {"0x1=4G", "'0x1' is not a GPU"},
        {"1-2=4G", "'1-2' is not a GPU"},
        {"GPU-=4G", "'GPU-' is not a GPU"},
        {"MIG-=4G", "'MIG-' is not a GPU"},
        {"GPU-a b=4G", "'GPU-a b' is not a GPU"},
        {"GPU-a\nquit=4G", "is not a GPU"},
        {"GPU-\303\244=4G", "is not a GPU"},
        {LONG_GPU "78=2G", "is not a GPU"},
        {"0=", "'' is not a memory limit"},
        {"0= 4G", "' 4G' is not a memory limit"},
        {"0=4 G", "'4 G' is not a memory limit"},
        {"0=-4G", "'-4G' is not a memory limit"},
        {"0=+4G", "'+4G' is not a memory limit"},
        {"0=1.5G", "'1.5G' is not a memory limit"},
        {"0=4GB", "'4GB' is not a memory limit"},
        {"0=4GG", "'4GG' is not a memory limit"},
        {"0=4P", "'4P' is not a memory limit"},
        {"0=0x10G", "'0x10G' is not a memory limit"},
        {"0=G", "'G' is not a memory limit"},
        {"0=0", "'0' is not a memory limit"},
        {"0=4096", "'4096' is not a memory limit"},
        {"0=15M", "'15M' is not a memory limit"},
        {"0=16777217", "'16777217' is not a memory limit"},
        {"0=16385K", "'16385K' is not a memory limit"},
        {"0=1025T", "'1025T' is not a memory limit"},
        {"0=99999999999999999T", "is not a memory limit"},
        {"0=18446744073709551616", "is not a memory limit"},
        {"0=36893488147419103232K", "is not a memory limit"},
        {"0=4G=5G", "'4G=5G' is not a memory limit"},
        {"0=4G,", "names no GPU"},
        {",0=4G", "names no GPU"},
        {"0=4G,,1=4G", "names no GPU"},
        {"0=4G,1=", "'' is not a memory limit"},
        {"0=4G,0=5G", "names GPU 0 twice"},
        {"3=4G", "names GPU 3 twice"},
        {"0=1G,1=1G,2=1G,4=1G,5=1G,6=1G,7=1G,8=1G,9=1G,10=1G,11=1G,12=1G,13=1G,14=1G,15=1G,16=1G",
         "more than 16 GPUs"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mps_settings settings, before;
        memset(&settings, 0, sizeof settings);
        mps_settings_init(&settings);
        ASSERT_OK(mps_settings_add_memory(&settings, "3=3G"));
        before = settings;
        enum status status = mps_settings_add_memory(&settings, rows[i].text);
        if (status != STATUS_USAGE || !strstr(status_text(), rows[i].part))
            fail_msg("'%s': status %d: %s", rows[i].text, (int)status, status_text());
        assert_memory_equal(&settings, &before, sizeof settings);
    }
}

static void limits_add_up(void **state)
{
    (void)state;
    struct mps_settings settings;
    mps_settings_init(&settings);
    ASSERT_OK(mps_settings_add_memory(
        &settings, "0=1G,1=1G,2=1G,3=1G,4=1G,5=1G,6=1G,7=1G,8=1G,9=1G,10=1G,11=1G,12=1G,13=1G"));
    ASSERT_OK(mps_settings_add_memory(&settings, "14=16M," UUID "=2G"));
    assert_int_equal(settings.memory_limits, MPS_SETTINGS_GPUS);
    assert_string_equal(settings.memory_limit[15].gpu, UUID);
    assert_int_equal(settings.memory_limit[14].bytes, 16 * MIB);
}

static void sizes_are_written_in_whole_units(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {16 * MIB, "16M"},
        {1023 * MIB, "1023M"},
        {GIB, "1G"},
        {1536 * MIB, "1536M"},
        {1024 * GIB, "1024G"},
        {GIB + MIB, "1025M"},
        {UINT64_C(1) << 50, "1048576G"},
    };
    char text[24];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(mps_settings_size_text(rows[i].bytes, text, sizeof text), rows[i].text);
}

/* -- orders ------------------------------------------------------------------------------------ */

static struct mps_settings all_settings(void)
{
    struct mps_settings settings;
    mps_settings_init(&settings);
    settings.active_thread_percentage = 33.3;
    settings.priority = 1;
    assert_int_equal(mps_settings_add_memory(&settings, "0=1536M," UUID "=4G"), STATUS_OK);
    return settings;
}

#define GET_PERCENTAGE "'get_default_active_thread_percentage'"
#define GET_PRIORITY "'get_default_client_priority'"
#define GET_MEMORY(gpu) "'get_default_device_pinned_mem_limit " gpu "'"

/* As the daemon of driver 580 lists them. */
#define TITLES                                                                                     \
    "Default\\nDevice Ordinal  PCI IDs        UUID                                      "          \
    "Name                              Attributes\\n"
#define DEVICE(ordinal, uuid)                                                                      \
    ordinal "               0000:00:06.00  " uuid "  NVIDIA H200                       N/A\\n"
#define OTHER_UUID "GPU-aa0caf94-3e4a-fc56-e823-bae2d7d0090a"
#define ONE_DEVICE "printf '" TITLES DEVICE("0", OTHER_UUID) "'"
#define TWO_DEVICES "printf '" TITLES DEVICE("0", OTHER_UUID) DEVICE("1", UUID) "'"
#define QUERY "'device_query'"

static void orders_are_as_the_daemon_reads_them(void **state)
{
    (void)state;
    const struct mps_answer answers[] = {{GET_PERCENTAGE, "echo 33.3"},
                                         {GET_PRIORITY, "echo 1"},
                                         {GET_MEMORY("0"), "echo 1G"}, /* whole ones from 1 on */
                                         {GET_MEMORY("1"), "echo 4G"},
                                         {QUERY, TWO_DEVICES},
                                         {NULL, NULL}};
    const struct mps_control control = {mps_script(NULL, answers), mps_base};
    struct mps_settings settings = all_settings();
    ASSERT_OK(mps_settings_apply(&settings, &control, SOON));
    /* Whole MiB with their suffix: what has none counts as MiB, and 1.5G would be 1M. */
    assert_string_equal(mps_orders(), "set_default_active_thread_percentage 33.3\n"
                                      "get_default_active_thread_percentage\n"
                                      "set_default_client_priority 1\n"
                                      "get_default_client_priority\n"
                                      "device_query\n"
                                      "set_default_device_pinned_mem_limit 0 1536M\n"
                                      "get_default_device_pinned_mem_limit 0\n"
                                      "set_default_device_pinned_mem_limit 1 4096M\n"
                                      "get_default_device_pinned_mem_limit 1\n");
    mps_settings_init(&settings);
    ASSERT_OK(mps_settings_apply(&settings, &control, SOON));
    assert_string_equal(mps_orders(), "");
}

/* Each row changes one answer of a daemon that takes everything. */
static void what_the_daemon_has_instead_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *command, *action;
        enum status status;
        const char *part;
    } rows[] = {
        {GET_PERCENTAGE, "echo 33.3", STATUS_OK, ""},
        {GET_PERCENTAGE, "echo 33.333333", STATUS_OK, ""},
        {GET_PERCENTAGE, "echo 33.4", STATUS_UNSUPPORTED,
         "did not take an active thread percentage of 33.3: it has 33.4"},
        {GET_PERCENTAGE, "echo 100.0", STATUS_UNSUPPORTED,
         "did not take an active thread percentage of 33.3: it has 100.0"},
        {GET_PERCENTAGE, "echo 3x3", STATUS_PROTOCOL, "3x3"},
        {GET_PERCENTAGE, "printf '\\033[2J\\n'", STATUS_PROTOCOL, "?[2J"},
        {GET_PERCENTAGE, "echo 33.3; echo 33.3", STATUS_PROTOCOL, "more than one line"},
        {GET_PERCENTAGE, ":", STATUS_PROTOCOL, "answered nothing"},
        {GET_PERCENTAGE, "head -c 2000000 /dev/zero | tr '\\0' 1", STATUS_PROTOCOL, "too long"},
        {GET_PERCENTAGE, "echo 'Unknown command \"get_default_active_thread_percentage\"'",
         STATUS_UNSUPPORTED, "no command 'get_default_active_thread_percentage'"},
        {GET_PERCENTAGE, "exit 1", STATUS_NOT_FOUND, "no MPS control daemon answers in '/tmp/mpt-"},
        {GET_PERCENTAGE, "echo 33.3; kill -9 $$", STATUS_NOT_FOUND,
         "no MPS control daemon answers"},
        {"'set_default_active_thread_percentage '*", "exit 1", STATUS_NOT_FOUND, "no MPS control"},
        {"'set_default_active_thread_percentage '*", "echo nonsense", STATUS_OK, ""},
        {GET_PRIORITY, "echo 0", STATUS_UNSUPPORTED,
         "did not take a client priority of 1: it has 0"},
        {GET_PRIORITY, "echo 2", STATUS_PROTOCOL, "2"},
        {GET_PRIORITY, "exit 1", STATUS_NOT_FOUND, "no MPS control daemon"},
        {GET_MEMORY("0"), "echo 1536M", STATUS_OK, ""},
        {GET_MEMORY("0"), "echo 2G", STATUS_UNSUPPORTED,
         "did not take a memory limit of 1536M for GPU 0: it has 2G"},
        {GET_MEMORY("0"), ":", STATUS_UNSUPPORTED,
         "did not take a memory limit of 1536M for GPU 0: it has none"},
        {GET_MEMORY("0"), "echo 1", STATUS_PROTOCOL, "'1'"},
        {GET_MEMORY("0"), "exit 1", STATUS_NOT_FOUND, "no MPS control daemon"},
        {GET_MEMORY("1"), "echo 4G", STATUS_OK, ""},
        {GET_MEMORY("1"), "echo 4096M", STATUS_OK, ""},
        {GET_MEMORY("1"), "echo 3G", STATUS_UNSUPPORTED, "of 4G for GPU " UUID ": it has 3G"},
        /* It takes limits for GPUs that are not there, and reads them back. */
        {QUERY, ONE_DEVICE, STATUS_USAGE, "has no GPU '" UUID "': it has 1, numbered from 0"},
        {QUERY, ":", STATUS_PROTOCOL, "table of devices"},
        {QUERY, "exit 1", STATUS_NOT_FOUND, "no MPS control daemon"},
    };
    struct mps_settings settings = all_settings();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct mps_answer answers[] = {{rows[i].command, rows[i].action},
                                             {GET_PERCENTAGE, "echo 33.3"},
                                             {GET_PRIORITY, "echo 1"},
                                             {GET_MEMORY("0"), "echo 1G"},
                                             {GET_MEMORY("1"), "echo 4G"},
                                             {QUERY, TWO_DEVICES},
                                             {NULL, NULL}};
        const struct mps_control control = {mps_script(NULL, answers), mps_base};
        enum status status = mps_settings_apply(&settings, &control, SOON);
        if (status != rows[i].status ||
            (status != STATUS_OK && !strstr(status_text(), rows[i].part)))
            fail_msg("%s: %s: status %d: %s", rows[i].command, rows[i].action, (int)status,
                     status_text());
    }
}

/* A limit below 1 GiB is shown as it is: another one is not taken for it. */
static void small_limits_are_compared_exactly(void **state)
{
    (void)state;
    struct mps_settings settings;
    mps_settings_init(&settings);
    ASSERT_OK(mps_settings_add_memory(&settings, "0=512M"));
    const struct mps_answer other[] = {
        {GET_MEMORY("0"), "echo 511M"}, {QUERY, ONE_DEVICE}, {NULL, NULL}};
    struct mps_control control = {mps_script(NULL, other), mps_base};
    ASSERT_ERROR(mps_settings_apply(&settings, &control, SOON), STATUS_UNSUPPORTED,
                 "of 512M for GPU 0: it has 511M");
    const struct mps_answer same[] = {
        {GET_MEMORY("0"), "echo 512M"}, {QUERY, ONE_DEVICE}, {NULL, NULL}};
    control.program = mps_script(NULL, same);
    ASSERT_OK(mps_settings_apply(&settings, &control, SOON));
    /* One that cannot list its GPUs is taken at its word. */
    const struct mps_answer old[] = {{GET_MEMORY("0"), "echo 512M"},
                                     {QUERY, "echo 'Unknown command \"device_query\"'"},
                                     {NULL, NULL}};
    control.program = mps_script(NULL, old);
    ASSERT_OK(mps_settings_apply(&settings, &control, SOON));
}

static void a_slow_daemon_is_given_up(void **state)
{
    (void)state;
    const struct mps_answer answers[] = {{GET_PERCENTAGE, "exec sleep 600"}, {NULL, NULL}};
    const struct mps_control control = {mps_script(NULL, answers), mps_base};
    struct mps_settings settings = all_settings(), read;
    memset(&read, 7, sizeof read);
    const struct mps_settings before = read;
    uint64_t begin_ns = clock_now_ns();
    assert_int_equal(mps_settings_apply(&settings, &control, begin_ns + 300 * NS_PER_MS),
                     STATUS_TIMEOUT);
    assert_int_equal(mps_settings_read(&control, 1, clock_now_ns() + 100 * NS_PER_MS, &read),
                     STATUS_TIMEOUT);
    assert_true(clock_now_ns() - begin_ns < 10 * NS_PER_S);
    assert_memory_equal(&read, &before, sizeof read);
}

static void settings_are_read_without_an_order(void **state)
{
    (void)state;
    const struct mps_answer answers[] = {
        {GET_PERCENTAGE, "echo 12.5"},  {GET_PRIORITY, "echo 0"},     {GET_MEMORY("0"), ":"},
        {GET_MEMORY("1"), "echo 512M"}, {GET_MEMORY("2"), "echo 2G"}, {NULL, NULL}};
    const struct mps_control control = {mps_script(NULL, answers), mps_base};
    struct mps_settings settings;
    ASSERT_OK(mps_settings_read(&control, 3, SOON, &settings));
    assert_true(settings.active_thread_percentage == 12.5);
    assert_int_equal(settings.priority, 0);
    assert_int_equal(settings.memory_limits, 2);
    assert_string_equal(settings.memory_limit[0].gpu, "1");
    assert_int_equal(settings.memory_limit[0].bytes, 512 * MIB);
    assert_string_equal(settings.memory_limit[1].gpu, "2");
    assert_int_equal(settings.memory_limit[1].bytes, 2 * GIB);
    assert_string_equal(mps_orders(), "get_default_active_thread_percentage\n"
                                      "get_default_client_priority\n"
                                      "get_default_device_pinned_mem_limit 0\n"
                                      "get_default_device_pinned_mem_limit 1\n"
                                      "get_default_device_pinned_mem_limit 2\n");
}

static void an_odd_answer_spoils_the_reading(void **state)
{
    (void)state;
    static const struct {
        const char *command, *action;
        enum status status;
    } rows[] = {
        {GET_PERCENTAGE, "echo much", STATUS_PROTOCOL},
        {GET_PERCENTAGE, "exit 1", STATUS_NOT_FOUND},
        {GET_PRIORITY, "echo high", STATUS_PROTOCOL},
        {GET_PRIORITY, "kill -9 $$", STATUS_NOT_FOUND},
        {GET_MEMORY("1"), "echo 5", STATUS_PROTOCOL},
        {GET_MEMORY("1"), "exit 3", STATUS_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct mps_answer answers[] = {{rows[i].command, rows[i].action},
                                             {GET_PERCENTAGE, "echo 100.0"},
                                             {GET_PRIORITY, "echo 0"},
                                             {NULL, NULL}};
        const struct mps_control control = {mps_script(NULL, answers), mps_base};
        struct mps_settings settings;
        memset(&settings, 7, sizeof settings);
        const struct mps_settings before = settings;
        enum status status = mps_settings_read(&control, 2, SOON, &settings);
        if (status != rows[i].status)
            fail_msg("%s: %s: status %d: %s", rows[i].command, rows[i].action, (int)status,
                     status_text());
        assert_memory_equal(&settings, &before, sizeof settings);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_limits_are_taken),
        cmocka_unit_test(bad_limits_are_named_and_change_nothing),
        cmocka_unit_test(limits_add_up),
        cmocka_unit_test(sizes_are_written_in_whole_units),
        cmocka_unit_test_setup_teardown(orders_are_as_the_daemon_reads_them, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(what_the_daemon_has_instead_is_told, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(small_limits_are_compared_exactly, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(a_slow_daemon_is_given_up, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(settings_are_read_without_an_order, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(an_odd_answer_spoils_the_reading, mps_begin, mps_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
