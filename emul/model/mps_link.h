/*
 * The messages between the emulated driver and the emulated MPS control daemon.
 *
 * One AF_UNIX stream socket, `control` in the pipe directory; text lines. From a driver:
 *     attach PID CONNECTIONS PERCENTAGE LIMIT PRIORITY [DEVICE]
 *                   -> ok SERVERPID PERCENTAGE LIMIT | refused CODE
 *     context       -> ok | refused CODE     the process makes its context
 *     release       -> ok                    and gives it back
 *     fatal CODE    -> ok                    an error has broken the context
 * CODE is a CUresult. LIMIT is device memory in MiB, 0 for no limit; PRIORITY is -1 where the
 * client does not ask for one; DEVICE is a number of the machine's, 0 if not given. The connection
 * is the client: it ends when either side closes it. Unasked, the daemon sends
 * `broken CODE` to a driver whose context another client broke. From the control program: `control
 * COMMAND`, answered by text that ends in a NUL byte.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "device/cuda_abi.h"

#define MPS_LINK_CLIENTS 48
#define MPS_LINK_QUEUE_BUDGET 128 /* of a device: hardware queues of its clients and the server */
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

/* Device memory as the real daemon reads it, in MiB: a number, then G or M; M where it has no unit
 * or another one. 0 where there is no number. */
uint64_t mps_link_parse_mib(const char *text);

/* The driver's side of a connection. For any thread; only attaching and detaching must be alone. */
struct mps_client {
    int fd;                     /* -1: no MPS */
    int32_t server;             /* process ID */
    double percentage;          /* of the multiprocessors that this client may use */
    uint64_t memory_bytes;      /* of the device's memory; 0: no limit */
    _Atomic cuda_result broken; /* as the daemon reported */
};

/* Attaches to the environment's daemon if there is one, asking for `connections` hardware queues of
 * the device, a number of the machine's, and for the settings of the environment. An error: the
 * daemon refuses; there is no connection then. */
cuda_result mps_client_attach(struct mps_client *client, uint32_t connections, uint32_t device);

cuda_result mps_client_open_context(struct mps_client *client);
void mps_client_close_context(struct mps_client *client);

/* Reports that an error has broken the context, and with it those of the server's other clients. */
void mps_client_report_fatal(struct mps_client *client, cuda_result error);

/* The error that the daemon, or its end, has brought upon this client; CUDA_SUCCESS_: none. */
cuda_result mps_client_error(struct mps_client *client);

/* Sleeps until a moment of the clock, or until there is such an error, which it returns. */
cuda_result mps_client_sleep_until(struct mps_client *client, uint64_t when_ns);
