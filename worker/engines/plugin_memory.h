/*
 * Memory that a plug-in keeps when its instances have been ended.
 *
 * What one cycle leaves behind, from the first init of a process's instances to the last fini,
 * need not be a leak: libraries load code and keep workspaces for good, some for each thread. What
 * further cycles leave behind, each of them, is one. So a cycle that does so asks for more of one
 * instance; where an init is too slow for that, an earlier point's cycle is what it is compared to.
 *
 * The driver counts free memory for the whole GPU: device memory is looked at only where this is
 * the only process with workers. Host memory is what this process has to itself in RAM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Less than this is not a finding: the driver's blocks have 2 MiB, and malloc keeps what it likes.
 */
#define PLUGIN_MEMORY_DEVICE_LEAST (UINT64_C(1) << 20)
#define PLUGIN_MEMORY_HOST_LEAST (UINT64_C(4) << 20)

struct plugin_reading {
    uint64_t device_free; /* 0 where it is not looked at */
    uint64_t host_used;   /* 0 where it cannot be read */
};

struct plugin_kept {
    uint64_t device, host; /* bytes for each instance; 0: nothing to speak of */
};

/* What is kept from one reading to another, between which `instances` were made and ended. */
struct plugin_kept plugin_memory_kept(const struct plugin_reading *before,
                                      const struct plugin_reading *after, unsigned instances);

/* What both cycles did: memory that only one of them kept is none. */
struct plugin_kept plugin_memory_both(const struct plugin_kept *a, const struct plugin_kept *b);

/* Whether that is any memory. */
bool plugin_memory_any(const struct plugin_kept *kept);

/* Bytes of RAM that only this process has, 0 if that cannot be read. */
uint64_t plugin_memory_host_used(void);
