/*
 * Described workloads (job/workload_text.h) as the orchestrator sees them: which worker runs
 * which, how long their kernels are to be, and what is recorded of them.
 *
 * Of points with other workloads all of this leaves everything as it is.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "orchestrator/round/round.h"

/*
 * Finds out what the kernels of the points must be given to take as long as they are asked to
 * (wire/lengths.h), and fills it in. To be called after the plan is made, before anything is
 * measured; nothing else of ours may use the GPU meanwhile, and nothing is started where no kernel
 * has a duration. *lengths, an array as in the header record, holds what is known already and what
 * is found is added to it. The work is that of the first GPU; where points use others, too, how
 * long it takes there is measured and noted, and a line on standard error tells of what differs.
 *
 * STATUS_UNSUPPORTED: a kernel cannot take as long as that here. STATUS_TIMEOUT, STATUS_INTERRUPTED
 * and the errors of the driver: it was not found out.
 */
enum status described_find_lengths(struct session *session, struct point *points, size_t count,
                                   uint64_t timeout_ns, bool quiet, json_t *lengths);

/* Whether a point can be: STATUS_INFEASIBLE where a workload of a mix would be without workers;
 * STATUS_UNSUPPORTED where lengths have not been found. */
enum status described_check(const struct point *point);

struct round;

/* Gives each worker of a point its workload: in the order of their numbers (process by process), as
 * mix_next() deals them. */
void described_deal(const struct round *round);

/* Fills the result's programs; iterations of each worker in the steady part of so many seconds. */
enum status described_collect(const struct round *round, const double *iterations, double steady_s);

/* Adds the rounds before, `rounds` in number, to the last one. */
void described_merge(struct round_result *last, const struct round_result *before, unsigned rounds);

/* Puts "workloads" into the record of a measured point, behind its "per_worker", and into the
 * header. */
void described_record(json_t *record, const struct point *point, const struct round_result *result);
void described_header(json_t *record, const struct job *job);

/* Below a table: of each measured mix, a line with what each of its workloads did. */
void described_print(FILE *out, const json_t *points);
