#include "tests/unit/tune/kinds.h"

#include "orchestrator/plan/point.h"

const char *tune_kind_name(enum tune_kind kind)
{
    static const char *const names[] = {
        [TUNE_KIND_THREADS] = "threads",
        [TUNE_KIND_THREADS_GRAPHS] = "threads, graphs",
        [TUNE_KIND_POLLING] = "threads that poll",
        [TUNE_KIND_PROCESSES] = "processes+mps",
        [TUNE_KIND_PROCESSES_GRAPHS] = "processes+mps, graphs",
        [TUNE_KIND_HYBRIDS] = "hybrids",
        [TUNE_KIND_HYBRIDS_GRAPHS] = "hybrids, graphs",
        [TUNE_KIND_PROCESSES_POLLING] = "processes+mps that poll",
        [TUNE_KIND_HYBRIDS_POLLING] = "hybrids that poll",
        [TUNE_KIND_TURNS] = "time-sliced",
    };
    return names[kind];
}

enum tune_kind tune_kind_of(const struct point *point)
{
    bool graph = point->work.launch == LAUNCH_GRAPH, polls = point_streams(point) > 1;
    if (point->processes > 1 && !point_over_mps(point))
        return TUNE_KIND_TURNS;
    if (point->processes == 1)
        return polls ? TUNE_KIND_POLLING : graph ? TUNE_KIND_THREADS_GRAPHS : TUNE_KIND_THREADS;
    if (polls)
        return point->threads == 1 ? TUNE_KIND_PROCESSES_POLLING : TUNE_KIND_HYBRIDS_POLLING;
    if (point->threads == 1)
        return graph ? TUNE_KIND_PROCESSES_GRAPHS : TUNE_KIND_PROCESSES;
    return graph ? TUNE_KIND_HYBRIDS_GRAPHS : TUNE_KIND_HYBRIDS;
}

size_t tune_kinds_find(const struct tune_truth *truth, const struct tune_space *space,
                       double best_ips[TUNE_KINDS])
{
    size_t best = 0;
    double most = 0.0;
    for (size_t kind = 0; kind < TUNE_KINDS; kind++)
        best_ips[kind] = 0.0;
    for (size_t i = 0; i < space->candidates; i++) {
        const struct point *point = &space->plan.points[i];
        double ips = tune_truth_ips(truth, point);
        enum tune_kind kind = tune_kind_of(point);
        best_ips[kind] = ips > best_ips[kind] ? ips : best_ips[kind];
        if (ips > most) {
            most = ips;
            best = i;
        }
    }
    return best;
}
