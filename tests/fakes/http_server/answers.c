#include "tests/fakes/http_server/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int64_t busy_until_ns;
static long received, answered;

/* Answers are far shorter than a socket's buffer. A client that does not read them is gone. */
bool send_all(struct connection *connection, const char *bytes, int count)
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

static bool answer_of_length(struct connection *connection, int status, const char *length,
                             const char *text)
{
    char bytes[2 * MAX_TEXT + 256];
    int count = snprintf(bytes, sizeof bytes,
                         "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"
                         "Content-Length: %s\r\n%s\r\n%s",
                         status, status < 400 ? "OK" : "Error", length,
                         connection->closes ? "Connection: close\r\n" : "", text);
    return send_all(connection, bytes, count) && end_answer(connection);
}

static bool answer(struct connection *connection, int status, const char *text)
{
    char length[32];
    snprintf(length, sizeof length, "%zu", strlen(text));
    return answer_of_length(connection, status, length, text);
}

bool reject(struct connection *connection, int status)
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

bool proceed(struct connection *connection)
{
    if (connection->state == WAIT_FOR_REST)
        return end_stream(connection);
    if (streams)
        return begin_stream(connection);
    if (is_silent(connection))
        return misbehave(connection);
    const char *text = text_of(connection);
    if (!(connection->fault == FAULT_LENGTH
              ? answer_of_length(connection, status_of(connection), wrong_length, text)
              : answer(connection, status_of(connection), text)))
        return false;
    count_answer();
    return true;
}

/* One write, so that servers can share the file. */
static void record_body(struct connection *connection)
{
    size_t most = sizeof connection->begin - 1, count = (size_t)connection->body_bytes;
    count = count < most ? count : most;
    connection->begin[count++] = '\n';
    if (record_fd >= 0 && write(record_fd, connection->begin, count) != (ssize_t)count)
        die("--record");
}

bool serve(struct connection *connection)
{
    char text[32];
    if (connection->is_get && strcmp(connection->path, "/health") == 0)
        return answer(connection, now_ns() < ready_ns ? 503 : 200, "{}");
    if (connection->is_get && strcmp(connection->path, "/count") == 0) {
        snprintf(text, sizeof text, "%ld", answered);
        return answer(connection, 200, text);
    }
    record_body(connection);
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
