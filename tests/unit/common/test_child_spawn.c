#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"

#define SOON (clock_now_ns() + 30 * NS_PER_S)
#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static bool pipe_ends_soon(int read_fd)
{
    struct pollfd watch = {.fd = read_fd, .events = POLLIN};
    char byte;
    return poll(&watch, 1, 30000) == 1 && read(read_fd, &byte, 1) == 0;
}

static void bad_descriptor_is_an_error_of_the_start(void **state)
{
    (void)state;
    int closed = dup(0);
    close(closed);
    pid_t pid = -5;
    struct child_spawn_options options = {.argv = ARGV("true"),
                                          .keep = &closed,
                                          .keep_count = 1,
                                          .stdin_fd = -1,
                                          .stdout_fd = -1,
                                          .stderr_fd = -1};
    assert_int_equal(child_spawn(&options, &pid, NULL), STATUS_SYSTEM);
    char text[128];
    snprintf(text, sizeof text, "cannot hand descriptor %d to 'true': Bad file descriptor", closed);
    assert_string_equal(status_text(), text);
    assert_int_equal(pid, -5);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void spawn_keeps_and_redirects(void **state)
{
    (void)state;
    int kept[2], dropped[2], output[2], pidfd, wait_status;
    pid_t pid;
    char line[256];
    assert_int_equal(pipe2(kept, O_CLOEXEC), 0);
    assert_int_equal(pipe2(dropped, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    snprintf(line, sizeof line,
             "test ! -e /proc/self/fd/%d && echo kept >/proc/self/fd/%d && "
             "readlink /proc/self/fd/0 && sed -n s/^SigIgn:.//p /proc/self/status",
             dropped[1], kept[1]);
    struct child_spawn_options options = {.argv = ARGV("sh", "-c", line),
                                          .keep = &kept[1],
                                          .keep_count = 1,
                                          .stdin_fd = -1,
                                          .stdout_fd = output[1],
                                          .stderr_fd = 2,
                                          .new_session = true,
                                          .ignore_interrupts = true};
    assert_int_equal(child_spawn(&options, &pid, &pidfd), STATUS_OK);
    assert_int_equal(getsid(pid), pid);
    assert_true(fcntl(pidfd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(child_wait(pid, pidfd, SOON, &wait_status), STATUS_OK);
    assert_int_equal(wait_status, 0);
    char text[128] = "";
    assert_int_equal(read(kept[0], text, sizeof text - 1), 5);
    assert_string_equal(text, "kept\n");
    ssize_t bytes = read(output[0], text, sizeof text - 1);
    assert_true(bytes > 0);
    text[bytes] = '\0';
    assert_memory_equal(text, "/dev/null\n", 10);
    assert_int_equal(strtoull(text + 10, NULL, 16) & 6, 6); /* SIGINT, SIGQUIT */
    assert_true(fcntl(kept[1], F_GETFD) & FD_CLOEXEC);
    close(pidfd);
    for (int i = 0; i < 2; i++) {
        close(kept[i]);
        close(dropped[i]);
        close(output[i]);
    }
}

static void wait_times_out_then_end_reaps(void **state)
{
    (void)state;
    int pidfd, wait_status = 0;
    pid_t pid;
    struct child_spawn_options options = {.argv = ARGV("sleep", "60"),
                                          .stdin_fd = -1,
                                          .stdout_fd = -1,
                                          .stderr_fd = -1,
                                          .new_process_group = true};
    assert_int_equal(child_spawn(&options, &pid, &pidfd), STATUS_OK);
    assert_int_equal(getpgid(pid), pid);
    assert_int_equal(child_wait(pid, pidfd, clock_now_ns() + NS_PER_MS, &wait_status),
                     STATUS_TIMEOUT);
    assert_int_equal(child_end(pid, pidfd, 30 * NS_PER_S, &wait_status), STATUS_OK);
    assert_int_equal(WTERMSIG(wait_status), SIGTERM);
    close(pidfd);
}

/* A process between us and the program dies; the program must follow. */
static void parent_death_reaches_the_program(void **state)
{
    (void)state;
    int held[2];
    assert_int_equal(pipe2(held, O_CLOEXEC), 0);
    pid_t between = fork();
    if (between == 0) {
        pid_t pid;
        struct child_spawn_options options = {.argv = ARGV("sleep", "600"),
                                              .keep = &held[1],
                                              .keep_count = 1,
                                              .stdin_fd = -1,
                                              .stdout_fd = -1,
                                              .stderr_fd = -1,
                                              .new_session = true,
                                              .parent_death_signal = SIGKILL};
        _exit(child_spawn(&options, &pid, NULL) == STATUS_OK ? 0 : 1);
    }
    int wait_status;
    assert_int_equal(waitpid(between, &wait_status, 0), between);
    assert_int_equal(wait_status, 0);
    close(held[1]);
    assert_true(pipe_ends_soon(held[0]));
    close(held[0]);
}

/* Starts a program that leaves one behind, in a session of its own, and waits for its end. */
static void leave_behind(int held)
{
    int pidfd, wait_status;
    pid_t pid;
    struct child_spawn_options options = {.argv = ARGV("sh", "-c", "setsid sleep 600 & exit 0"),
                                          .keep = &held,
                                          .keep_count = 1,
                                          .stdin_fd = -1,
                                          .stdout_fd = -1,
                                          .stderr_fd = -1};
    assert_int_equal(child_spawn(&options, &pid, &pidfd), STATUS_OK);
    assert_int_equal(child_wait(pid, pidfd, SOON, &wait_status), STATUS_OK);
    assert_int_equal(wait_status, 0);
    close(pidfd);
}

static void adopted_processes_end_and_children_live(void **state)
{
    (void)state;
    int held[2], pidfd, wait_status;
    pid_t pid;
    struct child_spawn_options options = {.argv = ARGV("sleep", "600"),
                                          .stdin_fd = -1,
                                          .stdout_fd = -1,
                                          .stderr_fd = -1,
                                          .new_process_group = true};
    assert_int_equal(pipe2(held, O_CLOEXEC), 0);
    child_adopt();
    assert_int_equal(child_spawn(&options, &pid, &pidfd), STATUS_OK);
    leave_behind(held[1]);
    close(held[1]);
    assert_int_equal(child_end_adopted(SOON), STATUS_OK);
    assert_true(pipe_ends_soon(held[0]));
    assert_int_equal(child_wait(pid, pidfd, clock_now_ns(), &wait_status), STATUS_TIMEOUT);
    assert_int_equal(child_end(pid, pidfd, 30 * NS_PER_S, &wait_status), STATUS_OK);
    close(pidfd);
    close(held[0]);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* As after a shell's exec. */
static void beside_a_stranger_nothing_is_adopted(void **state)
{
    (void)state;
    int wait_status, adopts = -1;
    pid_t between = fork();
    if (between == 0) {
        pid_t stranger = fork();
        if (stranger == 0)
            for (;;)
                pause();
        child_adopt();
        enum status status = child_end_adopted(SOON);
        bool lives = waitpid(stranger, NULL, WNOHANG) == 0;
        kill(stranger, SIGKILL);
        waitpid(stranger, NULL, 0);
        prctl(PR_GET_CHILD_SUBREAPER, &adopts);
        _exit(lives && status == STATUS_OK && adopts == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(between, &wait_status, 0), between);
    assert_int_equal(wait_status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_descriptor_is_an_error_of_the_start),
        cmocka_unit_test(spawn_keeps_and_redirects),
        cmocka_unit_test(wait_times_out_then_end_reaps),
        cmocka_unit_test(parent_death_reaches_the_program),
        cmocka_unit_test(beside_a_stranger_nothing_is_adopted),
        cmocka_unit_test(adopted_processes_end_and_children_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
