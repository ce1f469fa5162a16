#!/usr/bin/env bats
# mpsweep slurm, with programs in the place of Slurm's: what it makes, asks and prints. The real Slurm
# is in slurm_cluster.bats; what is collected is in slurm_collect.bats.

load helper
load mps
load slurm

@test "submit makes a directory with job, scripts and manifest, and submits an array and a merge" {
  slurm_is_faked
  a_job
  submit --rounds 2 -q -- --partition=gpu -A account --comment="it's \$HOME"
  grep -q '^job 42 measures shards 0-1 of 2, job 42 merges' out
  grep -qxF "see how far it is: mpsweep slurm status '$WORK/run'" out
  cmp a.job run/a.job
  [ -d run/log ]
  sh -n run/shard.sbatch
  sh -n run/merge.sbatch
  jq -e --arg here "$WORK" '.type == "slurm-run" and .shards == 2 and .plan == 8 and
    .purpose == "shard" and (.plan_id | test("^2:[0-9a-f]{16}$")) and .job == "a.job" and .directory == $here and
    .sweep == ["--rounds=2", "--quiet"] and
    .sbatch == ["--partition=gpu", "-A", "account", "--comment=it'\''s $HOME"] and
    (.submissions | length) == 1 and
    .submissions[0] .array == "42" and .submissions[0].merge == "42" and
    .submissions[0].shards == "0-1"' run/run.json
  for line in '#SBATCH --exclusive' '#SBATCH --gres=gpu:1' '#SBATCH --signal=B:TERM@60' \
    '#SBATCH --requeue'; do
    grep -qx -e "$line" run/shard.sbatch
  done
  # In its own line each, and no shell has looked at them.
  local wanted=(--parsable --array=0-1 "--chdir=$WORK" "--output=$WORK/run/log/shard-%a.log"
    --partition=gpu -A account "--comment=it's \$HOME" "$WORK/run/shard.sbatch" --
    --parsable --partition=gpu -A account "--comment=it's \$HOME" --dependency=afterany:42
    --gres=none "--chdir=$WORK/run" "--output=$WORK/run/log/merge.log" "$WORK/run/merge.sbatch" --)
  printf '%s\n' "${wanted[@]}" | diff - sbatch.words
  # Who has the tool looks closer.
  ! command -v shellcheck >/dev/null || shellcheck run/shard.sbatch run/merge.sbatch
}

@test "the batch scripts take a directory, a job and words of any letters" {
  slurm_is_faked
  a_job
  mkdir "it's a \"dir\" \$HOME"
  mv a.job "it's a \"dir\" \$HOME/a b.job"
  cd "it's a \"dir\" \$HOME"
  expect 0 "$MPSWEEP" slurm submit 'a b.job' -N 1 --dir 'run; exit' --gpus-per-node 0 --quiet
  absent gres= 'run; exit/shard.sbatch'
  expect 0 env SLURM_ARRAY_TASK_ID=0 sh 'run; exit/shard.sbatch'
  assert_complete 'run; exit/shard-0.jsonl' 8 0
}

@test "--dry-run prints scripts and command lines, and makes nothing" {
  slurm_is_faked
  a_job
  expect 0 "$MPSWEEP" slurm submit a.job -N 2 --dir run -n -- -p 'g p'
  grep -qx '#SBATCH --exclusive' out
  grep -qx "sbatch --parsable --array=0-1 --chdir=$WORK --output=$WORK/run/log/shard-%a.log -p 'g p' $WORK/run/shard.sbatch" out
  grep -q "^sbatch .*--dependency=afterany:ARRAY" out
  [ ! -e run ]
  [ ! -e sbatch.words ]
}

@test "submit: the example of a program in the help is accepted" {
  local words
  slurm_is_faked
  printf '#!/bin/sh\n' >serve
  chmod +x serve
  words=$("$MPSWEEP" slurm submit --help | sed -n 's/^  mpsweep slurm submit \(.* -- \.\/serve .*\)/\1/p')
  [ -n "$words" ]
  # shellcheck disable=SC2086 # several words
  expect 0 "$MPSWEEP" slurm submit --dry-run --device emulated $words
  grep -q '^sbatch .* -p gpu ' out
}

@test "a task measures its shard and publishes it; once more, it leaves it alone" {
  slurm_is_faked
  a_job
  export MPSWEEP_EMULATED_MACHINE=slots=7
  submit -q
  unset MPSWEEP_EMULATED_MACHINE
  expect 0 task 0
  [ ! -e run/shard-0.jsonl.part ]
  assert_whole run/shard-0.jsonl
  head -1 run/shard-0.jsonl | jq -e '.shard.index == 0 and .shard.count == 2 and
    .emulated_machine == "slots=7"'
  cp run/shard-0.jsonl before
  expect 0 task 0
  grep -q 'shard 0 is finished already' out
  cmp before run/shard-0.jsonl
  # What sbatch --export=NONE leaves of the environment.
  expect 0 env -i SLURM_ARRAY_TASK_ID=1 TMPDIR="$TMPDIR" /bin/sh run/shard.sbatch
  points 'map(.throughput_ips > 0) | all' run/shard-1.jsonl
  # All of them, and none twice but those for reference.
  jq -s -e '[.[] | select(.type == "point") | .id] | unique == [range(8)]' run/shard-?.jsonl
}

@test "SIGTERM to the script is one to mpsweep: the part stays, and the next start continues" {
  slurm_is_faked
  a_job
  submit -q
  holding cuStreamSynchronize#20=hold
  start env SLURM_ARRAY_TASK_ID=0 sh run/shard.sbatch
  await $PATIENCE is_held
  kill -TERM "$PID"
  release
  finish
  unset MPSWEEP_EMULATED_FAULT
  [ $STATUS -eq 130 ]
  [ ! -e run/shard-0.jsonl ]
  assert_whole run/shard-0.jsonl.part
  cp run/shard-0.jsonl.part part
  expect 0 task 0
  grep -q resuming out
  [ ! -e run/shard-0.jsonl.part ]
  cmp -n "$(stat -c %s part)" part run/shard-0.jsonl
  points 'map(.throughput_ips > 0) | all' run/shard-0.jsonl
}

@test "a daemon that the site manages is used with --mps external only, and left as it is" {
  local before pipe
  slurm_is_faked
  a_job
  keep
  pipe=$(private)/mps
  before=$(kept '[.daemon, .guard, .settings]')
  submit -q -l processes+mps:1-2 -m pinned --launch stream
  # As a prolog sets it.
  expect 0 env CUDA_MPS_PIPE_DIRECTORY="$pipe" SLURM_ARRAY_TASK_ID=0 sh run/shard.sbatch
  jq -s -e '.[0] | has("external_mps") | not' run/shard-0.jsonl
  mv run first
  submit -q -l processes+mps:1-2 -m pinned --launch stream --mps external
  expect 0 env CUDA_MPS_PIPE_DIRECTORY="$pipe" SLURM_ARRAY_TASK_ID=0 sh run/shard.sbatch
  jq -s -e --arg pipe "$pipe" '.[0].external_mps.pipe_directory == $pipe' run/shard-0.jsonl
  points 'map(.throughput_ips > 0) | all' run/shard-0.jsonl
  [ "$(kept '[.daemon, .guard, .settings]')" = "$before" ]
  expect 0 "$MPSWEEP" mps stop
}

bad_submits() {
  cat <<'TABLE'
a.job                              | slurm submit needs --nodes N
a.job -N 0                         | '0' is not a value of nodes
a.job -N 10001 --fleet             | 10001
a.job -N 9                         | --nodes 9 is more than the 8 points of the plan
none.job -N 2                      | cannot .*'none.job'
run.json -N 2                      | has a 'run.json' of its own: give it another name
a.job -N 2 --layout nonsense:1     | nonsense
a.job -N 2 --memroy pinned         | unknown option '--memroy'; did you mean '--memory'
a.job -N 2 --partition=gpu         | unknown option '--partition'; did you mean '--sm-partition'\? options of sbatch go behind '--' \(options:
a.job -N 2 --gres gpu:1            | unknown option '--gres'; options of sbatch go behind '--' \(options:
a.job -N 2 -A gpu                  | unknown option '-A'; options of sbatch go behind '--' \(options:
a.job -N 2 gpu                     | unexpected argument 'gpu'; options of sbatch go behind '--' \(options:
a.job -N 2 -o x.jsonl              | --output is not for slurm submit
a.job -N 2 --shard 0/2             | --shard is not for slurm submit: each task has its own
a.job -N 2 --resume                | --resume is not for slurm submit
a.job -N 2 --force                 | --force is not for slurm submit
a.job -N 2 -- --array=0-7          | '--array=0-7' is not for sbatch here
a.job -N 2 -- -N 3                 | '-N' is not for sbatch here
a.job -N 2 -- -Q                   | '-Q' is not for sbatch here
a.job -N 2 -- -HN2                 | '-HN2' is not for sbatch here: mpsweep gives it its own --nodes
a.job -N 2 -- --signal=USR1@60     | '--signal=USR1@60' is not for sbatch here: mpsweep keeps what it has measured only at --signal=B:TERM@SECONDS
a.job -N 2 -- --signal B:USR1      | '--signal' is not for sbatch here: mpsweep keeps
a.job -N 2 -- --signal             | '--signal' is not for sbatch here: mpsweep keeps
a.job -N 2 -- gpu                  | 'gpu' is not an option of sbatch
a.job -N 2 -- --time=1 gpu         | 'gpu' is not an option of sbatch
a.job -N 2 -- -p gpu --            | there is no program after the second '--'
a.job -N 2 --dir no/such/place     | cannot make a directory in 'no/such': No such file
a.job -N 2 --dir run{shard}        | must be UTF-8 without \{, \}
a.job -N 2 --dir taken             | 'taken' exists: give another --dir
a.job -N 2 --again taken           | --again DIR repeats what DIR was submitted with
--again none                       | cannot open 'none': No such file
--again taken                      | 'taken' is not a run of 'mpsweep slurm submit'
TABLE
}

@test "bad input: one line with what would be right, and nothing is made" {
  local words pattern
  slurm_is_faked
  a_job
  cp a.job run.json
  mkdir taken
  while IFS='|' read -r words pattern; do
    pattern=${pattern# }
    # shellcheck disable=SC2086 # several words
    refused "$pattern" "$MPSWEEP" slurm submit $words
  done < <(bad_submits)
  [ ! -e sbatch.words ]
  [ "$(ls)" = "$(printf '%s\n' a.job bin err out run.json sbatch.out taken)" ]
  refused "unknown command 'slurm watch': it is one of slurm submit, slurm status" "$MPSWEEP" slurm watch
  refused "slurm status needs DIR" "$MPSWEEP" slurm status
  refused "'taken' is not a run" "$MPSWEEP" slurm collect taken
  mkdir odd
  echo '{"type": "slurm-run", "schema": 7, "purpose": "shard", "shards": 2, "submissions": []}' >odd/run.json
  refused "is of another version of mpsweep" "$MPSWEEP" slurm status odd
  local rest='"type": "slurm-run", "schema": 1, "purpose": "shard", "shards": 2, "submissions": []'
  for fields in '"plan": 8' '"plan": 8, "sbatch": "-p gpu"' '"plan": 8, "sbatch": ["-p", 7]' '"sbatch": []'; do
    echo "{$rest, $fields}" >odd/run.json
    refused "odd/run.json' needs the points of its plan" "$MPSWEEP" slurm status odd --json
  done
  echo '{"type": "slurm-run", ' >odd/run.json
  refused "odd/run.json' line" "$MPSWEEP" slurm status odd
}

@test "without Slurm, or with one that refuses: one line, and it can be tried again" {
  slurm_is_faked
  a_job
  rm bin/sbatch
  refused "there is no sbatch on PATH: this needs Slurm's programs.*slurm-client" \
    env PATH="$WORK/bin" "$MPSWEEP" slurm submit a.job -N 2 --dir run
  [ ! -e run ]
  printf '#!/bin/sh\ncat "%s/said" >&2\nexit 1\n' "$WORK" >bin/sbatch
  chmod +x bin/sbatch
  printf 'sbatch: error: Invalid generic resource (gres) specification\nsbatch: error: no\n' >said
  refused "sbatch: Invalid generic resource .gres. specification; no .*--gpus-per-node" \
    "$MPSWEEP" slurm submit a.job -N 2 --dir run
  echo 'sbatch: error: Batch job submission failed: Access/permission denied' >said
  refused "sbatch: Batch job submission failed: Access/permission denied$" \
    "$MPSWEEP" slurm submit a.job -N 2 --dir run
  echo 'sbatch: error: Batch job submission failed: Invalid job array specification' >said
  refused "Invalid job array specification .is 'MaxArraySize' of 'scontrol show config' less than --nodes" \
    "$MPSWEEP" slurm submit a.job -N 2 --dir run
  : >said
  refused "sbatch: exit status 1" "$MPSWEEP" slurm submit a.job -N 2 --dir run
  printf '#!/bin/sh\necho Submitted batch job 7\n' >bin/sbatch
  [ ! -e run ]
  # What may have been submitted must find its directory.
  refused "sbatch did not print a job's number, but 'Submitted batch job 7' .it may be submitted .*if not: mpsweep slurm submit --again '$WORK/run'" \
    "$MPSWEEP" slurm submit a.job -N 2 --dir run
  "$MPSWEEP" slurm status run >out || [ $? -eq 2 ]
  rm -r run
  printf '#!/bin/sh\necho "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2\nexit 1\n' >bin/sbatch
  refused "Socket timed out on send/recv operation .it may be submitted anyway" \
    "$MPSWEEP" slurm submit a.job -N 2 --dir run
  rm -r run
  # The array is in, and the merge is not: that is known, and nothing is lost.
  cat >bin/sbatch <<'FAKE'
#!/bin/sh
case "$*" in *merge.sbatch) echo 'sbatch: error: no more' >&2; exit 1 ;; esac
echo '43;far'
FAKE
  refused "job 43 is submitted; merge it by hand .*sbatch: no more" \
    "$MPSWEEP" slurm submit a.job -N 2 --dir run
  jq -e '.submissions[0] | .array == "43" and .cluster == "far" and .merge == ""' run/run.json
}

@test "status: from the queue and from the files; the exit status shows whether anything is left" {
  slurm_is_faked
  a_job
  submit -q
  { task_line 0 RUNNING node7 1:58 None; task_line 1 PENDING '' 2:00 Resources; } >squeue.out
  expect 5 "$MPSWEEP" slurm status run
  grep -qE '^ +0  running +node7 +- .*1:58' out
  grep -qE '^ +1  pending .*Resources$' out
  grep -q '^0 finished, 2 run or wait, 0 are left$' out
  expect 0 task 0
  expect 0 task 1
  head -3 run/shard-1.jsonl >run/shard-1.jsonl.part
  rm run/shard-1.jsonl
  printf 'shard 1 on node9, now\nmpsweep: interrupted by a storm\n' >run/log/shard-1.log
  { task_line 0 COMPLETED node7 0:00 None; task_line 1 TIMEOUT node9 0:00 None; } >squeue.out
  expect 2 "$MPSWEEP" slurm status run
  grep -qE '^ +0  finished +node7 +([0-9]+)/\1( |$)' out
  grep -qE '^ +1  unfinished \(timeout\) +node9 +2/[0-9]+ .*interrupted by a storm$' out
  grep -q "1 is left: mpsweep slurm submit --again '$WORK/run'" out
  # Hours later only accounting knows of it.
  echo 'slurm_load_jobs error: Invalid job id specified' >squeue.err
  printf '42_0|COMPLETED|node7|2026-01-31T08:00:00\n42_1|NODE_FAIL|node9|2026-01-31T08:00:00\n' >sacct.out
  expect 2 "$MPSWEEP" slurm status run --json
  jq -e '.finished == 1 and .left == 1 and .at_work == 0 and .slurm_answered and
    .shards[1].job_state == "node_fail" and .shards[1].node == "node9" and .shards[1].done == 2 and
    .shards[1].error == "interrupted by a storm" and .shards[0].state == "finished"' out
  # An older Slurm.
  cat >bin/sacct <<FAKE
#!/bin/sh
case " \$* " in *' --array '*) echo "sacct: unrecognized option '--array'" >&2; exit 1 ;; esac
cat "$WORK/sacct.out"
FAKE
  expect 2 "$MPSWEEP" slurm status run
  grep -qE '^ +1  unfinished \(node_fail\) +node9 ' out
  # One of which the database never heard that it ended.
  echo '42_1|RUNNING|node9|2026-01-31T08:00:00' >sacct.out
  expect 2 "$MPSWEEP" slurm status run
  grep -qE '^ +1  unfinished  ' out
  # Nor is a Slurm that is down a reason to print nothing.
  echo 'squeue: error: Unable to contact slurm controller' >squeue.err
  expect 2 "$MPSWEEP" slurm status run
  says 'squeue: Unable to contact slurm controller; this is from the files alone'
  grep -qE '^ +1  unfinished +' out
  rm squeue.err
  : >squeue.out
  expect 0 task 1
  expect 0 "$MPSWEEP" slurm status run
  grep -q "2 finished, 0 run or wait, 0 are left: mpsweep slurm collect '$WORK/run'" out
}

@test "status: the reason of an interrupt is the error, whatever Slurm writes beside it" {
  slurm_is_faked
  a_job
  submit -q
  local over='slurmstepd: error: *** JOB 42 ON n1 CANCELLED AT 2026-01-31T08:00:00 DUE TO TIME LIMIT ***'
  local noise='slurmstepd: error: Failed to send signal 15 to 4711: No such process'
  reports() { # ERROR LINES...
    printf '%s\n' "${@:2}" >run/log/shard-1.log
    expect 2 "$MPSWEEP" slurm status run --json
    jq -e --arg error "$1" '.shards[1].error == $error' out
  }
  { task_line 0 TIMEOUT n1 0:00 None; task_line 1 TIMEOUT n1 0:00 None; } >squeue.out
  reports 'interrupted by SIGTERM' "$noise" 'mpsweep: interrupted by SIGTERM' "$noise"
  reports "$over" "$over" 'mpsweep: interrupted by SIGTERM' "$noise"
  reports "$over" 'mpsweep: a notice' "$over" "$noise"
  reports 'there is no GPU' 'mpsweep: there is no GPU' "$noise"
  reports "$noise" 'shard 1 on n1, now' 'mpsweep: of an earlier start' 'shard 1 on n1, again' "$noise"
}

@test "what a user has set for Slurm's programs hides no job of the run" {
  slurm_is_faked
  a_job
  for name in squeue scancel; do
    printf '#!/bin/sh\nenv >"%s/%s.env"\n' "$WORK" $name >bin/$name
  done
  printf '#!/bin/sh\nenv >"%s/sbatch.env"\necho 42\n' "$WORK" >bin/sbatch
  export SQUEUE_ACCOUNT=a SQUEUE_QOS=b SQUEUE_NAMES=c SQUEUE_USERS=d SQUEUE_FORMAT=e \
    SCANCEL_STATE=RUNNING SCANCEL_NAME=f SLURM_CLUSTERS=g SBATCH_WAIT=1 SBATCH_OPEN_MODE=truncate SBATCH_SIGNAL=USR1
  submit -q
  absent '^SBATCH_' sbatch.env
  # Where to submit is the user's business.
  grep -qx SLURM_CLUSTERS=g sbatch.env
  "$MPSWEEP" slurm status run >out || true
  expect 0 "$MPSWEEP" slurm cancel run
  absent '^SQUEUE_\|^SLURM_CLUSTERS' squeue.env
  absent '^SCANCEL_\|^SLURM_CLUSTERS' scancel.env
}

@test "who submits is alone: a second one is refused, and nothing is submitted twice" {
  slurm_is_faked
  a_job
  submit -q
  # An sbatch that waits for us, with a lock that is ours alone.
  mkfifo go
  cat >bin/sbatch <<FAKE
#!/bin/sh
echo sbatch >>"$WORK/calls"
read -r _ <"$WORK/go"
echo 99
FAKE
  start "$MPSWEEP" slurm submit --again run
  await $PATIENCE test -e calls
  for words in 'submit --again' cancel; do
    # shellcheck disable=SC2086 # several words
    expect_beside 1 "$MPSWEEP" slurm $words run
    grep -q "'$WORK/run' is being submitted by another mpsweep: look at it with 'mpsweep slurm status'" beside
    [ "$(wc -l <beside)" -eq 1 ]
  done
  # Only the user's own jobs are queried.
  "$MPSWEEP" slurm submit --again run --dry-run >beside
  grep -q -e '--array=0-1 ' beside
  [ "$(wc -l <calls)" -eq 1 ]
  echo >go
  await $PATIENCE eval '[ "$(wc -l <calls)" -eq 2 ]'
  echo >go
  finish
  [ $STATUS -eq 0 ]
  [ "$(wc -l <calls)" -eq 2 ]
  jq -e '.submissions | length == 2' run/run.json
}

# Beside what start() has started, whose output is in out and err.
expect_beside() {
  local expected=$1 got=0
  shift
  timeout $PATIENCE "$@" >beside 2>&1 3>&- || got=$?
  [ $got -eq "$expected" ]
}

@test "hints are of words that a shell takes as they are" {
  slurm_is_faked
  a_job
  local dir="it's a  dir" hint
  expect 0 "$MPSWEEP" slurm submit a.job -N 1 --dir "$dir" -q
  mpsweep() { "$MPSWEEP" "$@"; }
  hint=$(sed -n 's/^see how far it is: //p' out)
  [ -n "$hint" ]
  expect 2 eval "$hint"
  hint=$(sed -n 's/.* \(is\|are\) left: //p' out)
  expect 0 eval "$hint -n"
  expect 0 env SLURM_ARRAY_TASK_ID=0 sh "$dir/shard.sbatch"
  expect 0 mpsweep slurm status "$dir"
  hint=$(sed -n 's/.* \(is\|are\) left: //p' out)
  expect 0 eval "$hint"
  assert_whole "$dir/all.jsonl"
  expect 0 mpsweep slurm cancel "$dir"
  hint=$(sed -n 's/.*stays: //p' out)
  expect 0 eval "$hint"
  grep -q 'there is nothing to submit' out
}

@test "more words for sbatch than it is given: one line, before anything is made or submitted" {
  slurm_is_faked
  a_job
  local words=()
  for ((i = 0; i < 245; i++)); do words+=("--comment=$i"); done
  refused '^mpsweep: 245 words of options for sbatch are more than 244'     "$MPSWEEP" slurm submit a.job -N 2 --dir run -- "${words[@]}"
  [ ! -e run ]
  submit -q -- "${words[@]:1}"
  [ "$(grep -c -e '--comment=' sbatch.words)" -eq 488 ]
  [ "$(grep -c -e 'merge.sbatch$' sbatch.words)" -eq 1 ]
  refused '^mpsweep: 245 words' "$MPSWEEP" slurm submit --again run -- --time=1
  [ "$(grep -c -e '^--$' sbatch.words)" -eq 2 ]
}

@test "submit --again: what is finished or at work is left alone" {
  slurm_is_faked
  a_job
  expect 0 "$MPSWEEP" slurm submit a.job --nodes 5 --dir run -q -- -p gpu
  expect 0 task 1
  task_line 3 RUNNING node3 9:00 None >squeue.out
  rm sbatch.words
  echo 99 >sbatch.out
  expect 0 "$MPSWEEP" slurm submit --again run --dry-run
  grep -q -e '--array=0,2,4 ' out
  grep -q -e '--dependency=afterany:ARRAY:42 ' out
  [ ! -e sbatch.words ]
  expect 0 "$MPSWEEP" slurm submit --again run -- --time=60
  grep -q 'job 99 measures shards 0,2,4 of 5' out
  grep -qx -e '--array=0,2,4' sbatch.words
  grep -qx -e '--dependency=afterany:99:42' sbatch.words
  [ "$(grep -cx -e '--time=60' sbatch.words)" -eq 2 ]
  jq -e '(.submissions | length) == 2 and .submissions[1].array == "99" and
    .sbatch == ["-p", "gpu", "--time=60"]' run/run.json
  # Two that do not know of each other must not measure the same.
  echo 'squeue: error: down' >squeue.err
  refused "squeue: down" "$MPSWEEP" slurm submit --again run
  rm squeue.err
  { task_line 0 RUNNING a 1:00 None; task_line 2 PENDING a 1:00 None
    task_line 3 RUNNING a 1:00 None; task_line 4 COMPLETING a 1:00 None; } >squeue.out
  expect 0 "$MPSWEEP" slurm submit --again run
  grep -q 'there is nothing to submit: 1 shard is finished, 4 run or wait' out
  expect 0 "$MPSWEEP" slurm cancel run
  printf '%s\n' 42 42 99 99 -- | diff - scancel.words
}

@test "submit: a working directory that is gone is reported as such" {
  a_job
  mkdir gone
  cd gone
  rmdir ../gone
  refused "cannot find the working directory: No such file" \
    "$MPSWEEP" slurm submit "$WORK/a.job" -N 2 --dir "$WORK/run"
  cd ..
  [ ! -e run ]
}

@test "a file system without locks is none that is busy" {
  slurm_is_faked
  a_job
  local preload=(env LD_PRELOAD="$MPSWEEP_BUILD_DIR/tests/fakes/lying_rename.so" MPSWEEP_LIE=unlocked
    ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0")
  expect 0 "${preload[@]}" "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 --quiet -o x.jsonl
  assert_complete x.jsonl 1 0
  expect 0 "${preload[@]}" "$MPSWEEP" slurm submit a.job --nodes 2 --dir run -q
  expect 0 "${preload[@]}" "$MPSWEEP" slurm submit --again run
}
