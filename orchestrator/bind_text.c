#include "orchestrator/bind.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "orchestrator/bind_private.h"

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

const char *bind_describe(const struct bind_topology *topology, enum bind_policy policy,
                          unsigned gpu, char *text, size_t size)
{
    const struct bind_gpu *it = &topology->gpu[gpu];
    if (size == 0)
        return text;
    text[0] = '\0';
    hwloc_const_bitmap_t cpus = bind_set_of(topology, policy, gpu);
    if (policy == BIND_NONE) {
        append(text, size, "not bound: ");
    } else if (policy == BIND_SCATTER) {
        append(text, size, "scattered: ");
        append_packages(text, size, topology, cpus);
    } else if (it->locality == LOCALITY_KNOWN) {
        append(text, size, "near GPU %s: ", it->pci);
        append_packages(text, size, topology, cpus);
    } else if (it->locality == LOCALITY_FORBIDDEN) {
        append(text, size, "far from GPU %s, whose CPUs are not allowed here: ", it->pci);
        append_packages(text, size, topology, cpus);
    } else {
        append(text, size, "which CPUs are near the GPU is not known: ");
    }
    append_cpus(text, size, topology, cpus);
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
