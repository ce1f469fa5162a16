/* Remedies in words: for the command line, for people and for JSON. */
#include "common/text.h"
#include "explain/internal.h"

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

static void write_advice(const struct explain_point *before, struct remedy *remedy)
{
    const struct explain_point *after = &remedy->point;
    struct text text = {.at = remedy->advice, .size = sizeof remedy->advice};
    const char *on_each = ceiling_gpus(after) > 1 ? " on each GPU" : "";
    switch (remedy->kind) {
    case REMEDY_WORKERS:
        text_append(&text, "run more workers at once, %u %s", after->processes * after->threads,
                    ceiling_gpus(after) > 1 ? "on each GPU" : "in all");
        if (after->launch == LAUNCH_STREAM && after->threads > 1)
            text_append(&text, ", each process with %u hardware queues", after->connections);
        break;
    case REMEDY_STREAMS:
        text_append(&text,
                    "let %u thread%s of each process poll %u streams%s: %u iterations in "
                    "flight%s",
                    after->threads, after->threads == 1 ? "" : "s", after->streams,
                    after->threads == 1 ? "" : " each", after->processes * ceiling_streams(after),
                    on_each);
        break;
    case REMEDY_THREADS:
        text_append(&text, "let %u threads of each process poll the streams, %u each",
                    after->threads, streams_of(after));
        break;
    case REMEDY_CONNECTIONS:
        text_append(&text,
                    "give each process %u hardware queues: CUDA_DEVICE_MAX_CONNECTIONS=%u in its "
                    "environment before CUDA starts",
                    after->connections, after->connections);
        break;
    case REMEDY_MPS:
        text_append(&text, "run the processes over MPS, so that they share the GPU instead of "
                           "taking turns");
        break;
    case REMEDY_PROCESSES:
        text_append(&text,
                    "make the threads %u processes over MPS%s, each with queues and a launch "
                    "path of its own",
                    after->processes, on_each);
        break;
    case REMEDY_HYBRID:
        text_append(&text, "spread the threads over %u processes over MPS, %u each%s",
                    after->processes, after->threads, on_each);
        break;
    case REMEDY_GRAPH:
        text_append(&text, "capture the iteration as a CUDA graph: one launch instead of %u",
                    after->work.kernels);
        break;
    case REMEDY_PINNED:
        text_append(&text, "allocate the host buffers as pinned memory (cuMemHostAlloc)");
        break;
    case REMEDY_SYNC:
        text_append(&text, "synchronise the stream before a pageable copy out, so that the copy "
                           "does not hold up others while it waits");
        break;
    case REMEDY_BLOCK:
        text_append(&text, "let workers wait asleep (CU_CTX_SCHED_BLOCKING_SYNC) instead of "
                           "spinning: there are more of them than CPUs");
        break;
    default:
        text_append(&text, "take the active thread percentage away, or raise it");
        break;
    }
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
