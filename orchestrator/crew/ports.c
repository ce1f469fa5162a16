#include "orchestrator/crew/ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PORT_MOST 65535

/* False only when another socket has it: a machine may lack this kind of address. */
static bool can_bind(int family, const struct sockaddr *address, socklen_t length)
{
    const int on = 1;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true;
    /* As servers do: what a connection has left behind does not listen. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool taken = bind(fd, address, length) != 0 && (errno == EADDRINUSE || errno == EACCES);
    close(fd);
    return !taken;
}

static bool is_free(unsigned port)
{
    const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((in_port_t)port)};
    return can_bind(AF_INET, (const struct sockaddr *)(const void *)&four, sizeof four) &&
           can_bind(AF_INET6, (const struct sockaddr *)(const void *)&six, sizeof six);
}

/* A name that only one process can have, which needs no file. -1: another has it. */
static int hold(unsigned port)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "mpsweep-port-%u", port);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)(const void *)&address, size) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void let_go(struct ports *ports)
{
    while (ports->count > 0)
        close(ports->held[--ports->count]);
}

enum status ports_find(unsigned first, unsigned count, struct ports *out)
{
    *out = (struct ports){.held = calloc(count, sizeof *out->held)};
    if (!out->held)
        return status_set(STATUS_MEMORY, "out of memory for ports");
    for (unsigned port = first; port <= PORT_MOST; port++) {
        int fd = hold(port);
        if (fd >= 0)
            out->held[out->count++] = fd;
        if (fd < 0 || !is_free(port)) {
            let_go(out);
        } else if (out->count == count) {
            out->first = port - count + 1;
            return STATUS_OK;
        }
    }
    ports_release(out);
    return status_set(STATUS_NOT_FOUND, "no %u free ports in a row from %u on: give another --port",
                      count, first);
}

void ports_release(struct ports *ports)
{
    let_go(ports);
    free(ports->held);
    *ports = (struct ports){0};
}
