#include "files/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Notes why something stays. What comes after the first reason follows from it, as a directory that
 * is not empty. */
static void note_error(int *first)
{
    if (*first == 0)
        *first = errno;
}

int remove_tree_at(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    DIR *stream = fdopendir(fd);
    if (!stream) {
        close(fd);
        return -1;
    }
    struct dirent *entry;
    int first = 0;
    while ((entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        /* Others clear up what is being removed, too: what they were faster with is gone. */
        if (unlinkat(fd, entry->d_name, 0) == 0 || errno == ENOENT)
            continue;
        if ((errno != EISDIR && errno != EPERM) || remove_tree_at(fd, entry->d_name) != 0)
            note_error(&first);
    }
    closedir(stream);
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        note_error(&first);
    if (first == 0)
        return 0;
    errno = first;
    return -1;
}

enum status remove_tree(const char *path)
{
    if (remove_tree_at(AT_FDCWD, path) != 0)
        return status_set(STATUS_SYSTEM, "cannot remove '%s': %s", path, strerror(errno));
    return STATUS_OK;
}
