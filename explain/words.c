#include "explain/words.h"

#include "common/text.h"
#include "explain/internal.h"

/* A smaller share of the ceiling than this is not worth a word. */
#define LOSS_WORTH_A_WORD 0.05

/* A turn is shorter than the iteration if that takes more than this times as long. */
#define SHORTER 1.1

/* 891000 as "891 thousand", 4190000 as "4.19 million". */
static void append_count(struct text *out, double count)
{
    if (count >= 1e6)
        text_append(out, "%.3g million", count / 1e6);
    else if (count >= 1e3)
        text_append(out, "%.3g thousand", count / 1e3);
    else
        text_append(out, "%.3g", count);
}

static void append_single(struct text *out, const struct explain_point *point,
                          const struct calibration *calibration)
{
    char number[32];
    text_append(out, "%s",
                text_number(ceiling_single_ips(point, calibration), number, sizeof number));
}

static void append_launches(struct text *out, double rate, const char *of,
                            const struct explain_point *point)
{
    text_append(out, "%s ", of);
    append_count(out, rate);
    text_append(out, " kernels/s, and an iteration launches %u", point->work.kernels);
}

static void append_copies(struct text *out, double bytes_per_s, const char *way,
                          const struct explain_point *point)
{
    bool described = point->work.workload == WORKLOAD_DESCRIBED;
    text_append(out, "%.3g GB/s %s, and an iteration copies %.3g MB %s", bytes_per_s / 1e9, way,
                (described ? 2.0 : 1.0) * (double)point->work.bytes / 1e6,
                described ? "in all" : "each way");
}

/* The tightest of what the GPUs share of their copies. */
static void append_shared_copies(struct text *out, const struct explain_point *point,
                                 const struct calibration *calibration)
{
    const struct calibration_all *all = &calibration->all;
    const struct {
        double one, total;
        const char *way;
        bool pinned;
    } ways[] = {
        {calibration->h2d_bytes_per_s, all->h2d_bytes_per_s, "to a GPU", true},
        {calibration->d2h_bytes_per_s, all->d2h_bytes_per_s, "from a GPU", true},
        {calibration->both_bytes_per_s, all->both_bytes_per_s, "each way at once", true},
        {calibration->pageable_bytes_per_s, all->pageable_bytes_per_s, "of pageable memory", false},
    };
    size_t found = 0;
    double least = 0.0;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        double shared = calibration_shared(ways[i].one, ways[i].total, all->gpus);
        if (shared <= 0.0 || (least > 0.0 && shared > least) ||
            (!ways[i].pinned && point->memory != MEMORY_PAGEABLE))
            continue;
        least = shared;
        found = i;
    }
    text_append(
        out,
        "one GPU alone copies %.3g GB/s %s, but %u at once only %.3g GB/s together, so they "
        "share the host's memory, links or CPUs; an iteration copies %.3g MB each way",
        ways[found].one / 1e9, ways[found].way, all->gpus, ways[found].total / 1e9,
        (double)point->work.bytes / 1e6);
}

static void append_slicing(struct text *out, const struct explain_point *point,
                           const struct calibration *calibration)
{
    double turn_s = ceiling_turn_s(point, calibration);
    text_append(out, "without MPS the GPU works for one process at a time, ");
    if (turn_s > 0.0 && SHORTER * turn_s * ceiling_single_ips(point, calibration) < 1.0)
        text_append(out,
                    "for %.3g ms of an iteration of %.3g ms: the rest of it goes on in the turns "
                    "of others",
                    1e3 * turn_s, 1e3 / ceiling_single_ips(point, calibration));
    else
        text_append(out, "so %u processes together do what one of them does alone",
                    point->processes);
}

static bool is_of_a_gpu(enum ceiling_kind kind)
{
    return kind != CEILING_WORKERS && kind != CEILING_CPUS && kind != CEILING_HOST_COPIES &&
           kind != CEILING_HOST_LAUNCH && kind != CEILING_KINDS;
}

static void append_workers(struct text *out, const struct explain_point *point,
                           const struct calibration *calibration)
{
    unsigned workers = ceiling_workers(point);
    const char *worker = ceiling_polls(point) ? "stream" : "worker";
    char number[32];
    text_append(out, "one %s alone does ", worker);
    append_single(out, point, calibration);
    if (workers > 1)
        text_append(
            out, " iterations/s, so %u %ss cannot do more than %s", workers, worker,
            text_number(workers * ceiling_single_ips(point, calibration), number, sizeof number));
    else
        text_append(out, " iterations/s, and there is no other");
    text_append(out, "; the GPU could do more");
}

static void append_queues(struct text *out, const struct explain_point *point,
                          const struct calibration *calibration)
{
    const char *thread = ceiling_polls(point) ? "stream" : "thread";
    text_append(
        out,
        "a process has %u hardware queue%s for its %u %ss, and rows of kernels in one queue "
        "come one after the other, so that no more than %u %ss get on at a time unless they "
        "launch in turns; one alone does ",
        point->connections, point->connections == 1 ? "" : "s", ceiling_streams(point), thread,
        ceiling_active_threads(point, calibration), thread);
    append_single(out, point, calibration);
    text_append(out, " iterations/s");
    if (ceiling_host_steps_s(&point->work, calibration) > 0.0)
        text_append(out, ", and holds its queue for all but %.3g ms",
                    1e3 * ceiling_host_steps_s(&point->work, calibration));
}

static void append_polling(struct text *out, const struct explain_point *point,
                           const struct calibration *calibration)
{
    unsigned threads = point->processes * point->threads;
    double polling_s = ceiling_polling_s(point, calibration);
    char number[32];
    text_append(out,
                "a thread serves its %u streams one after the other, and an iteration keeps it for "
                "%.0f us, so %u thread%s cannot do more than %s iterations/s",
                point->streams, 1e6 * polling_s, threads, threads == 1 ? "" : "s",
                text_number(threads / polling_s, number, sizeof number));
}

static void append_process_launch(struct text *out, const struct explain_point *point,
                                  const struct calibration *calibration)
{
    if (point->launch != LAUNCH_GRAPH) {
        append_launches(out, calibration->process_launches_per_s, "a process launches at most",
                        point);
        return;
    }
    text_append(out, "a process launches at most ");
    append_count(out, calibration->process_graphs_per_s);
    text_append(out, " graphs/s, and an iteration is one");
}

static void append_gpu_launch(struct text *out, const struct explain_point *point,
                              const struct calibration *calibration)
{
    if (point->launch == LAUNCH_GRAPH)
        append_launches(out, calibration->graph_kernels_per_s,
                        "the GPU takes out of graphs at most", point);
    else
        append_launches(out, ceiling_gpu_launches(calibration), "the GPU takes at most", point);
}

static void append_copies_in(struct text *out, const struct explain_point *point,
                             const struct calibration *calibration)
{
    append_copies(out, calibration->h2d_bytes_per_s, "go to the GPU", point);
}

static void append_copies_out(struct text *out, const struct explain_point *point,
                              const struct calibration *calibration)
{
    append_copies(out, calibration->d2h_bytes_per_s, "come from the GPU", point);
}

static void append_copies_both(struct text *out, const struct explain_point *point,
                               const struct calibration *calibration)
{
    append_copies(out, calibration->both_bytes_per_s, "go each way at once", point);
}

static void append_staging(struct text *out, const struct explain_point *point,
                           const struct calibration *calibration)
{
    double bytes_per_s = ceiling_pageable_bytes(point, calibration);
    append_copies(out, bytes_per_s,
                  "of pageable memory go through the staging buffers of a process", point);
    if (bytes_per_s < calibration->pageable_bytes_per_s)
        text_append(out, "; %u threads would do %.3g GB/s: more get in each other's way",
                    calibration->pageable_workers, calibration->pageable_bytes_per_s / 1e9);
    else if (calibration->pageable_workers == 0 && point->threads > 2)
        text_append(out, "; many threads may reach only half of it; this calibration did not "
                         "measure that");
}

static void append_arithmetic(struct text *out, const struct explain_point *point,
                              const struct calibration *calibration)
{
    (void)calibration;
    text_append(out, "%s",
                point->work.workload == WORKLOAD_DESCRIBED
                    ? "the GPU is busy with the iteration's kernels and device copies: many of "
                      "them at once, without the rest of it, run no faster"
                    : "the GPU is busy with the kernels' own computing: the same work in grids "
                      "that fill it runs no faster");
}

static void append_cpus(struct text *out, const struct explain_point *point,
                        const struct calibration *calibration)
{
    text_append(out,
                "%u CPU%s for %u %s, and every iteration needs CPU time to launch, copy and wait",
                calibration->cpus, calibration->cpus == 1 ? "" : "s", ceiling_threads(point),
                ceiling_polls(point) ? "threads" : "workers");
}

static void append_shared_launches(struct text *out, const struct explain_point *point,
                                   const struct calibration *calibration)
{
    text_append(out, "all GPUs together take ");
    append_count(out, point->work.kernels / ceiling_host_launch_s(point, calibration));
    text_append(out,
                " kernels/s, less than that many times one GPU's: they share the host's CPUs and "
                "driver; an iteration launches %u",
                point->work.kernels);
}

/* Why each kind is a ceiling: text that is always the same, or what a function appends. */
static const struct {
    const char *text;
    void (*append)(struct text *out, const struct explain_point *point,
                   const struct calibration *calibration);
} reasons[CEILING_KINDS + 1] = {
    [CEILING_WORKERS] = {.append = append_workers},
    [CEILING_TIME_SLICING] = {.append = append_slicing},
    [CEILING_QUEUES] = {.append = append_queues},
    [CEILING_POLLING] = {.append = append_polling},
    [CEILING_PROCESS_LAUNCH] = {.append = append_process_launch},
    [CEILING_GPU_LAUNCH] = {.append = append_gpu_launch},
    [CEILING_COPY_IN] = {.append = append_copies_in},
    [CEILING_COPY_OUT] = {.append = append_copies_out},
    [CEILING_COPY_BOTH] = {.append = append_copies_both},
    [CEILING_STAGING] = {.append = append_staging},
    [CEILING_BLOCKED_COPIES] = {"a pageable copy that waits for its stream holds up the other "
                                "copies of its process"},
    [CEILING_ARITHMETIC] = {.append = append_arithmetic},
    [CEILING_CPUS] = {.append = append_cpus},
    [CEILING_THREAD_CAP] = {"the active thread percentage leaves the processes too few "
                            "multiprocessors"},
    [CEILING_HOST_COPIES] = {.append = append_shared_copies},
    [CEILING_HOST_LAUNCH] = {.append = append_shared_launches},
    [CEILING_KINDS] = {"no figure of the calibration shows it"},
};

/* Why this is the point's ceiling. */
static void append_reason(struct text *out, enum ceiling_kind kind,
                          const struct explain_point *point, const struct calibration *calibration)
{
    if (reasons[kind].append)
        reasons[kind].append(out, point, calibration);
    else
        text_append(out, "%s", reasons[kind].text);
    if (ceiling_gpus(point) > 1 && is_of_a_gpu(kind))
        text_append(out, "; so on each of %u GPUs", ceiling_gpus(point));
}

/* Why shared queues do not limit the point, or may not limit it. */
static void append_turns(struct text *out, const struct explain_point *point,
                         const struct calibration *calibration)
{
    double rows_ips =
        ceiling_gpus(point) * ceiling_rows_ips(point, calibration, point->connections);
    char number[32];
    if (ceiling_may_do_either(point, calibration))
        text_append(out,
                    "; with kernels of this length %u threads on %u hardware queue%s launch in "
                    "turns in %.0f%% of runs and in rows in the others (--rounds shows both)",
                    point->threads, point->connections, point->connections == 1 ? "" : "s",
                    100.0 * ceiling_turns_chance(point, calibration));
    if (!ceiling_takes_turns(point, calibration))
        return;
    text_append(out, "; with %u hardware queue%s for %u threads, rows of kernels would do %s/s",
                point->connections, point->connections == 1 ? "" : "s", point->threads,
                text_number(rows_ips, number, sizeof number));
    if (point->passed_ips > 0.0)
        text_append(out, ", which is passed by %.0f%%",
                    100.0 * (point->passed_ips / rows_ips - 1.0));
    text_append(out,
                ": threads that wait for each other's launches take turns, and streams that "
                "take turns share a queue, at up to %.0f thousand launches/s of a process",
                ceiling_turn_launches(point, calibration) / 1e3);
}

const char *binding_reason(const struct binding *binding, const struct ceilings *ceilings,
                           const struct explain_point *point, const struct calibration *calibration,
                           char *text, size_t size)
{
    enum ceiling_kind lowest = binding->lowest;
    char number[32];
    struct text out = {.at = text, .size = size};
    *text = '\0';
    append_reason(&out, binding->kind, point, calibration);
    if (binding->kind != lowest && lowest != CEILING_KINDS)
        text_append(&out,
                    "; the %u %s would do %s iterations/s if they never waited, but %.0f%% of that "
                    "is lost by waiting for %s",
                    lowest == CEILING_QUEUES ? ceiling_gpus(point) * point->processes *
                                                   ceiling_active_threads(point, calibration)
                                             : ceiling_workers(point),
                    ceiling_polls(point)       ? "streams"
                    : lowest == CEILING_QUEUES ? "threads that get on at a time"
                                               : "workers",
                    text_number(ceilings->ips[lowest], number, sizeof number),
                    100.0 * binding->lost, ceiling_line(binding->waits_for));
    else if (binding->lost >= LOSS_WORTH_A_WORD && binding->waits_for != CEILING_KINDS &&
             binding->kind != CEILING_TIME_SLICING)
        text_append(&out, "; %.0f%% of the ceiling is lost by waiting for %s",
                    100.0 * binding->lost, ceiling_line(binding->waits_for));
    append_turns(&out, point, calibration);
    return text;
}
