#include "emul/mps/control.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "emul/model/device_names.h"

#define WORDS_MAX 4

struct words {
    int count;
    const char *word[WORDS_MAX];
};

typedef void run_command(struct control *control, struct connection *asker,
                         const struct words *words);

/* As atol() reads it, 0 where there is none: so the real one takes what it does not understand. */
static long word_number(const struct words *words, int index)
{
    return index < words->count ? strtol(words->word[index], NULL, 10) : 0;
}

/* Finds the server that a command names; answers the asker if it is not ours. */
static bool find_server(struct control *control, struct connection *asker,
                        const struct words *words)
{
    long pid = word_number(words, 1);
    if (control->server != 0 && pid == control->server)
        return true;
    control_reply(asker, "Server %ld not found\n", pid);
    return false;
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

static void get_server_list(struct control *control, struct connection *asker,
                            const struct words *words)
{
    (void)words;
    if (control->server != 0)
        control_reply(asker, "%d\n", (int)control->server);
}

static void get_server_status(struct control *control, struct connection *asker,
                              const struct words *words)
{
    (void)words;
    control_reply(asker, control->server_fault ? "FAULT\n" : "ACTIVE\n");
}

static void get_client_list(struct control *control, struct connection *asker,
                            const struct words *words)
{
    (void)words;
    struct connection *client = control_next_client(control, 0, false);
    for (; client != NULL; client = control_next_client(control, client->id, false))
        control_reply(asker, "%d\n", (int)client->pid);
}

static void get_device_client_list(struct control *control, struct connection *asker,
                                   const struct words *words)
{
    if (words->count > 1 && !find_server(control, asker, words))
        return;
    if (control->server == 0) {
        control_reply(asker, "Server not found\n");
        return;
    }
    control_reply(asker, "[0] 00:00.0, %s\n", DEVICE_NAME);
    struct connection *client = control_next_client(control, 0, true);
    for (; client != NULL; client = control_next_client(control, client->id, true))
        control_reply(asker, "%d.1\n", (int)client->pid);
}

static void ps_line(struct control *control, struct connection *asker,
                    const struct connection *client)
{
    char link[64], command[256];
    unsigned long name_space = 0;
    read_proc(client->pid, "ns/pid", true, link, sizeof link);
    read_proc(client->pid, "cmdline", false, command, sizeof command); /* ends after argv[0] */
    const char *number = strchr(link, '[');
    if (number != NULL)
        name_space = strtoul(number + 1, NULL, 10);
    control_reply(asker, "%-9d %-9u %-14d %-25.22s %-14lu %-14s \n", (int)client->pid, client->id,
                  (int)control->server, DEVICE_UUID, name_space, command);
}

static void ps(struct control *control, struct connection *asker, const struct words *words)
{
    long only = words->count > 2 && strcmp(words->word[1], "-p") == 0 ? word_number(words, 2) : 0;
    bool begun = false;
    if (control->server == 0) {
        control_reply(asker, "Server not found\n");
        return;
    }
    struct connection *client = control_next_client(control, 0, true);
    for (; client != NULL; client = control_next_client(control, client->id, true)) {
        if (only != 0 && only != client->pid && only != control->server)
            continue;
        if (!begun)
            control_reply(asker, "%-9s %-9s %-14s %-25s %-14s %-14s \n", "PID", "ID", "SERVER",
                          "DEVICE", "NAMESPACE", "COMMAND");
        begun = true;
        ps_line(control, asker, client);
    }
}

static void device_query(struct control *control, struct connection *asker,
                         const struct words *words)
{
    (void)control;
    (void)words;
    control_reply(asker, "Default\n");
    control_reply(asker, "%-15s %-14s %-41s %-33s %s\n", "Device Ordinal", "PCI IDs", "UUID",
                  "Name", "Attributes");
    control_reply(asker, "%-15d %-14s %-41s %-33s %s\n", 0, "0000:00.00.00", DEVICE_UUID,
                  DEVICE_NAME, "N/A");
}

/* -- limits ------------------------------------------------------------------------------------ */

/* What is not a percentage changes nothing, without an error: the answer is the value as it is. */
static void change_percentage(struct connection *asker, const struct words *words, int index,
                              double *percentage)
{
    char *end;
    if (index < words->count) {
        double wanted = strtod(words->word[index], &end);
        if (end != words->word[index] && *end == '\0' && wanted > 0.0 && wanted <= 100.0)
            *percentage = wanted;
    }
    control_reply(asker, "%.1f\n", *percentage);
}

static void get_default_percentage(struct control *control, struct connection *asker,
                                   const struct words *words)
{
    (void)words;
    control_reply(asker, "%.1f\n", control->default_percentage);
}

static void set_default_percentage(struct control *control, struct connection *asker,
                                   const struct words *words)
{
    change_percentage(asker, words, 1, &control->default_percentage);
}

static void get_percentage(struct control *control, struct connection *asker,
                           const struct words *words)
{
    (void)words;
    control_reply(asker, "%.1f\n", control->server_percentage);
}

static void set_percentage(struct control *control, struct connection *asker,
                           const struct words *words)
{
    change_percentage(asker, words, 2, &control->server_percentage);
}

/* By ordinal or by UUID. */
static bool is_our_device(const struct words *words, int index)
{
    return index < words->count && (strcmp(words->word[index], "0") == 0 ||
                                    strcasecmp(words->word[index], DEVICE_UUID) == 0);
}

static void answer_mib(struct connection *asker, uint64_t mib)
{
    if (mib > 0)
        control_reply(asker, "%llu%c\n", (unsigned long long)(mib >= 1024 ? mib / 1024 : mib),
                      mib >= 1024 ? 'G' : 'M');
}

static void answer_limit(struct connection *asker, const struct words *words, int device,
                         uint64_t limit_mib)
{
    if (is_our_device(words, device))
        answer_mib(asker, limit_mib);
}

static void change_limit(const struct words *words, int device, uint64_t *limit_mib)
{
    if (is_our_device(words, device) && device + 1 < words->count)
        *limit_mib = mps_link_parse_mib(words->word[device + 1]);
}

/* The limit that is kept of a further device, or NULL. */
static uint64_t *more_limit(struct control *control, const struct words *words, int device)
{
    char *end;
    if (device >= words->count)
        return NULL;
    unsigned long ordinal = strtoul(words->word[device], &end, 10);
    bool known = control->visible.chosen && end != words->word[device] && *end == '\0' &&
                 ordinal > 0 && ordinal < control->visible.count && ordinal < EMUL_DEVICES_MAX;
    return known ? &control->more_limits_mib[ordinal] : NULL;
}

static void get_default_limit(struct control *control, struct connection *asker,
                              const struct words *words)
{
    const uint64_t *more = more_limit(control, words, 1);
    if (more != NULL)
        answer_mib(asker, *more);
    answer_limit(asker, words, 1, control->default_limit_mib);
}

static void set_default_limit(struct control *control, struct connection *asker,
                              const struct words *words)
{
    uint64_t *more = more_limit(control, words, 1);
    (void)asker;
    if (more != NULL && words->count > 2)
        *more = mps_link_parse_mib(words->word[2]);
    change_limit(words, 1, &control->default_limit_mib);
}

static void get_limit(struct control *control, struct connection *asker, const struct words *words)
{
    answer_limit(asker, words, 2, control->server_limit_mib);
}

static void set_limit(struct control *control, struct connection *asker, const struct words *words)
{
    (void)asker;
    change_limit(words, 2, &control->server_limit_mib);
}

static void get_default_priority(struct control *control, struct connection *asker,
                                 const struct words *words)
{
    (void)words;
    control_reply(asker, "%d\n", control->default_priority);
}

static void set_default_priority(struct control *control, struct connection *asker,
                                 const struct words *words)
{
    if (words->count > 1 && strlen(words->word[1]) == 1 && strchr("01", words->word[1][0]) != NULL)
        control->default_priority = words->word[1][0] - '0';
    else
        control_reply(asker, "Invalid priority value - must be 0 or 1!\n");
}

/* -- lives ------------------------------------------------------------------------------------- */

static void start_server(struct control *control, struct connection *asker,
                         const struct words *words)
{
    long user = word_number(words, 2);
    if (words->count < 3 || strcmp(words->word[1], "-uid") != 0)
        control_reply(asker, "User ID not specified\n");
    else if ((uid_t)user != geteuid())
        control_reply(asker, "Cannot start a server for user %ld\n", user);
    else
        control_start_server(control);
}

static void shutdown_server(struct control *control, struct connection *asker,
                            const struct words *words)
{
    (void)asker;
    bool force = words->count > 2 && strcmp(words->word[2], "-f") == 0;
    if (force || control_count_clients(control) == 0)
        control_end_server(control);
    else
        control->server_draining = true;
}

static void terminate_client(struct control *control, struct connection *asker,
                             const struct words *words)
{
    long server = word_number(words, 1), pid = word_number(words, 2);
    bool found = false;
    if (!find_server(control, asker, words)) {
        control_reply(asker, "Server %ld not found!\n1\n", server);
        return;
    }
    struct connection *client = control_next_client(control, 0, true);
    for (; client != NULL; client = control_next_client(control, client->id, true))
        if (client->pid == pid) {
            control_terminate(control, client);
            found = true;
        }
    if (found)
        control_reply(asker, "0\n");
    else
        control_reply(asker, "Invalid process %ld!\n1\n", pid);
}

/* False: the answer comes by the end of the connection. */
static bool quit(struct control *control, struct connection *asker, const struct words *words)
{
    bool timed = words->count > 1;
    if (timed && (strcmp(words->word[1], "-t") != 0 || words->count < 3)) {
        control_reply(asker, "Invalid timeout\n");
        return true;
    }
    control->quitting = true;
    if (timed)
        control->quit_deadline_ns = clock_now_ns() + (uint64_t)word_number(words, 2) * NS_PER_S;
    return false;
}

static const struct {
    const char *name;
    run_command *run;
    bool names_server; /* its first word, which must be the server's process */
} commands[] = {
    {"get_server_list", get_server_list, false},
    {"get_server_status", get_server_status, true},
    {"get_client_list", get_client_list, true},
    {"get_device_client_list", get_device_client_list, false},
    {"ps", ps, false},
    {"device_query", device_query, false},
    {"get_default_active_thread_percentage", get_default_percentage, false},
    {"set_default_active_thread_percentage", set_default_percentage, false},
    {"get_active_thread_percentage", get_percentage, true},
    {"set_active_thread_percentage", set_percentage, true},
    {"get_default_device_pinned_mem_limit", get_default_limit, false},
    {"set_default_device_pinned_mem_limit", set_default_limit, false},
    {"get_device_pinned_mem_limit", get_limit, true},
    {"set_device_pinned_mem_limit", set_limit, true},
    {"get_default_client_priority", get_default_priority, false},
    {"set_default_client_priority", set_default_priority, false},
    {"start_server", start_server, false},
    {"shutdown_server", shutdown_server, true},
    {"terminate_client", terminate_client, false},
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
    const char *name = words.count > 0 ? words.word[0] : "";
    if (strcmp(name, "quit") == 0)
        return quit(control, connection, &words);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0) {
            if (!commands[i].names_server || find_server(control, connection, &words))
                commands[i].run(control, connection, &words);
            return true;
        }
    control_reply(connection, "Unknown command \"%s\"\n", name);
    return true;
}
