/*
 * Help, made from the option table.
 */
#pragma once

#include <stdio.h>

#include "job/options.h"

/* Commands are documented on these pages: mpsweep(1), mpsweep-mps(1) for those of 'mps',
 * mpsweep-tune(1), mpsweep-probe(1), mpsweep-trace(1), mpsweep-merge(1), and mpsweep-slurm(1) for
 * those of 'slurm'. */
enum help_page { HELP_MAIN, HELP_MPS, HELP_TUNE, HELP_PROBE, HELP_TRACE, HELP_MERGE, HELP_SLURM };

/* A command of the program. */
struct command {
    const char *name; /* one word, or two: "mps start" */
    enum help_page page;
    enum option_command bit;
    const char *synopsis;
    const char *summary;  /* one line */
    const char *examples; /* lines, each indented by two */
};

extern const struct command commands[];
extern const size_t command_count;

const struct command *command_find(const char *name);

/* Help about all commands of a page, and about one of them. */
void help_print(FILE *out, enum help_page page);
void help_print_command(FILE *out, const struct command *command);

/* A manual page in roff (man 7 groff_man). */
void help_print_manual(FILE *out, enum help_page page);
