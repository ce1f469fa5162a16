/*
 * The children that child_spawn() has started and that were not reaped yet: another child
 * of this process was adopted (child_adopt()). For child.c only.
 */
#pragma once

#include <sys/types.h>

#include "common/status.h"

/* Around fork(), so that no thread takes the new child for an adopted one. pid: as from fork(); an
 * error is recorded if there is no memory for it. */
void children_lock(void);
enum status children_add_and_unlock(pid_t pid);

/* After it was reaped. */
void children_remove(pid_t pid);
