#include "observer/inputs.h"

/* An iteration with fewer turns is one request that has several inputs. */
#define FEWEST 4
/* This many turns must be seen, and this share of the inputs be like those a turn before; and of
 * turns that show nearly as well, the shortest counts. */
#define SEEN 16
#define ALIKE 0.9
#define NEARLY 0.02
/* Of the first ones this many may be odd. */
#define FIRST_ODD 4

/* This share may differ, of inputs and their work; and all work may be as much more than the usual
 * for each, or less, down to a half, where some inputs have less, as those of an evaluation. */
#define DIFFERS 20
#define LEAST_WORK 0.5
/* As much work as this is the same for inputs of any size. */
#define SAME_LAUNCHES 4

static bool near(uint64_t a, uint64_t b)
{
    uint64_t more = a > b ? a : b, less = a > b ? b : a;
    return more - less <= 2 + more / DIFFERS;
}

static bool are_alike(const struct input *a, const struct input *b)
{
    return near(a->work, b->work) && (a->work >= SAME_LAUNCHES || near(a->bytes, b->bytes));
}

void inputs_add(struct inputs *inputs, uint64_t bytes, uint64_t launches)
{
    const struct input input = {.bytes = bytes, .work = launches - inputs->launches};
    uint64_t work = input.work;
    inputs->copies++;
    inputs->launches = launches;
    /* A batch may be several copies, behind each other. */
    if (bytes <= MARK_FEW_BYTES || work == 0)
        return;
    for (unsigned length = 1; length <= INPUTS_MOST && length <= inputs->count; length++) {
        const struct input *before = &inputs->last[(inputs->count - length) % INPUTS_MOST];
        struct input_turn *turn = &inputs->turns[length];
        turn->alike += are_alike(&input, before);
        if (turn->votes == 0)
            turn->usual = work;
        turn->votes += near(work, turn->usual) ? 1 : -1;
        work += before->work;
    }
    inputs->last[inputs->count++ % INPUTS_MOST] = input;
}

/* The share of the inputs that are like those a turn before. */
static double alike(const struct inputs *inputs, unsigned length)
{
    return inputs->count < SEEN * length
               ? 0
               : (double)inputs->turns[length].alike / (inputs->count - length);
}

/* After how many inputs their work repeats; 0: it does not. */
static unsigned find_turn(const struct inputs *inputs)
{
    double best = 0;
    unsigned length = 1;
    for (unsigned i = 1; i <= INPUTS_MOST; i++)
        best = alike(inputs, i) > best ? alike(inputs, i) : best;
    while (best >= ALIKE && alike(inputs, length) < best - NEARLY)
        length++;
    return best < ALIKE ? 0 : length;
}

bool inputs_part(const struct inputs *inputs, const struct mark *iteration, bool answers)
{
    unsigned length = find_turn(inputs);
    if (length == 0)
        return false;
    double each = (double)iteration->copies_in * inputs->count / inputs->copies;
    double unlike = inputs->count - length - inputs->turns[length].alike, turns = each / length;
    /* The few numbers that come once are what it begins with (write_with_weights_in). */
    if (iteration->few_in == 1 || (answers && unlike > FIRST_ODD + inputs->count / each / 2))
        return false;
    double usual = turns * (double)inputs->turns[length].usual;
    double work = iteration->launches + iteration->graphs;
    return turns >= FEWEST - 0.5 && work >= LEAST_WORK * usual &&
           (work <= usual || near((uint64_t)work, (uint64_t)usual));
}
