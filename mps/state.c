#include "mps/state.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEMA 1
#define STATE_MOST 8192

static enum status write_text(int directory, const char *text)
{
    size_t left = strlen(text);
    int fd =
        openat(directory, "state.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    while (fd >= 0 && left > 0) {
        ssize_t written = write(fd, text, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            break;
        text += written;
        left -= (size_t)written;
    }
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && left == 0) {
        error = errno;
        left = 1;
    }
    if (fd < 0 || left > 0 || renameat(directory, "state.new", directory, "state") != 0)
        return status_set(STATUS_SYSTEM, "cannot write the daemon's record: %s",
                          strerror(fd < 0 || left > 0 ? error : errno));
    return STATUS_OK;
}

enum status mps_state_write(int directory, const struct mps_state *state)
{
    struct stat info;
    if (fstat(directory, &info) != 0)
        return status_set(STATUS_SYSTEM, "cannot look at the private directory: %s",
                          strerror(errno));
    json_t *record =
        json_pack("{s:s, s:i, s:{s:i, s:I}, s:{s:i, s:I}, s:{s:I, s:I}, s:s, s:s, s:s}", "type",
                  "mps", "schema", SCHEMA, "guard", "pid", (int)state->guard.pid, "start_time",
                  (json_int_t)state->guard.start_time, "daemon", "pid", (int)state->daemon.pid,
                  "start_time", (json_int_t)state->daemon.start_time, "directory", "device",
                  (json_int_t)info.st_dev, "inode", (json_int_t)info.st_ino, "gpu", state->gpu,
                  "started", state->started, "control_program", state->control_program);
    char *text = record ? json_dumps(record, JSON_INDENT(2)) : NULL;
    json_decref(record);
    if (!text)
        return status_set(STATUS_MEMORY, "out of memory for the daemon's record");
    enum status status = write_text(directory, text);
    free(text);
    return status;
}

static enum status no_record(const char *path)
{
    return status_set(STATUS_NOT_FOUND,
                      "'%s' holds no MPS daemon that 'mpsweep mps start' has started", path);
}

static enum status check_directory(const char *path, int fd, struct stat *info)
{
    if (fstat(fd, info) != 0)
        return status_set(STATUS_SYSTEM, "cannot look at '%s': %s", path, strerror(errno));
    if (info->st_uid != geteuid())
        return status_set(STATUS_USAGE, "'%s' belongs to user %d, not to you (%d)", path,
                          (int)info->st_uid, (int)geteuid());
    if ((info->st_mode & 0077) != 0)
        return status_set(STATUS_USAGE,
                          "'%s' can be entered by others: it is not as mpsweep made "
                          "it, and is left alone",
                          path);
    return STATUS_OK;
}

static void take_text(const char *from, char *to, size_t size)
{
    snprintf(to, size, "%s", from);
}

static enum status parse(const char *path, const char *text, size_t bytes, const struct stat *info,
                         struct mps_state *out)
{
    struct mps_state state = {0};
    int schema = 0, guard_pid = 0, daemon_pid = 0;
    json_int_t guard_start = 0, daemon_start = 0, device = 0, inode = 0;
    const char *gpu, *started, *program;
    json_t *record = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    enum status status = STATUS_OK;
    if (!record ||
        json_unpack(record, "{s:i, s:{s:i, s:I}, s:{s:i, s:I}, s:{s:I, s:I}, s:s, s:s, s:s}",
                    "schema", &schema, "guard", "pid", &guard_pid, "start_time", &guard_start,
                    "daemon", "pid", &daemon_pid, "start_time", &daemon_start, "directory",
                    "device", &device, "inode", &inode, "gpu", &gpu, "started", &started,
                    "control_program", &program) != 0 ||
        schema != SCHEMA || guard_pid <= 0 || daemon_pid < 0) {
        status = status_set(STATUS_PROTOCOL, "'%s/state' is no record of mpsweep's", path);
    } else if ((uint64_t)device != (uint64_t)info->st_dev ||
               (uint64_t)inode != (uint64_t)info->st_ino) {
        status = status_set(STATUS_USAGE,
                            "'%s' is another directory than the one that was started "
                            "there: a copy, or moved",
                            path);
    } else {
        state.guard = (struct process_identity){guard_pid, (uint64_t)guard_start};
        state.daemon = (struct process_identity){daemon_pid, (uint64_t)daemon_start};
        state.directory_device = (uint64_t)device;
        state.directory_inode = (uint64_t)inode;
        take_text(gpu, state.gpu, sizeof state.gpu);
        take_text(started, state.started, sizeof state.started);
        take_text(program, state.control_program, sizeof state.control_program);
        *out = state;
    }
    json_decref(record);
    return status;
}

enum status mps_state_read(const char *path, struct mps_state *out)
{
    char text[STATE_MOST];
    struct stat info;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return errno == ENOENT
                   ? status_set(STATUS_NOT_FOUND, "there is no directory '%s'", path)
                   : status_set(STATUS_USAGE, "cannot open '%s': %s", path,
                                errno == ELOOP || errno == ENOTDIR ? "not a directory, or a link"
                                                                   : strerror(errno));
    int file = openat(directory, "state", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    enum status status = file < 0 ? no_record(path) : check_directory(path, directory, &info);
    if (status == STATUS_OK) {
        ssize_t length = read(file, text, sizeof text);
        status = length < 0 ? status_set(STATUS_SYSTEM, "cannot read '%s/state': %s", path,
                                         strerror(errno))
                            : parse(path, text, (size_t)length, &info, out);
    }
    if (file >= 0)
        close(file);
    close(directory);
    return status;
}
