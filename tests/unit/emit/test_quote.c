/* Quoting: what is written for each reader, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "orchestrator/emit/quote.h"

/* Collects what a function writes. */
struct page {
    char *text;
    size_t bytes;
    FILE *file;
};

static FILE *begin(struct page *page)
{
    *page = (struct page){0};
    page->file = open_memstream(&page->text, &page->bytes);
    assert_non_null(page->file);
    return page->file;
}

static void end(struct page *page, const char *expected)
{
    fclose(page->file);
    assert_string_equal(page->text, expected);
    free(page->text);
}

static void environment(void **state)
{
    struct page page;
    (void)state;
    emit_environment_value(begin(&page), "a \"b\" $c `d` \\e 'f' %i");
    end(&page, "\"a \\\"b\\\" \\$c \\`d\\` \\\\e 'f' %i\"");
}

static void unit(void **state)
{
    static const char text[] = "a \"b\" $c 100% \\e\n\x7f \u00fc'";
    struct page page;
    (void)state;
    emit_unit_word(begin(&page), text);
    end(&page, "a \\\"b\\\" $$c 100%% \\\\e\\x0a\\x7f \u00fc'");
    emit_unit_path(begin(&page), "/a b/100%/$x");
    end(&page, "/a b/100%%/$x");
}

static void yaml(void **state)
{
    struct page page;
    (void)state;
    emit_yaml(begin(&page), "a: \"b\" $c \\ \u00fc \U0001f600");
    end(&page, "\"a: \\\"b\\\" $c \\\\ \\u00FC \\U0001F600\"");
    emit_yaml_dollars(begin(&page), "$$ $(x) ${y}");
    end(&page, "\"$$$$ $$(x) $${y}\"");
    emit_yaml(begin(&page), "\n\t\x1b\x7f\xc2\x85\xc2\x9f\u2028\u2029\ufeff\uffff\U0001fffe");
    end(&page, "\"\\n\\t\\u001B\\x7f\\u0085\\u009F\\u2028\\u2029\\uFEFF\\uFFFF\\U0001FFFE\"");
}

static void plain(void **state)
{
    struct page page;
    (void)state;
    emit_plain(begin(&page), "H200 `x` <b> | \u00fc\n#");
    end(&page, "H200 ?x? ?b? ? ???#");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment),
        cmocka_unit_test(unit),
        cmocka_unit_test(yaml),
        cmocka_unit_test(plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
