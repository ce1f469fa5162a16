/*
 * What mpsweep itself costs: the start skew of the release gate, and recording an iteration.
 *
 * The gate is measured between processes that do nothing else, one bound to each CPU in turn; a
 * sweep's own skew stands in its results as start_skew_us.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "recording/recorder.h"
#include "worker/engines/sampling.h"

#define WORKERS 16
#define STARTS 200
#define RECORDS 1000000
#define BATCHES 21

/* The forum's workload with one worker on an H200: 286 iterations/s. More workers take longer. */
#define FORUM_KERNELS 220u
#define FORUM_NS 3500000
#define FORUM_BATCHES 41
#define FORUM_RECORDS 100
#define EVICT_BYTES (8 << 20)

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, size_t count, double share)
{
    qsort(values, count, sizeof *values, compare);
    size_t index = (size_t)(share * (double)count);
    return values[index < count ? index : count - 1];
}

static void bind_to(unsigned index)
{
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    unsigned wanted = index % (unsigned)CPU_COUNT(&allowed);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && wanted-- == 0) {
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

static int wait_at_gate(const struct shm *shm, unsigned index)
{
    struct shm_slot *slot = shm_slot_at(shm, index, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bind_to(index);
    atomic_store(&slot->state, SHM_STATE_READY);
    if (!shm_gate_wait(shm))
        return 1;
    slot->skew_ns = (int64_t)(clock_now_ns() - atomic_load(&shm->header->start_ns));
    return 0;
}

/* One common start of processes that have waited for it; the skews in microseconds. */
static int start_once(double skews_us[WORKERS])
{
    struct shm shm;
    const struct shm_settings settings = {.slice_ns = NS_PER_MS};
    pid_t pids[WORKERS];
    if (shm_create(&settings, WORKERS, 1, &shm) != STATUS_OK)
        return -1;
    for (unsigned i = 0; i < WORKERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(wait_at_gate(&shm, i));
    }
    for (unsigned i = 0; i < WORKERS; i++)
        while (atomic_load(&shm_slot_at(&shm, i, 0)->state) != SHM_STATE_READY)
            clock_sleep_until(clock_now_ns() + NS_PER_MS / 10);
    shm_gate_open(&shm, clock_now_ns() + 3 * NS_PER_MS);
    for (unsigned i = 0; i < WORKERS; i++)
        waitpid(pids[i], NULL, 0);
    for (unsigned i = 0; i < WORKERS; i++)
        skews_us[i] = (double)shm_slot_at(&shm, i, 0)->skew_ns / 1e3;
    shm_release(&shm);
    return 0;
}

static int bench_skew(void)
{
    static double skews_us[STARTS * WORKERS];
    for (unsigned i = 0; i < STARTS; i++)
        if (start_once(skews_us + (size_t)i * WORKERS) != 0)
            return -1;
    size_t count = STARTS * WORKERS;
    printf("start skew, %d processes, %d starts, %ld CPUs: p50 %.2f us, p99 %.2f us, max %.1f us\n",
           WORKERS, STARTS, sysconf(_SC_NPROCESSORS_ONLN), quantile(skews_us, count, 0.5),
           quantile(skews_us, count, 0.99), quantile(skews_us, count, 1.0));
    return 0;
}

/* What iteration_run() and recorder_add() do beside the CUDA calls: five moments, one record. */
static int bench_record(void)
{
    struct shm shm;
    /* Slices as short as a sweep's, so that iterations cross them as often. */
    const struct shm_settings settings = {.slice_ns = 2 * NS_PER_MS, .launch = LAUNCH_STREAM};
    double costs_ns[BATCHES];
    if (shm_create(&settings, 1, 1, &shm) != STATUS_OK)
        return -1;
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        struct recorder recorder;
        atomic_store(&shm.header->start_ns, clock_now_ns());
        recorder_init(&recorder, &shm, shm_slot_at(&shm, 0, 0),
                      &(const struct recorder_options){0});
        uint64_t begin_ns = clock_now_ns();
        for (unsigned i = 0; i < RECORDS; i++) {
            struct iteration_times times = {.begin_ns = clock_now_ns()};
            uint64_t moments[4];
            for (int m = 0; m < 4; m++)
                moments[m] = clock_now_ns();
            times.h2d_ns = moments[0] - times.begin_ns;
            times.launch_ns = moments[1] - moments[0];
            times.sync_ns = moments[2] - moments[1];
            times.d2h_ns = moments[3] - moments[2];
            times.end_ns = moments[3];
            recorder_add(&recorder, &times);
        }
        costs_ns[batch] = (double)(clock_now_ns() - begin_ns) / RECORDS;
    }
    printf("recording an iteration, with its five clock readings: median %.0f ns, fastest batch "
           "%.0f ns\n",
           quantile(costs_ns, BATCHES, 0.5), quantile(costs_ns, BATCHES, 0.0));
    shm_release(&shm);
    return 0;
}

/* Which calls are timed one by one. */
enum timed { TIMED_NONE, TIMED_SAMPLES, TIMED_ALL, TIMED_KINDS };

static void read_moments(uint64_t *durations, unsigned count)
{
    uint64_t last = clock_now_ns();
    for (unsigned i = 0; i < count; i++) {
        uint64_t moment = clock_now_ns();
        durations[i] = moment - last;
        last = moment;
    }
}

/* What a worker does in an iteration of the forum's workload, but for its CUDA calls. */
static void record_one(struct recorder *recorder, struct sampling *sampling, enum timed timed)
{
    static uint64_t call_ns[FORUM_KERNELS];
    uint64_t phase_ns[4];
    unsigned from = 0, to = 0;
    struct iteration_times times = {.begin_ns = clock_now_ns(), .call_ns = call_ns};
    recorder_before(recorder);
    if (timed == TIMED_ALL)
        to = FORUM_KERNELS;
    else if (timed == TIMED_SAMPLES)
        sampling_next(sampling, &from, &to);
    times.calls = to - from;
    if (times.calls)
        read_moments(call_ns, times.calls);
    read_moments(phase_ns, 3);
    times.h2d_ns = phase_ns[0];
    times.launch_ns = phase_ns[1];
    times.sync_ns = phase_ns[2];
    times.end_ns = clock_now_ns();
    sampling_adapt(sampling, FORUM_NS);
    recorder_add(recorder, &times);
}

/* With caches as an iteration leaves them: full of its buffers. Batches of the three kinds take
 * turns, so that whatever else the machine does meets all of them. */
static int bench_share(void)
{
    struct shm shm;
    const struct shm_settings settings = {.slice_ns = 2 * NS_PER_MS, .launch = LAUNCH_STREAM};
    static const char *const what[] = {"no single calls", "sampled calls", "all calls"};
    double costs_ns[TIMED_KINDS][FORUM_BATCHES], ratios[FORUM_BATCHES];
    struct sampling sampling;
    struct recorder recorder;
    static volatile char evicting[EVICT_BYTES];
    if (shm_create(&settings, 1, 1, &shm) != STATUS_OK)
        return -1;
    sampling_init(&sampling, FORUM_KERNELS, sampling_measure_cost_ns());
    sampling_adapt(&sampling, FORUM_NS);
    atomic_store(&shm.header->start_ns, clock_now_ns());
    recorder_init(&recorder, &shm, shm_slot_at(&shm, 0, 0), &(const struct recorder_options){0});
    for (unsigned batch = 0; batch < FORUM_BATCHES; batch++) {
        for (unsigned k = 0; k < TIMED_KINDS; k++) {
            uint64_t sum_ns = 0;
            for (unsigned i = 0; i < FORUM_RECORDS; i++) {
                for (size_t at = 0; at < EVICT_BYTES; at += 64)
                    evicting[at]++;
                uint64_t begin_ns = clock_now_ns();
                record_one(&recorder, &sampling, (enum timed)k);
                sum_ns += clock_now_ns() - begin_ns;
            }
            costs_ns[k][batch] = (double)sum_ns / FORUM_RECORDS;
        }
        ratios[batch] = costs_ns[TIMED_SAMPLES][batch] / costs_ns[TIMED_NONE][batch];
    }
    printf("recording an iteration of the forum's workload, caches cold, as a share of its %.1f ms "
           "(%u of %u launch calls sampled at %.0f ns each):\n",
           FORUM_NS / 1e6, sampling.calls, FORUM_KERNELS, sampling.cost_ns);
    for (unsigned k = 0; k < TIMED_KINDS; k++) {
        double median_ns = quantile(costs_ns[k], FORUM_BATCHES, 0.5);
        printf("  with %-16s median %5.0f ns = %.4f%%, quartiles %.0f to %.0f ns\n", what[k],
               median_ns, 100.0 * median_ns / FORUM_NS, quantile(costs_ns[k], FORUM_BATCHES, 0.25),
               quantile(costs_ns[k], FORUM_BATCHES, 0.75));
    }
    printf("  sampled by unsampled, batch by batch: median %.2f, quartiles %.2f to %.2f\n",
           quantile(ratios, FORUM_BATCHES, 0.5), quantile(ratios, FORUM_BATCHES, 0.25),
           quantile(ratios, FORUM_BATCHES, 0.75));
    shm_release(&shm);
    return 0;
}

int main(void)
{
    if (bench_skew() != 0 || bench_record() != 0 || bench_share() != 0) {
        fprintf(stderr, "bench: %s\n", status_text());
        return 1;
    }
    return 0;
}
