#include "load/traffic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "client/requests.h"
#include "common/clock.h"
#include "load/exchange.h"

/* How often to look for what makes no event: the stop, the start, the end of the server. */
#define LOOK_MS 5

/* A connection that got no answer rests: a server that refuses all would be asked all the time. */
#define REST_NS (10 * NS_PER_MS)

/* One of the handles: at most one request is on its way. */
struct connection {
    struct mpsweep *handle;
    struct exchange exchange;
    uint64_t rests_until_ns;
    bool busy, over;
};

struct traffic {
    const struct load_options *options;
    struct server *server;
    CURLM *multi;
    struct connection *connections;
    unsigned count;
    int timer_fd;   /* of the next planned start */
    uint64_t place; /* among the bodies */
};

static struct connection *connection_of(CURL *easy)
{
    char *exchange = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &exchange);
    return (struct connection *)(void *)(exchange - offsetof(struct connection, exchange));
}

static void begin_request(struct traffic *traffic, struct exchange *exchange)
{
    unsigned processes, process = client_number(&processes);
    exchange_begin(exchange,
                   bodies_next(&traffic->options->bodies, process, processes, &traffic->place));
}

/* -- the first request ------------------------------------------------------------------------- */

static enum status libcurl_fails(CURLMcode code)
{
    return status_set(STATUS_WORKER, "libcurl fails: %s", curl_multi_strerror(code));
}

/* Waits for the answer to one request. libcurl keeps its socket for the loop: a server that serves
 * one connection at a time would not serve a second one. */
static CURLMcode perform(const struct traffic *traffic, CURL *easy, CURLcode *out)
{
    const CURLMsg *message = NULL;
    int running, queued;
    CURLMcode code = curl_multi_add_handle(traffic->multi, easy);
    while (code == CURLM_OK && !message) {
        code = curl_multi_perform(traffic->multi, &running);
        message = curl_multi_info_read(traffic->multi, &queued);
        if (code == CURLM_OK && !message)
            code = curl_multi_poll(traffic->multi, NULL, 0, LOOK_MS, NULL);
    }
    if (message)
        *out = message->data.result;
    curl_multi_remove_handle(traffic->multi, easy);
    return code;
}

/* Until the server has answered one well, the workers are not ready. */
static enum status check_first(struct traffic *traffic)
{
    char text[128];
    CURLcode result = CURLE_OK;
    struct exchange *exchange = &traffic->connections[0].exchange;
    begin_request(traffic, exchange);
    client_set_asking(true);
    CURLMcode code = perform(traffic, exchange->easy, &result);
    client_set_asking(false);
    enum status status = server_check(traffic->server);
    if (status == STATUS_OK && code != CURLM_OK)
        status = libcurl_fails(code);
    if (status != STATUS_OK || exchange_judge(exchange, result, text) == EXCHANGE_GOOD)
        return status;
    return status_set(STATUS_WORKER, "its first request, %.16s %.100s: %s",
                      traffic->options->method, traffic->options->url, text);
}

/* -- the loop ---------------------------------------------------------------------------------- */

/* Sets *left to how many connections are not over. */
static enum status begin_requests(struct traffic *traffic, unsigned *left)
{
    CURLMcode code = CURLM_OK;
    *left = 0;
    uint64_t now_ns = clock_now_ns();
    for (unsigned i = 0; i < traffic->count && code == CURLM_OK; i++) {
        struct connection *connection = &traffic->connections[i];
        bool rests =
            connection->rests_until_ns > now_ns && !mpsweep_stop_requested(connection->handle);
        if (!connection->busy && !connection->over && !rests) {
            int begun = mpsweep_try_begin(connection->handle);
            connection->over = begun == MPSWEEP_OVER;
            connection->busy = begun == MPSWEEP_GO_ON;
            if (connection->busy) {
                begin_request(traffic, &connection->exchange);
                code = curl_multi_add_handle(traffic->multi, connection->exchange.easy);
            }
        }
        *left += !connection->over;
    }
    return code == CURLM_OK ? STATUS_OK : libcurl_fails(code);
}

static void end_request(struct connection *connection, CURLcode code)
{
    char text[128];
    const struct exchange *exchange = &connection->exchange;
    enum exchange_result result = exchange_judge(exchange, code, text);
    connection->busy = false;
    if (result == EXCHANGE_GOOD) {
        /* One without a body ends where it is noticed. */
        uint64_t now_ns = clock_now_ns();
        bool empty = exchange->first_byte_ns == 0;
        client_end_answered(connection->handle, empty ? now_ns : exchange->first_byte_ns,
                            empty ? now_ns : exchange->last_byte_ns);
        return;
    }
    client_end_bad(connection->handle,
                   result == EXCHANGE_ERROR ? CLIENT_BAD_ERROR : CLIENT_BAD_ANSWER, text);
    if (result == EXCHANGE_ERROR)
        connection->rests_until_ns = clock_now_ns() + REST_NS;
}

static bool end_requests(const struct traffic *traffic)
{
    bool any = false;
    int queued;
    for (CURLMsg *message; (message = curl_multi_info_read(traffic->multi, &queued)) != NULL;) {
        CURL *easy = message->easy_handle;
        CURLcode code = message->data.result;
        curl_multi_remove_handle(traffic->multi, easy);
        end_request(connection_of(easy), code);
        any = true;
    }
    return any;
}

/* Planned starts come at their microsecond, which a wait in milliseconds would miss. */
static void set_timer(const struct traffic *traffic)
{
    uint64_t next_ns = UINT64_MAX;
    for (unsigned i = 0; i < traffic->count; i++) {
        const struct connection *connection = &traffic->connections[i];
        uint64_t start_ns = client_next_start_ns(connection->handle);
        if (start_ns < connection->rests_until_ns)
            start_ns = connection->rests_until_ns;
        if (!connection->busy && !connection->over && start_ns < next_ns)
            next_ns = start_ns;
    }
    struct itimerspec timer = {0};
    if (next_ns != UINT64_MAX)
        timer.it_value = clock_timespec(next_ns);
    timerfd_settime(traffic->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

/* Sends and receives what it can. Where no request has ended by that, it waits for an event. */
static CURLMcode move_requests(struct traffic *traffic, bool *any)
{
    struct curl_waitfd timer = {.fd = traffic->timer_fd, .events = CURL_WAIT_POLLIN};
    int running;
    CURLMcode code = curl_multi_perform(traffic->multi, &running);
    if (code != CURLM_OK)
        return code;
    *any = end_requests(traffic);
    if (*any)
        return CURLM_OK;
    set_timer(traffic);
    return curl_multi_poll(traffic->multi, &timer, 1, LOOK_MS, NULL);
}

static enum status loop(struct traffic *traffic)
{
    unsigned left;
    enum status status = begin_requests(traffic, &left);
    while (status == STATUS_OK && left > 0) {
        bool any = false;
        CURLMcode code = move_requests(traffic, &any);
        if (code != CURLM_OK)
            status = libcurl_fails(code);
        else if (!any)
            status = server_check(traffic->server);
        if (status == STATUS_OK)
            status = begin_requests(traffic, &left);
    }
    return status;
}

/* -- all of it --------------------------------------------------------------------------------- */

static enum status make_connections(struct traffic *traffic, struct mpsweep *const *handles)
{
    traffic->multi = curl_multi_init();
    traffic->connections = calloc(traffic->count, sizeof *traffic->connections);
    traffic->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (!traffic->multi || !traffic->connections)
        return status_set(STATUS_MEMORY, "out of memory for connections");
    if (traffic->timer_fd < 0)
        return status_set(STATUS_SYSTEM, "cannot make a timer: %s", strerror(errno));
    curl_multi_setopt(traffic->multi, CURLMOPT_MAXCONNECTS, (long)traffic->count);
    for (unsigned i = 0; i < traffic->count; i++) {
        enum status status = exchange_init(traffic->options, &traffic->connections[i].exchange);
        if (status != STATUS_OK)
            return status;
        traffic->connections[i].handle = handles[i];
    }
    return STATUS_OK;
}

static void release(struct traffic *traffic)
{
    for (unsigned i = 0; traffic->connections && i < traffic->count; i++) {
        struct connection *connection = &traffic->connections[i];
        if (connection->busy)
            curl_multi_remove_handle(traffic->multi, connection->exchange.easy);
        exchange_release(&connection->exchange);
    }
    free(traffic->connections);
    curl_multi_cleanup(traffic->multi);
    if (traffic->timer_fd >= 0)
        close(traffic->timer_fd);
}

enum status traffic_run(const struct load_options *options, struct server *server,
                        struct mpsweep *const *handles, unsigned count)
{
    struct traffic traffic = {.options = options, .server = server, .count = count, .timer_fd = -1};
    enum status status = make_connections(&traffic, handles);
    if (status == STATUS_OK)
        status = check_first(&traffic);
    if (status == STATUS_OK)
        status = loop(&traffic);
    release(&traffic);
    return status;
}
