/*
 * A workload of a library: cuFFT transforms a batch of complex signals there and back, on the GPU,
 * and what comes out is compared with what went in.
 *
 *     cc -O2 -shared -fPIC -I/usr/local/cuda/include -o fft.so fft.c \
 *        -L/usr/local/cuda/lib64 -Wl,-rpath,/usr/local/cuda/lib64 -lcufft -lcudart
 *     mpsweep sweep --workload ./fft.so --workload-options '1024 64' --launch stream,graph
 *
 * In mpsweep's source tree add -I include. The options are the points of a signal and how many
 * signals there are. It takes a GPU: the emulated one has no CUDA runtime.
 */
#include <cuda_runtime_api.h>
#include <cufft.h>
#include <math.h>
#include <mpsweep/workload.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_BY_DEFAULT 1024
#define BATCH_BY_DEFAULT 64
#define POINTS_MOST (1 << 20)
#define BATCH_MOST (1 << 16)

/* Of single precision, for the largest transform. */
#define TOLERANCE 1e-3f

struct instance {
    const struct mpsweep_worker *worker;
    int points, batch;
    size_t bytes;
    cufftComplex *in, *out; /* pinned */
    cufftComplex *on_gpu;
    cufftHandle plan;
    int planned;
};

static int parse(const char *options, int *points, int *batch)
{
    char left;
    *points = POINTS_BY_DEFAULT;
    *batch = BATCH_BY_DEFAULT;
    if (*options && sscanf(options, "%d %d %c", points, batch, &left) != 2)
        return -1;
    return *points >= 2 && *points <= POINTS_MOST && *batch >= 1 && *batch <= BATCH_MOST ? 0 : -1;
}

static int describe(const char *options, struct mpsweep_description *out)
{
    int points, batch;
    out->name = "cufft";
    out->version = "1";
    out->capabilities = MPSWEEP_WORKLOAD_GRAPH_SAFE | MPSWEEP_WORKLOAD_THREAD_SAFE |
                        MPSWEEP_WORKLOAD_CHECKS | MPSWEEP_WORKLOAD_STREAM_SAFE;
    if (parse(options, &points, &batch) != 0) {
        out->error = "its options are 'POINTS BATCH': 2 to 1048576 points, 1 to 65536 signals";
        return 1;
    }
    return 0;
}

static int failed(const struct instance *mine, cudaError_t error, const char *call)
{
    return error == cudaSuccess ? 0 : mine->worker->host->fail(mine->worker, error, "%s", call);
}

/* cuFFT has numbers of its own, of which one is about memory. */
static int fft_failed(const struct instance *mine, cufftResult result, const char *call)
{
    if (result == CUFFT_SUCCESS)
        return 0;
    return mine->worker->host->fail(mine->worker,
                                    result == CUFFT_ALLOC_FAILED ? cudaErrorMemoryAllocation : 0,
                                    "%s gives cufftResult %d", call, (int)result);
}

static void fini(void *instance)
{
    struct instance *mine = instance;
    if (mine->planned)
        cufftDestroy(mine->plan);
    cudaFree(mine->on_gpu);
    cudaFreeHost(mine->out);
    cudaFreeHost(mine->in);
    free(mine);
}

static int make(struct instance *mine)
{
    if (failed(mine, cudaMallocHost((void **)&mine->in, mine->bytes), "cudaMallocHost") ||
        failed(mine, cudaMallocHost((void **)&mine->out, mine->bytes), "cudaMallocHost") ||
        failed(mine, cudaMalloc((void **)&mine->on_gpu, mine->bytes), "cudaMalloc") ||
        fft_failed(mine, cufftPlan1d(&mine->plan, mine->points, CUFFT_C2C, mine->batch),
                   "cufftPlan1d"))
        return 1;
    mine->planned = 1;
    if (fft_failed(mine, cufftSetStream(mine->plan, (cudaStream_t)mine->worker->stream),
                   "cufftSetStream"))
        return 1;
    for (size_t i = 0; i < mine->bytes / sizeof *mine->in; i++) {
        mine->in[i].x = (float)(i * 7 % 19) / 19.0f;
        mine->in[i].y = (float)(i * 5 % 23) / 23.0f;
    }
    memset(mine->out, 0, mine->bytes);
    return 0;
}

static int init(const struct mpsweep_worker *worker, void **instance)
{
    struct instance *mine = calloc(1, sizeof *mine);
    if (!mine)
        return worker->host->fail(worker, 0, "out of memory");
    mine->worker = worker;
    parse(worker->options, &mine->points, &mine->batch);
    mine->bytes = (size_t)mine->points * (size_t)mine->batch * sizeof *mine->in;
    if (make(mine) != 0) {
        fini(mine);
        return 1;
    }
    *instance = mine;
    return 0;
}

static int iterate(void *instance)
{
    struct instance *mine = instance;
    cudaStream_t stream = (cudaStream_t)mine->worker->stream;
    if (failed(mine,
               cudaMemcpyAsync(mine->on_gpu, mine->in, mine->bytes, cudaMemcpyHostToDevice, stream),
               "cudaMemcpyAsync in") ||
        fft_failed(mine, cufftExecC2C(mine->plan, mine->on_gpu, mine->on_gpu, CUFFT_FORWARD),
                   "cufftExecC2C forward") ||
        fft_failed(mine, cufftExecC2C(mine->plan, mine->on_gpu, mine->on_gpu, CUFFT_INVERSE),
                   "cufftExecC2C inverse"))
        return 1;
    return failed(
        mine, cudaMemcpyAsync(mine->out, mine->on_gpu, mine->bytes, cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync out");
}

/* The library does not divide by the number of points. A value in 61 is looked at. */
static int check(void *instance)
{
    struct instance *mine = instance;
    float points = (float)mine->points;
    for (size_t i = 0; i < mine->bytes / sizeof *mine->in; i += 61) {
        float x = mine->out[i].x / points, y = mine->out[i].y / points;
        /* Also false for NaN. */
        if (!(fabsf(x - mine->in[i].x) < TOLERANCE && fabsf(y - mine->in[i].y) < TOLERANCE))
            return mine->worker->host->fail(mine->worker, 0,
                                            "value %zu is %g%+gi instead of %g%+gi", i, x, y,
                                            mine->in[i].x, mine->in[i].y);
        mine->out[i].x = mine->out[i].y = NAN;
    }
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
