#!/usr/bin/env bats
# A sweep that is ended, or killed, in each phase of its life: what was measured is kept, and
# nothing stays behind. That no process and no directory is left is looked at after every test.

load helper

PARTS=(--device emulated --kernels 20 --warmup 0.05 --precision 100 --seed 0 -q -o r.jsonl)

# Context switches of a process: they continue while it iterates, and not while it waits for something.
switches() {
  cat "/proc/$1"/task/*/status 2>/dev/null | awk '/^voluntary_ctxt_switches/ { sum += $2 } END { print sum + 0 }'
}

# Far more switches than a start takes.
is_iterating() {
  local pid
  for pid in $(workers_of "$PID"); do
    [ "$(switches "$pid")" -gt 300 ] || return 1
  done
  has_workers 1
}

# Of two workers only the slow one is there.
one_is_left() { [ "$(workers_of "$PID" | wc -l)" -eq 1 ]; }

is_alive() { kill -0 "$1" 2>/dev/null; }

# The window of a phase's points: long enough to be met in it, and where RESUMED short enough to be
# measured later.
window() {
  case $1 in
  starting) echo 0.2 ;;
  running) echo "${RESUMED:-60}" ;;
  draining) echo 3 ;;
  esac
}

# begin PHASE LAYOUT: a sweep in the background that has come as far as the phase.
begin() {
  case $1 in
  starting)
    MPSWEEP_EMULATED_FAULT='cuInit=slow:2500@0' start "$MPSWEEP" sweep "${PARTS[@]}" \
      --duration "$(window "$1")" -l "$2" -l threads:1
    await $PATIENCE has_workers 1
    ;;
  running)
    start "$MPSWEEP" sweep "${PARTS[@]}" --duration "$(window "$1")" -l "$2" -l threads:1
    await $PATIENCE is_iterating
    ;;
  draining)
    MPSWEEP_EMULATED_FAULT='cuStreamDestroy=slow:2500@0' start "$MPSWEEP" sweep "${PARTS[@]}" \
      --duration "$(window "$1")" -l "$2" -l threads:1
    await $PATIENCE has_workers 2
    await $PATIENCE one_is_left
    ;;
  esac
}

# Ended by a signal: the results record it.
asked() {
  local signal=$1 phase=$2 layout=$3
  begin "$phase" "$layout"
  kill -"$signal" "$PID"
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

# Killed: the file is whole up to its last line, and can be continued.
killed() {
  local phase=$1 layout=$2 RESUMED=8
  begin "$phase" "$layout"
  kill -KILL "$PID"
  finish
  [ "$STATUS" -eq 137 ]
  assert_whole r.jsonl
  jq -s -e 'map(.type) == ["header"]' r.jsonl
  await $LEFTOVER_PATIENCE no_own_process
  expect 0 "$MPSWEEP" sweep "${PARTS[@]}" --duration "$(window "$phase")" -l "$layout" \
    -l threads:1 --resume
  assert_complete r.jsonl 2 0
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
  MPSWEEP_EMULATED_FAULT='cuInit=slow:60000@1' start "$MPSWEEP" sweep "${PARTS[@]}" \
    --duration 0.05 -l threads:1 -l processes+mps:1 -l processes+mps:2 -l threads:2
  # The header and two points; the third one does not begin.
  has_lines() { [ "$(wc -l <r.jsonl)" -ge "$1" ]; } 2>/dev/null
  await $PATIENCE has_lines 3
  await $PATIENCE has_workers 2
  kill -INT "$PID"
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
  # Each round has processes of its own: another number belongs to the second round.
  is_in_second_round() {
    local now
    now=$(workers_of "$PID")
    [ -n "$now" ] && [ "$now" != "$first" ] && is_iterating
  }
  start "$MPSWEEP" sweep "${PARTS[@]}" --duration 4 --rounds 3 --no-reuse -l processes:1
  await $PATIENCE has_workers 1
  local first
  first=$(workers_of "$PID")
  await $PATIENCE is_in_second_round
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  says 'mpsweep: interrupted'
  assert_whole r.jsonl
  points 'length == 1 and .[0].error == null and .[0].throughput_ips > 0' r.jsonl
  points '.[0] | measured and (.rounds | length == 1)' r.jsonl
}

@test "Ctrl-C: the terminal signals everybody, and one interruption is seen" {
  command -v setsid >/dev/null || skip "no setsid here"
  local pid
  # A shell of its own session; the sweep is its child, in its process group.
  start setsid bash -c '"$@"; exit $?' shell "$MPSWEEP" sweep "${PARTS[@]}" --duration 60 \
    -l processes+mps:2 -l threads:1
  local shell=$PID
  has_child() { [ -n "$(children_named "$shell" mpsweep)" ]; }
  await $PATIENCE has_child
  PID=$(children_named "$shell" mpsweep)
  await $PATIENCE is_iterating
  kill -INT -- "-$shell"
  PID=$shell
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
  MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#20=hang@1' start "$MPSWEEP" sweep "${PARTS[@]}" \
    --duration 60 --timeout 30 -l processes+mps:2 -l threads:1
  await $PATIENCE has_workers 2
  local first
  first=$(workers_of "$PID" | head -1)
  iterates() { [ "$(switches "$first")" -gt 100 ]; }
  await $PATIENCE iterates
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
  MPSWEEP_EMULATED_FAULT='cuInit=slow:1000@0' start "$MPSWEEP" sweep "${PARTS[@]}" --duration 0.05 \
    -l threads:1 -l processes+mps:2 -l processes+mps:1
  has_guard() { [ -n "$(guard)" ]; }
  await $PATIENCE has_guard
  await $PATIENCE has_workers 1
  kill -KILL "$(guard)"
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
  MPSWEEP_EMULATED_FAULT='' start "$MPSWEEP" sweep "${PARTS[@]}" --duration 4 -l processes+mps:2 \
    -l processes+mps:1 --timeout 5
  await $PATIENCE is_iterating
  kill -KILL "$(children_named "$(guard)" mpsweep-emulated-mps-control)"
  finish
  [ "$STATUS" -eq 2 ]
  assert_complete r.jsonl 2 2
  points '.[0].status == "failed" and (.[0] | has("throughput_ips") | not) and (.[1] | measured)' \
    r.jsonl
}
