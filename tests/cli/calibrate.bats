#!/usr/bin/env bats
# sweep --calibrate: which figures there are, when they are measured and where they are kept. Whether
# they are right is a claim about speeds: tests/bench/model.bats.

load helper

SHARED='["process_launches_per_s", "graph_kernels_per_s", "polled_graphs_per_s",
  "gpu_launches_per_s", "arithmetic_ips"]'

# What does not depend on the bytes of an iteration is the same in the second, and the first has none.
shares() {
  jq -s -e --argjson shared "$SHARED" '[.[] | select(.type == "calibration")]
    | (.[0] | has("shared") | not) and .[1].shared == $shared
      and (.[0] as $a | .[1] as $b | $shared - ["arithmetic_ips"] | all($a[.] == $b[.] and $a[.] > 0))
      and all(.bind == "near") and .[0].both_bytes_per_s != .[1].both_bytes_per_s
      and all((.runs | length) >= 10 and all(.runs[]; .ips > 0 and .spread_rel >= 0)
        and .spread.arithmetic_ips > 0)' "$1"
}

# all_figures FILE OPTIONS...: none is without an iteration in its short window.
all_figures() {
  expect 0 "$MPSWEEP" sweep "${@:2}" -o "$1" &&
    jq -s -e '[.[] | select(.type == "calibration")]
      | all(.single_stream_ips > 0 and .crowd_stream_ips >= 0)' "$1" && shares "$1"
}

@test "each kind of iteration is calibrated once, before the points, and not again on --resume" {
  local options=("${TINY[@]/64K/64K,128K}" -l threads:1,2 --spin 0 --calibrate)
  judged all_figures a.jsonl "${options[@]}"
  [ "$(grep -c '^calibrated for iterations as of threads 1×1, pinned' err)" -eq 2 ]
  assert_complete a.jsonl 4 0
  jq -s -e '[.[] | .type] | .[0:3] == ["header", "calibration", "calibration"]
    and ([.[] | select(. == "calibration")] | length == 2)' <(jq -c '{type}' a.jsonl | jq -s -c .[])
  jq -s -e '[.[] | select(.type == "calibration")] | map(.work.bytes) == [65536, 131072]
    and all(.work.kernels == 5 and .sms == 32 and .cpus > 0 and .seconds > 0)' a.jsonl
  grep -q '^calibrating for 2 kinds of iterations: about ' err
  grep -q '^calibrated for .* 128 KiB in .* s, 5 figures taken from one before$' err
  [ "$(grep -c '^  .*its figures spreads\? by ' err)" -eq 2 ]
  # Cut after the first calibration.
  head -2 a.jsonl >b.jsonl
  judged all_figures b.jsonl "${options[@]}" --resume --format json
  [ "$(grep -c '^calibrated' err)" -eq 1 ]
  [ "$(grep -c '"type":"calibration"' b.jsonl)" -eq 2 ]
  [ "$(grep -c '"type":"calibration"' out)" -eq 2 ]
  assert_complete b.jsonl 4 0
}

@test "what cannot be measured is 0, with the reason" {
  # No MPS daemon; the sweep itself needs none.
  programs_but mpsweep-emulated-mps-control
  ln -s /bin/false "$WORK/programs/mpsweep-emulated-mps-control"
  MPSWEEP_LIBEXEC_DIR=$WORK/programs expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 \
    --workload delay --delay-cycles 1000 --calibrate -o a.jsonl
  jq -s -e '.[1] | .gpu_launches_per_s == 0 and .process_launches_per_s > 0
    and any(.notes[]; test("^launches over MPS, [0-9]+ processes: "))
    and .work.workload == "delay" and .arithmetic_ips == 0
    and (.notes | index("arithmetic: the delay workload has none") != null)' a.jsonl
  grep -q '^  not measured: launches over MPS, [0-9]* processes: ' err
}

@test "iterations that are longer than a window get longer windows" {
  printf '[workload slow]\nstep = kernel blocks=1 threads=32 cycles=1\nstep = think 100ms\n' >slow.job
  expect 0 "$MPSWEEP" sweep slow.job "${TINY[@]/0.05/0.01}" -w slow -l threads:1 --calibrate -o a.jsonl
  jq -s -e '.[1] | .single_stream_ips > 0 and .crowd_stream_ips > 0
    and all(.notes[]; test("no iteration began") | not)' a.jsonl
}

@test "a wrong output gives no figure" {
  MPSWEEP_EMULATED_FAULT=cuMemcpyDtoHAsync#1+=corrupt expect 2 "$MPSWEEP" sweep "${TINY[@]}" \
    -l threads:1 --spin 0 --calibrate -o a.jsonl
  jq -s -e '.[1] | .single_stream_ips == 0 and .both_bytes_per_s == 0 and all(.runs[]; .launch == "graph")
    and any(.notes[]; test("^copies both ways, [0-9]+ threads: .*wrong result"))' a.jsonl
}

@test "a terminal shows what is measured, and how much time is left" {
  command -v script >/dev/null || skip "no script(1) for a terminal"
  # Nothing works: that is quick.
  local options=("${TINY[@]/64K/64K,128K}" -l threads:1 --calibrate -o a.jsonl)
  MPSWEEP_EMULATED_FAULT='cuMemAlloc#1+=error:2' script -qec "$MPSWEEP sweep ${options[*]}" typescript \
    </dev/null >out
  tr '\r' '\n' <typescript >lines
  grep -q '\[calibration 1/2\] [0-9].* left: alone, 1 thread' lines
  grep -q '\[calibration 2/2\] [0-9].* left: copies both ways, 2 threads' lines
}

is_calibrating() { [ -n "$(workers_of "$PID")" ]; }

@test "an interrupt ends a calibration at once" {
  start "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 --calibrate -o a.jsonl
  await $PATIENCE is_calibrating
  kill -INT "$PID"
  finish
  [ $STATUS -eq 130 ]
  assert_whole a.jsonl
  [ "$(grep -c '"type":"calibration"' a.jsonl)" -eq 0 ]
  tail -1 a.jsonl | jq -e '.type == "footer" and .status == 130'
}

@test "an interrupt of a search that calibrates: how to continue" {
  start "$MPSWEEP" tune --device emulated --budget 100s --guide calibration -o t.jsonl
  await $PATIENCE is_calibrating
  kill -INT "$PID"
  finish
  [ $STATUS -eq 130 ]
  grep -qx 'Saved  t.jsonl' out
  grep -qE "^Next   $MPSWEEP tune .*--output t\.jsonl .*--resume$" out
}
