/* The lists of the fields that readers need, and of their types, have every field of a point that
 * docs/results-format.md describes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/results_read.h"
#include "orchestrator/results/fields.h"

static char path[] = "/tmp/test_fields.XXXXXX";

/* Whether a point with that field is read. */
static bool is_read(const char *key, const char *value)
{
    struct results results;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"type\":\"header\",\"schema\":1}\n{\"type\":\"point\",\"id\":3,\"%s\":%s}\n",
            key, value);
    assert_int_equal(fclose(file), 0);
    if (results_load(path, NULL, &results) != STATUS_OK)
        return false;
    results_release(&results);
    return true;
}

/* Types are the second column of a line: "| `a`, `b` | integer or array | ...". */
static void check_type(const char *key, const char *types)
{
    static const struct {
        const char *names[2], *value;
    } kinds[] = {{{"string"}, "\"x\""},
                 {{"number", "integer"}, "7"},
                 {{"boolean"}, "true"},
                 {{"array"}, "[]"},
                 {{"object"}, "{}"}};
    if (strcmp(key, "type") == 0 || strcmp(key, "id") == 0)
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool fits = strstr(types, kinds[i].names[0]) ||
                    (kinds[i].names[1] && strstr(types, kinds[i].names[1]));
        if (is_read(key, kinds[i].value) != fits)
            fail_msg("files/results_types.c has '%s' as another type than the document: %s", key,
                     types);
    }
    assert_true(is_read(key, "null"));
}

/* Checks the fields in the first column of a line of a table: "| `a`, `b` | ...". */
static size_t check_row(const char *line)
{
    const char *end = strchr(line + 1, '|');
    char types[64];
    size_t count = 0;
    assert_non_null(end);
    snprintf(types, sizeof types, "%.*s", (int)strcspn(end + 1, "|"), end + 1);
    for (const char *at = strchr(line, '`'); at && at < end; at = strchr(at + 1, '`')) {
        char key[64];
        size_t bytes = strcspn(at + 1, "`");
        snprintf(key, sizeof key, "%.*s", (int)bytes, at + 1);
        if (!fields_are_listed(key))
            fail_msg("orchestrator/results/fields.c lacks '%s'", key);
        check_type(key, types);
        at += bytes + 1;
        count++;
    }
    return count;
}

static void every_documented_field_is_listed_with_its_type(void **state)
{
    char document[PATH_MAX], line[4096];
    size_t count = 0;
    bool within = false;
    (void)state;
    snprintf(document, sizeof document, "%s/docs/results-format.md", MPSWEEP_SOURCE_DIR);
    FILE *file = fopen(document, "r");
    int own = mkstemp(path);
    assert_true(file && own >= 0 && close(own) == 0);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            within = strcmp(line, "## point\n") == 0;
        if (within && strncmp(line, "| `", 3) == 0)
            count += check_row(line);
    }
    fclose(file);
    unlink(path);
    assert_true(count > 50);
}

static void tables_keep_what_they_show(void **state)
{
    (void)state;
    json_t *record = json_pack("{s:s, s:i, s:f, s:[], s:[], s:{}}", "layout", "threads", "kernels",
                               3, "throughput_ips", 1.5, "per_worker", "warnings", "phases");
    fields_keep_for_tables(record);
    assert_int_equal(json_object_size(record), 4);
    assert_non_null(json_object_get(record, "kernels"));
    assert_non_null(json_object_get(record, "warnings"));
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_documented_field_is_listed_with_its_type),
        cmocka_unit_test(tables_keep_what_they_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
