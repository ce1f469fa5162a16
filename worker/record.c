#include "worker/record.h"

void recorder_init(struct recorder *recorder, const struct shm *shm, struct shm_slot *slot)
{
    *recorder = (struct recorder){
        .slot = slot,
        .header = shm->header,
        .start_ns = atomic_load(&shm->header->start_ns),
    };
}

void recorder_add(struct recorder *recorder, const struct iteration_times *times)
{
    struct shm_slot *slot = recorder->slot;
    const struct shm_settings *settings = &recorder->header->settings;
    uint64_t end_ns = times->end_ns - recorder->start_ns;
    const struct pace *pace = recorder->pace;
    /* From the end of the one before: the time between iterations belongs to somebody. In an open
     * loop it may be a wait for the planned start, which belongs to nobody. */
    uint64_t from_ns = pace ? times->begin_ns - recorder->start_ns : recorder->last_end_ns;
    shm_slot_credit(slot, settings->warmup_ns, settings->slice_ns, from_ns, end_ns);
    recorder->last_end_ns = end_ns;
    uint64_t window_end_ns =
        atomic_load_explicit(&recorder->header->window_end_ns, memory_order_relaxed);
    uint64_t counted_ns = pace ? from_ns : end_ns;
    if (counted_ns >= settings->warmup_ns && counted_ns <= window_end_ns) {
        slot->iterations++;
        if (pace) {
            histogram_record(&slot->latency, end_ns - pace->planned_ns);
            histogram_record(&slot->service, times->end_ns - times->begin_ns);
            slot->late += pace->late;
        } else {
            histogram_record(&slot->latency, times->end_ns - times->begin_ns);
        }
        histogram_record(&slot->launch, times->launch_ns);
        histogram_record(&slot->sync, times->sync_ns);
        if (settings->launch == SHM_LAUNCH_STREAM) {
            histogram_record(&slot->h2d, times->h2d_ns);
            histogram_record(&slot->d2h, times->d2h_ns);
        }
    }
    atomic_store_explicit(&slot->last_end_ns, end_ns, memory_order_relaxed);
    uint64_t beats = atomic_load_explicit(&slot->heartbeat, memory_order_relaxed);
    atomic_store_explicit(&slot->heartbeat, beats + 1, memory_order_release);
}
