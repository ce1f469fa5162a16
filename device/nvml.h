/*
 * The state of a GPU while we measure: clocks, throttling, power, who else computes on it. Read
 * through NVML where the machine has it, loaded at run time; nothing depends on it.
 *
 * Our own declarations of the few entry points used; their meaning, types and values are those of
 * https://docs.nvidia.com/deploy/nvml-api (device queries, system queries, device enumerations).
 *
 * Order: nvml_open(), any number of nvml_device_snapshot() and, also from another thread,
 * nvml_device_sample(), nvml_close(). NVML makes no CUDA context, so the orchestrator may use it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

typedef int nvml_return; /* 0 is success */
typedef struct nvml_device_opaque *nvml_device;

/* nvmlProcessInfo_t of the _v3 query. */
struct nvml_process {
    unsigned int pid;
    unsigned long long used_bytes;
    unsigned int gpu_instance, compute_instance;
};

/* nvmlUtilization_t: percent of the time of the last sampling period. */
struct nvml_utilisation {
    unsigned int gpu, memory;
};

/* nvmlMemory_t and nvmlMemory_v2_t, bytes. Only the second has what the driver keeps for itself
 * (reserved), which is a part of `used` in the first. */
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_memory_v2 {
    unsigned int version; /* NVML_MEMORY_V2 */
    unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_V2 ((unsigned int)sizeof(struct nvml_memory_v2) | 2u << 24)

/* X(field, exported symbol, driver release that brought it (0: all that we support), REQUIRED or
 * OPTIONAL, return type, parameters) */
#define NVML_SYMBOLS(X)                                                                            \
    X(init, nvmlInit_v2, 0, REQUIRED, nvml_return, (void))                                         \
    X(shutdown, nvmlShutdown, 0, REQUIRED, nvml_return, (void))                                    \
    X(error_string, nvmlErrorString, 0, REQUIRED, const char *, (nvml_return result))              \
    X(driver_version, nvmlSystemGetDriverVersion, 0, REQUIRED, nvml_return,                        \
      (char *version, unsigned int length))                                                        \
    X(handle_by_uuid, nvmlDeviceGetHandleByUUID, 0, REQUIRED, nvml_return,                         \
      (const char *uuid, nvml_device *device))                                                     \
    X(processes, nvmlDeviceGetComputeRunningProcesses_v3, 510, OPTIONAL, nvml_return,              \
      (nvml_device device, unsigned int *count, struct nvml_process *infos))                       \
    X(mig_mode, nvmlDeviceGetMigMode, 450, OPTIONAL, nvml_return,                                  \
      (nvml_device device, unsigned int *current, unsigned int *pending))                          \
    X(clock, nvmlDeviceGetClockInfo, 0, OPTIONAL, nvml_return,                                     \
      (nvml_device device, int type, unsigned int *mhz))                                           \
    X(power, nvmlDeviceGetPowerUsage, 0, OPTIONAL, nvml_return,                                    \
      (nvml_device device, unsigned int *milliwatts))                                              \
    X(event_reasons, nvmlDeviceGetCurrentClocksEventReasons, 535, OPTIONAL, nvml_return,           \
      (nvml_device device, unsigned long long *reasons))                                           \
    X(throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons, 0, OPTIONAL, nvml_return,       \
      (nvml_device device, unsigned long long *reasons))                                           \
    X(persistence_mode, nvmlDeviceGetPersistenceMode, 0, OPTIONAL, nvml_return,                    \
      (nvml_device device, int *mode))                                                             \
    X(total_energy, nvmlDeviceGetTotalEnergyConsumption, 0, OPTIONAL, nvml_return,                 \
      (nvml_device device, unsigned long long *millijoules))                                       \
    X(utilisation, nvmlDeviceGetUtilizationRates, 0, OPTIONAL, nvml_return,                        \
      (nvml_device device, struct nvml_utilisation * rates))                                       \
    X(memory_v2, nvmlDeviceGetMemoryInfo_v2, 510, OPTIONAL, nvml_return,                           \
      (nvml_device device, struct nvml_memory_v2 * memory))                                        \
    X(memory, nvmlDeviceGetMemoryInfo, 0, OPTIONAL, nvml_return,                                   \
      (nvml_device device, struct nvml_memory * memory))                                           \
    X(max_clock, nvmlDeviceGetMaxClockInfo, 0, OPTIONAL, nvml_return,                              \
      (nvml_device device, int type, unsigned int *mhz))                                           \
    X(power_limit, nvmlDeviceGetEnforcedPowerLimit, 0, OPTIONAL, nvml_return,                      \
      (nvml_device device, unsigned int *milliwatts))                                              \
    X(temperature, nvmlDeviceGetTemperature, 0, OPTIONAL, nvml_return,                             \
      (nvml_device device, int sensor, unsigned int *celsius))

struct nvml {
#define NVML_FIELD(field, symbol, version, need, result, parameters) result(*field) parameters;
    NVML_SYMBOLS(NVML_FIELD)
#undef NVML_FIELD
    void *library;
};

/* Why the clock is below its highest: bits of nvml_snapshot.throttle_reasons. */
enum nvml_throttle {
    NVML_THROTTLE_IDLE = 0x1,           /* nothing runs: no fault */
    NVML_THROTTLE_CLOCKS_SETTING = 0x2, /* a user set the clocks */
    NVML_THROTTLE_POWER_CAP = 0x4,      /* software power cap */
    NVML_THROTTLE_HW_SLOWDOWN = 0x8,    /* heat or power, by hardware */
    NVML_THROTTLE_SYNC_BOOST = 0x10,    /* follows another GPU of its group */
    NVML_THROTTLE_SW_THERMAL = 0x20,
    NVML_THROTTLE_HW_THERMAL = 0x40,
    NVML_THROTTLE_HW_POWER_BRAKE = 0x80,
    NVML_THROTTLE_DISPLAY_CLOCK = 0x100,
};

#define NVML_PROCESS_MAX 128

/* Each value counts only where its known_ flag is true: a GPU, a virtual machine or a container may
 * keep any of them from us. */
struct nvml_snapshot {
    bool known_driver, known_throttle, known_mig, known_persistence, known_processes;
    char driver_version[96];   /* "580.65.06" */
    uint64_t throttle_reasons; /* enum nvml_throttle bits, and any that are newer */
    bool mig_enabled;
    bool persistence_enabled;
    uint32_t processes; /* that hold a compute context; over NVML_PROCESS_MAX, pids[] is empty */
    /* As the driver numbers them: in a container, not always the numbers seen inside. */
    uint32_t pids[NVML_PROCESS_MAX];
};

/* What changes from moment to moment on a GPU, read often: a few NVML queries a sample, each of
 * which may be missing, refused, or take milliseconds. */
struct nvml_sample {
    bool known_energy, known_power, known_sm_clock, known_memory_clock, known_utilisation;
    bool known_memory, known_temperature, known_throttle;
    uint64_t energy_millijoules; /* of the whole board, since the driver was loaded */
    uint64_t memory_used_bytes; /* by processes; without the driver's own where reserved is known */
    uint64_t throttle_reasons;  /* enum nvml_throttle bits */
    uint32_t power_milliwatts;  /* of the whole board; averaged over a second by newer GPUs */
    uint32_t sm_clock_mhz, memory_clock_mhz;
    uint32_t utilisation_percent; /* of the time some kernel ran, over the last sampling period */
    uint32_t temperature_celsius;
};

/* What holds until the GPU's settings change; 0 where it is not known. */
struct nvml_limits {
    uint32_t max_sm_clock_mhz;
    uint32_t power_limit_milliwatts; /* that is enforced now */
    bool known_reserved;             /* memory_used_bytes of the samples is the processes' alone */
};

/* Loads and starts NVML; path NULL: its own name. STATUS_NOT_FOUND: not on this machine, or no
 * driver is loaded; STATUS_UNSUPPORTED: too old or not permitted. Not errors for a user: go on
 * without. *out is set only on success. */
enum status nvml_open(const char *path, struct nvml *out);

/* Reads what can be read of the GPU with this UUID ("GPU-..."). STATUS_NOT_FOUND: NVML does not
 * know it. *out is set only on success. */
enum status nvml_device_snapshot(const struct nvml *nvml, const char *uuid,
                                 struct nvml_snapshot *out);

/* The GPU with this UUID. STATUS_NOT_FOUND: NVML does not know it. *out is set only on success. */
enum status nvml_device_find(const struct nvml *nvml, const char *uuid, nvml_device *out);

/* Reads what the GPU does now. A value counts only where its known_ flag is true. */
void nvml_device_sample(const struct nvml *nvml, nvml_device device, struct nvml_sample *out);
void nvml_device_limits(const struct nvml *nvml, nvml_device device, struct nvml_limits *out);

/* The processes that hold a compute context on the GPU, as the driver numbers them; more than
 * NVML_PROCESS_MAX are counted but not listed. False where NVML does not count them. */
bool nvml_device_processes(const struct nvml *nvml, nvml_device device, uint32_t *count,
                           uint32_t pids[NVML_PROCESS_MAX]);

/* Stops NVML and zeroes the struct. Fine on a zeroed one. */
void nvml_close(struct nvml *nvml);

/* The bits in words, comma-separated ("power cap, hw thermal"); "none" for 0. Returns text. */
const char *nvml_throttle_text(uint64_t reasons, char *text, size_t size);
