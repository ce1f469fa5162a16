#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mps/log.h"

#define CONTROL "[2026-11-21 06:16:57.924 Control   539] "
#define SERVER "[2026-11-21 06:16:57.925 Server   550] "
#define OTHER "[2026-11-21 06:16:57.925 Server   777] "
#define FATAL(pid) SERVER "Client {PID: " pid ", Context: 1} encountered a fatal GPU error.\n"
#define LIST SERVER "The following client process have a sticky error set:\n"

/* As the real server wrote it when 593 did the illegal access. */
#define REAL                                                                                       \
    CONTROL "NEW CLIENT 593 from user 0: Server already exists\n" SERVER                           \
            "Received new client request for {PID: 592, Context ID: 1}\n" SERVER                   \
            "Client {PID: 593, Context ID: 1} connected\n" SERVER                                  \
            "Status of client {PID: 593, Context ID: 1} is ACTIVE\n" FATAL("592") SERVER           \
        "Server is handling a fatal GPU error.\n" SERVER                                           \
        "Client {PID: 592, Context ID: 1} on device 0 to be torn down\n" SERVER                    \
        "Client {PID: 593, Context ID: 1} on device 0 to be torn down\n" SERVER                    \
        "All clients belonging to error trigging process 592 will be torn down\n" SERVER           \
        "The following devices will be reset:\n" SERVER "0\n" LIST SERVER "592\n" SERVER           \
        "593\n" CONTROL "Accepting connection...\n" SERVER                                         \
        "Failed to accept client {PID: 603, Context ID: 0} with status 807\n"

/* Reads the first bytes of a text from memory of just that size, so that a sanitizer sees what
 * reads beyond it. */
static enum status read_fault(const char *text, size_t bytes, struct mps_fault *fault)
{
    char *copy = malloc(bytes + 1);
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    char *exact = realloc(copy, bytes ? bytes : 1);
    assert_non_null(exact);
    enum status status = mps_log_fault(exact, bytes, fault);
    free(exact);
    return status;
}

static void faults_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        pid_t first;
        size_t count;
        pid_t clients[3];
    } table[] = {
        {"real", REAL, 592, 2, {592, 593}},
        {"not listed yet", FATAL("592"), 592, 0, {0}},
        {"its list is short of digits",
         FATAL("592") LIST SERVER "592\n" SERVER "59",
         592,
         1,
         {592}},
        {"begins in a list", LIST SERVER "611\n", 0, 1, {611}},
        {"begins in the line that names the first",
         "592, Context: 1} encountered a fatal GPU error.\n" LIST SERVER "592\n",
         0,
         1,
         {592}},
        {"ends before the line's end",
         SERVER "Client {PID: 5, Context: 1} encountered a fatal "
                "GPU error.",
         5,
         0,
         {0}},
        {"the last of two", REAL FATAL("611") LIST SERVER "611\n", 611, 1, {611}},
        {"the last has no list yet", REAL FATAL("611"), 611, 0, {0}},
        {"two clients report one fault",
         FATAL("5") FATAL("6") LIST SERVER "5\n" SERVER "6\n",
         5,
         2,
         {5, 6}},
        {"twice in the list", FATAL("5") LIST SERVER "5\n" SERVER "5\n" SERVER "6\n", 5, 2, {5, 6}},
        {"others write in between",
         FATAL("5") LIST SERVER "5\n" CONTROL "550\n" OTHER "8\n" SERVER "6\n",
         5,
         2,
         {5, 6}},
        {"the list ends",
         FATAL("5") LIST SERVER "5\n" SERVER "Server has started\n" SERVER "6\n",
         5,
         1,
         {5}},
        {"numbers that are no process",
         FATAL("5") LIST SERVER "5\n" SERVER "0\n" SERVER "6\n",
         5,
         1,
         {5}},
        {"another server's fault",
         REAL OTHER "Client {PID: 9, Context: 0} encountered a fatal GPU "
                    "error.\n",
         9,
         0,
         {0}},
        {"CR LF",
         SERVER "Client {PID: 5, Context ID: 1} encountered a fatal GPU error.\r\n",
         5,
         0,
         {0}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct mps_fault fault;
        memset(&fault, 77, sizeof fault);
        print_message("%s\n", table[i].name);
        assert_int_equal(read_fault(table[i].text, strlen(table[i].text), &fault), STATUS_OK);
        assert_int_equal(fault.first, table[i].first);
        assert_int_equal(fault.count, table[i].count);
        for (size_t c = 0; c < fault.count; c++)
            assert_int_equal(fault.clients[c], table[i].clients[c]);
    }
}

static void what_is_no_fault(void **state)
{
    (void)state;
    static const char *const table[] = {
        "",
        "\n\n",
        "Client {PID: 592, Context: 1} encountered a fatal GPU error.\n",
        /* What was asked and answered stands in the log, too. */
        CONTROL "Client {PID: 592, Context: 1} encountered a fatal GPU error.\n",
        CONTROL "Cmd:" FATAL("592"),
        SERVER "Client {PID: 592, Context: 1} encountered a fatal GPU err\n",
        SERVER "Client {PID: 592, Context: 1} encountered a fatal GPU error. Not.\n",
        SERVER "Client {PID: -592, Context: 1} encountered a fatal GPU error.\n",
        SERVER "Client {PID: 0, Context: 1} encountered a fatal GPU error.\n",
        SERVER "Client {PID: 99999999999, Context: 1} encountered a fatal GPU error.\n",
        SERVER "Client {PID: 592} encountered a fatal GPU error.\n",
        SERVER "Server is handling a fatal GPU error.\n",
        SERVER "592\n",
        "[06:16 Server 550] Client {PID: 592, Context: 1} encountered a fatal GPU error.\n",
        "[2026-11-21 06:16 Server x] Client {PID: 592, Context: 1} encountered a fatal GPU "
        "error.\n",
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct mps_fault fault = {.first = 77};
        print_message("%s", table[i]);
        assert_int_equal(read_fault(table[i], strlen(table[i]), &fault), STATUS_NOT_FOUND);
        assert_int_equal(fault.first, 77);
    }
}

/* Cut after any byte and before any byte, a log never names a process that is not in it. */
static void cuts_invent_nobody(void **state)
{
    (void)state;
    static const char text[] = REAL;
    size_t length = sizeof text - 1, found = 0;
    for (size_t cut = 0; cut <= length; cut++) {
        for (int end = 0; end < 2; end++) {
            const char *at = end ? text : text + cut;
            size_t bytes = end ? cut : length - cut, count;
            struct mps_fault fault;
            pid_t pid;
            if (read_fault(at, bytes, &fault) == STATUS_OK) {
                found++;
                assert_true(fault.first == 592 || fault.first == 0);
                for (size_t i = 0; i < fault.count; i++)
                    assert_true(fault.clients[i] == 592 || fault.clients[i] == 593);
            }
            assert_int_equal(mps_log_clients(at, bytes, &pid, 1, &count), STATUS_OK);
            assert_true(count == 0 || pid == 593);
        }
    }
    assert_true(found > 0);
}

/* A server writes its lines one by one: a reader sees the log end after any byte. */
static void a_list_is_whole_once_it_names_all_who_were_announced(void **state)
{
    (void)state;
    static const char text[] = REAL, last[] = SERVER "593\n" CONTROL;
    const char *end = strstr(text, last);
    assert_non_null(end);
    size_t whole = (size_t)(end - text) + strlen(SERVER "593\n");
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        struct mps_fault fault = {0};
        enum status status = read_fault(text, bytes, &fault);
        assert_int_equal(status == STATUS_OK && fault.is_whole, bytes >= whole);
    }
    /* Nothing was announced in what is left of the log. */
    struct mps_fault fault;
    assert_int_equal(read_fault(LIST SERVER "611\n", strlen(LIST SERVER "611\n"), &fault),
                     STATUS_OK);
    assert_true(fault.is_whole);
    assert_int_equal(read_fault(FATAL("5"), strlen(FATAL("5")), &fault), STATUS_OK);
    assert_false(fault.is_whole);
}

static void bytes_of_a_truncated_file_are_passed_over(void **state)
{
    (void)state;
    static const char text[] = "\0\0\0\0" FATAL("592") LIST "\0\0" SERVER "592\n\0\0\0";
    struct mps_fault fault;
    assert_int_equal(read_fault(text, sizeof text - 1, &fault), STATUS_OK);
    assert_int_equal(fault.first, 592);
    assert_int_equal(fault.count, 1);
    static const char inside[] = SERVER "Client {PID: 592\0, Context: 1} encountered a fatal GPU "
                                        "error.\n";
    assert_int_equal(read_fault(inside, sizeof inside - 1, &fault), STATUS_NOT_FOUND);
}

static void a_long_list_is_cut(void **state)
{
    (void)state;
    char text[16384];
    size_t length = (size_t)snprintf(text, sizeof text, "%s%s", FATAL("1000"), LIST);
    for (int pid = 1000; pid < 1100; pid++)
        length += (size_t)snprintf(text + length, sizeof text - length, SERVER "%d\n", pid);
    struct mps_fault fault;
    assert_int_equal(read_fault(text, length, &fault), STATUS_OK);
    assert_int_equal(fault.count, MPS_FAULT_CLIENTS);
    assert_int_equal(fault.clients[MPS_FAULT_CLIENTS - 1], 1000 + MPS_FAULT_CLIENTS - 1);
}

static void clients_are_found(void **state)
{
    (void)state;
    static const char text[] =
        "ient {PID: 7, Context ID: 0} connected\n" CONTROL
        "Client {PID: 8, Context ID: 0} connected\n" SERVER
        "Received new client request for {PID: -1333654781, Context ID: 0}\n" SERVER
        "Client {PID: 548, Context ID: 0} connected\n" SERVER
        "Client {PID: 548, Context ID: 1} connected\n" SERVER
        "Client process 548 disconnected\n" SERVER
        "Client {PID: 561, Context ID: 0} connected\r\n" OTHER
        "Client {PID: 578, Context ID: 0} connected";
    pid_t pids[3];
    size_t count = 77;
    assert_int_equal(mps_log_clients(text, sizeof text - 1, pids, 2, &count), STATUS_PROTOCOL);
    assert_int_equal(count, 77);
    assert_int_equal(mps_log_clients(text, sizeof text - 1, pids, 3, &count), STATUS_OK);
    assert_int_equal(count, 3);
    assert_int_equal(pids[0], 548);
    assert_int_equal(pids[1], 561);
    assert_int_equal(pids[2], 578);
    assert_int_equal(mps_log_clients("", 0, pids, 0, &count), STATUS_OK);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_found),
        cmocka_unit_test(what_is_no_fault),
        cmocka_unit_test(cuts_invent_nobody),
        cmocka_unit_test(a_list_is_whole_once_it_names_all_who_were_announced),
        cmocka_unit_test(bytes_of_a_truncated_file_are_passed_over),
        cmocka_unit_test(a_long_list_is_cut),
        cmocka_unit_test(clients_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
