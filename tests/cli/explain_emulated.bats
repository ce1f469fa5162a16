#!/usr/bin/env bats
# mpsweep explain on emulated machines whose limit is known by construction: each names the right
# one, and its remedies hold what they promise. 16 configurations, 11 different ceilings. Those that
# are slow in what they are limited by take little of the computer, and run side by side.

# WORK is another one within beside(), as it is meant to be.
# shellcheck disable=SC2030,SC2031

load helper

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
  once_in_three layouts_verified
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

slow_graph_launches() {
  calibrated graph_launch_ns=2000000 "${LAUNCHES[@]}" -l threads:16 --launch graph &&
    limits '["process-launch"]' && verified 1 && grep -q 'with --layout processes+mps:16' "$WORK/out"
}

slow_copies_in() {
  calibrated h2d_mb_per_s=500 --kernels 20 --spin 1000 -l threads:16 -c 32 && limits '["copy-in"]'
}

slow_copies_out() {
  calibrated d2h_mb_per_s=500 --kernels 20 --spin 1000 -l threads:16 -c 32 && limits '["copy-out"]'
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
  once_in_three true # skips where ratios mean nothing
  beside slow_launches slow_front_end slow_graph_nodes slow_copies_in slow_graph_launches \
    slow_copies_out slow_pageable small_gpu
}

@test "more workers that spin than CPUs: let them sleep" {
  command -v taskset || skip "no taskset here"
  once_in_three too_few_cpus
}

without_calibration() {
  rm -f r.jsonl
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" "${ITERATION[@]}" -o r.jsonl \
    --schedule block -l threads:16 &&
    expect 0 "$MPSWEEP" explain r.jsonl --duration 0.1 --warmup 0.05 --quiet --format json &&
    jq -e '.[0].limited_by == "queues"' out &&
    [ "$(grep -c '"type":"calibration"' r.jsonl)" -eq 1 ] && assert_whole r.jsonl
}

@test "a calibration that is missing is made and kept" {
  once_in_three without_calibration
  # From then on nothing is measured.
  cp r.jsonl before
  MPSWEEP_EMULATED_MACHINE=nonsense expect 0 "$MPSWEEP" explain r.jsonl
  cmp before r.jsonl
}

@test "another emulated machine is another machine" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:2 --quiet -o r.jsonl
  MPSWEEP_EMULATED_MACHINE=slots=2 refused \
    "'r.jsonl' was measured on another machine \(emulated_machine: none -> slots=2\)" \
    "$MPSWEEP" explain r.jsonl
}

@test "a remedy that does not help is not confirmed" {
  MPSWEEP_EMULATED_MACHINE=launch_ns=100000 expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" \
    "${LAUNCHES[@]}" -l threads:16 -o r.jsonl
  # Figures of another machine: there queues would be the limit.
  jq -nc '{type: "calibration", work: {workload: "builtin", kernels: 20, blocks: 5,
    threads_per_block: 64, spin: 1000, bytes: 65536, delay_cycles: 0},
    single_stream_ips: 50}' >>r.jsonl
  MPSWEEP_EMULATED_MACHINE=launch_ns=100000 expect 2 "$MPSWEEP" explain r.jsonl --verify \
    --rounds 2 --duration 0.2 --warmup 0.05 --quiet --precision 10
  grep -q 'with --connections 16: .*: \(not confirmed\|less than half\)$' "$WORK/out"
}

@test "a verification on several GPUs is recorded as such" {
  export MPSWEEP_EMUL_DEVICES=2
  expect 0 "$MPSWEEP" sweep "${TINY[@]:2}" --device emulated:all -l threads:16 --quiet -o r.jsonl
  jq -nc '{type: "calibration", work: {workload: "builtin", kernels: 5, blocks: 5,
    threads_per_block: 64, spin: 3072, bytes: 1441792, delay_cycles: 0},
    single_stream_ips: 50}' >>r.jsonl
  # Whether it helps is nothing to ask of so short a window.
  "$MPSWEEP" explain r.jsonl --verify --rounds 1 --duration 0.1 --warmup 0.05 --precision 50 \
    >out 2>err 3>&- || [ $? -eq 2 ]
  grep -qx 'verifying: threads 1×16 on 2 GPUs with --connections 16' err
  grep -q '^threads 1×16 on 2 GPUs, limited by .*, with --connections 16: ' out
  jq -se 'map(select(.type == "verification")) | length == 1 and .[0].what == "threads 1×16 on 2 GPUs"' r.jsonl
}

@test "an interrupt while verifying ends it, and keeps the file whole" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:16 --quiet -o r.jsonl
  jq -nc '{type: "calibration", work: {workload: "builtin", kernels: 5, blocks: 5,
    threads_per_block: 64, spin: 3072, bytes: 1441792, delay_cycles: 0},
    single_stream_ips: 50}' >>r.jsonl
  start "$MPSWEEP" explain r.jsonl --verify --rounds 1000
  await $PATIENCE grep -q verifying err
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  assert_whole r.jsonl
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
