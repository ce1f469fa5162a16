#include <stdlib.h>

#include "orchestrator/round/internal.h"
#include "statistics/statistics.h"

double round_fixed_ips(double iterations_each, const double *elapsed_s, unsigned workers)
{
    double mean_s = statistics_mean(elapsed_s, workers);
    return mean_s > 0.0 ? iterations_each * (double)workers / mean_s : 0.0;
}

enum status round_collect_fixed(const struct shm *shm, struct round_result *result)
{
    unsigned slots = shm_slots(shm->header), workers = shm->header->processes * slots;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    double *elapsed_s = calloc(workers, sizeof *elapsed_s);
    if (!elapsed_s)
        return status_set(STATUS_MEMORY, "out of memory for the results");
    for (unsigned i = 0; i < workers; i++) {
        const struct shm_slot *slot = shm_slot_at(shm, i / slots, i % slots);
        first_ns = slot->work_begin_ns < first_ns ? slot->work_begin_ns : first_ns;
        last_ns = slot->work_end_ns > last_ns ? slot->work_end_ns : last_ns;
        elapsed_s[i] = (double)(slot->work_end_ns - slot->work_begin_ns) / 1e9;
        result->workers[i].elapsed_s = elapsed_s[i];
    }
    double each = (double)shm->header->settings.iterations;
    result->fixed = (struct round_fixed){
        .begin_s = ((double)first_ns - (double)atomic_load(&shm->header->window_begin_ns)) / 1e9,
        .seconds = (double)(last_ns - first_ns) / 1e9,
        .elapsed_s = statistics_mean(elapsed_s, workers),
        .throughput_ips = round_fixed_ips(each, elapsed_s, workers),
    };
    free(elapsed_s);
    return STATUS_OK;
}
