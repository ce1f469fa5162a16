/*
 * Memory that processes share: an anonymous file, handed on by its descriptor. Nothing has a name
 * in any file system, and nothing is left when the last process that has it is gone. Its content
 * begins with a magic number, a version and a length, which each user checks when it attaches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/status.h"

/* All zero. name is what /proc shows. The descriptor is closed at exec; both belong to the caller.
 */
enum status memory_file_create(const char *name, size_t bytes, int *fd, void **map);

/* Maps the whole of one that another process has made and handed on. STATUS_PROTOCOL if it has
 * fewer bytes than `least`, those of a header. The map belongs to the caller, as fd did before. */
enum status memory_file_attach(int fd, size_t least, void **map, size_t *bytes);

/* Whether /proc calls what the descriptor stands for by a name that begins so: a memory file of
 * that name is "/memfd:NAME". */
bool memory_file_is(int fd, const char *name);

/* A new descriptor, closed at exec, of what process `pid` has handed on as `fd`: of our own `fd` if
 * memory_file_is(fd, name), else of that of the process, since a program between may have closed
 * what it did not know, as Python's subprocess does. Below 0 with errno: neither can be had. */
int memory_file_find(int fd, const char *name, pid_t pid);

/* Unmaps, if map is not NULL, and closes, if fd is not below 0. */
void memory_file_release(int fd, void *map, size_t bytes);
