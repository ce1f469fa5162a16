#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

char scratch_path[] = "/tmp/mpsweep-test-XXXXXX";

int scratch_make(void **state)
{
    (void)state;
    int fd = mkstemp(scratch_path);
    return fd < 0 ? -1 : close(fd);
}

int scratch_remove(void **state)
{
    (void)state;
    return unlink(scratch_path);
}

void scratch_write(const void *bytes, size_t count)
{
    FILE *file = fopen(scratch_path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}
