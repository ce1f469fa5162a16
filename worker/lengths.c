#include "worker/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/descriptor.h"
#include "worker/engines/described.h"
#include "worker/length.h"

/* Kernels of one graph: as many as take this long, within bounds. */
#define BATCH_NS 20e6
#define BATCH_LEAST 2
#define BATCH_MOST 500

/* Each length is the shortest of REPEATS measurements, fewer of those that take long. */
#define REPEATS 3
#define REPEATS_NS 200e6

/* A GPU that was idle takes its time to get to its clock. */
#define WARM_NS (100 * NS_PER_MS)

/* What the first try gives: some microseconds on any GPU. */
#define FIRST_STEPS 1000
#define FIRST_BYTES (UINT64_C(1) << 20)
#define MOST_BYTES (UINT64_C(1) << 42)

struct rig {
    struct worker_process process;
    cuda_stream stream;
    cuda_event begin, end;
    cuda_device_pointer sides[2];
    uint64_t side_bytes;
    struct described_set set;
    struct workload_step step;
    bool warm;
};

static enum status make_room(struct rig *rig)
{
    const struct cuda_driver *driver = &rig->process.driver;
    uint64_t bytes = workload_worked_bytes(&rig->step);
    enum status status = STATUS_OK;
    if (bytes <= rig->side_bytes)
        return STATUS_OK;
    rig->side_bytes = 0;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        if (rig->sides[i])
            driver->mem_free(rig->sides[i]);
        rig->sides[i] = 0;
        status = CUDA_CALL(driver, mem_alloc, &rig->sides[i], (size_t)bytes);
    }
    if (status == STATUS_OK)
        rig->side_bytes = bytes;
    return status;
}

static enum status make_graph(struct rig *rig, unsigned kernels, struct worker_graph *graph)
{
    enum status status = worker_graph_begin(&rig->process, rig->stream);
    if (status != STATUS_OK)
        return status;
    for (unsigned i = 0; i < kernels && status == STATUS_OK; i++)
        status = cuda_check(&rig->process.driver,
                            described_launch(&rig->process, &rig->process.context, rig->stream,
                                             &rig->step, &rig->set, rig->sides[i % 2],
                                             rig->sides[1 - i % 2]),
                            "cuLaunchKernel");
    return worker_graph_end(&rig->process, rig->stream, status, graph);
}

/* The time between two events behind each other in a stream, of which the first waits for a graph
 * of the same kernels: so the second graph is there before its time comes. */
static enum status time_graph(struct rig *rig, cuda_graph_exec exec, float *ms)
{
    const struct cuda_driver *driver = &rig->process.driver;
    enum status status = CUDA_CALL(driver, graph_launch, exec, rig->stream);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, event_record, rig->begin, rig->stream);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, graph_launch, exec, rig->stream);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, event_record, rig->end, rig->stream);
    if (status == STATUS_OK)
        status = worker_synchronize(&rig->process, rig->stream);
    if (status == STATUS_OK)
        status = CUDA_CALL(driver, event_elapsed_time, ms, rig->begin, rig->end);
    return status;
}

static enum status measure(void *data, uint64_t amount, double *ns)
{
    struct rig *rig = data;
    struct worker_graph graph = {0};
    double wanted = BATCH_NS / (double)rig->step.asked_ns;
    unsigned kernels = wanted > BATCH_MOST    ? BATCH_MOST
                       : wanted < BATCH_LEAST ? BATCH_LEAST
                                              : (unsigned)wanted;
    float least_ms = 0.0f, ms = 0.0f;
    rig->step.amount = amount;
    enum status status = make_room(rig);
    if (status == STATUS_OK)
        status = make_graph(rig, kernels, &graph);
    uint64_t warm_ns = clock_now_ns() + WARM_NS;
    while (status == STATUS_OK && !rig->warm) {
        status = time_graph(rig, graph.exec, &ms);
        rig->warm = clock_now_ns() >= warm_ns;
    }
    for (int i = 0; i < REPEATS && status == STATUS_OK; i++) {
        status = time_graph(rig, graph.exec, &ms);
        if (i == 0 || ms < least_ms)
            least_ms = ms;
        if ((double)least_ms * 1e6 > REPEATS_NS)
            break;
    }
    worker_graph_free(&rig->process, &graph);
    if (status == STATUS_OK)
        *ns = (double)least_ms * 1e6 / kernels;
    return status;
}

static enum status find(struct rig *rig, struct length *out)
{
    uint64_t given = rig->step.amount;
    if (given) {
        out->amount = given;
        return measure(rig, given, &out->got_ns);
    }
    bool memory = rig->step.kind == STEP_MEMORY;
    const struct length_search search = {
        .asked_ns = (double)rig->step.asked_ns,
        .unit = memory ? 16 : 1,
        .least = memory ? 16 : 1,
        .first = memory ? FIRST_BYTES : FIRST_STEPS,
        .most = memory ? MOST_BYTES : INT32_MAX,
        .measure = measure,
        .data = rig,
    };
    return length_find(&search, out);
}

/* STATUS_UNSUPPORTED: the GPU's blocks have less. */
static enum status allow_shared(const struct rig *rig)
{
    struct status_saved refusal;
    enum status status = described_allow_shared(&rig->process, &rig->process.context, &rig->step);
    if (status != STATUS_INFEASIBLE)
        return status;
    status_save(status, &refusal);
    return status_set(STATUS_UNSUPPORTED, "%s", refusal.text);
}

/* Cuts the next kernel off the argument. */
static bool next_step(const char **text, struct workload_step *out)
{
    unsigned long long asked, amount = 0;
    unsigned kind, blocks, threads, shared;
    int length = 0, more = 0;
    if (sscanf(*text, ",%u:%u:%u:%u:%llu%n", &kind, &blocks, &threads, &shared, &asked, &length) !=
            5 ||
        (kind != STEP_COMPUTE && kind != STEP_CACHE && kind != STEP_MEMORY) || asked == 0 ||
        threads == 0 || blocks == 0)
        return false;
    *text += length;
    if (**text == ':' && (sscanf(*text, ":%llu%n", &amount, &more) != 1 || amount == 0))
        return false;
    *out = (struct workload_step){.kind = kind,
                                  .count = 1,
                                  .blocks = blocks,
                                  .threads = threads,
                                  .shared = shared,
                                  .asked_ns = asked,
                                  .amount = amount};
    *text += more;
    return true;
}

static enum status open_rig(struct rig *rig, const char *uuid, size_t uuid_length,
                            const char *driver_path)
{
    struct shm_settings settings = {.schedule = SCHEDULE_AUTO};
    enum status status = shm_create(&settings, 1, 1, &rig->process.shm);
    if (status != STATUS_OK)
        return status;
    struct shm_process *record = shm_process_at(&rig->process.shm, 0);
    if (uuid_length >= sizeof record->device_uuid)
        return status_set(STATUS_USAGE, "no UUID of a GPU");
    memcpy(record->device_uuid, uuid, uuid_length);
    status = worker_process_open(&rig->process, driver_path);
    if (status == STATUS_OK)
        status =
            CUDA_CALL(&rig->process.driver, stream_create, &rig->stream, CUDA_STREAM_NON_BLOCKING);
    if (status == STATUS_OK)
        status = CUDA_CALL(&rig->process.driver, event_create, &rig->begin, 0);
    if (status == STATUS_OK)
        status = CUDA_CALL(&rig->process.driver, event_create, &rig->end, 0);
    return status;
}

static void close_rig(struct rig *rig)
{
    const struct cuda_driver *driver = &rig->process.driver;
    for (int i = 0; i < 2; i++)
        if (rig->sides[i])
            driver->mem_free(rig->sides[i]);
    if (rig->set.memory)
        driver->mem_free(rig->set.memory);
    if (rig->begin)
        driver->event_destroy(rig->begin);
    if (rig->end)
        driver->event_destroy(rig->end);
    if (rig->stream)
        driver->stream_destroy(rig->stream);
    worker_process_close(&rig->process);
    shm_release(&rig->process.shm);
}

int worker_lengths_run(const char *asked, const char *driver_path)
{
    static struct worker_lengths answer = {.magic = WORKER_LENGTHS_MAGIC,
                                           .version = WORKER_LENGTHS_VERSION};
    static struct rig rig = {.process.shm.fd = -1};
    size_t uuid_length = strcspn(asked, ",");
    const char *rest = asked + uuid_length;
    enum status status = open_rig(&rig, asked, uuid_length, driver_path);
    while (status == STATUS_OK && *rest) {
        if (answer.count == WORKER_LENGTHS_MOST || !next_step(&rest, &rig.step)) {
            fputs("mpsweep-worker: started by mpsweep, not by hand\n", stderr);
            return EXIT_BAD_CALL;
        }
        status = allow_shared(&rig);
        if (status == STATUS_OK)
            status = described_set_open(&rig.process, &rig.step, &rig.set);
        if (status == STATUS_OK)
            status = find(&rig, &answer.found[answer.count]);
        if (status == STATUS_OK)
            answer.count++;
    }
    answer.status = (uint32_t)status;
    if (status != STATUS_OK) {
        answer.cuda_error = cuda_last_error();
        snprintf(answer.error, sizeof answer.error, "%s", status_text());
    }
    close_rig(&rig);
    return descriptor_write(STDOUT_FILENO, &answer, sizeof answer) == 0 ? EXIT_SUCCESS
                                                                        : STATUS_SYSTEM;
}
