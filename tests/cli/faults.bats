#!/usr/bin/env bats
# What goes wrong in a worker, in the daemon or in the installation: no number for that point, the
# reason in one line, and the other points are measured.

load helper

# Three points; the fault is in process 1 of the middle one, which alone has a second process.
sweep_with_fault() {
  local wanted=$1 fault=$2 layout=$3
  shift 3
  rm -f f.jsonl
  MPSWEEP_EMULATED_FAULT=$fault expect "$wanted" \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -l "$layout" -l processes+mps:1 --seed 0 -q \
    -o f.jsonl "$@" || return 1
  [ ! -s err ] || fail "standard error should be silent:" "$(cat err)" || return 1
  assert_complete f.jsonl 3 "$wanted"
}

# bad_point STATUS CUDA_ERROR PATTERN: of the middle point; the others are measured.
bad_point() {
  points "map(outcome) == [\"measured\", \"$1\", \"measured\"]" f.jsonl >/dev/null ||
    fail "not the middle one alone is $1:" "$(points 'map([.status, .error])' f.jsonl)" || return 1
  points ".[1].cuda_error == $2 and (.[1].error | test(\"$3\"))" f.jsonl >/dev/null ||
    fail "should be $2 and match $3:" "$(points '.[1] | [.cuda_error, .error]' f.jsonl)" || return 1
  points '.[1] | (.error | test("\n") | not) and ([has("throughput_ips", "latency_us", "rounds",
    "ci95_rel", "iterations", "per_worker")] | any | not)' f.jsonl >/dev/null ||
    fail "there is a number:" "$(points '.[1]' f.jsonl)" || return 1
  # Nor in what is printed.
  sed '1,/^$/d' out | grep -E "4×1|2×2" | grep -qE "(-  +){4}.*- +$1: .*$3" ||
    fail "the table should say it:" "$(cat out)"
}

# FAULT | STATUS | CUDA ERROR | PATTERN
process_faults() {
  cat <<'TABLE'
cuLaunchKernel#20=crash@1        | failed     | 0   | worker process 1 of N.* killed by signal 11 .Segmentation fault.
cuStreamSynchronize#2=exit:3@1   | failed     | 0   | worker process 1 of N.* exit status 3
cuMemcpyDtoHAsync#3=corrupt@1    | failed     | 0   | worker W of M: wrong result: element [0-9]+ is
cuMemcpyHtoDAsync#3=corrupt@1    | failed     | 0   | worker W of M: wrong result: element [0-9]+ is
cuLaunchKernel#20=error:719@1    | failed     | 719 | worker W of M: cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED .719.
cuStreamSynchronize#3=error:700@1 | failed    | 700 | worker W of M: cuStreamSynchronize: CUDA_ERROR_.* .700.
cuModuleLoadData=error:218@1     | failed     | 218 | worker W of M: cuModuleLoadData: .* .218.
cuDevicePrimaryCtxRetain=error:2@1 | infeasible | 2 | worker W of M: cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY .2.
cuMemAlloc=error:2@1             | infeasible | 2   | worker W of M: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY .2.
cuMemHostAlloc=error:2@1         | infeasible | 2   | worker W of M: cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY .2.
cuInit=crash@1                   | failed     | 0   | worker process 1 of N.* killed by signal 11
TABLE
}

# faults_in LAYOUT PROCESSES THREADS
faults_in() {
  local fault status error pattern wanted worker failed=0 count=0
  TINY=("${FIXED[@]}")
  while IFS='|' read -r fault status error pattern; do
    count=$((count + 1))
    fault=${fault// /} status=${status// /} error=${error// /} pattern=${pattern# }
    # Process 1 holds the workers after those of process 0.
    worker="($(seq -s '|' "$3" $((2 * $3 - 1))))"
    pattern=${pattern/W of/$worker of}
    pattern=${pattern/of N/of $2}
    pattern=${pattern/of M/of $(($2 * $3))}
    wanted=2
    [ "$status" = failed ] || wanted=0
    { sweep_with_fault $wanted "$fault" "$1" && bad_point "$status" "$error" "$pattern"; } ||
      { echo "with fault $fault" >&2; failed=1; }
  done < <(process_faults)
  [ $count -gt 10 ] && [ $failed -eq 0 ]
}

@test "one of four processes goes wrong" { faults_in processes:4 4 1; }
@test "one of four processes over MPS goes wrong" { faults_in processes+mps:4 4 1; }
@test "one of two processes with two threads each over MPS goes wrong" { faults_in hybrid:2x2 2 2; }
@test "one of two processes with two threads each goes wrong" { faults_in hybrid-timesliced:2x2 2 2; }

# Invariant R2.
@test "a thread that goes wrong takes the number of all threads" {
  MPSWEEP_EMULATED_FAULT=cuLaunchKernel#30=error:719 expect 2 \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:4 -l threads+mps:4 -q -o f.jsonl
  points 'all(.status == "failed" and .cuda_error == 719 and (has("throughput_ips") | not)
    and (.error | test("worker [0-3] of 4: cuLaunchKernel")))' f.jsonl
}

@test "a wrong result out of a graph is noticed" {
  TINY=("${FIXED[@]}")
  sweep_with_fault 2 'cuGraphLaunch#3=corrupt@1' processes:4 --launch graph
  bad_point failed 0 'worker 1 of 4: wrong result'
}

@test "a worker that hangs is named, ended, and has no number" {
  TINY=("${HANGING[@]}")
  sweep_with_fault 2 'cuStreamSynchronize#4=hang@1' processes:4
  bad_point failed 0 'worker 1 of 4 hangs: no iteration ended for 5 s'
}

# Invariant C4.
@test "a worker over MPS that hangs is named, ended, and has no number" {
  TINY=("${HANGING[@]}")
  sweep_with_fault 2 'cuStreamSynchronize#4=hang@1' processes+mps:4
  bad_point failed 0 'worker 1 of 4 hangs: no iteration ended for 5 s'
}

# Invariant R4.
@test "workers that do not get ready are counted" {
  sweep_with_fault 2 'cuModuleLoadData=hang@1' processes+mps:4 --timeout $HUNG
  bad_point failed 0 'only 3 of 4 workers got ready within'
}

@test "workers that are slow to start are waited for" {
  MPSWEEP_EMULATED_FAULT='cuInit=slow:700@1' expect 0 "$MPSWEEP" sweep "${TINY[@]}" \
    -l processes:3 -l processes+mps:3 -q -o slow.jsonl
  points 'all(measured and .ready_s >= 0.7 and .throughput_ips > 0)' slow.jsonl
  # No worker began before the others.
  points 'all(.per_worker | length == 3 and all(.ips > 0))' slow.jsonl
}

@test "a worker that does not stop is ended, and its point has no number" {
  sweep_with_fault 2 'cuStreamDestroy=hang@1' processes:4 --timeout $HUNG
  bad_point failed 0 'worker 1 of 4 did not stop within 5 s'
}

@test "a worker whose iteration outlasts a short window is named, too" {
  TINY=(--device emulated --kernels 5 --duration 0.5 --max-duration 1.5 --precision 0.01 --rounds 1)
  sweep_with_fault 2 'cuStreamSynchronize#4=hang@1' processes:4 --timeout $HUNG
  bad_point failed 0 'worker 1 of 4 hangs: its iteration did not end within 5 s of the stop'
}

# Invariant R1.
@test "no attachment, no number over MPS" {
  MPSWEEP_EMULATED_FAULT=attach=skip@0,attach=skip@1 expect 2 "$MPSWEEP" sweep "${TINY[@]}" -l threads:2 \
    -l processes:2 -l processes+mps:2 -l threads+mps:2 -l hybrid:2x2 --seed 0 -q -o f.jsonl
  points 'map(outcome) == ["measured", "measured", "failed", "failed", "failed"]' f.jsonl
  points '.[2:] | all((.error | test("not attached to the MPS daemon"))
    and (has("throughput_ips") | not))' f.jsonl
  # If no client can attach, a probe shows it before the first point is measured.
  MPSWEEP_EMULATED_FAULT=attach=skip refused \
    'layouts over MPS, but: a probe did not become an MPS client: .*time slicing' \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -l processes+mps:1 -q -o none.jsonl
  [ ! -e none.jsonl ]
  # One of several is enough.
  sweep_with_fault 2 'attach=skip@1' processes+mps:4
  bad_point failed 0 'worker 1 of 4: not attached to the MPS daemon'
}

@test "a point that failed in one round has no number of the others" {
  MPSWEEP_EMULATED_FAULT='cuLaunchKernel#20=crash@1' expect 2 "$MPSWEEP" sweep "${FIXED[@]:0:8}" \
    -l processes:1,2 --rounds 2 -q -o f.jsonl
  assert_complete f.jsonl 2 2
  # Two rounds on a busy machine may differ by more than the precision.
  points '(.[0] | measured and (.rounds | length == 2))
    and (.[1] | .status == "failed" and (has("rounds") | not))' f.jsonl
  # Its record after the first round does not count, for merge neither.
  grep -q rounds_left f.jsonl
  expect 0 "$MPSWEEP" merge f.jsonl -o m.jsonl
  points 'map(outcome) == ["measured", "failed"] and all(has("rounds_left") | not)' m.jsonl
}

@test "the driver itself does not work: one line, status 1" {
  MPSWEEP_EMULATED_FAULT=cuInit=error:999 refused 'cuInit: CUDA_ERROR_UNKNOWN \(999\)' \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1
  MPSWEEP_EMULATED_FAULT=cuInit=crash refused 'asking the driver for its devices: killed by signal 11' \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1
  MPSWEEP_EMULATED_FAULT=cuInit=smoke refused "cannot understand the fault 'cuInit=smoke'" \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1
}

# -- the installation ------------------------------------------------------------------------------

@test "a program of mpsweep is missing: which one, and where it was looked for" {
  local program
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  programs_but none
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 -q
  for program in "${PROGRAMS[@]}"; do
    programs_but "$program"
    # A program of one command is missed by that command.
    local command=("$MPSWEEP" sweep "${TINY[@]}" -l threads:1)
    [ "$program" != mpsweep-probe ] || command=("$MPSWEEP" probe copy-block --device emulated)
    refused "cannot find program '$program' in '$WORK/programs' \(MPSWEEP_LIBEXEC_DIR" "${command[@]}"
  done
  # There, but not to be run.
  programs_but mpsweep-worker
  echo "#!/bin/sh" >programs/mpsweep-worker
  refused "cannot find program 'mpsweep-worker'" "$MPSWEEP" sweep "${TINY[@]}" -l threads:1
}

@test "a daemon that ends at its start: its own words" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is 'daemon=reply:no GPU for you'
  refused "the plan has layouts over MPS, but: the MPS control daemon ended at its start: no GPU for you" \
    "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 -l threads:1 -q -o x.jsonl
  [ ! -e x.jsonl ]
  # Without a layout over MPS, no worker needs it.
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l processes:2 -q
}

@test "a daemon whose answers are not understood" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  # What is quoted cannot harm a terminal.
  daemon_is quit=pass,any=wrong
  refused "the plan has layouts over MPS, but: .*MPS daemon answered '" \
    "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 -q
  absent $'\033' err
}

# Invariant R4.
@test "interrupted while a daemon does not answer: at once, and not at the deadline" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is get_client_list=silent
  asked() { grep -q ' get_client_list' "$FAKE_LOG"; }
  start "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 -q -o i.jsonl
  await $PATIENCE asked
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  points 'map(.status) == ["interrupted"]' i.jsonl
}

@test "a daemon that dies under its clients takes the number, not the sweep" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is 'daemon#1=dies-at:2'
  expect 2 "$MPSWEEP" sweep "${TINY[@]:0:4}" --duration 3 --warmup 0.02 --precision 100 \
    -l processes+mps:2 -l processes+mps:1 --seed 0 -q -o f.jsonl --timeout $HUNG
  grep -q ' daemon-died$' fake.log
  assert_complete f.jsonl 2 2
  points 'map(outcome) == ["failed", "measured"]' f.jsonl
  points '.[0] | has("throughput_ips") | not' f.jsonl
}

# Invariant D4.
@test "a fatal fault of one client: all are named, the server is restarted, the sweep continues" {
  TINY=("${FIXED[@]}")
  sweep_with_fault 2 'cuStreamSynchronize#4=fatal:700@1' processes+mps:4
  bad_point failed 700 'worker [0-3] of 4: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS .700.'
  points '.[1].error | test("fatal GPU error of one MPS client was given to all of them: (worker process [0-3](, | [(])){2,4}the server.s log names worker process [0-3] first, which need not be the culprit")' f.jsonl
  # A worker that is alone is not one suspect among others.
  sweep_with_fault 2 'cuStreamSynchronize#4=fatal:719@0' threads+mps:4
  points '.[1] | .status == "failed" and .cuda_error == 719 and
    (.error | test("given to all of them: worker process 0$"))' f.jsonl
}

@test "errors of MPS itself: the cause and what to do about it" {
  local number status pattern
  while read -r number status pattern; do
    MPSWEEP_EMULATED_FAULT="cuDevicePrimaryCtxRetain=error:$number@1" expect "$status" \
      "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 -q -o "$number.jsonl"
    points ".[0] | .cuda_error == $number and (.error | test(\"[(]$number[)]: .*; .*$pattern\"))" \
      "$number.jsonl"
  done <<'TABLE'
805 2 belongs to another user
806 2 the MPS server ended or did not answer
808 0 fewer processes with more threads
809 0 lower --connections
810 2 terminate_client
TABLE
}

@test "a temporary directory whose name is too long for a socket: another one is taken" {
  local long
  long=$WORK/$(printf 'x%.0s' {1..90})
  mkdir "$long"
  TMPDIR=$long expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 -q
  [ -z "$(ls -A "$long")" ]
}

@test "the private directory is private, and gone afterwards" {
  start "$MPSWEEP" sweep --device emulated --duration 60 -l processes+mps:1 -q
  private() { find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'mpsweep-??????'; }
  has_socket() { test -S "$(private)/mps/control"; }
  await $PATIENCE has_socket
  [ "$(private | wc -l)" -eq 1 ]
  [ "$(stat -c %a "$(private)")" = 700 ]
  kill -TERM "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  [ -z "$(private)" ]
}
