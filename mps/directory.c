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
#include <time.h>
#include <unistd.h>

#define PREFIX "mpsweep-"
#define NAME_LENGTH (sizeof PREFIX - 1 + 6)

/* A directory younger than this may belong to a process that has not locked it yet. */
#define YOUNG_S 60

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

static int lock_at(int directory, int flags)
{
    int fd = openat(directory, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Whether nobody owns this one: its lock is free, or was never made and it is not young. */
static int is_abandoned(int base, const char *name)
{
    int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    struct stat info;
    int abandoned = 0;
    if (fstat(fd, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 0777) == 0700) {
        int lock = lock_at(fd, 0);
        abandoned = lock >= 0 || (errno == ENOENT && time(NULL) - info.st_mtime > YOUNG_S);
        if (lock >= 0)
            close(lock);
    }
    close(fd);
    return abandoned;
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
            strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1) == 0 &&
            is_abandoned(fd, entry->d_name))
            remove_tree_at(fd, entry->d_name);
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
        made.lock_fd = lock_at(fd, O_CREAT | O_EXCL);
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
