/*
 * What the parts of the doctor command share: one line a finding, and what to type under each that
 * is not ok. Lines come in groups, a blank line between them.
 *
 * A part reads first and judges then, so that tests can make up what it reads: root is "", or the
 * path of a tree that stands for "/".
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "orchestrator/session/mps_limits.h"
#include "orchestrator/session/session.h"

enum finding { FINDING_OK, FINDING_WARNING, FINDING_PROBLEM };

/* All zero but one of out and findings: an empty report. */
struct doctor {
    FILE *out;
    json_t *findings; /* an array, which takes them instead; the caller's */
    unsigned warnings, problems;
};

/* Prints or adds one finding, which begins with what was looked at and ": ". advice is what to
 * type; it may be NULL where the finding is always FINDING_OK. */
void doctor_report(struct doctor *doctor, enum finding finding, const char *advice,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* -- gpu.c: the GPU and its driver; makes no CUDA context -- */

/* in_container: the advice then covers containers. */
void doctor_check_gpu(struct doctor *doctor, const struct session *session, bool in_container);

/* -- mps.c: the programs of MPS, its environment, and whether a private daemon starts -- */

/* False if programs are missing, so that no daemon can start. */
bool doctor_check_mps_programs(struct doctor *doctor, const struct session *session);

/* Lists CUDA_MPS_ variables that mpsweep was started with. */
void doctor_check_mps_environment(struct doctor *doctor);

/* Starts a daemon, and ends it again. */
void doctor_check_mps_start(struct doctor *doctor, struct session *session);

/* -- machine.c: user, container, private directory, /dev/shm and limits -- */

struct machine_container {
    const char *kind;     /* "Docker", "a container"; NULL: no sign of one was found */
    bool own_process_ids; /* in a process ID namespace that is not the machine's first */
};

struct machine_container machine_container_read(const char *root);

struct machine_shm {
    bool exists, writable;
    uint64_t free_bytes; /* for this user */
};

struct machine_shm machine_shm_read(const char *root);

enum machine_limit { LIMIT_FILES, LIMIT_LOCKED, LIMIT_PROCESSES, LIMIT_ADDRESS, LIMIT_COUNT };

/* The soft limits of this process, RLIM_INFINITY for none; in descriptors, bytes and processes. */
struct machine_limits {
    rlim_t values[LIMIT_COUNT];
};

struct machine_limits machine_limits_read(void);

/* "bob", or "uid 1000" for a user without a name. Returns text. */
const char *machine_user_name(uid_t user, char *text, size_t size);

void doctor_check_user(struct doctor *doctor);
void doctor_check_container(struct doctor *doctor, const struct machine_container *container);
void doctor_check_shm(struct doctor *doctor, const struct machine_shm *shm, bool emulated);
void doctor_check_limits(struct doctor *doctor, const struct machine_limits *limits);

/* turns: what each CPU does in a millisecond, 0 where this process may not run
 * (common/host_work.h). */
void doctor_check_speeds(struct doctor *doctor, const uint64_t *turns, unsigned cpus);

/* path: of a private directory that could be made (mps/directory.h), or NULL: then error is why
 * not. */
void doctor_check_directory(struct doctor *doctor, const char *path, const char *error);

/* -- daemons.c: MPS control daemons that already run. It only reads /proc: it asks them nothing,
 * and leaves them as they are -- */

enum doctor_pipe {
    DOCTOR_PIPE_UNKNOWN, /* its environment cannot be read, or holds no text that can be printed */
    DOCTOR_PIPE_DEFAULT, /* it was given none */
    DOCTOR_PIPE_NAMED,   /* as in pipe_directory */
};

struct doctor_daemon {
    pid_t pid;
    uid_t user;
    enum doctor_pipe pipe;
    char pipe_directory[PATH_MAX]; /* printable, and without a quote; "" unless named */
    bool ours;                     /* below a private directory of an mpsweep of this user */
};

#define DOCTOR_DAEMONS_MOST 16

struct doctor_daemons {
    size_t count;                                    /* of those found */
    struct doctor_daemon found[DOCTOR_DAEMONS_MOST]; /* the first of them */
    bool hidden; /* this /proc shows no processes of other users */
};

/* In order of PID. root is "", or the path of a tree that stands for "/". STATUS_SYSTEM: there is
 * no /proc. */
enum status doctor_daemons_find(const char *root, struct doctor_daemons *out);

/* Adds those that 'mpsweep mps start' keeps and that are not among them: emulated ones run another
 * program. */
void doctor_daemons_add_kept(struct doctor_daemons *daemons);

void doctor_check_daemons(struct doctor *doctor, const struct doctor_daemons *daemons);

/* -- limits_search.c: a GPU's MPS limits. For each number of connections it starts a fresh private
 * daemon, and clients that make a context and keep it, until one is refused -- */

/* Called before each client is started with their number, and the connections of each. */
typedef void (*limits_progress)(void *data, unsigned connections, unsigned clients);

/*
 * The search; some 150 clients on an H200. The session must watch signals. All clients have ended
 * on return, even after an error, which names one that could not be ended. STATUS_INTERRUPTED after
 * a signal; STATUS_WORKER: a client crashed, hung, or is not attached to MPS; STATUS_CUDA: not even
 * one client gets a context. *out is set only on success.
 */
enum status limits_search(struct session *session, limits_progress progress, void *data,
                          struct mps_limits *out);
