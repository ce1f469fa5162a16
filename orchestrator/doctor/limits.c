#include "orchestrator/doctor/doctor.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "orchestrator/console/color.h"
#include "orchestrator/console/report.h"
#include "orchestrator/doctor/internal.h"

/* Rewrites a line on a terminal. */
static void show_progress(void *data, unsigned connections, unsigned clients)
{
    const bool *terminal = data;
    if (*terminal)
        fprintf(stderr, "\r\033[Kfinding MPS limits: %u connection%s each, %u client%s",
                connections, connections == 1 ? "" : "s", clients, clients == 1 ? "" : "s");
}

static void print_limits(const struct session *session, const struct mps_limits *limits)
{
    char summary[128];
    printf("\nMPS limits of %s, driver CUDA %s%s%s%s\n\nconnections  clients  queues  refused "
           "with\n",
           gpu_at(session->gpus, 0)->name, limits->key.cuda,
           *limits->key.release ? ", release " : "", limits->key.release,
           session->emulated ? " (emulated: of no real GPU)" : "");
    for (unsigned i = 0; i < limits->count; i++) {
        const struct mps_limits_row *row = &limits->rows[i];
        printf("%11u  %7u  %6u  ", row->connections, row->clients, row->clients * row->connections);
        /* The call and the code by name and number; the driver's sentence is in the file. */
        if (row->refused)
            printf("%.*s\n", (int)strcspn(row->error, ")") + 1, row->error);
        else
            printf("nothing: %d clients are the most that are tried\n", MPS_LIMITS_MOST_CLIENTS);
    }
    printf("\n%s\n", mps_limits_summary(limits, summary, sizeof summary));
}

/* Found and not kept is a failure: the next sweep would not know. */
static enum status keep(const struct mps_limits *limits)
{
    char path[PATH_MAX];
    enum status status = mps_limits_path(path);
    if (status == STATUS_OK)
        status = mps_limits_store(path, limits);
    if (status != STATUS_OK)
        return status_prefix(status, "the limits are not kept: ");
    printf("kept in %s\n", path);
    return STATUS_OK;
}

int doctor_find_limits(const char *device)
{
    struct session session;
    struct mps_limits limits;
    bool terminal = color_takes_sequences(stderr);
    const struct session_request request = {.device = device, .single = "doctor"};
    enum status status = session_open(&request, &session);
    if (status != STATUS_OK)
        return report(status);
    fflush(stdout);
    status = session_watch_signals(&session);
    if (status == STATUS_OK)
        status = limits_search(&session, show_progress, &terminal, &limits);
    if (terminal)
        fputs("\r\033[K", stderr);
    if (status == STATUS_OK) {
        print_limits(&session, &limits);
        status = keep(&limits);
    }
    int result = report(status);
    if (session_close(&session) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    return result;
}
