/*
 * Shared by the files of the HTTP server: its options (options.c), its connections (main.c), the
 * times that these wait for (times.c), what they read (requests.c) and what they send (answers.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_CONNECTIONS 16384 /* also the highest descriptor */
#define MAX_TEXT 8192
#define NS_PER_MS 1000000
#define NS_PER_S 1000000000

enum fault { FAULT_NONE, FAULT_STATUS, FAULT_TEXT, FAULT_CLOSE, FAULT_STALL, FAULT_LENGTH };

/*
 * options.c: what the command line asks for; main.c describes it. Set once.
 */

extern int port, record_fd;
extern int64_t ready_ns, delay_ns, stream_ns;
extern bool serial, streams, uses_gpu, refuses, stubborn;
extern const char *good_text, *wrong_text, *wrong_length, *wanted_body;
extern enum fault configured_fault;
extern int fault_status;
extern long every, exit_after;

/* Ends the program where an option is wrong. */
void take_options(int argc, char **argv);

/* What a connection does. Only where it reads does it take more from its buffer. */
enum state { READ_HEAD, READ_BODY, WAIT_FOR_ANSWER, WAIT_FOR_REST, STALLED, DISCARD };

struct connection {
    int fd;
    enum state state;
    /* Input that was not taken yet; whether the socket may have more. */
    size_t have;
    bool unread;
    /* The request. */
    bool closes, is_get;
    char path[16];
    long body_bytes, body_left;
    bool body_differs;
    char begin[1024]; /* of the body, for --record */
    enum fault fault;
    /* When it continues, and its place in the heap, or -1. */
    int64_t due_ns;
    int place;
    char input[16384];
};

/* main.c: ends the program with the text of errno. */
__attribute__((noreturn)) void die(const char *what);

/* main.c: closes and frees it, also while it waits. */
void end_connection(struct connection *connection);

/*
 * times.c: when connections continue, by a clock that only goes forward.
 */

extern int timer; /* made before the first connection waits */

int64_t now_ns(void);

/* The connection must not be waiting. */
void wait_until(struct connection *connection, int64_t due_ns);

/* Does nothing to a connection that does not wait. */
void wait_no_more(struct connection *connection);

/* Sets the timer to the first of these times: after whatever may have changed it. */
void arm_timer(void);

/* Once the timer has expired: resumes each connection whose time has come. */
void take_times(void);

/*
 * requests.c: each may end the connection.
 */

/* Reads and takes until the socket has no more, or the buffer is full. */
void read_input(struct connection *connection);

/* The time that a connection waits for has come. */
void resume(struct connection *connection);

/*
 * answers.c: each returns whether the connection is still there.
 */

/* Ends the connection of a client that does not read. */
bool send_all(struct connection *connection, const char *bytes, int count);

/* Answers a request whose rest cannot be taken. What still comes is read, so that the answer is. */
bool reject(struct connection *connection, int status);

/* The time of a connection's request has come. */
bool proceed(struct connection *connection);

/* The request is complete: answers it, or lets it wait. */
bool serve(struct connection *connection);
