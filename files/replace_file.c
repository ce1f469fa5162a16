#include "files/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)1 << 20)
#define DIGEST_BEGIN UINT64_C(0xcbf29ce484222325)
#define TRIES 100

static enum status cannot_write(const char *path, int error)
{
    return status_set(STATUS_SYSTEM, "cannot write '%s': %s", path, strerror(error));
}

/* FNV-1a over words of eight bytes: tells whether what is read is what was written. */
static uint64_t digest(uint64_t hash, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, count - i < sizeof word ? count - i : sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 32;
    }
    return hash;
}

/* The directory that the path is in, with room for PATH_MAX. */
static void directory_of(const char *path, char *out)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(out, PATH_MAX, ".");
    else
        snprintf(out, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

enum status replace_file_begin(const char *path, bool force, struct replace_file *out)
{
    struct replace_file file = {.fd = -1, .path = path, .digest = DIGEST_BEGIN};
    struct stat info;
    char directory[PATH_MAX];
    if (strlen(path) >= PATH_MAX - 64)
        return cannot_write(path, ENAMETOOLONG);
    if (lstat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return cannot_write(path, EISDIR);
        if (!S_ISREG(info.st_mode))
            return status_set(STATUS_USAGE, "cannot write '%s': not a regular file", path);
        if (!force)
            return status_set(STATUS_USAGE,
                              "'%s' exists: give --force to replace it, or another name", path);
    }
    directory_of(path, directory);
    const char *slash = strrchr(path, '/');
    for (int i = 0; i < TRIES && file.fd < 0; i++) {
        int length = snprintf(file.temporary, sizeof file.temporary, "%s/.%.128s.%ld-%d", directory,
                              slash ? slash + 1 : path, (long)getpid(), i);
        if (length >= (int)sizeof file.temporary)
            return cannot_write(path, ENAMETOOLONG);
        file.fd = open(file.temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file.fd < 0 && errno != EEXIST)
            return cannot_write(path, errno);
    }
    if (file.fd < 0)
        return cannot_write(path, EEXIST);
    file.buffer = malloc(BUFFER_BYTES);
    if (!file.buffer) {
        replace_file_abandon(&file);
        return status_set(STATUS_MEMORY, "out of memory to write '%s'", path);
    }
    *out = file;
    return STATUS_OK;
}

static enum status flush(struct replace_file *file)
{
    size_t done = 0;
    while (done < file->filled) {
        ssize_t written = write(file->fd, file->buffer + done, file->filled - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return cannot_write(file->path, errno);
        done += (size_t)written;
    }
    file->digest = digest(file->digest, file->buffer, file->filled);
    file->bytes += file->filled;
    file->filled = 0;
    return STATUS_OK;
}

enum status replace_file_write(struct replace_file *file, const char *bytes, size_t count)
{
    while (count > 0) {
        size_t room = BUFFER_BYTES - file->filled;
        size_t part = count < room ? count : room;
        memcpy(file->buffer + file->filled, bytes, part);
        file->filled += part;
        bytes += part;
        count -= part;
        if (file->filled == BUFFER_BYTES) {
            enum status status = flush(file);
            if (status != STATUS_OK)
                return status;
        }
    }
    return STATUS_OK;
}

/* Some file systems cannot refuse by themselves to replace a file. */
static int rename_over_nothing(const char *from, const char *to)
{
    struct stat info;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (lstat(to, &info) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

static enum status put_in_place(struct replace_file *file, bool force)
{
    int result = force ? rename(file->temporary, file->path)
                       : rename_over_nothing(file->temporary, file->path);
    if (result != 0 && errno == EEXIST)
        return status_set(STATUS_USAGE,
                          "'%s' exists by now: give --force to replace it, or another "
                          "name",
                          file->path);
    return result == 0 ? STATUS_OK : cannot_write(file->path, errno);
}

/* The name, too, is to be on the disk. Some file systems know no flush of a directory. */
static enum status flush_directory(const char *path)
{
    char directory[PATH_MAX];
    directory_of(path, directory);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return cannot_write(path, errno);
    int result = fsync(fd);
    int error = errno;
    close(fd);
    if (result != 0 && error != EINVAL && error != ENOTSUP)
        return cannot_write(path, error);
    return STATUS_OK;
}

static enum status lies(const struct replace_file *file, const char *what)
{
    struct stat info;
    bool left = lstat(file->temporary, &info) == 0;
    return status_set(STATUS_PROTOCOL,
                      "'%s' %s, though its file system said that the rename worked%s%s%s: write to "
                      "another file system",
                      file->path, what, left ? "; what was written is in '" : "",
                      left ? file->temporary : "", left ? "'" : "");
}

/* Reads what is under the name now, in pieces as they were written. */
static enum status verify(const struct replace_file *file)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return lies(file, "is not there");
    uint64_t bytes = 0, hash = DIGEST_BEGIN;
    size_t filled = 0;
    for (ssize_t got = 1; got > 0;) {
        do
            got = read(fd, file->buffer + filled, BUFFER_BYTES - filled);
        while (got < 0 && errno == EINTR);
        if (got < 0) {
            int error = errno;
            close(fd);
            return status_set(STATUS_SYSTEM, "cannot read '%s' back: %s", file->path,
                              strerror(error));
        }
        filled += (size_t)got;
        if (filled == BUFFER_BYTES || got == 0) {
            hash = digest(hash, file->buffer, filled);
            bytes += filled;
            filled = 0;
        }
    }
    close(fd);
    if (bytes != file->bytes || hash != file->digest)
        return lies(file, "is not what was written");
    return STATUS_OK;
}

enum status replace_file_commit(struct replace_file *file, bool force)
{
    enum status status = flush(file);
    if (status == STATUS_OK && fsync(file->fd) != 0)
        status = cannot_write(file->path, errno);
    if (close(file->fd) != 0 && status == STATUS_OK)
        status = cannot_write(file->path, errno);
    file->fd = -1;
    if (status == STATUS_OK)
        status = put_in_place(file, force);
    if (status != STATUS_OK) {
        replace_file_abandon(file);
        return status;
    }
    status = flush_directory(file->path);
    if (status == STATUS_OK)
        status = verify(file);
    free(file->buffer);
    file->buffer = NULL;
    return status;
}

void replace_file_abandon(struct replace_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    if (*file->temporary)
        unlink(file->temporary);
    free(file->buffer);
    file->buffer = NULL;
}
