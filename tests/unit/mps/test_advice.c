/* What is reported about a CUDA error of MPS: every one has a cause and a remedy, others have
 * nothing. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "mps/advice.h"

static void every_error_of_mps_has_cause_and_remedy(void **state)
{
    (void)state;
    static const struct {
        int error;
        const char *cause, *remedy;
    } rows[] = {
        {805, "admitted no client", "the log in its log directory"},
        {806, "ended or did not answer", "then run the point again"},
        {807, "takes no clients now", "'mpsweep mps status'"},
        {808, "no more MPS clients", "use fewer processes"},
        {809, "hardware queues are used up", "lower --connections"},
        {810, "asked to end this client", "terminate_client"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *advice = mps_advice(rows[i].error);
        if (!advice)
            fail_msg("%d: no advice", rows[i].error);
        const char *cause = strstr(advice, rows[i].cause);
        const char *remedy = strstr(advice, rows[i].remedy);
        if (!cause || !remedy || remedy <= cause)
            fail_msg("%d: '%s'", rows[i].error, advice);
        /* One line that goes on after "; ". */
        if (strpbrk(advice, "\n\t") || advice[strlen(advice) - 1] == '.' || strstr(advice, "  "))
            fail_msg("%d: not one line without a full stop: '%s'", rows[i].error, advice);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(advice, mps_advice(rows[j].error));
    }
}

static void other_errors_have_none(void **state)
{
    (void)state;
    static const int errors[] = {INT_MIN, -805, -1,  0,   1,   2,   46,
                                 700,     800,  803, 804, 811, 812, INT_MAX};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (mps_advice(errors[i]))
            fail_msg("%d: '%s'", errors[i], mps_advice(errors[i]));
}

static void queues_may_be_reported_as_memory(void **state)
{
    (void)state;
    assert_string_equal(mps_advice_of_queues(2), mps_advice(809));
    assert_null(mps_advice_of_queues(700));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_of_mps_has_cause_and_remedy),
        cmocka_unit_test(other_errors_have_none),
        cmocka_unit_test(queues_may_be_reported_as_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
