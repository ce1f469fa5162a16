#include "orchestrator/help.h"

#include <string.h>

#include "config.h"

const struct command commands[] = {
    {"sweep", HELP_MAIN, OPTION_SWEEP,
     "mpsweep sweep [JOBFILE] [options] [-- PROGRAM [ARGUMENT...]]",
     "measure every point of a plan, print a table, write results",
     "  mpsweep sweep                                   the main layouts on the first GPU\n"
     "  mpsweep sweep -l threads:1-16 -l processes+mps:1-16 -m pinned,pageable -o out.jsonl\n"
     "  mpsweep sweep -l hybrid:8x2,16x2 -c 2,8         P×T over MPS, with 2 and 8 queues each\n"
     "  mpsweep sweep examples/forum.job -o out.jsonl   a plan from a file; options override it\n"
     "  mpsweep sweep examples/forum.job --dry-run      what it would do, and for how long\n"
     "  mpsweep sweep -l hybrid:2x2 -- ./serve --port {port}\n"
     "                                                  a program of yours: mpsweep_client(3)\n"},
    {"tune", HELP_TUNE, OPTION_TUNE, "mpsweep tune [JOBFILE] [options]",
     "find the best layout under constraints",
     "  mpsweep tune                                    the built-in workload, two minutes at "
     "most\n"
     "  mpsweep tune --max-p99 5ms --budget 60s -o tuned.jsonl\n"
     "  mpsweep tune my.job --max-processes 8 --launch stream   an axis that is given is kept to\n"
     "  mpsweep tune --dry-run                          the space, and what would be tried "
     "first\n"},
    {"trace", HELP_TRACE, OPTION_TRACE, "mpsweep trace [JOBFILE] [options]",
     "API and GPU timeline of one layout",
     "  mpsweep trace -l threads:4 -m pageable -s none -o trace.json\n"
     "                                                  for Perfetto and chrome://tracing\n"
     "  mpsweep trace -l hybrid:2x2 --print gpu-trace   every kernel and copy, one a line\n"
     "  mpsweep trace examples/delay-trace.job --point nosync --figure nosync.svg\n"
     "  mpsweep trace -l processes+mps:4 --iterations 10 --launch graph\n"},
    {"plot", HELP_MAIN, OPTION_PLOT, "mpsweep plot RESULTS [--figure F] -o FILE",
     "draw a figure from a results file",
     "  mpsweep plot out.jsonl -o out.svg               throughput against workers\n"
     "  mpsweep plot out.jsonl --figure all -o figures  every figure that the results allow\n"
     "  mpsweep plot out.jsonl -o out.pdf               the same for a paper\n"
     "  mpsweep plot out.jsonl -o out.gp                the data, for gnuplot -c "
     "plots/throughput.gp\n"},
    {"explain", HELP_MAIN, OPTION_EXPLAIN, "mpsweep explain RESULTS [--verify]",
     "what limits each point, and what would lift it",
     "  mpsweep explain out.jsonl                       needs a calibration: made once, kept "
     "there\n"
     "  mpsweep explain out.jsonl --verify              apply the remedies, and measure\n"
     "  mpsweep explain out.jsonl --format json | jq '.[].limited_by'\n"},
    {"compare", HELP_MAIN, OPTION_COMPARE, "mpsweep compare BASE NEW [options]",
     "is NEW worse than BASE? a verdict on each point, exit status 3 for yes",
     "  mpsweep compare base.jsonl new.jsonl            points are matched by their settings\n"
     "  mpsweep compare base.jsonl new.jsonl --threshold 5 -o ratios.svg\n"
     "  mpsweep compare base.jsonl new.jsonl -f json | jq .summary\n"},
    {"merge", HELP_MERGE, OPTION_MERGE, "mpsweep merge FILE... -o ALL.jsonl",
     "put the results of shards or of a fleet together",
     "  mpsweep merge part-*.jsonl -o all.jsonl         the shards of 'sweep --shard auto'\n"
     "  mpsweep merge part-*.jsonl -o all.jsonl --strict --force\n"
     "  mpsweep merge node-*.jsonl -o fleet.jsonl       of 'sweep --shard auto --fleet'\n"
     "  mpsweep plot fleet.jsonl --figure fleet -o fleet.svg\n"
     "  jq 'select(.type == \"gpus-differ\").gpus' all.jsonl\n"},
    {"emit", HELP_MAIN, OPTION_EMIT, "mpsweep emit RESULTS -f F -o DIR [-- CMD]",
     "write a directory that runs a measured layout",
     "  mpsweep emit out.jsonl --format env -o serve -- python3 serve.py --port {port}\n"
     "  mpsweep emit out.jsonl --format systemd --point 12 -o serve -- ./serve -t {threads}\n"
     "  mpsweep emit out.jsonl --format kubernetes --image registry/serve:1 -o serve -- serve\n\n"
     "Words of CMD may hold {process} (from 0), {processes}, {threads} (of each process), {port},\n"
     "{seed} and {gpu}; '{{' is a brace. The directory has a README.md that says how to start, "
     "check and stop it.\n"},
    {"probe", HELP_PROBE, OPTION_PROBE, "mpsweep probe NAME|all [options]",
     "does one GPU operation delay another here, and what stops it?",
     "  mpsweep probe --list                            which there are, and what they do\n"
     "  mpsweep probe copy-block                        seconds: a table, a verdict, a remedy\n"
     "  mpsweep probe all -o probes.jsonl               all, in less than two minutes on one GPU\n"
     "  mpsweep probe launch-delay --arms all -o sizes.jsonl\n"
     "                                                  copies from 4 KiB to 256 MiB\n"
     "  mpsweep probe launch-delay --arms pinned-256m --rounds 10\n"
     "                                                  one arm against its control, closely\n"
     "  mpsweep plot probes.jsonl --figure probe -o probes.svg\n"},
    {"doctor", HELP_MAIN, OPTION_DOCTOR, "mpsweep doctor [options]",
     "is this machine ready, and if not, what to type",
     "  mpsweep doctor\n"
     "  mpsweep doctor --limits                         how many MPS clients are allowed here\n"
     "  mpsweep doctor --device emulated                check without a GPU\n"},
    {"mps start", HELP_MPS, OPTION_MPS_START, "mpsweep mps start [options]",
     "start an MPS daemon of your own, which goes on until it is stopped",
     "  mpsweep mps start\n"
     "  mpsweep mps start --dir ./mps --active-thread-percentage 50 --memory-limit 0=20G\n"
     "  mpsweep mps start --gpu GPU-5cc9a2b1 --priority 1\n"},
    {"mps stop", HELP_MPS, OPTION_MPS_STOP, "mpsweep mps stop [--dir DIR] [--force]",
     "end it, and remove all that it had",
     "  mpsweep mps stop                                the only one there is\n"
     "  mpsweep mps stop --dir ./mps --force            clients are terminated first\n"},
    {"mps status", HELP_MPS, OPTION_MPS_STATUS, "mpsweep mps status [--dir DIR] [--format json]",
     "daemon, servers, settings read back, clients with their commands",
     "  mpsweep mps status\n"
     "  mpsweep mps status --dir /tmp/nvidia-mps        somebody else's: looked at, not touched\n"
     "  mpsweep mps status --format json | jq .clients\n"},
    {"mps run", HELP_MPS, OPTION_MPS_RUN, "mpsweep mps run [options] [--] COMMAND [ARGUMENT...]",
     "run a command over an MPS daemon that lives as long as it does",
     "  mpsweep mps run -- ./train --ranks 4            then says which processes were MPS "
     "clients\n"
     "  mpsweep mps run --active-thread-percentage 30 -- python3 serve.py\n"},
    {"mps env", HELP_MPS, OPTION_MPS_ENV, "mpsweep mps env [--dir DIR]",
     "print what a shell must set for its commands to be clients",
     "  eval \"$(mpsweep mps env)\"\n"},
    {"slurm submit", HELP_SLURM, OPTION_SLURM_SUBMIT,
     "mpsweep slurm submit [JOBFILE] -N N [options] [-- ...]",
     "measure a plan on N nodes of a cluster, as a job array",
     "  mpsweep slurm submit forum.job --nodes 4        a quarter of the points on each node\n"
     "  mpsweep slurm submit forum.job -N 8 --fleet     all of them on each: is one slower?\n"
     "  mpsweep slurm submit forum.job -N 4 --rounds 3 --dir /scratch/run -- -p gpu "
     "--time=2:00:00\n"
     "  mpsweep slurm submit forum.job -N 4 --dry-run   the batch scripts and command lines\n"
     "  mpsweep slurm submit --again /scratch/run       what is missing, after a failure\n"
     "  mpsweep slurm submit -N 2 -l hybrid:4x2 -- -p gpu -- ./serve --port {port}\n"
     "                                                  a program of yours, behind a second "
     "'--'\n\n"
     "All options of 'mpsweep sweep' can be given that are not about its files; they are handed "
     "on.\nWhat stands behind '--' are options of sbatch.\n"},
    {"slurm status", HELP_SLURM, OPTION_SLURM_STATUS, "mpsweep slurm status DIR [--json]",
     "each shard: its state, node, points, time left, last error",
     "  mpsweep slurm status /scratch/run\n"
     "  mpsweep slurm status /scratch/run --json | jq .left\n"},
    {"slurm collect", HELP_SLURM, OPTION_SLURM_COLLECT, "mpsweep slurm collect DIR [-o FILE]",
     "merge what is there, and say what is missing",
     "  mpsweep slurm collect /scratch/run\n"
     "  mpsweep slurm collect /scratch/run -o all.jsonl && mpsweep plot all.jsonl -o all.svg\n"},
    {"slurm cancel", HELP_SLURM, OPTION_SLURM_CANCEL, "mpsweep slurm cancel DIR",
     "end the run's jobs; what is measured stays", "  mpsweep slurm cancel /scratch/run\n"},
};

const size_t command_count = sizeof commands / sizeof commands[0];

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static const struct {
    const char *name, *title, *introduction, *description, *exit;
} pages[] = {
    [HELP_MAIN] =
        {"mpsweep", "measure how workers are best laid out on an NVIDIA GPU",
         "mpsweep - how should I lay my workers out on this GPU?\n\n"
         "Measures threads in one process, processes, and both over NVIDIA MPS, side by side.\n\n",
         "mpsweep runs one workload in every layout of workers on a GPU: threads in one process,\n"
         "processes that are time-sliced, processes over MPS (the Multi\\-Process Service),\n"
         "threads over MPS, and P processes of T threads over MPS. It prints and writes the\n"
         "throughput and latency of each. Where there is no NVIDIA driver, an emulated GPU shows\n"
         "how it works; its numbers are marked everywhere.\n",
         "Exit status: 0 all points measured, 1 wrong usage or setup, 2 some points failed "
         "(explain\n"
         "--verify: a remedy was not confirmed), 3 compare: some points are worse, 130 "
         "interrupted.\n"
         "Points that the driver refuses are 'infeasible', not failed.\n"},
    [HELP_TUNE] =
        {"mpsweep-tune", "find the best layout of workers on an NVIDIA GPU, under constraints",
         "mpsweep tune - the best layout for one workload\n\n",
         "mpsweep tune looks for the layout of workers that serves one workload best: P processes\n"
         "of T threads, over MPS (the Multi\\-Process Service) or not, with which hardware "
         "queues,\n"
         "host memory, way of launching and of waiting, and CPU binding. An axis that the job "
         "file\n"
         "or the command line gives is kept to; all others get what the machine allows.\n"
         ".PP\n"
         "The layouts that one would take without a search are always measured: one worker, as\n"
         "many threads as there are CPUs, as many processes, and these over MPS. Then come short\n"
         "windows of what a calibration foretells to be best, or, without one, of a few sizes of\n"
         "each kind of layout, and of what lies near the best of them. What is surely worse is\n"
         "dropped, the others get longer windows, and up to four finalists are measured in\n"
         "rounds, each with fresh processes and in random order, until one is better than all\n"
         "others beyond doubt, all are the same within 1%, or the time is over. It says which.\n"
         ".PP\n"
         "Every point measured is a record of the results file, so that plot, explain and compare\n"
         "work on it; the last record but one is the answer. \\-\\-resume takes over what a file\n"
         "holds and goes on, with a budget of its own. docs/tuning.md describes the method.\n",
         "Exit status: 0 a best layout was found, or several that may be as good; 1 wrong usage "
         "or\n"
         "setup; 4 no layout was found that surely meets the constraints (it says which came\n"
         "closest), or there was no time to measure any; 130 interrupted (it says what was best "
         "so\n"
         "far).\n"},
    [HELP_PROBE] =
        {"mpsweep-probe", "experiments that show whether one GPU operation delays another",
         "mpsweep probe - does one GPU operation delay another?\n\n",
         "A call of the CUDA driver may wait for work that has nothing to do with it. mpsweep\n"
         "probe asks, for each known case, whether it happens on this machine, how much it costs, "
         "and\n"
         "what stops it. A probe has arms: the case, what it is compared with (its control), and\n"
         "what is said to help.\n"
         ".PP\n"
         "Each arm is run several times, each time in fresh processes, the arms of a round in\n"
         "random order. What would hang is released by a watchdog after a tenth of a second, and\n"
         "counts as blocked. Arms over MPS have a private daemon, and give no number unless each\n"
         "process is proved to be its client.\n"
         ".PP\n"
         "The table has, for each arm, the median of what was timed with its 95% interval, the\n"
         "99th percentile, and how many times as long it takes as its control. The verdict is\n"
         "\\fBobserved\\fR if all of the 95% interval of that ratio lies above what matters,\n"
         "\\fBnot observed\\fR if all of it lies below, \\fBinconclusive\\fR if neither (an arm\n"
         "that failed says why), and \\fBneeds\\fR with what is missing where it cannot be asked\n"
         "here. docs/probes.md says for each probe what it does and how to read it.\n",
         "Exit status: 0 every probe has a verdict (what this machine lacks is one, too); 1 wrong\n"
         "usage or setup; 2 some are inconclusive; 130 interrupted: probes that were finished are\n"
         "kept, and nothing of the one that was running.\n"},
    [HELP_TRACE] =
        {"mpsweep-trace", "API and GPU timeline of one layout of workers",
         "mpsweep trace - what the threads called, and what the GPU did\n\n",
         "mpsweep trace runs one point of a plan for a moment, with the calls of each\n"
         "thread and the work of each stream recorded by CUPTI, of all processes on one clock, "
         "over\n"
         "MPS, too. It prints a summary: the time in each call, gaps, how far copies run beside\n"
         "kernels, how long work waits between the return of its call and its start, and whether\n"
         "transfers to and from pageable memory complete in the order of their issue. The same\n"
         "point runs without tracing first, and the slowdown is printed, too.\n"
         ".PP\n"
         "A plan of several points takes \\-\\-point. The window is 0.2 seconds without a\n"
         "warm\\-up, unless \\-\\-duration, \\-\\-warmup or \\-\\-iterations says otherwise.\n"
         ".PP\n"
         "CUPTI comes with the CUDA Toolkit and is loaded at run time, by this command only: the\n"
         "library that the variable MPSWEEP_CUPTI names, else libcupti.so.13 or .12 where the\n"
         "loader looks (LD_LIBRARY_PATH), else the one below /usr/local/cuda. The emulated GPU "
         "has\n"
         "its own.\n",
         "Exit status: 0 traced; 1 wrong usage or setup, as without CUPTI; 2 the point failed or\n"
         "is infeasible; 130 interrupted.\n"},
    [HELP_MERGE] =
        {"mpsweep-merge", "put the results of shards or of a fleet together",
         "mpsweep merge - one results file of many\n\n",
         "mpsweep merge makes one results file of those that several runs of one plan have\n"
         "written: its shards (mpsweep sweep \\-\\-shard I/N), or the nodes of a fleet that have "
         "all\n"
         "measured the whole plan (\\-\\-shard I/N \\-\\-fleet). plot, explain, compare and emit "
         "take\n"
         "the merged file as any other; in it, each record says by its number in the header's "
         "list\n"
         "which file, host and GPU it is from.\n"
         ".PP\n"
         "Files of different plans are refused. What else differs between them, such as drivers "
         "or\n"
         "versions, is told and recorded. Points that no file has are told, with the file or the\n"
         "shard that should have had them. Of a point that two files have, the better record is\n"
         "kept, or else the first. A file that was cut counts up to its last whole line. The "
         "inputs\n"
         "are never written to; the output is there as a whole or not at all, and is read again\n"
         "after it was renamed.\n"
         ".PP\n"
         "GPUs of one model are not all as fast. From the points that all shards have measured\n"
         "(\\-\\-reference) each GPU's factor is estimated, with a 95% interval; where one differs "
         "by\n"
         "more than 1% it says so. No measured number is changed. Of a fleet there is a table of "
         "all\n"
         "nodes; a node whose ratio to the median is far from the others' (4.5 standard "
         "deviations,\n"
         "as estimated from the median absolute deviation, and 3%) is named with its clock, "
         "power,\n"
         "temperature and what held its clock down. docs/scale.md describes both.\n"
         ".PP\n"
         "\\fBmpsweep sweep \\-\\-resume\\fR on a merged file measures what it lacks, on the GPU "
         "of its\n"
         "first file only.\n",
         "Exit status: 0 every point is there; 1 wrong usage or setup, nothing was written; 2 "
         "points\n"
         "are missing, or a node stands for two of a fleet, the others were written; 130 "
         "interrupted, nothing was written.\n"},
    [HELP_SLURM] =
        {"mpsweep-slurm", "measure a plan on the nodes of a Slurm cluster",
         "mpsweep slurm - one plan, many machines\n\n"
         "Each shard is a task of a job array, on a node of its own; what is interrupted goes "
         "on.\n\n",
         "mpsweep slurm submit makes a directory, which all nodes must see, puts a copy of the "
         "job\n"
         "file and two batch scripts there, and submits an array of one task a shard. A task has "
         "its\n"
         "node to itself, with as many GPUs as asked for, and runs mpsweep sweep \\-\\-shard I/N; "
         "layouts\n"
         "over MPS have a private daemon in a directory of that node. A daemon that the site has\n"
         "started is used with \\-\\-mps external only, and left as it is. A second job, which "
         "depends on\n"
         "the array, merges the shards.\n"
         ".PP\n"
         "There are two purposes. Without \\-\\-fleet the points are dealt to the nodes, and "
         "those\n"
         "that all have in common tell how their GPUs differ. With it, each node measures all "
         "points,\n"
         "so that slow nodes are found.\n"
         ".PP\n"
         "Results of a shard are in DIR/shard\\-I.jsonl.part until all its points have a record, "
         "and get\n"
         "the name DIR/shard\\-I.jsonl by a rename, which is checked. A task that Slurm queues "
         "again, on\n"
         "whatever node, goes on with the part. A minute before its time is over, mpsweep gets\n"
         "SIGTERM and keeps what it has; \\fBsubmit \\-\\-again\\fR then submits what is not\n"
         "finished.\n"
         ".PP\n"
         "The nodes of a fleet are different ones: a task that Slurm places on a node which has "
         "measured\n"
         "another shard has itself queued again, with such nodes excluded. Each goes on with its "
         "own part\n"
         "only; those of others are put aside as DIR/shard\\-I.jsonl.part.NODE. docs/slurm.md "
         "tells more.\n",
         "Exit status: 0 submitted, all shards are finished (status), all points are merged "
         "(collect);\n"
         "1 wrong usage or setup, or Slurm refuses; 2 shards are left for which no job runs or "
         "waits, or\n"
         "are broken, a node stands for two of a fleet, or points failed (collect); 5 shards are "
         "not\n"
         "finished, but run or wait.\n"},
    [HELP_MPS] =
        {"mpsweep-mps", "an NVIDIA MPS daemon of one's own, and nothing left of it",
         "mpsweep mps - an MPS daemon of your own\n\n"
         "Private, checked until a client has been in it, and gone without a trace afterwards.\n"
         "A daemon that somebody else has started is never touched.\n\n",
         "These commands start, watch and end an MPS control daemon (the Multi\\-Process Service)\n"
         "that is yours alone. It lives in a private directory that nobody else may enter, never\n"
         "in the default one; it counts as started when it answers, when its settings read back\n"
         "as they were set, and when a probe has been its client; a guard process ends it with\n"
         "its server and its directory whatever happens to the command that started it. "
         "CUDA_MPS_*\n"
         "variables of the environment do not reach it. A daemon that mpsweep did not start is\n"
         "never asked to do anything, signalled or removed.\n"
         ".PP\n"
         "A daemon is known by the number and start time of its process and by its directory's\n"
         "inode, never by its name. SIGTERM to the guard (\\fBmps status\\fR shows its number) "
         "ends\n"
         "the daemon as \\fBmps stop \\-\\-force\\fR does.\n",
         "Exit status: 0 done, and all is well; 1 wrong usage or setup, the daemon has clients "
         "(stop),\n"
         "or has a problem (status); 130 interrupted. run: the command's own, or 128 and the "
         "signal\n"
         "that ended it; 125 the daemon did not start or end, 126 the command cannot be run, 127 "
         "it\n"
         "was not found.\n"},
};

void help_print(FILE *out, enum help_page page)
{
    fputs(pages[page].introduction, out);
    for (size_t i = 0; i < command_count; i++)
        if (commands[i].page == page ||
            (page == HELP_MAIN &&
             (commands[i].page == HELP_TUNE || commands[i].page == HELP_TRACE ||
              commands[i].page == HELP_MERGE || commands[i].page == HELP_PROBE)))
            fprintf(out, "  %-*s %s\n", page == HELP_MAIN ? 44 : 56, commands[i].synopsis,
                    commands[i].summary);
    if (page == HELP_MAIN)
        fputs("  mpsweep mps start|stop|status|run|env        an MPS daemon of your own\n"
              "  mpsweep slurm submit|status|collect|cancel   a plan on many nodes of a cluster\n",
              out);
    fprintf(out, "\n  mpsweep %s --help%*s options and examples of a command\n",
            page == HELP_MAIN    ? "COMMAND"
            : page == HELP_SLURM ? "slurm COMMAND"
                                 : "mps COMMAND",
            page == HELP_MAIN    ? 22
            : page == HELP_SLURM ? 28
                                 : 30,
            "");
    fprintf(out, page == HELP_MAIN ? "  mpsweep --version\n\n" : "\n");
    fputs(pages[page].exit, out);
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
    fprintf(out, "\nExamples\n%s\n%s", command->examples, pages[command->page].exit);
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
        else if (*text == ',' || *text == '|')
            fprintf(out, "%c\\:", *text); /* a list without blanks may go on in the next line */
        else
            fputc(*text, out);
        line_start = *text == '\n';
    }
}

static unsigned page_commands(enum help_page page)
{
    unsigned bits = 0;
    for (size_t i = 0; i < command_count; i++)
        if (commands[i].page == page)
            bits |= (unsigned)commands[i].bit;
    return bits;
}

static void print_manual_option(FILE *out, const struct option_row *row, enum help_page page)
{
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
        if (commands[c].page != page || !(row->commands & (unsigned)commands[c].bit))
            continue;
        fprintf(out, "%s%s", separator, commands[c].name);
        separator = ", ";
    }
    fputs(")\n", out);
}

void help_print_manual(FILE *out, enum help_page page)
{
    fprintf(out,
            ".TH %s 1 \"\" \"mpsweep %s\" \"User Commands\"\n"
            ".ad l\n.nh\n"
            ".SH NAME\n",
            page == HELP_MAIN    ? "MPSWEEP"
            : page == HELP_MPS   ? "MPSWEEP\\-MPS"
            : page == HELP_PROBE ? "MPSWEEP\\-PROBE"
            : page == HELP_TRACE ? "MPSWEEP\\-TRACE"
            : page == HELP_MERGE ? "MPSWEEP\\-MERGE"
            : page == HELP_SLURM ? "MPSWEEP\\-SLURM"
                                 : "MPSWEEP\\-TUNE",
            PACKAGE_VERSION);
    print_roff(out, pages[page].name);
    fputs(" \\- ", out);
    print_roff(out, pages[page].title);
    fputs("\n.SH SYNOPSIS\n", out);
    const char *separator = "";
    for (size_t i = 0; i < command_count; i++) {
        if (commands[i].page != page)
            continue;
        fputs(separator, out);
        print_roff(out, commands[i].synopsis);
        fputc('\n', out);
        separator = ".br\n";
    }
    fputs(".SH DESCRIPTION\n", out);
    fputs(pages[page].description, out);
    for (size_t i = 0; i < command_count; i++) {
        if (commands[i].page != page)
            continue;
        fprintf(out, ".SH %s\n", commands[i].name);
        print_roff(out, commands[i].summary);
        fputs("\n.PP\n.nf\n", out);
        print_roff(out, commands[i].examples);
        fputs(".fi\n", out);
    }
    fputs(
        page == HELP_MAIN
            ? ".SH OPTIONS\nThe last words name the commands that take an option. Options of sweep "
              "are\nkeys of its job file, too, unless they are about output. Where several values "
              "are\nallowed, as in a,b or 1\\-4, they multiply into points.\n"
        : page == HELP_TUNE
            ? ".SH OPTIONS\nAll but those about output are keys of the job file, too. Where "
              "several "
              "values are\nallowed, as in a,b or 1\\-4, they are what the search may choose from.\n"
        : page == HELP_TRACE
            ? ".SH OPTIONS\nAll but those about output and about the trace are keys of the job "
              "file, too.\n"
            : ".SH OPTIONS\nThe last words name the commands that take an option.\n",
        out);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].commands & page_commands(page))
            print_manual_option(out, &option_table[i], page);
    fputs(".SH EXIT STATUS\n", out);
    print_roff(out, pages[page].exit);
    fputs(
        page == HELP_MAIN
            ? ".SH FILES\nResults are JSON Lines; docs/results\\-format.md describes them.\n"
              ".SH SEE ALSO\nmpsweep\\-tune(1), mpsweep\\-trace(1), mpsweep\\-probe(1), "
              "mpsweep\\-merge(1), mpsweep\\-slurm(1), mpsweep\\-mps(1), mpsweep\\-workload(5), "
              "nvidia\\-cuda\\-mps\\-control(1), gnuplot(1), "
              "hwloc(7)\n"
        : page == HELP_TUNE
            ? ".SH FILES\nResults are JSON Lines; docs/results\\-format.md describes them.\n"
              ".SH SEE ALSO\nmpsweep(1), docs/tuning.md\n"
        : page == HELP_PROBE
            ? ".SH FILES\nResults are JSON Lines; docs/results\\-format.md describes them.\n"
              ".SH SEE ALSO\nmpsweep(1), docs/probes.md\n"
        : page == HELP_MERGE
            ? ".SH FILES\nResults are JSON Lines; docs/results\\-format.md describes them.\n"
              ".SH SEE ALSO\nmpsweep(1), docs/scale.md\n"
        : page == HELP_TRACE
            ? ".SH ENVIRONMENT\n.TP\n.B MPSWEEP_CUPTI\nThe CUPTI library to load.\n"
              ".SH SEE ALSO\nmpsweep(1), docs/tracing.md, gnuplot(1)\n"
        : page == HELP_SLURM
            ? ".SH ENVIRONMENT\nPATH, LD_LIBRARY_PATH and MPSWEEP_* as they are when a run is "
              "submitted are in its batch\nscripts.\n"
              ".SH FILES\n.TP\nDIR/run.json\nwhat was submitted, as JSON\n"
              ".TP\nDIR/shard.sbatch, DIR/merge.sbatch\nthe batch scripts\n"
              ".TP\nDIR/shard\\-I.jsonl.part, DIR/shard\\-I.jsonl\na shard, until it is "
              "finished and then\n"
              ".TP\nDIR/log\nwhat the jobs print\n"
              ".TP\nDIR/all.jsonl\nthe shards, merged\n"
              ".SH SEE ALSO\nmpsweep(1), sbatch(1), squeue(1), docs/slurm.md\n"
            : ".SH FILES\n.TP\nDIR/mps\nthe daemon's pipe directory\n.TP\nDIR/log/output\nits log\n"
              ".TP\nDIR/state\nwho guards it, and what it is, as JSON\n.PP\n"
              "docs/mps.md lists what the daemon's users can rely on.\n"
              ".SH SEE ALSO\nmpsweep(1), nvidia\\-cuda\\-mps\\-control(1)\n",
        out);
}
