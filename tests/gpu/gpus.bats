#!/usr/bin/env bats
# Several real GPUs in one point: workers where they should be, daemons of both kinds, and what two
# GPUs give against one. Skipped where there is only one.

load helper

several() {
  real
  [ "$(nvidia-smi -L | grep -c '^GPU')" -ge 2 ] || skip "one GPU here"
}

SHORT=(--duration 0.5 --max-duration 2 --precision 5 -q)

@test "every layout runs on two GPUs, over one daemon and over two" {
  several
  expect 0 "$MPSWEEP" sweep --device 0,1 "${SHORT[@]}" --mps-daemons shared,per-gpu -o r.jsonl \
    -l threads:4,processes:2 -l processes+mps:4,threads+mps:4,hybrid:2x4,hybrid-timesliced:2x2
  points 'length == 9 and all((.status == "ok" or .status == "unconverged") and .gpus == 2)' r.jsonl
  points 'map(select(.mps)) | all(.attached | .expected == .seen)' r.jsonl
  points 'all(.per_gpu | map(.uuid) | unique | length == 2)' r.jsonl
  jq -s -e '[.[] | select(.type == "point") | .per_gpu[] | .telemetry.power_w.mean > 0] | all' r.jsonl
  jq -s -e '.[0].gpus | length == 2' r.jsonl
}

@test "two GPUs give about twice as much as one" {
  several
  scaled() {
    rm -f r.jsonl
    expect 0 "$MPSWEEP" sweep --device 0,1 --gpus-per-point 1,2 "${SHORT[@]}" --mps-daemons shared,per-gpu \
      -l processes+mps:2 --launch graph --schedule block -o r.jsonl || return 1
    points '(.[] | select(.gpus == null) | .throughput_ips) as $one
      | map(select(.gpus)) | length == 2 and all(.throughput_ips / $one | . > 1.7 and . < 2.1)' r.jsonl
  }
  once_in_three scaled
  grep -q 'scaling' out
}

@test "each GPU of a real machine can be chosen, by number and by UUID" {
  several
  local uuid
  uuid=$(nvidia-smi -L | sed -n 's/^GPU 1: .*(UUID: \(GPU-[^)]*\)).*/\1/p')
  expect 0 "$MPSWEEP" sweep --device "$uuid,0" -l threads:1 --gpus-per-point 1 "${SHORT[@]}" -o r.jsonl
  head -1 r.jsonl | jq -e --arg uuid "$uuid" '.gpu.uuid == $uuid and (.gpus | length) == 2'
  refused "are the same GPU" "$MPSWEEP" sweep --device "1,$uuid" -l threads:1
  refused "no device 99" "$MPSWEEP" sweep --device 0,99 -l threads:1
}

@test "whoever is killed: none of two real daemons stays" {
  several
  local victim
  for victim in KILL INT; do
    rm -f r.jsonl
    start "$MPSWEEP" sweep --device 0,1 --duration 20 -l processes+mps:2 --mps-daemons per-gpu -q -o r.jsonl
    await $PATIENCE has_workers 4
    kill -$victim "$PID"
    finish
    assert_nothing_left
  done
}
