#include "files/results_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/descriptor.h"
#include "common/paths.h"
#include "files/atomic_file.h"
#include "files/written.h"

#define TRIES 100

static enum status busy(const char *path)
{
    return status_set(STATUS_BUSY,
                      "'%s' is being written by another mpsweep: wait for it, or give another name",
                      path);
}

static enum status cannot(const char *what, const char *path, int error)
{
    return status_set(STATUS_SYSTEM, "cannot %s '%s': %s", what, path, strerror(error));
}

/* Takes the lock of an open file; closes fd on an error. */
static enum status take(int fd, const char *path, struct results_writer *out)
{
    struct stat info;
    enum status status = STATUS_OK;
    if (fstat(fd, &info) != 0)
        status = cannot("look at", path, errno);
    /* Some shared file systems have no locks: such an error is not another writer. */
    else if (S_ISREG(info.st_mode) && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        status = busy(path);
    if (status != STATUS_OK)
        close(fd);
    else
        *out = (struct results_writer){.fd = fd, .path = path, .regular = S_ISREG(info.st_mode)};
    return status;
}

/* Whether the path leads to the open file: its last writer may have renamed or removed it before
 * this one had the lock. */
static bool is_at_path(int fd, const char *path)
{
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && stat(path, &named) == 0 && same_file(&open_file, &named);
}

enum status results_check_new(const char *path, const char *advice)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? atomic_file_check_folder(path) : STATUS_OK;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return STATUS_OK;
    return status_set(STATUS_USAGE, "'%s' exists: give %s", path, advice);
}

/* Opens what is not a regular file. A FIFO that nothing reads would hold the open for ever. */
static int open_special(const char *path)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0)
        descriptor_close(&fd);
    return fd;
}

static enum status cannot_create(const char *path, int error)
{
    struct stat info;
    if (error == ENXIO && stat(path, &info) == 0 && S_ISFIFO(info.st_mode))
        return status_set(STATUS_USAGE,
                          "'%s' is a FIFO that no process reads: start its reader first", path);
    return status_set(STATUS_USAGE, "cannot write '%s': %s", path, strerror(error));
}

enum status results_create(const char *path, const char *advice, struct results_writer *out)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) {
        enum status status = results_check_new(path, advice);
        if (status != STATUS_OK)
            return status;
        fd = open_special(path);
    }
    if (fd < 0)
        return cannot_create(path, errno);
    return take(fd, path, out);
}

enum status results_claim(const char *path, struct results_writer *out)
{
    for (int i = 0; i < TRIES; i++) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return status_set(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_USAGE,
                              "cannot open '%s': %s", path, strerror(errno));
        enum status status = take(fd, path, out);
        if (status != STATUS_OK || !out->regular || is_at_path(fd, path))
            return status;
        results_close(out);
    }
    return busy(path);
}

static enum status not_regular(const char *path)
{
    return status_set(STATUS_USAGE, "cannot continue '%s': not a regular file", path);
}

enum status results_check_regular(const char *path)
{
    struct stat info;
    return stat(path, &info) != 0 || S_ISREG(info.st_mode) ? STATUS_OK : not_regular(path);
}

enum status results_continue(const char *path, results_field *needed, struct results *results,
                             struct results_writer *out)
{
    struct results_writer writer;
    struct results loaded;
    struct stat info;
    enum status status = results_claim(path, &writer);
    if (status != STATUS_OK)
        return status;
    if (writer.regular)
        status = results_load_begun(writer.fd, path, needed, &loaded);
    else
        status = not_regular(path);
    if (status == STATUS_OK && fstat(writer.fd, &info) != 0) {
        results_release(&loaded);
        status = cannot("look at", path, errno);
    }
    if (status != STATUS_OK) {
        results_close(&writer);
        return status;
    }
    writer.whole_bytes = (long long)loaded.whole_bytes;
    writer.bytes = (long long)info.st_size;
    *results = loaded;
    *out = writer;
    return STATUS_OK;
}

/* Cuts the file back to its last whole line, and goes there. */
static int cut_back(struct results_writer *writer)
{
    if (ftruncate(writer->fd, writer->whole_bytes) != 0)
        return -1;
    writer->bytes = writer->whole_bytes;
    return 0;
}

/* Makes the file end where the next record begins. */
static enum status prepare(struct results_writer *writer)
{
    struct stat info;
    if (!writer->regular)
        return STATUS_OK;
    if (fstat(writer->fd, &info) != 0)
        return cannot("look at", writer->path, errno);
    if (info.st_size != writer->bytes)
        return status_set(STATUS_BUSY,
                          "'%s' has %lld bytes, and this process has left it with %lld: another "
                          "one writes to it; give another name",
                          writer->path, (long long)info.st_size, writer->bytes);
    /* A file that was moved still has every record. */
    if (info.st_nlink == 0)
        return status_set(STATUS_BUSY,
                          "'%s' was removed while this process writes to it: what was measured "
                          "until then went with it",
                          writer->path);
    if (writer->bytes > writer->whole_bytes && cut_back(writer) != 0)
        return cannot("continue", writer->path, errno);
    return lseek(writer->fd, writer->whole_bytes, SEEK_SET) >= 0
               ? STATUS_OK
               : cannot("continue", writer->path, errno);
}

enum status results_write(struct results_writer *writer, const json_t *record)
{
    if (writer->fd < 0)
        return STATUS_OK;
    enum status status = prepare(writer);
    if (status != STATUS_OK)
        return status;
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
        struct stat info;
        /* What cannot be cut off now is cut off before the next record. */
        if (writer->regular && cut_back(writer) != 0 && fstat(writer->fd, &info) == 0)
            writer->bytes = (long long)info.st_size;
        return status_set(STATUS_SYSTEM, "cannot write '%s': %s; it is whole up to its last line",
                          writer->path, strerror(error));
    }
    writer->whole_bytes += (long long)length + 1;
    writer->bytes = writer->whole_bytes;
    written_note(writer->path);
    return STATUS_OK;
}

void results_discard(struct results_writer *writer)
{
    struct stat info;
    if (writer->fd >= 0 && writer->regular && fstat(writer->fd, &info) == 0 &&
        info.st_size == writer->bytes && is_at_path(writer->fd, writer->path))
        unlink(writer->path);
    results_close(writer);
}

void results_close(struct results_writer *writer)
{
    descriptor_close(&writer->fd);
}
