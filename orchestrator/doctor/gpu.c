#include "orchestrator/doctor/internal.h"

#include <string.h>

#include "device/nvml.h"

#define ADVICE_SIZE 256

static void check_driver(struct doctor *doctor, const struct session *session, const char *release)
{
    char cuda[SESSION_CUDA_TEXT];
    doctor_report(doctor, FINDING_OK, NULL, "driver: %s%s%sCUDA %s",
                  session->emulated ? "emulated, " : "", release, *release ? ", " : "",
                  session_cuda(session, cuda));
}

static void check_compute_mode(struct doctor *doctor, const struct session *session)
{
    char advice[ADVICE_SIZE];
    snprintf(advice, sizeof advice,
             "layouts of several processes without MPS cannot run so; an administrator: nvidia-smi "
             "-i %s -c DEFAULT",
             gpu_at(session->gpus, 0)->uuid);
    if (gpu_at(session->gpus, 0)->compute_mode == CUDA_COMPUTE_MODE_EXCLUSIVE_PROCESS)
        doctor_report(doctor, FINDING_WARNING, advice, "compute mode: EXCLUSIVE_PROCESS");
    else
        doctor_report(doctor, FINDING_OK, NULL, "compute mode: default");
}

static void check_modes(struct doctor *doctor, const struct session *session,
                        const struct nvml_snapshot *now)
{
    char advice[ADVICE_SIZE];
    if (now->known_persistence) {
        snprintf(advice, sizeof advice,
                 "the first CUDA call pays the driver's start; an administrator: nvidia-smi -i %s "
                 "-pm 1",
                 gpu_at(session->gpus, 0)->uuid);
        doctor_report(doctor, now->persistence_enabled ? FINDING_OK : FINDING_WARNING, advice,
                      "persistence mode: %s", now->persistence_enabled ? "on" : "off");
    }
    if (now->known_mig) {
        snprintf(advice, sizeof advice,
                 "measure a GPU without MIG, or expect one instance's numbers; an administrator: "
                 "nvidia-smi -i %s -mig 0",
                 gpu_at(session->gpus, 0)->uuid);
        doctor_report(doctor, now->mig_enabled ? FINDING_WARNING : FINDING_OK, advice, "MIG: %s",
                      now->mig_enabled ? "on" : "off");
    }
}

static void check_activity(struct doctor *doctor, const struct nvml_snapshot *now)
{
    char reasons[128];
    if (now->known_processes && now->processes > 0)
        doctor_report(doctor, FINDING_WARNING,
                      "nvidia-smi shows them; measure when the GPU is yours alone",
                      "other processes on this GPU: %u", now->processes);
    else if (now->known_processes)
        doctor_report(doctor, FINDING_OK, NULL, "other processes on this GPU: none");
    if (now->known_throttle && now->throttle_reasons & ~(uint64_t)NVML_THROTTLE_IDLE)
        doctor_report(doctor, FINDING_WARNING, "nvidia-smi -q -d PERFORMANCE shows why",
                      "clocks are held down: %s",
                      nvml_throttle_text(now->throttle_reasons, reasons, sizeof reasons));
}

static void check_real(struct doctor *doctor, const struct session *session)
{
    struct nvml nvml;
    struct nvml_snapshot now = {0};
    enum status opened = nvml_open(NULL, &nvml);
    enum status status = opened;
    if (opened == STATUS_OK) {
        status = nvml_device_snapshot(&nvml, gpu_at(session->gpus, 0)->uuid, &now);
        nvml_close(&nvml);
    }
    char release[sizeof now.driver_version + 16] = "";
    if (now.known_driver)
        snprintf(release, sizeof release, "release %s", now.driver_version);
    check_driver(doctor, session, release);
    if (status != STATUS_OK)
        doctor_report(
            doctor, FINDING_WARNING,
            opened != STATUS_OK
                ? "install the driver's libnvidia-ml, which belongs to nvidia-smi; without "
                  "it MIG, clocks and other processes are not known"
                : "nvidia-smi -L shows the GPUs and MIG instances that there are",
            "NVML: %s", status_text());
    check_compute_mode(doctor, session);
    check_modes(doctor, session, &now);
    check_activity(doctor, &now);
}

static void check_cupti(struct doctor *doctor, const struct session *session)
{
    char found[512];
    if (session_check_cupti(session, found, sizeof found) == STATUS_OK)
        doctor_report(doctor, FINDING_OK, NULL, "CUPTI: %s", found);
    else
        doctor_report(doctor, FINDING_WARNING,
                      "only traces, 'mpsweep record', and programs that do not report their "
                      "iterations need it, and a program may bring its own",
                      "%s", status_text());
}

void doctor_check_gpu(struct doctor *doctor, const struct session *session, bool in_container)
{
    const struct device_info *gpu = gpu_at(session->gpus, 0);
    if (session->emulated) {
        doctor_report(doctor, session->emulated_by_default ? FINDING_WARNING : FINDING_OK,
                      in_container ? "for real numbers, run where 'nvidia-smi' shows a GPU, e.g. "
                                     "docker run --gpus all"
                                   : "for real numbers, run where 'nvidia-smi' shows a GPU",
                      "GPU: %s (no real numbers)%s", gpu->name,
                      session->emulated_by_default ? "; no NVIDIA driver here" : "");
        check_driver(doctor, session, "");
        check_compute_mode(doctor, session);
        check_cupti(doctor, session);
        return;
    }
    doctor_report(doctor, FINDING_OK, NULL,
                  "GPU: %s, %d multiprocessors, %.0f GiB, compute capability %d.%d", gpu->name,
                  (int)gpu->sms, (double)gpu->memory_bytes / (1 << 30), (int)gpu->major,
                  (int)gpu->minor);
    check_real(doctor, session);
    check_cupti(doctor, session);
}
