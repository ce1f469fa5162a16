#include "device/nvml.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "device/library.h"

#define ROW(field, symbol, version, need, result, parameters)                                      \
    {#symbol, version, LIBRARY_##need, offsetof(struct nvml, field)},

static const struct library_symbol rows[] = {NVML_SYMBOLS(ROW)};

/* Values of the API that we pass or compare. */
enum {
    RETURN_SUCCESS = 0,
    RETURN_INSUFFICIENT_SIZE = 7,
    RETURN_DRIVER_NOT_LOADED = 9,
    CLOCK_SM = 1,
    CLOCK_MEMORY = 2,
    TEMPERATURE_GPU = 0,
    FEATURE_ENABLED = 1,
    MIG_ENABLED = 1,
};

static const char *error_text(const struct nvml *nvml, nvml_return result)
{
    const char *text = nvml->error_string(result);
    return text ? text : "no text";
}

enum status nvml_open(const char *path, struct nvml *out)
{
    struct nvml nvml = {0};
    const char *name = path ? path : NVML_LIBRARY;
    const char *reason;
    nvml.library = library_open(name, &reason);
    if (!nvml.library)
        return status_set(STATUS_NOT_FOUND, "no NVML: cannot load '%s': %s", name, reason);

    enum status status = STATUS_OK;
    const struct library_symbol *missing =
        library_bind(nvml.library, rows, sizeof rows / sizeof rows[0], &nvml);
    if (missing) {
        status = status_set(STATUS_UNSUPPORTED, "NVML is too old: no '%s'", missing->name);
        goto out;
    }
    nvml_return result = nvml.init();
    if (result != RETURN_SUCCESS) {
        status =
            status_set(result == RETURN_DRIVER_NOT_LOADED ? STATUS_NOT_FOUND : STATUS_UNSUPPORTED,
                       "no NVML: nvmlInit: %s (%d)", error_text(&nvml, result), result);
        goto out;
    }
    *out = nvml;
out:
    if (status)
        library_close(nvml.library);
    return status;
}

/* Each reader takes a query that the library may lack or refuse. False: *out is unchanged. */
typedef nvml_return plain_query(nvml_device device, unsigned int *value);
typedef nvml_return typed_query(nvml_device device, int type, unsigned int *value);
typedef nvml_return wide_query(nvml_device device, unsigned long long *value);

static bool read_plain(plain_query *query, nvml_device device, uint32_t *out)
{
    unsigned int value = 0;
    bool known = query && query(device, &value) == RETURN_SUCCESS;
    if (known)
        *out = value;
    return known;
}

static bool read_typed(typed_query *query, nvml_device device, int type, uint32_t *out)
{
    unsigned int value = 0;
    bool known = query && query(device, type, &value) == RETURN_SUCCESS;
    if (known)
        *out = value;
    return known;
}

static bool read_wide(wide_query *query, nvml_device device, uint64_t *out)
{
    unsigned long long value = 0;
    bool known = query && query(device, &value) == RETURN_SUCCESS;
    if (known)
        *out = value;
    return known;
}

/* The newer name of the same query first; a driver has one or both. */
static bool read_throttle(const struct nvml *nvml, nvml_device device, uint64_t *out)
{
    return read_wide(nvml->event_reasons, device, out) ||
           read_wide(nvml->throttle_reasons, device, out);
}

static void snapshot_modes(const struct nvml *nvml, nvml_device device,
                           struct nvml_snapshot *snapshot)
{
    unsigned int current = 0, pending = 0;
    if (nvml->mig_mode && nvml->mig_mode(device, &current, &pending) == RETURN_SUCCESS) {
        snapshot->known_mig = true;
        snapshot->mig_enabled = current == MIG_ENABLED;
    }
    int mode = 0;
    if (nvml->persistence_mode && nvml->persistence_mode(device, &mode) == RETURN_SUCCESS) {
        snapshot->known_persistence = true;
        snapshot->persistence_enabled = mode == FEATURE_ENABLED;
    }
}

bool nvml_device_processes(const struct nvml *nvml, nvml_device device, uint32_t *count,
                           uint32_t pids[NVML_PROCESS_MAX])
{
    if (!nvml->processes)
        return false;
    struct nvml_process infos[NVML_PROCESS_MAX];
    unsigned int found = NVML_PROCESS_MAX;
    nvml_return result = nvml->processes(device, &found, infos);
    if (result == RETURN_INSUFFICIENT_SIZE) {
        /* Too many for us: NVML gives the count alone. */
        *count = found;
        return true;
    }
    if (result != RETURN_SUCCESS || found > NVML_PROCESS_MAX)
        return false;
    *count = found;
    for (unsigned int i = 0; i < found; i++)
        pids[i] = infos[i].pid;
    return true;
}

enum status nvml_device_find(const struct nvml *nvml, const char *uuid, nvml_device *out)
{
    nvml_device device = NULL;
    nvml_return result = nvml->handle_by_uuid(uuid, &device);
    if (result != RETURN_SUCCESS)
        return status_set(STATUS_NOT_FOUND, "NVML has no GPU '%s': %s (%d)", uuid,
                          error_text(nvml, result), result);
    *out = device;
    return STATUS_OK;
}

enum status nvml_device_snapshot(const struct nvml *nvml, const char *uuid,
                                 struct nvml_snapshot *out)
{
    nvml_device device;
    enum status status = nvml_device_find(nvml, uuid, &device);
    if (status != STATUS_OK)
        return status;
    struct nvml_snapshot snapshot;
    memset(&snapshot, 0, sizeof snapshot);
    snapshot.known_driver = nvml->driver_version(snapshot.driver_version,
                                                 sizeof snapshot.driver_version) == RETURN_SUCCESS;
    snapshot.driver_version[sizeof snapshot.driver_version - 1] = '\0';
    snapshot.known_throttle = read_throttle(nvml, device, &snapshot.throttle_reasons);
    snapshot_modes(nvml, device, &snapshot);
    snapshot.known_processes =
        nvml_device_processes(nvml, device, &snapshot.processes, snapshot.pids);
    *out = snapshot;
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
    struct nvml_utilisation rates = {0};
    bool reserved;
    /* The energy first: it is what the caller's time stamp is for. */
    sample.known_energy = read_wide(nvml->total_energy, device, &sample.energy_millijoules);
    sample.known_power = read_plain(nvml->power, device, &sample.power_milliwatts);
    sample.known_sm_clock = read_typed(nvml->clock, device, CLOCK_SM, &sample.sm_clock_mhz);
    sample.known_memory_clock =
        read_typed(nvml->clock, device, CLOCK_MEMORY, &sample.memory_clock_mhz);
    sample.known_utilisation =
        nvml->utilisation && nvml->utilisation(device, &rates) == RETURN_SUCCESS;
    sample.utilisation_percent = rates.gpu;
    sample.known_temperature =
        read_typed(nvml->temperature, device, TEMPERATURE_GPU, &sample.temperature_celsius);
    sample.known_throttle = read_throttle(nvml, device, &sample.throttle_reasons);
    sample.known_memory = memory_used(nvml, device, &sample.memory_used_bytes, &reserved);
    *out = sample;
}

void nvml_device_limits(const struct nvml *nvml, nvml_device device, struct nvml_limits *out)
{
    struct nvml_limits limits = {0};
    uint64_t used;
    read_typed(nvml->max_clock, device, CLOCK_SM, &limits.max_sm_clock_mhz);
    read_plain(nvml->power_limit, device, &limits.power_limit_milliwatts);
    memory_used(nvml, device, &used, &limits.known_reserved);
    *out = limits;
}

void nvml_close(struct nvml *nvml)
{
    if (nvml->library) {
        nvml->shutdown();
        library_close(nvml->library);
    }
    memset(nvml, 0, sizeof *nvml);
}

const char *nvml_throttle_text(uint64_t reasons, char *text, size_t size)
{
    static const struct {
        uint64_t bit;
        const char *name;
    } names[] = {
        {NVML_THROTTLE_IDLE, "idle"},
        {NVML_THROTTLE_CLOCKS_SETTING, "clocks setting"},
        {NVML_THROTTLE_POWER_CAP, "power cap"},
        {NVML_THROTTLE_HW_SLOWDOWN, "hw slowdown"},
        {NVML_THROTTLE_SYNC_BOOST, "sync boost"},
        {NVML_THROTTLE_SW_THERMAL, "sw thermal"},
        {NVML_THROTTLE_HW_THERMAL, "hw thermal"},
        {NVML_THROTTLE_HW_POWER_BRAKE, "hw power brake"},
        {NVML_THROTTLE_DISPLAY_CLOCK, "display clock"},
    };
    struct text out = {.at = text, .size = size};
    uint64_t unnamed = reasons;
    text_append(&out, "%s", reasons ? "" : "none");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!(reasons & names[i].bit))
            continue;
        text_append(&out, "%s%s", out.length ? ", " : "", names[i].name);
        unnamed &= ~names[i].bit;
    }
    if (unnamed)
        text_append(&out, "%sother 0x%llx", out.length ? ", " : "", (unsigned long long)unnamed);
    return text;
}
