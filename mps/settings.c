#include "mps/settings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "mps/reply.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define LEAST_LIMIT (16 * MIB) /* a context alone takes more */
#define MOST_LIMIT (UINT64_C(1) << 50)
#define MOST_CHUNKS 999

void mps_settings_init(struct mps_settings *out)
{
    *out = (struct mps_settings){.priority = -1};
}

const char *mps_settings_size_text(uint64_t bytes, char *text, size_t size)
{
    if (bytes >= GIB && bytes % GIB == 0)
        snprintf(text, size, "%lluG", (unsigned long long)(bytes / GIB));
    else
        snprintf(text, size, "%lluM", (unsigned long long)(bytes / MIB));
    return text;
}

static bool parse_size(const char *text, uint64_t *out)
{
    char *end;
    unsigned shift;
    if (!isdigit((unsigned char)*text) || strlen(text) > 18)
        return false;
    uint64_t value = strtoull(text, &end, 10);
    if (!text_size_shift(end, &shift) || value > MOST_LIMIT >> shift)
        return false;
    *out = value << shift;
    return *out >= LEAST_LIMIT && *out % MIB == 0;
}

/* An ordinal, or a UUID: what can stand in a command's line. */
static bool is_gpu(const char *text)
{
    if (strlen(text) >= sizeof(((struct mps_memory_limit *)0)->gpu))
        return false;
    if (strncmp(text, "GPU-", 4) != 0 && strncmp(text, "MIG-", 4) != 0)
        return *text && strspn(text, "0123456789") == strlen(text);
    const char *at = text + 4;
    while (isalnum((unsigned char)*at) || *at == '-')
        at++;
    return text[4] && !*at;
}

static enum status add_limit(struct mps_settings *settings, char *item)
{
    struct mps_memory_limit limit = {0};
    char *equals = strchr(item, '=');
    if (!equals)
        return status_set(STATUS_USAGE,
                          "memory-limit '%s' names no GPU: it takes GPU=SIZE, as 0=4G", item);
    *equals = '\0';
    if (!is_gpu(item))
        return status_set(
            STATUS_USAGE,
            "'%s' is not a GPU: memory-limit takes a number or a UUID in front of '='", item);
    if (!parse_size(equals + 1, &limit.bytes))
        return status_set(
            STATUS_USAGE,
            "'%s' is not a memory limit: it takes whole MiB, at least 16M, with K, M, G "
            "or T for powers of 1024",
            equals + 1);
    for (unsigned i = 0; i < settings->memory_limits; i++)
        if (strcmp(settings->memory_limit[i].gpu, item) == 0)
            return status_set(STATUS_USAGE, "memory-limit names GPU %s twice", item);
    if (settings->memory_limits == MPS_SETTINGS_GPUS)
        return status_set(STATUS_USAGE, "memory-limit names more than %d GPUs", MPS_SETTINGS_GPUS);
    memcpy(limit.gpu, item, strlen(item));
    settings->memory_limit[settings->memory_limits++] = limit;
    return STATUS_OK;
}

static enum status add_partition(struct mps_settings *settings, char *item)
{
    struct mps_partition partition = {0};
    char *equals = strchr(item, '='), *end;
    if (equals)
        *equals = '\0';
    if (!equals || !is_gpu(item))
        return status_set(
            STATUS_USAGE,
            "'%s' names no GPU: static takes GPU=CHUNKS, as 0=4, the GPU by number or "
            "UUID",
            item);
    unsigned long chunks = isdigit((unsigned char)equals[1]) ? strtoul(equals + 1, &end, 10) : 0;
    if (chunks == 0 || *end || chunks > MOST_CHUNKS)
        return status_set(STATUS_USAGE,
                          "'%s' is not a number of chunks: static takes 1 to %d behind '='",
                          equals + 1, MOST_CHUNKS);
    if (settings->partitions == MPS_SETTINGS_PARTITIONS)
        return status_set(STATUS_USAGE, "static names more than %d partitions",
                          MPS_SETTINGS_PARTITIONS);
    memcpy(partition.gpu, item, strlen(item));
    partition.chunks = (unsigned)chunks;
    settings->partition[settings->partitions++] = partition;
    return STATUS_OK;
}

static enum status add_all(struct mps_settings *settings, const char *text,
                           enum status (*add)(struct mps_settings *settings, char *item))
{
    struct mps_settings changed = *settings;
    char *copy = strdup(text);
    if (!copy)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = STATUS_OK;
    char *rest = copy;
    while (status == STATUS_OK && rest)
        status = add(&changed, strsep(&rest, ","));
    free(copy);
    if (status == STATUS_OK)
        *settings = changed;
    return status;
}

enum status mps_settings_add_memory(struct mps_settings *settings, const char *text)
{
    return add_all(settings, text, add_limit);
}

enum status mps_settings_add_partitions(struct mps_settings *settings, const char *text)
{
    return add_all(settings, text, add_partition);
}

static enum status read_percentage(const struct mps_control *control, uint64_t deadline_ns,
                                   double *out)
{
    struct child_result reply;
    enum status status =
        mps_control_command(control, deadline_ns, &reply, "get_default_active_thread_percentage");
    if (status == STATUS_OK)
        status = mps_reply_percentage(reply.output, reply.output_bytes, out);
    child_result_release(&reply);
    return status;
}

static enum status read_priority(const struct mps_control *control, uint64_t deadline_ns, int *out)
{
    struct child_result reply;
    enum status status =
        mps_control_command(control, deadline_ns, &reply, "get_default_client_priority");
    if (status == STATUS_OK)
        status = mps_reply_priority(reply.output, reply.output_bytes, out);
    child_result_release(&reply);
    return status;
}

static enum status read_memory(const struct mps_control *control, const char *gpu,
                               uint64_t deadline_ns, uint64_t *out)
{
    struct child_result reply;
    enum status status = mps_control_command(control, deadline_ns, &reply,
                                             "get_default_device_pinned_mem_limit %s", gpu);
    if (status == STATUS_OK)
        status = mps_reply_memory(reply.output, reply.output_bytes, out);
    child_result_release(&reply);
    return status;
}

/* Of an order the answer is not read: reading the setting back shows more. */

static enum status apply_percentage(const struct mps_settings *settings,
                                    const struct mps_control *control, uint64_t deadline_ns)
{
    struct child_result reply;
    double now;
    if (settings->active_thread_percentage <= 0.0)
        return STATUS_OK;
    enum status status = mps_control_command(control, deadline_ns, &reply,
                                             "set_default_active_thread_percentage %.1f",
                                             settings->active_thread_percentage);
    child_result_release(&reply);
    if (status == STATUS_OK)
        status = read_percentage(control, deadline_ns, &now);
    /* One decimal is what it keeps. */
    if (status == STATUS_OK && fabs(now - settings->active_thread_percentage) > 0.051)
        status = status_set(STATUS_UNSUPPORTED,
                            "the MPS daemon did not take an active thread percentage of %.1f: it "
                            "has %.1f",
                            settings->active_thread_percentage, now);
    return status;
}

static enum status apply_priority(const struct mps_settings *settings,
                                  const struct mps_control *control, uint64_t deadline_ns)
{
    struct child_result reply;
    int now;
    if (settings->priority < 0)
        return STATUS_OK;
    enum status status = mps_control_command(control, deadline_ns, &reply,
                                             "set_default_client_priority %d", settings->priority);
    child_result_release(&reply);
    if (status == STATUS_OK)
        status = read_priority(control, deadline_ns, &now);
    if (status == STATUS_OK && now != settings->priority)
        status = status_set(STATUS_UNSUPPORTED,
                            "the MPS daemon did not take a client priority of %d: it has %d",
                            settings->priority, now);
    return status;
}

struct gpus {
    struct mps_device_row rows[MPS_SETTINGS_GPUS];
    size_t count; /* 0: the daemon cannot list them */
};

/* The daemon takes a limit for any GPU, there or not: finds the one that is meant. A daemon that
 * cannot list its GPUs is taken at its word: then it is NULL. */
static enum status find_gpu(const struct gpus *gpus, const char *option, const char *wanted,
                            const struct mps_device_row **out)
{
    char number[16];
    for (size_t i = 0; i < gpus->count; i++) {
        snprintf(number, sizeof number, "%u", gpus->rows[i].ordinal);
        *out = &gpus->rows[i];
        if (strcmp(wanted, number) == 0 || strcasecmp(wanted, gpus->rows[i].uuid) == 0)
            return STATUS_OK;
    }
    *out = NULL;
    if (gpus->count > 0)
        return status_set(STATUS_USAGE,
                          "%s: the MPS daemon has no GPU '%s': it has %zu, numbered from 0", option,
                          wanted, gpus->count);
    return STATUS_OK;
}

static enum status apply_memory(const struct mps_memory_limit *limit, const struct gpus *gpus,
                                const struct mps_control *control, uint64_t deadline_ns)
{
    char wanted[32], found[32], gpu[sizeof limit->gpu];
    struct child_result reply;
    uint64_t now = 0;
    const struct mps_device_row *row;
    enum status status = find_gpu(gpus, "memory-limit", limit->gpu, &row);
    if (status != STATUS_OK)
        return status;
    /* By its number it is also asked for. */
    if (row)
        snprintf(gpu, sizeof gpu, "%u", row->ordinal);
    else
        snprintf(gpu, sizeof gpu, "%s", limit->gpu);
    /* Whole MiB with their suffix: it takes a plain number for MiB, and 1.5G or 1T for 1M. */
    status = mps_control_command(control, deadline_ns, &reply,
                                 "set_default_device_pinned_mem_limit %s %lluM", gpu,
                                 (unsigned long long)(limit->bytes / MIB));
    child_result_release(&reply);
    if (status == STATUS_OK)
        status = read_memory(control, gpu, deadline_ns, &now);
    /* From 1 GiB on it shows whole GiB; what holds is what was ordered, as the probe can see. */
    uint64_t shown = limit->bytes >= GIB ? limit->bytes / GIB * GIB : limit->bytes;
    if (status == STATUS_OK && now != limit->bytes && now != shown)
        status =
            status_set(STATUS_UNSUPPORTED,
                       "the MPS daemon did not take a memory limit of %s for GPU %s: it has %s",
                       mps_settings_size_text(limit->bytes, wanted, sizeof wanted), limit->gpu,
                       now ? mps_settings_size_text(now, found, sizeof found) : "none");
    return status;
}

/* A partition's GPU is named by its UUID. */
static enum status apply_partition(const struct mps_partition *partition, const struct gpus *gpus,
                                   const struct mps_control *control, uint64_t deadline_ns)
{
    const struct mps_device_row *row;
    enum status status = find_gpu(gpus, "static", partition->gpu, &row);
    return status == STATUS_OK
               ? mps_control_add_partition(control, row ? row->uuid : partition->gpu,
                                           partition->chunks, deadline_ns)
               : status;
}

enum status mps_settings_apply(const struct mps_settings *settings,
                               const struct mps_control *control, uint64_t deadline_ns)
{
    enum status status = apply_percentage(settings, control, deadline_ns);
    if (status == STATUS_OK)
        status = apply_priority(settings, control, deadline_ns);
    if (status != STATUS_OK || settings->memory_limits + settings->partitions == 0)
        return status;
    struct gpus gpus = {.count = 0};
    status = mps_control_devices(control, deadline_ns, gpus.rows, MPS_SETTINGS_GPUS, &gpus.count);
    if (status == STATUS_UNSUPPORTED)
        status = STATUS_OK;
    for (unsigned i = 0; i < settings->memory_limits && status == STATUS_OK; i++)
        status = apply_memory(&settings->memory_limit[i], &gpus, control, deadline_ns);
    for (unsigned i = 0; i < settings->partitions && status == STATUS_OK; i++)
        status = apply_partition(&settings->partition[i], &gpus, control, deadline_ns);
    return status;
}

enum status mps_settings_read(const struct mps_control *control, unsigned gpus,
                              uint64_t deadline_ns, struct mps_settings *out)
{
    struct mps_settings settings;
    mps_settings_init(&settings);
    enum status status = read_percentage(control, deadline_ns, &settings.active_thread_percentage);
    if (status == STATUS_OK)
        status = read_priority(control, deadline_ns, &settings.priority);
    for (unsigned i = 0; i < gpus && i < MPS_SETTINGS_GPUS && status == STATUS_OK; i++) {
        struct mps_memory_limit limit = {0};
        snprintf(limit.gpu, sizeof limit.gpu, "%u", i);
        status = read_memory(control, limit.gpu, deadline_ns, &limit.bytes);
        if (status == STATUS_OK && limit.bytes)
            settings.memory_limit[settings.memory_limits++] = limit;
    }
    if (status == STATUS_OK)
        *out = settings;
    return status;
}
