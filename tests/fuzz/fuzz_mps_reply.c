/* What the MPS daemon answers and logs: any bytes, to every reader. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "mps/log.h"
#include "mps/reply.h"
#include "tests/fuzz/target.h"

const char fuzz_target_name[] = "mps_reply";

#define CAPACITY 8
#define UNTOUCHED 77

static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL && text_is_displayable(text);
}

/* Of a reader's status: the codes it promises, and a text that can be shown. Returns whether the
 * outputs are set. */
static bool worked(enum status status)
{
    check(status == STATUS_OK || status == STATUS_PROTOCOL || status == STATUS_UNSUPPORTED ||
          status == STATUS_NOT_FOUND || status == STATUS_USAGE);
    if (status == STATUS_OK)
        return true;
    check(*status_text() != '\0' && strlen(status_text()) < 200 && text_is_displayable(status_text()));
    return false;
}

static void read_values(const char *reply, size_t bytes)
{
    double percentage = UNTOUCHED;
    uint64_t limit = UNTOUCHED;
    int priority = UNTOUCHED, version = -UNTOUCHED;
    enum mps_server_state state = (enum mps_server_state)UNTOUCHED;
    if (worked(mps_reply_percentage(reply, bytes, &percentage)))
        check(isfinite(percentage) && percentage > 0.0 && percentage <= 100.0);
    else
        check(percentage == UNTOUCHED);
    if (worked(mps_reply_memory(reply, bytes, &limit)))
        check(limit % 1024 == 0);
    else
        check(limit == UNTOUCHED);
    if (worked(mps_reply_priority(reply, bytes, &priority)))
        check(priority == 0 || priority == 1);
    else
        check(priority == UNTOUCHED);
    if (worked(mps_reply_server_state(reply, bytes, &state)))
        check(strcmp(mps_server_state_name(state), "unknown") != 0);
    else
        check(state == (enum mps_server_state)UNTOUCHED);
    if (worked(mps_reply_version(reply, bytes, &version)))
        check(version > 0);
    else
        check(version == -UNTOUCHED);
    worked(mps_reply_terminated(reply, bytes));
}

static void read_lists(const char *reply, size_t bytes)
{
    pid_t pids[CAPACITY];
    struct mps_client_row clients[CAPACITY];
    struct mps_device_row devices[CAPACITY];
    size_t count = UNTOUCHED;
    if (worked(mps_reply_pids(reply, bytes, pids, CAPACITY, &count))) {
        check(count <= CAPACITY);
        for (size_t i = 0; i < count; i++)
            check(pids[i] > 0);
    } else {
        check(count == UNTOUCHED);
    }
    count = UNTOUCHED;
    if (worked(mps_reply_ps(reply, bytes, clients, CAPACITY, &count))) {
        check(count <= CAPACITY);
        for (size_t i = 0; i < count; i++)
            check(clients[i].pid > 0 && clients[i].server > 0 && *clients[i].device &&
                  is_text(clients[i].device, sizeof clients[i].device) &&
                  is_text(clients[i].command, sizeof clients[i].command));
    } else {
        check(count == UNTOUCHED);
    }
    count = UNTOUCHED;
    if (worked(mps_reply_devices(reply, bytes, devices, CAPACITY, &count))) {
        check(count <= CAPACITY);
        for (size_t i = 0; i < count; i++) {
            check(*devices[i].uuid && is_text(devices[i].uuid, sizeof devices[i].uuid));
            for (size_t other = 0; other < i; other++)
                check(devices[i].ordinal != devices[other].ordinal &&
                      strcmp(devices[i].uuid, devices[other].uuid) != 0);
        }
    } else {
        check(count == UNTOUCHED);
    }
}

static void read_partitions(const char *reply, size_t bytes)
{
    struct mps_partition_row rows[CAPACITY];
    size_t count = UNTOUCHED;
    worked(mps_reply_partition(reply, bytes));
    if (worked(mps_reply_partitions(reply, bytes, rows, CAPACITY, &count))) {
        check(count <= CAPACITY);
        for (size_t i = 0; i < count; i++)
            check(strchr(rows[i].name, '/') && is_text(rows[i].name, sizeof rows[i].name));
    } else {
        check(count == UNTOUCHED);
    }
}

static void check_distinct(const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check(pids[i] > 0);
        for (size_t other = 0; other < i; other++)
            check(pids[i] != pids[other]);
    }
}

static void read_log(const char *text, size_t bytes)
{
    struct mps_fault fault = {.first = UNTOUCHED, .count = UNTOUCHED};
    pid_t pids[CAPACITY];
    size_t count = UNTOUCHED;
    if (worked(mps_log_fault(text, bytes, &fault))) {
        check(fault.first >= 0 && fault.count <= MPS_FAULT_CLIENTS);
        check_distinct(fault.clients, fault.count);
    } else {
        check(fault.first == UNTOUCHED && fault.count == UNTOUCHED);
    }
    if (worked(mps_log_clients(text, bytes, pids, CAPACITY, &count))) {
        check(count <= CAPACITY);
        check_distinct(pids, count);
    } else {
        check(count == UNTOUCHED);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *text = (const char *)data;
    read_values(text, bytes);
    read_lists(text, bytes);
    read_partitions(text, bytes);
    read_log(text, bytes);
    return 0;
}
