/*
 * The hardware queues (CUDA_DEVICE_MAX_CONNECTIONS) that a process has, and how many MPS clients
 * with how many queues each a GPU has room for. For any room that makes, predicts or searches
 * layouts.
 */
#pragma once

#include <stdbool.h>

/* Hardware queues that the driver gives a process by default, and an MPS client, and the most that
 * it gives (CUDA programming guide, and the MPS guide for clients). */
#define QUEUES_OF_PROCESS 8
#define QUEUES_OF_CLIENT 2
#define QUEUES_MOST 32

/* What an H200 was measured to allow (docs/mps.md), for GPUs whose limits are not known: MPS
 * clients, and hardware queues of the clients and the server together. */
#define MPS_CLIENTS_USUAL 48
#define MPS_QUEUES_USUAL 128

/* The hardware queues of MPS clients with as many connections each, and of the server, which takes
 * as many as one of them. */
static inline unsigned mps_queues(unsigned clients, unsigned connections)
{
    return (clients + 1) * connections;
}

/* Whether a GPU that has as many queues for clients and server has room for these clients. */
static inline bool mps_queues_fit(unsigned clients, unsigned connections, unsigned queues)
{
    return mps_queues(clients, connections) <= queues;
}
