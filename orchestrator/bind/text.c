#include "orchestrator/bind/bind.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/bind/internal.h"

/* Adds to the text as far as it fits. */
static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strnlen(text, size);
    if (used >= size)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

static int is_set(const uint64_t mask[BIND_WORDS], unsigned cpu)
{
    return cpu < SHM_CPUS && (mask[cpu / 64] >> (cpu % 64) & 1) != 0;
}

const char *bind_cpus_text(const uint64_t mask[BIND_WORDS], char *text, size_t size)
{
    static const char more[] = "...";
    if (size == 0)
        return text;
    size_t used = 0;
    text[0] = '\0';
    for (unsigned cpu = 0; cpu < SHM_CPUS; cpu++) {
        if (!is_set(mask, cpu))
            continue;
        unsigned last = cpu;
        while (is_set(mask, last + 1))
            last++;
        char range[32];
        int length = last == cpu
                         ? snprintf(range, sizeof range, "%s%u", used ? "," : "", cpu)
                         : snprintf(range, sizeof range, "%s%u-%u", used ? "," : "", cpu, last);
        /* Room for the dots is kept, so that a list is never cut within a number. */
        if (used + (size_t)length + sizeof more > size) {
            snprintf(text + used, size - used, "%s", more);
            return text;
        }
        memcpy(text + used, range, (size_t)length + 1);
        used += (size_t)length;
        cpu = last;
    }
    if (!used)
        snprintf(text, size, "none");
    return text;
}

const char *bind_nodes_text(const uint64_t nodes[BIND_NODE_WORDS], char *text, size_t size)
{
    uint64_t mask[BIND_WORDS] = {0};
    _Static_assert(BIND_NODE_WORDS < BIND_WORDS, "there are fewer nodes than CPUs");
    memcpy(mask, nodes, BIND_NODE_WORDS * sizeof nodes[0]);
    return bind_cpus_text(mask, text, size);
}

static const char *plural(unsigned count)
{
    return count == 1 ? "" : "s";
}

static void append_cpus(char *text, size_t size, const struct bind_topology *t,
                        hwloc_const_bitmap_t cpus)
{
    uint64_t mask[BIND_WORDS];
    char list[256];
    unsigned threads = (unsigned)hwloc_bitmap_weight(cpus);
    unsigned cores = bind_cores_in(t->topology, cpus);
    bind_mask_of(cpus, mask);
    append(text, size, "CPU%s %s (%u core%s, %u thread%s)", plural(threads),
           bind_cpus_text(mask, list, sizeof list), cores, plural(cores), threads, plural(threads));
}

/* "package 0, ": those that the set is in, by the numbers that the system gives them. */
static void append_packages(char *text, size_t size, const struct bind_topology *t,
                            hwloc_const_bitmap_t cpus)
{
    unsigned count = 0;
    char list[128] = "";
    for (hwloc_obj_t package = NULL; (package = hwloc_get_next_obj_covering_cpuset_by_type(
                                          t->topology, cpus, HWLOC_OBJ_PACKAGE, package));
         count++)
        append(list, sizeof list, "%s%u", count ? "," : "",
               package->os_index == HWLOC_UNKNOWN_INDEX ? package->logical_index
                                                        : package->os_index);
    if (count)
        append(text, size, "package%s %s, ", plural(count), list);
}

/* ", divided among 4 GPUs": those whose workers get CPUs of the same ones. */
static void append_neighbours(char *text, size_t size, const struct bind_topology *t,
                              enum bind_policy policy, unsigned gpu)
{
    hwloc_const_bitmap_t cpus = bind_set_of(t, policy, gpu);
    unsigned count = 0;
    for (unsigned other = 0; other < t->gpus; other++)
        count += (unsigned)hwloc_bitmap_intersects(bind_set_of(t, policy, other), cpus);
    if (policy != BIND_NONE && count > 1)
        append(text, size, ", divided among %u GPUs", count);
}

/* ", host memory on NUMA node 1": where that is asked for. */
static void append_nodes(char *text, size_t size, const struct bind_topology *t,
                         enum bind_policy policy, unsigned gpu)
{
    uint64_t nodes[BIND_NODE_WORDS];
    char list[128];
    unsigned count = 0;
    bind_nodes(t, policy, gpu, nodes);
    for (size_t i = 0; i < BIND_NODE_WORDS; i++)
        count += (unsigned)__builtin_popcountll(nodes[i]);
    if (count)
        append(text, size, ", host memory on NUMA node%s %s", plural(count),
               bind_nodes_text(nodes, list, sizeof list));
}

/* The GPUs of which the same is to be said as of this one, bit n is GPU n. */
static uint64_t group_of(const struct bind_topology *t, enum bind_policy policy, unsigned gpu)
{
    uint64_t group = 0, nodes[BIND_NODE_WORDS], others[BIND_NODE_WORDS];
    bind_nodes(t, policy, gpu, nodes);
    for (unsigned other = 0; other < t->gpus; other++) {
        bind_nodes(t, policy, other, others);
        if (policy != BIND_NEAR || (t->gpu[other].locality == t->gpu[gpu].locality &&
                                    hwloc_bitmap_isequal(t->gpu[other].near, t->gpu[gpu].near) &&
                                    memcmp(nodes, others, sizeof nodes) == 0))
            group |= UINT64_C(1) << other;
    }
    return group;
}

/* "GPU 0000:3b:00.0", "GPUs 0000:1b:00.0, 0000:43:00.0"; where the place is not known, by number,
 * or without if it is so of all. */
static void append_gpus(char *text, size_t size, const struct bind_topology *t, uint64_t group)
{
    const unsigned first = (unsigned)__builtin_ctzll(group);
    const bool known = t->gpu[first].locality != LOCALITY_UNKNOWN;
    const unsigned count = (unsigned)__builtin_popcountll(group);
    append(text, size, "%sGPU%s", known || count < t->gpus ? "" : "the ", plural(count));
    for (unsigned gpu = first; gpu < t->gpus && (known || count < t->gpus); gpu++) {
        if (!(group >> gpu & 1))
            continue;
        append(text, size, "%s", gpu == first ? " " : ", ");
        if (known)
            append(text, size, "%s", t->gpu[gpu].pci);
        else
            append(text, size, "%u", gpu);
    }
}

static void append_group(char *text, size_t size, const struct bind_topology *t,
                         enum bind_policy policy, uint64_t group)
{
    const unsigned first = (unsigned)__builtin_ctzll(group);
    const enum locality locality = t->gpu[first].locality;
    hwloc_const_bitmap_t cpus = bind_set_of(t, policy, first);
    if (policy == BIND_NONE) {
        append(text, size, "not bound: ");
    } else if (policy == BIND_SCATTER) {
        append(text, size, "scattered: ");
        append_packages(text, size, t, cpus);
    } else if (locality == LOCALITY_UNKNOWN) {
        append(text, size, "which CPUs are near ");
        append_gpus(text, size, t, group);
        append(text, size, " is not known: ");
    } else {
        append(text, size, locality == LOCALITY_KNOWN ? "near " : "far from ");
        append_gpus(text, size, t, group);
        append(text, size,
               locality == LOCALITY_KNOWN ? ": " : ", whose CPUs are not allowed here: ");
        append_packages(text, size, t, cpus);
    }
    append_cpus(text, size, t, cpus);
    append_neighbours(text, size, t, policy, first);
    append_nodes(text, size, t, policy, first);
}

const char *bind_describe(const struct bind_topology *topology, enum bind_policy policy, char *text,
                          size_t size)
{
    if (size)
        text[0] = '\0';
    uint64_t told = 0;
    for (unsigned gpu = 0; gpu < topology->gpus; gpu++) {
        if (told >> gpu & 1)
            continue;
        uint64_t group = group_of(topology, policy, gpu);
        append(text, size, "%s", told ? "; " : "");
        append_group(text, size, topology, policy, group);
        told |= group;
    }
    return text;
}

const char *bind_topology_summary(const struct bind_topology *topology, char *text, size_t size)
{
    if (size == 0)
        return text;
    unsigned packages = bind_count_of(topology->topology, HWLOC_OBJ_PACKAGE);
    unsigned cores = bind_cores_in(topology->topology, topology->allowed);
    unsigned threads = bind_cpu_count(topology);
    text[0] = '\0';
    if (packages)
        append(text, size, "%u package%s, ", packages, plural(packages));
    append(text, size, "%u core%s, %u thread%s", cores, plural(cores), threads, plural(threads));
    return text;
}
