#include "worker/engines/plugin_memory.h"

#include <stdio.h>
#include <unistd.h>

/* At least so much for all instances together, or it is nothing. */
static uint64_t share(uint64_t bytes, uint64_t least, unsigned instances)
{
    return bytes >= least && instances > 0 ? bytes / instances : 0;
}

struct plugin_kept plugin_memory_kept(const struct plugin_reading *before,
                                      const struct plugin_reading *after, unsigned instances)
{
    struct plugin_kept kept = {0};
    if (after->device_free > 0 && before->device_free > after->device_free)
        kept.device =
            share(before->device_free - after->device_free, PLUGIN_MEMORY_DEVICE_LEAST, instances);
    if (before->host_used > 0 && after->host_used > before->host_used)
        kept.host =
            share(after->host_used - before->host_used, PLUGIN_MEMORY_HOST_LEAST, instances);
    return kept;
}

struct plugin_kept plugin_memory_both(const struct plugin_kept *a, const struct plugin_kept *b)
{
    return (struct plugin_kept){
        .device = a->device < b->device ? a->device : b->device,
        .host = a->host < b->host ? a->host : b->host,
    };
}

bool plugin_memory_any(const struct plugin_kept *kept)
{
    return kept->device > 0 || kept->host > 0;
}

uint64_t plugin_memory_host_used(void)
{
    unsigned long long size, resident, shared;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    int fields = fscanf(file, "%llu %llu %llu", &size, &resident, &shared);
    fclose(file);
    return fields == 3 && resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE)
                                            : 0;
}
