#include "files/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/descriptor.h"
#include "common/paths.h"
#include "files/ending_signals.h"
#include "files/written.h"

#define MODE 0666
#define TRIES 100
#define NAME_ADDED 64

static enum status cannot_write(const char *path, int error)
{
    return status_set(STATUS_SYSTEM, "cannot write '%s': %s", path, strerror(error));
}

static enum status exists(const char *path)
{
    return status_set(STATUS_USAGE, "'%s' exists: give another name", path);
}

void atomic_file_folder(const char *path, char *folder, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(folder, size, ".");
    else
        snprintf(folder, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

enum status atomic_file_check_folder(const char *path)
{
    char folder[PATH_MAX];
    /* It has a longer name at first. */
    if (!*path || strlen(path) >= PATH_MAX - NAME_ADDED)
        return cannot_write(path, *path ? ENAMETOOLONG : ENOENT);
    atomic_file_folder(path, folder, sizeof folder);
    return access(folder, W_OK | X_OK) == 0 ? STATUS_OK : cannot_write(path, errno);
}

enum status atomic_file_check(const char *path, unsigned flags)
{
    struct stat info;
    if (!(flags & ATOMIC_FILE_REPLACE) && lstat(path, &info) == 0)
        return exists(path);
    /* On file systems that are shared a link may lead to where others write. */
    if ((flags & ATOMIC_FILE_VERIFY ? lstat(path, &info) : stat(path, &info)) != 0)
        return errno == ENOENT ? atomic_file_check_folder(path) : cannot_write(path, errno);
    if (S_ISDIR(info.st_mode))
        return cannot_write(path, EISDIR);
    if (!S_ISREG(info.st_mode))
        return status_set(STATUS_USAGE, "cannot write '%s': not a regular file", path);
    /* The folder decides whether a rename can replace it; its own rights are what its user wants.
     */
    return access(path, W_OK) == 0 ? STATUS_OK : cannot_write(path, errno);
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

/* The next name beside the path to try; *name is freed, and NULL without memory. */
static void next_name(const char *path, int number, char **name)
{
    char folder[PATH_MAX];
    atomic_file_folder(path, folder, sizeof folder);
    free(*name);
    if (asprintf(name, "%s/.%.128s.%ld-%d", folder, path_file_name(path), (long)getpid(), number) <
        0) {
        *name = NULL;
        errno = ENOMEM;
    }
}

static int open_named(const char *path, char **name)
{
    int fd = -1;
    errno = EEXIST;
    for (int i = 0; i < TRIES && fd < 0 && errno == EEXIST; i++) {
        next_name(path, i, name);
        if (*name)
            fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
    }
    return fd;
}

/* -- signals that ask for an end: how many files they wait for -- */

static int held;
static sigset_t before_held;

static void hold_signals(void)
{
    sigset_t set;
    if (held++ > 0)
        return;
    ending_signals_set(&set);
    sigaddset(&set, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, &set, &before_held);
}

static void release_signals(void)
{
    if (--held == 0)
        pthread_sigmask(SIG_SETMASK, &before_held, NULL);
}

static ssize_t write_to_sink(void *cookie, const char *bytes, size_t count)
{
    struct atomic_file_sink *sink = cookie;
    if (!sink->error && descriptor_write(sink->fd, bytes, count) != 0)
        sink->error = errno;
    return sink->error ? 0 : (ssize_t)count;
}

/* NULL: no memory. */
static FILE *open_stream(int fd, struct atomic_file_sink **sink)
{
    *sink = calloc(1, sizeof **sink);
    if (!*sink)
        return NULL;
    (*sink)->fd = fd;
    return fopencookie(*sink, "w", (cookie_io_functions_t){.write = write_to_sink});
}

enum status atomic_file_open(const char *path, unsigned flags, struct atomic_file *out)
{
    struct atomic_file file = {.flags = flags};
    char folder[PATH_MAX];
    int fd = -1;
    enum status status = atomic_file_check(path, flags);
    if (status != STATUS_OK)
        return status;
    hold_signals();
    atomic_file_folder(path, folder, sizeof folder);
    /* File systems that machines share have no such files, or forget them. */
    if (!(flags & ATOMIC_FILE_VERIFY))
        fd = open_nameless(folder);
    if (fd < 0)
        fd = open_named(path, &file.temporary);
    if (fd >= 0) {
        file.path = strdup(path);
        file.stream = file.path ? open_stream(fd, &file.sink) : NULL;
    }
    if (file.stream) {
        *out = file;
        return STATUS_OK;
    }
    status = cannot_write(path, errno);
    if (fd >= 0) {
        close(fd);
        if (file.temporary)
            unlink(file.temporary);
    }
    free(file.temporary);
    free(file.path);
    free(file.sink);
    release_signals();
    return status;
}

int atomic_rename_new(const char *from, const char *to)
{
    struct stat info;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    /* Some file systems cannot refuse a rename; most of them can refuse a link. */
    if (link(from, to) == 0)
        return unlink(from);
    if (errno == EEXIST)
        return -1;
    if (lstat(to, &info) == 0 && !S_ISDIR(info.st_mode)) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

/* So that the new name survives a power failure. 0, also where a file system has no such flush; or
 * an error number. */
static int flush_folder(const char *path)
{
    char folder[PATH_MAX];
    atomic_file_folder(path, folder, sizeof folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
    close(fd);
    return error;
}

/* Opens the file, since only that makes a shared file system ask its server. */
static bool look_at(const char *path, struct stat *out)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool seen = fstat(fd, out) == 0;
    close(fd);
    return seen;
}

static bool is_at(const char *path, const struct stat *file)
{
    struct stat now;
    return look_at(path, &now) && same_file(&now, file);
}

/* Whether the rename did what it should, whatever it answered. */
static enum status verify(const char *from, const char *to, const struct stat *before, int error)
{
    struct stat now;
    bool old_is_there = is_at(from, before);
    bool new_is_there = look_at(to, &now);
    if (!new_is_there || (error && !same_file(&now, before)))
        return status_set(
            STATUS_SYSTEM, "'%s' cannot be renamed to '%s': %s; the file is under %s name", from,
            to, error ? strerror(error) : "the file system reported success, but did nothing",
            old_is_there ? "its old" : "neither");
    if (!same_file(&now, before) || now.st_size != before->st_size)
        return status_set(STATUS_SYSTEM,
                          "'%s' is not what '%s' was renamed to be (%lld bytes of %lld): write to "
                          "another file system",
                          to, from, (long long)now.st_size, (long long)before->st_size);
    if (old_is_there)
        return status_set(STATUS_SYSTEM, "'%s' is still there after it was renamed to '%s'", from,
                          to);
    return STATUS_OK;
}

static int link_nameless(const struct atomic_file *file, const char *name)
{
    char own[64];
    snprintf(own, sizeof own, "/proc/self/fd/%d", file->sink->fd);
    return linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* Only a rename replaces a file: the nameless one gets a name beside it first. */
static int replace_by_nameless(struct atomic_file *file)
{
    int result = -1;
    errno = EEXIST;
    for (int i = 0; i < TRIES && result != 0 && errno == EEXIST; i++) {
        next_name(file->path, i, &file->temporary);
        if (file->temporary)
            result = link_nameless(file, file->temporary);
    }
    if (result != 0) {
        /* Not a file of ours: it must not be removed. */
        free(file->temporary);
        file->temporary = NULL;
        return result;
    }
    return rename(file->temporary, file->path);
}

/* 0, or an error number. */
static int give_name(struct atomic_file *file)
{
    int result;
    if (!file->temporary) {
        result = link_nameless(file, file->path);
        if (result != 0 && errno == EEXIST && file->flags & ATOMIC_FILE_REPLACE)
            result = replace_by_nameless(file);
    } else if (file->flags & ATOMIC_FILE_REPLACE)
        result = rename(file->temporary, file->path);
    else
        result = atomic_rename_new(file->temporary, file->path);
    return result == 0 ? 0 : errno;
}

/* After a write that failed, or another call on the file. */
static enum status cannot_complete(const struct atomic_file *file)
{
    int error = file->sink->error ? file->sink->error : errno;
    return cannot_write(file->path, error ? error : EIO);
}

static enum status put_in_place(struct atomic_file *file)
{
    struct stat before;
    if (fflush(file->stream) != 0 || ferror(file->stream) || fsync(file->sink->fd) != 0 ||
        fstat(file->sink->fd, &before) != 0)
        return cannot_complete(file);
    int error = give_name(file);
    bool shared = file->flags & ATOMIC_FILE_VERIFY && file->temporary;
    /* A server whose answer was lost refuses what it has done. */
    if (error && !(shared && is_at(file->path, &before)))
        return error == EEXIST ? exists(file->path) : cannot_write(file->path, error);
    int lost = flush_folder(file->path);
    written_note(file->path);
    if (!shared || error)
        return STATUS_OK;
    enum status status = verify(file->temporary, file->path, &before, 0);
    /* What a lying file system has kept is the user's to save. */
    free(file->temporary);
    file->temporary = NULL;
    return status == STATUS_OK && lost ? cannot_write(file->path, lost) : status;
}

enum status atomic_file_write(struct atomic_file *file, const char *bytes, size_t count)
{
    return fwrite(bytes, 1, count, file->stream) == count ? STATUS_OK : cannot_complete(file);
}

enum status atomic_file_commit(struct atomic_file *file)
{
    enum status status = put_in_place(file);
    atomic_file_discard(file);
    return status;
}

enum status atomic_file_commit_json(struct atomic_file *file, const json_t *value)
{
    errno = 0;
    bool written =
        json_dumpf(value, file->stream, JSON_INDENT(2)) == 0 && fputc('\n', file->stream) == '\n';
    return atomic_file_end(file, written ? STATUS_OK : cannot_complete(file));
}

void atomic_file_discard(struct atomic_file *file)
{
    fclose(file->stream);
    close(file->sink->fd);
    free(file->sink);
    if (file->temporary)
        unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    *file = (struct atomic_file){0};
    release_signals();
}

enum status atomic_file_end(struct atomic_file *file, enum status status)
{
    if (status == STATUS_OK)
        return atomic_file_commit(file);
    atomic_file_discard(file);
    return status;
}

/* In one step: a link and an unlink would leave two names where a kill comes between. 0, or an
 * error number: EEXIST where something is. */
static int rename_in_one_step(const char *from, const char *to)
{
    struct stat taken;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    /* Not safe against another node, but all that such a file system can do. */
    if (lstat(to, &taken) == 0)
        return EEXIST;
    return rename(from, to) == 0 ? 0 : errno;
}

enum status atomic_file_check_publish(const char *from, const char *to)
{
    char from_folder[PATH_MAX], to_folder[PATH_MAX];
    struct stat info, old, new;
    enum status status = atomic_file_check_folder(from);
    if (status == STATUS_OK)
        status = atomic_file_check_folder(to);
    if (status != STATUS_OK)
        return status;
    if (stat(from, &info) == 0 && !S_ISREG(info.st_mode))
        return status_set(STATUS_USAGE, "'%s' cannot be renamed to '%s': not a regular file", from,
                          to);
    atomic_file_folder(from, from_folder, sizeof from_folder);
    atomic_file_folder(to, to_folder, sizeof to_folder);
    /* The rename reports what cannot be known before. */
    if (stat(from_folder, &old) != 0 || stat(to_folder, &new) != 0)
        return STATUS_OK;
    if (same_file(&old, &new) && strcmp(path_file_name(from), path_file_name(to)) == 0)
        return status_set(STATUS_USAGE,
                          "'%s' is the name that the file has until it is published: give another "
                          "name",
                          to);
    if (old.st_dev != new.st_dev)
        return status_set(STATUS_USAGE,
                          "'%s' cannot be renamed to '%s': they are on different file systems",
                          from, to);
    return STATUS_OK;
}

enum status atomic_file_publish(const char *from, const char *to)
{
    struct stat before;
    int fd = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return status_set(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_SYSTEM,
                          "cannot open '%s': %s", from, strerror(errno));
    enum status status = STATUS_OK;
    if (fsync(fd) != 0 || fstat(fd, &before) != 0)
        status = status_set(STATUS_SYSTEM, "cannot flush '%s': %s", from, strerror(errno));
    if (status == STATUS_OK) {
        int error = rename_in_one_step(from, to);
        (void)flush_folder(to); /* the file is there all the same */
        /* A server whose answer was lost finds the file that it renamed itself. */
        if (error == EEXIST && !is_at(to, &before))
            status = status_set(STATUS_USAGE, "'%s' exists: the results stay in '%s'", to, from);
        else
            status = verify(from, to, &before, error);
    }
    if (status == STATUS_OK)
        written_note(to);
    close(fd);
    return status;
}
