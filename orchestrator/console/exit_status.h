/* Exit statuses of the command line. */
#pragma once

enum exit_status {
    EXIT_ALL_MEASURED = 0,
    EXIT_BAD_SETUP = 1,    /* wrong usage, or the machine is not ready */
    EXIT_SOME_FAILED = 2,  /* the results are valid for the other points */
    EXIT_REGRESSION = 3,   /* compare: a point is worse */
    EXIT_NOTHING_FITS = 4, /* tune: no layout was found that meets the constraints */
    EXIT_AT_WORK = 5,      /* slurm status, collect: shards are not finished yet, but will be */
    EXIT_INTERRUPTED = 130,
};
