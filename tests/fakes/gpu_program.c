/*
 * A program that reports its iterations, and in each does what its words list:
 *   gpu_program WORD...
 *     in:BYTES, out:BYTES         copies between pinned memory and the GPU, on a stream
 *     staged:BYTES                a copy from the GPU to memory that is not pinned
 *     kernel:BLOCKSxTHREADS:NS:N  N kernels, each of which waits NS cycles of its clock
 *     load                        loads code, and unloads it
 *     sync                        waits for the stream
 *     sleep:US, busy:US           the host sleeps, or computes
 *     slow:US                     the host sleeps, in every fifth iteration only
 *     stuck:N                     it goes on with nothing after N iterations
 *     wide:US                     the host computes, on fewer CPUs than at first a quarter of it
 * and for the iterations as a whole:
 *     graph                       what it gives the GPU is one graph
 *     pageable                    the host's memory is not pinned
 *     idle                        it does not use the GPU
 *     early                       it ends after two iterations
 *     lock:FILE                   one process at a time has work on the GPU
 *     single:FILE                 it ends at once where another process runs
 * Built with SILENT it does not report its iterations, and does not end.
 * It waits for its stream at the end of an iteration.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "device/driver.h"
#include "kernels/image.h"
#ifdef SILENT
#define mpsweep_open(number) NULL
#define mpsweep_ready(worker) (void)(worker)
#define mpsweep_begin(worker) 1
#define mpsweep_end(worker) (void)(worker)
#define mpsweep_close(worker) (void)(worker)
#else
#include "include/mpsweep/client.h"
#endif

#define MOST_BYTES ((size_t)16 << 20)

static struct cuda_driver driver;
static cuda_stream stream;
static cuda_function delay;
static cuda_device_pointer device;
static void *host, *unpinned;
static unsigned long served;

static void check(enum status status)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "gpu_program: %s\n", status_text());
    exit(90);
}

#define DO(call, ...) check(CUDA_CALL(&driver, call, __VA_ARGS__))

static void sleep_us(unsigned long us)
{
    const struct timespec time = {.tv_sec = (time_t)(us / 1000000),
                                  .tv_nsec = (long)(us % 1000000 * 1000)};
    nanosleep(&time, NULL);
}

/* Of the CPU, as a step 'busy' does. */
static void compute_us(unsigned long us)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000L + (now.tv_nsec - begin.tv_nsec) / 1000 <
           (long)us);
}

/* Whether it may use fewer CPUs than when it was first asked. */
static int has_fewer_cpus(void)
{
    static int first;
    cpu_set_t now;
    if (sched_getaffinity(0, sizeof now, &now) != 0)
        exit(94);
    first = first ? first : CPU_COUNT(&now);
    return CPU_COUNT(&now) < first;
}

static void load_code(void)
{
    cuda_module module;
    DO(module_load_data, &module, kernels_image(NULL));
    DO(module_unload, module);
}

static void do_gpu_word(const char *word)
{
    unsigned blocks, threads, count;
    unsigned long long cycles;
    size_t bytes;
    void *arguments[] = {&cycles};
    if (strcmp(word, "load") == 0)
        load_code();
    else if (sscanf(word, "in:%zu", &bytes) == 1)
        DO(memcpy_htod_async, device, host, bytes, stream);
    else if (sscanf(word, "out:%zu", &bytes) == 1)
        DO(memcpy_dtoh_async, host, device, bytes, stream);
    else if (sscanf(word, "staged:%zu", &bytes) == 1)
        DO(memcpy_dtoh_async, unpinned, device, bytes, stream);
    else if (sscanf(word, "kernel:%ux%u:%llu:%u", &blocks, &threads, &cycles, &count) == 4)
        while (count-- > 0)
            DO(launch_kernel, delay, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL);
}

static void do_host_word(const char *word)
{
    unsigned long us;
    if (strcmp(word, "sync") == 0)
        DO(stream_synchronize, stream);
    else if (sscanf(word, "sleep:%lu", &us) == 1 ||
             (sscanf(word, "slow:%lu", &us) == 1 && served % 5 == 4))
        sleep_us(us);
    else if (sscanf(word, "stuck:%lu", &us) == 1)
        while (served >= us)
            pause();
    else if (sscanf(word, "busy:%lu", &us) == 1)
        compute_us(us);
    else if (sscanf(word, "wide:%lu", &us) == 1)
        compute_us(has_fewer_cpus() ? us / 4 : us);
}

/* The file that a word names, opened; -1: no such word. */
static int file_of(char *const *words, const char *name)
{
    size_t length = strlen(name);
    for (; *words; words++)
        if (strncmp(*words, name, length) == 0)
            return open(*words + length, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return -1;
}

static void set_lock(int file, off_t byte, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    if (file >= 0 && fcntl(file, F_OFD_SETLKW, &lock) != 0)
        exit(92);
}

/* Byte 0 is held while waiting for byte 1: who has just had its turn must wait for byte 0, and not
 * take byte 1 again before another has woken up. */
static void take_turn(int file)
{
    set_lock(file, 0, F_WRLCK);
    set_lock(file, 1, F_WRLCK);
    set_lock(file, 0, F_UNLCK);
}

static int has(char *const *words, const char *word)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

static void open_gpu(int pageable)
{
    cuda_context context;
    cuda_module module;
    check(cuda_driver_load(getenv("MPSWEEP_DRIVER"), &driver));
    DO(init, 0);
    DO(primary_ctx_retain, &context, 0);
    DO(ctx_set_current, context);
    DO(module_load_data, &module, kernels_image(NULL));
    DO(module_get_function, &delay, module, KERNELS_DELAY);
    DO(stream_create, &stream, CUDA_STREAM_NON_BLOCKING);
    DO(mem_alloc, &device, MOST_BYTES);
    unpinned = calloc(1, MOST_BYTES);
    if (pageable)
        host = unpinned;
    else
        DO(mem_host_alloc, &host, MOST_BYTES, 0);
}

static cuda_graph_exec make_graph(char *const *words)
{
    cuda_graph graph;
    cuda_graph_exec exec;
    DO(stream_begin_capture, stream, CUDA_CAPTURE_MODE_THREAD_LOCAL);
    for (; *words; words++)
        do_gpu_word(*words);
    DO(stream_end_capture, stream, &graph);
    DO(graph_instantiate, &exec, graph, 0);
    DO(graph_destroy, graph);
    return exec;
}

int main(int argc, char **argv)
{
    (void)argc;
    char *const *words = argv + 1;
    /* It sleeps for as long as it wants, as a worker does. */
    prctl(PR_SET_TIMERSLACK, 1UL);
    int idle = has(words, "idle"), early = has(words, "early");
    cuda_graph_exec graph = NULL;
    int lock = file_of(words, "lock:"), single = file_of(words, "single:");
    if (single >= 0 && flock(single, LOCK_EX | LOCK_NB) != 0)
        exit(91);
    if (!idle)
        open_gpu(has(words, "pageable"));
    if (has(words, "graph"))
        graph = make_graph(words);
    struct mpsweep *worker = mpsweep_open(MPSWEEP_NEXT_THREAD);
    mpsweep_ready(worker);
    while (mpsweep_begin(worker)) {
        take_turn(lock);
        if (graph)
            DO(graph_launch, graph, stream);
        for (char *const *word = words; *word; word++) {
            if (!graph && !idle)
                do_gpu_word(*word);
            do_host_word(*word);
        }
        if (!idle)
            DO(stream_synchronize, stream);
        set_lock(lock, 1, F_UNLCK);
        mpsweep_end(worker);
        if (++served == 2 && early)
            exit(0);
    }
    mpsweep_close(worker);
    if (graph)
        DO(graph_exec_destroy, graph);
    return 0;
}
