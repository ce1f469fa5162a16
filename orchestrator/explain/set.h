/*
 * Every measured point of a results file with its ceilings, and the groups of points that have the
 * same reason and the same remedy.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "files/results_read.h"
#include "common/status.h"
#include "explain/binding.h"
#include "explain/ceilings.h"
#include "explain/predict.h"
#include "explain/remedy.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/scaling.h"

struct explanation {
    json_t *record; /* of the results */
    struct explain_point point;
    size_t origin;   /* on which GPUs it was measured (results/origin.h) */
    bool calibrated; /* whether the results hold a calibration for it; set by explain_set_compute */
    /* Of its work on its GPUs, or one without figures; NULL until explain_set_compute. */
    const struct calibration *calibration;
    double measured_ips;
    /* A ceiling that was passed, as it was before; passed_ips 0: none was. That of the queues
     * does not hold for the point, which takes turns; any other one only binds if none is near. */
    enum ceiling_kind passed;
    double passed_ips;
    struct ceilings ceilings;
    struct binding binding;
    struct prediction predicted;
    struct remedy remedy;
    size_t group; /* index of the first of its group */
    /* Of several GPUs: beside one, beside each other, and with the other choice of daemons. */
    bool scales, is_split;
    struct scaling scaling;
    struct imbalance imbalance;
    const json_t *other_daemons; /* a point of the results, or NULL */
    size_t next;                 /* of the next one of its group, 0: it is the last */
};

struct explain_calibration {
    struct calibration figures;
    size_t origin;
};

struct explain_set {
    struct explanation *points; /* in the order of the plan */
    size_t count;
    struct origins origins;
    size_t open;                              /* points of open loops: they do what is offered */
    size_t apart;                             /* points with a context or part for each thread */
    size_t unmeasured;                        /* other points of the results without a number */
    size_t servers;                           /* of all points, those of servers with a number */
    size_t foreign;                           /* points of workloads whose limits are not known */
    const char *foreign_workload;             /* of the first of them; the results' own */
    struct explain_calibration *calibrations; /* one for each work that points of an origin have */
    size_t calibration_count;
};

/* Takes the measured points of results (without a header: of one run); records are borrowed.
 * STATUS_USAGE: a field is missing. */
enum status explain_set_make(const struct results *results, struct explain_set *out);
void explain_set_release(struct explain_set *set);

/* The error of results in which no point is one to explain; path: theirs. */
enum status explain_set_empty(const struct explain_set *set, const char *path);

/* The calibration for a point: of its work, and of its GPUs. NULL: there is none. */
const struct calibration *explain_set_calibration(const struct explain_set *set,
                                                  const struct explanation *point);

/* Whether there are points of other GPUs than the header names: the results are merged, and nothing
 * can be measured here for all of them. */
bool explain_set_is_of_several(const struct explain_set *set);

/* Puts in all that results hold; path: theirs, for errors. STATUS_USAGE: one is not whole. */
enum status explain_set_calibrate_all(struct explain_set *set, const struct results *results,
                                      const char *path);

/* In explain_gpus.c: what the points of several GPUs are beside others of all points, which must
 * live as long. explain_set_make() calls it. STATUS_MEMORY. */
enum status explain_gpus_find(struct explain_set *set, const json_t *points);

/* "hybrid 8×2", with several GPUs "hybrid 8×2 on 4 GPUs, one daemon". Returns out. */
#define EXPLAIN_NAME_TEXT 256
const char *explain_gpus_name(const struct explanation *point, char out[EXPLAIN_NAME_TEXT]);

/* The paragraphs of points of several GPUs, each by print; nothing where there are none. After
 * explain_set_compute(), as explain_gpus_json(), which adds fields to a point's object. */
void explain_gpus_print(FILE *out, const struct explain_set *set,
                        void (*print)(FILE *out, const char *text));
void explain_gpus_json(const struct explanation *point, json_t *object);

/* Ceilings, prediction, remedy and group of each point; where there is no calibration for it, none
 * of them is known. STATUS_MEMORY is the only error. */
enum status explain_set_compute(struct explain_set *set, const struct remedy_limits *limits);

/* The point that stands for the group that begins with first: the one whose remedy is predicted to
 * give most; without a remedy the best measured. */
const struct explanation *explain_set_representative(const struct explain_set *set, size_t first);

/* -- explain_text.c, explain_json.c -- */

void explain_print_text(FILE *out, json_t *header, const struct explain_set *set);

/* An array of an object each point (docs/results-format.md); NULL without memory. */
json_t *explain_to_json(const struct explain_set *set);

/* The same of all points that the results hold a calibration for, without measuring anything; path:
 * theirs, for errors. STATUS_USAGE: there is none, or a record is not whole. The caller owns out.
 */
enum status explain_results_json(const struct results *results, const char *path, json_t **out);

/* Whether 'mpsweep explain' has anything to print: not of points of servers alone, nor of points
 * without a number. */
bool explain_results_any(const struct results *results);
