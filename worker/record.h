/*
 * Recording one iteration in a worker's slot: what stands beside the CUDA calls in the timed path.
 */
#ifndef MPSWEEP_WORKER_RECORD_H
#define MPSWEEP_WORKER_RECORD_H

#include "worker/iteration.h"
#include "worker/pace.h"

struct recorder {
    struct shm_slot *slot;
    const struct shm_header *header;
    uint64_t start_ns;       /* agreed start */
    uint64_t last_end_ns;    /* end of the iteration before, from the agreed start */
    const struct pace *pace; /* of an open loop, NULL in a closed one */
};

void recorder_init(struct recorder *recorder, const struct shm *shm, struct shm_slot *slot);

/* Credits the iteration to the time slices, and its latency and phases to the histograms if it
 * ended inside the window. In an open loop it must have begun there: what ends it is not to decide
 * whether a slow iteration counts. */
void recorder_add(struct recorder *recorder, const struct iteration_times *times);

#endif
