#include "worker/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/descriptor.h"
#include "device/context.h"
#include "device/device.h"
#include "wire/probe.h"

static enum status look(const struct cuda_driver *driver, struct worker_probe *probe,
                        cuda_context *context)
{
    struct device_info info;
    int sms = 0;
    size_t memory_free = 0;
    enum status status = context_init_driver(driver);
    if (status == STATUS_OK)
        status = device_query(driver, 0, &info);
    if (status != STATUS_OK)
        return status;
    memcpy(probe->uuid, info.uuid, sizeof probe->uuid);
    probe->mps = info.mps_enabled;
    status = context_retain(driver, 0, context);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, ctx_set_current, *context);
    if (status == STATUS_OK)
        status = context_shares(driver, 0, &sms, &memory_free);
    probe->sms = sms;
    probe->memory_free_bytes = memory_free;
    return status;
}

static void await_input_end(void)
{
    char dropped[64];
    ssize_t got;
    do
        got = read(STDIN_FILENO, dropped, sizeof dropped);
    while (got > 0 || (got < 0 && errno == EINTR));
}

int worker_probe_run(const char *driver_path)
{
    struct cuda_driver driver;
    struct worker_probe probe;
    cuda_context context = NULL;
    memset(&probe, 0, sizeof probe);
    probe.magic = WORKER_PROBE_MAGIC;
    probe.version = WORKER_PROBE_VERSION;
    probe.mps = -1;
    enum status status = cuda_driver_load(driver_path, &driver);
    if (status == STATUS_OK)
        status = look(&driver, &probe, &context);
    if (status != STATUS_OK && cuda_last_error() == 0) {
        fprintf(stderr, "%s\n", status_text());
        return (int)status;
    }
    if (status != STATUS_OK) {
        probe.cuda_error = cuda_last_error();
        snprintf(probe.error, sizeof probe.error, "%s", status_text());
    }
    if (descriptor_write(STDOUT_FILENO, &probe, sizeof probe) != 0) {
        fprintf(stderr, "cannot write what was probed: %s\n", strerror(errno));
        return STATUS_SYSTEM;
    }
    await_input_end();
    if (context)
        driver.primary_ctx_release(0);
    cuda_driver_release(&driver);
    return EXIT_SUCCESS;
}
