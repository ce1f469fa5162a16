/* Which CUPTI a process gets, where it brings one of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "device/cupti.h"
#include "tests/unit/emul/driver.h"
#include "tests/unit/tree.h"

static struct tree tree;

/* The emulated driver, which has CUPTI's entry points, or a library that is not CUPTI. */
static void put(const char *name, bool is_cupti)
{
    char path[BUILT_PATH_BYTES];
    built_path(is_cupti ? "mpsweep-emulated-cuda.so" : "tests/unit/device/fake_nvml.so", path);
    tree_link(&tree, name, path);
}

static void load(const char *name)
{
    char path[BUILT_PATH_BYTES];
    snprintf(path, sizeof path, "%s%s", tree.root, name);
    CHECK(dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL);
}

static void check_found(const char *name)
{
    char path[BUILT_PATH_BYTES];
    struct cupti cupti;
    snprintf(path, sizeof path, "%s%s", tree.root, name);
    enum status status = cupti_load(NULL, &cupti);
    if (status != STATUS_OK || strcmp(cupti.name, path) != 0)
        fprintf(stderr, "%s, not %s\n", status == STATUS_OK ? cupti.name : status_text(), path);
    CHECK_EQUAL(status, STATUS_OK);
    CHECK(strcmp(cupti.name, path) == 0);
}

static void body_packages_12(void)
{
    load("/lib/nvidia/cuda_runtime/lib/libcudart.so.12");
    check_found("/lib/nvidia/cuda_runtime/lib/../../cuda_cupti/lib/libcupti.so.12");
}

static void body_packages_13(void)
{
    load("/lib/nvidia/cu13/lib/libcublas.so.13");
    check_found("/lib/nvidia/cu13/lib/libcupti.so.13");
}

static void body_runtime(void)
{
    load("/conda/lib/libcudart.so.12");
    check_found("/conda/lib/libcupti.so.12");
}

/* One that is there already goes before one that lies beside. */
static void body_loaded(void)
{
    load("/lib/nvidia/cu13/lib/libcublas.so.13");
    load("/else/libcupti.so.11.8");
    check_found("/else/libcupti.so.11.8");
}

/* What lies beside other libraries is not looked at. */
static void body_others(void)
{
    struct cupti cupti;
    load("/conda/lib/libother.so");
    CHECK(cupti_load(NULL, &cupti) != STATUS_OK || strstr(cupti.name, tree.root) == NULL);
}

static void assert_child(void (*body)(void))
{
    int status = run_child(body, NULL, NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_own(void **state)
{
    (void)state;
    tree_make(&tree);
    put("/lib/nvidia/cuda_runtime/lib/libcudart.so.12", false);
    put("/lib/nvidia/cuda_cupti/lib/libcupti.so.12", true);
    put("/lib/nvidia/cu13/lib/libcublas.so.13", false);
    put("/lib/nvidia/cu13/lib/libcupti.so.13", true);
    put("/conda/lib/libcudart.so.12", false);
    put("/conda/lib/libcupti.so.12", true);
    put("/conda/lib/libother.so", false);
    put("/else/libcupti.so.11.8", true);
    assert_child(body_packages_12);
    assert_child(body_packages_13);
    assert_child(body_runtime);
    assert_child(body_loaded);
    assert_child(body_others);
    tree_remove(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
