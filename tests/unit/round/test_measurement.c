/* What a point keeps between two of its rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/round/measurement.h"

/* Room for a hundred rates of iterations, whose histograms have a bucket for each. */
#define PACKED_MOST 8192

static void a_measurement_comes_back_as_it_was(void **state)
{
    (void)state;
    struct measurement *before = calloc(1, sizeof *before), *after = calloc(1, sizeof *after);
    struct measurement *copy = malloc(sizeof *copy);
    for (uint64_t i = 0; i < 1000; i++)
        histogram_record(&before->last.latency, 1000000 + 1000 * i);
    before->rounds = 2;
    before->throughputs = malloc(16);
    before->seconds = 1.5;
    memset((unsigned char *)before + sizeof *before - 1, 7, 1);
    memcpy(copy, before, sizeof *copy);
    struct measurement_packed *packed = measurement_pack(before);
    assert_non_null(packed);
    assert_in_range(malloc_usable_size(packed), 1, PACKED_MOST);
    assert_int_equal(before->rounds, 0);
    assert_null(before->throughputs);
    measurement_unpack(packed, after);
    assert_memory_equal(after, copy, sizeof *copy);
    measurement_release(after);
    measurement_unpack(NULL, after);
    assert_int_equal(after->rounds, 0);
    free(before);
    free(after);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_measurement_comes_back_as_it_was)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
