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

struct request {
    struct control *control;
    struct connection *asker;
    const struct command *command;
    int count;
    const char *word[WORDS_MAX];
};

struct command {
    const char *name;
    void (*run)(const struct request *request);
    bool names_server; /* its first word, which must be the server's process */
    size_t setting;    /* that it is about: where that lies in struct control */
};

/* As atol() reads it, 0 where there is none: so the real one takes what it does not understand. */
static long word_number(const struct request *request, int index)
{
    return index < request->count ? strtol(request->word[index], NULL, 10) : 0;
}

/* Finds the server that a command names; answers the asker if it is not ours. */
static bool find_server(const struct request *request)
{
    long pid = word_number(request, 1);
    if (request->control->server != 0 && pid == request->control->server)
        return true;
    control_reply(request->asker, "Server %ld not found\n", pid);
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

static void get_server_list(const struct request *request)
{
    if (request->control->server != 0)
        control_reply(request->asker, "%d\n", (int)request->control->server);
}

static void get_server_status(const struct request *request)
{
    control_reply(request->asker, request->control->server_fault ? "FAULT\n" : "ACTIVE\n");
}

static void get_client_list(const struct request *request)
{
    struct connection *client = control_next_client(request->control, 0, false);
    for (; client != NULL; client = control_next_client(request->control, client->id, false))
        control_reply(request->asker, "%d\n", (int)client->pid);
}

static void get_device_client_list(const struct request *request)
{
    if (request->count > 1 && !find_server(request))
        return;
    if (request->control->server == 0) {
        control_reply(request->asker, "Server not found\n");
        return;
    }
    control_reply(request->asker, "[0] 00:00.0, %s\n", DEVICE_NAME);
    struct connection *client = control_next_client(request->control, 0, true);
    for (; client != NULL; client = control_next_client(request->control, client->id, true))
        control_reply(request->asker, "%d.1\n", (int)client->pid);
}

static void ps_line(const struct request *request, const struct connection *client)
{
    char link[64], command[256];
    unsigned long name_space = 0;
    read_proc(client->pid, "ns/pid", true, link, sizeof link);
    read_proc(client->pid, "cmdline", false, command, sizeof command); /* ends after argv[0] */
    const char *number = strchr(link, '[');
    if (number != NULL)
        name_space = strtoul(number + 1, NULL, 10);
    control_reply(request->asker, "%-9d %-9u %-14d %-25.22s %-14lu %-14s \n", (int)client->pid,
                  client->id, (int)request->control->server, DEVICE_UUID, name_space, command);
}

static void ps(const struct request *request)
{
    struct control *control = request->control;
    bool chosen = request->count > 2 && strcmp(request->word[1], "-p") == 0;
    long only = chosen ? word_number(request, 2) : 0;
    bool begun = false;
    if (control->server == 0) {
        control_reply(request->asker, "Server not found\n");
        return;
    }
    struct connection *client = control_next_client(control, 0, true);
    for (; client != NULL; client = control_next_client(control, client->id, true)) {
        if (only != 0 && only != client->pid && only != control->server)
            continue;
        if (!begun)
            control_reply(request->asker, "%-9s %-9s %-14s %-25s %-14s %-14s \n", "PID", "ID",
                          "SERVER", "DEVICE", "NAMESPACE", "COMMAND");
        begun = true;
        ps_line(request, client);
    }
}

static void device_query(const struct request *request)
{
    control_reply(request->asker, "Default\n");
    control_reply(request->asker, "%-15s %-14s %-41s %-33s %s\n", "Device Ordinal", "PCI IDs",
                  "UUID", "Name", "Attributes");
    control_reply(request->asker, "%-15d %-14s %-41s %-33s %s\n", 0, "0000:00.00.00", DEVICE_UUID,
                  DEVICE_NAME, "N/A");
}

/* -- settings, of the server that is named or of those to come --------------------------------- */

static void *setting_of(const struct request *request)
{
    return (char *)request->control + request->command->setting;
}

/* A word after the name of the server; NULL: there is none. */
static const char *operand(const struct request *request, int number)
{
    int index = 1 + request->command->names_server + number;
    return index < request->count ? request->word[index] : NULL;
}

static void get_percentage(const struct request *request)
{
    const double *percentage = setting_of(request);
    control_reply(request->asker, "%.1f\n", *percentage);
}

/* What is not a percentage changes nothing, without an error: the answer is the value as it is. */
static void set_percentage(const struct request *request)
{
    const char *text = operand(request, 0);
    char *end;
    if (text != NULL) {
        double *percentage = setting_of(request), wanted = strtod(text, &end);
        if (end != text && *end == '\0' && wanted > 0.0 && wanted <= 100.0)
            *percentage = wanted;
    }
    get_percentage(request);
}

/* The limit of the device that is named, by ordinal or by UUID, or NULL. Of further devices the
 * default alone is kept. */
static uint64_t *limit_of(const struct request *request)
{
    const struct visible *visible = &request->control->visible;
    const char *device = operand(request, 0);
    char *end;
    if (device == NULL)
        return NULL;
    if (strcmp(device, "0") == 0 || strcasecmp(device, DEVICE_UUID) == 0)
        return setting_of(request);
    unsigned long ordinal = strtoul(device, &end, 10);
    bool known = !request->command->names_server && visible->chosen && end != device &&
                 *end == '\0' && ordinal > 0 && ordinal < visible->count &&
                 ordinal < EMUL_DEVICES_MAX;
    return known ? &request->control->more_limits_mib[ordinal] : NULL;
}

static void get_limit(const struct request *request)
{
    const uint64_t *limit = limit_of(request);
    uint64_t mib = limit != NULL ? *limit : 0;
    if (mib > 0)
        control_reply(request->asker, "%llu%c\n",
                      (unsigned long long)(mib >= 1024 ? mib / 1024 : mib),
                      mib >= 1024 ? 'G' : 'M');
}

static void set_limit(const struct request *request)
{
    uint64_t *limit = limit_of(request);
    const char *text = operand(request, 1);
    if (limit != NULL && text != NULL)
        *limit = mps_link_parse_mib(text);
}

static void get_priority(const struct request *request)
{
    control_reply(request->asker, "%d\n", request->control->default_priority);
}

static void set_priority(const struct request *request)
{
    const char *text = operand(request, 0);
    if (text != NULL && strlen(text) == 1 && strchr("01", *text) != NULL)
        request->control->default_priority = *text - '0';
    else
        control_reply(request->asker, "Invalid priority value - must be 0 or 1!\n");
}

/* -- lives ------------------------------------------------------------------------------------- */

static void start_server(const struct request *request)
{
    long user = word_number(request, 2);
    if (request->count < 3 || strcmp(request->word[1], "-uid") != 0)
        control_reply(request->asker, "User ID not specified\n");
    else if ((uid_t)user != geteuid())
        control_reply(request->asker, "Cannot start a server for user %ld\n", user);
    else
        control_start_server(request->control);
}

static void shutdown_server(const struct request *request)
{
    const char *option = operand(request, 0);
    bool force = option != NULL && strcmp(option, "-f") == 0;
    if (force || control_count_clients(request->control) == 0)
        control_end_server(request->control);
    else
        request->control->server_draining = true;
}

static void terminate_client(const struct request *request)
{
    struct control *control = request->control;
    long server = word_number(request, 1), pid = word_number(request, 2);
    bool found = false;
    if (!find_server(request)) {
        control_reply(request->asker, "Server %ld not found!\n1\n", server);
        return;
    }
    struct connection *client = control_next_client(control, 0, true);
    for (; client != NULL; client = control_next_client(control, client->id, true))
        if (client->pid == pid) {
            control_terminate(control, client);
            found = true;
        }
    if (found)
        control_reply(request->asker, "0\n");
    else
        control_reply(request->asker, "Invalid process %ld!\n1\n", pid);
}

/* False: the answer comes by the end of the connection. */
static bool quit(const struct request *request)
{
    bool timed = request->count > 1;
    if (timed && (strcmp(request->word[1], "-t") != 0 || request->count < 3)) {
        control_reply(request->asker, "Invalid timeout\n");
        return true;
    }
    request->control->quitting = true;
    if (timed)
        request->control->quit_deadline_ns =
            clock_now_ns() + (uint64_t)word_number(request, 2) * NS_PER_S;
    return false;
}

#define SETTING(field) offsetof(struct control, field)

static const struct command commands[] = {
    {"get_server_list", get_server_list, false, 0},
    {"get_server_status", get_server_status, true, 0},
    {"get_client_list", get_client_list, true, 0},
    {"get_device_client_list", get_device_client_list, false, 0},
    {"ps", ps, false, 0},
    {"device_query", device_query, false, 0},
    {"get_default_active_thread_percentage", get_percentage, false, SETTING(default_percentage)},
    {"set_default_active_thread_percentage", set_percentage, false, SETTING(default_percentage)},
    {"get_active_thread_percentage", get_percentage, true, SETTING(server_percentage)},
    {"set_active_thread_percentage", set_percentage, true, SETTING(server_percentage)},
    {"get_default_device_pinned_mem_limit", get_limit, false, SETTING(default_limit_mib)},
    {"set_default_device_pinned_mem_limit", set_limit, false, SETTING(default_limit_mib)},
    {"get_device_pinned_mem_limit", get_limit, true, SETTING(server_limit_mib)},
    {"set_device_pinned_mem_limit", set_limit, true, SETTING(server_limit_mib)},
    {"get_default_client_priority", get_priority, false, 0},
    {"set_default_client_priority", set_priority, false, 0},
    {"start_server", start_server, false, 0},
    {"shutdown_server", shutdown_server, true, 0},
    {"terminate_client", terminate_client, false, 0},
};

bool control_command(struct control *control, struct connection *connection, const char *line)
{
    char copy[MPS_LINK_LINE_BYTES];
    struct request request = {.control = control, .asker = connection};
    char *rest;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " \t\r", &rest); word != NULL && request.count < WORDS_MAX;
         word = strtok_r(NULL, " \t\r", &rest))
        request.word[request.count++] = word;
    const char *name = request.count > 0 ? request.word[0] : "";
    if (strcmp(name, "quit") == 0)
        return quit(&request);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0) {
            request.command = &commands[i];
            if (!commands[i].names_server || find_server(&request))
                commands[i].run(&request);
            return true;
        }
    control_reply(connection, "Unknown command \"%s\"\n", name);
    return true;
}
