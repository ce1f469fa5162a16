/*
 * The table of commands: dispatch, errors of usage, --help and the manual pages come from it.
 */
#pragma once

#include "job/options.h"
#include "orchestrator/console/invocation.h"

enum command_flag {
    COMMAND_JOB = 1,      /* the operand is a job file, and the options are its settings */
    COMMAND_PROGRAM = 2,  /* the words behind '--' are a program */
    COMMAND_WRAPS = 4,    /* the words from the first operand on are a program, '--' or not */
    COMMAND_AS_GIVEN = 8, /* it reads its options itself, and may be given a '--' with nothing */
};

#define COMMAND_ANY_NUMBER ((size_t)-1)

/* A command of the program. */
struct command {
    const char *name;                                /* one word, or two: "mps start" */
    int (*run)(const struct invocation *invocation); /* returns an exit status */
    enum option_command bit;                         /* in the rows of its options */
    unsigned also; /* bits of commands whose options it hands on */
    unsigned flags;
    size_t least, most;      /* operands */
    const char *needed;      /* what it lacks with fewer than the least */
    enum option_id needs[3]; /* options that it cannot do without, ended by 0 */
    int usage_exit;          /* exit status of wrong usage; 0: EXIT_BAD_SETUP */
    const char *behind;      /* what stands behind '--', as a sentence; NULL: a program */
    const char *synopsis;
    const char *summary; /* one line */
};

extern const struct command commands[];
extern const size_t command_count;

/* The command of that name, or NULL. */
const struct command *command_find(const char *name);

/* Whether a command's name begins with word, which is its family, as mps is of "mps start". */
bool command_is_of(const struct command *command, const char *family);
bool command_is_family(const char *word);

/* The row of an option, by its name or, where that is NULL, its letter: the command's own before
 * those that it hands on. *value: what it is set to by a former word that takes none, else NULL. */
const struct option_row *command_option(const struct command *command, const char *name,
                                        char letter, const char **value);

/* The lines of an option's help that are for the commands of these bits. Returns out. */
#define COMMAND_HELP_BYTES 1024
const char *command_option_help(const struct option_row *row, unsigned bits,
                                char out[COMMAND_HELP_BYTES]);

/* Records that there is no command of that name, with the one that was meant, or with all.
 * STATUS_USAGE. */
enum status command_unknown(const char *name);

/* Of what 'mpsweep help WORD' does not know. */
enum status command_unknown_word(const char *word);

/* Records that a command has no option of that name, with the one that was meant, or with the
 * commands that do have it. STATUS_USAGE. */
enum status command_unknown_option(const struct command *command, const char *name);
