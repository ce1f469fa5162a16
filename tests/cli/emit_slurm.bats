#!/usr/bin/env bats
# The emitted job on a real Slurm (tests/slurm/cluster) whose nodes have two GPUs each, emulated: from
# sbatch to its end, in all the ways in which a job ends.

load helper
load emit
load cluster

setup_file() { CLUSTER_GPUS=2 CLUSTER_TASK_PLUGIN=task/affinity start_cluster; }
teardown_file() { end_cluster; }

# prepared DAEMONS WORDS...: the job of four workers on two GPUs, each bound to one of two CPUs, in
# directory d; and a program that prints the UUIDs of the node's GPUs, which are numbers to Slurm.
prepared() {
  needs_slurm
  prepare
  on_two_gpus "$1" 3
  jq -c 'if .id == 3 then .per_worker = [range(4) | {process: ., thread: 0, cpus: "\(. % 2)"}] else . end' \
    results.jsonl >bound.jsonl
  mv bound.jsonl results.jsonl
  cat >bin/nvidia-smi <<'SMI'
#!/bin/bash
[ "$3" = -i ] || exit 1
for gpu in ${4//,/ }; do echo GPU-6d707377-6565-702d-656d-756c6174656$((gpu + 4)); done
SMI
  chmod +x bin/nvidia-smi
  # How its check is found, which the job's output names.
  export MPSWEEP_LOCAL_DIR=$WORK/local
  mkdir local
  emit slurm "$2" --point 3 -- "${@:3}"
  serves_nothing "$2"
}

# submit DIRECTORY: in JOB, with its output in job.out.
submit() {
  rm -f job.out environment.?
  JOB=$(cd "$1" && sbatch --parsable --time=5 --output="$WORK/job.out" "${@:2}" job.sbatch)
}

said() { grep -q "$1" job.out 2>/dev/null; }
is_up() {
  await $PATIENCE said '^to look again: ' || { squeue >&2; return 1; }
}
state() { scontrol show job "$JOB" | sed -n 's/ *JobState=\([A-Z_]*\).*/\1/p'; }

# Neither processes nor files on the node.
is_over() {
  await $PATIENCE no_job || return 1
  await $PATIENCE no_own_process || return 1
  [ -z "$(ls -A local)" ] || fail "the node has still: $(ls local)"
}

# each GPUS DAEMONS: what the four workers were given.
each() {
  local process
  for process in 0 1 2 3; do
    await $PATIENCE test -s "environment.$process"
    grep -qx "CUDA_VISIBLE_DEVICES=GPU-6d707377-6565-702d-656d-756c6174656$((process % 2 + 4))" "environment.$process"
    grep -qx "MPSWEEP_PROCESS=$process" "environment.$process"
    absent 'MPSWEEP_MPS_GPUS\|CUDA_LAUNCH\|CUDA_MPS_CLIENT' "environment.$process"
  done
  [ "$(grep -h '^CUDA_MPS_PIPE_DIRECTORY=' environment.? | sort -u | wc -l)" -eq "$1" ]
}

# The CPUs of a worker that runs.
cpus_of() {
  sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$(cat local/mpsweep-j.*/worker-"$1".pid)/status"
}

@test "two GPUs, a daemon each: proved, bound, checked again, and ended as when its time is over" {
  prepared per-gpu $'d it\'s "$x" %' serve "${HARD[@]}" "${PLACED[@]}"
  CUDA_LAUNCH_BLOCKING=1 CUDA_MPS_CLIENT_PRIORITY=1 submit $'d it\'s "$x" %'
  is_up
  [ "$(grep -c '^worker [0-3]: attached: process ' job.out)" -eq 4 ]
  each 2
  printf '%s\0' "${HARD[@]}" '{other} ${HOME} {' 1 p1of4 --port=9001 '2$x2' | cmp - words.1
  [ "$(cpus_of 0) $(cpus_of 1) $(cpus_of 2) $(cpus_of 3)" = '0 1 0 1' ]
  # The line that the output has for it.
  local again
  again=$(sed -n 's/^to look again: //p' job.out)
  expect 0 bash -c "$again"
  [ "$(grep -c '^worker [0-3]: attached: ' out)" -eq 4 ]
  # What --signal=B:TERM@70 does.
  scancel --batch --signal=TERM "$JOB"
  is_over
  [ "$(state)" = FAILED ]
}

@test "two GPUs over one daemon: cancelled amid it, and ended by a worker that fails" {
  prepared shared d serve
  submit d
  is_up
  each 1
  local pipe
  pipe=$(echo "$PWD"/local/mpsweep-j.*/mps)
  for gpu in 0 1; do
    [ "$(echo get_default_device_pinned_mem_limit $gpu | CUDA_MPS_PIPE_DIRECTORY=$pipe nvidia-cuda-mps-control)" = 512M ]
  done
  scancel "$JOB"
  is_over
  [ "$(state)" = CANCELLED ]
  # One worker goes, with a status of its own: the others do not stay, and the job has failed.
  submit d
  is_up
  kill -KILL "$(cat local/mpsweep-j.*/worker-3.pid)"
  is_over
  [ "$(state)" = FAILED ]
}

@test "a daemon of two that dies ends the job, and its output has the daemon's last lines; and so its script" {
  prepared per-gpu d serve
  local script victim
  for victim in daemon script; do
    submit d
    is_up
    script=$(pgrep -f "^sh $PWD/d/mps run" | head -1)
    [ $victim = script ] || script=$(children_of "$script" | head -1)
    kill -KILL "$script"
    is_over
    [ "$(state)" = FAILED ]
    said 'a daemon has ended' || said "srun: error: .*task"
    [ $victim = script ] || said "^mps: the daemon ended by itself, status 137$"
  done
}

@test "a job whose workers finish is completed; one without UUIDs for its GPUs does not begin" {
  prepared per-gpu d sh -c 'serve & client=$!; read -r go <>"$0"; kill $client; wait' "$WORK/finish"
  mkfifo finish
  submit d
  is_up
  printf '\n\n\n\n' >finish
  is_over
  [ "$(state)" = COMPLETED ]
  rm bin/nvidia-smi
  submit d
  is_over
  said "^mpsweep-d: nvidia-smi lists no UUIDs of the job's GPUs '0,1'\$"
}
