#!/usr/bin/env bats
# Emulated machines that are described by MPSWEEP_EMULATED_MACHINE.

load helper

@test "a description that makes no sense is one line, and nothing is measured" {
  MPSWEEP_EMULATED_MACHINE=slot=3 refused \
    "MPSWEEP_EMULATED_MACHINE: unknown name 'slot'; there are slots, " \
    "$MPSWEEP" sweep "${TINY[@]}" --layout threads:1 -o a.jsonl
  MPSWEEP_EMULATED_MACHINE=slots=1,front_ns=fast refused \
    "MPSWEEP_EMULATED_MACHINE: 'front_ns=fast': front_ns is a whole number from 0 to 1000000000" \
    "$MPSWEEP" sweep "${TINY[@]}" --layout threads:1 -o a.jsonl
  [ ! -e a.jsonl ]
}

@test "so are effects and devices that make no sense" {
  MPSWEEP_EMUL_EFFECTS=-copy-block,lazy refused \
    "MPSWEEP_EMUL_EFFECTS: 'lazy' is not -NAME or .NAME" \
    "$MPSWEEP" sweep "${TINY[@]}" --layout threads:1 -o a.jsonl
  MPSWEEP_EMUL_EFFECTS=-copies refused \
    "MPSWEEP_EMUL_EFFECTS: unknown effect 'copies'; there are launch-delay, copy-block, " \
    "$MPSWEEP" sweep "${TINY[@]}" --layout threads:1 -o a.jsonl
  MPSWEEP_EMUL_DEVICES=nine refused \
    "MPSWEEP_EMUL_DEVICES: 'nine' is not a whole number from 1 to 8" \
    "$MPSWEEP" sweep "${TINY[@]}" --layout threads:1 -o a.jsonl
  [ ! -e a.jsonl ]
}

@test "the header has the effects that are switched off" {
  MPSWEEP_EMUL_EFFECTS=-peer-stall expect 0 "$MPSWEEP" sweep "${TINY[@]}" --layout threads:1 -o a.jsonl
  head -1 a.jsonl | jq -e '.emulated_effects == "-peer-stall"'
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" --layout threads:1 -o b.jsonl
  head -1 b.jsonl | jq -e 'has("emulated_effects") | not'
}

@test "of several devices, the first is measured" {
  MPSWEEP_EMUL_DEVICES=2 expect 0 "$MPSWEEP" sweep "${TINY[@]}" --layout threads:1 -o a.jsonl
  head -1 a.jsonl | jq -e '.gpu.pci == "ffff:00:00.0"'
}

@test "what is measured is the machine that is described" {
  export MPSWEEP_EMULATED_MACHINE=slots=7,kernel_ns=5000000
  expect 0 "$MPSWEEP" sweep --device emulated --layout threads:1 --kernels 5 --spin 0 \
    --duration 0.3 --warmup 0.02 --precision 100 -o a.jsonl
  head -1 a.jsonl | jq -e '.gpu.sms == 7 and .emulated_machine == "slots=7,kernel_ns=5000000"'
  # Five kernels of 5 ms: 25 ms at least.
  points '.[0].latency_us.p50 > 24000 and .[0].throughput_ips < 41' a.jsonl
  unset MPSWEEP_EMULATED_MACHINE
  expect 0 "$MPSWEEP" sweep --device emulated --layout threads:1 --kernels 5 --spin 0 \
    --duration 0.3 --warmup 0.02 --precision 100 -o b.jsonl
  head -1 b.jsonl | jq -e '.gpu.sms == 32 and (has("emulated_machine") | not)'
}

@test "a launch may cost CPU time" {
  # A hundred launches of 1 ms each keep the thread busy for 100 ms, whatever the GPU does.
  MPSWEEP_EMULATED_MACHINE=cpu_ns=1000000,kernel_ns=0 sweep_points \
    '.[0].latency_us.p50 > 100000' --device emulated --layout threads:1 --kernels 100 --spin 0 \
    --duration 0.3 --warmup 0 --precision 100
  # And so do two copies and a wait of 30 ms each, where the one launch is a small part.
  MPSWEEP_EMULATED_MACHINE=cpu_ns=30000000,kernel_ns=0 sweep_points \
    '.[0].latency_us.p50 > 118000' --device emulated --layout threads:1 --kernels 1 --spin 0 \
    --duration 0.6 --warmup 0 --precision 100
}

@test "things are done in the order of a driver" {
  # tests/gpu/order.bats runs the same on a real GPU.
  CUDA_MPS_PIPE_DIRECTORY=$WORK/none expect 0 "$MPSWEEP_BUILD_DIR/tests/gpu/order_client" \
    "$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so"
  [ "$(wc -l <"$WORK/out")" -eq 9 ]
}
