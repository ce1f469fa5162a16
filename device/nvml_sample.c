#include "device/nvml_sample.h"

/* Values of the API that we pass or compare. */
enum {
    RETURN_SUCCESS = 0,
    CLOCK_SM = 1,
    CLOCK_MEMORY = 2,
    TEMPERATURE_GPU = 0,
};

enum status nvml_device_find(const struct nvml *nvml, const char *uuid, nvml_device *out)
{
    nvml_device device = NULL;
    nvml_return result = nvml->handle_by_uuid(uuid, &device);
    if (result != RETURN_SUCCESS) {
        const char *text = nvml->error_string(result);
        return status_set(STATUS_NOT_FOUND, "NVML has no GPU '%s': %s (%d)", uuid,
                          text ? text : "no text", result);
    }
    *out = device;
    return STATUS_OK;
}

/* The newer query first; a driver has one or both. */
static bool memory_used(const struct nvml *nvml, nvml_device device, uint64_t *used, bool *reserved)
{
    struct nvml_memory_v2 newer = {.version = NVML_MEMORY_V2};
    struct nvml_memory older = {0};
    *reserved = nvml->memory_v2 && nvml->memory_v2(device, &newer) == RETURN_SUCCESS;
    if (*reserved) {
        *used = newer.used;
        return true;
    }
    if (!nvml->memory || nvml->memory(device, &older) != RETURN_SUCCESS)
        return false;
    *used = older.used;
    return true;
}

void nvml_device_sample(const struct nvml *nvml, nvml_device device, struct nvml_sample *out)
{
    struct nvml_sample sample = {0};
    unsigned long long wide = 0;
    unsigned int value = 0;
    struct nvml_utilisation rates = {0};
    bool reserved;
    /* The energy first: it is what the caller's time stamp is for. */
    if (nvml->total_energy && nvml->total_energy(device, &wide) == RETURN_SUCCESS) {
        sample.known_energy = true;
        sample.energy_millijoules = wide;
    }
    if (nvml->power && nvml->power(device, &value) == RETURN_SUCCESS) {
        sample.known_power = true;
        sample.power_milliwatts = value;
    }
    if (nvml->clock && nvml->clock(device, CLOCK_SM, &value) == RETURN_SUCCESS) {
        sample.known_sm_clock = true;
        sample.sm_clock_mhz = value;
    }
    if (nvml->clock && nvml->clock(device, CLOCK_MEMORY, &value) == RETURN_SUCCESS) {
        sample.known_memory_clock = true;
        sample.memory_clock_mhz = value;
    }
    if (nvml->utilisation && nvml->utilisation(device, &rates) == RETURN_SUCCESS) {
        sample.known_utilisation = true;
        sample.utilisation_percent = rates.gpu;
    }
    if (nvml->temperature && nvml->temperature(device, TEMPERATURE_GPU, &value) == RETURN_SUCCESS) {
        sample.known_temperature = true;
        sample.temperature_celsius = value;
    }
    if ((nvml->event_reasons && nvml->event_reasons(device, &wide) == RETURN_SUCCESS) ||
        (nvml->throttle_reasons && nvml->throttle_reasons(device, &wide) == RETURN_SUCCESS)) {
        sample.known_throttle = true;
        sample.throttle_reasons = wide;
    }
    sample.known_memory = memory_used(nvml, device, &sample.memory_used_bytes, &reserved);
    *out = sample;
}

void nvml_device_limits(const struct nvml *nvml, nvml_device device, struct nvml_limits *out)
{
    struct nvml_limits limits = {0};
    unsigned int value = 0;
    uint64_t used;
    if (nvml->max_clock && nvml->max_clock(device, CLOCK_SM, &value) == RETURN_SUCCESS)
        limits.max_sm_clock_mhz = value;
    if (nvml->power_limit && nvml->power_limit(device, &value) == RETURN_SUCCESS)
        limits.power_limit_milliwatts = value;
    memory_used(nvml, device, &used, &limits.known_reserved);
    *out = limits;
}
