/*
 * A scratch tree that stands for "/", removed by its own list. Each function ends the test that
 * calls it where it cannot do its work.
 */
#pragma once

#include <stddef.h>

struct tree {
    char root[64];
    char made[64][256];
    size_t count;
};

void tree_make(struct tree *tree);
void tree_remove(struct tree *tree);

/* name begins with "/"; directories on the way are made. A file is a new one. */
void tree_write(struct tree *tree, const char *name, const char *text);
void tree_write_bytes(struct tree *tree, const char *name, const char *bytes, size_t size);
void tree_link(struct tree *tree, const char *name, const char *target);
void tree_directory(struct tree *tree, const char *name);
