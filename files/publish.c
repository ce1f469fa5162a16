#include "files/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opened, and not only asked for: that is when a shared file system asks its server. */
static bool look_at(const char *path, struct stat *out)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool seen = fstat(fd, out) == 0;
    close(fd);
    return seen;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The new name survives a power failure; where that cannot be had, the file is there all the same.
 */
static void flush_folder(const char *path)
{
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder)
        return;
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!fsync(fd);
    close(fd);
}

static enum status check(const char *from, const char *to, const struct stat *before, int error)
{
    struct stat now;
    bool old_is_there = look_at(from, &now) && is_same(&now, before);
    if (!look_at(to, &now))
        return status_set(
            STATUS_SYSTEM, "'%s' cannot be renamed to '%s': %s; the results are %s%s", from, to,
            error ? strerror(error) : "the file system said that it was done, but it is not",
            old_is_there ? "still in " : "under neither name", old_is_there ? "the first" : "");
    if (!is_same(&now, before) || now.st_size != before->st_size)
        return status_set(STATUS_SYSTEM,
                          "'%s' is not what '%s' was renamed to be (%lld bytes of %lld): do not "
                          "trust this file system with it",
                          to, from, (long long)now.st_size, (long long)before->st_size);
    if (old_is_there)
        return status_set(STATUS_SYSTEM, "'%s' is still there after it was renamed to '%s'", from,
                          to);
    return STATUS_OK;
}

enum status publish_file(const char *from, const char *to)
{
    struct stat before, taken;
    int fd = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return status_set(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_SYSTEM,
                          "cannot open '%s': %s", from, strerror(errno));
    enum status status = STATUS_OK;
    if (fsync(fd) != 0 || fstat(fd, &before) != 0)
        status = status_set(STATUS_SYSTEM, "cannot flush '%s': %s", from, strerror(errno));
    else if (lstat(to, &taken) == 0)
        status = status_set(STATUS_USAGE, "'%s' exists: the results stay in '%s'", to, from);
    if (status == STATUS_OK) {
        int error = rename(from, to) != 0 ? errno : 0;
        flush_folder(to);
        status = check(from, to, &before, error);
    }
    close(fd);
    return status;
}
