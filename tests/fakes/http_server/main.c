/*
 * http-server --port N [OPTION...]: a server of HTTP/1.1 on 127.0.0.1 for tests of what loads one.
 *
 * One thread serves all connections. It ends at once on SIGTERM.
 *   --ready-after S   GET /health answers 503 until S seconds after the start, then 200
 *   --delay-ms X      each answer comes X ms after its request
 *   --serial          requests are served one after another, as by a server with one GPU
 *   --stream-ms X     answers are chunked: a first chunk after X ms more, the rest X ms later
 *   --text TEXT       the body of answers ({"ok":true})
 *   --wants TEXT      answers 400 where the request's body is not TEXT
 *   --record FILE     appends what requests send, a line each, up to 1023 bytes of it
 *   --gpu             has a context on the driver that MPSWEEP_DRIVER names
 *   --refuse          does not listen at all
 *   --stubborn        ignores SIGTERM
 *   --exit-after N    exits with status 3 after N answers
 * Faults, of which the last one given counts; with --stream-ms --close and --stall come after the
 * first chunk:
 *   --status N        answers with this status
 *   --wrong-text TEXT answers with this body
 *   --close           closes the connection in the place of an answer
 *   --stall           never answers
 *   --length TEXT     answers with this Content-Length, whatever the body's is; not a stream
 *   --every N         every Nth request has the fault (1)
 *
 * GET /count answers how many requests it has answered. Neither /health nor /count is delayed,
 * counted, or faulty.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/fakes/http_server/internal.h"

static struct connection *connections[MAX_CONNECTIONS];
static int epoll;

__attribute__((noreturn)) void die(const char *what)
{
    fprintf(stderr, "http-server: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

void end_connection(struct connection *connection)
{
    wait_no_more(connection);
    connections[connection->fd] = NULL;
    close(connection->fd);
    free(connection);
}

static void accept_all(int listener)
{
    const int on = 1;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        struct connection *connection = fd < MAX_CONNECTIONS ? malloc(sizeof *connection) : NULL;
        if (!connection) {
            close(fd);
            continue;
        }
        memset(connection, 0, offsetof(struct connection, input));
        connection->fd = fd;
        connection->place = -1;
        connections[fd] = connection;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = fd};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
            die("epoll_ctl");
    }
}

static void react(const struct epoll_event *event)
{
    struct connection *connection = connections[event->data.fd];
    if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        end_connection(connection);
    else
        read_input(connection);
}

static void run(int listener)
{
    struct epoll_event events[256];
    for (;;) {
        bool accepts = false, is_time = false;
        int count = epoll_wait(epoll, events, 256, -1);
        if (count < 0 && errno != EINTR)
            die("epoll_wait");
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener)
                accepts = true;
            else if (events[i].data.fd == timer)
                is_time = true;
            else
                react(&events[i]);
        }
        /* Last, since the events above are of the connections that were there before. */
        if (is_time)
            take_times();
        if (accepts)
            accept_all(listener);
        arm_timer();
    }
}

static void watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        die("epoll_ctl");
}

static int begin_to_listen(void)
{
    const int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        die("socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 4096) != 0) {
        if (errno != EADDRINUSE)
            die("listen");
        fprintf(stderr, "http-server: port %d is taken\n", port);
        exit(EXIT_FAILURE);
    }
    return fd;
}

static void use_gpu(void)
{
    int (*init)(unsigned);
    int (*retain)(void **, int);
    const char *name = getenv("MPSWEEP_DRIVER");
    void *context, *driver = dlopen(name ? name : "libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "http-server: %s\n", dlerror());
        exit(EXIT_FAILURE);
    }
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    if (!init || !retain || init(0) != 0 || retain(&context, 0) != 0) {
        fprintf(stderr, "http-server: the driver gives no context\n");
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv)
{
    take_options(argc, argv);
    if (stubborn)
        signal(SIGTERM, SIG_IGN);
    if (uses_gpu)
        use_gpu();
    while (refuses)
        pause();
    epoll = epoll_create1(EPOLL_CLOEXEC);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (epoll < 0 || timer < 0)
        die("epoll");
    int listener = begin_to_listen();
    watch(listener);
    watch(timer);
    run(listener);
}
