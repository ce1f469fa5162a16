/*
 * The machines of tests/data/topologies, and a plan of workers on them in words.
 */
#pragma once

#include "orchestrator/bind/internal.h"

#define RIG_WORKERS 512

struct rig_machine {
    const char *file;
    unsigned gpus;
    const char *pci[16];
};

#define RIG_MACHINES 14
extern const struct rig_machine rig_machines[RIG_MACHINES];

const struct rig_machine *rig_machine(const char *file);

/* GPUs by their place in `pci`. */
#define RIG_DIGITS "0123456789abcdef"

/* gpus: which of the machine's, "0f": the first and the last of 16; '?' is one that is not there.
 */
struct bind_topology *rig_load(const char *file, const char *gpus, const char *allowed);

unsigned rig_cpus_in(const uint64_t mask[BIND_WORDS]);
unsigned rig_first_in(const uint64_t mask[BIND_WORDS]);

/* Of each worker. */
extern uint64_t rig_masks[RIG_WORKERS][BIND_WORDS];
extern unsigned rig_gpu_of[RIG_WORKERS];

/* Fills both as a sweep does it: process p is on GPU p % G, and has `threads` workers. Returns how
 * many workers there are. */
unsigned rig_plan(const struct bind_topology *t, enum bind_policy policy, unsigned gpus,
                  unsigned processes, unsigned threads);

/* Appends to text. */
void rig_add(char *text, size_t size, const char *more);

/* One GPU's workers and nodes in words: "0..3,8@1" for workers on CPUs 0, 1, 2, 3 and 8 with their
 * memory on node 1; "*0-7@1" where all have CPUs 0-7; "-" for no nodes. */
void rig_add_gpu(const struct bind_topology *t, enum bind_policy policy, unsigned gpu,
                 unsigned workers, char *text, size_t size);
