/*
 * What a pass of a thread over its streams costs when none of their iterations has ended: what
 * mpsweep does for it, and with the driver's queries of streams that are busy, where there is a
 * GPU.
 */
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "device/context.h"
#include "kernels/image.h"
#include "worker/streams.h"

#define PASSES 200 /* and as many before them, which do not count */
#define MOST_STREAMS 256
#define BATCHES 5

/* Kernels that are busy for longer than all passes take. */
#define BUSY_CYCLES 600000000ull

/* One thread at a time polls. */
static struct {
    const struct shm *shm;
    cuda_function busy; /* NULL: without a GPU */
    const struct cuda_driver *driver;
    cuda_result (*query)(cuda_stream stream);
    cuda_stream streams[MOST_STREAMS];
    unsigned count, opened;
    uint64_t queries, begin_ns, end_ns;
} bench;

static cuda_result count_query(cuda_stream stream)
{
    uint64_t pass = (uint64_t)bench.count * PASSES;
    if (++bench.queries == pass)
        bench.begin_ns = clock_now_ns();
    if (bench.queries == 2 * pass) {
        bench.end_ns = clock_now_ns();
        shm_stop(bench.shm, 0);
    }
    if (bench.query)
        return bench.query(stream);
    return bench.queries < 2 * pass ? CUDA_NOT_READY : CUDA_SUCCESS_;
}

struct busy_kernel {
    cuda_stream stream;
    bool begun;
};

static enum status open_work(const struct worker_process *process,
                             const struct worker_context *context, const struct shm_slot *slot,
                             void **out)
{
    static struct busy_kernel works[MOST_STREAMS];
    (void)process;
    (void)context;
    (void)slot;
    works[bench.opened] = (struct busy_kernel){.stream = bench.streams[bench.opened]};
    *out = &works[bench.opened++];
    return STATUS_OK;
}

/* An iteration is one kernel; rehearsals are none, and so the first that is polled begins it. */
static enum status advance(void *opened, struct iteration_times *times, struct engine_wait *wait)
{
    struct busy_kernel *work = opened;
    unsigned long long cycles = BUSY_CYCLES;
    void *parameters[] = {&cycles};
    times->end_ns = clock_now_ns();
    if (!atomic_load(&bench.shm->header->gate) || work->begun)
        return STATUS_OK;
    work->begun = true;
    *wait = (struct engine_wait){.what = ENGINE_STREAM, .stream = work->stream};
    return bench.busy ? CUDA_CALL(bench.driver, launch_kernel, bench.busy, 1, 1, 1, 1, 1, 1, 0,
                                  work->stream, parameters, NULL)
                      : STATUS_OK;
}

static void close_work(void *work)
{
    (void)work;
}

static const struct engine engine = {.open = open_work, .advance = advance, .close = close_work};

/* Nanoseconds a pass. */
static enum status poll_once(struct worker_process *process, unsigned count, double *out)
{
    static struct stream streams[MOST_STREAMS];
    const struct shm_settings settings = {
        .slice_ns = NS_PER_MS, .streams = count, .schedule = SCHEDULE_SPIN};
    unsigned failed;
    enum status status = shm_create(&settings, 1, count, &process->shm);
    if (status != STATUS_OK)
        return status;
    bench.shm = &process->shm;
    bench.count = count;
    bench.opened = 0;
    bench.queries = 0;
    for (unsigned i = 0; i < count && status == STATUS_OK; i++)
        streams[i] = (struct stream){.slot = shm_slot_at(&process->shm, 0, i)};
    if (status == STATUS_OK)
        status = streams_open(streams, count, process, &process->context, &engine, &failed);
    if (status == STATUS_OK) {
        shm_gate_open(&process->shm, clock_now_ns());
        status = streams_run(streams, count, process, &engine, &failed);
    }
    *out = (double)(bench.end_ns - bench.begin_ns) / PASSES;
    shm_release(&process->shm);
    return status;
}

static enum status print_passes(struct worker_process *process, const char *what)
{
    static const unsigned counts[] = {2, 16, 64, MOST_STREAMS};
    printf("one pass over the streams of a thread, fastest of %d, %s:", BATCHES, what);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        double least_ns = 0.0, pass_ns;
        for (unsigned batch = 0; batch < BATCHES; batch++) {
            enum status status = poll_once(process, counts[i], &pass_ns);
            if (status != STATUS_OK)
                return status;
            least_ns = batch == 0 || pass_ns < least_ns ? pass_ns : least_ns;
        }
        printf("%s %u streams %.2f us", i ? "," : "", counts[i], least_ns / 1e3);
    }
    printf("\n");
    return STATUS_OK;
}

static enum status poll_gpu(struct worker_process *process)
{
    static struct cuda_driver driver;
    cuda_device device;
    cuda_context context;
    cuda_module module;
    enum status status = cuda_driver_load(NULL, &driver);
    if (status != STATUS_OK || context_init_driver(&driver) != STATUS_OK) {
        printf("one pass over streams of a GPU: there is no GPU here\n");
        return STATUS_OK;
    }
    status = CUDA_CALL(&driver, device_get, &device, 0);
    if (status == STATUS_OK)
        status = context_retain(&driver, device, &context);
    if (status == STATUS_OK)
        status = CUDA_CALL(&driver, ctx_set_current, context);
    if (status == STATUS_OK)
        status = context_load_module(&driver, kernels_image(NULL), kernels_ptx(NULL), &module);
    if (status == STATUS_OK)
        status = CUDA_CALL(&driver, module_get_function, &bench.busy, module, KERNELS_DELAY);
    for (unsigned i = 0; i < MOST_STREAMS && status == STATUS_OK; i++)
        status = CUDA_CALL(&driver, stream_create, &bench.streams[i], CUDA_STREAM_NON_BLOCKING);
    bench.query = driver.stream_query;
    bench.driver = &driver;
    process->driver = driver;
    process->driver.stream_query = count_query;
    return status == STATUS_OK ? print_passes(process, "with the driver's queries") : status;
}

int main(void)
{
    struct worker_process process = {.event_fd = eventfd(0, 0)};
    process.driver.stream_query = count_query;
    enum status status = print_passes(&process, "without a driver");
    if (status == STATUS_OK)
        status = poll_gpu(&process);
    if (status != STATUS_OK)
        fprintf(stderr, "poll: %s\n", status_text());
    return status == STATUS_OK ? 0 : 1;
}
