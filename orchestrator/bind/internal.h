/*
 * What the files of this room share.
 */
#pragma once

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/bind/bind.h"

enum locality {
    LOCALITY_UNKNOWN,   /* no GPU given, not found, or the system does not know it */
    LOCALITY_KNOWN,     /* near is the GPU's own set, as far as allowed */
    LOCALITY_FORBIDDEN, /* known, but none of it is allowed: near is all that is */
};

struct bind_gpu {
    hwloc_bitmap_t near;  /* never empty, within allowed */
    hwloc_bitmap_t nodes; /* NUMA nodes for its host buffers; empty: no wish */
    enum locality locality;
    char pci[32]; /* empty where the locality is unknown */
};

struct bind_topology {
    hwloc_topology_t topology; /* cut down to the allowed CPUs */
    hwloc_bitmap_t allowed;
    unsigned nodes; /* with memory that may be used */
    unsigned gpus;  /* at least one */
    struct bind_gpu *gpu;
};

/* The CPUs that a policy gives to the workers of a GPU. */
hwloc_const_bitmap_t bind_set_of(const struct bind_topology *topology, enum bind_policy policy,
                                 unsigned gpu);

/* The first *count CPUs of the set in the order in which workers get them: one hardware thread of
 * every core in each turn. *count becomes smaller if the set has fewer. */
enum status bind_order(const struct bind_topology *topology, hwloc_const_bitmap_t cpus,
                       bool scatter, unsigned *order, unsigned *count);

/* Divides the cores among GPUs; workers: how many each has. own: a set for each GPU, empty
 * before, with the CPUs of the cores that are its own afterwards. *crowd: the GPUs, bit n is GPU n,
 * whose workers share their sets, since the CPUs do not suffice; no other has a core of those. */
enum status bind_divide(const struct bind_topology *topology, enum bind_policy policy,
                        const unsigned *workers, hwloc_bitmap_t *own, uint64_t *crowd);

/* The NUMA nodes that are nearest to the CPUs and fit for host buffers, within WORK_NODES. */
void bind_nodes_near(hwloc_topology_t topology, hwloc_const_bitmap_t cpus, hwloc_bitmap_t nodes);

/* NUMA nodes with memory that may be used. */
unsigned bind_nodes_usable(hwloc_topology_t topology);

/* Objects of the type, 0 where the machine has no such level. */
unsigned bind_count_of(hwloc_topology_t topology, hwloc_obj_type_t type);

/* The core of a CPU; where a machine hides cores, the CPU. */
hwloc_obj_t bind_core_of(hwloc_topology_t topology, unsigned cpu);

/* Cores that have a CPU of the set. */
unsigned bind_cores_in(hwloc_topology_t topology, hwloc_const_bitmap_t cpus);
