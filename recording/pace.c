#include "recording/pace.h"

#include <sched.h>

#include "common/clock.h"
#include "common/random.h"
#include "job/rate.h"

/* Of an exponential distribution with mean 1, by comparisons alone (von Neumann 1951): the first of
 * a falling run of uniform numbers counts if the run's length is odd, else the whole part grows. */
static double random_exponential(uint64_t *random)
{
    for (uint64_t whole = 0;; whole++) {
        uint64_t first = random_next(random), last = first, next;
        unsigned length = 1;
        for (; (next = random_next(random)) < last; length++)
            last = next;
        if (length % 2)
            return (double)whole + (double)(first >> 11) * 0x1p-53;
    }
}

static void add_random_gap(struct pace *pace)
{
    pace->planned_ns += (uint64_t)(random_exponential(&pace->random) * pace->mean_gap_ns);
}

/* What is left over of a division is carried on, so that the pace does not drift. */
static void add_constant_gap(struct pace *pace)
{
    pace->planned_ns += pace->gap_ns;
    pace->part += pace->gap_part;
    if (pace->part >= pace->parts) {
        pace->part -= pace->parts;
        pace->planned_ns++;
    }
}

static void take_traced(struct pace *pace)
{
    const struct arrivals *trace = pace->trace;
    uint64_t place = pace->next % trace->count;
    double gaps = (double)(pace->next - place) + trace->at[place];
    pace->planned_ns = (uint64_t)(gaps * pace->mean_gap_ns);
}

static void add_traced_gap(struct pace *pace)
{
    pace->next += pace->parts;
    take_traced(pace);
}

void pace_init(struct pace *pace, const struct shm_settings *settings, const struct arrivals *trace,
               unsigned index, unsigned workers)
{
    /* One iteration of all workers takes unit/rate nanoseconds. */
    const uint64_t unit = NS_PER_S * RATE_UNITS, rate = settings->rate_units;
    *pace = (struct pace){
        .arrival = settings->arrival,
        .schedule = settings->schedule,
        .gap_ns = unit * workers / rate,
        .gap_part = unit * workers % rate,
        .parts = rate,
        .mean_gap_ns = (double)unit * workers / (double)rate,
        .random = settings->arrival_seed,
        .trace = trace,
    };
    if (pace->arrival == ARRIVAL_POISSON) {
        /* Far apart, though seeds and indices are neighbours. */
        pace->random = random_next(&pace->random) ^ (index * UINT64_C(0xd1342543de82ef95));
        pace->random = random_next(&pace->random);
        add_random_gap(pace);
    } else if (pace->arrival == ARRIVAL_TRACE && trace && trace->count > 0) {
        pace->mean_gap_ns /= workers;
        pace->parts = workers;
        pace->next = index;
        take_traced(pace);
    } else {
        pace->arrival = ARRIVAL_CONSTANT;
        pace->planned_ns = unit * index / rate;
        pace->part = unit * index % rate;
    }
}

void pace_next(struct pace *pace)
{
    if (pace->arrival == ARRIVAL_POISSON)
        add_random_gap(pace);
    else if (pace->arrival == ARRIVAL_TRACE)
        add_traced_gap(pace);
    else
        add_constant_gap(pace);
}

uint64_t pace_backlog(struct pace *pace, uint64_t until_ns)
{
    uint64_t count = 0;
    for (; pace->planned_ns <= until_ns && count < PACE_MOST_BACKLOG; count++)
        pace_next(pace);
    return count;
}

void pace_begin(struct pace *pace, const struct shm *shm, const struct shm_slot *slot,
                const struct arrivals *trace)
{
    const struct shm_header *header = shm->header;
    /* There may be room for more workers than the assignment has. A thread's streams share a pace.
     */
    unsigned place = (unsigned)(slot - shm_slot_at(shm, 0, 0));
    unsigned index = place / header->slots_most * header->threads +
                     place % header->slots_most / shm_streams(header);
    pace_init(pace, &header->settings, trace, index, header->processes * header->threads);
    pace->start_ns = atomic_load(&header->start_ns);
    clock_sleep_exactly();
}

bool pace_wait(struct pace *pace, const struct shm *shm, struct shm_slot *slot)
{
    uint64_t start_ns = pace->start_ns + pace->planned_ns;
    bool block = pace->schedule == SCHEDULE_BLOCK;
    bool spin = pace->schedule == SCHEDULE_SPIN;
    pace->late = clock_now_ns() > start_ns;
    if (pace->late)
        return !shm_is_stopping(shm->header);
    atomic_store_explicit(&slot->idle_until_ns, start_ns, memory_order_relaxed);
    shm_sleep_until(shm, block ? start_ns : start_ns - PACE_AWAKE_NS);
    while (!shm_is_stopping(shm->header)) {
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= start_ns)
            break;
        if (!spin && now_ns + SHM_STARE_NS < start_ns)
            sched_yield();
    }
    atomic_store_explicit(&slot->idle_until_ns, 0, memory_order_relaxed);
    return !shm_is_stopping(shm->header);
}
