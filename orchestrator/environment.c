#include "orchestrator/environment.h"

#include <stdio.h>

#include "emul/emul_state.h"

static void add(struct gpu_environment *environment, const char *text)
{
    size_t count = 0;
    while (environment->set[count])
        count++;
    environment->set[count] = text;
}

void gpu_environment_make(const struct session *session, bool over_mps, unsigned process,
                          unsigned connections, unsigned active_thread_percentage,
                          struct gpu_environment *out)
{
    *out = (struct gpu_environment){0};
    mps_environment_inherited(out->unset, 64);
    size_t unset = 0;
    while (out->unset[unset])
        unset++;
    out->unset[unset++] = "CUDA_DEVICE_MAX_CONNECTIONS";
    out->unset[unset++] = "CUDA_LAUNCH_BLOCKING";
    out->unset[unset++] = "CUDA_VISIBLE_DEVICES";
    snprintf(out->pipe_directory, sizeof out->pipe_directory, "CUDA_MPS_PIPE_DIRECTORY=%s",
             over_mps ? mps_controller_pipe_directory(session->mps)
                      : mps_controller_off_directory(session->mps));
    add(out, out->pipe_directory);
    add(out, "CUDA_MODULE_LOADING=EAGER");
    snprintf(out->process, sizeof out->process, "MPSWEEP_PROCESS=%u", process);
    add(out, out->process);
    if (session->emulated)
        snprintf(out->device, sizeof out->device, EMUL_STATE_VARIABLE "=%d", session->emulated_fd);
    else
        snprintf(out->device, sizeof out->device, "CUDA_VISIBLE_DEVICES=%s", session->gpu.uuid);
    add(out, out->device);
    if (connections) {
        snprintf(out->connections, sizeof out->connections, "CUDA_DEVICE_MAX_CONNECTIONS=%u",
                 connections);
        add(out, out->connections);
    }
    if (active_thread_percentage) {
        snprintf(out->percentage, sizeof out->percentage, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%u",
                 active_thread_percentage);
        add(out, out->percentage);
    }
}
