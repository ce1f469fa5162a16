/*
 * An NVML with one GPU, for tests/unit/test_device. It lacks the newer name of the clock reasons
 * and the persistence mode, and keeps the power to itself. FAKE_NVML: "no-driver" fails to start,
 * "crowded" has more processes than anybody asks for.
 */
#include <stdlib.h>
#include <string.h>

#include "device/nvml.h"

#define nvmlDeviceGetCurrentClocksEventReasons fake_withheld_reasons
#define nvmlDeviceGetPersistenceMode fake_withheld_persistence
#define DECLARE(field, symbol, version, need, result, parameters) result symbol parameters;
NVML_SYMBOLS(DECLARE)

static int mode_is(const char *mode)
{
    const char *text = getenv("FAKE_NVML");
    return text && strcmp(text, mode) == 0;
}

nvml_return nvmlInit_v2(void)
{
    return mode_is("no-driver") ? 9 : 0;
}

nvml_return nvmlShutdown(void)
{
    return 0;
}

const char *nvmlErrorString(nvml_return result)
{
    return result == 9 ? "Driver Not Loaded" : "Not Found";
}

nvml_return nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    if (length < 10)
        return 7;
    memcpy(version, "580.65.06", 10);
    return 0;
}

nvml_return nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device)
{
    static char gpu;
    if (strcmp(uuid, "GPU-one") != 0)
        return 6;
    *device = (nvml_device)(void *)&gpu;
    return 0;
}

nvml_return nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned int *count,
                                                    struct nvml_process *infos)
{
    (void)device;
    unsigned int capacity = *count;
    *count = mode_is("crowded") ? capacity + 1 : 2;
    if (*count > capacity)
        return 7;
    for (unsigned int i = 0; i < *count; i++)
        infos[i] = (struct nvml_process){100 + i, 1 << 20, ~0u, ~0u};
    return 0;
}

nvml_return nvmlDeviceGetMigMode(nvml_device device, unsigned int *current, unsigned int *pending)
{
    (void)device;
    *current = 0;
    *pending = 1;
    return 0;
}

nvml_return nvmlDeviceGetClockInfo(nvml_device device, int type, unsigned int *mhz)
{
    (void)device;
    *mhz = type == 1 ? 1980 : 345;
    return 0;
}

nvml_return nvmlDeviceGetPowerUsage(nvml_device device, unsigned int *milliwatts)
{
    (void)device;
    *milliwatts = 1;
    return 3;
}

nvml_return nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device,
                                                      unsigned long long *reasons)
{
    (void)device;
    *reasons = 0x44;
    return 0;
}
