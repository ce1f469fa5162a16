#!/usr/bin/env bats
# A worker that fails amid several GPUs: its error names the GPU, and only that GPU's daemon is made
# anew.

load helper

GPUS=("${TINY[@]:2}" -q --seed 0)

# failed STATUS GPUS PATTERN: the only point of r.jsonl, in its record and in the table.
failed() {
  points "length == 1 and .[0].status == \"$1\" and .[0].failed_gpus == $2" r.jsonl || return 1
  points ".[0].error | test(\"$3\")" r.jsonl || return 1
  grep -qE "$3" out || fail "not in the table: $3" "$(cat out)"
}

# LAYOUT | FAULT | STATUS | GPUS | PATTERN
FAILURES='
processes:2     | cuMemAlloc=error:2@3           | infeasible | [1] | worker 3 of 4 .GPU 1, process 3 of 4, thread 0 of 1.: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY
hybrid:1x2      | cuMemcpyDtoHAsync#3=corrupt@0  | failed     | [0] | worker [01] of 4 .GPU 0, process 0 of 2, thread [01] of 2.: wrong result
processes:1     | cuStreamSynchronize#2=exit:3@1 | failed     | [1] | worker process 1 of 2 .GPU 1. ended unasked: exit status 3
processes+mps:1 | attach=skip@1                  | failed     | [1] | worker 1 of 2 .GPU 1, process 1 of 2, thread 0 of 1.: not attached to the MPS daemon
processes:1     | cuInit=hang@1                  | failed     | [1] | only 1 of 2 workers got ready within .*; those on these GPUs did not: .GPU 1.
processes:1     | cuStreamSynchronize#4=hang@0   | failed     | [0] | worker 0 of 2 .GPU 0, process 0 of 2, thread 0 of 1. hangs
'

@test "an error names its worker's GPU" {
  export MPSWEEP_EMUL_DEVICES=2
  local layout fault status gpus pattern code
  GPUS=("${HANGING[@]:2}" -q --seed 0)
  while IFS='|' read -r layout fault status gpus pattern; do
    [ -n "${layout// /}" ] || continue
    rm -f r.jsonl
    # What is infeasible is an answer, too.
    code=2
    [ "${status// /}" = failed ] || code=0
    MPSWEEP_EMULATED_FAULT=${fault// /} expect $code "$MPSWEEP" sweep "${GPUS[@]}" --device emulated:all \
      -l "${layout// /}" -o r.jsonl
    failed "${status// /}" "${gpus// /}" "${pattern# }"
  done <<<"$FAILURES"
  # Named in another order, a GPU has two numbers.
  rm -f r.jsonl
  MPSWEEP_EMULATED_FAULT=cuMemAlloc=error:2@1 expect 0 "$MPSWEEP" sweep "${GPUS[@]}" \
    --device emulated:1,0 -l processes:1 -o r.jsonl
  failed infeasible '[1]' 'worker 1 of 2 .GPU 1 = device 0, process 1 of 2, thread 0 of 1.: cuMemAlloc'
}

@test "a point of one GPU has the errors that it always had" {
  export MPSWEEP_EMUL_DEVICES=2
  MPSWEEP_EMULATED_FAULT=cuMemAlloc=error:2@1 expect 0 "$MPSWEEP" sweep "${GPUS[@]}" \
    --device emulated:1 -l processes:2 -o r.jsonl
  points 'all(.error | startswith("worker 1 of 2: cuMemAlloc: "))' r.jsonl
  points 'all(has("failed_gpus") | not)' r.jsonl
  rm r.jsonl
  MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#2=exit:3@1' expect 2 "$MPSWEEP" sweep "${GPUS[@]}" \
    --device emulated:all --gpus-per-point 1 -l processes:2 -o r.jsonl
  points 'all(.error == "worker process 1 of 2 ended unasked: exit status 3")' r.jsonl
}

# Daemons that record for which GPU they were started.
told_daemons() {
  programs_but mpsweep-emulated-mps-control
  cat >programs/mpsweep-emulated-mps-control <<SH
#!/bin/sh
[ "\$1" != -f ] || echo "\$CUDA_VISIBLE_DEVICES" >>'$WORK/started'
exec '$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control' "\$@"
SH
  chmod +x programs/mpsweep-emulated-mps-control
  export MPSWEEP_LIBEXEC_DIR=$WORK/programs
}

# starts GPU COUNT: the daemons of that GPU, by the end of its UUID.
starts() { [ "$(grep -c "$1\$" started)" -eq "$2" ] || fail "of GPU $1:" "$(cat started)"; }

# What goes wrong in process 3 of the first point, on GPU 1, and the point after it.
fails_first() {
  rm -f started r.jsonl
  MPSWEEP_EMULATED_FAULT=$1 expect 2 "$MPSWEEP" sweep "${FIXED[@]:2}" -q --seed 0 --device emulated:all \
    -l processes+mps:2 -l hybrid:1x2 --mps-daemons "$2" --timeout $HUNG -o r.jsonl || return 1
  points 'map(outcome) == ["failed", "measured"]' r.jsonl
}

@test "a failure on one GPU makes that GPU's daemon anew, and no other" {
  export MPSWEEP_EMUL_DEVICES=2
  told_daemons
  local fault
  for fault in 'cuStreamSynchronize#9=fatal:700@3' 'cuLaunchKernel#40=crash@3'; do
    fails_first "$fault" per-gpu
    starts 64 1
    starts 65 2
  done
  fails_first 'cuStreamSynchronize#9=fatal:700@3' shared
  [ "$(wc -l <started)" -eq 2 ]
  # Where all is well both continue.
  rm -f started r.jsonl
  expect 0 "$MPSWEEP" sweep "${GPUS[@]}" --device emulated:all -l processes+mps:2,hybrid:1x2 \
    --mps-daemons per-gpu -o r.jsonl
  starts 64 1
  starts 65 1
}
