#include "orchestrator/campaign/saturation.h"

#include <math.h>
#include <stdio.h>

#include "common/clock.h"
#include "orchestrator/campaign/bracket.h"
#include "orchestrator/round/openloop.h"

/* What is offered above the capacity of the closed loop can only queue. The share covers that the
 * capacity was measured in a short window. */
#define CAPACITY_SHARE 1.05
#define LOWEST_SHARE (1.0 / 64)

/* With a larger share of requests that failed, the capacity bounds nothing. */
#define FAILED_SHARE (CAPACITY_SHARE - 1.0)

/* Iterations that a step offers within --duration, and those for which a low rate may take up to
 * --max-duration. Rates that offer fewer than the least even then are not tried. */
#define STEP_SAMPLES 300
#define STEP_SAMPLES_P999 3000
#define STEP_SAMPLES_LOW 100
#define STEP_SAMPLES_LEAST 20

/* Of a coarse search. */
#define QUICK_SAMPLES 30

/* Windows of a step in which a worker may stand still. */
#define STEP_TRIES 3

/* Times that the full window may show less than the short one. */
#define CORRECTIONS 4

/* For estimates: the closed loop, the steps of a usual search, and the full window. */
#define USUAL_ROUNDS 8

unsigned saturation_rounds(const struct point *point)
{
    return point->goal.permille ? USUAL_ROUNDS : 1;
}

/* Rounds with the same workers, which the first of them started or got ready. */
struct start {
    const struct turn *turn;
    bool known; /* they have been ready */
    bool reused;
    double ready_s;
};

static enum status run_round(const struct searching *searching, struct start *start,
                             const struct point *point, const struct round_limits *limits,
                             struct round_result *out)
{
    enum status status =
        round_run_on(searching->session, point, limits, searching->crew, start->turn, out);
    /* The start's own workers have served no other point. */
    if (start->known && out->reused && out->ready_s > 0.0) {
        out->reused = start->reused;
        out->ready_s = start->ready_s;
    } else if (out->ready_s > 0.0) {
        start->known = true;
        start->reused = out->reused;
        start->ready_s = out->ready_s;
    }
    return status;
}

/* In the place of a round that shows nothing of the point: what is left is how it was started. */
static void replace(struct round_result *result, enum status status)
{
    struct round_result left = {
        .status = status, .reused = result->reused, .ready_s = result->ready_s};
    round_result_release(result);
    *result = left;
}

static uint64_t units_of(double ips)
{
    return (uint64_t)(ips * RATE_UNITS);
}

/* Every round draws its own arrivals: they are part of what differs between rounds. */
static uint64_t seed_of(const struct point *point, unsigned round, unsigned step)
{
    if (point->work.arrival != ARRIVAL_POISSON)
        return 0;
    return point->work.arrival_seed + ((uint64_t)round << 40) + ((uint64_t)step << 32);
}

static void note(struct saturation *search, const struct point *point,
                 const struct round_result *result, uint64_t rate_units, bool held)
{
    if (search->count == SATURATION_STEPS)
        return;
    double failed = (double)round_failed_requests(&result->requests);
    search->steps[search->count++] = (struct saturation_step){
        .rate_units = rate_units,
        .latency_us = openloop_latency_ns(&point->goal, result) / 1e3,
        .failed_share = failed / (failed + (double)result->latency.count),
        .backlog = result->open.backlog,
        .held = held,
        .seconds = result->window_s,
    };
}

/* Why the last step did not hold: requests without a good answer, its latency, or a queue, in which
 * latencies only begin to grow. verb is what follows a latency beyond the limit. */
static void why_not(const struct point *point, const struct saturation *search, const char *verb,
                    char *out, size_t size)
{
    char latency[32], limit[32], rate[32];
    const struct saturation_step *last = &search->steps[search->count - 1];
    const char *percentile = rate_percentile_name(point->goal.permille);
    double latency_ns = last->latency_us * 1e3, limit_ns = (double)point->goal.latency_ns;
    rate_time_text(latency_ns, latency, sizeof latency);
    rate_text(last->rate_units, rate, sizeof rate);
    if (isinf(latency_ns))
        snprintf(out, size, "%.2g%% of the requests at %s/s had no good answer, and %s allows %g%%",
                 100.0 * last->failed_share, rate, percentile,
                 (1000 - (int)point->goal.permille) / 10.0);
    else if (latency_ns > limit_ns)
        snprintf(out, size, "%s of %s at %s/s %s %s", percentile, latency, rate, verb,
                 rate_time_text(limit_ns, limit, sizeof limit));
    else if (last->backlog == 0)
        snprintf(out, size, "the latency grows all the time at %s/s, with a %s of %s until then",
                 rate, percentile, latency);
    else
        snprintf(out, size,
                 "the queue grows at %s/s: %llu iterations were left waiting, with a %s "
                 "of %s until then",
                 rate, (unsigned long long)last->backlog, percentile, latency);
}

static enum status infeasible(const struct point *point, const struct saturation *search,
                              struct round_result *out)
{
    char why[256], first[sizeof out->requests.first + 16] = "";
    if (isinf(search->steps[search->count - 1].latency_us))
        snprintf(first, sizeof first, "; the first: %s", out->requests.first);
    replace(out, STATUS_INFEASIBLE);
    why_not(point, search, "already exceeds", why, sizeof why);
    snprintf(out->error, sizeof out->error, "%s%s", why, first);
    return STATUS_OK;
}

/* It does less than what another point holds. */
static enum status beaten(const struct point *point, const struct saturation *search,
                          struct round_result *out)
{
    char rate[32], capacity[32], why[256];
    replace(out, STATUS_INFEASIBLE);
    if (search->count) {
        why_not(point, search, "exceeds", why, sizeof why);
        snprintf(out->error, sizeof out->error, "%s, and another layout holds that rate", why);
    } else {
        snprintf(out->error, sizeof out->error,
                 "it does %s/s in a closed loop, and another layout holds %s/s",
                 rate_text(units_of(search->capacity_ips), capacity, sizeof capacity),
                 rate_text(search->beat_units, rate, sizeof rate));
    }
    return STATUS_OK;
}

static bool is_late(const struct searching *searching)
{
    return searching->until_ns && clock_now_ns() >= searching->until_ns;
}

static enum status out_of_time(struct round_result *out)
{
    replace(out, STATUS_TIMEOUT);
    snprintf(out->error, sizeof out->error, "there was no time to search its rate");
    return STATUS_OK;
}

static void step_limits(const struct point *point, const struct round_limits *limits,
                        uint64_t rate_units, bool quick, struct round_limits *out)
{
    double offered = (double)rate_units / RATE_UNITS * (double)limits->duration_ns / 1e9;
    unsigned least = quick ? QUICK_SAMPLES : STEP_SAMPLES_LOW;
    bool low = offered < least;
    *out = *limits;
    out->duration_ns = limits->duration_ns / 2;
    if (!low)
        out->max_duration_ns = limits->duration_ns;
    out->samples = low || (quick && point->goal.permille != 999) ? least
                   : point->goal.permille == 999                 ? STEP_SAMPLES_P999
                                                                 : STEP_SAMPLES;
}

static enum status stalled(struct round_result *out)
{
    replace(out, STATUS_WORKER);
    snprintf(out->error, sizeof out->error,
             "a worker stood still in each of %d windows of a step of the search: look for what "
             "stops it, or give a longer --duration",
             STEP_TRIES);
    return STATUS_OK;
}

/* One round of the search: at a rate, or of the closed loop, which may do that much. A stall shows
 * nothing of a rate. */
static enum status run_step(const struct searching *searching, const struct point *point,
                            uint64_t rate_units, struct start *start, const char *what,
                            struct round_result *out)
{
    struct round_limits limits;
    step_limits(searching->point, searching->limits, rate_units, searching->quick, &limits);
    for (int tries = 0; tries < STEP_TRIES; tries++) {
        if (tries)
            round_result_release(out);
        searching->progress(searching->data, what);
        enum status status = run_round(searching, start, point, &limits, out);
        /* One that lasted for the whole window left it without an iteration: a failed round. */
        if (status != STATUS_OK || out->window.stall.workers == 0)
            return status;
    }
    /* A failed round has its own reason. */
    return out->status == STATUS_OK ? stalled(out) : STATUS_OK;
}

/* The closed loop, which bounds what can be served, unless requests failed: a server that rejects
 * what is too much gets more of that the faster it rejects. */
static enum status find_capacity(const struct searching *searching, struct start *start,
                                 struct bracket *bracket, struct round_result *out)
{
    struct saturation *search = searching->search;
    struct point closed = *searching->point;
    closed.goal = (struct rate_goal){0};
    enum status status = run_step(searching, &closed, UINT64_MAX, start, "capacity", out);
    /* In so short a window it may have done half of that, or twice as much. */
    if (status == STATUS_OK && out->status == STATUS_OK && out->iterations < STEP_SAMPLES_LOW &&
        isinf(out->window.interval.half_rel)) {
        uint64_t rate_units = units_of(out->throughput_ips);
        round_result_release(out);
        status = run_step(searching, &closed, rate_units, start, "capacity", out);
    }
    if (status != STATUS_OK || out->status != STATUS_OK)
        return status;
    double failed = (double)round_failed_requests(&out->requests);
    bool bounds = failed <= FAILED_SHARE * (failed + (double)out->iterations);
    double capacity = out->throughput_ips * RATE_UNITS * CAPACITY_SHARE;
    double least =
        STEP_SAMPLES_LEAST * 1e9 / (double)searching->limits->max_duration_ns * RATE_UNITS;
    /* One step at least: half of what fails is not below what is tried. */
    bracket->first_units = (uint64_t)capacity + 2;
    if (bounds) {
        search->capacity_ips = out->throughput_ips;
        bracket->failed_units = bracket->first_units;
    }
    bracket->lowest_units = (uint64_t)fmin(fmax(capacity * LOWEST_SHARE, least), capacity / 2);
    return STATUS_OK;
}

/* One step at a rate, noted. */
static enum status try_rate(const struct searching *searching, struct start *start,
                            uint64_t rate_units, bool *held, struct round_result *out)
{
    const struct point *point = searching->point;
    struct saturation *search = searching->search;
    struct point open = *point;
    char rate[32], step[48];
    snprintf(step, sizeof step, "%s/s", rate_text(rate_units, rate, sizeof rate));
    open.work.rate_units = rate_units;
    open.work.arrival_seed = seed_of(point, 0, search->count + 1);
    enum status status = run_step(searching, &open, rate_units, start, step, out);
    if (status != STATUS_OK || out->status != STATUS_OK)
        return status;
    *held = openloop_holds(&point->goal, out);
    note(search, point, out, rate_units, *held);
    return STATUS_OK;
}

/* Finds the rate, or goes on from a coarse one. On return out holds a round that went wrong, that
 * there is no such rate, or nothing of interest: then its status is OK. Of a quick search it is the
 * round at the rate. */
static enum status search_rate(const struct searching *searching, struct start *start,
                               struct round_result *out)
{
    const struct point *point = searching->point;
    struct saturation *search = searching->search;
    struct bracket bracket = {.width = searching->quick ? BRACKET_COARSE : BRACKET_WIDTH,
                              .held_units = search->rate_units,
                              .failed_units = search->failed_units,
                              .lowest_units = 1};
    struct round_result best = {0};
    uint64_t beat = search->coarse ? 0 : search->beat_units;
    *out = (struct round_result){0};
    if (!search->coarse) {
        enum status status = find_capacity(searching, start, &bracket, out);
        if (status != STATUS_OK || out->status != STATUS_OK)
            return status;
        if (bracket.failed_units && beat >= bracket.failed_units)
            return beaten(point, search, out);
    }
    /* Once its workers are there what counts is when it has to end. */
    struct round_limits later = *searching->limits;
    struct searching rest = *searching;
    later.ready_by_ns = searching->until_ns;
    rest.limits = &later;
    uint64_t next = beat ? beat : bracket_next(&bracket);
    for (; next > 0 && !is_late(searching); next = bracket_next(&bracket)) {
        bool held = false;
        round_result_release(out);
        enum status status = try_rate(start->known ? &rest : searching, start, next, &held, out);
        if (status != STATUS_OK || out->status != STATUS_OK) {
            round_result_release(&best);
            return status;
        }
        bracket_note(&bracket, next, held);
        if (next == beat && !held)
            return beaten(point, search, out);
        if (held && searching->quick) {
            round_result_release(&best);
            best = *out;
            *out = (struct round_result){0};
        }
    }
    if (bracket.held_units == 0 && next > 0)
        return out_of_time(out);
    if (bracket.held_units == 0)
        return infeasible(point, search, out);
    if (searching->quick) {
        round_result_release(out);
        *out = best;
    }
    search->rate_units = bracket.held_units;
    /* A step is too short for the queue of a little more than that to show. */
    if (!searching->quick && search->capacity_ips > 0.0)
        search->rate_units =
            (uint64_t)fmin((double)search->rate_units, search->capacity_ips * RATE_UNITS);
    search->failed_units = bracket.failed_units;
    search->coarse = searching->quick;
    return STATUS_OK;
}

/* Searches first if there is a goal and no rate yet, or a coarse one. */
static enum status search_and_measure(const struct searching *searching, const struct turn *turn,
                                      unsigned round, struct round_result *out)
{
    /* The workers of a search stay to its end. */
    struct turn steps = *turn;
    steps.keeps = true;
    const struct point *point = searching->point;
    struct saturation *search = searching->search;
    struct round_limits full = *searching->limits;
    struct point copy = *point;
    bool searched = point->goal.permille && (search->rate_units == 0 || search->coarse);
    struct start start = {.turn = &steps};
    if (searched) {
        enum status status = search_rate(searching, &start, out);
        if (status != STATUS_OK || out->status != STATUS_OK || searching->quick)
            return status;
        round_result_release(out);
        if (start.known)
            full.ready_by_ns = searching->until_ns;
    }
    bool lowers = searched || searching->lowers;
    if (point->goal.permille) {
        copy.work.rate_units = search->rate_units;
        if (point->goal.permille == 999)
            full.samples = OPENLOOP_SAMPLES_P999;
    }
    copy.work.arrival_seed = seed_of(point, round, 0);
    start.turn = lowers ? &steps : turn;
    for (unsigned correction = 0;; correction++) {
        searching->progress(searching->data, searched ? "full window" : "");
        enum status status = run_round(searching, &start, &copy, &full, out);
        if (!lowers || status != STATUS_OK || out->status != STATUS_OK ||
            correction == CORRECTIONS || out->window.stall.workers ||
            openloop_holds(&point->goal, out))
            return status;
        note(search, point, out, copy.work.rate_units, false);
        round_result_release(out);
        copy.work.rate_units -= (uint64_t)((double)copy.work.rate_units * BRACKET_WIDTH);
        search->rate_units = copy.work.rate_units;
    }
}

enum status saturation_run(const struct searching *searching, const struct turn *turn,
                           unsigned round, struct round_result *out)
{
    enum status status = search_and_measure(searching, turn, round, out);
    if (status != STATUS_OK || turn->keeps || searching->crew->pool.count == 0)
        return status;
    return crew_dismiss(searching->crew, searching->session, searching->limits->timeout_ns);
}
