/*
 * Finds the iterations of a thread in what it does: the period of its marks. A mark is a moment at
 * which the thread has waited for what it had launched (or whatever else stands for that), with
 * what was launched and copied since the mark before.
 *
 * Pure: it calls no driver and takes no time. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/tick.h"

#define PERIOD_MARKS 512 /* that are remembered: the longest period is a quarter of that */

#define PERIOD_KERNELS 6 /* that the work for an input begins with, kept apart */

/* Where there are larger inputs, one of at most this many bytes begins no iteration: it is a step's
 * position, or its last word (test_texts_of_any_length). Results of as many are a report; larger
 * ones answer a request. */
#define MARK_FEW_BYTES 64

struct mark {
    uint64_t at_ns;
    uint64_t bytes_in, bytes_out; /* copied to the GPU, and to the host */
    uint64_t kernel;              /* stands for that of the first launch; 0: unknown */
    uint32_t launches, graphs, copies_in, copies_out;
    uint32_t few_in; /* of those in, of at most MARK_FEW_BYTES */
};

/* Whether anything was launched since the mark before. */
static inline bool mark_has_launch(const struct mark *mark)
{
    return mark->launches || mark->graphs;
}

/* Adds what another mark has behind it, but not when. */
void mark_add(struct mark *sum, const struct mark *mark);

/* All that it has. */
static inline uint32_t mark_calls(const struct mark *mark)
{
    return mark->launches + mark->graphs + mark->copies_in + mark->copies_out;
}

enum period_state {
    PERIOD_UNKNOWN,  /* no period yet */
    PERIOD_WITHIN,   /* of an iteration */
    PERIOD_BOUNDARY, /* this mark ends an iteration */
    PERIOD_LOST,     /* the period no longer holds: the search for one begins anew */
};

/* Which marks end an iteration that varies: those with an input of at least `least`
 * bytes. */
struct ending {
    uint64_t least;
    uint64_t kernel;   /* and which begin with this one, 0: with any, */
    uint32_t launches; /* with about as many */
};

/* Where nothing repeats for long, as with requests of different lengths, iterations vary: one ends
 * with the first mark after an input. What is seen of them until then: */
struct varying {
    struct ending ending;
    uint64_t most;               /* bytes of an input that ended one */
    uint64_t first_ns, last_ns;  /* when one ended */
    struct mark sum;             /* of those between */
    struct mark iteration, last; /* so far, and the one before */
    unsigned marks, ends, alike; /* marks in `sum`, and iterations that are like the one before */
    unsigned others;             /* other inputs so far */
    unsigned without;            /* marks since the last input of either kind */
    unsigned apart;              /* other inputs that are not one behind the other */
    unsigned absent;             /* how often it began anew, since none of several came again */
    double between, squares;     /* the sum of those between, and of their squares */
};

/* What ends an iteration. */
enum period_kind {
    PERIOD_SAME,   /* as many marks as before, alike in all that they have */
    PERIOD_STAGES, /* the same, with inputs and results of any size */
    PERIOD_INPUTS, /* an input as `ending` has it; iterations vary, and `length` is the mean */
    PERIOD_EACH,   /* each mark, or that with `ending.kernel`: there are no inputs that could */
};

struct period {
    struct mark marks[PERIOD_MARKS]; /* mark number i at i % PERIOD_MARKS */
    uint64_t count;                  /* of marks */
    unsigned length;                 /* marks in an iteration; 0: unknown */
    enum period_kind kind;
    struct ending ending; /* PERIOD_INPUTS; its kernel of PERIOD_EACH, too */
    unsigned smaller;     /* inputs since then that would have ended others */
    /* Any input ends one, one of more than a few numbers, one of the largest, or one whose work
     * begins with the same kernel. */
    struct varying varying[3 + PERIOD_KERNELS];
    unsigned kernels;           /* of those, seen until now */
    unsigned known_calls;       /* of an iteration, with its marks; 0: unknown */
    bool strange;               /* what was found has many more calls than that, or many fewer */
    uint64_t begun_ns;          /* when the first mark was */
    struct mark mean;           /* of iterations that vary */
    unsigned candidate;         /* a length that seems to be it */
    uint64_t lasted_ns;         /* how long it has seemed so */
    uint64_t sought_ns;         /* when one was last looked for */
    struct mark first;          /* what an iteration of it had then */
    uint64_t boundary;          /* number of the mark that ends the current iteration */
    unsigned unlike, looked_at; /* marks since it was found */
    double match; /* share of the marks, or of iterations that vary, like those a period before */
};

/* Begins anew. One that is all zero is fine to use where no calls are known. */
void period_begin(struct period *period, unsigned known_calls);

/* Every mark is an iteration if `every` is set. */
enum period_state period_add(struct period *period, const struct mark *mark, bool every);

/* Of known periods: the share of iterations, or of their marks, that are like the one before. */
double period_alike(const struct period *period);

/* Whether what an iteration has is a mean, since they differ. */
bool period_is_mean(const struct period *period);

/* Whether what was found may be no iteration. Known periods only. */
enum tick_doubt period_doubt(const struct period *period);

/* What an iteration has: one of the last that is like the one before it, or the mean of those that
 * vary; at_ns is its duration. Known periods only. */
struct mark period_iteration(const struct period *period);

/* Whether most iterations have a result of more than a few numbers. Known periods only. */
bool period_answers(const struct period *period);

/* How long iterations take on average: of known periods, those that are remembered. */
uint64_t period_duration_ns(const struct period *period);
