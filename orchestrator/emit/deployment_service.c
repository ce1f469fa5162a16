/* Where the workers of a deployment take connections, and what shows that they are ready: from the
 * server that was measured, or from a {port} in the command. */
#include "orchestrator/emit/deployment.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"

/* A start may take this many times the measured one: files that are not in memory, other
 * services that start on the same machine. And at least as long as that of a program may. */
#define START_MARGIN 4
#define START_LEAST_S 120
#define START_MOST_S 86400

/* The options of the section that the point is of; a single section may have any name. */
static const json_t *options_of(const struct deployment *deployment)
{
    json_t *sections = json_object_get(deployment->request->header, "options");
    const char *section = text_at(deployment->request->point, "section");
    const json_t *options = json_object_get(sections, *section ? section : "sweep");
    const char *name;
    json_t *only;
    if (options || json_object_size(sections) != 1)
        return options;
    json_object_foreach(sections, name, only)
    {
        options = only;
    }
    return options;
}

/* Seconds that a start may take. */
static double start_s_of(const json_t *options, const json_t *point)
{
    double timeout_s = strtod(text_at(options, "timeout"), NULL);
    double ready_s = number_at(point, "ready_s");
    return fmax(START_LEAST_S, fmax(timeout_s, isnan(ready_s) ? 0.0 : START_MARGIN * ready_s));
}

/* A URL of which all is known, or NULL. */
static const char *checked(const char *url)
{
    bool is_plain = *url != '\0';
    for (const char *at = url; *at; at++)
        is_plain &= *at > ' ' && *at <= '~';
    return is_plain && placeholders_check(url) == STATUS_OK ? url : NULL;
}

void deployment_read_service(struct deployment *deployment)
{
    const json_t *options = options_of(deployment);
    const char *request = strchr(text_at(options, "request"), ' ');
    bool is_server = strcmp(text_at(options, "server"), "yes") == 0;
    deployment->start_s =
        (unsigned)ceil(fmin(START_MOST_S, start_s_of(options, deployment->request->point)));
    deployment->ready = is_server ? checked(text_at(options, "ready")) : NULL;
    deployment->asked = is_server && request ? checked(request + 1) : NULL;
    deployment->has_port = is_server;
    for (size_t i = 0; deployment->has_command && deployment->command[i]; i++)
        deployment->has_port |= placeholders_use(deployment->command[i], PLACEHOLDER_PORT);
}

/* The port in a URL, or that of its scheme; 0: not a URL. *rest: the path after it. */
static unsigned port_of(const char *url, const char **rest)
{
    const char *authority = strstr(url, "://");
    bool secure = strncmp(url, "https:", 6) == 0;
    if (!authority)
        return 0;
    authority += 3;
    *rest = authority + strcspn(authority, "/?#");
    const char *colon = *rest;
    while (colon > authority && isdigit((unsigned char)colon[-1]))
        colon--;
    if (colon == authority || colon[-1] != ':' || colon == *rest)
        return secure ? 443 : 80;
    unsigned long port = strtoul(colon, NULL, 10);
    return port <= 65535 ? (unsigned)port : 0;
}

/* False: no memory, or the URL has no port. */
static bool fill_ready(const struct placeholders *values, const char *ready,
                       struct deployment_service *worker)
{
    const char *rest = NULL;
    worker->url = placeholders_fill(ready, values);
    unsigned port = worker->url ? port_of(worker->url, &rest) : 0;
    if (port == 0)
        return false;
    worker->ready_port = port;
    worker->secure = strncmp(worker->url, "https:", 6) == 0;
    size_t length = strcspn(rest, "#");
    if (asprintf(&worker->path, "%s%.*s", *rest == '/' ? "" : "/", (int)length, rest) < 0)
        worker->path = NULL;
    return worker->path != NULL;
}

enum status deployment_service_make(const struct deployment *deployment, unsigned process,
                                    struct deployment_service *out)
{
    const struct placeholders values = deployment_placeholders(deployment, process);
    struct deployment_service worker = {.port = values.port};
    const char *rest;
    char *asked = deployment->asked ? placeholders_fill(deployment->asked, &values) : NULL;
    unsigned port = asked ? port_of(asked, &rest) : 0;
    free(asked);
    if (port > 0)
        worker.port = port;
    worker.ready_port = worker.port;
    if (deployment->ready && !fill_ready(&values, deployment->ready, &worker)) {
        free(worker.url);
        worker.url = NULL;
    }
    if (!worker.url && asprintf(&worker.url, "tcp://127.0.0.1:%u", worker.ready_port) < 0)
        return status_set(STATUS_MEMORY, "out of memory");
    *out = worker;
    return STATUS_OK;
}

void deployment_service_release(struct deployment_service *worker)
{
    free(worker->path);
    free(worker->url);
    *worker = (struct deployment_service){0};
}
