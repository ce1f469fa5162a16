#include "orchestrator/session/mps_limits.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda_abi.h"
#include "job/queues.h"

#define DATE_LENGTH 10 /* of an ISO 8601 time */

unsigned mps_limits_client_cap(const struct mps_limits *limits, bool *bounded)
{
    unsigned most = 0;
    *bounded = false;
    for (unsigned i = 0; i < limits->count; i++) {
        if (limits->rows[i].clients > most || i == 0) {
            most = limits->rows[i].clients;
            *bounded = limits->rows[i].refused != 0;
        }
    }
    return most;
}

unsigned mps_limits_queue_budget(const struct mps_limits *limits)
{
    unsigned most = 0;
    for (unsigned i = 0; i < limits->count; i++) {
        unsigned queues = mps_queues(limits->rows[i].clients, limits->rows[i].connections);
        most = queues > most ? queues : most;
    }
    return most;
}

/* Whether a code means "too many", not "broken". */
static bool is_limit(int refused)
{
    return refused == CUDA_OUT_OF_MEMORY || refused == CUDA_DEVICE_UNAVAILABLE ||
           refused == CUDA_MPS_MAX_CLIENTS_REACHED || refused == CUDA_MPS_MAX_CONNECTIONS_REACHED;
}

bool mps_limits_refused(int cuda_error, const char *error)
{
    return is_limit(cuda_error) &&
           (strstr(error, "cuDevicePrimaryCtxRetain") || strstr(error, "cuCtxCreate"));
}

const struct mps_limits_row *mps_limits_beyond(const struct mps_limits *limits,
                                               const struct point *point)
{
    const struct mps_limits_row *nearest = NULL;
    unsigned connections = point_connections(point);
    if (!point_over_mps(point))
        return NULL;
    for (unsigned i = 0; i < limits->count; i++)
        if (limits->rows[i].connections <= connections && is_limit(limits->rows[i].refused))
            nearest = &limits->rows[i];
    return nearest && point->processes > nearest->clients ? nearest : NULL;
}

const char *mps_limits_why(const struct mps_limits *limits, const struct mps_limits_row *row,
                           const struct point *point, char *text, size_t size)
{
    char more[64] = "";
    if (point_connections(point) > row->connections)
        snprintf(more, sizeof more, ", and no more with %u", point_connections(point));
    snprintf(text, size,
             "this GPU and driver allow %u MPS client%s with %u connection%s each%s (found by "
             "'mpsweep doctor --limits' on %.*s)",
             row->clients, row->clients == 1 ? "" : "s", row->connections,
             row->connections == 1 ? "" : "s", more, DATE_LENGTH, limits->found);
    return text;
}

const char *mps_limits_summary(const struct mps_limits *limits, char *text, size_t size)
{
    bool bounded;
    unsigned clients = mps_limits_client_cap(limits, &bounded);
    snprintf(text, size, "%s%u clients, %u queues (found %.*s)", bounded ? "" : "at least ",
             clients, mps_limits_queue_budget(limits), DATE_LENGTH, limits->found);
    return text;
}

/* From the kernel's module: NVML may hang in a sick driver, and this thread must hear of
 * signals. */
static void read_release(char *out, size_t size)
{
    FILE *file = fopen("/sys/module/nvidia/version", "re");
    out[0] = '\0';
    if (!file)
        return;
    if (fgets(out, (int)size, file))
        out[strcspn(out, "\n")] = '\0';
    fclose(file);
}

void mps_limits_key_of(const struct session *session, struct mps_limits_key *out)
{
    *out = (struct mps_limits_key){0};
    memcpy(out->uuid, gpu_at(session->gpus, 0)->uuid, sizeof out->uuid);
    session_cuda(session, out->cuda);
    if (!session->emulated)
        read_release(out->release, sizeof out->release);
}

enum status mps_limits_known(const struct session *session, struct mps_limits *out)
{
    char path[PATH_MAX];
    struct mps_limits_key key;
    enum status status = mps_limits_path(path);
    if (status == STATUS_OK && access(path, F_OK) != 0)
        status = status_set(STATUS_NOT_FOUND, "there is no '%s'", path);
    if (status != STATUS_OK)
        return status;
    mps_limits_key_of(session, &key);
    return mps_limits_load(path, &key, out);
}

enum status mps_limits_describe(const struct session *session, char *text, size_t size)
{
    struct mps_limits limits;
    enum status status = mps_limits_known(session, &limits);
    if (status == STATUS_OK)
        mps_limits_summary(&limits, text, size);
    else if (status == STATUS_NOT_FOUND)
        snprintf(text, size,
                 "not known for this GPU and driver; "
                 "'mpsweep doctor --limits' finds them");
    else
        snprintf(text, size, "%s", status_text());
    return status;
}
