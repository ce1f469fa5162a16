#include "orchestrator/round/numa.h"

#include <stdio.h>
#include <string.h>

#include "orchestrator/record/warnings.h"

static bool any(const uint64_t nodes[BIND_NODE_WORDS])
{
    for (size_t i = 0; i < BIND_NODE_WORDS; i++)
        if (nodes[i])
            return true;
    return false;
}

static bool within(const uint64_t nodes[BIND_NODE_WORDS], const uint64_t wanted[BIND_NODE_WORDS])
{
    for (size_t i = 0; i < BIND_NODE_WORDS; i++)
        if (nodes[i] & ~wanted[i])
            return false;
    return true;
}

void numa_text(const struct session *session, const struct shm_slot *slot, char *text, size_t size)
{
    if (bind_node_count(session->topology) > 1 && any(slot->nodes))
        bind_nodes_text(slot->nodes, text, size);
    else if (size)
        text[0] = '\0';
}

struct numa numa_of(const struct session *session, const struct shm *shm, unsigned gpu,
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
        for (unsigned t = 0; t < shm->header->threads; t++) {
            const struct shm_slot *slot = shm_slot_at(shm, p, t);
            numa.workers++;
            if (!any(process->nodes) || within(slot->nodes, process->nodes))
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

/* Why memory may be elsewhere, and what to do about it. */
static const char *cause(const struct numa *numa, char *text, size_t size)
{
    if (numa->policy == SHM_POLICY_REFUSED)
        snprintf(text, size,
                 "the system refused the memory policy (%s): in a container, allow set_mempolicy, "
                 "as --cap-add SYS_NICE does",
                 strerror(numa->policy_errno));
    else if (numa->policy == SHM_POLICY_INHERITED)
        snprintf(text, size, "there was a memory policy already, as from numactl, and it was kept");
    else
        snprintf(text, size, "there was no room, or the driver chose another place");
    return text;
}

void numa_record(json_t *record, const struct numa *numa)
{
    if (numa->policy == SHM_POLICY_REFUSED)
        json_object_set_new(record, "memory_policy",
                            json_sprintf("refused: %s", strerror(numa->policy_errno)));
    else if (numa->policy == SHM_POLICY_INHERITED)
        json_object_set_new(record, "memory_policy", json_string("inherited"));
}

void numa_warn(json_t *warnings, const struct numa *numa)
{
    char why[256];
    if (numa->far)
        warnings_add(
            warnings, "far-memory",
            "host buffers of %u of %u workers lie on NUMA node %s, and not on %s near their "
            "GPU; %s",
            numa->far, numa->workers, numa->found, numa->wanted, cause(numa, why, sizeof why));
}
