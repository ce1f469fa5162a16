# shellcheck shell=bash
# Programs in the place of Slurm's, for tests of mpsweep slurm.

# Programs that note their words in NAME.words, one a line, and print NAME.out; with NAME.err they
# print that and fail.
slurm_is_faked() {
  local name
  mkdir bin
  for name in sbatch squeue sacct scancel; do
    cat >"bin/$name" <<FAKE
#!/bin/sh
printf '%s\n' "\$@" >>"$WORK/$name.words"
echo -- >>"$WORK/$name.words"
if [ -e "$WORK/$name.err" ]; then cat "$WORK/$name.err" >&2; exit 1; fi
if [ -e "$WORK/$name.out" ]; then cat "$WORK/$name.out"; fi
FAKE
    chmod +x "bin/$name"
  done
  echo 42 >sbatch.out
  PATH=$WORK/bin:$PATH
}

# Eight points; of two shards, each has four or five. A window ends soon after an iteration of each
# worker, however seldom that one gets a CPU.
a_job() {
  printf '%s\n' '[global]' 'device = emulated' 'kernels = 5' 'bytes = 64K' 'rounds = 1' 'duration = 0.2' \
    'warmup = 0.02' 'max-duration = 6' 'precision = 100' '[some]' 'layout = threads:1-2' 'memory = pinned,pageable' \
    'launch = stream,graph' >a.job
}

# submit WORDS...: a run of two shards in 'run'.
submit() { expect 0 "$MPSWEEP" slurm submit a.job --nodes 2 --dir run "$@"; }

# task N: the batch script, as Slurm starts it.
task() { env SLURM_ARRAY_TASK_ID="$1" SLURMD_NODENAME="node$1" sh run/shard.sbatch; }

# task_line N STATE NODE LEFT REASON: a line of squeue.
task_line() { printf '42|%s|%s|%s|2026-01-31T08:00:00|%s|%s\n' "$@"; }
