#!/usr/bin/env bats
# Shards of a plan on real GPUs.

load helper

PLAN=(--duration 0.3 --warmup 0.1 --precision 50 --quiet -l threads:1,8 -l processes+mps:1,2,8 --reference 2)

@test "two shards, one after the other on one GPU, are the plan" {
  real
  expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --shard 0/2 -o 'part-{shard}.jsonl'
  expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --shard 1/2 -o 'part-{shard}.jsonl'
  expect 0 "$MPSWEEP" merge part-*.jsonl -o all.jsonl
  grep -q '^2 files, 1 GPU: 5 of 5 points' out
  assert_complete all.jsonl 5 0
  points 'all(.status == "ok" and .telemetry.samples > 0)' all.jsonl
}

@test "two shards on two GPUs at once: each GPU has its factor" {
  real
  [ "$(nvidia-smi -L | grep -c '^GPU')" -ge 2 ] || skip "one GPU here"
  "$MPSWEEP" sweep "${PLAN[@]}" --device 0 --shard 0/2 -o part-0.jsonl >first 2>&1 &
  local first=$!
  expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --device 1 --shard 1/2 -o part-1.jsonl
  wait $first
  expect 0 "$MPSWEEP" merge part-*.jsonl -o all.jsonl
  grep -q '^2 files, 2 GPUs: 5 of 5 points' out
  jq -s -e 'map(select(.type == "gpus-differ"))[0] | .reference_points == 2 and (.gpus | length) == 2
    and all(.gpus[]; .measurements == 2 and .factor > 0.8 and .factor < 1.25)' all.jsonl
  # A shard may continue on the other GPU: its reference points distinguish the two.
  head -n 2 part-1.jsonl >moved.jsonl
  mv moved.jsonl part-1.jsonl
  expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --device 0 --shard 1/2 -o part-1.jsonl --resume
  expect 0 "$MPSWEEP" merge part-*.jsonl -o again.jsonl
  head -1 again.jsonl | jq -e '[.merged[].gpu.uuid] | length == 3 and (unique | length) == 2'
}

@test "a fleet of two GPUs of one machine" {
  real
  [ "$(nvidia-smi -L | grep -c '^GPU')" -ge 2 ] || skip "one GPU here"
  local gpu
  for gpu in 0 1; do
    expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --device $gpu --shard $gpu/2 --fleet -o 'node-{shard}.jsonl'
  done
  expect 0 "$MPSWEEP" merge node-*.jsonl -o fleet.jsonl
  jq -s -e 'map(select(.type == "fleet"))[0].nodes | length == 2 and all(.[]; .points == 5 and .telemetry.sm_clock_mhz > 100)' fleet.jsonl
  ! command -v gnuplot >/dev/null || expect 0 "$MPSWEEP" plot fleet.jsonl --figure fleet -o fleet.svg
}
