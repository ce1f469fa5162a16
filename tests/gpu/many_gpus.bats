#!/usr/bin/env bats
# Several GPUs, real ones: how they scale, what they share, tuning and figures of them. Skipped where
# there is one. About three minutes on two H200s.

load helper

several() {
  real
  [ "$(nvidia-smi -L | grep -c '^GPU')" -ge 2 ] || skip "one GPU here"
}

@test "two GPUs: twice one where nothing is shared, and what they share is measured" {
  several
  expect 0 "$MPSWEEP" sweep --device 0,1 --gpus-per-point 1,2 --calibrate -l threads:8 -l processes+mps:8 \
    --mps-daemons shared,per-gpu --duration 1 -q -o r.jsonl
  jq -se '[.[] | select(.type == "calibration")] | length == 1 and .[0].all_gpus.gpus == 2
    and (.[0].all_gpus | .h2d_bytes_per_s > 0 and .both_bytes_per_s > 0 and .process_launches_per_s > 0
      and .gpu_launches_per_s > 0)' r.jsonl
  # Eight workers a GPU are far from what any host shares.
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e '[.[] | select(.gpus == 2)] | length == 3 and all(.scaling.efficiency > 0.85 and .scaling.efficiency < 1.1)' out ||
    fail "$(jq -c '.[] | [.layout, .mps_daemons, .throughput_ips, .scaling]' out)"
  jq -e '[.[] | select(.gpus == 2)] | all(.shares_measured and .limited_by != null)' out
  expect 0 "$MPSWEEP" explain r.jsonl
  cat out >&3
  if command -v gnuplot >/dev/null; then
    expect 0 "$MPSWEEP" plot r.jsonl --figure scaling -o scaling.svg
    expect 0 "$MPSWEEP" plot r.jsonl --figure gpus -o gpus.svg
  fi
}

@test "two GPUs: a tune reports each" {
  several
  expect 0 "$MPSWEEP" tune --device 0,1 -l threads:4,8 --guide measuring --budget 60s --duration 0.5 \
    --memory pinned --launch stream --schedule auto --connections default --bind near -q -o t.jsonl
  jq -se '.[] | select(.type == "tune") | .winner.per_gpu_ips | length == 2 and all(. > 100)' t.jsonl
  grep -q '^each GPU: ' out
}

# deployed DAEMONS COUNT: a deployment with workers on both, of which each is proved to be a client.
deployed() {
  rm -rf d r.jsonl
  expect 0 "$MPSWEEP" sweep --device 0,1 -l processes+mps:2 --mps-daemons "$1" --memory-limit 2G \
    --duration 0.3 --precision 20 -q -o r.jsonl || return 1
  expect 0 "$MPSWEEP" emit r.jsonl --format env -o d -- ./serve || return 1
  expect 0 d/start || return 1
  cp out started
  local daemons
  daemons=$(find d -name 'daemon*.pid' | wc -l)
  expect 0 d/stop || return 1
  [ "$(grep -c '^worker [0-3]: attached: process ' started)" -eq 4 ] || fail "$(cat started)" || return 1
  [ "$daemons" -eq "$2" ] || fail "$daemons daemons" || return 1
  # Each worker saw its own GPU.
  [ "$(cat gpu.[0-3] | sort -u | wc -l)" -eq 2 ]
}

@test "two GPUs: a deployment over one daemon, and over one each" {
  several
  mkfifo forever
  cat >serve <<SERVE
#!/bin/bash
printf '%s\n' "\$CUDA_VISIBLE_DEVICES" >"$WORK/gpu.\$MPSWEEP_PROCESS"
exec "$MPSWEEP_BUILD_DIR/mpsweep-worker" --probe <>"$WORK/forever" >"$WORK/probe.\$MPSWEEP_PROCESS"
SERVE
  chmod +x serve
  deployed shared 1
  deployed per-gpu 2
  await $PATIENCE no_own_process
}
