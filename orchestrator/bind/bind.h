/*
 * Where the workers run and where their host memory lies: which CPUs and NUMA nodes are near each
 * GPU, which of them this process may use, and which CPU each worker gets.
 *
 * The orchestrator loads the topology once for the GPUs of a run, plans a mask for each worker of a
 * point, and writes the masks into the workers' slots; the workers bind themselves. GPUs are
 * numbered as they were given when the topology was loaded, from 0. Masks name CPUs and nodes by
 * the operating system's numbers, bit n of word n / 64. All functions but the loading ones are
 * read-only and may be called from any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "job/point.h"
#include "job/work.h"

#define BIND_WORDS (WORK_CPUS / 64)
#define BIND_NODE_WORDS (WORK_NODES / 64)

/* GPUs that a topology can be loaded for. */
#define BIND_GPUS 64

struct bind_topology; /* opaque */

/* This machine, cut down to the CPUs that the calling thread may use (affinity and cpuset cgroup).
 * gpu_pci: one for each of `gpus` GPUs, "0000:3b:00.0"; NULL, malformed or not found: no CPU is
 * known to be near. gpus 0 is one GPU of which nothing is known. No CUDA or NVML is touched. *out
 * belongs to the caller, set only on success; STATUS_UNSUPPORTED when a CPU's number is beyond
 * WORK_CPUS, or with more than BIND_GPUS GPUs. */
enum status bind_topology_load(const char *const *gpu_pci, unsigned gpus,
                               struct bind_topology **out);

/* The same for a machine described by hwloc's XML file, or by its synthetic notation ("package:2
 * core:4 pu:2", whose GPUs are nowhere). allowed: the CPUs that may be used ("0-3,8"), NULL for
 * all. */
enum status bind_topology_load_xml(const char *path, const char *const *gpu_pci, unsigned gpus,
                                   const char *allowed, struct bind_topology **out);
enum status bind_topology_load_synthetic(const char *description, unsigned gpus,
                                         const char *allowed, struct bind_topology **out);

void bind_topology_free(struct bind_topology *topology); /* NULL is fine */

/*
 * One mask for each of `workers`, in the order of the workers. gpu_of: the GPU of each, NULL for
 * the first one of all.
 *
 * near     the CPUs near the GPU in topology order, all allowed ones where none is known or
 *          allowed: one hardware thread of each core, then the second of each, and so on
 * scatter  the same from all allowed CPUs, each next worker of a GPU in the package, NUMA node and
 *          cache that has had fewest
 * none     all zero: no binding
 *
 * GPUs that are near the same cores divide them: each has cores of its own, as many as the others
 * as far as it needs them, and no division exists that would give a core to a GPU that lacks one.
 * GPUs without workers have no part in it.
 *
 * With more workers than CPUs each gets the GPU's whole set, and so do the workers of all GPUs that
 * have cores in that set: no other GPU does. Pinning two to one CPU would have them wait for each
 * other while a third CPU idles, for as long as the point runs: a spinning wait never gives its CPU
 * away, and the scheduler may not mend it. Over the whole set, it can.
 *
 * threads: 0, or how many workers each process of a program has; these follow each other, and have
 * one GPU. A program has threads and processes of its own beside them, so that each process gets
 * the same number of whole cores, as many as can be, which its workers divide: neighbours, or with
 * scatter those of the first turns. Where there are fewer cores than workers, it is as above.
 *
 * STATUS_USAGE if a worker's GPU is not one of the topology's.
 */
enum status bind_plan(const struct bind_topology *topology, enum bind_policy policy,
                      const unsigned *gpu_of, unsigned workers, unsigned threads,
                      uint64_t (*masks)[BIND_WORDS]);

/* How many CPUs each of these workers has for itself: of those that their masks have together, but
 * no more than `usable`, or where they are not bound, of `usable`; at least one. */
unsigned bind_cpus_each(uint64_t (*masks)[BIND_WORDS], unsigned workers, unsigned usable);

/* Keeps the CPUs of one of `parts` parts of a mask, numbered from 0: neighbours, in all parts as
 * many or one more. With more parts than CPUs some are empty. */
void bind_part(uint64_t mask[BIND_WORDS], unsigned part, unsigned parts);

/* For the threads that a process of the GPU has beside its workers (main, the driver's helpers):
 * the whole near set for BIND_NEAR, all allowed CPUs otherwise. */
void bind_process_mask(const struct bind_topology *topology, enum bind_policy policy, unsigned gpu,
                       uint64_t mask[BIND_WORDS]);

/* NUMA nodes for the host buffers of a GPU's workers: those nearest to the GPU that are allowed,
 * whether its CPUs are or not; never a node of a GPU's own memory, or of another special kind. All
 * zero: no wish, memory lies where it is first used. That is so for scatter and none, where the
 * GPU's place is not known, and on machines of one node. */
void bind_nodes(const struct bind_topology *topology, enum bind_policy policy, unsigned gpu,
                uint64_t nodes[BIND_NODE_WORDS]);

/* "near GPU 0000:3b:00.0: package 0, CPUs 0-15 (8 cores, 16 threads)", and the like for the other
 * policies and where the GPU's place is not known; of several GPUs, each place once, with "; "
 * between them, and how many divide it. On machines of several NUMA nodes with the nodes for host
 * memory. Returns text. */
const char *bind_describe(const struct bind_topology *topology, enum bind_policy policy, char *text,
                          size_t size);

/* "2 packages, 56 cores, 112 threads": what may be used. Returns text. */
const char *bind_topology_summary(const struct bind_topology *topology, char *text, size_t size);

/* What the processors call themselves, one of a kind after the other; "" where the system
 * does not report it. Returns text. */
const char *bind_cpu_model(const struct bind_topology *topology, char *text, size_t size);

/* A set of numbers in words: "0-3,8"; "none" if empty; ends in "..." where it does not fit. Returns
 * text. */
const char *bind_bits_text(const uint64_t *words, unsigned count, char *text, size_t size);

/* The mask in words: "0-3,8"; "none" if empty; ends in "..." where it does not fit. Returns text.
 */
const char *bind_cpus_text(const uint64_t mask[BIND_WORDS], char *text, size_t size);

/* NUMA nodes with memory that may be used. */
unsigned bind_node_count(const struct bind_topology *topology);

/* Nodes in words, as CPUs. Returns text. */
const char *bind_nodes_text(const uint64_t nodes[BIND_NODE_WORDS], char *text, size_t size);

/* CPUs (hardware threads) that may be used, whatever the policy. */
unsigned bind_cpu_count(const struct bind_topology *topology);

/* CPUs' worth of time that the control group grants this process, the tightest of its own and its
 * parents' limits (cgroup v2 cpu.max, v1 cpu.cfs_quota_us): for example 1.5; 0 for no limit. The
 * second form looks below `root` instead of "/". In orchestrator/bind/quota.c. */
double bind_cpu_quota(void);
double bind_cpu_quota_at(const char *root);

/* CPUs that may be used, and no more than the quota pays for; at least one. */
unsigned bind_usable_cpus(const struct bind_topology *topology);
