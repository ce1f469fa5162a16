#!/usr/bin/env bats
# mpsweep explain where it measures: a calibration that is missing, and remedies. Whether it names the
# right limit is a claim about speeds: tests/bench/model.bats.

load helper
LOOKS_FOR_LEAKS=1

# 5 blocks of 64 threads have something to work on with BYTES.
ITERATION=(--kernels 20 --spin 3072 --bytes 320K)
LAUNCHES=(--kernels 20 --spin 1000 --bytes 64K)
# The windows of calibrations are as long.
MEASURE=(--device emulated --duration 0.1 --max-duration 3 --warmup 0.05 --precision 10 --quiet --rounds 1)

@test "a calibration that is missing is made and kept" {
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" "${ITERATION[@]}" -o r.jsonl --schedule block -l threads:16
  expect 0 "$MPSWEEP" explain r.jsonl --duration 0.1 --warmup 0.05 --quiet --format json
  jq -e '.[0] | .limited_by != null and (.ceilings | length > 4 and all(.ips > 0))' out
  [ "$(grep -c '"type":"calibration"' r.jsonl)" -eq 1 ]
  assert_whole r.jsonl
  # From then on nothing is measured.
  cp r.jsonl before
  MPSWEEP_EMULATED_MACHINE=nonsense expect 0 "$MPSWEEP" explain r.jsonl
  cmp before r.jsonl
}

@test "a described workload has a calibration of its own, and a mix has none" {
  printf '[workload %s]\nstep = copy-in 64K\nstep = kernel blocks=8 threads=64 cycles=100000 count=%d\nstep = %s\nstep = %s\nstep = copy-out 8K\n' \
    one 4 synchronize synchronize two 2 'busy 200us' 'work 100000' >w.job
  local sweep=("$MPSWEEP" sweep w.job "${MEASURE[@]}" -l threads:1,4 --schedule block -w one,two,one+two)
  expect 0 "${sweep[@]}" -o r.jsonl
  # Without a calibration nothing is measured for it.
  cp r.jsonl before
  expect 0 "$MPSWEEP" explain r.jsonl
  grep -q "^Ceilings and predictions take a calibration, which 'mpsweep sweep --calibrate' makes of a described" out
  grep -q '^EMULATED GPU: ' out
  cmp before r.jsonl
  expect 0 "${sweep[@]}" -o r.jsonl --resume --calibrate
  jq -s -e 'map(select(.type == "calibration").work) | length == 2 and .[0].steps_id != .[1].steps_id
    and map([.workload, .kernels, .bytes, .busy_ns, .turns, .think_ns])
      == [["described", 4, 36864, 0, null, 0], ["described", 2, 36864, 200000, 100000, 0]]' r.jsonl
  # How long turns take is measured where there are any.
  jq -s -e 'map(select(.type == "calibration").turns_per_ms > 0) == [false, true]' r.jsonl
  # Where the host computes, processes over MPS run awake as well as asleep.
  jq -s -e 'map(select(.type == "calibration") | [.runs[] | select(.mps).schedule] | unique)
    == [["block"], ["auto", "block"]]' r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl
  # One worker cannot have both.
  grep -q "^1 point of workloads without a calibration, such as 'one+two', left out: " out
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e 'map(.workload) == ["one", "two", "one", "two"] and all(.predicted_ips > 0 and .limited_by and .ceilings[0].ips > 0)' out
  refused "'r.jsonl' has points of a described workload, and --verify is for built-in ones: measure the remedy" \
    "$MPSWEEP" explain r.jsonl --verify
  expect 0 "$MPSWEEP" tune w.job -w two --device emulated --dry-run --budget 60s
  grep -q 'guided by a calibration, which is made first' out
  expect 0 "$MPSWEEP" tune w.job -w one+two --device emulated --dry-run --budget 60s
  absent 'guided by a calibration' out
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
    single_stream_ips: 100}' >>r.jsonl
  MPSWEEP_EMULATED_MACHINE=launch_ns=100000 expect 2 "$MPSWEEP" explain r.jsonl --verify \
    --rounds 2 --duration 0.2 --warmup 0.05 --quiet --precision 10
  grep -q 'with --connections 16: .*: \(not confirmed\|less than half\)$' "$WORK/out"
}

@test "a remedy that changes streams is verified with them" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" --launch graph --streams 2 -l threads:1 --quiet -o r.jsonl
  # Figures that no machine reaches: what is measured, busy or not, is below both.
  jq -nc '{type: "calibration", work: {workload: "builtin", kernels: 5, blocks: 5,
    threads_per_block: 64, spin: 3072, bytes: 65536, delay_cycles: 0},
    single_graph_ips: 5000, arithmetic_ips: 40000}' >>r.jsonl
  # Whether it helps is nothing to ask of so short a window.
  "$MPSWEEP" explain r.jsonl --verify --rounds 1 --duration 0.1 --warmup 0.05 --precision 50 \
    >out 2>err 3>&- || [ $? -eq 2 ]
  grep -qx 'verifying: threads 1×1×2 with --streams 8' err
  grep -q '^threads 1×1×2, limited by too few workers, with --streams 8: ' out
  jq -se 'map(select(.type == "verification")) | length == 1
    and (.[0] | .what == "threads 1×1×2" and .options == "--streams 8" and .baseline_ips > 0
      and .remedied_ips > 0)' r.jsonl
}

@test "a verification on several GPUs is recorded as such" {
  # Slow: what is measured is below what the remedy is predicted to do.
  export MPSWEEP_EMUL_DEVICES=2 MPSWEEP_EMULATED_MACHINE=launch_ns=1000000
  expect 0 "$MPSWEEP" sweep "${TINY[@]:2}" --device emulated:all -l threads:16 --quiet -o r.jsonl
  jq -nc '{type: "calibration", work: {workload: "builtin", kernels: 5, blocks: 5,
    threads_per_block: 64, spin: 3072, bytes: 65536, delay_cycles: 0},
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
    threads_per_block: 64, spin: 3072, bytes: 65536, delay_cycles: 0},
    single_stream_ips: 50000}' >>r.jsonl
  start "$MPSWEEP" explain r.jsonl --verify --rounds 1000
  await $PATIENCE grep -q verifying err
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  assert_whole r.jsonl
}
