/* What the loader of plug-ins takes and what it refuses, and when memory counts as kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/plugin_answer.h"
#include "worker/engines/plugin_load.h"
#include "worker/engines/plugin_memory.h"

static struct {
    const char *name, *version, *error;
    unsigned capabilities;
    int result;
    char options[64]; /* that describe was called with */
} said;

static int describe(const char *options, struct mpsweep_description *out)
{
    assert_int_equal(out->size, sizeof *out);
    assert_null(out->name);
    strcpy(said.options, options);
    out->name = said.name;
    out->version = said.version;
    out->error = said.error;
    out->capabilities = said.capabilities;
    return said.result;
}

static int init(const struct mpsweep_worker *worker, void **instance)
{
    (void)worker, (void)instance;
    return 0;
}

static int call(void *instance)
{
    (void)instance;
    return 0;
}

static void fini(void *instance)
{
    (void)instance;
}

static struct mpsweep_workload calls;

static int begin(void **state)
{
    (void)state;
    memset(&said, 0, sizeof said);
    said.name = "mine";
    calls = (struct mpsweep_workload){
        MPSWEEP_WORKLOAD_ABI, sizeof calls, describe, init, call, call, fini, NULL,
    };
    return 0;
}

static void refused(const char *text)
{
    struct plugin plugin = {.name = "untouched"};
    assert_int_equal(plugin_validate(&calls, "", &plugin), STATUS_USAGE);
    assert_string_equal(status_text(), text);
    assert_string_equal(plugin.name, "untouched");
}

static void takes_a_whole_one(void **state)
{
    (void)state;
    struct plugin plugin;
    said.version = "2.1";
    said.capabilities = MPSWEEP_WORKLOAD_GRAPH_SAFE | MPSWEEP_WORKLOAD_CHECKS;
    assert_int_equal(plugin_validate(&calls, "n=4, x", &plugin), STATUS_OK);
    assert_string_equal(plugin.name, "mine");
    assert_string_equal(plugin.version, "2.1");
    assert_int_equal(plugin.capabilities, said.capabilities);
    assert_ptr_equal(plugin.calls, &calls);
    assert_string_equal(said.options, "n=4, x");
}

static void takes_the_least(void **state)
{
    (void)state;
    struct plugin plugin;
    calls.check = NULL;
    /* Of a later mpsweep, with fields that are not known here. */
    calls.size = sizeof calls + 64;
    assert_int_equal(plugin_validate(&calls, "", &plugin), STATUS_OK);
    assert_string_equal(plugin.version, "");
    assert_int_equal(plugin.capabilities, 0);
}

static int completed(void *instance, int *more)
{
    (void)instance, (void)more;
    return 0;
}

/* What stands behind a struct of that size is not its own. */
static void takes_an_older_one_without_what_is_newer(void **state)
{
    (void)state;
    struct plugin plugin;
    calls.completed = completed;
    assert_int_equal(plugin_validate(&calls, "", &plugin), STATUS_OK);
    assert_ptr_equal(plugin.completed, completed);
    calls.size = offsetof(struct mpsweep_workload, completed);
    assert_int_equal(plugin_validate(&calls, "", &plugin), STATUS_OK);
    assert_null(plugin.completed);
}

static void refuses_another_abi(void **state)
{
    (void)state;
    calls.abi = 2;
    /* Nothing else of it is believed. */
    calls.describe = NULL;
    calls.size = 0;
    refused("it is for workload ABI 2, and this mpsweep knows 1: build it with the header "
            "<mpsweep/workload.h> of this mpsweep");
}

static void refuses_a_short_struct(void **state)
{
    (void)state;
    calls.size = offsetof(struct mpsweep_workload, fini);
    refused(
        "it claims that its 'mpsweep_workload' has 40 bytes, and that of ABI 1 has 48: set size "
        "to sizeof(struct mpsweep_workload)");
}

static void refuses_missing_callbacks(void **state)
{
    (void)state;
    calls.describe = NULL;
    refused("its callback 'describe' is missing (NULL)");
    begin(NULL);
    calls.init = NULL;
    refused("its callback 'init' is missing (NULL)");
    begin(NULL);
    calls.iterate = NULL;
    refused("its callback 'iterate' is missing (NULL)");
    begin(NULL);
    calls.fini = NULL;
    refused("its callback 'fini' is missing (NULL)");
    begin(NULL);
    calls.check = NULL;
    said.capabilities = MPSWEEP_WORKLOAD_CHECKS;
    refused("it claims to check its results, but its callback 'check' is missing (NULL)");
}

static void refuses_descriptions(void **state)
{
    (void)state;
    char longer[80];
    said.name = NULL;
    refused("describe gives no name");
    said.name = "";
    refused("describe gives no name");
    said.name = "two\nlines";
    refused("describe gives a name with a byte that is not printable ASCII");
    memset(longer, 'x', sizeof longer);
    longer[64] = '\0';
    said.name = longer;
    refused("describe gives a name of more than 63 characters");
    longer[63] = '\0';
    said.version = "\x80";
    refused("describe gives a version with a byte that is not printable ASCII");
    said.version = NULL;
    said.capabilities = 0x41;
    refused("describe gives capabilities 0x41, of which ABI 1 knows only 0xf");
    said.result = -3;
    refused("describe fails with -3 and without a reason");
    said.error = "n is\tmissing";
    refused("n is?missing");
}

static void refuses_files(void **state)
{
    (void)state;
    struct plugin plugin;
    assert_int_equal(plugin_load("/nowhere/at/all.so", "", &plugin), STATUS_NOT_FOUND);
    assert_string_equal(status_text(), "there is no such file");
    assert_int_equal(plugin_load("/", "", &plugin), STATUS_USAGE);
    assert_string_equal(status_text(), "it is not a file");
    assert_int_equal(plugin_load("/etc/passwd", "", &plugin), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "it cannot be loaded as a shared object: "));
    assert_int_equal(plugin_load("/etc/passwd/x.so", "", &plugin), STATUS_NOT_FOUND);
    assert_string_equal(status_text(), "Not a directory");
}

static void checks_answers(void **state)
{
    (void)state;
    struct plugin_answer answer = {.magic = PLUGIN_ANSWER_MAGIC, .version = PLUGIN_ANSWER_VERSION};
    assert_int_equal(plugin_answer_check(&answer, sizeof answer), STATUS_OK);
    assert_int_equal(plugin_answer_check(&answer, sizeof answer - 1), STATUS_PROTOCOL);
    memset(answer.error, 'x', sizeof answer.error);
    assert_int_equal(plugin_answer_check(&answer, sizeof answer), STATUS_PROTOCOL);
    answer.error[0] = '\0';
    answer.error[511] = '\0';
    answer.version++;
    assert_int_equal(plugin_answer_check(&answer, sizeof answer), STATUS_PROTOCOL);
    answer.version--;
    answer.magic++;
    assert_int_equal(plugin_answer_check(&answer, sizeof answer), STATUS_PROTOCOL);
}

#define MIB (UINT64_C(1) << 20)

static void tells_what_is_kept(void **state)
{
    (void)state;
    const struct plugin_reading before = {.device_free = 1000 * MIB, .host_used = 100 * MIB};
    struct plugin_reading after = {.device_free = 936 * MIB, .host_used = 164 * MIB};
    struct plugin_kept kept = plugin_memory_kept(&before, &after, 4);
    assert_int_equal(kept.device, 16 * MIB);
    assert_int_equal(kept.host, 16 * MIB);
    assert_true(plugin_memory_any(&kept));
    /* Less used than before, or so little that it may be anything. */
    after = (struct plugin_reading){.device_free = 1001 * MIB, .host_used = 99 * MIB};
    kept = plugin_memory_kept(&before, &after, 1);
    assert_false(plugin_memory_any(&kept));
    after = (struct plugin_reading){.device_free = 1000 * MIB - MIB / 2, .host_used = 103 * MIB};
    kept = plugin_memory_kept(&before, &after, 1);
    assert_false(plugin_memory_any(&kept));
    /* What could not be read shows nothing. */
    after = (struct plugin_reading){0};
    kept = plugin_memory_kept(&before, &after, 1);
    assert_false(plugin_memory_any(&kept));
    const struct plugin_reading unread = {0};
    after = (struct plugin_reading){.device_free = MIB, .host_used = 100 * MIB};
    kept = plugin_memory_kept(&unread, &after, 1);
    assert_false(plugin_memory_any(&kept));
}

static void believes_what_happens_twice(void **state)
{
    (void)state;
    const struct plugin_kept a = {.device = 64 * MIB, .host = 8 * MIB};
    const struct plugin_kept b = {.device = 16 * MIB};
    struct plugin_kept both = plugin_memory_both(&a, &b);
    assert_int_equal(both.device, 16 * MIB);
    assert_int_equal(both.host, 0);
    both = plugin_memory_both(&b, &a);
    assert_int_equal(both.device, 16 * MIB);
    assert_int_equal(both.host, 0);
}

static void reads_host_memory(void **state)
{
    (void)state;
    static char much[32 << 20];
    uint64_t before = plugin_memory_host_used();
    assert_true(before > 0);
    memset(much, 1, sizeof much);
    assert_true(plugin_memory_host_used() >= before + sizeof much / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(takes_a_whole_one, begin),
        cmocka_unit_test_setup(takes_the_least, begin),
        cmocka_unit_test_setup(takes_an_older_one_without_what_is_newer, begin),
        cmocka_unit_test_setup(refuses_another_abi, begin),
        cmocka_unit_test_setup(refuses_a_short_struct, begin),
        cmocka_unit_test_setup(refuses_missing_callbacks, begin),
        cmocka_unit_test_setup(refuses_descriptions, begin),
        cmocka_unit_test(refuses_files),
        cmocka_unit_test(checks_answers),
        cmocka_unit_test(tells_what_is_kept),
        cmocka_unit_test(believes_what_happens_twice),
        cmocka_unit_test(reads_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
