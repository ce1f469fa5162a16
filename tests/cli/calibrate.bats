#!/usr/bin/env bats
# sweep --calibrate, on emulated machines that are slow enough for a busy computer to show their
# figures and not its own.

load helper

# calibrate MACHINE OPTIONS...: the record of a sweep of one short point, in CALIBRATION.
calibrate() {
  local machine=$1
  shift
  rm -f c.jsonl
  MPSWEEP_EMULATED_MACHINE=$machine expect 0 "$MPSWEEP" sweep --device emulated -l threads:1 \
    --warmup 0.02 --precision 100 --quiet --calibrate -o c.jsonl "$@" || return 1
  CALIBRATION=$(jq -c 'select(.type == "calibration")' c.jsonl)
  jq -e '.pageable_workers >= 2 and (.pageable_crowd_workers == 0
    or .pageable_crowd_workers > .pageable_workers)' <<<"$CALIBRATION" >/dev/null || return 1
  printf '%s\n' "$CALIBRATION"
}

# is FIGURE VALUE: within a quarter of it.
is() {
  jq -e ".$1 / ($2) | . > 0.75 and . < 1.25" <<<"$CALIBRATION" >/dev/null ||
    fail "$1 should be about $2: $CALIBRATION"
}

# machine FACTOR: makes everything FACTOR times slower.
machine() {
  printf 'graph_launch_ns=%d,' $((50000 * $1))
  printf 'launch_ns=%d,front_ns=%d,graph_node_ns=%d,spin_ns=%d,' $((25000 * $1)) $((12500 * $1)) \
    $((12500 * $1)) $((250 * $1))
  printf 'h2d_mb_per_s=%d,d2h_mb_per_s=%d,pageable_mb_per_s=%d,' $((2000 / $1)) $((1000 / $1)) \
    $((200 / $1))
  printf 'slots=4,kernel_ns=100,graph_kernel_ns=100,copy_latency_ns=0'
}

# 40 000 launches/s of a process, 80 000 of the GPU, as many kernels of graphs; 1 MB each way in
# 0.5, 1 and, pageable, 5 ms; and kernels of 0.25 ms in 4 slots, 20 an iteration, without launches
# and copies 200 iterations/s.
figures() {
  calibrate "$(machine "$1")" --kernels 20 --spin 1000 --bytes 1000K --duration 0.1 || return 1
  is process_launches_per_s "40000 / $1" && is gpu_launches_per_s "80000 / $1" &&
    is graph_kernels_per_s "80000 / $1" && is process_graphs_per_s "20000 / $1" &&
    is arithmetic_ips "800 / $1" &&
    is h2d_bytes_per_s "2e9 / $1" && is d2h_bytes_per_s "1e9 / $1" &&
    is both_bytes_per_s "1e9 / $1" && is pageable_bytes_per_s "1e8 / $1" &&
    is single_stream_ips "1000 / 6.56 / $1" && is single_graph_ips "1000 / 6.56 / $1" &&
    is single_pageable_ips "1000 / 15.24 / $1"
}

@test "each figure is that of the machine" {
  once_in_three figures 1
}

@test "a machine that is half as fast has figures half as large" {
  once_in_three figures 2
}

# Three launches, two copies and a wait; a graph is a launch and a wait.
cpu_time() {
  calibrate "cpu_ns=$1,kernel_ns=0" --kernels 3 --spin 0 --bytes 64K --duration 0.1 || return 1
  is single_stream_cpu_us "6 * $1 / 1000" && is single_spin_cpu_us "6 * $1 / 1000" &&
    is single_graph_cpu_us "2 * $1 / 1000"
}

@test "CPU time is what the machine's calls burn" {
  once_in_three cpu_time 300000
}

SHARED='["process_launches_per_s", "graph_kernels_per_s", "process_graphs_per_s", "gpu_launches_per_s",
  "arithmetic_ips"]'

# What does not depend on the bytes of an iteration is the same in the second, and the first has none.
shares() {
  jq -s -e --argjson shared "$SHARED" '[.[] | select(.type == "calibration")]
    | (.[0] | has("shared") | not) and .[1].shared == $shared
      and (.[0] as $a | .[1] as $b | $shared - ["arithmetic_ips"] | all($a[.] == $b[.] and $a[.] > 0))
      and all(.bind == "near") and .[0].h2d_bytes_per_s != .[1].h2d_bytes_per_s' "$1"
}

@test "each kind of iteration is calibrated once, before the points, and not again on --resume" {
  local options=("${TINY[@]}" -l threads:1,2 --spin 0 --bytes 64K,128K --calibrate)
  expect 0 "$MPSWEEP" sweep "${options[@]}" -o a.jsonl
  [ "$(grep -c '^calibrated for iterations as of threads 1×1, pinned' err)" -eq 2 ]
  assert_complete a.jsonl 4 0
  jq -s -e '[.[] | .type] | .[0:3] == ["header", "calibration", "calibration"]
    and ([.[] | select(. == "calibration")] | length == 2)' <(jq -c '{type}' a.jsonl | jq -s -c .[])
  jq -s -e '[.[] | select(.type == "calibration")] | map(.work.bytes) == [65536, 131072]
    and all(.work.kernels == 5 and .sms == 32 and .cpus > 0 and .seconds > 0
      and .single_stream_ips > 0 and .crowd_stream_ips >= 0)' a.jsonl
  shares a.jsonl
  grep -q '^calibrating for 2 kinds of iterations: about ' err
  grep -q '^calibrated for .* 128 KiB in .* s, 5 figures taken from one before$' err
  # Cut after the first calibration.
  head -2 a.jsonl >b.jsonl
  expect 0 "$MPSWEEP" sweep "${options[@]}" --resume --format json -o b.jsonl
  [ "$(grep -c '^calibrated' err)" -eq 1 ]
  shares b.jsonl
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

@test "a wrong output gives no figure" {
  MPSWEEP_EMULATED_FAULT=cuMemcpyDtoHAsync#1+=corrupt expect 2 "$MPSWEEP" sweep "${TINY[@]}" \
    -l threads:1 --spin 0 --calibrate -o a.jsonl
  jq -s -e '.[1] | .single_stream_ips == 0 and .d2h_bytes_per_s == 0 and .both_bytes_per_s == 0
    and .h2d_bytes_per_s > 0
    and any(.notes[]; test("^copies out, 4 threads: .*wrong result"))' a.jsonl
}

@test "a terminal shows what is measured, and how much time is left" {
  command -v script >/dev/null || skip "no script(1) for a terminal"
  # Nothing works: that is quick.
  local options=("${TINY[@]}" -l threads:1 --bytes 64K,128K --calibrate -o a.jsonl)
  MPSWEEP_EMULATED_FAULT='cuMemAlloc#1+=error:2' script -qec "$MPSWEEP sweep ${options[*]}" typescript \
    </dev/null >out
  tr '\r' '\n' <typescript >lines
  grep -q '\[calibration 1/2\] [0-9].* left: alone, spinning, 1 threads' lines
  grep -q '\[calibration 2/2\] [0-9].* left: copies out, 4 threads' lines
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
