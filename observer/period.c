#include "observer/internal.h"

/* A period without new input of more than a few numbers, as of a library that tries out its
 * kernels, or without a launch, as of a program that copies before its first one, must last for
 * this long (test_without_input_it_must_last, test_without_a_launch_it_must_last). */
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
/* Marks with as many launches as each other, and at least this many, are the same work
 * (test_inputs_of_several_sizes_in_turn). */
#define SAME_LAUNCHES 4
/* A program that never gets that steady counts after this many iterations. */
#define PATIENCE 16
/* A period is not looked for again before this time is over: that takes long where most marks are
 * alike. */
#define SEEK_EACH_NS NS_PER_MS
/* Iterations with this many times the calls of those of an earlier process, or so much fewer, are
 * other ones: a word of a text, or several texts. Those that are known get as long as this many of
 * them take to show (test_words_where_texts_are_known). */
#define STRANGE 4
#define STRANGE_PATIENCE 16
#define STRANGE_SEEK_NS (100 * NS_PER_MS)
/* After this many marks it is judged whether the period is still there (test_a_period_is_lost,
 * test_an_evaluation_is_no_loss). */
#define LOOK PERIOD_EVIDENCE

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
            return later.copies_out > earlier.copies_out ? earlier : later;
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
    return marks && marks_match(period, length, marks, PERIOD_STILL_ALIKE) > 0 &&
           is_still_first(period);
}

static bool has_input(const struct mark *mark)
{
    return marks_have_input(mark, MARK_FEW_BYTES + 1);
}

static bool has_answer(const struct mark *mark)
{
    return mark->bytes_out > MARK_FEW_BYTES;
}

/* Whether more than one input in as many marks as show something begins other work than most, or
 * larger ones now and then have most of the bytes, as prompts among words have. */
static bool has_kinds(const struct period *period)
{
    bool few = period->kind == PERIOD_INPUTS && period->ending.least <= MARK_FEW_BYTES;
    uint64_t least = few ? period->ending.least : MARK_FEW_BYTES + 1;
    const struct mark *later = NULL;
    unsigned inputs = 0, changes = 0, larger = 0;
    uint64_t larger_bytes = 0, bytes = 0;
    for (unsigned i = 1; i <= marks_remembered(period); i++) {
        const struct mark *mark = period_mark(period, period->count - i);
        if (!marks_have_input(mark, least))
            continue;
        inputs++;
        bytes += mark->bytes_in;
        if (later && later->bytes_in > 2 * mark->bytes_in) {
            larger++;
            larger_bytes += later->bytes_in;
        }
        changes += later && (mark->kernel != later->kernel || mark->graphs != later->graphs ||
                             !marks_near(mark->launches, later->launches, 2));
        later = mark;
    }
    return PERIOD_EVIDENCE * changes > 2 * inputs ||
           (period->kind == PERIOD_SAME && larger > 1 && 2 * larger_bytes > bytes);
}

enum tick_doubt period_doubt(const struct period *period)
{
    unsigned marks = marks_remembered(period) - 1;
    bool repeats = period->kind <= PERIOD_STAGES && period->length > 1;
    if (period->kind == PERIOD_EACH)
        return period_alike(period) < ALIKE ? TICK_WAITS : TICK_SURE;
    if (period->length > 1 && 2 * marks_changes(period, marks) < marks)
        return TICK_STEPS;
    return !repeats && has_kinds(period) ? TICK_KINDS : TICK_SURE;
}

bool period_answers(const struct period *period)
{
    unsigned known = marks_remembered(period), answers = 0;
    for (unsigned i = 1; i <= known; i++)
        answers += has_answer(period_mark(period, period->count - i));
    return 2 * answers * period->length >= known;
}

static bool has_same_launches(const struct mark *a, const struct mark *b)
{
    return a->launches == b->launches && a->graphs == b->graphs;
}

/* Whether one of the last marks, but for some, has that. */
static bool has_one(const struct period *period, unsigned marks, unsigned but,
                    bool (*has)(const struct mark *mark))
{
    for (unsigned i = but + 1; i <= but + marks; i++)
        if (has(period_mark(period, period->count - i)))
            return true;
    return false;
}

/* Whether one in each of the last two periods has. */
static bool each_has(const struct period *period, unsigned length,
                     bool (*has)(const struct mark *mark))
{
    return has_one(period, length, 0, has) && has_one(period, length, length, has);
}

static void begin_iterations(struct period *period, unsigned length)
{
    double match = marks_match(period, length, marks_evidence(period, length), PERIOD_STILL_ALIKE);
    period->match = match > 0 ? match : PERIOD_STILL_ALIKE;
    period->length = length;
    period->boundary = find_boundary(period);
    period->unlike = period->looked_at = 0;
}

/* After how many marks those of requests repeat whose inputs have any size; 0: they do not. None
 * may differ: without sizes, marks of texts of any length show some period by chance. */
static unsigned find_stages(struct period *period)
{
    unsigned marks;
    period->kind = PERIOD_STAGES;
    unsigned length = marks_find_period(period, 1, 1, &marks);
    if (length && each_has(period, length, has_input) &&
        marks_find_period(period, 1, PERIOD_STILL_ALIKE, &marks) == length)
        return length;
    period->kind = PERIOD_SAME;
    return 0;
}

/* Whether requests have several waits, as many each time and with as much work, for inputs of any
 * size. */
static bool has_stages(struct period *period, uint64_t for_ns)
{
    if (for_ns < PERIOD_LASTING_NS || (for_ns < PERIOD_VARYING_NS && !period->known_calls))
        return false;
    unsigned length = find_stages(period);
    const struct mark request = marks_sum(period, length, 0);
    if (length > 1 && (for_ns >= PERIOD_VARYING_NS || marks_are_known(period, &request, length))) {
        begin_iterations(period, length);
        return true;
    }
    period->kind = PERIOD_SAME;
    return false;
}

static bool is_exact(const struct period *period, unsigned length, unsigned marks)
{
    for (unsigned i = 1; i <= marks; i++)
        if (!has_same_launches(period_mark(period, period->count - i),
                               period_mark(period, period->count - i - length)))
            return false;
    return true;
}

/* Whether one of the last marks has a little more work than the one a period before it, and no
 * result that is the reason. */
static bool has_more_work(const struct period *period, unsigned length, unsigned marks)
{
    for (uint64_t number = period->count - marks; number < period->count; number++) {
        const struct mark *mark = period_mark(period, number);
        const struct mark *before = period_mark(period, number - length);
        if (mark->launches + mark->graphs > before->launches + before->graphs &&
            mark->copies_out <= before->copies_out && mark->bytes_out <= before->bytes_out &&
            marks_like(period, number, number - length))
            return true;
    }
    return false;
}

/* A multiple of the period that alone shows exactly, with a mark that has hardly more than the
 * others: the step that adds up their gradients (test_parts_of_a_request). 0: there is none. */
static unsigned find_sum(const struct period *period, unsigned length)
{
    unsigned marks = marks_evidence(period, length);
    if (is_exact(period, length, marks))
        return 0;
    for (unsigned sum = 2 * length; (marks = marks_evidence(period, sum)) > 0; sum += length)
        if (is_exact(period, sum, marks))
            return has_more_work(period, length, marks) ? sum : 0;
    return 0;
}

/* The period, or a longer one that no mark is unlike, where only that has a larger input each time,
 * or a larger result: what seemed to be the period is a step of a request, then. */
static unsigned find_request(const struct period *period, unsigned length)
{
    unsigned marks = 0, request = length;
    if (each_has(period, length, has_input) || each_has(period, length, has_answer))
        return length;
    while ((request = marks_find_period(period, request + 1, 1, &marks)) > 0)
        if (has_one(period, request, 0, has_input) || has_one(period, request, 0, has_answer))
            return request;
    return length;
}

/* A few numbers, of which no request is the reason. */
static bool is_report(const struct mark *mark)
{
    return !has_input(mark) && !has_answer(mark);
}

/* Whether each part has an input, and marks have the same work as those `part` before, but for a
 * report now and then. */
static bool is_same_but_sizes(const struct period *period, unsigned part)
{
    unsigned marks = marks_evidence(period, part), same = 0, inputs = 0;
    for (unsigned i = 1; i <= marks; i++) {
        const struct mark *mark = period_mark(period, period->count - i);
        const struct mark *before = period_mark(period, period->count - i - part);
        inputs += has_input(mark);
        if (has_same_launches(mark, before) && mark->copies_in == before->copies_in &&
            mark->copies_out == before->copies_out)
            same++;
        else if (!is_report(mark) && !is_report(before))
            return false;
    }
    return same >= ALIKE * marks && inputs * part >= PERIOD_STILL_ALIKE * marks &&
           marks_sum(period, part, 0).launches >= SAME_LAUNCHES;
}

/* The period, or a part of it: as inputs of any size are alike by chance, or those of several
 * cameras come in turn, a multiple of it may show better (test_prompts_of_any_length,
 * test_inputs_of_several_sizes_in_turn). */
static unsigned find_part(struct period *period, unsigned length)
{
    double match = marks_match(period, length, marks_evidence(period, length), PERIOD_STILL_ALIKE);
    for (unsigned part = 1; part <= length / 2; part++) {
        if (length % part != 0)
            continue;
        unsigned marks = marks_evidence(period, part);
        if (match < 1 && marks_match(period, part, marks, PERIOD_STILL_ALIKE) > 0)
            return part;
        if (is_same_but_sizes(period, part)) {
            period->kind = PERIOD_STAGES;
            return part;
        }
    }
    return length;
}

/* For how long what seems to be the period must have lasted. */
static uint64_t lasting(const struct period *period)
{
    bool serves = mark_has_launch(&period->first) && each_has(period, period->candidate, has_input);
    bool sure = serves || marks_are_known(period, &period->first, period->candidate);
    return sure ? PERIOD_LASTING_NS : LASTING_WITHOUT_INPUT_NS;
}

/* What seems to be the period, by the last marks; it is looked for if `seeks`. */
static void find_candidate(struct period *period, uint64_t now_ns, bool seeks)
{
    unsigned marks = 0;
    if (candidate_lasts(period)) {
        uint64_t gap_ns = now_ns - period_mark(period, period->count - 2)->at_ns;
        period->lasted_ns += gap_ns < period->lasted_ns ? gap_ns : period->lasted_ns;
        return;
    }
    unsigned length = seeks ? marks_find_period(period, 1, ALIKE, &marks) : 0;
    period->candidate = length;
    period->first = marks_sum(period, length, 0);
    period->lasted_ns = length ? marks_span_ns(period, marks + length) : 0;
}

/* What seems to be the period has lasted: what ends an iteration follows from what is in it. */
static bool settle(struct period *period, unsigned length, uint64_t for_ns)
{
    /* The first marks of a program, some of them odd, may have hidden a shorter one. */
    unsigned marks = 0, shortest = marks_find_period(period, 1, ALIKE, &marks), sum = 0;
    length = shortest && shortest < length ? shortest : length;
    /* The few numbers that come once are what it begins with (test_weights_of_layers). */
    bool whole = length > 1 && marks_sum(period, length, 0).few_in == 1;
    length = whole ? length : find_part(period, length);
    if (period->kind == PERIOD_SAME) {
        sum = find_sum(period, length);
        length = sum ? sum : find_request(period, length);
    }
    if (varying_has_requests(period, length)) {
        period->kind = PERIOD_SAME;
        return varying_find(period, for_ns);
    }
    if (!sum && !whole && varying_find_inner(period, length))
        return true;
    begin_iterations(period, length);
    return true;
}

static bool find(struct period *period)
{
    uint64_t now_ns = period_mark(period, period->count - 1)->at_ns;
    bool seeks = now_ns >= period->sought_ns + SEEK_EACH_NS;
    if (seeks)
        period->sought_ns = now_ns;
    find_candidate(period, now_ns, seeks);
    unsigned length = period->candidate;
    uint64_t for_ns = now_ns - period->begun_ns;
    /* Of what seems to be a period for a while, again and again, none may last. */
    if ((!length || period->strange || for_ns > PERIOD_VARYING_LATE_NS) &&
        (has_stages(period, for_ns) || varying_find(period, for_ns)))
        return true;
    if (!length && varying_find_without_input(period, now_ns))
        return true;
    return length && period->lasted_ns >= lasting(period) && is_steady(period, length) &&
           settle(period, length, for_ns);
}

/* Whether what was found is not what an earlier process has shown, and that may yet come. */
static bool is_strange(const struct period *period)
{
    const struct mark iteration = period_iteration(period);
    uint64_t calls = mark_calls(&iteration) + period->length, known = period->known_calls;
    if (!known || (calls <= STRANGE * known && known <= STRANGE * calls))
        return false;
    uint64_t known_ns = period_duration_ns(period) * known / calls;
    uint64_t patience_ns = STRANGE_PATIENCE * known_ns;
    uint64_t for_ns = period_mark(period, period->count - 1)->at_ns - period->begun_ns;
    return for_ns < PERIOD_VARYING_LATE_NS && (for_ns < PERIOD_VARYING_NS || for_ns < patience_ns);
}

/* What was found is put aside, and looked for again in a while. */
static void put_aside(struct period *period)
{
    period->strange = true;
    period->length = period->candidate = 0;
    period->kind = PERIOD_SAME;
    period->ending = (struct ending){0};
    period->sought_ns = period_mark(period, period->count - 1)->at_ns + STRANGE_SEEK_NS;
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
    if (is_strange(period)) {
        put_aside(period);
        return PERIOD_UNKNOWN;
    }
    return period->kind >= PERIOD_INPUTS ? go_on(period) : at_mark(period);
}
