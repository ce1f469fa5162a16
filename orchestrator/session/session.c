#include "orchestrator/session/session.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/paths.h"
#include "common/text.h"
#include "emul/model/state.h"
#include "emul/model/machine.h"
#include "mps/control.h"
#include "orchestrator/plan/device_choice.h"

#define QUERY_NS (60 * NS_PER_S)
#define REAL_CONTROL "nvidia-cuda-mps-control"
#define EMULATED_CONTROL "mpsweep-emulated-mps-control"
#define EMULATED_DRIVER "mpsweep-emulated-cuda.so"

enum status session_watch_signals(struct session *session)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction now;
        /* nohup and the like have it ignored, and a blocked signal would be seen all the same. */
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&set, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    session->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (session->signal_fd < 0)
        return status_set(STATUS_SYSTEM, "cannot watch signals: %s", strerror(errno));
    mps_controller_set_interrupt(session->mps, session->signal_fd);
    return STATUS_OK;
}

enum status session_check_signals(struct session *session)
{
    struct signalfd_siginfo info;
    if (read(session->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        session->interrupted = true;
    return session->interrupted ? status_set(STATUS_INTERRUPTED, "interrupted") : STATUS_OK;
}

enum status session_watch_gpu(struct session *session)
{
    const char *uuids[DEVICE_LIST_MAX];
    for (unsigned i = 0; i < session->device_count; i++)
        uuids[i] = session->devices[i].uuid;
    const struct telemetry_request request = {
        .uuids = uuids,
        .gpus = session->device_count,
        .expected = *session->external_mps ? 1 : 0, /* the server of that daemon */
    };
    return session->emulated ? STATUS_OK : telemetry_open(&request, &session->telemetry);
}

/* A process of workers needs a descriptor here, and the usual soft limit is 1024. */
static void raise_descriptor_limit(struct session *session)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        session->files = files.rlim_cur;
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* Asks the driver for its devices in a process of its own, which must not meet a stranger's MPS
 * daemon. The user's own CUDA_VISIBLE_DEVICES holds here, and only here. */
static enum status query_devices(struct session *session, struct device_list *list)
{
    char pipe_directory[PATH_MAX + 32];
    const char *inherited[64];
    const char *argv[] = {session->worker_program, "--query", NULL, NULL, NULL};
    if (*session->driver_path) {
        argv[2] = "--driver";
        argv[3] = session->driver_path;
    }
    snprintf(pipe_directory, sizeof pipe_directory, "CUDA_MPS_PIPE_DIRECTORY=%s",
             mps_controller_off_directory(session->mps));
    const char *const set[] = {pipe_directory, NULL};
    mps_environment_inherited(inherited, sizeof inherited / sizeof inherited[0]);
    const struct child_options options = {
        .argv = argv,
        .env_set = set,
        .env_unset = inherited,
        .output_cap = sizeof *list,
        .deadline_ns = clock_now_ns() + QUERY_NS,
        .capture_stderr = true,
    };
    struct child_result result;
    enum status status = child_run(&options, &result);
    if (status != STATUS_OK)
        return status;
    if (WIFEXITED(result.wait_status) && WEXITSTATUS(result.wait_status) == 0) {
        status = device_list_check((const struct device_list *)(const void *)result.output,
                                   result.output_bytes);
        if (status == STATUS_OK)
            memcpy(list, result.output, sizeof *list);
    } else {
        char ending[64];
        char *text = result.errors ? result.errors : result.output;
        text[strcspn(text, "\n")] = '\0';
        enum status code = STATUS_SYSTEM;
        if (WIFEXITED(result.wait_status) && WEXITSTATUS(result.wait_status) <= STATUS_BUSY)
            code = (enum status)WEXITSTATUS(result.wait_status);
        status = *text ? status_set(code, "%s", text)
                       : status_set(code, "asking the driver for its devices: %s",
                                    child_ending_text(result.wait_status, ending, sizeof ending));
    }
    child_result_release(&result);
    return status;
}

static enum status check_usable(const struct device_info *gpu)
{
    if (gpu->major < 7 || (gpu->major == 7 && gpu->minor < 5))
        return status_set(STATUS_UNSUPPORTED,
                          "'%s' has compute capability %d.%d; mpsweep needs 7.5 (Turing) or newer",
                          gpu->name, gpu->major, gpu->minor);
    if (gpu->compute_mode == CUDA_COMPUTE_MODE_PROHIBITED)
        return status_set(STATUS_UNSUPPORTED,
                          "'%s' is in compute mode PROHIBITED: an administrator sets it back with "
                          "'nvidia-smi -c DEFAULT'",
                          gpu->name);
    return STATUS_OK;
}

/* The GPUs of the run among those that the driver shows. */
static enum status choose_devices(struct session *session, const struct device_choice *choice,
                                  const struct device_list *list)
{
    char name[SESSION_GPU_TEXT];
    enum status status = device_choice_find(choice, list, session->devices, &session->device_count);
    if (status != STATUS_OK)
        return status;
    session->gpu = session->devices[0];
    for (unsigned i = 0; i < session->device_count; i++)
        for (unsigned number = 0; number < list->count; number++)
            if (strcmp(session->devices[i].uuid, list->devices[number].uuid) == 0)
                session->device_numbers[i] = number;
    for (unsigned i = 0; i < session->device_count && status == STATUS_OK; i++) {
        status = check_usable(&session->devices[i]);
        if (status != STATUS_OK && session->device_count > 1)
            status = status_prefix(status, "%s: ", session_gpu_name(session, i, name));
    }
    session->driver_version = list->driver_version;
    session->gpus = list->count;
    for (unsigned i = list->count; i-- > 0;)
        if (strcmp(list->devices[i].uuid, session->gpu.uuid) != 0)
            snprintf(session->other_gpu, sizeof session->other_gpu, "%s", list->devices[i].uuid);
    return status;
}

/* The emulated driver's path is known before the controller starts; what it emulates comes later.
 */
static enum status start_controller(struct session *session, const struct session_request *request)
{
    const struct mps_controller_options options = {
        .guard_program = session->guard_program,
        .control_program = session->control_program,
        .probe_program = session->worker_program,
        .probe_driver = *session->driver_path ? session->driver_path : NULL,
        .directory = request->directory,
        .external = *session->external_mps ? session->external_mps : NULL,
    };
    return mps_controller_new(&options, &session->mps);
}

static enum status find_external(struct session *session)
{
    const char *directory = getenv("CUDA_MPS_PIPE_DIRECTORY");
    struct stat info;
    if (!directory || directory[0] != '/')
        return status_set(STATUS_USAGE,
                          "--mps external needs the path of the daemon's pipe directory in "
                          "CUDA_MPS_PIPE_DIRECTORY; it is %s",
                          directory ? "no absolute path" : "not set");
    if (stat(directory, &info) != 0 || !S_ISDIR(info.st_mode))
        return status_set(STATUS_USAGE, "CUDA_MPS_PIPE_DIRECTORY: '%s' is no directory", directory);
    if (snprintf(session->external_mps, MPS_ENVIRONMENT_TEXT - 32, "%s", directory) >=
        MPS_ENVIRONMENT_TEXT - 32)
        return status_set(STATUS_USAGE, "CUDA_MPS_PIPE_DIRECTORY is longer than a socket's path");
    return STATUS_OK;
}

static enum status find_programs(struct session *session, bool emulated)
{
    enum status status =
        path_find_helper("mpsweep-worker", session->worker_program, sizeof session->worker_program);
    if (status == STATUS_OK)
        status = path_find_helper("mpsweep-guard", session->guard_program,
                                  sizeof session->guard_program);
    if (status == STATUS_OK && emulated)
        status = path_find_helper(EMULATED_CONTROL, session->control_program,
                                  sizeof session->control_program);
    if (status == STATUS_OK && emulated)
        status =
            path_find_helper(EMULATED_DRIVER, session->driver_path, sizeof session->driver_path);
    if (status == STATUS_OK && !emulated)
        snprintf(session->control_program, sizeof session->control_program, REAL_CONTROL);
    return status;
}

static enum status find_device(struct session *session, const struct session_request *request)
{
    static struct device_list list;
    const char *device = request->device && *request->device ? request->device : NULL;
    struct device_choice choice;
    enum status status = device_choice_parse(device, &choice);
    if (status == STATUS_OK && request->single)
        status = device_choice_check_single(device, request->single);
    if (status != STATUS_OK)
        return status;
    bool emulated = choice.emulated;
    status = find_programs(session, emulated);
    if (status == STATUS_OK && emulated)
        status = emul_state_create(&session->emulated_fd);
    session->emulated = emulated;
    if (status == STATUS_OK && request->external_mps)
        status = find_external(session);
    if (status == STATUS_OK)
        status = start_controller(session, request);
    if (status != STATUS_OK)
        return status;
    status = query_devices(session, &list);
    if (status == STATUS_NOT_FOUND && !device && !request->no_fallback) {
        /* No driver, and the user named no device: start again with the emulated one. */
        struct session_request instead = *request;
        instead.device = "emulated";
        session->emulated_by_default = true;
        status = mps_controller_free(session->mps);
        session->mps = NULL;
        if (status == STATUS_OK)
            return find_device(session, &instead);
    }
    if (status != STATUS_OK && !emulated) {
        char text[512];
        snprintf(text, sizeof text, "%s", status_text());
        if (request->no_other)
            return status;
        return status_set(status, "cannot use a GPU: %s ('%s emulated' needs none)", text,
                          request->no_fallback ? "--gpu" : "--device");
    }
    if (status != STATUS_OK)
        return status;
    return choose_devices(session, &choice, &list);
}

enum status session_open(const struct session_request *request, struct session *out)
{
    *out = (struct session){.signal_fd = -1, .emulated_fd = -1};
    raise_descriptor_limit(out);
    enum status status = find_device(out, request);
    const char *pci[DEVICE_LIST_MAX];
    for (unsigned i = 0; i < out->device_count; i++)
        pci[i] = out->devices[i].pci;
    if (status == STATUS_OK)
        status = bind_topology_load(pci, out->device_count, &out->topology);
    if (status != STATUS_OK) {
        char text[512];
        snprintf(text, sizeof text, "%s", status_text());
        session_close(out);
        return status_set(status, "%s", text);
    }
    return STATUS_OK;
}

enum status session_close(struct session *session)
{
    telemetry_close(session->telemetry);
    session->telemetry = NULL;
    enum status status = session_close_daemons(session);
    bind_topology_free(session->topology);
    session->topology = NULL;
    if (session->emulated_fd >= 0)
        close(session->emulated_fd);
    if (session->signal_fd >= 0)
        close(session->signal_fd);
    session->emulated_fd = session->signal_fd = -1;
    return status;
}

const char *session_gpu_uuid(const struct session *session, unsigned number)
{
    return number == 0 ? session->gpu.uuid : session->other_gpu;
}

const char *session_gpu_name(const struct session *session, unsigned gpu,
                             char text[SESSION_GPU_TEXT])
{
    unsigned number = gpu < DEVICE_LIST_MAX ? session->device_numbers[gpu] : gpu;
    if (number == gpu)
        snprintf(text, SESSION_GPU_TEXT, "GPU %u", gpu);
    else
        snprintf(text, SESSION_GPU_TEXT, "GPU %u = device %u", gpu, number);
    return text;
}

bool session_gpus_differ(const struct session *session, char *text, size_t size)
{
    struct text out = {.at = text, .size = size};
    bool differ = false;
    for (unsigned i = 1; i < session->device_count; i++)
        differ |= strcmp(session->devices[i].name, session->gpu.name) != 0 ||
                  session->devices[i].sms != session->gpu.sms;
    for (unsigned i = 0; differ && i < session->device_count; i++)
        text_append(&out, "%s%u is %s with %d multiprocessors", i ? ", " : "", i,
                    session->devices[i].name, (int)session->devices[i].sms);
    return differ;
}

static json_t *describe_gpu(const struct session *session, unsigned number)
{
    const struct device_info *gpu = &session->devices[number];
    const struct nvml_limits limits = telemetry_limits(session->telemetry, number);
    char capability[16];
    snprintf(capability, sizeof capability, "%d.%d", gpu->major, gpu->minor);
    json_t *known = json_pack("{s:s, s:s, s:i, s:I, s:s, s:s, s:b}", "name", gpu->name, "uuid",
                              gpu->uuid, "sms", (int)gpu->sms, "memory",
                              (json_int_t)gpu->memory_bytes, "compute_capability", capability,
                              "pci", gpu->pci, "emulated", (int)session->emulated);
    if (limits.max_sm_clock_mhz)
        json_object_set_new(known, "max_sm_clock_mhz", json_integer(limits.max_sm_clock_mhz));
    if (limits.power_limit_milliwatts)
        json_object_set_new(known, "power_limit_w", json_real(limits.power_limit_milliwatts / 1e3));
    return known;
}

enum status session_describe(const struct session *session, json_t *record)
{
    struct utsname system;
    char topology[256], driver[32], kernel[256];
    uname(&system);
    bind_topology_summary(session->topology, topology, sizeof topology);
    snprintf(driver, sizeof driver, "%d.%d", session->driver_version / 1000,
             session->driver_version % 1000 / 10);
    snprintf(kernel, sizeof kernel, "%s %s", system.sysname, system.release);
    json_t *values =
        json_pack("{s:s, s:s, s:i, s:f, s:s, s:o, s:s}", "host", system.nodename, "kernel", kernel,
                  "cpus", (int)bind_cpu_count(session->topology), "cpu_quota", bind_cpu_quota(),
                  "topology", topology, "gpu", describe_gpu(session, 0), "driver", driver);
    if (session->device_count > 1) {
        json_t *all = json_array();
        for (unsigned i = 0; i < session->device_count; i++)
            json_array_append_new(all, describe_gpu(session, i));
        json_object_set_new(values, "gpus", all);
    }
    /* Nodes of one machine have one host name. jansson takes no name that is not UTF-8. */
    const char *node = getenv("SLURMD_NODENAME");
    if (values && node && *node)
        json_object_set_new(values, "slurm_node", json_string(node));
    /* What it emulates, where that is not the usual machine. */
    const char *machine = session->emulated ? getenv(EMUL_MACHINE_VARIABLE) : NULL;
    if (values && machine)
        json_object_set_new(values, "emulated_machine", json_string(machine));
    const char *effects = session->emulated ? getenv(EMUL_EFFECTS_VARIABLE) : NULL;
    if (values && effects)
        json_object_set_new(values, "emulated_effects", json_string(effects));
    int result = values ? json_object_update(record, values) : -1;
    json_decref(values);
    return result == 0 ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory for the header");
}
