/* The emulated MPS control daemon: its clients, its servers, its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "emul/model/mps_link.h"
#include "tests/unit/emul/mps.h"

static void test_no_daemon(void **state)
{
    (void)state;
    char output[REPLY_BYTES];
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
    assert_int_equal(control(NULL, "get_server_list\n", output), 1);
    assert_string_equal(output, "Cannot find MPS control daemon process\n");
    struct client client = start_client(NULL, NULL);
    assert_int_equal(client.mps, 0);
    assert_int_equal(client.result, 0);
    assert_int_equal(end_client(&client), 0);
}

static void test_idle_daemon(void **state)
{
    (void)state;
    char output[REPLY_BYTES];
    assert_int_equal(control(NULL, "get_server_list\n", output), 0);
    assert_string_equal(output, "");
    assert_int_equal(control(NULL, "frobnicate now\n", output), 0);
    assert_string_equal(output, "Unknown command \"frobnicate\"\n");
    assert_int_equal(control("-f", "", output), 1);
    assert_string_equal(output, "An instance of this daemon is already running\n");
    assert_int_equal(control("-d", "", output), 1);
    assert_string_equal(output, "An instance of this daemon is already running\n");
    assert_int_equal(control("-x", "", output), 1);
    assert_true(directory_has("control") && directory_has("control_lock") &&
                directory_has("control_privileged") && directory_has("log") &&
                directory_has("nvidia-cuda-mps-control.pid"));
}

static void test_queue_budget(void **state)
{
    (void)state;
    static const struct {
        const char *connections;
        unsigned clients, accepted;
    } cases[] = {{"8", 15, 15}, {"8", 16, 15}, {"4", 32, 31}, {"32", 4, 3}, {"2", 48, 48}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct client clients[48];
        unsigned accepted = 0;
        for (unsigned c = 0; c < cases[i].clients; c++) {
            clients[c] = start_client("CUDA_DEVICE_MAX_CONNECTIONS", cases[i].connections);
            assert_int_equal(clients[c].mps, 1);
            assert_true(clients[c].result == CUDA_SUCCESS_ ||
                        clients[c].result == CUDA_OUT_OF_MEMORY);
            accepted += clients[c].result == CUDA_SUCCESS_;
        }
        assert_int_equal(accepted, cases[i].accepted);
        if (cases[i].clients == 48) {
            struct client extra = start_client(NULL, NULL);
            assert_int_equal(extra.mps, 1); /* its cuInit went well */
            assert_int_equal(extra.result, CUDA_MPS_MAX_CLIENTS_REACHED);
            assert_int_equal(end_client(&extra), -1);
        }
        for (unsigned c = 0; c < cases[i].clients; c++)
            end_client(&clients[c]);
        /* The daemon knows that they have left when it has read their ends. */
        char output[REPLY_BYTES], command[64];
        snprintf(command, sizeof command, "get_client_list %d\n", (int)get_server());
        do {
            assert_int_equal(control(NULL, command, output), 0);
        } while (output[0] != '\0');
    }
}

static void test_servers_come_and_go(void **state)
{
    (void)state;
    char output[REPLY_BYTES], command[64];
    snprintf(command, sizeof command, "start_server -uid %d\n", (int)geteuid());
    assert_int_equal(control(NULL, command, output), 0);
    pid_t server = get_server();
    assert_true(server > 0);
    struct client client = start_client(NULL, NULL);

    /* Waits for its clients, and takes no new ones. */
    snprintf(command, sizeof command, "shutdown_server %d\n", (int)server);
    assert_int_equal(control(NULL, command, output), 0);
    assert_int_equal(get_server(), server);
    struct client late = start_client(NULL, NULL);
    assert_int_equal(late.result, CUDA_MPS_SERVER_NOT_READY);
    end_client(&late);
    assert_int_equal(end_client(&client), 0);
    assert_true(is_gone(server));

    /* Forced: its clients lose it. */
    client = start_client(NULL, NULL);
    server = get_server();
    snprintf(command, sizeof command, "shutdown_server %d -f\n", (int)server);
    assert_int_equal(control(NULL, command, output), 0);
    assert_true(is_gone(server));
    assert_int_equal(end_client(&client), CUDA_MPS_CONNECTION_FAILED);

    /* Killed: the same, and the daemon goes on. */
    client = start_client(NULL, NULL);
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
    char output[REPLY_BYTES];
    int status;
    struct client client = start_client(NULL, NULL);
    pid_t server = get_server();
    assert_int_equal(control(NULL, "quit -t 0\n", output), 0);
    assert_int_equal(waitpid(test_daemon, &status, 0), test_daemon);
    test_daemon = 0;
    assert_int_equal(status, 0);
    assert_true(is_gone(server));
    assert_false(directory_has("control"));
    assert_true(directory_has("control_lock"));
    assert_int_equal(end_client(&client), CUDA_MPS_CONNECTION_FAILED);
}

static void test_quit_waits_for_clients(void **state)
{
    (void)state;
    char output[REPLY_BYTES];
    int status;
    struct client client = start_client(NULL, NULL);
    pid_t asker = fork();
    if (asker == 0)
        _exit(control(NULL, "quit\n", output));
    /* After 'quit' it refuses new clients; until then a new one is let in. */
    struct client late;
    do {
        late = start_client(NULL, NULL);
        end_client(&late);
    } while (late.result == CUDA_SUCCESS_);
    assert_int_equal(late.result, CUDA_MPS_SERVER_NOT_READY);
    assert_int_equal(waitpid(test_daemon, &status, WNOHANG), 0);
    assert_int_equal(end_client(&client), 0);
    assert_int_equal(waitpid(test_daemon, &status, 0), test_daemon);
    test_daemon = 0;
    assert_int_equal(waitpid(asker, &status, 0), asker);
    assert_int_equal(status, 0);
}

static void test_signals(void **state)
{
    (void)state;
    int status;
    struct client client = start_client(NULL, NULL);
    pid_t server = get_server();
    kill(test_daemon, SIGTERM);
    assert_int_equal(waitpid(test_daemon, &status, 0), test_daemon);
    test_daemon = 0;
    assert_true(is_gone(server));
    assert_true(directory_has("control")); /* only quit tidies up */
    assert_int_equal(end_client(&client), CUDA_MPS_CONNECTION_FAILED);
}

static void test_killed_daemon_takes_its_server_along(void **state)
{
    char output[REPLY_BYTES];
    (void)state;
    struct client client = start_client(NULL, NULL);
    pid_t server = get_server();
    kill(test_daemon, SIGKILL);
    waitpid(test_daemon, NULL, 0);
    test_daemon = 0;
    assert_true(is_gone(server));
    assert_int_equal(end_client(&client), CUDA_MPS_CONNECTION_FAILED);

    /* What it left is not in the way of the next one, here in the background. */
    assert_int_equal(control("-d", "", output), 0);
    assert_string_equal(output, "");
    client = start_client(NULL, NULL);
    assert_int_equal(client.mps, 1);
    assert_int_equal(end_client(&client), 0);
    assert_int_equal(control(NULL, "quit\n", output), 0);
    assert_false(directory_has("control"));
}

/* Connections that send nothing, too much or nonsense do not stop the others. */
static void test_bad_company(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    static char noise[100000];
    char output[REPLY_BYTES];
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
#define TEST(function) cmocka_unit_test_setup_teardown(function, test_daemon_start, test_daemon_end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_daemon),
        TEST(test_idle_daemon),
        TEST(test_queue_budget),
        TEST(test_servers_come_and_go),
        TEST(test_quit),
        TEST(test_quit_waits_for_clients),
        TEST(test_signals),
        TEST(test_killed_daemon_takes_its_server_along),
        TEST(test_bad_company),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
