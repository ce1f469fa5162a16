#include "emul/model/mps_link.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/clock.h"

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

uint64_t mps_link_parse_mib(const char *text)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return 0;
    uint64_t value = strtoull(text, &end, 10);
    if (value > UINT64_MAX >> 30)
        value = UINT64_MAX >> 30;
    return *end == 'G' || *end == 'g' ? value * 1024 : value;
}

/* -- the driver's side ------------------------------------------------------------------------- */

/* One question at a time: the answer to it is the next line that the daemon does not send unasked.
 */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

static cuda_result read_line(int fd, char line[MPS_LINK_LINE_BYTES])
{
    size_t length = 0;
    while (length < MPS_LINK_LINE_BYTES) {
        ssize_t got = recv(fd, line + length, 1, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return CUDA_MPS_SERVER_NOT_READY;
        if (got <= 0)
            return CUDA_MPS_CONNECTION_FAILED;
        if (line[length] == '\n') {
            line[length] = '\0';
            return CUDA_SUCCESS_;
        }
        length++;
    }
    return CUDA_MPS_RPC_FAILURE;
}

static void set_broken(struct mps_client *client, cuda_result code)
{
    cuda_result none = CUDA_SUCCESS_;
    atomic_compare_exchange_strong(&client->broken, &none, code);
}

/* Sends one line and reads the answer, without its end. What stands for an answer that did not
 * come is a CUresult: the daemon is slow, or gone. */
static cuda_result ask(struct mps_client *client, const char *question,
                       char answer[MPS_LINK_LINE_BYTES])
{
    cuda_result result = CUDA_MPS_CONNECTION_FAILED;
    int code;
    pthread_mutex_lock(&asking);
    if (mps_link_send(client->fd, question, strlen(question)))
        result = read_line(client->fd, answer);
    while (result == CUDA_SUCCESS_ && sscanf(answer, "broken %d", &code) == 1) {
        set_broken(client, code);
        result = read_line(client->fd, answer);
    }
    pthread_mutex_unlock(&asking);
    return result;
}

static cuda_result read_refusal(const char *answer)
{
    int code;
    if (sscanf(answer, "refused %d", &code) == 1 && code != CUDA_SUCCESS_)
        return code;
    return CUDA_MPS_RPC_FAILURE;
}

/* The limit of device 0, in a list like "0=2G,1=512M". */
static uint64_t wanted_limit_mib(void)
{
    const char *text = getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
    while (text != NULL && *text != '\0') {
        if (strncmp(text, "0=", 2) == 0)
            return mps_link_parse_mib(text + 2);
        text += strcspn(text, ",");
        text += *text == ',';
    }
    return 0;
}

cuda_result mps_client_attach(struct mps_client *client, uint32_t connections, uint32_t device)
{
    char line[MPS_LINK_LINE_BYTES];
    const char *wanted = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    const char *priority = getenv("CUDA_MPS_CLIENT_PRIORITY");
    double percentage = wanted != NULL ? strtod(wanted, NULL) : 100.0;
    bool valid = priority != NULL && (strcmp(priority, "0") == 0 || strcmp(priority, "1") == 0);
    unsigned long long limit_mib;
    if (!(percentage > 0.0 && percentage < 100.0))
        percentage = 100.0;

    *client = (struct mps_client){.fd = mps_link_connect(), .percentage = 100.0};
    if (client->fd < 0)
        return CUDA_SUCCESS_;
    snprintf(line, sizeof line, "attach %d %u %.3f %llu %d %u\n", (int)getpid(), connections,
             percentage, (unsigned long long)wanted_limit_mib(), valid ? priority[0] - '0' : -1,
             device);
    cuda_result result = ask(client, line, line);
    if (result == CUDA_SUCCESS_ &&
        sscanf(line, "ok %d %lf %llu", &client->server, &client->percentage, &limit_mib) != 3)
        result = read_refusal(line);
    if (result == CUDA_SUCCESS_) {
        client->memory_bytes = (uint64_t)limit_mib << 20;
        return result;
    }
    close(client->fd);
    client->fd = -1;
    return result;
}

cuda_result mps_client_open_context(struct mps_client *client)
{
    char line[MPS_LINK_LINE_BYTES];
    if (client->fd < 0)
        return CUDA_SUCCESS_;
    cuda_result result = ask(client, "context\n", line);
    if (result == CUDA_SUCCESS_ && strcmp(line, "ok") != 0)
        result = read_refusal(line);
    return result;
}

void mps_client_close_context(struct mps_client *client)
{
    char line[MPS_LINK_LINE_BYTES];
    if (client->fd >= 0)
        ask(client, "release\n", line);
}

void mps_client_report_fatal(struct mps_client *client, cuda_result error)
{
    char line[MPS_LINK_LINE_BYTES];
    if (client->fd < 0)
        return;
    snprintf(line, sizeof line, "fatal %d\n", error);
    ask(client, line, line);
}

/* Leaves the message in the socket, so that it ends the sleep of every thread. */
cuda_result mps_client_error(struct mps_client *client)
{
    char line[32];
    int code;
    if (client->fd < 0)
        return CUDA_SUCCESS_;
    cuda_result broken = atomic_load(&client->broken);
    if (broken != CUDA_SUCCESS_)
        return broken;
    ssize_t got = recv(client->fd, line, sizeof line - 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR
                   ? CUDA_SUCCESS_
                   : CUDA_MPS_CONNECTION_FAILED;
    if (got == 0)
        return CUDA_MPS_CONNECTION_FAILED;
    line[got] = '\0';
    if (strchr(line, '\n') == NULL || sscanf(line, "broken %d", &code) != 1)
        return CUDA_SUCCESS_; /* the answer to another thread */
    set_broken(client, code);
    return atomic_load(&client->broken);
}

cuda_result mps_client_sleep_until(struct mps_client *client, uint64_t when_ns)
{
    if (client->fd < 0) {
        clock_sleep_until(when_ns);
        return CUDA_SUCCESS_;
    }
    for (;;) {
        struct pollfd watched = {.fd = client->fd, .events = POLLIN};
        uint64_t now_ns = clock_now_ns(), left_ns = when_ns > now_ns ? when_ns - now_ns : 0;
        const struct timespec left = clock_timespec(left_ns);
        int ready = ppoll(&watched, 1, &left, NULL);
        cuda_result error = ready != 0 ? mps_client_error(client) : atomic_load(&client->broken);
        if (error != CUDA_SUCCESS_ || left_ns == 0)
            return error;
        if (ready == 0)
            return CUDA_SUCCESS_;
    }
}
