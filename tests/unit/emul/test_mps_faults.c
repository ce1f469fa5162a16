/* The emulated MPS control daemon: clients that are terminated or break the server, and the log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "tests/unit/emul/mps.h"

#define FORM "[0000-00-00 00:00:00.000 "
#define FAULT "MPSWEEP_EMULATED_FAULT"

/* Waits until the server reports it: it learns of the end of a process a moment later. */
static void await_status(const char *expected)
{
    char output[REPLY_BYTES], command[64];
    uint64_t deadline = clock_now_ns() + 20 * NS_PER_S;
    snprintf(command, sizeof command, "get_server_status %d\n", (int)get_server());
    do {
        assert_true(clock_now_ns() < deadline);
        assert_int_equal(control(NULL, command, output), 0);
    } while (strcmp(output, expected) != 0 && poll(NULL, 0, 5) == 0);
}

static void read_log(const char *name, char *text, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", test_directory, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* The lines come one after the other among those that the daemon, or its server, writes. */
static void assert_logged(const char *who, const char *const *lines, size_t count)
{
    char log[65536];
    size_t next = 0;
    read_log("output", log, sizeof log);
    char *rest;
    for (char *line = strtok_r(log, "\n", &rest); line != NULL && next < count;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *said = strstr(line, "] ");
        if (strncmp(line + sizeof FORM - 1, who, strlen(who)) != 0 || said == NULL)
            continue;
        if (strcmp(said + 2, lines[next]) == 0)
            next++;
        else if (next > 0)
            fail_msg("after '%s' comes '%s' and not '%s'", lines[next - 1], said + 2, lines[next]);
    }
    if (next < count)
        fail_msg("not in the log: '%s'", lines[next]);
}

static void test_log_format(void **state)
{
    (void)state;
    char log[65536];
    struct client client = start_client(NULL, NULL);
    assert_int_equal(end_client(&client), 0);
    read_log("output", log, sizeof log);
    char *rest;
    for (char *line = strtok_r(log, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        for (size_t i = 0; i < sizeof FORM - 1; i++)
            if (FORM[i] == '0' ? !isdigit((unsigned char)line[i]) : line[i] != FORM[i])
                fail_msg("'%s' does not begin with a time", line);
        char who[16];
        int pid, length = 0;
        if (sscanf(line + sizeof FORM - 1, "%15[A-Z a-z]%d] %n", who, &pid, &length) != 2 ||
            length == 0)
            fail_msg("'%s' does not name the client", line);
    }
    assert_false(directory_has("control.log"));
    assert_false(directory_has("server.log"));
}

static void test_log_of_a_client(void **state)
{
    (void)state;
    char words[7][128];
    struct client client = start_client(NULL, NULL);
    int pid = (int)client.pid;
    assert_int_equal(end_client(&client), 0);
    client = start_client(NULL, NULL);
    end_client(&client);
    /* Its end has been heard when a later one's has. */
    snprintf(words[0], sizeof words[0], "Client {PID: %d, Context ID: 0} connected", pid);
    snprintf(words[1], sizeof words[0],
             "Creating worker thread for client {PID: %d, Context ID: 0}", pid);
    snprintf(words[2], sizeof words[0], "Received new client request for {PID: %d, Context ID: 0}",
             pid);
    snprintf(words[3], sizeof words[0], "Client {PID: %d, Context ID: 1} connected", pid);
    snprintf(words[4], sizeof words[0],
             "Creating worker thread for client {PID: %d, Context ID: 1}", pid);
    snprintf(words[5], sizeof words[0],
             "Device mpsweep emulated GPU (uuid "
             "GPU-6d707377-6565-702d-656d-756c61746564) is associated");
    snprintf(words[6], sizeof words[0], "Status of client {PID: %d, Context ID: 1} is ACTIVE", pid);
    const char *const lines[] = {words[0], words[1], words[2], words[3],
                                 words[4], words[5], words[6]};
    assert_logged("Server ", lines, 7);

    snprintf(words[0], sizeof words[0],
             "Server failed to recevie command with status 806, assuming client {PID: %d, Context "
             "ID: 1} exit",
             pid);
    snprintf(words[1], sizeof words[0],
             "Client {PID: %d, Context ID: 1} exiting. Number of active client contexts is 0.",
             pid);
    snprintf(words[2], sizeof words[0],
             "Server failed to recevie command with status 806, assuming client {PID: %d, Context "
             "ID: 0} exit",
             pid);
    snprintf(words[3], sizeof words[0], "Client process %d disconnected", pid);
    assert_logged("Server ", lines, 4);
    snprintf(words[0], sizeof words[0],
             "NEW CLIENT %d from user %d: Server is not ready, push client to pending list", pid,
             (int)getuid());
    assert_logged("Control ", lines, 1);
    snprintf(words[0], sizeof words[0], "NEW CLIENT %d from user %d: Server already exists", pid,
             (int)getuid());
    assert_logged("Control ", lines, 1);
}

/* -- termination ------------------------------------------------------------------------------- */

static void terminate(const struct client *client)
{
    char command[64];
    snprintf(command, sizeof command, "terminate_client %%d %d", (int)client->pid);
    assert_answer(command, "0\n");
}

static void test_terminate_client(void **state)
{
    (void)state;
    char expected[64];
    struct client victim = start_client(NULL, NULL), other = start_client(NULL, NULL);
    terminate(&victim);
    snprintf(expected, sizeof expected, "%d\n", (int)other.pid);
    assert_answer("get_client_list %d", expected);
    assert_answer("get_server_status %d", "ACTIVE\n");
    /* On its next call, whichever, and for good. */
    assert_int_equal(order_client(&victim, CLIENT_ALLOC, 1), CUDA_MPS_CLIENT_TERMINATED);
    assert_int_equal(order_client(&victim, CLIENT_SYNC, 0), CUDA_MPS_CLIENT_TERMINATED);
    assert_int_equal(order_client(&victim, CLIENT_RENEW, 0), CUDA_MPS_CLIENT_TERMINATED);
    assert_int_equal(order_client(&other, CLIENT_ALLOC, 1), 0);

    snprintf(expected, sizeof expected, "terminate_client %%d %d", (int)victim.pid);
    char answer[64];
    snprintf(answer, sizeof answer, "Invalid process %d!\n1\n", (int)victim.pid);
    assert_answer(expected, answer);
    kill_client(&victim);
    assert_int_equal(end_client(&other), 0);
}

/* One that is busy for a minute is not waited for. */
static void test_terminate_busy_client(void **state)
{
    (void)state;
    struct client busy = start_client(NULL, NULL);
    uint64_t start = clock_now_ns();
    assert_int_equal(order_client(&busy, CLIENT_DELAY, 60000), 0);
    tell_client(&busy, CLIENT_SYNC, 0);
    terminate(&busy);
    assert_int_equal(hear_client(&busy), CUDA_MPS_CLIENT_TERMINATED);
    assert_true(clock_now_ns() - start < 50 * NS_PER_S);
    kill_client(&busy);
}

/* -- faults ------------------------------------------------------------------------------------ */

static void check_fault(struct client *culprit, int32_t first_result, cuda_result error)
{
    assert_int_equal(first_result, error);
    assert_answer("get_server_status %d", "FAULT\n");
    assert_int_equal(order_client(culprit, CLIENT_SYNC, 0), error);
}

static void assert_refused(void)
{
    struct client late = start_client(NULL, NULL);
    assert_int_equal(late.mps, -1); /* already by cuInit */
    assert_int_equal(late.result, CUDA_MPS_SERVER_NOT_READY);
    assert_int_equal(end_client(&late), -1);
}

/* An illegal access takes everybody along until all have ended. */
static void test_fault(void **state)
{
    (void)state;
    char expected[64], words[13][128];
    const char *lines[13];
    struct client other = start_client(NULL, NULL), culprit = start_client(NULL, NULL);
    int first = (int)other.pid, second = (int)culprit.pid;
    check_fault(&culprit, order_client(&culprit, CLIENT_STRAY, 0), CUDA_ILLEGAL_ADDRESS);
    assert_int_equal(order_client(&other, CLIENT_ALLOC, 1), CUDA_ILLEGAL_ADDRESS);
    assert_int_equal(order_client(&other, CLIENT_SYNC, 0), CUDA_ILLEGAL_ADDRESS);
    assert_refused();
    snprintf(expected, sizeof expected, "%d\n%d\n", first, second);
    assert_answer("get_client_list %d", expected);

    for (int i = 0; i < 13; i++)
        lines[i] = words[i];
    snprintf(words[0], 128, "Client {PID: %d, Context: 1} encountered a fatal GPU error.", first);
    snprintf(words[1], 128, "Server is handling a fatal GPU error.");
    for (int i = 0; i < 2; i++) {
        int pid = i == 0 ? first : second;
        snprintf(words[2 + i], 128, "Client {PID: %d, Context ID: 1} on device 0 to be torn down",
                 pid);
        snprintf(words[4 + 2 * i], 128,
                 "All clients belonging to error trigging process %d will be torn down", pid);
        snprintf(words[5 + 2 * i], 128,
                 "Client {PID: %d, Context ID: 1} on the error-trigging process %d to be torn down",
                 pid, pid);
        snprintf(words[11 + i], 128, "%d", pid);
    }
    snprintf(words[8], 128, "The following devices will be reset:");
    snprintf(words[9], 128, "0");
    snprintf(words[10], 128, "The following client process have a sticky error set:");
    assert_logged("Server ", lines, 13);

    terminate(&other);
    assert_int_equal(order_client(&other, CLIENT_SYNC, 0), CUDA_ILLEGAL_ADDRESS);
    assert_int_equal(end_client(&other), CUDA_ILLEGAL_ADDRESS);
    assert_refused();
    assert_answer("get_server_status %d", "FAULT\n");
    pid_t server = get_server();
    kill_client(&culprit);
    await_status("ACTIVE\n");
    assert_int_equal(get_server(), server);
    culprit = start_client(NULL, NULL);
    assert_int_equal(culprit.result, 0);
    assert_int_equal(end_client(&culprit), 0);
}

/* A client that waits for a long kernel hears of it at once. */
static void test_fault_ends_waiting(void **state)
{
    (void)state;
    struct client waiting = start_client(NULL, NULL);
    struct client culprit = start_client(FAULT, "cuCtxSynchronize#2=fatal:719");
    assert_int_equal(order_client(&waiting, CLIENT_DELAY, 60000), 0);
    tell_client(&waiting, CLIENT_SYNC, 0);
    assert_int_equal(order_client(&culprit, CLIENT_SYNC, 0), 0);
    assert_answer("get_server_status %d", "ACTIVE\n");
    uint64_t start = clock_now_ns();
    check_fault(&culprit, order_client(&culprit, CLIENT_SYNC, 0), CUDA_LAUNCH_FAILED);
    assert_int_equal(hear_client(&waiting), CUDA_LAUNCH_FAILED);
    assert_true(clock_now_ns() - start < 50 * NS_PER_S);
    assert_int_equal(end_client(&waiting), CUDA_LAUNCH_FAILED);
    assert_int_equal(end_client(&culprit), CUDA_LAUNCH_FAILED);
    await_status("ACTIVE\n");
}

/* A mere returned code breaks nothing, and a fault outside the server affects no other client. */
static void test_no_fault(void **state)
{
    (void)state;
    struct client other = start_client(NULL, NULL);
    struct client once = start_client(FAULT, "cuCtxSynchronize=error:700");
    struct client alone = start_client(FAULT, "attach=skip,cuCtxSynchronize=fatal:700");
    assert_int_equal(order_client(&once, CLIENT_SYNC, 0), 700);
    assert_int_equal(order_client(&once, CLIENT_SYNC, 0), 0);
    assert_int_equal(order_client(&alone, CLIENT_SYNC, 0), 700);
    assert_int_equal(order_client(&alone, CLIENT_ALLOC, 1), 700);
    assert_answer("get_server_status %d", "ACTIVE\n");
    assert_int_equal(end_client(&once), 0);
    assert_int_equal(end_client(&alone), 700);
    assert_int_equal(end_client(&other), 0);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
#define TEST(function) cmocka_unit_test_setup_teardown(function, test_daemon_start, test_daemon_end)
    const struct CMUnitTest tests[] = {
        TEST(test_log_format),
        TEST(test_log_of_a_client),
        TEST(test_terminate_client),
        TEST(test_terminate_busy_client),
        TEST(test_fault),
        TEST(test_fault_ends_waiting),
        TEST(test_no_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
