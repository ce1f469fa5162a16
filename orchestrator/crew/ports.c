#include "orchestrator/crew/ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
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

enum status ports_find(unsigned first, unsigned count, unsigned *out)
{
    unsigned found = 0;
    for (unsigned port = first; port <= PORT_MOST; port++) {
        found = is_free(port) ? found + 1 : 0;
        if (found == count) {
            *out = port - count + 1;
            return STATUS_OK;
        }
    }
    return status_set(STATUS_NOT_FOUND, "no %u free ports in a row from %u on: give another --port",
                      count, first);
}
