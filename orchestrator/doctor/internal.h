/*
 * What the parts of the doctor command share: one line a finding, and what to type under each that
 * is not ok. Lines come in groups, a blank line between them.
 */
#pragma once

#include <stdio.h>

enum verdict { VERDICT_OK, VERDICT_WARNING, VERDICT_PROBLEM };

/* All zero but out: an empty report. */
struct doctor {
    FILE *out;
    unsigned warnings, problems;
};

/* One finding. advice is what to type, needed unless the verdict is always VERDICT_OK. */
void doctor_say(struct doctor *doctor, enum verdict verdict, const char *advice, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* Ends a group of findings. */
void doctor_end_group(struct doctor *doctor);

/* The last line: how many problems and warnings there were. */
void doctor_sum_up(const struct doctor *doctor);
