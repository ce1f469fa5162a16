#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/results_lines.h"
#include "files/results_read.h"
#include "tests/unit/scratch.h"

#define HEADER "{\"type\":\"header\",\"schema\":1,\"host\":\"a\"}\n"

static void expect_error(const void *bytes, size_t size, enum status code, const char *after_path)
{
    struct results results = {.whole_bytes = 77};
    char expected[1024];
    scratch_write(bytes, size);
    assert_int_equal(results_load(scratch_path, NULL, &results), code);
    snprintf(expected, sizeof expected, "'%s'%s", scratch_path, after_path);
    assert_string_equal(status_text(), expected);
    assert_int_equal(results.whole_bytes, 77);
}

static void expect_text_error(const char *text, const char *after_path)
{
    expect_error(text, strlen(text), STATUS_USAGE, after_path);
}

static struct results load_ok(const char *text)
{
    struct results results;
    scratch_write(text, strlen(text));
    if (results_load(scratch_path, NULL, &results) != STATUS_OK)
        fail_msg("%s", status_text());
    return results;
}

static json_int_t point_field(const struct results *results, size_t index, const char *field)
{
    return json_integer_value(json_object_get(json_array_get(results->points, index), field));
}

static void a_finished_run_loads(void **state)
{
    (void)state;
    const char *text = HEADER "{\"type\":\"point\",\"id\":4,\"v\":1}\n"
                              "{\"type\":\"point\",\"id\":0,\"v\":2}\r\n"
                              "{\"type\":\"of another version\"}\n"
                              "{\"type\":\"footer\",\"status\":0}\n";
    struct results results = load_ok(text);
    assert_string_equal(json_string_value(json_object_get(results.header, "host")), "a");
    assert_int_equal(json_array_size(results.points), 2);
    assert_int_equal(point_field(&results, 0, "v"), 1);
    assert_int_equal(point_field(&results, 1, "v"), 2);
    assert_non_null(results.footer);
    assert_false(results.torn);
    assert_int_equal(results.whole_bytes, strlen(text));
    results_release(&results);
    assert_null(results.points);
}

static void calibrations_are_kept_in_their_order(void **state)
{
    (void)state;
    struct results results = load_ok(HEADER "{\"type\":\"calibration\",\"v\":7}\n"
                                            "{\"type\":\"point\",\"id\":0,\"v\":1}\n"
                                            "{\"type\":\"calibration\",\"v\":8}\n");
    assert_int_equal(json_array_size(results.points), 1);
    assert_int_equal(json_array_size(results.calibrations), 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(
            json_integer_value(json_object_get(json_array_get(results.calibrations, i), "v")),
            7 + (int)i);
    results_release(&results);
    assert_null(results.calibrations);

    results = load_ok(HEADER);
    assert_int_equal(json_array_size(results.calibrations), 0);
    results_release(&results);
}

static void a_torn_line_is_ignored(void **state)
{
    (void)state;
    const char *whole = HEADER "{\"type\":\"point\",\"id\":0}\n";
    const char *tails[] = {"{", "{\"type\":\"point\",\"id\":1}", "\xff\xfe", " "};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s", whole, tails[i]);
        struct results results = load_ok(text);
        assert_true(results.torn);
        assert_int_equal(json_array_size(results.points), 1);
        assert_int_equal(results.whole_bytes, strlen(whole));
        assert_null(results.footer);
        results_release(&results);
    }
}

static void a_resumed_run_replaces_its_points(void **state)
{
    (void)state;
    struct results results =
        load_ok(HEADER "{\"type\":\"point\",\"id\":0,\"v\":1}\n"
                       "{\"type\":\"point\",\"id\":1,\"v\":2}\n"
                       "{\"type\":\"footer\"}\n"
                       "{\"type\":\"header\",\"schema\":1,\"resumed\":true,\"host\":"
                       "\"b\"}\n"
                       "{\"type\":\"point\",\"id\":0,\"v\":3}\n");
    assert_null(results.footer);
    assert_string_equal(json_string_value(json_object_get(results.header, "host")), "a");
    assert_int_equal(json_array_size(results.points), 2);
    assert_int_equal(point_field(&results, 0, "v"), 3);
    assert_int_equal(point_field(&results, 1, "v"), 2);
    results_release(&results);
}

static void cut_anywhere_it_loads_or_says_why(void **state)
{
    (void)state;
    const char *text = HEADER "{\"type\":\"point\",\"id\":0,\"name\":\"\\u00d7 \xc3\x97\"}\n"
                              "{\"type\":\"footer\"}\n";
    for (size_t size = 0; size <= strlen(text); size++) {
        struct results results;
        scratch_write(text, size);
        enum status status = results_load(scratch_path, NULL, &results);
        if (size < strlen(HEADER)) {
            assert_int_equal(status, STATUS_USAGE);
            continue;
        }
        assert_int_equal(status, STATUS_OK);
        assert_true(results.whole_bytes <= size);
        assert_int_equal(results.torn, results.whole_bytes < size);
        results_release(&results);
    }
}

static void errors_name_file_and_line(void **state)
{
    (void)state;
    expect_text_error("", " is empty");
    expect_text_error(HEADER + 1, " is not an mpsweep results file");
    expect_text_error("{\"type\":\"header\"", " has no whole line");
    expect_text_error("hello\n", " is not an mpsweep results file");
    expect_text_error("\n", " is not an mpsweep results file");
    expect_text_error("[]\n", " is not an mpsweep results file");
    expect_text_error("{\"type\":\"point\",\"id\":0}\n", " is not an mpsweep results file");
    expect_text_error("{\"type\":\"header\"}\n", " is not an mpsweep results file");
    expect_text_error("{\"type\":\"header\",\"schema\":\"1\"}\n",
                      " is not an mpsweep results file");
    expect_text_error("{\"type\":\"header\",\"schema\":2}\n",
                      " has schema 2; this program reads 1");
    expect_text_error(HEADER "{\"type\":\"header\",\"schema\":2}\n",
                      " line 2: has schema 2; this program reads 1");
    expect_text_error(HEADER HEADER, " line 2: another file begins; 'mpsweep merge' joins files");
    expect_text_error(HEADER "{}\n", " line 2: a record without a type");
    expect_text_error(HEADER "[1]\n", " line 2: a record without a type");
    expect_text_error(HEADER "{\"type\":\"point\"}\n", " line 2: a point without an id");
    expect_text_error(HEADER "{\"type\":\"point\",\"id\":-1}\n", " line 2: a point without an id");
    expect_text_error(HEADER "{\"type\":\"point\",\"id\":\"0\"}\n",
                      " line 2: a point without an id");
    expect_text_error(HEADER "{\"type\":\"point\",\"id\":0,\"throughput_ips\":\"abc\"}\n",
                      " line 2: 'throughput_ips' of the point is a string, not a number");
    expect_text_error(HEADER "{\"type\":\"point\",\"id\":0,\"priority\":{}}\n",
                      " line 2: 'priority' of the point is an object, not a number or an array");
    expect_text_error(HEADER "{\"type\":\"other\"}\n{\"a\":}\n",
                      " line 3: not JSON: unexpected token near '}'");
    expect_text_error(HEADER "\n", " line 2: not JSON: '[' or '{' expected near its end");
    expect_text_error(HEADER "{\"a\":1e999}\n", " line 2: not JSON: real number overflow near "
                                                "'1e999'");
    /* What the parser quotes of a broken line must not break ours. */
    expect_text_error(HEADER "{\"a\x1b[31m\"}\n",
                      " line 2: not JSON: control character 0x1b near '\"a'");
    expect_text_error(HEADER "\"\xff\"\n",
                      " line 2: not JSON: unable to decode byte 0xff near '\"'");
}

static void binary_is_refused(void **state)
{
    (void)state;
    static const char zeros[] = HEADER "{\"type\":\"point\",\0\0\0\0}\n";
    expect_error(zeros, sizeof zeros - 1, STATUS_USAGE,
                 " line 2: not JSON: string or '}' expected near its end");
    size_t size = RESULTS_LINE_BYTES_MAX + 200000;
    char *bytes = calloc(1, size);
    assert_non_null(bytes);
    expect_error(bytes, size, STATUS_USAGE, " is not an mpsweep results file");
    memcpy(bytes, HEADER, strlen(HEADER));
    expect_error(bytes, size, STATUS_USAGE, " line 2: longer than 16 MiB");
    memset(bytes + strlen(HEADER), '[', 1 << 20);
    bytes[strlen(HEADER) + (1 << 20)] = '\n';
    expect_error(bytes, strlen(HEADER) + (1 << 20) + 1, STATUS_USAGE,
                 " line 2: not JSON: maximum parsing depth reached near '['");
    free(bytes);
}

static void long_lines_within_the_bound_load(void **state)
{
    (void)state;
    size_t fill = 3 << 20;
    char *text = malloc(fill + 1024);
    assert_non_null(text);
    int used = sprintf(text, "%s{\"type\":\"point\",\"id\":0,\"fill\":\"", HEADER);
    memset(text + used, 'x', fill);
    strcpy(text + used + fill, "\"}\n{\"type\":\"point\",\"id\":1}\n");
    struct results results = load_ok(text);
    assert_int_equal(json_array_size(results.points), 2);
    assert_int_equal(results.whole_bytes, strlen(text));
    results_release(&results);
    free(text);
}

static void random_damage_never_crashes(void **state)
{
    (void)state;
    const char *text = HEADER "{\"type\":\"point\",\"id\":0,\"v\":[1,2.5,null,true,\"\\u00d7\"]}\n"
                              "{\"type\":\"point\",\"id\":1,\"latency_us\":{\"p50\":3e2}}\n"
                              "{\"type\":\"footer\",\"status\":0}\n";
    size_t size = strlen(text);
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 3000; round++) {
        char damaged[512];
        assert_true(size < sizeof damaged);
        memcpy(damaged, text, size);
        for (int hit = 0; hit <= round % 4; hit++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            damaged[random % size] = (char)(random >> 32);
        }
        struct results results;
        scratch_write(damaged, size);
        enum status status = results_load(scratch_path, NULL, &results);
        if (status == STATUS_OK)
            results_release(&results);
        else
            assert_int_equal(status, STATUS_USAGE);
    }
}

static void what_cannot_be_read_is_told(void **state)
{
    (void)state;
    struct results results;
    assert_int_equal(results_load("/nonexistent.jsonl", NULL, &results), STATUS_NOT_FOUND);
    assert_string_equal(status_text(),
                        "cannot open '/nonexistent.jsonl': No such file or directory");
    assert_int_equal(results_load("/proc", NULL, &results), STATUS_SYSTEM);
    assert_string_equal(status_text(), "cannot read '/proc': Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_run_loads),
        cmocka_unit_test(calibrations_are_kept_in_their_order),
        cmocka_unit_test(a_torn_line_is_ignored),
        cmocka_unit_test(a_resumed_run_replaces_its_points),
        cmocka_unit_test(cut_anywhere_it_loads_or_says_why),
        cmocka_unit_test(errors_name_file_and_line),
        cmocka_unit_test(binary_is_refused),
        cmocka_unit_test(long_lines_within_the_bound_load),
        cmocka_unit_test(random_damage_never_crashes),
        cmocka_unit_test(what_cannot_be_read_is_told),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
