#include "orchestrator/doctor/limits.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "orchestrator/console/report.h"
#include "orchestrator/doctor/limits_search.h"

#define FIND_THEM "'mpsweep doctor --limits' finds them"

enum status limits_known(const struct session *session, struct limits *out)
{
    char path[PATH_MAX];
    struct limits_key key;
    enum status status = limits_path(path);
    if (status == STATUS_OK && access(path, F_OK) != 0)
        status = status_set(STATUS_NOT_FOUND, "there is no '%s'", path);
    if (status != STATUS_OK)
        return status;
    limits_key_of(session, &key);
    return limits_load(path, &key, out);
}

enum status limits_describe(const struct session *session, char *text, size_t size)
{
    struct limits limits;
    enum status status = limits_known(session, &limits);
    if (status == STATUS_OK)
        limits_summary(&limits, text, size);
    else if (status == STATUS_NOT_FOUND)
        snprintf(text, size, "not known for this GPU and driver; " FIND_THEM);
    else
        snprintf(text, size, "%s", status_text());
    return status;
}

/* A line that is rewritten, where somebody watches. */
static void show_progress(void *data, unsigned connections, unsigned clients)
{
    const bool *terminal = data;
    if (*terminal)
        fprintf(stderr, "\r\033[Kfinding MPS limits: %u connection%s each, %u client%s",
                connections, connections == 1 ? "" : "s", clients, clients == 1 ? "" : "s");
}

static void print_limits(const struct session *session, const struct limits *limits)
{
    char summary[128];
    printf("\nMPS limits of %s, driver CUDA %s%s%s%s\n\nconnections  clients  queues  refused "
           "with\n",
           session->gpu.name, limits->key.cuda, *limits->key.release ? ", release " : "",
           limits->key.release, session->emulated ? " (emulated: of no real GPU)" : "");
    for (unsigned i = 0; i < limits->count; i++) {
        const struct limits_row *row = &limits->rows[i];
        printf("%11u  %7u  %6u  ", row->connections, row->clients, row->clients * row->connections);
        /* The call and the code by name and number; the driver's sentence is in the file. */
        if (row->refused)
            printf("%.*s\n", (int)strcspn(row->error, ")") + 1, row->error);
        else
            printf("nothing: %d clients are the most that are tried\n", LIMITS_MOST_CLIENTS);
    }
    printf("\n%s\n", limits_summary(limits, summary, sizeof summary));
}

/* Found and not kept is a failure: the next sweep would not know. */
static int keep(const struct limits *limits)
{
    char path[PATH_MAX], why[512];
    enum status status = limits_path(path);
    if (status == STATUS_OK)
        status = limits_store(path, limits);
    if (status == STATUS_OK) {
        printf("kept in %s\n", path);
        return EXIT_ALL_MEASURED;
    }
    snprintf(why, sizeof why, "%s", status_text());
    return report(status_set(status, "the limits are not kept: %s", why));
}

int limits_command(const char *device)
{
    struct session session;
    struct limits limits;
    bool terminal = isatty(STDERR_FILENO);
    const struct session_request request = {.device = device, .single = "doctor"};
    enum status status = session_open(&request, &session);
    if (status != STATUS_OK)
        return report(status);
    fflush(stdout);
    int result = EXIT_ALL_MEASURED;
    status = session_watch_signals(&session);
    if (status == STATUS_OK)
        status = limits_search(&session, show_progress, &terminal, &limits);
    if (terminal)
        fputs("\r\033[K", stderr);
    if (status == STATUS_OK) {
        print_limits(&session, &limits);
        result = keep(&limits);
    } else {
        result = report(status);
    }
    if (session_close(&session) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    return result;
}
