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

/* What GPUs a daemon of that program serves are called; NULL: it is not the emulated one. */
const char *emulation_gpu_of(const char *control_program);

/* The variable by which a process finds the machine, for its environment. Returns text. */
#define EMULATION_TEXT 40
const char *emulation_variable(int fd, char text[EMULATION_TEXT]);

/* Calls take for each environment variable that the user has set for the machine, with the field
 * of the header that holds it. */
void emulation_each_setting(void (*take)(void *data, const char *field, const char *value),
                            void *data);
