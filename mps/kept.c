#include "mps/kept.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text.h"
#include "mps/guard.h"

#define ASK_NS (20 * NS_PER_S) /* a guard may be busy with another asker */
#define STOP_NS (60 * NS_PER_S)
#define END_NS (5 * NS_PER_S)
#define GOING_NS (2 * NS_PER_S)
#define LOOK_NS (10 * NS_PER_MS)
#define KEPT_MOST 16

static enum status does_not_answer(const struct mps_kept *kept)
{
    return status_set(STATUS_TIMEOUT, "the MPS guard (process %d) does not answer",
                      (int)kept->state.guard.pid);
}

/* Connects to the guard of the record, and to no other process. */
static enum status connect_to(const struct mps_kept *kept, uint64_t wait_ns, int *out)
{
    /* connect() waits where a guard that hangs has let its queue fill up. */
    const struct timeval wait = {.tv_sec = (time_t)(wait_ns / NS_PER_S)};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer;
    socklen_t length = sizeof peer;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/" GUARD_SOCKET, kept->directory);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        enum status status =
            errno == EAGAIN
                ? does_not_answer(kept)
                : status_set(STATUS_SYSTEM, "cannot reach the MPS guard (process %d): %s",
                             (int)kept->state.guard.pid, strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (peer.pid != kept->state.guard.pid) {
        close(fd);
        return status_set(STATUS_PROTOCOL, "process %d, not the MPS guard %d, listens in '%s'",
                          (int)peer.pid, (int)kept->state.guard.pid, kept->directory);
    }
    *out = fd;
    return STATUS_OK;
}

static enum status ask(const struct mps_kept *kept, struct guard_message *message, uint64_t wait_ns)
{
    int fd = -1;
    uint64_t deadline_ns = clock_now_ns() + wait_ns;
    uint32_t kind = message->kind;
    message->magic = GUARD_MAGIC;
    message->serial = 1;
    enum status status = connect_to(kept, wait_ns, &fd);
    if (status != STATUS_OK)
        return status;
    if (send(fd, message, sizeof *message, MSG_NOSIGNAL) != (ssize_t)sizeof *message) {
        status = status_set(STATUS_SYSTEM, "cannot ask the MPS guard: %s", strerror(errno));
        goto out;
    }
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int result;
    do
        result = poll(&ready, 1, clock_remaining_ms(deadline_ns));
    while (result < 0 && errno == EINTR && clock_now_ns() < deadline_ns);
    if (result <= 0)
        status = does_not_answer(kept);
    else if (!guard_message_check(message, recv(fd, message, sizeof *message, MSG_DONTWAIT)) ||
             message->kind != kind || message->serial != 1)
        status = status_set(STATUS_PROTOCOL, "the MPS guard (process %d) did not answer properly",
                            (int)kept->state.guard.pid);
    if (status == STATUS_OK && message->status != STATUS_OK)
        status = status_set((enum status)message->status, "%s", message->text);
out:
    close(fd);
    return status;
}

static enum status find_only(char out[MPS_DIRECTORY_MOST + 1])
{
    char paths[KEPT_MOST][MPS_DIRECTORY_MOST + 1];
    char names[512];
    struct text list = {.at = names, .size = sizeof names};
    size_t count;
    mps_directory_find_kept(paths, KEPT_MOST, &count);
    if (count == 0)
        return status_set(
            STATUS_NOT_FOUND,
            "no MPS daemon of mpsweep's was found: 'mpsweep mps start' starts one; one "
            "with a directory of its own needs --dir DIR");
    if (count == 1) {
        memcpy(out, paths[0], sizeof paths[0]);
        return STATUS_OK;
    }
    names[0] = '\0';
    for (size_t i = 0; i < count && i < KEPT_MOST; i++)
        text_append(&list, "%s%s", i ? ", " : "", paths[i]);
    return status_set(STATUS_USAGE,
                      "there are %zu MPS daemons of mpsweep's: name one with --dir (%s)", count,
                      names);
}

void mps_kept_each(void (*take)(void *data, const char *directory, const struct mps_state *state),
                   void *data)
{
    char paths[KEPT_MOST][MPS_DIRECTORY_MOST + 1];
    struct mps_state state;
    size_t count;
    mps_directory_find_kept(paths, KEPT_MOST, &count);
    for (size_t i = 0; i < count && i < KEPT_MOST; i++)
        if (mps_state_read(paths[i], &state) == STATUS_OK && process_is_alive(&state.daemon))
            take(data, paths[i], &state);
}

/* Clients find the daemon by it, wherever they run. A path without links stays the same. */
static enum status make_absolute(char directory[MPS_DIRECTORY_MOST + 1])
{
    char path[PATH_MAX];
    if (!realpath(directory, path))
        return status_set(STATUS_SYSTEM, "cannot look at '%s': %s", directory, strerror(errno));
    size_t length = strlen(path);
    if (length > MPS_DIRECTORY_MOST)
        return status_set(STATUS_USAGE, "'%s' is too long for a directory of mpsweep's", path);
    memcpy(directory, path, length + 1);
    return STATUS_OK;
}

/* Whether a guard is still there after a moment: one that was just killed closes its socket first.
 */
static bool stays(const struct process_identity *guard)
{
    uint64_t deadline_ns = clock_now_ns() + GOING_NS;
    while (process_is_alive(guard) && clock_now_ns() < deadline_ns)
        clock_sleep_until(clock_now_ns() + LOOK_NS);
    return process_is_alive(guard);
}

enum status mps_kept_find(const char *directory, struct mps_kept *out)
{
    struct mps_kept kept = {0};
    enum status status = STATUS_OK;
    if (!directory)
        status = find_only(kept.directory);
    else if (snprintf(kept.directory, sizeof kept.directory, "%s", directory) >=
             (int)sizeof kept.directory)
        status =
            status_set(STATUS_USAGE, "'%s' is too long for a directory of mpsweep's", directory);
    for (size_t end = strlen(kept.directory); end > 1 && kept.directory[end - 1] == '/'; end--)
        kept.directory[end - 1] = '\0';
    if (status == STATUS_OK)
        status = mps_state_read(kept.directory, &kept.state);
    if (status == STATUS_OK)
        status = make_absolute(kept.directory);
    if (status != STATUS_OK)
        return status;
    kept.guarded = process_is_alive(&kept.state.guard);
    if (kept.guarded) {
        struct guard_message message = {.kind = GUARD_ASK};
        status = ask(&kept, &message, ASK_NS);
        kept.guarded = status == STATUS_OK || status == STATUS_TIMEOUT || stays(&kept.state.guard);
        if (kept.guarded && status != STATUS_OK)
            return status;
        kept.running = message.pid > 0;
        snprintf(kept.ending, sizeof kept.ending, "%.79s", message.text);
    }
    if (!kept.guarded)
        kept.running = process_is_alive(&kept.state.daemon);
    *out = kept;
    return STATUS_OK;
}

/* The daemon of a guard that was killed gets SIGTERM then; one that went on all the same is ended,
 * after it was made sure that it is the one. */
static enum status end_unguarded(const struct process_identity *daemon)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    int pidfd = (int)syscall(SYS_pidfd_open, daemon->pid, 0);
    int error = errno;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < 2 && pidfd >= 0 && process_is_alive(daemon); i++) {
        struct pollfd end = {.fd = pidfd, .events = POLLIN};
        uint64_t deadline_ns = clock_now_ns() + END_NS;
        syscall(SYS_pidfd_send_signal, pidfd, signals[i], NULL, 0);
        while (poll(&end, 1, clock_remaining_ms(deadline_ns)) < 0 && errno == EINTR)
            ;
    }
    if (pidfd < 0 && process_is_alive(daemon))
        status = status_set(STATUS_SYSTEM, "cannot end the MPS control daemon (process %d): %s",
                            (int)daemon->pid, strerror(error));
    else if (process_is_alive(daemon))
        status = status_set(STATUS_TIMEOUT, "the MPS control daemon (process %d) does not end",
                            (int)daemon->pid);
    if (pidfd >= 0)
        close(pidfd);
    return status;
}

enum status mps_kept_stop(const struct mps_kept *kept, bool force)
{
    if (kept->guarded) {
        struct guard_message message = {.kind = GUARD_STOP, .force = force};
        return ask(kept, &message, STOP_NS);
    }
    struct mps_directory directory;
    enum status status = end_unguarded(&kept->state.daemon);
    if (status == STATUS_OK)
        status = mps_directory_adopt(kept->directory, &directory);
    if (status != STATUS_OK)
        return status;
    directory.was_there = kept->state.directory_was_there;
    return mps_directory_remove(&directory);
}
