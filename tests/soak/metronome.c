/*
 * A program with a rate that is known: each thread's iterations end at planned times.
 *     metronome PERIOD_US SERIES CATCH_UP_MS SEED closed|open
 * SERIES is how long iterations are planned to take, PERIOD_US in the mean:
 *     steady       all the same
 *     uniform      from half to one and a half of it
 *     exponential
 *     stalls       2% of them take 51 times as long as the others
 *     modes        10% above or below, for 20 iterations in the mean
 * A thread that is late by up to CATCH_UP_MS makes up for it, so that the mean rate does not depend
 * on how busy the computer is; beyond that it goes on from where it is. In an open loop each
 * iteration is planned from its own begin.
 *
 * MPSWEEP_EMUL_LATENESS=FOLDER: as emul/model/lateness.h, in a file metronome.PID, with a
 * seventh number: the time of the common start on the monotonic clock.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "include/mpsweep/client.h"

#define NS_PER_S INT64_C(1000000000)

struct witness {
    _Atomic int64_t waits, planned_ns, late_ns, longest_ns, between_ns, capped_ns, watched_ns,
        unserved_ns, start_ns;
};

static struct witness nowhere, *witness = &nowhere;
static const char *series;
static double period_ns;
static int64_t catch_up_ns;
static long seed;
static int has_rate;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void sleep_until(int64_t when_ns)
{
    const struct timespec when = {when_ns / NS_PER_S, when_ns % NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) != 0)
        ;
}

static void note(int64_t planned_ns, int64_t late_ns)
{
    int64_t longest = atomic_load(&witness->longest_ns);
    late_ns = late_ns > 0 ? late_ns : 0;
    atomic_fetch_add(&witness->waits, 1);
    atomic_fetch_add(&witness->planned_ns, planned_ns);
    atomic_fetch_add(&witness->late_ns, late_ns);
    atomic_fetch_add(&witness->capped_ns, late_ns < planned_ns ? late_ns : planned_ns);
    while (late_ns > longest &&
           !atomic_compare_exchange_weak(&witness->longest_ns, &longest, late_ns))
        ;
}

static int64_t draw_ns(unsigned short state[3], double *mode)
{
    double u = erand48(state);
    if (strcmp(series, "uniform") == 0)
        return (int64_t)(period_ns * (0.5 + u));
    if (strcmp(series, "exponential") == 0)
        return (int64_t)(-period_ns * log1p(-u));
    if (strcmp(series, "stalls") == 0)
        return (int64_t)(period_ns / 2 * (u < 0.02 ? 51 : 1));
    if (strcmp(series, "modes") == 0) {
        if (u < 1.0 / 20)
            *mode = -*mode;
        return (int64_t)(period_ns * (1 + 0.1 * *mode));
    }
    return (int64_t)period_ns;
}

static void *serve(void *argument)
{
    long thread = (long)argument;
    unsigned short state[3] = {(unsigned short)seed, (unsigned short)getpid(),
                               (unsigned short)thread};
    struct mpsweep *worker = mpsweep_open((int)thread);
    mpsweep_ready(worker);
    int64_t next = now_ns(), zero = 0;
    double mode = erand48(state) < 0.5 ? 1 : -1;
    atomic_compare_exchange_strong(&witness->start_ns, &zero, next);
    while (mpsweep_begin(worker)) {
        int64_t begin = now_ns(), planned = draw_ns(state, &mode);
        if (has_rate || next < begin - catch_up_ns)
            next = begin;
        next += planned;
        sleep_until(next);
        note(planned, now_ns() - next);
        mpsweep_end(worker);
    }
    mpsweep_close(worker);
    return NULL;
}

/* mpsweep proves over what each process runs. */
static int use_gpu(void)
{
    int (*init)(unsigned);
    int (*retain)(void **, int);
    void *context, *driver = dlopen(getenv("MPSWEEP_DRIVER"), RTLD_NOW);
    if (driver == NULL)
        return -1;
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    return init(0) == 0 && retain(&context, 0) == 0 ? 0 : -1;
}

static void open_witness(void)
{
    const char *folder = getenv("MPSWEEP_EMUL_LATENESS");
    char path[4096];
    if (folder == NULL)
        return;
    snprintf(path, sizeof path, "%s/metronome.%ld", folder, (long)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *witness) != 0)
        exit(90);
    witness = mmap(NULL, sizeof *witness, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (witness == MAP_FAILED)
        exit(90);
    close(fd);
}

int main(int argc, char **argv)
{
    const char *text = getenv("MPSWEEP_THREADS");
    long count = text != NULL ? strtol(text, NULL, 10) : 1;
    if (argc != 6 || count < 1) {
        fputs("metronome PERIOD_US SERIES CATCH_UP_MS SEED closed|open\n", stderr);
        return 1;
    }
    period_ns = strtod(argv[1], NULL) * 1000;
    series = argv[2];
    catch_up_ns = strtol(argv[3], NULL, 10) * 1000000;
    seed = strtol(argv[4], NULL, 10);
    has_rate = strcmp(argv[5], "open") == 0;
    open_witness();
    if (use_gpu() != 0)
        return 92;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    if (threads == NULL)
        return 93;
    for (long t = 0; t < count; t++)
        if (pthread_create(&threads[t], NULL, serve, (void *)t) != 0)
            return 94;
    for (long t = 0; t < count; t++)
        pthread_join(threads[t], NULL);
    free(threads);
    return 0;
}
