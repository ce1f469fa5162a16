#include "orchestrator/session/telemetry.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/process.h"
#include "device/device.h"

/* Samples that are kept; when they are full, every second one is dropped. */
#define SAMPLES 4096

/* Listing the processes costs more than the other queries, and changes less. */
#define LOOK_NS (NS_PER_S / 2)

#define ANSWER_NS (3 * NS_PER_S)
#define SLOW_SAMPLE_NS (50 * NS_PER_MS)
#define LAST_SAMPLE_NS (NS_PER_S / 4)

/* A process of ours is at most this many steps below us: us, guard, MPS daemon, MPS server. */
#define GENERATIONS 8

/* A GPU that looks busy before we begin gets another look: starting NVML may have been the work. */
#define SECOND_LOOK_NS (NS_PER_S / 4)

enum life { LIFE_STARTING, LIFE_ABSENT, LIFE_READY, LIFE_ENDED };

/* What is known of one GPU. */
struct gpu {
    char *uuid;         /* set before the thread starts */
    nvml_device device; /* the thread's own */

    /* Under the lock. */
    struct nvml_limits limits;
    struct telemetry_before before;
    double best_clock_mhz;            /* highest mean of a window so far */
    struct telemetry_sample *samples; /* room for SAMPLES */
};

struct telemetry {
    /* Set before the thread starts, and not changed after. */
    char *library;
    unsigned gpu_count;
    unsigned expected;
    uint64_t answer_ns;
    pid_t self;
    pthread_t thread;

    /* The thread's own. */
    struct nvml nvml;

    /* All below under the lock, which is never held while NVML is called. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum life life;
    bool quit;
    bool abandoned;  /* the thread is left behind and frees everything itself */
    bool running;    /* a window */
    bool ended;      /* it has, and the last sample is wanted */
    bool silent;     /* the last sample did not come in time */
    unsigned window; /* its number: a sample that hung belongs to an older one */
    uint64_t begin_ns, end_ns, next_ns, interval_ns;
    uint64_t look_ns; /* when the next look at the processes is due */
    uint64_t call_ns; /* when the sample that is being taken was begun; 0: none is */
    unsigned sampled; /* GPUs, the first ones */
    unsigned workers; /* on each of them */
    bool mps_server;
    size_t count; /* of samples of each GPU */

    struct gpu gpus[DEVICE_LIST_MAX];
};

static void release(struct telemetry *telemetry)
{
    pthread_cond_destroy(&telemetry->changed);
    pthread_mutex_destroy(&telemetry->lock);
    free(telemetry->library);
    for (unsigned i = 0; i < DEVICE_LIST_MAX; i++) {
        free(telemetry->gpus[i].uuid);
        free(telemetry->gpus[i].samples);
    }
    free(telemetry);
}

static bool is_ours(pid_t self, pid_t pid)
{
    for (int i = 0; i < GENERATIONS && pid > 1; i++) {
        if (pid == self)
            return true;
        pid = process_parent(pid);
    }
    return false;
}

/*
 * Numbers of processes are the driver's: in a container they can be those of the host, and then not
 * all of our workers are found among them (though one number may chance to be ours), and only the
 * count can be compared.
 */
static struct telemetry_look look_at(const struct telemetry *telemetry, nvml_device device,
                                     unsigned workers, bool mps_server)
{
    struct telemetry_look look = {0};
    uint32_t pids[NVML_PROCESS_MAX], ours = 0;
    look.known = nvml_device_processes(&telemetry->nvml, device, &look.processes, pids);
    if (!look.known)
        return look;
    for (uint32_t i = 0; look.processes <= NVML_PROCESS_MAX && i < look.processes; i++)
        ours += is_ours(telemetry->self, (pid_t)pids[i]);
    look.by_pid = ours > 0 && ours >= workers;
    unsigned known = telemetry->expected + (look.by_pid ? ours : workers + mps_server);
    look.strangers = look.processes > known ? look.processes - known : 0;
    return look;
}

/* The GPU as it is without us. */
static struct telemetry_before look_before(const struct telemetry *telemetry, nvml_device device,
                                           bool known_reserved)
{
    struct telemetry_before before = {0};
    struct nvml_sample sample;
    nvml_device_sample(&telemetry->nvml, device, &sample);
    if (sample.known_utilisation && sample.utilisation_percent >= TELEMETRY_BUSY_PERCENT) {
        struct nvml_sample again;
        clock_sleep_until(clock_now_ns() + SECOND_LOOK_NS);
        nvml_device_sample(&telemetry->nvml, device, &again);
        if (again.known_utilisation && again.utilisation_percent < sample.utilisation_percent)
            sample.utilisation_percent = again.utilisation_percent;
    }
    before.known_utilisation = sample.known_utilisation;
    before.utilisation_percent = sample.utilisation_percent;
    before.known_memory = sample.known_memory && known_reserved;
    before.memory_used_bytes = sample.memory_used_bytes;
    before.processes = look_at(telemetry, device, 0, false).strangers;
    return before;
}

static bool start(struct telemetry *telemetry)
{
    struct nvml_limits limits[DEVICE_LIST_MAX] = {0};
    struct telemetry_before before[DEVICE_LIST_MAX] = {0};
    bool opened = nvml_open(telemetry->library, &telemetry->nvml) == STATUS_OK, known = opened;
    for (unsigned i = 0; known && i < telemetry->gpu_count; i++) {
        struct gpu *gpu = &telemetry->gpus[i];
        known = nvml_device_find(&telemetry->nvml, gpu->uuid, &gpu->device) == STATUS_OK;
        if (!known)
            break;
        nvml_device_limits(&telemetry->nvml, gpu->device, &limits[i]);
        before[i] = look_before(telemetry, gpu->device, limits[i].known_reserved);
    }
    if (opened && !known)
        nvml_close(&telemetry->nvml);
    pthread_mutex_lock(&telemetry->lock);
    for (unsigned i = 0; known && i < telemetry->gpu_count; i++) {
        telemetry->gpus[i].limits = limits[i];
        telemetry->gpus[i].before = before[i];
    }
    telemetry->life = known ? LIFE_READY : LIFE_ABSENT;
    pthread_cond_broadcast(&telemetry->changed);
    pthread_mutex_unlock(&telemetry->lock);
    return known;
}

/* With the lock. A window of any length fits: what is too much for the table is sampled less often.
 */
static void keep(struct telemetry *telemetry, const struct telemetry_sample *samples)
{
    bool full = telemetry->count == SAMPLES;
    for (unsigned g = 0; g < telemetry->sampled; g++) {
        struct telemetry_sample *kept = telemetry->gpus[g].samples;
        for (size_t i = 0; full && i < SAMPLES / 2; i++)
            kept[i] = kept[2 * i];
        kept[full ? SAMPLES / 2 : telemetry->count] = samples[g];
    }
    if (full)
        telemetry->interval_ns *= 2;
    telemetry->count = (full ? SAMPLES / 2 : telemetry->count) + 1;
}

/* With the lock, which it gives away while NVML is called. */
static void take_sample(struct telemetry *telemetry)
{
    struct telemetry_sample samples[DEVICE_LIST_MAX] = {0};
    unsigned window = telemetry->window, workers = telemetry->workers, gpus = telemetry->sampled;
    bool mps_server = telemetry->mps_server;
    uint64_t begun_ns = clock_now_ns();
    bool look =
        !telemetry->ended && begun_ns >= telemetry->begin_ns && begun_ns >= telemetry->look_ns;
    telemetry->call_ns = begun_ns;
    pthread_mutex_unlock(&telemetry->lock);

    for (unsigned i = 0; i < gpus; i++) {
        struct telemetry_sample *sample = &samples[i];
        sample->time_ns = clock_now_ns();
        nvml_device_sample(&telemetry->nvml, telemetry->gpus[i].device, &sample->gpu);
        /* It is unknown when within so long a call the counter was read. */
        if (clock_now_ns() - sample->time_ns > SLOW_SAMPLE_NS)
            sample->gpu.known_energy = false;
        if (look)
            sample->look = look_at(telemetry, telemetry->gpus[i].device, workers, mps_server);
    }

    pthread_mutex_lock(&telemetry->lock);
    telemetry->call_ns = 0;
    if (telemetry->window != window || !telemetry->running)
        return;
    if (look)
        telemetry->look_ns = begun_ns + LOOK_NS;
    /* Workers that go while we look have no parent by which to know them. */
    for (unsigned i = 0; i < gpus && telemetry->ended; i++)
        samples[i].look.known = false;
    keep(telemetry, samples);
    if (telemetry->ended && begun_ns >= telemetry->end_ns)
        telemetry->running = false;
    uint64_t next_ns = begun_ns + telemetry->interval_ns;
    /* One right at the beginning, for short windows and for the first look. */
    if (begun_ns < telemetry->begin_ns && telemetry->begin_ns < next_ns)
        next_ns = telemetry->begin_ns;
    /* The window may have ended meanwhile, and its last sample is waited for. */
    telemetry->next_ns = telemetry->ended ? telemetry->end_ns : next_ns;
    pthread_cond_broadcast(&telemetry->changed);
}

static void wait_until(struct telemetry *telemetry, uint64_t when_ns)
{
    const struct timespec when = clock_timespec(when_ns);
    pthread_cond_timedwait(&telemetry->changed, &telemetry->lock, &when);
}

static void *run(void *argument)
{
    struct telemetry *telemetry = argument;
    bool known = start(telemetry);
    pthread_mutex_lock(&telemetry->lock);
    while (known && !telemetry->quit) {
        if (!telemetry->running)
            pthread_cond_wait(&telemetry->changed, &telemetry->lock);
        else if (clock_now_ns() < telemetry->next_ns)
            wait_until(telemetry, telemetry->next_ns);
        else
            take_sample(telemetry);
    }
    pthread_mutex_unlock(&telemetry->lock);
    if (known)
        nvml_close(&telemetry->nvml);
    pthread_mutex_lock(&telemetry->lock);
    telemetry->life = known ? LIFE_ENDED : LIFE_ABSENT;
    bool abandoned = telemetry->abandoned;
    pthread_cond_broadcast(&telemetry->changed);
    pthread_mutex_unlock(&telemetry->lock);
    if (abandoned)
        release(telemetry);
    return NULL;
}

static bool start_thread(struct telemetry *telemetry)
{
    /* Signals are for the thread that watches them. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&telemetry->thread, NULL, run, telemetry) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* With the lock: the thread is in a call that has taken longer than any caller waits. */
static bool hangs(const struct telemetry *telemetry)
{
    return telemetry->call_ns != 0 && clock_now_ns() - telemetry->call_ns > LAST_SAMPLE_NS;
}

/* Waits for the thread's end; leaves one behind that does not come. */
static void end_thread(struct telemetry *telemetry)
{
    pthread_mutex_lock(&telemetry->lock);
    bool wait = telemetry->life == LIFE_READY && !hangs(telemetry);
    uint64_t deadline_ns = wait ? clock_now_ns() + telemetry->answer_ns : 0;
    telemetry->quit = true;
    pthread_cond_broadcast(&telemetry->changed);
    while (telemetry->life != LIFE_ENDED && telemetry->life != LIFE_ABSENT &&
           clock_now_ns() < deadline_ns)
        wait_until(telemetry, deadline_ns);
    bool ended = telemetry->life == LIFE_ENDED || telemetry->life == LIFE_ABSENT;
    telemetry->abandoned = !ended;
    /* Under the lock: from then on the thread may free everything. */
    if (!ended)
        pthread_detach(telemetry->thread);
    pthread_mutex_unlock(&telemetry->lock);
    if (!ended)
        return;
    pthread_join(telemetry->thread, NULL);
    release(telemetry);
}

enum status telemetry_open(const struct telemetry_request *request, struct telemetry **out)
{
    struct telemetry *telemetry = calloc(1, sizeof *telemetry);
    pthread_condattr_t attributes;
    *out = NULL;
    if (!telemetry)
        return STATUS_OK;
    telemetry->library = request->library ? strdup(request->library) : NULL;
    bool made = !request->library || telemetry->library;
    telemetry->gpu_count = request->gpus;
    for (unsigned i = 0; i < request->gpus; i++) {
        struct gpu *gpu = &telemetry->gpus[i];
        gpu->uuid = strdup(request->uuids[i]);
        gpu->samples = calloc(SAMPLES, sizeof *gpu->samples);
        made = made && gpu->uuid && gpu->samples;
    }
    telemetry->expected = request->expected;
    telemetry->answer_ns = request->answer_ns ? request->answer_ns : ANSWER_NS;
    telemetry->self = getpid();
    pthread_mutex_init(&telemetry->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&telemetry->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (!made || !start_thread(telemetry)) {
        release(telemetry);
        return STATUS_OK;
    }
    uint64_t deadline_ns = clock_now_ns() + telemetry->answer_ns;
    pthread_mutex_lock(&telemetry->lock);
    while (telemetry->life == LIFE_STARTING && clock_now_ns() < deadline_ns)
        wait_until(telemetry, deadline_ns);
    enum life life = telemetry->life;
    pthread_mutex_unlock(&telemetry->lock);
    if (life == LIFE_READY) {
        *out = telemetry;
        return STATUS_OK;
    }
    double waited_s = (double)telemetry->answer_ns / 1e9;
    end_thread(telemetry);
    return life == LIFE_ABSENT
               ? STATUS_OK
               : status_set(STATUS_TIMEOUT, "NVML does not answer within %.3g s: no telemetry",
                            waited_s);
}

struct nvml_limits telemetry_limits(const struct telemetry *telemetry, unsigned gpu)
{
    /* Written once, before telemetry_open() returned. */
    return telemetry ? telemetry->gpus[gpu].limits : (struct nvml_limits){0};
}

void telemetry_begin(struct telemetry *telemetry, uint64_t begin_ns, unsigned gpus,
                     unsigned workers, bool mps_server)
{
    if (!telemetry)
        return;
    pthread_mutex_lock(&telemetry->lock);
    telemetry->window++;
    telemetry->running = true;
    telemetry->ended = telemetry->silent = false;
    telemetry->begin_ns = begin_ns;
    telemetry->end_ns = UINT64_MAX;
    telemetry->next_ns = telemetry->look_ns = 0;
    telemetry->interval_ns = TELEMETRY_INTERVAL_NS;
    telemetry->sampled = gpus;
    telemetry->workers = workers;
    telemetry->mps_server = mps_server;
    telemetry->count = 0;
    pthread_cond_broadcast(&telemetry->changed);
    pthread_mutex_unlock(&telemetry->lock);
}

void telemetry_end(struct telemetry *telemetry, uint64_t end_ns)
{
    if (!telemetry)
        return;
    pthread_mutex_lock(&telemetry->lock);
    if (telemetry->running && !telemetry->ended) {
        telemetry->ended = true;
        telemetry->end_ns = end_ns;
        telemetry->next_ns = 0;
        pthread_cond_broadcast(&telemetry->changed);
    }
    pthread_mutex_unlock(&telemetry->lock);
}

void telemetry_collect(struct telemetry *telemetry, unsigned number, double iterations,
                       struct telemetry_window *out)
{
    *out = (struct telemetry_window){0};
    if (!telemetry)
        return;
    struct gpu *gpu = &telemetry->gpus[number];
    pthread_mutex_lock(&telemetry->lock);
    uint64_t deadline_ns = hangs(telemetry) ? 0 : clock_now_ns() + LAST_SAMPLE_NS;
    while (telemetry->running && clock_now_ns() < deadline_ns)
        wait_until(telemetry, deadline_ns);
    out->present = true;
    telemetry->silent |= telemetry->running;
    out->silent = telemetry->silent;
    telemetry->running = false;
    out->power_limit_w = gpu->limits.power_limit_milliwatts / 1e3;
    out->before = gpu->before;
    out->earlier_clock_mhz = gpu->best_clock_mhz;
    telemetry_window_sum(gpu->samples, telemetry->count, telemetry->begin_ns, telemetry->end_ns,
                         iterations, out);
    double clock_mhz = telemetry_mean(&out->sm_clock_mhz);
    if (clock_mhz > gpu->best_clock_mhz)
        gpu->best_clock_mhz = clock_mhz;
    pthread_mutex_unlock(&telemetry->lock);
}

void telemetry_close(struct telemetry *telemetry)
{
    if (telemetry)
        end_thread(telemetry);
}
