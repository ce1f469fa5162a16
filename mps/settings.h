/*
 * What an MPS control daemon gives its clients by default: set before the first client can come,
 * and read back, since the daemon answers an order that it does not follow with silence.
 *
 * Source: nvidia-cuda-mps-control(1), and replies of driver 580 (docs/mps.md).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "mps/control.h"

#define MPS_SETTINGS_GPUS 16
#define MPS_SETTINGS_PARTITIONS 32

struct mps_memory_limit {
    char gpu[48];   /* ordinal among the daemon's GPUs, or UUID */
    uint64_t bytes; /* whole MiB; 0: no limit */
};

/* Chunks of a GPU's multiprocessors that only clients of the partition use (mps/control.h). */
struct mps_partition {
    char gpu[48]; /* as of a memory limit */
    unsigned chunks;
};

struct mps_settings {
    double active_thread_percentage; /* 0: left alone, which is 100 */
    int priority;                    /* 0 normal, 1 below normal; -1: left alone, which is 0 */
    unsigned memory_limits;
    struct mps_memory_limit memory_limit[MPS_SETTINGS_GPUS];
    unsigned partitions; /* 0: clients share the multiprocessors */
    struct mps_partition partition[MPS_SETTINGS_PARTITIONS];
};

/* All left alone. */
void mps_settings_init(struct mps_settings *out);

/* Adds limits from text as a user writes it: "GPU=SIZE[,GPU=SIZE...]", SIZE in whole MiB with K, M,
 * G or T. Errors name what is wrong; the settings are then as they were. */
enum status mps_settings_add_memory(struct mps_settings *settings, const char *text);

/* Adds static partitions in the same way: "GPU=CHUNKS[,GPU=CHUNKS...]", a GPU once for each. */
enum status mps_settings_add_partitions(struct mps_settings *settings, const char *text);

/* Orders each setting that is not left alone, reads it back, and fails where the daemon has
 * another: STATUS_UNSUPPORTED names the setting, what was ordered and what it is. Makes the
 * partitions last; the daemon's answer to each must name it. */
enum status mps_settings_apply(const struct mps_settings *settings,
                               const struct mps_control *control, uint64_t deadline_ns);

/* Reads percentage and priority, and the memory limits of the GPUs with the numbers 0 to gpus - 1;
 * orders nothing. */
enum status mps_settings_read(const struct mps_control *control, unsigned gpus,
                              uint64_t deadline_ns, struct mps_settings *out);

/* "4G", "512M"; at least 24 bytes. Returns text. */
const char *mps_settings_size_text(uint64_t bytes, char *text, size_t size);
