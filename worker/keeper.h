/*
 * The keeper of a program: a small process between the supervisor and the program, so that what the
 * program leaves behind has a living ancestor when the supervisor is killed. It is a subreaper in a
 * session of its own, and has the name "keeper". It ends when no descendant is left; when the
 * supervisor ends first, it kills them all. When the keeper is killed, the program dies with it,
 * and the supervisor, a subreaper too, inherits the rest.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/child.h"

struct keeper {
    pid_t program;
    int fd; /* readable: see keeper_read(); close it */
};

/* Starts a keeper, and by it the program. The caller is a subreaper without further threads. Errors
 * as from child_spawn(). */
enum status keeper_spawn(const struct child_spawn_options *options, struct keeper *out);

/* Whether the keeper has reported the end of the program by now; wait_status is as from waitpid().
 * One that was killed reports none: the program is then a child of the caller. */
bool keeper_read(const struct keeper *keeper, int *wait_status);
