/*
 * The smallest program that mpsweep can measure: each thread ticks. It needs no CUDA to build; it
 * uses the GPU only as far as to be there, so that mpsweep can prove over what it runs.
 *
 *     cc ticker.c -o ticker $(pkg-config --cflags --libs mpsweep-client) -pthread -ldl
 *     mpsweep sweep --layout processes+mps:1-4,hybrid:2x2 -- ./ticker 200
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <mpsweep/client.h>

static long work_us = 1000;

/* The driver that mpsweep found, or the machine's own. A real program makes its context with the
 * CUDA runtime, a framework, or whatever it uses. */
static int use_gpu(void)
{
    const char *name = getenv("MPSWEEP_DRIVER");
    void *driver = dlopen(name ? name : "libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "ticker: %s\n", dlerror());
        return -1;
    }
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
    void *context;
    if (!init || !retain || init(0) != 0 || retain(&context, 0) != 0) {
        fprintf(stderr, "ticker: the driver gives no context\n");
        return -1;
    }
    return 0;
}

/* In place of something useful: a wait, as for a GPU. */
static void work(void)
{
    const struct timespec time = {.tv_sec = work_us / 1000000, .tv_nsec = work_us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

static void *serve(void *argument)
{
    struct mpsweep *worker = mpsweep_open(MPSWEEP_NEXT_THREAD);
    unsigned long served = 0;
    mpsweep_ready(worker);
    while (mpsweep_begin(worker)) {
        work();
        mpsweep_check(worker, ++served != 0, "the count is lost");
        mpsweep_end(worker);
        /* Without mpsweep this would run for ever. */
        if (!worker && served == 1000)
            break;
    }
    mpsweep_close(worker);
    return argument;
}

int main(int argc, char **argv)
{
    const char *text = getenv("MPSWEEP_THREADS");
    long count = text ? strtol(text, NULL, 10) : 1;
    if (argc > 1)
        work_us = strtol(argv[1], NULL, 10);
    if (count < 1 || work_us < 0 || use_gpu() != 0)
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
