#!/usr/bin/env bats
# A sweep that is ended, or killed, in each phase of its life: what was measured is kept, and
# nothing stays behind. That no process and no directory is left is looked at after every test.

load helper

PARTS_ROUNDS=(--device emulated --kernels 20 --warmup 0.05 --precision 100 --seed 0 -q -o r.jsonl)
PARTS=("${PARTS_ROUNDS[@]}" --rounds 1)

is_alive() { kill -0 "$1" 2>/dev/null; }

# held FAULT DURATION LAYOUT...: a sweep in the background that has come to the fault.
held() {
  local duration=$2
  holding "$1"
  in_rounds "$@"
  start "$MPSWEEP" sweep "${PARTS_ROUNDS[@]}" "${ROUNDS[@]}" --duration "$duration" "${@:3}"
  await $PATIENCE is_held
}

# begin PHASE LAYOUT: a sweep in the background whose process 0 has come as far as the phase. While
# they run, no process is held.
begin() {
  case $1 in
  starting) held cuInit=hold@0 0.2 -l "$2" -l threads:1 ;;
  running)
    held 'cuStreamSynchronize#200=hold@0' 60 -l "$2" -l threads:1
    release
    ;;
  draining) held cuStreamDestroy=hold@0 0.2 -l "$2" -l threads:1 ;;
  esac
}

# Ended by a signal: the results record it.
asked() {
  local signal=$1 phase=$2 layout=$3
  begin "$phase" "$layout"
  kill -"$signal" "$PID"
  [ "$phase" = running ] || release
  finish
  [ "$STATUS" -eq 130 ]
  says 'mpsweep: interrupted'
  assert_whole r.jsonl
  tail -1 r.jsonl | jq -e '.type == "footer" and .status == 130'
  # A point is measured or not; what was cut short has no number.
  points 'all(if .status == "interrupted" then has("throughput_ips") | not
    else measured and .throughput_ips > 0 end)' r.jsonl
  [ "$phase" = draining ] || points 'map(.status) == ["interrupted"]' r.jsonl
}

# Killed: the file is whole up to its last line, and can be continued. Who was held does not wait to
# be released.
killed() {
  local phase=$1 layout=$2
  begin "$phase" "$layout"
  kill -KILL "$PID"
  finish
  [ "$STATUS" -eq 137 ]
  assert_whole r.jsonl
  jq -s -e 'map(.type) == ["header"]' r.jsonl
  await $LEFTOVER_PATIENCE no_own_process
  rm -rf hold
  if [ "$phase" = running ]; then
    # As long as before.
    start "$MPSWEEP" sweep "${PARTS[@]}" --duration 60 -l "$layout" -l threads:1 --resume
    await $PATIENCE has_workers 1
    kill -INT "$PID"
    finish
    [ "$STATUS" -eq 130 ]
    points 'map(.status) == ["interrupted"]' r.jsonl
  else
    expect 0 "$MPSWEEP" sweep "${PARTS[@]}" --duration 0.2 -l "$layout" -l threads:1 --resume
    assert_complete r.jsonl 2 0
  fi
}

@test "SIGINT while processes start" { asked INT starting processes:2; }
@test "SIGINT while processes over MPS start" { asked INT starting processes+mps:2; }
@test "SIGINT while processes run" { asked INT running processes:2; }
@test "SIGINT while processes over MPS run" { asked INT running processes+mps:2; }
@test "SIGINT while processes drain" { asked INT draining processes:2; }
@test "SIGINT while processes over MPS drain" { asked INT draining processes+mps:2; }
@test "SIGTERM while processes start" { asked TERM starting processes:2; }
@test "SIGTERM while processes over MPS start" { asked TERM starting processes+mps:2; }
@test "SIGTERM while processes run" { asked TERM running processes:2; }
@test "SIGTERM while processes over MPS run" { asked TERM running processes+mps:2; }
@test "SIGTERM while processes drain" { asked TERM draining processes:2; }
@test "SIGTERM while processes over MPS drain" { asked TERM draining processes+mps:2; }
@test "SIGHUP while threads over MPS run" { asked HUP running hybrid:2x2; }
# Invariants C1 and D1.
@test "SIGKILL while processes start" { killed starting processes:2; }
@test "SIGKILL while processes over MPS start" { killed starting processes+mps:2; }
@test "SIGKILL while processes run" { killed running processes:2; }
@test "SIGKILL while processes over MPS run" { killed running processes+mps:2; }
@test "SIGKILL while processes drain" { killed draining processes:2; }
@test "SIGKILL while processes over MPS drain" { killed draining processes+mps:2; }

# Invariants F2 and F4.
@test "what was measured before the signal is kept" {
  # The third point does not begin.
  held cuInit=hold@1 0.05 -l threads:1 -l processes+mps:1 -l processes+mps:2 -l threads:2
  [ "$(wc -l <r.jsonl)" -eq 3 ]
  kill -INT "$PID"
  release
  finish
  [ "$STATUS" -eq 130 ]
  assert_whole r.jsonl
  points 'map([.id, outcome]) == [[0, "measured"], [1, "measured"], [2, "interrupted"]]' r.jsonl
  # The table shows them all the same.
  grep -q '^processes+mps  *1×1 .*[0-9]' out
  grep -q '^processes+mps  *2×1 .* interrupted$' out
  expect 0 "$MPSWEEP" sweep "${PARTS[@]}" --duration 0.05 -l threads:1 -l processes+mps:1 \
    -l processes+mps:2 -l threads:2 --resume
  points 'map(outcome) == ["measured", "measured", "measured", "measured"]' r.jsonl
}

@test "a point that is interrupted in a later round keeps the finished ones" {
  # Each round has processes of its own.
  held 'cuStreamSynchronize#5=hold@0' 0.2 --rounds 3 --no-reuse -l processes:1
  rm hold/held
  await $PATIENCE is_held
  kill -INT "$PID"
  release
  finish
  [ "$STATUS" -eq 130 ]
  says 'mpsweep: interrupted'
  assert_whole r.jsonl
  points 'length == 1 and .[0].error == null and .[0].throughput_ips > 0' r.jsonl
  points '.[0] | measured and (.rounds | length == 1) and .rounds_left == 2' r.jsonl
  # What two further rounds will show is not known: there is nothing to advise.
  jq -c 'if .type == "point" then .status = "unconverged" | .ci95_rel = 0.9 | .interval.needs_s = 70
    else . end' r.jsonl >wide.jsonl
  expect 0 "$MPSWEEP" export wide.jsonl
  grep -q 'unconverged: ±90.0% after 1 of 3 rounds$' out
  absent '--rounds 3' out
}

@test "interrupted again: a point without a round keeps its row" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -q -o whole.jsonl
  jq -c 'select(.type != "footer") | if .id == 1 then .status = "interrupted" | .rounds = []
    | del(.throughput_ips) else . end' whole.jsonl >cut.jsonl
  expect 130 with_pending INT "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -q -o cut.jsonl --resume
  grep -q '^threads *1×2 .*interrupted$' out
}

@test "Ctrl-C: the terminal signals everybody, and one interruption is seen" {
  command -v setsid >/dev/null || skip "no setsid here"
  local pid
  # A shell of its own session; the sweep is its child, in its process group.
  holding 'cuStreamSynchronize#200=hold@0'
  start setsid bash -c '"$@"; exit $?' shell "$MPSWEEP" sweep "${PARTS[@]}" --duration 60 \
    -l processes+mps:2 -l threads:1
  await $PATIENCE is_held
  release
  kill -INT -- "-$PID"
  finish
  [ "$STATUS" -eq 130 ]
  says 'mpsweep: interrupted'
  assert_whole r.jsonl
  points 'map(.status) == ["interrupted"]' r.jsonl
}

@test "a job is ended: a worker that hears of it first has not failed" {
  begin running processes:2
  local worker
  worker=$(workers_of "$PID" | head -1)
  kill -TERM "$worker"
  # It is gone when it is reaped.
  await $PATIENCE is_gone "$worker"
  kill -TERM "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  says 'mpsweep: interrupted'
  points 'map(.status) == ["interrupted"]' r.jsonl
}

@test "several signals are as good as one" {
  begin running processes+mps:2
  kill -INT "$PID"
  kill -TERM "$PID"
  kill -INT "$PID" || true
  finish
  [ "$STATUS" -eq 130 ]
  assert_whole r.jsonl
  tail -1 r.jsonl | jq -e '.status == 130'
}

# Invariant R4.
@test "a signal ends a sweep whose worker hangs" {
  held 'cuStreamSynchronize#20=hold@1' 60 --timeout 30 -l processes+mps:2 -l threads:1
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  assert_whole r.jsonl
  points 'map(.status) == ["interrupted"]' r.jsonl
}

# -- the guard -------------------------------------------------------------------------------------

guard() { children_named "$PID" mpsweep-guard; }

@test "SIGKILL of the guard while processes over MPS run" {
  begin running processes+mps:2
  [ "$(guard | wc -l)" -eq 1 ]
  kill -KILL "$(guard)"
  # It may notice at once or later; then it gets the signal to end.
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ] || [ "$STATUS" -eq 2 ]
  assert_whole r.jsonl
  points 'all(has("throughput_ips") | not)' r.jsonl
}

@test "SIGKILL of the guard between points: an error, and no number over MPS without a daemon" {
  held cuInit=hold@0 0.05 -l threads:1 -l processes+mps:2 -l processes+mps:1
  kill -KILL "$(guard)"
  release
  finish
  [ "$STATUS" -eq 2 ]
  assert_complete r.jsonl 3 2
  points 'map(outcome) == ["measured", "failed", "failed"]' r.jsonl
  points '.[1:] | all((.error | test("MPS")) and (has("throughput_ips") | not))' r.jsonl
}

@test "SIGKILL of the orchestrator and the guard together" {
  begin running processes+mps:2
  local guard
  guard=$(guard)
  kill -KILL "$PID" "$guard"
  finish
  await $LEFTOVER_PATIENCE no_own_process
  # No process was left to remove the directory: the next run does it.
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -q
  [ -z "$(find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'mpsweep-*')" ]
}

@test "SIGTERM and SIGINT to the guard do not end it" {
  begin running processes+mps:2
  local guard
  guard=$(guard)
  kill -INT "$guard"
  kill -TERM "$guard"
  kill -HUP "$guard"
  is_alive "$guard"
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  says 'mpsweep: interrupted'
}

# Invariant R2.
@test "the daemon is killed while its clients run: the point has no number" {
  held 'cuStreamSynchronize#10=hold@0' 0.2 -l processes+mps:2 -l processes+mps:1 --timeout 5
  kill -KILL "$(children_named "$(guard)" mpsweep-emulated-mps-control)"
  release
  finish
  [ "$STATUS" -eq 2 ]
  assert_complete r.jsonl 2 2
  points '.[0].status == "failed" and (.[0] | has("throughput_ips") | not) and (.[1] | measured)' \
    r.jsonl
}
