/*
 * Helpers for any file descriptor.
 */
#pragma once

#include <stddef.h>

/* Writes all bytes to a descriptor that blocks. Gives 0, or -1 and errno. */
int descriptor_write(int fd, const void *data, size_t bytes);

/* Closes *fd unless it is -1, and sets it to -1. */
void descriptor_close(int *fd);
