#include "mps/state.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/descriptor.h"

#define SCHEMA 1
#define STATE_MOST 16384

static enum status write_text(int directory, const char *text)
{
    int fd =
        openat(directory, "state.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = fd >= 0 && descriptor_write(fd, text, strlen(text)) == 0;
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && good) {
        error = errno;
        good = false;
    }
    if (good && renameat(directory, "state.new", directory, "state") != 0) {
        error = errno;
        good = false;
    }
    return good
               ? STATUS_OK
               : status_set(STATUS_SYSTEM, "cannot write the daemon's record: %s", strerror(error));
}

enum status mps_state_write(int directory, const struct mps_state *state)
{
    struct stat info;
    if (fstat(directory, &info) != 0)
        return status_set(STATUS_SYSTEM, "cannot look at the private directory: %s",
                          strerror(errno));
    json_t *record = json_pack(
        "{s:s, s:i, s:{s:i, s:I}, s:{s:i, s:I}, s:{s:I, s:I, s:b}, s:s, s:s, s:s}", "type", "mps",
        "schema", SCHEMA, "guard", "pid", (int)state->guard.pid, "start_time",
        (json_int_t)state->guard.start_time, "daemon", "pid", (int)state->daemon.pid, "start_time",
        (json_int_t)state->daemon.start_time, "directory", "device", (json_int_t)info.st_dev,
        "inode", (json_int_t)info.st_ino, "was_there", (int)state->directory_was_there, "gpu",
        state->gpu, "started", state->started, "control_program", state->control_program);
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

/* false: longer than what is ever written there. */
static bool take_text(const char *from, char *to, size_t size)
{
    return (size_t)snprintf(to, size, "%s", from) < size;
}

/* The number is taken as wide as it can be written: as an int, 2^32 + 1 would be process 1. */
static bool take_process(json_int_t pid, json_int_t start_time, struct process_identity *out)
{
    if (pid < 0 || pid > INT_MAX || start_time < 0)
        return false;
    *out = (struct process_identity){(pid_t)pid, (uint64_t)start_time};
    return true;
}

static bool take_record(json_t *record, struct mps_state *out)
{
    json_int_t schema, guard_pid, guard_start, daemon_pid, daemon_start, device, inode;
    const char *type, *gpu, *started, *program;
    int was_there = 0;
    if (json_unpack(record,
                    "{s:s, s:I, s:{s:I, s:I}, s:{s:I, s:I}, s:{s:I, s:I, s?b}, s:s, s:s, s:s}",
                    "type", &type, "schema", &schema, "guard", "pid", &guard_pid, "start_time",
                    &guard_start, "daemon", "pid", &daemon_pid, "start_time", &daemon_start,
                    "directory", "device", &device, "inode", &inode, "was_there", &was_there, "gpu",
                    &gpu, "started", &started, "control_program", &program) != 0 ||
        strcmp(type, "mps") != 0 || schema != SCHEMA)
        return false;
    out->directory_device = (uint64_t)device;
    out->directory_inode = (uint64_t)inode;
    out->directory_was_there = was_there != 0;
    return take_process(guard_pid, guard_start, &out->guard) && out->guard.pid != 0 &&
           take_process(daemon_pid, daemon_start, &out->daemon) &&
           take_text(gpu, out->gpu, sizeof out->gpu) &&
           take_text(started, out->started, sizeof out->started) &&
           take_text(program, out->control_program, sizeof out->control_program);
}

enum status mps_state_parse(const char *text, size_t bytes, struct mps_state *out)
{
    struct mps_state state = {0};
    json_t *record = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    enum status status = STATUS_OK;
    if (record && take_record(record, &state))
        *out = state;
    else
        status = status_set(STATUS_PROTOCOL, "no record of an MPS daemon of mpsweep's");
    json_decref(record);
    return status;
}

static enum status read_record(const char *path, int file, const struct stat *directory,
                               struct mps_state *out)
{
    char text[STATE_MOST];
    struct mps_state state;
    ssize_t length = read(file, text, sizeof text);
    if (length < 0)
        return status_set(STATUS_SYSTEM, "cannot read '%s/state': %s", path, strerror(errno));
    enum status status = mps_state_parse(text, (size_t)length, &state);
    if (status != STATUS_OK)
        return status_prefix(status, "'%s/state': ", path);
    if (state.directory_device != (uint64_t)directory->st_dev ||
        state.directory_inode != (uint64_t)directory->st_ino)
        return status_set(STATUS_USAGE,
                          "'%s' is another directory than the one that was started there: a copy, "
                          "or moved",
                          path);
    *out = state;
    return STATUS_OK;
}

enum status mps_state_read(const char *path, struct mps_state *out)
{
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
    if (status == STATUS_OK)
        status = read_record(path, file, &info, out);
    if (file >= 0)
        close(file);
    close(directory);
    return status;
}
