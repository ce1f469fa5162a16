#include "orchestrator/help.h"

#include <string.h>

#include "config.h"

const struct command commands[] = {
    {"sweep", OPTION_SWEEP, "mpsweep sweep [JOBFILE] [options]",
     "measure every point of a plan, print a table, write results",
     "  mpsweep sweep                                   the main layouts on the first GPU\n"
     "  mpsweep sweep -l threads:1-16 -l processes+mps:1-16 -m pinned,pageable -o out.jsonl\n"
     "  mpsweep sweep -l hybrid:8x2,16x2 -c 2,8         P×T over MPS, with 2 and 8 queues each\n"
     "  mpsweep sweep examples/forum.job -o out.jsonl   a plan from a file; options override it\n"
     "  mpsweep sweep examples/forum.job --dry-run      what it would do, and for how long\n"},
    {"plot", OPTION_PLOT, "mpsweep plot RESULTS [--figure F] -o FILE",
     "draw a figure from a results file",
     "  mpsweep plot out.jsonl -o out.svg               throughput against workers\n"
     "  mpsweep plot out.jsonl -o out.pdf               the same for a paper\n"
     "  mpsweep plot out.jsonl -o out.gp                the data, for gnuplot -c "
     "plots/throughput.gp\n"},
    {"doctor", OPTION_DOCTOR, "mpsweep doctor [options]",
     "is this machine ready, and if not, what to type",
     "  mpsweep doctor\n"
     "  mpsweep doctor --device emulated                check without a GPU\n"},
};

const size_t command_count = sizeof commands / sizeof commands[0];

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static const char exit_text[] =
    "Exit status: 0 all points measured, 1 wrong usage or setup, 2 some points failed,\n"
    "130 interrupted. Points that the driver refuses are 'infeasible', not failed.\n";

void help_print(FILE *out)
{
    fputs("mpsweep - how should I lay my workers out on this GPU?\n\n"
          "Measures threads in one process, processes, and both over NVIDIA MPS, side by side.\n\n",
          out);
    for (size_t i = 0; i < command_count; i++)
        fprintf(out, "  %-44s %s\n", commands[i].synopsis, commands[i].summary);
    fputs("\n  mpsweep COMMAND --help                       options and examples of a command\n"
          "  mpsweep --version\n\n",
          out);
    fputs(exit_text, out);
}

static void print_metavar(FILE *out, const struct option_row *row)
{
    if (row->kind != OPTION_KIND_SWITCH)
        fprintf(out, " %s", row->metavar ? row->metavar : row->choices);
}

static void print_indented(FILE *out, const char *text)
{
    for (const char *line = text; line;) {
        const char *end = strchr(line, '\n');
        fprintf(out, "        %.*s\n", (int)(end ? end - line : (long)strlen(line)), line);
        line = end ? end + 1 : NULL;
    }
}

static void print_option(FILE *out, const struct option_row *row)
{
    if (row->letter)
        fprintf(out, "  -%c, --%s", row->letter, row->name);
    else
        fprintf(out, "      --%s", row->name);
    print_metavar(out, row);
    if (row->initial && row->kind != OPTION_KIND_SWITCH)
        fprintf(out, "   [%s]", row->initial);
    if (row->flags & OPTION_AXIS)
        fputs("   *", out);
    fputc('\n', out);
    print_indented(out, row->help);
}

void help_print_command(FILE *out, const struct command *command)
{
    bool axes = false;
    const char *group = "";
    fprintf(out, "%s\n\n%s\n", command->synopsis, command->summary);
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        if (!(row->commands & command->bit))
            continue;
        if (strcmp(group, row->group) != 0)
            fprintf(out, "\n%s\n", row->group);
        group = row->group;
        axes |= row->flags & OPTION_AXIS;
        print_option(out, row);
    }
    if (axes)
        fputs("\nOptions marked * take several values (a,b or 1-4), which multiply into points.\n"
              "Each option but those under Output is also a key of the job file.\n",
              out);
    fprintf(out, "\nExamples\n%s\n%s", command->examples, exit_text);
}

/* roff takes a leading dot or quote for a request, and a dash for a hyphen. */
static void print_roff(FILE *out, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else if (*text == ',')
            fputs(",\\:", out); /* a list without blanks may go on in the next line */
        else
            fputc(*text, out);
        line_start = *text == '\n';
    }
}

void help_print_manual(FILE *out)
{
    fprintf(out,
            ".TH MPSWEEP 1 \"\" \"mpsweep %s\" \"User Commands\"\n"
            ".ad l\n.nh\n"
            ".SH NAME\nmpsweep \\- measure how workers are best laid out on an NVIDIA GPU\n"
            ".SH SYNOPSIS\n",
            PACKAGE_VERSION);
    for (size_t i = 0; i < command_count; i++) {
        fputs(i ? ".br\n" : "", out);
        print_roff(out, commands[i].synopsis);
        fputc('\n', out);
    }
    fputs(".SH DESCRIPTION\n"
          "mpsweep runs one workload in every layout of workers on a GPU: threads in one process,\n"
          "processes that are time-sliced, processes over MPS (the Multi\\-Process Service),\n"
          "threads over MPS, and P processes of T threads over MPS. It prints and writes the\n"
          "throughput and latency of each. Where there is no NVIDIA driver, an emulated GPU shows\n"
          "how it works; its numbers are marked everywhere.\n",
          out);
    for (size_t i = 0; i < command_count; i++) {
        fprintf(out, ".SH %s\n", commands[i].name);
        print_roff(out, commands[i].summary);
        fputs(".PP\n.nf\n", out);
        print_roff(out, commands[i].examples);
        fputs(".fi\n", out);
    }
    fputs(
        ".SH OPTIONS\nThe last words name the commands that take an option. Options of sweep are\n"
        "keys of its job file, too, unless they are about output. Where several values are\n"
        "allowed, as in a,b or 1\\-4, they multiply into points.\n",
        out);
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        fputs(".TP\n.B ", out);
        if (row->letter)
            fprintf(out, "\\-%c, ", row->letter);
        fputs("\\-\\-", out);
        print_roff(out, row->name);
        if (row->kind != OPTION_KIND_SWITCH) {
            fputs(" \\fI", out);
            print_roff(out, row->metavar ? row->metavar : row->choices);
            fputs("\\fR", out);
        }
        fputc('\n', out);
        print_roff(out, row->help);
        if (row->initial && row->kind != OPTION_KIND_SWITCH) {
            fputs("\nDefault: ", out);
            print_roff(out, row->initial);
            fputc('.', out);
        }
        fputs(row->flags & OPTION_AXIS ? "\nTakes several values." : "", out);
        fputs("\n(", out);
        const char *separator = "";
        for (size_t c = 0; c < command_count; c++) {
            if (!(row->commands & commands[c].bit))
                continue;
            fprintf(out, "%s%s", separator, commands[c].name);
            separator = ", ";
        }
        fputs(")\n", out);
    }
    fputs(".SH EXIT STATUS\n", out);
    print_roff(out, exit_text);
    fputs(".SH FILES\nResults are JSON Lines; docs/results\\-format.md describes them.\n"
          ".SH SEE ALSO\nnvidia\\-cuda\\-mps\\-control(1), gnuplot(1), hwloc(7)\n",
          out);
}
