/* Parts of the multiprocessors: who has which, and whether they are apart. */
#include "orchestrator/round/internal.h"

#include "orchestrator/plan/shares.h"

enum status round_check_partition(const struct point *point)
{
    if (point->sm_partition.count == 0 || !point_over_mps(point))
        return STATUS_OK;
    return status_set(
        STATUS_INFEASIBLE,
        "sm-partition: MPS does not keep partitions apart, so kernels of one would run "
        "on another's multiprocessors; take a layout without MPS, or "
        "active-thread-percentage");
}

void round_deal_partitions(const struct round *round)
{
    const struct point *point = round->point;
    for (unsigned i = 0; i < point_workers(point) && point->sm_partition.count; i++) {
        unsigned thread = i % point_slots(point) / point_streams(point);
        round_slot(round, i)->partition = (uint32_t)shares_at(&point->sm_partition, thread);
    }
}

static bool has(const struct shm_slot *slot, unsigned multiprocessor)
{
    return slot->multiprocessors[multiprocessor / 64] >> multiprocessor % 64 & 1;
}

/* The streams of a thread share its part. */
static bool are_apart(const struct point *point, unsigned a, unsigned b)
{
    return a / point_slots(point) == b / point_slots(point) &&
           a / point_streams(point) != b / point_streams(point);
}

/* Whether an earlier worker of the process has the multiprocessor. */
static bool find_other(const struct round *round, unsigned worker, unsigned multiprocessor,
                       unsigned *other)
{
    for (*other = worker - worker % point_slots(round->point); *other < worker; ++*other)
        if (are_apart(round->point, *other, worker) &&
            has(round_slot(round, *other), multiprocessor))
            return true;
    return false;
}

static enum status prove_worker(const struct round *round, unsigned worker)
{
    const struct shm_slot *slot = round_slot(round, worker);
    char name[ROUND_NAME_TEXT], other_name[ROUND_NAME_TEXT];
    unsigned found = 0, other;
    for (unsigned m = 0; m < WORK_MULTIPROCESSORS; m++) {
        if (!has(slot, m))
            continue;
        found++;
        if (find_other(round, worker, m, &other))
            return status_set(STATUS_WORKER,
                              "%s and %s have kernels on the same multiprocessor %u: their "
                              "partitions overlap",
                              round_worker_name(round, other, other_name),
                              round_worker_name(round, worker, name), m);
    }
    if (found == 0 || found > slot->partition)
        return status_set(STATUS_WORKER,
                          "%s has kernels on %u multiprocessors, but was given %u: no measurement",
                          round_worker_name(round, worker, name), found, slot->partition);
    return STATUS_OK;
}

enum status round_prove_partitions(const struct round *round)
{
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < point_workers(round->point) && status == STATUS_OK; i++)
        if (round_slot(round, i)->partition)
            status = prove_worker(round, i);
    return status;
}
