#include "common/process.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

/* Bytes read of a file of /proc/PID, ended by NUL; 0 if there is nothing. */
static size_t read_file(pid_t pid, const char *name, char *text, size_t size)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    if (length < 0)
        length = 0;
    text[length] = '\0';
    return (size_t)length;
}

/* Field 3 or a later one of /proc/PID/stat, "" if it is not there. The second one is a name that
 * may hold anything, also blanks and brackets. */
static const char *stat_field(const char *text, int number)
{
    const char *end = strrchr(text, ')');
    for (int at = 2; at < number && end != NULL; at++)
        end = strchr(end + 1, ' ');
    return end != NULL ? end + 1 : "";
}

uint64_t process_stat_start_time(const char *text)
{
    char state = *stat_field(text, 3);
    return state == 'Z' || state == 'X' ? 0 : strtoull(stat_field(text, 22), NULL, 10);
}

uint64_t process_start_time(pid_t pid)
{
    char text[1024];
    return pid > 0 && read_file(pid, "stat", text, sizeof text) > 0 ? process_stat_start_time(text)
                                                                    : 0;
}

struct process_identity process_identify(pid_t pid)
{
    return (struct process_identity){.pid = pid, .start_time = process_start_time(pid)};
}

bool process_is_alive(const struct process_identity *identity)
{
    return identity->pid > 0 && identity->start_time != 0 &&
           process_start_time(identity->pid) == identity->start_time;
}

pid_t process_stat_parent(const char *text)
{
    long parent = strtol(stat_field(text, 4), NULL, 10);
    return parent > 0 && parent <= INT_MAX ? (pid_t)parent : 0;
}

pid_t process_parent(pid_t pid)
{
    char text[1024];
    return pid > 0 && read_file(pid, "stat", text, sizeof text) > 0 ? process_stat_parent(text) : 0;
}

uint64_t process_children_cpu_ns(pid_t pid)
{
    char text[1024];
    if (pid <= 0 || read_file(pid, "stat", text, sizeof text) == 0)
        return 0;
    uint64_t ticks =
        strtoull(stat_field(text, 16), NULL, 10) + strtoull(stat_field(text, 17), NULL, 10);
    return ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

void process_words(pid_t pid, char *text, size_t size)
{
    size_t length = read_file(pid, "cmdline", text, size - 1);
    text[length + 1] = '\0';
}

const char *process_command(pid_t pid, char *text, size_t size)
{
    size_t length = read_file(pid, "cmdline", text, size);
    while (length > 0 && text[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\0')
            text[i] = ' ';
        else if (text[i] < ' ' || text[i] > '~')
            text[i] = '?';
    return text;
}
