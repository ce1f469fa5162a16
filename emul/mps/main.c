/*
 * mpsweep-emulated-mps-control: takes the same command line as nvidia-cuda-mps-control, and serves
 * the emulated driver.
 *
 *   -f   run the daemon in the foreground, its log on standard output
 *   -d   run the daemon in the background, its logs in CUDA_MPS_LOG_DIRECTORY
 *   -v   print the version
 *   -h   print the usage
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

#include "emul/mps/control.h"

static struct control control;

static int run_foreground(void)
{
    if (control_open(&control, true) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_text());
        return 1;
    }
    control_run(&control);
    return 0;
}

/* In the grandchild: reports to the waiting parent what went wrong, nothing if all is well. */
static int run_background(int report_fd)
{
    if (control_open(&control, false) != STATUS_OK) {
        dprintf(report_fd, "%s\n", status_text());
        return 1;
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    if (null >= 3)
        close(null);
    close(report_fd);
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

static int print_version(void)
{
    printf("CUDA MPS Control for Linux/Unix/QNX. Binary version: %d\n"
           "Emulated by mpsweep.\n\n",
           CONTROL_BINARY_VERSION);
    return 0;
}

static int print_usage(void)
{
    fputs("CUDA MPS Control for Linux/Unix/QNX.\n"
          "Emulated by mpsweep.\n\n"
          "nvidia-cuda-mps-control [options] [command]\n"
          "OPTIONS:\n"
          "  -h,--help                Print this message\n"
          "  -d,--daemon              Run the daemon in the background\n"
          "  -f,--forground           Run the daemon in the foreground\n"
          "  -v,--version             Print the version\n\n"
          "COMMAND:\n"
          "  start_server -uid <user id>\n"
          "  quit\n"
          "  get_server_list\n"
          "  get_server_status <PID>\n"
          "  get_client_list <PID>\n"
          "  get_device_client_list [<PID>]\n"
          "  ps [-p PID]\n"
          "  set_default_active_thread_percentage <percentage>\n"
          "  get_default_active_thread_percentage\n"
          "  set_active_thread_percentage <PID> <percentage>\n"
          "  get_active_thread_percentage <PID>\n"
          "  set_default_device_pinned_mem_limit <dev> <value>\n"
          "  get_default_device_pinned_mem_limit <dev>\n"
          "  set_device_pinned_mem_limit <PID> <dev> <value>\n"
          "  get_device_pinned_mem_limit <PID> <dev>\n"
          "  set_default_client_priority <priority>\n"
          "  get_default_client_priority\n"
          "  terminate_client <server PID> <client PID>\n"
          "  device_query [<PID>] [--csv]\n\n",
          stdout);
    return 0;
}

static bool is_option(const char *word, const char *letter, const char *name)
{
    return strcmp(word, letter) == 0 || strcmp(word, name) == 0;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return run_commands();
    if (argc == 2 && is_option(argv[1], "-f", "--forground")) /* as the real one spells it */
        return run_foreground();
    if (argc == 2 && is_option(argv[1], "-d", "--daemon"))
        return start_background();
    if (argc == 2 && is_option(argv[1], "-v", "--version"))
        return print_version();
    if (argc == 2 && is_option(argv[1], "-h", "--help"))
        return print_usage();
    fprintf(stderr, "usage: %s [-f | -d | -v | -h] < COMMANDS\n", argv[0]);
    return 1;
}
