#include "files/results_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/descriptor.h"

static enum status take(int fd, const char *path, struct results_writer *out)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        int error = errno;
        close(fd);
        return status_set(STATUS_SYSTEM, "cannot look at '%s': %s", path, strerror(error));
    }
    /* Some shared file systems have no locks: such an error is not another sweep. */
    if (S_ISREG(info.st_mode) && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        return status_set(STATUS_BUSY, "'%s' is being written by another sweep", path);
    }
    *out = (struct results_writer){.fd = fd, .path = path, .regular = S_ISREG(info.st_mode)};
    return STATUS_OK;
}

enum status results_create(const char *path, struct results_writer *out)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) {
        struct stat info;
        if (stat(path, &info) != 0 || S_ISREG(info.st_mode))
            return status_set(STATUS_USAGE,
                              "'%s' exists: give --resume to go on with it, or another name", path);
        fd = open(path, O_WRONLY | O_CLOEXEC);
    }
    if (fd < 0)
        return status_set(STATUS_USAGE, "cannot write '%s': %s", path, strerror(errno));
    return take(fd, path, out);
}

enum status results_append(const char *path, long long whole_bytes, struct results_writer *out)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return status_set(STATUS_USAGE, "cannot write '%s': %s", path, strerror(errno));
    enum status status = take(fd, path, out);
    if (status != STATUS_OK)
        return status;
    if (ftruncate(fd, whole_bytes) != 0 || lseek(fd, whole_bytes, SEEK_SET) < 0) {
        status = status_set(STATUS_SYSTEM, "cannot go on with '%s': %s", path, strerror(errno));
        results_close(out);
        return status;
    }
    out->whole_bytes = whole_bytes;
    return STATUS_OK;
}

enum status results_write(struct results_writer *writer, const json_t *record)
{
    if (writer->fd < 0)
        return STATUS_OK;
    char *line = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(10));
    if (!line)
        return status_set(STATUS_MEMORY, "out of memory for a record of '%s'", writer->path);
    size_t length = strlen(line);
    line[length] = '\n'; /* in place of the end mark: the length goes along */
    int result = descriptor_write(writer->fd, line, length + 1);
    if (result == 0 && writer->regular)
        result = fsync(writer->fd);
    int error = errno;
    free(line);
    if (result != 0) {
        if (writer->regular && ftruncate(writer->fd, writer->whole_bytes) == 0)
            lseek(writer->fd, writer->whole_bytes, SEEK_SET);
        return status_set(STATUS_SYSTEM, "cannot write '%s': %s; it is whole up to its last line",
                          writer->path, strerror(error));
    }
    writer->whole_bytes += (long long)length + 1;
    return STATUS_OK;
}

void results_close(struct results_writer *writer)
{
    descriptor_close(&writer->fd);
}
