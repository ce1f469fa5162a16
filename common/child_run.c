#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/descriptor.h"

#define GRACE_NS NS_PER_S
#define READ_BYTES ((size_t)64 * 1024)
#define PIPE_READS_MAX 32 /* twice the largest pipe that an unprivileged process can make */

/* One captured stream: the reading end of a pipe, and what came out of it. */
struct stream {
    int read_fd;
    int write_fd;
    char *text;
    size_t bytes;
    size_t cap;
    bool cut;
};

static enum status stream_open(struct stream *stream, size_t cap)
{
    int ends[2];
    stream->cap = cap;
    stream->text = malloc(cap + 1);
    if (stream->text == NULL)
        return status_set(STATUS_MEMORY, "out of memory for %zu bytes of output", cap);
    stream->text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return status_set(STATUS_SYSTEM, "cannot make a pipe: %s", strerror(errno));
    stream->read_fd = ends[0];
    stream->write_fd = ends[1];
    /* Our end only: the program's own must block, as programs expect. */
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return status_set(STATUS_SYSTEM, "cannot set up a pipe: %s", strerror(errno));
    return STATUS_OK;
}

static void stream_release(struct stream *stream)
{
    descriptor_close(&stream->read_fd);
    descriptor_close(&stream->write_fd);
    free(stream->text);
    stream->text = NULL;
}

/* Reads once. False when there is nothing to read now, or nothing any more (closed then). */
static bool stream_read(struct stream *stream)
{
    char piece[READ_BYTES];
    if (stream->read_fd < 0)
        return false;
    ssize_t got = TEMP_FAILURE_RETRY(read(stream->read_fd, piece, sizeof piece));
    if (got <= 0) {
        if (got == 0 || errno != EAGAIN)
            descriptor_close(&stream->read_fd);
        return false;
    }
    size_t room = stream->cap - stream->bytes;
    size_t taken = (size_t)got < room ? (size_t)got : room;
    memcpy(stream->text + stream->bytes, piece, taken);
    stream->bytes += taken;
    stream->text[stream->bytes] = '\0';
    stream->cut = stream->cut || taken < (size_t)got;
    return true;
}

/* What a program left in the pipe when it ended; bounded, because a process that it started may
 * go on writing. */
static void stream_drain(struct stream *stream)
{
    for (int i = 0; i < PIPE_READS_MAX && stream_read(stream); i++)
        ;
}

/* The input as a file in memory: nothing to feed while it runs, and no SIGPIPE if it does not
 * read. -1 with errno set on failure. */
static int input_file(const char *text)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || (descriptor_write(fd, text, strlen(text)) == 0 && lseek(fd, 0, SEEK_SET) == 0))
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Reads both streams until the program has ended. STATUS_TIMEOUT, STATUS_INTERRUPTED: it has not.
 */
static enum status read_until_end(int pidfd, struct stream streams[2], uint64_t deadline_ns,
                                  int interrupt)
{
    for (;;) {
        struct pollfd fds[4] = {
            {.fd = pidfd, .events = POLLIN},
            {.fd = streams[0].read_fd, .events = POLLIN},
            {.fd = streams[1].read_fd, .events = POLLIN},
            {.fd = interrupt, .events = POLLIN},
        };
        int ready = poll(fds, 4, deadline_ns == 0 ? -1 : clock_remaining_ms(deadline_ns));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return STATUS_TIMEOUT;
        for (int i = 0; i < 2; i++)
            if (fds[i + 1].revents != 0)
                stream_read(&streams[i]);
        if (fds[0].revents != 0)
            return STATUS_OK;
        if (fds[3].revents != 0)
            return STATUS_INTERRUPTED;
        if (deadline_ns != 0 && clock_now_ns() >= deadline_ns)
            return STATUS_TIMEOUT;
    }
}

/* Reads both streams until the program has ended, and ends it where it does not in time. */
static enum status await_end(const struct child_options *options, pid_t pid, int pidfd,
                             struct stream streams[2], int *wait_status)
{
    enum status ending = read_until_end(pidfd, streams, options->deadline_ns,
                                        options->interrupt ? *options->interrupt : -1);
    if (ending == STATUS_OK)
        return child_wait(pid, pidfd, 0, wait_status);
    enum status status = child_end(pid, pidfd, GRACE_NS, wait_status);
    if (status != STATUS_OK)
        return status_prefix(status, "'%s': ", options->argv[0]);
    if (ending == STATUS_INTERRUPTED)
        return status_set(STATUS_INTERRUPTED, "interrupted");
    return status_set(STATUS_TIMEOUT, "'%s' did not end in time and was ended", options->argv[0]);
}

enum status child_run(const struct child_options *options, struct child_result *result)
{
    struct stream streams[2] = {{.read_fd = -1, .write_fd = -1}, {.read_fd = -1, .write_fd = -1}};
    const char *program = options->argv[0];
    bool separate = options->capture_stderr && !options->merge_stderr;
    char **environment = NULL;
    int input = -1;
    int pidfd = -1;
    int wait_status = 0;
    pid_t pid;

    enum status status = stream_open(&streams[0], options->output_cap);
    if (status == STATUS_OK && separate)
        status = stream_open(&streams[1], options->output_cap);
    if (status != STATUS_OK)
        goto out;
    environment = child_environment_new(options->env_set, options->env_unset);
    if (environment == NULL) {
        status = status_set(STATUS_MEMORY, "out of memory for the environment of '%s'", program);
        goto out;
    }
    if (options->input != NULL && (input = input_file(options->input)) < 0) {
        status = status_set(STATUS_SYSTEM, "cannot prepare the input of '%s': %s", program,
                            strerror(errno));
        goto out;
    }
    struct child_spawn_options spawn = {
        .argv = options->argv,
        .environment = environment,
        .keep = options->keep,
        .keep_count = options->keep_count,
        .stdin_fd = input,
        .stdout_fd = streams[0].write_fd,
        .stderr_fd = options->merge_stderr ? streams[0].write_fd : streams[1].write_fd,
        .new_process_group = true,
        .parent_death_signal = SIGTERM,
    };
    status = child_spawn(&spawn, &pid, &pidfd);
    if (status != STATUS_OK)
        goto out;
    descriptor_close(&streams[0].write_fd);
    descriptor_close(&streams[1].write_fd);
    status = await_end(options, pid, pidfd, streams, &wait_status);
    if (status != STATUS_OK)
        goto out;
    stream_drain(&streams[0]);
    stream_drain(&streams[1]);
    *result = (struct child_result){
        .output = streams[0].text,
        .output_bytes = streams[0].bytes,
        .output_cut = streams[0].cut,
        .errors = streams[1].text,
        .errors_bytes = streams[1].bytes,
        .wait_status = wait_status,
    };
    streams[0].text = NULL;
    streams[1].text = NULL;
out:
    stream_release(&streams[0]);
    stream_release(&streams[1]);
    descriptor_close(&input);
    descriptor_close(&pidfd);
    free(environment);
    return status;
}

void child_result_release(struct child_result *result)
{
    free(result->output);
    free(result->errors);
    *result = (struct child_result){0};
}
