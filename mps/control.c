#include "mps/control.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPLY_CAP (1 << 20)
#define VERSION_CAP 4096
#define MOST_DEVICES 16
#define MOST_SERVERS 64

void mps_environment_inherited(const char *names[MPS_INHERITED_MOST])
{
    static char storage[MPS_INHERITED_MOST - 1][64];
    size_t count = 0;
    for (char **entry = environ; *entry && count + 1 < MPS_INHERITED_MOST; entry++) {
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, "CUDA_MPS_", 9) != 0 || length >= sizeof storage[0])
            continue;
        memcpy(storage[count], *entry, length);
        storage[count][length] = '\0';
        names[count] = storage[count];
        count++;
    }
    names[count] = NULL;
}

bool mps_environment_make(const char *pipe_directory, const char *log_directory, const char *gpus,
                          struct mps_environment *out)
{
    size_t count = 0;
    bool fits = true;
    const struct {
        const char *name, *value;
        size_t size;
    } rows[] = {{"CUDA_MPS_PIPE_DIRECTORY", pipe_directory, MPS_ENVIRONMENT_TEXT},
                {"CUDA_MPS_LOG_DIRECTORY", log_directory, MPS_ENVIRONMENT_TEXT},
                {"CUDA_VISIBLE_DEVICES", gpus, MPS_GPUS_TEXT}};
    *out = (struct mps_environment){0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].value || !*rows[i].value)
            continue;
        char *text = out->texts[count];
        int length = snprintf(text, rows[i].size, "%s=%s", rows[i].name, rows[i].value);
        fits &= length < (int)rows[i].size;
        out->set[count++] = text;
    }
    mps_environment_inherited(out->unset);
    return fits;
}

/* Runs the program with one option, or without and with input. */
static enum status run_program(const struct mps_control *control, const char *option,
                               const char *input, size_t output_cap, uint64_t deadline_ns,
                               struct child_result *result)
{
    struct mps_environment environment;
    const char *const argv[] = {control->program, option, NULL};
    *result = (struct child_result){0};
    if (!mps_environment_make(control->pipe_directory, NULL, NULL, &environment))
        return status_set(STATUS_USAGE, "'%s' is too long for a pipe directory",
                          control->pipe_directory);
    const struct child_options options = {
        .argv = argv,
        .env_set = environment.set,
        .env_unset = environment.unset,
        .input = input,
        .output_cap = output_cap,
        .deadline_ns = deadline_ns,
        .interrupt = control->interrupt,
    };
    return child_run(&options, result);
}

static bool succeeded(const struct child_result *result)
{
    return WIFEXITED(result->wait_status) && WEXITSTATUS(result->wait_status) == 0;
}

enum status mps_control_command(const struct mps_control *control, uint64_t deadline_ns,
                                struct child_result *reply, const char *format, ...)
{
    char command[254], input[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    snprintf(input, sizeof input, "%s\n", command);
    enum status status = run_program(control, NULL, input, REPLY_CAP, deadline_ns, reply);
    if (status == STATUS_TIMEOUT)
        return status_set(STATUS_TIMEOUT,
                          "the MPS control daemon of '%s' did not answer '%s' in time",
                          control->pipe_directory, command);
    if (status == STATUS_OK && !succeeded(reply))
        return status_set(STATUS_NOT_FOUND, "no MPS control daemon answers in '%s'",
                          control->pipe_directory);
    if (status == STATUS_OK && reply->output_cut)
        return status_set(STATUS_PROTOCOL, "the MPS daemon's reply is too long: more than %d bytes",
                          REPLY_CAP);
    return status;
}

static enum status ask_pids(const struct mps_control *control, const char *command,
                            uint64_t deadline_ns, pid_t *pids, size_t capacity, size_t *count)
{
    struct child_result reply;
    enum status status = mps_control_command(control, deadline_ns, &reply, "%s", command);
    if (status == STATUS_OK)
        status = mps_reply_pids(reply.output, reply.output_bytes, pids, capacity, count);
    child_result_release(&reply);
    return status;
}

enum status mps_control_servers(const struct mps_control *control, uint64_t deadline_ns,
                                pid_t *servers, size_t capacity, size_t *count)
{
    return ask_pids(control, "get_server_list", deadline_ns, servers, capacity, count);
}

/* A process may be a client of several servers. */
static size_t without_repeats(pid_t *pids, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t j = 0;
        while (j < kept && pids[j] != pids[i])
            j++;
        if (j == kept)
            pids[kept++] = pids[i];
    }
    return kept;
}

enum status mps_control_clients(const struct mps_control *control, uint64_t deadline_ns,
                                pid_t *clients, size_t capacity, size_t *count)
{
    pid_t servers[MOST_SERVERS];
    size_t server_count = 0, total = 0;
    enum status status =
        mps_control_servers(control, deadline_ns, servers, MOST_SERVERS, &server_count);
    for (size_t i = 0; i < server_count && status == STATUS_OK; i++) {
        char command[64];
        size_t found;
        snprintf(command, sizeof command, "get_client_list %d", (int)servers[i]);
        status = ask_pids(control, command, deadline_ns, clients + total, capacity - total, &found);
        if (status == STATUS_OK)
            total += found;
        /* A server that has ended in the meantime has none, if it is not the daemon that is gone.
         */
        if (status == STATUS_NOT_FOUND) {
            pid_t left[MOST_SERVERS];
            status = mps_control_servers(control, deadline_ns, left, MOST_SERVERS, &found);
        }
    }
    if (status == STATUS_OK)
        *count = without_repeats(clients, total);
    return status;
}

enum status mps_control_server_state(const struct mps_control *control, pid_t server,
                                     uint64_t deadline_ns, enum mps_server_state *state)
{
    struct child_result reply;
    enum status status =
        mps_control_command(control, deadline_ns, &reply, "get_server_status %d", (int)server);
    if (status == STATUS_OK)
        status = mps_reply_server_state(reply.output, reply.output_bytes, state);
    child_result_release(&reply);
    return status;
}

enum status mps_control_clients_table(const struct mps_control *control, uint64_t deadline_ns,
                                      struct mps_client_row *rows, size_t capacity, size_t *count)
{
    struct child_result reply;
    enum status status = mps_control_command(control, deadline_ns, &reply, "ps");
    if (status == STATUS_OK)
        status = mps_reply_ps(reply.output, reply.output_bytes, rows, capacity, count);
    child_result_release(&reply);
    return status;
}

enum status mps_control_devices(const struct mps_control *control, uint64_t deadline_ns,
                                struct mps_device_row *rows, size_t capacity, size_t *count)
{
    struct child_result reply;
    enum status status = mps_control_command(control, deadline_ns, &reply, "device_query");
    if (status == STATUS_OK)
        status = mps_reply_devices(reply.output, reply.output_bytes, rows, capacity, count);
    child_result_release(&reply);
    return status;
}

enum status mps_control_version(const struct mps_control *control, uint64_t deadline_ns,
                                int *version)
{
    struct child_result reply;
    enum status status = run_program(control, "-v", NULL, VERSION_CAP, deadline_ns, &reply);
    if (status == STATUS_OK)
        status = succeeded(&reply)
                     ? mps_reply_version(reply.output, reply.output_bytes, version)
                     : status_set(STATUS_UNSUPPORTED, "'%s' does not print its version",
                                  control->program);
    child_result_release(&reply);
    return status;
}

enum status mps_control_terminate_client(const struct mps_control *control, uint64_t deadline_ns,
                                         pid_t client)
{
    pid_t servers[MOST_SERVERS];
    size_t count = 0;
    bool found = false;
    enum status status = mps_control_servers(control, deadline_ns, servers, MOST_SERVERS, &count);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct child_result reply;
        status = mps_control_command(control, deadline_ns, &reply, "terminate_client %d %d",
                                     (int)servers[i], (int)client);
        bool asked = status == STATUS_OK;
        if (asked)
            status = mps_reply_terminated(reply.output, reply.output_bytes);
        child_result_release(&reply);
        if (!asked)
            return status;
        found |= status == STATUS_OK;
        /* Another server's, or gone by itself. */
        if (status == STATUS_NOT_FOUND)
            status = STATUS_OK;
    }
    if (status == STATUS_OK && !found)
        status = status_set(STATUS_NOT_FOUND, "process %d is not a client of the MPS daemon",
                            (int)client);
    return status;
}

enum status mps_control_is_faulty(const struct mps_control *control, uint64_t deadline_ns,
                                  bool *faulty)
{
    pid_t servers[MOST_SERVERS];
    size_t count = 0;
    bool any = false;
    enum status status = mps_control_servers(control, deadline_ns, servers, MOST_SERVERS, &count);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        enum mps_server_state state;
        status = mps_control_server_state(control, servers[i], deadline_ns, &state);
        /* One that has just ended is in no state. */
        if (status == STATUS_NOT_FOUND)
            status = STATUS_OK;
        else if (status == STATUS_OK)
            any |= state == MPS_SERVER_FAULT;
    }
    if (status == STATUS_OK)
        *faulty = any;
    return status;
}

/* -- static partitions ------------------------------------------------------------------------- */

bool mps_control_has_partitions(int version)
{
    return version >= MPS_PARTITIONS_VERSION;
}

enum status mps_control_need_partitions(const struct mps_control *control, uint64_t deadline_ns)
{
    int version;
    enum status status = mps_control_version(control, deadline_ns, &version);
    if (status == STATUS_OK && !mps_control_has_partitions(version))
        status = status_set(STATUS_UNSUPPORTED,
                            "static partitions take the MPS programs of CUDA %d.%d or later: '%s' "
                            "is of CUDA %d.%d",
                            MPS_PARTITIONS_VERSION / 1000, MPS_PARTITIONS_VERSION % 1000 / 10,
                            control->program, version / 1000, version % 1000 / 10);
    return status;
}

enum status mps_control_add_partition(const struct mps_control *control, const char *uuid,
                                      unsigned chunks, uint64_t deadline_ns)
{
    struct child_result reply;
    enum status status =
        mps_control_command(control, deadline_ns, &reply, "sm_partition add %s %u", uuid, chunks);
    if (status == STATUS_OK)
        status = mps_reply_partition(reply.output, reply.output_bytes);
    child_result_release(&reply);
    return status == STATUS_OK
               ? status
               : status_prefix(status, "a partition of %u chunk%s on GPU %s: ", chunks,
                               chunks == 1 ? "" : "s", uuid);
}

/* The daemon cuts a UUID short: puts the whole one there, if it is known. */
static void complete(struct mps_partition_row *row, const struct mps_device_row *devices,
                     size_t count)
{
    size_t length = strcspn(row->name, "/");
    char whole[sizeof devices->uuid + sizeof row->name];
    for (size_t i = 0; i < count; i++) {
        if (strncmp(devices[i].uuid, row->name, length) != 0)
            continue;
        snprintf(whole, sizeof whole, "%s%s", devices[i].uuid, row->name + length);
        if (strlen(whole) < sizeof row->name)
            strcpy(row->name, whole);
        return;
    }
}

enum status mps_control_partitions(const struct mps_control *control, uint64_t deadline_ns,
                                   struct mps_partition_row *rows, size_t capacity, size_t *count)
{
    struct mps_device_row devices[MOST_DEVICES];
    struct child_result reply;
    size_t device_count = 0;
    enum status status = mps_control_command(control, deadline_ns, &reply, "lspart");
    if (status == STATUS_OK)
        status = mps_reply_partitions(reply.output, reply.output_bytes, rows, capacity, count);
    child_result_release(&reply);
    if (status != STATUS_OK || *count == 0)
        return status;
    if (mps_control_devices(control, deadline_ns, devices, MOST_DEVICES, &device_count) !=
        STATUS_OK)
        device_count = 0;
    for (size_t i = 0; i < *count; i++)
        complete(&rows[i], devices, device_count);
    return STATUS_OK;
}
