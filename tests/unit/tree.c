#include "tests/unit/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MADE_MOST (sizeof((struct tree *)NULL)->made / sizeof((struct tree *)NULL)->made[0])

void tree_make(struct tree *tree)
{
    memset(tree, 0, sizeof *tree);
    strcpy(tree->root, "/tmp/mpsweep-tree-XXXXXX");
    assert_non_null(mkdtemp(tree->root));
}

static void remember(struct tree *tree, const char *path)
{
    assert_true(tree->count < MADE_MOST);
    snprintf(tree->made[tree->count++], sizeof tree->made[0], "%s", path);
}

/* The path in the tree, with all directories on the way to it. */
static void make_way(struct tree *tree, const char *name, char path[256])
{
    assert_true(snprintf(path, 256, "%s%s", tree->root, name) < 256);
    for (char *slash = path + strlen(tree->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(path, 0700) == 0)
            remember(tree, path);
        *slash = '/';
    }
}

void tree_write_bytes(struct tree *tree, const char *name, const char *bytes, size_t size)
{
    char path[256];
    make_way(tree, name, path);
    FILE *file = fopen(path, "wxe");
    assert_non_null(file);
    remember(tree, path);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void tree_write(struct tree *tree, const char *name, const char *text)
{
    tree_write_bytes(tree, name, text, strlen(text));
}

void tree_link(struct tree *tree, const char *name, const char *target)
{
    char path[256];
    make_way(tree, name, path);
    assert_int_equal(symlink(target, path), 0);
    remember(tree, path);
}

void tree_directory(struct tree *tree, const char *name)
{
    char path[256];
    make_way(tree, name, path);
    assert_int_equal(mkdir(path, 0700), 0);
    remember(tree, path);
}

void tree_remove(struct tree *tree)
{
    while (tree->count)
        assert_int_equal(remove(tree->made[--tree->count]), 0);
    assert_int_equal(rmdir(tree->root), 0);
}
