#!/usr/bin/env bats
# mpsweep slurm collect: what the shards of a run have is merged, and what is left of it is named.

load helper
load slurm

@test "collect: what is there is merged, with what is missing and how to continue" {
  slurm_is_faked
  a_job
  submit -q
  task_line 0 PENDING '' 2:00 Resources >squeue.out
  expect 1 "$MPSWEEP" slurm collect run
  grep -q "'$WORK/run' has no results yet: mpsweep slurm status" err
  expect 0 task 1
  { task_line 0 PENDING '' 2:00 Resources; task_line 1 COMPLETED n 0:00 None; } >squeue.out
  expect 5 "$MPSWEEP" slurm collect run
  grep -q 'shard 0 has no results: pending$' err
  grep -q 'collect again when the jobs have ended' err
  assert_whole run/all.jsonl
  : >squeue.out
  printf 'shard 0 on n, now\nmpsweep: there is no GPU\n' >run/log/shard-0.log
  expect 2 "$MPSWEEP" slurm collect run -o some.jsonl
  grep -q 'shard 0 has no results: there is no GPU$' err
  grep -q "to continue what is left: mpsweep slurm submit --again '$WORK/run'" err
  expect 1 "$MPSWEEP" slurm collect run -o some.jsonl
  grep -q "'some.jsonl' exists: give another name$" err
  expect 0 task 0
  expect 0 "$MPSWEEP" slurm collect run
  [ "$(jq -c 'select(.type == "point") | .id' run/all.jsonl | sort -n | tr '\n' ' ')" = '0 1 2 3 4 5 6 7 ' ]
  expect 0 "$MPSWEEP" slurm collect run -f json
  jq -s -e '.[0] | .type == "merge" and .missing_points == 0' out
}

@test "collect asks Slurm before it looks at files, and waits for nothing after the merging" {
  slurm_is_faked
  a_job
  submit -q
  expect 0 task 0
  expect 0 task 1
  mv run/shard-1.jsonl finished
  # A job that ends while it is asked for.
  cat >bin/squeue <<FAKE
#!/bin/sh
[ ! -e "$WORK/run/all.jsonl" ] || echo asked >>"$WORK/late"
mv "$WORK/finished" "$WORK/run/shard-1.jsonl"
echo '42|0|COMPLETED|a|N/A|0:00|None'
echo '42|1|COMPLETED|b|N/A|0:00|None'
FAKE
  expect 0 "$MPSWEEP" slurm collect run
  [ ! -e late ]
  # A controller that does not answer holds up no user who does not want to wait.
  printf '#!/bin/sh\necho $$ >"%s/asked"\nexec sleep 600\n' "$WORK" >bin/squeue
  start "$MPSWEEP" slurm collect run
  await $PATIENCE test -s asked
  kill -INT "$PID"
  finish
  [ $STATUS -eq 130 ]
  assert_complete run/all.jsonl 8 0
}

@test "shards of different plans: the odd one is named, and not taken" {
  slurm_is_faked
  a_job
  expect 0 "$MPSWEEP" slurm submit a.job --nodes 3 --dir run -q
  for i in 0 1 2; do expect 0 task $i; done
  expect 0 "$MPSWEEP" sweep a.job --shard 1/3 --kernels 6 --quiet -o other.jsonl
  mv other.jsonl run/shard-1.jsonl
  expect 2 "$MPSWEEP" slurm status run
  grep -qE '^ +1  broken .*shard-1.jsonl. has another plan \([0-9a-f:]+\) than the other shards' out
  echo nonsense >run/shard-2.jsonl
  expect 2 "$MPSWEEP" slurm status run
  grep -qE "^ +2  broken .*shard-2.jsonl': the line at byte 0 is not a record" out
  expect 2 "$MPSWEEP" slurm collect run
  grep -q 'shard 1 is left out: .* has another plan' err
  grep -q 'shard 2 is left out: ' err
  expect 0 "$MPSWEEP" slurm submit --again run
  grep -q 'there is nothing to submit: 1 shard is finished, 0 run or wait' out
  grep -q 'shard 1 is not submitted: .* has another plan .*: move it away$' err
  grep -q 'shard 2 is not submitted: ' err
  jq -s -e '[.[] | select(.type == "point")] | length > 0' run/all.jsonl
}
