/*
 * An NVML with one GPU, for tests/unit/test_device. It lacks the newer name of the clock reasons
 * and the persistence mode, and keeps the power to itself. FAKE_NVML, some of these words:
 * "no-driver" fails to start, "crowded" has more processes than anybody asks for.
 *
 * Built with FAKE_NVML_WHOLE it knows every GPU and has the persistence mode, which is on; the
 * words are then also "alone" (no process), "calm" (nothing holds the clocks down), "mig",
 * "no-persistence".
 */
#include <stdlib.h>
#include <string.h>

#include "device/nvml.h"

#define nvmlDeviceGetCurrentClocksEventReasons fake_withheld_reasons
#ifndef FAKE_NVML_WHOLE
#define nvmlDeviceGetPersistenceMode fake_withheld_persistence
#endif
#define DECLARE(field, symbol, version, need, result, parameters) result symbol parameters;
NVML_SYMBOLS(DECLARE)

static int mode_is(const char *mode)
{
    const char *text = getenv("FAKE_NVML");
    return text && strstr(text, mode) != NULL;
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
#ifdef FAKE_NVML_WHOLE
    if (strncmp(uuid, "GPU-", 4) != 0)
        return 6;
#else
    if (strcmp(uuid, "GPU-one") != 0)
        return 6;
#endif
    *device = (nvml_device)(void *)&gpu;
    return 0;
}

nvml_return nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned int *count,
                                                    struct nvml_process *infos)
{
    (void)device;
    unsigned int capacity = *count;
    *count = mode_is("crowded") ? capacity + 1 : mode_is("alone") ? 0 : 2;
    if (*count > capacity)
        return 7;
    for (unsigned int i = 0; i < *count; i++)
        infos[i] = (struct nvml_process){100 + i, 1 << 20, ~0u, ~0u};
    return 0;
}

nvml_return nvmlDeviceGetMigMode(nvml_device device, unsigned int *current, unsigned int *pending)
{
    (void)device;
    *current = (unsigned int)mode_is("mig");
    *pending = 1;
    return 0;
}

#ifdef FAKE_NVML_WHOLE
nvml_return nvmlDeviceGetPersistenceMode(nvml_device device, int *mode)
{
    (void)device;
    *mode = !mode_is("no-persistence");
    return 0;
}
#endif

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
    *reasons = mode_is("calm") ? 1 : 0x44;
    return 0;
}
