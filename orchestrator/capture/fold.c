#include "orchestrator/capture/fold.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Durations and blocks of what repeats, one over the other. */
#define REPEATED_NEAR 2.0
/* The steps that a repeat has of its own. */
#define MARKS 2
/* Comparisons of a search, a fraction of a second: what is longer than it gets to is not found. */
#define COMPARISONS_MOST UINT64_C(50000000)
/* Equal steps in a row with less host time between them are one with a count. */
#define EQUAL_HOST_NS 1e3

/* Steps that begin somewhere, come so often behind each other, and as many as that. */
struct part {
    size_t begin, period, times;
};

static bool is_again(const struct captured_step *a, const struct captured_step *b)
{
    if (a->kind != b->kind || a->threads != b->threads || a->graph != b->graph ||
        a->pageable != b->pageable || a->bytes != b->bytes ||
        !captured_is_near(a->blocks, b->blocks, REPEATED_NEAR) ||
        !captured_is_near(a->duration_ns, b->duration_ns, REPEATED_NEAR))
        return false;
    /* The timeline has each name once. */
    return a->name == b->name;
}

/* Whether steps and the one behind them are equal ones in a row. */
static bool are_equal(const struct captured_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_again(&steps[i], &steps[i + 1]) || steps[i].blocks != steps[i + 1].blocks ||
            steps[i + 1].before_ns >= EQUAL_HOST_NS ||
            !captured_is_near(steps[i].duration_ns, steps[i + 1].duration_ns, CAPTURED_EQUAL_NEAR))
            return false;
    return true;
}

/* The part whose repeats are most steps, and the shortest of equal ones. times is 0: nothing
 * repeats itself but single steps. */
static struct part find(const struct captured_step *steps, size_t count, uint64_t *comparisons)
{
    struct part best = {0};
    size_t saved = MARKS;
    for (size_t period = 2; period <= count / 2 && *comparisons >= count; period++) {
        size_t again = 0;
        *comparisons -= count;
        for (size_t i = 0; i + period < count; i++) {
            again = is_again(&steps[i], &steps[i + period]) ? again + 1 : 0;
            size_t whole = again / period, begin = i + 1 - again;
            if (whole * period > saved && !are_equal(&steps[begin], period)) {
                saved = whole * period;
                best = (struct part){begin, period, whole + 1};
            }
        }
    }
    return best;
}

/* What a step is on the mean of all times. */
static struct captured_step mean_of(const struct captured_step *steps, const struct part *part,
                                    size_t which)
{
    const double share = 1.0 / (double)part->times;
    struct captured_step mean = steps[part->begin + which];
    double blocks = 0.0, shared = 0.0;
    mean.duration_ns = mean.before_ns = mean.wait_ns = 0.0;
    for (size_t i = 0; i < part->times; i++) {
        const struct captured_step *step = &steps[part->begin + i * part->period + which];
        blocks += share * step->blocks;
        shared += share * step->shared;
        mean.duration_ns += share * step->duration_ns;
        mean.before_ns += share * step->before_ns;
        mean.wait_ns += share * step->wait_ns;
    }
    mean.blocks = (uint32_t)lround(blocks);
    mean.shared = (uint32_t)lround(shared);
    return mean;
}

static void put(struct captured_iteration *out, const struct captured_step *steps, size_t count)
{
    if (count > 0)
        memcpy(&out->steps[out->count], steps, count * sizeof *steps);
    out->count += count;
}

/* Appends to out, which has room. */
static enum status fold(const struct captured_step *steps, size_t count, unsigned depth,
                        uint64_t *comparisons, struct captured_iteration *out)
{
    struct part part = depth > 0 ? find(steps, count, comparisons) : (struct part){0};
    if (part.times == 0) {
        put(out, steps, count);
        return STATUS_OK;
    }
    const struct captured_step begin = {.kind = STEP_REPEAT, .bytes = part.times};
    const struct captured_step end = {.kind = STEP_END};
    size_t behind = part.begin + part.period * part.times;
    struct captured_step *body = calloc(part.period, sizeof *body);
    if (!body)
        return status_set(STATUS_MEMORY, "out of memory for what repeats itself");
    for (size_t i = 0; i < part.period; i++)
        body[i] = mean_of(steps, &part, i);
    enum status status = fold(steps, part.begin, depth, comparisons, out);
    put(out, &begin, 1);
    if (status == STATUS_OK)
        status = fold(body, part.period, depth - 1, comparisons, out);
    put(out, &end, 1);
    if (status == STATUS_OK)
        status = fold(steps + behind, count - behind, depth, comparisons, out);
    free(body);
    return status;
}

enum status capture_fold(const struct captured_iteration *iteration, unsigned depth,
                         struct captured_iteration *out)
{
    uint64_t comparisons = COMPARISONS_MOST;
    *out = *iteration;
    out->count = 0;
    out->steps = calloc(iteration->count + 1, sizeof *out->steps);
    if (!out->steps)
        return status_set(STATUS_MEMORY, "out of memory for an iteration");
    return fold(iteration->steps, iteration->count, depth, &comparisons, out);
}
