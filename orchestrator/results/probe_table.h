/*
 * Records of probes as people see them (docs/results-format.md).
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* On out: a probe's arms, verdict and remedy, from its record; and those of all as CSV, a line an
 * arm. */
void probe_print_record(FILE *out, const json_t *record);
void probe_print_csv(FILE *out, const json_t *header, const json_t *records);
