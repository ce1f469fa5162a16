/* Names of C++, read by the C++ runtime library where that is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/trace/demangle.h"

static void test_names_of_cpp_are_read(void **state)
{
    (void)state;
    char *name = trace_demangle("_Z3addPii");
    if (!name && !dlopen("libstdc++.so.6", RTLD_LAZY) && !dlopen("libc++abi.so.1", RTLD_LAZY))
        skip();
    assert_non_null(name);
    assert_string_equal(name, "add(int*, int)");
    free(name);
    name = trace_demangle("_ZN3fft6kernelILj8EfEEvPT0_");
    assert_string_equal(name, "void fft::kernel<8u, float>(float*)");
    free(name);
}

static void test_others_are_left_alone(void **state)
{
    static const char *const names[] = {"mpsweep_add_constant", "i", "", "_", "_Z", "_Z3adXX",
                                        "_ZN3fft6kern"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_null(trace_demangle(names[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_cpp_are_read),
        cmocka_unit_test(test_others_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
