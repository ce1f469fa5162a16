#!/usr/bin/env bats
# Probes about who shares what on a real GPU: contexts, launch paths, and, where there are two GPUs,
# copies between them.

load helper
load ../cli/probe

# arm_is ARM FILTER
arm_is() { holds ".arms | map(select(.arm == \"$1\")) | length == 1 and (.[0] | $2)" r.jsonl; }

@test "context-admission: every arm gives numbers, and only contexts of their own take turns" {
  real
  "$MPSWEEP" probe context-admission -q -o r.jsonl || [ $? -eq 2 ]
  holds '.arms | length == 7 and all(.status == "ok" or (.arm == "green" and .status == "not here"))' r.jsonl
  holds '.arms | map(select(.status == "ok")) | all(.samples >= 30)' r.jsonl
  arm_is process-mps '.attached == {expected: 2, seen: 2}'
  arm_is priority '.verdict != "observed"'
  arm_is process-mps '.verdict != "observed"'
  # A wait is a time slice, not the kernel's length.
  holds '(.inferred.time_slice_us // 1000) | . > 200 and . < 20000' r.jsonl
}

@test "launch-contention: threads of one process, and processes over MPS" {
  real
  "$MPSWEEP" probe launch-contention -q -o r.jsonl || [ $? -eq 2 ]
  holds '.arms | all(.status == "ok" and .samples >= 48)' r.jsonl
  arm_is mps-8 '.attached == {expected: 8, seen: 8}'
  arm_is threads-1 '.median_us > 0.5 and .median_us < 50'
}

@test "launch-gate: threads are held by the host, processes over MPS by the GPU, graphs by neither" {
  real
  "$MPSWEEP" probe launch-gate -q --arms threads32-8,threads32-32,mps-16,graphs-16 -o r.jsonl ||
    [ $? -eq 2 ]
  holds '.arms | all(.status == "ok" and .samples >= 15)' r.jsonl
  arm_is mps-16 '.attached == {expected: 16, seen: 16}'
  # A machine with fewer CPUs, or a faster one, may leave some of them undecided.
  arm_is threads32-32 '.limit == "host"'
  arm_is mps-16 '.limit | IN("GPU", "not the host", "unsure")'
  arm_is graphs-16 '.limit | IN("neither", "unsure")'
}

@test "peer-stall: on two GPUs stalls without peer access, and not in chunks; on one it reports that" {
  real
  "$MPSWEEP" probe peer-stall -q -o r.jsonl || [ $? -eq 2 ]
  if [ "$(nvidia-smi -L | grep -c '^GPU')" -lt 2 ]; then
    holds '.verdict == "needs 2 GPUs" and .arms == []' r.jsonl
    return 0
  fi
  holds '.arms | length == 6 and all(.status == "ok" or .arm == "peer-on")' r.jsonl
  arm_is peer-off '.verdict == "observed" and .median_us > 19000'
  arm_is chunked '.verdict == "not observed"'
  # The calls of the chunked copy come back while the kernel runs.
  arm_is chunked '.metrics | map(select(.metric == "first copy'\''s call"))[0].median_us < 10000'
}
