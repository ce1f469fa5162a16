#include "orchestrator/doctor.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "device/nvml.h"
#include "orchestrator/exit_status.h"
#include "orchestrator/limits_command.h"
#include "orchestrator/session.h"

enum verdict { OK, WARNING, PROBLEM };

struct doctor {
    unsigned warnings, problems;
};

/* One finding; advice is what to do, NULL when all is well. */
static void say(struct doctor *doctor, enum verdict verdict, const char *advice, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

static void say(struct doctor *doctor, enum verdict verdict, const char *advice, const char *format,
                ...)
{
    static const char *const words[] = {"ok", "warning", "problem"};
    va_list args;
    printf("%-8s ", words[verdict]);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    if (advice && verdict != OK)
        printf("         -> %s\n", advice);
    doctor->warnings += verdict == WARNING;
    doctor->problems += verdict == PROBLEM;
}

static void check_gpu(struct doctor *doctor, const struct session *session)
{
    const struct device_info *gpu = &session->gpu;
    if (session->emulated) {
        say(doctor, session->emulated_by_default ? WARNING : OK,
            "for real numbers, run where 'nvidia-smi' shows a GPU", "GPU: %s (no real numbers)%s",
            gpu->name, session->emulated_by_default ? "; no NVIDIA driver here" : "");
        return;
    }
    say(doctor, OK, NULL, "GPU: %s, %d multiprocessors, %.0f GiB, compute capability %d.%d",
        gpu->name, (int)gpu->sms, (double)gpu->memory_bytes / (1 << 30), (int)gpu->major,
        (int)gpu->minor);
    say(doctor, OK, NULL, "driver: supports CUDA %d.%d", session->driver_version / 1000,
        session->driver_version % 1000 / 10);
    if (gpu->compute_mode == CUDA_COMPUTE_MODE_EXCLUSIVE_PROCESS)
        say(doctor, WARNING,
            "layouts with several processes and no MPS cannot run; an administrator changes it "
            "with 'nvidia-smi -c DEFAULT'",
            "compute mode: EXCLUSIVE_PROCESS");
    else
        say(doctor, OK, NULL, "compute mode: default");
}

static void check_nvml(struct doctor *doctor, const struct session *session)
{
    struct nvml nvml;
    struct nvml_snapshot now;
    char reasons[128];
    if (session->emulated)
        return;
    if (nvml_open(NULL, &nvml) != STATUS_OK) {
        say(doctor, WARNING, "install the driver's libnvidia-ml (it belongs to nvidia-smi)",
            "NVML: %s", status_text());
        return;
    }
    if (nvml_device_snapshot(&nvml, session->gpu.uuid, &now) != STATUS_OK) {
        say(doctor, WARNING, NULL, "NVML: %s", status_text());
        nvml_close(&nvml);
        return;
    }
    if (now.known_driver)
        say(doctor, OK, NULL, "driver release: %s", now.driver_version);
    if (now.known_mig && now.mig_enabled)
        say(doctor, WARNING, "measure a GPU without MIG, or expect one instance's numbers",
            "MIG is on");
    if (now.known_processes && now.processes > 0)
        say(doctor, WARNING, "see 'nvidia-smi'; measure when the GPU is yours alone",
            "%u process%s on this GPU besides mpsweep", now.processes,
            now.processes == 1 ? "" : "es");
    else if (now.known_processes)
        say(doctor, OK, NULL, "no other process uses this GPU");
    if (now.known_throttle && now.throttle_reasons & ~(uint64_t)NVML_THROTTLE_IDLE)
        say(doctor, WARNING, "see 'nvidia-smi -q -d PERFORMANCE'", "clocks are held down: %s",
            nvml_throttle_text(now.throttle_reasons, reasons, sizeof reasons));
    nvml_close(&nvml);
}

static void check_mps(struct doctor *doctor, struct session *session)
{
    if (session_set_mps(session, true) != STATUS_OK) {
        say(doctor, PROBLEM,
            "install the driver's MPS programs (Debian, Ubuntu: nvidia-cuda-mps or "
            "nvidia-compute-utils-NNN), or sweep layouts without MPS",
            "MPS: %s", status_text());
        return;
    }
    say(doctor, OK, NULL, "MPS: a private daemon starts and answers");
    if (session_set_mps(session, false) != STATUS_OK)
        say(doctor, PROBLEM, NULL, "MPS: %s", status_text());
}

static void check_mps_limits(struct doctor *doctor, const struct session *session)
{
    char text[512];
    enum status status = limits_describe(session, text, sizeof text);
    say(doctor, status == STATUS_OK || status == STATUS_NOT_FOUND ? OK : WARNING,
        "find them again: mpsweep doctor --limits", "MPS limits: %s", text);
}

static void check_cpus(struct doctor *doctor, const struct session *session)
{
    char text[256];
    unsigned cpus = bind_cpu_count(session->topology);
    double quota = bind_cpu_quota();
    say(doctor, OK, NULL, "CPUs: %s", bind_topology_summary(session->topology, text, sizeof text));
    say(doctor, OK, NULL, "binding: %s",
        bind_describe(session->topology, BIND_NEAR, text, sizeof text));
    if (quota > 0 && quota < cpus)
        say(doctor, WARNING, "give the container as many CPUs as it shows, or fewer workers",
            "CPU quota: %.3g of the %u CPUs that this container shows", quota, cpus);
    if (cpus < 8)
        say(doctor, session->emulated ? OK : WARNING,
            "expect layouts with more workers than CPUs to be limited by them; try --schedule "
            "block",
            "only %u CPUs", cpus);
}

static void check_limits(struct doctor *doctor)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < 1024)
        say(doctor, WARNING, "ulimit -n 4096", "open files: limit of %llu",
            (unsigned long long)files.rlim_cur);
    else
        say(doctor, OK, NULL, "open files: limit of %llu", (unsigned long long)files.rlim_cur);
    struct rlimit locked;
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY &&
        locked.rlim_cur < (64 << 10))
        say(doctor, WARNING, "ulimit -l unlimited", "locked memory: limit of %llu bytes",
            (unsigned long long)locked.rlim_cur);
}

static void check_gnuplot(struct doctor *doctor)
{
    const char *const argv[] = {"gnuplot", "--version", NULL};
    const struct child_options options = {
        .argv = argv, .output_cap = 256, .deadline_ns = clock_now_ns() + 10 * NS_PER_S};
    struct child_result result;
    if (child_run(&options, &result) != STATUS_OK) {
        say(doctor, WARNING, "apt-get install gnuplot-nox", "plots: no gnuplot");
        return;
    }
    result.output[strcspn(result.output, "\n")] = '\0';
    say(doctor, OK, NULL, "plots: %s", result.output);
    child_result_release(&result);
}

int doctor_command(const char *device)
{
    struct doctor doctor = {0};
    struct session session;
    const struct session_request request = {.device = device};
    enum status status = session_open(&request, &session);
    if (status != STATUS_OK) {
        bool emulated = device && strcmp(device, "emulated") == 0;
        say(&doctor, PROBLEM,
            emulated ? "build or install mpsweep again: the emulated GPU is a part of it"
            : status == STATUS_NOT_FOUND
                ? "install the NVIDIA driver, or use --device emulated to try mpsweep out"
                : "'nvidia-smi' shows the GPUs and their state",
            "GPU: %s", status_text());
    } else {
        check_gpu(&doctor, &session);
        check_nvml(&doctor, &session);
        check_mps(&doctor, &session);
        check_mps_limits(&doctor, &session);
        check_cpus(&doctor, &session);
        if (session_close(&session) != STATUS_OK)
            say(&doctor, PROBLEM, NULL, "cleaning up: %s", status_text());
    }
    check_limits(&doctor);
    check_gnuplot(&doctor);
    printf("\n%s: %u problem%s, %u warning%s\n", doctor.problems ? "not ready" : "ready",
           doctor.problems, doctor.problems == 1 ? "" : "s", doctor.warnings,
           doctor.warnings == 1 ? "" : "s");
    return doctor.problems ? EXIT_BAD_SETUP : EXIT_ALL_MEASURED;
}
