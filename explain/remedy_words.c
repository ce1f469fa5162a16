/* Remedies in words: for the command line, for people and for JSON. */
#include "common/text.h"
#include "explain/internal.h"
#include "job/queues.h"

static unsigned streams_of(const struct explain_point *point)
{
    return ceiling_polls(point) ? point->streams : 1;
}

static void write_options(const struct explain_point *before, struct remedy *remedy)
{
    const struct explain_point *after = &remedy->point;
    struct text text = {.at = remedy->options, .size = sizeof remedy->options};
    char layout[LAYOUT_TEXT_BYTES];
    if (after->processes != before->processes || after->threads != before->threads ||
        after->mps != before->mps)
        text_append(&text, "--layout %s ",
                    layout_text(explain_layout(after), after->processes, after->threads, layout));
    if (streams_of(after) != streams_of(before))
        text_append(&text, "--streams %u ", streams_of(after));
    if (after->connections != (after->mps != before->mps ? QUEUES_OF_CLIENT : before->connections))
        text_append(&text, "--connections %u ", after->connections);
    if (after->launch != before->launch)
        text_append(&text, "--launch graph ");
    if (after->memory != before->memory)
        text_append(&text, "--memory pinned ");
    else if (after->sync != before->sync && after->memory == MEMORY_PAGEABLE &&
             after->launch == LAUNCH_STREAM)
        text_append(&text, "--sync stream ");
    if (after->schedule != before->schedule)
        text_append(&text, "--schedule %s ", after->schedule == SCHEDULE_BLOCK ? "block" : "auto");
    if (before->percentage_count != 0 && after->percentage_count == 0)
        text_append(&text, "--active-thread-percentage default ");
    if (text.length > 0 && text.length < text.size)
        remedy->options[text.length - 1] = '\0';
}

/* -- advice ------------------------------------------------------------------------------------ */

static const char *on_each_gpu(const struct explain_point *point)
{
    return ceiling_gpus(point) > 1 ? " on each GPU" : "";
}

static void advise_workers(struct text *out, const struct explain_point *after)
{
    text_append(out, "run more workers at once, %u%s", after->processes * after->threads,
                ceiling_gpus(after) > 1 ? " on each GPU" : " in all");
    if (after->launch == LAUNCH_STREAM && after->threads > 1)
        text_append(out, ", each process with %u hardware queues", after->connections);
}

static void advise_streams(struct text *out, const struct explain_point *after)
{
    text_append(out, "let %u thread%s of each process poll %u streams%s: %u iterations in flight%s",
                after->threads, after->threads == 1 ? "" : "s", after->streams,
                after->threads == 1 ? "" : " each", after->processes * ceiling_streams(after),
                on_each_gpu(after));
}

static void advise_threads(struct text *out, const struct explain_point *after)
{
    text_append(out, "let %u threads of each process poll the streams, %u each", after->threads,
                streams_of(after));
}

static void advise_connections(struct text *out, const struct explain_point *after)
{
    text_append(out,
                "give each process %u hardware queues: CUDA_DEVICE_MAX_CONNECTIONS=%u in its "
                "environment before CUDA starts",
                after->connections, after->connections);
}

static void advise_processes(struct text *out, const struct explain_point *after)
{
    text_append(out,
                "make the threads %u processes over MPS%s, each with queues and a launch path of "
                "its own",
                after->processes, on_each_gpu(after));
}

static void advise_hybrid(struct text *out, const struct explain_point *after)
{
    text_append(out, "spread the threads over %u processes over MPS, %u each%s", after->processes,
                after->threads, on_each_gpu(after));
    if (after->connections > QUEUES_OF_CLIENT)
        text_append(out, ", each process with %u hardware queues", after->connections);
}

static void advise_graph(struct text *out, const struct explain_point *after)
{
    text_append(out, "capture the iteration as a CUDA graph: one launch instead of %u",
                after->work.kernels);
}

/* What each kind of remedy is to do: text that is always the same, or what a function appends. */
static const struct {
    const char *text;
    void (*append)(struct text *out, const struct explain_point *after);
} advice[REMEDY_KINDS] = {
    [REMEDY_NONE] = {""},
    [REMEDY_WORKERS] = {.append = advise_workers},
    [REMEDY_STREAMS] = {.append = advise_streams},
    [REMEDY_THREADS] = {.append = advise_threads},
    [REMEDY_CONNECTIONS] = {.append = advise_connections},
    [REMEDY_MPS] = {"run the processes over MPS, so that they share the GPU instead of taking "
                    "turns"},
    [REMEDY_PROCESSES] = {.append = advise_processes},
    [REMEDY_HYBRID] = {.append = advise_hybrid},
    [REMEDY_GRAPH] = {.append = advise_graph},
    [REMEDY_PINNED] = {"allocate the host buffers as pinned memory (cuMemHostAlloc)"},
    [REMEDY_SYNC] = {"synchronise the stream before a pageable copy out, so that the copy does not "
                     "hold up others while it waits"},
    [REMEDY_BLOCK] = {"let workers wait asleep (CU_CTX_SCHED_BLOCKING_SYNC) instead of spinning: "
                      "there are more of them than CPUs"},
    [REMEDY_PERCENTAGE] = {"take the active thread percentage away, or raise it"},
};

static void write_advice(const struct explain_point *before, struct remedy *remedy)
{
    const struct explain_point *after = &remedy->point;
    struct text text = {.at = remedy->advice, .size = sizeof remedy->advice};
    if (advice[remedy->kind].append)
        advice[remedy->kind].append(&text, after);
    else
        text_append(&text, "%s", advice[remedy->kind].text);
    if (remedy->kind == REMEDY_GRAPH && ceiling_polls(after) && !ceiling_polls(before))
        text_append(&text,
                    "; and let one of %u threads poll the streams of all: there are more threads "
                    "than CPUs",
                    before->threads / after->threads);
    if (remedy->kind != REMEDY_BLOCK && after->schedule != before->schedule &&
        after->schedule == SCHEDULE_BLOCK)
        text_append(&text,
                    "; and let the workers wait asleep (CU_CTX_SCHED_BLOCKING_SYNC): there are "
                    "more of them than CPUs");
}

void remedy_describe(const struct explain_point *before, struct remedy *remedy)
{
    write_options(before, remedy);
    write_advice(before, remedy);
}

const char *remedy_name(enum remedy_kind kind)
{
    static const char *const names[REMEDY_KINDS] = {
        [REMEDY_NONE] = "none",
        [REMEDY_WORKERS] = "workers",
        [REMEDY_STREAMS] = "streams",
        [REMEDY_THREADS] = "threads",
        [REMEDY_CONNECTIONS] = "connections",
        [REMEDY_MPS] = "mps",
        [REMEDY_PROCESSES] = "processes",
        [REMEDY_HYBRID] = "hybrid",
        [REMEDY_GRAPH] = "graph",
        [REMEDY_PINNED] = "pinned",
        [REMEDY_SYNC] = "sync",
        [REMEDY_BLOCK] = "block",
        [REMEDY_PERCENTAGE] = "percentage",
    };
    return (unsigned)kind < REMEDY_KINDS ? names[kind] : "none";
}
