/* The emulated driver and CUDA_INJECTION64_PATH: what it loads, when, and how often. */
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

#include "tests/unit/emul/driver.h"

#define VARIABLE "CUDA_INJECTION64_PATH"

static struct emul_driver cuda;
static int *calls;
static void (**body)(void);

static void *injection_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    CHECK(symbol != NULL);
    return symbol;
}

/* Loads the library before the driver does, so that the test sees what is called. */
static void load_injection(void)
{
    void *library = dlopen(getenv(VARIABLE), RTLD_NOW);
    CHECK(library != NULL);
    calls = injection_symbol(library, "injection_calls");
    body = injection_symbol(library, "injection_body");
    emul_driver_load(&cuda);
    CHECK_EQUAL(*calls, 0);
}

static void body_once(void)
{
    load_injection();
    CHECK_EQUAL(cuda.init(1), CUDA_INVALID_VALUE);
    CHECK_EQUAL(*calls, 0);
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(*calls, 1);
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(*calls, 1);
}

static void call_driver(void)
{
    int count = 0;
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(cuda.device_get_count(&count), 0);
    CHECK_EQUAL(count, 1);
}

static void body_calls_driver(void)
{
    load_injection();
    *body = call_driver;
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(*calls, 1);
}

/* -- who has been called already --------------------------------------------------------------- */

/* A child goes on with what its parent had. */
static void check_fork(bool initialised, int expected)
{
    load_injection();
    if (initialised)
        CHECK_EQUAL(cuda.init(0), 0);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        CHECK_EQUAL(cuda.init(0), 0);
        CHECK_EQUAL(*calls, expected);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(WEXITSTATUS(status), 0);
    CHECK_EQUAL(*calls, initialised);
}

static void body_fork_before(void)
{
    check_fork(false, 1);
}

static void body_fork_after(void)
{
    check_fork(true, 1);
}

static void body_ignored(void)
{
    emul_driver_start(&cuda);
}

/* NULL: the variable is empty. */
static void assert_child(void (*what)(void), const char *library)
{
    char path[BUILT_PATH_BYTES] = "";
    if (library != NULL)
        built_path(library, path);
    int status = run_child(what, VARIABLE, path);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define LIBRARY "tests/unit/emul/injection.so"

static void test_once(void **state)
{
    (void)state;
    assert_child(body_once, LIBRARY);
}

static void test_calls_driver(void **state)
{
    (void)state;
    assert_child(body_calls_driver, LIBRARY);
}

static void test_fork(void **state)
{
    (void)state;
    assert_child(body_fork_before, LIBRARY);
    assert_child(body_fork_after, LIBRARY);
}

static void test_ignored(void **state)
{
    (void)state;
    assert_child(body_ignored, "tests/unit/emul/no-such.so");
    /* It has no InitializeInjection(). */
    assert_child(body_ignored, "mpsweep-emulated-cuda.so");
    assert_child(body_ignored, NULL);
}

int main(void)
{
    /* No daemon of this machine is to be met by accident. */
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),     cmocka_unit_test(test_calls_driver),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
