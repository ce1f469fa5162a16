#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mps/reply.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* A literal with NUL bytes in it, and its length. */
#define BYTES(literal) literal, sizeof(literal) - 1

/* A failure is one line of printable ASCII. */
static void assert_status(enum status status, enum status wanted, const char *reply)
{
    if (status != wanted)
        fail_msg("'%s': status %d, not %d (%s)", reply, (int)status, (int)wanted, status_text());
    for (const char *at = status_text(); status != STATUS_OK && *at; at++)
        if (*at < ' ' || *at > '~')
            fail_msg("'%s': the text has a byte %d", reply, *at);
}

/* Complaints, which no reader may take for an answer. */
static const struct {
    const char *reply;
    enum status status;
    const char *text; /* recorded, whole */
} complaints[] = {
    {"Unknown command \"get_version\"\n", STATUS_UNSUPPORTED,
     "this MPS daemon has no command 'get_version'"},
    {"Unknown command \"\"\n", STATUS_UNSUPPORTED, "this MPS daemon has no command ''"},
    {"Server 1 not found\n", STATUS_NOT_FOUND, "the MPS daemon has no server 1"},
    {"Server 999999 not found\r\n", STATUS_NOT_FOUND, "the MPS daemon has no server 999999"},
    {"Server 0 not found!\n", STATUS_NOT_FOUND, "the MPS daemon has no server 0"},
    {"Invalid process 999999!\n", STATUS_NOT_FOUND, "the MPS server has no client 999999"},
    {"Invalid priority value - must be 0 or 1!\n", STATUS_USAGE,
     "the MPS daemon does not take this client priority: it is 0 or 1"},
    {"Cannot find MPS control daemon process\n", STATUS_NOT_FOUND, "no MPS control daemon answers"},
};

/* Neither answers nor complaints that we know. */
static const struct {
    const char *reply;
    size_t bytes;
} nonsense[] = {
    {BYTES("babble 12 babble\n")},
    {BYTES("\xff\xfe\n")},
    {BYTES("\0")},
    {BYTES("\n\0\n")},
    {BYTES("100.0\0\n")},
    {BYTES("ACTIVE\0")},
    {BYTES("Unknown command \"x\n")},
    {BYTES("unknown command \"x\"\n")},
    {BYTES("Server -1 not found\n")},
    {BYTES("Server 99999999999 not found\n")},
    {BYTES("Server 1 not fou")},
    {BYTES("Server 1 not found\0\n")},
    {BYTES("Server\n")},
    {BYTES("Invalid process x!\n")},
    {BYTES("Invalid process 5\n")},
    {BYTES("Cannot find MPS control daemon\n")},
    {BYTES("\x1b[2J\x1b[31mred\x1b[0m\n")},
};

static pid_t pids[4];
static struct mps_client_row clients[4];
static struct mps_device_row devices[4];

/* Each reader with outputs that are checked only for staying as they were. */
#define CALL(function, type, untouched)                                                            \
    static enum status call_##function(const char *reply, size_t bytes)                            \
    {                                                                                              \
        type value = untouched;                                                                    \
        enum status status = function(reply, bytes, &value);                                       \
        assert_true(status == STATUS_OK || value == (untouched));                                  \
        return status;                                                                             \
    }
#define CALL_LIST(function, array)                                                                 \
    static enum status call_##function(const char *reply, size_t bytes)                            \
    {                                                                                              \
        size_t count = 77;                                                                         \
        enum status status = function(reply, bytes, array, 4, &count);                             \
        assert_true(status == STATUS_OK ? count <= 4 : count == 77);                               \
        return status;                                                                             \
    }
CALL(mps_reply_percentage, double, 77.0)
CALL(mps_reply_memory, uint64_t, 77)
CALL(mps_reply_priority, int, 77)
CALL(mps_reply_server_state, enum mps_server_state, (enum mps_server_state)77)
CALL(mps_reply_version, int, 77)
CALL_LIST(mps_reply_pids, pids)
CALL_LIST(mps_reply_ps, clients)
CALL_LIST(mps_reply_devices, devices)

static enum status (*const readers[])(const char *reply, size_t bytes) = {
    call_mps_reply_percentage,   call_mps_reply_memory,  call_mps_reply_priority,
    call_mps_reply_server_state, call_mps_reply_version, call_mps_reply_pids,
    call_mps_reply_ps,           call_mps_reply_devices, mps_reply_terminated,
};

static void complaints_have_a_code_of_their_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(complaints); i++) {
        const char *reply = complaints[i].reply;
        for (size_t r = 0; r < COUNT(readers); r++) {
            assert_status(readers[r](reply, strlen(reply)), complaints[i].status, reply);
            assert_string_equal(status_text(), complaints[i].text);
        }
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(nonsense); i++) {
        /* Of its own size, so that a sanitizer sees what reads beyond it. */
        char *reply = malloc(nonsense[i].bytes);
        assert_non_null(reply);
        memcpy(reply, nonsense[i].reply, nonsense[i].bytes);
        for (size_t r = 0; r < COUNT(readers); r++)
            assert_status(readers[r](reply, nonsense[i].bytes), STATUS_PROTOCOL, nonsense[i].reply);
        free(reply);
    }
}

static void what_is_quoted_is_short_and_printable(void **state)
{
    (void)state;
    static const char long_command[] =
        "Unknown command \"0123456789012345678901234567890123456789012345678901234567890123\"\n";
    char reply[200];
    size_t length = (size_t)snprintf(reply, sizeof reply, "a\xff\x1b[2J\x7f%0150d\n", 7);
    for (size_t r = 0; r < COUNT(readers); r++) {
        assert_status(readers[r](reply, length), STATUS_PROTOCOL, reply);
        assert_non_null(strstr(status_text(), "'a??[2J?0000"));
        assert_true(strcspn(strchr(status_text(), '\'') + 1, "'") == 60);
        assert_status(readers[r](BYTES(long_command)), STATUS_UNSUPPORTED, long_command);
        assert_true(strcspn(strchr(status_text(), '\'') + 1, "'") == 60);
    }
}

static void megabytes_are_read(void **state)
{
    (void)state;
    size_t bytes = (size_t)8 << 20;
    char *reply = malloc(bytes);
    assert_non_null(reply);
    static const char fills[] = {'\0', '9', ' ', '\n', 'P', '\r', '\xff'};
    for (size_t i = 0; i < sizeof fills; i++) {
        bool blank = fills[i] == ' ' || fills[i] == '\n';
        memset(reply, fills[i], bytes);
        for (size_t r = 0; r < COUNT(readers); r++) {
            enum status status = readers[r](reply, bytes);
            assert_true(status == STATUS_PROTOCOL || (blank && status == STATUS_OK));
        }
    }
    free(reply);
}

static void processes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        size_t bytes;
        enum status status;
        size_t count;
    } table[] = {
        {BYTES(""), STATUS_OK, 0},
        {BYTES("\n\n"), STATUS_OK, 0},
        {BYTES("699\n"), STATUS_OK, 1},
        {BYTES("1091\n1090\n"), STATUS_OK, 2},
        {BYTES("123\n\n456 \r\n7"), STATUS_OK, 3},
        {BYTES("2147483647\n"), STATUS_OK, 1},
        {BYTES("12a\n"), STATUS_PROTOCOL, 0},
        {BYTES("-5\n"), STATUS_PROTOCOL, 0},
        {BYTES("+5\n"), STATUS_PROTOCOL, 0},
        {BYTES("0\n"), STATUS_PROTOCOL, 0},
        {BYTES("1 2\n"), STATUS_PROTOCOL, 0},
        {BYTES("1\0002\n"), STATUS_PROTOCOL, 0},
        {BYTES("2147483648\n"), STATUS_PROTOCOL, 0},
        {BYTES("99999999999999999999999\n"), STATUS_PROTOCOL, 0},
        {BYTES("1\n2\n3\n4\n5\n"), STATUS_PROTOCOL, 0}, /* more than there is room for */
        {BYTES("696.1\n"), STATUS_PROTOCOL, 0},
        {BYTES("Server not found\n"), STATUS_NOT_FOUND, 0},
        {BYTES("12\nServer 5 not found\n"), STATUS_PROTOCOL, 0}, /* it found it after all? */
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        size_t count = 77;
        assert_status(mps_reply_pids(table[i].reply, table[i].bytes, pids, 4, &count),
                      table[i].status, table[i].reply);
        assert_int_equal(count, table[i].status == STATUS_OK ? table[i].count : 77);
    }
    size_t count;
    assert_int_equal(mps_reply_pids(BYTES("1091\n1090\n"), pids, 2, &count), STATUS_OK);
    assert_int_equal(pids[0], 1091);
    assert_int_equal(pids[1], 1090);
}

static void percentages_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        double percentage; /* 0: STATUS_PROTOCOL */
    } table[] = {
        {"100.0\n", 100.0},
        {"33.3\n", 33.3},
        {"25.0\r\n", 25.0},
        {"50", 50.0},
        {"0.1\n", 0.1},
        {"66.666666666666\n", 66.666666666666},
        {"12.5 \n", 12.5},
        {"", 0},
        {"0\n", 0},
        {"0.0\n", 0},
        {"100.1\n", 0},
        {"101\n", 0},
        {"1000000000000000000000000\n", 0},
        {"-5\n", 0},
        {"+5\n", 0},
        {" 5\n", 0},
        {"1e1\n", 0},
        {"0x10\n", 0},
        {"nan\n", 0},
        {"inf\n", 0},
        {"33,3\n", 0},
        {"5.\n", 0},
        {".5\n", 0},
        {".\n", 0},
        {"5.5.5\n", 0},
        {"5%\n", 0},
        {"5.0x\n", 0},
        {"5.0000000000000000000000000\n", 0},
        {"50.0\n50.0\n", 0},
        {"5 0\n", 0},
    };
    /* A locale with a comma, where there is one, changes nothing. */
    setlocale(LC_ALL, "de_DE.UTF-8");
    for (size_t i = 0; i < COUNT(table); i++) {
        double percentage = 77.0;
        bool good = table[i].percentage > 0;
        assert_status(mps_reply_percentage(table[i].reply, strlen(table[i].reply), &percentage),
                      good ? STATUS_OK : STATUS_PROTOCOL, table[i].reply);
        if (percentage != (good ? table[i].percentage : 77.0))
            fail_msg("'%s' gave %.17g", table[i].reply, percentage);
    }
}

static void amounts_of_memory_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        enum status status;
        uint64_t bytes;
    } table[] = {
        {"", STATUS_OK, 0},
        {"\n", STATUS_OK, 0},
        {"1G\n", STATUS_OK, (uint64_t)1 << 30},
        {"512M\n", STATUS_OK, (uint64_t)512 << 20},
        {"1048576G\n", STATUS_OK, (uint64_t)1 << 50},
        {"2T\r\n", STATUS_OK, (uint64_t)2 << 40},
        {"7K", STATUS_OK, 7168},
        {"16777215T\n", STATUS_OK, (uint64_t)16777215 << 40},
        {"16777216T\n", STATUS_PROTOCOL, 0},
        {"18014398509481984K\n", STATUS_PROTOCOL, 0},
        {"99999999999999999999G\n", STATUS_PROTOCOL, 0},
        {"1024\n", STATUS_PROTOCOL, 0},
        {"1g\n", STATUS_PROTOCOL, 0},
        {"1GB\n", STATUS_PROTOCOL, 0},
        {"1.5G\n", STATUS_PROTOCOL, 0},
        {"1 G\n", STATUS_PROTOCOL, 0},
        {"-1G\n", STATUS_PROTOCOL, 0},
        {"G\n", STATUS_PROTOCOL, 0},
        {"1G\n1G\n", STATUS_PROTOCOL, 0},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        uint64_t bytes = 77;
        assert_status(mps_reply_memory(table[i].reply, strlen(table[i].reply), &bytes),
                      table[i].status, table[i].reply);
        assert_int_equal(bytes, table[i].status == STATUS_OK ? table[i].bytes : 77);
    }
}

static void priorities_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        int priority; /* -1: STATUS_PROTOCOL */
    } table[] = {{"0\n", 0},   {"1\n", 1},   {"1\r\n", 1},   {"", -1},    {"2\n", -1},
                 {"-1\n", -1}, {"01\n", -1}, {"0\n1\n", -1}, {"0 1", -1}, {"normal\n", -1}};
    for (size_t i = 0; i < COUNT(table); i++) {
        int priority = 77;
        assert_status(mps_reply_priority(table[i].reply, strlen(table[i].reply), &priority),
                      table[i].priority >= 0 ? STATUS_OK : STATUS_PROTOCOL, table[i].reply);
        assert_int_equal(priority, table[i].priority >= 0 ? table[i].priority : 77);
    }
}

static void server_states_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        const char *name; /* NULL: STATUS_PROTOCOL */
    } table[] = {
        {"INITIALIZING\n", "initializing"},
        {"ACTIVE\n", "active"},
        {"FAULT\r\n", "fault"},
        {"", NULL},
        {"active\n", NULL},
        {"ACTIV", NULL},
        {"ACTIVE FAULT\n", NULL},
        {"ACTIVE\nFAULT\n", NULL},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        enum mps_server_state server = (enum mps_server_state)77;
        assert_status(mps_reply_server_state(table[i].reply, strlen(table[i].reply), &server),
                      table[i].name ? STATUS_OK : STATUS_PROTOCOL, table[i].reply);
        assert_string_equal(mps_server_state_name(server),
                            table[i].name ? table[i].name : "unknown");
    }
}

static void ends_of_clients_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        enum status status;
    } table[] = {
        {"0\n", STATUS_OK},
        {"0", STATUS_OK},
        {"Server is slow today\n0\n", STATUS_OK},
        {"Invalid process 999999!\n1\n", STATUS_NOT_FOUND},
        {"Server 1 not found\nServer 1 not found!\n1\n", STATUS_NOT_FOUND},
        {"Unknown command \"terminate_client\"\n", STATUS_UNSUPPORTED},
        {"", STATUS_PROTOCOL},
        {"1\n", STATUS_PROTOCOL},
        {"2\n", STATUS_PROTOCOL},
        {"00\n", STATUS_PROTOCOL},
        {"0\n1\n", STATUS_PROTOCOL},
        {"0\nwhat?\n", STATUS_PROTOCOL},
        {"Invalid process 999999!\n0\n", STATUS_PROTOCOL}, /* a contradiction */
        {"Invalid process 999999!\nwhat?\n", STATUS_PROTOCOL},
        {"Invalid client\n1\n", STATUS_PROTOCOL},
    };
    for (size_t i = 0; i < COUNT(table); i++)
        assert_status(mps_reply_terminated(table[i].reply, strlen(table[i].reply)), table[i].status,
                      table[i].reply);
}

static void versions_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        int version; /* 0: STATUS_PROTOCOL */
    } table[] = {
        {"CUDA MPS Control for Linux/Unix/QNX. Binary version: 13000\n"
         "Copyright (C) 2003 - 2025 NVIDIA Corporation.\n",
         13000},
        {"CUDA MPS Control for Linux. Binary version: 12040\n", 12040},
        {"", 0},
        {"13000\n", 0},
        {"CUDA MPS Control for Linux/Unix/QNX.\n", 0},
        {"CUDA MPS Control for Linux/Unix/QNX. Binary version: \n", 0},
        {"CUDA MPS Control for Linux/Unix/QNX. Binary version: 0\n", 0},
        {"CUDA MPS Control for Linux/Unix/QNX. Binary version: 130\n", 0},
        {"CUDA MPS Control for Linux/Unix/QNX. Binary version: 13000", 0},
        {"CUDA MPS Control for Linux/Unix/QNX. Binary version: 13000.1\n", 0},
        {"CUDA MPS Control for Linux/Unix/QNX. Binary version: 99999999999\n", 0},
        {"CUDA MPS Control for Linux/Unix/QNX.\nBinary version: 13000\n", 0},
        {"CUDA MPS Server for Linux/Unix. Binary version: 13000\n", 0},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        int version = 77;
        assert_status(mps_reply_version(table[i].reply, strlen(table[i].reply), &version),
                      table[i].version ? STATUS_OK : STATUS_PROTOCOL, table[i].reply);
        assert_int_equal(version, table[i].version ? table[i].version : 77);
    }
}

static void names_of_new_partitions_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        enum status status;
    } table[] = {
        {"GPU-74d43ed3-cdf7/Dx4A+/=\n", STATUS_OK},
        {"Partition GPU-74d43ed3-cdf7/Dx4A created\n", STATUS_OK},
        {"Failed to fulfill the requested SM partition of 99 chunks, error X\n",
         STATUS_UNSUPPORTED},
        {"Unknown command \"sm_partition\"\n", STATUS_UNSUPPORTED},
        {"GPU-74d43ed3-cdf7\n", STATUS_PROTOCOL},
        {"a/b\n", STATUS_PROTOCOL},
        {"", STATUS_PROTOCOL},
    };
    for (size_t i = 0; i < COUNT(table); i++)
        assert_status(mps_reply_partition(table[i].reply, strlen(table[i].reply)), table[i].status,
                      table[i].reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complaints_have_a_code_of_their_own),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(what_is_quoted_is_short_and_printable),
        cmocka_unit_test(megabytes_are_read),
        cmocka_unit_test(processes_are_read),
        cmocka_unit_test(percentages_are_read),
        cmocka_unit_test(amounts_of_memory_are_read),
        cmocka_unit_test(priorities_are_read),
        cmocka_unit_test(server_states_are_read),
        cmocka_unit_test(ends_of_clients_are_read),
        cmocka_unit_test(versions_are_read),
        cmocka_unit_test(names_of_new_partitions_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
