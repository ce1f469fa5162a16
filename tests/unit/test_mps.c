#include <fcntl.h>
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
#include "mps/directory.h"

/* A directory of our own instead of /tmp, so that leftovers can be seen. */
static char base[] = "/tmp/mpt-XXXXXX";

static int begin(void **state)
{
    (void)state;
    strcpy(base + strlen(base) - 6, "XXXXXX");
    unsetenv("XDG_RUNTIME_DIR");
    return mkdtemp(base) && setenv("TMPDIR", base, 1) == 0 ? 0 : -1;
}

/* Fails if anything is left in it. */
static int end(void **state)
{
    (void)state;
    return rmdir(base);
}

static void directories_are_private_and_go_away(void **state)
{
    (void)state;
    struct mps_directory directory;
    struct stat info;
    char inside[256];
    assert_int_equal(mps_directory_make(&directory), STATUS_OK);
    assert_int_equal(strncmp(directory.path, base, strlen(base)), 0);
    assert_int_equal(stat(directory.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    snprintf(inside, sizeof inside, "%s/mps/deep", directory.path);
    assert_int_equal(mkdir(inside, 0700), 0);
    /* A link in it is removed, not followed. */
    snprintf(inside, sizeof inside, "%s/log/link", directory.path);
    assert_int_equal(symlink("/etc", inside), 0);
    assert_int_equal(mps_directory_remove(&directory), STATUS_OK);
    assert_int_equal(stat(directory.path, &info), -1);
    assert_int_equal(stat("/etc/passwd", &info), 0);
}

static void abandoned_ones_are_cleared_and_live_ones_kept(void **state)
{
    (void)state;
    struct mps_directory dead, live, third;
    struct stat info;
    assert_int_equal(mps_directory_make(&dead), STATUS_OK);
    assert_int_equal(mps_directory_make(&live), STATUS_OK);
    close(dead.lock_fd); /* as when its owner was killed */
    assert_int_equal(mps_directory_make(&third), STATUS_OK);
    assert_int_equal(stat(dead.path, &info), -1);
    assert_int_equal(stat(live.path, &info), 0);
    assert_int_equal(mps_directory_remove(&live), STATUS_OK);
    assert_int_equal(mps_directory_remove(&third), STATUS_OK);
}

/* Directories of others with a name like ours: without a lock, or with more in them than we make.
 */
static void what_only_looks_like_ours_is_left_alone(void **state)
{
    (void)state;
    char without[64], with[64], file[96];
    struct mps_directory directory;
    struct stat info;
    snprintf(without, sizeof without, "%s/mpsweep-graphs", base);
    snprintf(with, sizeof with, "%s/mpsweep-result", base);
    assert_int_equal(mkdir(without, 0700), 0);
    assert_int_equal(mkdir(with, 0700), 0);
    snprintf(file, sizeof file, "%s/lock", with);
    close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    snprintf(file, sizeof file, "%s/out.jsonl", with);
    close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(mps_directory_make(&directory), STATUS_OK);
    assert_int_equal(stat(without, &info), 0);
    assert_int_equal(stat(file, &info), 0);
    assert_int_equal(mps_directory_remove(&directory), STATUS_OK);
    assert_int_equal(rmdir(without), 0);
    assert_int_equal(mps_directory_remove_path(with), STATUS_OK);
}

static void long_places_are_passed_over(void **state)
{
    (void)state;
    char deep[256];
    struct mps_directory directory;
    snprintf(deep, sizeof deep, "%s/%060d", base, 0);
    assert_int_equal(mkdir(deep, 0700), 0);
    setenv("TMPDIR", deep, 1);
    assert_int_equal(mps_directory_make(&directory), STATUS_OK);
    assert_int_equal(strncmp(directory.path, "/tmp/", 5), 0);
    assert_true(strlen(directory.path) + strlen("/mps") <= MPS_DIRECTORY_MOST);
    assert_int_equal(mps_directory_remove(&directory), STATUS_OK);
    assert_int_equal(rmdir(deep), 0);
}

static struct mps_controller *start_controller(const char *control)
{
    static char guard[512], program[512], worker[512], driver[512];
    const char *build = getenv("MPSWEEP_BUILD_DIR");
    struct mps_controller *controller = NULL;
    snprintf(guard, sizeof guard, "%s/mpsweep-guard", build ? build : ".");
    snprintf(program, sizeof program, *control == '/' ? "%s%s" : "%s/%s",
             *control == '/' ? ""
             : build         ? build
                             : ".",
             control);
    snprintf(worker, sizeof worker, "%s/mpsweep-worker", build ? build : ".");
    snprintf(driver, sizeof driver, "%s/mpsweep-emulated-cuda.so", build ? build : ".");
    const struct mps_controller_options options = {.guard_program = guard,
                                                   .control_program = program,
                                                   .probe_program = worker,
                                                   .probe_driver = driver};
    assert_int_equal(mps_controller_new(&options, &controller), STATUS_OK);
    return controller;
}

static void a_daemon_lives_and_dies_with_its_controller(void **state)
{
    (void)state;
    struct mps_controller *controller = start_controller("mpsweep-emulated-mps-control");
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
    assert_int_equal(mps_controller_daemon_start(controller, NULL, NULL), STATUS_OK); /* a second life */
    pid_t second = mps_controller_daemon_pid(controller);
    assert_int_equal(stat(mps_controller_off_directory(controller), &info), 0);
    assert_int_equal(mps_controller_free(controller), STATUS_OK);
    assert_int_equal(kill(second, 0), -1);
}

static void a_missing_program_is_named(void **state)
{
    (void)state;
    struct mps_controller *controller = start_controller("/nonexistent/mps-control");
    assert_int_equal(mps_controller_daemon_start(controller, NULL, NULL), STATUS_NOT_FOUND);
    assert_non_null(strstr(status_text(), "/nonexistent/mps-control"));
    assert_int_equal(mps_controller_free(controller), STATUS_OK);
}

static void a_daemon_that_ends_at_once_is_told(void **state)
{
    (void)state;
    struct mps_controller *controller = start_controller("/bin/false");
    assert_int_equal(mps_controller_daemon_start(controller, NULL, NULL), STATUS_SYSTEM);
    assert_non_null(strstr(status_text(), "ended at its start"));
    assert_int_equal(mps_controller_free(controller), STATUS_OK);
}

/* It is not asked again until the deadline. */
static void a_daemon_that_lacks_a_command_is_told(void **state)
{
    (void)state;
    setenv("FAKE_MODE", "get_server_list=say:Unknown command \"get_server_list\"\\n", 1);
    struct mps_controller *controller = start_controller("tests/fakes/nvidia-cuda-mps-control");
    assert_int_equal(mps_controller_daemon_start(controller, NULL, NULL), STATUS_UNSUPPORTED);
    assert_non_null(strstr(status_text(), "has no command 'get_server_list'"));
    assert_int_equal(mps_controller_free(controller), STATUS_OK);
    unsetenv("FAKE_MODE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(directories_are_private_and_go_away, begin, end),
        cmocka_unit_test_setup_teardown(abandoned_ones_are_cleared_and_live_ones_kept, begin, end),
        cmocka_unit_test_setup_teardown(what_only_looks_like_ours_is_left_alone, begin, end),
        cmocka_unit_test_setup_teardown(long_places_are_passed_over, begin, end),
        cmocka_unit_test_setup_teardown(a_daemon_lives_and_dies_with_its_controller, begin, end),
        cmocka_unit_test_setup_teardown(a_missing_program_is_named, begin, end),
        cmocka_unit_test_setup_teardown(a_daemon_that_ends_at_once_is_told, begin, end),
        cmocka_unit_test_setup_teardown(a_daemon_that_lacks_a_command_is_told, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
