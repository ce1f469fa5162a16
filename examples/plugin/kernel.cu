/*
 * A workload with a kernel of its own: it sends numbers to the GPU, a __global__ function computes
 * with them, and what comes back is compared with what the host computes. Replace the marked parts
 * by your own work.
 *
 *     nvcc -O2 -shared -Xcompiler -fPIC -o kernel.so kernel.cu
 *     mpsweep sweep --workload ./kernel.so --workload-options '65536 100' --launch stream,graph
 *
 * In mpsweep's source tree add -I include. The options are how many numbers there are, and how many
 * steps the kernel makes with each. It takes a GPU: the emulated one has no CUDA runtime.
 */
#include <mpsweep/workload.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT_BY_DEFAULT 65536
#define STEPS_BY_DEFAULT 100
#define COUNT_MOST (1 << 26)
#define STEPS_MOST 1000000
#define THREADS 256

/* Everything that one worker has. */
struct instance {
    const struct mpsweep_worker *worker;
    int count, steps;
    size_t bytes;
    unsigned *in, *out; /* pinned */
    unsigned *in_gpu, *out_gpu;
};

/* -- your arithmetic here; both the GPU and the host do it -- */
static __host__ __device__ unsigned step(unsigned value)
{
    return value * 1664525U + 1013904223U;
}

/* -- your kernel here -- */
static __global__ void compute(const unsigned *in, unsigned *out, int count, int steps)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count)
        return;
    unsigned value = in[i];
    for (int s = 0; s < steps; s++)
        value = step(value);
    out[i] = value;
}

static int parse(const char *options, int *count, int *steps)
{
    char left;
    *count = COUNT_BY_DEFAULT;
    *steps = STEPS_BY_DEFAULT;
    if (*options && sscanf(options, "%d %d %c", count, steps, &left) != 2)
        return -1;
    return *count >= 1 && *count <= COUNT_MOST && *steps >= 1 && *steps <= STEPS_MOST ? 0 : -1;
}

static int describe(const char *options, struct mpsweep_description *out)
{
    int count, steps;
    out->name = "kernel";
    out->version = "1";
    out->capabilities = MPSWEEP_WORKLOAD_GRAPH_SAFE | MPSWEEP_WORKLOAD_THREAD_SAFE |
                        MPSWEEP_WORKLOAD_CHECKS | MPSWEEP_WORKLOAD_STREAM_SAFE;
    if (parse(options, &count, &steps) != 0) {
        out->error = "its options are 'COUNT STEPS': 1 to 67108864 numbers, 1 to 1000000 steps";
        return 1;
    }
    return 0;
}

static int failed(const struct instance *mine, cudaError_t error, const char *call)
{
    return error == cudaSuccess ? 0 : mine->worker->host->fail(mine->worker, error, "%s", call);
}

static void fini(void *instance)
{
    struct instance *mine = (struct instance *)instance;
    cudaFree(mine->out_gpu);
    cudaFree(mine->in_gpu);
    cudaFreeHost(mine->out);
    cudaFreeHost(mine->in);
    free(mine);
}

static int make(struct instance *mine)
{
    if (failed(mine, cudaMallocHost((void **)&mine->in, mine->bytes), "cudaMallocHost") ||
        failed(mine, cudaMallocHost((void **)&mine->out, mine->bytes), "cudaMallocHost") ||
        failed(mine, cudaMalloc((void **)&mine->in_gpu, mine->bytes), "cudaMalloc") ||
        failed(mine, cudaMalloc((void **)&mine->out_gpu, mine->bytes), "cudaMalloc"))
        return 1;
    for (int i = 0; i < mine->count; i++) {
        mine->in[i] = (unsigned)i * 7U + mine->worker->thread + mine->worker->index;
        mine->out[i] = 0;
    }
    return 0;
}

static int init(const struct mpsweep_worker *worker, void **instance)
{
    struct instance *mine = (struct instance *)calloc(1, sizeof *mine);
    if (!mine)
        return worker->host->fail(worker, 0, "out of memory");
    mine->worker = worker;
    parse(worker->options, &mine->count, &mine->steps);
    mine->bytes = (size_t)mine->count * sizeof *mine->in;
    if (make(mine) != 0) {
        /* After an init that fails fini is not called. */
        fini(mine);
        return 1;
    }
    *instance = mine;
    return 0;
}

/* Enqueues, and does not wait. A launch has no result: its error is the last one. */
static int iterate(void *instance)
{
    struct instance *mine = (struct instance *)instance;
    cudaStream_t stream = (cudaStream_t)mine->worker->stream;
    unsigned blocks = (unsigned)(mine->count + THREADS - 1) / THREADS;
    if (failed(mine,
               cudaMemcpyAsync(mine->in_gpu, mine->in, mine->bytes, cudaMemcpyHostToDevice, stream),
               "cudaMemcpyAsync in"))
        return 1;
    compute<<<blocks, THREADS, 0, stream>>>(mine->in_gpu, mine->out_gpu, mine->count, mine->steps);
    if (failed(mine, cudaGetLastError(), "compute"))
        return 1;
    return failed(
        mine,
        cudaMemcpyAsync(mine->out, mine->out_gpu, mine->bytes, cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync out");
}

/* Looks at the last number, and spoils it, so that one that is never written shows next time. */
static int check(void *instance)
{
    struct instance *mine = (struct instance *)instance;
    int last = mine->count - 1;
    unsigned expected = mine->in[last];
    for (int s = 0; s < mine->steps; s++)
        expected = step(expected);
    if (mine->out[last] != expected)
        return mine->worker->host->fail(mine->worker, 0, "number %d is %u instead of %u", last,
                                        mine->out[last], expected);
    mine->out[last] = ~expected;
    return 0;
}

const struct mpsweep_workload mpsweep_workload = {
    MPSWEEP_WORKLOAD_ABI,
    sizeof(struct mpsweep_workload),
    describe,
    init,
    iterate,
    check,
    fini,
    NULL,
};
