#include "mps/reply.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "common/text.h"
#include "mps/internal.h"

#define QUOTE_BYTES 61 /* of what came, and a NUL */

/* Returns STATUS_OK unless the line is a complaint that we know; otherwise the complaint's code,
 * recorded in our own words: STATUS_UNSUPPORTED (no such command), STATUS_NOT_FOUND (no such
 * server, client, or no daemon), STATUS_USAGE (a value it does not take). */
static enum status complaint_of(struct mps_scan line)
{
    struct mps_scan rest = line;
    uint64_t number;
    if (mps_scan_text(&rest, "Unknown command \"") && mps_scan_text_end(&rest, "\"")) {
        char command[QUOTE_BYTES];
        return status_set(STATUS_UNSUPPORTED, "this MPS daemon has no command '%s'",
                          text_printable(rest.at, rest.bytes, command, sizeof command));
    }
    if (mps_scan_is(line, "Cannot find MPS control daemon process"))
        return status_set(STATUS_NOT_FOUND, "no MPS control daemon answers");
    if (mps_scan_is(line, "Server not found"))
        return status_set(STATUS_NOT_FOUND, "the MPS daemon has no server");
    rest = line;
    if (mps_scan_text(&rest, "Server ") && mps_scan_number(&rest, INT_MAX, &number) &&
        (mps_scan_is(rest, " not found") || mps_scan_is(rest, " not found!")))
        return status_set(STATUS_NOT_FOUND, "the MPS daemon has no server %d", (int)number);
    rest = line;
    if (mps_scan_text(&rest, "Invalid process ") && mps_scan_number(&rest, INT_MAX, &number) &&
        mps_scan_is(rest, "!"))
        return status_set(STATUS_NOT_FOUND, "the MPS server has no client %d", (int)number);
    rest = line;
    if (mps_scan_text(&rest, "Invalid priority value"))
        return status_set(STATUS_USAGE, "the MPS daemon does not take this client priority: it is "
                                        "0 or 1");
    return STATUS_OK;
}

enum status mps_reply_odd(struct mps_scan line, const char *wanted)
{
    char quote[QUOTE_BYTES];
    return status_set(STATUS_PROTOCOL, "the MPS daemon answered '%s', which is not %s",
                      text_printable(line.at, line.bytes, quote, sizeof quote), wanted);
}

enum status mps_reply_refused(struct mps_scan line, const char *wanted)
{
    enum status status = complaint_of(line);
    return status != STATUS_OK ? status : mps_reply_odd(line, wanted);
}

/* Finds the only line of a reply. */
static enum status one_line(const char *reply, size_t bytes, const char *wanted,
                            struct mps_scan *only)
{
    struct mps_scan text = {reply, bytes}, line, more;
    if (!mps_scan_line(&text, &line, NULL))
        return status_set(STATUS_PROTOCOL, "the MPS daemon answered nothing, which is not %s",
                          wanted);
    enum status status = complaint_of(line);
    if (status != STATUS_OK)
        return status;
    if (mps_scan_line(&text, &more, NULL))
        return status_set(STATUS_PROTOCOL,
                          "the MPS daemon answered more than one line, which is "
                          "not %s",
                          wanted);
    *only = line;
    return STATUS_OK;
}

enum status mps_reply_pids(const char *reply, size_t bytes, pid_t *pids, size_t capacity,
                           size_t *count)
{
    static const char wanted[] = "a list of processes";
    struct mps_scan text = {reply, bytes}, line;
    size_t found = 0;
    while (mps_scan_line(&text, &line, NULL)) {
        uint64_t pid;
        if (!mps_scan_is_number(line, INT_MAX, &pid) || pid == 0)
            return found == 0 ? mps_reply_refused(line, wanted) : mps_reply_odd(line, wanted);
        if (found == capacity)
            return status_set(STATUS_PROTOCOL, "the MPS daemon named more than %zu processes",
                              capacity);
        pids[found++] = (pid_t)pid;
    }
    *count = found;
    return STATUS_OK;
}

enum status mps_reply_percentage(const char *reply, size_t bytes, double *percentage)
{
    static const char wanted[] = "a percentage";
    struct mps_scan line, rest;
    uint64_t whole, part = 0;
    double scale = 1.0;
    enum status status = one_line(reply, bytes, wanted, &line);
    if (status != STATUS_OK)
        return status;
    rest = line;
    if (!mps_scan_number(&rest, 100, &whole))
        return mps_reply_odd(line, wanted);
    if (mps_scan_text(&rest, ".")) {
        size_t digits = rest.bytes;
        /* So few that the division below gives the double nearest to what was written. */
        if (digits > 12 || !mps_scan_is_number(rest, UINT64_MAX, &part))
            return mps_reply_odd(line, wanted);
        for (; digits > 0; digits--)
            scale *= 10.0;
        rest.bytes = 0;
    }
    double value = ((double)whole * scale + (double)part) / scale;
    if (rest.bytes > 0 || !(value > 0.0 && value <= 100.0))
        return mps_reply_odd(line, wanted);
    *percentage = value;
    return STATUS_OK;
}

enum status mps_reply_memory(const char *reply, size_t bytes, uint64_t *limit_bytes)
{
    static const char wanted[] = "an amount of memory";
    static const char units[] = "KMGT";
    struct mps_scan text = {reply, bytes}, line, rest;
    uint64_t number;
    if (!mps_scan_line(&text, &line, NULL)) {
        *limit_bytes = 0;
        return STATUS_OK;
    }
    enum status status = one_line(reply, bytes, wanted, &line);
    if (status != STATUS_OK)
        return status;
    rest = line;
    if (!mps_scan_number(&rest, UINT64_MAX, &number) || rest.bytes != 1)
        return mps_reply_odd(line, wanted);
    for (size_t i = 0; units[i] != '\0'; i++) {
        unsigned shift = 10 * ((unsigned)i + 1);
        if (*rest.at != units[i])
            continue;
        if (number > UINT64_MAX >> shift)
            return mps_reply_odd(line, wanted);
        *limit_bytes = number << shift;
        return STATUS_OK;
    }
    return mps_reply_odd(line, wanted);
}

enum status mps_reply_priority(const char *reply, size_t bytes, int *priority)
{
    static const char wanted[] = "a client priority (0 or 1)";
    struct mps_scan line;
    enum status status = one_line(reply, bytes, wanted, &line);
    if (status != STATUS_OK)
        return status;
    if (!mps_scan_is(line, "0") && !mps_scan_is(line, "1"))
        return mps_reply_odd(line, wanted);
    *priority = *line.at - '0';
    return STATUS_OK;
}

static const struct {
    const char *word;
    const char *name;
} server_states[] = {
    [MPS_SERVER_INITIALIZING] = {"INITIALIZING", "initializing"},
    [MPS_SERVER_ACTIVE] = {"ACTIVE", "active"},
    [MPS_SERVER_FAULT] = {"FAULT", "fault"},
};
#define SERVER_STATES (sizeof server_states / sizeof *server_states)

const char *mps_server_state_name(enum mps_server_state state)
{
    return (size_t)state < SERVER_STATES ? server_states[state].name : "unknown";
}

enum status mps_reply_server_state(const char *reply, size_t bytes, enum mps_server_state *state)
{
    static const char wanted[] = "a server's status";
    struct mps_scan line;
    enum status status = one_line(reply, bytes, wanted, &line);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < SERVER_STATES; i++) {
        if (mps_scan_is(line, server_states[i].word)) {
            *state = (enum mps_server_state)i;
            return STATUS_OK;
        }
    }
    return mps_reply_odd(line, wanted);
}

enum status mps_reply_terminated(const char *reply, size_t bytes)
{
    static const char wanted[] = "the end of a client";
    struct mps_scan text = {reply, bytes}, first, last;
    if (!mps_scan_line(&text, &first, NULL))
        return status_set(STATUS_PROTOCOL, "the MPS daemon answered nothing, which is not %s",
                          wanted);
    bool one = true;
    last = first;
    while (mps_scan_line(&text, &last, NULL))
        one = false;
    enum status complaint = complaint_of(first);
    if (complaint != STATUS_OK && (one || mps_scan_is(last, "1")))
        return complaint;
    if (complaint != STATUS_OK || !mps_scan_is(last, "0"))
        return mps_reply_odd(first, wanted);
    return STATUS_OK;
}

enum status mps_reply_version(const char *reply, size_t bytes, int *version)
{
    static const char wanted[] = "its version";
    struct mps_scan text = {reply, bytes}, line, rest;
    uint64_t number;
    bool ended;
    if (!mps_scan_line(&text, &line, &ended))
        return status_set(STATUS_PROTOCOL,
                          "the MPS control program printed nothing about its version");
    rest = line;
    if (!mps_scan_text(&rest, "CUDA MPS Control "))
        return mps_reply_refused(line, wanted);
    /* What lies between names operating systems. Lines of copyright follow. */
    while (rest.bytes > 0 && !mps_scan_text(&rest, "Binary version: ")) {
        rest.at++;
        rest.bytes--;
    }
    /* A line that was cut might have lost digits; CUDA is at major * 1000 + minor * 10. */
    if (!ended || !mps_scan_is_number(rest, 999999, &number) || number < 1000)
        return mps_reply_odd(line, wanted);
    *version = (int)number;
    return STATUS_OK;
}

/* GPU-.../..., as a client takes it. */
static bool is_partition(struct mps_scan word)
{
    const struct mps_scan whole = word;
    return (mps_scan_text(&word, "GPU-") || mps_scan_text(&word, "MIG-")) &&
           whole.bytes < MPS_PARTITION_TEXT && memchr(whole.at, '/', whole.bytes);
}

enum status mps_reply_partition(const char *reply, size_t bytes)
{
    static const char wanted[] = "the name of a partition";
    struct mps_scan line, rest, word;
    enum status status = one_line(reply, bytes, wanted, &line);
    if (status != STATUS_OK)
        return status;
    rest = line;
    if (mps_scan_text(&rest, "Failed to fulfill the requested SM partition"))
        return status_set(STATUS_UNSUPPORTED, "the MPS daemon has too few chunks left: ask for "
                                              "fewer chunks, or fewer partitions");
    while (mps_scan_word(&rest, &word))
        if (is_partition(word))
            return STATUS_OK;
    return mps_reply_odd(line, wanted);
}
