/*
 * The program that runs one arm of a probe. Started by the orchestrator only:
 *   mpsweep-probe --shm FD --event FD --life FD --process N [--driver FILE] PROBE ARM
 *       calls the function of the arm in process N of those that it has
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "device/device.h"
#include "probes/probe.h"
#include "probes/watchdog.h"
#include "device/context.h"

/* What an arm gets for its end after everything that waits was released. */
#define GRACE_NS (2 * NS_PER_S)

enum { EXIT_BAD_CALL = 64, EXIT_ORPHANED = 65, EXIT_LATE = 66 };

struct arguments {
    int shm, event, life, process;
    const char *driver, *probe, *arm;
};

struct watch {
    const struct probe_shm *shm;
    unsigned process;
    int life_fd;
};

/* The orchestrator holds the other end of the pipe and never writes: its end means that the
 * orchestrator is gone. The time is over at the deadline, which is put off when the gate opens. In
 * both cases what waits is released, and what does not end then is ended. */
static void *watch_end(void *argument)
{
    const struct watch *watch = argument;
    struct probe_shm_header *header = watch->shm->header;
    struct pollfd life = {.fd = watch->life_fd};
    bool orphaned = false;
    while (!orphaned) {
        uint64_t deadline_ns = atomic_load(&header->deadline_ns);
        if (deadline_ns && clock_now_ns() >= deadline_ns)
            break;
        int ms = deadline_ns ? clock_remaining_ms(deadline_ns) : 1000;
        orphaned = poll(&life, 1, ms < 1000 ? ms : 1000) > 0;
    }
    struct probe_shm_process *process = probe_shm_process(watch->shm, watch->process);
    if (!orphaned && watch->process == 0 && !atomic_load(&process->ended))
        atomic_store(&header->late, 1);
    probe_shm_end(watch->shm);
    probe_watchdogs_release();
    clock_sleep_until(clock_now_ns() + GRACE_NS);
    /* The other thread is stuck and does not write here. */
    if (!atomic_load(&process->ended)) {
        process->status = STATUS_TIMEOUT;
        snprintf(process->error, sizeof process->error, "it did not %s in time, nor end when asked",
                 atomic_load(&process->ready) ? "finish" : "get ready");
        atomic_store(&process->ended, 1);
    }
    _exit(orphaned ? EXIT_ORPHANED : EXIT_LATE);
}

static enum status prove_gpus(const struct probe_run *run)
{
    const struct probe_shm_header *header = run->shm.header;
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < header->gpus && status == STATUS_OK; i++) {
        struct device_info info;
        status = device_query(&run->driver, (int)i, &info);
        if (status == STATUS_OK)
            status = device_prove(&info, header->uuids[i], header->over_mps);
    }
    return status;
}

static enum status run_arm(struct probe_run *run, const char *driver_path)
{
    enum status status = cuda_driver_load(driver_path, &run->driver);
    if (status == STATUS_OK)
        status = context_init_driver(&run->driver);
    if (status == STATUS_OK)
        status = prove_gpus(run);
    if (status == STATUS_OK)
        status = run->arm->run(run);
    if (status == STATUS_OK && !run->begun)
        status = status_set(STATUS_WORKER, "the arm has not begun");
    return status;
}

static int parse_number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    return end != text && !*end && value >= 0 && value < 1 << 20 ? (int)value : -1;
}

static int parse(int argc, char **argv, struct arguments *out)
{
    *out = (struct arguments){.shm = -1, .event = -1, .life = -1, .process = -1};
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (strcmp(argv[i], "--shm") == 0)
            out->shm = parse_number(argv[i + 1]);
        else if (strcmp(argv[i], "--event") == 0)
            out->event = parse_number(argv[i + 1]);
        else if (strcmp(argv[i], "--life") == 0)
            out->life = parse_number(argv[i + 1]);
        else if (strcmp(argv[i], "--process") == 0)
            out->process = parse_number(argv[i + 1]);
        else if (strcmp(argv[i], "--driver") == 0)
            out->driver = argv[i + 1];
        else
            return -1;
    }
    if (argc - i != 2)
        return -1;
    out->probe = argv[i];
    out->arm = argv[i + 1];
    return out->shm < 0 || out->event < 0 || out->life < 0 || out->process < 0 ? -1 : 0;
}

static void report(const struct probe_run *run, enum status status)
{
    struct probe_shm_process *process = probe_shm_process(&run->shm, run->process);
    /* A lack of a driver or a GPU is not a failure of the arm. */
    if (status == STATUS_CUDA && cuda_last_error() == CUDA_NOT_SUPPORTED)
        status = STATUS_UNSUPPORTED;
    process->status = (int32_t)status;
    if (status != STATUS_OK)
        snprintf(process->error, sizeof process->error, "%s", status_text());
    atomic_store(&process->ended, 1);
    /* No process waits for one that has ended, and all wait for the first. */
    if (run->process == 0 || status != STATUS_OK)
        probe_shm_end(&run->shm);
}

int main(int argc, char **argv)
{
    /* Static: the watching thread is never joined and uses them to the end. */
    static struct probe_run run;
    static struct watch watch;
    struct arguments arguments;
    pthread_t watcher;
    const struct rlimit no_core = {0};
    if (parse(argc, argv, &arguments) != 0) {
        fputs("mpsweep-probe: started by mpsweep, not by hand\n", stderr);
        return EXIT_BAD_CALL;
    }
    setrlimit(RLIMIT_CORE, &no_core);
    run.event_fd = arguments.event;
    run.process = (unsigned)arguments.process;
    run.probe = probe_find(arguments.probe);
    run.arm = run.probe ? probe_arm_find(run.probe, arguments.arm) : NULL;
    if (!run.arm || probe_shm_attach(arguments.shm, &run.shm) != STATUS_OK ||
        run.process >= run.shm.header->processes) {
        fprintf(stderr, "mpsweep-probe: %s\n",
                *status_text() ? status_text() : "no such probe, arm or process");
        return EXIT_BAD_CALL;
    }
    run.measure_ns = run.shm.header->measure_ns;
    run.seed = run.shm.header->seed;
    watch = (struct watch){.shm = &run.shm, .process = run.process, .life_fd = arguments.life};
    enum status status = STATUS_OK;
    if (pthread_create(&watcher, NULL, watch_end, &watch) != 0)
        status = status_set(STATUS_SYSTEM, "cannot start the watching thread");
    else
        pthread_detach(watcher);
    if (status == STATUS_OK)
        status = run_arm(&run, arguments.driver);
    report(&run, status);
    cuda_driver_release(&run.driver);
    return status == STATUS_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
