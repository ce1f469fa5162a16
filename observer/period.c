#include "observer/period.h"

#include "common/clock.h"

/* No measurement gives these constants: they were chosen by hand. Where a test covers one, its
 * comment names it, of test_period.c or test_requests.c in tests/unit/observer. */

/* A period must show in this many iterations (test_every_mark). */
#define REPEATS 3
/* The longest, in marks. */
#define LONGEST (PERIOD_MARKS / (REPEATS + 1))
/* A period must show in this many marks, so that a step of an iteration is not taken for one
 * (test_one_odd_wait_among_many, test_slow_growth_is_no_change). */
#define MARKS 64
/* A slow program's period may show in fewer marks, but in these at least and for this long
 * (test_known_and_slow). */
#define FEWEST_MARKS 4
#define SLOW_NS (2 * NS_PER_S)
/* A period must last for this long: a library that tries out its kernels repeats itself as well
 * (test_a_short_repetition_is_no_iteration). */
#define LASTING_NS NS_PER_S
/* A period without new input, as of that library, or without a launch, as of a program that copies
 * before its first one, must last for this long (test_without_input_it_must_last,
 * test_without_a_launch_it_must_last). */
#define LASTING_WITHOUT_INPUT_NS (4 * NS_PER_S)
/* Iterations vary where no period has come about for this long (test_each_request_is_another). */
#define VARYING_NS (4 * NS_PER_S)
/* Larger inputs that come seldom have this long to begin iterations (test_slow_pictures). */
#define VARYING_LONGEST_NS (32 * NS_PER_S)
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
/* The last iteration that is like the one before is looked for among this many; and one that is
 * like the first of a candidate: there may be some of another kind now and then
 * (test_a_few_others_now_and_then). */
#define USUAL_AMONG 8
#define FIRST_AMONG 16
/* This share of the marks must be like those a period before. */
#define ALIKE 0.95
/* This share must remain so (test_one_odd_wait_among_many, test_texts_of_any_length). */
#define STILL_ALIKE 0.9
/* The durations of the last iterations are at most this share apart once a program is warm. */
#define STEADY 0.3
/* A program that never gets that steady counts after this many iterations. */
#define PATIENCE 16
/* After this many marks it is judged whether the period is still there (test_a_period_is_lost). */
#define LOOK 16

static const struct mark *mark_at(const struct period *period, uint64_t number)
{
    return &period->marks[number % PERIOD_MARKS];
}

static bool near(uint64_t a, uint64_t b, uint64_t slack)
{
    uint64_t more = a > b ? a : b, less = a > b ? b : a;
    return more - less <= slack + more / 4;
}

/* Shapes grow a little from one iteration to the next, and with them what is launched. */
static bool are_alike(const struct mark *a, const struct mark *b)
{
    return a->what == b->what && near(a->launches, b->launches, 2) &&
           near(a->graphs, b->graphs, 0) && near(a->copies_in, b->copies_in, 1) &&
           near(a->copies_out, b->copies_out, 1) && near(a->bytes_in, b->bytes_in, 64) &&
           near(a->bytes_out, b->bytes_out, 64);
}

/* Of two marks of the period, by their numbers. */
static bool is_like(const struct period *period, uint64_t number, uint64_t before)
{
    struct mark mark = *mark_at(period, number);
    const struct mark *other = mark_at(period, before);
    if (period->any_size) {
        mark.bytes_in = other->bytes_in;
        mark.bytes_out = other->bytes_out;
    }
    return are_alike(&mark, other);
}

/* The share of the last marks that are like those `length` before; 0: less than STILL_ALIKE. */
static double match_of(const struct period *period, unsigned length, unsigned marks)
{
    unsigned unlike = 0;
    for (unsigned i = 1; i <= marks; i++) {
        unlike += !is_like(period, period->count - i, period->count - i - length);
        if (unlike > (1 - STILL_ALIKE) * marks)
            return 0;
    }
    return 1 - (double)unlike / marks;
}

static uint64_t duration_of(const struct period *period, unsigned length, unsigned back)
{
    uint64_t end = period->count - 1 - (uint64_t)back * length;
    return mark_at(period, end)->at_ns - mark_at(period, end - length)->at_ns;
}

static bool is_steady(const struct period *period, unsigned length)
{
    uint64_t least = UINT64_MAX, most = 0;
    if (period->count > (uint64_t)PATIENCE * length)
        return true;
    for (unsigned i = 0; i + 1 < REPEATS; i++) {
        uint64_t duration = duration_of(period, length, i);
        least = duration < least ? duration : least;
        most = duration > most ? duration : most;
    }
    return (double)(most - least) <= STEADY * (double)most;
}

void mark_add(struct mark *sum, const struct mark *mark)
{
    sum->bytes_in += mark->bytes_in;
    sum->bytes_out += mark->bytes_out;
    sum->launches += mark->launches;
    sum->graphs += mark->graphs;
    sum->copies_in += mark->copies_in;
    sum->copies_out += mark->copies_out;
}

/* The sum of the marks of an iteration, the last one or some before; at_ns: how long it took. */
static struct mark iteration_of(const struct period *period, unsigned length, unsigned back)
{
    struct mark sum = {0};
    uint64_t end = period->count - (uint64_t)back * length;
    if (length && end > length)
        sum.at_ns = duration_of(period, length, back);
    for (unsigned i = 1; i <= length && i <= end; i++)
        mark_add(&sum, mark_at(period, end - i));
    return sum;
}

static uint32_t mean_of(uint32_t sum, unsigned count)
{
    return (sum + count / 2) / count;
}

/* The mean, of the sum of N iterations. */
static struct mark mean_iteration(const struct mark *sum, unsigned count)
{
    return (struct mark){
        .at_ns = sum->at_ns / count,
        .bytes_in = sum->bytes_in / count,
        .bytes_out = sum->bytes_out / count,
        .launches = mean_of(sum->launches, count),
        .graphs = mean_of(sum->graphs, count),
        .copies_in = mean_of(sum->copies_in, count),
        .copies_out = mean_of(sum->copies_out, count),
    };
}

/* Of all whole ones that are remembered, and the mark before them: at least one. */
static struct mark mean_remembered(const struct period *period, unsigned length)
{
    unsigned known = period->count < PERIOD_MARKS ? (unsigned)period->count : PERIOD_MARKS;
    unsigned times = (known - 1) / length;
    const struct mark sum = iteration_of(period, times * length, 0);
    return mean_iteration(&sum, times);
}

struct mark period_iteration(const struct period *period)
{
    uint64_t known = period->count < PERIOD_MARKS ? period->count : PERIOD_MARKS;
    struct mark last = iteration_of(period, period->length, 0), later = last;
    if (period->any_size || (period->varies && period->least_input == PERIOD_NO_INPUT))
        return mean_remembered(period, period->length);
    if (period->varies)
        return period->mean;
    for (unsigned i = 1; i < USUAL_AMONG && (uint64_t)(i + 1) * period->length < known; i++) {
        struct mark earlier = iteration_of(period, period->length, i);
        if (are_alike(&earlier, &later))
            return later;
        later = earlier;
    }
    return last;
}

uint64_t period_duration_ns(const struct period *period)
{
    uint64_t marks = period->count < PERIOD_MARKS ? period->count : PERIOD_MARKS;
    if ((period->varies && period->least_input != PERIOD_NO_INPUT) || marks < 2)
        return period->mean.at_ns;
    uint64_t span_ns =
        mark_at(period, period->count - 1)->at_ns - mark_at(period, period->count - marks)->at_ns;
    return span_ns / (marks - 1) * period->length;
}

/* Input is copied in when an iteration begins, so that the mark before it ended one; of several
 * such marks the last. */
static uint64_t find_boundary(const struct period *period)
{
    uint64_t best = period->count - 1, most = 0;
    for (unsigned i = 0; i < period->length; i++) {
        uint64_t number = period->count - 1 - i;
        const struct mark *after =
            mark_at(period, i == 0 ? number + 1 - period->length : number + 1);
        if (after->bytes_in <= most)
            continue;
        most = after->bytes_in;
        best = number;
    }
    /* The first one from now on. */
    return best == period->count - 1 ? best : best + period->length;
}

/* How long the last marks took. A pause counts for no more than all else: a compiler's between
 * bursts of kernels that it tries out shows nothing. */
static uint64_t span_of(const struct period *period, unsigned marks)
{
    uint64_t all =
        mark_at(period, period->count - 1)->at_ns - mark_at(period, period->count - marks)->at_ns;
    uint64_t longest = 0;
    for (unsigned i = 1; i < marks; i++) {
        uint64_t number = period->count - i;
        uint64_t gap = mark_at(period, number)->at_ns - mark_at(period, number - 1)->at_ns;
        longest = gap > longest ? gap : longest;
    }
    return longest > all / 2 ? 2 * (all - longest) : all;
}

/* How many marks to compare: 0: there are too few. */
static unsigned evidence_for(const struct period *period, unsigned length)
{
    unsigned known = period->count < PERIOD_MARKS ? (unsigned)period->count : PERIOD_MARKS;
    unsigned marks = known - length < MARKS ? known - length : MARKS;
    if (length >= known || marks + length < FEWEST_MARKS)
        return 0;
    if (marks < (REPEATS - 1) * length)
        marks = (REPEATS - 1) * length;
    if (marks + length > known)
        return 0;
    return marks + length >= MARKS || span_of(period, marks + length) >= SLOW_NS ? marks : 0;
}

/* The shortest one from a length on that shows in that share of the marks; 0: none does. */
static unsigned find_candidate(struct period *period, unsigned length, double alike,
                               unsigned *marks)
{
    for (; length <= LONGEST; length++) {
        *marks = evidence_for(period, length);
        double match = *marks ? match_of(period, length, *marks) : 0;
        if (match < alike)
            continue;
        period->match = match;
        return length;
    }
    return 0;
}

/* Whether an iteration is that of the candidate. One of several marks may have inputs of any
 * length; of one mark they were alike, and other ones are another step of a warm-up
 * (test_a_warm_up_of_sizes). Where nothing is launched they are all that there is. */
static bool is_first(const struct period *period, unsigned back)
{
    const struct mark *first = &period->first;
    struct mark iteration = iteration_of(period, period->candidate, back);
    if (mark_has_launch(first) && period->candidate > 1) {
        iteration.bytes_in = first->bytes_in;
        iteration.bytes_out = first->bytes_out;
    }
    return are_alike(&iteration, first);
}

static bool is_still_first(const struct period *period)
{
    uint64_t known = period->count < PERIOD_MARKS ? period->count : PERIOD_MARKS;
    for (unsigned i = 0; i < FIRST_AMONG && (uint64_t)(i + 1) * period->candidate < known; i++)
        if (is_first(period, i))
            return true;
    return false;
}

/* Whether what seemed to be the period still is, and not that of something else by now. */
static bool candidate_lasts(const struct period *period)
{
    unsigned length = period->candidate, marks = length ? evidence_for(period, length) : 0;
    return marks && match_of(period, length, marks) >= STILL_ALIKE && is_still_first(period);
}

/* -- iterations that vary ------------------------------------------------------------------------
 */

static bool has_input(const struct mark *mark, uint64_t least)
{
    return mark->copies_in && mark->bytes_in >= least;
}

static void add_varying(struct varying *varying, const struct mark *mark)
{
    struct mark *iteration = &varying->iteration;
    mark_add(iteration, mark);
    varying->marks += varying->ends > 0;
    if (!has_input(mark, varying->least)) {
        bool other = has_input(mark, MARK_FEW_BYTES + 1);
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
        varying->alike += are_alike(iteration, &varying->last);
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

/* Whether an earlier process had iterations of as many calls. */
static bool is_known(const struct period *period, const struct mark *iteration, unsigned marks)
{
    return period->known_calls && near(mark_calls(iteration) + marks, period->known_calls, 1);
}

/* Which inputs end an iteration; NULL: more of the larger ones may come. */
static const struct varying *choose_inputs(const struct period *period, uint64_t for_ns)
{
    const struct varying *any = &period->varying[0], *large = &period->varying[1];
    const struct varying *largest = &period->varying[2];
    bool waits = for_ns < VARYING_LONGEST_NS;
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
    period->varies = true;
    period->length = marks ? marks : 1;
}

static bool find_varying(struct period *period, const struct varying *varying, uint64_t for_ns)
{
    if (!varying)
        return false;
    bool ends = varying->last_ns == mark_at(period, period->count - 1)->at_ns;
    if (!ends || for_ns < LASTING_NS || varying->ends <= VARYING_FEWEST)
        return false;
    unsigned count = varying->ends - 1, marks = mean_of(varying->marks, count);
    struct mark sum = varying->sum;
    sum.at_ns = varying->last_ns - varying->first_ns;
    const struct mark mean = mean_iteration(&sum, count);
    bool unlike = 2 * varying->alike < count;
    if (for_ns < VARYING_NS && !(unlike && is_known(period, &mean, marks)))
        return false;
    vary(period, &mean, marks, (double)varying->alike / count, varying->least);
    return true;
}

/* Whether one of the last marks, but for some, has a larger input. */
static bool has_request(const struct period *period, unsigned marks, unsigned but)
{
    for (unsigned i = but + 1; i <= but + marks; i++)
        if (has_input(mark_at(period, period->count - i), MARK_FEW_BYTES + 1))
            return true;
    return false;
}

static void begin_iterations(struct period *period, unsigned length)
{
    period->length = length;
    period->boundary = find_boundary(period);
    period->unlike = period->looked_at = 0;
}

/* Whether requests have several waits, as many each time and with as much work, for inputs of any
 * size. */
static bool find_stages(struct period *period, uint64_t for_ns)
{
    unsigned marks;
    if (for_ns < LASTING_NS || (for_ns < VARYING_NS && !period->known_calls))
        return false;
    period->any_size = true;
    unsigned length = find_candidate(period, 1, ALIKE, &marks);
    const struct mark request = iteration_of(period, length, 0);
    if (length > 1 && has_request(period, length, 0) && has_request(period, length, length) &&
        (for_ns >= VARYING_NS || is_known(period, &request, length))) {
        begin_iterations(period, length);
        return true;
    }
    period->any_size = false;
    return false;
}

/* Whether each mark is an iteration: there are no inputs that could end them. */
static bool find_without_input(struct period *period, uint64_t now_ns)
{
    const struct varying *any = &period->varying[0];
    uint64_t since_ns = any->ends ? any->last_ns : period->begun_ns;
    unsigned known = period->count < PERIOD_MARKS ? (unsigned)period->count : PERIOD_MARKS;
    unsigned alike = 0;
    for (unsigned i = 1; i < known; i++)
        alike +=
            are_alike(mark_at(period, period->count - i), mark_at(period, period->count - i - 1));
    if (known <= VARYING_FEWEST || WITHOUT_INPUT_ALIKE * alike < known)
        return false;
    const struct mark mean = mean_remembered(period, 1);
    uint64_t least_ns = is_known(period, &mean, 1) ? LASTING_NS : WITHOUT_INPUT_NS;
    if (iteration_of(period, known - 1, 0).copies_in || now_ns - since_ns < least_ns)
        return false;
    vary(period, &mean, 1, (double)alike / (known - 1), PERIOD_NO_INPUT);
    return true;
}

/* What is between the largest inputs of the last periods, as many as show something. */
struct inner {
    unsigned periods, marks;
    uint64_t largest;       /* input, bytes; the others have more than half of them */
    unsigned inputs, alike; /* and those of them whose work is like that of the one before */
    struct mark usual;      /* such a work */
};

static struct inner look_within(const struct period *period, unsigned length)
{
    unsigned known = period->count < PERIOD_MARKS ? (unsigned)period->count : PERIOD_MARKS;
    struct inner inner = {.periods = 1, .marks = length};
    struct mark work = {0}, last = {0};
    for (; inner.marks < MARKS && inner.marks + 2 * length <= known; inner.periods++)
        inner.marks += length;
    for (unsigned i = 1; i <= inner.marks; i++) {
        uint64_t bytes = mark_at(period, period->count - i)->bytes_in;
        inner.largest = bytes > inner.largest ? bytes : inner.largest;
    }
    /* From a period before them on, so that the work before their first input is whole. */
    for (unsigned i = inner.marks + length; i >= 1; i--) {
        const struct mark *mark = mark_at(period, period->count - i);
        mark_add(&work, mark);
        if (!has_input(mark, inner.largest / 2 + 1))
            continue;
        if (i <= inner.marks && are_alike(&work, &last)) {
            inner.alike++;
            inner.usual = work;
        }
        inner.inputs += i <= inner.marks;
        last = work;
        work = (struct mark){0};
    }
    return inner;
}

/* Whether what seems to be the period is several iterations, each with an input as large as those
 * of the others and the same work, while some have a wait more, or a result: a training that
 * reports its loss now and then, for example. Then they vary, and each of these inputs ends one. */
static bool find_inner(struct period *period, unsigned length)
{
    const struct inner inner = look_within(period, length);
    const struct mark sum = iteration_of(period, inner.marks, 0);
    uint64_t all = sum.launches + sum.graphs;
    uint64_t same = (uint64_t)inner.inputs * (inner.usual.launches + inner.usual.graphs);
    if (inner.largest <= MARK_FEW_BYTES || inner.inputs <= inner.periods ||
        INNER_ALIKE * inner.alike < inner.inputs ||
        INNER_BESIDE * (all > same ? all - same : same - all) > all ||
        sum.bytes_out > inner.inputs * inner.usual.bytes_out + inner.periods * MARK_FEW_BYTES)
        return false;
    const struct mark mean = mean_iteration(&sum, inner.inputs);
    vary(period, &mean, mean_of(inner.marks, inner.inputs), (double)inner.alike / inner.inputs,
         inner.largest / 2 + 1);
    return true;
}

/* Whether each mark of what seems to be the period is the same work on an input of another size, as
 * of several cameras in turn: then each is an iteration. */
static bool differs_in_sizes(const struct period *period, unsigned length)
{
    const struct mark *last = mark_at(period, period->count - 1);
    for (unsigned i = 1; i <= length; i++) {
        const struct mark *mark = mark_at(period, period->count - i);
        if (!has_input(mark, MARK_FEW_BYTES + 1) || mark->launches < SAME_LAUNCHES ||
            mark->launches != last->launches || mark->graphs != last->graphs ||
            mark->copies_in != last->copies_in || mark->copies_out != last->copies_out)
            return false;
    }
    return length > 1;
}

/* The period, or a longer one that no mark is unlike, where only that has a larger input each time:
 * what seemed to be the period is a step of a request, then. */
static unsigned find_request(struct period *period, unsigned length)
{
    unsigned marks = 0, request = length;
    double match = period->match;
    if (has_request(period, length, 0) && has_request(period, length, length))
        return length;
    while ((request = find_candidate(period, request + 1, 1, &marks)) > 0)
        if (has_request(period, request, 0))
            return request;
    period->match = match;
    return length;
}

static bool takes_input(const struct period *period, unsigned back)
{
    return iteration_of(period, period->candidate, back).copies_in > 0;
}

/* For how long what seems to be the period must have lasted. */
static uint64_t lasting(const struct period *period)
{
    bool serves =
        mark_has_launch(&period->first) && takes_input(period, 0) && takes_input(period, 1);
    bool sure = serves || is_known(period, &period->first, period->candidate);
    return sure ? LASTING_NS : LASTING_WITHOUT_INPUT_NS;
}

static bool find(struct period *period)
{
    uint64_t now_ns = mark_at(period, period->count - 1)->at_ns;
    if (candidate_lasts(period)) {
        uint64_t gap_ns = now_ns - mark_at(period, period->count - 2)->at_ns;
        period->lasted_ns += gap_ns < period->lasted_ns ? gap_ns : period->lasted_ns;
    } else {
        unsigned marks = 0, length = find_candidate(period, 1, ALIKE, &marks);
        period->candidate = length;
        period->first = iteration_of(period, length, 0);
        period->lasted_ns = length ? span_of(period, marks + length) : 0;
    }
    unsigned length = period->candidate;
    uint64_t for_ns = now_ns - period->begun_ns;
    /* Of what seems to be a period for a while, again and again, none may last. */
    if ((!length || for_ns > VARYING_LONGEST_NS) &&
        (find_stages(period, for_ns) ||
         find_varying(period, choose_inputs(period, for_ns), for_ns)))
        return true;
    if (!length && find_without_input(period, now_ns))
        return true;
    if (!length || period->lasted_ns < lasting(period) || !is_steady(period, length))
        return false;
    /* The first marks of a program, some of them odd, may have hidden a shorter one. */
    unsigned marks = 0, shortest = find_candidate(period, 1, ALIKE, &marks);
    if (shortest && shortest < length)
        length = shortest;
    length = find_request(period, length);
    if (differs_in_sizes(period, length))
        return find_varying(period, &period->varying[1], for_ns);
    if (find_inner(period, length))
        return true;
    begin_iterations(period, length);
    return true;
}

static enum period_state go_on_varying(struct period *period, const struct mark *mark)
{
    if (has_input(mark, period->least_input)) {
        period->smaller = 0;
        return PERIOD_BOUNDARY;
    }
    period->smaller += has_input(mark, MARK_FEW_BYTES + 1);
    if (period->smaller <= VARYING_OTHERS)
        return period->least_input == PERIOD_NO_INPUT ? PERIOD_BOUNDARY : PERIOD_WITHIN;
    period_begin(period, period->known_calls);
    return PERIOD_LOST;
}

/* Whether each input of the last marks begins as much work as one did first: a thread that waits
 * for what another one launches sees one or two of them in a wait, as it happens to wake up. */
static bool is_same_work(const struct period *period)
{
    const struct mark *first = &period->first, sum = iteration_of(period, period->looked_at, 0);
    return first->copies_in && sum.copies_in && mark_has_launch(first) &&
           near((uint64_t)sum.launches * first->copies_in,
                (uint64_t)first->launches * sum.copies_in, 0) &&
           near((uint64_t)sum.graphs * first->copies_in, (uint64_t)first->graphs * sum.copies_in,
                0) &&
           near(sum.bytes_in * first->copies_in, first->bytes_in * sum.copies_in, 0);
}

static enum period_state go_on(struct period *period)
{
    uint64_t number = period->count - 1;
    if (period->varies)
        return go_on_varying(period, mark_at(period, number));
    period->unlike += !is_like(period, number, number - period->length);
    period->looked_at++;
    unsigned look = period->length > LOOK / 2 ? 2 * period->length : LOOK;
    if (period->looked_at >= look) {
        if (2 * period->unlike > period->looked_at && !is_same_work(period)) {
            period_begin(period, period->known_calls);
            return PERIOD_LOST;
        }
        period->match = 1 - (double)period->unlike / period->looked_at;
        period->looked_at = period->unlike = 0;
    }
    if (number != period->boundary)
        return PERIOD_WITHIN;
    period->boundary += period->length;
    return PERIOD_BOUNDARY;
}

void period_begin(struct period *period, unsigned known_calls)
{
    *period = (struct period){.known_calls = known_calls};
}

static enum period_state add_every(struct period *period)
{
    const uint64_t last = period->count - 1;
    period->looked_at += last > 0;
    period->unlike += last > 0 && !are_alike(mark_at(period, last), mark_at(period, last - 1));
    period->length = 1;
    period->match = period->looked_at ? 1 - (double)period->unlike / period->looked_at : 1;
    period->varies = period->match < STILL_ALIKE;
    period->least_input = PERIOD_NO_INPUT;
    return period->count < REPEATS ? PERIOD_UNKNOWN : PERIOD_BOUNDARY;
}

enum period_state period_add(struct period *period, const struct mark *mark, bool every)
{
    period->marks[period->count % PERIOD_MARKS] = *mark;
    if (period->count++ == 0)
        period->begun_ns = mark->at_ns;
    if (every)
        return add_every(period);
    if (period->length)
        return go_on(period);
    period->varying[1].least = MARK_FEW_BYTES + 1;
    add_varying(&period->varying[0], mark);
    add_varying(&period->varying[1], mark);
    add_largest(&period->varying[2], mark);
    if (!find(period))
        return PERIOD_UNKNOWN;
    if (period->varies)
        return go_on(period);
    if (period->boundary != period->count - 1)
        return PERIOD_WITHIN;
    period->boundary += period->length;
    return PERIOD_BOUNDARY;
}
