/*
 * The worker program. Started by the orchestrator only:
 *   mpsweep-worker --describe-workload FILE OPTIONS
 *       loads a plug-in and reports what it is (wire/plugin_answer.h)
 *   mpsweep-worker --query [--driver FILE]
 *       writes a struct device_list to standard output
 *   mpsweep-worker --probe [--driver FILE]
 *       makes a context and reports what it got (wire/probe.h)
 *   mpsweep-worker --lengths UUID,KERNELS [--driver FILE]
 *       finds out what kernels must be given to take as long as asked (wire/lengths.h)
 *   mpsweep-worker --cupti-check [--cupti FILE]
 *       prints CUPTI's file and version (tracing/activities.h)
 *   mpsweep-worker --shm FD --event FD --life FD --process N [--driver FILE]
 *           [--trace FD [--cupti FILE]]
 *       runs the workers of process N of a crew, for one point after the other
 *   mpsweep-worker --run --shm FD --event FD --life FD --process N [--files N] [--keep FD]
 *           [--trace FD] [--log FILE] --
 *           PROGRAM [ARGUMENT...]
 *       supervises a program of the user's in their place (worker/program.h)
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/descriptor.h"
#include "device/device.h"
#include "recording/cpu.h"
#include "trace/buffer.h"
#include "tracing/activities.h"
#include "worker/engines/buffers.h"
#include "worker/engines/memory.h"
#include "worker/engines/partition.h"
#include "worker/internal.h"
#include "worker/program.h"

/* How long an orphan may take to end by itself before it ends the hard way. */
#define ORPHAN_GRACE_NS (3 * NS_PER_S)

/* What programs usually have, since plug-ins and libraries rely on it; only what is used counts. */
#define WORKER_STACK_BYTES (8 << 20)

struct arguments {
    int shm, event, life, process;
    int query, probe, run, cupti_check;
    int trace;
    const char *cupti;
    const char *lengths;
    const char *driver;
    int keep;
    unsigned long files;
    const char *log;
    char *const *command;
};

struct watch {
    const struct worker_process *process;
    int life_fd;
};

/* The orchestrator holds the other end of this pipe and never writes: its end means that the
 * orchestrator is gone, however it went. Finish the iteration and go; a worker that cannot is
 * ended, since no process is left to wait for it. */
static void *watch_parent(void *argument)
{
    const struct watch *watch = argument;
    struct pollfd end = {.fd = watch->life_fd};
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
    uint64_t deadline_ns = clock_now_ns() + ORPHAN_GRACE_NS;
    shm_stop(&watch->process->shm, 0);
    shm_dismiss(&watch->process->shm);
    clock_sleep_until(deadline_ns);
    _exit(EXIT_ORPHANED);
}

struct thread {
    pthread_t id;
    const struct worker_process *process;
    unsigned index;
};

static void *live(void *argument)
{
    struct thread *thread = argument;
    activities_name_thread(thread->index);
    worker_live(thread->process, thread->index);
    return NULL;
}

static void fail_all(const struct worker_process *process, enum status status, int cuda_error,
                     const char *text)
{
    for (unsigned i = 0; i < shm_slots(process->shm.header); i++) {
        struct shm_slot *slot = shm_slot_at(&process->shm, process->index, i);
        shm_slot_fail(slot, status, cuda_error, text);
        worker_set_state(process, slot, SHM_STATE_FAILED);
    }
}

static int run_threads(struct worker_process *process)
{
    unsigned count = process->shm.header->threads;
    struct thread *threads = calloc(count, sizeof *threads);
    pthread_attr_t attributes;
    unsigned started = 0;
    int failed = 0;
    if (!threads) {
        fail_all(process, STATUS_MEMORY, 0, "out of memory");
        return EXIT_FAILURE;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORKER_STACK_BYTES);
    for (; started < count; started++) {
        struct thread *thread = &threads[started];
        thread->process = process;
        thread->index = started;
        int error = pthread_create(&thread->id, &attributes, live, thread);
        if (error) {
            char text[128];
            struct shm_slot *slot = shm_slot_at(&process->shm, process->index,
                                                started * shm_streams(process->shm.header));
            snprintf(text, sizeof text, "cannot start thread %u: %s", started, strerror(error));
            shm_slot_fail(slot, STATUS_SYSTEM, 0, text);
            worker_set_state(process, slot, SHM_STATE_FAILED);
            shm_stop(&process->shm, 0);
            failed = 1;
            break;
        }
    }
    for (unsigned t = 0; t < started; t++)
        pthread_join(threads[t].id, NULL);
    for (unsigned i = 0; i < shm_slots(process->shm.header); i++)
        failed |=
            atomic_load(&shm_slot_at(&process->shm, process->index, i)->state) == SHM_STATE_FAILED;
    pthread_attr_destroy(&attributes);
    free(threads);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* One assignment after the other, each in threads of its own. An exit status. */
static int serve(struct worker_process *process)
{
    for (uint32_t finished = 0;;) {
        uint32_t assignment = shm_assignment_wait(&process->shm, finished);
        if (assignment == SHM_DISMISSED)
            return EXIT_SUCCESS;
        if (process->index < process->shm.header->processes) {
            enum status status = finished ? worker_process_renew(process) : STATUS_OK;
            worker_buffers_renew(process);
            if (status == STATUS_OK)
                status = partition_split(process);
            if (status != STATUS_OK) {
                fail_all(process, status, cuda_last_error(), status_text());
                return EXIT_FAILURE;
            }
            if (run_threads(process) != EXIT_SUCCESS)
                return EXIT_FAILURE;
        }
        worker_process_park(process, assignment);
        finished = assignment;
    }
}

static int run(const struct arguments *arguments)
{
    /* Static: the watching thread is never joined and uses them to the end. */
    static struct worker_process shared;
    static struct watch watch;
    struct trace_buffer trace = TRACE_BUFFER_EMPTY;
    pthread_t watcher;
    shared.event_fd = arguments->event;
    shared.index = (unsigned)arguments->process;
    if (worker_process_attach(&shared, arguments->shm) != STATUS_OK) {
        fprintf(stderr, "mpsweep-worker: %s\n", status_text());
        return EXIT_BAD_CALL;
    }
    struct shm_process *record = shm_process_at(&shared.shm, shared.index);
    atomic_store(&record->pid, (int32_t)getpid());
    watch = (struct watch){.process = &shared, .life_fd = arguments->life};
    if (pthread_create(&watcher, NULL, watch_parent, &watch) != 0) {
        fail_all(&shared, STATUS_SYSTEM, 0, "cannot start the watching thread");
        return EXIT_FAILURE;
    }
    pthread_detach(watcher);
    /* The driver's own threads inherit this mask. */
    cpu_bind_thread(record->cpus);
    worker_memory_policy(record);
    enum status status = STATUS_OK;
    if (arguments->trace >= 0)
        status = trace_buffer_attach(arguments->trace, &trace);
    if (status == STATUS_OK && trace.header)
        status = activities_open(arguments->cupti, &trace, shared.index, &shared.shm);
    if (status == STATUS_OK)
        status = worker_process_open(&shared, arguments->driver);
    if (status == STATUS_OK && !(shared.buffers = worker_buffers_new()))
        status = status_set(STATUS_MEMORY, "out of memory");
    if (status != STATUS_OK) {
        fail_all(&shared, status, cuda_last_error(), status_text());
        return EXIT_FAILURE;
    }
    int result = serve(&shared);
    activities_close();
    worker_process_close(&shared);
    return result;
}

static int query(const char *driver_path)
{
    struct cuda_driver driver;
    static struct device_list list;
    enum status status = cuda_driver_load(driver_path, &driver);
    if (status == STATUS_OK)
        status = CUDA_CALL(&driver, init, 0);
    if (status == STATUS_OK)
        status = device_list_query(&driver, &list);
    if (status != STATUS_OK) {
        fprintf(stderr, "%s\n", status_text());
        return (int)status;
    }
    return descriptor_write(STDOUT_FILENO, &list, sizeof list) == 0 ? EXIT_SUCCESS : STATUS_SYSTEM;
}

static int parse_fd(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    return end != text && !*end && value >= 0 && value < 1 << 20 ? (int)value : -1;
}

/* What follows an option, and where it goes. */
enum value { VALUE_NONE, VALUE_FD, VALUE_NUMBER, VALUE_TEXT };
static const struct {
    const char *name;
    enum value value;
    size_t offset;
} options[] = {
    {"--query", VALUE_NONE, offsetof(struct arguments, query)},
    {"--probe", VALUE_NONE, offsetof(struct arguments, probe)},
    {"--cupti-check", VALUE_NONE, offsetof(struct arguments, cupti_check)},
    {"--run", VALUE_NONE, offsetof(struct arguments, run)},
    {"--shm", VALUE_FD, offsetof(struct arguments, shm)},
    {"--event", VALUE_FD, offsetof(struct arguments, event)},
    {"--life", VALUE_FD, offsetof(struct arguments, life)},
    {"--process", VALUE_FD, offsetof(struct arguments, process)},
    {"--trace", VALUE_FD, offsetof(struct arguments, trace)},
    {"--keep", VALUE_FD, offsetof(struct arguments, keep)},
    {"--files", VALUE_NUMBER, offsetof(struct arguments, files)},
    {"--lengths", VALUE_TEXT, offsetof(struct arguments, lengths)},
    {"--driver", VALUE_TEXT, offsetof(struct arguments, driver)},
    {"--cupti", VALUE_TEXT, offsetof(struct arguments, cupti)},
    {"--log", VALUE_TEXT, offsetof(struct arguments, log)},
};
#define OPTIONS (sizeof options / sizeof options[0])

static int parse(int argc, char **argv, struct arguments *out)
{
    *out = (struct arguments){
        .shm = -1, .event = -1, .life = -1, .process = -1, .keep = -1, .trace = -1};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0 && i + 1 < argc) {
            out->command = argv + i + 1;
            break;
        }
        size_t row = 0;
        while (row < OPTIONS && strcmp(argv[i], options[row].name) != 0)
            row++;
        if (row == OPTIONS)
            return -1;
        void *at = (char *)out + options[row].offset;
        const char *value = "";
        if (options[row].value != VALUE_NONE && ++i < argc)
            value = argv[i];
        switch (options[row].value) {
        case VALUE_NONE:
            *(int *)at = 1;
            break;
        case VALUE_FD:
            *(int *)at = parse_fd(value);
            break;
        case VALUE_NUMBER:
            *(unsigned long *)at = strtoul(value, NULL, 10);
            break;
        case VALUE_TEXT:
            if (!*value)
                return -1;
            *(const char **)at = value;
            break;
        }
    }
    if (out->run != (out->command != NULL))
        return -1;
    if (out->query || out->probe || out->lengths || out->cupti_check)
        return 0;
    return out->shm < 0 || out->event < 0 || out->life < 0 || out->process < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    if (argc == 4 && strcmp(argv[1], "--describe-workload") == 0)
        return plugin_answer_run(argv[2], argv[3]);
    if (parse(argc, argv, &arguments) != 0) {
        fputs("mpsweep-worker: started by mpsweep, not by hand\n", stderr);
        return EXIT_BAD_CALL;
    }
    if (arguments.run) {
        const struct program_call call = {.shm = arguments.shm,
                                          .event = arguments.event,
                                          .life = arguments.life,
                                          .process = arguments.process,
                                          .kept = arguments.keep,
                                          .trace = arguments.trace,
                                          .files = arguments.files,
                                          .log = arguments.log,
                                          .command = arguments.command};
        return program_supervise(&call);
    }
    /* A crash is reported through the exit status; a core file a worker would fill the disk.
     * A program of the user's has the user's limits. */
    const struct rlimit no_core = {0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (arguments.probe)
        return worker_probe_run(arguments.driver);
    if (arguments.cupti_check)
        return activities_check_run(arguments.cupti);
    if (arguments.lengths)
        return worker_lengths_run(arguments.lengths, arguments.driver);
    return arguments.query ? query(arguments.driver) : run(&arguments);
}
