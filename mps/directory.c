#include "mps/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "mpsweep-"
#define NAME_LENGTH (sizeof PREFIX - 1 + 6)

static int remove_tree_at(int parent, const char *name)
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
    int result = 0;
    while ((entry = readdir(stream))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, entry->d_name, 0) == 0)
            continue;
        if ((errno != EISDIR && errno != EPERM) || remove_tree_at(fd, entry->d_name) != 0)
            result = -1;
    }
    closedir(stream);
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        result = -1;
    return result;
}

enum status mps_directory_remove_path(const char *path)
{
    if (remove_tree_at(AT_FDCWD, path) != 0)
        return status_set(STATUS_SYSTEM, "cannot remove '%s': %s", path, strerror(errno));
    return STATUS_OK;
}

/* The lock file, locked; -1 with errno set. */
static int lock_at(int directory, const char *name, int flags)
{
    int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Makes the lock file under another name first: under its own it is never seen unlocked, which
 * would look as if its owner had died. */
static int make_lock(int directory)
{
    int fd = lock_at(directory, "lock.new", O_CREAT | O_EXCL);
    if (fd >= 0 && renameat(directory, "lock.new", directory, "lock") != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool is_ours(const char *name)
{
    static const char *const names[] = {".", "..", "lock", "mps", "log", "off"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Whether it holds nothing but what we make. */
static bool holds_only_ours(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool only = true;
    struct dirent *entry;
    while (only && (entry = readdir(stream)))
        only = is_ours(entry->d_name);
    closedir(stream);
    return only;
}

/* Removes a directory whose owner is gone: ours in every respect, and its lock is there and free.
 * Whatever else has a name like ours is left alone. */
static void remove_if_abandoned(int base, const char *name)
{
    int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    struct stat info;
    int lock = -1;
    if (fstat(fd, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 0777) == 0700 &&
        holds_only_ours(fd))
        lock = lock_at(fd, "lock", 0);
    /* Held while removing, so that two that start at once do not meet. */
    if (lock >= 0) {
        remove_tree_at(base, name);
        close(lock);
    }
    close(fd);
}

static void remove_abandoned(const char *base)
{
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream) {
        if (fd >= 0)
            close(fd);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(stream)))
        if (strlen(entry->d_name) == NAME_LENGTH &&
            strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) == 0)
            remove_if_abandoned(fd, entry->d_name);
    closedir(stream);
}

static enum status make_under(const char *base, struct mps_directory *out)
{
    struct mps_directory made = {.lock_fd = -1};
    /* "/mps" is what the daemon is given. */
    int length = snprintf(made.path, sizeof made.path, "%s/%sXXXXXX", base, PREFIX);
    if (length < 0 || (size_t)length + 4 > MPS_DIRECTORY_MOST)
        return status_set(STATUS_UNSUPPORTED, "'%s' is too long for a socket's path", base);
    remove_abandoned(base);
    if (!mkdtemp(made.path))
        return status_set(STATUS_SYSTEM, "cannot make a directory in '%s': %s", base,
                          strerror(errno));
    int fd = open(made.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        made.lock_fd = make_lock(fd);
    bool good = made.lock_fd >= 0 && mkdirat(fd, "mps", 0700) == 0 &&
                mkdirat(fd, "log", 0700) == 0 && mkdirat(fd, "off", 0500) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (!good) {
        mps_directory_remove(&made);
        return status_set(STATUS_SYSTEM, "cannot fill '%s': %s", made.path, strerror(error));
    }
    *out = made;
    return STATUS_OK;
}

enum status mps_directory_make(struct mps_directory *out)
{
    const char *bases[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp", "/dev/shm",
                           "/var/tmp"};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        if (!bases[i] || bases[i][0] != '/')
            continue;
        status = make_under(bases[i], out);
        if (status == STATUS_OK)
            return STATUS_OK;
    }
    return status_prefix(status, "no place for a private directory: ");
}

enum status mps_directory_remove(struct mps_directory *directory)
{
    enum status status = mps_directory_remove_path(directory->path);
    if (directory->lock_fd >= 0)
        close(directory->lock_fd);
    directory->lock_fd = -1;
    return status;
}
