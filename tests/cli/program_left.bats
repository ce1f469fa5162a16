#!/usr/bin/env bats
# Nothing of a user's programs stays, whichever process of ours a signal ends.

load helper
load mps

PROGRAM=$MPSWEEP_BUILD_DIR/tests/fakes/program
LONG=(--device emulated --warmup 0.02 --precision 100 --seed 0 -q -o r.jsonl --duration 60 --rounds 1)

# The name stands in the command line of mpsweep, too.
own_programs() { own_processes | while read -r pid; do command_line "$pid" | head -1; done | grep -cxF "$PROGRAM"; }
has_own() { [ "$(own_programs)" -ge "$1" ]; }

# begin MODE LAYOUT COUNT [TIMEOUT]: until COUNT of the programs run.
begin() {
  start "$MPSWEEP" sweep "${LONG[@]}" --timeout "${4:-30}" -l "$2" -- "$PROGRAM" "$1"
  await $PATIENCE has_own "$3"
}

interrupted() {
  begin "$@"
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  says 'mpsweep: interrupted'
  points 'map(.status) == ["interrupted"]' r.jsonl
}

killed() {
  begin "$@"
  kill -KILL "$PID"
  finish
  [ "$STATUS" -eq 137 ]
  assert_whole r.jsonl
}

@test "Ctrl-C ends programs" { interrupted well processes:2 2; }
@test "Ctrl-C ends programs over MPS" { interrupted well hybrid:2x2 2; }
@test "Ctrl-C ends programs that are never ready" { interrupted never-ready processes+mps:2 2; }
@test "Ctrl-C ends programs with children" { interrupted stubborn-grandchild processes:2 3 2; }
@test "Ctrl-C ends programs that ignore everything" { interrupted ignore-all processes+mps:2 2 2; }
@test "SIGKILL of mpsweep ends programs" { killed well processes:2 2; }
@test "SIGKILL of mpsweep ends programs over MPS" { killed well processes+mps:2 2; }
@test "SIGKILL of mpsweep ends programs that are never ready" { killed never-ready hybrid:2x2 2; }
@test "SIGKILL of mpsweep ends programs with children" { killed stubborn-grandchild processes:2 3; }
@test "SIGKILL of mpsweep ends programs that ignore everything" { killed ignore-all processes+mps:2 2; }

# outlived LAYOUT VICTIM...: SIGKILL at once to the sweep, and to supervisor and keeper of the second program,
# which has a descendant in a session of its own, that init would get. Invariant C1.
outlived() {
  local layout=$1 victim victims=
  shift
  begin stubborn-grandchild "$layout" 3
  local -A pids=([sweep]=$PID [supervisor]=$(workers_of "$PID" | tail -1))
  pids[keeper]=$(children_of "${pids[supervisor]}" | head -1)
  for victim in "$@"; do victims+=" ${pids[$victim]}"; done
  # shellcheck disable=SC2086 # several
  kill -KILL $victims
  finish
  if [[ " $* " == *" sweep "* ]]; then
    [ "$STATUS" -eq 137 ]
    await $LEFTOVER_PATIENCE no_own_process
    return
  fi
  [ "$STATUS" -eq 2 ]
  points '.[0].status == "failed" and (.[0] | has("throughput_ips") | not)' r.jsonl
  # The sweep ends after all that it has started.
  no_own_process
}

@test "a program and what left its session do not outlive the supervisor" {
  outlived processes:2 supervisor
  points '.[0].error | test("lost its supervisor: killed by signal 9")' r.jsonl
}
@test "nor do they over MPS" { outlived processes+mps:2 supervisor; }
@test "nor a supervisor that is killed with mpsweep" { outlived processes:2 sweep supervisor; }
@test "nor their keeper" { outlived processes:2 keeper; }
# Some of them before it has reported the start: what it had started is the supervisor's then.
@test "nor a keeper that its program kills at once" {
  expect 2 "$MPSWEEP" sweep "${LONG[@]}" --timeout 30 -l processes:6 -- sh -c 'kill -KILL $PPID; exec sleep 1000'
  points '.[0].status == "failed" and (.[0].error | test("could not be started|before it was ready"))' r.jsonl
  no_own_process
}
@test "nor a keeper that is killed with mpsweep" { outlived processes:2 keeper sweep; }
@test "nor a keeper that is killed with the supervisor" { outlived processes:2 keeper supervisor; }
