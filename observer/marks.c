#include "observer/internal.h"

/* The longest, in marks. */
#define LONGEST (PERIOD_MARKS / (PERIOD_REPEATS + 1))
/* A slow program's period may show in fewer marks, but in these at least and for this long
 * (test_known_and_slow). */
#define FEWEST_MARKS 4
#define SLOW_NS (2 * NS_PER_S)
/* At more than one mark so much fewer must be unlike than at one: a thread that waits for what
 * another one launches sees two batches now and then (test_two_batches_now_and_then). */
#define CLEARER 2
/* Where kernels come in an order this many times fewer are others than elsewhere
 * (test_kernels_for_any_size). */
#define ORDERED 4

const struct mark *period_mark(const struct period *period, uint64_t number)
{
    return &period->marks[number % PERIOD_MARKS];
}

unsigned marks_remembered(const struct period *period)
{
    return period->count < PERIOD_MARKS ? (unsigned)period->count : PERIOD_MARKS;
}

bool marks_near(uint64_t a, uint64_t b, uint64_t slack)
{
    uint64_t more = a > b ? a : b, less = a > b ? b : a;
    return more - less <= slack + more / 4;
}

/* Shapes grow a little from one iteration to the next, and with them what is launched. Reports of a
 * few numbers make no difference, however many they are. */
bool marks_alike(const struct mark *a, const struct mark *b)
{
    bool few = a->bytes_out <= MARK_FEW_BYTES && b->bytes_out <= MARK_FEW_BYTES;
    return (a->launches > 1 || (a->graphs && b->graphs) || a->kernel == b->kernel) &&
           marks_near(a->launches, b->launches, 2) && marks_near(a->graphs, b->graphs, 0) &&
           marks_near(a->copies_in, b->copies_in, 1) &&
           (few || marks_near(a->copies_out, b->copies_out, 1)) &&
           marks_near(a->bytes_in, b->bytes_in, 64) && marks_near(a->bytes_out, b->bytes_out, 64);
}

bool marks_like(const struct period *period, uint64_t number, uint64_t before)
{
    struct mark mark = *period_mark(period, number);
    const struct mark *other = period_mark(period, before);
    if (period->kind == PERIOD_STAGES) {
        mark.bytes_in = other->bytes_in;
        mark.bytes_out = other->bytes_out;
    }
    return marks_alike(&mark, other);
}

unsigned marks_changes(const struct period *period, unsigned marks)
{
    unsigned changes = 0;
    for (unsigned i = 1; i <= marks; i++)
        changes += !marks_like(period, period->count - i, period->count - i - 1);
    return changes;
}

/* Returns how many of the last marks begin with another kernel than those `length` before, or more
 * than `most`. */
static unsigned other_kernels(const struct period *period, unsigned length, unsigned marks,
                              unsigned most)
{
    unsigned others = 0;
    for (unsigned i = 1; i <= marks && others <= most; i++)
        others += period_mark(period, period->count - i)->kernel !=
                  period_mark(period, period->count - i - length)->kernel;
    return others;
}

/* Whether kernels come in an order: at some length far fewer than `others` are other ones. Where a
 * library has other kernels for larger inputs they are as many at any length. */
static bool have_order(const struct period *period, unsigned others, unsigned marks)
{
    unsigned known = marks_remembered(period);
    for (unsigned length = 2; length <= LONGEST && length + marks < known; length++)
        if (other_kernels(period, length, marks, others / ORDERED) <= others / ORDERED)
            return true;
    return false;
}

double marks_match(const struct period *period, unsigned length, unsigned marks, double least)
{
    unsigned unlike = 0;
    for (unsigned i = 1; i <= marks; i++) {
        unlike += !marks_like(period, period->count - i, period->count - i - length);
        if (unlike > (1 - least) * marks)
            return 0;
    }
    /* As much work of other kernels is another step (test_waits_for_other_kernels). */
    unsigned others = other_kernels(period, length, marks, marks);
    if (2 * others > marks && have_order(period, others, marks))
        return 0;
    if (length > 1 && unlike > 0 && CLEARER * unlike > marks_changes(period, marks) &&
        CLEARER * unlike > other_kernels(period, 1, marks, marks))
        return 0;
    return 1 - (double)unlike / marks;
}

uint64_t marks_duration_ns(const struct period *period, unsigned length, unsigned back)
{
    uint64_t end = period->count - 1 - (uint64_t)back * length;
    return period_mark(period, end)->at_ns - period_mark(period, end - length)->at_ns;
}

void mark_add(struct mark *sum, const struct mark *mark)
{
    sum->kernel = sum->kernel ? sum->kernel : mark->kernel;
    sum->bytes_in += mark->bytes_in;
    sum->bytes_out += mark->bytes_out;
    sum->launches += mark->launches;
    sum->graphs += mark->graphs;
    sum->copies_in += mark->copies_in;
    sum->few_in += mark->few_in;
    sum->copies_out += mark->copies_out;
}

struct mark marks_sum(const struct period *period, unsigned length, unsigned back)
{
    struct mark sum = {0};
    uint64_t end = period->count - (uint64_t)back * length;
    if (length && end > length)
        sum.at_ns = marks_duration_ns(period, length, back);
    for (unsigned i = 1; i <= length && i <= end; i++)
        mark_add(&sum, period_mark(period, end - i));
    return sum;
}

uint32_t marks_mean_count(uint32_t sum, unsigned count)
{
    return (sum + count / 2) / count;
}

struct mark marks_mean(const struct mark *sum, unsigned count)
{
    return (struct mark){
        .at_ns = sum->at_ns / count,
        .bytes_in = sum->bytes_in / count,
        .bytes_out = sum->bytes_out / count,
        .launches = marks_mean_count(sum->launches, count),
        .graphs = marks_mean_count(sum->graphs, count),
        .copies_in = marks_mean_count(sum->copies_in, count),
        .few_in = marks_mean_count(sum->few_in, count),
        .copies_out = marks_mean_count(sum->copies_out, count),
    };
}

struct mark marks_mean_remembered(const struct period *period, unsigned length)
{
    unsigned times = (marks_remembered(period) - 1) / length;
    const struct mark sum = marks_sum(period, times * length, 0);
    return marks_mean(&sum, times);
}

bool marks_are_known(const struct period *period, const struct mark *iteration, unsigned marks)
{
    return period->known_calls && marks_near(mark_calls(iteration) + marks, period->known_calls, 1);
}

bool marks_have_input(const struct mark *mark, uint64_t least)
{
    return mark->copies_in && mark->bytes_in >= least;
}

/* A compiler's pause between bursts of kernels that it tries out shows nothing. */
uint64_t marks_span_ns(const struct period *period, unsigned marks)
{
    uint64_t all = period_mark(period, period->count - 1)->at_ns -
                   period_mark(period, period->count - marks)->at_ns;
    uint64_t longest = 0;
    for (unsigned i = 1; i < marks; i++) {
        uint64_t number = period->count - i;
        uint64_t gap = period_mark(period, number)->at_ns - period_mark(period, number - 1)->at_ns;
        longest = gap > longest ? gap : longest;
    }
    return longest > all / 2 ? 2 * (all - longest) : all;
}

unsigned marks_evidence(const struct period *period, unsigned length)
{
    unsigned known = marks_remembered(period);
    unsigned marks = known - length < PERIOD_EVIDENCE ? known - length : PERIOD_EVIDENCE;
    if (length >= known || marks + length < FEWEST_MARKS)
        return 0;
    if (marks < (PERIOD_REPEATS - 1) * length)
        marks = (PERIOD_REPEATS - 1) * length;
    if (marks + length > known)
        return 0;
    return marks + length >= PERIOD_EVIDENCE || marks_span_ns(period, marks + length) >= SLOW_NS
               ? marks
               : 0;
}

unsigned marks_find_period(const struct period *period, unsigned length, double alike,
                           unsigned *marks)
{
    for (; length <= LONGEST; length++) {
        *marks = marks_evidence(period, length);
        if (*marks && marks_match(period, length, *marks, alike) > 0)
            return length;
    }
    return 0;
}
