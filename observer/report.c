#include "observer/report.h"

#include <pthread.h>
#include <stdatomic.h>

#include "client/attachment.h"
#include "common/clock.h"
#include "common/text.h"

static struct shm_observer *record(void)
{
    return &shm_process_at(client_shm(), client_process())->observer;
}

bool report_is_iteration(void)
{
    return atomic_load(&record()->state) == SHM_OBSERVED_ITERATION;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void set_state(struct shm_observer *out, enum shm_observed state, const char *text)
{
    bool found = state == SHM_OBSERVED_ITERATION || state == SHM_OBSERVED_NOTHING;
    uint32_t before = atomic_load(&out->state);
    if (found || before != SHM_OBSERVED_ITERATION) {
        shm_text_publish(&out->words, text);
        if (found && before != (uint32_t)state)
            atomic_store(&out->changed_ns, clock_now_ns());
        if (found)
            atomic_store_explicit(&out->state, state, memory_order_release);
        else
            atomic_compare_exchange_strong(&out->state, &before, (uint32_t)state);
    }
}

void report_state(enum shm_observed state, const char *text)
{
    pthread_mutex_lock(&mutex);
    set_state(record(), state, text);
    pthread_mutex_unlock(&mutex);
}

static const struct {
    const char *one, *many;
} words[CALL_KINDS] = {
    [CALL_LAUNCH] = {"launch", "launches"},
    [CALL_GRAPH] = {"graph launch", "graph launches"},
    [CALL_WAIT] = {"wait", "waits"},
    [CALL_POLL] = {"poll", "polls"},
    [CALL_HOST] = {"host function", "host functions"},
    [CALL_COPY_IN] = {"copy in", "copies in"},
    [CALL_COPY_OUT] = {"copy out", "copies out"},
    [CALL_COPY_OUT_WAIT] = {"waiting copy out", "waiting copies out"},
    [CALL_LOAD] = {"load of code", "loads of code"},
    [CALL_MAKE] = {"graph made", "graphs made"},
};

static void append_count(struct text *text, enum call_kind kind, uint64_t count, uint64_t bytes)
{
    if (count == 0)
        return;
    text_append(text, "%s%llu %s", text->length ? ", " : "", (unsigned long long)count,
                count == 1 ? words[kind].one : words[kind].many);
    if (bytes)
        text_append(text, " of %llu bytes", (unsigned long long)bytes);
}

void report_calls(const uint64_t calls[CALL_KINDS], bool works)
{
    char line[SHM_TEXT_BYTES] = "";
    struct text text = {.at = line, .size = sizeof line};
    for (int kind = CALL_LAUNCH; kind < CALL_KINDS; kind++)
        append_count(&text, (enum call_kind)kind, calls[kind], 0);
    report_state(works ? SHM_OBSERVED_CALLS : SHM_OBSERVED_NO_WORK, line);
}

void report_iteration(const struct period *period, const struct tick *tick, enum call_kind stands)
{
    char line[SHM_TEXT_BYTES] = "";
    struct text text = {.at = line, .size = sizeof line};
    struct mark iteration = period_iteration(period);
    if (tick->kind == TICK_NVTX)
        text_append(&text, "NVTX range '%s'", tick->name);
    if (tick->kind == TICK_AUTO && stands >= CALL_WAIT && stands <= CALL_HOST)
        append_count(&text, stands, period->length, 0);
    append_count(&text, CALL_LAUNCH, iteration.launches, 0);
    append_count(&text, CALL_GRAPH, iteration.graphs, 0);
    append_count(&text, CALL_COPY_IN, iteration.copies_in, iteration.bytes_in);
    append_count(&text, CALL_COPY_OUT, iteration.copies_out, iteration.bytes_out);
    if (period_is_mean(period))
        text_append(&text, " on average");
    struct shm_observer *out = record();
    pthread_mutex_lock(&mutex);
    out->calls = mark_calls(&iteration) + period->length;
    out->doubt = tick->kind == TICK_AUTO ? period_doubt(period) : TICK_SURE;
    out->match = tick->kind == TICK_NVTX ? 1 : period_alike(period);
    set_state(out, SHM_OBSERVED_ITERATION, line);
    pthread_mutex_unlock(&mutex);
}

void report_thread(void)
{
    struct shm_observer *out = record();
    atomic_fetch_add(&out->threads, 1);
    atomic_store(&out->changed_ns, clock_now_ns());
}

void report_call(void)
{
    atomic_store_explicit(&record()->called_ns, clock_now_ns(), memory_order_relaxed);
}

void report_uncounted(void)
{
    const struct shm_header *header = client_shm()->header;
    uint64_t warm_ns = atomic_load(&header->start_ns) + header->settings.warmup_ns;
    if (atomic_load(&header->gate) == SHM_GATE_OPEN && clock_now_ns() >= warm_ns)
        atomic_fetch_add(&record()->uncounted, 1);
}

void report_lost(uint64_t after_ns)
{
    atomic_store(&record()->lost_ns, after_ns);
}
