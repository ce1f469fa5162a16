/*
 * For tests of the emulated MPS control daemon: a daemon of the test's own, its control program,
 * and clients that follow orders.
 *
 * test_daemon_start and test_daemon_end are cmocka's set-up and tear-down of a test.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/unit/emul/driver.h"

#define REPLY_BYTES 4096

/* The daemon of the running test; a test that has waited for its end sets it to 0. */
extern pid_t test_daemon;

/* Its pipe directory, which is also its log directory; its standard output goes to "output" there.
 */
extern char test_directory[64];

int test_daemon_start(void **state);
int test_daemon_end(void **state);

/* Runs the control program with one option (NULL: none), sends it commands, returns its exit
 * status; output holds what came on both outputs. */
int control(const char *option, const char *commands, char output[REPLY_BYTES]);

/* The same for one command to the server, "%d" in it being the server's process; fails the test if
 * the answer is not the expected one. */
void assert_answer(const char *command, const char *expected);

pid_t get_server(void);
bool directory_has(const char *name);
/* Waits for a process that is not a child; false: it does not end. */
bool is_gone(pid_t pid);

/* A child that attaches, makes a context, reports how that went, and obeys until it must end.
 */
struct client {
    pid_t pid;
    int told_fd, tell_fd;
    int32_t mps, multiprocessors; /* what the driver reports about it; -1: cuInit failed */
    int32_t result;               /* of cuInit, or of the context */
};

struct client start_client(const char *variable, const char *value);

enum client_order {
    CLIENT_SYNC,   /* waits for its work: the result */
    CLIENT_ALLOC,  /* takes that many MiB: the result */
    CLIENT_FREE,   /* the MiB that are free, or minus the result */
    CLIENT_DELAY,  /* starts a kernel of that many ms: the result */
    CLIENT_STRAY,  /* runs a kernel that leaves its memory, and waits: the result */
    CLIENT_RENEW,  /* gives its context back and makes it again: the result */
    CLIENT_RELEASE /* gives its context back: the result */
};
int32_t order_client(const struct client *client, enum client_order order, int32_t argument);
/* In two steps, for what takes time. */
void tell_client(const struct client *client, enum client_order order, int32_t argument);
int32_t hear_client(const struct client *client);

/* Ends it and returns what a last synchronisation gave; -1: it has no context. */
int32_t end_client(struct client *client);
/* The same by SIGKILL. */
void kill_client(struct client *client);
