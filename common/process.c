#include "common/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

uint64_t process_stat_start_time(const char *text)
{
    /* The second field is a name that may hold anything, also blanks and brackets. */
    const char *field = strrchr(text, ')');
    if (field == NULL || field[1] != ' ' || field[2] == 'Z' || field[2] == 'X')
        return 0;
    for (int number = 2; number < 22 && field != NULL; number++)
        field = strchr(field + 1, ' ');
    return field != NULL ? strtoull(field + 1, NULL, 10) : 0;
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
    char state;
    int parent;
    const char *field = strrchr(text, ')');
    return field != NULL && sscanf(field + 1, " %c %d", &state, &parent) == 2 ? parent : 0;
}

pid_t process_parent(pid_t pid)
{
    char text[1024];
    return pid > 0 && read_file(pid, "stat", text, sizeof text) > 0 ? process_stat_parent(text) : 0;
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
