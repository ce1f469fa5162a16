#include "observer/inputs.h"

/* An iteration with fewer inputs is one request that has several. */
#define FEWEST 4
/* This many parts must be seen, and this share of them be like the one before. */
#define SEEN 16
#define ALIKE 0.9

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

void inputs_add(struct inputs *inputs, uint64_t bytes, uint64_t launches)
{
    uint64_t work = launches - inputs->launches;
    inputs->copies++;
    inputs->launches = launches;
    /* A batch may be several copies, behind each other. */
    if (bytes <= MARK_FEW_BYTES || work == 0)
        return;
    inputs->parts++;
    inputs->alike +=
        near(work, inputs->work) && (work >= SAME_LAUNCHES || near(bytes, inputs->bytes));
    if (inputs->votes == 0)
        inputs->usual = work;
    inputs->votes += near(work, inputs->usual) ? 1 : -1;
    inputs->bytes = bytes;
    inputs->work = work;
}

bool inputs_part(const struct inputs *inputs, const struct mark *iteration)
{
    if (inputs->parts < SEEN || inputs->alike < ALIKE * inputs->parts)
        return false;
    double parts = (double)iteration->copies_in * inputs->parts / inputs->copies;
    double usual = parts * (double)inputs->usual, work = iteration->launches + iteration->graphs;
    return parts >= FEWEST - 0.5 && iteration->bytes_out <= MARK_FEW_BYTES &&
           work >= LEAST_WORK * usual && (work <= usual || near((uint64_t)work, (uint64_t)usual));
}
