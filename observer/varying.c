#include "observer/internal.h"

/* More than this many inputs must be seen before iterations vary, and of the largest, with as many
 * smaller ones between each two, this many (test_two_inputs_of_a_request). */
#define VARYING_FEWEST 4
#define VARYING_LARGEST 8
/* After this many smaller inputs in a row the largest was one of a start, or inputs have become
 * smaller (test_inputs_become_smaller). */
#define VARYING_OTHERS 32
/* Where nothing was copied in for this long, and of the last marks one in this many is like the one
 * before it, each mark is an iteration: a program whose data stay on the GPU, with as many steps
 * for a request as it takes (test_steps_without_input). */
#define WITHOUT_INPUT_NS (8 * NS_PER_S)
#define WITHOUT_INPUT_ALIKE 3
/* Marks with at least this many launches, and as many as each other, are the same work
 * (test_inputs_of_several_sizes_in_turn). */
#define SAME_LAUNCHES 4
/* Of iterations of the same work one in this many is like the one before it, at least. Beside them
 * there may be up to this share of the launches, and in each period a few numbers copied out
 * (test_a_report_now_and_then, test_parts_of_a_request). */
#define INNER_ALIKE 3
#define INNER_BESIDE 20

static void add_varying(struct varying *varying, const struct mark *mark)
{
    struct mark *iteration = &varying->iteration;
    mark_add(iteration, mark);
    varying->marks += varying->ends > 0;
    if (!marks_have_input(mark, varying->least)) {
        bool other = marks_have_input(mark, MARK_FEW_BYTES + 1);
        varying->others += other;
        varying->uneven |= other && varying->apart > 0;
        varying->apart = other ? 0 : varying->apart + 1;
        return;
    }
    varying->last_ns = mark->at_ns;
    if (varying->ends++ == 0) {
        varying->first_ns = mark->at_ns;
    } else {
        mark_add(&varying->sum, iteration);
        varying->alike += marks_alike(iteration, &varying->last);
        varying->uneven |= varying->ends > 2 && varying->others != varying->between;
        varying->between = varying->others;
    }
    varying->others = varying->apart = 0;
    varying->last = *iteration;
    *iteration = (struct mark){0};
}

/* The largest are those of more than half of the most bytes until now. */
static void add_largest(struct varying *varying, const struct mark *mark)
{
    if (mark->bytes_in > 2 * varying->least || varying->others > VARYING_OTHERS)
        *varying = (struct varying){.least = mark->bytes_in / 2 + 1};
    add_varying(varying, mark);
}

void varying_add(struct period *period, const struct mark *mark)
{
    period->varying[1].least = MARK_FEW_BYTES + 1;
    add_varying(&period->varying[0], mark);
    add_varying(&period->varying[1], mark);
    add_largest(&period->varying[2], mark);
}

/* Which inputs end an iteration; NULL: more of the larger ones may come. */
static const struct varying *choose_inputs(const struct period *period, uint64_t for_ns)
{
    const struct varying *any = &period->varying[0], *large = &period->varying[1];
    const struct varying *largest = &period->varying[2];
    bool waits = for_ns < PERIOD_VARYING_LATE_NS;
    /* A request may begin with several inputs, each for a part of its work, and go on without. */
    bool begins = largest->between > 0 && !largest->uneven &&
                  largest->marks > (largest->ends - 1) * (largest->between + 1);
    if (begins && (largest->ends >= VARYING_LARGEST || waits))
        return largest->ends >= VARYING_LARGEST ? largest : NULL;
    if (large->ends > VARYING_FEWEST)
        return large;
    return large->ends > 1 && waits ? NULL : any;
}

/* From now on iterations vary, and each ends with such an input. */
static void vary(struct period *period, const struct mark *mean, unsigned marks, double match,
                 uint64_t least_input)
{
    period->mean = *mean;
    period->match = match;
    period->least_input = least_input;
    period->kind = PERIOD_INPUTS;
    period->length = marks ? marks : 1;
}

static bool find_varying(struct period *period, const struct varying *varying, uint64_t for_ns)
{
    if (!varying)
        return false;
    bool ends = varying->last_ns == period_mark(period, period->count - 1)->at_ns;
    if (!ends || for_ns < PERIOD_LASTING_NS || varying->ends <= VARYING_FEWEST)
        return false;
    unsigned count = varying->ends - 1, marks = marks_mean_count(varying->marks, count);
    struct mark sum = varying->sum;
    sum.at_ns = varying->last_ns - varying->first_ns;
    const struct mark mean = marks_mean(&sum, count);
    bool unlike = 2 * varying->alike < count;
    if (for_ns < PERIOD_VARYING_NS && !(unlike && marks_are_known(period, &mean, marks)))
        return false;
    vary(period, &mean, marks, (double)varying->alike / count, varying->least);
    return true;
}

bool varying_find(struct period *period, uint64_t for_ns)
{
    return find_varying(period, choose_inputs(period, for_ns), for_ns);
}

bool varying_find_larger(struct period *period, uint64_t for_ns)
{
    return find_varying(period, &period->varying[1], for_ns);
}

bool varying_find_without_input(struct period *period, uint64_t now_ns)
{
    const struct varying *any = &period->varying[0];
    uint64_t for_ns = now_ns - (any->ends ? any->last_ns : period->begun_ns);
    unsigned known = marks_remembered(period);
    if (for_ns < (period->known_calls ? PERIOD_LASTING_NS : WITHOUT_INPUT_NS) ||
        known <= VARYING_FEWEST || marks_sum(period, known - 1, 0).copies_in)
        return false;
    const struct mark mean = marks_mean_remembered(period, 1);
    double alike = 1 - (double)marks_changes(period, known - 1) / (known - 1);
    if (WITHOUT_INPUT_ALIKE * alike < 1 ||
        (for_ns < WITHOUT_INPUT_NS && !marks_are_known(period, &mean, 1)))
        return false;
    period->kind = PERIOD_EACH;
    period->length = 1;
    return true;
}

/* What is between the largest inputs of the last periods, as many as show something. */
struct inner {
    unsigned periods, marks;
    uint64_t largest;       /* input, bytes; the others have more than half of them */
    unsigned inputs, alike; /* and those of them whose work is like that of the one before */
    struct mark same;       /* the sum of such work */
};

static struct inner look_within(const struct period *period, unsigned length)
{
    unsigned known = marks_remembered(period);
    struct inner inner = {.periods = 1, .marks = length};
    struct mark work = {0}, last = {0};
    for (; inner.marks < PERIOD_EVIDENCE && inner.marks + 2 * length <= known; inner.periods++)
        inner.marks += length;
    for (unsigned i = 1; i <= inner.marks; i++) {
        uint64_t bytes = period_mark(period, period->count - i)->bytes_in;
        inner.largest = bytes > inner.largest ? bytes : inner.largest;
    }
    /* From a period before them on, so that the work before their first input is whole. */
    for (unsigned i = inner.marks + length; i >= 1; i--) {
        const struct mark *mark = period_mark(period, period->count - i);
        mark_add(&work, mark);
        if (!marks_have_input(mark, inner.largest / 2 + 1))
            continue;
        if (i <= inner.marks && marks_alike(&work, &last)) {
            inner.alike++;
            mark_add(&inner.same, &work);
        }
        inner.inputs += i <= inner.marks;
        last = work;
        work = (struct mark){0};
    }
    return inner;
}

bool varying_find_inner(struct period *period, unsigned length)
{
    const struct inner inner = look_within(period, length);
    const struct mark sum = marks_sum(period, inner.marks, 0);
    if (inner.largest <= MARK_FEW_BYTES || inner.inputs <= inner.periods ||
        INNER_ALIKE * inner.alike < inner.inputs)
        return false;
    /* As if all inputs had the mean of what most of them have. */
    uint64_t all = sum.launches + sum.graphs;
    uint64_t same =
        (uint64_t)inner.inputs * (inner.same.launches + inner.same.graphs) / inner.alike;
    if (INNER_BESIDE * (all > same ? all - same : same - all) > all ||
        sum.bytes_out >
            inner.inputs * inner.same.bytes_out / inner.alike + inner.periods * MARK_FEW_BYTES)
        return false;
    const struct mark mean = marks_mean(&sum, inner.inputs);
    vary(period, &mean, marks_mean_count(inner.marks, inner.inputs),
         (double)inner.alike / inner.inputs, inner.largest / 2 + 1);
    return true;
}

bool varying_differ_in_sizes(const struct period *period, unsigned length)
{
    const struct mark *last = period_mark(period, period->count - 1);
    for (unsigned i = 1; i <= length; i++) {
        const struct mark *mark = period_mark(period, period->count - i);
        if (!marks_have_input(mark, MARK_FEW_BYTES + 1) || mark->launches < SAME_LAUNCHES ||
            mark->launches != last->launches || mark->graphs != last->graphs ||
            mark->copies_in != last->copies_in || mark->copies_out != last->copies_out)
            return false;
    }
    return length > 1;
}

enum period_state varying_go_on(struct period *period, const struct mark *mark)
{
    if (period->kind == PERIOD_INPUTS && marks_have_input(mark, period->least_input)) {
        period->smaller = 0;
        return PERIOD_BOUNDARY;
    }
    period->smaller += marks_have_input(mark, MARK_FEW_BYTES + 1);
    if (period->smaller <= VARYING_OTHERS)
        return period->kind == PERIOD_EACH ? PERIOD_BOUNDARY : PERIOD_WITHIN;
    period_begin(period, period->known_calls);
    return PERIOD_LOST;
}
