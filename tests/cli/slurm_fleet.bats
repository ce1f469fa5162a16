#!/usr/bin/env bats
# mpsweep slurm submit --fleet, with programs in the place of Slurm's: each node measures the whole plan,
# once, and what one has begun is its own.

load helper
LOOKS_FOR_LEAKS=1
load slurm

@test "a fleet's node measures all points; what another node has begun is put aside" {
  slurm_is_faked
  a_job
  submit -q --fleet
  jq -e '.purpose == "fleet"' run/run.json
  expect 0 task 1
  head -1 run/shard-1.jsonl | jq -e '.shard.purpose == "fleet" and .plan == 8'
  points 'length == 8' run/shard-1.jsonl
  head -1 run/shard-1.jsonl >run/shard-0.jsonl.part
  echo other >run/shard-0.jsonl.node
  expect 0 task 0
  [ -e run/shard-0.jsonl.part.other ]
  points 'length == 8' run/shard-0.jsonl
}

# A fleet's shard is on NODE: at_node NODE SHARD, as the script is started there.
at_node() { env SLURM_ARRAY_JOB_ID=42 SLURM_ARRAY_TASK_ID="$2" SLURMD_NODENAME="$1" sh run/shard.sbatch; }

# cut_to COUNT: leaves COUNT lines of shard 0's results, as a part.
cut_to() {
  head -"$1" run/shard-0.jsonl >run/shard-0.jsonl.part
  rm run/shard-0.jsonl
}

@test "a fleet's node continues with its own part when it comes back to the shard, and no part is lost" {
  slurm_is_faked
  a_job
  submit -q --fleet
  ! command -v shellcheck >/dev/null || shellcheck run/shard.sbatch
  # A begins, B begins, A continues, B continues.
  expect 0 at_node A 0
  cut_to 4
  cp run/shard-0.jsonl.part of_a
  expect 0 at_node B 0
  cmp of_a run/shard-0.jsonl.part.A
  absent resuming out
  [ "$(head -1 run/shard-0.jsonl | jq -r .slurm_node)" = B ]
  cut_to 6
  cp run/shard-0.jsonl.part of_b
  expect 0 at_node A 0
  grep -q resuming out
  cmp of_b run/shard-0.jsonl.part.B
  [ ! -e run/shard-0.jsonl.part.A ]
  cmp -n "$(stat -c %s of_a)" of_a run/shard-0.jsonl
  cut_to 5
  cp run/shard-0.jsonl.part of_a
  # A file that a user has put there is not overwritten either.
  echo precious >run/shard-0.jsonl.part.A
  expect 0 at_node B 0
  cmp -n "$(stat -c %s of_b)" of_b run/shard-0.jsonl
  [ "$(cat run/shard-0.jsonl.part.A)" = precious ]
  cmp of_a run/shard-0.jsonl.part.A+
  [ ! -e run/shard-0.jsonl.part.B ]
  [ "$(jq -r 'select(.type == "header") | .slurm_node' run/shard-0.jsonl | sort -u)" = B ]
}

@test "a fleet's task leaves a node that has measured another shard, and reports it if it cannot" {
  slurm_is_faked
  a_job
  cat >bin/scontrol <<FAKE
#!/bin/sh
echo "\$*" >>"$WORK/scontrol.words"
[ ! -e "$WORK/scontrol.err" ] || { cat "$WORK/scontrol.err" >&2; exit 1; }
case \$1 in show) echo "JobId=7 ArrayJobId=42 ReqNodeList=(null) ExcNodeList=n[8-9] NumNodes=1-1" ;; esac
FAKE
  chmod +x bin/scontrol
  expect 0 "$MPSWEEP" slurm submit a.job --nodes 3 --fleet --dir run -q
  expect 0 at_node A 0
  expect 0 at_node A 1
  grep -qx 'mpsweep: node A has measured shard-0.jsonl: queued again, for another node' err
  [ ! -e run/shard-1.jsonl.part ]
  [ ! -e run/shard-1.jsonl ]
  # The task alone: the number of one may be that of the array. What the user had excluded stays so.
  printf '%s
' 'show job -o 42_1' 'requeue 42_1' 'update JobId=42_1 ExcNodeList=A,n[8-9]'     'update JobId=42 ExcNodeList=A,n[8-9]' | diff - scontrol.words
  # It was of no use: not for ever.
  expect 1 at_node A 1
  grep -q "^mpsweep: node A has measured shard-0.jsonl, and this task gets no other one: .*--exclude=A'" err
  expect 0 at_node B 1
  points 'length == 8' run/shard-1.jsonl
  # Slurm refuses.
  echo 'Job/step already completing or completed' >scontrol.err
  expect 1 at_node B 2
  grep -q "^mpsweep: node B has measured shard-1.jsonl, .*--exclude=A,B'" err
  [ ! -e run/shard-2.jsonl.part ]
  # A shard's own node is none to leave.
  expect 0 at_node A 0
  grep -q 'shard 0 is finished already' out
}

@test "a node that stands for two of a fleet: status, collect and merge name it, and exit with 2" {
  slurm_is_faked
  a_job
  submit -q --fleet
  expect 0 at_node A 0
  rm run/shard-0.jsonl.node
  expect 0 at_node A 1
  expect 2 "$MPSWEEP" slurm status run
  grep -qxF "shards 0 and 1 are both from node A, and another node was not measured: move '$WORK/run/shard-1.jsonl' away, then mpsweep slurm submit --again '$WORK/run'" out
  expect 2 "$MPSWEEP" slurm status run --json
  jq -e '.same == 1 and .shards[1].same_node_as == 0 and .shards[0].same_node_as == null' out
  expect 2 "$MPSWEEP" slurm collect run
  grep -q '^twice: A stands for nodes 0, 1: ' out
  grep -q '^mpsweep: shards 0 and 1 are both from node A' err
  jq -s -e '(.[] | select(.type == "merge") | .same_node | length == 1 and
    (.[0] | .nodes == [0, 1] and .slurm_node == "A")), (.[-1] | .status == 2)' run/all.jsonl
  # Two virtual nodes of one host are two.
  rm run/shard-1.jsonl*
  expect 0 at_node B 1
  expect 0 "$MPSWEEP" slurm status run
  expect 0 "$MPSWEEP" slurm collect run
  grep -q '^1  *B  ' out
  jq -s -e '.[] | select(.type == "merge") | .same_node == [] and .gpus == 2' run/all.jsonl
}

@test "a fleet that the job file asks for is one" {
  slurm_is_faked
  a_job
  sed -i 's/^device.*/&\nfleet = yes/' a.job
  # Without it, more nodes than points.
  expect 0 "$MPSWEEP" slurm submit a.job --nodes 9 --dir run -q
  jq -e '.purpose == "fleet"' run/run.json
  grep -q 'puts it aside' run/shard.sbatch
  expect 2 "$MPSWEEP" slurm status run
  grep -q '^fleet of 8 points on 9 nodes' out
}
