/* The emulated MPS control daemon: what it answers, to the byte, and the limits that it sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/emul/mps.h"

#define UUID "GPU-6d707377-6565-702d-656d-756c61746564"

struct exchange {
    const char *command, *answer;
};

static void assert_answers(const struct exchange *exchanges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_answer(exchanges[i].command, exchanges[i].answer);
}
#define ASSERT_ANSWERS(exchanges)                                                                  \
    assert_answers((exchanges), sizeof(exchanges) / sizeof *(exchanges))

static void test_without_a_server(void **state)
{
    (void)state;
    static const struct exchange exchanges[] = {
        {"get_server_list", ""},
        {"", "Unknown command \"\"\n"},
        {"help", "Unknown command \"help\"\n"},
        {"sm_partition list", "Unknown command \"sm_partition\"\n"},
        {"get_server_status 1", "Server 1 not found\n"},
        {"get_client_list 1", "Server 1 not found\n"},
        {"get_client_list", "Server 0 not found\n"},
        {"get_client_list x", "Server 0 not found\n"},
        {"ps", "Server not found\n"},
        {"terminate_client 1 2", "Server 1 not found\nServer 1 not found!\n1\n"},
        {"terminate_client", "Server 0 not found\nServer 0 not found!\n1\n"},
        {"device_query", "Default\n"
                         "Device Ordinal  PCI IDs        UUID                                      "
                         "Name                              Attributes\n"
                         "0               0000:00.00.00  " UUID "  "
                         "mpsweep emulated GPU              N/A\n"},
    };
    ASSERT_ANSWERS(exchanges);
}

static void test_version(void **state)
{
    (void)state;
    static const char first[] = "CUDA MPS Control for Linux/Unix/QNX. Binary version: 13000\n";
    char output[REPLY_BYTES];
    assert_int_equal(control("-v", "", output), 0);
    assert_memory_equal(output, first, sizeof first - 1);
    assert_int_equal(control("--version", "", output), 0);
    assert_memory_equal(output, first, sizeof first - 1);
    assert_int_equal(control("-h", "", output), 0);
    assert_non_null(strstr(output, "\n  -f,--forground "));
    assert_non_null(strstr(output, "\n  set_default_active_thread_percentage <percentage>\n"));
}

static void test_default_percentage(void **state)
{
    (void)state;
    static const struct exchange exchanges[] = {
        {"get_default_active_thread_percentage", "100.0\n"},
        {"set_default_active_thread_percentage 30", "30.0\n"},
        {"get_default_active_thread_percentage", "30.0\n"},
        {"set_default_active_thread_percentage 33.33", "33.3\n"},
        {"set_default_active_thread_percentage abc", "33.3\n"},
        {"set_default_active_thread_percentage 0", "33.3\n"},
        {"set_default_active_thread_percentage 101", "33.3\n"},
        {"set_default_active_thread_percentage", "33.3\n"},
        {"set_default_active_thread_percentage 100", "100.0\n"},
    };
    ASSERT_ANSWERS(exchanges);
}

static void test_default_memory_limit(void **state)
{
    (void)state;
    static const struct exchange units[] = {
        {"1G", "1G\n"},
        {"1536M", "1G\n"},
        {"512M", "512M\n"},
        {"1073741824", "1048576G\n"},
        {"2147483648B", "2097152G\n"},
        {"700MB", "700M\n"},
        {"1T", "1M\n"},
        {"1024", "1G\n"},
        {"3g", "3G\n"},
        {"1.5G", "1M\n"},
        {"0", ""},
    };
    assert_answer("get_default_device_pinned_mem_limit 0", "");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        char command[128];
        snprintf(command, sizeof command, "set_default_device_pinned_mem_limit 0 %s",
                 units[i].command);
        assert_answer(command, "");
        assert_answer("get_default_device_pinned_mem_limit 0", units[i].answer);
    }
    static const struct exchange exchanges[] = {
        {"set_default_device_pinned_mem_limit " UUID " 2G", ""},
        {"get_default_device_pinned_mem_limit " UUID, "2G\n"},
        {"get_default_device_pinned_mem_limit 0", "2G\n"},
        {"set_default_device_pinned_mem_limit 7 3G", ""},
        {"get_default_device_pinned_mem_limit 7", ""},
        {"get_default_device_pinned_mem_limit 0", "2G\n"},
    };
    ASSERT_ANSWERS(exchanges);
}

static void test_default_priority(void **state)
{
    (void)state;
    static const struct exchange exchanges[] = {
        {"get_default_client_priority", "0\n"},
        {"set_default_client_priority 1", ""},
        {"get_default_client_priority", "1\n"},
        {"set_default_client_priority 7", "Invalid priority value - must be 0 or 1!\n"},
        {"get_default_client_priority", "1\n"},
        {"set_default_client_priority 0", ""},
        {"get_default_client_priority", "0\n"},
    };
    ASSERT_ANSWERS(exchanges);
}

static void test_with_a_client(void **state)
{
    (void)state;
    char expected[512], command[64], name_space[64] = "", name[256] = "";
    struct client client = start_client(NULL, NULL);
    int pid = (int)client.pid;
    assert_int_equal(client.mps, 1);
    assert_int_equal(client.multiprocessors, 32);
    assert_int_equal(client.result, 0);

    assert_answer("get_server_status %d", "ACTIVE\n");
    assert_answer("get_active_thread_percentage %d", "100.0\n");
    assert_answer("set_active_thread_percentage %d 20", "20.0\n");
    assert_answer("set_active_thread_percentage %d 0", "20.0\n");
    assert_answer("get_active_thread_percentage %d", "20.0\n");
    assert_answer("get_default_active_thread_percentage", "100.0\n");
    assert_answer("get_device_pinned_mem_limit %d 0", "");
    assert_answer("set_device_pinned_mem_limit %d 0 4G", "");
    assert_answer("get_device_pinned_mem_limit %d 0", "4G\n");
    assert_answer("get_client_priority %d", "Unknown command \"get_client_priority\"\n");
    assert_answer("terminate_client %d 999999", "Invalid process 999999!\n1\n");
    assert_answer("terminate_client %d", "Invalid process 0!\n1\n");

    snprintf(expected, sizeof expected, "%d\n", pid);
    assert_answer("get_client_list %d", expected);
    snprintf(expected, sizeof expected, "[0] 00:00.0, mpsweep emulated GPU\n%d.1\n", pid);
    assert_answer("get_device_client_list %d", expected);
    assert_answer("get_device_client_list", expected);

    assert_true(readlink("/proc/self/ns/pid", name_space, sizeof name_space - 1) > 5);
    name_space[strlen(name_space) - 1] = '\0';
    FILE *file = fopen("/proc/self/cmdline", "re");
    assert_non_null(file);
    assert_true(fread(name, 1, sizeof name - 1, file) > 0);
    fclose(file);
    snprintf(expected, sizeof expected,
             "PID       ID        SERVER         DEVICE                    NAMESPACE      "
             "COMMAND        \n"
             "%-10d%-10d%-15dGPU-6d707377-6565-702d    %-15s%-14s \n",
             pid, 1, (int)get_server(), name_space + strlen("pid:["), name);
    assert_answer("ps", expected);
    snprintf(command, sizeof command, "ps -p %d", pid);
    assert_answer(command, expected);

    /* One that has given its context back is on no device. */
    assert_int_equal(order_client(&client, CLIENT_RELEASE, 0), 0);
    assert_answer("ps", "");
    assert_answer("get_device_client_list", "[0] 00:00.0, mpsweep emulated GPU\n");
    kill_client(&client);
}

static void test_clients_are_listed(void **state)
{
    (void)state;
    char expected[64];
    struct client first = start_client(NULL, NULL);
    struct client second = start_client(NULL, NULL);
    pid_t server = get_server();
    assert_true(server > 0);
    snprintf(expected, sizeof expected, "%d\n%d\n", (int)first.pid, (int)second.pid);
    assert_answer("get_client_list %d", expected);

    /* One whose attaching is skipped runs beside them and is not a client. */
    struct client third = start_client("MPSWEEP_EMULATED_FAULT", "attach=skip");
    assert_int_equal(third.mps, 0);
    assert_int_equal(third.result, 0);
    assert_answer("get_client_list %d", expected);

    assert_int_equal(end_client(&first), 0);
    assert_int_equal(end_client(&second), 0);
    assert_int_equal(end_client(&third), 0);
    assert_int_equal(get_server(), server); /* outlives its clients */
}

/* -- limits ------------------------------------------------------------------------------------ */

static void test_percentages(void **state)
{
    (void)state;
    static const struct {
        const char *wanted;
        int32_t multiprocessors;
    } cases[] = {{NULL, 16}, {"25", 8}, {"90", 16}, {"1", 1}};
    assert_answer("set_default_active_thread_percentage 50", "50.0\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* A client's own wish only tightens. */
        struct client client = start_client(
            cases[i].wanted != NULL ? "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE" : NULL, cases[i].wanted);
        assert_int_equal(client.multiprocessors, cases[i].multiprocessors);
        assert_int_equal(end_client(&client), 0);
    }
    assert_answer("get_active_thread_percentage %d", "50.0\n");
    /* Settings made now apply to future servers. */
    assert_answer("set_default_active_thread_percentage 10", "10.0\n");
    assert_answer("get_active_thread_percentage %d", "50.0\n");
}

static void test_memory_limits(void **state)
{
    (void)state;
    static const struct {
        const char *wanted;
        int32_t mib;
    } cases[] = {
        {NULL, 2048},   {"0=512M", 512},    {"1=100M,0=1G", 1024}, {"0=4G", 2048},
        {"1=1M", 2048}, {"nonsense", 2048}, {"0=1536M", 1536},
    };
    assert_answer("set_default_device_pinned_mem_limit 0 2G", "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct client client = start_client(
            cases[i].wanted != NULL ? "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT" : NULL, cases[i].wanted);
        assert_int_equal(order_client(&client, CLIENT_FREE, 0), cases[i].mib);
        assert_int_equal(order_client(&client, CLIENT_ALLOC, cases[i].mib + 1), CUDA_OUT_OF_MEMORY);
        assert_int_equal(order_client(&client, CLIENT_ALLOC, 100), 0);
        assert_int_equal(order_client(&client, CLIENT_FREE, 0), cases[i].mib - 100);
        assert_int_equal(order_client(&client, CLIENT_ALLOC, cases[i].mib - 99),
                         CUDA_OUT_OF_MEMORY);
        assert_int_equal(order_client(&client, CLIENT_ALLOC, cases[i].mib - 100), 0);
        assert_int_equal(end_client(&client), 0);
    }
    assert_answer("get_device_pinned_mem_limit %d 0", "2G\n");
}

static void test_priorities(void **state)
{
    (void)state;
    char path[128], line[256], expected[96];
    unsigned found = 0;
    struct client plain = start_client(NULL, NULL);
    assert_answer("set_default_client_priority 1", "");
    struct client lower = start_client(NULL, NULL);
    struct client own = start_client("CUDA_MPS_CLIENT_PRIORITY", "0");
    struct client wrong = start_client("CUDA_MPS_CLIENT_PRIORITY", "high");
    snprintf(path, sizeof path, "%s/output", test_directory);
    FILE *log = fopen(path, "re");
    assert_non_null(log);
    while (fgets(line, sizeof line, log) != NULL) {
        snprintf(expected, sizeof expected, "Client {PID: %d, Context ID: 1} has priority 1\n",
                 (int)lower.pid);
        found += strstr(line, expected) != NULL;
        snprintf(expected, sizeof expected, "Client {PID: %d, Context ID: 1} has priority 1\n",
                 (int)wrong.pid);
        found += strstr(line, expected) != NULL ? 10 : 0;
        if (strstr(line, "has priority") != NULL)
            found += 100;
    }
    fclose(log);
    assert_int_equal(found, 211);
    end_client(&plain);
    end_client(&lower);
    end_client(&own);
    end_client(&wrong);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
#define TEST(function) cmocka_unit_test_setup_teardown(function, test_daemon_start, test_daemon_end)
    const struct CMUnitTest tests[] = {
        TEST(test_without_a_server),     TEST(test_version),          TEST(test_default_percentage),
        TEST(test_default_memory_limit), TEST(test_default_priority), TEST(test_with_a_client),
        TEST(test_clients_are_listed),   TEST(test_percentages),      TEST(test_memory_limits),
        TEST(test_priorities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
