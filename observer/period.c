#include "observer/internal.h"

/* A period without new input, as of a library that tries out its kernels, or without a launch, as
 * of a program that copies before its first one, must last for this long
 * (test_without_input_it_must_last, test_without_a_launch_it_must_last). */
#define LASTING_WITHOUT_INPUT_NS (4 * NS_PER_S)
/* The last iteration that is like the one before is looked for among this many; and one that is
 * like the first of a candidate: there may be some of another kind now and then
 * (test_a_few_others_now_and_then). */
#define USUAL_AMONG 8
#define FIRST_AMONG 16
/* This share of the marks must be like those a period before. */
#define ALIKE 0.95
/* The durations of the last iterations are at most this share apart once a program is warm. */
#define STEADY 0.3
/* A program that never gets that steady counts after this many iterations. */
#define PATIENCE 16
/* After this many marks it is judged whether the period is still there (test_a_period_is_lost). */
#define LOOK 16

static bool is_steady(const struct period *period, unsigned length)
{
    uint64_t least = UINT64_MAX, most = 0;
    if (period->count > (uint64_t)PATIENCE * length)
        return true;
    for (unsigned i = 0; i + 1 < PERIOD_REPEATS; i++) {
        uint64_t duration = marks_duration_ns(period, length, i);
        least = duration < least ? duration : least;
        most = duration > most ? duration : most;
    }
    return (double)(most - least) <= STEADY * (double)most;
}

double period_alike(const struct period *period)
{
    unsigned known = marks_remembered(period);
    if (period->kind != PERIOD_EACH)
        return period->match;
    return known < 2 ? 1 : 1 - (double)marks_changes(period, known - 1) / (known - 1);
}

bool period_is_mean(const struct period *period)
{
    return period->kind == PERIOD_EACH ? period_alike(period) < PERIOD_STILL_ALIKE
                                       : period->kind != PERIOD_SAME;
}

struct mark period_iteration(const struct period *period)
{
    unsigned known = marks_remembered(period);
    struct mark last = marks_sum(period, period->length, 0), later = last;
    if (period_is_mean(period))
        return period->kind == PERIOD_INPUTS ? period->mean
                                             : marks_mean_remembered(period, period->length);
    for (unsigned i = 1; i < USUAL_AMONG && (i + 1) * period->length < known; i++) {
        struct mark earlier = marks_sum(period, period->length, i);
        if (marks_alike(&earlier, &later))
            return later;
        later = earlier;
    }
    return last;
}

uint64_t period_duration_ns(const struct period *period)
{
    unsigned marks = marks_remembered(period);
    if (period->kind == PERIOD_INPUTS || marks < 2)
        return period->mean.at_ns;
    uint64_t span_ns = period_mark(period, period->count - 1)->at_ns -
                       period_mark(period, period->count - marks)->at_ns;
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
            period_mark(period, i == 0 ? number + 1 - period->length : number + 1);
        if (after->bytes_in <= most)
            continue;
        most = after->bytes_in;
        best = number;
    }
    /* The first one from now on. */
    return best == period->count - 1 ? best : best + period->length;
}

/* Whether an iteration is that of the candidate. One of several marks may have inputs of any
 * length; of one mark they were alike, and other ones are another step of a warm-up
 * (test_a_warm_up_of_sizes). Where nothing is launched they are all that there is. */
static bool is_first(const struct period *period, unsigned back)
{
    const struct mark *first = &period->first;
    struct mark iteration = marks_sum(period, period->candidate, back);
    if (mark_has_launch(first) && period->candidate > 1) {
        iteration.bytes_in = first->bytes_in;
        iteration.bytes_out = first->bytes_out;
    }
    return marks_alike(&iteration, first);
}

static bool is_still_first(const struct period *period)
{
    unsigned known = marks_remembered(period);
    for (unsigned i = 0; i < FIRST_AMONG && (i + 1) * period->candidate < known; i++)
        if (is_first(period, i))
            return true;
    return false;
}

/* Whether what seemed to be the period still is, and not that of something else by now. */
static bool candidate_lasts(const struct period *period)
{
    unsigned length = period->candidate, marks = length ? marks_evidence(period, length) : 0;
    return marks && marks_match(period, length, marks) >= PERIOD_STILL_ALIKE &&
           is_still_first(period);
}

/* Whether one of the last marks, but for some, has a larger input. */
static bool has_request(const struct period *period, unsigned marks, unsigned but)
{
    for (unsigned i = but + 1; i <= but + marks; i++)
        if (marks_have_input(period_mark(period, period->count - i), MARK_FEW_BYTES + 1))
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
 * size. None may differ: without sizes, marks of texts of any length show some period by chance. */
static bool find_stages(struct period *period, uint64_t for_ns)
{
    unsigned marks;
    if (for_ns < PERIOD_LASTING_NS || (for_ns < PERIOD_VARYING_NS && !period->known_calls))
        return false;
    period->kind = PERIOD_STAGES;
    unsigned length = marks_find_period(period, 1, 1, &marks);
    const struct mark request = marks_sum(period, length, 0);
    if (length > 1 && has_request(period, length, 0) && has_request(period, length, length) &&
        (for_ns >= PERIOD_VARYING_NS || marks_are_known(period, &request, length))) {
        begin_iterations(period, length);
        return true;
    }
    period->kind = PERIOD_SAME;
    return false;
}

/* The period, or a longer one that no mark is unlike, where only that has a larger input each time:
 * what seemed to be the period is a step of a request, then. */
static unsigned find_request(struct period *period, unsigned length)
{
    unsigned marks = 0, request = length;
    double match = period->match;
    if (has_request(period, length, 0) && has_request(period, length, length))
        return length;
    while ((request = marks_find_period(period, request + 1, 1, &marks)) > 0)
        if (has_request(period, request, 0))
            return request;
    period->match = match;
    return length;
}

static bool takes_input(const struct period *period, unsigned back)
{
    return marks_sum(period, period->candidate, back).copies_in > 0;
}

/* For how long what seems to be the period must have lasted. */
static uint64_t lasting(const struct period *period)
{
    bool serves =
        mark_has_launch(&period->first) && takes_input(period, 0) && takes_input(period, 1);
    bool sure = serves || marks_are_known(period, &period->first, period->candidate);
    return sure ? PERIOD_LASTING_NS : LASTING_WITHOUT_INPUT_NS;
}

static bool find(struct period *period)
{
    uint64_t now_ns = period_mark(period, period->count - 1)->at_ns;
    if (candidate_lasts(period)) {
        uint64_t gap_ns = now_ns - period_mark(period, period->count - 2)->at_ns;
        period->lasted_ns += gap_ns < period->lasted_ns ? gap_ns : period->lasted_ns;
    } else {
        unsigned marks = 0, length = marks_find_period(period, 1, ALIKE, &marks);
        period->candidate = length;
        period->first = marks_sum(period, length, 0);
        period->lasted_ns = length ? marks_span_ns(period, marks + length) : 0;
    }
    unsigned length = period->candidate;
    uint64_t for_ns = now_ns - period->begun_ns;
    /* Of what seems to be a period for a while, again and again, none may last. */
    if ((!length || for_ns > PERIOD_VARYING_LATE_NS) &&
        (find_stages(period, for_ns) || varying_find(period, for_ns)))
        return true;
    if (!length && varying_find_without_input(period, now_ns))
        return true;
    if (!length || period->lasted_ns < lasting(period) || !is_steady(period, length))
        return false;
    /* The first marks of a program, some of them odd, may have hidden a shorter one. */
    unsigned marks = 0, shortest = marks_find_period(period, 1, ALIKE, &marks);
    if (shortest && shortest < length)
        length = shortest;
    length = find_request(period, length);
    if (varying_differ_in_sizes(period, length))
        return varying_find_larger(period, for_ns);
    if (varying_find_inner(period, length))
        return true;
    begin_iterations(period, length);
    return true;
}

/* Whether each input of the last marks begins as much work as one did first: a thread that waits
 * for what another one launches sees one or two of them in a wait, as it happens to wake up. */
static bool is_same_work(const struct period *period)
{
    const struct mark *first = &period->first, sum = marks_sum(period, period->looked_at, 0);
    return first->copies_in && sum.copies_in && mark_has_launch(first) &&
           marks_near((uint64_t)sum.launches * first->copies_in,
                      (uint64_t)first->launches * sum.copies_in, 0) &&
           marks_near((uint64_t)sum.graphs * first->copies_in,
                      (uint64_t)first->graphs * sum.copies_in, 0) &&
           marks_near(sum.bytes_in * first->copies_in, first->bytes_in * sum.copies_in, 0);
}

/* Of as many marks each time: whether the last one ends an iteration. */
static enum period_state at_mark(struct period *period)
{
    if (period->boundary != period->count - 1)
        return PERIOD_WITHIN;
    period->boundary += period->length;
    return PERIOD_BOUNDARY;
}

static enum period_state go_on(struct period *period)
{
    uint64_t number = period->count - 1;
    if (period->kind >= PERIOD_INPUTS)
        return varying_go_on(period, period_mark(period, number));
    period->unlike += !marks_like(period, number, number - period->length);
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
    return at_mark(period);
}

void period_begin(struct period *period, unsigned known_calls)
{
    *period = (struct period){.known_calls = known_calls};
}

enum period_state period_add(struct period *period, const struct mark *mark, bool every)
{
    period->marks[period->count % PERIOD_MARKS] = *mark;
    if (period->count++ == 0)
        period->begun_ns = mark->at_ns;
    if (every) {
        period->length = 1;
        period->kind = PERIOD_EACH;
        return period->count < PERIOD_REPEATS ? PERIOD_UNKNOWN : PERIOD_BOUNDARY;
    }
    if (period->length)
        return go_on(period);
    varying_add(period, mark);
    if (!find(period))
        return PERIOD_UNKNOWN;
    return period->kind >= PERIOD_INPUTS ? go_on(period) : at_mark(period);
}
