/* How the errors of programs are worded, and what is checked for them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/process.h"
#include "common/process_tree.h"
#include "common/text.h"
#include "job/options.h"
#include "orchestrator/crew/program.h"
#include "orchestrator/round/internal.h"
#include "wire/program.h"
#include "wire/tick.h"

/* How mpsweep_fail() begins. */
#define FAILED_IN "failed in thread "

/* How its supervisor begins where an iteration does not end after the stop. */
#define HANGS "hangs"

/* Launches in a window that a process may have beside the one with the iterations: a few kernels
 * now and then are no work of theirs. */
#define UNCOUNTED_MOST 16

/* An iteration that has this many times the calls of another one is another one: a request, and a
 * step of one. */
#define UNLIKE_MOST 8

/* Of a program's age, without a call to the GPU: more is not how it works. */
#define SILENT_SHARE 0.5

/* Of servers that get no port from their command: they may read it elsewhere, or all take one. */
static bool lacks_port(const struct round *round)
{
    const struct point *point = round->point;
    bool has = !point_is_server(point) || round->gate_open;
    for (char *const *word = point->program.command; word && *word && !has; word++)
        has = placeholders_use(*word, PLACEHOLDER_PORT);
    return !has;
}

enum status round_check_servers(const struct point *point)
{
    const char *request = point->program.requests.request;
    if (!point_is_server(point) || point_processes(point) == 1 ||
        placeholders_use(request, PLACEHOLDER_PORT) ||
        placeholders_use(request, PLACEHOLDER_PROCESS))
        return STATUS_OK;
    return status_set(STATUS_INFEASIBLE,
                      "its %u servers would have one address, so that one of them could answer for "
                      "all: write {port} in --request and in the command",
                      point_processes(point));
}

/* What may be amiss, "" where that is not known. */
static const char *hint(const struct round *round, const char *words)
{
    if (lacks_port(round))
        return "; its command has no {port}: does it listen on the port of the request, and each "
               "process on another?";
    if (point_processes(round->point) > 1 && strstr(words, "ddress already in use") &&
        !point_uses_placeholder(round->point, PLACEHOLDER_PORT))
        return "; its processes need a port each: write {port} in its command";
    if (round->session->emulated && strstr(words, "libcuda"))
        return "; the emulated GPU's driver is the library named by $MPSWEEP_DRIVER";
    return "";
}

/* "process 1 (python3) WHAT: its last words"; of several GPUs, "process 1 (python3, GPU 1)" */
__attribute__((format(printf, 4, 5))) static enum status
blame(const struct round *round, unsigned process, enum status code, const char *format, ...)
{
    char what[512], words[SHM_TEXT_BYTES], gpu[ROUND_NAME_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    shm_text_read(&shm_process_at(&round->shm, process)->last_words, words);
    /* The client library may have printed the same there. */
    if (strstr(words, what))
        words[0] = '\0';
    return status_set(code, "process %u (%s%s) %s%s%s%s", process, point_workload(round->point),
                      round_gpu_of_process(round, process, ", ", "", gpu), what,
                      *words ? "; its last words: " : "", words, hint(round, words));
}

enum status round_program_failed(const struct round *round, unsigned process, enum status code,
                                 const char *error)
{
    int longest = (int)sizeof((struct shm_slot *)0)->error - 1;
    /* The thread is one of the sender's. */
    const char *text = strstr(error, ": ");
    if (point_is_server(round->point) && strncmp(error, FAILED_IN, strlen(FAILED_IN)) == 0 && text)
        return blame(round, process, code, "did not serve: %.*s", longest, text + 2);
    if (point_is_server(round->point) && strncmp(error, HANGS, strlen(HANGS)) == 0)
        return blame(round, process, code,
                     "has not answered a request after the end of the window: give a "
                     "--request-timeout that is shorter, after which it counts as an error");
    return blame(round, process, code, "%.*s", longest, error);
}

/* How long ago the last call was, in seconds, if it was long ago for a program of that age; else 0.
 */
static double silent_for_s(const struct round *round, unsigned process, double age_s)
{
    uint64_t called_ns = atomic_load(&shm_process_at(&round->shm, process)->observer.called_ns);
    double seconds = called_ns ? (double)(clock_now_ns() - called_ns) / 1e9 : 0.0;
    return seconds > SILENT_SHARE * age_s ? seconds : 0.0;
}

/* A program that does not report its iterations, and none were found. */
static enum status blame_observed(const struct round *round, unsigned process, double seconds)
{
    char words[SHM_TEXT_BYTES], command[256];
    const char *asked = round->point->program.tick;
    struct tick tick = {.kind = TICK_AUTO};
    enum shm_observed state = round_program_read_observer(round, process, words);
    double silent_s = silent_for_s(round, process, seconds);
    tick_parse(asked, &tick);
    if (tick.kind == TICK_NONE)
        return blame(round, process, STATUS_WORKER,
                     "did not report that it is ready within %.3g s: with --tick none it must call "
                     "mpsweep_ready() (mpsweep.ready() in Python)",
                     seconds);
    if (silent_s > 0.0 && (state == SHM_OBSERVED_CALLS || state == SHM_OBSERVED_NO_WORK))
        return blame(
            round, process, STATUS_WORKER,
            "made its last call to the GPU %.3g s ago, before its iterations were known%s%s%s: "
            "it hangs, or works for that long without the GPU: look what it waits for, or "
            "give a longer --timeout",
            silent_s, *words ? " (it made " : "", words, *words ? ")" : "");
    if (tick.kind != TICK_AUTO && state != SHM_OBSERVED_NOT)
        return blame(round, process, STATUS_WORKER,
                     "had no iterations by --tick %s within %.3g s%s%s%s: give another --tick, a "
                     "longer --timeout, or let it report them",
                     asked, seconds, *words ? " (it made " : "", words, *words ? ")" : "");
    if (state == SHM_OBSERVED_NOT)
        return blame(round, process, STATUS_WORKER,
                     "reported no iterations within %.3g s, and they cannot be observed: %s",
                     seconds, words);
    if (state == SHM_OBSERVED_NO_WORK)
        return blame(round, process, STATUS_WORKER,
                     "launched nothing and copied nothing out within %.3g s (it made %s), and "
                     "without these no iteration is found: let it report them "
                     "(mpsweep.iteration() in Python, mpsweep_begin() and mpsweep_end() in C)",
                     seconds, words);
    if (state == SHM_OBSERVED_CALLS)
        return blame(round, process, STATUS_WORKER,
                     "repeated nothing that could be an iteration within %.3g s (it made %s): give "
                     "what ends one with --tick, such as sync for each wait, a longer --timeout, "
                     "or let it report them",
                     seconds, words);
    pid_t loser = process_tree_find_without(round->children[process].pid, OBSERVER_LIBRARY);
    if (loser && tick.kind != TICK_NVTX)
        return blame(round, process, STATUS_WORKER,
                     "did not report that it is ready within %.3g s, and is not observed: its "
                     "process %d (%.60s) lacks " OBSERVER_LIBRARY " in LD_PRELOAD: pass the "
                     "environment on, and a library of yours as LD_PRELOAD=library:$LD_PRELOAD",
                     seconds, (int)loser, process_command(loser, command, sizeof command));
    return blame(round, process, STATUS_WORKER,
                 "did not report that it is ready within %.3g s: it must call mpsweep_ready() "
                 "(mpsweep.ready() in Python), or work on the GPU, where iterations are found "
                 "unless it is linked statically",
                 seconds);
}

/* It has opened some of its handles. */
static enum status blame_unopened(const struct round *round, unsigned process, unsigned opened,
                                  double seconds)
{
    const struct point *point = round->point;
    if (point_streams(point) > 1)
        return blame(round, process, STATUS_WORKER,
                     "opened %u of its %u handles within %.3g s: each of as many threads as "
                     "MPSWEEP_THREADS gives must open as many as MPSWEEP_STREAMS gives",
                     opened, point_slots(point), seconds);
    return blame(round, process, STATUS_WORKER,
                 "opened handles for %u of its %u threads within %.3g s: it must have as many "
                 "threads as MPSWEEP_THREADS gives",
                 opened, point->threads, seconds);
}

enum status round_program_lacks_threads(const struct round *round, double seconds)
{
    unsigned threads = round->point->threads;
    for (unsigned p = 0; p < point_processes(round->point) && !point_is_server(round->point); p++) {
        const struct shm_observer *observer = &shm_process_at(&round->shm, p)->observer;
        bool observed = atomic_load(&observer->state) == SHM_OBSERVED_ITERATION;
        unsigned at_work = round_program_opened_threads(round, p);
        if (at_work >= threads || at_work == 0 || (!observed && point_streams(round->point) > 1))
            continue;
        round->result->threads_at_work = at_work;
        if (!observed)
            return blame_unopened(round, p, at_work, seconds);
        round->result->ready_s = (double)(round_program_found_ns(round) - round->spawn_ns) / 1e9;
        return blame(round, p, STATUS_WORKER,
                     "works on the GPU with %u of its %u threads: it must have as many as "
                     "MPSWEEP_THREADS gives",
                     at_work, threads);
    }
    return STATUS_OK;
}

/* A server that cannot be asked yet. */
static enum status blame_server(const struct round *round, unsigned process, double seconds)
{
    const struct point_requests *requests = &round->point->program.requests;
    const struct placeholders values =
        program_placeholders(round->point, round->session, &round->crew->ports, process);
    const char *asks = requests->ready ? requests->ready : requests->request;
    const char *what =
        requests->ready ? "no answer of 200 to 299 came from" : "it took no connection for";
    char reason[SHM_TEXT_BYTES];
    round_program_read_observer(round, process, reason);
    if (atomic_load(&shm_process_at(&round->shm, process)->asking)) {
        asks = requests->request;
        *reason = '\0';
        what = "its first request has no answer yet, which --timeout limits:";
    }
    char *asked = placeholders_fill(asks, &values);
    if (!asked)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status =
        blame(round, process, STATUS_WORKER, "was not ready within %.3g s: %s %s%s%s%s", seconds,
              what, asked, *reason ? " (" : "", reason, *reason ? ")" : "");
    free(asked);
    return status;
}

enum status round_program_unready(const struct round *round, double seconds)
{
    const struct point *point = round->point;
    for (unsigned p = 0; p < point_processes(point); p++) {
        unsigned ready = 0, opened = 0;
        for (unsigned i = 0; i < point_slots(point); i++) {
            struct shm_slot *slot = shm_slot_at(&round->shm, p, i);
            ready += atomic_load(&slot->state) == SHM_STATE_READY;
            opened += atomic_load(&slot->opened) != SHM_OPENED_NOT;
        }
        if (ready == point_slots(point))
            continue;
        if (point_is_server(point))
            return blame_server(round, p, seconds);
        if (opened > 0 && opened < point_slots(point))
            return blame_unopened(round, p, opened, seconds);
        if (ready > 0 && point_streams(point) > 1)
            return blame(round, p, STATUS_WORKER,
                         "reported that %u of its %u handles are ready within %.3g s: it must call "
                         "mpsweep_ready() for each",
                         ready, point_slots(point), seconds);
        return blame_observed(round, p, seconds);
    }
    return status_set(STATUS_WORKER, "the programs did not get ready within %.3g s", seconds);
}

/* "thread 1", or "thread 1, stream 2" where the threads have several. */
static const char *place_of(const struct round *round, unsigned worker, char out[ROUND_NAME_TEXT])
{
    const struct point *point = round->point;
    unsigned streams = point_streams(point);
    struct text text = {.at = out, .size = ROUND_NAME_TEXT};
    text_append(&text, "thread %u", worker % point_slots(point) / streams);
    if (streams > 1)
        text_append(&text, ", stream %u", worker % streams);
    return out;
}

/* A thread that has never begun an iteration. */
static enum status blame_idler(const struct round *round, unsigned worker, double seconds)
{
    return blame(round, round_process_of(round, worker), STATUS_WORKER,
                 "began no iteration for %.3g s: it must call mpsweep_begin() and mpsweep_end() "
                 "around each one ('with mpsweep.iteration():' in Python)",
                 seconds);
}

/* How many requests of a slot came to an end. */
static uint64_t ended(const struct shm_slot *slot)
{
    return slot->iterations + slot->errors + slot->wrong_answers;
}

/* Whether a server has answered anything. Of many connections one may wait for longer than a
 * window: for how long, its latency has. */
static bool answers(const struct round *round, unsigned process)
{
    for (unsigned i = 0; i < point_slots(round->point); i++)
        if (ended(shm_slot_at(&round->shm, process, i)) > 0)
            return true;
    return false;
}

/* Work on the GPU of processes whose iterations were not found yet, beside those that were. */
static enum status check_uncounted(const struct round *round)
{
    unsigned threads = round->point->threads;
    for (unsigned p = 0; p < point_processes(round->point); p++)
        if (atomic_load(&shm_process_at(&round->shm, p)->observer.uncounted) > UNCOUNTED_MOST)
            return blame(round, p, STATUS_WORKER,
                         "gives the GPU work from more processes than the %u thread%s of the "
                         "layout, and some would not count: start fewer, which record needs, or "
                         "give a layout with as many (for P processes -l hybrid%s:Px%u, or more)",
                         threads, threads == 1 ? "" : "s",
                         point_over_mps(round->point) ? "" : "-timesliced", threads + 1);
    return STATUS_OK;
}

/* Whether processes took other things for an iteration, so that their rates do not add up. Of one
 * with several threads it is the calls of any of these that are known. */
static enum status check_unlike(const struct round *round)
{
    const struct round_observed *observed = &round->result->observed;
    if (point_has_tick(round->point) || round->point->threads > 1 || observed->least_calls == 0 ||
        observed->most_calls < UNLIKE_MOST * observed->least_calls)
        return STATUS_OK;
    return status_set(STATUS_WORKER,
                      "an iteration has %u calls in one process and %u in another: their rates do "
                      "not add up; give what ends an iteration with --tick (" TICK_FORMS ")",
                      observed->least_calls, observed->most_calls);
}

enum status round_program_check(const struct round *round)
{
    const struct point *point = round->point;
    const struct shm_settings *settings = &round->shm.header->settings;
    double seconds = (double)(round->slices * settings->slice_ns) / 1e9;
    char place[ROUND_NAME_TEXT];
    for (unsigned i = 0; i < point_workers(point); i++) {
        const struct shm_slot *slot = round_slot(round, i);
        if (atomic_load(&slot->opened) != SHM_OPENED_BEGUN)
            return blame_idler(round, i, seconds);
        /* In an open loop it may be that none was planned for it. */
        if (ended(slot) > 0 || point_is_open(point))
            continue;
        if (point_is_server(point) && answers(round, round_process_of(round, i)))
            continue;
        if (point_is_server(point))
            return blame(round, round_process_of(round, i), STATUS_WORKER,
                         "had no answer within the window of %.3g s: give a --request-timeout that "
                         "is shorter, after which it counts as an error, or a longer --duration "
                         "and --max-duration",
                         seconds);
        if (atomic_load(&slot->at_work))
            return blame(round, round_process_of(round, i), STATUS_WORKER,
                         "began iterations in its %s and ended none: each mpsweep_begin() needs an "
                         "mpsweep_end()",
                         place_of(round, i, place));
        return blame(round, round_process_of(round, i), STATUS_WORKER,
                     "ended no iteration in its %s within the window of %.3g s: give a "
                     "longer --duration and --max-duration",
                     place_of(round, i, place), seconds);
    }
    enum status status = check_uncounted(round);
    return status == STATUS_OK ? check_unlike(round) : status;
}

/* Whether none of the streams of a worker's thread has ended an iteration for so long: then it may
 * be any of them. */
static bool whole_thread_hangs(const struct round *round, unsigned worker, uint64_t for_ns)
{
    unsigned streams = point_streams(round->point), first = worker - worker % streams;
    uint64_t now_ns = clock_now_ns() - atomic_load(&round->shm.header->start_ns);
    for (unsigned i = first; i < first + streams; i++)
        if (atomic_load(&round_slot(round, i)->last_end_ns) + for_ns > now_ns)
            return false;
    return true;
}

enum status round_program_hangs(const struct round *round, unsigned worker)
{
    const struct shm_slot *slot = round_slot(round, worker);
    double seconds = (double)round->limits->timeout_ns / 1e9;
    char place[ROUND_NAME_TEXT];
    if (atomic_load(&slot->opened) != SHM_OPENED_BEGUN)
        return blame_idler(round, worker, seconds);
    if (point_streams(round->point) > 1 &&
        whole_thread_hangs(round, worker, round->limits->timeout_ns))
        return blame(round, round_process_of(round, worker), STATUS_WORKER,
                     "hangs: no iteration ended for %.3g s in any stream of its thread %u", seconds,
                     worker % point_slots(round->point) / point_streams(round->point));
    return blame(round, round_process_of(round, worker), STATUS_WORKER,
                 "hangs: no iteration ended for %.3g s in its %s", seconds,
                 place_of(round, worker, place));
}

enum status round_program_check_openers(const struct round *round)
{
    for (unsigned i = 0; i < point_workers(round->point); i++) {
        const struct shm_slot *slot = round_slot(round, i);
        pid_t opener = atomic_load(&slot->opener);
        if (opener && atomic_load(&slot->state) == SHM_STATE_RUNNING &&
            process_start_time(opener) == 0)
            return blame(round, round_process_of(round, i), STATUS_WORKER,
                         "goes on, but its process %d, which had iterations, has ended",
                         (int)opener);
    }
    return STATUS_OK;
}

enum status round_program_unended(const struct round *round)
{
    unsigned process = 0;
    while (process + 1 < round->crew->pool.count && !round->children[process].forced)
        process++;
    return blame(round, process, STATUS_WORKER,
                 "did not end within %.3g s of the stop, or a process that it has started did not, "
                 "and was killed: it must end on SIGTERM",
                 (double)round->limits->timeout_ns / 1e9);
}

enum status round_program_check_attached(const struct round *round,
                                         const bool attached[LAYOUT_MOST_WORKERS])
{
    const struct point *point = round->point;
    bool over_mps = point_over_mps(point);
    for (unsigned p = 0; p < point_processes(point); p++) {
        round->result->unattached |= attached[p] != over_mps;
        if (attached[p] && !over_mps)
            return blame(round, p, STATUS_WORKER,
                         "is a client of the MPS daemon where MPS must be off: it must leave "
                         "CUDA_MPS_PIPE_DIRECTORY as it is");
        if (!attached[p] && over_mps)
            return blame(round, p, STATUS_WORKER,
                         "is not a client of the MPS daemon: no measurement; it must use the GPU "
                         "%s, and leave its user, CUDA_MPS_PIPE_DIRECTORY and "
                         "CUDA_VISIBLE_DEVICES as they are",
                         point_is_server(point) ? "by its first answer"
                                                : "before it reports that it is ready");
    }
    return STATUS_OK;
}
