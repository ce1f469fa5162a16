#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"
#include "mps/advice.h"
#include "orchestrator/round/internal.h"

#define LOG_NS (2 * NS_PER_S)
#define LOOK_NS (20 * NS_PER_MS)

/* "worker process 2", or a process that is not ours. */
static void name_client(struct text *text, const struct round *round, pid_t pid)
{
    char gpu[ROUND_NAME_TEXT];
    for (unsigned p = 0; round->children && p < round->crew->pool.count; p++) {
        if (round->children[p].pid == pid) {
            text_append(text, "worker process %u%s", p,
                        round_gpu_of_process(round, p, " (", ")", gpu));
            return;
        }
    }
    text_append(text, "process %d, which is not a worker", (int)pid);
}

/* Errors that break a context: the server writes of them at about the time at which a worker sees
 * them, before or after. */
static bool breaks_context(int cuda_error)
{
    return cuda_error >= 700 && cuda_error < 720;
}

/* In the log of any of the daemons. */
static enum status last_fault(const struct round *round, struct mps_fault *out)
{
    enum status status = STATUS_NOT_FOUND;
    for (unsigned i = 0; i < point_daemons(round->point) && status == STATUS_NOT_FOUND; i++)
        if (daemons_at(round->session->daemons, i))
            status = mps_controller_last_fault(daemons_at(round->session->daemons, i), out);
    return status;
}

/* The server writes of the fault first, and then who its clients are, one after the other. */
static enum status find_fault(const struct round *round, struct mps_fault *out)
{
    uint64_t deadline_ns = clock_now_ns() + LOG_NS;
    enum status status = last_fault(round, out);
    while ((status == STATUS_NOT_FOUND || (status == STATUS_OK && !out->is_whole)) &&
           breaks_context(round->result->cuda_error) && clock_now_ns() < deadline_ns) {
        clock_sleep_until(clock_now_ns() + LOOK_NS);
        status = last_fault(round, out);
    }
    return status;
}

/* The server's log names first the client on which it noticed the fault. On an H200 that was seen
 * to be a healthy one, so that an error blames a client only if it was the only one. */
static void add_fault(struct text *text, const struct round *round)
{
    struct mps_fault fault;
    if (find_fault(round, &fault) != STATUS_OK)
        return;
    text_append(text, "; a fatal GPU error of one MPS client was given to all of them");
    for (size_t i = 0; i < fault.count; i++) {
        text_append(text, i ? ", " : ": ");
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
    if (daemons_check(round->session->daemons) != STATUS_OK)
        text_append(&text, "; %s", status_text());
    add_fault(&text, round);
    if (advice)
        text_append(&text, "; %s", advice);
    else if (round->point->connections && mps_advice_of_queues(result->cuda_error))
        text_append(&text, "; perhaps %s", mps_advice_of_queues(result->cuda_error));
}

bool round_saw_fault(const struct round *round, unsigned gpu)
{
    struct mps_fault fault;
    return point_daemons(round->point) > 1 && daemons_at(round->session->daemons, gpu) &&
           mps_controller_last_fault(daemons_at(round->session->daemons, gpu), &fault) == STATUS_OK;
}
