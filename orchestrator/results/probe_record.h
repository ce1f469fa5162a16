/*
 * Records of probes as people see them (docs/results-format.md).
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* The metric of the arm itself that its first one is compared with, borrowed; NULL: it is compared
 * with another arm. */
const json_t *probe_arm_own_control(const json_t *record, const json_t *arm);

/* On out: a probe's arms, verdict and remedy, from its record; and those of all as CSV, a line an
 * arm. */
void probe_print_record(FILE *out, const json_t *record);
void probe_print_csv(FILE *out, const json_t *header, const json_t *records);
