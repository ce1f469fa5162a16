#include "emul/mps/control.h"

#include <stdio.h>
#include <string.h>

#include "emul/model/device_names.h"

unsigned control_count_clients(const struct control *control)
{
    unsigned count = 0;
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
        count += control->connections[i].state == CONNECTION_CLIENT;
    return count;
}

struct connection *control_next_client(struct control *control, unsigned id, bool with_context)
{
    struct connection *next = NULL;
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++) {
        struct connection *client = &control->connections[i];
        if (client->state == CONNECTION_CLIENT && !client->terminated &&
            (client->has_context || !with_context) && client->id > id &&
            (next == NULL || client->id < next->id))
            next = client;
    }
    return next;
}

static unsigned count_contexts(const struct control *control)
{
    unsigned count = 0;
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
        count += control->connections[i].state == CONNECTION_CLIENT &&
                 control->connections[i].has_context;
    return count;
}

/* -- coming ------------------------------------------------------------------------------------ */

static void refuse(struct control *control, struct connection *connection, int context,
                   cuda_result code)
{
    control_log_server(control, "Failed to accept client {PID: %d, Context ID: %d} with status %d",
                       (int)connection->pid, context, code);
    control_reply(connection, "refused %d\n", code);
}

static bool serves(const struct control *control, uint32_t device)
{
    for (uint32_t i = 0; i < control->visible.count; i++)
        if (control->visible.devices[i] == device)
            return true;
    return false;
}

static void attach(struct control *control, struct connection *connection, double percentage,
                   unsigned long long limit_mib)
{
    bool ends = control->quitting || control->server_draining;
    if (!serves(control, connection->device)) {
        refuse(control, connection, 0, CUDA_NO_DEVICE);
        connection->state = CONNECTION_CLOSING;
        return;
    }
    /* A driver first looks whether there is a daemon. */
    control_log(control, "User did not send valid credentials");
    control_log(control, "Accepting connection...");
    control_log(control, "NEW CLIENT %d from user %d: %s", (int)connection->pid,
                (int)connection->user,
                control->server != 0 ? "Server already exists"
                                     : "Server is not ready, push client to pending list");
    if (!ends)
        control_start_server(control);
    control_log_arrival(control, connection, 0);
    if (ends || control->server == 0 || control->server_fault) {
        if (control->server_fault)
            control_log_server(control,
                               "Server teardown in progress. Refusing to accept new client {PID: "
                               "%d, Context ID: 0}",
                               (int)connection->pid);
        refuse(control, connection, 0, CUDA_MPS_SERVER_NOT_READY);
        connection->state = CONNECTION_CLOSING;
        return;
    }
    if (percentage > control->server_percentage)
        percentage = control->server_percentage;
    if (limit_mib == 0 || (control->server_limit_mib > 0 && limit_mib > control->server_limit_mib))
        limit_mib = control->server_limit_mib;
    if (connection->priority < 0)
        connection->priority = control->default_priority;
    connection->id = ++control->next_id;
    connection->state = CONNECTION_CLIENT;
    control_reply(connection, "ok %d %.3f %llu\n", (int)control->server, percentage, limit_mib);
}

static void make_context(struct control *control, struct connection *client)
{
    uint32_t used = client->queues, of_server = used;
    unsigned contexts = 0;
    cuda_result code = client->broken;
    /* Each device has room of its own. The server takes as many queues as one client
     * (docs/mps.md). */
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++) {
        const struct connection *other = &control->connections[i];
        if (other == client || other->state != CONNECTION_CLIENT || !other->has_context ||
            other->device != client->device)
            continue;
        used += other->queues;
        if (other->queues > of_server)
            of_server = other->queues;
        contexts++;
    }
    if (code == CUDA_SUCCESS_ && control->server_fault)
        code = CUDA_MPS_SERVER_NOT_READY;
    else if (code == CUDA_SUCCESS_ && contexts >= MPS_LINK_CLIENTS)
        code = CUDA_MPS_MAX_CLIENTS_REACHED;
    else if (code == CUDA_SUCCESS_ && used + of_server > MPS_LINK_QUEUE_BUDGET)
        code = CUDA_OUT_OF_MEMORY;
    if (code != CUDA_SUCCESS_) {
        refuse(control, client, 1, code);
        return;
    }
    client->has_context = true;
    control_log(control, "Accepting connection...");
    control_log(control, "NEW CLIENT %d from user %d: Server already exists", (int)client->pid,
                (int)client->user);
    control_log_arrival(control, client, 1);
    /* The real one logs nothing here. */
    if (client->priority != 0)
        control_log_server(control, "Client {PID: %d, Context ID: 1} has priority %d",
                           (int)client->pid, client->priority);
    control_reply(client, "ok\n");
}

/* -- going ------------------------------------------------------------------------------------- */

static void drop_context(struct control *control, struct connection *client)
{
    if (!client->has_context)
        return;
    client->has_context = false;
    control_log_server(control,
                       "Client {PID: %d, Context ID: 1} exiting. Number of active client contexts "
                       "is %u.",
                       (int)client->pid, count_contexts(control));
}

static void end_fault(struct control *control)
{
    for (size_t i = 0; i < CONTROL_CONNECTIONS; i++)
        if (control->connections[i].state == CONNECTION_CLIENT &&
            control->connections[i].broken != CUDA_SUCCESS_)
            return;
    control_log_server(control, "Destroy server context on device 0 (%s)", DEVICE_NAME);
    control->server_fault = control->server_has_context = false;
}

void control_client_left(struct control *control, struct connection *client)
{
    if (client->has_context)
        control_log_departure(control, client, 1);
    drop_context(control, client);
    control_log_departure(control, client, 0);
    control_log_server(control, "Client process %d disconnected", (int)client->pid);
    if (control->server_fault)
        end_fault(control);
}

/* -- what breaks ------------------------------------------------------------------------------- */

static void break_context(struct control *control, struct connection *client, cuda_result code)
{
    if (client->broken != CUDA_SUCCESS_)
        return;
    client->broken = code;
    control_reply(client, "broken %d\n", code);
    control_send(control, client);
}

void control_terminate(struct control *control, struct connection *client)
{
    control_log_server(control, "MPS server requesting client {PID: %d, Context ID: 1} to exit",
                       (int)client->pid);
    control_log_departure(control, client, 1);
    control_log_server(control, "Client termination succeeded.");
    drop_context(control, client);
    client->terminated = true;
    break_context(control, client, CUDA_MPS_CLIENT_TERMINATED);
}

/* One client's error is an error of all: the server resets the device. As with the real one, the
 * log begins with the client that came first, not with the one whose error it was. */
static void handle_fatal(struct control *control, struct connection *culprit, cuda_result code)
{
    struct connection *client = control_next_client(control, 0, true);
    control->server_fault = true;
    culprit->broken = code; /* and knows */
    control_log_server(control, "Client {PID: %d, Context: 1} encountered a fatal GPU error.",
                       (int)client->pid);
    control_log_server(control, "Server is handling a fatal GPU error.");
    for (; client != NULL; client = control_next_client(control, client->id, true))
        control_log_server(control, "Client {PID: %d, Context ID: 1} on device 0 to be torn down",
                           (int)client->pid);
    client = NULL;
    while ((client = control_next_client(control, client != NULL ? client->id : 0, true)) != NULL) {
        control_log_server(control,
                           "All clients belonging to error trigging process %d will be torn down",
                           (int)client->pid);
        control_log_server(control,
                           "Client {PID: %d, Context ID: 1} on the error-trigging process %d to be "
                           "torn down",
                           (int)client->pid, (int)client->pid);
    }
    control_log_server(control, "The following devices will be reset:");
    control_log_server(control, "0");
    control_log_server(control, "The following client process have a sticky error set:");
    while ((client = control_next_client(control, client != NULL ? client->id : 0, true)) != NULL) {
        control_log_server(control, "%d", (int)client->pid);
        break_context(control, client, code);
    }
}

/* -- messages ---------------------------------------------------------------------------------- */

bool control_client_line(struct control *control, struct connection *connection, const char *line)
{
    int pid, priority, code;
    unsigned queues, device = 0;
    double percentage;
    unsigned long long limit_mib;
    bool is_client = connection->state == CONNECTION_CLIENT;

    if (connection->state == CONNECTION_OPEN &&
        sscanf(line, "attach %d %u %lf %llu %d %u", &pid, &queues, &percentage, &limit_mib,
               &priority, &device) >= 5 &&
        pid > 0 && queues > 0 && queues <= 32) {
        connection->pid = pid;
        connection->device = device;
        connection->queues = queues;
        connection->priority = priority;
        connection->has_context = connection->terminated = false;
        connection->broken = CUDA_SUCCESS_;
        attach(control, connection, percentage, limit_mib);
    } else if (is_client && strcmp(line, "context") == 0) {
        make_context(control, connection);
    } else if (is_client && strcmp(line, "release") == 0) {
        drop_context(control, connection);
        control_reply(connection, "ok\n");
    } else if (is_client && sscanf(line, "fatal %d", &code) == 1 && code > 0) {
        /* A client that is torn down already, or has gone, breaks nothing more. */
        if (connection->has_context && connection->broken == CUDA_SUCCESS_)
            handle_fatal(control, connection, code);
        control_reply(connection, "ok\n");
    } else {
        return false;
    }
    return true;
}
