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
  # A machine of others, too.
  scaled || scaled || scaled
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

@test "after any kill none of two real daemons stays" {
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

# The daemons of a sweep, each with its GPU: those of its guards.
daemons() {
  local guard daemon
  for guard in $(children_named "$PID" mpsweep-guard); do
    for daemon in $(children_of "$guard"); do
      echo "$daemon $(tr '\0' '\n' <"/proc/$daemon/environ" | sed -n 's/^CUDA_VISIBLE_DEVICES=//p')"
    done
  done | sort -k2
}

@test "a fault on one GPU: it is named, the other's daemon continues, and so does the sweep" {
  several
  local uuid worker
  uuid=$(nvidia-smi -L | sed -n 's/^GPU 1: .*(UUID: \(GPU-[^)]*\)).*/\1/p')
  start "$MPSWEEP" sweep --device "0,$uuid" -l processes+mps:2 -l processes+mps:1 --mps-daemons per-gpu \
    --seed 0 --duration 6 --max-duration 6 -q -o r.jsonl
  await 60 has_workers 4
  daemons >before
  [ "$(wc -l <before)" -eq 2 ]
  # A stranger among the clients of the second daemon.
  worker=$(workers_of "$PID" | while read -r pid; do
    if tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "CUDA_VISIBLE_DEVICES=$uuid"; then echo "$pid"; fi
  done | head -1)
  CUDA_VISIBLE_DEVICES=$uuid \
    CUDA_MPS_PIPE_DIRECTORY=$(tr '\0' '\n' <"/proc/$worker/environ" | sed -n 's/^CUDA_MPS_PIPE_DIRECTORY=//p') \
    "$MPSWEEP_BUILD_DIR/tests/gpu/fault_client" illegal 1000 >ready 2>client 3>&- || true
  grep -q 'ILLEGAL_ADDRESS (700)' client
  second_point() { points 'length == 1' r.jsonl 2>/dev/null && has_workers 2; }
  await 60 second_point
  daemons >after
  finish
  [ "$STATUS" -eq 2 ]
  points '[.[].status == "failed"] == [true, false] and .[0].failed_gpus == [1]' r.jsonl
  points '.[0].error | test("^worker [13] of 4 .GPU 1, process [13] of 4, thread 0 of 1.: ")' r.jsonl
  # The first is the same process, the second is not.
  grep -vF "$uuid" before | diff - <(grep -vF "$uuid" after)
  [ "$(cat before after | grep -cF "$uuid")" -eq 2 ]
  [ "$(cat before after | grep -F "$uuid" | sort -u | wc -l)" -eq 2 ]
}

@test "what does not fit into one GPU's memory is named with the GPU" {
  several
  expect 0 "$MPSWEEP" sweep --device 0,1 -l processes+mps:1 --bytes 1G --memory-limit 1G "${SHORT[@]}" -o r.jsonl
  points 'all(.status == "infeasible" and (.failed_gpus | length) > 0
    and (.error | test("^worker [01] of 2 .GPU [01], process [01] of 2, thread 0 of 1.: ")))' r.jsonl
}
