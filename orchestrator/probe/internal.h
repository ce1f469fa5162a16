/*
 * Shared by the files that make up `mpsweep probe`: what is to be run (probe_command.c), an arm in
 * one round (probe_arm.c), all rounds of a probe (probe_measure.c), its record (probe_record.c),
 * and what there is (list.c).
 *
 * Where a status is returned, nothing has been printed.
 */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "job/options.h"
#include "common/text.h"
#include "orchestrator/console/progress.h"
#include "orchestrator/session/session.h"
#include "probes/outcome.h"
#include "probes/probe.h"

struct probing {
    const struct options *options;
    struct session session;
    char program[PATH_MAX];         /* mpsweep-probe */
    struct probe_outcome *outcomes; /* of the probes that are asked for; owned, with their arms */
    size_t count;
    struct progress progress; /* an arm in a round is a step */
    bool no_mps;              /* the daemon cannot be had, and why: */
    char no_mps_text[400];
};

/*
 * Runs an arm once, in fresh processes, and adds its samples to data. The return value is about
 * going on: STATUS_INTERRUPTED after a signal, other codes where something could not be ended. What
 * went wrong with the arm itself is in data->status.
 */
enum status probe_arm_measure(struct probing *probing, const struct probe *probe,
                              struct probe_arm_data *data, unsigned round);

/* Frees the samples. */
void probe_arm_data_release(struct probe_arm_data *data);

/* How many rounds the probe gets. */
unsigned probe_rounds(const struct probing *probing, const struct probe *probe);

/* Which arms the list leaves (NULL: those that are not only on request), with the controls that
 * they need: sets chosen in outcome's arms. Names of other probes in it are fine. */
void probe_choose_arms(const char *list, struct probe_outcome *outcome);

/* Whether for each name of the list one of the probes has such an arm, or it is 'all':
 * STATUS_USAGE if not, and which there are. A list that is NULL is fine. */
enum status probe_check_arms(const char *list, const struct probe_outcome *outcomes, size_t count);

/* Measures all chosen arms in all rounds. outcome's arms are as many as the probe has, zeroed but
 * for arm and chosen. Errors as of probe_arm_measure(). */
enum status probe_measure(struct probing *probing, struct probe_outcome *outcome);

/* What a probe came to, from its samples. */
struct probe_result {
    enum probe_verdict verdict;
    char needs[64]; /* of PROBE_NEEDS: "2 GPUs" */
    const struct probe_arm_data
        *subject; /* what the verdict is about; NULL: nothing was measured */
    const struct probe_arm_data *control;
    struct probe_effect effect; /* subject / control */
    struct probe_summary subject_summary, control_summary;
    bool needs_remedy;                   /* the subject is not itself a remedy */
    const struct probe_arm_data *remedy; /* the fastest of the remedies; NULL: none helps */
    struct probe_effect gain;            /* subject / remedy */
    char error[600];                     /* why it is inconclusive, or "" */
    char ended_early[512]; /* why not all rounds were measured, set by the caller; or "" */
};

/* From the rounds that there are; out is zeroed but for ended_early. */
enum status probe_conclude(const struct probe_outcome *outcome, struct probe_result *out);

/* The record, NULL without memory. */
json_t *probe_record(const struct probe_outcome *outcome, const struct probe_result *result,
                     double seconds);
json_t *probe_header(const struct probing *probing);

/* The probes and their arms. */
void probe_print_list(FILE *out, const struct probe_outcome *outcomes, size_t count);
