/*
 * Help, made from the option table.
 */
#ifndef MPSWEEP_ORCHESTRATOR_HELP_H
#define MPSWEEP_ORCHESTRATOR_HELP_H

#include <stdio.h>

#include "common/options.h"

/* A command of the program. */
struct command {
    const char *name;
    enum option_command bit;
    const char *synopsis;
    const char *summary;  /* one line */
    const char *examples; /* lines, each indented by two */
};

extern const struct command commands[];
extern const size_t command_count;

const struct command *command_find(const char *name);

/* The program's own help, and a command's. */
void help_print(FILE *out);
void help_print_command(FILE *out, const struct command *command);

/* The manual page in roff (man 7 groff_man). */
void help_print_manual(FILE *out);

#endif
