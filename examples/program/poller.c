/*
 * A program whose threads have several streams: each thread polls its own, and begins the next
 * iteration of one that has ended. In place of the GPU's work there is a time that passes; a real
 * program enqueues where this one notes the time, and asks cudaStreamQuery() or cudaEventQuery()
 * where it compares it. (ticker.c beside this file is the program with one stream a thread.)
 *
 *     cc poller.c -o poller $(pkg-config --cflags --libs mpsweep-client) -pthread -ldl
 *     mpsweep sweep --layout processes+mps:1-4,hybrid:2x2 --streams 1,4,16 -- ./poller 200
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <mpsweep/client.h>

static long work_us = 1000, streams = 1;

/* One with an iteration in flight, or free. */
struct stream {
    struct mpsweep *worker;
    long long ends_ns; /* of its iteration, 0: it is free */
    unsigned long served;
};

static long number(const char *variable)
{
    const char *text = getenv(variable);
    return text ? strtol(text, NULL, 10) : 1;
}

/* As in ticker.c. */
static int use_gpu(void)
{
    const char *name = getenv("MPSWEEP_DRIVER");
    void *driver = dlopen(name ? name : "libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "poller: %s\n", dlerror());
        return -1;
    }
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    void *context;
    if (!init || !retain || init(0) != 0 || retain(&context, 0) != 0) {
        fprintf(stderr, "poller: the driver gives no context\n");
        return -1;
    }
    return 0;
}

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Goes on without waiting. 0: the stream has nothing to do any more. */
static int go_on(struct stream *stream)
{
    if (stream->ends_ns && now_ns() >= stream->ends_ns) {
        stream->ends_ns = 0;
        mpsweep_check(stream->worker, ++stream->served != 0, "the count is lost");
        mpsweep_end(stream->worker);
    }
    if (stream->ends_ns)
        return 1;
    /* Without mpsweep this would run for ever. */
    if (!stream->worker && stream->served == 100)
        return 0;
    int begun = mpsweep_try_begin(stream->worker);
    if (begun == MPSWEEP_GO_ON)
        stream->ends_ns = now_ns() + work_us * 1000LL;
    return begun != MPSWEEP_OVER;
}

static void *serve(void *argument)
{
    struct stream *mine = calloc((size_t)streams, sizeof *mine);
    if (!mine)
        return NULL;
    for (long s = 0; s < streams; s++)
        mine[s].worker = mpsweep_open(MPSWEEP_NEXT_THREAD);
    /* The last of them waits for the common start. */
    for (long s = 0; s < streams; s++)
        mpsweep_ready(mine[s].worker);
    for (int left = 1; left; sched_yield()) {
        left = 0;
        for (long s = 0; s < streams; s++)
            left |= go_on(&mine[s]);
    }
    for (long s = 0; s < streams; s++)
        mpsweep_close(mine[s].worker);
    free(mine);
    return argument;
}

int main(int argc, char **argv)
{
    long count = number("MPSWEEP_THREADS");
    streams = number("MPSWEEP_STREAMS");
    if (argc > 1)
        work_us = strtol(argv[1], NULL, 10);
    if (count < 1 || streams < 1 || work_us < 0 || use_gpu() != 0)
        return EXIT_FAILURE;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    if (!threads)
        return EXIT_FAILURE;
    for (long t = 0; t < count; t++)
        if (pthread_create(&threads[t], NULL, serve, NULL) != 0)
            return EXIT_FAILURE;
    for (long t = 0; t < count; t++)
        pthread_join(threads[t], NULL);
    free(threads);
    return EXIT_SUCCESS;
}
