#include "orchestrator/crew/pool.h"

#include <limits.h>
#include <signal.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/process_tree.h"
#include "common/text.h"

/* After terminate_client, and after SIGKILL. */
#define TERMINATE_NS (3 * NS_PER_S)
#define KILL_NS (10 * NS_PER_S)

/* What draining processes get after an interrupt, and how often to look for one. */
#define HURRY_NS (5 * NS_PER_S)
#define LOOK_NS (100 * NS_PER_MS)

#define CLIENTS_MOST 1024

/* Processes that an error names. */
#define NAMES_MOST 8

static bool runs(const struct gpu_child *child)
{
    return child->pid != 0 && !child->ended;
}

int children_reap(struct gpu_child *children, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct gpu_child *child = &children[i];
        if (!runs(child))
            continue;
        if (child_wait(child->pid, child->pidfd, clock_now_ns(), &child->wait_status) ==
            STATUS_OK) {
            child->ended = true;
            return (int)i;
        }
    }
    return -1;
}

static unsigned alive(const struct gpu_child *children, unsigned count)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += runs(&children[i]);
    return sum;
}

void children_tell(const struct gpu_child *children, unsigned count, uint64_t grace_ns)
{
    uint64_t ms = grace_ns / NS_PER_MS;
    const union sigval value = {.sival_int = ms < INT_MAX ? (int)ms : INT_MAX};
    for (unsigned i = 0; i < count; i++)
        if (runs(&children[i]) && children[i].supervises)
            sigqueue(children[i].pid, SIGUSR1, value);
}

/* Waits until all have ended or the deadline passes, which an interrupt brings nearer. */
static void wait_all(struct session *session, struct gpu_child *children, unsigned count,
                     uint64_t deadline_ns)
{
    bool hurried = session->interrupted;
    for (unsigned i = 0; i < count; i++) {
        struct gpu_child *child = &children[i];
        while (runs(child)) {
            uint64_t look_ns = clock_now_ns() + LOOK_NS;
            uint64_t until_ns = look_ns < deadline_ns ? look_ns : deadline_ns;
            if (child_wait(child->pid, child->pidfd, until_ns, &child->wait_status) == STATUS_OK)
                child->ended = true;
            else if (until_ns == deadline_ns)
                break;
            if (!hurried && session_check_signals(session) != STATUS_OK) {
                uint64_t soon_ns = clock_now_ns() + HURRY_NS;
                hurried = true;
                children_tell(children, count, HURRY_NS);
                deadline_ns = soon_ns < deadline_ns ? soon_ns : deadline_ns;
            }
        }
    }
}

/* The daemon's way to end what a child has on the GPU. */
static void terminate_client(struct session *session, const struct gpu_child *child)
{
    pid_t clients[CLIENTS_MOST];
    size_t count = 0;
    struct mps_controller *mps = daemons_at(session->daemons, child->gpu);
    if (!child->supervises) {
        mps_controller_terminate_client(mps, child->pid);
        return;
    }
    if (mps_controller_clients(mps, clock_now_ns() + TERMINATE_NS, clients, CLIENTS_MOST, &count) !=
        STATUS_OK)
        return;
    for (size_t i = 0; i < count; i++)
        if (process_descends(clients[i], child->pid))
            mps_controller_terminate_client(mps, clients[i]);
}

/* All of them, and over MPS the daemons are told that they have to stay. */
static enum status name_unended(struct session *session, const struct gpu_child *children,
                                unsigned count, bool over_mps)
{
    char names[256] = "";
    struct text text = {.at = names, .size = sizeof names};
    unsigned unended = alive(children, count), named = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!runs(&children[i]))
            continue;
        if (over_mps)
            daemons_note_unended(session->daemons, children[i].gpu, children[i].pid);
        if (named < NAMES_MOST)
            text_append(&text, "%s%d", named ? ", " : "", (int)children[i].pid);
        named++;
    }
    if (unended == 1)
        return status_set(STATUS_TIMEOUT,
                          "cannot end worker process %s: it does not react even to SIGKILL", names);
    if (unended > NAMES_MOST)
        text_append(&text, " and %u more", unended - NAMES_MOST);
    return status_set(STATUS_TIMEOUT,
                      "cannot end worker processes %s: they do not react even to SIGKILL", names);
}

enum status children_end(struct session *session, struct gpu_child *children, unsigned count,
                         bool over_mps, uint64_t grace_ns, bool *tainted)
{
    wait_all(session, children, count, clock_now_ns() + grace_ns);
    if (alive(children, count) == 0)
        return STATUS_OK;
    *tainted = true;
    for (unsigned i = 0; i < count; i++)
        children[i].forced |= runs(&children[i]);
    if (over_mps) {
        for (unsigned i = 0; i < count; i++)
            if (runs(&children[i]))
                terminate_client(session, &children[i]);
        wait_all(session, children, count, clock_now_ns() + TERMINATE_NS);
    }
    for (unsigned i = 0; i < count; i++)
        if (runs(&children[i]))
            /* A supervisor kills all that it has, and goes last. */
            kill(children[i].pid, children[i].supervises ? SIGTERM : SIGKILL);
    wait_all(session, children, count, clock_now_ns() + KILL_NS);
    return alive(children, count) ? name_unended(session, children, count, over_mps) : STATUS_OK;
}
