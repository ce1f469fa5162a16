#include "observer/internal.h"

/* More than this many inputs must be seen before iterations vary. */
#define VARYING_FEWEST 4
/* An input begins a request with others where the number of others between two such varies by no
 * more than this share of how it would by chance, even if this many more had been as chance has
 * them (test_two_inputs_of_a_request, test_requests_of_several_models), and as many again for each
 * time that it has not come for long (test_layers_of_any_work). */
#define EVEN 0.4
#define EVEN_DOUBTS 5
/* One in this many may have others apart, as those of an evaluation are (test_evaluations). */
#define APART 4
/* After this many smaller inputs in a row the largest was one of a start, or inputs have become
 * smaller (test_inputs_become_smaller). */
#define VARYING_OTHERS 32
/* No more come after this many times as long as it mostly took: they were those of a start
 * (test_words_of_texts, test_inputs_of_a_start). */
#define STILL_COME 4
/* Where nothing was copied in for this long, and of the last marks one in this many is like the one
 * before it, each mark is an iteration: a program whose data stay on the GPU, with as many steps
 * for a request as it takes (test_steps_without_input). */
#define WITHOUT_INPUT_NS (8 * NS_PER_S)
#define WITHOUT_INPUT_ALIKE 3
/* There, a round of a solver has up to this many waits, one behind each kernel of its own
 * (test_rounds_of_any_number). */
#define ROUND_WAITS 3
/* Of iterations of the same work one in this many is like the one before it, at least. Beside them
 * there may be up to this share of the launches, and in each period a few numbers copied out
 * (test_a_report_now_and_then, test_parts_of_a_request). */
#define INNER_ALIKE 3
#define INNER_BESIDE 20
/* Of this many inputs one may be larger, and be beside the work of a step
 * (test_lists_now_and_then). */
#define INNER_USUAL 8

static bool ends_one(const struct mark *mark, const struct ending *ending)
{
    return marks_have_input(mark, ending->least) &&
           (!ending->kernel ||
            (mark->kernel == ending->kernel && marks_near(mark->launches, ending->launches, 2)));
}

static void add_varying(struct varying *varying, const struct mark *mark)
{
    struct mark *iteration = &varying->iteration;
    mark_add(iteration, mark);
    varying->marks += varying->ends > 0;
    if (!ends_one(mark, &varying->ending)) {
        bool other = marks_have_input(mark, MARK_FEW_BYTES + 1);
        varying->others += other;
        varying->apart += other && varying->without > 0;
        varying->without = other ? 0 : varying->without + 1;
        return;
    }
    varying->last_ns = mark->at_ns;
    varying->most = mark->bytes_in > varying->most ? mark->bytes_in : varying->most;
    if (varying->ends++ == 0) {
        varying->first_ns = mark->at_ns;
    } else {
        mark_add(&varying->sum, iteration);
        varying->alike += marks_alike(iteration, &varying->last);
        varying->between += varying->others;
        varying->squares += (double)varying->others * varying->others;
    }
    varying->others = varying->without = 0;
    varying->last = *iteration;
    *iteration = (struct mark){0};
}

/* The largest are those of more than half of the most bytes until now. */
static void add_largest(struct varying *varying, const struct mark *mark)
{
    if (mark->bytes_in > 2 * varying->ending.least || varying->others > VARYING_OTHERS)
        *varying = (struct varying){.ending.least = mark->bytes_in / 2 + 1};
    add_varying(varying, mark);
}

void varying_add(struct period *period, const struct mark *mark)
{
    struct varying *kernels = period->varying + 3;
    bool known = !mark->kernel || !marks_have_input(mark, MARK_FEW_BYTES + 1);
    period->varying[1].ending.least = MARK_FEW_BYTES + 1;
    add_varying(&period->varying[0], mark);
    add_varying(&period->varying[1], mark);
    add_largest(&period->varying[2], mark);
    for (unsigned i = 0; i < period->kernels; i++) {
        if (kernels[i].others > VARYING_OTHERS)
            kernels[i] = (struct varying){.ending = kernels[i].ending,
                                          .absent = kernels[i].absent + (kernels[i].ends > 1)};
        add_varying(&kernels[i], mark);
        known |= kernels[i].ends > 0 && kernels[i].others == 0;
    }
    if (known || period->kernels == PERIOD_KERNELS)
        return;
    struct varying *other = &kernels[period->kernels++];
    other->ending = (struct ending){MARK_FEW_BYTES + 1, mark->kernel, mark->launches};
    add_varying(other, mark);
}

/* How the number of other inputs between two of these varies, as a share of how it would if each
 * input were one of these by chance; the first `doubts` are taken to be so. */
static double unevenness(const struct varying *varying, unsigned doubts)
{
    double count = varying->ends > 1 ? varying->ends - 1 : 1, mean = varying->between / count;
    double chance = mean * (mean + 1);
    return chance > 0 ? (varying->squares - count * mean * mean + doubts * chance) /
                            ((count + doubts) * chance)
                      : 0;
}

/* Whether at least every second one has others. Without a kernel those with steps between them
 * are requests by turns (test_prompts_by_turns). */
static bool begins(const struct varying *varying)
{
    return varying->between > 0 && 2 * varying->between + 1 > varying->ends &&
           (varying->ending.kernel || APART * varying->apart <= varying->ends);
}

/* Which inputs end an iteration; NULL: more of the larger ones may come. */
static const struct varying *choose_inputs(const struct period *period, uint64_t for_ns)
{
    const struct varying *any = &period->varying[0], *large = &period->varying[1];
    const struct varying *best = NULL;
    bool waits = for_ns < PERIOD_VARYING_LATE_NS, may_begin = false;
    /* A request may have several inputs, each for a part of its work. */
    for (unsigned i = 2; i < 3 + period->kernels; i++) {
        const struct varying *some = &period->varying[i];
        if (!begins(some) || unevenness(some, 0) > EVEN)
            continue;
        may_begin |= some->ends > 2;
        if (unevenness(some, EVEN_DOUBTS * (1 + some->absent)) <= EVEN &&
            (!best || some->most > best->most))
            best = some;
    }
    if (best || (may_begin && waits))
        return best;
    if (large->ends > VARYING_FEWEST)
        return large;
    return large->ends > 1 && waits ? NULL : any;
}

/* From now on iterations vary, and each ends with such an input. */
static void vary(struct period *period, const struct mark *mean, unsigned marks, double match,
                 const struct ending *ending)
{
    period->mean = *mean;
    period->match = match;
    period->ending = *ending;
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
    vary(period, &mean, marks, (double)varying->alike / count, &varying->ending);
    return true;
}

bool varying_find(struct period *period, uint64_t for_ns)
{
    return find_varying(period, choose_inputs(period, for_ns), for_ns);
}

/* A kernel that begins many of the last marks, but never two behind each other: that of a round
 * which has several waits. *times is how often it does; 0: there is none. */
static uint64_t find_round(const struct period *period, unsigned marks, unsigned *times)
{
    for (unsigned back = 1; back <= ROUND_WAITS; back++) {
        uint64_t kernel = period_mark(period, period->count - back)->kernel, last = 0;
        unsigned twice = *times = 0;
        for (unsigned i = 1; i <= marks; i++) {
            uint64_t other = period_mark(period, period->count - i)->kernel;
            *times += other == kernel;
            twice += other == kernel && last == kernel;
            last = other;
        }
        if (kernel && !twice && ROUND_WAITS * *times >= marks)
            return kernel;
    }
    return 0;
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
    if ((WITHOUT_INPUT_ALIKE * alike < 1 && for_ns < PERIOD_VARYING_LATE_NS) ||
        (for_ns < WITHOUT_INPUT_NS && !marks_are_known(period, &mean, 1)))
        return false;
    unsigned times = 0;
    period->kind = PERIOD_EACH;
    period->ending.kernel = find_round(period, known, &times);
    period->length = period->ending.kernel ? marks_mean_count(known, times) : 1;
    return true;
}

/* What is between the largest inputs of the last periods, as many as show something. */
struct inner {
    unsigned periods, marks;
    uint64_t largest;       /* input, bytes; the others have more than half of them */
    unsigned inputs, alike; /* and those of them whose work is like that of the one before */
    struct mark same;       /* the sum of such work */
};

/* The work until the next of those inputs, of the last *marks marks; false: there is none. */
static bool next_work(const struct period *period, const struct inner *inner, unsigned *marks,
                      struct mark *work)
{
    *work = (struct mark){0};
    while (*marks > 0) {
        const struct mark *mark = period_mark(period, period->count - (*marks)--);
        mark_add(work, mark);
        if (marks_have_input(mark, inner->largest / 2 + 1))
            return true;
    }
    return false;
}

/* How large an input is, in bytes, that each few of the last marks have. */
static uint64_t find_largest(const struct period *period, unsigned marks)
{
    uint64_t least = UINT64_MAX, most = 0;
    unsigned inputs = 0;
    for (unsigned i = 1; i <= marks; i++) {
        const struct mark *mark = period_mark(period, period->count - i);
        most = mark->bytes_in > most ? mark->bytes_in : most;
        inputs += marks_have_input(mark, MARK_FEW_BYTES + 1);
        if (inputs < INNER_USUAL)
            continue;
        least = most < least ? most : least;
        most = inputs = 0;
    }
    return least == UINT64_MAX ? most : least;
}

static struct inner look_within(const struct period *period, unsigned length)
{
    unsigned known = marks_remembered(period);
    struct inner inner = {.periods = 1, .marks = length};
    struct mark work, last = {0};
    for (; inner.marks < PERIOD_EVIDENCE && inner.marks + 2 * length <= known; inner.periods++)
        inner.marks += length;
    inner.largest = find_largest(period, inner.marks);
    /* From a period before them on, so that the work before their first input is whole. */
    for (unsigned left = inner.marks + length; next_work(period, &inner, &left, &work);
         last = work) {
        if (left >= inner.marks)
            continue;
        inner.inputs++;
        if (!marks_alike(&work, &last))
            continue;
        inner.alike++;
        mark_add(&inner.same, &work);
    }
    return inner;
}

static uint64_t launched(const struct mark *mark)
{
    return (uint64_t)mark->launches + mark->graphs;
}

/* Whether inputs begin the same work: many have about the mean, and none has more without a result
 * that is the reason, as where a step ends with the last of several inputs, whose gradients it adds
 * up (test_parts_of_a_request). */
static bool is_same_work(const struct period *period, const struct inner *inner)
{
    uint64_t mean = launched(&inner->same) / inner->alike;
    unsigned left = inner->marks, usual = 0;
    struct mark work;
    next_work(period, inner, &left, &work);
    while (next_work(period, inner, &left, &work)) {
        usual += marks_near(launched(&work), mean, 2);
        if (!work.copies_out && !inner->same.copies_out &&
            launched(&work) > 2 + mean + mean / INNER_BESIDE)
            return false;
    }
    return INNER_ALIKE * (usual + 1) >= inner->inputs;
}

bool varying_find_inner(struct period *period, unsigned length)
{
    const struct inner inner = look_within(period, length);
    const struct mark sum = marks_sum(period, inner.marks, 0);
    if (inner.largest <= MARK_FEW_BYTES || inner.inputs <= inner.periods ||
        INNER_ALIKE * inner.alike < inner.inputs || !is_same_work(period, &inner))
        return false;
    /* As if all inputs had the mean of what most of them have. */
    uint64_t all = launched(&sum), same = inner.inputs * launched(&inner.same) / inner.alike;
    uint64_t out = inner.inputs * inner.same.bytes_out / inner.alike;
    if (INNER_BESIDE * (all > same ? all - same : same - all) > all ||
        sum.bytes_out > out + out / INNER_BESIDE + inner.periods * MARK_FEW_BYTES)
        return false;
    const struct mark mean = marks_mean(&sum, inner.inputs);
    vary(period, &mean, marks_mean_count(inner.marks, inner.inputs),
         (double)inner.alike / inner.inputs, &(struct ending){.least = inner.largest / 2 + 1});
    return true;
}

bool varying_has_requests(const struct period *period, unsigned length)
{
    unsigned marks = marks_remembered(period) - length, inputs = 0, alike = 0, since = 0;
    uint64_t first_ns = 0, last_ns = 0;
    /* The first mark may have all that a program loads. */
    for (unsigned i = 1; i <= marks && i < period->count; i++) {
        const struct mark *mark = period_mark(period, period->count - i);
        if (!marks_have_input(mark, MARK_FEW_BYTES + 1))
            continue;
        inputs++;
        since = i;
        alike +=
            marks_have_input(period_mark(period, period->count - i - length), MARK_FEW_BYTES + 1);
        first_ns = mark->at_ns;
        last_ns = last_ns ? last_ns : mark->at_ns;
    }
    uint64_t since_ns = period_mark(period, period->count - 1)->at_ns - last_ns;
    bool come = inputs > 1 && since_ns * (inputs - 1) <= STILL_COME * (last_ns - first_ns);
    return come && (alike < PERIOD_STILL_ALIKE * inputs ||
                    (length == 1 && inputs < PERIOD_STILL_ALIKE * since));
}

enum period_state varying_go_on(struct period *period, const struct mark *mark)
{
    if (period->kind == PERIOD_INPUTS && ends_one(mark, &period->ending)) {
        period->smaller = 0;
        return PERIOD_BOUNDARY;
    }
    bool ends = period->kind == PERIOD_EACH &&
                (!period->ending.kernel || mark->kernel == period->ending.kernel);
    period->smaller += marks_have_input(mark, MARK_FEW_BYTES + 1);
    period->unlike = ends ? 0 : period->unlike + 1;
    if (period->smaller <= VARYING_OTHERS &&
        (period->kind == PERIOD_INPUTS || period->unlike <= VARYING_OTHERS))
        return ends ? PERIOD_BOUNDARY : PERIOD_WITHIN;
    period_begin(period, period->known_calls);
    return PERIOD_LOST;
}
