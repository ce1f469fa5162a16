#include "emul/mps/control.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "emul/model/device_names.h"

static int open_file(const char *name)
{
    char path[4096];
    const char *directory = getenv("CUDA_MPS_LOG_DIRECTORY");
    if (directory == NULL || *directory == '\0')
        directory = "/var/log/nvidia-mps";
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return -1;
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

void control_log_open(struct control *control, bool to_output)
{
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)] = "";
    control->log_fd = to_output ? STDOUT_FILENO : open_file("control.log");
    control->server_log_fd = to_output ? STDOUT_FILENO : open_file("server.log");
    mps_link_path("control", path);
    control_log(control, "Starting control daemon using socket %s", path);
    control_log(control,
                "To connect CUDA applications to this daemon, set env CUDA_MPS_PIPE_DIRECTORY=%s",
                mps_link_directory());
    control_log(control, "CUDA MPS Control binary version: %d", CONTROL_BINARY_VERSION);
}

void control_log_as(int fd, const char *who, pid_t pid, const char *format, ...)
{
    char text[1024], wall[32];
    va_list arguments;
    if (fd < 0)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    clock_wall_local(wall);
    dprintf(fd, "[%s %s %5d] %s\n", wall, who, (int)pid, text);
}

/* A server that does not know yet what it is logs as "Other", and its process as the daemon before
 * it runs the server's program. */
void control_log_server_start(struct control *control)
{
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)] = "";
    pid_t server = control->server;
    mps_link_path("control", path);
    control_log_as(control->log_fd, "Control", server, "Starting new server %d for user %d",
                   (int)server, (int)geteuid());
    control_log_as(control->server_log_fd, "Other", server, "Startup");
    control_log_as(control->server_log_fd, "Other", server,
                   "Connecting to control daemon on socket: %s", path);
    control_log(control, "Accepting connection...");
    control_log_as(control->server_log_fd, "Other", server, "Initializing server process");
    control_log_server(control, "Creating server context on device 0 (%s)", DEVICE_NAME);
    control_log_server(control, "Created anonymous shared memory region mps.shm.%d.%d",
                       (int)geteuid(), (int)server);
    control_log_server(control, "CUDA MPS Server for Linux/Unix. Binary version: %d",
                       CONTROL_BINARY_VERSION);
    control_log(control, "NEW SERVER %d: Ready", (int)server);
    control_log_server(control, "Active Threads Percentage set to %.1f",
                       control->server_percentage);
    control_log_server(control, "Server Priority set to %d", control->default_priority);
    control_log_server(control, "Server has started");
}

void control_log_arrival(struct control *control, const struct connection *client, int context)
{
    /* The real one names the request before this one. */
    control_log_server(control, "Received new client request for {PID: %d, Context ID: %d}",
                       (int)control->logged_pid, control->logged_context);
    control->logged_pid = client->pid;
    control->logged_context = context;
    if (control->server_fault)
        return;
    if (!control->server_has_context)
        control_log_server(control, "Creating server context on device 0 (%s)", DEVICE_NAME);
    control->server_has_context = true;
    control_log_server(control, "Client {PID: %d, Context ID: %d} connected", (int)client->pid,
                       context);
    control_log_server(control, "Creating worker thread for client {PID: %d, Context ID: %d}",
                       (int)client->pid, context);
    if (context == 0)
        return;
    control_log_server(control, "Device %s (uuid %s) is associated", DEVICE_NAME, DEVICE_UUID);
    control_log_server(control, "Status of client {PID: %d, Context ID: %d} is ACTIVE",
                       (int)client->pid, context);
}

void control_log_departure(struct control *control, const struct connection *client, int context)
{
    control_log_server(control,
                       "Server failed to recevie command with status %d, assuming client {PID: %d, "
                       "Context ID: %d} exit",
                       CUDA_MPS_RPC_FAILURE, (int)client->pid, context);
}
