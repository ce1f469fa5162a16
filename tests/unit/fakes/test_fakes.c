/* What the tests' stand-ins promise, where a shell cannot look closely enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"

#define PATIENCE_NS (20 * NS_PER_S)

static char state_of(pid_t pid)
{
    char path[48], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return '-';
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? end[2] : '-';
}

static bool pidfd_says_ended(int pidfd, int limit_ms)
{
    struct pollfd watched = {.fd = pidfd, .events = POLLIN};
    return poll(&watched, 1, limit_ms) > 0;
}

/* What a killed child of ours is for us while another process holds it. */
static void check_held(const char *option, char killed_state, bool pidfd_ended)
{
    char program[4096], number[16], said[16] = "";
    const char *folder = getenv("MPSWEEP_BUILD_DIR");
    int in[2], out[2], holder_pidfd, status;
    pid_t holder;
    snprintf(program, sizeof program, "%s/tests/fakes/hold_process", folder ? folder : ".");

    pid_t victim = fork();
    if (victim == 0)
        for (;;)
            pause();
    int pidfd = (int)syscall(SYS_pidfd_open, victim, 0);
    snprintf(number, sizeof number, "%d", (int)victim);
    const char *const with_option[] = {program, option, number, NULL};
    const char *const without[] = {program, number, NULL};
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    const struct child_spawn_options options = {.argv = option != NULL ? with_option : without,
                                                .stdin_fd = in[0],
                                                .stdout_fd = out[1],
                                                .stderr_fd = 2};
    assert_int_equal(child_spawn(&options, &holder, &holder_pidfd), STATUS_OK);
    close(in[0]);
    close(out[1]);
    ssize_t length = read(out[0], said, sizeof said - 1);
    if (length <= 0) {
        kill(victim, SIGKILL);
        waitpid(victim, &status, 0);
        assert_int_equal(waitpid(holder, &status, 0), holder);
        assert_int_equal(WEXITSTATUS(status), 77);
        skip();
    }
    assert_string_equal(said, "holding\n");

    kill(victim, SIGKILL);
    uint64_t deadline = clock_now_ns() + PATIENCE_NS;
    while (state_of(victim) != killed_state) {
        assert_true(clock_now_ns() < deadline);
        poll(NULL, 0, 1);
    }
    /* An ended process is a zombie a moment before the descriptor shows it. */
    assert_int_equal(pidfd_says_ended(pidfd, pidfd_ended ? (int)(PATIENCE_NS / NS_PER_MS) : 0),
                     pidfd_ended);
    assert_int_equal(waitpid(victim, &status, WNOHANG), 0);
    kill(victim, SIGKILL);
    assert_int_equal(waitpid(victim, &status, WNOHANG), 0);

    close(in[1]);
    assert_true(pidfd_says_ended(pidfd, (int)(PATIENCE_NS / NS_PER_MS)));
    assert_int_equal(waitpid(holder, &status, 0), holder);
    assert_int_equal(waitpid(victim, &status, 0), victim);
    assert_int_equal(status, SIGKILL);
    close(out[0]);
    close(pidfd);
    close(holder_pidfd);
}

static void test_stuck(void **state)
{
    (void)state;
    check_held(NULL, 't', false);
}

static void test_zombie(void **state)
{
    (void)state;
    check_held("-z", 'Z', true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_zombie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
