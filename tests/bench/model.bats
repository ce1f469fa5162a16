#!/usr/bin/env bats
# make bench-model: what calibrate, explain and tune find on emulated machines whose figures, limits
# and best layouts are known by construction. Each is a claim about speeds, and holds on a computer
# with at least two CPUs that does nothing else.

# WORK is another one within beside(), as it is meant to be.
# shellcheck disable=SC2030,SC2031

load ../cli/helper

# -- calibrate -------------------------------------------------------------------------------------

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
    is graph_kernels_per_s "80000 / $1" && is arithmetic_ips "800 / $1" &&
    is both_bytes_per_s "1e9 / $1" && is pageable_bytes_per_s "1e8 / $1" &&
    is single_stream_ips "1000 / 6.56 / $1" && is single_graph_ips "1000 / 6.56 / $1" &&
    is single_pageable_ips "1000 / 15.24 / $1"
}

@test "each figure is that of the machine" {
  figures 1
}

@test "a machine that is half as fast has figures half as large" {
  figures 2
}

# Three launches, two copies and a wait; a graph is a launch and a wait.
cpu_time() {
  calibrate "cpu_ns=$1,kernel_ns=0" --kernels 3 --spin 0 --bytes 64K --duration 0.1 || return 1
  is single_stream_cpu_us "6 * $1 / 1000" && is single_spin_cpu_us "6 * $1 / 1000" &&
    is single_graph_cpu_us "2 * $1 / 1000"
}

@test "CPU time is what the machine's calls burn" {
  cpu_time 300000
}

# -- explain ---------------------------------------------------------------------------------------
# 15 configurations, 9 different ceilings: each is named, and its remedy holds what it promises. Those
# that are slow in what they are limited by take little of the computer, and run side by side.

# 5 blocks of 64 threads have something to work on with BYTES.
ITERATION=(--kernels 20 --spin 3072 --bytes 320K)
LAUNCHES=(--kernels 20 --spin 1000 --bytes 64K)
# The windows of calibrations are as long.
MEASURE=(--device emulated --duration 0.1 --max-duration 0.4 --warmup 0.05 --precision 10 --quiet)
VERIFY=(--verify --duration 0.2 --warmup 0.05 --precision 10 --quiet)

# beside FUNCTION...: each in a folder of its own, at the same time; again alone where it fails.
beside() {
  local name
  declare -A running
  for name; do
    mkdir -p "$WORK/$name"
    # expect() and its friends write to $WORK.
    (WORK=$WORK/$name && cd "$WORK" && "$name") >"$WORK/$name/log" 2>&1 3>&- &
    running[$name]=$!
  done
  local again=()
  for name; do
    wait "${running[$name]}" || again+=("$name")
  done
  for name in "${again[@]}"; do
    cat "$WORK/$name/log" >&2
    "$name" || "$name" || fail "$name" || return 1
  done
}

# calibrated MACHINE OPTIONS...: a results file r.jsonl from such a machine, with a calibration. Its
# workers wait asleep: if they spun, two CPUs would be the limit of more than a few.
calibrated() {
  export MPSWEEP_EMULATED_MACHINE=$1
  shift
  rm -f r.jsonl
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" --schedule block --calibrate \
    -o r.jsonl "$@"
}

# limits EXPECTED: limited_by of each point in the order of the plan.
limits() {
  expect 0 "$MPSWEEP" explain r.jsonl --format json || return 1
  jq -e --argjson wanted "$1" 'map(.limited_by) == $wanted' "$WORK/out" ||
    fail "not $1:" "$(jq -c '.[] | [.layout, .limited_by, .ceilings]' "$WORK/out")"
}

# verified COUNT: every remedy is, and no calibration was made again.
verified() {
  expect 0 "$MPSWEEP" explain r.jsonl "${VERIFY[@]}" || return 1
  [ "$(grep -c ': confirmed$' "$WORK/out")" -eq "$1" ] ||
    fail "not $1 confirmed:" "$(cat "$WORK/out")" || return 1
  jq -s -e --argjson count "$1" '[.[] | select(.type == "verification")]
    | length == $count and all(.verdict == "confirmed" and .remedied_ips > .baseline_ips
      and (.rounds | length == 3))' r.jsonl || return 1
  [ "$(grep -c '"type":"calibration"' r.jsonl)" -eq 1 ]
}

layouts() {
  cat >layouts.job <<'JOB'
[global]
kernels = 20
bytes = 320K

[few]
layout = threads:2
[queues]
layout = threads:16, threads+mps:8, hybrid:2x8
[turns]
layout = processes:4, hybrid-timesliced:2x4
[cap]
layout = hybrid:2x8
connections = 8
active-thread-percentage = 10
JOB
  calibrated "" layouts.job &&
    limits '["workers", "queues", "queues", "queues", "time-slicing", "time-slicing", "thread-cap"]'
}

layouts_verified() { layouts && verified 4; }

@test "seven layouts of one machine, and what lifts each ceiling" {
  layouts_verified
}

slow_launches() {
  calibrated launch_ns=100000 "${LAUNCHES[@]}" -l threads:16 -c 32 &&
    limits '["process-launch"]' && verified 1 && grep -q 'with --layout processes+mps:16' "$WORK/out"
}

slow_front_end() {
  calibrated front_ns=50000 "${LAUNCHES[@]}" -l processes+mps:16 &&
    limits '["gpu-launch"]' && verified 1 && grep -q 'with --launch graph' "$WORK/out"
}

slow_graph_nodes() {
  calibrated graph_node_ns=50000 "${LAUNCHES[@]}" -l threads:32 --launch graph &&
    limits '["gpu-launch"]' && jq -e '.[0].remedy.kind == "none"' "$WORK/out"
}

slow_copies_in() {
  calibrated h2d_mb_per_s=500 --kernels 20 --spin 1000 -l threads:16 -c 32 && limits '["copy-both"]'
}

slow_copies_out() {
  calibrated d2h_mb_per_s=500 --kernels 20 --spin 1000 -l threads:16 -c 32 && limits '["copy-both"]'
}

slow_pageable() {
  calibrated pageable_mb_per_s=500 --kernels 20 --spin 1000 -l threads:8 --memory pageable &&
    limits '["staging"]' && verified 1 && grep -q 'with --memory pinned' "$WORK/out"
}

small_gpu() {
  calibrated slots=2,kernel_ns=1000 "${ITERATION[@]}" -l threads:16 -c 32 &&
    limits '["arithmetic"]' && jq -e '.[0] | .remedy.kind == "none" and .reached > 0.7' "$WORK/out"
}

# Workers that wait awake, on two CPUs of however many there are.
too_few_cpus() {
  local cpu chosen=()
  for ((cpu = 0; cpu < 1024 && ${#chosen[@]} < 2; cpu++)); do
    ! taskset -c $cpu true 2>/dev/null || chosen+=("$cpu")
  done
  export MPSWEEP_EMULATED_MACHINE=kernel_ns=100000
  rm -f r.jsonl
  expect 0 taskset -c "$(IFS=, && echo "${chosen[*]}")" "$MPSWEEP" sweep "${MEASURE[@]}" --calibrate \
    -o r.jsonl "${LAUNCHES[@]}" -l threads:16 -c 32 --schedule spin &&
    limits '["cpus"]' && jq -e '.[0].remedy.options == "--schedule block"' "$WORK/out"
}

@test "slow launches, front ends, graphs and copies, a small GPU: each named, and what lifts it" {
  for_ratios
  beside slow_launches slow_front_end slow_graph_nodes slow_copies_in slow_copies_out \
    slow_pageable small_gpu
}

@test "more workers that spin than CPUs: let them sleep" {
  command -v taskset || skip "no taskset here"
  too_few_cpus
}

# Copies of one GPU at 20 MB/s each way, and a host that carries 30 for all: two GPUs do what one does.
@test "copies that two GPUs share of the host" {
  export MPSWEEP_EMUL_DEVICES=2
  MPSWEEP_EMULATED_MACHINE=h2d_mb_per_s=20,d2h_mb_per_s=20,host_mb_per_s=30 shared_copies ||
    MPSWEEP_EMULATED_MACHINE=h2d_mb_per_s=20,d2h_mb_per_s=20,host_mb_per_s=30 shared_copies
}

shared_copies() {
  rm -f r.jsonl
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]:2}" --device emulated:all --gpus-per-point 1,2 --calibrate \
    --schedule block --launch graph --kernels 4 --spin 100 --bytes 64K -l threads:8 \
    -o r.jsonl || return 1
  jq -se '.[] | select(.type == "calibration") | .all_gpus
    | .gpus == 2 and .both_bytes_per_s > 13e6 and .both_bytes_per_s < 16e6' r.jsonl || return 1
  limits '["copy-both", "host-copies"]' || return 1
  jq -e '.[1].scaling.efficiency | . > 0.4 and . < 0.6' "$WORK/out"
}

# -- tune ------------------------------------------------------------------------------------------

# An iteration of one worker alone takes 10 ms, and workers with queues of their own do not disturb
# each other: the more of them, the more is done.
export_machine() { export MPSWEEP_EMULATED_MACHINE=kernel_ns=2000000,graph_kernel_ns=2000000; }

BASE=(tune --device emulated --kernels 5 --bytes 64K --warmup 0.05 -q --rounds 3 -m pinned --launch stream
  --streams 1 --schedule auto -b near --active-thread-percentage default)

record() { jq -c 'select(.type == "tune")' "$1"; }

# holds FILTER FILE: of the tune's record.
holds() {
  record "$2" | jq -e "$1" >/dev/null || fail "does not hold of $(record "$2"): $1"
}

SPACE=(--duration 0.3 -l threads:1-6 -l processes+mps:1-3 -l hybrid:2x2,2x4,3x2,3x3
  -l hybrid-timesliced:2x2 -c 8,16,24,32)

finds_the_best() {
  local best
  rm -f fast.jsonl all.jsonl
  expect 0 "$MPSWEEP" "${BASE[@]}" "${SPACE[@]}" --budget 100s -o fast.jsonl || return 1
  expect 0 "$MPSWEEP" "${BASE[@]}" "${SPACE[@]}" --exhaustive -o all.jsonl || return 1
  # Two that are nearly as good may change places.
  best=$(record all.jsonl | jq .winner.value)
  record fast.jsonl | jq -e --argjson best "$best" '.winner.value > 0.9 * $best' &&
    holds '.winner.what | test("3×3|2×4")' all.jsonl
}

@test "it finds what measuring everything finds" {
  export_machine
  finds_the_best
  holds '.measured >= 56 and .space == 56 and .budget_s == null and .exhaustive' all.jsonl
  # On the way it left out some of them.
  holds '.measured < .space and .ended == "complete" and .exhaustive == false' fast.jsonl

  # This does not answer a request for all; all of them answer a request for some.
  expect 0 "$MPSWEEP" "${BASE[@]}" "${SPACE[@]}" --exhaustive --resume -o fast.jsonl
  record fast.jsonl | jq -se 'length == 2 and .[1].exhaustive and .[1].measured >= 56'
  cp all.jsonl before.jsonl
  expect 0 "$MPSWEEP" "${BASE[@]}" "${SPACE[@]}" --resume -o all.jsonl
  cmp before.jsonl all.jsonl
}

# One at a time: an iteration of one worker takes 5 ms, of 32 workers 160 ms. For an upper bound of a 99th
# percentile the finals of one worker need 368 iterations together, which a busy computer is slow with.
keeps_the_latency() {
  rm -f r.jsonl
  MPSWEEP_EMULATED_MACHINE=kernel_ns=1000000,slots=1 expect 0 "$MPSWEEP" "${BASE[@]}" \
    -c 32 --duration 2 -l threads:1,32 --max-p99 80ms --budget 100s -o r.jsonl
}

@test "a latency that larger layouts break" {
  keeps_the_latency
  holds '.winner.what | test("^threads 1×1")' r.jsonl
  holds '.winner.p99_bounds_us[1] <= 80000 and .constraints.max_p99_us == 80000' r.jsonl
  grep -q 'to be below 80 ms' out
}

