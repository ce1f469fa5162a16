#include "tests/fakes/http_server/internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "emul/model/lateness.h"

#define MAX_BODY (16L << 20)

/* Compares a part of the body with that of --wants. */
static void take_body(struct connection *connection, const char *bytes, size_t count)
{
    long at = connection->body_bytes - connection->body_left;
    if (wanted_body && !connection->body_differs)
        connection->body_differs = memcmp(wanted_body + at, bytes, count) != 0;
    for (size_t i = 0; i < count && at + (long)i < (long)sizeof connection->begin - 1; i++)
        connection->begin[at + (long)i] = bytes[i];
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

void read_input(struct connection *connection)
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

void resume(struct connection *connection)
{
    int64_t wait_ns = delay_ns + stream_ns;
    if (connection->state == WAIT_FOR_ANSWER)
        lateness_note((uint64_t)(connection->due_ns - wait_ns), (uint64_t)connection->due_ns);
    wait_no_more(connection);
    if (proceed(connection) && take_input(connection) && connection->unread)
        read_input(connection);
}
