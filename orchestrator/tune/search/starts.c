#include <math.h>

#include "job/crew.h"
#include "orchestrator/tune/search/costs.h"
#include "orchestrator/tune/search/internal.h"

/* A program's processes may need much memory of the host: a start has at most this many times as
 * many as have worked. And its threads may be in each other's way: it has at most this many workers
 * in all, or this many times as many as have worked. */
#define GROWTH_MOST 16
#define FIRST_CROWD 64.0
#define CROWD_GROWTH 8.0

/* A start of a program is dear if it takes longer than this, and more than this share of the time
 * that is left. */
#define DEAR_START_S 10.0
#define DEAR_START_SHARE 0.12

double tune_load_seconds(const struct tune_costs *costs, unsigned processes, unsigned threads)
{
    return processes * (costs->load_s + costs->load_thread_s * (threads - 1.0));
}

double tune_streams_seconds(const struct tune_costs *costs, unsigned streams, bool program)
{
    return streams > 1 && !program ? costs->stream_s * streams : 0.0;
}

static double streams_seconds(const struct tune_search *search, size_t point)
{
    return tune_streams_seconds(&search->costs, search->candidates[point].streams,
                                search->rules.program);
}

double tune_held_seconds_of(const struct tune_search *search, size_t point, double window_s)
{
    const struct tune_costs *costs = &search->costs;
    return costs->point_s + fmax(window_s, costs->window_s) + streams_seconds(search, point);
}

double tune_start_seconds(const struct tune_search *search, size_t point)
{
    const struct tune_costs *costs = &search->costs;
    const struct tune_candidate *one = &search->candidates[point];
    return fmax(costs->start_s + costs->process_s * one->start_weight,
                tune_load_seconds(costs, one->processes, one->threads));
}

double tune_seconds_of(const struct tune_search *search, size_t point, double window_s)
{
    return tune_held_seconds_of(search, point, window_s) + tune_start_seconds(search, point);
}

double tune_look_seconds(const struct tune_search *search, size_t point)
{
    return tune_seconds_of(search, point, search->look_s) + search->costs.search_s;
}

double tune_held_look_seconds(const struct tune_search *search, size_t point)
{
    return tune_held_seconds_of(search, point, search->look_s) + search->costs.search_s;
}

/* The same of a program, beside that: its threads, streams and binding are those of its start. */
static bool may_serve_program(const struct tune_search *search,
                              const struct tune_candidate *started_for,
                              const struct tune_candidate *one)
{
    return started_for->streams == one->streams && started_for->threads >= one->threads &&
           (one->streams <= 1 || started_for->threads == one->threads || search->rules.server) &&
           started_for->axes[TUNE_AXIS_BIND] == one->axes[TUNE_AXIS_BIND] &&
           (started_for->processes == one->processes || !search->rules.names_processes) &&
           (started_for->threads == one->threads || !search->rules.names_threads);
}

/* A set of processes may be fast or slow: looks at layouts that differ in their schedule are worth
 * another set, which turns.h does not ask for. And more may idle over MPS in looks at a program. */
bool tune_may_serve(const struct tune_search *search, const struct tune_candidate *started_for,
                    const struct tune_candidate *one)
{
    unsigned idle = started_for->processes - one->processes;
    unsigned most =
        one->processes > 1 || one->axes[TUNE_AXIS_MPS] ? CREW_IDLE_MOST * one->processes : 0;
    if (one->axes[TUNE_AXIS_MPS] && !search->rules.program)
        most = one->processes / CREW_WORK_PER_IDLE;
    return !search->rules.fresh && started_for->processes >= one->processes &&
           started_for->axes[TUNE_AXIS_MPS] == one->axes[TUNE_AXIS_MPS] && idle <= most &&
           started_for->connections == one->connections &&
           started_for->axes[TUNE_AXIS_SCHEDULE] == one->axes[TUNE_AXIS_SCHEDULE] &&
           started_for->axes[TUNE_AXIS_DAEMONS] == one->axes[TUNE_AXIS_DAEMONS] &&
           started_for->axes[TUNE_AXIS_SHARE] == one->axes[TUNE_AXIS_SHARE] &&
           started_for->share == one->share &&
           (!search->rules.program || may_serve_program(search, started_for, one));
}

unsigned tune_most_processes(const struct tune_search *search)
{
    unsigned most = 1;
    for (size_t i = 0; i < search->known_count; i++) {
        unsigned processes = search->candidates[search->known[i]].processes;
        most = processes > most ? processes : most;
    }
    return most;
}

static bool outgrows(const struct tune_search *search, size_t point)
{
    const struct tune_candidate *one = &search->candidates[point];
    double workers = 1.0;
    for (size_t i = 0; i < search->known_count; i++)
        workers = fmax(workers, tune_in_flight(&search->candidates[search->known[i]]));
    /* Threads of a server's layout are requests. */
    bool crowd =
        !search->rules.server && tune_in_flight(one) > fmax(FIRST_CROWD, CROWD_GROWTH * workers);
    return crowd || one->processes > GROWTH_MOST * tune_most_processes(search);
}

static bool are_starts_dear(const struct tune_search *search)
{
    const double start_s = search->costs.start_s;
    return start_s >= DEAR_START_S && start_s >= DEAR_START_SHARE * search->left_s;
}

bool tune_has_new_threads(const struct tune_search *search, size_t point)
{
    if (search->candidates[point].threads == 1)
        return false;
    for (size_t i = 0; i < search->known_count; i++)
        if (search->candidates[search->known[i]].threads > 1)
            return false;
    return true;
}

/* A program that has one thread, whatever it is asked for, is waited for in vain, and the longer
 * the longer its starts take. Where they are dear, or where it seems to have one, the layouts that
 * any program has come first, and others if there is time to wait, and for all rounds of the best.
 */
static bool may_lack_threads(const struct tune_search *search, size_t point)
{
    bool several = false;
    if (search->rules.server || !tune_has_new_threads(search, point))
        return false;
    for (size_t i = 0; i < search->known_count; i++)
        several |= search->candidates[search->known[i]].processes > 1;
    double spare_s = search->left_s - tune_whole_finals_s(search);
    return !several || start_late_s(tune_look_seconds(search, point)) > spare_s;
}

/* Whether a layout has settings that the first one had not: another share of the GPU or binding.
 * Its start serves no layout without them, and where starts are dear the best have their rounds
 * first. */
static bool has_other_share_or_binding(const struct tune_search *search, size_t point)
{
    if (search->known_count == 0)
        return false;
    const struct tune_candidate *one = &search->candidates[point];
    const struct tune_candidate *first = &search->candidates[search->known[0]];
    return one->axes[TUNE_AXIS_SHARE] != first->axes[TUNE_AXIS_SHARE] ||
           one->axes[TUNE_AXIS_BIND] != first->axes[TUNE_AXIS_BIND];
}

bool tune_is_larger(const struct tune_candidate *one, const struct tune_candidate *other)
{
    return one->processes == other->processes ? one->threads > other->threads
                                              : one->processes > other->processes;
}

bool tune_may_share_round(const struct tune_search *search,
                          const struct tune_candidate *started_for,
                          const struct tune_candidate *one)
{
    unsigned idle = started_for->processes - one->processes;
    return search->rules.program && tune_may_serve(search, started_for, one) &&
           (!one->axes[TUNE_AXIS_MPS] || CREW_WORK_PER_IDLE * idle <= one->processes);
}

bool tune_is_held(const struct tune_search *search, size_t point)
{
    return search->held != TUNE_NO_POINT &&
           tune_may_serve(search, &search->candidates[search->held], &search->candidates[point]);
}

bool tune_may_start(const struct tune_search *search, size_t point)
{
    if (!search->rules.program)
        return true;
    bool dear = are_starts_dear(search);
    bool later = ((dear || search->rules.may_ignore_threads) && may_lack_threads(search, point)) ||
                 (dear && has_other_share_or_binding(search, point));
    return !later && !outgrows(search, point);
}
