/* The identity of processes: alive, a zombie, gone, and with names that could mislead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/process.h"
#include "common/process_tree.h"

/* A child under a name of its own, which has it when this returns, and lives until end_child(). */
static pid_t start_child(const char *name)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (name != NULL)
            prctl(PR_SET_NAME, name, 0, 0, 0);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void make_zombie(pid_t pid)
{
    siginfo_t info;
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_start_time_stays_and_grows_with_age(void **state)
{
    (void)state;
    uint64_t own = process_start_time(getpid());
    assert_true(own > 0);
    assert_int_equal(process_start_time(getpid()), own);
    pid_t child = start_child(NULL);
    assert_true(process_start_time(child) >= own);
    assert_true(own >= process_start_time(1));
    end_child(child);
}

static void who_has_ended_has_none(void **state)
{
    (void)state;
    pid_t child = start_child(NULL);
    struct process_identity identity = process_identify(child);
    assert_int_equal(identity.pid, child);
    assert_true(identity.start_time > 0);
    assert_true(process_is_alive(&identity));
    make_zombie(child);
    assert_int_equal(process_start_time(child), 0);
    assert_false(process_is_alive(&identity));
    assert_int_equal(process_identify(child).start_time, 0);
    end_child(child);
    assert_int_equal(process_start_time(child), 0);
    assert_false(process_is_alive(&identity));
    assert_int_equal(process_identify(child).pid, child);
}

static void nobody_is_not_alive(void **state)
{
    (void)state;
    const struct {
        const char *what;
        struct process_identity identity;
    } rows[] = {
        {"none", {0, 0}},
        {"no process, with a time", {0, 12}},
        {"a group", {-1, 12}},
        {"a number that no process has", {0x7fffffff, 12}},
        {"a number that no process had, without a time", {0x7fffffff, 0}},
        {"us, without a time", {getpid(), 0}},
        {"us, at another time", {getpid(), process_start_time(getpid()) + 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (process_is_alive(&rows[i].identity))
            fail_msg("%s is alive", rows[i].what);
    assert_int_equal(process_start_time(0), 0);
    assert_int_equal(process_start_time(-1), 0);
}

/* The name stands before the time in /proc/PID/stat, in brackets, as it is. */
static void a_name_misleads_nobody(void **state)
{
    (void)state;
    static const char *const names[] = {
        "two words",      "(in brackets)",  "a) Z 1 2 3",      ") Z 0 0 0 0 (",
        "))))))))))))))", "((((((((((((((", "1 2\n3) Z 4 5\n", " "};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pid_t before = start_child(NULL), named = start_child(names[i]), after = start_child(NULL);
        struct process_identity identity = process_identify(named);
        uint64_t from = process_start_time(before), to = process_start_time(after);
        if (identity.start_time < from || identity.start_time > to || from == 0)
            fail_msg("'%s' started at %llu, not in %llu to %llu", names[i],
                     (unsigned long long)identity.start_time, (unsigned long long)from,
                     (unsigned long long)to);
        assert_true(process_is_alive(&identity));
        end_child(before);
        end_child(named);
        end_child(after);
        assert_false(process_is_alive(&identity));
    }
}

/* Starts a program under that name, which has been exec'ed when this returns. */
static pid_t start_program(const char *name)
{
    int started[2];
    char byte;
    assert_int_equal(pipe2(started, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sleep", name, "600", (char *)NULL);
        _exit(127);
    }
    close(started[1]);
    assert_int_equal(read(started[0], &byte, 1), 0);
    close(started[0]);
    return pid;
}

static void a_command_is_printable_and_fits(void **state)
{
    (void)state;
    char text[64];
    pid_t pid = start_program("sl\033[31mee\tp\177\377");
    memset(text, 'x', sizeof text);
    assert_ptr_equal(process_command(pid, text, sizeof text), text);
    assert_string_equal(text, "sl?[31mee?p?? 600");
    /* Cut where it does not fit, and never beyond. */
    memset(text, 'x', sizeof text);
    assert_string_equal(process_command(pid, text, 6), "sl?[3");
    assert_int_equal(text[6], 'x');
    assert_string_equal(process_command(pid, text, 1), "");
    make_zombie(pid);
    assert_string_equal(process_command(pid, text, sizeof text), "");
    end_child(pid);
    memset(text, 'x', sizeof text);
    assert_string_equal(process_command(pid, text, sizeof text), "");
}

static void descendants_are_bound_and_the_root_is_not(void **state)
{
    (void)state;
    cpu_set_t before, now;
    uint64_t none[1024 / 64] = {0}, first[1024 / 64] = {0};
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    unsigned cpu = 0;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &before))
        cpu++;
    first[cpu / 64] = UINT64_C(1) << cpu % 64;
    pid_t pid = start_child(NULL);
    assert_int_equal(process_tree_bind(getpid(), first, sizeof first), 0);
    assert_int_equal(sched_getaffinity(pid, sizeof now, &now), 0);
    assert_true(CPU_ISSET(cpu, &now));
    assert_int_equal(CPU_COUNT(&now), 1);
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_EQUAL(&now, &before));
    assert_int_equal(process_tree_bind(getpid(), none, sizeof none), EINVAL);
    end_child(pid);
}

static void a_descendant_without_a_text_in_its_environment_is_found(void **state)
{
    (void)state;
    pid_t pid = start_child(NULL);
    assert_int_equal(process_tree_find_without(getpid(), "no environment has this"), pid);
    assert_int_equal(process_tree_find_without(getpid(), "="), 0);
    make_zombie(pid);
    assert_int_equal(process_tree_find_without(getpid(), "no environment has this"), 0);
    end_child(pid);
}

#define BURN_NS (50 * NS_PER_MS)
#define TICK_NS (10 * NS_PER_MS)

static pid_t start_burner(bool ends, int ready)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < BURN_NS)
        ;
    if (ends || write(ready, "", 1) != 1)
        _exit(0);
    for (;;)
        pause();
}

/* A child whose first child has ended and whose second one runs. */
static void the_cpu_time_of_a_tree_has_what_runs_and_what_has_ended(void **state)
{
    (void)state;
    int ready[2];
    char byte;
    if (access("/proc/thread-self/children", R_OK) != 0)
        skip();
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (waitpid(start_burner(true, -1), NULL, 0) < 0)
            _exit(1);
        start_burner(false, ready[1]);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    assert_in_range(process_tree_cpu_ns(pid), 2 * BURN_NS - TICK_NS, 100 * BURN_NS);
    assert_in_range(process_children_cpu_ns(pid), BURN_NS - TICK_NS, 2 * BURN_NS - TICK_NS);
    end_child(pid);
    assert_int_equal(process_tree_cpu_ns(pid), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_time_stays_and_grows_with_age),
        cmocka_unit_test(who_has_ended_has_none),
        cmocka_unit_test(nobody_is_not_alive),
        cmocka_unit_test(a_name_misleads_nobody),
        cmocka_unit_test(a_command_is_printable_and_fits),
        cmocka_unit_test(descendants_are_bound_and_the_root_is_not),
        cmocka_unit_test(a_descendant_without_a_text_in_its_environment_is_found),
        cmocka_unit_test(the_cpu_time_of_a_tree_has_what_runs_and_what_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
