/*
 * The part of the doctor that looks at the machine around the GPU: user, container, private
 * directory, /dev/shm and limits. Each is read first and judged then, so that what is read can be
 * made up: root is "", or the path of a tree that stands for "/".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "orchestrator/doctor/internal.h"

struct machine_container {
    const char *kind;     /* "Docker", "a container"; NULL: there is no sign of one */
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

/* path: of a private directory that could be made (mps/directory.h), or NULL: then error is why
 * not. */
void doctor_check_directory(struct doctor *doctor, const char *path, const char *error);
