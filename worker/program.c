#include "worker/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/process_tree.h"
#include "recording/cpu.h"
#include "trace/buffer.h"
#include "wire/program.h"
#include "worker/engines/memory.h"
#include "worker/engines/process.h"
#include "worker/internal.h"
#include "worker/keeper.h"
#include "worker/words.h"

/* What a program gets to end by itself once it has published. */
#define SETTLE_MS 1000

/* What one that is traced gets before that to deliver its trace. */
#define DELIVER_MS 10000

/* What is left over when the program has ended, between SIGTERM and SIGKILL; and programs whose
 * orchestrator is gone: the stop flag, SIGTERM, and, over MPS, time for the guard to terminate them
 * as clients. */
#define LEFTOVER_MS 2000
#define ORPHAN_MS 3000
#define ORPHAN_MPS_MS 8000

/* While something is being waited for that makes no event. */
#define LOOK_MS 20

/* The most reads of what an ended program has printed: more than a pipe holds. Another process may
 * go on writing. */
#define LAST_READS 32

struct supervisor {
    struct worker_process process; /* only its shared memory, event and index are used */
    struct trace_buffer trace;
    int life_fd, signal_fd, errors_fd, log_fd;
    struct keeper keeper;
    bool ended; /* the program, and is reaped */
    int wait_status;
    bool stopping, terminated, killing;
    uint64_t terminate_ns, kill_ns; /* 0: not planned */
    uint64_t stopped_ns, terminated_ns;
    bool settling; /* it has published */
    struct words words;
};

static struct shm_slot *slot_of(const struct supervisor *supervisor, unsigned number)
{
    return shm_slot_at(&supervisor->process.shm, supervisor->process.index, number);
}

static unsigned slots_of(const struct supervisor *supervisor)
{
    return shm_slots(supervisor->process.shm.header);
}

static uint32_t state_of(const struct supervisor *supervisor, unsigned number)
{
    return atomic_load_explicit(&slot_of(supervisor, number)->state, memory_order_acquire);
}

__attribute__((format(printf, 2, 3))) static void fail(const struct supervisor *supervisor,
                                                       const char *format, ...)
{
    char text[sizeof((struct shm_slot *)0)->error];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* What the program itself reported is the better reason. */
    for (unsigned t = 0; t < slots_of(supervisor); t++)
        if (state_of(supervisor, t) == SHM_STATE_FAILED)
            return;
    for (unsigned t = 0; t < slots_of(supervisor); t++) {
        struct shm_slot *slot = slot_of(supervisor, t);
        if (state_of(supervisor, t) == SHM_STATE_DONE)
            continue;
        shm_slot_fail(slot, STATUS_WORKER, 0, text);
        worker_set_state(&supervisor->process, slot, SHM_STATE_FAILED);
    }
}

static void publish_words(const struct supervisor *supervisor)
{
    struct shm_process *record =
        shm_process_at(&supervisor->process.shm, supervisor->process.index);
    shm_text_publish(&record->last_words, supervisor->words.last);
}

/* What the program printed as errors; false when nothing more is there now. */
static bool read_errors(struct supervisor *supervisor)
{
    char bytes[4096];
    if (supervisor->errors_fd < 0)
        return false;
    ssize_t count = read(supervisor->errors_fd, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR)
        return true;
    if (count <= 0) {
        if (count == 0 || errno != EAGAIN) {
            close(supervisor->errors_fd);
            supervisor->errors_fd = -1;
        }
        return false;
    }
    /* A full disk must not stop the program. */
    if (supervisor->log_fd >= 0 && write(supervisor->log_fd, bytes, (size_t)count) < 0) {
        close(supervisor->log_fd);
        supervisor->log_fd = -1;
    }
    if (words_take(&supervisor->words, bytes, (size_t)count))
        publish_words(supervisor);
    return true;
}

/* Whether no handle has an iteration that is still to count. */
static bool all_published(const struct supervisor *supervisor)
{
    for (unsigned t = 0; t < slots_of(supervisor); t++) {
        uint32_t state = state_of(supervisor, t);
        if (state != SHM_STATE_DONE && state != SHM_STATE_FAILED &&
            atomic_load_explicit(&slot_of(supervisor, t)->at_work, memory_order_acquire))
            return false;
    }
    return true;
}

/* Whether its trace is on its way: one that is ended meanwhile leaves none. */
static bool is_delivering(const struct supervisor *supervisor)
{
    if (!supervisor->trace.header ||
        clock_now_ns() > supervisor->stopped_ns + DELIVER_MS * NS_PER_MS)
        return false;
    const struct trace_process *own =
        trace_buffer_process(&supervisor->trace, supervisor->process.index);
    return atomic_load(&own->pid) != 0 && !atomic_load(&own->complete);
}

/* Whether nothing is left that a program has to do after the stop: in an open loop it reports how
 * many starts it has missed, also where it waits for the next one. */
static bool has_reported(const struct supervisor *supervisor)
{
    bool reported = true;
    if (!supervisor->process.shm.header->settings.rate_units)
        return true;
    for (unsigned t = 0; t < slots_of(supervisor); t++)
        reported &= state_of(supervisor, t) == SHM_STATE_DONE ||
                    state_of(supervisor, t) == SHM_STATE_FAILED;
    return reported;
}

/* Whether it has a part in the assignment, or is held beside it. */
static bool has_part(const struct supervisor *supervisor)
{
    const struct shm_header *header = supervisor->process.shm.header;
    return supervisor->process.index < header->processes;
}

/* What the program as a whole did wrong stands in its first slot. */
static void fail_first(const struct supervisor *supervisor, const char *what, const char *when)
{
    struct shm_slot *slot = slot_of(supervisor, 0);
    char text[sizeof slot->error];
    snprintf(text, sizeof text, "%s %s", what, when);
    shm_slot_fail(slot, STATUS_WORKER, 0, text);
    worker_set_state(&supervisor->process, slot, SHM_STATE_FAILED);
}

/* Whether a thread has opened its handle. */
static bool has_opened(const struct supervisor *supervisor)
{
    bool any = false;
    for (unsigned t = 0; t < slots_of(supervisor); t++)
        any |= atomic_load_explicit(&slot_of(supervisor, t)->opened, memory_order_acquire) !=
               SHM_OPENED_NOT;
    return any;
}

static bool observer_reports(const struct supervisor *supervisor, enum shm_observed state)
{
    const struct shm *shm = &supervisor->process.shm;
    return atomic_load(&shm_process_at(shm, supervisor->process.index)->observer.state) == state;
}

/* Whether others than the keeper live: what the program has started. Of a daemon that ends its
 * parent as it begins, one look may meet neither; a second one meets it. */
static bool has_left_any(void)
{
    bool any = false;
    for (unsigned look = 0; look < 2 && !any; look++)
        any = process_tree_signal(getpid(), 0) > 1;
    return any;
}

/* When a program ended too early, and why that may be if it ended well. */
static const char *too_early(const struct supervisor *supervisor, bool ready, bool well)
{
    if (ready && well && observer_reports(supervisor, SHM_OBSERVED_ITERATION))
        return "before it was asked to stop: it must go on until mpsweep ends it";
    if (ready)
        return "before it was asked to stop";
    if (well && has_left_any())
        return "before it was ready, and left a process that goes on without it, as a daemon does: "
               "it must stay in the foreground until mpsweep ends it (no '&', 'setsid --wait')";
    if (well && observer_reports(supervisor, SHM_OBSERVED_CALLS))
        return "before its iterations on the GPU were known, which takes seconds: it must go on "
               "until mpsweep ends it";
    /* As a script does that ignores that it cannot import the client. */
    if (well && !has_opened(supervisor))
        return "before it was ready, without iterations on the GPU and without a call to mpsweep's "
               "client (import mpsweep, or mpsweep_open())";
    return "before it was ready";
}

/* It has ended while it should have worked. */
static void judge_early_end(const struct supervisor *supervisor)
{
    char ending[64];
    bool ready = true;
    for (unsigned t = 0; t < slots_of(supervisor); t++)
        ready &= state_of(supervisor, t) != SHM_STATE_STARTING;
    bool well = WIFEXITED(supervisor->wait_status) && WEXITSTATUS(supervisor->wait_status) == 0;
    const char *when = too_early(supervisor, ready, well);
    if (WIFEXITED(supervisor->wait_status))
        fail(supervisor, "exited with status %d %s", WEXITSTATUS(supervisor->wait_status), when);
    else
        fail(supervisor, "was %s %s",
             child_ending_text(supervisor->wait_status, ending, sizeof ending), when);
}

/* " in its thread 1, stream 2" where the threads have several, else "". */
static const char *place_of(const struct supervisor *supervisor, unsigned number, char out[64])
{
    unsigned streams = shm_streams(supervisor->process.shm.header);
    out[0] = '\0';
    if (streams > 1)
        snprintf(out, 64, " in its thread %u, stream %u", number / streams, number % streams);
    return out;
}

/* It has ended while others work, and while it should have waited. */
static void judge_idle_end(const struct supervisor *supervisor)
{
    char ending[64];
    child_ending_text(supervisor->wait_status, ending, sizeof ending);
    fail_first(supervisor, "ended while it was held for another layout:", ending);
}

/* A crew that was to be kept has waited for it since the window's end. */
static uint64_t stopped_ns(const struct supervisor *supervisor)
{
    const struct shm_header *header = supervisor->process.shm.header;
    uint64_t window_ends_ns = atomic_load(&header->start_ns) + atomic_load(&header->window_end_ns);
    return window_ends_ns < supervisor->stopped_ns ? window_ends_ns : supervisor->stopped_ns;
}

/* It has ended after the stop: what it has recorded counts, unless an iteration was cut short that
 * belongs to the window. */
static void judge_end(const struct supervisor *supervisor)
{
    int status = supervisor->wait_status;
    char ending[64], place[64];
    for (unsigned t = 0; t < slots_of(supervisor); t++) {
        struct shm_slot *slot = slot_of(supervisor, t);
        uint32_t state = state_of(supervisor, t);
        if (state == SHM_STATE_DONE || state == SHM_STATE_FAILED)
            continue;
        if (atomic_load(&slot->at_work) && supervisor->terminated)
            fail(supervisor,
                 "hangs%s: its iteration did not end within %.3g s of the stop, and it was sent "
                 "SIGTERM",
                 place_of(supervisor, t, place),
                 (double)(supervisor->terminated_ns - stopped_ns(supervisor)) / 1e9);
        else if (atomic_load(&slot->at_work))
            fail(supervisor, "ended (%s)%s within an iteration that it was to end first",
                 child_ending_text(status, ending, sizeof ending), place_of(supervisor, t, place));
        else if (supervisor->process.shm.header->settings.rate_units &&
                 atomic_load(&slot->opened) == SHM_OPENED_BEGUN)
            fail(supervisor, "did not come back to mpsweep_begin() after the stop: how many starts "
                             "it has missed is not known");
        else
            worker_set_state(&supervisor->process, slot, SHM_STATE_DONE);
    }
    bool by_us = supervisor->terminated || supervisor->killing;
    if (!by_us && status != 0) {
        /* Its threads have published; the last word is the program's. */
        char what[80];
        snprintf(what, sizeof what, "ended with %s",
                 child_ending_text(status, ending, sizeof ending));
        fail_first(supervisor, what, "after it was asked to stop");
    }
}

static void plan(uint64_t *when_ns, uint64_t in_ms)
{
    uint64_t at_ns = clock_now_ns() + in_ms * NS_PER_MS;
    if (*when_ns == 0 || at_ns < *when_ns)
        *when_ns = at_ns;
}

static void note_cut_off(const struct supervisor *supervisor)
{
    atomic_store(&shm_process_at(&supervisor->process.shm, supervisor->process.index)->cut_off, 1);
}

static void note_end(struct supervisor *supervisor, int wait_status)
{
    if (supervisor->ended)
        return;
    supervisor->ended = true;
    supervisor->wait_status = wait_status;
    if (supervisor->terminated && WIFSIGNALED(wait_status))
        note_cut_off(supervisor);
    for (int i = 0; i < LAST_READS && read_errors(supervisor);)
        i++;
    if (words_end(&supervisor->words))
        publish_words(supervisor);
    /* Its crew serves nothing more. */
    atomic_store(&shm_process_at(&supervisor->process.shm, supervisor->process.index)->parked, 0);
    if (shm_is_stopping(supervisor->process.shm.header))
        judge_end(supervisor);
    else if (!has_part(supervisor))
        judge_idle_end(supervisor);
    else
        judge_early_end(supervisor);
    /* What it has left over has no reason to live. */
    supervisor->stopping = true;
    supervisor->terminate_ns = clock_now_ns();
    plan(&supervisor->kill_ns, LEFTOVER_MS);
}

/* False: no child is left. */
static bool reap(struct supervisor *supervisor)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == 0)
            return true;
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return false;
        /* Its keeper was killed. */
        if (pid == supervisor->keeper.program)
            note_end(supervisor, status);
    }
}

static void hear_keeper(struct supervisor *supervisor)
{
    int status;
    if (keeper_read(&supervisor->keeper, &status)) {
        note_end(supervisor, status);
    } else {
        close(supervisor->keeper.fd);
        supervisor->keeper.fd = -1;
    }
}

static void begin_stop(struct supervisor *supervisor, uint64_t grace_ms)
{
    if (!supervisor->stopping)
        supervisor->stopped_ns = clock_now_ns();
    supervisor->stopping = true;
    plan(&supervisor->terminate_ns, grace_ms / 2);
}

static void begin_kill(struct supervisor *supervisor)
{
    supervisor->stopping = supervisor->killing = true;
    supervisor->kill_ns = clock_now_ns();
}

static void hear_signals(struct supervisor *supervisor)
{
    struct signalfd_siginfo info;
    while (read(supervisor->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGUSR1)
            begin_stop(supervisor, info.ssi_int > 0 ? (uint64_t)info.ssi_int : 0);
        else if (info.ssi_signo == SIGTERM)
            begin_kill(supervisor);
    }
}

static void become_orphan(struct supervisor *supervisor)
{
    const struct shm *shm = &supervisor->process.shm;
    close(supervisor->life_fd);
    supervisor->life_fd = -1;
    shm_stop(shm, 0);
    shm_dismiss(shm);
    begin_stop(supervisor, ORPHAN_MS);
    plan(&supervisor->kill_ns, shm->header->settings.with_mps ? ORPHAN_MPS_MS : ORPHAN_MS);
}

/* What is due by now. */
static void go_on(struct supervisor *supervisor)
{
    uint64_t now = clock_now_ns();
    if (!supervisor->settling && all_published(supervisor) && !is_delivering(supervisor)) {
        supervisor->settling = true;
        plan(&supervisor->terminate_ns, SETTLE_MS);
    }
    /* One that does not know of us would never end by itself. */
    if (supervisor->settling && !supervisor->terminated && has_reported(supervisor) &&
        observer_reports(supervisor, SHM_OBSERVED_ITERATION))
        plan(&supervisor->terminate_ns, 0);
    if (!supervisor->terminated && now >= supervisor->terminate_ns) {
        process_tree_terminate(getpid());
        supervisor->terminated = true;
        supervisor->terminated_ns = now;
    }
    if (supervisor->kill_ns && now >= supervisor->kill_ns) {
        supervisor->killing = true;
        /* It may be a client with work on the GPU. */
        if (process_tree_signal(getpid(), SIGKILL) > 0)
            note_cut_off(supervisor);
    }
}

static void watch(struct supervisor *supervisor)
{
    while (reap(supervisor)) {
        struct pollfd fds[] = {{.fd = supervisor->signal_fd, .events = POLLIN},
                               {.fd = supervisor->life_fd, .events = POLLIN},
                               {.fd = supervisor->errors_fd, .events = POLLIN},
                               {.fd = supervisor->keeper.fd, .events = POLLIN}};
        /* A stop flag makes no event either, but the orchestrator signals it. */
        if (poll(fds, 4, supervisor->stopping ? LOOK_MS : -1) < 0 && errno != EINTR)
            begin_kill(supervisor);
        if (fds[0].revents)
            hear_signals(supervisor);
        if (fds[1].revents)
            become_orphan(supervisor);
        if (fds[2].revents)
            read_errors(supervisor);
        if (fds[3].revents)
            hear_keeper(supervisor);
        if (supervisor->stopping)
            go_on(supervisor);
    }
    hear_keeper(supervisor);
    /* A keeper that was killed has reaped it, and not reported that. */
    note_end(supervisor, SIGKILL);
}

static enum status hear(struct supervisor *supervisor)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    /* Our own log may grow beyond a limit, too: the write fails then. */
    sigaddset(&set, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &set, NULL);
    supervisor->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    /* The process that started us may ignore it, which would reach the program. */
    signal(SIGXFSZ, SIG_DFL);
    if (supervisor->signal_fd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1UL) != 0)
        return status_set(STATUS_SYSTEM, "cannot supervise processes: %s", strerror(errno));
    return STATUS_OK;
}

/* The CPUs of all workers of the process. */
static int bind_program(const struct supervisor *supervisor)
{
    uint64_t cpus[WORK_CPUS / 64];
    shm_cpus(&supervisor->process.shm, supervisor->process.index, cpus);
    return cpu_bind_thread(cpus);
}

static enum status start(struct supervisor *supervisor, const struct program_call *call)
{
    int errors[2], keep[4] = {call->shm, call->event};
    size_t kept = 2;
    if (call->kept >= 0)
        keep[kept++] = call->kept;
    if (call->trace >= 0)
        keep[kept++] = call->trace;
    char line[96];
    int length = snprintf(line, sizeof line, "%d %d %d %d %d", CLIENT_PROTOCOL, call->shm,
                          call->event, (int)getpid(), call->process);
    if (call->trace >= 0)
        snprintf(line + length, sizeof line - (size_t)length, " %d", call->trace);
    if (setenv(CLIENT_VARIABLE, line, 1) != 0)
        return status_set(STATUS_SYSTEM, "cannot set '" CLIENT_VARIABLE "': %s", strerror(errno));
    if (pipe2(errors, O_CLOEXEC) != 0)
        return status_set(STATUS_SYSTEM, "cannot make a pipe: %s", strerror(errno));
    supervisor->errors_fd = errors[0];
    fcntl(errors[0], F_SETFL, O_NONBLOCK);
    if (call->log) {
        supervisor->log_fd = open(call->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (supervisor->log_fd < 0)
            return status_set(STATUS_SYSTEM, "cannot open '%s': %s", call->log, strerror(errno));
    }
    struct rlimit files;
    if (call->files && getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = call->files;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    int refused = bind_program(supervisor);
    worker_memory_policy(shm_process_at(&supervisor->process.shm, supervisor->process.index));
    for (unsigned t = 0; t < slots_of(supervisor); t++)
        slot_of(supervisor, t)->bind_errno = refused;
    const struct child_spawn_options options = {
        .argv = (const char *const *)call->command,
        .keep = keep,
        .keep_count = kept,
        .stdin_fd = -1,
        .stdout_fd = supervisor->log_fd,
        .stderr_fd = errors[1],
        .new_session = true,
        /* Of the keeper, that is: who has ended it did not want the program to go on. */
        .parent_death_signal = SIGKILL,
    };
    enum status status = keeper_spawn(&options, &supervisor->keeper);
    close(errors[1]);
    return status;
}

static bool all_done(const struct supervisor *supervisor)
{
    if (!has_part(supervisor))
        return state_of(supervisor, 0) != SHM_STATE_FAILED;
    for (unsigned t = 0; t < slots_of(supervisor); t++)
        if (state_of(supervisor, t) != SHM_STATE_DONE)
            return false;
    return true;
}

int program_supervise(const struct program_call *call)
{
    static struct supervisor supervisor;
    const int inherited[] = {call->shm, call->event, call->life, call->kept, call->trace};
    supervisor = (struct supervisor){
        .process = {.event_fd = call->event, .index = (unsigned)call->process},
        .keeper = {.fd = -1},
        .life_fd = call->life,
        .signal_fd = -1,
        .errors_fd = -1,
        .log_fd = -1,
        .trace = TRACE_BUFFER_EMPTY,
    };
    for (size_t i = 0; i < sizeof inherited / sizeof inherited[0]; i++)
        if (inherited[i] >= 0)
            fcntl(inherited[i], F_SETFD, FD_CLOEXEC);
    enum status status = hear(&supervisor);
    if (status == STATUS_OK)
        status = worker_process_attach(&supervisor.process, call->shm);
    if (status == STATUS_OK && call->trace >= 0)
        status = trace_buffer_attach(fcntl(call->trace, F_DUPFD_CLOEXEC, 3), &supervisor.trace);
    if (status != STATUS_OK) {
        fprintf(stderr, "mpsweep-worker: %s\n", status_text());
        return EXIT_BAD_CALL;
    }
    struct shm_process *record = shm_process_at(&supervisor.process.shm, supervisor.process.index);
    status = start(&supervisor, call);
    if (status != STATUS_OK) {
        fail(&supervisor, "could not be started: %s", status_text());
        /* Of a keeper that was killed meanwhile, what its program had started is ours now. */
        begin_kill(&supervisor);
        watch(&supervisor);
        return EXIT_FAILURE;
    }
    atomic_store(&record->pid, (int32_t)supervisor.keeper.program);
    watch(&supervisor);
    return all_done(&supervisor) ? EXIT_SUCCESS : EXIT_FAILURE;
}
