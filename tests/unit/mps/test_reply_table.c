/* The replies that are tables. What holds for all replies is in test_mps_reply.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "mps/reply.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define BYTES(literal) literal, sizeof(literal) - 1

static struct mps_client_row clients[4];
static struct mps_device_row devices[4];

#define PS_HEADER                                                                                  \
    "PID       ID        SERVER         DEVICE                    NAMESPACE      COMMAND        "  \
    "\n"
#define PS_1091                                                                                    \
    "1091      21        918            GPU-aa0caf94-3e4a-fc56    4026531836     .gpu/client    "  \
    "\n"
#define PS_1090                                                                                    \
    "1090      22        918            GPU-aa0caf94-3e4a-fc56    4026531836     /a b/c  -n 2   "  \
    "\n"

static void tables_of_clients_are_read(void **state)
{
    (void)state;
    static const char both[] = PS_HEADER PS_1091 PS_1090;
    /* Other widths, another order, a column that we do not know. */
    static const char other[] = "COMMAND    SERVER ID USER  PID  NAMESPACE   DEVICE\r\n"
                                "./a\xc3\xa9\t b   7      3  root  12   18446744073 GPU-x\r\n";
    size_t count = 77;
    assert_int_equal(mps_reply_ps(BYTES(both), clients, 2, &count), STATUS_OK);
    assert_int_equal(count, 2);
    assert_int_equal(clients[0].pid, 1091);
    assert_int_equal(clients[0].id, 21);
    assert_int_equal(clients[0].server, 918);
    assert_string_equal(clients[0].device, "GPU-aa0caf94-3e4a-fc56");
    assert_int_equal(clients[0].pid_namespace, 4026531836UL);
    assert_string_equal(clients[0].command, ".gpu/client");
    assert_int_equal(clients[1].pid, 1090);
    assert_string_equal(clients[1].command, "/a b/c  -n 2");
    assert_int_equal(mps_reply_ps(BYTES(other), clients, 2, &count), STATUS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(clients[0].pid, 12);
    assert_int_equal(clients[0].id, 3);
    assert_int_equal(clients[0].server, 7);
    assert_string_equal(clients[0].device, "GPU-x");
    assert_int_equal(clients[0].pid_namespace, 18446744073UL);
    assert_string_equal(clients[0].command, "./a\xc3\xa9? b");
}

static void odd_tables_of_clients(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        enum status status;
        size_t count;
    } table[] = {
        {"", STATUS_OK, 0},
        {"Server not found\n", STATUS_OK, 0},
        {PS_HEADER, STATUS_OK, 0},
        {PS_HEADER PS_1090 PS_1090 PS_1090 PS_1090, STATUS_OK, 4},
        {PS_HEADER PS_1090 PS_1090 PS_1090 PS_1090 PS_1090, STATUS_PROTOCOL, 0},
        {"Server not found\n" PS_HEADER, STATUS_NOT_FOUND, 0},
        {PS_1090, STATUS_PROTOCOL, 0},
        {PS_HEADER PS_HEADER, STATUS_PROTOCOL, 0},
        {PS_HEADER "Server not found\n", STATUS_PROTOCOL, 0},
        /* Columns are missing. */
        {"PID       ID        SERVER         DEVICE    NAMESPACE      COMMANDS\n", STATUS_PROTOCOL,
         0},
        {"PPID      ID        SERVER         DEVICE    NAMESPACE      COMMAND\n", STATUS_PROTOCOL,
         0},
        {PS_HEADER "1090      22        918            GPU-aa0\n", STATUS_PROTOCOL, 0},
        {PS_HEADER "1090      22        918  \n", STATUS_PROTOCOL, 0},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        size_t count = 77;
        print_message("%s", table[i].reply);
        assert_int_equal(mps_reply_ps(table[i].reply, strlen(table[i].reply), clients, 4, &count),
                         table[i].status);
        assert_int_equal(count, table[i].status == STATUS_OK ? table[i].count : 77);
    }
}

/* One line under the header, cell by cell, so that only what is named can be wrong with it. */
static void odd_cells_in_a_table_of_clients(void **state)
{
    (void)state;
    static const struct {
        const char *cells[6];
        enum status status;
    } table[] = {
        {{"1090", "22", "918", "GPU-a", "4026531836", "./x"}, STATUS_OK},
        {{"2147483647", "4294967295", "918", "GPU-a", "18446744073709", ""}, STATUS_PROTOCOL},
        {{"999999999", "999999999", "2147483647", "GPU-a", "18446744073709", ""}, STATUS_OK},
        {{"", "22", "918", "GPU-a", "4", "./x"}, STATUS_PROTOCOL},
        {{"1090", "22", "", "GPU-a", "4", "./x"}, STATUS_PROTOCOL},
        {{"1090", "22", "918", "", "4", "./x"}, STATUS_PROTOCOL},
        {{"1090", "22", "918", "GPU-a", "", "./x"}, STATUS_PROTOCOL},
        {{"0", "22", "918", "GPU-a", "4", "./x"}, STATUS_PROTOCOL},
        {{"1090", "22", "0", "GPU-a", "4", "./x"}, STATUS_PROTOCOL},
        {{"1090", "0", "918", "GPU-a", "0", "./x"}, STATUS_OK},
        {{"1090", "x", "918", "GPU-a", "4", "./x"}, STATUS_PROTOCOL},
        {{"1090", "-1", "918", "GPU-a", "4", "./x"}, STATUS_PROTOCOL},
        {{"1090 7", "22", "918", "GPU-a", "4", "./x"}, STATUS_PROTOCOL},
        {{" 1090", "22", "918", "GPU-a", "4", "./x"}, STATUS_PROTOCOL},
        {{"1090", "22", "918", "GPU a", "4", "./x"}, STATUS_PROTOCOL},
        {{"1090", "22", "918", "GPU-\x80", "4", "./x"}, STATUS_PROTOCOL},
        {{"1090", "22", "4294967296", "GPU-a", "4", "./x"}, STATUS_PROTOCOL},
        /* Over the edge of their columns, as wide as them, and into the next. */
        {{"1234567890", "22", "918", "GPU-a", "4", "./x"}, STATUS_PROTOCOL},
        {{"1234567890 22", "918", "GPU-a", "4", "./x", ""}, STATUS_PROTOCOL},
        {{"1090", "22", "918", "GPU-456789012345678901234", "4", "./x"}, STATUS_OK},
        {{"1090", "22", "918", "GPU-4567890123456789012345", "4", "./x"}, STATUS_PROTOCOL},
        {{"1090", "22", "918", "GPU-a", "4         ./x-y", ""}, STATUS_PROTOCOL},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        const char *const *cells = table[i].cells;
        char reply[512];
        size_t count = 77;
        int length = snprintf(reply, sizeof reply, PS_HEADER "%-10s%-10s%-15s%-26s%-15s%-15s\n",
                              cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]);
        print_message("%s", strchr(reply, '\n') + 1);
        assert_int_equal(mps_reply_ps(reply, (size_t)length, clients, 4, &count), table[i].status);
        assert_int_equal(count, table[i].status == STATUS_OK ? 1 : 77);
    }
}

static void long_texts_in_a_table_of_clients(void **state)
{
    (void)state;
    char reply[600];
    size_t count = 77;
    int length = snprintf(reply, sizeof reply, PS_HEADER "%-10d%-10d%-15d%-26s%-15s%0300d\n", 5, 6,
                          7, "GPU-x", "8", 9);
    assert_int_equal(mps_reply_ps(reply, (size_t)length, clients, 4, &count), STATUS_OK);
    assert_int_equal(strlen(clients[0].command), sizeof clients[0].command - 1);
    /* No command at all, and with it no blanks behind the namespace. */
    length =
        snprintf(reply, sizeof reply, PS_HEADER "%-10d%-10d%-15d%-26s%s\n", 5, 6, 7, "GPU-x", "8");
    assert_int_equal(mps_reply_ps(reply, (size_t)length, clients, 4, &count), STATUS_OK);
    assert_string_equal(clients[0].command, "");
    /* A device's name is an identity: it is whole, or an error. */
    length = snprintf(reply, sizeof reply,
                      "PID ID SERVER NAMESPACE COMMAND DEVICE\n5   6  7      8         x       "
                      "GPU-%060d\n",
                      1);
    assert_int_equal(mps_reply_ps(reply, (size_t)length, clients, 4, &count), STATUS_PROTOCOL);
    length--;
    reply[length - 1] = '\n';
    assert_int_equal(mps_reply_ps(reply, (size_t)length, clients, 4, &count), STATUS_OK);
    assert_int_equal(strlen(clients[0].device), sizeof clients[0].device - 1);
}

#define DEVICES_HEADER                                                                             \
    "Device Ordinal  PCI IDs        UUID                                      Name     "           \
    "Attributes\n"
#define DEVICE_0                                                                                   \
    "0               0000:00.06.00  GPU-aa0caf94-3e4a-fc56-e823-bae2d7d0090a  NVIDIA H200  N/A\n"
#define DEVICE_1                                                                                   \
    "1               0000:00.07.00  GPU-04ada952-318a-b7b7-5f46-339c81377b4e  NVIDIA H200  N/A\n"

static void tables_of_devices_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        enum status status;
        size_t count;
    } table[] = {
        {"Default\n" DEVICES_HEADER DEVICE_0, STATUS_OK, 1},
        {"Default\n" DEVICES_HEADER DEVICE_0 DEVICE_1, STATUS_OK, 2},
        {DEVICES_HEADER DEVICE_0 DEVICE_1, STATUS_OK, 2},
        {"Default\n" DEVICES_HEADER, STATUS_OK, 0},
        /* One table a server, which agree. */
        {"Default\n" DEVICES_HEADER DEVICE_0 "\nServer 5\n" DEVICES_HEADER DEVICE_0 DEVICE_1,
         STATUS_OK, 2},
        {"", STATUS_PROTOCOL, 0},
        {"Default\n", STATUS_PROTOCOL, 0},
        {DEVICE_0, STATUS_PROTOCOL, 0},
        {"Default\n" DEVICE_0, STATUS_PROTOCOL, 0},
        {"Default\nDefault\n" DEVICES_HEADER DEVICE_0, STATUS_PROTOCOL, 0},
        {DEVICES_HEADER DEVICE_0 "Server 5\n", STATUS_PROTOCOL, 0},
        {DEVICES_HEADER DEVICE_0 "Server 5 not found\n", STATUS_PROTOCOL, 0},
        {"Device  PCI IDs  UUID\n0  0000:00.06.00  GPU-x\n", STATUS_PROTOCOL, 0},
        {"Device Ordinal,PCI IDs,UUID\n0,0000:00.06.00,GPU-x\n", STATUS_PROTOCOL, 0},
        {DEVICES_HEADER "x               0000:00.06.00  GPU-x  H200\n", STATUS_PROTOCOL, 0},
        {DEVICES_HEADER "0               0000:00.06.00\n", STATUS_PROTOCOL, 0},
        {DEVICES_HEADER "0               0000:00.06.00  GPU-aa0 caf\n", STATUS_PROTOCOL, 0},
        {DEVICES_HEADER "0               0000:00.06.00000GPU-aa0caf94\n", STATUS_PROTOCOL, 0},
        {DEVICES_HEADER
         "0               0000:00.06.00  MIG-aa0caf94-3e4a-fc56-e823-bae2d7d0090a/77\n",
         STATUS_PROTOCOL, 0}, /* into the next column */
        {DEVICES_HEADER "0               0000:00.06.00\n" DEVICES_HEADER DEVICE_0, STATUS_PROTOCOL,
         0},
        /* Two devices with one ordinal, and one device with two. */
        {DEVICES_HEADER DEVICE_0 "0               0000:00.06.00  GPU-x\n", STATUS_PROTOCOL, 0},
        {DEVICES_HEADER "3               0000:00.06.00  GPU-x\n"
                        "4               0000:00.06.00  GPU-x\n",
         STATUS_PROTOCOL, 0},
        {DEVICES_HEADER
         "0                              GPU-a\n1                              GPU-b\n"
         "2                              GPU-c\n3                              GPU-d\n"
         "4                              GPU-e\n",
         STATUS_PROTOCOL, 0},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        size_t count = 77;
        print_message("%s", table[i].reply);
        assert_int_equal(
            mps_reply_devices(table[i].reply, strlen(table[i].reply), devices, 4, &count),
            table[i].status);
        assert_int_equal(count, table[i].status == STATUS_OK ? table[i].count : 77);
        if (count == 2) {
            assert_int_equal(devices[0].ordinal, 0);
            assert_string_equal(devices[0].uuid, "GPU-aa0caf94-3e4a-fc56-e823-bae2d7d0090a");
            assert_int_equal(devices[1].ordinal, 1);
            assert_string_equal(devices[1].uuid, "GPU-04ada952-318a-b7b7-5f46-339c81377b4e");
        }
    }
}

#define PART_HEADER                                                                                \
    "GPU           Partition  free   used   free  used  clients\n"                                 \
    "                         chunk  chunk  SM    SM\n"
#define PART_GPU "GPU-74d43ed3  -          3      7      24    56    -\n"
#define PART_A "GPU-74d43ed3  Dx4A       -      7      -     56    Yes\n"

static void tables_of_partitions_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        enum status status;
        size_t count;
    } table[] = {
        {PART_HEADER PART_GPU, STATUS_OK, 0},
        {PART_HEADER PART_GPU PART_A, STATUS_OK, 1},
        {PART_HEADER PART_GPU PART_A "GPU-1 +/= - 1 - 8 No\n", STATUS_OK, 2},
        {PART_HEADER PART_A PART_A PART_A, STATUS_PROTOCOL, 0},
        {PART_HEADER "GPU-1 Dx4A - x - 8 No\n", STATUS_PROTOCOL, 0},
        {PART_HEADER "GPU-1 Dx4A - 1 - - No\n", STATUS_PROTOCOL, 0},
        {PART_HEADER "GPU-1 Dx4A - 1 - 8\n", STATUS_PROTOCOL, 0},
        {PART_HEADER "GPU-1 Dx4A - 1 - 8 No more\n", STATUS_PROTOCOL, 0},
        {PART_A, STATUS_PROTOCOL, 0},
        {"Unknown command \"lspart\"\n", STATUS_UNSUPPORTED, 0},
        {"", STATUS_PROTOCOL, 0},
    };
    struct mps_partition_row rows[2];
    for (size_t i = 0; i < COUNT(table); i++) {
        size_t count = 77;
        print_message("%s", table[i].reply);
        assert_int_equal(
            mps_reply_partitions(table[i].reply, strlen(table[i].reply), rows, 2, &count),
            table[i].status);
        assert_int_equal(count, table[i].status == STATUS_OK ? table[i].count : 77);
    }
    assert_int_equal(
        mps_reply_partitions(BYTES(PART_HEADER PART_GPU PART_A), rows, 2, &(size_t){0}), STATUS_OK);
    assert_string_equal(rows[0].name, "GPU-74d43ed3/Dx4A");
    assert_int_equal(rows[0].chunks, 7);
    assert_int_equal(rows[0].sms, 56);
    assert_true(rows[0].used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_clients_are_read),
        cmocka_unit_test(odd_tables_of_clients),
        cmocka_unit_test(odd_cells_in_a_table_of_clients),
        cmocka_unit_test(long_texts_in_a_table_of_clients),
        cmocka_unit_test(tables_of_devices_are_read),
        cmocka_unit_test(tables_of_partitions_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
