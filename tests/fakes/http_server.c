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
 *   --every N         every Nth request has the fault (1)
 *
 * GET /count answers how many requests it has answered. Neither /health nor /count is delayed,
 * counted, or faulty.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "emul/model/lateness.h"

#define MAX_CONNECTIONS 16384 /* also the highest descriptor */
#define MAX_TEXT 8192
#define MAX_BODY (16L << 20)
#define NS_PER_MS 1000000
#define NS_PER_S 1000000000

enum fault { FAULT_NONE, FAULT_STATUS, FAULT_TEXT, FAULT_CLOSE, FAULT_STALL };

static int port;
static int64_t ready_ns, delay_ns, stream_ns;
static bool serial, streams, uses_gpu, refuses, stubborn;
static const char *good_text = "{\"ok\":true}", *wrong_text, *wanted_body;
static enum fault configured_fault;
static int fault_status;
static long every = 1, exit_after;

/* What a connection does. Only where it reads does it take more from its buffer. */
enum state { READ_HEAD, READ_BODY, WAIT_FOR_ANSWER, WAIT_FOR_REST, STALLED, DISCARD };

struct connection {
    int fd;
    enum state state;
    /* Input that was not taken yet; whether the socket may have more. */
    size_t have;
    bool unread;
    /* The request. */
    bool closes, is_get;
    char path[16];
    long body_bytes, body_left;
    bool body_differs;
    enum fault fault;
    /* When it continues, and its place in the heap, or -1. */
    int64_t due_ns;
    int place;
    char input[16384];
};

static struct connection *connections[MAX_CONNECTIONS];
/* Those that wait for a time: a heap with the first one at its top. */
static struct connection *heap[MAX_CONNECTIONS];
static int heap_size;
static int64_t armed_ns;
static int epoll, timer;
static int64_t busy_until_ns;
static long received, answered;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "http-server: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* -- times ---------------------------------------------------------------------------------------
 */

static void place_at(int place, struct connection *connection)
{
    heap[place] = connection;
    connection->place = place;
}

static void sift(int place)
{
    struct connection *moved = heap[place];
    for (; place > 0 && heap[(place - 1) / 2]->due_ns > moved->due_ns; place = (place - 1) / 2)
        place_at(place, heap[(place - 1) / 2]);
    for (;;) {
        int child = 2 * place + 1;
        if (child + 1 < heap_size && heap[child + 1]->due_ns < heap[child]->due_ns)
            child++;
        if (child >= heap_size || heap[child]->due_ns >= moved->due_ns)
            break;
        place_at(place, heap[child]);
        place = child;
    }
    place_at(place, moved);
}

static void wait_until(struct connection *connection, int64_t due_ns)
{
    connection->due_ns = due_ns;
    place_at(heap_size++, connection);
    sift(connection->place);
}

static void wait_no_more(struct connection *connection)
{
    int place = connection->place;
    if (place < 0)
        return;
    connection->place = -1;
    if (place == --heap_size)
        return;
    place_at(place, heap[heap_size]);
    sift(place);
}

static void arm_timer(void)
{
    if (heap_size == 0 || heap[0]->due_ns == armed_ns)
        return;
    armed_ns = heap[0]->due_ns;
    struct itimerspec when = {
        .it_value = {.tv_sec = armed_ns / NS_PER_S, .tv_nsec = armed_ns % NS_PER_S}};
    if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) != 0)
        die("timerfd_settime");
}

/* -- answers -------------------------------------------------------------------------------------
 */

static void end_connection(struct connection *connection)
{
    wait_no_more(connection);
    connections[connection->fd] = NULL;
    close(connection->fd);
    free(connection);
}

/* Answers are far shorter than a socket's buffer. A client that does not read them is gone. */
static bool send_all(struct connection *connection, const char *bytes, int count)
{
    if (send(connection->fd, bytes, (size_t)count, MSG_NOSIGNAL) == count)
        return true;
    end_connection(connection);
    return false;
}

/* Ready for the next request. Each of these returns whether the connection is still there. */
static bool end_answer(struct connection *connection)
{
    if (connection->closes) {
        end_connection(connection);
        return false;
    }
    connection->state = READ_HEAD;
    return true;
}

static bool answer(struct connection *connection, int status, const char *text)
{
    char bytes[MAX_TEXT + 256];
    int count = snprintf(bytes, sizeof bytes,
                         "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\n%s\r\n%s",
                         status, status < 400 ? "OK" : "Error", strlen(text),
                         connection->closes ? "Connection: close\r\n" : "", text);
    return send_all(connection, bytes, count) && end_answer(connection);
}

/* Answers a request whose rest cannot be taken. What still comes is read, so that the answer is. */
static bool reject(struct connection *connection, int status)
{
    connection->closes = false;
    if (!answer(connection, status, "{\"error\":\"rejected\"}"))
        return false;
    connection->state = DISCARD;
    shutdown(connection->fd, SHUT_WR);
    return true;
}

static int status_of(const struct connection *connection)
{
    if (connection->fault == FAULT_STATUS)
        return fault_status;
    return connection->body_differs ? 400 : 200;
}

static const char *text_of(const struct connection *connection)
{
    return connection->fault == FAULT_TEXT ? wrong_text : good_text;
}

static void count_answer(void)
{
    if (++answered == exit_after)
        exit(3);
}

static bool misbehave(struct connection *connection)
{
    if (connection->fault == FAULT_CLOSE) {
        end_connection(connection);
        return false;
    }
    connection->state = STALLED;
    return true;
}

static bool is_silent(const struct connection *connection)
{
    return connection->fault == FAULT_CLOSE || connection->fault == FAULT_STALL;
}

static bool begin_stream(struct connection *connection)
{
    char bytes[MAX_TEXT + 256];
    const char *text = text_of(connection);
    int half = (int)(strlen(text) + 1) / 2, status = status_of(connection);
    int count =
        snprintf(bytes, sizeof bytes,
                 "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"
                 "Transfer-Encoding: chunked\r\n%s\r\n%x\r\n%.*s\r\n",
                 status, status < 400 ? "OK" : "Error",
                 connection->closes ? "Connection: close\r\n" : "", (unsigned)half, half, text);
    connection->state = WAIT_FOR_REST;
    wait_until(connection, connection->due_ns + stream_ns);
    return send_all(connection, bytes, count);
}

static bool end_stream(struct connection *connection)
{
    char bytes[MAX_TEXT + 64];
    const char *text = text_of(connection);
    size_t half = (strlen(text) + 1) / 2, rest = strlen(text) - half;
    if (is_silent(connection))
        return misbehave(connection);
    int count = rest == 0
                    ? snprintf(bytes, sizeof bytes, "0\r\n\r\n")
                    : snprintf(bytes, sizeof bytes, "%zx\r\n%s\r\n0\r\n\r\n", rest, text + half);
    if (!send_all(connection, bytes, count))
        return false;
    count_answer();
    return end_answer(connection);
}

/* The time of a connection's request has come. */
static bool proceed(struct connection *connection)
{
    if (connection->state == WAIT_FOR_REST)
        return end_stream(connection);
    if (streams)
        return begin_stream(connection);
    if (is_silent(connection))
        return misbehave(connection);
    if (!answer(connection, status_of(connection), text_of(connection)))
        return false;
    count_answer();
    return true;
}

static bool serve(struct connection *connection)
{
    char text[32];
    if (connection->is_get && strcmp(connection->path, "/health") == 0)
        return answer(connection, now_ns() < ready_ns ? 503 : 200, "{}");
    if (connection->is_get && strcmp(connection->path, "/count") == 0) {
        snprintf(text, sizeof text, "%ld", answered);
        return answer(connection, 200, text);
    }
    connection->fault = ++received % every == 0 ? configured_fault : FAULT_NONE;
    connection->state = WAIT_FOR_ANSWER;
    if (delay_ns == 0 && !streams)
        return proceed(connection);
    int64_t begin_ns = now_ns();
    if (serial) {
        if (begin_ns < busy_until_ns)
            begin_ns = busy_until_ns;
        busy_until_ns = begin_ns + delay_ns + 2 * stream_ns;
    }
    wait_until(connection, begin_ns + delay_ns + stream_ns);
    return true;
}

/* -- requests ------------------------------------------------------------------------------------
 */

/* Compares a part of the body with that of --wants. */
static void take_body(struct connection *connection, const char *bytes, size_t count)
{
    long at = connection->body_bytes - connection->body_left;
    if (wanted_body && !connection->body_differs)
        connection->body_differs = memcmp(wanted_body + at, bytes, count) != 0;
    connection->body_left -= (long)count;
}

/* The value of a line "NAME: VALUE", or NULL. */
static const char *value_of(const char *line, const char *name)
{
    size_t count = strlen(name);
    if (strncasecmp(line, name, count) != 0 || line[count] != ':')
        return NULL;
    line += count + 1;
    return line + strspn(line, " \t");
}

static void take_first_line(struct connection *connection, char *line)
{
    char *path = strchr(line, ' '), *version = path ? strchr(path + 1, ' ') : NULL;
    connection->body_bytes = path && version && path[1] == '/' ? 0 : -1;
    if (connection->body_bytes < 0)
        return;
    *path++ = *version++ = '\0';
    connection->is_get = strcmp(line, "GET") == 0;
    connection->closes = strncmp(version, "HTTP/1.0", 8) == 0;
    snprintf(connection->path, sizeof connection->path, "%s", path);
}

/* Takes the head of a request, which ends with a null character. */
static bool take_head(struct connection *connection, char *head)
{
    bool continues = false;
    char *next, *line = strsep(&head, "\n");
    const char *value;
    take_first_line(connection, line);
    if (connection->body_bytes < 0)
        return reject(connection, 400);
    for (next = head; (line = strsep(&next, "\n"));) {
        if ((value = value_of(line, "Content-Length")))
            connection->body_bytes = isdigit((unsigned char)*value) ? strtol(value, NULL, 10) : -1;
        else if (value_of(line, "Transfer-Encoding"))
            return reject(connection, 411);
        else if ((value = value_of(line, "Connection")))
            connection->closes = strncasecmp(value, "close", 5) == 0;
        else if (value_of(line, "Expect"))
            continues = true;
    }
    if (connection->body_bytes < 0)
        return reject(connection, 400);
    if (connection->body_bytes > MAX_BODY)
        return reject(connection, 413);
    connection->body_left = connection->body_bytes;
    connection->body_differs = wanted_body && connection->body_bytes != (long)strlen(wanted_body);
    connection->state = READ_BODY;
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    return !continues || send_all(connection, go_on, sizeof go_on - 1);
}

static void drop_input(struct connection *connection, size_t count)
{
    connection->have -= count;
    memmove(connection->input, connection->input + count, connection->have);
}

/* Takes what it can from the buffer. */
static bool take_input(struct connection *connection)
{
    for (;;) {
        if (connection->state == READ_HEAD) {
            char *end = memmem(connection->input, connection->have, "\r\n\r\n", 4);
            if (!end && connection->have == sizeof connection->input)
                return reject(connection, 431);
            if (!end)
                return true;
            *end = '\0';
            if (!take_head(connection, connection->input))
                return false;
            drop_input(connection, (size_t)(end + 4 - connection->input));
        } else if (connection->state == READ_BODY) {
            size_t count = connection->have;
            if ((long)count > connection->body_left)
                count = (size_t)connection->body_left;
            take_body(connection, connection->input, count);
            drop_input(connection, count);
            if (connection->body_left > 0)
                return true;
            if (!serve(connection))
                return false;
        } else {
            if (connection->state == DISCARD)
                connection->have = 0;
            return true;
        }
    }
}

/* Reads and takes until the socket has no more, or the buffer is full. */
static void read_input(struct connection *connection)
{
    for (;;) {
        size_t space = sizeof connection->input - connection->have;
        connection->unread = space == 0;
        if (space == 0)
            return;
        ssize_t count = recv(connection->fd, connection->input + connection->have, space, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return;
        if (count <= 0) {
            end_connection(connection);
            return;
        }
        connection->have += (size_t)count;
        if (!take_input(connection) || (size_t)count < space)
            return;
    }
}

static void resume(struct connection *connection)
{
    int64_t wait_ns = delay_ns + stream_ns;
    if (connection->state == WAIT_FOR_ANSWER)
        lateness_note((uint64_t)(connection->due_ns - wait_ns), (uint64_t)connection->due_ns);
    wait_no_more(connection);
    if (proceed(connection) && take_input(connection) && connection->unread)
        read_input(connection);
}

/* -- the server ----------------------------------------------------------------------------------
 */

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

static void take_times(void)
{
    uint64_t count;
    if (read(timer, &count, sizeof count) < 0 && errno != EAGAIN)
        die("timer");
    armed_ns = 0;
    int64_t now = now_ns();
    while (heap_size > 0 && heap[0]->due_ns <= now)
        resume(heap[0]);
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

/* -- options -------------------------------------------------------------------------------------
 */

enum option_id {
    OPTION_PORT = 1,
    OPTION_READY_AFTER,
    OPTION_DELAY,
    OPTION_SERIAL,
    OPTION_STREAM,
    OPTION_TEXT,
    OPTION_WANTS,
    OPTION_GPU,
    OPTION_REFUSE,
    OPTION_STUBBORN,
    OPTION_EXIT_AFTER,
    OPTION_STATUS,
    OPTION_WRONG_TEXT,
    OPTION_CLOSE,
    OPTION_STALL,
    OPTION_EVERY
};

static const struct option options[] = {
    {"port", required_argument, NULL, OPTION_PORT},
    {"ready-after", required_argument, NULL, OPTION_READY_AFTER},
    {"delay-ms", required_argument, NULL, OPTION_DELAY},
    {"serial", no_argument, NULL, OPTION_SERIAL},
    {"stream-ms", required_argument, NULL, OPTION_STREAM},
    {"text", required_argument, NULL, OPTION_TEXT},
    {"wants", required_argument, NULL, OPTION_WANTS},
    {"gpu", no_argument, NULL, OPTION_GPU},
    {"refuse", no_argument, NULL, OPTION_REFUSE},
    {"stubborn", no_argument, NULL, OPTION_STUBBORN},
    {"exit-after", required_argument, NULL, OPTION_EXIT_AFTER},
    {"status", required_argument, NULL, OPTION_STATUS},
    {"wrong-text", required_argument, NULL, OPTION_WRONG_TEXT},
    {"close", no_argument, NULL, OPTION_CLOSE},
    {"stall", no_argument, NULL, OPTION_STALL},
    {"every", required_argument, NULL, OPTION_EVERY},
    {NULL, 0, NULL, 0},
};

__attribute__((noreturn)) static void refuse_usage(const char *text)
{
    fprintf(stderr, "http-server: wrong value '%s'\n", text);
    exit(EXIT_FAILURE);
}

static double number_of(const char *text, double lowest, double highest)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= lowest && number <= highest))
        refuse_usage(text);
    return number;
}

static const char *short_text(const char *text)
{
    if (strlen(text) > MAX_TEXT)
        refuse_usage("of more than 8192 bytes");
    return text;
}

static void take_option(enum option_id option, const char *value)
{
    switch (option) {
    case OPTION_PORT:
        port = (int)number_of(value, 1, 65535);
        break;
    case OPTION_READY_AFTER:
        ready_ns = now_ns() + (int64_t)(number_of(value, 0, 1e6) * NS_PER_S);
        break;
    case OPTION_DELAY:
        delay_ns = (int64_t)(number_of(value, 0, 1e6) * NS_PER_MS);
        break;
    case OPTION_SERIAL:
        serial = true;
        break;
    case OPTION_STREAM:
        streams = true;
        stream_ns = (int64_t)(number_of(value, 0, 1e6) * NS_PER_MS);
        break;
    case OPTION_TEXT:
        good_text = short_text(value);
        break;
    case OPTION_WANTS:
        wanted_body = value;
        break;
    case OPTION_GPU:
        uses_gpu = true;
        break;
    case OPTION_REFUSE:
        refuses = true;
        break;
    case OPTION_STUBBORN:
        stubborn = true;
        break;
    case OPTION_EXIT_AFTER:
        exit_after = (long)number_of(value, 1, 1e9);
        break;
    case OPTION_STATUS:
        configured_fault = FAULT_STATUS;
        fault_status = (int)number_of(value, 200, 599);
        break;
    case OPTION_WRONG_TEXT:
        configured_fault = FAULT_TEXT;
        wrong_text = short_text(value);
        break;
    case OPTION_CLOSE:
        configured_fault = FAULT_CLOSE;
        break;
    case OPTION_STALL:
        configured_fault = FAULT_STALL;
        break;
    case OPTION_EVERY:
        every = (long)number_of(value, 1, 1e9);
        break;
    }
}

int main(int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?')
            return EXIT_FAILURE;
        take_option((enum option_id)option, optarg);
    }
    if (port == 0 || optind < argc)
        refuse_usage(optind < argc ? argv[optind] : "of --port");
    if (streams && (!*good_text || (wrong_text && !*wrong_text)))
        refuse_usage("of a text: an empty one has no two chunks");
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
