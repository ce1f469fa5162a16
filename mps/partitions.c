#include "mps/partitions.h"

#include <stdio.h>
#include <string.h>

#include "mps/reply.h"

#define DEVICES_MOST 16

bool mps_partitions_supported(int version)
{
    return version >= MPS_PARTITIONS_VERSION;
}

enum status mps_partitions_check(const struct mps_control *control, uint64_t deadline_ns)
{
    int version;
    enum status status = mps_control_version(control, deadline_ns, &version);
    if (status == STATUS_OK && !mps_partitions_supported(version))
        status = status_set(STATUS_UNSUPPORTED,
                            "static partitions take the MPS programs of CUDA %d.%d or later: '%s' "
                            "is of CUDA %d.%d",
                            MPS_PARTITIONS_VERSION / 1000, MPS_PARTITIONS_VERSION % 1000 / 10,
                            control->program, version / 1000, version % 1000 / 10);
    return status;
}

enum status mps_partition_add(const struct mps_control *control, const char *uuid, unsigned chunks,
                              uint64_t deadline_ns)
{
    struct child_result reply;
    enum status status =
        mps_control_command(control, deadline_ns, &reply, "sm_partition add %s %u", uuid, chunks);
    if (status == STATUS_OK)
        status = mps_reply_partition(reply.output, reply.output_bytes);
    child_result_release(&reply);
    return status == STATUS_OK
               ? status
               : status_prefix(status, "a partition of %u chunk%s on GPU %s: ", chunks,
                               chunks == 1 ? "" : "s", uuid);
}

/* The daemon cuts a UUID short: puts the whole one there, if it is known. */
static void complete(struct mps_partition_row *row, const struct mps_device_row *devices,
                     size_t count)
{
    size_t length = strcspn(row->name, "/");
    char whole[sizeof devices->uuid + sizeof row->name];
    for (size_t i = 0; i < count; i++) {
        if (strncmp(devices[i].uuid, row->name, length) != 0)
            continue;
        snprintf(whole, sizeof whole, "%s%s", devices[i].uuid, row->name + length);
        if (strlen(whole) < sizeof row->name)
            strcpy(row->name, whole);
        return;
    }
}

enum status mps_partitions_list(const struct mps_control *control, uint64_t deadline_ns,
                                struct mps_partition_row *rows, size_t capacity, size_t *count)
{
    struct mps_device_row devices[DEVICES_MOST];
    struct child_result reply;
    size_t device_count = 0;
    enum status status = mps_control_command(control, deadline_ns, &reply, "lspart");
    if (status == STATUS_OK)
        status = mps_reply_partitions(reply.output, reply.output_bytes, rows, capacity, count);
    child_result_release(&reply);
    if (status != STATUS_OK || *count == 0)
        return status;
    if (mps_control_devices(control, deadline_ns, devices, DEVICES_MOST, &device_count) !=
        STATUS_OK)
        device_count = 0;
    for (size_t i = 0; i < *count; i++)
        complete(&rows[i], devices, device_count);
    return STATUS_OK;
}
