#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/paths.h"
#include "common/process.h"
#include "common/text.h"
#include "mps/kept.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/console/metrics.h"
#include "orchestrator/console/report.h"
#include "orchestrator/mps/internal.h"
#include "orchestrator/session/emulation.h"

#define SERVERS_MOST 16
#define STATE_UNKNOWN ((enum mps_server_state) - 1)

/* All that is known of one daemon. */
struct mps_status {
    bool ours; /* started by mpsweep: kept is filled in */
    struct mps_kept kept;
    char pipe_directory[MPS_ENVIRONMENT_TEXT];
    char program[PATH_MAX];
    struct mps_control control; /* with these two */
    bool answers, settings_known;
    char problem[512]; /* why it does not, or what is wrong with it; "" */
    int version;       /* of the control program; 0: unknown */
    struct mps_settings settings;
    size_t partitions;
    struct mps_partition_row partition[MPS_SETTINGS_PARTITIONS];
    size_t servers;
    pid_t server[SERVERS_MOST];
    enum mps_server_state state[SERVERS_MOST];
    size_t clients;
    struct mps_client_row client[ASK_CLIENTS];
};

static bool has_socket(const char *directory)
{
    char path[256];
    struct stat info;
    return snprintf(path, sizeof path, "%s/control", directory) < (int)sizeof path &&
           lstat(path, &info) == 0 && S_ISSOCK(info.st_mode);
}

/* Ours, by its own directory or by its pipe directory below that. */
static enum status find_ours(const char *directory, struct mps_kept *out)
{
    char parent[MPS_ENVIRONMENT_TEXT], path[PATH_MAX];
    struct status_saved saved;
    status_save(mps_kept_find(directory, out), &saved);
    if (saved.code == STATUS_OK || !directory || !has_socket(directory) ||
        !realpath(directory, path) || strcmp(path_file_name(path), "mps") != 0 ||
        snprintf(parent, sizeof parent, "%s/..", directory) >= (int)sizeof parent ||
        mps_kept_find(parent, out) != STATUS_OK)
        return status_restore(&saved);
    return STATUS_OK;
}

/* Finds the daemon that the options name: ours, or a foreign one by its pipe directory. */
static enum status find(const struct options *options, struct mps_status *out)
{
    const char *directory = options_text(options, OPTION_MPS_DIR);
    const char *gpu = options_text(options, OPTION_MPS_GPU);
    if (gpu && strcmp(gpu, "emulated") != 0)
        return status_set(STATUS_USAGE,
                          "'%s' is not a value of device: a status is of a whole daemon, and takes "
                          "'emulated' alone",
                          gpu);
    enum status status = find_ours(directory, &out->kept);
    out->control = (struct mps_control){out->program, out->pipe_directory};
    out->ours = status == STATUS_OK;
    if (out->ours) {
        snprintf(out->pipe_directory, sizeof out->pipe_directory, "%s/mps", out->kept.directory);
        snprintf(out->program, sizeof out->program, "%s", out->kept.state.control_program);
        return STATUS_OK;
    }
    if (!directory || strlen(directory) >= sizeof out->pipe_directory || !has_socket(directory))
        return status;
    snprintf(out->pipe_directory, sizeof out->pipe_directory, "%s", directory);
    if (gpu)
        return emulation_find_control(out->program);
    snprintf(out->program, sizeof out->program, "nvidia-cuda-mps-control");
    return STATUS_OK;
}

/* Adds one, behind those that are known: a later one must not hide what caused it. */
__attribute__((format(printf, 2, 3))) static void add_problem(struct mps_status *status,
                                                              const char *format, ...)
{
    char one[sizeof status->problem];
    struct text text = {
        .at = status->problem, .size = sizeof status->problem, .length = strlen(status->problem)};
    va_list args;
    va_start(args, format);
    vsnprintf(one, sizeof one, format, args);
    va_end(args);
    text_append(&text, "%s%s", text.length ? "; " : "", one);
}

/* Asks the daemon; changes nothing. */
static enum status ask(struct mps_status *status)
{
    uint64_t deadline_ns = clock_now_ns() + ASK_NS;
    enum status result = mps_control_servers(&status->control, deadline_ns, status->server,
                                             SERVERS_MOST, &status->servers);
    if (result != STATUS_OK)
        return result;
    status->answers = true;
    for (size_t i = 0; i < status->servers; i++)
        status->state[i] = STATE_UNKNOWN;
    for (size_t i = 0; i < status->servers && result == STATUS_OK; i++) {
        result = mps_control_server_state(&status->control, status->server[i], deadline_ns,
                                          &status->state[i]);
        if (result == STATUS_OK && status->state[i] == MPS_SERVER_FAULT)
            add_problem(status,
                        "server %d is in its fault state: it takes no clients until all those that "
                        "it has have ended",
                        (int)status->server[i]);
    }
    if (result == STATUS_OK && status->servers > 0)
        result = mps_control_clients_table(&status->control, deadline_ns, status->client,
                                           ASK_CLIENTS, &status->clients);
    if (result == STATUS_OK)
        result = mps_settings_read(&status->control, MPS_SETTINGS_GPUS, deadline_ns + ASK_NS,
                                   &status->settings);
    status->settings_known = result == STATUS_OK;
    /* One without partitions does not list them. */
    if (result == STATUS_OK && mps_control_has_partitions(status->version) &&
        mps_control_partitions(&status->control, clock_now_ns() + ASK_NS, status->partition,
                               MPS_SETTINGS_PARTITIONS, &status->partitions) != STATUS_OK)
        status->partitions = 0;
    return result;
}

static void look(struct mps_status *status)
{
    if (mps_control_version(&status->control, clock_now_ns() + ASK_NS, &status->version) !=
        STATUS_OK)
        status->version = 0;
    if (status->ours && !status->kept.running) {
        add_problem(status, "the daemon has ended%s%s", *status->kept.ending ? ": " : "",
                    status->kept.ending);
        return;
    }
    if (status->ours && !status->kept.guarded)
        add_problem(status, "its guard (process %d) is gone: nothing cleans up after it",
                    (int)status->kept.state.guard.pid);
    if (ask(status) != STATUS_OK)
        add_problem(status, "%s", status_text());
}

/* The daemon has only the program's name: where /proc has no command, that is it. */
static const char *client_command(const struct mps_client_row *client, char text[256])
{
    process_command(client->pid, text, 256);
    return *text ? text : client->command;
}

static void print_clients(const struct mps_status *status)
{
    struct columns table = {0};
    if (status->clients == 0)
        return;
    columns_add(&table, "PID", COLUMNS_RIGHT);
    columns_add(&table, "ID", COLUMNS_RIGHT);
    columns_add(&table, "SERVER", COLUMNS_RIGHT);
    columns_add(&table, "DEVICE", COLUMNS_LEFT);
    columns_add(&table, "COMMAND", COLUMNS_LEFT);
    for (size_t i = 0; i < status->clients; i++) {
        const struct mps_client_row *client = &status->client[i];
        char command[256];
        columns_cell(&table, "%d", (int)client->pid);
        columns_cell(&table, "%u", client->id);
        columns_cell(&table, "%d", (int)client->server);
        columns_cell(&table, "%s", client->device);
        columns_cell(&table, "%s", client_command(client, command));
        columns_end_row(&table);
    }
    putchar('\n');
    columns_print(stdout, &table, 2);
}

static void print_table(const struct mps_status *status)
{
    const struct mps_kept *kept = &status->kept;
    const char *item = columns_item(), *emulated = emulation_gpu_of(status->program);
    char directory[3 * MPS_ENVIRONMENT_TEXT];
    text_displayed(status->ours ? kept->directory : status->pipe_directory, directory,
                   sizeof directory);
    if (status->ours) {
        printf("%sdirectory  %s\n", item, directory);
        printf("%sdaemon     process %d, %s %s, guarded by process %d\n", item,
               (int)kept->state.daemon.pid, kept->running ? "running since" : "started at",
               kept->state.started, (int)kept->state.guard.pid);
    } else {
        printf("%sdirectory  %s (not mpsweep's: only looked at)\n", item, directory);
    }
    if (emulated)
        printf("%sGPU        %s (emulated)\n", item, emulated);
    else if (status->ours)
        printf("%sGPU        %s\n", item, *kept->state.gpu ? kept->state.gpu : "all");
    if (status->version)
        printf("%sversion    %d (CUDA %d.%d)\n", item, status->version, status->version / 1000,
               status->version % 1000 / 10);
    if (status->settings_known) {
        const struct mps_settings *settings = &status->settings;
        printf("%ssettings   active threads %.1f%%, priority %d (%s)", item,
               settings->active_thread_percentage, settings->priority,
               settings->priority == 1 ? "below normal" : "normal");
        for (unsigned i = 0; i < settings->memory_limits; i++) {
            char size[32];
            printf(", memory of GPU %s %s", settings->memory_limit[i].gpu,
                   mps_settings_size_text(settings->memory_limit[i].bytes, size, sizeof size));
        }
        putchar('\n');
    }
    mps_command_print_partitions(item, status->partition, status->partitions);
    if (status->answers) {
        for (size_t i = 0; i < status->servers; i++)
            printf("%sserver     process %d, %s\n", item, (int)status->server[i],
                   mps_server_state_name(status->state[i]));
        if (status->servers == 0)
            printf("%sserver     none yet: the first client brings it up\n", item);
        printf("%sclients    %zu\n", item, status->clients);
        print_clients(status);
    }
    if (*status->problem)
        printf("%sproblem    %s\n", item, status->problem);
}

static json_t *settings_object(const struct mps_settings *settings)
{
    json_t *memory = json_object();
    for (unsigned i = 0; i < settings->memory_limits; i++)
        json_object_set_new(memory, settings->memory_limit[i].gpu,
                            json_integer((json_int_t)settings->memory_limit[i].bytes));
    return json_pack("{s:f, s:i, s:o}", "active_thread_percentage",
                     settings->active_thread_percentage, "priority", settings->priority,
                     "memory_limit_bytes", memory);
}

static json_t *text_or_null(const char *text)
{
    return *text ? json_string(text) : json_null();
}

static json_t *process_object(const struct process_identity *process, bool running)
{
    return json_pack("{s:i, s:I, s:b}", "pid", (int)process->pid, "start_time",
                     (json_int_t)process->start_time, "running", (int)running);
}

static json_t *partitions_array(const struct mps_status *status)
{
    json_t *array = json_array();
    for (size_t i = 0; i < status->partitions; i++) {
        const struct mps_partition_row *row = &status->partition[i];
        json_array_append_new(array, json_pack("{s:s, s:i, s:i, s:b}", "name", row->name, "chunks",
                                               (int)row->chunks, "sms", (int)row->sms, "used",
                                               (int)row->used));
    }
    return array;
}

static void print_json(const struct mps_status *status)
{
    const struct mps_kept *kept = &status->kept;
    json_t *servers = json_array(), *clients = json_array();
    for (size_t i = 0; i < status->servers; i++)
        json_array_append_new(servers, json_pack("{s:i, s:s}", "pid", (int)status->server[i],
                                                 "state", mps_server_state_name(status->state[i])));
    for (size_t i = 0; i < status->clients; i++) {
        const struct mps_client_row *client = &status->client[i];
        char command[256];
        json_array_append_new(clients, json_pack("{s:i, s:i, s:i, s:s, s:s}", "pid",
                                                 (int)client->pid, "id", (int)client->id, "server",
                                                 (int)client->server, "device", client->device,
                                                 "command", client_command(client, command)));
    }
    json_t *record =
        json_pack("{s:s, s:i, s:b, s:b, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "type",
                  "mps-status", "schema", 1, "started_by_mpsweep", (int)status->ours, "emulated",
                  (int)(emulation_gpu_of(status->program) != NULL), "pipe_directory",
                  json_text(status->pipe_directory), "answers", (int)status->answers, "servers",
                  servers, "clients", clients, "partitions", partitions_array(status), "version",
                  status->version ? json_integer(status->version) : json_null(), "problem",
                  text_or_null(status->problem), "settings",
                  status->settings_known ? settings_object(&status->settings) : json_null());
    if (status->ours) {
        json_t *own =
            json_pack("{s:o, s:s, s:o, s:o, s:o}", "directory", json_text(kept->directory),
                      "started", kept->state.started, "gpu", text_or_null(kept->state.gpu),
                      "daemon", process_object(&kept->state.daemon, kept->running), "guard",
                      process_object(&kept->state.guard, kept->guarded));
        json_object_update(record, own);
        json_decref(own);
    }
    json_dumpf(record, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    putchar('\n');
    json_decref(record);
}

static void print_state(const struct mps_status *status)
{
    static const char name[] = "mpsweep_mps_server";
    metrics_family(stdout, name, "A server of the daemon, with its state.");
    for (size_t i = 0; i < status->servers; i++) {
        char pid[32];
        snprintf(pid, sizeof pid, "%d", (int)status->server[i]);
        const struct metrics_label labels[] = {{"pid", pid},
                                               {"state", mps_server_state_name(status->state[i])}};
        metrics_value(stdout, name, labels, 2, 1);
    }
}

static void print_openmetrics(const struct mps_status *status)
{
    const struct metrics_label directory = {"directory", status->ours ? status->kept.directory
                                                                      : status->pipe_directory};
    const struct {
        const char *name, *help;
        double value;
    } gauges[] = {
        {"mpsweep_mps_up", "1 if the MPS daemon answers.", status->answers},
        {"mpsweep_mps_problem", "1 if 'mpsweep mps status' reports a problem.",
         *status->problem != '\0'},
        {"mpsweep_mps_clients", "Processes that are clients.",
         status->answers ? (double)status->clients : (double)NAN},
        {"mpsweep_mps_active_thread_percentage", "Share of the multiprocessors by default.",
         status->settings_known ? status->settings.active_thread_percentage : (double)NAN},
    };
    for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
        metrics_family(stdout, gauges[i].name, gauges[i].help);
        metrics_value(stdout, gauges[i].name, &directory, 1, gauges[i].value);
    }
    print_state(status);
    metrics_end(stdout);
}

int mps_command_status(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    static struct mps_status status;
    if (find(options, &status) != STATUS_OK)
        return report(STATUS_SYSTEM);
    look(&status);
    const char *format = options_text(options, OPTION_MPS_FORMAT);
    if (strcmp(format, "json") == 0)
        print_json(&status);
    else if (strcmp(format, "openmetrics") == 0)
        print_openmetrics(&status);
    else
        print_table(&status);
    return *status.problem ? EXIT_BAD_SETUP : EXIT_ALL_MEASURED;
}
