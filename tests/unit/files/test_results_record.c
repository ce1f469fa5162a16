/* A line with some of its fields is what it is with all of them, and a line that is not JSON is
 * none either way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/random.h"
#include "files/results_record.h"

static const char *const records[] = {
    "{\"type\":\"point\",\"id\":7,\"kept\":{\"a\":[1,-2.5e3,null,\"x\"]},\"left\":[[[{}]],true]}",
    "{\"text\":\"a \\\" \\\\ \\n \\u00b5 µ×€\",\"large\":9223372036854775807,\"status\":\"ok\"}",
    " { \"id\" : 1 , \"type\" : \"point\" , \"kept\" : -0 , \"left\" : 1E-7 } \r",
    "{\"type\":\"point\",\"id\":3,\"kept\":1,\"kept\":2,\"type\":\"point\"}",
    "{\"type\":\"point\",\"\\u006bept\":5,\"id\":0}",
    "{}",
    "[]",
};

static bool is_needed(const char *key)
{
    return strcmp(key, "kept") == 0 || strcmp(key, "text") == 0;
}

static const char *const known[] = {"footer", NULL};

/* Parses the line both ways. Returns whether it is JSON. */
static bool compare(const char *text, size_t bytes)
{
    const struct results_line line = {.text = text, .bytes = bytes};
    json_error_t error;
    json_t *all = json_loadb(text, bytes, 0, &error);
    json_t *some = results_record(&line, is_needed, known, &error);
    bool valid = all != NULL;
    assert_int_equal(some != NULL, valid);
    static const char *const keys[] = {"type", "id", "kept", "text"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys && valid && json_is_object(all); i++) {
        const json_t *value = json_object_get(all, keys[i]);
        assert_true(value == json_object_get(some, keys[i]) ||
                    json_equal(value, json_object_get(some, keys[i])));
    }
    json_decref(all);
    json_decref(some);
    return valid;
}

static void some_fields_are_as_with_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        assert_true(compare(records[i], strlen(records[i])));
}

static void what_no_reader_needs_is_left_out(void **state)
{
    (void)state;
    const struct results_line line = {.text = records[2], .bytes = strlen(records[2])};
    json_t *record = results_record(&line, is_needed, known, NULL);
    assert_int_equal(json_object_size(record), 3);
    assert_null(json_object_get(record, "left"));
    json_decref(record);
    record = results_record(&line, NULL, known, NULL);
    assert_int_equal(json_object_size(record), 4);
    json_decref(record);
}

static void a_field_of_another_type_is_not_left_out(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"type\":\"point\",\"id\":1,\"throughput_ips\":\"x\"}",
        "{\"type\":\"point\",\"id\":1,\"rounds\":true}",
        "{\"type\":\"point\",\"id\":1,\"throughput_ips\":null}",
        "{\"type\":\"point\",\"id\":1,\"another\":[]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct results_line line = {.text = texts[i], .bytes = strlen(texts[i])};
        json_t *record = results_record(&line, is_needed, known, NULL);
        assert_int_equal(json_object_size(record), i < 2 ? 3 : 2);
        json_decref(record);
    }
}

static void types_that_readers_know_are_whole(void **state)
{
    (void)state;
    static const char *const types[] = {"header", "footer", "other"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[64];
        int bytes = snprintf(text, sizeof text, "{\"type\":\"%s\",\"left\":1}", types[i]);
        const struct results_line line = {.text = text, .bytes = (size_t)bytes};
        json_t *record = results_record(&line, is_needed, known, NULL);
        assert_int_equal(json_object_size(record), i < 2 ? 2 : 1);
        json_decref(record);
    }
}

static void jansson_agrees_on_what_is_json(void **state)
{
    static const char *const bad[] = {
        "",
        "{",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":01}",
        "{\"a\":1.}",
        "{\"a\":+1}",
        "{\"a\":-}",
        "{\"a\":tru}",
        "{\"a\":nulll}",
        "{\"a\":[1 2]}",
        "{\"a\":\"\x01\"}",
        "{\"a\":\"\xc0\xaf\"}",
        "{\"a\":\"\xed\xa0\x80\"}",
        "{\"a\":\"\xf4\x90\x80\x80\"}",
        "{\"a\":\"\xe2\x82\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":1e999}",
        "{\"a\":99999999999999999999}",
        "{\"a\":1}}",
        "{\"a\":1} x",
        "{a:1}",
        "{\"a\":[1}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(compare(bad[i], strlen(bad[i])));
    assert_false(compare("{\"a\":\"\0\"}", 9));
}

static void jansson_agrees_on_damaged_lines(void **state)
{
    static const char bytes[] = "{}[]\",:\\0123456789.eE+-tfnu \t\r\n\x01\x7f\xc3\xa9\xe2\xff";
    uint64_t random = 1;
    char text[512];
    (void)state;
    for (int i = 0; i < 200000; i++) {
        const char *record = records[random_next(&random) % (sizeof records / sizeof *records)];
        size_t length = strlen(record);
        memcpy(text, record, length);
        for (uint64_t changes = 1 + random_next(&random) % 3; changes > 0; changes--)
            text[random_next(&random) % length] = bytes[random_next(&random) % (sizeof bytes - 1)];
        compare(text, random_next(&random) % 8 == 0 ? random_next(&random) % length : length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_fields_are_as_with_all),
        cmocka_unit_test(what_no_reader_needs_is_left_out),
        cmocka_unit_test(a_field_of_another_type_is_not_left_out),
        cmocka_unit_test(types_that_readers_know_are_whole),
        cmocka_unit_test(jansson_agrees_on_what_is_json),
        cmocka_unit_test(jansson_agrees_on_damaged_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
