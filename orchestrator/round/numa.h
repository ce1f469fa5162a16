/*
 * Whether the workers' host buffers lie on the NUMA nodes that they were meant for. Of concern only
 * where a machine has more than one node.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "orchestrator/session/session.h"
#include "shm/shm.h"

struct numa {
    unsigned workers;
    unsigned far;     /* with some of it on nodes that were not wished for */
    uint32_t policy;  /* enum shm_policy: the worst of all processes' */
    int policy_errno; /* why it was refused */
    char wanted[64];  /* by the first of the far ones */
    char found[64];   /* where theirs are, all together */
};

/* Of an assignment whose workers have all been ready: of the processes gpu, gpu + gpus and so on,
 * which are those of one of so many GPUs; 0 and 1: of all. All zero on a machine of one node. */
struct numa numa_of(const struct session *session, const struct shm *shm, unsigned gpu,
                    unsigned gpus);

/* The nodes of one worker's buffers, "0" or "0-1"; empty where they are not known, and on a machine
 * of one node. */
void numa_text(const struct session *session, const struct shm_slot *slot, char *text, size_t size);

/* Adds what of it is not as it should be: "memory_policy" to a point's record, and far-memory to
 * warnings, which is about the workers of one GPU. */
void numa_record(json_t *record, const struct numa *numa);
void numa_warn(json_t *warnings, const struct numa *numa);
