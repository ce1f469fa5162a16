/* Writes the batch scripts of a run: short, so that a user can read there what the nodes do. */
#include <string.h>

#include "config.h"
#include "common/shell_word.h"
#include "common/json.h"
#include "common/text.h"
#include "orchestrator/slurm/internal.h"

extern char **environ;

/* Whether a task needs the variable as it was where the run was submitted: a node may have another
 * value, or none (sbatch --export=NONE). */
static bool is_needed(const char *variable)
{
    static const char *const names[] = {"PATH=", "LD_LIBRARY_PATH=", "MPSWEEP_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return strchr(variable, '=') != NULL && text_is_utf8(variable);
    return false;
}

static void write_environment(FILE *file)
{
    fputs("\n# Of the environment it was submitted from: also there with sbatch --export=NONE.\n",
          file);
    for (char **variable = environ; *variable; variable++) {
        if (!is_needed(*variable))
            continue;
        size_t name = strcspn(*variable, "=");
        if (strspn(*variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") != name)
            continue;
        fprintf(file, "export %.*s=", (int)name, *variable);
        shell_word_quote(file, *variable + name + 1);
        fputc('\n', file);
    }
}

static void write_begin(FILE *file, const char *what)
{
    fprintf(file, "#!/bin/sh\n# %s\n# Written by 'mpsweep slurm submit' of %s.\n", what,
            PACKAGE_STRING);
    fputs("#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --open-mode=append\n", file);
}

/* Slurm may give the same node to several tasks of an array. And what a task has begun belongs to
 * the node that it was on. */
static void write_fleet(FILE *file)
{
    fputs(
        "\n# The nodes of a fleet differ: this task leaves a node that has measured a shard,\n"
        "# and excludes it for itself and for the tasks that wait.\n"
        "node=${SLURMD_NODENAME:-$(uname -n)}\n"
        "task=${SLURM_ARRAY_JOB_ID:-}_$shard\n"
        "measured='' where=''\n"
        "for other in \"$run\"/shard-*.jsonl; do\n"
        "  if [ -e \"$results\" ] || ! [ -e \"$other\" ] || ! [ -e \"$other.node\" ]; then "
        "continue; fi\n"
        "  read -r name <\"$other.node\" || continue\n"
        "  measured=$measured,$name\n"
        "  if [ \"$name\" = \"$node\" ]; then where=$other; fi\n"
        "done\n"
        "if [ -n \"$where\" ]; then\n"
        "  echo \"shard $shard on $node, $(date '+%Y-%m-%dT%H:%M:%S')\"\n"
        "  excluded=$(scontrol show job -o \"$task\" 2>/dev/null | sed -n 's/.* ExcNodeList=\\([^( "
        "]*\\).*/\\1/p')\n"
        "  trap '' TERM\n"
        "  # Left once already, and given again: then it cannot be excluded.\n"
        "  if ! grep -qsxF \"$task $node\" \"$results.left\" && scontrol requeue \"$task\"; then\n"
        "    echo \"$task $node\" >>\"$results.left\"\n"
        "    for waiting in \"$task\" \"${SLURM_ARRAY_JOB_ID:-$task}\"; do\n"
        "      scontrol update JobId=\"$waiting\" "
        "ExcNodeList=\"${measured#,}${excluded:+,$excluded}\" "
        ">/dev/null 2>&1 || true\n"
        "    done\n"
        "    echo \"mpsweep: node $node has measured ${where##*/}: queued again, for another "
        "node\" >&2\n"
        "    exit 0\n"
        "  fi\n"
        "  echo \"mpsweep: node $node has measured ${where##*/}, and this task gets no other one:"
        " submit --again with '-- --exclude=${measured#,}'\" >&2\n"
        "  exit 1\n"
        "fi\n"
        "\n# Only the node that began a shard continues it; another node puts it aside.\n"
        "if ! [ -e \"$results\" ]; then\n"
        "  was=$(cat \"$results.node\" 2>/dev/null) || was=unknown\n"
        "  if [ -e \"$results.part\" ] && [ \"$was\" != \"$node\" ]; then\n"
        "    aside=$results.part.${was:-unknown}\n"
        "    while [ -e \"$aside\" ]; do aside=$aside+; done\n"
        "    mv \"$results.part\" \"$aside\"\n"
        "  fi\n"
        "  echo \"$node\" >\"$results.node.new\"\n"
        "  mv \"$results.node.new\" \"$results.node\"\n"
        "  if ! [ -e \"$results.part\" ] && [ -e \"$results.part.$node\" ]; then\n"
        "    mv \"$results.part.$node\" \"$results.part\"\n"
        "  fi\n"
        "fi\n",
        file);
}

void slurm_script_shard(FILE *file, const struct slurm_script *script)
{
    write_begin(file, "Measures one shard of a plan: a task of a job array, on a node of its own.");
    fputs("#SBATCH --job-name=mpsweep\n#SBATCH --exclusive\n#SBATCH --mem=0\n", file);
    if (script->gpus > 0)
        fprintf(file, "#SBATCH --gres=gpu:%u\n", script->gpus);
    fputs(
        "# mpsweep gets SIGTERM a minute before its time is over, and keeps what it has measured.\n"
        "#SBATCH --signal=B:TERM@60\n"
        "#SBATCH --requeue\n"
        "set -eu\n"
        "run=",
        file);
    shell_word_quote(file, script->directory);
    fputs("\nshard=${SLURM_ARRAY_TASK_ID:?is set by sbatch --array}\n"
          "results=$run/shard-$shard.jsonl\n",
          file);
    write_environment(file);
    if (script->fleet)
        write_fleet(file);
    fputs(
        "\n# For the private MPS daemon: a directory of this node, with a short name for sockets.\n"
        "for TMPDIR in \"${SLURM_TMPDIR:-}\" \"${TMPDIR:-}\" /tmp; do\n"
        "  if [ -n \"$TMPDIR\" ] && [ ${#TMPDIR} -le 48 ] && [ -d \"$TMPDIR\" ] && [ -w "
        "\"$TMPDIR\" ]; then break; fi\n"
        "done\n"
        "export TMPDIR\n"
        "unset XDG_RUNTIME_DIR\n"
        "\n# Queued again: finished results stay, partial results are resumed.\n"
        "if [ -e \"$results\" ]; then\n"
        "  echo \"shard $shard is finished already\"\n"
        "  exit 0\n"
        "fi\n"
        "resume=\n"
        "if [ -e \"$results.part\" ]; then resume=--resume; fi\n"
        "echo \"shard $shard on ${SLURMD_NODENAME:-?}, $(date '+%Y-%m-%dT%H:%M:%S')${resume:+, "
        "resuming}\"\n"
        "\n# exec: a shell in between would keep Slurm's signals to itself.\n"
        "# --publish renames the file when all is measured, and checks that this worked.\n"
        "exec ",
        file);
    shell_word_quote(file, script->program);
    fputs(" sweep", file);
    if (script->job) {
        fputs(" \"$run\"/", file);
        shell_word_quote(file, script->job);
    }
    for (char *const *word = script->words; *word; word++) {
        fputs(" \\\n  ", file);
        shell_word_quote(file, *word);
    }
    fprintf(file,
            " \\\n  --shard \"$shard/%u\" ${resume:+\"$resume\"} --output \"$results.part\" "
            "--publish \"$results\"",
            script->shards);
    if (script->command) {
        fputs(" \\\n  --", file);
        for (char *const *word = script->command; *word; word++) {
            fputc(' ', file);
            shell_word_quote(file, *word);
        }
    }
    fputc('\n', file);
}

void slurm_script_merge(FILE *file, const struct slurm_script *script)
{
    write_begin(file, "Collects what the array of shard.sbatch has measured, once it has ended.");
    fputs("#SBATCH --job-name=mpsweep-merge\nset -eu\n", file);
    write_environment(file);
    fputs("\nexec ", file);
    shell_word_quote(file, script->program);
    fputs(" slurm collect ", file);
    shell_word_quote(file, script->directory);
    fputc('\n', file);
}
