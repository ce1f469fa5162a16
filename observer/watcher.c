#include "observer/watcher.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/attachment.h"
#include "common/clock.h"
#include "observer/inputs.h"
#include "observer/period.h"
#include "observer/report.h"

/* No measurement gives these constants: they were chosen by hand. Where a test covers one, its
 * comment names it, of tests/unit/observer/test_watcher.c, or in quotes of tests/cli/observe.bats.
 */

/* A thread that makes this many calls in this time without a wait must wait in another way
 * (test_polls, test_without_copies). */
#define QUIET_CALLS 256
#define QUIET_NS (3 * NS_PER_S)
/* A thread whose iterations are known must wait in another way once this many of them have passed
 * without a wait (test_a_pause_behind_a_short_wait), and this time more. */
#define QUIET_ITERATIONS 50
#define QUIET_LEAST_NS NS_PER_S
/* A kind of call stands for a wait once there are this many (test_polls). */
#define STANDS_FOR_WAIT 64
/* A kind of call stands for a wait where it is this share of the polls or host functions, whichever
 * are more, and polls where they are more than the copies in by this share of them (test_polls). */
#define STANDS_SHARE 8
/* A thread that waits more than this many times without a launch between waits for those of others
 * ("threads of a pool make one row of iterations, and one may wait for another"). */
#define IDLE_IN_A_ROW 16
/* After this many such waits with nothing launched, it is the threads that have marks of their own
 * whose launches are waited for (the same test). */
#define IDLE_MOST 64
/* This many ranges of NVTX come before the first that counts ("ranges of NVTX"). */
#define FIRST_RANGES 3
/* For this long after its first call a program that has launched nothing may still do so ("a
 * program that launches nothing has iterations of what it copies out"). */
#define COPIES_ALONE_NS (4 * NS_PER_S)
/* A program that loads code or makes graphs for longer than this does so in its iterations
 * (test_loads). */
#define GETTING_READY_NS (32 * NS_PER_S)
/* A load of code this many launches after the one before belongs to an iteration: once a program is
 * ready, a new shape needs another kernel now and then (test_loads). */
#define LOADED_APART 2000
/* While no period is known, what is reported of the calls is behind by at most this share of them:
 * a program may hang after any of them. */
#define NOTE_BEHIND 64
/* At the end a thread waits this long to be ended before it goes on as if nothing had been, and
 * looks this often whether that is over ("programs that end or hang while they are measured"). */
#define HOLD_NS NS_PER_S
#define HOLD_LOOK_NS (10 * NS_PER_MS)

struct watcher {
    struct watcher *next;
    pthread_mutex_t mutex; /* for the process's watcher, which its threads share */
    struct mpsweep *handle;
    uint64_t over_ns;      /* when the last iteration ended; 0: it has not */
    enum call_kind stands; /* for a wait: marks are the calls of this kind */
    uint64_t begun_ns;     /* when its first call was */
    uint64_t quiet_calls;  /* since the last wait */
    uint64_t wait_ns;      /* when that was, or the first call */
    bool quiet;            /* it was long ago */
    uint64_t ranges, all_calls, noted_calls;
    uint64_t calls[CALL_KINDS];
    uint64_t made_at;   /* how many graphs were launched when one was last made */
    uint64_t loaded_at; /* how many launches there had been when code was last loaded */
    bool has_code;      /* code that is loaded from now on belongs to iterations */
    struct inputs inputs;
    unsigned era;  /* how often something else has come to stand for waits */
    bool parted;   /* inputs stand for waits, though there are some: each begins the same work */
    uint64_t idle; /* waits of threads that wait for others, while nothing seemed to be launched */
    /* What there was since the last mark, but for that of threads with marks of their own. */
    struct mark since;
    struct period period;
};

/* The calling thread, as it contributes to a watcher. */
static _Thread_local struct {
    bool counted;  /* among the threads that have launched anything, or have iterations */
    bool launched; /* since its last mark */
    bool waits;    /* for what it launches: it has marks of its own */
    bool shares;   /* others wait for what it launches: it has none, for good */
    unsigned idle; /* its waits in a row without a launch */
    unsigned era;  /* of the watcher, at its last call */
    uint64_t seen; /* the watcher's idle waits, at its last mark */
    struct mark since;
} thread;

static struct {
    struct tick tick;
    unsigned known_calls;
    uint64_t cold_ns;
    bool open, whole;
    _Atomic bool over, launched, copied_out; /* whether any thread has done that */
    _Atomic bool opened;                     /* a handle */
    _Atomic uint64_t waited_ns; /* when any thread last waited for what it had launched */
    struct watcher process;
    pthread_mutex_t mutex;
    struct watcher *threads; /* so that they are reachable to the end */
} watchers = {.mutex = PTHREAD_MUTEX_INITIALIZER, .process.mutex = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct watcher *own;

bool watcher_open(const struct tick *tick, unsigned known_calls, uint64_t cold_ns)
{
    if (watchers.open)
        return true;
    if (tick->kind == TICK_NONE || !client_attach())
        return false;
    watchers.tick = *tick;
    watchers.known_calls = watchers.process.period.known_calls = known_calls;
    watchers.cold_ns = cold_ns;
    watchers.whole = client_shm()->header->slots_most / shm_streams(client_shm()->header) == 1;
    watchers.open = true;
    return true;
}

struct watcher *watcher_of_thread(void)
{
    if (!watchers.open || atomic_load_explicit(&watchers.over, memory_order_relaxed))
        return NULL;
    if (watchers.whole)
        return &watchers.process;
    if (own)
        return own;
    own = calloc(1, sizeof *own);
    if (!own)
        return NULL;
    pthread_mutex_init(&own->mutex, NULL);
    own->period.known_calls = watchers.known_calls;
    pthread_mutex_lock(&watchers.mutex);
    own->next = watchers.threads;
    watchers.threads = own;
    pthread_mutex_unlock(&watchers.mutex);
    return own;
}

void watcher_refuse(const char *text)
{
    if (client_attach())
        report_state(SHM_OBSERVED_NOT, text);
}

/* -- handles ----------------------------------------------------------------------------------- */

static bool has_launched(void)
{
    return atomic_load_explicit(&watchers.launched, memory_order_relaxed);
}

static void note_calls(struct watcher *watcher)
{
    watcher->noted_calls = watcher->all_calls;
    report_calls(watcher->calls, has_launched() || atomic_load(&watchers.copied_out));
}

static void note_iteration(const struct watcher *watcher)
{
    report_iteration(&watcher->period, &watchers.tick, watcher->stands);
}

static unsigned count_opened(void)
{
    unsigned opened = 0;
    for (unsigned i = 0; i < client_shm()->header->slots_most; i++)
        opened +=
            atomic_load(&shm_slot_at(client_shm(), client_process(), i)->opened) != SHM_OPENED_NOT;
    return opened;
}

/* Whether a process that opened one of the handles has ended. */
static bool opener_has_ended(void)
{
    for (unsigned i = 0; i < client_shm()->header->slots_most; i++) {
        pid_t opener = atomic_load(&shm_slot_at(client_shm(), client_process(), i)->opener);
        if (opener && kill(opener, 0) != 0 && errno == ESRCH)
            return true;
    }
    return false;
}

/* Iterations for which the layout has no thread would not count. */
static void refuse_more(unsigned slots)
{
    char text[256];
    if (opener_has_ended()) {
        client_fail_process("has iterations in a process that began after another one with "
                            "iterations had ended: keep one for as long as the point lasts");
        return;
    }
    const struct shm_header *header = client_shm()->header;
    unsigned threads = slots / shm_streams(header);
    snprintf(text, sizeof text,
             "has more processes or threads with iterations than the %u thread%s of the layout, "
             "and some would not count: start fewer, which record needs, or give a layout with as "
             "many (for P processes -l hybrid%s:Px%u, or more)",
             threads, threads == 1 ? "" : "s", header->settings.with_mps ? "" : "-timesliced",
             threads + 1);
    client_fail_process(text);
}

/* Iterations of this process may not be known yet, while those of another one are measured. */
static void look_for_uncounted(void)
{
    if (!atomic_load_explicit(&watchers.opened, memory_order_relaxed) && report_is_iteration() &&
        count_opened() == client_shm()->header->slots_most)
        report_uncounted();
}

/* The calling thread, as one at work. */
static void count_thread(void)
{
    if (!watchers.whole && !thread.counted)
        report_thread();
    thread.counted = true;
}

static bool open_handle(struct watcher *watcher)
{
    unsigned slots = client_shm()->header->slots_most;
    pthread_mutex_lock(&watchers.mutex);
    unsigned opened = count_opened();
    /* By the program, or by the observers of its processes. */
    bool observed = report_is_iteration();
    bool over = opened > 0 && (!observed || opened == slots);
    if (over)
        atomic_store(&watchers.over, true);
    pthread_mutex_unlock(&watchers.mutex);
    if (over) {
        if (observed)
            refuse_more(slots);
        else
            report_state(SHM_OBSERVED_NOTHING, "");
        return false;
    }
    note_iteration(watcher);
    count_thread();
    watcher->handle = client_open_next();
    if (!watcher->handle)
        refuse_more(slots);
    atomic_store(watcher->handle ? &watchers.opened : &watchers.over, true);
    return watcher->handle;
}

static void begin(struct watcher *watcher)
{
    bool was_in_window = client_is_in_window(watcher->handle);
    bool begun = mpsweep_begin(watcher->handle);
    /* It may have changed since they were found. */
    if (client_is_in_window(watcher->handle) && !was_in_window)
        note_iteration(watcher);
    /* It may have been held there for as long as it takes. */
    watcher->wait_ns = clock_now_ns();
    watcher->quiet_calls = 0;
    if (!begun)
        watcher->over_ns = watcher->wait_ns;
}

static void end(struct watcher *watcher)
{
    if (watcher->handle)
        mpsweep_end(watcher->handle);
    else if (!open_handle(watcher))
        return;
    begin(watcher);
}

/* Since its first call. */
static uint64_t age_ns(const struct watcher *watcher)
{
    return clock_now_ns() - watcher->begun_ns;
}

/* The period that was found is gone. Before the window it may have been one of a start. */
static void lose(struct watcher *watcher)
{
    if (!watcher->handle || !client_is_in_window(watcher->handle))
        return;
    report_lost(age_ns(watcher));
    mpsweep_fail(watcher->handle, "its calls stopped repeating: give what is an iteration with "
                                  "--tick (" TICK_FORMS ")");
    watcher->over_ns = clock_now_ns();
}

static uint64_t launches_of(const struct watcher *watcher)
{
    return watcher->calls[CALL_LAUNCH] + watcher->calls[CALL_GRAPH];
}

/* Forgets what it has seen, if anything. */
static void begin_anew(struct watcher *watcher)
{
    period_begin(&watcher->period, watchers.known_calls);
    watcher->inputs = (struct inputs){0};
}

/* Something else stands for waits from now on. */
static void stand_for_waits(struct watcher *watcher, enum call_kind kind)
{
    watcher->stands = kind;
    watcher->era++;
    begin_anew(watcher);
}

/* Whether what was found are several iterations: then these are looked for from now on. */
static bool has_parts(struct watcher *watcher)
{
    if (watcher->handle || watchers.tick.kind != TICK_AUTO || watcher->stands != CALL_WAIT)
        return false;
    const struct mark iteration = period_iteration(&watcher->period);
    watcher->parted = inputs_part(&watcher->inputs, &iteration, period_answers(&watcher->period));
    if (!watcher->parted)
        return false;
    stand_for_waits(watcher, CALL_COPY_IN);
    return true;
}

/* -- marks ------------------------------------------------------------------------------------- */

/* Where what the calling thread does belongs. */
static struct mark *since_of(struct watcher *watcher)
{
    /* What was a mark then need not be one any more. */
    if (thread.era != watcher->era) {
        thread.era = watcher->era;
        thread.waits = false;
        thread.since = (struct mark){0};
    }
    if (thread.waits && watcher->idle - thread.seen > IDLE_MOST) {
        thread.waits = false;
        thread.shares = true;
        mark_add(&watcher->since, &thread.since);
        thread.since = (struct mark){0};
    }
    return thread.waits ? &thread.since : &watcher->since;
}

static void add_mark(struct watcher *watcher)
{
    struct mark mark = watcher->since;
    mark_add(&mark, &thread.since);
    mark.at_ns = clock_now_ns();
    if (!watchers.whole && watcher->stands == CALL_WAIT)
        atomic_store_explicit(&watchers.waited_ns, mark.at_ns, memory_order_relaxed);
    watcher->since = thread.since = (struct mark){0};
    thread.waits = thread.launched && !thread.shares;
    thread.launched = false;
    thread.seen = watcher->idle;
    enum period_state state = period_add(&watcher->period, &mark, watchers.tick.kind != TICK_AUTO);
    if (state == PERIOD_BOUNDARY && !has_parts(watcher))
        end(watcher);
    else if (state == PERIOD_LOST)
        lose(watcher);
    else if (state == PERIOD_UNKNOWN && !watcher->handle)
        note_calls(watcher);
}

/* Whether polls ask for results. Those of an allocator ask for each copy in whether its buffer is
 * free. */
static bool polls_wait(const struct watcher *watcher)
{
    uint64_t in = watcher->calls[CALL_COPY_IN];
    return watcher->calls[CALL_POLL] > in + in / STANDS_SHARE ||
           watcher->calls[CALL_COPY_OUT] > in / STANDS_SHARE;
}

/* Without any wait, what stands for one is what the thread does instead. */
static enum call_kind choose_stand(const struct watcher *watcher)
{
    static const enum call_kind kinds[] = {CALL_POLL,  CALL_HOST,    CALL_COPY_OUT,
                                           CALL_GRAPH, CALL_COPY_IN, CALL_LAUNCH};
    const uint64_t *calls = watcher->calls;
    uint64_t most = calls[CALL_POLL] > calls[CALL_HOST] ? calls[CALL_POLL] : calls[CALL_HOST];
    if (watcher->parted)
        return CALL_COPY_IN;
    if (!watcher->quiet)
        return CALL_WAIT;
    for (unsigned i = polls_wait(watcher) ? 0 : 1; i < sizeof kinds / sizeof kinds[0]; i++)
        if (calls[kinds[i]] >= STANDS_FOR_WAIT && calls[kinds[i]] >= most / STANDS_SHARE)
            return kinds[i];
    return CALL_OTHER;
}

static bool is_wait(enum call_kind kind)
{
    return kind == CALL_WAIT || kind == CALL_COPY_OUT_WAIT;
}

/* Whether a call may end what was launched before. */
static bool may_end(const struct watcher *watcher, enum call_kind kind)
{
    if (watchers.tick.kind == TICK_COPY_OUT)
        return kind == CALL_COPY_OUT || kind == CALL_COPY_OUT_WAIT;
    bool waits = watchers.tick.kind == TICK_SYNC || watcher->stands == CALL_WAIT;
    return waits ? is_wait(kind) : kind == watcher->stands;
}

/* Results of a program that launches nothing are what it copies out; before its iterations are
 * known it may do that to load a model. Where all marks end one, time alone shows that it does not.
 */
static bool has_work(const struct watcher *watcher, const struct mark *since)
{
    if (mark_has_launch(since) || has_launched() || since->copies_out == 0)
        return mark_has_launch(since);
    return watcher->handle || watchers.tick.kind == TICK_AUTO ||
           clock_now_ns() > watcher->begun_ns + COPIES_ALONE_NS;
}

static bool take_for_mark(struct watcher *watcher, const struct call *call)
{
    switch (watchers.tick.kind) {
    case TICK_GRAPH:
        return call->kind == CALL_GRAPH;
    case TICK_KERNEL:
        return call->named;
    case TICK_NONE:
    case TICK_NVTX:
        return false;
    case TICK_SYNC:
    case TICK_COPY_OUT:
    case TICK_AUTO:
        break;
    }
    if (!may_end(watcher, call->kind))
        return false;
    if (has_work(watcher, &thread.since) || has_work(watcher, &watcher->since))
        return true;
    watcher->idle += ++thread.idle > IDLE_IN_A_ROW;
    return false;
}

/* Whether a thread has not waited for longer than it may, and not only paused. It launches for
 * another one while that waits, as PyTorch's threads for gradients do. */
static bool is_quiet(const struct watcher *watcher)
{
    const struct period *period = &watcher->period;
    uint64_t now_ns = clock_now_ns(), for_ns = now_ns - watcher->wait_ns;
    uint64_t waited_ns = atomic_load_explicit(&watchers.waited_ns, memory_order_relaxed);
    if (!watchers.whole && now_ns < waited_ns + QUIET_NS)
        return false;
    if (!period->length)
        return for_ns > QUIET_NS;
    const struct mark iteration = period_iteration(period);
    return for_ns > QUIET_ITERATIONS * period_duration_ns(period) + QUIET_LEAST_NS &&
           watcher->quiet_calls > (uint64_t)QUIET_ITERATIONS * mark_calls(&iteration);
}

/* Whether the thread has not waited for long: what it does instead then stands for a wait. */
static void look_for_waits(struct watcher *watcher, enum call_kind kind)
{
    if (is_wait(kind)) {
        watcher->quiet_calls = 0;
        watcher->quiet = false;
        watcher->wait_ns = clock_now_ns();
    } else if (++watcher->quiet_calls % QUIET_CALLS == 0) {
        watcher->quiet = is_quiet(watcher);
    }
    enum call_kind stands = choose_stand(watcher);
    if (stands == watcher->stands || (watcher->period.length && watcher->stands != CALL_WAIT))
        return;
    if (watcher->period.length)
        lose(watcher);
    stand_for_waits(watcher, stands);
}

/* Whether a load of code is one of many. */
static bool note_load(struct watcher *watcher)
{
    uint64_t launches = launches_of(watcher);
    watcher->has_code |= launches > watcher->loaded_at + LOADED_APART;
    watcher->loaded_at = launches;
    return !watcher->has_code;
}

/* Whether the program is not warm yet: it loads code, makes one graph after the other, or has
 * launched nothing before; or an earlier process has shown that it is cold for that long. */
static bool note_preparation(struct watcher *watcher, enum call_kind kind)
{
    bool launches = kind == CALL_LAUNCH || kind == CALL_GRAPH;
    bool prepares = kind == CALL_LOAD && note_load(watcher);
    if (kind == CALL_MAKE) {
        prepares = watcher->calls[CALL_GRAPH] == watcher->made_at;
        watcher->made_at = watcher->calls[CALL_GRAPH];
    }
    return (launches && !has_launched()) || (prepares && age_ns(watcher) < GETTING_READY_NS) ||
           (watchers.cold_ns && age_ns(watcher) < watchers.cold_ns);
}

static void count(struct watcher *watcher, const struct call *call)
{
    enum call_kind kind = call->kind;
    struct mark *since = since_of(watcher);
    bool launches = kind == CALL_LAUNCH || kind == CALL_GRAPH;
    watcher->calls[kind]++;
    if (watcher->begun_ns == 0)
        watcher->begun_ns = watcher->wait_ns = clock_now_ns();
    if (watchers.tick.kind == TICK_AUTO)
        look_for_waits(watcher, kind);
    if (!watcher->period.length && note_preparation(watcher, kind)) {
        begin_anew(watcher);
        *since = (struct mark){0};
    }
    if (!since->kernel)
        since->kernel = call->what;
    since->launches += kind == CALL_LAUNCH;
    since->graphs += kind == CALL_GRAPH;
    if (launches) {
        atomic_store_explicit(&watchers.launched, true, memory_order_relaxed);
        count_thread();
        look_for_uncounted();
        thread.launched = true;
        thread.idle = 0;
    }
    if (kind == CALL_COPY_IN) {
        if (!watcher->handle)
            inputs_add(&watcher->inputs, call->bytes, launches_of(watcher));
        since->copies_in++;
        since->few_in += call->bytes <= MARK_FEW_BYTES;
        since->bytes_in += call->bytes;
    } else if (kind == CALL_COPY_OUT || kind == CALL_COPY_OUT_WAIT) {
        atomic_store_explicit(&watchers.copied_out, true, memory_order_relaxed);
        since->copies_out++;
        since->bytes_out += call->bytes;
    }
    if (!atomic_load_explicit(&watchers.opened, memory_order_relaxed))
        report_call();
    /* Who has only loaded code has done nothing yet. */
    if (!watcher->handle && ++watcher->all_calls > watcher->calls[CALL_LOAD] &&
        watcher->all_calls > watcher->noted_calls + watcher->noted_calls / NOTE_BEHIND)
        note_calls(watcher);
}

/* Where nothing of it is on the GPU, until it is ended or has had its time. */
static void hold(uint64_t over_ns)
{
    while (over_ns && clock_now_ns() < over_ns + HOLD_NS)
        clock_sleep_until(clock_now_ns() + HOLD_LOOK_NS);
}

void watcher_take(struct watcher *watcher, const struct call *call)
{
    pthread_mutex_lock(&watcher->mutex);
    if (!watcher->over_ns) {
        count(watcher, call);
        if (take_for_mark(watcher, call))
            add_mark(watcher);
    }
    uint64_t over_ns = watcher->over_ns;
    pthread_mutex_unlock(&watcher->mutex);
    hold(over_ns);
}

void watcher_push(struct watcher *watcher)
{
    pthread_mutex_lock(&watcher->mutex);
    if (!watcher->over_ns && watcher->ranges >= FIRST_RANGES &&
        (watcher->handle || open_handle(watcher)))
        begin(watcher);
    uint64_t over_ns = watcher->over_ns;
    pthread_mutex_unlock(&watcher->mutex);
    hold(over_ns);
}

void watcher_pop(struct watcher *watcher)
{
    pthread_mutex_lock(&watcher->mutex);
    watcher->ranges++;
    if (!watcher->over_ns && watcher->handle)
        mpsweep_end(watcher->handle);
    pthread_mutex_unlock(&watcher->mutex);
}
