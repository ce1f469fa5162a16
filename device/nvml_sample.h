/*
 * What changes from moment to moment on a GPU, read often: a few NVML queries a sample, each of
 * which may be missing, refused, or take milliseconds.
 */
#pragma once

#include "device/nvml.h"

/* Each value counts only where its known_ flag is true. */
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

/* The GPU with this UUID. STATUS_NOT_FOUND: NVML does not know it. *out is set only on success. */
enum status nvml_device_find(const struct nvml *nvml, const char *uuid, nvml_device *out);

void nvml_device_sample(const struct nvml *nvml, nvml_device device, struct nvml_sample *out);
void nvml_device_limits(const struct nvml *nvml, nvml_device device, struct nvml_limits *out);
