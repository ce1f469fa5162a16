#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clock.h"
#include "common/process.h"
#include "mps/controller.h"
#include "files/remove_tree.h"
#include "mps/directory.h"
#include "tests/unit/mps/harness.h"

static void a_daemon_lives_and_dies_with_its_controller(void **state)
{
    (void)state;
    struct mps_controller *controller = mps_start_controller(MPS_EMULATED, NULL);
    pid_t clients[4];
    size_t count = 9;
    struct stat info;
    assert_int_equal(controller->daemon, 0);
    assert_int_equal(mps_controller_daemon_start(controller, "GPU-x", NULL), STATUS_OK);
    pid_t first = controller->daemon;
    assert_int_equal(kill(first, 0), 0);
    assert_int_equal(mps_control_clients(&controller->control, 0, clients, 4, &count), STATUS_OK);
    assert_int_equal(count, 0);
    assert_int_equal(mps_controller_daemon_start(controller, "GPU-x", NULL),
                     STATUS_OK); /* runs already */
    assert_int_equal(controller->daemon, first);
    assert_int_equal(mps_controller_daemon_stop(controller), STATUS_OK);
    assert_int_equal(kill(first, 0), -1);
    assert_int_equal(mps_controller_daemon_stop(controller), STATUS_OK); /* nothing to stop */
    assert_int_equal(mps_controller_daemon_start(controller, NULL, NULL),
                     STATUS_OK); /* a second life */
    pid_t second = controller->daemon;
    assert_int_equal(stat(controller->off_directory, &info), 0);
    assert_int_equal(mps_controller_free(controller), STATUS_OK);
    assert_int_equal(kill(second, 0), -1);
}

static void a_log_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    struct mps_controller *controller = mps_start_controller(MPS_EMULATED, mps_path("dir"));
    const char *log = mps_path("dir/log/output");
    struct mps_fault fault;
    pid_t clients[4];
    size_t count;
    ASSERT_OK(mps_controller_daemon_start(controller, NULL, NULL));
    ASSERT_OK(mps_controller_past_clients(controller, clients, 4, &count));
    assert_int_equal(unlink(log), 0);
    assert_int_equal(mkdir(log, 0700), 0);
    ASSERT_ERROR(mps_controller_past_clients(controller, clients, 4, &count), STATUS_SYSTEM, log);
    ASSERT_ERROR(mps_controller_last_fault(controller, &fault), STATUS_SYSTEM, log);
    assert_int_equal(rmdir(log), 0);
    ASSERT_OK(mps_controller_free(controller));
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
    setenv("FAKE_MODE", "get_server_list=reply:Unknown command \"get_server_list\"\\n", 1);
    struct mps_controller *controller =
        mps_start_controller("tests/fakes/nvidia-cuda-mps-control", NULL);
    assert_int_equal(mps_controller_daemon_start(controller, NULL, NULL), STATUS_UNSUPPORTED);
    assert_non_null(strstr(status_text(), "has no command 'get_server_list'"));
    assert_int_equal(mps_controller_free(controller), STATUS_OK);
    unsetenv("FAKE_MODE");
}

static bool holds_something(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && info.st_size > 0;
}

/* What it does not see is not waited for: a daemon that takes a minute for each answer. */
static void an_interrupt_ends_the_wait_for_a_slow_daemon(void **state)
{
    (void)state;
    char action[128], path[MPS_DIRECTORY_MOST + 1];
    const struct mps_answer slow[] = {{"*", "exec sleep 60"}, {NULL, NULL}};
    int interrupt[2];
    snprintf(action, sizeof action, "echo $$ >'%s'; exec sleep 600", mps_path("daemon"));
    struct mps_controller *controller = mps_start_controller(mps_script(action, slow), NULL);
    strcpy(path, controller->directory);
    assert_int_equal(pipe(interrupt), 0);
    mps_controller_set_interrupt(controller, interrupt[0]);
    /* A child interrupts once the daemon has reported its number and has been asked something. */
    pid_t child = fork();
    if (child == 0) {
        uint64_t deadline_ns = clock_now_ns() + 30 * NS_PER_S;
        while (!(holds_something(mps_path("daemon")) && holds_something(mps_path("orders"))) &&
               clock_now_ns() < deadline_ns)
            poll(NULL, 0, 5);
        _exit(write(interrupt[1], "", 1) != 1);
    }
    uint64_t begin_ns = clock_now_ns();
    ASSERT_ERROR(mps_controller_daemon_start(controller, NULL, NULL), STATUS_INTERRUPTED,
                 "interrupted");
    assert_true(clock_now_ns() - begin_ns < 50 * NS_PER_S);
    assert_int_equal(waitpid(child, NULL, 0), child);
    FILE *file = fopen(mps_path("daemon"), "re");
    char number[16] = "";
    assert_non_null(file);
    assert_non_null(fgets(number, sizeof number, file));
    fclose(file);
    struct process_identity daemon = process_identify((pid_t)atoi(number));
    assert_true(process_is_alive(&daemon));
    ASSERT_OK(mps_controller_free(controller));
    assert_false(process_is_alive(&daemon));
    assert_false(mps_is_there(path));
    assert_int_equal(unlink(mps_path("daemon")), 0);
    close(interrupt[0]);
    close(interrupt[1]);
}

/* The guard, the only child. */
static pid_t guard_of_this_test(void)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    return (pid_t)atoi(text);
}

static void a_killed_guard_is_told_and_cleared_after(void **state)
{
    (void)state;
    for (int existing = 0; existing < 2; existing++) {
        const char *path = mps_path("dir");
        if (existing)
            assert_int_equal(mkdir(path, 0700), 0);
        struct mps_controller *controller = mps_start_controller(MPS_EMULATED, path);
        ASSERT_OK(mps_controller_daemon_start(controller, NULL, NULL));
        pid_t daemon = controller->daemon, guard = guard_of_this_test();
        ASSERT_OK(mps_controller_check(controller));
        kill(guard, SIGKILL);
        mps_await_end(guard);
        mps_await_end(daemon);
        ASSERT_ERROR(mps_controller_check(controller), STATUS_SYSTEM, "is gone");
        ASSERT_ERROR(mps_controller_daemon_stop(controller), STATUS_SYSTEM, "is gone");
        ASSERT_OK(mps_controller_free(controller));
        assert_int_equal(mps_is_there(path), existing);
        if (existing) /* the user's own is empty again */
            assert_int_equal(rmdir(path), 0);
    }
}

static void another_directory_in_its_place_is_left_alone(void **state)
{
    (void)state;
    for (int killed = 0; killed < 2; killed++) {
        const char *path = mps_path("dir"), *away = mps_path("away");
        struct mps_controller *controller = mps_start_controller(MPS_EMULATED, path);
        pid_t guard = guard_of_this_test();
        assert_int_equal(rename(path, away), 0);
        assert_int_equal(mkdir(path, 0700), 0);
        mps_write_file(mps_path("dir/precious"), "");
        if (killed)
            kill(guard, SIGKILL);
        assert_int_not_equal(mps_controller_free(controller), STATUS_OK);
        assert_non_null(strstr(status_text(), path));
        assert_int_equal(mps_entries(path), 1);
        ASSERT_OK(remove_tree(path));
        assert_int_equal(mps_entries(away) > 0, killed); /* who was killed clears nothing */
        ASSERT_OK(remove_tree(away));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_daemon_lives_and_dies_with_its_controller, mps_begin,
                                        mps_end),
        cmocka_unit_test_setup_teardown(a_log_that_cannot_be_read_is_an_error, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(a_missing_program_is_named, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(a_daemon_that_ends_at_once_is_told, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(a_daemon_that_lacks_a_command_is_told, mps_begin, mps_end),
        cmocka_unit_test_setup_teardown(an_interrupt_ends_the_wait_for_a_slow_daemon, mps_begin,
                                        mps_end),
        cmocka_unit_test_setup_teardown(a_killed_guard_is_told_and_cleared_after, mps_begin,
                                        mps_end),
        cmocka_unit_test_setup_teardown(another_directory_in_its_place_is_left_alone, mps_begin,
                                        mps_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
