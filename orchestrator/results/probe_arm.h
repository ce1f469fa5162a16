/*
 * An arm in the record of a probe (docs/results-format.md).
 */
#pragma once

#include <jansson.h>

/* The metric of the arm itself that its first one is compared with, borrowed; NULL: it is compared
 * with another arm. */
const json_t *probe_arm_own_control(const json_t *record, const json_t *arm);
