/*
 * A workload to copy and to change: it sends a buffer to the GPU and back, and looks whether the
 * same comes back. Replace the marked parts by your own work; <mpsweep/workload.h> describes what
 * each callback may do, and when it is called.
 *
 *     cc -O2 -shared -fPIC -o skeleton.so skeleton.c
 *     mpsweep sweep --workload ./skeleton.so --workload-options kib=256
 *
 * In mpsweep's source tree add -I include. It needs no CUDA Toolkit and runs on the emulated GPU,
 * too, since it asks mpsweep for the driver's entry points. Work that uses the CUDA runtime or a
 * library leaves that away: it includes their headers, links with them, and uses worker->stream as
 * its cudaStream_t (see fft.c beside this file).
 */
#include <mpsweep/workload.h>
#include <stdlib.h>
#include <string.h>

#define KIB_BY_DEFAULT 64
#define KIB_MOST (1024 * 1024)

/* The driver's functions that are used here, as in cuda.h: CUresult is an int, CUdeviceptr an
 * unsigned long long, CUstream a pointer. */
struct driver {
    int (*host_alloc)(void **memory, size_t bytes, unsigned flags);
    int (*host_free)(void *memory);
    int (*alloc)(unsigned long long *memory, size_t bytes);
    int (*free)(unsigned long long memory);
    int (*copy_in)(unsigned long long to, const void *from, size_t bytes, void *stream);
    int (*copy_out)(void *to, unsigned long long from, size_t bytes, void *stream);
};

/* Everything that one worker has. No variables beside it, not even of a thread: then neither
 * several threads meet nor several streams of one. */
struct instance {
    const struct mpsweep_worker *worker; /* mpsweep's, there until fini has returned */
    struct driver cuda;
    size_t bytes;
    unsigned char *in, *out; /* pinned */
    unsigned long long on_gpu;
};

/* --workload-options comes as it was given. Here it is "kib=N". 0: it is wrong. */
static size_t bytes_of(const char *options)
{
    if (!*options)
        return (size_t)KIB_BY_DEFAULT * 1024;
    if (strncmp(options, "kib=", 4) != 0)
        return 0;
    char *end;
    unsigned long kib = strtoul(options + 4, &end, 10);
    return *end == '\0' && kib >= 1 && kib <= KIB_MOST ? kib * 1024 : 0;
}

/* What it is and can do. Wrong options are best refused here: before anything is measured. */
static int describe(const char *options, struct mpsweep_description *out)
{
    out->name = "skeleton";
    out->version = "1";
    out->capabilities = MPSWEEP_WORKLOAD_GRAPH_SAFE | MPSWEEP_WORKLOAD_THREAD_SAFE |
                        MPSWEEP_WORKLOAD_CHECKS | MPSWEEP_WORKLOAD_STREAM_SAFE;
    if (bytes_of(options) == 0) {
        out->error = "its options are kib=N, N from 1 to 1048576";
        return 1;
    }
    return 0;
}

/* Takes one function of the driver; the cast of a data pointer to it is what POSIX allows. */
static int find(struct instance *mine, void *function, const char *name)
{
    const struct mpsweep_host *host = mine->worker->host;
    void *symbol = host->cuda_symbol(mine->worker, name);
    if (!symbol)
        return host->fail(mine->worker, 0, "the driver has no %s", name);
    memcpy(function, &symbol, sizeof symbol);
    return 0;
}

static int find_all(struct instance *mine)
{
    return find(mine, &mine->cuda.host_alloc, "cuMemHostAlloc") ||
           find(mine, &mine->cuda.host_free, "cuMemFreeHost") ||
           find(mine, &mine->cuda.alloc, "cuMemAlloc_v2") ||
           find(mine, &mine->cuda.free, "cuMemFree_v2") ||
           find(mine, &mine->cuda.copy_in, "cuMemcpyHtoDAsync_v2") ||
           find(mine, &mine->cuda.copy_out, "cuMemcpyDtoHAsync_v2");
}

/* Also for an instance of which not everything was made. */
static void fini(void *instance)
{
    struct instance *mine = instance;
    /* -- your releases here -- */
    if (mine->on_gpu)
        mine->cuda.free(mine->on_gpu);
    if (mine->out)
        mine->cuda.host_free(mine->out);
    if (mine->in)
        mine->cuda.host_free(mine->in);
    free(mine);
}

/* Reports which CUDA call went wrong. With its error, one that is out of memory makes the layout
 * infeasible, which is not a fault. */
static int cuda_failed(const struct instance *mine, int error, const char *call)
{
    return error ? mine->worker->host->fail(mine->worker, error, "%s", call) : 0;
}

static int make(struct instance *mine)
{
    /* -- your buffers, handles, plans, weights here -- */
    if (find_all(mine) ||
        cuda_failed(mine, mine->cuda.host_alloc((void **)&mine->in, mine->bytes, 0),
                    "cuMemHostAlloc") ||
        cuda_failed(mine, mine->cuda.host_alloc((void **)&mine->out, mine->bytes, 0),
                    "cuMemHostAlloc") ||
        cuda_failed(mine, mine->cuda.alloc(&mine->on_gpu, mine->bytes), "cuMemAlloc"))
        return 1;
    for (size_t i = 0; i < mine->bytes; i++)
        mine->in[i] = (unsigned char)(i * 7 + mine->worker->thread + mine->worker->index);
    memset(mine->out, 0, mine->bytes);
    return 0;
}

static int init(const struct mpsweep_worker *worker, void **instance)
{
    struct instance *mine = calloc(1, sizeof *mine);
    if (!mine)
        return worker->host->fail(worker, 0, "out of memory");
    mine->worker = worker;
    mine->bytes = bytes_of(worker->options);
    if (make(mine) != 0) {
        /* After an init that fails fini is not called. */
        fini(mine);
        return 1;
    }
    *instance = mine;
    return 0;
}

/* Enqueues, and does not wait: that, and the waiting, is what mpsweep times. */
static int iterate(void *instance)
{
    struct instance *mine = instance;
    void *stream = mine->worker->stream;
    /* -- your kernels and library calls here, on that stream -- */
    int error = mine->cuda.copy_in(mine->on_gpu, mine->in, mine->bytes, stream);
    if (error)
        return cuda_failed(mine, error, "cuMemcpyHtoDAsync");
    error = mine->cuda.copy_out(mine->out, mine->on_gpu, mine->bytes, stream);
    return cuda_failed(mine, error, "cuMemcpyDtoHAsync");
}

/* The stream is idle here, and the iteration still counts. To go on with it, enqueue more and set
 * *more to 1. Without anything to do, NULL stands for it below. */
static int completed(void *instance, int *more)
{
    (void)instance;
    (void)more;
    /* -- what the host does with a result here, such as sending it -- */
    return 0;
}

/* The stream is idle here, and the iteration is over. Spoils the output, so that one that is never
 * written shows next time. */
static int check(void *instance)
{
    struct instance *mine = instance;
    /* -- your comparison here -- */
    size_t last = mine->bytes - 1;
    if (mine->out[0] != mine->in[0] || mine->out[last] != mine->in[last])
        return mine->worker->host->fail(mine->worker, 0, "%u and %u came back as %u and %u",
                                        mine->in[0], mine->in[last], mine->out[0], mine->out[last]);
    mine->out[0] = (unsigned char)~mine->in[0];
    mine->out[last] = (unsigned char)~mine->in[last];
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
    completed,
};
