/*
 * Removing a directory with all that is in it, without following a link.
 */
#pragma once

#include "common/status.h"

/* A tree that is gone already is not an error. */
enum status remove_tree(const char *path);

/* The same of a name in the directory `parent`. Gives 0, or -1 and errno. */
int remove_tree_at(int parent, const char *name);
