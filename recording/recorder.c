#include "recording/recorder.h"

#include <stdio.h>

#include "common/clock.h"

void recorder_init(struct recorder *recorder, const struct shm *shm, struct shm_slot *slot,
                   const struct recorder_options *options)
{
    *recorder = (struct recorder){
        .slot = slot,
        .header = shm->header,
        .start_ns = atomic_load(&shm->header->start_ns),
        .pace = options->pace,
        .cpu_source = options->cpu_source,
        .progress_ns = options->progress_ns,
        .without_phases = options->without_phases,
    };
}

void recorder_release(struct recorder *recorder, uint64_t when_ns)
{
    recorder->last_end_ns = when_ns > recorder->start_ns ? when_ns - recorder->start_ns : 0;
}

void recorder_begin_window(struct recorder *recorder)
{
    recorder->in_window = true;
    recorder->iterations = 0;
    /* The first iterations of the warm-up may have been slow; until here they show what is usual.
     */
    for (unsigned i = 0; i < SHM_LONGEST; i++)
        atomic_store_explicit(&recorder->slot->longest_ns[i], 0, memory_order_relaxed);
    cpu_read(recorder->cpu_source, &recorder->cpu);
    recorder->slot->work_begin_ns = clock_now_ns() - recorder->start_ns;
}

/* How long no worker that the iteration shares its progress with ended one. */
static uint64_t still_of(const struct recorder *recorder, uint64_t from_ns, uint64_t end_ns)
{
    uint64_t progress_ns = recorder->progress_ns ? *recorder->progress_ns : 0;
    if (progress_ns > recorder->start_ns + from_ns)
        from_ns = progress_ns - recorder->start_ns;
    return end_ns > from_ns ? end_ns - from_ns : 0;
}

/* One writer: relaxed loads and stores do. */
static void note_length(const struct recorder *recorder, uint64_t from_ns, uint64_t end_ns)
{
    struct shm_slot *slot = recorder->slot;
    uint64_t took_ns = end_ns - from_ns, still_ns = still_of(recorder, from_ns, end_ns);
    uint64_t window_end_ns;
    unsigned place = SHM_LONGEST;
    for (; place > 0; place--) {
        uint64_t shorter_ns =
            atomic_load_explicit(&slot->longest_ns[place - 1], memory_order_relaxed);
        if (took_ns <= shorter_ns)
            break;
        if (place < SHM_LONGEST)
            atomic_store_explicit(&slot->longest_ns[place], shorter_ns, memory_order_relaxed);
    }
    if (place < SHM_LONGEST)
        atomic_store_explicit(&slot->longest_ns[place], took_ns, memory_order_relaxed);
    window_end_ns = atomic_load_explicit(&recorder->header->window_end_ns, memory_order_relaxed);
    if (end_ns > recorder_window_begin_ns(recorder) && from_ns < window_end_ns &&
        still_ns > atomic_load_explicit(&slot->still_ns, memory_order_relaxed))
        atomic_store_explicit(&slot->still_ns, still_ns, memory_order_relaxed);
}

static void note_progress(const struct recorder *recorder, uint64_t end_ns)
{
    uint64_t now_ns = recorder->start_ns + end_ns;
    if (recorder->progress_ns && now_ns > *recorder->progress_ns)
        *recorder->progress_ns = now_ns;
}

/* The moment from which an iteration of an open loop could have run. */
static uint64_t due_ns(const struct recorder *recorder, const struct pace *pace)
{
    uint64_t planned_ns = pace->planned_ns, last_end_ns = recorder->last_end_ns;
    return planned_ns > last_end_ns ? planned_ns : last_end_ns;
}

void recorder_end(struct recorder *recorder, const struct pace *next,
                  const uint64_t *thread_iterations)
{
    struct cpu_reading now;
    uint64_t window_end_ns = atomic_load(&recorder->header->window_end_ns);
    /* One that was due and did not begin: the worker stood still before it. */
    if (next && due_ns(recorder, next) < window_end_ns)
        note_length(recorder, due_ns(recorder, next), window_end_ns);
    if (!recorder->in_window)
        return;
    recorder->slot->work_end_ns = clock_now_ns() - recorder->start_ns;
    cpu_read(recorder->cpu_source, &now);
    struct shm_cpu used =
        cpu_between(&recorder->cpu, &now, thread_iterations ? *thread_iterations : 0);
    if (!thread_iterations)
        used = (struct shm_cpu){.process_wall_ns = used.process_wall_ns,
                                .process_cpu_ns = used.process_cpu_ns};
    recorder->slot->cpu = used;
}

static void record_phases(struct shm_slot *slot, const struct shm_settings *settings,
                          const struct iteration_times *times)
{
    histogram_record(&slot->launch, times->launch_ns);
    histogram_record(&slot->sync, times->sync_ns);
    if (settings->launch == LAUNCH_STREAM && settings->workload != WORKLOAD_PLUGIN) {
        histogram_record(&slot->h2d, times->h2d_ns);
        histogram_record(&slot->d2h, times->d2h_ns);
    }
    for (unsigned i = 0; i < times->calls; i++)
        histogram_record(&slot->launch_call, times->call_ns[i]);
}

static void note_part(struct shm_slot *slot, uint64_t into_ns, uint64_t window_ns,
                      uint64_t latency_ns)
{
    struct shm_part *part = &slot->parts[into_ns * SHM_PARTS / window_ns];
    part->iterations++;
    part->latency_ns += latency_ns;
}

void recorder_add(struct recorder *recorder, const struct iteration_times *times)
{
    struct shm_slot *slot = recorder->slot;
    const struct shm_settings *settings = &recorder->header->settings;
    uint64_t end_ns = times->end_ns - recorder->start_ns;
    const struct pace *pace = recorder->pace;
    uint64_t begin_ns = recorder_window_begin_ns(recorder);
    /* From the end of the one before: the time between iterations counts for the next one. In an
     * open loop it may be a wait for the planned start, which counts nowhere. */
    uint64_t from_ns = pace ? times->begin_ns - recorder->start_ns : recorder->last_end_ns;
    if (settings->iterations)
        shm_slot_make_room(slot, begin_ns, settings->slice_ns, end_ns);
    shm_slot_credit(slot, begin_ns, settings->slice_ns << slot->slice_shift, from_ns, end_ns);
    note_length(recorder, pace ? due_ns(recorder, pace) : from_ns, end_ns);
    note_progress(recorder, end_ns);
    recorder->last_end_ns = end_ns;
    recorder->iterations++;
    uint64_t window_end_ns =
        atomic_load_explicit(&recorder->header->window_end_ns, memory_order_relaxed);
    uint64_t took_ns = times->end_ns - times->begin_ns;
    uint64_t latency_ns = pace ? end_ns - pace->planned_ns : took_ns;
    if (from_ns >= begin_ns && from_ns < window_end_ns) {
        slot->iterations++;
        histogram_record(&slot->latency, latency_ns);
        if (times->first_byte_ns)
            histogram_record(&slot->first_byte,
                             latency_ns - (times->end_ns - times->first_byte_ns));
        if (pace) {
            histogram_record(&slot->service, took_ns);
            slot->late += pace->late;
            note_part(slot, from_ns - begin_ns, window_end_ns - begin_ns, latency_ns);
        }
        if (!recorder->without_phases)
            record_phases(slot, settings, times);
    } else if (from_ns < begin_ns && end_ns > begin_ns) {
        histogram_cover(&slot->latency, latency_ns);
    }
    atomic_store_explicit(&slot->last_end_ns, end_ns, memory_order_relaxed);
    uint64_t completed = atomic_load_explicit(&slot->completed, memory_order_relaxed);
    atomic_store_explicit(&slot->completed, completed + 1, memory_order_release);
}

void recorder_add_bad(struct recorder *recorder, uint64_t begin_ns, bool wrong, const char *text)
{
    struct shm_slot *slot = recorder->slot;
    uint64_t from_ns = begin_ns - recorder->start_ns;
    uint64_t window_end_ns =
        atomic_load_explicit(&recorder->header->window_end_ns, memory_order_relaxed);
    /* Its time does not belong to the next one. */
    recorder->last_end_ns = clock_now_ns() - recorder->start_ns;
    note_progress(recorder, recorder->last_end_ns);
    atomic_store_explicit(&slot->last_end_ns, recorder->last_end_ns, memory_order_relaxed);
    if (from_ns < recorder_window_begin_ns(recorder) || from_ns >= window_end_ns)
        return;
    if (slot->errors + slot->wrong_answers == 0)
        snprintf(slot->bad, sizeof slot->bad, "%s", text);
    slot->errors += !wrong;
    slot->wrong_answers += wrong;
}
