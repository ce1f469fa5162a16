#include "emul/control.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"

#define WORDS_MAX 4

struct words {
    int count;
    const char *word[WORDS_MAX];
};

static bool word_number(const struct words *words, int index, long *number)
{
    char *end;
    if (index >= words->count || !isdigit((unsigned char)words->word[index][0]))
        return false;
    *number = strtol(words->word[index], &end, 10);
    return *end == '\0';
}

/* The server that a command names; tells the asker if it is not ours. */
static bool find_server(struct control *control, struct connection *asker,
                        const struct words *words)
{
    long pid;
    if (!word_number(words, 1, &pid)) {
        control_reply(asker, "Server PID not specified\n");
        return false;
    }
    if (control->server == 0 || pid != control->server) {
        control_reply(asker, "Server %ld not found\n", pid);
        return false;
    }
    return true;
}

static void read_proc(pid_t pid, const char *file, bool is_link, char *text, size_t room)
{
    char path[48];
    ssize_t length = -1;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    if (is_link) {
        length = readlink(path, text, room - 1);
    } else {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            length = read(fd, text, room - 1);
            close(fd);
        }
    }
    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

static bool get_server_list(struct control *control, struct connection *asker,
                            const struct words *words)
{
    (void)words;
    if (control->server != 0)
        control_reply(asker, "%d\n", (int)control->server);
    return true;
}

static bool get_server_status(struct control *control, struct connection *asker,
                              const struct words *words)
{
    if (find_server(control, asker, words))
        control_reply(asker, "ACTIVE\n");
    return true;
}

static bool get_client_list(struct control *control, struct connection *asker,
                            const struct words *words)
{
    if (!find_server(control, asker, words))
        return true;
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
        if (control->connections[i].state == CONNECTION_CLIENT)
            control_reply(asker, "%d\n", (int)control->connections[i].pid);
    return true;
}

static bool ps(struct control *control, struct connection *asker, const struct words *words)
{
    (void)words;
    control_reply(asker, "%-9s %-5s %-9s %-18s %-14s %s\n", "PID", "ID", "SERVER", "DEVICE",
                  "NAMESPACE", "COMMAND");
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++) {
        const struct connection *client = &control->connections[i];
        char link[64], command[64];
        unsigned long name_space = 0;
        if (client->state != CONNECTION_CLIENT)
            continue;
        read_proc(client->pid, "ns/pid", true, link, sizeof link);
        read_proc(client->pid, "comm", false, command, sizeof command);
        const char *number = strchr(link, '[');
        if (number != NULL)
            name_space = strtoul(number + 1, NULL, 10);
        control_reply(asker, "%-9d %-5u %-9d %-18s %-14lu %s\n", (int)client->pid, client->id,
                      (int)control->server, "GPU-6d707377-6565", name_space, command);
    }
    return true;
}

static bool parse_percentage(const struct words *words, int index, double *percentage)
{
    char *end;
    if (index >= words->count)
        return false;
    *percentage = strtod(words->word[index], &end);
    return end != words->word[index] && *end == '\0' && *percentage > 0.0 && *percentage <= 100.0;
}

static bool get_default_percentage(struct control *control, struct connection *asker,
                                   const struct words *words)
{
    (void)words;
    control_reply(asker, "%.1f\n", control->default_percentage);
    return true;
}

static bool set_default_percentage(struct control *control, struct connection *asker,
                                   const struct words *words)
{
    double percentage;
    if (parse_percentage(words, 1, &percentage)) {
        control->default_percentage = percentage;
        control_reply(asker, "%.1f\n", percentage);
    } else {
        control_reply(asker, "Invalid active thread percentage\n");
    }
    return true;
}

static bool get_percentage(struct control *control, struct connection *asker,
                           const struct words *words)
{
    if (find_server(control, asker, words))
        control_reply(asker, "%.1f\n", control->server_percentage);
    return true;
}

static bool set_percentage(struct control *control, struct connection *asker,
                           const struct words *words)
{
    double percentage;
    if (!find_server(control, asker, words))
        return true;
    if (parse_percentage(words, 2, &percentage)) {
        control->server_percentage = percentage;
        control_reply(asker, "%.1f\n", percentage);
    } else {
        control_reply(asker, "Invalid active thread percentage\n");
    }
    return true;
}

static bool start_server(struct control *control, struct connection *asker,
                         const struct words *words)
{
    long user;
    if (words->count < 3 || strcmp(words->word[1], "-uid") != 0 || !word_number(words, 2, &user))
        control_reply(asker, "User ID not specified\n");
    else if ((uid_t)user != geteuid())
        control_reply(asker, "Cannot start a server for user %ld\n", user);
    else
        control_start_server(control);
    return true;
}

static bool shutdown_server(struct control *control, struct connection *asker,
                            const struct words *words)
{
    if (!find_server(control, asker, words))
        return true;
    bool force = words->count > 2 && strcmp(words->word[2], "-f") == 0;
    if (force || control_count_clients(control) == 0)
        control_end_server(control);
    else
        control->server_draining = true;
    return true;
}

static bool terminate_client(struct control *control, struct connection *asker,
                             const struct words *words)
{
    long pid;
    bool found = false;
    if (!find_server(control, asker, words))
        return true;
    if (!word_number(words, 2, &pid)) {
        control_reply(asker, "Client PID not specified\n");
        return true;
    }
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++) {
        struct connection *client = &control->connections[i];
        if (client->state == CONNECTION_CLIENT && client->pid == pid) {
            control_log(control, "client %ld terminated by command", pid);
            control_drop(control, client);
            found = true;
        }
    }
    if (!found)
        control_reply(asker, "Client %ld not found\n", pid);
    return true;
}

static bool quit(struct control *control, struct connection *asker, const struct words *words)
{
    long seconds;
    if (words->count > 1 &&
        (strcmp(words->word[1], "-t") != 0 || !word_number(words, 2, &seconds))) {
        control_reply(asker, "Invalid timeout\n");
        return true;
    }
    control->quitting = true;
    if (words->count > 1)
        control->quit_deadline_ns = clock_now_ns() + (uint64_t)seconds * NS_PER_S;
    return false;
}

static const struct {
    const char *name;
    bool (*run)(struct control *control, struct connection *asker, const struct words *words);
} commands[] = {
    {"get_server_list", get_server_list},
    {"get_server_status", get_server_status},
    {"get_client_list", get_client_list},
    {"ps", ps},
    {"get_default_active_thread_percentage", get_default_percentage},
    {"set_default_active_thread_percentage", set_default_percentage},
    {"get_active_thread_percentage", get_percentage},
    {"set_active_thread_percentage", set_percentage},
    {"start_server", start_server},
    {"shutdown_server", shutdown_server},
    {"terminate_client", terminate_client},
    {"quit", quit},
};

bool control_command(struct control *control, struct connection *connection, const char *line)
{
    char copy[MPS_LINK_LINE_BYTES];
    struct words words = {0};
    char *rest;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " \t\r", &rest); word != NULL && words.count < WORDS_MAX;
         word = strtok_r(NULL, " \t\r", &rest))
        words.word[words.count++] = word;
    if (words.count == 0)
        return true;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(words.word[0], commands[i].name) == 0)
            return commands[i].run(control, connection, &words);
    control_reply(connection, "Unknown command \"%s\"\n", words.word[0]);
    return true;
}
