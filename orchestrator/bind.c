#include "orchestrator/bind.h"

#include <errno.h>
#include <hwloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/bind_private.h"

void bind_topology_free(struct bind_topology *topology)
{
    if (!topology)
        return;
    if (topology->topology)
        hwloc_topology_destroy(topology->topology);
    hwloc_bitmap_free(topology->allowed);
    hwloc_bitmap_free(topology->near);
    free(topology);
}

/* A topology ready to be loaded: PCI devices kept, and forbidden CPUs too, since a GPU hangs below
 * CPUs that may be forbidden to us and should still be found. */
static enum status topology_new(struct bind_topology **out)
{
    /* These discover GPUs by starting the vendor's library in this process. */
    static const char *const unwanted[] = {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"};

    struct bind_topology *new = calloc(1, sizeof *new);
    if (!new)
        return status_set(STATUS_MEMORY, "cannot allocate the topology");
    new->allowed = hwloc_bitmap_alloc();
    new->near = hwloc_bitmap_alloc();
    if (!new->allowed || !new->near || hwloc_topology_init(&new->topology)) {
        bind_topology_free(new);
        return status_set(STATUS_MEMORY, "cannot allocate the topology");
    }
    for (size_t i = 0; i < sizeof unwanted / sizeof unwanted[0]; i++)
        hwloc_topology_set_components(new->topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      unwanted[i]);
    hwloc_topology_set_io_types_filter(new->topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_type_filter(new->topology, HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_flags(new->topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    *out = new;
    return STATUS_OK;
}

/* The CPUs that the kernel calls local to the device. For hwloc built or installed without PCI. */
static bool sysfs_gpu_cpus(const char *gpu_pci, hwloc_bitmap_t cpus)
{
    unsigned domain, bus, device, function;
    if (sscanf(gpu_pci, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
        return false;
    char path[128], list[4096];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.%x/local_cpulist", domain, bus,
             device, function);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool read = fgets(list, sizeof list, file) != NULL;
    fclose(file);
    if (!read)
        return false;
    list[strcspn(list, "\n")] = '\0';
    return hwloc_bitmap_list_sscanf(cpus, list) == 0;
}

unsigned bind_count_of(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(topology, type);
    return count > 0 ? (unsigned)count : 0;
}

/* Before the topology is cut down: which CPUs are near the GPU? */
static bool gpu_cpus(hwloc_topology_t topology, const char *gpu_pci, hwloc_bitmap_t cpus)
{
    if (!gpu_pci || !*gpu_pci)
        return false;
    hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(topology);
    hwloc_obj_t gpu = hwloc_get_pcidev_by_busidstring(topology, gpu_pci);
    hwloc_obj_t above = gpu ? hwloc_get_non_io_ancestor_obj(topology, gpu) : NULL;
    if (above)
        hwloc_bitmap_copy(cpus, above->cpuset);
    else if (!hwloc_topology_is_thissystem(topology) || !sysfs_gpu_cpus(gpu_pci, cpus))
        return false;

    hwloc_bitmap_and(cpus, cpus, all);
    if (hwloc_bitmap_iszero(cpus))
        return false;
    /* A device that hangs on the whole of a machine of several parts is one whose place the
     * firmware did not tell. */
    return !hwloc_bitmap_isequal(cpus, all) || (bind_count_of(topology, HWLOC_OBJ_PACKAGE) <= 1 &&
                                                bind_count_of(topology, HWLOC_OBJ_NUMANODE) <= 1);
}

/* Loads what `new` was told to load, and finds both sets. allowed: a list, or NULL. */
static enum status topology_load(struct bind_topology *new, const char *gpu_pci,
                                 const char *allowed)
{
    enum status status = STATUS_OK;
    hwloc_topology_t topology = new->topology;
    hwloc_bitmap_t scratch = hwloc_bitmap_alloc();
    if (!scratch)
        return status_set(STATUS_MEMORY, "cannot allocate the topology");
    /* In a container without /sys hwloc would print what it misses, and then go on without. */
    setenv("HWLOC_HIDE_ERRORS", "2", 0);
    if (hwloc_topology_load(topology)) {
        status =
            status_set(STATUS_SYSTEM, "cannot read the machine's topology: %s", strerror(errno));
        goto out;
    }

    hwloc_bitmap_and(new->allowed, hwloc_topology_get_allowed_cpuset(topology),
                     hwloc_topology_get_topology_cpuset(topology));
    if (allowed) {
        if (hwloc_bitmap_list_sscanf(scratch, allowed)) {
            status = status_set(STATUS_USAGE, "'%s' is not a list of CPUs", allowed);
            goto out;
        }
        hwloc_bitmap_and(new->allowed, new->allowed, scratch);
    } else if (hwloc_topology_is_thissystem(topology) &&
               hwloc_get_cpubind(topology, scratch, HWLOC_CPUBIND_THREAD) == 0) {
        /* The thread's and not the process's: workers inherit that of the thread that starts them.
         */
        hwloc_bitmap_and(new->allowed, new->allowed, scratch);
    }
    if (hwloc_bitmap_iszero(new->allowed)) {
        status = status_set(STATUS_UNSUPPORTED, "no CPU is allowed to this process");
        goto out;
    }
    if (hwloc_bitmap_last(new->allowed) >= SHM_CPUS) {
        status = status_set(STATUS_UNSUPPORTED,
                            "CPU '%d' is beyond the %d that a binding can name; start with fewer, "
                            "as with taskset",
                            hwloc_bitmap_last(new->allowed), SHM_CPUS);
        goto out;
    }

    hwloc_bitmap_copy(new->near, new->allowed);
    if (gpu_cpus(topology, gpu_pci, scratch)) {
        snprintf(new->gpu_pci, sizeof new->gpu_pci, "%s", gpu_pci);
        new->locality =
            hwloc_bitmap_intersects(scratch, new->allowed) ? LOCALITY_KNOWN : LOCALITY_FORBIDDEN;
        if (new->locality == LOCALITY_KNOWN)
            hwloc_bitmap_and(new->near, new->allowed, scratch);
    }
    if (!hwloc_bitmap_isequal(new->allowed, hwloc_topology_get_topology_cpuset(topology)) &&
        hwloc_topology_restrict(topology, new->allowed, 0))
        status = status_set(STATUS_SYSTEM, "cannot cut the topology to the allowed CPUs: %s",
                            strerror(errno));
out:
    hwloc_bitmap_free(scratch);
    return status;
}

static enum status topology_finish(struct bind_topology *new, const char *gpu_pci,
                                   const char *allowed, struct bind_topology **out)
{
    enum status status = topology_load(new, gpu_pci, allowed);
    if (status)
        bind_topology_free(new);
    else
        *out = new;
    return status;
}

enum status bind_topology_load(const char *gpu_pci, struct bind_topology **out)
{
    struct bind_topology *new;
    enum status status = topology_new(&new);
    return status ? status : topology_finish(new, gpu_pci, NULL, out);
}

enum status bind_topology_load_xml(const char *path, const char *gpu_pci, const char *allowed,
                                   struct bind_topology **out)
{
    struct bind_topology *new;
    enum status status = topology_new(&new);
    if (status)
        return status;
    if (hwloc_topology_set_xml(new->topology, path)) {
        bind_topology_free(new);
        return status_set(STATUS_NOT_FOUND, "cannot read the topology '%s'", path);
    }
    return topology_finish(new, gpu_pci, allowed, out);
}

enum status bind_topology_load_synthetic(const char *description, const char *allowed,
                                         struct bind_topology **out)
{
    struct bind_topology *new;
    enum status status = topology_new(&new);
    if (status)
        return status;
    if (hwloc_topology_set_synthetic(new->topology, description)) {
        bind_topology_free(new);
        return status_set(STATUS_USAGE, "'%s' is not a synthetic topology", description);
    }
    return topology_finish(new, NULL, allowed, out);
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

/* The first *count CPUs of the policy's set in the order in which workers get them. *count becomes
 * smaller if the cores do not have so many. */
static enum status order_cpus(const struct bind_topology *t, bool scatter, unsigned *order,
                              unsigned *count)
{
    hwloc_const_bitmap_t cpus = scatter ? t->allowed : t->near;
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

void bind_mask_of(hwloc_const_bitmap_t cpus, uint64_t mask[BIND_WORDS])
{
    memset(mask, 0, BIND_WORDS * sizeof mask[0]);
    for (int cpu = hwloc_bitmap_first(cpus); cpu >= 0; cpu = hwloc_bitmap_next(cpus, cpu))
        mask[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

enum status bind_plan(const struct bind_topology *topology, enum bind_policy policy,
                      unsigned workers, uint64_t (*masks)[BIND_WORDS])
{
    if (workers == 0)
        return STATUS_OK;
    if (policy == BIND_NONE) {
        memset(masks, 0, workers * sizeof masks[0]);
        return STATUS_OK;
    }
    hwloc_const_bitmap_t cpus = policy == BIND_NEAR ? topology->near : topology->allowed;
    if (workers > (unsigned)hwloc_bitmap_weight(cpus)) {
        for (unsigned i = 0; i < workers; i++)
            bind_mask_of(cpus, masks[i]);
        return STATUS_OK;
    }

    unsigned *order = calloc(workers, sizeof *order);
    if (!order)
        return status_set(STATUS_MEMORY, "cannot allocate the order of %u workers", workers);
    unsigned ordered = workers;
    enum status status = order_cpus(topology, policy == BIND_SCATTER, order, &ordered);
    for (unsigned i = 0; !status && i < workers; i++) {
        if (i >= ordered) {
            bind_mask_of(cpus, masks[i]);
            continue;
        }
        memset(masks[i], 0, sizeof masks[i]);
        masks[i][order[i] / 64] |= UINT64_C(1) << (order[i] % 64);
    }
    free(order);
    return status;
}

void bind_process_mask(const struct bind_topology *topology, enum bind_policy policy,
                       uint64_t mask[BIND_WORDS])
{
    bind_mask_of(policy == BIND_NEAR ? topology->near : topology->allowed, mask);
}

unsigned bind_cpu_count(const struct bind_topology *topology)
{
    return (unsigned)hwloc_bitmap_weight(topology->allowed);
}
