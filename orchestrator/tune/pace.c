#include <math.h>

#include "common/clock.h"
#include "orchestrator/campaign/estimate.h"
#include "orchestrator/tune/internal.h"

/* At the end of the budget, to end the daemon and to write what was found; of a small budget at
 * most this share. */
#define END_S 0.5
#define END_SHARE 0.25

/* What it takes to drain workers and to write a record, where that was not seen yet; and of a
 * budget at most this share, however long it was seen to take. */
#define STOP_S 0.05
#define STOP_SHARE 0.1

/* Iterations in a window, of the layout where they are shortest. */
#define WINDOW_ITERATIONS 10.0

/* Nor does a window that was made longer take more than this share of the budget. */
#define WINDOW_BUDGET_SHARE 0.125

/* A start before the finals may take this share of the time that is left, or so often what is
 * expected, whichever is more; the very first all of it. Of a program that was seen to start, only
 * the latter, or what start_late_s() allows. What takes longer hangs. An iteration may take as
 * long, and in any case HANG_S. */
#define LOOK_LEFT_SHARE 0.5
#define START_SLACK 4.0
#define HANG_S 5.0

/* The first start of a program may take this share of the budget, however short --timeout is by
 * itself: with longer ones there would be no time for finals. */
#define FIRST_START_SHARE 0.2

/* Of a window of the finals, that of a look in which a rate is searched for: its steps take half.
 */
#define RATE_LOOK_SHARE 0.5

/* How often longer a window may be in which a worker has been in one iteration alone. */
#define OUTLASTED 8.0

/* How fast what measurements were seen to cost replaces what was thought. */
#define LEARN 0.3

static uint64_t ns_of(double seconds)
{
    return seconds > 0.0 ? (uint64_t)(1e9 * seconds) : 0;
}

void tune_pace_init(double budget_s, uint64_t started_ns, struct tune_pace *out)
{
    *out = (struct tune_pace){
        .budget_s = budget_s, .stop_s = STOP_S, .stopped = 1, .unready = TUNE_NO_POINT};
    if (isfinite(budget_s))
        out->deadline_ns = started_ns + ns_of(budget_s - fmin(END_S, END_SHARE * budget_s));
    start_costs_init(ESTIMATE_START_S, ESTIMATE_START_PROCESS_S, &out->starts);
}

struct tune_costs tune_pace_first_costs(void)
{
    return (struct tune_costs){.point_s = ESTIMATE_POINT_S,
                               .start_s = ESTIMATE_START_S,
                               .process_s = ESTIMATE_START_PROCESS_S,
                               .stream_s = ESTIMATE_STREAM_S};
}

double tune_seconds_left(const struct tune *tune)
{
    uint64_t now_ns = clock_now_ns(), deadline_ns = tune->pace.deadline_ns;
    if (!deadline_ns)
        return INFINITY;
    return now_ns < deadline_ns ? (double)(deadline_ns - now_ns) / 1e9 : 0.0;
}

double tune_seconds_left_for_search(const struct tune *tune)
{
    double ending_s = tune->campaign.crew.pool.count > 0 ? tune->pace.ending_s : 0.0;
    return fmax(tune_seconds_left(tune) - tune_confirm_s(tune) - ending_s, 0.0);
}

/* Of all its processes. */
static double weight_of(const struct point *point)
{
    return point_gpus(point) * estimate_start_weight(point);
}

static double start_s(const struct tune *tune, const struct point *point)
{
    const struct start_costs *starts = &tune->pace.starts;
    return fmax(starts->start_s + starts->process_s * weight_of(point),
                tune_load_seconds(&tune->costs, point->processes, point->threads));
}

static double streams_s(const struct tune *tune, const struct point *point)
{
    return tune_streams_seconds(&tune->costs, point_streams(point), point_is_program(point));
}

static double late_start_s(const struct tune *tune, const struct point *point)
{
    double expected_s = start_s(tune, point), late_s = START_SLACK * expected_s;
    return point_is_program(point) ? fmax(fmin(late_s, start_late_s(expected_s)), HANG_S) : late_s;
}

bool tune_pace_hangs(const struct tune *tune, const struct point *point, double seconds)
{
    return seconds > late_start_s(tune, point);
}

/* What holds enough iterations, as far as the budget allows it. */
static double least_window_s(const struct tune_pace *pace, double least_s)
{
    return fmin(fmax(least_s, WINDOW_ITERATIONS * pace->iteration_s),
                WINDOW_BUDGET_SHARE * pace->budget_s);
}

double tune_pace_window_s(const struct tune *tune, const struct point *point, enum tune_stage stage,
                          double window_s)
{
    const struct tune_pace *pace = &tune->pace;
    double share = stage == TUNE_STAGE_LOOK ? RATE_LOOK_SHARE : 1.0;
    double least_s = point->goal.permille ? share * tune->rules.final_s : 0.0;
    /* How long its iterations take is known from the first window. */
    if (point_is_program(point) && pace->iteration_s <= 0.0)
        least_s = tune->rules.final_s;
    return fmax(window_s, least_window_s(pace, least_s));
}

/* How long workers may take to get ready, to end an iteration, or to stop. */
static uint64_t timeout_of(const struct tune *tune, const struct point *point)
{
    const struct tune_pace *pace = &tune->pace;
    uint64_t timeout_ns = tune->campaign.limits.timeout_ns;
    bool given = options_is_given(tune->campaign.options, OPTION_TIMEOUT);
    uint64_t start_ns =
        ns_of(pace->known ? late_start_s(tune, point) : FIRST_START_SHARE * pace->budget_s);
    return given || !point_is_program(point) || start_ns < timeout_ns ? timeout_ns : start_ns;
}

static double most_stop_s(const struct tune_pace *pace)
{
    return STOP_SHARE * pace->budget_s;
}

/* More processes than were seen to stop take longer. */
static double stop_s(const struct tune_pace *pace, const struct point *point)
{
    double times = fmax(1.0, (double)point_processes(point) / pace->stopped);
    return fmin(times * pace->stop_s, fmax(pace->stop_s, most_stop_s(pace)));
}

/* What the finals need, before they have begun. */
static double reserve_s(const struct tune *tune, enum tune_stage stage, bool starts)
{
    if (stage != TUNE_STAGE_LOOK || !tune->pace.known)
        return 0.0;
    double confirm_s = tune_confirm_s(tune), left_s = tune_seconds_left_for_search(tune);
    return tune_search_reserve_s(tune->search, left_s, &tune->costs, starts) + confirm_s;
}

bool tune_pace_limits(const struct tune *tune, const struct point *point, enum tune_stage stage,
                      bool starts, double window_s, struct round_limits *out)
{
    const struct tune_pace *pace = &tune->pace;
    *out = tune->campaign.limits;
    out->duration_ns = ns_of(window_s);
    out->max_duration_ns = ns_of(point_is_open(point) ? window_s : OUTLASTED * window_s);
    /* A low rate takes longer to offer enough. */
    if (point->goal.permille)
        out->max_duration_ns = ns_of(fmax(window_s, TUNE_RATE_LONGEST * tune->rules.final_s));
    out->precision_rel = INFINITY;
    if (!pace->deadline_ns)
        return true;
    out->timeout_ns = timeout_of(tune, point);
    uint64_t now_ns = clock_now_ns();
    uint64_t end_ns = now_ns + out->duration_ns + point->work.warmup_ns +
                      ns_of(stop_s(pace, point)) + ns_of(reserve_s(tune, stage, starts));
    if (end_ns >= pace->deadline_ns)
        return false;
    double spare_s = (double)(pace->deadline_ns - end_ns) / 1e9;
    double start = (starts ? start_s(tune, point) : 0.0) + streams_s(tune, point);
    if (stage == TUNE_STAGE_LOOK && pace->known && start > spare_s)
        return false;
    if (stage != TUNE_STAGE_FINAL && pace->tried) {
        bool program = point_is_program(point) && pace->known;
        double least_s = fmin(spare_s, late_start_s(tune, point));
        spare_s = program ? least_s : fmax(LOOK_LEFT_SHARE * spare_s, least_s);
        uint64_t hang_ns = ns_of(fmax(spare_s, HANG_S));
        out->timeout_ns = out->timeout_ns < hang_ns ? out->timeout_ns : hang_ns;
    }
    out->ready_by_ns = now_ns + ns_of(spare_s);
    return true;
}

uint64_t tune_pace_until_ns(const struct tune *tune, const struct point *point,
                            enum tune_stage stage, double window_s)
{
    const struct tune_pace *pace = &tune->pace;
    bool waits = tune->campaign.crew.pool.count > 0;
    uint64_t kept_ns = ns_of(window_s + stop_s(pace, point) + reserve_s(tune, stage, !waits));
    if (!pace->deadline_ns)
        return 0;
    return pace->deadline_ns > kept_ns ? pace->deadline_ns - kept_ns : 1;
}

static void learn(double *known, double seen)
{
    *known += LEARN * (fmax(seen, 0.0) - *known);
}

void tune_pace_learn_stop(struct tune_pace *pace, bool program, unsigned processes, double seconds)
{
    if (program)
        pace->ending_s = fmax(pace->ending_s, seconds);
    pace->stop_s = fmax(pace->stop_s, fmin(seconds, most_stop_s(pace)));
    pace->stopped = processes > pace->stopped ? processes : pace->stopped;
}

/* The time that the streams of a point took to get ready. */
static void learn_streams(struct tune *tune, const struct point *point, double seconds)
{
    learn(&tune->costs.stream_s, seconds / point_streams(point));
}

/* Processes that load wait for each other's CPUs, however little a few of them show of that. */
static void learn_load(struct tune *tune, const struct point *point, double process_s)
{
    struct tune_costs *costs = &tune->costs;
    double each_s = process_s / fmax(tune->space.cpus, 1.0);
    if (point->threads == 1 || costs->load_s <= 0.0)
        costs->load_s = each_s;
    else
        costs->load_thread_s = fmax(0.0, (each_s - costs->load_s) / (point->threads - 1.0));
}

void tune_pace_learn_start(struct tune *tune, const struct point *point, double ready_s,
                           double cpu_s)
{
    struct tune_pace *pace = &tune->pace;
    bool streams = streams_s(tune, point) > 0.0;
    if (cpu_s > 0.0)
        learn_load(tune, point, cpu_s / point_processes(point));
    pace->known = true;
    /* A start alone does not show which of both took longer than expected: until processes that
     * were there have shown it, it is the streams. */
    if (streams && !pace->streams_known)
        learn_streams(tune, point, ready_s - start_s(tune, point));
    else
        start_costs_learn(&pace->starts, weight_of(point),
                          fmax(0.0, ready_s - streams_s(tune, point)));
    /* The search weighs the processes of a GPU. */
    tune->costs.start_s = pace->starts.start_s + pace->ending_s;
    tune->costs.process_s = pace->starts.process_s * point_gpus(point);
}

/* What ending its processes took, where they serve no other point: it is part of a start's cost. */
static double ending_of(const struct tune *tune, const struct round_result *round)
{
    return tune->campaign.crew.pool.count == 0 ? round->stop_s : 0.0;
}

void tune_pace_learn(struct tune *tune, const struct point *point, enum tune_stage stage,
                     const struct round_result *round, double window_s, double seconds)
{
    struct tune_pace *pace = &tune->pace;
    double ending_s = ending_of(tune, round);
    double iteration_s = histogram_quantile_ns(&round->latency, 0.5) / 1e9;
    pace->tried = true;
    /* What came of them later matters to none of it; those of a program that has fewer threads are
     * ready all the same. */
    if (round->status != STATUS_OK && round->ready_s > 0.0 &&
        (round->threads_at_work || !round->reused))
        tune_pace_learn_start(tune, point, round->ready_s, round->ready_cpu_s);
    if (round->status != STATUS_OK)
        return;
    /* A program may need long to end, now and then; our own workers take as long as they are many.
     */
    if (point_is_program(point))
        pace->ending_s = fmax(pace->ending_s, ending_s);
    else if (ending_s > 0.0)
        learn(&pace->ending_s, ending_s);
    bool apart = !round->reused || streams_s(tune, point) > 0.0;
    bool searched = point->goal.permille > 0;
    double shown_s = searched ? window_s : fmax(window_s, round->window_s);
    double rest_s = seconds - shown_s - (apart ? round->ready_s : 0.0) - ending_s;
    if (!round->reused) {
        tune_pace_learn_start(tune, point, round->ready_s, round->ready_cpu_s);
    } else if (streams_s(tune, point) > 0.0) {
        learn_streams(tune, point, round->ready_s);
        pace->streams_known = true;
    }
    if (searched && stage != TUNE_STAGE_FINAL)
        learn(&tune->costs.search_s, rest_s - tune->costs.point_s);
    else
        learn(&tune->costs.point_s, rest_s);
    tune_pace_learn_stop(pace, false, point_processes(point), round->stop_s);
    if (iteration_s > 0.0 && (pace->iteration_s <= 0.0 || iteration_s < pace->iteration_s))
        pace->iteration_s = iteration_s;
    tune->costs.window_s = least_window_s(pace, 0.0);
}
