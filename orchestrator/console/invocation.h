/*
 * What a command line comes to: what the function of a command gets.
 */
#pragma once

#include "job/jobfile.h"

/* An option as it was given. */
struct given_option {
    const struct option_row *row;
    const char *text;
};

struct invocation {
    const char *program;           /* as it was called, for commands to paste */
    const struct options *options; /* of the first section, for a command with a job */
    const struct job *job;         /* NULL for a command without one */
    const char *const *operands;   /* ended by NULL; that of a job is its file */
    size_t operand_count;
    char **rest;                      /* the words behind '--', ended by NULL; NULL without '--' */
    const struct given_option *given; /* the options in their order */
    size_t given_count;
};
