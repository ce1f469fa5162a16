#include "orchestrator/commands/commands.h"

#include <limits.h>
#include <string.h>

#include "common/text.h"
#include "job/jobfile.h"
#include "job/option_words.h"
#include "orchestrator/capture/capture.h"
#include "orchestrator/compare/compare.h"
#include "orchestrator/doctor/doctor.h"
#include "orchestrator/emit/emit.h"
#include "orchestrator/explain/explain.h"
#include "orchestrator/export/export.h"
#include "orchestrator/merge/merge.h"
#include "orchestrator/mps/mps.h"
#include "orchestrator/plot/plot.h"
#include "orchestrator/probe/probe.h"
#include "orchestrator/report/report.h"
#include "orchestrator/slurm/slurm.h"
#include "orchestrator/sweep/sweep.h"
#include "orchestrator/trace/trace.h"
#include "orchestrator/tune/tune.h"

/* In the order of --help. */
const struct command commands[] = {
    {.name = "sweep",
     .run = sweep_command,
     .bit = OPTION_SWEEP,
     .flags = COMMAND_JOB | COMMAND_PROGRAM,
     .most = 1,
     .synopsis = "mpsweep sweep [JOBFILE] [options] [-- PROGRAM [ARGUMENT...]]",
     .summary = "measure every point of a plan, print a table, write results"},
    {.name = "tune",
     .run = tune_command,
     .bit = OPTION_TUNE,
     .flags = COMMAND_JOB | COMMAND_PROGRAM,
     .most = 1,
     .synopsis = "mpsweep tune [JOBFILE] [options] [-- PROGRAM [ARGUMENT...]]",
     .summary = "find the best layout under constraints"},
    {.name = "trace",
     .run = trace_command,
     .bit = OPTION_TRACE,
     .flags = COMMAND_JOB | COMMAND_PROGRAM,
     .most = 1,
     .synopsis = "mpsweep trace [JOBFILE] [options] [-- PROGRAM [ARGUMENT...]]",
     .summary = "API and GPU timeline of one layout"},
    {.name = "record",
     .run = capture_command,
     .bit = OPTION_RECORD,
     .flags = COMMAND_JOB | COMMAND_PROGRAM,
     .synopsis = "mpsweep record -o JOB [options] -- PROGRAM [ARGUMENT...]",
     .summary = "what an iteration of any program does, as a workload"},
    {.name = "plot",
     .run = plot_command,
     .bit = OPTION_PLOT,
     .least = 1,
     .most = 1,
     .needed = "a results file",
     .needs = {OPTION_OUTPUT},
     .synopsis = "mpsweep plot RESULTS [--figure F] -o FILE",
     .summary = "draw a figure from a results file"},
    {.name = "report",
     .run = report_command,
     .bit = OPTION_REPORT,
     .least = 1,
     .most = COMMAND_ANY_NUMBER,
     .needed = "a results file",
     .needs = {OPTION_OUTPUT},
     .synopsis = "mpsweep report RESULTS... -o FILE.html",
     .summary = "one page of results: the best layout and why, figures, all points"},
    {.name = "export",
     .run = export_command,
     .bit = OPTION_EXPORT,
     .least = 1,
     .most = 1,
     .needed = "a results file",
     .synopsis = "mpsweep export RESULTS [--format F]",
     .summary = "the points as a table, CSV, JSON, or metrics for Prometheus"},
    {.name = "explain",
     .run = explain_command,
     .bit = OPTION_EXPLAIN,
     .least = 1,
     .most = 1,
     .needed = "a results file",
     .synopsis = "mpsweep explain RESULTS [--verify]",
     .summary = "what limits each point, and what would lift it"},
    {.name = "compare",
     .run = compare_command,
     .bit = OPTION_COMPARE,
     .least = 2,
     .most = 2,
     .needed = "two results files: BASE and NEW",
     .synopsis = "mpsweep compare BASE NEW [options]",
     .summary = "is NEW worse than BASE? a verdict on each point, exit status 3 for yes"},
    {.name = "merge",
     .run = merge_command,
     .bit = OPTION_MERGE,
     .least = 1,
     .most = COMMAND_ANY_NUMBER,
     .needed = "results files of shards or nodes",
     .needs = {OPTION_OUTPUT},
     .synopsis = "mpsweep merge FILE... -o ALL.jsonl",
     .summary = "put the results of shards or of a fleet together"},
    {.name = "emit",
     .run = emit_command,
     .bit = OPTION_EMIT,
     .flags = COMMAND_PROGRAM,
     .least = 1,
     .most = 1,
     .needed = "a results file",
     .needs = {OPTION_EMIT_TARGET, OPTION_EMIT_OUTPUT},
     .synopsis = "mpsweep emit RESULTS --target T -o DIR [-- CMD]",
     .summary = "write a directory that runs a measured layout"},
    {.name = "probe",
     .run = probe_command,
     .bit = OPTION_PROBE,
     .most = 1,
     .synopsis = "mpsweep probe NAME|all [options]",
     .summary = "does one GPU operation delay another here, and what stops it?"},
    {.name = "doctor",
     .run = doctor_command,
     .bit = OPTION_DOCTOR,
     .synopsis = "mpsweep doctor [options]",
     .summary = "is this machine ready, and if not, what to type"},
    {.name = "mps start",
     .run = mps_command_start,
     .bit = OPTION_MPS_START,
     .synopsis = "mpsweep mps start [options]",
     .summary = "start an MPS daemon of your own, which runs until it is stopped"},
    {.name = "mps stop",
     .run = mps_command_stop,
     .bit = OPTION_MPS_STOP,
     .synopsis = "mpsweep mps stop [--dir DIR] [--force]",
     .summary = "end it, and remove all that it had"},
    {.name = "mps status",
     .run = mps_command_status,
     .bit = OPTION_MPS_STATUS,
     .synopsis = "mpsweep mps status [--dir DIR] [--format FORMAT]",
     .summary = "daemon, servers, settings read back, clients with their commands"},
    {.name = "mps run",
     .run = mps_command_run,
     .bit = OPTION_MPS_RUN,
     .flags = COMMAND_WRAPS,
     .least = 1,
     .needed = "a command: mpsweep mps run -- COMMAND",
     .usage_exit = MPS_RUN_FAILED, /* never a status that could be the command's */
     .synopsis = "mpsweep mps run [options] [--] COMMAND [ARGUMENT...]",
     .summary = "run a command over an MPS daemon that lives as long as it does"},
    {.name = "mps env",
     .run = mps_command_env,
     .bit = OPTION_MPS_ENV,
     .synopsis = "mpsweep mps env [--dir DIR]",
     .summary = "print what a shell must set for its commands to be clients"},
    {.name = "slurm submit",
     .run = slurm_submit_command,
     .bit = OPTION_SLURM_SUBMIT,
     .also = OPTION_SWEEP,
     .flags = COMMAND_PROGRAM | COMMAND_AS_GIVEN,
     .most = 1,
     .behind = "options of sbatch go behind '--'",
     .synopsis = "mpsweep slurm submit [JOBFILE] -N N [options] [-- ...]",
     .summary = "measure a plan on N nodes of a cluster, as a job array"},
    {.name = "slurm status",
     .run = slurm_status_command,
     .bit = OPTION_SLURM_STATUS,
     .least = 1,
     .most = 1,
     .needed = "DIR, the directory of a run",
     .synopsis = "mpsweep slurm status DIR [--format json]",
     .summary = "each shard: its state, node, points, time left, last error"},
    {.name = "slurm collect",
     .run = slurm_collect_command,
     .bit = OPTION_SLURM_COLLECT,
     .least = 1,
     .most = 1,
     .needed = "DIR, the directory of a run",
     .synopsis = "mpsweep slurm collect DIR [-o FILE]",
     .summary = "merge what is there, and list what is missing"},
    {.name = "slurm cancel",
     .run = slurm_cancel_command,
     .bit = OPTION_SLURM_CANCEL,
     .least = 1,
     .most = 1,
     .needed = "DIR, the directory of a run",
     .synopsis = "mpsweep slurm cancel DIR",
     .summary = "end the run's jobs; what is measured stays"},
};

const size_t command_count = sizeof commands / sizeof commands[0];

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

bool command_is_of(const struct command *command, const char *family)
{
    size_t length = strlen(family);
    return strncmp(command->name, family, length) == 0 && command->name[length] == ' ';
}

bool command_is_family(const char *word)
{
    for (size_t i = 0; i < command_count; i++)
        if (command_is_of(&commands[i], word))
            return true;
    return false;
}

static const char *last_word(const char *name)
{
    const char *space = strrchr(name, ' ');
    return space ? space + 1 : name;
}

/* What users of other tools call a command. */
static const struct {
    const char *word, *command;
} meanings[] = {
    {"run", "sweep"},   {"bench", "sweep"},   {"benchmark", "sweep"}, {"measure", "sweep"},
    {"start", "sweep"}, {"test", "sweep"},    {"optimize", "tune"},   {"search", "tune"},
    {"best", "tune"},   {"profile", "trace"}, {"timeline", "trace"},  {"capture", "record"},
    {"draw", "plot"},   {"figure", "plot"},   {"graph", "plot"},      {"chart", "plot"},
    {"html", "report"}, {"why", "explain"},   {"analyze", "explain"}, {"diff", "compare"},
    {"deploy", "emit"}, {"show", "export"},   {"print", "export"},    {"check", "doctor"},
    {"info", "doctor"}, {"cat", "merge"}};

/* What users of other tools mean by a name; NULL: it is not known. */
static const char *command_meant(const char *name)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strcmp(meanings[i].word, name) == 0)
            return meanings[i].command;
    return NULL;
}

/* The command that a mistyped name means by its last word, of equal ones that of its family; NULL:
 * none. */
static const char *nearest_command(const char *name, unsigned *slips)
{
    const char *nearest = NULL, *word = last_word(name);
    for (int of_family = 1; of_family >= 0; of_family--)
        for (size_t i = 0; i < command_count; i++)
            if ((!of_family || strncmp(commands[i].name, name, (size_t)(word - name)) == 0) &&
                text_is_meant(word, last_word(commands[i].name), slips))
                nearest = commands[i].name;
    return nearest;
}

/* The word of two that a mistyped one means; NULL: neither. */
static const char *nearest_of(const char *name, const char *one, const char *other)
{
    unsigned slips = UINT_MAX;
    const char *nearest = text_is_meant(name, one, &slips) ? one : NULL;
    return text_is_meant(name, other, &slips) ? other : nearest;
}

enum status command_unknown_word(const char *word)
{
    unsigned slips = UINT_MAX;
    const char *command = nearest_command(word, &slips),
               *option = option_nearest(word, ~0u, &slips);
    const char *nearest = option ? option : command;
    if (!nearest)
        return status_set(STATUS_USAGE,
                          "'%s' is not a command, option or value that help knows: 'mpsweep help' "
                          "lists the commands, 'mpsweep COMMAND --help-all' their options",
                          word);
    return status_set(STATUS_USAGE,
                      "'%s' is not a command, option or value that help knows; did you mean '%s'?",
                      word, nearest);
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name), of_suffix = strlen(suffix);
    return length > of_suffix && strcmp(name + length - of_suffix, suffix) == 0;
}

/* The command that reads a file of that name; NULL: the name is of neither kind of file. */
static const char *reader_of(const char *name)
{
    char found[PATH_MAX];
    if (ends_in(name, ".jsonl"))
        return "export";
    return ends_in(name, ".job") || job_find(name, found) != name ? "sweep" : NULL;
}

enum status command_unknown(const char *name)
{
    char names[512] = "";
    struct text text = {.at = names, .size = sizeof names};
    const char *space = strchr(name, ' '), *nearest = command_meant(name);
    unsigned slips = UINT_MAX;
    if (!nearest)
        nearest = nearest_command(name, &slips);
    const char *asked =
        strncmp(name, "--", 2) == 0 ? nearest_of(name + 2, "version", "help") : NULL;
    if (asked)
        return status_set(STATUS_USAGE, "unknown option '%s'; did you mean '--%s'?", name, asked);
    if (*name == '-')
        return status_set(STATUS_USAGE,
                          "unknown option '%s' before a command: options come after it, as in "
                          "'mpsweep sweep %s ...'",
                          name, name);
    const char *reads = reader_of(name);
    if (reads)
        return status_set(STATUS_USAGE, "unknown command '%s'; did you mean 'mpsweep %s %s'?", name,
                          reads, name);
    if (nearest)
        return status_set(STATUS_USAGE, "unknown command '%s'; did you mean '%s'?", name, nearest);
    /* The commands of a family, or all with one word for each family. */
    size_t family = space ? (size_t)(space - name) + 1 : 0;
    bool known = false;
    for (size_t i = 0; i < command_count && family; i++)
        known |= strncmp(commands[i].name, name, family) == 0;
    family = known ? family : 0;
    for (size_t i = 0; i < command_count; i++) {
        const char *other = commands[i].name;
        size_t shown = family ? strlen(other) : strcspn(other, " ");
        if (strncmp(other, name, family) != 0 ||
            (i > 0 && !family && strncmp(other, commands[i - 1].name, shown + 1) == 0))
            continue;
        text_append(&text, "%s%.*s", text.length > 0 ? ", " : "", (int)shown, other);
    }
    return status_set(STATUS_USAGE, "unknown command '%s': it is one of %s", name, names);
}

const struct option_row *command_option(const struct command *command, const char *name,
                                        char letter, const char **value)
{
    const unsigned bits[] = {(unsigned)command->bit, command->also};
    const struct option_row *row = NULL;
    const struct option_alias *alias = NULL;
    for (size_t i = 0; i < 2 && !row; i++)
        row = name ? option_find(name, bits[i]) : option_find_letter(letter, bits[i]);
    if (!row)
        alias = option_alias_find(name, letter, bits[0] | bits[1]);
    *value = alias ? alias->value : NULL;
    return alias ? &option_table[alias->id] : row;
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && strncmp(word, text, length) == 0;
}

/* The bits of the commands, among those of an option, that a line of its help begins with, as in
 * "plot, compare: ..." or, of a family, "start, run: ..."; 0: none. */
static unsigned commands_of_line(const char *line, unsigned of_option)
{
    unsigned bits = 0;
    for (;; line += 2) {
        size_t length = strcspn(line, ",:.\n");
        unsigned named = 0;
        for (size_t i = 0; i < command_count; i++)
            if (of_option & (unsigned)commands[i].bit &&
                (is_word(commands[i].name, line, length) ||
                 is_word(last_word(commands[i].name), line, length)))
                named = (unsigned)commands[i].bit;
        if (!named)
            return 0;
        bits |= named;
        line += length;
        if (*line == ':')
            return bits;
        if (strncmp(line, ", ", 2) != 0)
            return 0;
    }
}

const char *command_option_help(const struct option_row *row, unsigned bits,
                                char out[COMMAND_HELP_BYTES])
{
    struct text text = {.at = out, .size = COMMAND_HELP_BYTES};
    unsigned about = ~0u;
    size_t length;
    out[0] = '\0';
    for (const char *line = row->help; *line; line += length + (line[length] == '\n')) {
        unsigned named = commands_of_line(line, row->commands);
        length = strcspn(line, "\n");
        about = named ? named : about;
        if (about & bits)
            text_append(&text, "%s%.*s", text.length > 0 ? "\n" : "", (int)length, line);
    }
    return out;
}

/* Of a short word nearly every other one is near. */
#define SHORT 4

enum status command_unknown_option(const struct command *command, const char *name)
{
    char others[256] = "";
    struct text text = {.at = others, .size = sizeof others};
    const char *meant, *value, *help = nearest_of(name, "help", "help-all");
    if (help)
        return status_set(STATUS_USAGE, "unknown option '--%s'; did you mean '--%s'?", name, help);
    if (option_meaning(name, (unsigned)command->bit | command->also, &meant, &value))
        return status_set(STATUS_USAGE, "unknown option '--%s'; did you mean '--%s%s%s'?", name,
                          meant, value ? " " : "", value ? value : "");
    unsigned slips = UINT_MAX;
    const char *known = option_nearest(name, ~0u, &slips);
    if (known && slips > 0 && strlen(name) < SHORT)
        known = NULL;
    if (known && slips == 0)
        text_append(&text, "; it belongs to ");
    else if (known)
        text_append(&text, "; '--%s' belongs to ", known);
    const char *before = "";
    for (size_t i = 0; i < command_count && known; i++)
        if (option_find(known, (unsigned)commands[i].bit)) {
            text_append(&text, "%s%s", before, commands[i].name);
            before = ", ";
        }
    return status_set(STATUS_USAGE, "unknown option '--%s'%s", name, others);
}
