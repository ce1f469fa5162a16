/* Slurm: a batch script of one node, with the daemon in a directory of that node. */
#include "orchestrator/emit/internal.h"

/* Whether processes outnumber the CPUs, or may: Slurm counts a task for a CPU at least, and would
 * take no such job. Then the job is one task with all CPUs, and only its step has more. */
static bool is_overcommitted(const struct deployment *deployment)
{
    return deployment->processes > deployment->cpus_all;
}

static void write_job(FILE *file, const struct deployment *deployment, unsigned process)
{
    (void)process;
    fprintf(file,
            "#!/bin/sh\n"
            "#SBATCH --job-name=%s\n"
            "#SBATCH --output=%s-%%j.out\n"
            "#SBATCH --nodes=1\n"
            "#SBATCH --ntasks=%u\n",
            deployment->name, deployment->name,
            is_overcommitted(deployment) ? 1 : deployment->processes);
    if (deployment->cpus_each)
        fprintf(file, "#SBATCH --cpus-per-task=%u\n",
                is_overcommitted(deployment) ? deployment->cpus_all : deployment->cpus_each);
    fprintf(file,
            "#SBATCH --gres=gpu:%u\n"
            "#SBATCH --exclusive\n"
            "#SBATCH --mem=0\n"
            "#SBATCH --requeue\n",
            deployment->gpu_count);
    fprintf(file, "#SBATCH --signal=B:TERM@%d\n", 2 * DEPLOYMENT_STOP_TIMEOUT + 10);
    emit_origin_write(file, deployment);
    fputs("# Submit it in its own directory, or name that: sbatch --export=ALL,MPSWEEP_DIR=... "
          "job.sbatch\n"
          "directory=${MPSWEEP_DIR:-${SLURM_SUBMIT_DIR:-.}}\n"
          "if [ ! -f \"$directory/job.sh\" ]; then\n"
          "  echo \"'$directory' is not this deployment's directory: submit there, or set "
          "MPSWEEP_DIR\" >&2\n"
          "  exit 1\n"
          "fi\n"
          "# shellcheck source=/dev/null\n"
          ". \"$directory/job.sh\"\n",
          file);
}

static void write_settings(FILE *file, const struct deployment *deployment, unsigned process)
{
    emit_common_settings(file, deployment, process);
    fputs("# More workers than the job has tasks: each is a task of its step all the same.\n"
          "MPSWEEP_OVERCOMMIT=",
          file);
    fputs(is_overcommitted(deployment) ? "--overcommit\n" : "\n", file);
    fputs("# The CPUs of each task, as measured; on other nodes: --cpu-bind=cores\n"
          "MPSWEEP_CPU_BIND=",
          file);
    if (!deployment->cpus_each) {
        fputs("--cpu-bind=none\n", file);
        return;
    }
    fputs("--cpu-bind=mask_cpu:", file);
    for (unsigned p = 0; p < deployment->processes; p++) {
        char mask[DEPLOYMENT_CPUS / 4 + 8];
        hwloc_bitmap_taskset_snprintf(mask, sizeof mask, deployment->process[p].cpus);
        fprintf(file, "%s%s", p ? "," : "", mask);
    }
    fputc('\n', file);
}

/* GPU and daemon are what the job finds on its node. */
static void write_worker(FILE *file, const struct deployment *deployment, unsigned process)
{
    struct deployment_environment environment;
    deployment_environment(deployment, process, NULL, NULL, &environment);
    for (size_t i = 0; i < environment.count; i++)
        emit_setting(file, environment.variable[i].name, environment.variable[i].value);
}

void emit_slurm_write(const struct deployment *deployment, struct emit_output *output)
{
    char name[64];
    emit_output_file(output, "job.sbatch", true, write_job, deployment, 0);
    emit_output_file(output, "deployment.env", false, write_settings, deployment, 0);
    emit_output_file(output, "command", false, emit_command_write, deployment, 0);
    for (unsigned p = 0; p < deployment->processes; p++) {
        snprintf(name, sizeof name, "worker-%u.env", p);
        emit_output_file(output, name, false, write_worker, deployment, p);
    }
    emit_output_copy(output, "emit/slurm-job", "job.sh", false);
    emit_output_copy(output, "emit/slurm-worker", "worker", false);
    emit_output_copy(output, "emit/slurm-check", "check", true);
    emit_output_copy(output, "emit/mps", "mps", false);
}

void emit_slurm_usage(FILE *file, const struct deployment *deployment, unsigned process)
{
    char gpus[32] = "one GPU";
    (void)process;
    if (deployment->gpu_count > 1)
        snprintf(gpus, sizeof gpus, "%u GPUs", deployment->gpu_count);
    fputs("On a file system that the nodes share, in this directory:\n\n"
          "```sh\n"
          "sbatch --test-only job.sbatch   # would it be taken?\n"
          "sbatch job.sbatch\n"
          "squeue --me                     # the job's output names what checks it again\n"
          "scancel --batch --signal=TERM ID   # SIGTERM to the workers, then the daemon ends\n"
          "```\n\n"
          "A plain `scancel ID` works, too, but Slurm then signals the daemon together with its "
          "clients,\nand kills all of it after `KillWait` (30 s by default).\n\n",
          file);
    fprintf(
        file,
        "The job takes one node and %s, whichever Slurm gives it. %sThe job fails if a "
        "worker fails, and is\nqueued again if its node does; %d s before its time is over it "
        "gets SIGTERM.\n\n"
        "## Another cluster\n\n"
        "Change the `#SBATCH` lines of `job.sbatch` (partition, account, time, the name of the "
        "GPU's\ngres), `MPSWEEP_CPU_BIND` in `deployment.env` where nodes differ from the "
        "measured one\n(`--cpu-bind=cores`; then `--exclusive` and `--mem=0` are not needed), and "
        "`MPSWEEP_WORKING_DIRECTORY`.\n",
        gpus,
        deployment->mps ? "Its MPS daemon lives in a\nprivate directory of that node and is "
                          "ready before the workers; the job goes on only when each\nis proved "
                          "to be its client. "
                        : "",
        2 * DEPLOYMENT_STOP_TIMEOUT + 10);
}
