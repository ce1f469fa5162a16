#include "orchestrator/bind/internal.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"

static const char *set_text(hwloc_const_bitmap_t set, char *text, size_t size)
{
    static const char more[] = "...";
    int length = hwloc_bitmap_list_snprintf(text, size, set);
    if (length == 0)
        snprintf(text, size, "none");
    if (length < (int)size)
        return text;
    /* There must be room for the dots, and a list is never cut within a number. */
    size_t used = size > sizeof more ? size - sizeof more : 0;
    while (used > 0 && text[used] != ',')
        used--;
    snprintf(text + used, size - used, "%s", more);
    return text;
}

const char *bind_bits_text(const uint64_t *words, unsigned count, char *text, size_t size)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set && hwloc_bitmap_from_ulongs(set, count, words) == 0)
        set_text(set, text, size);
    else
        snprintf(text, size, "unknown");
    hwloc_bitmap_free(set);
    return text;
}

const char *bind_cpus_text(const uint64_t mask[BIND_WORDS], char *text, size_t size)
{
    return bind_bits_text(mask, BIND_WORDS, text, size);
}

const char *bind_nodes_text(const uint64_t nodes[BIND_NODE_WORDS], char *text, size_t size)
{
    return bind_bits_text(nodes, BIND_NODE_WORDS, text, size);
}

static const char *plural(unsigned count)
{
    return count == 1 ? "" : "s";
}

static void append_cpus(struct text *text, const struct bind_topology *t, hwloc_const_bitmap_t cpus)
{
    char list[256];
    unsigned threads = (unsigned)hwloc_bitmap_weight(cpus);
    unsigned cores = bind_cores_in(t->topology, cpus);
    text_append(text, "CPU%s %s (%u core%s, %u thread%s)", plural(threads),
                set_text(cpus, list, sizeof list), cores, plural(cores), threads, plural(threads));
}

/* Appends "package 0, ": the packages that the set is in, by the system's numbers. */
static void append_packages(struct text *text, const struct bind_topology *t,
                            hwloc_const_bitmap_t cpus)
{
    unsigned count = 0;
    char list[128] = "";
    struct text packages = {.at = list, .size = sizeof list};
    for (hwloc_obj_t package = NULL; (package = hwloc_get_next_obj_covering_cpuset_by_type(
                                          t->topology, cpus, HWLOC_OBJ_PACKAGE, package));
         count++)
        text_append(&packages, "%s%u", count ? "," : "",
                    package->os_index == HWLOC_UNKNOWN_INDEX ? package->logical_index
                                                             : package->os_index);
    if (count)
        text_append(text, "package%s %s, ", plural(count), list);
}

/* ", divided among 4 GPUs": those whose workers get CPUs of the same ones. */
static void append_neighbours(struct text *text, const struct bind_topology *t,
                              enum bind_policy policy, unsigned gpu)
{
    hwloc_const_bitmap_t cpus = bind_set_of(t, policy, gpu);
    unsigned count = 0;
    for (unsigned other = 0; other < t->gpus; other++)
        count += (unsigned)hwloc_bitmap_intersects(bind_set_of(t, policy, other), cpus);
    if (policy != BIND_NONE && count > 1)
        text_append(text, ", divided among %u GPUs", count);
}

/* ", host memory on NUMA node 1": where that is asked for. */
static void append_nodes(struct text *text, const struct bind_topology *t, enum bind_policy policy,
                         unsigned gpu)
{
    uint64_t nodes[BIND_NODE_WORDS];
    char list[128];
    unsigned count = 0;
    bind_nodes(t, policy, gpu, nodes);
    for (size_t i = 0; i < BIND_NODE_WORDS; i++)
        count += (unsigned)__builtin_popcountll(nodes[i]);
    if (count)
        text_append(text, ", host memory on NUMA node%s %s", plural(count),
                    bind_nodes_text(nodes, list, sizeof list));
}

/* The GPUs whose description equals that of this one, bit n is GPU n. */
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
static void append_gpus(struct text *text, const struct bind_topology *t, uint64_t group)
{
    const unsigned first = (unsigned)__builtin_ctzll(group);
    const bool known = t->gpu[first].locality != LOCALITY_UNKNOWN;
    const unsigned count = (unsigned)__builtin_popcountll(group);
    text_append(text, "%sGPU%s", known || count < t->gpus ? "" : "the ", plural(count));
    for (unsigned gpu = first; gpu < t->gpus && (known || count < t->gpus); gpu++) {
        if (!(group >> gpu & 1))
            continue;
        text_append(text, "%s", gpu == first ? " " : ", ");
        if (known)
            text_append(text, "%s", t->gpu[gpu].pci);
        else
            text_append(text, "%u", gpu);
    }
}

static void append_group(struct text *text, const struct bind_topology *t, enum bind_policy policy,
                         uint64_t group)
{
    const unsigned first = (unsigned)__builtin_ctzll(group);
    const enum locality locality = t->gpu[first].locality;
    hwloc_const_bitmap_t cpus = bind_set_of(t, policy, first);
    if (policy == BIND_NONE) {
        text_append(text, "not bound: ");
    } else if (policy == BIND_SCATTER) {
        text_append(text, "scattered: ");
        append_packages(text, t, cpus);
    } else if (locality == LOCALITY_UNKNOWN) {
        text_append(text, "which CPUs are near ");
        append_gpus(text, t, group);
        text_append(text, " is not known: ");
    } else {
        text_append(text, locality == LOCALITY_KNOWN ? "near " : "far from ");
        append_gpus(text, t, group);
        text_append(text,
                    locality == LOCALITY_KNOWN ? ": " : ", whose CPUs are not allowed here: ");
        append_packages(text, t, cpus);
    }
    append_cpus(text, t, cpus);
    append_neighbours(text, t, policy, first);
    append_nodes(text, t, policy, first);
}

const char *bind_describe(const struct bind_topology *topology, enum bind_policy policy, char *text,
                          size_t size)
{
    struct text out = {.at = text, .size = size};
    uint64_t described = 0;
    for (unsigned gpu = 0; gpu < topology->gpus; gpu++) {
        if (described >> gpu & 1)
            continue;
        uint64_t group = group_of(topology, policy, gpu);
        text_append(&out, "%s", described ? "; " : "");
        append_group(&out, topology, policy, group);
        described |= group;
    }
    return text;
}

const char *bind_topology_summary(const struct bind_topology *topology, char *text, size_t size)
{
    struct text out = {.at = text, .size = size};
    unsigned packages = bind_count_of(topology->topology, HWLOC_OBJ_PACKAGE);
    unsigned cores = bind_cores_in(topology->topology, topology->allowed);
    unsigned threads = bind_cpu_count(topology);
    if (packages)
        text_append(&out, "%u package%s, ", packages, plural(packages));
    text_append(&out, "%u core%s, %u thread%s", cores, plural(cores), threads, plural(threads));
    return text;
}

const char *bind_cpu_model(const struct bind_topology *topology, char *text, size_t size)
{
    struct text out = {.at = text, .size = size};
    const char *last = "";
    hwloc_obj_t package = NULL;
    *text = '\0';
    while ((package = hwloc_get_next_obj_by_type(topology->topology, HWLOC_OBJ_PACKAGE, package))) {
        const char *model = hwloc_obj_get_info_by_name(package, "CPUModel");
        if (!model || strcmp(model, last) == 0)
            continue;
        text_append(&out, "%s%s", *last ? "; " : "", model);
        last = model;
    }
    return text;
}
