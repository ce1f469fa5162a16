/*
 * Short kernels whose length changes: whether threads that launch in rows, or in turns, stay so
 * (tests/accuracy/turns_after.job, docs/evaluation.md).
 *
 *     nvcc -O2 -shared -Xcompiler -fPIC -I include -o turns_after.so tests/accuracy/turns_after.cu
 *
 * The options are how many kernels an iteration has, how many cycles of the GPU's clock each takes,
 * for how many milliseconds it takes another number of cycles first, and that number.
 */
#include <mpsweep/workload.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct lengths {
    int kernels;
    long long cycles, before_ms, before_cycles;
};

/* Everything that one worker has. */
struct instance {
    const struct mpsweep_worker *worker;
    struct lengths lengths;
    long long begin_ns;
};

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static __global__ void wait_for(long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

static int parse(const char *options, struct lengths *out)
{
    char left;
    return sscanf(options, "%d %lld %lld %lld %c", &out->kernels, &out->cycles, &out->before_ms,
                  &out->before_cycles, &left) == 4 &&
           out->kernels > 0 && out->cycles > 0 && out->before_ms >= 0 && out->before_cycles > 0;
}

static int describe(const char *options, struct mpsweep_description *out)
{
    struct lengths lengths;
    out->name = "turns-after";
    out->version = "1";
    out->capabilities = MPSWEEP_WORKLOAD_THREAD_SAFE;
    if (!parse(options, &lengths)) {
        out->error = "its options are 'KERNELS CYCLES BEFORE_MS BEFORE_CYCLES'";
        return 1;
    }
    return 0;
}

static int init(const struct mpsweep_worker *worker, void **instance)
{
    struct instance *mine = (struct instance *)calloc(1, sizeof *mine);
    if (!mine)
        return worker->host->fail(worker, 0, "out of memory");
    mine->worker = worker;
    parse(worker->options, &mine->lengths);
    *instance = mine;
    return 0;
}

static int iterate(void *instance)
{
    struct instance *mine = (struct instance *)instance;
    const struct lengths *lengths = &mine->lengths;
    if (mine->begin_ns == 0)
        mine->begin_ns = now_ns();
    bool is_before = now_ns() - mine->begin_ns < lengths->before_ms * 1000000LL;
    for (int i = 0; i < lengths->kernels; i++)
        wait_for<<<1, 1, 0, (cudaStream_t)mine->worker->stream>>>(
            is_before ? lengths->before_cycles : lengths->cycles);
    cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? 0 : mine->worker->host->fail(mine->worker, error, "wait_for");
}

static void fini(void *instance)
{
    free(instance);
}

const struct mpsweep_workload mpsweep_workload = {
    MPSWEEP_WORKLOAD_ABI, sizeof(struct mpsweep_workload), describe, init, iterate, NULL, fini, NULL,
};
