#include "files/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE 0666

static enum status cannot_write(const char *path, int error)
{
    return status_set(STATUS_USAGE, "cannot write '%s': %s", path, strerror(error));
}

void new_file_folder(const char *path, char *folder, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(folder, size, ".");
    else
        snprintf(folder, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* Without a name; -1 where the file system, or the kernel, has no such files. */
static int open_nameless(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, MODE);
    char own[64];
    if (fd < 0)
        return -1;
    /* Without this there would be no way to give it a name later. */
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    if (access(own, F_OK) == 0)
        return fd;
    close(fd);
    return -1;
}

static int open_named(const char *folder, char **name)
{
    if (asprintf(name, "%s/.mpsweep-unfinished.%ld", folder, (long)getpid()) < 0) {
        *name = NULL;
        errno = ENOMEM;
        return -1;
    }
    return open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
}

enum status new_file_open(const char *path, struct new_file *out)
{
    struct new_file file = {.path = strdup(path)};
    char *folder = malloc(strlen(path) + 2);
    int fd = -1;
    errno = ENOMEM;
    if (folder && file.path) {
        new_file_folder(path, folder, strlen(path) + 2);
        fd = open_nameless(folder);
        if (fd < 0)
            fd = open_named(folder, &file.unfinished);
    }
    file.stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    int error = errno;
    free(folder);
    if (file.stream) {
        *out = file;
        return STATUS_OK;
    }
    if (fd >= 0) {
        close(fd);
        if (file.unfinished)
            unlink(file.unfinished);
    }
    free(file.unfinished);
    free(file.path);
    return cannot_write(path, error);
}

/* 0, or an error number. Some file systems have no links. What exists must stay in any case. */
static int give_name(const struct new_file *file)
{
    char own[64];
    if (!file->unfinished) {
        snprintf(own, sizeof own, "/proc/self/fd/%d", fileno(file->stream));
        return linkat(AT_FDCWD, own, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
    }
    if (link(file->unfinished, file->path) == 0)
        return 0;
    int error = errno;
    if (error == EEXIST ||
        renameat2(AT_FDCWD, file->unfinished, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0)
        return error == EEXIST ? error : 0;
    return errno == EEXIST ? EEXIST : error;
}

enum status new_file_finish(struct new_file *file)
{
    enum status status = STATUS_OK;
    errno = 0;
    bool bad =
        fflush(file->stream) != 0 || ferror(file->stream) || fsync(fileno(file->stream)) != 0;
    if (bad)
        status = cannot_write(file->path, errno ? errno : EIO);
    int error = bad ? 0 : give_name(file);
    if (error == EEXIST)
        status = status_set(STATUS_USAGE, "'%s' exists: give another name", file->path);
    else if (error)
        status = cannot_write(file->path, error);
    new_file_discard(file);
    return status;
}

void new_file_discard(struct new_file *file)
{
    fclose(file->stream);
    if (file->unfinished)
        unlink(file->unfinished);
    free(file->unfinished);
    free(file->path);
    *file = (struct new_file){0};
}
