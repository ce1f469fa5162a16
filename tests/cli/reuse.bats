#!/usr/bin/env bats
# Worker processes that serve one point after the other: when they do, what stays of their promises,
# and what happens when they end between two points.

load helper
load parked

# Worker processes that are counted: each writes a line when it starts.
counted_workers() {
  programs_but mpsweep-worker
  {
    echo '#!/bin/sh'
    printf 'case " $* " in *" --shm "*) echo $$ >>"%s";; esac\n' "$WORK/started"
    printf 'exec "%s" "$@"\n' "$MPSWEEP_BUILD_DIR/mpsweep-worker"
  } >"$WORK/programs/mpsweep-worker"
  chmod +x "$WORK/programs/mpsweep-worker"
  export MPSWEEP_LIBEXEC_DIR=$WORK/programs
}

# starts COUNT OPTIONS...: a sweep that measures all its points with COUNT worker processes.
starts() {
  local wanted=$1
  shift
  rm -f started r.jsonl
  in_rounds "$@"
  expect 0 "$MPSWEEP" sweep "${TINY_ROUNDS[@]}" "${ROUNDS[@]}" -q -o r.jsonl "$@" || return 1
  points 'all(measured)' r.jsonl >/dev/null || fail "not all are measured:" "$(cat out)" ||
    return 1
  [ "$(wc -l <started)" -eq "$wanted" ] ||
    fail "$(wc -l <started) worker processes instead of $wanted: $*"
}

# Five points for each layout that differ in nothing that a process could not do.
AXES=(-m pinned,pageable --launch stream,graph --sync stream,none)

@test "points of as many processes, over MPS or not, have the same ones" {
  counted_workers
  local layout
  for layout in processes:3 processes+mps:3 hybrid:3x2 hybrid-timesliced:3x2; do
    starts 3 -l "$layout" "${AXES[@]}"
    points 'length == 5 and (map(select(.reused)) | length == 4)' r.jsonl
    points 'all(has("idle_processes") | not)' r.jsonl
    points 'all(.reused == true or (has("reused") | not))' r.jsonl
  done
  starts 1 -l threads:1-3 -l processes:1 "${AXES[@]}"
  starts 2 -l processes+mps:2 -l hybrid:2x1,2x3 --spin 10,20
  # Binding, work and sizes are the point's.
  TINY_ROUNDS=("${TINY_ROUNDS[@]/64K/64K,1M}")
  starts 2 -l processes:2 --bind near,scatter,none --blocks 1,2
}

@test "binding is the point's own" {
  [ "$(nproc)" -ge 2 ] || skip "one CPU is bound to in any case"
  # The widest and the narrowest set of CPUs among a process's threads.
  widths() { grep -h '^Cpus_allowed:' "/proc/$1"/task/*/status | sort -u | wc -l; }
  # Each worker of each point makes a stream.
  holding 'cuStreamCreate#1=hold@0,cuStreamCreate#3=hold@0'
  start "$MPSWEEP" sweep "${TINY[@]}" -l threads:2 --bind none,near --seed 0 -q -o r.jsonl
  await $PATIENCE is_held
  local worker
  worker=$(workers_of "$PID")
  [ "$(widths "$worker")" -eq 1 ]
  rm "$MPSWEEP_EMULATED_HOLD"
  await $PATIENCE has_lines 2
  await $PATIENCE is_held
  [ "$(workers_of "$PID")" = "$worker" ]
  # Two workers with a CPU each, and the rest of the process.
  are_apart() { [ "$(widths "$worker")" -eq 3 ]; }
  await $PATIENCE are_apart
  release
  finish
  [ "$STATUS" -eq 0 ]
  points '.[1].reused and (.[1].per_worker | map(.cpus) | unique | length) == 2' r.jsonl
}

# Those that sleep give up their CPU in each iteration; on the emulated GPU auto does.
wait_as_demanded() {
  starts 2 -l processes:2 --schedule auto,spin,yield,block || return 1
  points 'length == 4 and all(.[];
    (.cpu.voluntary_switches > 0.5) == (.schedule == "auto" or .schedule == "block"))' r.jsonl
}

@test "how threads wait is the point's own" {
  counted_workers
  TINY_ROUNDS=("${TINY_ROUNDS[@]/#5/220}")
  judged wait_as_demanded
}

@test "the runs of a calibration share worker processes" {
  counted_workers
  # Without MPS, of which a calibration takes as many processes as the machine has use for.
  rm "$WORK/programs/mpsweep-emulated-mps-control"
  ln -s /bin/false "$WORK/programs/mpsweep-emulated-mps-control"
  # One for threads, two in turns, and the sweep's own, for some thirty runs. After a run that
  # failed, as one in whose window nothing ended, there are fresh ones.
  starts 4 -l threads:1 --spin 0 --calibrate || [ "$(wc -l <started)" -le 7 ]
}

# Invariant C2.
@test "other processes, environments and contexts are not shared" {
  counted_workers
  starts 3 -l processes:2,1
  starts 4 -l processes:2 -l processes+mps:2
  starts 4 -l processes+mps:2 --connections default,4
  starts 4 -l processes+mps:2 --active-thread-percentage default,30/70
  starts 6 -l processes+mps:2 --priority 0,1,0/1
  starts 4 -l processes+mps:2 --memory-limit 1G,2G
}

@test "--no-reuse, also in a job file: fresh processes for each point" {
  counted_workers
  starts 15 -l processes+mps:3 "${AXES[@]}" --no-reuse
  points 'all(has("reused") or has("idle_processes") | not)' r.jsonl
  head -1 r.jsonl | jq -e '.options.sweep["no-reuse"] == "yes"'
  starts 4 -l threads:1-4 --no-reuse
  printf '[global]\nno-reuse = yes\nlayout = processes:2\nmemory = pinned,pageable\n' >fresh.job
  starts 4 fresh.job
}

# Invariant C5.
@test "some may idle, which is on record: few over MPS, and none beside a single one without" {
  counted_workers
  starts 5 -l processes+mps:5,4 -l hybrid:4x2 --seed 3
  points 'map([.processes, .idle_processes]) | sort == [[4, 1], [4, 1], [5, null]]' r.jsonl
  starts 6 -l processes+mps:4,2
  # They are clients, of ours, and no part of the point.
  points 'all(.attached == {expected: .processes, seen: .processes}
    and (has("other_clients") | not) and (.per_worker | length) == .workers)' r.jsonl
  starts 4 -l processes:4,2 -l hybrid-timesliced:3x2
  points 'map([.processes, .idle_processes]) | sort == [[2, 2], [3, 1], [4, null]]' r.jsonl
  starts 5 -l processes:4,1
  # Nor does the share of a process become another's.
  starts 3 -l processes+mps:3,2 --active-thread-percentage 30/70 --seed 0
  points '.[1] | .idle_processes == 1 and (.clients | map(.active_thread_percentage)) == [30, 70]' \
    r.jsonl
}

@test "each round has fresh processes" {
  counted_workers
  starts 6 -l processes+mps:2 -m pinned,pageable --rounds 3
  points 'all(.rounds | length == 3)' r.jsonl
  starts 3 -l threads:2 --rounds 3
  points 'all(has("reused") | not)' r.jsonl
}

@test "the plan's own order: only neighbours share" {
  counted_workers
  starts 4 -l threads:1 -l processes:2 -l threads:2,3 --seed 0
  points 'map(.reused) == [null, null, null, true]' r.jsonl
  jq -s -e 'map(select(.type == "point").id) == [0, 1, 2, 3]' r.jsonl
}

@test "a search and its steps are one point" {
  counted_workers
  starts 1 -l threads:1 --rate max-under-p99=1s,max-under-p99=2s --seed 0
  points 'map(.reused) == [null, true]' r.jsonl
}

@test "points that share processes are measured one after the other, the largest first" {
  counted_workers
  local seed
  for seed in 1 2 3 4; do
    starts 8 -l processes:4 -l processes+mps:3,4 -m pinned,pageable --seed $seed
    jq -s -e 'map(select(.type == "point")) | map(.mps) as $mps
      | ([range(1; length) | select($mps[.] != $mps[. - 1])] | length) == 1
      and (map(select(.mps).processes) | . == (sort | reverse))' r.jsonl
  done
}

@test "the estimate knows what starting costs" {
  # about OPTIONS...: the seconds that a plan would take.
  about() {
    "$MPSWEEP" sweep --device emulated -n -f json "$@" | jq 'select(.type == "plan").estimated_s | round'
  }
  [ "$(about -l processes+mps:16 "${AXES[@]}")" -lt "$(about -l processes+mps:16 "${AXES[@]}" --no-reuse)" ]
  [ "$(about -l processes+mps:16 --no-reuse)" -eq "$(about -l processes+mps:16)" ]
  # And calibrations: of a second kind of iteration what differs from the first.
  local one two
  one=$(($(about -l threads:1-3 --duration 1 --calibrate) - $(about -l threads:1-3 --duration 1)))
  two=$(($(about -l threads:1-3 --kernels 5,10 --duration 1 --calibrate) - \
    $(about -l threads:1-3 --kernels 5,10 --duration 1)))
  echo "calibrations: $one s, $two s"
  [ "$one" -ge 5 ]
  [ "$two" -gt "$one" ]
  [ "$two" -lt $((2 * one)) ]
}

# -- faults ----------------------------------------------------------------------------------------

# faulty STATUS FAULT OPTIONS...: three points on the same two processes, in the plan's order, the
# second of which meets the fault; each process counts its calls anew.
faulty() {
  local wanted=$1 fault=$2 layout
  shift 2
  for layout in processes:2 processes+mps:2 hybrid:2x1; do
    rm -f r.jsonl
    MPSWEEP_EMULATED_FAULT=$fault expect "$wanted" "$MPSWEEP" sweep "${TINY[@]:0:2}" "${TINY[@]:4}" \
      -l "$layout" --kernels 5,6,7 --seed 0 -q -o r.jsonl "$@" || return 1
    assert_complete r.jsonl 3 "$wanted"
    points '.[1] | has("throughput_ips") or has("reused") | not' r.jsonl ||
      fail "$layout with $fault:" "$(cat out)"
    # What was on the processes that failed is over: the next point has fresh ones.
    points '(.[0], .[2]) | measured and (has("reused") | not)' r.jsonl ||
      fail "$layout with $fault:" "$(cat out)"
  done
}

# Invariant C3.
@test "a fault in a point on used processes: the next one has fresh processes" {
  faulty 2 'cuStreamCreate#2=crash@1'
  points '.[1].error | test("worker process 1 of 2 .*killed by signal 11")' r.jsonl
  faulty 2 'cuStreamCreate#2=error:719@0'
  points '.[1].cuda_error == 719' r.jsonl
  faulty 2 'cuStreamDestroy#2=crash@1'
  points '.[1].error | test("worker process 1 of 2 .*killed by signal 11")' r.jsonl
  faulty 2 'cuStreamDestroy#2=exit:3@0'
  points '.[1].error | test("worker process 0 of 2 .*exit status 3")' r.jsonl
}

@test "pinned buffers serve the next point, too" {
  counted_workers
  # Four for the first point.
  local -x MPSWEEP_EMULATED_FAULT=cuMemHostAlloc#5=exit:3
  starts 1 -l threads:2 --blocks 5,6,7 --seed 0
  points 'map(.reused) == [null, true, true]' r.jsonl
}

# Invariant R5.
@test "what does not fit on used processes is tried on fresh ones" {
  counted_workers
  # Two buffers for each point: the next one meets it, on the processes of the first. No one is
  # refused twice.
  local -x MPSWEEP_EMULATED_FAULT=cuMemAlloc#3=error:2@1
  starts 6 -l processes+mps:2 --blocks 5,6,7 --seed 0
  points 'all(has("reused") | not)' r.jsonl
  # And what does not fit there either is infeasible.
  MPSWEEP_EMULATED_FAULT='' expect 0 "$MPSWEEP" sweep "${TINY[@]/64K/1M,128M,2M}" \
    -l processes+mps:1 --memory-limit 128M --seed 0 -q -o limited.jsonl
  points 'map([outcome, .reused]) == [["measured", null], ["infeasible", null], ["measured", null]]' \
    limited.jsonl
}

@test "a hang in a point on used processes: the next one has fresh processes" {
  faulty 2 'cuStreamCreate#2=hang@1' --timeout $HUNG
  points '.[1].error | test("only 1 of 2 workers got ready")' r.jsonl
  faulty 2 'cuStreamDestroy#2=hang@1' --timeout $HUNG
  points '.[1].error | test("worker 1 of 2 did not stop within 5 s")' r.jsonl
}

@test "a fatal fault over MPS on used processes: the server is restarted" {
  local filter
  for filter in processes+mps:2 hybrid:2x2; do
    rm -f r.jsonl
    MPSWEEP_EMULATED_FAULT='cuGraphLaunch#3=fatal:700@1' expect 2 "$MPSWEEP" sweep "${FIXED[@]}" \
      -l "$filter" -m pinned,pageable --launch stream,graph --seed 0 -q -o r.jsonl
    points 'map(outcome) == ["measured", "failed", "measured", "failed"]' r.jsonl
    points '.[1] | .cuda_error == 700 and (.error | test("given to all of them"))' r.jsonl
    points '.[2] | has("reused") | not' r.jsonl
  done
}

# Invariant R1.
@test "attachment and shares are proved again for each point" {
  # Asked once for each point; the third does not come to it on the processes of the first.
  MPSWEEP_EMULATED_FAULT='cuMemGetInfo#2=error:999@1' expect 2 "$MPSWEEP" sweep "${TINY[@]:0:2}" \
    "${TINY[@]:4}" -l processes+mps:2 --kernels 5,6,7 --seed 0 -q -o r.jsonl
  points 'map(outcome) == ["measured", "failed", "measured"]' r.jsonl
  points '.[1].error | test("worker 1 of 2: cuMemGetInfo: .*999")' r.jsonl
}

# -- between two points ----------------------------------------------------------------------------

guard() { children_named "$PID" mpsweep-guard; }

# killed_while_parked LAYOUT
killed_while_parked() {
  local victim
  begin_parked -l "$1" --kernels 5,6,7
  victim=$(workers_of "$PID" | tail -1)
  kill -KILL "$victim"
  await $PATIENCE has_ended "$victim"
  let_go
  finish_parked
  [ "$STATUS" -eq 0 ]
  assert_complete r.jsonl 3 0
  points 'map([outcome, .reused]) == [["measured", null], ["measured", null], ["measured", true]]' r.jsonl
}

@test "a worker is killed between two points: the next one has fresh processes" {
  killed_while_parked processes:2
}

@test "a worker over MPS is killed between two points: the next one has fresh processes" {
  killed_while_parked processes+mps:2
}

@test "the MPS daemon dies between two points: no number without it, and the sweep continues" {
  local daemon
  begin_parked -l processes+mps:2 --kernels 5,6,7
  daemon=$(children_named "$(guard)" mpsweep-emulated-mps-control)
  [ -n "$daemon" ]
  kill -KILL "$daemon"
  await $PATIENCE has_ended "$daemon"
  reported() { [ ! -e "/proc/$daemon" ]; }
  await $PATIENCE reported
  let_go
  finish_parked
  # The guard may report it before the sweep continues, or later.
  [ "$STATUS" -eq 0 ] || [ "$STATUS" -eq 2 ]
  assert_complete r.jsonl 3 "$STATUS"
  if [ "$STATUS" -eq 0 ]; then
    # Reported in time: a new daemon, and fresh processes.
    points 'map([outcome, .reused]) == [["measured", null], ["measured", null], ["measured", true]]' r.jsonl
  else
    # Found out in the point, which has no number; the next one has fresh processes.
    points 'map([outcome, .reused]) == [["measured", null], ["failed", null], ["measured", null]]' r.jsonl
    points '.[1] | (has("throughput_ips") | not) and (.error | test("MPS"))' r.jsonl
  fi
}

# interrupted_while_parked SIGNAL LAYOUT
interrupted_while_parked() {
  # Slow to end: a sweep that did not wait for them would be gone before.
  local -x MPSWEEP_EMULATED_FAULT=cuModuleUnload=slow:1500
  begin_parked -l "$2" --kernels 5,6,7
  kill -"$1" "$PID"
  let_go
  finish_parked
  [ "$STATUS" -eq 130 ]
  no_own_process
  tail -1 err | grep -q 'mpsweep: interrupted'
  assert_whole r.jsonl
  points 'map(outcome) == ["measured"]' r.jsonl
  tail -1 r.jsonl | jq -e '.type == "footer" and .status == 130'
}

@test "SIGINT between two points" { interrupted_while_parked INT processes:2; }
@test "SIGINT between two points over MPS" { interrupted_while_parked INT processes+mps:2; }
@test "SIGTERM between two points over MPS" { interrupted_while_parked TERM hybrid:2x2; }

# killed_itself_while_parked LAYOUT: that nothing is left is looked at after every test.
killed_itself_while_parked() {
  begin_parked -l "$1" --kernels 5,6,7
  kill -KILL "$PID"
  finish_parked
  [ "$STATUS" -eq 137 ]
  await $LEFTOVER_PATIENCE no_own_process
  assert_whole r.jsonl
  expect 0 "$MPSWEEP" sweep --device emulated --duration 0.05 --warmup 0.02 --precision 100 --rounds 1 -l "$1" \
    --kernels 5,6,7 --seed 0 -q -o r.jsonl --resume
  assert_complete r.jsonl 3 0
}

# Invariant C1.
@test "SIGKILL of the orchestrator between two points" { killed_itself_while_parked processes:2; }

@test "SIGKILL of the orchestrator between two points over MPS" {
  killed_itself_while_parked processes+mps:2
}

@test "an idle process ends: the point has no number, the next one has fresh processes" {
  local pid idle=
  # Two points of three processes, then two of two, of which the first is met: each makes a stream.
  holding 'cuStreamCreate#3=hold@0'
  start "$MPSWEEP" sweep "${TINY[@]:0:2}" "${TINY[@]:4}" -l processes+mps:3,2 --kernels 5,6 --seed 0 \
    -q -o r.jsonl
  await $PATIENCE is_held
  has_lines 3
  for pid in $(workers_of "$PID"); do
    ! tr '\0' '\n' <"/proc/$pid/environ" | grep -qx MPSWEEP_PROCESS=2 || idle=$pid
  done
  kill -KILL "$idle"
  release
  finish
  [ "$STATUS" -eq 2 ]
  assert_complete r.jsonl 4 2
  points 'map(outcome) == ["measured", "measured", "failed", "measured"]' r.jsonl
  points '(.[2].error | test("worker process 2 of 3 ended unasked: killed by signal 9"))
    and (.[3] | has("reused") or has("idle_processes") | not)' r.jsonl
}
