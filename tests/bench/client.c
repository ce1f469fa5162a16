/*
 * What a tick of a program costs: mpsweep_begin() and mpsweep_end() with nothing between. With a
 * command, runs it in the same place, so that it can tick, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/program.h"
#include "common/clock.h"
#include "include/mpsweep/client.h"
#include "shm/shm.h"

#define TICKS 1000000
#define BATCHES 21

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int bench_ticks(void)
{
    double costs_ns[BATCHES];
    struct mpsweep *worker = mpsweep_open(MPSWEEP_NEXT_THREAD);
    if (!worker || !mpsweep_ready(worker))
        return -1;
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t begin_ns = clock_now_ns();
        for (int i = 0; i < TICKS; i++) {
            mpsweep_begin(worker);
            mpsweep_end(worker);
        }
        costs_ns[batch] = (double)(clock_now_ns() - begin_ns) / TICKS;
    }
    qsort(costs_ns, BATCHES, sizeof costs_ns[0], compare);
    printf(
        "a tick in C, mpsweep_begin() and mpsweep_end(): median %.0f ns, fastest batch %.0f ns\n",
        costs_ns[BATCHES / 2], costs_ns[0]);
    return 0;
}

int main(int argc, char **argv)
{
    struct shm shm;
    char line[80];
    const struct shm_settings settings = {.slice_ns = 2 * NS_PER_MS, .workload = WORKLOAD_PROGRAM};
    int event_fd = eventfd(0, EFD_NONBLOCK);
    if (event_fd < 0 || shm_create(&settings, 1, 1, &shm) != STATUS_OK)
        return EXIT_FAILURE;
    int memory_fd = dup(shm.fd); /* not closed by exec */
    snprintf(line, sizeof line, "%d %d %d %d 0", CLIENT_PROTOCOL, memory_fd, event_fd,
             (int)getpid());
    setenv(CLIENT_VARIABLE, line, 1);
    shm_gate_open(&shm, clock_now_ns());
    if (argc > 1) {
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        return EXIT_FAILURE;
    }
    return bench_ticks() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
