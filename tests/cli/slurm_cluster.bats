#!/usr/bin/env bats
# mpsweep slurm on a real Slurm of two nodes on this machine (tests/slurm/cluster), with the emulated
# GPU on each.

load helper
load cluster

setup_file() { start_cluster; }
teardown_file() { end_cluster; }

# a_job DURATION LAYOUTS
a_job() {
  printf '%s\n' '[global]' 'device = emulated' 'kernels = 5' 'bytes = 64K' 'rounds = 1' "duration = $1" 'max-duration = 3' \
    'warmup = 0.02' 'precision = 100' '[some]' "layout = $2" 'memory = pinned,pageable' >a.job
}

submit() {
  expect 0 "$MPSWEEP" slurm submit a.job --dir run -q "$@" || return 1
  ARRAY=$(jq -r '.submissions[-1].array' run/run.json)
}

# is FILTER: of the status of the run.
is() {
  "$MPSWEEP" slurm status run --json >status.json 2>/dev/null 9>&- || true
  jq -e "$1" status.json >/dev/null || return 1
}

# has_points SHARD COUNT: records of points in its part.
has_points() {
  local count
  count=$(grep -sc '^{"type":"point"' "run/shard-$1.jsonl.part") || true
  [ "${count:-0}" -ge "$2" ]
}

# wake TASK: one that was queued again waits for two minutes by itself. A node refuses what comes back
# within the second in which it went.
wake() { scontrol update jobid="${ARRAY}_$1" StartTime=now+2seconds; }

# The daemon of a task of the array, if it has one now.
daemon_of() {
  local file pid
  for file in $(grep -lsaz "^SLURM_ARRAY_TASK_ID=$1\$" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    case $(command_line "$pid" | head -1) in
    *mpsweep-emulated-mps-control) grep -qsazF "TMPDIR=$TMPDIR" "$file" && echo "$pid" ;;
    esac
  done | head -1
}
has_daemon() { DAEMON=$(daemon_of "$1"); [ -n "$DAEMON" ]; }

# What a point is, for a comparison of files.
identities() {
  jq -c 'select(.type == "point") | [.id, .layout, .processes, .threads, .memory]' "$1" | sort
}

@test "two nodes: a daemon dies, a shard is queued again, and what is merged is what one machine measures" {
  needs_slurm
  a_job 0.1 processes+mps:1-3,threads:1-2
  # A worker makes two buffers for each point: five points of one or two kinds of processes come to a
  # fifth buffer after their first point.
  holding 'cuMemAlloc#5=hold@0'
  submit --nodes 2 -- --partition=all --time=10
  await $PATIENCE is '.at_work == 2 and (.shards | map(.job_state == "running" and .done >= 1) | all)'
  expect 5 "$MPSWEEP" slurm status run
  grep -qE '^ +0  running +n[12] ' out
  grep -qE '^ +1  running +n[12] ' out
  # One loses its daemon; the other one its node, for all that it knows.
  local killed again
  await $PATIENCE eval 'has_daemon 0 && killed=0 || has_daemon 1 && killed=1'
  again=$((1 - killed))
  kill -KILL "$DAEMON"
  scontrol requeue "${ARRAY}_$again"
  await $PATIENCE is ".shards[$again] | .job_state == \"pending\" and .state == \"at work\" and .done >= 1"
  grep -c . run/shard-$again.jsonl.part >before
  release
  wake $again
  await $PATIENCE is '.finished == 2'
  await $PATIENCE test -s run/all.jsonl
  await $PATIENCE no_job
  [ "$(jq -s '[.[] | select(.type == "header")] | length' run/shard-$again.jsonl)" -eq 2 ]
  [ "$(grep -c . run/shard-$again.jsonl)" -gt "$(cat before)" ]
  [ ! -e run/shard-0.jsonl.part ]
  [ ! -e run/shard-1.jsonl.part ]
  expect 0 "$MPSWEEP" slurm status run
  # The point that the daemon was killed in may have failed: then its record has the error, and no number.
  local status=0
  "$MPSWEEP" slurm collect run -o all.jsonl >out 2>err || status=$?
  [ $status -eq 0 ] || [ $status -eq 2 ]
  points 'map(select(.status == "failed")) | length <= 2' all.jsonl
  points 'map(select(.status != "failed") | .throughput_ips > 0) | all' all.jsonl
  identities all.jsonl >merged
  [ "$(wc -l <merged)" -eq 10 ]
  expect 0 "$MPSWEEP" sweep a.job --duration 0.3 --max-duration 9 --quiet -o single.jsonl
  identities single.jsonl | diff - merged
}

@test "the time is over: mpsweep keeps what it has, and --again continues with it" {
  needs_slurm
  a_job 1 threads:1-32
  submit --nodes 1 -- --time=1
  await $PATIENCE has_points 0 1
  # Slurm looks at time limits every half a minute. On a busy machine it may find the job still there.
  await $((PATIENCE + 60)) is '.left == 1 and (.shards[0] | .done >= 1 and .done < .points
    and (.job_state == "failed" and .error == "interrupted"
      or .job_state == "timeout" and (.error | endswith("DUE TO TIME LIMIT ***"))))' ||
    fail "it is:" "$(cat status.json)"
  expect 2 "$MPSWEEP" slurm status run
  assert_whole run/shard-0.jsonl.part
  await $PATIENCE no_job
  expect 2 "$MPSWEEP" slurm collect run -o some.jsonl
  grep -q "shard 0 has [0-9]* of 64 points: not finished" err
  grep -q "to continue what is left: mpsweep slurm submit --again '$WORK/run'" err
  cp run/shard-0.jsonl.part before
  local had
  had=$(jq -s '[.[] | select(.type == "point" and .status != "interrupted") | .id] | length' before)
  expect 0 "$MPSWEEP" slurm submit --again run -- --time=10
  await $PATIENCE is ".shards[0].done > $had"
  cmp -n "$(stat -c %s before)" before run/shard-0.jsonl.part
  expect 0 "$MPSWEEP" slurm cancel run
  await $PATIENCE no_job
  assert_whole run/shard-0.jsonl.part
}

@test "a fleet: each node measures the whole plan, and the one that is free first does it once" {
  needs_slurm
  a_job 0.1 threads:1-2,processes+mps:2
  scontrol update NodeName=n2 State=drain Reason=test
  submit --nodes 2 --fleet -- --time=5
  await $PATIENCE is '.finished == 1'
  # The other task comes to the same node, and leaves it.
  await $PATIENCE test -s run/shard-1.jsonl.left
  await $PATIENCE is '.shards[1].job_state == "pending"'
  scontrol show job -o "${ARRAY}_1" | grep -q ' ExcNodeList=n1 '
  scontrol update NodeName=n2 State=resume
  wake 1
  await $PATIENCE is '.finished == 2'
  await $PATIENCE no_job
  for shard in 0 1; do
    points 'length == 6 and (map(.throughput_ips > 0) | all)' run/shard-$shard.jsonl
    [ "$(head -1 run/shard-$shard.jsonl | jq -r .slurm_node)" = n$((shard + 1)) ]
  done
  assert_whole run/all.jsonl
  jq -s -e '.[] | select(.type == "merge") | .gpus == 2 and .same_node == []' run/all.jsonl
}

@test "srun by hand: --shard auto gives each task its own part" {
  needs_slurm
  a_job 0.1 threads:1-3
  expect 0 srun --quiet --nodes=2 --ntasks-per-node=1 --gres=gpu:1 --time=5 \
    "$MPSWEEP" sweep a.job --shard auto --quiet -o 'out-{shard}.jsonl'
  [ "$(ls out-*)" = "$(printf 'out-%s.jsonl\n' 0 1)" ]
  jq -s -e '[.[] | select(.type == "point") | .id] | unique == [range(6)]' out-?.jsonl
  jq -s -e 'map(select(.type == "header") | .shard | [.index, .count]) == [[0, 2], [1, 2]]' out-?.jsonl
  # As in a job with --export=NONE: no PATH, and nothing else of the environment.
  expect 0 srun --quiet --export=NONE --nodes=2 --ntasks-per-node=1 --gres=gpu:1 --time=5 \
    "$MPSWEEP" sweep a.job -l processes+mps:1-2 --shard auto --quiet -o 'none-{shard}.jsonl'
  jq -s -e '[.[] | select(.type == "point") | .throughput_ips > 0] | length == 5 and all' none-?.jsonl
}

@test "what Slurm refuses: one line, and nothing is left of the run" {
  needs_slurm
  a_job 0.1 threads:1
  refused 'sbatch: .*node configuration is not available .*--gpus-per-node' \
    "$MPSWEEP" slurm submit a.job -N 1 --dir run --gpus-per-node 4
  refused 'sbatch: .*gres.*' "$MPSWEEP" slurm submit a.job -N 1 --dir run -- --gres=fpga:1
  refused 'sbatch: .*artition' "$MPSWEEP" slurm submit a.job -N 1 --dir run -- -p none
  [ ! -e run ]
  no_job
}
