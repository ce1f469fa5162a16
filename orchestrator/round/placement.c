/* Checks whether the workers had the CPUs and the memory that their binding planned. */
#include "orchestrator/round/internal.h"

struct cores round_cores(const struct session *session, const struct point *point)
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

static bool within(const uint64_t nodes[BIND_NODE_WORDS], const uint64_t wanted[BIND_NODE_WORDS])
{
    for (size_t i = 0; i < BIND_NODE_WORDS; i++)
        if (nodes[i] & ~wanted[i])
            return false;
    return true;
}

void round_numa_text(const struct session *session, const struct shm_slot *slot, char *text,
                     size_t size)
{
    if (bind_node_count(session->topology) > 1 && work_mask_any(slot->nodes, WORK_NODES))
        bind_nodes_text(slot->nodes, text, size);
    else if (size)
        text[0] = '\0';
}

struct numa round_numa(const struct session *session, const struct shm *shm, unsigned gpu,
                       unsigned gpus)
{
    struct numa numa = {0};
    uint64_t found[BIND_NODE_WORDS] = {0};
    if (bind_node_count(session->topology) < 2)
        return numa;
    for (unsigned p = gpu; p < shm->header->processes; p += gpus) {
        struct shm_process *process = shm_process_at(shm, p);
        uint32_t policy = atomic_load(&process->policy);
        if (policy > numa.policy) {
            numa.policy = policy;
            numa.policy_errno = atomic_load(&process->policy_errno);
        }
        for (unsigned s = 0; s < shm_slots(shm->header); s++) {
            const struct shm_slot *slot = shm_slot_at(shm, p, s);
            numa.workers++;
            if (!work_mask_any(process->nodes, WORK_NODES) || within(slot->nodes, process->nodes))
                continue;
            if (numa.far++ == 0)
                bind_nodes_text(process->nodes, numa.wanted, sizeof numa.wanted);
            for (size_t i = 0; i < BIND_NODE_WORDS; i++)
                found[i] |= slot->nodes[i];
        }
    }
    bind_nodes_text(found, numa.found, sizeof numa.found);
    return numa;
}
