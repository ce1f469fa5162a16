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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"

#define SOON (clock_now_ns() + 30 * NS_PER_S)
#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct child_result run_ok(struct child_options options)
{
    struct child_result result;
    if (options.deadline_ns == 0)
        options.deadline_ns = SOON;
    enum status status = child_run(&options, &result);
    if (status != STATUS_OK)
        fail_msg("%s", status_text());
    return result;
}

/* Runs one line of sh; checks that it succeeds and what it prints. */
static void expect_sh(const char *line, const char *output)
{
    struct child_result result =
        run_ok((struct child_options){.argv = ARGV("sh", "-c", line), .output_cap = 4096});
    assert_string_equal(result.output, output);
    assert_int_equal(result.wait_status, 0);
    child_result_release(&result);
}

static bool pipe_ends_soon(int read_fd)
{
    struct pollfd watch = {.fd = read_fd, .events = POLLIN};
    char byte;
    return poll(&watch, 1, 30000) == 1 && read(read_fd, &byte, 1) == 0;
}

static void output_is_captured(void **state)
{
    (void)state;
    struct child_result result =
        run_ok((struct child_options){.argv = ARGV("echo", "a b", "c"), .output_cap = 100});
    assert_string_equal(result.output, "a b c\n");
    assert_int_equal(result.output_bytes, 6);
    assert_false(result.output_cut);
    assert_null(result.errors);
    assert_int_equal(result.wait_status, 0);
    child_result_release(&result);
    assert_null(result.output);
}

static void no_cap_keeps_nothing(void **state)
{
    (void)state;
    struct child_result result = run_ok((struct child_options){.argv = ARGV("echo", "x")});
    assert_string_equal(result.output, "");
    assert_true(result.output_cut);
    child_result_release(&result);
}

static void input_is_fed(void **state)
{
    (void)state;
    struct child_result result = run_ok((struct child_options){
        .argv = ARGV("cat"), .input = "get_server_list\nquit\n", .output_cap = 100});
    assert_string_equal(result.output, "get_server_list\nquit\n");
    child_result_release(&result);
    expect_sh("wc -c </dev/stdin", "0\n");
}

static void unread_input_is_no_signal(void **state)
{
    (void)state;
    size_t bytes = 4 << 20;
    char *text = malloc(bytes + 1);
    memset(text, 'x', bytes);
    text[bytes] = '\0';
    struct child_result result =
        run_ok((struct child_options){.argv = ARGV("true"), .input = text, .output_cap = 10});
    assert_int_equal(result.wait_status, 0);
    child_result_release(&result);
    result = run_ok(
        (struct child_options){.argv = ARGV("cat"), .input = text, .output_cap = bytes + 10});
    assert_int_equal(result.output_bytes, bytes);
    assert_string_equal(result.output, text);
    assert_false(result.output_cut);
    child_result_release(&result);
    free(text);
}

static void large_output_is_cut_and_does_not_block(void **state)
{
    (void)state;
    struct child_result result = run_ok((struct child_options){
        .argv = ARGV("head", "-c", "3000000", "/dev/zero"), .output_cap = 1000});
    assert_int_equal(result.output_bytes, 1000);
    assert_true(result.output_cut);
    assert_int_equal(result.wait_status, 0);
    child_result_release(&result);
}

static void errors_go_where_asked(void **state)
{
    (void)state;
    struct child_options options = {.argv = ARGV("sh", "-c", "echo out; echo err >&2"),
                                    .output_cap = 100};
    struct child_result result = run_ok(options);
    assert_string_equal(result.output, "out\n");
    child_result_release(&result);

    options.capture_stderr = true;
    result = run_ok(options);
    assert_string_equal(result.output, "out\n");
    assert_string_equal(result.errors, "err\n");
    assert_int_equal(result.errors_bytes, 4);
    child_result_release(&result);

    options.merge_stderr = true;
    result = run_ok(options);
    assert_string_equal(result.output, "out\nerr\n");
    assert_null(result.errors);
    child_result_release(&result);
}

static void endings_are_told(void **state)
{
    (void)state;
    char text[64];
    struct child_result result =
        run_ok((struct child_options){.argv = ARGV("sh", "-c", "exit 3"), .output_cap = 1});
    assert_int_equal(WEXITSTATUS(result.wait_status), 3);
    assert_string_equal(child_ending_text(result.wait_status, text, sizeof text), "exit status 3");
    child_result_release(&result);
    result =
        run_ok((struct child_options){.argv = ARGV("sh", "-c", "kill -9 $$"), .output_cap = 1});
    assert_true(WIFSIGNALED(result.wait_status));
    assert_string_equal(child_ending_text(result.wait_status, text, sizeof text),
                        "killed by signal 9 (Killed)");
    child_result_release(&result);
}

static void expect_start_error(const char *program, enum status expected, const char *text)
{
    struct child_result untouched = {.output_bytes = 77};
    struct child_options options = {.argv = ARGV(program), .deadline_ns = SOON};
    assert_int_equal(child_run(&options, &untouched), expected);
    assert_string_equal(status_text(), text);
    assert_int_equal(untouched.output_bytes, 77);
}

static void what_cannot_run_is_an_error_of_the_start(void **state)
{
    (void)state;
    expect_start_error("mpsweep-no-such-program", STATUS_NOT_FOUND,
                       "cannot run 'mpsweep-no-such-program': No such file or directory");
    expect_start_error("/nonexistent/program", STATUS_NOT_FOUND,
                       "cannot run '/nonexistent/program': No such file or directory");
    expect_start_error("", STATUS_NOT_FOUND, "cannot run '': No such file or directory");
    expect_start_error("/proc", STATUS_SYSTEM, "cannot run '/proc': it is a directory");

    char path[] = "/tmp/test_child.XXXXXX";
    char text[256];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "echo no shebang\n", 16), 16);
    snprintf(text, sizeof text,
             "cannot run '%s': it is not executable: 'chmod +x' makes it so, or write its "
             "interpreter before it",
             path);
    expect_start_error(path, STATUS_SYSTEM, text);
    assert_int_equal(fchmod(fd, 0755), 0);
    close(fd);
    snprintf(text, sizeof text,
             "cannot run '%s': Exec format error: a script begins with #! and its interpreter", path);
    expect_start_error(path, STATUS_SYSTEM, text);
    assert_int_equal(truncate(path, 0), 0);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "#!/nonexistent\r\n", 16), 16);
    close(fd);
    snprintf(text, sizeof text,
             "cannot run '%s': its interpreter is missing: look at its first line, which may end as "
             "on Windows",
             path);
    expect_start_error(path, STATUS_SYSTEM, text);
    unlink(path);
}

static void path_is_searched(void **state)
{
    (void)state;
    char *before = strdup(getenv("PATH"));
    char path[PATH_MAX];
    setenv("PATH", "/nonexistent::/bin", 1);
    expect_sh("echo found", "found\n");
    assert_int_equal(child_find_program("sh", path), STATUS_OK);
    assert_string_equal(path, "/bin/sh");
    setenv("PATH", "/nonexistent", 1);
    assert_int_equal(child_find_program("sh", path), STATUS_NOT_FOUND);
    assert_string_equal(status_text(), "cannot run 'sh': No such file or directory");
    assert_int_equal(child_find_program("/bin/sh", path), STATUS_OK);
    assert_string_equal(path, "/bin/sh");
    assert_int_equal(child_find_program("/nonexistent/sh", path), STATUS_NOT_FOUND);
    assert_int_equal(child_find_program("/bin", path), STATUS_SYSTEM);
    expect_start_error("sh", STATUS_NOT_FOUND, "cannot run 'sh': No such file or directory");
    setenv("PATH", before, 1);
    free(before);
}

static void environment_is_overridden(void **state)
{
    (void)state;
    setenv("CHILD_KEPT", "kept", 1);
    setenv("CHILD_CHANGED", "before", 1);
    setenv("CHILD_GONE", "here", 1);
    setenv("CHILD_GONE_NOT", "stays", 1);
    struct child_result result = run_ok((struct child_options){
        .argv = ARGV("sh", "-c", "env | grep ^CHILD_ | sort"),
        .env_set = ARGV("CHILD_CHANGED=after", "CHILD_NEW=new"),
        .env_unset = ARGV("CHILD_GONE", "CHILD_NEVER_WAS"),
        .output_cap = 1000,
    });
    assert_string_equal(result.output, "CHILD_CHANGED=after\nCHILD_GONE_NOT=stays\n"
                                       "CHILD_KEPT=kept\nCHILD_NEW=new\n");
    child_result_release(&result);
    assert_string_equal(getenv("CHILD_GONE"), "here");
}

static void deadline_ends_it(void **state)
{
    (void)state;
    struct child_result result;
    struct child_options options = {.argv = ARGV("sleep", "60"),
                                    .deadline_ns = clock_now_ns() + 50 * NS_PER_MS};
    uint64_t start = clock_now_ns();
    assert_int_equal(child_run(&options, &result), STATUS_TIMEOUT);
    assert_string_equal(status_text(), "'sleep' did not end in time and was ended");
    assert_true(clock_now_ns() - start >= 50 * NS_PER_MS);
    assert_true(clock_now_ns() - start < 20 * NS_PER_S);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void a_readable_descriptor_ends_it(void **state)
{
    (void)state;
    struct child_result result;
    int ends[2], none = -1;
    assert_int_equal(pipe(ends), 0);
    struct child_options options = {
        .argv = ARGV("sleep", "600"), .deadline_ns = SOON, .interrupt = &ends[0]};
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(child_run(&options, &result), STATUS_INTERRUPTED);
    /* It is not read, and the next waiter gets it, too. */
    assert_int_equal(child_run(&options, &result), STATUS_INTERRUPTED);
    options = (struct child_options){.argv = ARGV("true"), .deadline_ns = SOON, .interrupt = &none};
    assert_int_equal(child_run(&options, &result), STATUS_OK);
    child_result_release(&result);
    close(ends[0]);
    close(ends[1]);
}

static void deadline_ends_the_deaf_and_its_children(void **state)
{
    (void)state;
    int ends[2];
    char line[128];
    struct child_result result;
    assert_int_equal(pipe(ends), 0); /* not close-on-exec: all of the group hold it */
    snprintf(line, sizeof line, "trap '' TERM; sleep 600 & while :; do sleep 600; done");
    struct child_options options = {.argv = ARGV("sh", "-c", line),
                                    .deadline_ns = clock_now_ns() + 50 * NS_PER_MS};
    assert_int_equal(child_run(&options, &result), STATUS_TIMEOUT);
    close(ends[1]);
    assert_true(pipe_ends_soon(ends[0]));
    close(ends[0]);
}

static void deadline_ends_endless_output(void **state)
{
    (void)state;
    struct child_result result;
    struct child_options options = {
        .argv = ARGV("yes"), .output_cap = 100, .deadline_ns = clock_now_ns() + 100 * NS_PER_MS};
    assert_int_equal(child_run(&options, &result), STATUS_TIMEOUT);
}

static void what_it_leaves_running_does_not_delay(void **state)
{
    (void)state;
    uint64_t start = clock_now_ns();
    struct child_result result = run_ok(
        (struct child_options){.argv = ARGV("sh", "-c", "sleep 300 & echo $!"), .output_cap = 100});
    assert_true(clock_now_ns() - start < 100 * NS_PER_S);
    pid_t left = (pid_t)atoi(result.output);
    assert_true(left > 1);
    assert_int_equal(kill(left, SIGKILL), 0);
    child_result_release(&result);
}

static void signals_are_reset(void **state)
{
    (void)state;
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    struct child_result result = run_ok((struct child_options){
        .argv = ARGV("sed", "-n", "s/^Sig\\(Blk\\|Ign\\):.//p", "/proc/self/status"),
        .output_cap = 100});
    char *end;
    unsigned long long mask_blocked = strtoull(result.output, &end, 16);
    unsigned long long mask_ignored = strtoull(end, NULL, 16);
    assert_int_equal(mask_blocked, 0);
    /* Others may be ignored: those that our own parent made us ignore. */
    assert_int_equal(mask_ignored & 1ull << (SIGPIPE - 1), 0);
    assert_int_equal(mask_ignored & 1ull << (SIGUSR2 - 1), 1ull << (SIGUSR2 - 1));
    child_result_release(&result);
    signal(SIGUSR2, SIG_DFL);
    signal(SIGPIPE, handler);
    sigset_t now;
    sigprocmask(SIG_SETMASK, &before, &now);
    assert_true(sigismember(&now, SIGUSR1));
    assert_false(sigismember(&now, SIGTERM));
}

/* A process started without standard descriptors: the pipes then take their numbers. */
static void closed_standard_descriptors_work(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct child_result result;
        struct child_options options = {.argv = ARGV("sh", "-c", "cat; echo err >&2"),
                                        .input = "in\n",
                                        .output_cap = 100,
                                        .capture_stderr = true,
                                        .deadline_ns = SOON};
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        if (child_run(&options, &result) != STATUS_OK)
            _exit(1);
        if (strcmp(result.output, "in\n") != 0 || strcmp(result.errors, "err\n") != 0)
            _exit(2);
        options.argv = ARGV("mpsweep-no-such-program");
        _exit(child_run(&options, &result) == STATUS_NOT_FOUND ? 0 : 3);
    }
    int wait_status;
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_int_equal(wait_status, 0);
}

static void no_descriptor_leaks(void **state)
{
    (void)state;
    int before = dup(0);
    close(before);
    output_is_captured(state);
    what_cannot_run_is_an_error_of_the_start(state);
    errors_go_where_asked(state);
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_is_captured),
        cmocka_unit_test(no_cap_keeps_nothing),
        cmocka_unit_test(input_is_fed),
        cmocka_unit_test(unread_input_is_no_signal),
        cmocka_unit_test(large_output_is_cut_and_does_not_block),
        cmocka_unit_test(errors_go_where_asked),
        cmocka_unit_test(endings_are_told),
        cmocka_unit_test(what_cannot_run_is_an_error_of_the_start),
        cmocka_unit_test(path_is_searched),
        cmocka_unit_test(environment_is_overridden),
        cmocka_unit_test(deadline_ends_it),
        cmocka_unit_test(a_readable_descriptor_ends_it),
        cmocka_unit_test(deadline_ends_the_deaf_and_its_children),
        cmocka_unit_test(deadline_ends_endless_output),
        cmocka_unit_test(what_it_leaves_running_does_not_delay),
        cmocka_unit_test(signals_are_reset),
        cmocka_unit_test(closed_standard_descriptors_work),
        cmocka_unit_test(no_descriptor_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
