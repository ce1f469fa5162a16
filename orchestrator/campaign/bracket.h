/*
 * The search for the highest rate that holds, without measuring: which one to try next.
 *
 * From a rate that is known not to hold it is halved until one does, and what lies between is
 * bisected. Where no such rate is known, it begins at one that may hold, and doubles it while it
 * does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/results/rate.h"

/* Narrow enough, as a share of its upper end; and for a first look. */
#define BRACKET_WIDTH RATE_STEP
#define BRACKET_COARSE 0.25

struct bracket {
    double width;
    uint64_t held_units;   /* the highest that held, 0: none yet */
    uint64_t failed_units; /* the lowest that did not; to begin with, one that cannot; 0: none */
    uint64_t first_units;  /* to begin with, without failed_units */
    uint64_t lowest_units; /* there is no point in trying one below */
};

/* 0: the search is over, with held_units as its result, 0 if none holds. */
uint64_t bracket_next(const struct bracket *bracket);
void bracket_note(struct bracket *bracket, uint64_t rate_units, bool held);
