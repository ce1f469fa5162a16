/* The list of fields that readers need has every field that docs/results-format.md describes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/results/fields.h"

/* Checks the fields in the first column of a line of a table: "| `a`, `b` | ...". */
static size_t check_row(const char *line)
{
    const char *end = strchr(line + 1, '|');
    size_t count = 0;
    for (const char *at = strchr(line, '`'); at && at < end; at = strchr(at + 1, '`')) {
        char key[64];
        size_t bytes = strcspn(at + 1, "`");
        snprintf(key, sizeof key, "%.*s", (int)bytes, at + 1);
        if (!fields_are_listed(key))
            fail_msg("orchestrator/results/fields.c lacks '%s'", key);
        at += bytes + 1;
        count++;
    }
    return count;
}

static void every_documented_field_is_listed(void **state)
{
    char path[PATH_MAX], line[4096];
    size_t count = 0;
    bool within = false;
    (void)state;
    snprintf(path, sizeof path, "%s/docs/results-format.md", MPSWEEP_SOURCE_DIR);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            within = strcmp(line, "## point\n") == 0;
        if (within && strncmp(line, "| `", 3) == 0)
            count += check_row(line);
    }
    fclose(file);
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
        cmocka_unit_test(every_documented_field_is_listed),
        cmocka_unit_test(tables_keep_what_they_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
