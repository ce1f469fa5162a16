#!/usr/bin/env bats
# Workers that stand still for a part of the window, and an orchestrator that does: the number has
# all that happened in its window, and the record names who stood still.

load helper

# Each point counts its own calls.
STALL=(--device emulated --seed 0 -q -o r.jsonl --rounds 1 --no-reuse)

# Counts, throughput, seconds and histogram are of the same window; what is left out as a transient is
# not in the throughput.
CONSISTENT='def consistent: .iterations > 0 and (.throughput_ips * (.rounds | map(.seconds) | add)
  - .iterations | fabs) <= .workers + .iterations * (if .interval.steady_from_s > 0 then 1 else 0.01 end);'

# stalled FILTER OPTIONS...: process 1 stands still for 4 s, and then goes on. CALL: in which of its
# calls, which must come after the warm-up. A busy machine may keep process 0 waiting for longer: then
# the record names that one, as the longest of several.
stalled() {
  local filter=$1
  shift
  rm -f r.jsonl
  MPSWEEP_EMULATED_FAULT="cuStreamSynchronize#${CALL:-12}=slow:4000@1" expect 0 "$MPSWEEP" sweep "${STALL[@]}" \
    --warmup 0.02 --kernels 20 "$@" || return 1
  points "$CONSISTENT all(.status == \"unconverged\" and .latency_us.max >= 4e6
    and (.stalled | (.process == 1 or .workers > 1) and .seconds >= 4 and .usual_s <= .seconds / 5)
    and (.stalled as \$stalled | any(.warnings[]; .kind == \"stalled\" and
      (.text | test(\"^process \(\$stalled.process) of 2, thread \(\$stalled.thread) of [12] stood still for [0-9.]+ s\"))))
    and $filter)" r.jsonl
}

# Invariants R2 and R3.
@test "a worker that stands still is named, and its point is not ok" {
  CALL=60 stalled consistent --precision 100 --duration 3 -l processes:2 -l hybrid:2x2
  grep -qE 'unconverged: process [01], thread [01] stood still for [0-9.]+ s' out
}

@test "an iteration that ends after the window is in its latencies" {
  stalled 'consistent and .rounds[0].seconds <= 1' --precision 100 --duration 1 \
    --max-duration 1 -l processes:2
}

@test "a stall in an open loop, and one in fixed work" {
  stalled true --duration 0.5 --rate 60 -l processes:2
  stalled '.iterations == 60' --iterations 30 -l processes:2
}

# On a busy computer call 200 is one of a later step, of which it may be the whole window.
repeats_a_step() {
  rm -f r.jsonl
  MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#200=slow:3000@0' expect 0 "$MPSWEEP" sweep "${STALL[@]}" \
    --warmup 0.02 --kernels 20 --duration 0.5 --rate max-under-p99=1s -l threads:1 &&
    points 'all(.rate.search | length > 0 and all(.p99_us < 3e6))' r.jsonl
}

@test "a step of a search in which a worker stood still is repeated" {
  judged repeats_a_step
}

# freeze SECONDS PID...: stops processes that long.
freeze() {
  local seconds=$1
  shift
  kill -STOP "$@"
  read -r -t "$seconds" <> <(:) || true
  kill -CONT "$@"
}

# A process of the test is stopped: STOPPED.
is_stopped() {
  local pid text
  for pid in $(own_processes); do
    { read -r text <"/proc/$pid/stat"; } 2>/dev/null || continue
    STOPPED=$pid
    # PID (NAME) STATE; the name may hold anything.
    [[ ${text##*) } != T* ]] || return 0
  done
  return 1
}

@test "a program that is stopped and continued is named" {
  start "$MPSWEEP" sweep "${STALL[@]}" --warmup 0.02 --iterations 600 -l processes:2 -- \
    "$MPSWEEP_BUILD_DIR/tests/fakes/program" stop
  await $PATIENCE is_stopped
  freeze 2 "$STOPPED"
  finish
  [ "$STATUS" -eq 0 ]
  points 'all(.status == "unconverged" and .stalled.process == 1 and .stalled.seconds >= 1.9
    and .iterations == 1200)' r.jsonl
}

# It wakes long after the end of the window, which it lets begin.
# Invariant R3.
@test "an orchestrator that is stopped leaves a record of one window" {
  holding 'cuStreamSynchronize#12=hold@0'
  start "$MPSWEEP" sweep "${STALL[@]}" --kernels 20 --precision 100 --warmup 2 --duration 0.5 \
    --max-duration 0.5 -l processes:2
  await $PATIENCE is_held
  release
  freeze 4 "$PID"
  finish
  [ "$STATUS" -eq 0 ]
  points "$CONSISTENT all(consistent)" r.jsonl
}
