#include "orchestrator/bind/internal.h"

#include <string.h>

/* A node without a size has no memory to give. */
static bool is_usable(hwloc_topology_t topology, hwloc_obj_t node)
{
    return node->attr->numanode.local_memory > 0 &&
           hwloc_bitmap_isset(hwloc_topology_get_allowed_nodeset(topology), node->os_index);
}

/* Memory for everything? That of a GPU (NVIDIA's on Grace and POWER), fast memory that is scarce
 * and slow memory that is plentiful have a subtype. */
static bool is_ordinary(hwloc_topology_t topology, hwloc_obj_t node)
{
    return is_usable(topology, node) && (!node->subtype || strcmp(node->subtype, "DRAM") == 0);
}

/* The ordinary node of the lowest number below this part of the machine; memory may hang behind a
 * cache of its own. */
static hwloc_obj_t node_below(hwloc_topology_t topology, hwloc_obj_t memory)
{
    hwloc_obj_t best = NULL;
    for (; memory; memory = memory->next_sibling) {
        hwloc_obj_t node = memory;
        if (memory->type != HWLOC_OBJ_NUMANODE)
            node = node_below(topology, memory->memory_first_child);
        else if (!is_ordinary(topology, memory))
            node = NULL;
        if (node && (!best || node->os_index < best->os_index))
            best = node;
    }
    return best;
}

void bind_nodes_near(hwloc_topology_t topology, hwloc_const_bitmap_t cpus, hwloc_bitmap_t nodes)
{
    hwloc_bitmap_zero(nodes);
    for (int cpu = hwloc_bitmap_first(cpus); cpu >= 0; cpu = hwloc_bitmap_next(cpus, cpu)) {
        hwloc_obj_t part = hwloc_get_pu_obj_by_os_index(topology, (unsigned)cpu);
        hwloc_obj_t node = NULL;
        for (; part && !node; part = part->parent)
            node = node_below(topology, part->memory_first_child);
        if (node && node->os_index < WORK_NODES)
            hwloc_bitmap_set(nodes, node->os_index);
    }
}

unsigned bind_nodes_usable(hwloc_topology_t topology)
{
    unsigned count = 0;
    for (hwloc_obj_t node = NULL;
         (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL;)
        count += is_usable(topology, node);
    return count;
}

unsigned bind_node_count(const struct bind_topology *topology)
{
    return topology->nodes;
}

void bind_nodes(const struct bind_topology *topology, enum bind_policy policy, unsigned gpu,
                uint64_t nodes[BIND_NODE_WORDS])
{
    hwloc_const_bitmap_t wanted = topology->gpu[gpu].nodes;
    memset(nodes, 0, BIND_NODE_WORDS * sizeof nodes[0]);
    if (policy != BIND_NEAR || bind_node_count(topology) < 2)
        return;
    hwloc_bitmap_to_ulongs(wanted, BIND_NODE_WORDS, nodes);
}
