#include "orchestrator/bind/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bind_topology_free(struct bind_topology *topology)
{
    if (!topology)
        return;
    if (topology->topology)
        hwloc_topology_destroy(topology->topology);
    hwloc_bitmap_free(topology->allowed);
    for (unsigned i = 0; i < topology->gpus && topology->gpu; i++) {
        hwloc_bitmap_free(topology->gpu[i].near);
        hwloc_bitmap_free(topology->gpu[i].nodes);
    }
    free(topology->gpu);
    free(topology);
}

/* A topology ready to be loaded: forbidden CPUs are kept, since a GPU hangs below CPUs that may be
 * forbidden to us and should still be found; and PCI devices, where there are some to be found. */
static enum status topology_new(unsigned gpus, bool devices, struct bind_topology **out)
{
    /* These discover GPUs by starting the vendor's library in this process. */
    static const char *const unwanted[] = {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"};

    if (gpus > BIND_GPUS)
        return status_set(STATUS_UNSUPPORTED,
                          "%u GPUs are more than the %d that a binding can distinguish", gpus,
                          BIND_GPUS);
    struct bind_topology *new = calloc(1, sizeof *new);
    if (!new)
        return status_set(STATUS_MEMORY, "cannot allocate the topology");
    new->gpus = gpus ? gpus : 1;
    new->gpu = calloc(new->gpus, sizeof *new->gpu);
    new->allowed = hwloc_bitmap_alloc();
    bool complete = new->gpu &&new->allowed;
    for (unsigned i = 0; complete && i < new->gpus; i++) {
        new->gpu[i].near = hwloc_bitmap_alloc();
        new->gpu[i].nodes = hwloc_bitmap_alloc();
        complete = new->gpu[i].near &&new->gpu[i].nodes;
    }
    if (!complete || hwloc_topology_init(&new->topology)) {
        bind_topology_free(new);
        return status_set(STATUS_MEMORY, "cannot allocate the topology");
    }
    for (size_t i = 0; i < sizeof unwanted / sizeof unwanted[0]; i++)
        hwloc_topology_set_components(new->topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      unwanted[i]);
    hwloc_topology_set_io_types_filter(new->topology, devices ? HWLOC_TYPE_FILTER_KEEP_IMPORTANT
                                                              : HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(new->topology, HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_flags(new->topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    *out = new;
    return STATUS_OK;
}

/* What the kernel keeps about a device; NULL where there is no such device. */
static FILE *sysfs_open(const char *gpu_pci, const char *name)
{
    unsigned domain, bus, device, function;
    char path[128];
    if (sscanf(gpu_pci, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
        return NULL;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%04x:%02x:%02x.%x/%s", domain, bus, device,
             function, name);
    return fopen(path, "re");
}

/* Whether one of the devices may be found, here or on the machine that hwloc takes for this one. To
 * read all devices takes a virtual machine some 40 ms: it is for nothing where the GPU is emulated.
 */
static bool may_find_any(const char *const *gpu_pci, unsigned gpus)
{
    bool found = getenv("HWLOC_XMLFILE") != NULL;
    for (unsigned i = 0; i < gpus && !found; i++) {
        FILE *file = gpu_pci && gpu_pci[i] ? sysfs_open(gpu_pci[i], "vendor") : NULL;
        if (file)
            fclose(file);
        found = file != NULL;
    }
    return found;
}

/* The CPUs that the kernel calls local to the device. For hwloc built or installed without PCI. */
static bool sysfs_gpu_cpus(const char *gpu_pci, hwloc_bitmap_t cpus)
{
    char list[4096];
    FILE *file = sysfs_open(gpu_pci, "local_cpulist");
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

/* Finds the CPUs near the GPU, before the topology is cut down. */
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
     * firmware does not give. */
    return !hwloc_bitmap_isequal(cpus, all) || (bind_count_of(topology, HWLOC_OBJ_PACKAGE) <= 1 &&
                                                bind_count_of(topology, HWLOC_OBJ_NUMANODE) <= 1);
}

/* What is near one GPU, before the topology is cut down. */
static void find_near(const struct bind_topology *new, const char *pci, hwloc_bitmap_t scratch,
                      struct bind_gpu *gpu)
{
    hwloc_bitmap_copy(gpu->near, new->allowed);
    if (!gpu_cpus(new->topology, pci, scratch))
        return;
    snprintf(gpu->pci, sizeof gpu->pci, "%s", pci);
    gpu->locality =
        hwloc_bitmap_intersects(scratch, new->allowed) ? LOCALITY_KNOWN : LOCALITY_FORBIDDEN;
    if (gpu->locality == LOCALITY_KNOWN)
        hwloc_bitmap_and(gpu->near, new->allowed, scratch);
    bind_nodes_near(new->topology, scratch, gpu->nodes);
}

/* Loads the topology that `new` is set up for, and finds all sets. gpu_pci: one for each GPU, NULL
 * for none. allowed: a list, or NULL. */
static enum status topology_load(struct bind_topology *new, const char *const *gpu_pci,
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
    if (hwloc_bitmap_last(new->allowed) >= WORK_CPUS) {
        status = status_set(STATUS_UNSUPPORTED,
                            "CPU '%d' is beyond the %d that a binding can name; start with fewer, "
                            "as with taskset",
                            hwloc_bitmap_last(new->allowed), WORK_CPUS);
        goto out;
    }

    new->nodes = bind_nodes_usable(topology);
    for (unsigned i = 0; i < new->gpus; i++)
        find_near(new, gpu_pci ? gpu_pci[i] : NULL, scratch, &new->gpu[i]);
    if (!hwloc_bitmap_isequal(new->allowed, hwloc_topology_get_topology_cpuset(topology)) &&
        hwloc_topology_restrict(topology, new->allowed, 0))
        status = status_set(STATUS_SYSTEM, "cannot cut the topology to the allowed CPUs: %s",
                            strerror(errno));
out:
    hwloc_bitmap_free(scratch);
    return status;
}

/* Loads what `describe`, a function of hwloc, makes of a text; NULL: this machine. */
static enum status topology_make(int (*describe)(hwloc_topology_t, const char *), const char *text,
                                 const char *const *gpu_pci, unsigned gpus, const char *allowed,
                                 struct bind_topology **out)
{
    struct bind_topology *new;
    enum status status = topology_new(gpus, describe || may_find_any(gpu_pci, gpus), &new);
    if (status)
        return status;
    if (describe && describe(new->topology, text))
        status = describe == hwloc_topology_set_xml
                     ? status_set(STATUS_NOT_FOUND, "cannot read the topology '%s'", text)
                     : status_set(STATUS_USAGE, "'%s' is not a synthetic topology", text);
    if (status == STATUS_OK)
        status = topology_load(new, gpus ? gpu_pci : NULL, allowed);
    if (status)
        bind_topology_free(new);
    else
        *out = new;
    return status;
}

enum status bind_topology_load(const char *const *gpu_pci, unsigned gpus,
                               struct bind_topology **out)
{
    return topology_make(NULL, NULL, gpu_pci, gpus, NULL, out);
}

enum status bind_topology_load_xml(const char *path, const char *const *gpu_pci, unsigned gpus,
                                   const char *allowed, struct bind_topology **out)
{
    return topology_make(hwloc_topology_set_xml, path, gpu_pci, gpus, allowed, out);
}

enum status bind_topology_load_synthetic(const char *description, unsigned gpus,
                                         const char *allowed, struct bind_topology **out)
{
    return topology_make(hwloc_topology_set_synthetic, description, NULL, gpus, allowed, out);
}

unsigned bind_cpus_each(uint64_t (*masks)[BIND_WORDS], unsigned workers, unsigned usable)
{
    unsigned bound = 0;
    for (unsigned word = 0; word < BIND_WORDS; word++) {
        uint64_t any = 0;
        for (unsigned i = 0; i < workers; i++)
            any |= masks[i][word];
        bound += (unsigned)__builtin_popcountll(any);
    }
    unsigned cpus = bound > 0 && bound < usable ? bound : usable;
    return cpus > workers ? cpus / workers : 1;
}

unsigned bind_cpu_count(const struct bind_topology *topology)
{
    return (unsigned)hwloc_bitmap_weight(topology->allowed);
}
