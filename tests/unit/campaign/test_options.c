#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/campaign/campaign.h"

static void set(struct options *options, enum option_id id, const char *text, int rank)
{
    assert_int_equal(options_set(options, &option_table[id], text, rank), STATUS_OK);
}

static void a_stronger_source_overrides_the_window(void **state)
{
    (void)state;
    static const enum option_id windows[] = {OPTION_DURATION, OPTION_PRECISION,
                                             OPTION_MAX_DURATION};
    for (size_t i = 0; i < 3; i++) {
        struct options options;
        assert_int_equal(options_init(&options), STATUS_OK);
        set(&options, windows[i], "1", 1);
        assert_int_equal(campaign_check_fixed(&options), STATUS_OK); /* by time */
        set(&options, OPTION_ITERATIONS, "100", 1);
        assert_int_equal(campaign_check_fixed(&options), STATUS_USAGE);
        assert_non_null(strstr(status_text(), option_table[windows[i]].name));
        set(&options, OPTION_ITERATIONS, "100", 2);
        assert_int_equal(campaign_check_fixed(&options), STATUS_OK);
        set(&options, windows[i], "1", 2);
        assert_int_equal(campaign_check_fixed(&options), STATUS_USAGE);
        set(&options, OPTION_ITERATIONS, "0", 2);
        assert_int_equal(campaign_check_fixed(&options), STATUS_OK);
        options_release(&options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stronger_source_overrides_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
