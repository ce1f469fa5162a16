#include "orchestrator/capture/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/capture/fold.h"

/* Host times are gathered until they are this share of the iteration, all repeats together, and
 * this long; what is left over at its end, or that of a repeat, does not become a step. */
#define HOST_SHARE 0.01
#define HOST_NS_SHOWN 20e3

/* Durations of equal kernels and sizes of equal copies, one over the other; and of what is put
 * together where there are too many steps, by how freely. */
#define MERGES 6
static const double near[MERGES + 1] = {
    CAPTURED_EQUAL_NEAR, CAPTURED_EQUAL_NEAR, 2, 2, 8, INFINITY, INFINITY};
static const double sizes_near[MERGES + 1] = {1, 1, 1, 2, 8, INFINITY, INFINITY};

/* Steps that one can read: more are repeats, where what they do repeats itself. */
#define STEPS_READ 64

/* Blocks that a multiprocessor has room for, and shared memory: of the GPUs that have least of it.
 */
#define SM_BLOCKS 32.0
#define SM_SHARED_LEAST (64 * 1024.0)

/* A step before it is one of the grammar: sums over the steps that it stands for. */
struct run {
    struct captured_step first;
    double count, duration_ns, bytes, blocks, threads, shared, host_ns;
    bool host;
};

struct runs {
    struct run *at;
    size_t count;
    double unrolled; /* steps that an iteration goes through, marks included */
};

static bool is_mark(const struct captured_step *step)
{
    return step->kind == STEP_REPEAT || step->kind == STEP_END;
}

static void begin_run(struct runs *runs, const struct captured_step *step)
{
    runs->at[runs->count++] = (struct run){.first = *step,
                                           .count = 1,
                                           .duration_ns = step->duration_ns,
                                           .bytes = (double)step->bytes,
                                           .blocks = step->blocks,
                                           .threads = step->threads,
                                           .shared = step->shared};
}

static void add_host(struct runs *runs, double *gathered_ns)
{
    runs->at[runs->count++] = (struct run){.host = true, .host_ns = *gathered_ns};
    *gathered_ns = 0.0;
}

static bool is_kernel(const struct run *run)
{
    return !run->host && run->first.kind == STEP_COMPUTE;
}

/* Whether a step goes into a run, at a level from 0 (equal ones) to MERGES (all of a kind). */
static bool fits(const struct run *run, const struct captured_step *step, unsigned level)
{
    const struct captured_step *first = &run->first;
    if (run->host || first->kind != step->kind || step->kind == STEP_SYNCHRONIZE || is_mark(step))
        return false;
    if (step->kind != STEP_COMPUTE)
        return captured_is_near(run->bytes / run->count, (double)step->bytes, sizes_near[level]);
    bool named = first->name && step->name && strcmp(first->name, step->name) == 0;
    bool shaped = first->blocks == step->blocks && first->threads == step->threads &&
                  first->shared == step->shared;
    return (named || level > 0) && (shaped || level > 2) &&
           captured_is_near(run->duration_ns / run->count, step->duration_ns, near[level]);
}

static void put_in(struct run *run, const struct captured_step *step)
{
    run->count++;
    run->duration_ns += step->duration_ns;
    run->bytes += (double)step->bytes;
    run->blocks += step->blocks;
    run->threads += step->threads;
    run->shared += step->shared;
}

/* A wait at the very end is what every iteration ends with. */
static size_t without_last_wait(const struct captured_iteration *iteration, double least_ns,
                                double host_scale)
{
    size_t count = iteration->count;
    bool last = count > 0 && iteration->steps[count - 1].kind == STEP_SYNCHRONIZE &&
                iteration->after_ns * host_scale < least_ns;
    return count - last;
}

/* What host times are gathered for, of steps that an iteration does so often. */
static double host_least_ns(const struct captured_iteration *iteration, double times,
                            unsigned level)
{
    return fmax(HOST_NS_SHOWN, HOST_SHARE * iteration->took_ns / times) * (double)(1u << level);
}

/* Each level also gathers host times for longer. */
static void make_runs(const struct captured_iteration *iteration,
                      const struct capture_choice *choice, unsigned level, struct runs *runs)
{
    double host_scale = choice->host_scale;
    double within[WORKLOAD_DEPTH + 1] = {1.0}, least_ns = host_least_ns(iteration, 1.0, level);
    double gathered_ns = 0.0;
    unsigned depth = 0;
    size_t count = without_last_wait(iteration, least_ns, host_scale);
    runs->count = 0;
    runs->unrolled = 1.0; /* host time at the end */
    for (size_t i = 0; i < count; i++) {
        const struct captured_step *step = &iteration->steps[i];
        size_t before = runs->count;
        gathered_ns += step->before_ns * host_scale;
        /* At a mark, what is less than a share of the iteration with all times is left out. */
        if (gathered_ns >= least_ns ||
            (is_mark(step) &&
             gathered_ns >= (choice->busy ? CAPTURE_HOST_NS_LEAST : HOST_NS_SHOWN) &&
             gathered_ns * within[depth] >= host_least_ns(iteration, 1.0, level)))
            add_host(runs, &gathered_ns);
        if (is_mark(step))
            gathered_ns = 0.0;
        if (runs->count > 0 && fits(&runs->at[runs->count - 1], step, level))
            put_in(&runs->at[runs->count - 1], step);
        else
            begin_run(runs, step);
        runs->unrolled += (double)(runs->count - before) * within[depth];
        if (step->kind == STEP_REPEAT) {
            within[depth + 1] = within[depth] * (double)step->bytes;
            depth++;
        } else if (step->kind == STEP_END) {
            depth--;
        }
        if (is_mark(step))
            least_ns = host_least_ns(iteration, within[depth], level);
    }
    for (size_t i = count; i < iteration->count; i++)
        gathered_ns += iteration->steps[i].before_ns * host_scale;
    gathered_ns += iteration->after_ns * host_scale;
    if (gathered_ns >= least_ns)
        add_host(runs, &gathered_ns);
}

static uint64_t whole_size(double bytes)
{
    uint64_t multiples = (uint64_t)(bytes / WORKLOAD_SIZE_MULTIPLE + 0.5);
    return (multiples ? multiples : 1) * WORKLOAD_SIZE_MULTIPLE;
}

static uint32_t within(double number, uint32_t most)
{
    return number < 1.0 ? 1 : number > most ? most : (uint32_t)(number + 0.5);
}

uint64_t capture_rounded(double ns)
{
    double unit = 1.0;
    while (ns / unit >= 1000.0)
        unit *= 10.0;
    return (uint64_t)(round(ns / unit) * unit);
}

/* Of a block, where it can keep others off its multiprocessor: less than that changes nothing. */
static uint32_t shared_of(const struct run *run)
{
    double shared = run->shared / run->count, threads = run->threads / run->count;
    if (shared * fmin(CAPTURE_SM_THREADS / fmax(threads, 1.0), SM_BLOCKS) < SM_SHARED_LEAST)
        return 0;
    return (uint32_t)whole_size(fmin(shared, WORKLOAD_SHARED_MOST));
}

static struct workload_step kernel_of(const struct run *run, const struct capture_choice *choice)
{
    struct workload_step step = {
        .kind = STEP_COMPUTE,
        .blocks = within(run->blocks / run->count, WORKLOAD_BLOCKS_MOST),
        .threads = within(run->threads / run->count, WORKLOAD_THREADS_MOST),
        .shared = shared_of(run),
        .asked_ns = capture_rounded(fmin(run->duration_ns / run->count, WORKLOAD_KERNEL_NS_MOST)),
    };
    if (step.asked_ns >= WORKLOAD_KERNEL_NS_LEAST && step.asked_ns >= choice->least_kernel_ns)
        return step;
    step.kind = STEP_CYCLES;
    step.asked_ns = 0;
    step.amount = 1;
    return step;
}

static struct workload_step step_of(const struct run *run, const struct capture_choice *choice)
{
    struct workload_step step = {.kind = run->first.kind};
    if (run->host) {
        double host_ns = fmin(run->host_ns, WORKLOAD_HOST_NS_MOST);
        step.kind = choice->busy ? STEP_WORK : STEP_THINK;
        step.amount = capture_rounded(choice->busy ? host_ns * choice->turns_per_ns : host_ns);
    } else if (is_kernel(run)) {
        step = kernel_of(run, choice);
    } else if (run->first.kind == STEP_REPEAT) {
        step.amount = run->first.bytes;
    } else if (!workload_step_is_host(&step)) {
        step.amount = whole_size(run->bytes / run->count);
    }
    step.count = run->host ? 1 : (uint32_t)run->count;
    return step;
}

/* Through the grammar's own text, so that the file has what was checked. */
static enum status add_steps(const struct runs *runs, const struct capture_choice *choice,
                             struct captured_workload *out)
{
    char text[WORKLOAD_STEP_TEXT];
    enum status status = workload_begin(choice->name, &out->workload);
    for (size_t i = 0; i < runs->count && status == STATUS_OK; i++) {
        struct workload_step step = step_of(&runs->at[i], choice);
        out->others += step.kind == STEP_CYCLES;
        status = workload_add_step(&out->workload, workload_step_text(&step, text));
    }
    return status == STATUS_OK ? workload_end(&out->workload) : status;
}

/* How it was launched, and between which memory. */
static void find_style(const struct captured_iteration *iteration, struct captured_workload *out)
{
    size_t work = 0, in_graphs = 0;
    double bytes = 0.0, pageable = 0.0;
    for (size_t i = 0; i < iteration->count; i++) {
        const struct captured_step *step = &iteration->steps[i];
        bool copies = step->kind == STEP_COPY_IN || step->kind == STEP_COPY_OUT;
        work += step->kind != STEP_SYNCHRONIZE;
        in_graphs += step->graph;
        bytes += copies ? (double)step->bytes : 0.0;
        pageable += copies && step->pageable ? (double)step->bytes : 0.0;
    }
    out->graph = 2 * in_graphs > work;
    out->pageable = pageable > bytes / 2.0;
}

static bool gives_work(const struct captured_iteration *iteration)
{
    for (size_t i = 0; i < iteration->count; i++)
        if (iteration->steps[i].kind != STEP_SYNCHRONIZE)
            return true;
    return false;
}

/* How an iteration becomes steps of the grammar. */
struct attempt {
    unsigned depth;  /* of repeats, one within the other */
    unsigned merges; /* no more than it takes of these levels */
    size_t most;     /* steps */
};

/* Steps that one can read come first, then as many as the grammar takes, then merged ones. */
static const struct attempt attempts[] = {
    {0, 0, STEPS_READ},
    {1, 0, STEPS_READ},
    {2, 0, STEPS_READ},
    {3, 0, STEPS_READ},
    {WORKLOAD_DEPTH, 0, STEPS_READ},
    {0, 0, WORKLOAD_STEPS},
    {1, 0, WORKLOAD_STEPS},
    {2, 0, WORKLOAD_STEPS},
    {3, 0, WORKLOAD_STEPS},
    {WORKLOAD_DEPTH, MERGES, WORKLOAD_STEPS},
    {0, MERGES, WORKLOAD_STEPS},
};

/* *few: no more steps than that came of it. */
static enum status make_few(const struct captured_iteration *iteration,
                            const struct capture_choice *choice, const struct attempt *attempt,
                            struct runs *runs, struct captured_workload *out, bool *few)
{
    struct captured_iteration folded;
    enum status status = capture_fold(iteration, attempt->depth, &folded);
    *few = false;
    if (status != STATUS_OK)
        return status;
    for (unsigned level = 0; level <= attempt->merges && !*few; level++) {
        make_runs(&folded, choice, level, runs);
        *few = runs->count <= attempt->most && runs->unrolled <= WORKLOAD_UNROLLED_MOST;
        out->merged = level;
    }
    out->folded = *few && folded.count < iteration->count;
    captured_iteration_release(&folded);
    return STATUS_OK;
}

static enum status find_runs(const struct captured_iteration *iteration,
                             const struct capture_choice *choice, struct runs *runs,
                             struct captured_workload *out)
{
    enum status status = STATUS_OK;
    bool few = false;
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts && status == STATUS_OK && !few; i++)
        status = make_few(iteration, choice, &attempts[i], runs, out, &few);
    if (status != STATUS_OK || few)
        return status;
    return status_set(STATUS_UNSUPPORTED,
                      "an iteration has %zu steps even when all that is alike is one: a workload "
                      "has at most %d",
                      runs->count, WORKLOAD_STEPS);
}

enum status capture_describe(const struct captured_iteration *iteration,
                             const struct capture_choice *choice, struct captured_workload *out)
{
    struct runs runs = {.at = calloc(2 * iteration->count + 1, sizeof *runs.at)};
    *out = (struct captured_workload){0};
    if (!runs.at)
        return status_set(STATUS_MEMORY, "out of memory for a workload");
    if (!gives_work(iteration)) {
        free(runs.at);
        return status_set(STATUS_NOT_FOUND, "the iteration gives the GPU nothing");
    }
    enum status status = find_runs(iteration, choice, &runs, out);
    if (status == STATUS_OK)
        status = add_steps(&runs, choice, out);
    find_style(iteration, out);
    free(runs.at);
    return status;
}
