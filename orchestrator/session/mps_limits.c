#include "orchestrator/session/mps_limits.h"

#include <stdio.h>

#include "device/cuda_abi.h"

#define DATE_LENGTH 10 /* of an ISO 8601 time */

unsigned limits_client_cap(const struct limits *limits, bool *bounded)
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

unsigned limits_queue_budget(const struct limits *limits)
{
    unsigned most = 0;
    for (unsigned i = 0; i < limits->count; i++) {
        unsigned queues = limits->rows[i].clients * limits->rows[i].connections;
        most = queues > most ? queues : most;
    }
    return most;
}

/* Says too many, as against broken. */
static bool is_limit(int refused)
{
    return refused == CUDA_OUT_OF_MEMORY || refused == CUDA_DEVICE_UNAVAILABLE ||
           refused == CUDA_MPS_MAX_CLIENTS_REACHED || refused == CUDA_MPS_MAX_CONNECTIONS_REACHED;
}

const struct limits_row *limits_beyond(const struct limits *limits, const struct point *point)
{
    const struct limits_row *nearest = NULL;
    unsigned connections = point_connections(point);
    if (!point_over_mps(point))
        return NULL;
    for (unsigned i = 0; i < limits->count; i++)
        if (limits->rows[i].connections <= connections && is_limit(limits->rows[i].refused))
            nearest = &limits->rows[i];
    return nearest && point->processes > nearest->clients ? nearest : NULL;
}

const char *limits_why(const struct limits *limits, const struct limits_row *row,
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

const char *limits_summary(const struct limits *limits, char *text, size_t size)
{
    bool bounded;
    unsigned clients = limits_client_cap(limits, &bounded);
    snprintf(text, size, "%s%u clients, %u queues (found %.*s)", bounded ? "" : "at least ",
             clients, limits_queue_budget(limits), DATE_LENGTH, limits->found);
    return text;
}
