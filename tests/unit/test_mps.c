#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "mps/controller.h"
#include "tests/unit/mps_harness.h"

static void a_daemon_lives_and_dies_with_its_controller(void **state)
{
    (void)state;
    struct mps_controller *controller = mps_start_controller(MPS_EMULATED, NULL);
    pid_t clients[4];
    size_t count = 9;
    struct stat info;
    assert_int_equal(mps_controller_daemon_pid(controller), 0);
    assert_int_equal(mps_controller_daemon_start(controller, "GPU-x", NULL), STATUS_OK);
    pid_t first = mps_controller_daemon_pid(controller);
    assert_int_equal(kill(first, 0), 0);
    assert_int_equal(mps_controller_clients(controller, 0, clients, 4, &count), STATUS_OK);
    assert_int_equal(count, 0);
    assert_int_equal(mps_controller_daemon_start(controller, "GPU-x", NULL),
                     STATUS_OK); /* runs already */
    assert_int_equal(mps_controller_daemon_pid(controller), first);
    assert_int_equal(mps_controller_daemon_stop(controller), STATUS_OK);
    assert_int_equal(kill(first, 0), -1);
    assert_int_equal(mps_controller_daemon_stop(controller), STATUS_OK); /* nothing to stop */
    assert_int_equal(mps_controller_daemon_start(controller, NULL, NULL),
                     STATUS_OK); /* a second life */
    pid_t second = mps_controller_daemon_pid(controller);
    assert_int_equal(stat(mps_controller_off_directory(controller), &info), 0);
    assert_int_equal(mps_controller_free(controller), STATUS_OK);
    assert_int_equal(kill(second, 0), -1);
}

static void a_missing_program_is_named(void **state)
{
    (void)state;
    struct mps_controller *controller = mps_start_controller("/nonexistent/mps-control", NULL);
    assert_int_equal(mps_controller_daemon_start(controller, NULL, NULL), STATUS_NOT_FOUND);
    assert_non_null(strstr(status_text(), "/nonexistent/mps-control"));
    assert_int_equal(mps_controller_free(controller), STATUS_OK);
}

static void a_daemon_that_ends_at_once_is_told(void **state)
{
    (void)state;
    struct mps_controller *controller = mps_start_controller("/bin/false", NULL);
    assert_int_equal(mps_controller_daemon_start(controller, NULL, NULL), STATUS_SYSTEM);
    assert_non_null(strstr(status_text(), "ended at its start"));
    assert_int_equal(mps_controller_free(controller), STATUS_OK);
}

/* It is not asked again until the deadline. */
static void a_daemon_that_lacks_a_command_is_told(void **state)
{
    (void)state;
    setenv("FAKE_MODE", "get_server_list=say:Unknown command \"get_server_list\"\\n", 1);
    struct mps_controller *controller = mps_start_controller("tests/fakes/nvidia-cuda-mps-control", NULL);
    assert_int_equal(mps_controller_daemon_start(controller, NULL, NULL), STATUS_UNSUPPORTED);
    assert_non_null(strstr(status_text(), "has no command 'get_server_list'"));
    assert_int_equal(mps_controller_free(controller), STATUS_OK);
    unsetenv("FAKE_MODE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_daemon_lives_and_dies_with_its_controller, mps_begin,
                                        mps_end),
        cmocka_unit_test_setup_teardown(a_missing_program_is_named, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(a_daemon_that_ends_at_once_is_told, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(a_daemon_that_lacks_a_command_is_told, mps_begin, mps_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
