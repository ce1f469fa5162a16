/*
 * The part of the doctor that looks for MPS control daemons that already run. It only reads /proc:
 * it asks them nothing, and leaves them as they are.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/status.h"
#include "orchestrator/doctor/internal.h"

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
    struct doctor_daemon found[DOCTOR_DAEMONS_MOST]; /* the first of them, in order of PID */
    bool hidden; /* this /proc shows no processes of other users */
};

/* root is "", or the path of a tree that stands for "/". STATUS_SYSTEM: there is no /proc. */
enum status doctor_daemons_find(const char *root, struct doctor_daemons *out);

void doctor_check_daemons(struct doctor *doctor, const struct doctor_daemons *daemons);
