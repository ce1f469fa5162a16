/*
 * How the orchestrator reaches the emulated machine. All other files only ask the session whether
 * its GPUs are emulated.
 */
#pragma once

#include <limits.h>

#include "common/status.h"

/* Makes the machine's state, as a descriptor, and finds its driver and its control program. */
enum status emulation_make(char driver_path[PATH_MAX], char control_program[PATH_MAX], int *fd);

/* The emulated machine's program in the place of nvidia-cuda-mps-control. */
enum status emulation_find_control(char path[PATH_MAX]);

/* The variable by which a process finds the machine, for its environment. Returns text. */
#define EMULATION_TEXT 40
const char *emulation_variable(int fd, char text[EMULATION_TEXT]);

/* What the user has it emulate, NULL for the usual machine or effects. */
const char *emulation_machine(void);
const char *emulation_effects(void);

/* STATUS_USAGE: the results in a file are of an emulated machine (NULL: the usual one) that is not
 * the one of this run. Emulated GPUs have the same UUIDs everywhere. */
enum status emulation_check(const char *file, const char *machine);
