/* Both sides of the guard's socket with a stranger at the other end, and records of processes that
 * are others by now. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "mps/guard.h"
#include "mps/kept.h"
#include "tests/unit/mps/harness.h"

static const struct process_identity no_process = {0x7ffffff0, 1};

/* BASE/NAME with a record of these two, and no process that holds it. */
static const char *make_abandoned(const char *name, struct process_identity guard,
                                  struct process_identity daemon)
{
    struct mps_directory directory;
    const struct mps_state record = {.guard = guard, .daemon = daemon, .gpu = "", .started = "x"};
    ASSERT_OK(mps_directory_make_at(mps_path(name), &directory));
    ASSERT_OK(mps_state_write(directory.fd, &record));
    close(directory.lock_fd);
    close(directory.fd);
    return mps_path(name);
}

static void remove_directory(const char *path)
{
    struct mps_directory directory;
    ASSERT_OK(mps_directory_adopt(path, &directory));
    ASSERT_OK(mps_directory_remove(&directory));
}

static struct sockaddr_un address_in(const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/guard", directory);
    return address;
}

static int listen_in(const char *directory, int backlog)
{
    const struct sockaddr_un address = address_in(directory);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

static int connect_in(const char *directory)
{
    const struct sockaddr_un address = address_in(directory);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* A child that is deaf to SIGTERM, or not. */
static pid_t start_child(bool deaf)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (deaf)
            signal(SIGTERM, SIG_IGN);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end_child(pid_t child, int expected)
{
    int status;
    if (expected == SIGKILL)
        kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, expected);
}

/* -- without a guard --------------------------------------------------------------------------- */

static void an_unguarded_daemon_is_ended(void **state)
{
    (void)state;
    for (int deaf = 0; deaf < 2; deaf++) {
        struct mps_kept kept;
        pid_t child = start_child(deaf);
        const char *path = make_abandoned("dir", no_process, process_identify(child));
        ASSERT_OK(mps_kept_find(path, &kept));
        assert_false(kept.guarded);
        assert_true(kept.running);
        ASSERT_OK(mps_kept_stop(&kept, false));
        /* It was ended already: what comes now is too late. */
        assert_int_equal(process_start_time(child), 0);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, deaf ? SIGKILL : SIGTERM);
        assert_false(mps_is_there(path));
    }
}

/* The numbers of the record are those of other processes by now. */
static void who_only_has_the_number_gets_no_signal(void **state)
{
    (void)state;
    struct mps_kept kept;
    pid_t child = start_child(false);
    struct process_identity other = process_identify(child);
    other.start_time++;
    const char *path = make_abandoned("dir", other, other);
    ASSERT_OK(mps_kept_find(path, &kept));
    assert_false(kept.guarded);
    assert_false(kept.running);
    ASSERT_OK(mps_kept_stop(&kept, true));
    assert_false(mps_is_there(path));
    other.start_time--;
    assert_true(process_is_alive(&other));
    end_child(child, SIGKILL);
}

/* -- a false guard ----------------------------------------------------------------------------- */

static void a_stranger_on_the_socket_is_refused(void **state)
{
    (void)state;
    struct mps_kept kept = {.guarded = true};
    pid_t child = start_child(false);
    const char *path = make_abandoned("dir", process_identify(child), no_process);
    ASSERT_ERROR(mps_kept_find(path, &kept), STATUS_SYSTEM, "cannot reach the MPS guard");
    int listener = listen_in(path, 8);
    ASSERT_ERROR(mps_kept_find(path, &kept), STATUS_PROTOCOL, "not the MPS guard");
    strcpy(kept.directory, path);
    kept.state.guard = process_identify(child);
    ASSERT_ERROR(mps_kept_stop(&kept, true), STATUS_PROTOCOL, "not the MPS guard");
    /* Neither got anything. */
    for (int i = 0; i < 2; i++) {
        char byte;
        int connection = accept(listener, NULL, NULL);
        assert_true(connection >= 0);
        assert_int_equal(recv(connection, &byte, 1, 0), 0);
        close(connection);
    }
    close(listener);
    ASSERT_ERROR(mps_kept_find(path, &kept), STATUS_SYSTEM, "cannot reach the MPS guard");
    remove_directory(path);
    end_child(child, SIGKILL);
}

/* Its socket is closed a moment before it is gone. */
static void a_guard_that_dies_when_it_is_asked_is_no_guard(void **state)
{
    (void)state;
    struct mps_kept kept;
    int listening[2], told[2], status;
    char byte;
    assert_int_equal(pipe(listening), 0);
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (read(told[0], &byte, 1) != 1)
            _exit(1);
        int listener = listen_in(mps_path("dir"), 8);
        if (write(listening[1], "", 1) != 1)
            _exit(1);
        int connection = accept(listener, NULL, NULL);
        _exit(recv(connection, &byte, 1, 0) == 1 ? 0 : 1);
    }
    const char *path = make_abandoned("dir", process_identify(child), no_process);
    assert_int_equal(write(told[1], "", 1), 1);
    assert_int_equal(read(listening[0], &byte, 1), 1);
    ASSERT_OK(mps_kept_find(path, &kept));
    assert_false(kept.guarded);
    assert_false(kept.running);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    remove_directory(path);
    for (int i = 0; i < 2; i++) {
        close(listening[i]);
        close(told[i]);
    }
}

struct finder {
    const char *path;
    enum status status;
    char text[256];
    uint64_t took_ns;
};

static void *find(void *argument)
{
    struct finder *finder = argument;
    struct mps_kept kept;
    uint64_t begin_ns = clock_now_ns();
    finder->status = mps_kept_find(finder->path, &kept);
    finder->took_ns = clock_now_ns() - begin_ns;
    snprintf(finder->text, sizeof finder->text, "%s", status_text());
    return NULL;
}

/* It accepts connections and answers nothing, or has a full queue: both end after the same time. */
static void a_silent_guard_is_given_up(void **state)
{
    (void)state;
    const struct process_identity us = process_identify(getpid());
    struct finder finders[2] = {{.path = make_abandoned("silent", us, no_process)},
                                {.path = make_abandoned("full", us, no_process)}};
    int listeners[2] = {listen_in(finders[0].path, 8), listen_in(finders[1].path, 0)};
    int filler = connect_in(finders[1].path);
    pthread_t threads[2];
    /* Without its deadline, connect() would wait forever: then the test ends here. */
    alarm(120);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, find, &finders[i]), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (finders[i].status != STATUS_TIMEOUT || !strstr(finders[i].text, "does not answer") ||
            finders[i].took_ns > 40 * NS_PER_S)
            fail_msg("%s: status %d: %s, after %llu ms", finders[i].path, (int)finders[i].status,
                     finders[i].text, (unsigned long long)(finders[i].took_ns / NS_PER_MS));
    }
    alarm(0);
    close(filler);
    for (size_t i = 0; i < 2; i++) {
        close(listeners[i]);
        remove_directory(finders[i].path);
    }
}

static void odd_answers_are_told(void **state)
{
    (void)state;
    enum part { WHOLE, MAGIC, KIND, SERIAL, SHORT, NONE, ERROR };
    static const struct {
        enum part odd;
        enum status status;
        const char *text;
    } rows[] = {
        {WHOLE, STATUS_OK, ""},
        {MAGIC, STATUS_PROTOCOL, "did not answer properly"},
        {KIND, STATUS_PROTOCOL, "did not answer properly"},
        {SERIAL, STATUS_PROTOCOL, "did not answer properly"},
        {SHORT, STATUS_PROTOCOL, "did not answer properly"},
        {NONE, STATUS_PROTOCOL, "did not answer properly"},
        {ERROR, STATUS_UNSUPPORTED, "zzzz"}, /* a text without an end */
    };
    const char *path = make_abandoned("dir", process_identify(getpid()), no_process);
    int listener = listen_in(path, 8);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct finder finder = {.path = path};
        struct guard_message message;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, find, &finder), 0);
        int connection = accept(listener, NULL, NULL);
        assert_int_equal(recv(connection, &message, sizeof message, 0), sizeof message);
        assert_int_equal(message.magic, GUARD_MAGIC);
        assert_int_equal(message.kind, GUARD_ASK);
        message.status = rows[i].odd == ERROR ? STATUS_UNSUPPORTED : STATUS_OK;
        memset(message.text, 'z', sizeof message.text);
        message.magic += rows[i].odd == MAGIC;
        message.kind += rows[i].odd == KIND;
        message.serial += rows[i].odd == SERIAL;
        size_t bytes = sizeof message - (rows[i].odd == SHORT);
        if (rows[i].odd != NONE)
            assert_int_equal(send(connection, &message, bytes, MSG_NOSIGNAL), bytes);
        close(connection);
        assert_int_equal(pthread_join(thread, NULL), 0);
        if (finder.status != rows[i].status ||
            (finder.status != STATUS_OK && !strstr(finder.text, rows[i].text)))
            fail_msg("row %zu: status %d: %s", i, (int)finder.status, finder.text);
    }
    close(listener);
    remove_directory(path);
}

/* -- a true guard ------------------------------------------------------------------------------ */

/* The answer's status; -1: the connection was closed without one. */
static int say(const char *directory, const void *bytes, size_t count)
{
    struct guard_message answer;
    int connection = connect_in(directory);
    struct pollfd ready = {.fd = connection, .events = POLLIN};
    assert_int_equal(send(connection, bytes, count, MSG_NOSIGNAL), count);
    assert_int_equal(poll(&ready, 1, 30000), 1);
    ssize_t received = recv(connection, &answer, sizeof answer, 0);
    close(connection);
    if (received <= 0)
        return -1;
    assert_int_equal(received, sizeof answer);
    return answer.status;
}

static void odd_requests_do_no_harm(void **state)
{
    (void)state;
    struct mps_kept kept, now;
    char path[MPS_DIRECTORY_MOST + 1];
    struct mps_controller *controller = mps_start_controller(MPS_EMULATED, NULL);
    ASSERT_OK(mps_controller_daemon_start(controller, NULL, NULL));
    strcpy(path, controller->directory);
    ASSERT_OK(mps_controller_detach(controller, getpid()));
    ASSERT_OK(mps_controller_free(controller));
    ASSERT_OK(mps_kept_find(path, &kept));

    union {
        struct guard_message message;
        char bytes[2 * sizeof(struct guard_message)];
    } said;
    const size_t whole = sizeof said.message;
    const struct {
        uint32_t magic, kind;
        size_t bytes;
        int status;
    } rows[] = {
        {GUARD_MAGIC, GUARD_STOP, 1, -1},
        {GUARD_MAGIC, GUARD_STOP, 8, -1},
        {GUARD_MAGIC, GUARD_STOP, whole - 1, -1},
        {GUARD_MAGIC, GUARD_STOP, whole + 1, -1},
        {GUARD_MAGIC, GUARD_STOP, 2 * whole, -1},
        {0, GUARD_STOP, whole, -1},
        {~GUARD_MAGIC, GUARD_STOP, whole, -1},
        {GUARD_MAGIC, 0, whole, STATUS_PROTOCOL},
        {GUARD_MAGIC, GUARD_HELLO, whole, STATUS_PROTOCOL},
        {GUARD_MAGIC, GUARD_START, whole, STATUS_PROTOCOL},
        {GUARD_MAGIC, GUARD_DETACH, whole, STATUS_PROTOCOL},
        {GUARD_MAGIC, GUARD_DIED, whole, STATUS_PROTOCOL},
        {GUARD_MAGIC, 0xffffffff, whole, STATUS_PROTOCOL},
        {GUARD_MAGIC, GUARD_ASK, whole, STATUS_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(&said, 1, sizeof said);
        said.message.magic = rows[i].magic;
        said.message.kind = rows[i].kind;
        said.message.settings.memory_limits = 0;
        said.message.settings.partitions = 0;
        int status = say(path, said.bytes, rows[i].bytes);
        if (status != rows[i].status)
            fail_msg("row %zu: %d", i, status);
    }
    /* A client that sends nothing, or ends at once, does not keep others from it. */
    int silent = connect_in(path);
    close(connect_in(path));
    ASSERT_OK(mps_kept_find(path, &now));
    close(silent);
    assert_true(now.guarded && now.running);
    assert_true(process_is_alive(&kept.state.guard));
    assert_true(process_is_alive(&kept.state.daemon));
    ASSERT_OK(mps_kept_stop(&now, false));
    mps_await_end(kept.state.guard.pid);
    assert_int_equal(waitpid(kept.state.guard.pid, NULL, 0), kept.state.guard.pid);
    assert_false(mps_is_there(path));
}

int main(void)
{
#define KEPT(test) cmocka_unit_test_setup_teardown(test, mps_begin, mps_end)
    const struct CMUnitTest tests[] = {
        KEPT(an_unguarded_daemon_is_ended),
        KEPT(who_only_has_the_number_gets_no_signal),
        KEPT(a_stranger_on_the_socket_is_refused),
        KEPT(a_guard_that_dies_when_it_is_asked_is_no_guard),
        KEPT(a_silent_guard_is_given_up),
        KEPT(odd_answers_are_told),
        KEPT(odd_requests_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
