#include "job/work.h"
#include "job/workload_text.h"

/* A compute-bound kernel works on this much at most, whatever its grid. */
#define COMPUTE_BYTES UINT64_C(4096)

/* Larger than the second-level cache of any GPU, and small enough for many workers. */
#define MEMORY_BYTES (UINT64_C(256) << 20)

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool workload_step_is_host(const struct workload_step *step)
{
    return step->kind >= STEP_SYNCHRONIZE;
}

bool workload_step_is_kernel(const struct workload_step *step)
{
    return step->kind == STEP_COMPUTE || step->kind == STEP_CACHE || step->kind == STEP_MEMORY ||
           step->kind == STEP_CYCLES;
}

bool workload_step_is_mark(const struct workload_step *step)
{
    return step->kind == STEP_REPEAT || step->kind == STEP_END;
}

uint64_t workload_worked_bytes(const struct workload_step *step)
{
    if (step->kind == STEP_COMPUTE || step->kind == STEP_CACHE)
        return least((uint64_t)step->blocks * step->threads * WORK_VECTOR_BYTES, COMPUTE_BYTES);
    /* Where the amount is still to be found it is at least a vector. */
    if (step->kind == STEP_MEMORY)
        return step->amount ? least(step->amount, MEMORY_BYTES) : WORK_VECTOR_BYTES;
    return 0;
}

void workload_trace_step(struct workload_trace *trace, const struct workload_step *step)
{
    switch (step->kind) {
    case STEP_COPY_IN:
        trace->known_bytes = step->amount;
        trace->added = 0;
        break;
    case STEP_DEVICE_COPY:
        trace->known_bytes = least(trace->known_bytes, step->amount);
        trace->side ^= 1;
        break;
    case STEP_COMPUTE:
    case STEP_CACHE:
    case STEP_MEMORY:
        trace->known_bytes = least(trace->known_bytes, workload_worked_bytes(step));
        trace->added++;
        trace->side ^= 1;
        break;
    default:
        break;
    }
}

bool workload_walk_next(struct workload_walk *walk, unsigned *number)
{
    for (; walk->at < walk->count; walk->at++) {
        const struct workload_step *step = &walk->steps[walk->at];
        if (step->kind == STEP_REPEAT) {
            walk->repeats[walk->depth].begin = walk->at;
            walk->repeats[walk->depth++].left = step->amount - 1;
        } else if (step->kind != STEP_END) {
            *number = walk->at++;
            return true;
        } else if (walk->repeats[walk->depth - 1].left-- > 0) {
            walk->at = walk->repeats[walk->depth - 1].begin;
        } else {
            walk->depth--;
        }
    }
    return false;
}

uint64_t workload_step_times(const struct workload_step *steps, unsigned which)
{
    uint64_t times = steps[which].count;
    unsigned closed = 0;
    for (unsigned i = which; i-- > 0;) {
        if (steps[i].kind == STEP_END)
            closed++;
        else if (steps[i].kind == STEP_REPEAT && closed > 0)
            closed--;
        else if (steps[i].kind == STEP_REPEAT)
            times *= steps[i].amount;
    }
    return times;
}

bool workload_can_check(const struct workload_step *steps, unsigned count)
{
    struct workload_trace trace = {0};
    struct workload_walk walk = {.steps = steps, .count = count};
    for (unsigned i; workload_walk_next(&walk, &i);) {
        if (steps[i].kind == STEP_COPY_OUT && trace.known_bytes > 0)
            return true;
        workload_trace_step(&trace, &steps[i]);
    }
    return false;
}
