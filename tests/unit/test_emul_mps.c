/* The emulated MPS control daemon, through its command line and through the emulated driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/process.h"
#include "emul/emul_state.h"
#include "emul/mps_link.h"
#include "tests/unit/emul_driver.h"

static struct emul_driver cuda;
static char directory[64];
static pid_t control_daemon;

/* -- running the program ----------------------------------------------------------------------- */

static _Noreturn void exec_control(const char *option)
{
    char path[BUILT_PATH_BYTES];
    built_path("mpsweep-emulated-mps-control", path);
    execl(path, path, option, (char *)NULL);
    _exit(127);
}

/* Sends commands, returns the exit status; output holds what came on both outputs. */
static int control(const char *option, const char *commands, char output[4096])
{
    int in[2], out[2], status;
    size_t length = 0;
    ssize_t got;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(out[1], 2);
        exec_control(option);
    }
    close(in[0]);
    close(out[1]);
    /* A program that finds no daemon does not read. */
    if (write(in[1], commands, strlen(commands)) < 0)
        assert_int_equal(errno, EPIPE);
    close(in[1]);
    while ((got = read(out[0], output + length, 4095 - length)) > 0)
        length += (size_t)got;
    output[length] = '\0';
    close(out[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool exists(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

static void wait_for_daemon(void)
{
    char output[4096];
    uint64_t deadline = clock_now_ns() + 20 * NS_PER_S;
    while (control(NULL, "get_server_list\n", output) != 0) {
        assert_true(clock_now_ns() < deadline);
        poll(NULL, 0, 5);
    }
}

static int start_daemon(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/mpsweep-test-XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    setenv("CUDA_MPS_PIPE_DIRECTORY", directory, 1);
    setenv("CUDA_MPS_LOG_DIRECTORY", directory, 1);
    control_daemon = fork();
    if (control_daemon == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        exec_control("-f");
    }
    wait_for_daemon();
    return 0;
}

static void remove_directory(void)
{
    static const char *const names[] = {
        "control",     "control_lock", "control_privileged", "log", "nvidia-cuda-mps-control.pid",
        "control.log", "server.log"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        unlink(path);
    }
    rmdir(directory);
}

static int end_daemon(void **state)
{
    (void)state;
    if (control_daemon > 0) {
        kill(control_daemon, SIGTERM);
        waitpid(control_daemon, NULL, 0);
    }
    control_daemon = 0;
    remove_directory();
    return 0;
}

static bool is_gone(pid_t pid)
{
    uint64_t deadline = clock_now_ns() + 20 * NS_PER_S;
    while (process_start_time(pid) != 0) {
        if (clock_now_ns() > deadline)
            return false;
        poll(NULL, 0, 5);
    }
    return true;
}

/* -- clients ----------------------------------------------------------------------------------- */

/* A child that attaches, tells so, and lives until it is told to end. */
struct client {
    pid_t pid;
    int told_fd, tell_fd;
};

static int client_told_fd, client_tell_fd;

static void body_client(void)
{
    int32_t results[3];
    cuda_context context;
    char byte;
    emul_driver_load(&cuda);
    CHECK_EQUAL(cuda.init(0), 0);
    CHECK_EQUAL(cuda.device_get_attribute(&results[0], CUDA_ATTRIBUTE_MPS_ENABLED, 0), 0);
    CHECK_EQUAL(cuda.device_get_attribute(&results[1], CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), 0);
    results[2] = cuda.primary_ctx_retain(&context, 0);
    CHECK_EQUAL(write(client_tell_fd, results, sizeof results), sizeof results);
    CHECK_EQUAL(read(client_told_fd, &byte, 1), 1);
    if (results[2] != 0)
        return;
    results[2] = cuda.ctx_synchronize();
    CHECK_EQUAL(write(client_tell_fd, results, sizeof results), sizeof results);
}

static struct client start_client(const char *variable, const char *value, int32_t results[3])
{
    int to[2], from[2];
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    client_told_fd = to[0];
    client_tell_fd = from[1];
    struct client client = {start_child(body_client, variable, value), from[0], to[1]};
    close(to[0]);
    close(from[1]);
    assert_int_equal(read(client.told_fd, results, 3 * sizeof *results), 3 * sizeof *results);
    return client;
}

/* What its last synchronisation gave; -1: it made none. */
static int32_t end_client(const struct client *client)
{
    int32_t results[3] = {0, 0, -1};
    int status;
    assert_int_equal(write(client->tell_fd, "x", 1), 1);
    if (read(client->told_fd, results, sizeof results) != sizeof results)
        results[2] = -1;
    close(client->tell_fd);
    close(client->told_fd);
    assert_int_equal(waitpid(client->pid, &status, 0), client->pid);
    assert_int_equal(status, 0);
    return results[2];
}

static pid_t get_server(void)
{
    char output[4096];
    assert_int_equal(control(NULL, "get_server_list\n", output), 0);
    return atoi(output);
}

/* -- tests ------------------------------------------------------------------------------------- */

static void test_no_daemon(void **state)
{
    (void)state;
    char output[4096];
    int32_t results[3];
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
    assert_int_equal(control(NULL, "get_server_list\n", output), 1);
    assert_string_equal(output, "Cannot find MPS control daemon process\n");
    struct client client = start_client(NULL, NULL, results);
    assert_int_equal(results[0], 0);
    assert_int_equal(results[2], 0);
    assert_int_equal(end_client(&client), 0);
}

static void test_idle_daemon(void **state)
{
    (void)state;
    char output[4096];
    assert_int_equal(control(NULL, "get_server_list\n", output), 0);
    assert_string_equal(output, "");
    assert_int_equal(control(NULL, "frobnicate now\n", output), 0);
    assert_string_equal(output, "Unknown command \"frobnicate\"\n");
    assert_int_equal(control(NULL, "get_client_list 1\nget_client_list\n", output), 0);
    assert_string_equal(output, "Server 1 not found\nServer PID not specified\n");
    assert_int_equal(control("-f", "", output), 1);
    assert_string_equal(output, "An instance of this daemon is already running\n");
    assert_int_equal(control("-d", "", output), 1);
    assert_string_equal(output, "An instance of this daemon is already running\n");
    assert_int_equal(control("-x", "", output), 1);
    assert_true(exists("control") && exists("control_lock") && exists("control_privileged") &&
                exists("log") && exists("nvidia-cuda-mps-control.pid"));
}

static void test_percentages(void **state)
{
    (void)state;
    char output[4096];
    int32_t results[3];
    assert_int_equal(control(NULL,
                             "get_default_active_thread_percentage\n"
                             "set_default_active_thread_percentage 50\n"
                             "get_default_active_thread_percentage\n"
                             "set_default_active_thread_percentage 0\n",
                             output),
                     0);
    assert_string_equal(output, "100.0\n50.0\n50.0\nInvalid active thread percentage\n");
    /* A client's own wish only tightens. */
    struct client half = start_client(NULL, NULL, results);
    assert_int_equal(results[1], 16);
    struct client less = start_client("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25", results);
    assert_int_equal(results[1], 8);
    struct client more = start_client("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "90", results);
    assert_int_equal(results[1], 16);
    struct client least = start_client("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "1", results);
    assert_int_equal(results[1], 1);
    char command[64];
    snprintf(command, sizeof command, "get_active_thread_percentage %d\n", (int)get_server());
    assert_int_equal(control(NULL, command, output), 0);
    assert_string_equal(output, "50.0\n");
    assert_int_equal(end_client(&half), 0);
    assert_int_equal(end_client(&less), 0);
    assert_int_equal(end_client(&more), 0);
    assert_int_equal(end_client(&least), 0);
}

static void test_clients_are_listed(void **state)
{
    (void)state;
    char output[4096], command[64], expected[64];
    int32_t results[3];
    struct client first = start_client(NULL, NULL, results);
    assert_int_equal(results[0], 1);
    assert_int_equal(results[1], 32);
    assert_int_equal(results[2], 0);
    struct client second = start_client(NULL, NULL, results);
    pid_t server = get_server();
    assert_true(server > 0);

    snprintf(command, sizeof command, "get_client_list %d\n", (int)server);
    snprintf(expected, sizeof expected, "%d\n%d\n", (int)first.pid, (int)second.pid);
    assert_int_equal(control(NULL, command, output), 0);
    assert_string_equal(output, expected);
    snprintf(command, sizeof command, "get_server_status %d\n", (int)server);
    assert_int_equal(control(NULL, command, output), 0);
    assert_string_equal(output, "ACTIVE\n");
    assert_int_equal(control(NULL, "ps\n", output), 0);
    assert_non_null(strstr(output, "SERVER"));
    assert_non_null(strstr(output, "test_emul_mps"));

    /* One whose attaching is skipped runs beside them and is no client. */
    struct client third = start_client("MPSWEEP_EMULATED_FAULT", "attach=skip", results);
    assert_int_equal(results[0], 0);
    assert_int_equal(results[2], 0);

    assert_int_equal(end_client(&first), 0);
    assert_int_equal(end_client(&second), 0);
    assert_int_equal(end_client(&third), 0);
    assert_int_equal(get_server(), server); /* outlives its clients */
}

static void test_queue_budget(void **state)
{
    (void)state;
    static const struct {
        const char *connections;
        unsigned clients, accepted;
    } cases[] = {{"8", 8, 8}, {"8", 16, 12}, {"32", 4, 3}, {"2", 48, 48}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct client clients[48];
        unsigned accepted = 0;
        for (unsigned c = 0; c < cases[i].clients; c++) {
            int32_t results[3];
            clients[c] = start_client("CUDA_DEVICE_MAX_CONNECTIONS", cases[i].connections, results);
            assert_int_equal(results[0], 1);
            assert_true(results[2] == CUDA_SUCCESS_ || results[2] == CUDA_OUT_OF_MEMORY);
            accepted += results[2] == CUDA_SUCCESS_;
        }
        assert_int_equal(accepted, cases[i].accepted);
        if (cases[i].clients == 48) {
            int32_t results[3];
            struct client extra = start_client(NULL, NULL, results);
            assert_int_equal(results[2], CUDA_MPS_MAX_CLIENTS_REACHED);
            assert_int_equal(end_client(&extra), -1);
        }
        for (unsigned c = 0; c < cases[i].clients; c++)
            end_client(&clients[c]);
        /* The daemon knows that they have left when it has read their ends. */
        char output[4096], command[64];
        snprintf(command, sizeof command, "get_client_list %d\n", (int)get_server());
        do {
            assert_int_equal(control(NULL, command, output), 0);
        } while (output[0] != '\0');
    }
}

static void test_terminate_client(void **state)
{
    (void)state;
    char output[4096], command[64];
    int32_t results[3];
    struct client victim = start_client(NULL, NULL, results);
    struct client other = start_client(NULL, NULL, results);
    snprintf(command, sizeof command, "terminate_client %d %d\n", (int)get_server(),
             (int)victim.pid);
    assert_int_equal(control(NULL, command, output), 0);
    assert_string_equal(output, "");
    assert_int_equal(end_client(&victim), CUDA_MPS_CONNECTION_FAILED);
    assert_int_equal(end_client(&other), 0);
    assert_int_equal(control(NULL, command, output), 0);
    assert_non_null(strstr(output, "not found"));
}

static void test_servers_come_and_go(void **state)
{
    (void)state;
    char output[4096], command[64];
    int32_t results[3];
    snprintf(command, sizeof command, "start_server -uid %d\n", (int)geteuid());
    assert_int_equal(control(NULL, command, output), 0);
    pid_t server = get_server();
    assert_true(server > 0);
    struct client client = start_client(NULL, NULL, results);

    /* Waits for its clients, and takes no new ones. */
    snprintf(command, sizeof command, "shutdown_server %d\n", (int)server);
    assert_int_equal(control(NULL, command, output), 0);
    assert_int_equal(get_server(), server);
    struct client late = start_client(NULL, NULL, results);
    assert_int_equal(results[2], CUDA_MPS_SERVER_NOT_READY);
    end_client(&late);
    assert_int_equal(end_client(&client), 0);
    assert_true(is_gone(server));

    /* Forced: its clients lose it. */
    client = start_client(NULL, NULL, results);
    server = get_server();
    snprintf(command, sizeof command, "shutdown_server %d -f\n", (int)server);
    assert_int_equal(control(NULL, command, output), 0);
    assert_true(is_gone(server));
    assert_int_equal(end_client(&client), CUDA_MPS_CONNECTION_FAILED);

    /* Killed: the same, and the daemon goes on. */
    client = start_client(NULL, NULL, results);
    server = get_server();
    kill(server, SIGKILL);
    while (get_server() == server)
        poll(NULL, 0, 5);
    assert_int_equal(end_client(&client), CUDA_MPS_CONNECTION_FAILED);
    assert_int_equal(get_server(), 0);
}

static void test_quit(void **state)
{
    (void)state;
    char output[4096];
    int32_t results[3];
    int status;
    struct client client = start_client(NULL, NULL, results);
    pid_t server = get_server();
    assert_int_equal(control(NULL, "quit -t 0\n", output), 0);
    assert_int_equal(waitpid(control_daemon, &status, 0), control_daemon);
    control_daemon = 0;
    assert_int_equal(status, 0);
    assert_true(is_gone(server));
    assert_false(exists("control"));
    assert_true(exists("control_lock"));
    assert_int_equal(end_client(&client), CUDA_MPS_CONNECTION_FAILED);
}

static void test_quit_waits_for_clients(void **state)
{
    (void)state;
    char output[4096];
    int32_t results[3];
    int status;
    struct client client = start_client(NULL, NULL, results);
    pid_t asker = fork();
    if (asker == 0)
        _exit(control(NULL, "quit\n", output));
    /* Told to quit, it refuses new clients; until then a new one is let in. */
    do {
        struct client late = start_client(NULL, NULL, results);
        end_client(&late);
    } while (results[2] == CUDA_SUCCESS_);
    assert_int_equal(results[2], CUDA_MPS_SERVER_NOT_READY);
    assert_int_equal(waitpid(control_daemon, &status, WNOHANG), 0);
    assert_int_equal(end_client(&client), 0);
    assert_int_equal(waitpid(control_daemon, &status, 0), control_daemon);
    control_daemon = 0;
    assert_int_equal(waitpid(asker, &status, 0), asker);
    assert_int_equal(status, 0);
}

static void test_signals(void **state)
{
    (void)state;
    int32_t results[3];
    int status;
    struct client client = start_client(NULL, NULL, results);
    pid_t server = get_server();
    kill(control_daemon, SIGTERM);
    assert_int_equal(waitpid(control_daemon, &status, 0), control_daemon);
    control_daemon = 0;
    assert_true(is_gone(server));
    assert_true(exists("control")); /* only quit tidies up */
    assert_int_equal(end_client(&client), CUDA_MPS_CONNECTION_FAILED);
}

static void test_killed_daemon_takes_its_server_along(void **state)
{
    char output[4096];
    int32_t results[3];
    (void)state;
    struct client client = start_client(NULL, NULL, results);
    pid_t server = get_server();
    kill(control_daemon, SIGKILL);
    waitpid(control_daemon, NULL, 0);
    control_daemon = 0;
    assert_true(is_gone(server));
    assert_int_equal(end_client(&client), CUDA_MPS_CONNECTION_FAILED);

    /* What it left is not in the way of the next one, here in the background. */
    assert_int_equal(control("-d", "", output), 0);
    assert_string_equal(output, "");
    client = start_client(NULL, NULL, results);
    assert_int_equal(results[0], 1);
    assert_int_equal(end_client(&client), 0);
    assert_int_equal(control(NULL, "quit\n", output), 0);
    assert_false(exists("control"));
}

/* Connections that say nothing, too much or nonsense do not stop the others. */
static void test_bad_company(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    static char noise[100000];
    char output[4096];
    int fds[COUNT];
    memset(noise, 'x', sizeof noise);
    for (int i = 0; i < COUNT; i++) {
        fds[i] = mps_link_connect();
        assert_true(fds[i] >= 0);
        if (i % 3 == 1)
            mps_link_send(fds[i], noise, sizeof noise);
        if (i % 3 == 2) /* asks and never listens */
            for (int k = 0; k < 1000; k++)
                if (!mps_link_send(fds[i], "control frobnicate\n", 19))
                    break;
    }
    assert_int_equal(control(NULL, "frobnicate\n", output), 0);
    assert_string_equal(output, "Unknown command \"frobnicate\"\n");
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    assert_int_equal(control(NULL, "frobnicate\n", output), 0);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
#define TEST(function) cmocka_unit_test_setup_teardown(function, start_daemon, end_daemon)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_daemon),
        TEST(test_idle_daemon),
        TEST(test_percentages),
        TEST(test_clients_are_listed),
        TEST(test_queue_budget),
        TEST(test_terminate_client),
        TEST(test_servers_come_and_go),
        TEST(test_quit),
        TEST(test_quit_waits_for_clients),
        TEST(test_signals),
        TEST(test_killed_daemon_takes_its_server_along),
        TEST(test_bad_company),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
