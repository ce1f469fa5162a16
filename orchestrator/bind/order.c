#include "orchestrator/bind/internal.h"

hwloc_const_bitmap_t bind_set_of(const struct bind_topology *topology, enum bind_policy policy,
                                 unsigned gpu)
{
    return policy == BIND_NEAR ? topology->gpu[gpu].near : topology->allowed;
}

/* What has hardware threads in common: cores, or, where a machine hides them, the threads alone. */
static hwloc_obj_type_t core_type(hwloc_topology_t topology)
{
    return bind_count_of(topology, HWLOC_OBJ_CORE) ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

static hwloc_obj_t next_core(hwloc_topology_t topology, hwloc_const_bitmap_t cpus, hwloc_obj_t core)
{
    return hwloc_get_next_obj_covering_cpuset_by_type(topology, cpus, core_type(topology), core);
}

unsigned bind_cores_in(hwloc_topology_t topology, hwloc_const_bitmap_t cpus)
{
    unsigned count = 0;
    for (hwloc_obj_t core = NULL; (core = next_core(topology, cpus, core)) != NULL;)
        count++;
    return count;
}

hwloc_obj_t bind_core_of(hwloc_topology_t topology, unsigned cpu)
{
    hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, cpu);
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
    return core ? core : pu;
}

/* The core's nth hardware thread within cpus, -1 if it has fewer. */
static int nth_thread(hwloc_obj_t core, hwloc_const_bitmap_t cpus, unsigned nth)
{
    int cpu = -1;
    do {
        do
            cpu = hwloc_bitmap_next(core->cpuset, cpu);
        while (cpu >= 0 && !hwloc_bitmap_isset(cpus, (unsigned)cpu));
    } while (cpu >= 0 && nth--);
    return cpu;
}

static unsigned picks_below(hwloc_obj_t object, hwloc_const_bitmap_t picked, hwloc_bitmap_t scratch)
{
    hwloc_bitmap_and(scratch, object->cpuset, picked);
    return (unsigned)hwloc_bitmap_weight(scratch);
}

/* The next of `left` by descending, at each level, to the child that has had fewest picks. */
static int scatter_pick(hwloc_topology_t topology, hwloc_const_bitmap_t left,
                        hwloc_const_bitmap_t picked, hwloc_bitmap_t scratch)
{
    hwloc_obj_t object = hwloc_get_root_obj(topology);
    while (object->arity) {
        hwloc_obj_t best = NULL;
        unsigned best_picks = 0;
        for (unsigned i = 0; i < object->arity; i++) {
            hwloc_obj_t child = object->children[i];
            if (!hwloc_bitmap_intersects(child->cpuset, left))
                continue;
            unsigned picks = picks_below(child, picked, scratch);
            if (!best || picks < best_picks) {
                best = child;
                best_picks = picks;
            }
        }
        if (!best)
            return -1;
        object = best;
    }
    return hwloc_bitmap_first(object->cpuset);
}

enum status bind_order(const struct bind_topology *t, hwloc_const_bitmap_t cpus, bool scatter,
                       unsigned *order, unsigned *count)
{
    hwloc_bitmap_t left = hwloc_bitmap_alloc();
    hwloc_bitmap_t picked = hwloc_bitmap_alloc();
    hwloc_bitmap_t scratch = hwloc_bitmap_alloc();
    enum status status = STATUS_OK;
    if (!left || !picked || !scratch) {
        status = status_set(STATUS_MEMORY, "cannot allocate a set of CPUs");
        goto out;
    }

    /* One hardware thread of every core in each turn. */
    const unsigned wanted = *count;
    unsigned filled = 0, before = 0;
    for (unsigned turn = 0; filled < wanted && (turn == 0 || filled > before); turn++) {
        before = filled;
        hwloc_bitmap_zero(left);
        hwloc_bitmap_zero(picked);
        for (hwloc_obj_t core = NULL; (core = next_core(t->topology, cpus, core)) != NULL;) {
            int cpu = nth_thread(core, cpus, turn);
            if (cpu >= 0 && scatter)
                hwloc_bitmap_set(left, (unsigned)cpu);
            else if (cpu >= 0 && filled < wanted)
                order[filled++] = (unsigned)cpu;
        }
        while (filled < wanted && !hwloc_bitmap_iszero(left)) {
            int cpu = scatter_pick(t->topology, left, picked, scratch);
            if (cpu < 0)
                break;
            hwloc_bitmap_clr(left, (unsigned)cpu);
            hwloc_bitmap_set(picked, (unsigned)cpu);
            order[filled++] = (unsigned)cpu;
        }
    }
    *count = filled;
out:
    hwloc_bitmap_free(left);
    hwloc_bitmap_free(picked);
    hwloc_bitmap_free(scratch);
    return status;
}
