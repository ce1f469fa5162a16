/*
 * What the files of a period share: what marks show (marks.c), how iterations are found that vary
 * (varying.c), and those that do not (period.c).
 */
#pragma once

#include "common/clock.h"
#include "observer/period.h"

/* No measurement gives the constants of these files: they were chosen by hand. Where a test covers
 * one, its comment names it, of test_period.c, test_requests.c or test_steps.c in
 * tests/unit/observer. */

/* A period must show in this many iterations (test_every_mark). */
#define PERIOD_REPEATS 3
/* A period must show in this many marks, so that a step of an iteration is not taken for one
 * (test_one_odd_wait_among_many, test_slow_growth_is_no_change). */
#define PERIOD_EVIDENCE 64
/* A period must last for this long: a library that tries out its kernels repeats itself as well
 * (test_a_short_repetition_is_no_iteration). */
#define PERIOD_LASTING_NS NS_PER_S
/* Iterations vary where no period has come about for this long (test_each_request_is_another). */
#define PERIOD_VARYING_NS (4 * NS_PER_S)
/* Larger inputs that come seldom have this long to begin iterations (test_slow_pictures). */
#define PERIOD_VARYING_LATE_NS (32 * NS_PER_S)
/* This share must remain so (test_one_odd_wait_among_many, test_texts_of_any_length). */
#define PERIOD_STILL_ALIKE 0.9

/* -- marks.c -- */

/* Returns how many of the last marks are remembered. */
unsigned marks_remembered(const struct period *period);

/* Returns a mark by its number, one of the last PERIOD_MARKS. */
const struct mark *period_mark(const struct period *period, uint64_t number);

/* Reports whether numbers differ by no more than a quarter of the larger one and `slack`. */
bool marks_near(uint64_t a, uint64_t b, uint64_t slack);

/* Reports whether marks, or iterations, have about as much of everything. */
bool marks_alike(const struct mark *a, const struct mark *b);

/* The same of two marks by their numbers, but for sizes where the period has any. */
bool marks_like(const struct period *period, uint64_t number, uint64_t before);

/* Returns how many of the last marks are unlike the one before. */
unsigned marks_changes(const struct period *period, unsigned marks);

/* Returns the share of the last marks that are like those `length` before; 0: less than `least`, or
 * hardly more than are like the one before. */
double marks_match(const struct period *period, unsigned length, unsigned marks, double least);

/* Return the sum of the `length` marks of an iteration, the last one or some before, and how long
 * it took; the sum has that as at_ns. */
struct mark marks_sum(const struct period *period, unsigned length, unsigned back);
uint64_t marks_duration_ns(const struct period *period, unsigned length, unsigned back);

/* Return the mean, of the sum of `count`: of a number, of iterations, and of all whole iterations
 * of a length that are remembered with the mark before them, which must be at least one. */
uint32_t marks_mean_count(uint32_t sum, unsigned count);
struct mark marks_mean(const struct mark *sum, unsigned count);
struct mark marks_mean_remembered(const struct period *period, unsigned length);

/* Reports whether an earlier process had iterations of as many calls. */
bool marks_are_known(const struct period *period, const struct mark *iteration, unsigned marks);

/* Reports whether a mark has input of at least that many bytes. */
bool marks_have_input(const struct mark *mark, uint64_t least);

/* Returns how long the last marks took, where a pause counts for no more than all else. */
uint64_t marks_span_ns(const struct period *period, unsigned marks);

/* Returns how many marks to compare with those a length before; 0: there are too few. */
unsigned marks_evidence(const struct period *period, unsigned length);

/* Returns the shortest period from a length on that shows in that share of the marks, and sets
 * *marks to how many those are; 0: none does. */
unsigned marks_find_period(const struct period *period, unsigned length, double alike,
                           unsigned *marks);

/* -- varying.c -- */

/* Takes note of a mark while no period is known. */
void varying_add(struct period *period, const struct mark *mark);

/* Find iterations that vary, and set the period accordingly: which end with inputs, of those that
 * seem to begin requests, or of any that is more than a few numbers; or with each mark. False:
 * there are none yet. */
bool varying_find(struct period *period, uint64_t for_ns);
bool varying_find_without_input(struct period *period, uint64_t now_ns);

/* Does so if what seems to be the period is several iterations, each with an input as large as
 * those of the others and the same work, while some have a wait more, or a result: a training that
 * reports its loss now and then, for example. */
bool varying_find_inner(struct period *period, unsigned length);

/* Reports whether larger inputs still come, with other marks than those of what seems to be the
 * period, or beside marks that have none, if each seems to be one: it is a step of requests of any
 * length. */
bool varying_has_requests(const struct period *period, unsigned length);

/* Whether a mark ends an iteration that varies. */
enum period_state varying_go_on(struct period *period, const struct mark *mark);
