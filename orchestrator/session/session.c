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
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/paths.h"
#include "files/ending_signals.h"
#include "mps/control.h"
#include "orchestrator/session/emulation.h"

#define QUERY_NS (60 * NS_PER_S)
#define REAL_CONTROL "nvidia-cuda-mps-control"

enum status session_watch_signals(struct session *session)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    for (int i = 0; i < ENDING_SIGNALS; i++) {
        struct sigaction now;
        /* nohup and the like have it ignored, and a blocked signal would be seen all the same. */
        if (sigaction(ending_signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&set, ending_signals[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    session->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (session->signal_fd < 0)
        return status_set(STATUS_SYSTEM, "cannot watch signals: %s", strerror(errno));
    daemons_set_interrupt(session->daemons, session->signal_fd);
    return STATUS_OK;
}

enum status session_check_signals(struct session *session)
{
    struct signalfd_siginfo info;
    if (read(session->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        bool timer = info.ssi_signo == SIGALRM;
        session->late = timer && (session->late || !session->interrupted);
        session->interrupted = true;
    }
    if (!session->interrupted)
        return STATUS_OK;
    return status_set(STATUS_INTERRUPTED, session->late ? "the time is over" : "interrupted");
}

enum status session_mps_clients(struct session *session, unsigned daemon, uint64_t deadline_ns,
                                pid_t *clients, size_t capacity, size_t *count)
{
    struct mps_control control = daemons_at(session->daemons, daemon)->control;
    control.interrupt = &session->signal_fd;
    enum status status = mps_control_clients(&control, deadline_ns, clients, capacity, count);
    return status == STATUS_INTERRUPTED ? session_check_signals(session) : status;
}

enum status session_end_at(struct session *session, uint64_t deadline_ns)
{
    uint64_t now_ns = clock_now_ns();
    /* A timer of 0 is none: one that is late goes off at once. */
    uint64_t left_us = 1 + (deadline_ns > now_ns ? (deadline_ns - now_ns) / NS_PER_US : 0);
    struct itimerval timer = {0};
    if (deadline_ns)
        timer.it_value = (struct timeval){
            .tv_sec = (time_t)(left_us / 1000000),
            .tv_usec = (suseconds_t)(left_us % 1000000),
        };
    if (session->signal_fd >= 0 && setitimer(ITIMER_REAL, &timer, NULL) == 0)
        return STATUS_OK;
    return status_set(STATUS_SYSTEM, "cannot set a timer: %s", strerror(errno));
}

enum status session_watch_gpu(struct session *session)
{
    const char *uuids[DEVICE_LIST_MAX];
    for (unsigned i = 0; i < session->gpus->count; i++)
        uuids[i] = gpu_at(session->gpus, i)->uuid;
    const struct telemetry_request request = {
        .uuids = uuids,
        .gpus = session->gpus->count,
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

/* Asks the driver for its devices in a process of its own, which must not meet another user's MPS
 * daemon. The user's own CUDA_VISIBLE_DEVICES holds here, and only here. */
static enum status query_devices(struct session *session, uint64_t deadline_ns,
                                 struct device_list *list)
{
    uint64_t minute_ns = clock_now_ns() + QUERY_NS;
    struct mps_environment environment;
    const char *argv[] = {session->worker_program, "--query", NULL, NULL, NULL};
    if (*session->driver_path) {
        argv[2] = "--driver";
        argv[3] = session->driver_path;
    }
    mps_environment_make(daemons_at(session->daemons, 0)->off_directory, NULL, NULL, &environment);
    const struct child_options options = {
        .argv = argv,
        .env_set = environment.set,
        .env_unset = environment.unset,
        .output_cap = sizeof *list,
        .deadline_ns = deadline_ns && deadline_ns < minute_ns ? deadline_ns : minute_ns,
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

static enum status make_daemons(struct session *session, const struct session_request *request)
{
    const struct mps_controller_options options = {
        .guard_program = session->guard_program,
        .control_program = session->control_program,
        .probe_program = session->worker_program,
        .probe_driver = *session->driver_path ? session->driver_path : NULL,
        .directory = request->directory,
        .external = *session->external_mps ? session->external_mps : NULL,
    };
    return daemons_new(&options, &session->daemons);
}

static enum status find_external(struct session *session)
{
    const char *directory = getenv("CUDA_MPS_PIPE_DIRECTORY");
    struct stat info;
    if (!directory || directory[0] != '/')
        return status_set(STATUS_USAGE,
                          "--mps external needs the path of the daemon's pipe directory in "
                          "CUDA_MPS_PIPE_DIRECTORY; it is %s",
                          directory ? "not an absolute path" : "not set");
    if (stat(directory, &info) != 0 || !S_ISDIR(info.st_mode))
        return status_set(STATUS_USAGE, "CUDA_MPS_PIPE_DIRECTORY: '%s' is not a directory",
                          directory);
    if (snprintf(session->external_mps, MPS_ENVIRONMENT_TEXT - 32, "%s", directory) >=
        MPS_ENVIRONMENT_TEXT - 32)
        return status_set(STATUS_USAGE, "CUDA_MPS_PIPE_DIRECTORY is longer than a socket's path");
    return STATUS_OK;
}

static enum status find_programs(struct session *session, bool emulated)
{
    enum status status = path_find(PATH_HELPER, "mpsweep-worker", session->worker_program,
                                   sizeof session->worker_program);
    if (status == STATUS_OK)
        status = path_find(PATH_HELPER, "mpsweep-guard", session->guard_program,
                           sizeof session->guard_program);
    if (status == STATUS_OK && emulated)
        status =
            emulation_make(session->driver_path, session->control_program, &session->machine_fd);
    if (status == STATUS_OK && !emulated)
        snprintf(session->control_program, sizeof session->control_program, REAL_CONTROL);
    return status;
}

static enum status find_device(struct session *session, const struct session_request *request)
{
    const char *device = request->device && *request->device ? request->device : NULL;
    struct device_choice choice;
    enum status status = device_choice_parse(device, &choice);
    if (status == STATUS_OK && request->single)
        status = device_choice_check_single(device, request->single);
    if (status != STATUS_OK)
        return status;
    session->emulated = choice.emulated;
    status = find_programs(session, choice.emulated);
    if (status == STATUS_OK && request->external_mps)
        status = find_external(session);
    if (status == STATUS_OK)
        status = make_daemons(session, request);
    if (status != STATUS_OK)
        return status;
    status = query_devices(session, request->deadline_ns, &session->gpus->list);
    if (status == STATUS_NOT_FOUND && !device) {
        /* No driver, and the user named no device: start again with the emulated one. */
        struct session_request instead = *request;
        instead.device = "emulated";
        session->emulated_by_default = true;
        status = daemons_free(session->daemons);
        session->daemons = NULL;
        if (status == STATUS_OK)
            return find_device(session, &instead);
    }
    if (status != STATUS_OK && !choice.emulated && !request->no_other)
        return status_set(status, "cannot use a GPU: %s ('--device emulated' needs none)",
                          status_text());
    if (status != STATUS_OK)
        return status;
    status = gpu_set_choose(session->gpus, &choice);
    daemons_serve(session->daemons, session->gpus);
    return status;
}

enum status session_open(const struct session_request *request, struct session *out)
{
    *out = (struct session){.signal_fd = -1, .machine_fd = -1};
    out->gpus = calloc(1, sizeof *out->gpus);
    if (!out->gpus)
        return status_set(STATUS_MEMORY, "out of memory");
    raise_descriptor_limit(out);
    enum status status = find_device(out, request);
    const char *pci[DEVICE_LIST_MAX];
    for (unsigned i = 0; i < out->gpus->count; i++)
        pci[i] = gpu_at(out->gpus, i)->pci;
    if (status == STATUS_OK)
        status = bind_topology_load(pci, out->gpus->count, &out->topology);
    return session_close_on_error(out, status);
}

enum status session_close(struct session *session)
{
    telemetry_close(session->telemetry);
    enum status status = daemons_free(session->daemons);
    bind_topology_free(session->topology);
    free(session->gpus);
    session->telemetry = NULL;
    session->daemons = NULL;
    session->topology = NULL;
    session->gpus = NULL;
    if (session->machine_fd >= 0)
        close(session->machine_fd);
    if (session->signal_fd >= 0)
        close(session->signal_fd);
    session->machine_fd = session->signal_fd = -1;
    return status;
}

enum status session_close_on_error(struct session *session, enum status status)
{
    struct status_saved saved;
    if (status == STATUS_OK)
        return STATUS_OK;
    status_save(status, &saved);
    session_close(session);
    return status_restore(&saved);
}

const char *session_mark(const struct session *session)
{
    return session->emulated ? " [emulated: no real numbers]" : "";
}

void session_add_driver(const struct session *session, struct word_list *words)
{
    if (!*session->driver_path)
        return;
    word_list_add(words, "--driver");
    word_list_add(words, "%s", session->driver_path);
}

const char *session_cuda(const struct session *session, char text[SESSION_CUDA_TEXT])
{
    int version = session->gpus->list.driver_version;
    snprintf(text, SESSION_CUDA_TEXT, "%d.%d", version / 1000, version % 1000 / 10);
    return text;
}
