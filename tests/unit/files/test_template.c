/* Templates: what is made of them, and what they must not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "files/template.h"
#include "tests/unit/tree.h"

static void in_brackets(FILE *file, const char *text)
{
    fprintf(file, "[%s]", text);
}

static const struct template_quoting quotings[] = {{"brackets", in_brackets}, {NULL, NULL}};

static const char json[] =
    "{\"name\": \"serve\", \"count\": 3, \"none\": 0, \"empty\": \"\","
    " \"yes\": true, \"no\": false, \"nothing\": null, \"braces\": \"{{name}}\","
    " \"words\": [\"a\", \"b\"], \"gone\": [], \"inner\": {\"count\": 4},"
    " \"rows\": [{\"name\": \"x\", \"cells\": [1, 2]}, {\"cells\": []}]}";

static enum status make(const char *template, char **out)
{
    json_t *object = json_loads(json, 0, NULL);
    const struct template_values values = {.value = object};
    assert_non_null(object);
    enum status status = template_text(template, "test", &values, quotings, out);
    json_decref(object);
    return status;
}

static void makes(const char *template, const char *expected)
{
    char *text = NULL;
    assert_int_equal(make(template, &text), STATUS_OK);
    assert_string_equal(text, expected);
    free(text);
}

static void fails(const char *template, const char *expected)
{
    char *text = NULL;
    assert_int_equal(make(template, &text), STATUS_UNSUPPORTED);
    assert_null(text);
    assert_string_equal(status_text(), expected);
}

static void a_name_stands_for_its_value(void **state)
{
    (void)state;
    makes("", "");
    makes("no {name} {{ here } }", "no {name} {{ here } }");
    makes("{{name}}-{{count}}{{empty}} ${{{count}}}", "serve-3 ${3}");
    makes("{{name|brackets}}{{count|brackets}}", "[serve][3]");
    /* A value is not a template. */
    makes("{{braces}}", "{{name}}");
    makes("{{! name }}a{{! {{ }}{{!\n}}b", "ab");
}

static void a_section_stands_for_what_is_true(void **state)
{
    (void)state;
    makes("{{#yes}}1{{/yes}}{{#no}}2{{/no}}{{#none}}3{{/none}}{{#empty}}4{{/empty}}", "1");
    makes("{{^yes}}1{{/yes}}{{^no}}2{{/no}}{{^none}}3{{/none}}{{^empty}}4{{/empty}}", "234");
    makes("{{#nothing}}1{{/nothing}}{{#gone}}2{{/gone}}{{^gone}}3{{/gone}}", "3");
    makes("{{#no}}{{#unknown}}{{/unknown}}{{/no}}", "");
    makes("{{#inner}}{{count}}{{name}}{{/inner}}{{count}}", "4serve3");
}

static void a_list_repeats_its_section(void **state)
{
    (void)state;
    makes("{{#words}}{{^-first}}, {{/-first}}{{.|brackets}}{{/words}}", "[a], [b]");
    makes("{{#rows}}{{name}}:{{#cells}}{{#-first}}!{{/-first}}{{.}}{{/cells}};{{/rows}}",
          "x:!12;serve:;");
    makes("{{#rows}}{{#cells}}{{#-first}}<{{/-first}}{{/cells}}{{#-first}}>{{/-first}}{{/rows}}",
          "<>");
}

static void a_sign_alone_leaves_no_line(void **state)
{
    (void)state;
    makes("{{#words}}\n- {{.}}\n{{/words}}\nend\n", "- a\n- b\nend\n");
    makes("a\n  {{! why }}\n  b\n", "a\n  b\n");
    makes("a\n  {{#yes}} b\n{{/yes}}", "a\n   b\n");
    makes("{{name}}\n{{empty}}\n", "serve\n\n");
}

static void a_mistake_has_one_clear_line(void **state)
{
    (void)state;
    fails("{{unknown}}", "template 'test' has no value for 'unknown'");
    fails("{{#yes}}{{^unknown}}{{/unknown}}{{/yes}}", "template 'test' has no value for 'unknown'");
    fails("{{name|html}}", "template 'test' has an unknown quoting 'html'");
    fails("{{words}}", "template 'test' writes what is not a text, 'words'");
    fails("{{#yes}}", "template 'test' does not end 'yes'");
    fails("{{#no}}{{#yes}}{{/no}}{{/yes}}", "template 'test' ends what it has not begun, 'no'");
    fails("{{/yes}}", "template 'test' ends what it has not begun, 'yes'");
}

static void a_file_may_have_others_in_it(void **state)
{
    struct tree tree;
    char *text = NULL;
    json_t *object = json_pack("{s:[s,s]}", "words", "a", "b");
    const struct template_values values = {.value = object};
    (void)state;
    tree_make(&tree);
    tree_write(&tree, "/list", "{{#words}}\n{{>item}}\n{{/words}}\nend {{>end}}.\n");
    tree_write(&tree, "/item", "- {{.}}\n");
    tree_write(&tree, "/end", "");
    tree_write(&tree, "/broken", "{{#words}}{{>none}}{{/words}}");
    assert_int_equal(setenv("MPSWEEP_DATA_DIR", tree.root, 1), 0);
    assert_int_equal(template_file("list", &values, quotings, &text), STATUS_OK);
    assert_string_equal(text, "- a\n- b\nend .\n");
    free(text);
    assert_int_equal(template_file("broken", &values, quotings, &text), STATUS_NOT_FOUND);
    tree_remove(&tree);
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_stands_for_its_value),
        cmocka_unit_test(a_section_stands_for_what_is_true),
        cmocka_unit_test(a_list_repeats_its_section),
        cmocka_unit_test(a_sign_alone_leaves_no_line),
        cmocka_unit_test(a_mistake_has_one_clear_line),
        cmocka_unit_test(a_file_may_have_others_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
