/*
 * What the emulated driver and the emulated MPS control daemon say to each other.
 *
 * One AF_UNIX stream socket, `control` in the pipe directory; text lines. From a driver:
 *     attach PID CONNECTIONS PERCENTAGE   -> ok SERVERPID PERCENTAGE | refused CODE
 *     context                             -> ok | refused CODE          the process makes its
 * context release                             -> ok                         and gives it back CODE
 * is a CUresult. The connection is the client: it ends when either side closes it. From the control
 * program: `control COMMAND`, answered by text that ends in a NUL byte.
 */
#ifndef MPSWEEP_EMUL_MPS_LINK_H
#define MPSWEEP_EMUL_MPS_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "emul/entry.h"

#define MPS_LINK_CLIENTS 48
#define MPS_LINK_QUEUE_BUDGET 96 /* hardware queues of all clients together */
#define MPS_LINK_LINE_BYTES 512
#define MPS_LINK_DEADLINE_MS 5000

/* The pipe directory of the environment. Never NULL. */
const char *mps_link_directory(void);

/* Path of a file there. False: too long for a socket's address. */
bool mps_link_path(const char *file, char path[sizeof(((struct sockaddr_un *)0)->sun_path)]);

/* Connects to the daemon of the environment's pipe directory; -1 if there is none. The descriptor
 * is close-on-exec, its reads and writes give up after MPS_LINK_DEADLINE_MS. */
int mps_link_connect(void);

/* Sends all of it; never raises SIGPIPE. */
bool mps_link_send(int fd, const char *text, uint64_t length);

/* The driver's side of a connection. */
struct mps_client {
    int fd;              /* -1: no MPS */
    int32_t server;      /* process ID */
    double percentage;   /* of the multiprocessors that this client may use */
    cuda_result refusal; /* why no context can be made; CUDA_SUCCESS_ if one can */
};

/* Attaches to the environment's daemon if there is one, asking for so many hardware queues. */
void mps_client_attach(struct mps_client *client, uint32_t connections);

cuda_result mps_client_open_context(struct mps_client *client);
void mps_client_close_context(struct mps_client *client);

/* True once the daemon or the server has ended the connection. */
bool mps_client_is_lost(const struct mps_client *client);

#endif
