/*
 * The emulated MPS control daemon.
 *
 * One thread and one poll() loop; every connection has bounded buffers and is dropped where it
 * overflows them, so that nobody can hold the others up. The first client brings up a server, a
 * child process that only exists. See mps_link.h for what is said on the socket.
 */
#ifndef MPSWEEP_EMUL_CONTROL_H
#define MPSWEEP_EMUL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/status.h"
#include "emul/mps_link.h"

#define CONTROL_CONNECTIONS 192
#define CONTROL_REPLY_BYTES 16384

enum connection_state {
    CONNECTION_FREE,
    CONNECTION_OPEN,    /* has not said what it is, or is a control program */
    CONNECTION_CLIENT,  /* an MPS client */
    CONNECTION_CLOSING, /* closes when its output is sent */
};

struct connection {
    enum connection_state state;
    int fd;
    pid_t pid; /* of a client */
    unsigned id;
    uint32_t queues;
    bool has_context;
    size_t in_length, out_length;
    char in[MPS_LINK_LINE_BYTES];
    char out[CONTROL_REPLY_BYTES];
};

struct control {
    int lock_fd, listener_fd, signals_fd;
    int log_fd, server_log_fd; /* -1: none */
    pid_t server;              /* 0: none */
    bool server_draining;      /* ends when its last client leaves */
    double server_percentage, default_percentage;
    unsigned next_id;
    bool quitting, ended, keep_files;
    uint64_t quit_deadline_ns; /* UINT64_MAX: none */
    struct connection connections[CONTROL_CONNECTIONS];
};

/* control_server.c. Takes the pipe directory and makes its files; STATUS_BUSY if another daemon has
 * it. Blocks the signals that the loop reads. */
enum status control_open(struct control *control);

/* Serves until told to quit or by a signal; ends the server, and gives the directory back. */
void control_run(struct control *control);

unsigned control_count_clients(const struct control *control);
void control_start_server(struct control *control);
/* Drops all clients and waits for the server's end. */
void control_end_server(struct control *control);
void control_drop(struct control *control, struct connection *connection);
void control_log(struct control *control, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds to what a connection is to be sent; drops what does not fit. */
void control_reply(struct connection *connection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* control_commands.c: carries out one command of the control program. False: the answer comes by
 * the end of the connection. */
bool control_command(struct control *control, struct connection *connection, const char *line);

#endif
