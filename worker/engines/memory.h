/*
 * Where the host memory of a worker process lies: the NUMA nodes that it is to be on, and those
 * that it is found on.
 *
 * The policy is a thread's and what it starts inherits it, so the process's first thread asks for
 * it before the driver and the workers' threads exist, and a supervisor before its program does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/shm.h"

/* Asks for the nodes of the record, or takes back what was asked for before where it names none,
 * and notes the result in the record. Other nodes are used when those are full. A policy that
 * was inherited, as from numactl, stays. To be called by the process's first thread. */
void worker_memory_policy(struct shm_process *record);

/* Pageable memory that no thread has touched yet, so that the policy holds for it, which it does
 * not for what malloc() gives again. NULL: there is none. */
void *worker_memory_new(size_t bytes);
void worker_memory_free(void *memory, size_t bytes); /* NULL is fine */

/* Whether the machine has one node, so that all memory is equally near to every thread. */
bool worker_memory_is_one_node(void);

/* Adds the nodes that the memory lies on, of some of its pages. What the kernel does not report, as
 * of a driver's own pages, is left out. NULL or no bytes: nothing. */
void worker_memory_find(const void *memory, size_t bytes, uint64_t nodes[WORK_NODES / 64]);
