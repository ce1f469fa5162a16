#include "orchestrator/round/placement.h"

#include "orchestrator/record/warnings.h"

struct cores cores_of(const struct session *session, const struct point *point)
{
    struct cores cores = {0};
    uint64_t mask[BIND_WORDS];
    if (session->emulated)
        return cores;
    uint64_t all[BIND_WORDS] = {0};
    for (unsigned gpu = 0; gpu < point_gpus(point); gpu++) {
        bind_process_mask(session->topology, point->bind, gpu, mask);
        for (size_t i = 0; i < BIND_WORDS; i++)
            all[i] |= mask[i];
    }
    for (size_t i = 0; i < BIND_WORDS; i++)
        cores.cpus += (unsigned)__builtin_popcountll(all[i]);
    cores.quota = bind_cpu_quota();
    return cores;
}

/* "auto" spins unless one process has more contexts than the machine has CPUs, and ours have one. A
 * yielding wait gives its CPU away when somebody wants it, but uses up time all the same. */
void cores_warn(json_t *warnings, const struct point *point, const struct cores *cores)
{
    unsigned workers = point_workers(point);
    enum work_schedule schedule = (enum work_schedule)point->work.schedule;
    if (cores->cpus == 0 || schedule == SCHEDULE_BLOCK)
        return;
    if (cores->quota > 0.0 && cores->quota < cores->cpus && workers > cores->quota)
        warnings_add(
            warnings, "few-cores",
            "more workers than the CPU quota of %.3g, and waiting with schedule %s takes a "
            "CPU each; give '--schedule block', fewer workers or a larger quota",
            cores->quota, point_schedule(point));
    else if (schedule != SCHEDULE_YIELD && workers > cores->cpus)
        warnings_add(
            warnings, "few-cores",
            "more workers than the %u CPU%s that they may use, and waiting with schedule %s "
            "takes a CPU each; give '--schedule block' or fewer workers",
            cores->cpus, cores->cpus == 1 ? "" : "s", point_schedule(point));
}
