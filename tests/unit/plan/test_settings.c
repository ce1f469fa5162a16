#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/paths.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/record/record.h"
#include "orchestrator/results/settings.h"
#include "orchestrator/results/table.h"
#include "tests/unit/plan/plan_rig.h"

/* Files with a trace of two arrivals each, which are bodies, too. */
static char usual_trace[] = "usual.XXXXXX", other_trace[] = "other.XXXXXX";

static int make_trace(char *path)
{
    int fd = mkstemp(path);
    bool written = fd >= 0 && write(fd, "0\n1\n", 4) == 4;
    return fd < 0 || close(fd) != 0 || !written;
}

static int make_traces(void **state)
{
    (void)state;
    return make_trace(usual_trace) || make_trace(other_trace);
}

static int remove_traces(void **state)
{
    (void)state;
    return unlink(usual_trace) | unlink(other_trace);
}

/* A value of a row that is not its default. */
static const char *other_value(const struct option_row *row, char out[32])
{
    switch (row->setting.type) {
    case SETTING_LAYOUT:
        return "hybrid:3x2";
    case SETTING_CHOICE:
        return row->choices[1].word;
    case SETTING_WORKLOAD:
        return "delay";
    case SETTING_TEXT:
        return row->id == OPTION_REQUEST    ? "POST http://localhost/other"
               : row->id == OPTION_READY    ? "http://localhost/health"
               : row->id == OPTION_HEADER   ? "Accept: text/plain"
               : row->id == OPTION_BODY     ? other_trace
               : row->id == OPTION_BODIES   ? other_trace
               : row->id == OPTION_ARRIVALS ? other_trace
               : row->id == OPTION_TICK     ? "sync"
                                            : "some text";
    case SETTING_RATE:
        return "250.5";
    case SETTING_SHARES:
        if (row->flags & OPTION_PER_THREAD)
            return "8/16";
        snprintf(out, 32, "default/%.0f%s", row->flags & OPTION_WHOLE_MIB ? 32.0 : row->max,
                 row->flags & OPTION_WHOLE_MIB ? "M" : "");
        return out;
    case SETTING_US:
        return "2500us";
    case SETTING_NS:
        return "0.25";
    default:
        snprintf(out, 32, "%.0f", row->kind == OPTION_KIND_BYTES ? 8192 : row->min + 1);
        if (row->initial && strcmp(out, row->initial) == 0)
            snprintf(out, 32, "%.0f", row->min + 2);
        return out;
    }
}

static char program_name[] = "true";
static char *const program[] = {program_name, NULL};

/* Sets what a setting needs to make a difference. */
static void go_where_it_applies(const struct option_row *row)
{
    unsigned where = row->setting.where;
    set(OPTION_LAYOUT, where & PLACE_MPS ? "hybrid:2x2" : "threads:4");
    if (where & PLACE_DELAY)
        set(OPTION_WORKLOAD, "delay");
    if (where & PLACE_PLUGIN)
        set(OPTION_WORKLOAD, "./plugin.so");
    if (where & (PLACE_PROGRAM | PLACE_SERVER)) {
        job.command = program;
    }
    /* An iteration of a server is a request, and not what --tick names. */
    if (where & (PLACE_PROGRAM | PLACE_SERVER) && row->id != OPTION_TICK) {
        set(OPTION_SERVER, "yes");
        set(OPTION_REQUEST, "GET http://localhost/");
    }
    if (row->id == OPTION_ARRIVALS) {
        set(OPTION_RATE, "100");
        set(OPTION_ARRIVAL, "trace");
        set(OPTION_ARRIVALS, usual_trace);
    }
    if (where & PLACE_PAGEABLE_STREAM)
        set(OPTION_MEMORY, "pageable");
    if (where & (PLACE_OPEN | PLACE_POISSON))
        set(OPTION_RATE, "100");
    if (where & PLACE_POISSON)
        set(OPTION_ARRIVAL, "poisson");
}

static char *key_of(const struct point *point)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    point_key_print(out, point);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void check_words(const struct option_row *row, const struct point *point)
{
    char words[SETTING_TEXT_BYTES];
    struct options options;
    struct point parsed = *point;
    assert_int_equal(options_init(&options), STATUS_OK);
    assert_int_equal(options_set(&options, row, setting_words(row, point, words), 1), STATUS_OK);
    setting_store(row, &options.values[row->id].items[0], &parsed);
    settings_make_canonical(&parsed);
    assert_true(setting_equal(row, point, &parsed));
    assert_true(point_equal(point, &parsed));
    options_release(&options);
}

static void check_record(const struct option_row *row, const struct point *point)
{
    const struct measurement untried = {.status = STATUS_INFEASIBLE};
    char key[SETTING_KEY_BYTES], text[SETTINGS_FIGURE_BYTES], value[SETTING_TEXT_BYTES];
    static struct settings_point back;
    json_t *record = record_point(point, &untried, 0.01);
    assert_non_null(record);
    assert_int_equal(settings_read(record, &back), STATUS_OK);
    assert_true(setting_equal(row, point, &back.point) ||
                (row->setting.recorded & PLACE_NOWHERE && row->id != OPTION_ARRIVAL));
    settings_figure_text(record, row->id, text);
    if (settings_is_shown(row->id) && row->setting.type != SETTING_RATE) {
        assert_non_null(json_object_get(record, setting_key(row, key)));
        assert_string_not_equal(text, "");
        assert_string_not_equal(settings_text(record, row, false, value, sizeof value), "");
    }
    json_decref(record);
}

static void every_setting_comes_back(const struct option_row *row)
{
    char value[32], usual_text[POINT_DESCRIPTION], text[POINT_DESCRIPTION];
    bool hidden = row->setting.label && !*row->setting.label;
    go_where_it_applies(row);
    unsigned gpus = row->setting.where & PLACE_GPUS || row->id == OPTION_GPUS_PER_POINT ? 2 : 1;
    if (row->id == OPTION_GPUS_PER_POINT)
        set(row->id, "1");
    make_plan_for(gpus);
    assert_int_equal(plan.count, 1);
    char usual_id[PLAN_ID_BYTES], *usual_key = key_of(&plan.points[0]);
    snprintf(usual_id, sizeof usual_id, "%s", plan.id);
    point_describe(&plan.points[0], usual_text, sizeof usual_text);
    /* The texts of a point are those of its options, which stay as they are. */
    struct point usual = plan.points[0];
    struct options usual_options = job.sections[0].options;
    assert_int_equal(options_copy(&usual_options, &job.sections[0].options), STATUS_OK);

    job.sections[0].options.values[row->id].rank = 0; /* layouts would add up */
    set(row->id, other_value(row, value));
    make_plan_for(gpus);
    assert_int_equal(plan.count, 1);
    const struct point *point = &plan.points[0];
    char *key = key_of(point);
    point_describe(point, text, sizeof text);
    if (!row->setting.incidental) {
        assert_false(setting_equal(row, &usual, point));
        assert_string_not_equal(plan.id, usual_id);
        assert_string_not_equal(key, usual_key);
        assert_true(hidden || strcmp(text, usual_text) != 0);
        check_words(row, point);
    } else {
        assert_string_equal(plan.id, usual_id);
    }
    if (row->setting.type != SETTING_TEXT || row->setting.where)
        check_record(row, point);
    free(usual_key);
    free(key);
    options_release(&usual_options);
}

/* Servers need a program that a build without libcurl lacks. */
static bool is_refused(const struct option_row *row)
{
    char path[PATH_MAX];
    return row->setting.where & (PLACE_PROGRAM | PLACE_SERVER) &&
           path_find(PATH_HELPER, "mpsweep-load", path, sizeof path) != STATUS_OK;
}

static void all_settings_come_back(void **state)
{
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        print_message("%s\n", row->name);
        if (is_refused(row))
            continue;
        every_setting_comes_back(row);
        plan_rig_end(state);
        assert_int_equal(plan_rig_begin(state), 0);
    }
}

/* Each setting that has a field in records has a column, and is in figures and keys. */
static void records_tables_and_figures_have_the_same(void **state)
{
    (void)state;
    size_t count = 0;
    for (const struct option_row *row = NULL; (row = settings_recorded(row)); count++) {
        assert_true(row->id < SETTINGS_IDS);
        assert_true(settings_is_shown(row->id));
        assert_non_null(table_setting_title(row));
    }
    assert_true(count > 15);
}

static void a_job_file_gives_the_same(void **state)
{
    (void)state;
    char path[] = "/tmp/test-settings.XXXXXX", value[32];
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    set(OPTION_LAYOUT, "hybrid:3x2");
    fputs("[global]\nlayout = hybrid:3x2\n", file);
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        if (row->id == OPTION_LAYOUT || row->id == OPTION_GPUS_PER_POINT ||
            row->setting.type == SETTING_TEXT)
            continue;
        set(row->id, other_value(row, value));
        fprintf(file, "%s = %s\n", row->name, other_value(row, value));
    }
    fclose(file);
    make_plan_for(1);
    struct job other;
    struct plan same;
    enum status status = job_load(path, &other);
    if (status != STATUS_OK)
        print_error("%s\n", status_text());
    assert_int_equal(status, STATUS_OK);
    assert_int_equal(plan_make(&other, 1, &same), STATUS_OK);
    assert_true(point_equal(&plan.points[0], &same.points[0]));
    assert_string_equal(plan.id, same.id);
    plan_release(&same);
    job_release(&other);
    unlink(path);
}

/* -- what depends on no struct's layout -------------------------------------------------------- */

static void the_key_is_text(void **state)
{
    (void)state;
    set(OPTION_LAYOUT, "hybrid:3x2");
    set(OPTION_MEMORY, "pageable");
    set(OPTION_PRIORITY, "default/1");
    set(OPTION_RATE, "max-under-p99=5ms");
    set(OPTION_WARMUP, "0.3");
    make_plan_for(1);
    char *key = key_of(&plan.points[0]);
    assert_string_equal(key, "layout=hybrid:3x2\nmemory=pageable\npriority=default/1\n"
                             "workload=builtin\nkernels=220\nblocks=5\nthreads-per-block=64\n"
                             "spin=3072\nbytes=1441792\nrate=max-under-p99=5000.000us\n"
                             "warmup=0.3\n");
    free(key);
}

/* -- a million combinations -------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* And no two points have the same hash: a duplicate is compared with its like alone. */
static void a_plan_of_a_million_combinations_is_made(void **state)
{
    (void)state;
    uint64_t hashes[1000] = {0};
    set(OPTION_LAYOUT, "threads:1");
    set(OPTION_KERNELS, "1-1000");
    set(OPTION_DELAY_CYCLES, "1-1000");
    make_plan_for(1);
    assert_int_equal(plan.count, 1000);
    for (size_t i = 0; i < plan.count; i++) {
        assert_int_equal(plan.points[i].id, i);
        assert_int_equal(plan.points[i].work.kernels, i + 1);
        hashes[i] = point_hash(&plan.points[i]);
    }
    qsort(hashes, plan.count, sizeof *hashes, by_size);
    for (size_t i = 1; i < plan.count; i++)
        assert_true(hashes[i] != hashes[i - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_settings_come_back, plan_rig_begin, plan_rig_end),
        cmocka_unit_test(records_tables_and_figures_have_the_same),
        cmocka_unit_test_setup_teardown(a_job_file_gives_the_same, plan_rig_begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(the_key_is_text, plan_rig_begin, plan_rig_end),
        cmocka_unit_test_setup_teardown(a_plan_of_a_million_combinations_is_made, plan_rig_begin,
                                        plan_rig_end),
    };
    return cmocka_run_group_tests(tests, make_traces, remove_traces);
}
