#!/usr/bin/env bats
# mpsweep tune and its budget: whatever is slow or hangs, it ends in time and reports what it has.

load helper

PLAIN=(-m pinned --launch stream --schedule auto -b near --streams 1 -c default
  --active-thread-percentage default)
FEW=(-l threads:1,2 -l processes:2 -l processes+mps:2)
TUNE=(tune --device emulated --kernels 5 --bytes 64K --warmup 0.05 --duration 0.2 -q "${PLAIN[@]}")

record() { jq -c 'select(.type == "tune")' "$1"; }

# holds FILTER FILE: of the tune's record.
holds() {
  record "$2" | jq -e "$1" >/dev/null || fail "does not hold of $(record "$2"): $1"
}

# keeps_to BUDGET STATUS OPTIONS...: a tune that ends within its budget, in seconds.
keeps_to() {
  local budget=$1 status=$2
  shift 2
  rm -f r.jsonl
  expect "$status" "$MPSWEEP" "${TUNE[@]}" --budget "${budget}s" -o r.jsonl "$@" || return 1
  holds ".budget_s == $budget and .seconds <= .budget_s" r.jsonl || return 1
  tail -1 r.jsonl | jq -e ".type == \"footer\" and .seconds <= $budget" >/dev/null
}

# searches_its_threads PATTERN PROGRAM...: that has one thread, whatever MPSWEEP_THREADS asks for.
searches_its_threads() {
  local pattern=$1
  shift
  rm -f t.jsonl
  case $1 in -*) ;; *) set -- --max-processes 4 -- "$@" ;; esac
  expect 0 "$MPSWEEP" tune --device emulated --budget 20s -q -o t.jsonl "$@"
  points 'map(select(.threads > 1 and .tune.stage == "look"))
    | length <= 1 and all(.error | test("'"$pattern"'"))' t.jsonl
  points 'any(measured and .processes == 4 and .threads == 1)' t.jsonl
}

@test "threads that a program does not have are tried once" {
  judged searches_its_threads 'works on the GPU with 1 of its' "$MPSWEEP_BUILD_DIR/tests/fakes/unaware"
  judged searches_its_threads 'opened handles for 1 of its' \
    "$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program" kernel:1x32:200000:3 sync sleep:2000
  # Where all layouts are to be measured, too.
  judged searches_its_threads 'works on the GPU with 1 of its' -l threads:1,2,3,4 -l processes+mps:2,4 -- \
    "$MPSWEEP_BUILD_DIR/tests/fakes/unaware"
}

has_a_sleeper() { pgrep -f -x 'sleep 1000\.25' >/dev/null; }

@test "interrupted before the first window" {
  start "$MPSWEEP" tune --device emulated -q --budget 60s -l threads:1 -o r.jsonl -- sleep 1000.25
  await $PATIENCE has_a_sleeper
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  grep -qx 'no layout was measured before the interruption' out
}

@test "processes that are slow to start" {
  export MPSWEEP_EMULATED_FAULT=cuDevicePrimaryCtxRetain=slow:1500
  judged keeps_to 8 0 "${FEW[@]}"
  holds '.ended == "budget" and .winner.value > 0' r.jsonl
}

@test "a budget that is less than a start takes" {
  export MPSWEEP_EMULATED_FAULT=cuDevicePrimaryCtxRetain=slow:2500
  judged keeps_to 2 4 "${FEW[@]}"
  holds '.ended == "budget" and .verdict == "none" and .winner == null and .measured == 0' r.jsonl
  grep -qE '^no layout was measured: .* had no window after [0-9.]+ s: give a longer --budget, of [0-9]+s or more ' out
}

@test "a program that does not end: that is named" {
  # shellcheck disable=SC2016
  expect 4 "$MPSWEEP" tune --device emulated --budget 12s -l threads:1 -o r.jsonl -- \
    sh -c 'trap "" TERM; exec "$0"' "$MPSWEEP_BUILD_DIR/tests/fakes/unaware"
  grep -qE '^no layout was measured: .* did not end within [0-9.]+ s of its window \(does it end on SIGTERM, .*\): give a longer --budget' out
  grep -qE '^\[look 1, [0-9]+ s left\] .*: not ended in [0-9]+ s after its window: there is no more time for it$' err
}

@test "a program that does nothing on the GPU: what it lacks is named" {
  expect 4 "$MPSWEEP" tune --device emulated --budget 2s -o r.jsonl -- sleep 1000
  grep -qE '^\[look 1, [0-9]+ s left\] .*: not ready in [0-9]+ s: there is no more time for it$' err
  grep -qE '^no layout was measured: .* had no window after [0-9.]+ s \(does it work on the GPU, keep the LD_PRELOAD that it gets, or call mpsweep_ready\(\)\?\): give a longer --budget' out
}

@test "a worker that hangs while it starts, in an iteration, and at its end" {
  local fault
  for fault in cuDevicePrimaryCtxRetain cuStreamSynchronize#20; do
    MPSWEEP_EMULATED_FAULT=$fault=hang judged keeps_to 4 4 -l threads:1,2
    holds '.verdict == "none" and .measured <= 2' r.jsonl
  done
  # What was measured before the end counts.
  MPSWEEP_EMULATED_FAULT=cuModuleUnload=hang judged keeps_to 4 0 -l threads:1,2
  holds '.winner.value > 0 and .ended == "budget"' r.jsonl
}

@test "clients of a daemon that hang" {
  MPSWEEP_EMULATED_FAULT=cuStreamSynchronize#20=hang judged keeps_to 6 4 -l processes+mps:2
}

@test "a daemon that is slow to start, slow to answer, and slow to stop" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  local mode
  for mode in daemon=slow:1000 any=slow:400 quit=slow:300; do
    daemon_is $mode
    judged keeps_to 10 0 -l threads:1,2 -l processes+mps:2
    holds '.winner.value > 0' r.jsonl
  done
}

@test "a driver that does not describe its GPUs" {
  start_of_queries() {
    MPSWEEP_EMULATED_FAULT=cuInit=hang expect 1 timeout 60 "$MPSWEEP" "${TUNE[@]}" --budget 2s
  }
  start_of_queries
  grep -q "mpsweep-worker' did not end in time" err
}

@test "lengths of kernels that take longer than the budget" {
  printf '[workload a]\nstep = kernel duration=200us\n' >a.job
  MPSWEEP_EMULATED_FAULT=cuDevicePrimaryCtxRetain=hang expect 4 timeout 60 "$MPSWEEP" tune a.job -w a \
    --device emulated -q -l threads:1,2 --budget 2s -o r.jsonl
  grep -q 'the budget of 2 s was over before a layout could be measured: give a longer --budget$' err
  [ ! -e r.jsonl ]
}

@test "a calibration that takes longer than its share: the search goes by measuring" {
  export MPSWEEP_EMULATED_FAULT=cuDevicePrimaryCtxRetain=slow:700
  judged keeps_to 6 0 --guide calibration "${FEW[@]}"
  holds '.guide == "measuring" and .winner.value > 0' r.jsonl
  grep -q ', guided by measuring alone since the calibration took longer than its share' out
  [ "$(jq -r .type r.jsonl | sed -n 2p)" = calibration ]
  # And one that hangs.
  MPSWEEP_EMULATED_FAULT=cuStreamSynchronize#3=hang judged keeps_to 5 4 --guide calibration "${FEW[@]}"
  holds '.guide == "measuring"' r.jsonl
}

@test "a plug-in that hangs when it is loaded, and one that hangs when it begins" {
  local plugin=(-w "$MPSWEEP_BUILD_DIR/tests/fakes/plugins/faulty.so") tune=("${TUNE[@]:0:3}" -q --budget 2s
    --duration 0.2 -l threads:1 -o r.jsonl)
  FAULTY_AT_LOAD=hang expect 4 timeout 60 "$MPSWEEP" "${tune[@]}" "${plugin[@]}"
  grep -q 'the budget of 2 s was over before a layout could be measured' err
  [ ! -e r.jsonl ]
  expect 4 timeout 60 "$MPSWEEP" "${tune[@]}" "${plugin[@]}" --workload-options init:hang
  holds '.verdict == "none" and .ended == "budget"' r.jsonl
}

# -- programs --------------------------------------------------------------------------------------

# A program that starts after $1 seconds, leaves a line for each start, and ends $2 seconds later.
late_program() {
  printf '#!/bin/sh\necho >>started\nsleep %s\n"$@"\nsleep %s\n' "$1" "${2:-0}" >late
  chmod +x late
}

# It notes how late the computer lets it go on.
PROGRAM=$MPSWEEP_BUILD_DIR/tests/fakes/program
export NAP_MS=20

program_keeps_to() {
  local TUNE=(tune --device emulated --duration 0.2 --warmup 0.05 -q -c default -b near
    --active-thread-percentage default)
  keeps_to "$1" 0 -l threads:1,2 --rounds 2 -- ./late "$PROGRAM"
}

@test "a program that is slow to start, or slow to end, comes to its finals" {
  late_program 1.5
  judged program_keeps_to 20
  holds '.winner.rounds >= 2' r.jsonl
  # Looks are as long as windows of the finals: of a quarter of that one could learn little.
  jq -se 'map(select(.type == "point" and .tune.stage == "look" and .throughput_ips))
    | length > 0 and all(.rounds[0].seconds >= 0.19)' r.jsonl
  late_program 0.2 1
  judged program_keeps_to 20
  holds '.winner.value > 0' r.jsonl
}

LATE=(tune --device emulated -q -o r.jsonl)

# The rounds of the finals: each has a start of its own.
has_finals() {
  holds '.winner.rounds >= 2 and .seconds <= .budget_s' r.jsonl &&
    jq -se 'map(select(.type == "point" and .tune.stage == "final"))
      | length >= 2 and all(has("reused") | not)' r.jsonl >/dev/null
}

# Any start but the first may be too late for a window.
late_has_finals() {
  late_program "$1"
  rm -f r.jsonl started
  expect 0 "$MPSWEEP" "${LATE[@]}" --budget "$2s" -- ./late "${@:3}" && has_finals
}

@test "a program whose start takes an eleventh of the budget comes to its finals" {
  judged late_has_finals 4 44 "$PROGRAM"
  # The first start is that of a few processes; one start serves several layouts.
  jq -se 'map(select(.type == "point"))[0] | .mps and .processes == 4 and .threads == 1' r.jsonl
}

@test "a program without threads that does not report its iterations comes to its finals" {
  # Slow kernels: it has a CPU for each of its calls.
  export MPSWEEP_EMULATED_MACHINE=kernel_ns=1000000
  judged late_has_finals 1 40 "$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program" in:1000 kernel:1x32:1000:3 sync
  jq -se 'map(select(.type == "point" and .threads > 1 and .throughput_ips)) == []' r.jsonl
}

# Two more starts do not fit.
@test "a budget without time for finals: one line names one that has it" {
  late_program 5
  judged expect 0 "$MPSWEEP" "${LATE[@]}" --budget 14s -- ./late "$PROGRAM"
  holds '.verdict == "unfinished" and .winner.rounds == 0 and .unfinished.finals_budget_s >= 25
    and .unfinished.budget_s >= .unfinished.finals_budget_s and .seconds <= .budget_s' r.jsonl
  grep -qE '^unfinished: there was too little time for finals, which are fresh starts' out
  grep -qE '^what would probably suffice: mpsweep tune .* --budget [0-9]+s' out
}
