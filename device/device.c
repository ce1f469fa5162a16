#include "device/device.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct device_info) == 256 + 64 + 32 + 8 + 6 * 4, "padding in device_info");
_Static_assert(sizeof(struct device_list) ==
                   8 + 4 * 4 + DEVICE_LIST_MAX * sizeof(struct device_info),
               "padding in device_list");

static enum status no_device(void)
{
    return status_set(STATUS_NOT_FOUND,
                      "no CUDA device is visible; look at CUDA_VISIBLE_DEVICES and nvidia-smi");
}

static enum status device_init(const struct cuda_driver *driver)
{
    cuda_result result = driver->init(0);
    if (result == CUDA_NO_DEVICE)
        return no_device();
    return cuda_check(driver, result, "cuInit");
}

static enum status attribute(const struct cuda_driver *driver, cuda_device device,
                             enum cuda_abi_constant which, int32_t *out)
{
    int value = 0;
    enum status status =
        CUDA_CALL(driver, device_get_attribute, &value, (cuda_device_attribute)which, device);
    if (!status)
        *out = value;
    return status;
}

static void uuid_text(const cuda_uuid *uuid, char *out, size_t size)
{
    unsigned char b[16];
    memcpy(b, uuid, sizeof b);
    snprintf(out, size, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

static enum status query(const struct cuda_driver *driver, int ordinal, struct device_info *out)
{
    struct device_info info;
    memset(&info, 0, sizeof info);
    cuda_device device;
    cuda_result result = driver->device_get(&device, ordinal);
    if (result == CUDA_INVALID_DEVICE)
        return status_set(STATUS_NOT_FOUND, "no CUDA device '%d'", ordinal);
    enum status status = cuda_check(driver, result, "cuDeviceGet");
    if (status)
        return status;

    cuda_uuid uuid;
    size_t memory = 0;
    status = CUDA_CALL(driver, device_get_name, info.name, sizeof info.name - 1, device);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, device_get_uuid, &uuid, device);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, device_get_pci_bus_id, info.pci, sizeof info.pci - 1, device);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, device_total_mem, &memory, device);
    if (status != STATUS_OK)
        return status;
    uuid_text(&uuid, info.uuid, sizeof info.uuid);
    for (char *c = info.pci; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    info.memory_bytes = memory;

    const struct {
        enum cuda_abi_constant which;
        int32_t *value;
    } needed[] = {
        {CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT, &info.sms},
        {CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &info.major},
        {CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &info.minor},
        {CUDA_ATTRIBUTE_COMPUTE_MODE, &info.compute_mode},
    };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        status = attribute(driver, device, needed[i].which, needed[i].value);
        if (status)
            return status;
    }

    /* Not every driver has these two, and we can do without: no error, and none remembered. */
    int value = 0;
    if (driver->device_get_attribute(&value, (cuda_device_attribute)CUDA_ATTRIBUTE_CLOCK_RATE,
                                     device) == CUDA_SUCCESS_)
        info.clock_khz = value;
    info.mps_enabled = -1;
    if (driver->device_get_attribute(&value, (cuda_device_attribute)CUDA_ATTRIBUTE_MPS_ENABLED,
                                     device) == CUDA_SUCCESS_)
        info.mps_enabled = value != 0;

    *out = info;
    return STATUS_OK;
}

enum status device_query(const struct cuda_driver *driver, int ordinal, struct device_info *out)
{
    enum status status = device_init(driver);
    return status ? status : query(driver, ordinal, out);
}

enum status device_prove(const struct device_info *info, const char *uuid, bool over_mps)
{
    if (strncmp(info->uuid, uuid, sizeof info->uuid) != 0)
        return status_set(STATUS_WORKER, "the driver gave GPU %s instead of %.*s", info->uuid,
                          (int)sizeof info->uuid, uuid);
    if (over_mps && info->mps_enabled < 0)
        return status_set(STATUS_UNSUPPORTED, "this driver does not report whether MPS is on");
    if (over_mps && info->mps_enabled == 0)
        return status_set(STATUS_WORKER, "not attached to the MPS daemon: the driver fell back to "
                                         "time slicing");
    if (!over_mps && info->mps_enabled == 1)
        return status_set(STATUS_WORKER, "attached to an MPS daemon where MPS must be off");
    return STATUS_OK;
}

enum status device_list_query(const struct cuda_driver *driver, struct device_list *out)
{
    struct device_list list;
    memset(&list, 0, sizeof list);
    list.magic = DEVICE_LIST_MAGIC;
    list.version = DEVICE_LIST_VERSION;

    enum status status = device_init(driver);
    if (status)
        return status;
    int version = 0, count = 0;
    status = CUDA_CALL(driver, driver_get_version, &version);
    if (status)
        return status;
    status = CUDA_CALL(driver, device_get_count, &count);
    if (status)
        return status;
    if (count <= 0)
        return no_device();

    list.driver_version = version;
    list.visible = (uint32_t)count;
    for (int i = 0; i < count && i < DEVICE_LIST_MAX; i++) {
        status = query(driver, i, &list.devices[i]);
        if (status)
            return status;
        list.count++;
    }
    *out = list;
    return STATUS_OK;
}

static int is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

enum status device_list_check(const struct device_list *list, size_t bytes)
{
    if (bytes != sizeof *list)
        return status_set(STATUS_PROTOCOL, "device list: %zu bytes instead of %zu", bytes,
                          sizeof *list);
    if (list->magic != DEVICE_LIST_MAGIC)
        return status_set(STATUS_PROTOCOL, "device list: wrong magic number");
    if (list->version != DEVICE_LIST_VERSION)
        return status_set(STATUS_PROTOCOL, "device list: version %u instead of %d", list->version,
                          DEVICE_LIST_VERSION);
    if (list->count < 1 || list->count > DEVICE_LIST_MAX || list->visible < list->count)
        return status_set(STATUS_PROTOCOL, "device list: count %u is out of range", list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct device_info *info = &list->devices[i];
        if (!is_text(info->name, sizeof info->name) || !is_text(info->uuid, sizeof info->uuid) ||
            !is_text(info->pci, sizeof info->pci))
            return status_set(STATUS_PROTOCOL, "device list: a text of device %u has no end", i);
    }
    return STATUS_OK;
}
