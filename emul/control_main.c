/*
 * mpsweep-emulated-mps-control: takes the same command line as nvidia-cuda-mps-control, and serves
 * the emulated driver.
 *
 *   -f   run the daemon in the foreground
 *   -d   run the daemon in the background
 *        otherwise: read commands from standard input, one a line, and print the answers
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emul/control.h"

static struct control control;

static int run_foreground(void)
{
    if (control_open(&control) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_text());
        return 1;
    }
    control_run(&control);
    return 0;
}

/* In the grandchild: tells the waiting parent what went wrong, nothing if all is well. */
static int run_background(int tell_fd)
{
    if (control_open(&control) != STATUS_OK) {
        dprintf(tell_fd, "%s\n", status_text());
        return 1;
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    if (null >= 3)
        close(null);
    close(tell_fd);
    control_run(&control);
    return 0;
}

static int start_background(void)
{
    int ends[2];
    char text[512];
    size_t length = 0;
    ssize_t got;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        perror("pipe");
        return 1;
    }
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return 1;
    }
    if (child == 0) {
        close(ends[0]);
        setsid();
        pid_t daemon_pid = fork();
        _exit(daemon_pid == 0 ? run_background(ends[1]) : daemon_pid < 0);
    }
    close(ends[1]);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    while (length < sizeof text && (got = read(ends[0], text + length, sizeof text - length)) > 0)
        length += (size_t)got;
    fwrite(text, 1, length, stderr);
    return length > 0;
}

/* Prints the answer to one command; false at the end of the connection. */
static bool print_answer(int fd)
{
    char text[1024];
    for (;;) {
        ssize_t got = recv(fd, text, sizeof text, 0);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue; /* a quit may take as long as the clients do */
        if (got <= 0)
            return false;
        const char *end = memchr(text, '\0', (size_t)got);
        fwrite(text, 1, end != NULL ? (size_t)(end - text) : (size_t)got, stdout);
        if (end != NULL)
            return true;
    }
}

static int run_commands(void)
{
    char line[256], message[300];
    int fd = mps_link_connect();
    if (fd < 0) {
        fprintf(stderr, "Cannot find MPS control daemon process\n");
        return 1;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        int length = snprintf(message, sizeof message, "control %s\n", line);
        if (!mps_link_send(fd, message, (size_t)length) || !print_answer(fd))
            break;
        fflush(stdout);
    }
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return run_commands();
    if (argc == 2 && strcmp(argv[1], "-f") == 0)
        return run_foreground();
    if (argc == 2 && strcmp(argv[1], "-d") == 0)
        return start_background();
    fprintf(stderr, "usage: %s [-f | -d] < COMMANDS\n", argv[0]);
    return 1;
}
