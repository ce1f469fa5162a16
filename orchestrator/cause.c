#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "mps/advice.h"
#include "orchestrator/round_internal.h"

/* "worker process 2", or a process that is none of ours. */
static void name_client(struct text *text, const struct round *round, pid_t pid)
{
    for (unsigned p = 0; round->children && p < round->point->processes; p++) {
        if (round->children[p].pid == pid) {
            text_append(text, "worker process %u", p + 1);
            return;
        }
    }
    text_append(text, "process %d, which is no worker", (int)pid);
}

/* The server's log names first the client on which it noticed the fault. On an H200 that was seen
 * to be a healthy one, so that nobody is accused who is not alone. */
static void add_fault(struct text *text, const struct round *round)
{
    struct mps_fault fault;
    if (mps_controller_last_fault(round->session->mps, &fault) != STATUS_OK)
        return;
    text_append(text, "; a fatal GPU error of one MPS client was given to all of them: ");
    for (size_t i = 0; i < fault.count; i++) {
        text_append(text, i ? ", " : "");
        name_client(text, round, fault.clients[i]);
    }
    if (fault.count > 1 && fault.first) {
        text_append(text, " (the server's log names ");
        name_client(text, round, fault.first);
        text_append(text, " first, which need not be the culprit)");
    }
}

void round_add_cause(const struct round *round)
{
    struct round_result *result = round->result;
    char *error = result->error;
    const char *advice = mps_advice(result->cuda_error);
    struct text text = {.at = error, .size = sizeof result->error, .length = strlen(error)};
    if (!point_over_mps(round->point) || result->status == STATUS_INTERRUPTED)
        return;
    if (mps_controller_check(round->session->mps) != STATUS_OK)
        text_append(&text, "; %s", status_text());
    add_fault(&text, round);
    if (advice)
        text_append(&text, "; %s", advice);
}
