/*
 * What a GPU and its driver allow over MPS: how many clients with how many connections each. Found
 * by trying (orchestrator/doctor/limits_search.h) and kept in a file of the user's cache, so that a
 * sweep knows before it starts anything which points cannot work. docs/limits.md describes the
 * file.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/session/session.h"

#define MPS_LIMITS_ROWS 6           /* connections 1, 2, 4, 8, 16, 32 */
#define MPS_LIMITS_MOST_CLIENTS 128 /* where the search stops although nothing was refused */

/* Whose limits: they are the driver's, and a newer one may have others. */
struct mps_limits_key {
    char uuid[64];
    char cuda[32];    /* newest CUDA of the driver, "13.0" */
    char release[96]; /* of the driver, "580.95.05"; "" where the kernel does not show it */
};

struct mps_limits_row {
    unsigned connections;
    unsigned clients; /* that had a context at the same time */
    int refused;     /* CUresult that the next one got; 0: MPS_LIMITS_MOST_CLIENTS were given one */
    char error[256]; /* its text */
};

struct mps_limits {
    struct mps_limits_key key;
    char found[32]; /* ISO 8601, UTC */
    unsigned count;
    struct mps_limits_row rows[MPS_LIMITS_ROWS]; /* fewest connections first */
};

/* Most clients at any number of connections; bounded is false where none was refused there. */
unsigned mps_limits_client_cap(const struct mps_limits *limits, bool *bounded);

/* Most hardware queues of clients and server together that worked (job/queues.h). */
unsigned mps_limits_queue_budget(const struct mps_limits *limits);

/* The row that bounds a point: the nearest of no more connections than the point's, since further
 * connections only leave room for fewer clients. NULL where the point is within the limits, is not
 * over MPS, or nothing is known: it must be tried. Only codes that mean "too many" bound
 * a point. */
const struct mps_limits_row *mps_limits_beyond(const struct mps_limits *limits,
                                               const struct point *point);

/* Whether a client that failed with this code and text got no context because there are too many
 * clients or queues. */
bool mps_limits_refused(int cuda_error, const char *error);

/* Why that row rules the point out, as the error of its record. Returns text. */
const char *mps_limits_why(const struct mps_limits *limits, const struct mps_limits_row *row,
                           const struct point *point, char *text, size_t size);

/* "48 clients, 128 queues (found 2026-11-21)". Returns text. */
const char *mps_limits_summary(const struct mps_limits *limits, char *text, size_t size);

/* -- this run -- */

/* Whose limits this session's GPU has. */
void mps_limits_key_of(const struct session *session, struct mps_limits_key *out);

/* The kept limits of this session's GPU and driver; as mps_limits_load(). */
enum status mps_limits_known(const struct session *session, struct mps_limits *out);

/* What is known in one line: the limits, or how to find them. The status is that of
 * mps_limits_known(): STATUS_NOT_FOUND is not a fault. */
enum status mps_limits_describe(const struct session *session, char *text, size_t size);

/* -- the file -- */

/* $XDG_CACHE_HOME/mpsweep/limits.json, or below ~/.cache. STATUS_NOT_FOUND: neither variable names
 * an absolute path. */
enum status mps_limits_path(char path[PATH_MAX]);

/* The entry of this key. STATUS_NOT_FOUND: no file, or no such entry; STATUS_PROTOCOL: it is not
 * such a file. *out is set only on success. */
enum status mps_limits_load(const char *path, const struct mps_limits_key *key,
                            struct mps_limits *out);

/* Puts an entry in, in place of an earlier one of its key, and makes the folders. The file is
 * replaced as a whole; one that cannot be understood is begun anew. */
enum status mps_limits_store(const char *path, const struct mps_limits *limits);
