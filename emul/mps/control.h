/*
 * The emulated MPS control daemon.
 *
 * One thread and one poll() loop; every connection has bounded buffers and is dropped where it
 * overflows them, so that none can hold the others up. The first client brings up a server, a
 * child process that only exists: the daemon does and logs what a server would. See mps_link.h for
 * the messages on the socket.
 *
 *   main.c       the command line
 *   server.c     pipe directory, server process, connections, the loop
 *   clients.c    what the drivers of clients ask for, and what becomes of them
 *   commands.c   what the control program asks for
 *   log.c        the log, in the words and the format of the real one
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/status.h"
#include "emul/model/mps_link.h"
#include "emul/model/visible.h"

#define CONTROL_CONNECTIONS 192
#define CONTROL_REPLY_BYTES 16384
#define CONTROL_BINARY_VERSION 13000

enum connection_state {
    CONNECTION_FREE,
    CONNECTION_OPEN,    /* its kind is not known yet */
    CONNECTION_UI,      /* a control program */
    CONNECTION_CLIENT,  /* an MPS client */
    CONNECTION_CLOSING, /* closes when its output is sent */
};

struct connection {
    enum connection_state state;
    int fd;
    pid_t pid; /* of a client, as all up to here */
    uid_t user;
    unsigned id;
    uint32_t device, queues;
    int priority;
    bool has_context;
    bool terminated;    /* by command: in no list any more */
    cuda_result broken; /* what its context was broken with, for as long as the process lives */
    size_t in_length, out_length;
    char in[MPS_LINK_LINE_BYTES];
    char out[CONTROL_REPLY_BYTES];
};

struct control {
    struct visible visible; /* the devices that it serves */
    int lock_fd, listener_fd, signals_fd;
    int log_fd, server_log_fd; /* -1: none; with -f both are standard output */
    pid_t server;              /* 0: none */
    bool server_draining;      /* ends when its last client leaves */
    bool server_fault;         /* until those whose contexts it broke have left */
    bool server_has_context;   /* on the device */
    double server_percentage, default_percentage;
    uint64_t server_limit_mib, default_limit_mib; /* device memory of a client; 0: no limit */
    /* What was set for further devices, to answer with: the first one's holds for all. */
    uint64_t more_limits_mib[EMUL_DEVICES_MAX];
    int default_priority;
    unsigned next_id;
    pid_t logged_pid; /* whom the last request was from */
    int logged_context;
    bool quitting, ended, keep_files;
    uint64_t quit_deadline_ns; /* UINT64_MAX: none */
    struct connection connections[CONTROL_CONNECTIONS];
};

/* -- server.c -------------------------------------------------------------------------- */

/* Takes the pipe directory and makes its files; STATUS_BUSY if another daemon has it. Blocks the
 * signals that the loop reads. The log goes to standard output, or to files. */
enum status control_open(struct control *control, bool log_to_output);

/* Serves until a command or a signal ends it; ends the server, and gives the directory back. */
void control_run(struct control *control);

void control_start_server(struct control *control);
/* Drops all clients and waits for the server's end. */
void control_end_server(struct control *control);

/* Adds to what a connection is to be sent; drops what does not fit. */
void control_reply(struct connection *connection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sends what there is, as far as it goes without waiting. */
void control_send(struct control *control, struct connection *connection);

/* -- clients.c ------------------------------------------------------------------------- */

unsigned control_count_clients(const struct control *control);

/* The listed client after the one with this ID (0: the first), in order of their IDs; NULL: none.
 * with_context: only those that have a context. */
struct connection *control_next_client(struct control *control, unsigned id, bool with_context);

/* Carries out one line of a driver. False: it is not one that a driver may send. */
bool control_client_line(struct control *control, struct connection *connection, const char *line);

/* Breaks one client's context for good, and lets the client know at once. */
void control_terminate(struct control *control, struct connection *client);

/* What remains to be done for a client whose connection has ended. */
void control_client_left(struct control *control, struct connection *client);

/* -- commands.c  ------------------------------------------------------------------------ */

/* Carries out one command of the control program. False: the answer comes by the end of the
 * connection. */
bool control_command(struct control *control, struct connection *connection, const char *line);

/* -- log.c ----------------------------------------------------------------------------- */

void control_log_open(struct control *control, bool to_output);

/* Logs one line: of the daemon, of its server, or of another process. */
#define control_log(control, ...)                                                                  \
    control_log_as((control)->log_fd, "Control", getpid(), __VA_ARGS__)
#define control_log_server(control, ...)                                                           \
    control_log_as((control)->server_log_fd, "Server", (control)->server, __VA_ARGS__)
void control_log_as(int fd, const char *who, pid_t pid, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What a daemon and its new server log until the server is ready. */
void control_log_server_start(struct control *control);

/* A client's connection (context 0), or that of its context (1). */
void control_log_arrival(struct control *control, const struct connection *client, int context);
void control_log_departure(struct control *control, const struct connection *client, int context);
