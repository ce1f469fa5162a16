#!/usr/bin/env bats
# One start of a program serves several points: which ones, with which numbers, and what happens
# where a program does not wait for the next one, or ends between two of them.

load helper
load parked

setup_file() {
  export PROGRAM=$MPSWEEP_BUILD_DIR/tests/fakes/program
  export TICKER=$MPSWEEP_BUILD_DIR/examples/program/ticker
  export SERVER=$MPSWEEP_BUILD_DIR/tests/fakes/http-server
}

REUSE_SMALL=(--device emulated --warmup 0.02 -q)

# A program that is counted: each process writes a line when it starts.
counted() {
  cat >counted <<'SCRIPT'
#!/bin/sh
echo "$MPSWEEP_PROCESS/$MPSWEEP_PROCESSES $MPSWEEP_THREADS" >>started
exec "$@"
SCRIPT
  chmod +x counted
  rm -f started r.jsonl
}

# starts COUNT OPTIONS... -- PROGRAM...: a sweep that measures all its points with COUNT processes.
starts() {
  local wanted=$1
  shift
  counted
  in_rounds "$@"
  local options=() window=(--duration "${DURATION:-0.1}" --precision 100)
  [[ " $* " != *" --iterations "* ]] || window=()
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  expect 0 "$MPSWEEP" sweep "${REUSE_SMALL[@]}" "${ROUNDS[@]}" "${window[@]}" -o r.jsonl "${options[@]}" -- ./counted "${@:2}" ||
    return 1
  points 'all(measured)' r.jsonl >/dev/null || fail "not all are measured:" "$(cat out)" || return 1
  [ "$(wc -l <started)" -eq "$wanted" ] || fail "not $wanted processes:" "$(cat started)"
}

# -- which points ------------------------------------------------------------------------------------

@test "one start serves layouts of fewer processes and threads, and rates" {
  starts 4 -l processes:4,3,2 -l hybrid-timesliced:4x2,3x2 -- "$TICKER" 200
  # As many threads as any of them needs.
  [ "$(sort started | uniq)" = "$(printf '%s/4 2\n' 0 1 2 3)" ]
  points 'length == 5 and (map(select(.reused)) | length == 4)' r.jsonl
  points 'all((.idle_processes // 0) == 4 - .processes and (.per_worker | length) == .workers)' r.jsonl
  points 'all(.latency_us.p50 >= 195 and .throughput_ips > 0)' r.jsonl
  starts 1 -l threads:1-5 -- "$TICKER" 200
  points 'map(.workers) == [1, 2, 3, 4, 5]' r.jsonl
  starts 2 -l processes:2 --rate closed,100,200,300 -- "$TICKER" 200
  points 'map(select(.rate.offered_ips == 200)) | length == 1' r.jsonl
}

@test "one start serves over MPS, and those who wait are clients of ours" {
  starts 4 -l processes+mps:4,3 -l hybrid:4x2,3x2,4x3 -- "$PROGRAM" well
  points 'length == 5 and all(.attached == {expected: .processes, seen: .processes} and (has("other_clients") | not))' \
    r.jsonl
  points 'map(.idle_processes) | sort == [null, null, null, 1, 1]' r.jsonl
  # Beside one that waits two must work.
  starts 6 -l processes+mps:4,2 -- "$PROGRAM" well
}

@test "what a program was started with is not another's" {
  starts 3 -l processes:2,1 -- "$TICKER" 200
  starts 4 -l processes:2 -l processes+mps:2 -- "$TICKER" 200
  starts 4 -l processes+mps:2 --connections default,4 -- "$TICKER" 200
  starts 4 -l processes:2 --bind near,none -- "$TICKER" 200
  starts 2 -l processes:2 -l hybrid-timesliced:2x2 -- "$TICKER" 200
  starts 4 -l processes:2 -l hybrid-timesliced:2x2 -- "$TICKER" 200 '{threads}'
  starts 5 -l processes:3,2 -- "$TICKER" 200 '{processes}'
  starts 3 -l processes:3,2 -- "$TICKER" 200 '{process} {port} {seed} {gpu} {threads} {streams}'
}

@test "--no-reuse, and rounds: fresh processes" {
  starts 9 -l processes:4,3,2 --no-reuse -- "$TICKER" 200
  points 'all(has("reused") or has("idle_processes") | not)' r.jsonl
  starts 3 -l threads:3,2 --rounds 3 -- "$TICKER" 200
}

@test "the search of a rate is one start" {
  DURATION=0.3 starts 2 -l processes:2 --rate max-under-p99=1s --max-duration 1 -- "$PROGRAM" well
  points '.[0] | .throughput_ips > 0 and (has("reused") | not)' r.jsonl
}

# -- numbers -------------------------------------------------------------------------------------------

# offered FILE OPTIONS...
offered() {
  rm -f "$1"
  expect 0 "$MPSWEEP" sweep "${REUSE_SMALL[@]}" --rounds 1 --precision 100 -o "$1" --duration 1 --rate 60 "${@:2}" \
    -l processes:3,2 -l hybrid-timesliced:3x2 -- "$PROGRAM" well
}

@test "what used programs give is what fresh ones give" {
  local option file
  for option in '' --no-reuse; do
    file=r$option.jsonl
    # Each handle does as much, whichever layouts it served before.
    expect 0 "$MPSWEEP" sweep --device emulated --rounds 1 --warmup 0.02 -q -o "fixed$file" --iterations 50 $option \
      -l processes:3,2 -l hybrid-timesliced:3x2 -- "$PROGRAM" well
    offered "rate$file" $option
    points 'all(measured and .iterations == 50 * .workers and .latency_us.p50 >= 1000
      and .fixed.iterations_per_worker == 50)' "fixed$file"
    points 'all(measured and .rate.offered_ips == 60 and .cpu.cpus_in_use < .processes)' "rate$file"
  done
  points 'map(select(.reused)) | length == 2' fixedr.jsonl
  points 'map(select(.reused)) | length == 2' rater.jsonl
}

offered_is_served() {
  offered r.jsonl "$@" && points 'all(.throughput_ips > 50 and .throughput_ips < 70)' r.jsonl
}

@test "what is offered to used programs, and to fresh ones, is served" {
  judged offered_is_served
  judged offered_is_served --no-reuse
}

@test "threads with several streams" {
  starts 3 -l processes:3,2 --streams 2 -- "$PROGRAM" well
  points 'all(.workers == 2 * .processes) and (map(.reused) | sort == [null, true])' r.jsonl
  starts 2 -l hybrid-timesliced:2x2 --streams 2 --rate 50,100 -- "$PROGRAM" well
}

@test "a Python program" {
  needs_python
  cat >program.py <<'SCRIPT'
import threading, time
import mpsweep
def serve():
    worker, done = mpsweep.worker(), 0
    worker.ready()
    while worker.running():
        with worker:
            time.sleep(0.001)
            done += 1
    with open("done.%d" % threading.get_native_id(), "w") as file:
        print(done, file=file)
    worker.close()
threads = [threading.Thread(target=serve) for _ in range(mpsweep.thread_count())]
for thread in threads: thread.start()
for thread in threads: thread.join()
SCRIPT
  starts 1 -l threads:1-4 -- python3 program.py
  points 'all(.latency_us.p50 >= 1000)' r.jsonl
  starts 2 -l processes:2 --rate 100,200 -- python3 program.py
  # No iteration beyond those that were asked for.
  rm -f done.* r.jsonl
  expect 0 "$MPSWEEP" sweep --device emulated --rounds 1 --iterations 20 --warmup 0 -q -o r.jsonl \
    -l hybrid-timesliced:2x2 -l processes:2 -- python3 program.py
  points 'map(.reused) == [null, true] or map(.reused) == [true, null]' r.jsonl
  [ "$(sort done.* | tr '\n' ' ')" = '20 20 40 40 ' ]
}

@test "a program that does not report its iterations" {
  local work=(in:1000 kernel:1x32:1000:3 sync)
  starts 6 -l processes:3,2 -l processes+mps:3,2 --rate closed,100 -- \
    "$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program" "${work[@]}"
  points 'length == 8 and (map(select(.reused)) | length == 6)' r.jsonl
}

# lacking LAYOUTS... -- PROGRAM...: has one thread, and the processes that show it serve the layout of
# one.
lacking() {
  counted
  expect 2 "$MPSWEEP" sweep "${REUSE_SMALL[@]}" --rounds 1 --duration 0.1 --precision 100 --timeout 6 -o r.jsonl \
    -l hybrid:2x2 -l processes+mps:2 -- ./counted "$@" || return 1
  points 'sort_by(.threads) | map([.threads, .status == "failed", .reused]) == [[1, false, true], [2, true, null]]' \
    r.jsonl
  [ "$(sort started)" = "$(printf '%s/2 2\n' 0 1)" ] || fail "other processes:" "$(cat started)"
}

@test "a program that has fewer threads than it was asked for" {
  lacking "$MPSWEEP_BUILD_DIR/tests/fakes/unaware"
  lacking "$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program" kernel:1x32:200000:3 sync sleep:2000
}

@test "a server" {
  [ -x "$MPSWEEP_BUILD_DIR/mpsweep-load" ] || skip "no libcurl here"
  local request=(--server --request 'GET http://127.0.0.1:{port}/infer')
  starts 3 "${request[@]}" -l processes:3,2 --rate closed,50 -- "$SERVER" --port '{port}' --delay-ms 1
  points 'all(.requests.errors == 0 and .latency_us.p50 >= 900) and (map(select(.reused)) | length == 3)' r.jsonl
  # Fewer connections to it are only ours to know, unless its command has their number.
  starts 1 "${request[@]}" -l threads:4,2,1 --streams 2 -- "$SERVER" --port '{port}' --delay-ms 1
  points 'map([.workers, .in_flight]) == [[8, 8], [4, 4], [2, 2]] and all(.requests.errors == 0)
    and all(.per_worker | all(.ips > 0))' r.jsonl
  starts 3 "${request[@]}" -l threads:3,2,1 -- "$SERVER" --port '{port}' --delay-ms '{threads}0'
  points 'map(.latency_us.p50 / 10000 | floor) == [3, 2, 1]' r.jsonl
  # Nor has it that from anywhere else.
  expect 0 "$MPSWEEP" sweep "${REUSE_SMALL[@]}" --rounds 1 --duration 0.1 -o e.jsonl "${request[@]}" -l threads:2 -- \
    sh -c '[ -z "$MPSWEEP_THREADS$MPSWEEP_STREAMS" ] && exec "$0" --port "$1"' "$SERVER" '{port}'
}

# -- what does not wait for the next point -----------------------------------------------------------------

# Programs learn for certain that a point is over where its work is fixed: elsewhere the stop may come
# between two iterations.
FIXED_PROGRAM=(--device emulated --warmup 0 --iterations 10 --rounds 1 --seed 0 -q -o r.jsonl)

# Each point has its number, and its own start.
@test "programs that end, or do something else, after a point" {
  local mode
  for mode in leave not-back; do
    starts 5 --iterations 10 -l processes:3,2 -- "$PROGRAM" $mode
    points 'all(has("reused") | not)' r.jsonl
  done
}

@test "a program that fails after a point has no number, and the next has fresh processes" {
  counted
  expect 2 "$MPSWEEP" sweep "${FIXED_PROGRAM[@]}" -l processes:3,2 -- ./counted \
    sh -c '"$0" "$1"; [ "$MPSWEEP_PROCESS" != 1 ] || exit 5' "$PROGRAM" leave
  points 'all(.status == "failed" and
    (.error | test("^process 1 .counted. ended with exit status 5 after it was asked to stop")))' r.jsonl
  [ "$(wc -l <started)" -eq 5 ]
}

@test "a crash while it works for a second point is that point's" {
  local layout
  for layout in processes processes+mps; do
    rm -f r.jsonl
    expect 2 "$MPSWEEP" sweep "${FIXED_PROGRAM[@]}" -l $layout:4,3,2 -- "$PROGRAM" crash-second
    points 'map([outcome, .reused]) == [["measured", null], ["failed", null], ["measured", null]]' r.jsonl
    points '.[1].error | test("^process 1 .program. was killed by signal 9 .* before it was asked to stop$")' r.jsonl
  done
}

@test "a crash while it is held beside a point is named" {
  local layout
  for layout in processes processes+mps; do
    rm -f crash-now r.jsonl
    expect 2 "$MPSWEEP" sweep "${FIXED_PROGRAM[@]}" -l $layout:3,2 -- "$PROGRAM" crash-held
    points 'map(outcome) == ["measured", "failed"]' r.jsonl
    points '.[1].error
      | test("^process 2 .program. ended while it was held for another layout: killed by signal 9")' r.jsonl
  done
}

# -- between two points ----------------------------------------------------------------------------------------

# Windows in which these offer 1000 iterations: they are as long as they may be, 1.5 s, since on a busy
# machine a worker gets no CPU for a part of a second.
RATES=(--rate 600,630,660)

# The program of a supervisor, which is a child of its keeper.
program_of() { children_of "$(children_of "$1" | head -1)" | head -1; }

# killed_while_held LAYOUT WHO: the next point has fresh processes.
killed_while_held() {
  local victim
  begin_parked -l "$1" "${RATES[@]}" -- "$PROGRAM" well
  victim=$(workers_of "$PID" | tail -1)
  if [ "$2" = program ]; then
    kill -KILL "$(program_of "$victim")"
  else
    kill -KILL "$victim"
  fi
  await $PATIENCE has_ended "$victim"
  let_go
  finish_parked
  [ "$STATUS" -eq 0 ] || fail "status $STATUS:" "$(cat err r.jsonl)"
  assert_complete r.jsonl 3 0
  points 'map([outcome, .reused]) == [["measured", null], ["measured", null], ["measured", true]]' r.jsonl
}

@test "a supervisor is killed between two points" { killed_while_held processes:2 supervisor; }
@test "a supervisor is killed between two points over MPS" { killed_while_held processes+mps:2 supervisor; }

# ended_while_held SIGNAL LAYOUT
ended_while_held() {
  begin_parked -l "$2" "${RATES[@]}" -- "$PROGRAM" well
  kill -"$1" "$PID"
  [ "$1" = KILL ] || let_go
  finish_parked
  [ "$STATUS" -eq $([ "$1" = KILL ] && echo 137 || echo 130) ]
  await $LEFTOVER_PATIENCE no_own_process
  assert_whole r.jsonl
  points 'map(outcome) == ["measured"]' r.jsonl
}

@test "Ctrl-C between two points" { ended_while_held INT processes:2; }
@test "Ctrl-C between two points over MPS" { ended_while_held INT hybrid:2x2; }
@test "SIGKILL of mpsweep between two points" { ended_while_held KILL processes:2; }
@test "SIGKILL of mpsweep between two points over MPS" { ended_while_held KILL processes+mps:2; }

@test "a program is killed between two points" { killed_while_held processes:2 program; }
@test "a program is killed between two points over MPS" { killed_while_held processes+mps:2 program; }
