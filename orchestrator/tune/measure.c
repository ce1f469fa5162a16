#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "orchestrator/campaign/bracket.h"
#include "orchestrator/campaign/saturation.h"
#include "orchestrator/record/record.h"
#include "orchestrator/results/point.h"
#include "orchestrator/tune/internal.h"

/* The buffers of a GPU's workers, where it is known what they have: those of the built-in
 * workloads, one each way. */
static double buffer_bytes(const struct point *point)
{
    bool known = point->work.workload == WORKLOAD_CHAIN || point->work.workload == WORKLOAD_DELAY;
    return known ? 2.0 * (double)point->work.bytes * point->processes * point_slots(point) : 0.0;
}

/* What all processes of a GPU together were seen to use, of several GPUs on the one where it is
 * most: by NVML, or what was free less when the last of them had its context, and their buffers. */
static double memory_used(const struct tune *tune, const struct point *point,
                          const struct round_result *round)
{
    double used = round->telemetry.known_memory ? (double)round->telemetry.memory_used_bytes : 0.0;
    for (unsigned p = 0; p < point_processes(point) && round->processes; p++) {
        const struct device_info *gpu = gpu_at(tune->campaign.session.gpus, point_gpu_of(point, p));
        double total = (double)gpu->memory_bytes;
        used = fmax(used, total - (double)round->processes[p].memory_free + buffer_bytes(point));
    }
    return used;
}

/* Without its rounds, but with the time that they took. */
static void start_over(struct measurement *measurement)
{
    double seconds = measurement->seconds;
    measurement_release(measurement);
    measurement->seconds = seconds;
}

/* A measurement adds up the rounds of the finals; before them the newest window counts. */
static struct measurement *measurement_for(struct tune_point *point, enum tune_stage stage)
{
    struct measurement *measurement = point->measurement;
    bool goes_on = stage == TUNE_STAGE_FINAL && point->stage == stage;
    if (measurement && !goes_on)
        start_over(measurement);
    if (!measurement)
        measurement = point->measurement = calloc(1, sizeof *measurement);
    point->stage = stage;
    return measurement;
}

static enum status write_record(struct tune *tune, size_t index, enum tune_stage stage,
                                double memory_bytes)
{
    struct campaign *campaign = &tune->campaign;
    json_t *record =
        record_point(&tune->space.plan.points[index], tune->points[index].measurement, INFINITY);
    int order = (int)++tune->order;
    json_int_t first = integer_at(json_object_get(campaign->records[index], "tune"), "first");
    json_t *about = json_pack("{s:s, s:i, s:I}", "stage", tune_stage_name(stage), "order", order,
                              "first", first > 0 ? first : (json_int_t)order);
    if (!record || !about) {
        json_decref(record);
        json_decref(about);
        return status_set(STATUS_MEMORY, "out of memory for a record");
    }
    if (memory_bytes > 0.0)
        json_object_set_new(about, "gpu_memory_bytes", json_integer((json_int_t)memory_bytes));
    json_object_set_new(record, "tune", about);
    campaign_mark(campaign, record);
    json_decref(campaign->records[index]);
    campaign->records[index] = record;
    return results_write(&campaign->writer, record);
}

/* Whether there was time for what came out. What hangs has failed, if there is time for others. */
static bool was_in_time(struct tune *tune, const struct turn *turn, enum tune_stage stage,
                        double window_s, uint64_t begin_ns, const struct round_result *round)
{
    struct round_limits limits;
    struct session *session = &tune->campaign.session;
    const struct point *point = &tune->space.plan.points[turn->point];
    double seconds = (double)(clock_now_ns() - begin_ns) / 1e9;
    if (round->status != STATUS_TIMEOUT && round->status != STATUS_INTERRUPTED)
        return true;
    tune->pace.unready = turn->point;
    tune->pace.unready_s = seconds;
    tune->pace.was_ready = round->ready_s > 0.0;
    tune->pace.unended_s = round->stop_s;
    bool in_time = tune_pace_hangs(tune, point, seconds) &&
                   tune_pace_limits(tune, point, stage, turn->starts, window_s, &limits);
    if (!in_time && (session_check_signals(session) == STATUS_OK || session->late))
        tune_print_unready(tune, stage);
    return in_time;
}

static void no_progress(void *data, const char *step)
{
    (void)data;
    (void)step;
}

/* Of a point whose rate is searched for: the search, or a round at what it found. A look ends as
 * soon as it is known to hold less than the best, and leaves it to the finals to narrow its rate.
 */
static enum status run_rate(struct tune *tune, const struct point *point,
                            const struct round_limits *limits, const struct turn *turn,
                            enum tune_stage stage, struct round_result *out)
{
    struct campaign *campaign = &tune->campaign;
    const struct measurement *measurement = tune->points[turn->point].measurement;
    struct saturation *search = &tune->points[turn->point].search;
    struct round_limits own = *limits;
    double window_s = (double)limits->duration_ns / 1e9;
    /* What the window was planned for. */
    if (stage == TUNE_STAGE_FINAL)
        own.samples =
            (unsigned)fmin(own.samples, ceil(window_s * (double)search->rate_units / RATE_UNITS));
    else
        *search = (struct saturation){0};
    if (stage == TUNE_STAGE_LOOK)
        search->beat_units = (uint64_t)((1.0 - BRACKET_WIDTH) * (double)tune->best_units);
    const struct searching searching = {.session = &campaign->session,
                                        .point = point,
                                        .limits = &own,
                                        .crew = &campaign->crew,
                                        .progress = no_progress,
                                        .search = search,
                                        .until_ns =
                                            tune_pace_until_ns(tune, point, stage, window_s),
                                        .lowers = true,
                                        .quick = stage == TUNE_STAGE_LOOK};
    return saturation_run(&searching, turn, measurement ? measurement->rounds : 0, out);
}

/* Runs one window. *out is to be released by the caller unless *in_time is false, which is when the
 * budget does not allow it. */
static enum status run_window(struct tune *tune, const struct point *point, const struct turn *turn,
                              enum tune_stage stage, bool *in_time, struct round_result *out)
{
    struct campaign *campaign = &tune->campaign;
    struct round_limits limits;
    double asked_s = tune->points[turn->point].window_s;
    double window_s = tune_pace_window_s(tune, point, stage, asked_s);
    bool starts = turn->starts || campaign->crew.pool.count == 0;
    uint64_t begin_ns = clock_now_ns();
    *in_time = tune_pace_limits(tune, point, stage, starts, window_s, &limits);
    if (!*in_time)
        return STATUS_OK;
    enum status status = point->goal.permille ? run_rate(tune, point, &limits, turn, stage, out)
                                              : round_run_on(&campaign->session, point, &limits,
                                                             &campaign->crew, turn, out);
    double seconds = (double)(clock_now_ns() - begin_ns) / 1e9;
    *in_time = was_in_time(tune, turn, stage, window_s, begin_ns, out);
    if (*in_time)
        tune_pace_learn(tune, point, stage, out, window_s, seconds);
    else
        round_result_release(out);
    return status;
}

/* What the search wants to know of a round, and neither its record nor a measurement keeps. */
struct round_facts {
    double value;        /* of the objective */
    double cpus;         /* in use; NAN: not known */
    double memory_bytes; /* of a GPU; 0: not known */
    unsigned threads;    /* of a process of a program, where those are too few; else 0 */
    bool unready;        /* its workers did not get ready */
    bool unattached;     /* as in struct round_result */
};

static struct round_facts facts_of(const struct tune *tune, const struct point *point,
                                   const struct round_result *round)
{
    bool failed = round->status != STATUS_OK && round->status != STATUS_INFEASIBLE;
    return (struct round_facts){
        .value = tune_value_of(tune, round->throughput_ips,
                               histogram_quantile_ns(&round->latency, 0.99) / 1e3,
                               telemetry_joules_per_iteration(&round->telemetry)),
        .cpus = round_cpus_in_use(point, round),
        .memory_bytes = round->status == STATUS_OK ? memory_used(tune, point, round) : 0.0,
        .threads = round->threads_at_work,
        .unready = failed && !(round->ready_s > 0.0),
        .unattached = round->unattached,
    };
}

/* Adds a round to its point's measurement, which takes it. All rounds of a record are about one
 * rate: where those before held another, *lowered, this is the first. */
static enum status add_round(struct tune_point *point, enum tune_stage stage, double seconds,
                             struct round_result *round, bool *lowered)
{
    struct measurement *measurement = measurement_for(point, stage);
    if (!measurement) {
        round_result_release(round);
        return status_set(STATUS_MEMORY, "out of memory for the results");
    }
    *lowered =
        measurement->rounds > 0 && measurement->search.rate_units != point->search.rate_units;
    if (*lowered)
        start_over(measurement);
    measurement->search = point->search;
    return measurement_add(measurement, round, seconds);
}

/* Notes in the search what a point's record shows, beside these facts. */
static void note_point(struct tune *tune, size_t index, enum tune_stage stage,
                       const struct round_facts *facts, bool lowered)
{
    size_t candidate = tune_candidate_of_point(tune, index);
    struct tune_observation seen;
    tune_observe(tune, tune->campaign.records[index], &seen);
    seen.cpus = fmax(0.0, facts->cpus);
    seen.unready = facts->unready;
    seen.threads = facts->threads;
    seen.unattached = facts->unattached;
    tune_keep_rate(tune, index, &seen);
    bool searched = tune->space.plan.points[index].goal.permille > 0;
    double value = searched ? seen.value : facts->value;
    if (lowered)
        tune_search_lower_rounds(tune->search, candidate, value);
    if (stage == TUNE_STAGE_FINAL)
        tune_search_note_round(tune->search, candidate, value, &seen);
    else
        tune_search_note(tune->search, candidate, &seen);
}

/* Identifies the processes that serve now, or wait; 0: there are none. */
static pid_t first_process(const struct tune *tune)
{
    const struct pool *pool = &tune->campaign.crew.pool;
    return pool->count > 0 ? pool->children[0].pid : 0;
}

static enum status measure_point(struct tune *tune, const struct turn *turn, enum tune_stage stage)
{
    size_t index = turn->point;
    struct point point = tune->space.plan.points[index];
    struct round_result round;
    bool in_time, lowered = false;
    if (stage != TUNE_STAGE_FINAL && !point_is_program(&point))
        point.work.warmup_ns = tune->pace.warmup_ns;
    uint64_t begin_ns = clock_now_ns();
    pid_t before = first_process(tune);
    enum status status = run_window(tune, &point, turn, stage, &in_time, &round);
    /* A turn that was to start none has others where those that waited had no room, or too little
     * time for a warm-up. */
    if (first_process(tune) != before)
        tune->crew_for = tune_candidate_of_point(tune, index);
    if (!in_time)
        return status;
    if (status != STATUS_OK) {
        round_result_release(&round);
        return status;
    }
    double seconds = (double)(clock_now_ns() - begin_ns) / 1e9;
    const struct round_facts facts = facts_of(tune, &point, &round);
    status = add_round(&tune->points[index], stage, seconds, &round, &lowered);
    if (status == STATUS_OK)
        status = write_record(tune, index, stage, facts.memory_bytes);
    if (status != STATUS_OK)
        return status;
    note_point(tune, index, stage, &facts, lowered);
    tune_print_point(tune, index, stage);
    return STATUS_OK;
}

enum status tune_dismiss(struct tune *tune, enum status status)
{
    struct campaign *campaign = &tune->campaign;
    unsigned processes = campaign->crew.pool.count;
    bool program = processes > 0 && tune->rules.program;
    uint64_t begin_ns = clock_now_ns();
    status = crew_dismiss_after(&campaign->crew, &campaign->session, campaign->limits.timeout_ns,
                                status);
    tune_pace_learn_stop(&tune->pace, program, processes,
                         (double)(clock_now_ns() - begin_ns) / 1e9);
    return status;
}

/* A program's start is dear: all that it serves shows where the best is, and finalists have as few
 * of them a round as give the same. */
static enum turns_reuse reuse_of(const struct tune *tune, const struct tune_batch *batch)
{
    if (options_switch(tune->campaign.options, OPTION_NO_REUSE))
        return TURNS_FRESH;
    if (!tune->rules.program)
        return batch->fresh ? TURNS_FRESH : TURNS_EQUAL;
    /* With all time there is, looks are as good as can be. */
    bool hurried = batch->stage == TUNE_STAGE_LOOK && isfinite(tune->pace.budget_s);
    return hurried ? TURNS_LARGEST : TURNS_EQUAL;
}

/* Ends the processes of the batch before, unless they serve the turn. */
static enum status begin_turns(struct tune *tune, enum turns_reuse reuse, struct turn *first)
{
    struct crew *crew = &tune->campaign.crew;
    const struct point *point = &tune->space.plan.points[first->point];
    if (reuse == TURNS_LARGEST && crew_is_fit(crew, &tune->campaign.session, point))
        first->starts = false;
    else if (crew->pool.count > 0)
        return tune_dismiss(tune, STATUS_OK);
    return STATUS_OK;
}

/* Whether the processes of a turn wait for the next batch: they may serve another point. */
static bool may_wait(const struct tune *tune, enum turns_reuse reuse, const struct turn *turn)
{
    const struct point *point = &tune->space.plan.points[turn->point];
    return reuse == TURNS_LARGEST && (!turn->starts || point_workers(point) > 1);
}

enum status tune_measure(struct tune *tune, const struct tune_batch *batch)
{
    struct campaign *campaign = &tune->campaign;
    const struct plan *plan = &tune->space.plan;
    unsigned seed = (unsigned)options_integer(campaign->options, OPTION_SEED);
    enum turns_reuse reuse = reuse_of(tune, batch);
    bool *done = malloc(plan->count + 1);
    struct turn *turns = calloc(plan->count + 1, sizeof *turns);
    size_t count = 0;
    enum status status = STATUS_OK;
    if (!done || !turns) {
        status = status_set(STATUS_MEMORY, "out of memory");
        goto out;
    }
    memset(done, true, plan->count + 1);
    for (size_t i = 0; i < batch->count; i++) {
        size_t point = tune_point_of_candidate(tune, batch->items[i].point);
        done[point] = false;
        tune->points[point].window_s = batch->items[i].window_s;
    }
    status = turns_make(plan, done, seed, tune->batches++, reuse, turns, &count);
    if (status == STATUS_OK && count > 0)
        status = begin_turns(tune, reuse, &turns[0]);
    bool wait = count > 0 && may_wait(tune, reuse, &turns[count - 1]);
    if (wait)
        turns[count - 1].keeps = true;
    bool may_skip = batch->stage == TUNE_STAGE_LOOK && !tune->rules.exhaustive;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = session_check_signals(&campaign->session);
        size_t candidate = tune_candidate_of_point(tune, turns[i].point);
        if (tune_search_lacks_threads(tune->search, candidate) ||
            (may_skip && tune_search_is_beyond(tune->search, candidate)))
            continue;
        if (status == STATUS_OK)
            status = measure_point(tune, &turns[i], batch->stage);
    }
    /* The last of the turns may have been left out, and with it the end of its processes. */
    if (!wait || status != STATUS_OK)
        status = tune_dismiss(tune, status);
out:
    free(done);
    free(turns);
    return status;
}
