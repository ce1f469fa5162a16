/*
 * A program that uses the GPU in iterations and does not know mpsweep:
 *   unaware [--kernels N] [--steps N] [--bytes N] [--threads N]
 *           [--wait stream|context|event|poll|host|other|never] [--copies plain|unified|rows]
 *           [--lookup symbol|proc|linked] [--graph] [--weights N] [--range NAME] [--forks N] [--helped]
 *           [--mode MODE]
 * It finds the driver by dlsym(), by cuGetProcAddress(), or among what it is linked with, as with
 * LD_PRELOAD. With a name an iteration is an NVTX range, in which one of another domain ends that
 * began before it: of NVTX the program has the few functions that it needs.
 * An iteration copies in, waits --steps times for --kernels launches each, and copies out; a
 * millisecond later the next begins, so that few CPUs serve many such programs. Where it never waits
 * it copies nothing out, and looks once whether the GPU is done, as an allocator does. A thread that
 * is helped leaves half of its launches to another one, as PyTorch does with gradients. With --forks N
 * processes more do that.
 * MODE, in process 1 of a layout only: exit, done (exit with status 0), crash, hang, idle (no iteration ever), random (nothing
 * repeats), cold (for the first 2.5 s one step), pipe (writes to a closed pipe).
 */
#include <dlfcn.h>
#include <getopt.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "device/cuda_abi.h"

/* The functions of a driver, which no header declares here. */
static struct {
    int (*cuInit)(unsigned);
    int (*cuDevicePrimaryCtxRetain)(void **, int);
    int (*cuCtxSetCurrent)(void *);
    int (*cuCtxSynchronize)(void);
    int (*cuStreamCreate)(void **, unsigned);
    int (*cuStreamSynchronize)(void *);
    int (*cuStreamQuery)(void *);
    int (*cuEventCreate)(void **, unsigned);
    int (*cuEventRecord)(void *, void *);
    int (*cuEventSynchronize)(void *);
    int (*cuModuleLoadData)(void **, const void *);
    int (*cuModuleGetFunction)(void **, void *, const char *);
    int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void *, void **, void **);
    int (*cuMemAlloc_v2)(unsigned long long *, size_t);
    int (*cuMemcpyHtoDAsync_v2)(unsigned long long, const void *, size_t, void *);
    int (*cuMemcpyDtoHAsync_v2)(void *, unsigned long long, size_t, void *);
    int (*cuStreamBeginCapture_v2)(void *, int);
    int (*cuStreamEndCapture)(void *, void **);
    int (*cuGraphInstantiateWithFlags)(void **, void *, unsigned long long);
    int (*cuGraphLaunch)(void *, void *);
    int (*cuLaunchHostFunc)(void *, void (*)(void *), void *);
    /* Beyond what the emulated driver has. */
    int (*cuMemcpyAsync)(unsigned long long, unsigned long long, size_t, void *);
    int (*cuMemcpy2DAsync_v2)(const cuda_copy_area *, void *);
} cuda;

static const char *const names[] = {
    "cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuCtxSynchronize", "cuStreamCreate",
    "cuStreamSynchronize", "cuStreamQuery", "cuEventCreate", "cuEventRecord", "cuEventSynchronize",
    "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel", "cuMemAlloc_v2",
    "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuStreamBeginCapture_v2", "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuLaunchHostFunc", "cuMemcpyAsync",
    "cuMemcpy2DAsync_v2"};
#define BEYOND 2

static struct {
    int kernels, steps, threads, graph, weights, forks, helped;
    size_t bytes;
    const char *wait, *copies, *mode, *range, *lookup;
} plan = {.kernels = 20, .steps = 1, .threads = 1, .bytes = 65536, .wait = "stream", .copies = "plain",
          .mode = "", .lookup = "symbol"};

static void *context, *function;
static uint64_t begun_ns;
#define COLD_NS (5 * NS_PER_S / 2)

static void check(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "unaware: %s: error %d\n", what, result);
    exit(9);
}

#define CALL(call, ...) check(cuda.call(__VA_ARGS__), #call)

static int is(const char *mode)
{
    return strcmp(plan.mode, mode) == 0;
}

typedef int (*get_proc_address)(const char *, void **, int, unsigned long long, int *);

/* Names for that have no version. */
static void *get(get_proc_address getter, const char *name)
{
    char plain[64];
    void *found = NULL;
    snprintf(plain, sizeof plain, "%s", name);
    if (strstr(plain, "_v2"))
        *strstr(plain, "_v2") = '\0';
    return getter && getter(plain, &found, 12000, 0, NULL) == 0 ? found : NULL;
}

static void load_driver(void)
{
    const char *path = getenv("MPSWEEP_DRIVER");
    void *module, *driver = RTLD_DEFAULT;
    void **at = (void **)&cuda;
    get_proc_address getter = NULL;
    if (strcmp(plan.lookup, "linked") != 0)
        driver = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (strcmp(plan.lookup, "proc") == 0)
        *(void **)&getter = dlsym(driver, "cuGetProcAddress_v2");
    size_t needed = sizeof names / sizeof names[0];
    if (strcmp(plan.copies, "plain") == 0)
        needed -= BEYOND;
    for (size_t i = 0; i < needed; i++) {
        at[i] = getter ? get(getter, names[i]) : dlsym(driver, names[i]);
        if (!at[i]) {
            fprintf(stderr, "unaware: no %s\n", names[i]);
            exit(8);
        }
    }
    /* The next after this program, wherever dlsym() comes from. */
    if (dlsym(RTLD_NEXT, "dlsym") != dlsym(RTLD_DEFAULT, "dlsym")) {
        fprintf(stderr, "unaware: RTLD_NEXT begins elsewhere\n");
        exit(8);
    }
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoadData, &module, "");
    CALL(cuModuleGetFunction, &function, module, "mpsweep_empty");
}

static void nap(void)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    nanosleep(&millisecond, NULL);
}

struct worker {
    pthread_t thread;
    void *stream, *event, *graph;
    unsigned long long memory;
    char *host;
    unsigned random;
};

static void launch(struct worker *worker, int kernels)
{
    for (int i = 0; i < kernels; i++)
        CALL(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, worker->stream, NULL, NULL);
}

static struct worker *helped;
static sem_t asked, given;
static int kernels_asked;

static void *help(void *unused)
{
    CALL(cuCtxSetCurrent, context);
    for (;;) {
        while (sem_wait(&asked) != 0)
            ;
        launch(helped, kernels_asked);
        sem_post(&given);
    }
    return unused;
}

static void launch_helped(struct worker *worker, int kernels)
{
    pthread_t thread;
    if (!helped) {
        helped = worker;
        sem_init(&asked, 0, 0);
        sem_init(&given, 0, 0);
        if (pthread_create(&thread, NULL, help, NULL) != 0)
            exit(6);
    }
    kernels_asked = kernels / 2;
    sem_post(&asked);
    while (sem_wait(&given) != 0)
        ;
    launch(worker, kernels - kernels / 2);
}

static void post(void *semaphore)
{
    sem_post(semaphore);
}

static void await_host(struct worker *worker)
{
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    CALL(cuLaunchHostFunc, worker->stream, post, &semaphore);
    while (sem_wait(&semaphore) != 0)
        ;
    sem_destroy(&semaphore);
}

static void await_by_other(struct worker *worker);

static void await(struct worker *worker)
{
    if (strcmp(plan.wait, "host") == 0) {
        await_host(worker);
    } else if (strcmp(plan.wait, "other") == 0) {
        await_by_other(worker);
    } else if (strcmp(plan.wait, "context") == 0) {
        CALL(cuCtxSynchronize);
    } else if (strcmp(plan.wait, "event") == 0) {
        CALL(cuEventRecord, worker->event, worker->stream);
        CALL(cuEventSynchronize, worker->event);
    } else if (strcmp(plan.wait, "poll") == 0) {
        while (cuda.cuStreamQuery(worker->stream) != 0)
            ;
    } else if (strcmp(plan.wait, "never") == 0) {
        cuda.cuStreamQuery(worker->stream);
    } else {
        CALL(cuStreamSynchronize, worker->stream);
    }
}

/* Another thread waits, but for the first time. */
static struct worker *awaited;
static sem_t launched, ended;

static void *await_for_others(void *unused)
{
    CALL(cuCtxSetCurrent, context);
    for (;;) {
        while (sem_wait(&launched) != 0)
            ;
        CALL(cuStreamSynchronize, awaited->stream);
        sem_post(&ended);
    }
    return unused;
}

static void await_by_other(struct worker *worker)
{
    pthread_t thread;
    if (!awaited) {
        awaited = worker;
        CALL(cuStreamSynchronize, worker->stream);
        sem_init(&launched, 0, 0);
        sem_init(&ended, 0, 0);
        if (pthread_create(&thread, NULL, await_for_others, NULL) != 0)
            exit(6);
        return;
    }
    sem_post(&launched);
    while (sem_wait(&ended) != 0)
        ;
}

/* -- NVTX: the tables that its header makes, with numbers as there ------------------------------ */

enum { TABLE_OF_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5, FUNCTIONS = 16 };
enum { RANGE_PUSH = 9, RANGE_POP = 11, DOMAIN_PUSH = 4, DOMAIN_POP = 5 };
struct attributes {
    char unused[64];
};
typedef void (*function_pointer)(void);
static int (*range_push)(const char *);
static int (*range_pop)(void);
static int (*domain_push)(void *, const struct attributes *);
static int (*domain_pop)(void *);

static int get_module(int module, function_pointer ***table, unsigned *count)
{
    static function_pointer unused;
    static function_pointer *core[FUNCTIONS], *core2[FUNCTIONS];
    for (int i = 0; i < FUNCTIONS; i++)
        core[i] = core2[i] = &unused;
    core[RANGE_PUSH] = (function_pointer *)&range_push;
    core[RANGE_POP] = (function_pointer *)&range_pop;
    core2[DOMAIN_PUSH] = (function_pointer *)&domain_push;
    core2[DOMAIN_POP] = (function_pointer *)&domain_pop;
    *table = module == MODULE_CORE ? core : core2;
    *count = FUNCTIONS;
    return module == MODULE_CORE || module == MODULE_CORE2;
}

static const void *get_export_table(unsigned number)
{
    static const struct {
        size_t bytes;
        int (*get_module)(int, function_pointer ***, unsigned *);
    } callbacks = {sizeof callbacks, get_module};
    return number == TABLE_OF_CALLBACKS ? &callbacks : NULL;
}

static void load_injection(void)
{
    int (*initialize)(const void *(*)(unsigned)) = NULL;
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
    if (initialize)
        initialize(get_export_table);
}

static void make_graph(struct worker *worker)
{
    void *captured;
    CALL(cuStreamBeginCapture_v2, worker->stream, 2);
    launch(worker, plan.kernels);
    CALL(cuStreamEndCapture, worker->stream, &captured);
    CALL(cuGraphInstantiateWithFlags, &worker->graph, captured, 0);
}

/* Between the host and the device, in rows of half the bytes. */
static void copy_rows(struct worker *worker, size_t bytes, int in)
{
    const cuda_copy_end host = {.memory = CUDA_MEMORY_HOST, .host = worker->host, .pitch = bytes / 2};
    const cuda_copy_end device = {.memory = CUDA_MEMORY_UNIFIED, .device = worker->memory,
                                  .pitch = bytes / 2};
    const cuda_copy_area area = {.from = in ? host : device, .to = in ? device : host,
                                 .width_bytes = bytes / 2, .height = 2};
    CALL(cuMemcpy2DAsync_v2, &area, worker->stream);
}

static void copy(struct worker *worker, size_t bytes, int in)
{
    unsigned long long host = (unsigned long long)(uintptr_t)worker->host;
    if (strcmp(plan.copies, "rows") == 0)
        copy_rows(worker, bytes, in);
    else if (strcmp(plan.copies, "unified") == 0)
        CALL(cuMemcpyAsync, in ? worker->memory : host, in ? host : worker->memory, bytes,
             worker->stream);
    else if (in)
        CALL(cuMemcpyHtoDAsync_v2, worker->memory, worker->host, bytes, worker->stream);
    else
        CALL(cuMemcpyDtoHAsync_v2, worker->host, worker->memory, bytes, worker->stream);
}

static void iterate(struct worker *worker)
{
    int kernels = plan.kernels;
    size_t bytes = plan.bytes;
    int steps = is("cold") && clock_now_ns() < begun_ns + COLD_NS ? 1 : plan.steps;
    if (is("random")) {
        worker->random = worker->random * 1664525 + 1013904223;
        kernels = 1 + (int)((worker->random >> 20) % 300);
        bytes = 1 + (worker->random >> 12) % plan.bytes;
    }
    copy(worker, bytes, 1);
    for (int i = 0; i < steps; i++) {
        if (plan.graph)
            CALL(cuGraphLaunch, worker->graph, worker->stream);
        else if (plan.helped)
            launch_helped(worker, kernels);
        else
            launch(worker, kernels);
        if (i + 1 < steps)
            await(worker);
    }
    if (strcmp(plan.wait, "never") != 0)
        copy(worker, bytes, 0);
    await(worker);
}

static void misbehave(unsigned long done)
{
    if (done < 100)
        return;
    if (is("exit"))
        exit(3);
    if (is("done"))
        exit(0);
    if (is("crash"))
        raise(SIGKILL);
    while (is("hang"))
        pause();
    if (is("pipe")) {
        int ends[2];
        if (pipe(ends) == 0 && close(ends[0]) == 0 && write(ends[1], "x", 1) < 0)
            exit(4);
    }
}

static void *serve(void *argument)
{
    struct worker *worker = argument;
    CALL(cuCtxSetCurrent, context);
    CALL(cuStreamCreate, &worker->stream, 1);
    CALL(cuEventCreate, &worker->event, 2);
    CALL(cuMemAlloc_v2, &worker->memory, plan.bytes);
    worker->host = calloc(1, plan.bytes);
    worker->random = 1;
    if (!worker->host)
        exit(7);
    /* As the weights of a model: a wait for each. */
    for (int i = 0; i < plan.weights; i++) {
        CALL(cuMemcpyHtoDAsync_v2, worker->memory, worker->host, plan.bytes, worker->stream);
        CALL(cuStreamSynchronize, worker->stream);
    }
    if (plan.graph)
        make_graph(worker);
    for (unsigned long done = 0;; done++) {
        if (is("idle")) {
            nap();
            continue;
        }
        if (domain_push)
            domain_push(worker, &(struct attributes){{0}});
        if (range_push)
            range_push(plan.range);
        if (domain_pop)
            domain_pop(worker);
        iterate(worker);
        if (range_pop)
            range_pop();
        nap();
        misbehave(done);
    }
    return NULL;
}

static void read_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"kernels", required_argument, NULL, 'k'}, {"steps", required_argument, NULL, 's'},
        {"bytes", required_argument, NULL, 'b'},   {"threads", required_argument, NULL, 't'},
        {"wait", required_argument, NULL, 'w'},    {"graph", no_argument, NULL, 'g'},
        {"weights", required_argument, NULL, 'l'}, {"mode", required_argument, NULL, 'm'},
        {"range", required_argument, NULL, 'r'},   {"lookup", required_argument, NULL, 'o'},
        {"forks", required_argument, NULL, 'f'},   {"copies", required_argument, NULL, 'c'},
        {"helped", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    const char *number = getenv("MPSWEEP_PROCESS");
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        long value = optarg ? strtol(optarg, NULL, 10) : 0;
        if (option == 'k')
            plan.kernels = (int)value;
        else if (option == 's')
            plan.steps = (int)value;
        else if (option == 'b')
            plan.bytes = (size_t)value;
        else if (option == 't')
            plan.threads = (int)value;
        else if (option == 'w')
            plan.wait = optarg;
        else if (option == 'c')
            plan.copies = optarg;
        else if (option == 'r')
            plan.range = optarg;
        else if (option == 'o')
            plan.lookup = optarg;
        else if (option == 'f')
            plan.forks = (int)value;
        else if (option == 'h')
            plan.helped = 1;
        else if (option == 'g')
            plan.graph = 1;
        else if (option == 'l')
            plan.weights = (int)value;
        else if (option == 'm' && (!number || strcmp(number, "1") == 0))
            plan.mode = optarg;
        else if (option != 'm')
            exit(2);
    }
}

int main(int argc, char **argv)
{
    begun_ns = clock_now_ns();
    read_options(argc, argv);
    for (int i = 0; i < plan.forks && fork() != 0; i++)
        ;
    load_driver();
    if (plan.range)
        load_injection();
    struct worker *workers = calloc((size_t)plan.threads, sizeof *workers);
    if (!workers)
        return 7;
    for (int i = 1; i < plan.threads; i++)
        if (pthread_create(&workers[i].thread, NULL, serve, &workers[i]) != 0)
            return 6;
    serve(&workers[0]);
    return 0;
}
