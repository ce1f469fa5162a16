#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "orchestrator/session/mps_limits.h"

/* As an H200 with driver 580 has them. */
static const struct mps_limits h200 = {
    .key = {"GPU-04ada952-318a-b7b7-5f46-339c81377b4e", "13.0", "580.95.05"},
    .found = "2026-11-21T06:14:28Z",
    .count = 4,
    .rows = {{1, 48, 808, "cuInit: CUDA_ERROR_MPS_MAX_CLIENTS_REACHED (808)"},
             {2, 48, 808, "cuInit: CUDA_ERROR_MPS_MAX_CLIENTS_REACHED (808)"},
             {8, 15, 2, "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (2)"},
             {32, 3, 46, "busy or unavailable"}},
};

static char folder[] = "/tmp/mpt-XXXXXX";
static char path[64];

static int begin(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/cache/mpsweep/limits.json", folder);
    return 0;
}

/* Fails if there is more than the file. */
static int end(void **state)
{
    (void)state;
    char part[64];
    if (unlink(path) != 0)
        return 0 == rmdir(folder) ? 0 : -1;
    snprintf(part, sizeof part, "%s/cache/mpsweep", folder);
    if (rmdir(part) != 0)
        return -1;
    snprintf(part, sizeof part, "%s/cache", folder);
    return rmdir(part) == 0 ? rmdir(folder) : -1;
}

static void write_file(const char *text)
{
    char part[64];
    snprintf(part, sizeof part, "%s/cache", folder);
    mkdir(part, 0700);
    snprintf(part, sizeof part, "%s/cache/mpsweep", folder);
    mkdir(part, 0700);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void what_is_stored_is_loaded(void **state)
{
    (void)state;
    struct mps_limits got;
    assert_int_equal(mps_limits_store(path, &h200), STATUS_OK);
    assert_int_equal(mps_limits_load(path, &h200.key, &got), STATUS_OK);
    assert_memory_equal(&got, &h200, sizeof got);
}

static void entries_are_told_apart_by_gpu_and_driver(void **state)
{
    (void)state;
    struct mps_limits other = h200, newer = h200, again = h200, got;
    strcpy(other.key.uuid, "GPU-other");
    other.rows[0].clients = 11;
    strcpy(newer.key.release, "615.1");
    assert_int_equal(mps_limits_store(path, &h200), STATUS_OK);
    assert_int_equal(mps_limits_load(path, &other.key, &got), STATUS_NOT_FOUND);
    assert_int_equal(mps_limits_load(path, &newer.key, &got), STATUS_NOT_FOUND);
    newer = h200;
    strcpy(newer.key.cuda, "13.1");
    assert_int_equal(mps_limits_load(path, &newer.key, &got), STATUS_NOT_FOUND);
    assert_int_equal(mps_limits_store(path, &other), STATUS_OK);
    /* Found again: in place of the earlier one, beside the other. */
    again.rows[0].clients = 60;
    assert_int_equal(mps_limits_store(path, &again), STATUS_OK);
    assert_int_equal(mps_limits_load(path, &h200.key, &got), STATUS_OK);
    assert_int_equal(got.rows[0].clients, 60);
    assert_int_equal(mps_limits_load(path, &other.key, &got), STATUS_OK);
    assert_int_equal(got.rows[0].clients, 11);
}

static void no_file_is_not_found(void **state)
{
    (void)state;
    struct mps_limits got;
    assert_int_equal(mps_limits_load(path, &h200.key, &got), STATUS_NOT_FOUND);
}

#define ENTRY                                                                                      \
    "\"uuid\":\"GPU-04ada952-318a-b7b7-5f46-339c81377b4e\",\"cuda\":\"13.0\","                     \
    "\"release\":\"580.95.05\",\"found\":\"2026\""
#define ROW "\"connections\":2,\"clients\":48,\"refused\":808,\"error\":\"\""

static void broken_files_are_named_and_replaced(void **state)
{
    (void)state;
    static const char *const table[] = {
        "",
        "{",
        "[]",
        "null",
        "{\"schema\":2,\"limits\":[]}",
        "{\"schema\":1}",
        "{\"schema\":1,\"limits\":{}}",
        "{\"schema\":1,\"limits\":[3]}",
        "{\"schema\":1,\"limits\":[{" ENTRY "}]}",
        "{\"schema\":1,\"limits\":[{" ENTRY ",\"rows\":[]}]}",
        "{\"schema\":1,\"limits\":[{" ENTRY ",\"rows\":[7]}]}",
        "{\"schema\":1,\"limits\":[{" ENTRY ",\"rows\":[{" ROW "},{" ROW "}]}]}",
        "{\"schema\":1,\"limits\":[{" ENTRY ",\"rows\":[{\"connections\":0,\"clients\":48,"
        "\"refused\":808,\"error\":\"\"}]}]}",
        "{\"schema\":1,\"limits\":[{" ENTRY ",\"rows\":[{\"connections\":1,\"clients\":-1,"
        "\"refused\":808,\"error\":\"\"}]}]}",
        "{\"schema\":1,\"limits\":[{" ENTRY ",\"rows\":[{\"connections\":1,\"clients\":129,"
        "\"refused\":808,\"error\":\"\"}]}]}",
        "{\"schema\":1,\"limits\":[{" ENTRY ",\"rows\":[{\"connections\":1,\"clients\":\"48\","
        "\"refused\":808,\"error\":\"\"}]}]}",
    };
    struct mps_limits got;
    write_file("{\"schema\":1,\"limits\":[{" ENTRY ",\"rows\":[{" ROW "}]}]}");
    assert_int_equal(mps_limits_load(path, &h200.key, &got), STATUS_OK);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        write_file(table[i]);
        assert_int_equal(mps_limits_load(path, &h200.key, &got), STATUS_PROTOCOL);
        assert_non_null(strstr(status_text(), path));
        assert_null(strchr(status_text(), '\n'));
    }
    assert_int_equal(mps_limits_store(path, &h200), STATUS_OK);
    assert_int_equal(mps_limits_load(path, &h200.key, &got), STATUS_OK);
}

static void a_file_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(mps_limits_store("/proc/mpsweep/limits.json", &h200), STATUS_SYSTEM);
    assert_non_null(strstr(status_text(), "/proc/mpsweep"));
}

static void the_path_is_in_the_user_s_cache(void **state)
{
    (void)state;
    char got[PATH_MAX];
    setenv("HOME", "/home/somebody", 1);
    setenv("XDG_CACHE_HOME", "/cache", 1);
    assert_int_equal(mps_limits_path(got), STATUS_OK);
    assert_string_equal(got, "/cache/mpsweep/limits.json");
    /* A relative path does not count. */
    setenv("XDG_CACHE_HOME", "cache", 1);
    assert_int_equal(mps_limits_path(got), STATUS_OK);
    assert_string_equal(got, "/home/somebody/.cache/mpsweep/limits.json");
    unsetenv("XDG_CACHE_HOME");
    assert_int_equal(mps_limits_path(got), STATUS_OK);
    assert_string_equal(got, "/home/somebody/.cache/mpsweep/limits.json");
    unsetenv("HOME");
    assert_int_equal(mps_limits_path(got), STATUS_NOT_FOUND);
}

static void cap_and_budget(void **state)
{
    (void)state;
    bool bounded;
    char text[128];
    struct mps_limits wide = h200;
    assert_int_equal(mps_limits_client_cap(&h200, &bounded), 48);
    assert_true(bounded);
    assert_int_equal(mps_limits_queue_budget(&h200), 128);
    assert_string_equal(mps_limits_summary(&h200, text, sizeof text),
                        "48 clients, 128 queues (found 2026-11-21)");
    wide.rows[0] = (struct mps_limits_row){1, MPS_LIMITS_MOST_CLIENTS, 0, ""};
    assert_int_equal(mps_limits_client_cap(&wide, &bounded), MPS_LIMITS_MOST_CLIENTS);
    assert_false(bounded);
    assert_string_equal(mps_limits_summary(&wide, text, sizeof text),
                        "at least 128 clients, 129 queues (found 2026-11-21)");
}

static struct point a_point(enum layout_kind layout, unsigned processes, unsigned connections)
{
    return (struct point){
        .layout = layout, .processes = processes, .threads = 2, .connections = connections};
}

static void points_beyond_are_marked_and_no_others(void **state)
{
    (void)state;
    static const struct {
        enum layout_kind layout;
        unsigned processes, connections;
        unsigned bound; /* connections of the row that rules it out, 0: none */
    } table[] = {
        {LAYOUT_PROCESSES_MPS, 48, 0, 0},
        {LAYOUT_PROCESSES_MPS, 49, 0, 2}, /* 2 are the default over MPS */
        {LAYOUT_PROCESSES_MPS, 48, 1, 0},
        {LAYOUT_PROCESSES_MPS, 49, 1, 1},
        {LAYOUT_HYBRID, 49, 2, 2},
        {LAYOUT_HYBRID, 15, 8, 0},
        {LAYOUT_HYBRID, 16, 8, 8},
        {LAYOUT_PROCESSES_MPS, 48, 7, 0}, /* perhaps too many, but not tried */
        {LAYOUT_PROCESSES_MPS, 49, 7, 2},
        {LAYOUT_PROCESSES_MPS, 15, 31, 0},
        {LAYOUT_PROCESSES_MPS, 16, 31, 8},
        {LAYOUT_PROCESSES_MPS, 3, 32, 0},
        {LAYOUT_PROCESSES_MPS, 4, 32, 32},
        {LAYOUT_THREADS_MPS, 1, 32, 0},
        {LAYOUT_PROCESSES, 100, 8, 0},
        {LAYOUT_THREADS, 1, 32, 0},
        {LAYOUT_HYBRID_TIMESLICED, 100, 8, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct point point =
            a_point(table[i].layout, table[i].processes, table[i].connections);
        const struct mps_limits_row *row = mps_limits_beyond(&h200, &point);
        assert_int_equal(row ? row->connections : 0, table[i].bound);
    }
}

static void only_refusals_bound(void **state)
{
    (void)state;
    struct mps_limits limits = h200;
    const struct point many = a_point(LAYOUT_PROCESSES_MPS, 100, 8);
    limits.rows[2].refused = 999; /* something broke there: the next row still holds */
    assert_int_equal(mps_limits_beyond(&limits, &many)->connections, 2);
    limits.rows[1].refused = 0; /* nothing was refused there */
    limits.rows[0].refused = 805;
    assert_null(mps_limits_beyond(&limits, &many));
    limits.count = 0;
    assert_null(mps_limits_beyond(&limits, &many));
}

static void the_reason_names_the_bound(void **state)
{
    (void)state;
    char text[256];
    struct point point = a_point(LAYOUT_PROCESSES_MPS, 16, 8);
    assert_string_equal(
        mps_limits_why(&h200, mps_limits_beyond(&h200, &point), &point, text, sizeof text),
        "this GPU and driver allow 15 MPS clients with 8 connections each (found "
        "by 'mpsweep doctor --limits' on 2026-11-21)");
    point.connections = 12;
    assert_string_equal(
        mps_limits_why(&h200, mps_limits_beyond(&h200, &point), &point, text, sizeof text),
        "this GPU and driver allow 15 MPS clients with 8 connections each, and no "
        "more with 12 (found by 'mpsweep doctor --limits' on 2026-11-21)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_stored_is_loaded, begin, end),
        cmocka_unit_test_setup_teardown(entries_are_told_apart_by_gpu_and_driver, begin, end),
        cmocka_unit_test_setup_teardown(no_file_is_not_found, begin, end),
        cmocka_unit_test_setup_teardown(broken_files_are_named_and_replaced, begin, end),
        cmocka_unit_test(a_file_that_cannot_be_written_is_an_error),
        cmocka_unit_test(the_path_is_in_the_user_s_cache),
        cmocka_unit_test(cap_and_budget),
        cmocka_unit_test(points_beyond_are_marked_and_no_others),
        cmocka_unit_test(only_refusals_bound),
        cmocka_unit_test(the_reason_names_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
