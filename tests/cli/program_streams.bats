#!/usr/bin/env bats
# Programs of the user whose threads have several streams, each with a handle of its own.

load helper

POLLER=$MPSWEEP_BUILD_DIR/examples/program/poller
PROGRAM=$MPSWEEP_BUILD_DIR/tests/fakes/program
SERVE=$MPSWEEP_SOURCE_DIR/examples/program/serve_streams.py
WORK_OF=(--device emulated --warmup 0.02 --precision 100 --rounds 1)
FEW=("${WORK_OF[@]}" --duration 0.3 --max-duration 9)

# run_points FILTER OPTIONS... -- PROGRAM...: like sweep_points.
run_points() {
  local filter=$1
  shift
  rm -f r.jsonl
  expect 0 "$MPSWEEP" sweep -q -o r.jsonl "$@" || return 1
  points "$filter" r.jsonl
}

@test "each thread polls handles of its own, in every layout" {
  local layouts=(-l threads:1,2 -l processes+mps:2 -l hybrid:2x2 --streams 1,3)
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" "${layouts[@]}" -q -o r.jsonl -- "$POLLER" 200
  points 'length == 8 and all(measured and .workers == .processes * .threads * (.streams // 1)
    and (.per_worker | all(.ips > 0)) and .latency_us.p50 >= 195)' r.jsonl
  # A thread has one CPU time, which stands with the first of its handles.
  points 'map(select(.streams)) | all(.per_worker | all((.cpu_us_per_iteration != null) == (.stream == 0)))' \
    r.jsonl
  expect 0 "$MPSWEEP" compare r.jsonl r.jsonl
  head -4 r.jsonl >cut.jsonl
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" "${layouts[@]}" -q --resume -o cut.jsonl -- \
    "$POLLER" 200
  points 'length == 8 and all(measured)' cut.jsonl
}

# One handle alone cannot serve what is offered; eight can, while the computer lets them.
eight_serve_more() {
  rm -f rate.jsonl
  expect 0 "$MPSWEEP" sweep "${WORK_OF[@]}" --duration 1 --max-duration 1 -l threads:1 --streams 1,8 \
    --rate 100 -q -o rate.jsonl -- "$POLLER" 20000 &&
    points 'map(.warnings | map(.kind) | any(. == "overloaded")) == [true, false]' rate.jsonl
}

@test "fixed work and an open loop, and what it receives" {
  run_points 'length == 2 and map(.iterations) == [40, 120]' --device emulated --warmup 0.02 --rounds 1 \
    -l threads:2 --streams 1,3 --iterations 20 -- "$POLLER" 200
  await $PATIENCE eight_serve_more
  # shellcheck disable=SC2016
  run_points 'length == 1 and all(measured)' "${FEW[@]}" -l threads:2 --streams 3 -- \
    sh -c 'echo "$1 $MPSWEEP_THREADS $MPSWEEP_STREAMS" >told; exec "$0" 200' "$POLLER" '{threads}x{streams}'
  [ "$(cat told)" = '2x3 2 3' ]
}

# wrong_program MODE PATTERN OPTIONS...
wrong_program() {
  local mode=$1 pattern=$2
  shift 2
  rm -f r.jsonl
  expect 2 "$MPSWEEP" sweep "$@" -l processes:2 --streams 3 -q -o r.jsonl -- "$PROGRAM" "$mode" || return 1
  points "all(.status == \"failed\" and (.error | test(\"^process 1 \\\\(program\\\\) $pattern\")))" r.jsonl ||
    fail "$mode should match $pattern:" "$(points 'map(.error)' r.jsonl)"
}

@test "what is wrong with one stream names it" {
  wrong_program wrong 'failed in thread 0, stream 1: answer 5 is not that of the reference' "${FEW[@]}"
  wrong_program stuck 'hangs: no iteration ended for .* s in its thread 0, stream 1$' "${HANGING[@]}"
  wrong_program hang 'hangs: no iteration ended for .* s in any stream of its thread 0$' "${HANGING[@]}"
  wrong_program one-handle \
    'failed in thread 0, stream 0: mpsweep_begin.. would wait for ever: 2 of the 3 handles of its thread are not ready .MPSWEEP_STREAMS=3.' \
    "${FEW[@]}"
  wrong_program never-ready \
    'reported that 1 of its 3 handles are ready within .* s: it must call mpsweep_ready.. for each' "${HANGING[@]}"
  wrong_program crash-running 'was killed by signal 9' "${FEW[@]}"
}

@test "in Python an event loop serves the streams of a thread" {
  needs_python
  run_points 'length == 4 and all(measured and (.per_worker | all(.ips > 0)))' "${FEW[@]}" -l threads:2 \
    -l processes+mps:2 --streams 1,3 -- \
    python3 "$SERVE" --batch 2 --width 512
  run_points 'length == 1 and .[0].iterations == 60' --device emulated --warmup 0.02 --rounds 1 \
    -l threads:1 --streams 3 --iterations 20 -- \
    python3 "$SERVE" --batch 2 --width 512
  run_points 'length == 1 and all(measured)' "${WORK_OF[@]}" --duration 1 --max-duration 1 \
    -l threads:1 --streams 3 --rate 100 -- \
    python3 "$SERVE" --batch 2 --width 512
  MPSWEEP_EMULATED_FAULT='cuMemcpyDtoHAsync#40=corrupt' expect 2 "$MPSWEEP" sweep "${FEW[@]}" \
    -l threads:1 --streams 3 -q -o w.jsonl -- \
    python3 "$SERVE" --batch 2 --width 512
  points '.[0].error | test("^process 0 .python3. failed in thread 0, stream [0-2]: the answer is not the one of before")' \
    w.jsonl
}

@test "the examples with several streams run without mpsweep as usual" {
  export MPSWEEP_DRIVER=$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so
  run -0 "$POLLER" 1
  [ -z "$output" ]
  needs_python
  PYTHONPATH=$MPSWEEP_SOURCE_DIR/client run -0 python3 \
    "$SERVE" --requests 3 --streams 2
  [[ "$output" == *' requests/s of 8 inputs' ]]
}

@test "interrupted and killed with iterations in flight: the file is whole, and nothing stays" {
  struck_in_flight -l processes:2 -- "$POLLER" 200
}
