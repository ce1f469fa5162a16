#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/paths.h"
#include "common/text.h"
#include "job/arrivals.h"
#include "job/bodies.h"
#include "job/options.h"
#include "job/work.h"
#include "orchestrator/plan/internal.h"
#include "orchestrator/plan/placeholders.h"
#include "wire/load.h"
#include "wire/tick.h"

/* [USER@]HOST[:PORT], of which a placeholder may be any part: a server would be asked in vain at
 * another one until --timeout. */
static bool is_authority(const char *text, size_t length)
{
    const char *end = text + length, *user = memrchr(text, '@', length);
    const char *host = user ? user + 1 : text, *behind = host;
    if (memchr(text, '{', length))
        return true;
    if (host < end && *host == '[')
        behind = memchr(host, ']', (size_t)(end - host));
    if (!behind)
        return false;
    const char *colon = memchr(behind, ':', (size_t)(end - behind));
    if (!colon)
        return host < end;
    size_t digits = strspn(colon + 1, "0123456789");
    unsigned long port = digits <= 5 ? strtoul(colon + 1, NULL, 10) : 0;
    return host < colon && colon + 1 + digits == end && port > 0 && port <= 65535;
}

/* A placeholder has no blanks either. */
static bool is_url(const char *text)
{
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            return false;
    if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
        return false;
    const char *authority = strstr(text, "://") + 3;
    return is_authority(authority, strcspn(authority, "/?#"));
}

/* "POST http://host/path" */
static bool is_request(const char *text)
{
    size_t method = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return method > 0 && text[method] == ' ' && is_url(text + method + 1);
}

/* "Name: value": libcurl drops other lines, or changes them. */
static bool is_header_line(const char *line, size_t length)
{
    size_t name = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                               "!#$%&'*+-.^_`|~");
    if (name == 0 || line[name] != ':')
        return false;
    const char *value = line + name + 1, *end = line + length;
    for (const char *at = value; at < end; at++)
        if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
            return false;
    return value + strspn(value, " \t") < end;
}

static bool is_header(const char *text)
{
    for (const char *end; *(end = text + strcspn(text, "\n")); text = end + 1)
        if (!is_header_line(text, (size_t)(end - text)))
            return false;
    return is_header_line(text, strlen(text));
}

/* Which libcurl knows of each body: with another one the server would wait for more. */
static bool has_length(const char *lines)
{
    static const char next[] = "\nContent-Length:";
    return strncasecmp(lines, next + 1, strlen(next + 1)) == 0 || strcasestr(lines, next);
}

/* Without --server none of it makes sense. */
static enum status check_none(const struct point_requests *requests)
{
    const struct {
        const char *text;
        enum option_id id;
    } texts[] = {{requests->request, OPTION_REQUEST},  {requests->ready, OPTION_READY},
                 {requests->header, OPTION_HEADER},    {requests->body, OPTION_BODY},
                 {requests->bodies, OPTION_BODIES},    {requests->expect, OPTION_EXPECT},
                 {requests->arrivals, OPTION_ARRIVALS}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text)
            return status_set(STATUS_USAGE, "--%s is for a server: add --server",
                              option_table[texts[i].id].name);
    return STATUS_OK;
}

static enum status check_texts(const struct point_requests *requests)
{
    char shown[128];
    if (!requests->request)
        return status_set(STATUS_USAGE, "--server needs a --request, as in 'POST "
                                        "http://127.0.0.1:{port}/infer'");
    if (!is_request(requests->request))
        return status_set(STATUS_USAGE,
                          "'%s' is not a value of request: it takes METHOD URL, as in 'POST "
                          "http://127.0.0.1:{port}/infer'",
                          requests->request);
    if (requests->ready && !is_url(requests->ready))
        return status_set(STATUS_USAGE,
                          "'%s' is not a value of ready: it takes a URL, as in "
                          "http://127.0.0.1:{port}/health",
                          requests->ready);
    if (requests->header && !is_header(requests->header))
        return status_set(STATUS_USAGE,
                          "'%s' is not a value of header: it takes NAME: VALUE, as in "
                          "'Content-Type: application/json'",
                          text_displayed(requests->header, shown, sizeof shown));
    if (requests->header && has_length(requests->header))
        return status_set(STATUS_USAGE, "--header has the length of a body, which each request "
                                        "has by itself: leave out Content-Length");
    enum status status = placeholders_check(requests->request);
    return status == STATUS_OK && requests->ready ? placeholders_check(requests->ready) : status;
}

/* Else another program may answer at the one port that all are sent to. */
static enum status check_port(char *const *command, const struct point_requests *requests)
{
    while (*command && !placeholders_use(*command, PLACEHOLDER_PORT))
        command++;
    if (*command && !placeholders_use(requests->request, PLACEHOLDER_PORT))
        return status_set(STATUS_USAGE,
                          "'%s' sends all requests to one port, but the command has {port}, one "
                          "for each server: write {port} in --request, too, as in 'POST "
                          "http://127.0.0.1:{port}/infer'",
                          requests->request);
    if (*command && requests->ready && !placeholders_use(requests->ready, PLACEHOLDER_PORT))
        return status_set(STATUS_USAGE,
                          "'%s' asks one port, but the command has {port}, one for each server: "
                          "write {port} in --ready, too, as in http://127.0.0.1:{port}/health",
                          requests->ready);
    return STATUS_OK;
}

/* Such a path leads elsewhere in the processes that read it, whatever it leads to here. */
static bool is_descriptor(const char *path)
{
    static const char *const begins[] = {"/dev/stdin", "/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(path, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* A pipe has its bytes once, but each process and each start of a server reads them. what: "body",
 * in an error. */
static enum status check_regular(const char *what, const char *path, struct stat *file)
{
    if (stat(path, file) != 0 || access(path, R_OK) != 0)
        return status_set(STATUS_USAGE, "cannot read the %s '%s': %s", what, path, strerror(errno));
    if (!S_ISREG(file->st_mode) || is_descriptor(path))
        return status_set(
            STATUS_USAGE,
            "the %s '%s' is not a regular file, and each server's start reads it again: "
            "write it to a file",
            what, path);
    return STATUS_OK;
}

static enum status check_body(const struct point_requests *requests)
{
    const char *request = requests->request, *name = requests->body ? "body" : "bodies";
    const char *path = requests->body ? requests->body : requests->bodies;
    struct bodies bodies = {0};
    struct stat file;
    if (requests->body && requests->bodies)
        return status_set(STATUS_USAGE, "--body and --bodies exclude each other: leave out one");
    /* libcurl would wait for the body of an answer that has none. */
    if (strncmp(request, "HEAD ", strlen("HEAD ")) == 0)
        return status_set(STATUS_USAGE,
                          "'%s' sends no body: leave out --%s, or give another method", request,
                          name);
    enum status status = check_regular(name, path, &file);
    if (status == STATUS_OK)
        status = bodies_read(path, !requests->body, &bodies);
    bodies_release(&bodies);
    return status;
}

/* What the points of a section do with --rate is the plan's: here a trace goes with its file. */
static enum status check_arrivals(const struct options *options,
                                  const struct point_requests *requests)
{
    const struct option_value *value = &options->values[OPTION_ARRIVAL];
    struct arrivals arrivals = {0};
    struct stat file;
    bool traced = false;
    for (size_t i = 0; i < value->count; i++)
        traced |= value->items[i].integer == ARRIVAL_TRACE;
    if (traced && !requests->arrivals)
        return status_set(STATUS_USAGE, "--arrival trace needs --server and --arrivals FILE");
    if (!traced && requests->arrivals)
        return status_set(STATUS_USAGE, "--arrivals needs --arrival trace, and a --rate");
    if (traced && !options_is_given(options, OPTION_RATE))
        return status_set(STATUS_USAGE, "--arrival trace needs a --rate: without, the next request "
                                        "goes out when the last one has its answer");
    enum status status = traced ? check_regular("arrivals", requests->arrivals, &file) : STATUS_OK;
    if (status == STATUS_OK && traced)
        status = arrivals_read(requests->arrivals, &arrivals);
    arrivals_release(&arrivals);
    return status;
}

static enum status check_tick(const struct options *options, bool program, bool server)
{
    const char *text = options_text(options, OPTION_TICK);
    bool given = options_is_given(options, OPTION_TICK);
    struct tick tick;
    if (!tick_parse(text, &tick))
        return status_set(STATUS_USAGE, "'%s' is not a value of tick: it takes " TICK_FORMS, text);
    if (given && !program)
        return status_set(STATUS_USAGE, "--tick needs a program: -- COMMAND");
    if (given && server)
        return status_set(STATUS_USAGE, "--tick is not for a server: an iteration is a --request");
    return STATUS_OK;
}

enum status requests_check(const struct options *options, char *const *command,
                           const struct point_requests *requests)
{
    char path[PATH_MAX];
    bool server = options_switch(options, OPTION_SERVER);
    enum status status = check_tick(options, command, server);
    if (status != STATUS_OK)
        return status;
    if (!server) {
        status = check_none(requests);
        return status == STATUS_OK ? check_arrivals(options, &(struct point_requests){0}) : status;
    }
    if (!command)
        return status_set(STATUS_USAGE, "--server needs a program: -- COMMAND");
    status = check_texts(requests);
    if (status == STATUS_OK)
        status = check_port(command, requests);
    if (status != STATUS_OK)
        return status;
    if (requests->body || requests->bodies)
        status = check_body(requests);
    if (status == STATUS_OK)
        status = check_arrivals(options, requests);
    if (status != STATUS_OK)
        return status;
    if (path_find(PATH_HELPER, LOAD_PROGRAM, path, sizeof path) != STATUS_OK)
        return status_set(STATUS_USAGE, "--server needs " LOAD_PROGRAM
                                        ", which this build lacks: it was made without libcurl");
    return STATUS_OK;
}
