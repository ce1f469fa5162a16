#include "mps/settings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mps/reply.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define LEAST_LIMIT (16 * MIB) /* a context alone takes more */
#define MOST_LIMIT (UINT64_C(1) << 50)

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
    static const char suffixes[] = "KMGT";
    char *end;
    if (!isdigit((unsigned char)*text) || strlen(text) > 18)
        return false;
    uint64_t value = strtoull(text, &end, 10);
    const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    if (*end && (!suffix || end[1]))
        return false;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    if (value > MOST_LIMIT >> shift)
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

static enum status add_one(struct mps_settings *settings, char *item)
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

enum status mps_settings_add_memory(struct mps_settings *settings, const char *text)
{
    struct mps_settings changed = *settings;
    char *copy = strdup(text);
    if (!copy)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = STATUS_OK;
    char *rest = copy;
    while (status == STATUS_OK && rest)
        status = add_one(&changed, strsep(&rest, ","));
    free(copy);
    if (status == STATUS_OK)
        *settings = changed;
    return status;
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

/* The daemon takes a limit for any GPU, there or not: finds the number of the one that is meant, by
 * which it is also asked for. One that cannot list its GPUs is taken at its word. */
static enum status find_gpu(const struct gpus *gpus, const char *wanted, char *out, size_t size)
{
    for (size_t i = 0; i < gpus->count; i++) {
        snprintf(out, size, "%u", gpus->rows[i].ordinal);
        if (strcmp(wanted, out) == 0 || strcasecmp(wanted, gpus->rows[i].uuid) == 0)
            return STATUS_OK;
    }
    if (gpus->count > 0)
        return status_set(STATUS_USAGE,
                          "memory-limit: the MPS daemon has no GPU '%s': it has %zu, numbered from "
                          "0",
                          wanted, gpus->count);
    snprintf(out, size, "%s", wanted);
    return STATUS_OK;
}

static enum status apply_memory(const struct mps_memory_limit *limit, const struct gpus *gpus,
                                const struct mps_control *control, uint64_t deadline_ns)
{
    char wanted[32], found[32], gpu[sizeof limit->gpu];
    struct child_result reply;
    uint64_t now = 0;
    enum status status = find_gpu(gpus, limit->gpu, gpu, sizeof gpu);
    if (status != STATUS_OK)
        return status;
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

enum status mps_settings_apply(const struct mps_settings *settings,
                               const struct mps_control *control, uint64_t deadline_ns)
{
    enum status status = apply_percentage(settings, control, deadline_ns);
    if (status == STATUS_OK)
        status = apply_priority(settings, control, deadline_ns);
    if (status != STATUS_OK || settings->memory_limits == 0)
        return status;
    struct gpus gpus = {.count = 0};
    status = mps_control_devices(control, deadline_ns, gpus.rows, MPS_SETTINGS_GPUS, &gpus.count);
    if (status == STATUS_UNSUPPORTED)
        status = STATUS_OK;
    for (unsigned i = 0; i < settings->memory_limits && status == STATUS_OK; i++)
        status = apply_memory(&settings->memory_limit[i], &gpus, control, deadline_ns);
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
