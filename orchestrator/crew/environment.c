#include "orchestrator/crew/environment.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "orchestrator/session/emulation.h"

__attribute__((format(printf, 2, 3))) static void add(struct gpu_environment *environment,
                                                      const char *format, ...)
{
    if (environment->count == GPU_ENVIRONMENT_SET) {
        environment->overflow = true;
        return;
    }
    char *text = environment->texts[environment->count];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, MPS_ENVIRONMENT_TEXT, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= MPS_ENVIRONMENT_TEXT)
        environment->overflow = true;
    environment->set[environment->count++] = text;
}

static void add_share(struct gpu_environment *environment, const struct gpu_share *share)
{
    if (share->active_thread_percentage != OPTION_SHARE_DEFAULT)
        add(environment, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%" PRId64,
            share->active_thread_percentage);
    if (share->priority != OPTION_SHARE_DEFAULT)
        add(environment, "CUDA_MPS_CLIENT_PRIORITY=%" PRId64, share->priority);
    /* For the one device that it sees. Always in M: the daemon of driver 580 takes a plain number
     * for megabytes, and 1T or 1.5G for 1M. */
    if (share->memory_limit_bytes != OPTION_SHARE_DEFAULT)
        add(environment, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%" PRId64 "M",
            share->memory_limit_bytes / (1 << 20));
}

enum status gpu_environment_make(const struct session *session, bool over_mps, unsigned gpu,
                                 unsigned process, unsigned connections,
                                 const struct gpu_share *share, struct gpu_environment *out)
{
    *out = (struct gpu_environment){0};
    mps_environment_inherited(out->unset, GPU_ENVIRONMENT_INHERITED);
    char emulation[EMULATION_TEXT];
    size_t unset = 0;
    while (out->unset[unset])
        unset++;
    out->unset[unset++] = "CUDA_DEVICE_MAX_CONNECTIONS";
    out->unset[unset++] = "CUDA_LAUNCH_BLOCKING";
    out->unset[unset++] = "CUDA_VISIBLE_DEVICES";
    add(out, "CUDA_MPS_PIPE_DIRECTORY=%s",
        over_mps ? mps_controller_pipe_directory(daemons_at(session->daemons, gpu))
                 : mps_controller_off_directory(daemons_at(session->daemons, 0)));
    add(out, "CUDA_MODULE_LOADING=EAGER");
    add(out, "MPSWEEP_PROCESS=%u", process);
    if (session->emulated)
        add(out, "%s", emulation_variable(session->machine_fd, emulation));
    add(out, "CUDA_VISIBLE_DEVICES=%s", gpu_at(session->gpus, gpu)->uuid);
    if (connections)
        add(out, "CUDA_DEVICE_MAX_CONNECTIONS=%u", connections);
    if (share)
        add_share(out, share);
    return out->overflow
               ? status_set(STATUS_SYSTEM, "process %u has too large an environment", process + 1)
               : STATUS_OK;
}

enum status gpu_environment_of_point(const struct session *session, const struct point *point,
                                     unsigned process, struct gpu_environment *out)
{
    unsigned number = point_number_on_gpu(point, process);
    const struct gpu_share share = {
        .active_thread_percentage = shares_at(&point->active_thread_percentage, number),
        .priority = shares_at(&point->priority, number),
        .memory_limit_bytes = shares_at(&point->memory_limit, number),
    };
    return gpu_environment_make(session, point_over_mps(point), point_gpu_of(point, process),
                                process, point->connections, &share, out);
}
