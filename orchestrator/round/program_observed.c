/* What programs and their observers report: iterations that were found, and threads at work. */
#include "common/clock.h"
#include "orchestrator/round/internal.h"

/* A thread more may take at least so long. */
#define PATIENCE_LEAST_NS (5 * NS_PER_S)

enum shm_observed round_program_read_observer(const struct round *round, unsigned process,
                                              char words[SHM_TEXT_BYTES])
{
    const struct shm_observer *observer = &shm_process_at(&round->shm, process)->observer;
    uint32_t state = atomic_load_explicit(&observer->state, memory_order_acquire);
    shm_text_read(&observer->words, words);
    return (enum shm_observed)state;
}

void round_program_observed(const struct round *round)
{
    struct round_observed *out = &round->result->observed;
    const struct shm_observer *observer = &shm_process_at(&round->shm, 0)->observer;
    *out = (struct round_observed){0};
    enum shm_observed state = round_program_read_observer(round, 0, out->what);
    if (state != SHM_OBSERVED_ITERATION) {
        out->what[0] = '\0';
        return;
    }
    out->calls = out->least_calls = out->most_calls = observer->calls;
    out->match = observer->match;
    out->doubt = (enum tick_doubt)observer->doubt;
    for (unsigned p = 1; p < point_processes(round->point); p++) {
        observer = &shm_process_at(&round->shm, p)->observer;
        if (atomic_load(&observer->state) != SHM_OBSERVED_ITERATION)
            continue;
        out->least_calls = observer->calls < out->least_calls ? observer->calls : out->least_calls;
        out->most_calls = observer->calls > out->most_calls ? observer->calls : out->most_calls;
    }
    if (!round_observed_unlike(out))
        round->session->known_calls = out->calls;
}

uint64_t round_program_lost_ns(const struct round *round)
{
    uint64_t last_ns = 0;
    for (unsigned p = 0; round->shm.header && p < point_processes(round->point); p++) {
        uint64_t lost_ns = atomic_load(&shm_process_at(&round->shm, p)->observer.lost_ns);
        last_ns = lost_ns > last_ns ? lost_ns : last_ns;
    }
    return last_ns;
}

unsigned round_program_opened_threads(const struct round *round, unsigned process)
{
    unsigned ready = 0, opened = 0, streams = point_streams(round->point);
    for (unsigned t = 0; t < round->point->threads; t++) {
        struct shm_slot *slot = shm_slot_at(&round->shm, process, t * streams);
        ready += atomic_load(&slot->state) == SHM_STATE_READY;
        opened += atomic_load(&slot->opened) != SHM_OPENED_NOT;
    }
    return ready > 0 ? opened : 0;
}

uint64_t round_program_found_ns(const struct round *round)
{
    uint64_t last_ns = round->spawn_ns;
    for (unsigned p = 0; p < point_processes(round->point); p++) {
        uint64_t ns = atomic_load(&shm_process_at(&round->shm, p)->observer.changed_ns);
        last_ns = ns > last_ns ? ns : last_ns;
    }
    return last_ns;
}

/* How long a process of a program may go without another thread at work. One that launches may yet
 * have iterations, or do so for another thread, as those that PyTorch has for gradients. */
static uint64_t patience_ns(const struct round *round, unsigned process)
{
    const struct shm_observer *observer = &shm_process_at(&round->shm, process)->observer;
    uint64_t took_ns = atomic_load(&observer->changed_ns) - round->spawn_ns;
    bool launches = round_program_opened_threads(round, process) < atomic_load(&observer->threads);
    took_ns = took_ns > PATIENCE_LEAST_NS ? took_ns : PATIENCE_LEAST_NS;
    return launches ? 2 * took_ns : took_ns;
}

bool round_program_waits_in_vain(const struct round *round)
{
    for (unsigned p = 0; p < point_processes(round->point) && !point_is_server(round->point); p++) {
        const struct shm_observer *observer = &shm_process_at(&round->shm, p)->observer;
        uint64_t changed_ns = atomic_load(&observer->changed_ns);
        unsigned at_work = round_program_opened_threads(round, p);
        if (atomic_load(&observer->state) == SHM_OBSERVED_ITERATION &&
            changed_ns > round->spawn_ns && at_work > 0 && at_work < round->point->threads &&
            clock_now_ns() > changed_ns + patience_ns(round, p))
            return true;
    }
    return false;
}
