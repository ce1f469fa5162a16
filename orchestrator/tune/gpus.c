/* Several GPUs: the search is on one of them, which has its share of the CPUs only, while the
 * others idle; the best few are then measured on all of them at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/process_tree.h"
#include "orchestrator/campaign/estimate.h"
#include "orchestrator/tune/internal.h"

/* Layouts of the search that are measured on all GPUs; with all daemons that are asked for. */
#define CONFIRM_MOST TUNE_FINALISTS

/* Their starts are paid for with this share of the time at most, beside that of the finals. */
#define CONFIRM_SHARE 0.25

/* -- CPUs -------------------------------------------------------------------------------------- */

/* The CPUs that the first GPU's workers have where each GPU has as many as it can get. */
static enum status find_share(const struct tune *tune, uint64_t share[BIND_WORDS])
{
    const struct bind_topology *topology = tune->campaign.session.topology;
    unsigned gpus = tune->space.gpus, workers = gpus * tune->space.cpus;
    uint64_t(*masks)[BIND_WORDS] = calloc(workers, sizeof *masks);
    unsigned *gpu_of = calloc(workers, sizeof *gpu_of);
    enum status status = STATUS_OK;
    if (!masks || !gpu_of)
        status = status_set(STATUS_MEMORY, "out of memory");
    for (unsigned i = 0; i < workers && status == STATUS_OK; i++)
        gpu_of[i] = i % gpus;
    if (status == STATUS_OK)
        status = bind_plan(topology, BIND_NEAR, gpu_of, workers, 0, masks);
    memset(share, 0, BIND_WORDS * sizeof *share);
    for (unsigned i = 0; i < workers && status == STATUS_OK; i += gpus)
        for (unsigned word = 0; word < BIND_WORDS; word++)
            share[word] |= masks[i][word];
    free(masks);
    free(gpu_of);
    return status;
}

/* Of this thread, and of all processes that it starts. */
static enum status keep_to(const uint64_t mask[BIND_WORDS])
{
    int error = process_bind_thread(0, mask, WORK_CPUS / 8);
    if (error == 0)
        return STATUS_OK;
    return status_set(STATUS_SYSTEM, "cannot keep to a GPU's share of the CPUs: %s",
                      strerror(error));
}

enum status tune_share_begin(struct tune *tune)
{
    struct session *session = &tune->campaign.session;
    const char *pci[DEVICE_LIST_MAX];
    uint64_t share[BIND_WORDS];
    struct bind_topology *topology;
    if (tune->space.gpus == 1 || tune->machine)
        return STATUS_OK;
    for (unsigned i = 0; i < session->gpus->count; i++)
        pci[i] = gpu_at(session->gpus, i)->pci;
    bind_process_mask(session->topology, BIND_NONE, 0, tune->cpus);
    enum status status = find_share(tune, share);
    if (status == STATUS_OK)
        status = keep_to(share);
    if (status == STATUS_OK)
        status = bind_topology_load(pci, session->gpus->count, &topology);
    if (status != STATUS_OK)
        return status;
    tune->machine = session->topology;
    session->topology = topology;
    return STATUS_OK;
}

enum status tune_share_end(struct tune *tune)
{
    struct session *session = &tune->campaign.session;
    if (!tune->machine)
        return STATUS_OK;
    bind_topology_free(session->topology);
    session->topology = tune->machine;
    tune->machine = NULL;
    return keep_to(tune->cpus);
}

/* -- on all GPUs ------------------------------------------------------------------------------- */

double tune_confirm_s(const struct tune *tune)
{
    const struct tune_rules *rules = &tune->rules;
    if (tune->space.gpus == 1 || tune->phase == TUNE_ON_ALL_GPUS || !tune->search)
        return 0.0;
    size_t best = tune_search_best(tune->search);
    if (best == TUNE_NO_POINT)
        return 0.0;
    /* The search has left time for as many rounds on one GPU. */
    double weight = estimate_start_weight(&tune->space.plan.points[best]);
    double more_s = tune->pace.starts.process_s * weight * (tune->space.gpus - 1);
    return fmin(rules->rounds_least * CONFIRM_MOST * more_s, CONFIRM_SHARE * tune->pace.budget_s);
}

size_t tune_point_of_candidate(const struct tune *tune, size_t candidate)
{
    return tune->phase == TUNE_ON_ALL_GPUS ? tune->chosen[candidate] : candidate;
}

size_t tune_candidate_of_point(const struct tune *tune, size_t point)
{
    return tune->phase == TUNE_ON_ALL_GPUS ? tune->points[point].candidate : point;
}

static bool is_chosen(const struct tune *tune, size_t point)
{
    for (size_t i = 0; i < tune->chosen_count; i++)
        if (tune->chosen[i] == point)
            return true;
    return false;
}

static void add(struct tune *tune, size_t point)
{
    tune->points[point].candidate = tune->chosen_count;
    tune->chosen[tune->chosen_count++] = point;
}

/* Chooses a layout that was searched on one GPU. False: it is chosen already. */
static bool choose(struct tune *tune, size_t on_one)
{
    const struct tune_space *space = &tune->space;
    size_t point = tune_space_next_on_all(space, on_one, 0);
    if (is_chosen(tune, point))
        return false;
    for (; point < space->plan.count; point = tune_space_next_on_all(space, on_one, point + 1)) {
        tune->points[point].on_one = on_one;
        add(tune, point);
    }
    return true;
}

static void choose_all(struct tune *tune, const struct tune_batch *finals)
{
    size_t layouts = 0;
    if (tune->judged_on_one.winner != TUNE_NO_POINT)
        layouts += choose(tune, tune->judged_on_one.winner);
    for (size_t i = 0; i < finals->count && layouts < CONFIRM_MOST; i++)
        layouts += choose(tune, finals->items[i].point);
    for (size_t i = 0; i < tune->judged_on_one.equal_count && layouts < CONFIRM_MOST; i++)
        layouts += choose(tune, tune->judged_on_one.equal[i]);
}

/* Those that are there for comparison come last. */
static void choose_naive(struct tune *tune)
{
    for (size_t i = 0; i < tune->space.naive_count; i++)
        if (!is_chosen(tune, tune->space.naive[i].point))
            add(tune, tune->space.naive[i].point);
}

static enum status make_search(struct tune *tune)
{
    bool predicted;
    struct tune_rules rules = tune->rules;
    struct tune_candidate *all =
        tune_space_candidates(&tune->space, tune->objective, NULL, &predicted);
    struct tune_candidate *some = calloc(tune->chosen_count + 1, sizeof *some);
    enum status status = STATUS_OK;
    if (!all || !some)
        status = status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < tune->chosen_count && status == STATUS_OK; i++) {
        some[i] = all[tune->chosen[i]];
        some[i].outside = i >= tune->chosen_layouts;
        some[i].excluded = tune_is_excluded(tune, tune->chosen[i]);
    }
    rules.exhaustive = true;
    rules.predicted = false;
    tune_search_free(tune->search);
    tune->search = NULL;
    if (status == STATUS_OK)
        status = tune_search_new(some, tune->chosen_count, &rules, &tune->search);
    free(all);
    free(some);
    return status;
}

/* What was seen on one GPU, as if all of them did as much: the finals decide. */
static void note_looks(struct tune *tune)
{
    double gpus = tune->space.gpus, scale = tune->objective == TUNE_THROUGHPUT ? gpus : 1.0;
    for (size_t i = 0; i < tune->chosen_layouts; i++) {
        struct tune_observation seen;
        const json_t *record = tune->campaign.records[tune->points[tune->chosen[i]].on_one];
        if (!record)
            continue;
        tune_observe(tune, record, &seen);
        seen.value *= scale;
        seen.low *= scale;
        seen.high *= scale;
        seen.ips *= gpus;
        seen.cpus *= gpus;
        tune_search_note(tune->search, i, &seen);
    }
}

enum status tune_confirm_begin(struct tune *tune, const struct tune_batch *finals)
{
    tune_search_judge(tune->search, &tune->judged_on_one);
    tune->chosen = calloc(tune->space.plan.count + 1, sizeof *tune->chosen);
    if (!tune->chosen)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = tune_share_end(tune);
    if (status != STATUS_OK)
        return status;
    choose_all(tune, finals);
    tune->chosen_layouts = tune->chosen_count;
    choose_naive(tune);
    tune->phase = TUNE_ON_ALL_GPUS;
    tune->costs.process_s = tune->pace.starts.process_s * tune->space.gpus;
    status = make_search(tune);
    if (status == STATUS_OK)
        note_looks(tune);
    return status;
}

/* -- what came of both ------------------------------------------------------------------------- */

/* Makes a point of the plan of a candidate of the search, if there is one. */
static void to_plan(const struct tune *tune, size_t *candidate)
{
    if (*candidate != TUNE_NO_POINT)
        *candidate = tune_point_of_candidate(tune, *candidate);
}

static bool has_record(const struct tune *tune, size_t point)
{
    return point != TUNE_NO_POINT && tune->campaign.records[point];
}

/* Whether any of the best of the search was measured on all GPUs, or failed there. */
static bool was_tried(const struct tune *tune)
{
    bool tried = false;
    for (size_t i = 0; i < tune->chosen_layouts; i++)
        tried |= has_record(tune, tune->chosen[i]);
    return tried;
}

/* Without those that were not measured on all GPUs. */
static void keep_measured(const struct tune *tune, struct tune_judgement *judgement)
{
    size_t kept = 0;
    for (size_t i = 0; i < judgement->equal_count; i++) {
        size_t point = tune_point_of_candidate(tune, judgement->equal[i]);
        if (has_record(tune, point))
            judgement->equal[kept++] = point;
    }
    judgement->equal_count = kept;
    if (judgement->verdict == TUNE_EQUAL && kept < 2)
        judgement->verdict = TUNE_WINNER;
    if (!has_record(tune, judgement->next))
        judgement->next = TUNE_NO_POINT;
}

/* There was no time for the finals on all GPUs, or nothing to measure in them. */
static void only_on_one(const struct tune_judgement *on_one, struct tune_judgement *out)
{
    *out = *on_one;
    if (out->winner == TUNE_NO_POINT)
        return;
    out->verdict = TUNE_UNFINISHED;
    out->cut = true;
    out->complete = false;
}

void tune_judge(const struct tune *tune, struct tune_judgement *out)
{
    const struct tune_judgement *on_one = &tune->judged_on_one;
    tune_search_judge(tune->search, out);
    if (tune->phase == TUNE_ON_ONE_GPU) {
        if (tune->space.gpus > 1)
            only_on_one(out, out);
        return;
    }
    to_plan(tune, &out->winner);
    to_plan(tune, &out->most);
    to_plan(tune, &out->next);
    to_plan(tune, &out->closest);
    keep_measured(tune, out);
    /* Without a record it is as on one GPU, which does not count. */
    bool on_all = out->winner == TUNE_NO_POINT ? was_tried(tune) : has_record(tune, out->winner);
    if (!on_all) {
        only_on_one(on_one, out);
        return;
    }
    /* What was open on one, the finals on all have answered. */
    if (on_one->verdict == TUNE_UNFINISHED && !on_one->open && out->winner != TUNE_NO_POINT)
        out->verdict = TUNE_UNFINISHED;
    out->reached_share = on_one->reached_share;
    out->better_chance = on_one->better_chance;
    if (!on_one->open)
        out->enough_budget_s = fmax(out->enough_budget_s, on_one->enough_budget_s);
    out->measured = on_one->measured;
    out->complete = out->complete && !on_one->cut;
    out->cut = out->cut || on_one->cut;
}
