#include "observer/inputs.h"

/* An iteration with fewer inputs is one request that has several. */
#define FEWEST 4
/* This many parts must be seen, and this share of them be like the one before. */
#define SEEN 16
#define ALIKE 0.9

/* This share may differ, of inputs and their work, and of all work. */
#define DIFFERS 20

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
    inputs->alike += near(bytes, inputs->bytes) && near(work, inputs->work);
    inputs->bytes = bytes;
    inputs->work = work;
}

bool inputs_part(const struct inputs *inputs, const struct mark *iteration)
{
    if (inputs->parts < SEEN || inputs->alike < ALIKE * inputs->parts)
        return false;
    double parts = (double)iteration->copies_in * inputs->parts / inputs->copies;
    return parts >= FEWEST - 0.5 && iteration->bytes_out <= MARK_FEW_BYTES &&
           near(iteration->launches + iteration->graphs, (uint64_t)(parts * (double)inputs->work));
}
