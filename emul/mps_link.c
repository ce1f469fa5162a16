#include "emul/mps_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

const char *mps_link_directory(void)
{
    const char *directory = getenv("CUDA_MPS_PIPE_DIRECTORY");
    return directory != NULL && *directory != '\0' ? directory : "/tmp/nvidia-mps";
}

bool mps_link_path(const char *file, char path[sizeof(((struct sockaddr_un *)0)->sun_path)])
{
    size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);
    int length = snprintf(path, room, "%s/%s", mps_link_directory(), file);
    return length > 0 && (size_t)length < room;
}

int mps_link_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval limit = {.tv_sec = MPS_LINK_DEADLINE_MS / 1000};
    if (!mps_link_path("control", address.sun_path))
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* The sending limit also bounds connect(), where a daemon does not accept. */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

bool mps_link_send(int fd, const char *text, uint64_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, text, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        text += sent;
        length -= (uint64_t)sent;
    }
    return true;
}

/* Sends one line and reads the answer, without its end. What stands for an answer that did not
 * come is a CUresult: the daemon is slow, or gone. */
static cuda_result ask(int fd, const char *question, char answer[MPS_LINK_LINE_BYTES])
{
    size_t length = 0;
    if (!mps_link_send(fd, question, strlen(question)))
        return CUDA_MPS_CONNECTION_FAILED;
    while (length < MPS_LINK_LINE_BYTES) {
        ssize_t got = recv(fd, answer + length, 1, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return CUDA_MPS_SERVER_NOT_READY;
        if (got <= 0)
            return CUDA_MPS_CONNECTION_FAILED;
        if (answer[length] == '\n') {
            answer[length] = '\0';
            return CUDA_SUCCESS_;
        }
        length++;
    }
    return CUDA_MPS_RPC_FAILURE;
}

static cuda_result read_refusal(const char *answer)
{
    int code;
    if (sscanf(answer, "refused %d", &code) == 1 && code != CUDA_SUCCESS_)
        return code;
    return CUDA_MPS_RPC_FAILURE;
}

void mps_client_attach(struct mps_client *client, uint32_t connections)
{
    char line[MPS_LINK_LINE_BYTES];
    const char *wanted = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    double percentage = wanted != NULL ? strtod(wanted, NULL) : 100.0;
    if (!(percentage > 0.0 && percentage < 100.0))
        percentage = 100.0;

    *client = (struct mps_client){.fd = mps_link_connect(), .percentage = 100.0};
    if (client->fd < 0)
        return;
    snprintf(line, sizeof line, "attach %d %u %.3f\n", (int)getpid(), connections, percentage);
    client->refusal = ask(client->fd, line, line);
    if (client->refusal == CUDA_SUCCESS_ &&
        sscanf(line, "ok %d %lf", &client->server, &client->percentage) != 2)
        client->refusal = read_refusal(line);
}

cuda_result mps_client_open_context(struct mps_client *client)
{
    char line[MPS_LINK_LINE_BYTES];
    if (client->fd < 0 || client->refusal != CUDA_SUCCESS_)
        return client->refusal;
    cuda_result result = ask(client->fd, "context\n", line);
    if (result == CUDA_SUCCESS_ && strcmp(line, "ok") != 0)
        result = read_refusal(line);
    return result;
}

void mps_client_close_context(struct mps_client *client)
{
    char line[MPS_LINK_LINE_BYTES];
    if (client->fd >= 0 && client->refusal == CUDA_SUCCESS_)
        ask(client->fd, "release\n", line);
}

bool mps_client_is_lost(const struct mps_client *client)
{
    char byte;
    if (client->fd < 0 || client->refusal != CUDA_SUCCESS_)
        return false;
    ssize_t got = recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}
