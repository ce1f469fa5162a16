/*
 * How far a mean can be trusted: 95% intervals of series whose values depend on each other.
 *
 * Values that follow each other in time are alike, and an interval that takes them for independent
 * is too narrow. Here the series is cut into 5, 10 and 20 batches; the means of each give an
 * interval by Student's t (batch means), and the correlation of neighbouring values gives a fourth,
 * as of an autoregressive process of first order. Where values are independent beyond a batch's
 * length, all agree; where they are not, the longer batches show it. The widest of the four counts:
 * no length is chosen by what it gives. docs/statistics.md has the coverage found by simulation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum interval_method {
    INTERVAL_UNKNOWN,        /* too few values: half_rel is INFINITY */
    INTERVAL_BATCH_MEANS,    /* as above */
    INTERVAL_AUTOREGRESSIVE, /* the same, and the fourth was the widest */
    INTERVAL_BETWEEN_ROUNDS  /* interval_of_rounds() */
};

struct interval {
    enum interval_method method;
    double mean;
    double half_rel; /* half width as a share of the mean; INFINITY where it is unknown */
    size_t batches;  /* of the widest; rounds with INTERVAL_BETWEEN_ROUNDS; 0 if unknown */
    double lag1;     /* correlation of their neighbouring means; 0 if unknown or between rounds */
    double between_rel; /* standard deviation between rounds beyond what one round's scatter
                           explains, as a share of the mean; 0 of a series */
    double own_rel;     /* half width that the rounds' own intervals give; 0 of a series */
};

/* Longest series taken. */
#define INTERVAL_MOST_VALUES 4096

/* The fewest batches that give an interval. */
#define INTERVAL_LEAST_BATCHES 5

/* Of the mean of a series, oldest first; no batch is shorter than `shortest_batch` values. A longer
 * series than INTERVAL_MOST_VALUES, fewer than INTERVAL_LEAST_BATCHES batches, or a mean that is
 * not above zero: unknown. */
void interval_of_series(const double *values, size_t count, size_t shortest_batch,
                        struct interval *out);

/* Of the mean over independent rounds, from each round's mean and the half width of its own
 * interval (a share of its mean, or INFINITY where unknown): what differs from round to round
 * counts, and the interval is never narrower than what the rounds' own intervals give. One round:
 * its own interval, method INTERVAL_BATCH_MEANS, without batches and lag1. */
void interval_of_rounds(const double *means, const double *halves_rel, size_t rounds,
                        struct interval *out);

/* About how many rounds would reach the goal, judging by an interval of several rounds that does
 * not: the scatter between them falls as the root of their number, and so does Student's t, of
 * which two rounds have 12.7 and twenty have 2.1. The goal is above zero, the interval known. */
double interval_rounds_for(const struct interval *interval, double goal_rel);

/* Whether an interval is as narrow as wanted. A goal of the mean itself, 1, takes any that is
 * known. */
bool interval_meets(double half_rel, double goal_rel);

/* Whether to stop a measurement that is looked at again and again while it grows, by the intervals
 * of the looks so far: stopping at the first that is narrow enough would choose those that are
 * narrow by chance. An interval clearly narrower than the goal ends it, one about as wide has to be
 * seen twice in a row. *narrow is the caller's memory, 0 before the first look. */
bool interval_reached(double half_rel, double goal_rel, unsigned *narrow);

/* The half width to report of a measurement that may have been stopped by interval_reached(). One
 * that grew until it was narrow enough was chosen for being narrow: it is known to the goal, and
 * not better. One that was clearly narrower than the goal at the first look keeps its own, as does
 * one that has not reached the goal, or that has no goal (1). */
double interval_reported(double half_rel, double goal_rel, bool grew);

/* "batch means", "autoregressive", "between rounds", "unknown". */
const char *interval_method_name(enum interval_method method);
