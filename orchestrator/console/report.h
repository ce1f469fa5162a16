/*
 * How a command ends: its exit status, and the error that ended it.
 */
#pragma once

#include "common/status.h"

/* Exit statuses of the command line. */
enum exit_status {
    EXIT_ALL_MEASURED = 0,
    EXIT_BAD_SETUP = 1,    /* wrong usage, or the machine is not ready */
    EXIT_SOME_FAILED = 2,  /* the results are valid for the other points */
    EXIT_REGRESSION = 3,   /* compare: a point is worse */
    EXIT_NOTHING_FITS = 4, /* tune: no layout was found that meets the constraints */
    EXIT_AT_WORK = 5,      /* slurm status, collect: shards run or wait */
    EXIT_INTERRUPTED = 130,
};

/* Prints the recorded error on standard error as "mpsweep: TEXT". Returns the exit status of a
 * command that ended with this status: EXIT_ALL_MEASURED for STATUS_OK, which prints nothing,
 * EXIT_INTERRUPTED for STATUS_INTERRUPTED, EXIT_BAD_SETUP for all others. */
int report(enum status status);

/* Prints a notice on standard error as "mpsweep: TEXT", and as a line "TEXT". */
void report_notice(const char *text);
void report_line(const char *text);
