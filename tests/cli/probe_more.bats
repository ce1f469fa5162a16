#!/usr/bin/env bats
# Probes about who shares what: contexts that take turns, threads that share a launch path, GPUs
# that share no memory. The verdict follows the effect, switched on and off in the emulated GPU.

load helper
load probe

TWICE=(--device emulated -q --rounds 2)

# arm_is ARM FILTER [FILE]
arm_is() { holds ".arms | map(select(.arm == \"$1\")) | length == 1 and (.[0] | $2)" "${3:-r.jsonl}"; }

# -- context-admission -----------------------------------------------------------------------------

second_waits() {
  says_of observed --arms second-before &&
    holds '.effect.arm == "second-before" and .effect.control == "same"' r.jsonl
}

@test "context-admission: observed where a second context waits for its turn" {
  PROBE=context-admission
  judged second_waits
  holds '.effect.metric == "copy beside 16 blocks"' r.jsonl
  # Alone the copy of neither context waits for anything, which the third metric shows.
  holds '.arms | all(.metrics | map(.metric) == ["copy beside a full GPU", "copy alone"])' r.jsonl
  holds '.arms | all(.samples >= 30 and (.metrics | all(.samples >= 12)))' r.jsonl
  arm_is second-before '.metrics[1].median_us < .median_us'
  holds '.inferred.time_slice_us > 200' r.jsonl
  holds '.notes[0] | test("^time slices of about .* ms: in arm second-before half of ")' r.jsonl
  grep -q '^remedy:  copy in a stream of the kernel.s own context' out
}

@test "context-admission: not observed where it does not wait" {
  PROBE=context-admission
  judged off 'not observed' --arms second-before
  holds '.remedy == null and .error == null' r.jsonl
}

# Nothing but the slice makes a copy wait for so long.
slice_is_found() {
  MPSWEEP_EMULATED_MACHINE=slice_ns=12000000 says_of observed --arms second-before &&
    holds '.inferred.time_slice_us > 8000' r.jsonl
}

@test "context-admission: the time slice is inferred from the waits" {
  PROBE=context-admission
  judged slice_is_found
}

turns_are_taken() {
  says_of observed &&
    arm_is second-after '.verdict == "observed"' &&
    arm_is process '.verdict == "observed" and .processes == 2 and (.mps | not)' &&
    holds '.remedy_arm | IN("same", "green", "process-mps")' r.jsonl
}

@test "context-admission: who takes turns and who does not" {
  PROBE=context-admission
  judged turns_are_taken
  holds '.arms | length == 7 and all(.status == "ok" and .blocked == 0)' r.jsonl
  holds '.arms | map(select(.arm == "priority" or .arm == "green" or .arm == "process-mps"))
    | length == 3 and all(.verdict != "observed")' r.jsonl
  arm_is process-mps '.attached == {expected: 2, seen: 2}'
}

longer_than_a_slice() {
  rm -f r.jsonl
  MPSWEEP_EMULATED_MACHINE=slice_ns=60000000 expect 0 "$MPSWEEP" probe $PROBE "${QUICK[@]}" \
    -o r.jsonl --arms second-before,process &&
    # Each metric has its own: no more than it has samples.
    arm_is second-before '.blocked == .samples and .blocked > 0' &&
    arm_is second-before '.metrics[0] | .blocked == .samples and .blocked > 0' &&
    arm_is second-before '.metrics[1].blocked == 0' &&
    grep -q '^second-before, copy beside a full GPU: .*, \([0-9]*\) of \1 blocked$' out &&
    arm_is process '.blocked > 0 and .verdict == "observed"' &&
    arm_is same '.blocked == 0'
}

@test "context-admission: a copy that waits longer than for a slice is let go, and counted" {
  PROBE=context-admission
  judged longer_than_a_slice
}

@test "context-admission: what ends a process ends its arm, with the reason" {
  # Of the process that has the kernels, which the other one directs. That does not wait
  # for it until the time is over.
  MPSWEEP_EMULATED_FAULT='cuLaunchKernel#2=crash@1' expect 2 timeout $PATIENCE "$MPSWEEP" probe \
    context-admission "${QUICK[@]}" --timeout 3600 -o r.jsonl --arms process
  arm_is same '.status == "ok"'
  arm_is process '.status == "failed" and (.error | test("signal 11"))'
  # And of the one that copies.
  MPSWEEP_EMULATED_FAULT='cuMemcpyDtoDAsync#3=error:719@0' expect 2 "$MPSWEEP" probe \
    context-admission "${QUICK[@]}" -o s.jsonl --arms process
  arm_is process '.status == "failed" and (.error | test("^cuMemcpyDtoDAsync: .*719"))' s.jsonl
}

the_rest_is_judged() {
  rm -f r.jsonl
  MPSWEEP_EMULATED_FAULT='cuDeviceGetDevResource=error:801' expect 0 "$MPSWEEP" probe \
    context-admission "${QUICK[@]}" -o r.jsonl --arms green,second-before || return 1
  arm_is green '.status == "not here" and (.error | test("^cuDeviceGetDevResource: "))' || return 1
  [ "$(verdict r.jsonl context-admission)" = observed ]
}

@test "context-admission: what a driver cannot do is not a failure" {
  judged the_rest_is_judged
}

guard() { children_named "$PID" mpsweep-guard; }

# What no arm can continue from. With this seed the round's arm over MPS is the first, and then the daemon
# without a guard must be ended.
@test "a probe that cannot continue has a footer with the reason" {
  # A client whose server is gone cannot unload what it has loaded.
  export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
  holding cuModuleGetFunction=hold
  start "$MPSWEEP" probe context-admission --device emulated -q --rounds 1 --seed 1 \
    --arms process-mps -o r.jsonl
  await $PATIENCE is_held
  kill -KILL "$(guard)"
  release
  finish
  [ "$STATUS" -eq 1 ]
  says 'the MPS guard .* is gone'
  assert_whole r.jsonl
  [ "$(jq -r .type r.jsonl | xargs)" = 'header footer' ]
  of_type footer '.status == 1 and .probes == {}' r.jsonl
}

# -- launch-contention -----------------------------------------------------------------------------

# With three rounds one in which the threads lacked CPUs leaves it open.
threads_contend() {
  QUICK[-1]=5
  says_of observed --arms threads-8,mps-1,threads-1 &&
    holds '.effect.arm == "threads-8" and .effect.control == "mps-8"' r.jsonl
}

@test "launch-contention: observed where threads share a launch path" {
  PROBE=launch-contention
  judged threads_contend
  holds '.effect.metric == "launch call" and .remedy_arm == "mps-8"' r.jsonl
  arm_is mps-8 '.mps and .processes == 8 and .attached == {expected: 8, seen: 8}'
  # Every worker launches.
  arm_is threads-8 '.samples >= 5 * 8 * 16 and .series == "threads" and .x == 8'
  arm_is mps-8 '.samples >= 5 * 16 and .series == "processes over MPS" and .x == 8'
  holds '.xlabel == "workers"' r.jsonl
  holds '.notes[0] | test("us in one thread and .* us in each of 8 .*; over MPS .* in each of 8 ")' r.jsonl
  holds '.notes[1] | test("^million kernels/s in total: 1 thread [0-9.]+, 8 threads ")' r.jsonl
}

@test "launch-contention: not observed where each thread has its own" {
  PROBE=launch-contention
  judged off 'not observed' --arms threads-8
}

@test "launch-contention: contexts, processes, connections and graphs" {
  "$MPSWEEP" probe launch-contention "${TWICE[@]}" -o r.jsonl \
    --arms contexts-8,processes-8,threads-16-queues-32,graphs-8,graphs-1 || [ $? -eq 2 ]
  holds '.arms | length == 7 and all(.status == "ok" and .samples > 0)' r.jsonl
  # A graph has 128 kernels, and times are of one.
  holds '(.arms | map({key: .arm, value: .median_us}) | from_entries)
    | ."graphs-1" < ."threads-1" / 4' r.jsonl
  # A thread that cannot launch is an arm that failed, also where others can.
  MPSWEEP_EMULATED_FAULT='cuLaunchKernel#700=error:719' expect 2 "$MPSWEEP" probe \
    launch-contention "${QUICK[@]}" -o s.jsonl --arms threads-2
  arm_is threads-2 '.status == "failed" and (.error | test("^cuLaunchKernel: .*719"))' s.jsonl
}

# -- launch-gate -----------------------------------------------------------------------------------

# One kernel at a time, launched or accepted: which of the two holds 16 workers depends on the machine.
# With 3 rounds the interval would be three times as wide.
machine() { MPSWEEP_EMULATED_MACHINE=$1 "${@:2}"; }
THREADS=(--arms threads32-16,threads32-32)

host_holds_them() {
  QUICK=(--device emulated -q --rounds 8)
  machine launch_ns=6000,front_ns=500 says_of observed "${THREADS[@]}" &&
    holds '.effect.arm == "threads32-16" and .effect.control == "threads32-16"' r.jsonl &&
    arm_is threads32-16 '.verdict == "observed" and .limit == "host" and .ratio_ci95[0] > 1.05'
}

@test "launch-gate: the host where a process launches more slowly than the GPU accepts" {
  PROBE=launch-gate
  judged host_holds_them
  holds '.effect.metric == "iteration" and .effect.control_metric == "iteration behind the gate"' r.jsonl
  arm_is threads32-16 '.metrics | map(.metric)
    == ["iteration behind the gate", "enqueueing", "enqueueing behind the gate",
      "asleep while enqueueing"]'
  # As many iterations of each kind, and calls of every worker.
  arm_is threads32-16 '.samples >= 3 and .samples == .metrics[0].samples
    and .metrics[1].samples >= 15 * .samples'
  grep -Eq '^threads32-16 .* observed  *host$' out
  grep -q 'the iteration takes .* ms, the iteration behind the gate' out
}

gpu_holds_them() {
  QUICK=(--device emulated -q --rounds 8)
  machine launch_ns=200,front_ns=12000 says_of 'not observed' "${THREADS[@]}" &&
    arm_is threads32-16 '.verdict == "not observed" and .limit == "GPU"' &&
    holds '.inferred.accepted_mkernels_per_s | . > 0.06 and . < 0.084' r.jsonl
}

@test "launch-gate: the GPU where it accepts more slowly than a process launches" {
  PROBE=launch-gate
  judged gpu_holds_them
  holds '.remedy == null' r.jsonl
}

@test "launch-gate: processes over MPS, contexts and graphs" {
  "$MPSWEEP" probe launch-gate "${TWICE[@]}" -o r.jsonl --arms mps-4,contexts-4,graphs-1 ||
    [ $? -eq 2 ]
  holds '.arms | length == 3 and all(.status == "ok" and .samples > 0 and (.limit | length > 0))' r.jsonl
  arm_is mps-4 '.mps and .processes == 4 and .attached == {expected: 4, seen: 4}'
  arm_is contexts-4 '.mps and .processes == 1 and .attached == {expected: 1, seen: 1}'
  # A launch that fails ends all who wait at the gate.
  MPSWEEP_EMULATED_FAULT='cuLaunchKernel#700=error:719' expect 2 "$MPSWEEP" probe \
    launch-gate "${QUICK[@]}" -o s.jsonl --arms threads32-4
  arm_is threads32-4 '.status == "failed" and (.error | test("^cuLaunchKernel: .*719"))' s.jsonl
}

# -- peer-stall ------------------------------------------------------------------------------------

two() { MPSWEEP_EMUL_DEVICES=2 "$@"; }

second_stalls() {
  says_of observed --arms peer-off,peer-on,chunked &&
    holds '.effect.arm == "peer-off" and .effect.control == "alone" and .effect.value > 20000' r.jsonl &&
    holds '.remedy_arm == "peer-on" or .remedy_arm == "chunked"' r.jsonl
}

@test "peer-stall: observed where staged copies go one after the other" {
  PROBE=peer-stall
  judged two second_stalls
  holds '.arms | map(select(.arm != "peer-off" and .control)) | length == 2
    and all(.verdict != "observed")' r.jsonl
  holds '.arms | map(select(.control)) | all(.metrics
    | map(.metric) == ["first copy'\''s call", "second copy'\''s call", "64 MiB copied alone"])' r.jsonl
  holds '.notes | any(test("^a copy of 64 MiB, alone: the driver.s own staging [0-9.]+ GB/s, in chunks "))' r.jsonl
}

@test "peer-stall: not observed where they do not" {
  PROBE=peer-stall
  judged two off 'not observed' --arms peer-off
}

# Two rounds may be too few for a verdict, but not for a stall.
stays_free() {
  rm -f r.jsonl
  two "$MPSWEEP" probe peer-stall "${TWICE[@]}" -o r.jsonl --arms staged,delayed || [ $? -eq 2 ] ||
    return 1
  holds '.arms | length == 3 and all(.status == "ok" and .verdict != "observed")' r.jsonl
}

@test "peer-stall: the first copy by hand, or later" {
  judged stays_free
}

what_helps_is_told() {
  two says_of observed --arms peer-off,chunked || return 1
  arm_is chunked '.verdict == "observed"' || return 1
  holds '(.remedy | test("peer access")) and (has("remedy_arm") | not)' r.jsonl || return 1
  # And one that does not is not reported as its own remedy.
  two says_of observed --arms chunked || return 1
  holds '.effect.arm == "chunked" and .remedy == null and (has("remedy_arm") | not)' r.jsonl
}

@test "peer-stall: the remedy helps" {
  PROBE=peer-stall
  # Only copies in chunks wait for events.
  export MPSWEEP_EMULATED_FAULT='cuStreamWaitEvent#1+=slow:3'
  judged what_helps_is_told
}

@test "peer-stall: a copy that brings other bytes is not a measurement" {
  local way
  for way in staged chunked; do
    MPSWEEP_EMUL_DEVICES=2 MPSWEEP_EMULATED_FAULT='cuMemcpyDtoHAsync#1=corrupt' expect 2 \
      "$MPSWEEP" probe peer-stall "${TWICE[@]}" -o $way.jsonl --arms $way
    arm_is $way '.status == "failed" and (.error == "copy 1 brought other bytes than were sent")' \
      $way.jsonl
  done
}

@test "peer-stall: with one GPU it reports what it needs, and is not a failure" {
  PROBE=peer-stall
  says_of 'needs 2 GPUs'
  holds '.effect == null and .remedy == null' r.jsonl
  of_type footer '.status == 0 and .probes == {"needs 2 GPUs": 1}' r.jsonl
  grep -q '^verdict: needs 2 GPUs' out
  # Nor does the table of comma-separated values leave it out.
  expect 0 "$MPSWEEP" probe peer-stall "${QUICK[@]}" --format csv
  grep -qE '^peer-stall,needs 2 GPUs,,+yes,.*the driver shows 1' out
  [ "$(wc -l <out)" -eq 2 ] && [ "$(sed 's/[^,]//g' out | sort -u | wc -l)" -eq 1 ]
}

# -- all of them -----------------------------------------------------------------------------------

@test "their figures, and their place in the list" {
  needs_gnuplot
  expect 0 "$MPSWEEP" probe --list
  grep -q '^context-admission: does a copy within' out
  grep -qE '^    threads-2 .*\(only with --arms\)$' out
  grep -qE '^    alone +the second copy alone \(control\)$' out
  "$MPSWEEP" probe launch-contention "${TWICE[@]}" -o r.jsonl --arms threads-4,threads-2 ||
    [ $? -eq 2 ]
  for figure in probe probe-series; do
    expect 0 "$MPSWEEP" plot r.jsonl --figure $figure -o $figure.svg
    [ ! -s err ]
    grep -q 'EMULATED GPU' $figure.svg
  done
  grep -q workers probe-series.svg
}
