/*
 * A file system that lies about rename, has no locks, or is slow to grant them, as a library to
 * preload: MPSWEEP_LIE sets how.
 *   nothing: the call succeeds, and nothing has happened
 *   cut: the file is there under its new name, and half of it is lost
 *   lost: the call succeeds, and the file is gone
 *   both: the old name is still there, too
 *   twice: it is done, and the answer is that there is no such file: of a second request, after the
 *          answer to the first was lost
 *   unlocked: a lock of results or of a run is not available, as on a Lustre that was mounted with
 * noflock
 *   slow: before the first lock of results in a process, it opens the pipe in MPSWEEP_LIE_REACHED
 *         for writing, and then the one in MPSWEEP_LIE_GRANTED for reading: each waits for the
 *         test's end of it
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Not of the private directory, which is never on a shared file system. */
static int is_shared(int fd)
{
    char link[64], name[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, sizeof name - 1);
    name[length > 0 ? length : 0] = '\0';
    return strstr(name, ".jsonl") || strstr(name, "/run.lock");
}

/* Opens a pipe and closes it again. */
static void meet(const char *variable, int flags)
{
    const char *path = getenv(variable);
    int fd = path ? open(path, flags | O_CLOEXEC) : -1;
    if (fd >= 0)
        close(fd);
}

EXPORT int flock(int fd, int operation)
{
    static int waited;
    const char *lie = getenv("MPSWEEP_LIE");
    if (lie && strcmp(lie, "unlocked") == 0 && is_shared(fd)) {
        errno = ENOSYS;
        return -1;
    }
    if (lie && strcmp(lie, "slow") == 0 && !waited && is_shared(fd)) {
        waited = 1;
        meet("MPSWEEP_LIE_REACHED", O_WRONLY);
        meet("MPSWEEP_LIE_GRANTED", O_RDONLY);
    }
    return (int)syscall(SYS_flock, fd, operation);
}

EXPORT int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    const char *lie = getenv("MPSWEEP_LIE");
    struct stat info;
    /* The private directory is never on a shared file system. */
    if (!lie || !strstr(to, ".jsonl"))
        lie = "";
    if (strcmp(lie, "nothing") == 0)
        return 0;
    if (strcmp(lie, "lost") == 0)
        return unlinkat(from_fd, from, 0);
    if (strcmp(lie, "both") == 0)
        return linkat(from_fd, from, to_fd, to, 0);
    int result = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
    if (result == 0 && strcmp(lie, "cut") == 0 && stat(to, &info) == 0 &&
        truncate(to, info.st_size / 2) != 0)
        return -1;
    if (result == 0 && strcmp(lie, "twice") == 0) {
        errno = ENOENT;
        return -1;
    }
    return result;
}

EXPORT int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}
