#include "orchestrator/record/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "common/json.h"
#include "orchestrator/session/emulation.h"

static json_t *describe_gpu(const struct session *session, unsigned number)
{
    const struct device_info *gpu = gpu_at(session->gpus, number);
    const struct nvml_limits limits = telemetry_limits(session->telemetry, number);
    char capability[16];
    snprintf(capability, sizeof capability, "%d.%d", gpu->major, gpu->minor);
    return json_pack(
        "{s:s, s:s, s:i, s:I, s:s, s:s, s:b, s:o*, s:o*}", "name", gpu->name, "uuid", gpu->uuid,
        "sms", (int)gpu->sms, "memory", (json_int_t)gpu->memory_bytes, "compute_capability",
        capability, "pci", gpu->pci, "emulated", (int)session->emulated, "max_sm_clock_mhz",
        limits.max_sm_clock_mhz ? json_integer(limits.max_sm_clock_mhz) : NULL, "power_limit_w",
        limits.power_limit_milliwatts ? json_real(limits.power_limit_milliwatts / 1e3) : NULL);
}

static void add_setting(void *header, const char *field, const char *value)
{
    json_object_set_new(header, field, json_text(value));
}

enum status record_add_machine(const struct session *session, json_t *header)
{
    struct utsname system;
    char topology[256], driver[SESSION_CUDA_TEXT], kernel[256], model[256], cpus[1024];
    uint64_t allowed[BIND_WORDS];
    uname(&system);
    bind_cpu_model(session->topology, model, sizeof model);
    bind_process_mask(session->topology, BIND_NONE, 0, allowed);
    bind_topology_summary(session->topology, topology, sizeof topology);
    snprintf(kernel, sizeof kernel, "%s %s", system.sysname, system.release);
    json_t *values = json_pack(
        "{s:o, s:s, s:i, s:f, s:s, s:o, s:s}", "host", json_text(system.nodename), "kernel", kernel,
        "cpus", (int)bind_cpu_count(session->topology), "cpu_quota", bind_cpu_quota(), "topology",
        topology, "gpu", describe_gpu(session, 0), "driver", session_cuda(session, driver));
    if (values && *model)
        json_object_set_new(values, "cpu_model", json_string(model));
    if (values)
        json_object_set_new(values, "cpu_list",
                            json_string(bind_cpus_text(allowed, cpus, sizeof cpus)));
    if (session->gpus->count > 1) {
        json_t *all = json_array();
        for (unsigned i = 0; i < session->gpus->count; i++)
            json_array_append_new(all, describe_gpu(session, i));
        json_object_set_new(values, "gpus", all);
    }
    /* Nodes of one machine have one host name. */
    const char *node = getenv("SLURMD_NODENAME");
    if (values && node && *node)
        json_object_set_new(values, "slurm_node", json_text(node));
    if (session->emulated)
        emulation_each_setting(add_setting, values);
    int result = values ? json_object_update(header, values) : -1;
    json_decref(values);
    return result == 0 ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory for the header");
}
