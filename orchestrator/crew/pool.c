#include "orchestrator/crew/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/process_tree.h"
#include "common/text.h"

/* After terminate_client, and after SIGKILL. */
#define TERMINATE_NS (3 * NS_PER_S)
#define KILL_NS (10 * NS_PER_S)

/* The time that draining processes get after an interrupt; that they, and those that the daemon has
 * terminated, get when the time of the session is over; and how often to look for either. */
#define HURRY_NS (5 * NS_PER_S)
#define LATE_NS (150 * NS_PER_MS)
#define LOOK_NS (100 * NS_PER_MS)

#define CLIENTS_MOST 1024

/* Processes that an error names. */
#define NAMES_MOST 8

enum status pool_make(unsigned count, struct pool *out)
{
    int life[2];
    *out = (struct pool)POOL_EMPTY;
    out->children = calloc(count, sizeof *out->children);
    if (!out->children)
        return status_set(STATUS_MEMORY, "out of memory");
    out->count = count;
    for (unsigned i = 0; i < count; i++)
        out->children[i].pidfd = -1;
    out->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (out->event_fd < 0 || pipe2(life, O_CLOEXEC) != 0)
        return status_set(STATUS_SYSTEM, "cannot make the descriptors of %u processes: %s", count,
                          strerror(errno));
    out->life_read_fd = life[0];
    out->life_fd = life[1];
    return STATUS_OK;
}

void pool_add_words(const struct pool *pool, int shm_fd, unsigned index, struct word_list *words)
{
    const struct {
        const char *name;
        int value;
    } options[] = {{"--shm", shm_fd},
                   {"--event", pool->event_fd},
                   {"--life", pool->life_read_fd},
                   {"--process", (int)index}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        word_list_add(words, "%s", options[i].name);
        word_list_add(words, "%d", options[i].value);
    }
}

enum status pool_spawn(struct pool *pool, const struct session *session, unsigned index,
                       const struct pool_start *start)
{
    struct gpu_child *child = &pool->children[index];
    const int wanted[] = {pool->event_fd, pool->life_read_fd, start->keep_fd, start->trace_fd,
                          session->machine_fd};
    int keep[sizeof wanted / sizeof *wanted];
    size_t kept = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (wanted[i] > 0)
            keep[kept++] = wanted[i];
    char **environment = child_environment_new(start->set, start->unset);
    if (!environment || start->argv->failed) {
        free(environment);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    const struct child_spawn_options options = {
        .argv = (const char *const *)start->argv->words,
        .environment = environment,
        .keep = keep,
        .keep_count = kept,
        .stdin_fd = start->answer_fd ? pool->life_read_fd : -1,
        .stdout_fd = start->answer_fd ? start->answer_fd : -1,
        .stderr_fd = STDERR_FILENO, /* a sanitizer's report, or the driver's last words */
        /* The terminal's Ctrl-C does not reach it, and a program must not ignore it. */
        .new_process_group = true,
        .ignore_interrupts = !start->supervises,
        /* One that hangs in the driver does not see the end of its input. */
        .parent_death_signal = start->answer_fd ? SIGTERM : 0,
    };
    enum status status = child_spawn(&options, &child->pid, &child->pidfd);
    free(environment);
    child->supervises = status == STATUS_OK && start->supervises;
    return status;
}

static bool runs(const struct gpu_child *child)
{
    return child->pid != 0 && !child->ended;
}

int pool_reap(struct pool *pool)
{
    for (unsigned i = 0; i < pool->count; i++) {
        struct gpu_child *child = &pool->children[i];
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

static unsigned alive(const struct pool *pool)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < pool->count; i++)
        sum += runs(&pool->children[i]);
    return sum;
}

void pool_hurry(const struct pool *pool, uint64_t grace_ns)
{
    uint64_t ms = grace_ns / NS_PER_MS;
    const union sigval value = {.sival_int = ms < INT_MAX ? (int)ms : INT_MAX};
    for (unsigned i = 0; i < pool->count; i++)
        if (runs(&pool->children[i]) && pool->children[i].supervises)
            sigqueue(pool->children[i].pid, SIGUSR1, value);
}

/* Informs supervisors, and returns the deadline that an interrupt brings nearer. */
static uint64_t hurry(const struct session *session, const struct pool *pool, uint64_t deadline_ns)
{
    uint64_t grace_ns = session->late ? LATE_NS : HURRY_NS;
    uint64_t soon_ns = clock_now_ns() + grace_ns;
    pool_hurry(pool, grace_ns);
    return soon_ns < deadline_ns ? soon_ns : deadline_ns;
}

/* Waits until all have ended or the deadline passes, which an interrupt brings nearer for those
 * that drain, also one that came before. */
static void wait_all(struct session *session, struct pool *pool, bool drain, uint64_t deadline_ns)
{
    bool hurried = session->interrupted || !drain;
    if (hurried && drain)
        deadline_ns = hurry(session, pool, deadline_ns);
    for (unsigned i = 0; i < pool->count; i++) {
        struct gpu_child *child = &pool->children[i];
        while (runs(child)) {
            uint64_t look_ns = clock_now_ns() + LOOK_NS;
            uint64_t until_ns = look_ns < deadline_ns ? look_ns : deadline_ns;
            if (child_wait(child->pid, child->pidfd, until_ns, &child->wait_status) == STATUS_OK)
                child->ended = true;
            else if (until_ns == deadline_ns)
                break;
            if (!hurried && session_check_signals(session) != STATUS_OK) {
                hurried = true;
                deadline_ns = hurry(session, pool, deadline_ns);
            }
        }
    }
}

/* Ends what a child has on the GPU the daemon's way. */
static void terminate_client(struct session *session, const struct gpu_child *child)
{
    pid_t clients[CLIENTS_MOST];
    size_t count = 0;
    struct mps_controller *mps = daemons_at(session->daemons, child->gpu);
    if (!child->supervises) {
        mps_controller_terminate_client(mps, child->pid);
        return;
    }
    if (mps_control_clients(&mps->control, clock_now_ns() + TERMINATE_NS, clients, CLIENTS_MOST,
                            &count) != STATUS_OK)
        return;
    for (size_t i = 0; i < count; i++)
        if (process_descends(clients[i], child->pid))
            mps_controller_terminate_client(mps, clients[i]);
}

/* Names all of them; over MPS, their daemons then stay. */
static enum status name_unended(struct session *session, const struct pool *pool, bool over_mps)
{
    char names[256] = "";
    struct text text = {.at = names, .size = sizeof names};
    unsigned unended = alive(pool), named = 0;
    for (unsigned i = 0; i < pool->count; i++) {
        if (!runs(&pool->children[i]))
            continue;
        if (over_mps)
            daemons_note_unended(session->daemons, pool->children[i].gpu, pool->children[i].pid);
        if (named < NAMES_MOST)
            text_append(&text, "%s%d", named ? ", " : "", (int)pool->children[i].pid);
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

enum status pool_end(struct pool *pool, struct session *session, bool over_mps, uint64_t grace_ns,
                     bool *tainted)
{
    wait_all(session, pool, true, clock_now_ns() + grace_ns);
    if (alive(pool) == 0)
        return STATUS_OK;
    *tainted = true;
    for (unsigned i = 0; i < pool->count; i++)
        pool->children[i].forced |= runs(&pool->children[i]);
    if (over_mps) {
        for (unsigned i = 0; i < pool->count; i++)
            if (runs(&pool->children[i]))
                terminate_client(session, &pool->children[i]);
        wait_all(session, pool, false, clock_now_ns() + (session->late ? LATE_NS : TERMINATE_NS));
    }
    for (unsigned i = 0; i < pool->count; i++)
        if (runs(&pool->children[i]))
            /* A supervisor kills all its processes, and goes last. */
            kill(pool->children[i].pid, pool->children[i].supervises ? SIGTERM : SIGKILL);
    wait_all(session, pool, false, clock_now_ns() + KILL_NS);
    return alive(pool) ? name_unended(session, pool, over_mps) : STATUS_OK;
}

void pool_hang_up(struct pool *pool)
{
    if (pool->life_fd >= 0)
        close(pool->life_fd);
    pool->life_fd = -1;
}

void pool_release(struct pool *pool)
{
    const int fds[] = {pool->event_fd, pool->life_read_fd, pool->life_fd};
    for (unsigned i = 0; i < pool->count; i++)
        if (pool->children[i].pidfd >= 0)
            close(pool->children[i].pidfd);
    free(pool->children);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    *pool = (struct pool)POOL_EMPTY;
}
