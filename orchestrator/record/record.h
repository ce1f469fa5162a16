/*
 * The records of the results file (docs/results-format.md), made from what was measured.
 */
#pragma once

#include <limits.h>

#include <jansson.h>

#include "common/text.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/round/measurement.h"
#include "orchestrator/session/mps_limits.h"
#include "orchestrator/session/session.h"

/* New references, or NULL without memory. */
json_t *record_header(const struct session *session, const struct job *job, const char *job_path,
                      const struct plan *plan, bool resumed);

/* Adds the fields about machine, GPUs and driver to the header of a results file of any kind. */
enum status record_add_machine(const struct session *session, json_t *header);

/* Adds those and "binding" and "workload": what a file is resumed with. STATUS_MEMORY. */
enum status record_add_run(const struct session *session, const struct job *job,
                           const struct plan *plan, json_t *header);

/* The file that a command line runs by this word of it, or NULL: the first word is looked up as it
 * is when it is started, and *found is memory for its path; others may be scripts. */
const char *record_command_file(char *const *command, size_t word, char found[PATH_MAX]);

/* How the machine, its settings and the programs of two headers differ: an array of texts such as
 * "driver: 12.4 -> 13.0", empty where nothing does. What one of the headers lacks does not count.
 * NULL without memory. */
json_t *record_differences(const json_t *earlier, const json_t *now);

/* Whether the header of a results file is of this plan. An id of an earlier version cannot be
 * compared: then all options must be the same that make the points and how they are measured. */
bool record_header_is_of(const json_t *header, const struct job *job, const struct plan *plan);

/* Adds the options and the program that differ, each with a space before it as on a command line:
 * what the file was begun with, and what this job has. False: none differs, so that another plan
 * has another reason, as more GPUs. */
bool record_options_differ(const json_t *header, const struct job *job, struct text *was,
                           struct text *is);

json_t *record_point(const struct point *point, const struct measurement *measurement,
                     double precision_rel);

/* Of a point that was not tried, since limits rule it out; its field limits_found marks it apart
 * from one that the driver refused. */
json_t *record_beyond(const struct point *point, const struct mps_limits *limits,
                      const struct mps_limits_row *row);

/* Of a point that cannot be, for that reason: "status": "infeasible". NULL without memory. */
json_t *record_untried(const struct point *point, const char *why);

/* Of a point of a plan that nothing was measured of: its settings, and "status": "planned"; or what
 * record_beyond() or record_untried() made of it. NULL without memory. */
json_t *record_planned(const struct point *point, json_t *beyond);

/* "probes" or "points", of the records, by what their field has. */
json_t *record_footer(int exit_status, const char *what, const json_t *records, const char *field,
                      double seconds);

/* The array "warnings" of a point's record, made where there is none; borrowed. */
json_t *warnings_of(json_t *record);

/* Appends {"kind", "text"}; the text gives the remedy. A NULL array is left alone. */
void warnings_add(json_t *array, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* JSON has no number that is not finite: null then. */
json_t *record_real_or_null(double value);
