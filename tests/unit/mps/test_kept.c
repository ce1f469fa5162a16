/* Daemons that go on by themselves, with their guards: found, asked, stopped, and ended when what
 * they were for has ended. The emulated daemon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "mps/kept.h"
#include "tests/unit/emul/mps.h"
#include "tests/unit/mps/harness.h"

/* As that of several GPUs. */
#define GPUS "GPU-11111111-2222-3333-4444-555555555555,GPU-66666666-7777-8888-9999-000000000000"

/* Starts one and lets go of it. It ends with this test at the latest, or with another process. */
static struct mps_kept start_kept(const char *directory, pid_t until)
{
    struct mps_kept kept;
    char path[MPS_DIRECTORY_MOST + 1];
    struct mps_controller *controller = mps_start_controller(MPS_EMULATED, directory);
    ASSERT_OK(mps_controller_daemon_start(controller, GPUS, NULL));
    pid_t daemon = controller->daemon;
    strcpy(path, controller->directory);
    ASSERT_OK(mps_controller_detach(controller, until ? until : getpid()));
    ASSERT_OK(mps_kept_find(path, &kept));
    ASSERT_OK(mps_controller_free(controller));
    assert_string_equal(kept.directory, path);
    assert_true(kept.guarded && kept.running);
    assert_string_equal(kept.ending, "");
    assert_int_equal(kept.state.daemon.pid, daemon);
    assert_string_equal(kept.state.gpu, GPUS);
    return kept;
}

static void assert_lives(const struct mps_kept *kept)
{
    struct mps_kept now;
    ASSERT_OK(mps_kept_find(kept->directory, &now));
    assert_true(now.guarded && now.running);
    assert_true(process_is_alive(&kept->state.daemon));
}

static void assert_all_gone(const struct mps_kept *kept)
{
    struct mps_kept now;
    mps_await_end(kept->state.guard.pid);
    assert_false(process_is_alive(&kept->state.daemon));
    assert_false(mps_is_there(kept->directory));
    ASSERT_ERROR(mps_kept_find(kept->directory, &now), STATUS_NOT_FOUND, "no directory");
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

static struct client start_client_of(const struct mps_kept *kept)
{
    char pipe_directory[MPS_DIRECTORY_MOST + 8];
    snprintf(pipe_directory, sizeof pipe_directory, "%s/mps", kept->directory);
    struct client client = start_client("CUDA_MPS_PIPE_DIRECTORY", pipe_directory);
    assert_int_equal(client.mps, 1);
    assert_int_equal(client.result, 0);
    return client;
}

static void one_is_found_and_stopped(void **state)
{
    (void)state;
    struct mps_kept kept = start_kept(NULL, 0), found;
    char slashes[128];
    size_t count;
    snprintf(slashes, sizeof slashes, "%s//", kept.directory);
    ASSERT_OK(mps_kept_find(slashes, &found));
    assert_string_equal(found.directory, kept.directory);
    /* There may be others in /tmp. */
    mps_directory_find_kept(NULL, 0, &count);
    if (count == 1) {
        ASSERT_OK(mps_kept_find(NULL, &found));
        assert_string_equal(found.directory, kept.directory);
    }
    ASSERT_OK(mps_kept_stop(&kept, false));
    assert_all_gone(&kept);
}

static void several_are_named(void **state)
{
    (void)state;
    struct mps_kept one = start_kept(NULL, 0), other = start_kept(NULL, 0), found;
    ASSERT_ERROR(mps_kept_find(NULL, &found), STATUS_USAGE, one.directory);
    ASSERT_ERROR(mps_kept_find(NULL, &found), STATUS_USAGE, other.directory);
    ASSERT_OK(mps_kept_stop(&one, false));
    assert_lives(&other);
    ASSERT_OK(mps_kept_stop(&other, false));
    assert_all_gone(&one);
    assert_all_gone(&other);
}

static void the_users_own_directory_stays(void **state)
{
    (void)state;
    assert_int_equal(mkdir(mps_path("mine"), 0700), 0);
    struct mps_kept kept = start_kept(mps_path("mine"), 0);
    ASSERT_OK(mps_kept_stop(&kept, false));
    mps_await_end(kept.state.guard.pid);
    assert_int_equal(mps_entries(mps_path("mine")), 0);
    assert_int_equal(rmdir(mps_path("mine")), 0);
    assert_all_gone(&kept);
}

static void clients_keep_it_busy(void **state)
{
    (void)state;
    struct mps_kept kept = start_kept(NULL, 0);
    struct client one = start_client_of(&kept);
    ASSERT_ERROR(mps_kept_stop(&kept, false), STATUS_BUSY, "1 client uses the daemon");
    struct client other = start_client_of(&kept);
    ASSERT_ERROR(mps_kept_stop(&kept, false), STATUS_BUSY, "2 clients use the daemon");
    assert_lives(&kept);
    assert_int_equal(order_client(&one, CLIENT_SYNC, 0), 0);
    kill_client(&other);
    ASSERT_ERROR(mps_kept_stop(&kept, false), STATUS_BUSY, "1 client uses the daemon");
    assert_int_equal(end_client(&one), 0);
    ASSERT_OK(mps_kept_stop(&kept, false));
    assert_all_gone(&kept);
}

static void force_stops_a_busy_one(void **state)
{
    (void)state;
    struct mps_kept kept = start_kept(NULL, 0);
    struct client client = start_client_of(&kept);
    ASSERT_OK(mps_kept_stop(&kept, true));
    assert_int_not_equal(order_client(&client, CLIENT_SYNC, 0), 0);
    kill_client(&client);
    assert_all_gone(&kept);
}

/* -- unexpected ends --------------------------------------------------------------------------- */

static void a_dead_daemon_is_told_by_its_guard(void **state)
{
    (void)state;
    struct mps_kept kept = start_kept(NULL, 0), now;
    uint64_t deadline_ns = clock_now_ns() + 30 * NS_PER_S;
    kill(kept.state.daemon.pid, SIGKILL);
    do {
        ASSERT_OK(mps_kept_find(kept.directory, &now));
        assert_true(clock_now_ns() < deadline_ns);
    } while (now.running);
    assert_true(now.guarded);
    assert_string_equal(now.ending, "killed by signal 9 (Killed)");
    ASSERT_OK(mps_kept_stop(&now, false));
    assert_all_gone(&kept);
}

static void a_killed_guard_takes_its_daemon_along(void **state)
{
    (void)state;
    struct mps_kept kept = start_kept(NULL, 0), now;
    kill(kept.state.guard.pid, SIGKILL);
    mps_await_end(kept.state.guard.pid);
    mps_await_end(kept.state.daemon.pid);
    ASSERT_OK(mps_kept_find(kept.directory, &now));
    assert_false(now.guarded);
    assert_false(now.running);
    ASSERT_OK(mps_kept_stop(&now, false));
    assert_all_gone(&kept);
}

static void signals_to_the_guard_end_all(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct mps_kept kept = start_kept(NULL, 0);
        assert_lives(&kept);
        kill(kept.state.guard.pid, signals[i]);
        assert_all_gone(&kept);
    }
}

static pid_t start_waiting_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return child;
}

static void end_waiting_child(pid_t child)
{
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void it_goes_when_the_awaited_process_has_ended(void **state)
{
    (void)state;
    pid_t child = start_waiting_child();
    struct mps_kept kept = start_kept(NULL, child);
    assert_lives(&kept);
    end_waiting_child(child);
    assert_all_gone(&kept);
}

static void it_stays_until_the_last_of_several_has_ended(void **state)
{
    (void)state;
    char path[MPS_DIRECTORY_MOST + 1];
    pid_t children[3];
    struct mps_controller *controller = mps_start_controller(MPS_EMULATED, NULL);
    ASSERT_OK(mps_controller_daemon_start(controller, NULL, NULL));
    pid_t daemon = controller->daemon;
    strcpy(path, controller->directory);
    for (int i = 0; i < 3; i++) {
        children[i] = start_waiting_child();
        ASSERT_OK(mps_controller_detach(controller, children[i]));
    }
    ASSERT_OK(mps_controller_free(controller));
    /* In another order than they were named in. */
    static const int order[] = {1, 0, 2};
    for (int i = 0; i < 3; i++) {
        struct mps_kept kept;
        ASSERT_OK(mps_kept_find(path, &kept));
        /* It has answered since the one before ended. */
        assert_true(kept.running);
        end_waiting_child(children[order[i]]);
    }
    mps_await_end(daemon);
    assert_true(waitpid(-1, NULL, 0) > 0); /* the guard */
    assert_false(mps_is_there(path));
}

static void it_goes_at_once_after_a_process_that_is_gone(void **state)
{
    (void)state;
    char path[MPS_DIRECTORY_MOST + 1];
    pid_t child = start_waiting_child();
    end_waiting_child(child);
    struct mps_controller *controller = mps_start_controller(MPS_EMULATED, NULL);
    ASSERT_OK(mps_controller_daemon_start(controller, NULL, NULL));
    pid_t daemon = controller->daemon;
    strcpy(path, controller->directory);
    ASSERT_OK(mps_controller_detach(controller, child));
    ASSERT_OK(mps_controller_free(controller));
    mps_await_end(daemon);
    assert_true(waitpid(-1, NULL, 0) > 0); /* the guard */
    assert_false(mps_is_there(path));
}

static void *sleep_until_cancelled(void *tid)
{
    atomic_store((_Atomic pid_t *)tid, (pid_t)syscall(SYS_gettid));
    for (;;)
        pause();
    return NULL;
}

/* No descriptor can be had of a thread that is not the first of its process: not a reason to
 * believe that it has ended. */
static void it_stays_for_what_cannot_be_awaited(void **state)
{
    (void)state;
    _Atomic pid_t tid = 0;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, sleep_until_cancelled, &tid), 0);
    while (atomic_load(&tid) == 0)
        sched_yield();
    struct mps_kept kept = start_kept(NULL, atomic_load(&tid));
    assert_lives(&kept);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    ASSERT_OK(mps_kept_stop(&kept, false));
    assert_all_gone(&kept);
}

/* A record that cannot be written leaves no unknown process behind. */
static void a_failed_detachment_is_none(void **state)
{
    (void)state;
    char path[MPS_DIRECTORY_MOST + 1], obstacle[128];
    struct mps_controller *controller = mps_start_controller(MPS_EMULATED, NULL);
    ASSERT_OK(mps_controller_daemon_start(controller, NULL, NULL));
    pid_t daemon = controller->daemon;
    strcpy(path, controller->directory);
    snprintf(obstacle, sizeof obstacle, "%s/state.new", path);
    assert_int_equal(mkdir(obstacle, 0700), 0);
    ASSERT_ERROR(mps_controller_detach(controller, getpid()), STATUS_SYSTEM,
                 "cannot write the daemon's record");
    snprintf(obstacle, sizeof obstacle, "%s/guard", path);
    assert_false(mps_is_there(obstacle));
    ASSERT_OK(mps_controller_free(controller));
    assert_int_equal(process_start_time(daemon), 0);
    assert_false(mps_is_there(path));
}

int main(void)
{
#define KEPT(test) cmocka_unit_test_setup_teardown(test, mps_begin, mps_end)
    const struct CMUnitTest tests[] = {
        KEPT(one_is_found_and_stopped),
        KEPT(several_are_named),
        KEPT(the_users_own_directory_stays),
        KEPT(clients_keep_it_busy),
        KEPT(force_stops_a_busy_one),
        KEPT(a_dead_daemon_is_told_by_its_guard),
        KEPT(a_killed_guard_takes_its_daemon_along),
        KEPT(signals_to_the_guard_end_all),
        KEPT(it_goes_when_the_awaited_process_has_ended),
        KEPT(it_stays_until_the_last_of_several_has_ended),
        KEPT(it_stays_for_what_cannot_be_awaited),
        KEPT(it_goes_at_once_after_a_process_that_is_gone),
        KEPT(a_failed_detachment_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
