#include "mps/log.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "mps/internal.h"

/* Takes "[DATE TIME Server PID] " from a line. */
static bool take_server(struct mps_scan *line, pid_t *server)
{
    struct mps_scan rest = *line, word;
    uint64_t pid;
    while (rest.bytes > 0 && *rest.at == '\0') {
        rest.at++;
        rest.bytes--;
    }
    if (!mps_scan_text(&rest, "[") || !mps_scan_word(&rest, &word) ||
        !mps_scan_word(&rest, &word) || !mps_scan_word(&rest, &word) ||
        !mps_scan_is(word, "Server") || !mps_scan_word(&rest, &word) ||
        !mps_scan_text_end(&word, "]") || !mps_scan_is_number(word, INT_MAX, &pid) || pid == 0 ||
        !mps_scan_text(&rest, " "))
        return false;
    *server = (pid_t)pid;
    *line = rest;
    return true;
}

/* Takes "Client {PID: 592, Context ID: 1} ". The line about a fault has "Context:". */
static bool take_client(struct mps_scan *message, pid_t *client)
{
    uint64_t pid, context;
    if (!mps_scan_text(message, "Client {PID: ") || !mps_scan_number(message, INT_MAX, &pid) ||
        pid == 0 || !mps_scan_text(message, ", Context"))
        return false;
    mps_scan_text(message, " ID");
    if (!mps_scan_text(message, ": ") || !mps_scan_number(message, UINT64_MAX, &context) ||
        !mps_scan_text(message, "} "))
        return false;
    *client = (pid_t)pid;
    return true;
}

static bool client_did(struct mps_scan message, const char *what, pid_t *client)
{
    pid_t pid;
    if (!take_client(&message, &pid) || !mps_scan_is(message, what))
        return false;
    *client = pid;
    return true;
}

static bool client_goes(struct mps_scan message, pid_t *client)
{
    uint64_t device;
    return take_client(&message, client) && mps_scan_text(&message, "on device ") &&
           mps_scan_number(&message, UINT64_MAX, &device) &&
           mps_scan_is(message, " to be torn down");
}

static bool is_in(pid_t pid, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

static void add_client(struct mps_fault *fault, pid_t pid)
{
    if (fault->count < MPS_FAULT_CLIENTS && !is_in(pid, fault->clients, fault->count))
        fault->clients[fault->count++] = pid;
}

static bool names_all(const struct mps_fault *fault, const struct mps_fault *announced)
{
    for (size_t i = 0; i < announced->count; i++)
        if (!is_in(announced->clients[i], fault->clients, fault->count))
            return false;
    return true;
}

enum status mps_log_fault(const char *text, size_t bytes, struct mps_fault *out)
{
    struct mps_scan rest = {text, bytes}, line;
    struct mps_fault fault = {0}, announced = {0}; /* the latter's clients, before the list */
    pid_t server = 0;                              /* whose fault it is; 0: none so far */
    bool listed = false, in_list = false, ended;
    while (mps_scan_line(&rest, &line, &ended)) {
        pid_t from, client;
        uint64_t pid;
        if (!take_server(&line, &from))
            continue;
        bool noticed = client_did(line, "encountered a fatal GPU error.", &client);
        bool list = mps_scan_is(line, "The following client process have a sticky error set:");
        /* Several clients may report one fault before the server lists whom it hit. */
        if ((noticed && listed) || ((noticed || list) && from != server)) {
            fault = announced = (struct mps_fault){0};
            server = from;
            listed = false;
        }
        if (noticed && fault.first == 0)
            fault.first = client;
        if (noticed || list) {
            listed = in_list = list;
        } else if (in_list && from == server) {
            in_list = mps_scan_is_number(line, INT_MAX, &pid) && pid > 0;
            /* Of a number without the line's end, digits may be missing. */
            if (in_list && ended)
                add_client(&fault, (pid_t)pid);
        } else if (!listed && from == server && client_goes(line, &client)) {
            add_client(&announced, client);
        }
    }
    if (server == 0)
        return status_set(STATUS_NOT_FOUND, "the MPS daemon's log has no fatal fault");
    fault.is_whole = fault.count > 0 && names_all(&fault, &announced);
    *out = fault;
    return STATUS_OK;
}

enum status mps_log_clients(const char *text, size_t bytes, pid_t *pids, size_t capacity,
                            size_t *count)
{
    struct mps_scan rest = {text, bytes}, line;
    size_t found = 0;
    while (mps_scan_line(&rest, &line, NULL)) {
        pid_t server, client;
        if (!take_server(&line, &server) || !client_did(line, "connected", &client) ||
            is_in(client, pids, found))
            continue;
        if (found == capacity)
            return status_set(STATUS_PROTOCOL, "the MPS daemon's log names more than %zu clients",
                              capacity);
        pids[found++] = client;
    }
    *count = found;
    return STATUS_OK;
}
