/*
 * The command line: the only place that prints and exits.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/jobfile.h"
#include "config.h"
#include "orchestrator/compare/comparison.h"
#include "orchestrator/doctor/doctor.h"
#include "orchestrator/emit/emit.h"
#include "orchestrator/console/report.h"
#include "orchestrator/explain/explain.h"
#include "orchestrator/help.h"
#include "orchestrator/mps/mps.h"
#include "orchestrator/merge/merge.h"
#include "orchestrator/plot/plot.h"
#include "orchestrator/probe/probe.h"
#include "orchestrator/slurm/slurm.h"
#include "orchestrator/sweep/sweep.h"
#include "orchestrator/trace/trace.h"
#include "orchestrator/tune/tune.h"

/* What the words of a command line come to. */
struct call {
    const struct command *command;
    const char *operand;   /* job file or results, NULL if none */
    const char *second;    /* compare: the other results */
    const char **operands; /* merge: all of them */
    size_t operand_count;
    char **rest; /* a command and its words, of those that take one; NULL if none */
    bool help;
    struct slurm_given *given;
    size_t count;
};

static int bad_usage(const struct command *command)
{
    fprintf(stderr, "mpsweep: %s", status_text());
    if (command)
        fprintf(stderr, " (options: 'mpsweep %s --help')", command->name);
    fputc('\n', stderr);
    return EXIT_BAD_SETUP;
}

/* The commands whose options it takes. */
static unsigned taken_by(const struct command *command)
{
    return command->bit | (command->bit == OPTION_SLURM_SUBMIT ? OPTION_SWEEP : 0U);
}

/* The row of an option, the command's own before those that it hands on. */
static const struct option_row *find_row(const struct command *command, const char *name,
                                         char letter)
{
    const struct option_row *row =
        name ? option_find(name, command->bit) : option_find_letter(letter, command->bit);
    if (row)
        return row;
    return name ? option_find(name, taken_by(command))
                : option_find_letter(letter, taken_by(command));
}

static enum status unknown_option(const struct call *call, const char *word)
{
    const char *nearest =
        strncmp(word, "--", 2) == 0 ? option_nearest(word + 2, taken_by(call->command)) : NULL;
    return status_set(STATUS_USAGE, "unknown option '%s'%s%s%s", word,
                      nearest ? "; did you mean '--" : "", nearest ? nearest : "",
                      nearest ? "'?" : "");
}

/* One option at argv[*at], with its value from the same word or the next one. */
static enum status take_option(struct call *call, int argc, char **argv, int *at)
{
    char *word = argv[*at];
    const struct option_row *row;
    const char *text = NULL;
    if (word[1] == '-') {
        char *equals = strchr(word, '=');
        if (equals)
            *equals = '\0';
        row = find_row(call->command, word + 2, 0);
        text = equals ? equals + 1 : NULL;
    } else {
        row = find_row(call->command, NULL, word[1]);
        if (word[2] && row && row->kind == OPTION_KIND_SWITCH)
            return status_set(STATUS_USAGE, "'%s': write short switches one by one", word);
        text = word[2] ? word + 2 : NULL;
    }
    if (!row)
        return unknown_option(call, word);
    if (row->kind == OPTION_KIND_SWITCH) {
        if (text)
            return status_set(STATUS_USAGE, "--%s takes no value", row->name);
        text = "yes";
    } else if (!text) {
        if (*at + 1 >= argc)
            return status_set(STATUS_USAGE, "%s needs a value: %s", word,
                              row->metavar ? row->metavar : row->choices);
        text = argv[++*at];
    }
    /* Which of two values was meant? Only layouts add up. */
    for (size_t i = 0; i < call->count && row->kind != OPTION_KIND_LAYOUT; i++)
        if (call->given[i].row == row)
            return status_set(STATUS_USAGE, "--%s is given twice", row->name);
    call->given[call->count++] = (struct slurm_given){row, text};
    return STATUS_OK;
}

/* Commands whose '--' is followed by a program to measure, or to deploy. */
static bool takes_program(const struct command *command)
{
    return command->bit &
           (OPTION_SWEEP | OPTION_TUNE | OPTION_EMIT | OPTION_TRACE | OPTION_SLURM_SUBMIT);
}

static enum status parse_call(int argc, char **argv, int first, struct call *call)
{
    bool options_end = false;
    for (int i = first; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0 && takes_program(call->command)) {
            call->rest = argv + i + 1;
            if (!*call->rest && call->command->bit != OPTION_SLURM_SUBMIT)
                return status_set(STATUS_USAGE, "there is no program after '--'");
            break;
        }
        if (!options_end && strcmp(argv[i], "--") == 0) {
            options_end = true;
            continue;
        }
        if (!options_end && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            call->help = true;
            continue;
        }
        if (!options_end && argv[i][0] == '-' && argv[i][1]) {
            enum status status = take_option(call, argc, argv, &i);
            if (status != STATUS_OK)
                return status;
            continue;
        }
        if (call->command->bit == OPTION_MPS_RUN) {
            call->rest = argv + i;
            break;
        }
        if (call->command->bit == OPTION_MERGE) {
            call->operands[call->operand_count++] = argv[i];
            continue;
        }
        if (call->operand && !call->second && call->command->bit == OPTION_COMPARE) {
            call->second = argv[i];
            continue;
        }
        if (call->operand || call->command->bit == OPTION_DOCTOR || call->command->page == HELP_MPS)
            return status_set(STATUS_USAGE, "unexpected argument '%s'", argv[i]);
        call->operand = argv[i];
    }
    return STATUS_OK;
}

/* sweep, tune and trace: a job, and the command line above it. */
static int run_job(const struct call *call)
{
    struct job job;
    enum status status = job_load(call->operand, &job);
    if (status != STATUS_OK)
        return bad_usage(NULL);
    int result = EXIT_BAD_SETUP;
    job.command = call->rest;
    for (size_t i = 0; i < call->count && status == STATUS_OK; i++)
        status = job_set(&job, call->given[i].row, call->given[i].text);
    if (status != STATUS_OK)
        bad_usage(call->command);
    else if (call->command->bit == OPTION_TUNE)
        result = tune_command(&job, call->operand);
    else if (call->command->bit == OPTION_TRACE)
        result = trace_command(&job, call->operand);
    else
        result = sweep_command(&job, call->operand);
    job_release(&job);
    return result;
}

/* The options of a command that has no job file. */
static enum status plain_options(const struct call *call, struct options *out)
{
    enum status status = options_init(out);
    for (size_t i = 0; i < call->count && status == STATUS_OK; i++) {
        status =
            options_set(out, call->given[i].row, call->given[i].text, JOB_RANK_COMMAND_LINE, "");
        if (status != STATUS_OK)
            options_release(out);
    }
    return status;
}

static int run_plot(const struct call *call)
{
    struct options options;
    if (plain_options(call, &options) != STATUS_OK)
        return bad_usage(call->command);
    const struct plot_request request = {
        .results = call->operand,
        .figure = options_text(&options, OPTION_FIGURE),
        .output = options_text(&options, OPTION_OUTPUT),
        .explained = options_text(&options, OPTION_EXPLAINED),
    };
    int result = EXIT_ALL_MEASURED;
    if (!request.results || !request.output) {
        status_record("plot needs %s", request.results ? "--output FILE" : "a results file");
        result = bad_usage(call->command);
    } else if (plot_write(&request, stdout) != STATUS_OK) {
        result = bad_usage(NULL);
    }
    options_release(&options);
    return result;
}

static int run_compare(const struct call *call)
{
    struct options options;
    if (plain_options(call, &options) != STATUS_OK)
        return bad_usage(call->command);
    int result;
    if (call->second) {
        result = compare_command(&options, call->operand, call->second);
    } else {
        status_record("compare needs two results files: BASE and NEW");
        result = bad_usage(call->command);
    }
    options_release(&options);
    return result;
}

static int run_merge(const struct call *call)
{
    struct options options;
    if (plain_options(call, &options) != STATUS_OK)
        return bad_usage(call->command);
    int result;
    if (call->operand_count == 0 || !options_text(&options, OPTION_OUTPUT)) {
        status_record("merge needs %s",
                      call->operand_count ? "--output FILE" : "results files of shards or nodes");
        result = bad_usage(call->command);
    } else {
        result = merge_command(&options, call->operands, call->operand_count);
    }
    options_release(&options);
    return result;
}

static int run_explain(const struct call *call)
{
    struct options options;
    if (plain_options(call, &options) != STATUS_OK)
        return bad_usage(call->command);
    int result;
    if (!call->operand) {
        status_record("explain needs a results file");
        result = bad_usage(call->command);
    } else {
        result = explain_command(&options, call->operand);
    }
    options_release(&options);
    return result;
}

static int run_emit(const struct call *call)
{
    struct options options;
    if (plain_options(call, &options) != STATUS_OK)
        return bad_usage(call->command);
    int result = EXIT_BAD_SETUP;
    const char *missing = emit_command_lacks(&options, call->operand);
    if (missing) {
        status_record("emit needs %s", missing);
        bad_usage(call->command);
    } else {
        result = emit_command(&options, call->operand, call->rest);
    }
    options_release(&options);
    return result;
}

static int run_probe(const struct call *call)
{
    struct options options;
    if (plain_options(call, &options) != STATUS_OK)
        return bad_usage(call->command);
    int result = probe_command(&options, call->operand);
    options_release(&options);
    return result;
}

static int run_slurm(const struct call *call)
{
    if (call->command->bit == OPTION_SLURM_SUBMIT)
        return slurm_submit_command(call->given, call->count, call->operand, call->rest);
    struct options options;
    if (plain_options(call, &options) != STATUS_OK)
        return bad_usage(call->command);
    int result;
    if (!call->operand) {
        status_record("%s needs DIR, the directory of a run", call->command->name);
        result = bad_usage(call->command);
    } else if (call->command->bit == OPTION_SLURM_STATUS) {
        result = slurm_status_command(&options, call->operand);
    } else if (call->command->bit == OPTION_SLURM_COLLECT) {
        result = slurm_collect_command(&options, call->operand);
    } else {
        result = slurm_cancel_command(call->operand);
    }
    options_release(&options);
    return result;
}

static int run_doctor(const struct call *call)
{
    struct options options;
    if (plain_options(call, &options) != STATUS_OK)
        return bad_usage(call->command);
    const char *device = options_text(&options, OPTION_DEVICE);
    int result = doctor_command(device);
    if (result == EXIT_ALL_MEASURED && options_switch(&options, OPTION_FIND_LIMITS))
        result = doctor_limits_command(device);
    options_release(&options);
    return result;
}

static int run_without_command(const struct call *call)
{
    status_record("mps run needs a command: mpsweep mps run -- COMMAND");
    bad_usage(call->command);
    return MPS_RUN_FAILED;
}

static int run_mps(const struct call *call)
{
    struct options options;
    bool is_run = call->command->bit == OPTION_MPS_RUN;
    if (plain_options(call, &options) != STATUS_OK) {
        bad_usage(call->command);
        return is_run ? MPS_RUN_FAILED : EXIT_BAD_SETUP;
    }
    int result;
    switch (call->command->bit) {
    case OPTION_MPS_START:
        result = mps_start_command(&options);
        break;
    case OPTION_MPS_STOP:
        result = mps_stop_command(&options);
        break;
    case OPTION_MPS_STATUS:
        result = mps_status_command(&options);
        break;
    case OPTION_MPS_ENV:
        result = mps_env_command(&options);
        break;
    default:
        result = call->rest ? mps_run_command(&options, call->rest) : run_without_command(call);
        break;
    }
    options_release(&options);
    return result;
}

static int run_call(int argc, char **argv, int first, struct call *call)
{
    if (parse_call(argc, argv, first, call) != STATUS_OK) {
        bad_usage(call->command);
        /* Never a status that could be the command's. */
        return call->command->bit == OPTION_MPS_RUN ? MPS_RUN_FAILED : EXIT_BAD_SETUP;
    }
    if (call->help) {
        help_print_command(stdout, call->command);
        return EXIT_ALL_MEASURED;
    }
    switch (call->command->bit) {
    case OPTION_SWEEP:
    case OPTION_TUNE:
    case OPTION_TRACE:
        return run_job(call);
    case OPTION_PLOT:
        return run_plot(call);
    case OPTION_COMPARE:
        return run_compare(call);
    case OPTION_MERGE:
        return run_merge(call);
    case OPTION_EXPLAIN:
        return run_explain(call);
    case OPTION_EMIT:
        return run_emit(call);
    case OPTION_DOCTOR:
        return run_doctor(call);
    case OPTION_PROBE:
        return run_probe(call);
    case OPTION_SLURM_SUBMIT:
    case OPTION_SLURM_STATUS:
    case OPTION_SLURM_COLLECT:
    case OPTION_SLURM_CANCEL:
        return run_slurm(call);
    default:
        return run_mps(call);
    }
}

static int unknown_command(const char *name)
{
    status_record("unknown command '%s': it is one of sweep, tune, trace, explain, plot, compare, "
                  "merge, emit, probe, doctor, slurm, mps",
                  name);
    return bad_usage(NULL);
}

/* Words that have commands of their own. */
static const struct family {
    const char *name, *commands;
    enum help_page page;
} families[] = {
    {"mps", "start, stop, status, run, env", HELP_MPS},
    {"slurm", "submit, status, collect, cancel", HELP_SLURM},
};

static const struct family *family_of(const char *word)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].name, word) == 0)
            return &families[i];
    return NULL;
}

/* The command that the words from argv[at] on name, of which it takes one or two; NULL: none. */
static const struct command *find_command(int argc, char **argv, int at, int *taken)
{
    char name[64];
    *taken = 1;
    if (at + 1 < argc && family_of(argv[at])) {
        *taken = 2;
        snprintf(name, sizeof name, "%s %s", argv[at], argv[at + 1]);
        return command_find(name);
    }
    return at < argc ? command_find(argv[at]) : NULL;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* mpsweep mps, mpsweep mps --help, mpsweep mps WHAT? */
static int family_without_command(const struct family *family, const char *word)
{
    if (word && is_help(word)) {
        help_print(stdout, family->page);
        return EXIT_ALL_MEASURED;
    }
    if (!word) {
        help_print(stderr, family->page);
        return EXIT_BAD_SETUP;
    }
    status_record("unknown command '%s %s': it is one of %s %s", family->name, word, family->name,
                  family->commands);
    return bad_usage(NULL);
}

static int help_command(int argc, char **argv)
{
    int taken;
    const struct command *command = find_command(argc, argv, 2, &taken);
    const struct family *family = argc > 2 ? family_of(argv[2]) : NULL;
    if (argc > 2 && strcmp(argv[2], "--manual") == 0)
        help_print_manual(stdout, argc > 3 && strcmp(argv[3], "mps") == 0     ? HELP_MPS
                                  : argc > 3 && strcmp(argv[3], "tune") == 0  ? HELP_TUNE
                                  : argc > 3 && strcmp(argv[3], "probe") == 0 ? HELP_PROBE
                                  : argc > 3 && strcmp(argv[3], "trace") == 0 ? HELP_TRACE
                                  : argc > 3 && strcmp(argv[3], "merge") == 0 ? HELP_MERGE
                                  : argc > 3 && strcmp(argv[3], "slurm") == 0 ? HELP_SLURM
                                                                              : HELP_MAIN);
    else if (command)
        help_print_command(stdout, command);
    else if (family)
        return family_without_command(family, argc > 3 ? argv[3] : "help");
    else if (argc > 2)
        return unknown_command(argv[2]);
    else
        help_print(stdout, HELP_MAIN);
    return EXIT_ALL_MEASURED;
}

static int run_program(int argc, char **argv)
{
    if (argc < 2) {
        help_print(stderr, HELP_MAIN);
        return EXIT_BAD_SETUP;
    }
    if (is_help(argv[1]))
        return help_command(argc, argv);
    if (strcmp(argv[1], "--version") == 0) {
        puts(PACKAGE_STRING);
        return EXIT_ALL_MEASURED;
    }
    int taken;
    struct call call = {.command = find_command(argc, argv, 1, &taken)};
    if (!call.command && family_of(argv[1]))
        return family_without_command(family_of(argv[1]), argc > 2 ? argv[2] : NULL);
    if (!call.command)
        return unknown_command(argv[1]);
    call.given = calloc((size_t)argc, sizeof *call.given);
    call.operands = calloc((size_t)argc, sizeof *call.operands);
    int result;
    if (call.given && call.operands) {
        result = run_call(argc, argv, 1 + taken, &call);
    } else {
        status_record("out of memory");
        result = bad_usage(NULL);
    }
    free(call.given);
    free(call.operands);
    return result;
}

int main(int argc, char **argv)
{
    /* A closed standard descriptor would be given to the next file opened, and what is printed
     * would go there. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
            return EXIT_BAD_SETUP;
    /* A reader that goes away, or a full disk under a size limit, is an error of the write. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    /* In one piece where nobody watches, so that a failure is seen where it can be reported. */
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, NULL, _IOFBF, 1 << 20);
    int result = run_program(argc, argv);
    /* Lost output is an error, unless its reader had enough. */
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE) {
        status_record("cannot write standard output%s%s", errno ? ": " : "",
                      errno ? strerror(errno) : "");
        return bad_usage(NULL);
    }
    return result;
}
