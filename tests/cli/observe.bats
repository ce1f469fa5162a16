#!/usr/bin/env bats
# Programs that do not know mpsweep: what counts as an iteration, and every way in which there is none.

load helper
load mps

setup_file() {
  export UNAWARE=$MPSWEEP_BUILD_DIR/tests/fakes/unaware
}

OBSERVED=(--device emulated -q --rounds 1 --precision 100 --warmup 0.05)

# observe STATUS OPTIONS... -- PROGRAM...: into r.jsonl.
observe() {
  local wanted=$1
  shift
  rm -f r.jsonl
  expect "$wanted" "$MPSWEEP" sweep "${OBSERVED[@]}" -o r.jsonl "$@"
}

# takes ITERATION: for one, in all points.
takes() {
  points "length > 0 and all(measured and .observed.iteration == \"$1\" and .observed.alike > 0.85)" \
    r.jsonl >/dev/null || fail "should take for an iteration: $1" "$(points 'map([.status, .error, .observed])' r.jsonl)"
}

COPIES="1 copy in of 65536 bytes, 1 copy out of 65536 bytes"

@test "iterations are found in all layouts" {
  observe 0 -l threads:1 -l processes+mps:2 -l processes:2 -- "$UNAWARE" --kernels 12
  takes "1 wait, 12 launches, $COPIES"
  points 'all(.observed | has("doubt") | not)' r.jsonl
  points 'map(select(.mps)) | all(.attached.seen == .processes)' r.jsonl
  grep -q '^observed threads 1×1: an iteration is 1 wait, 12 launches' out
}

@test "tune has processes first where nothing names MPSWEEP_THREADS" {
  local left='^layouts of several threads come last: neither the command nor the files that it runs name MPSWEEP_THREADS; --max-threads N '
  tuned() {
    rm -f r.jsonl
    expect 0 "$MPSWEEP" tune --device emulated -q --duration 0.3 --max-processes 2 --budget 12s \
      -o r.jsonl "$@"
  }
  names_threads() {
    tuned "$@"
    points 'any(.threads > 1)' r.jsonl
    absent "$left" out
  }
  tuned -- "$UNAWARE"
  points '(map(.processes == 2) | index(true)) as $first | $first != null
    and (.[:$first] | all(.threads == 1))' r.jsonl
  # With time to spare it came to them.
  points 'any(.threads > 1)' r.jsonl >/dev/null || grep -q "$left" out
  names_threads --max-threads 2 -- "$UNAWARE"
  printf '#!/bin/sh\nexec "%s" --threads "$MPSWEEP_THREADS"\n' "$UNAWARE" >serve.sh
  names_threads -- sh serve.sh
  names_threads -- sh -c 'exec "$0" --threads "$MPSWEEP_THREADS"' "$UNAWARE"
}

@test "explain reports what was observed, and whether more workers do more" {
  observe 0 -l threads:1 -l processes+mps:2 -- "$UNAWARE" --kernels 12
  expect 0 "$MPSWEEP" explain r.jsonl
  [ "$(grep -cE '×1.*: [0-9.]+ iterations/s( \(unconverged[^)]*\))?; an iteration is 1 wait, 12 launches' out)" -eq 2 ]
  [ "$(grep -cE '^  a worker needs [0-9.]+ ms for one, and [0-9.]+ ms of a CPU' out)" -eq 2 ]
  [ "$(grep -cE '^  2 workers do [0-9.]+ times as much as threads 1×1: ' out)" -eq 1 ]
  expect 0 "$MPSWEEP" explain --format json r.jsonl
  jq -e 'map([.layout, .processes, .throughput_ips > 0, .cpu_share > 0]) | sort
    == [["processes+mps", 2, true, true], ["threads", 1, true, true]]' out
  # No limit is named that an interval leaves open.
  jq -c 'if .type != "point" then . elif .mps then .throughput_ips = 170 | .ci95_rel = 0.12
    else .throughput_ips = 100 | .ci95_rel = 0.01 end' r.jsonl >wide.jsonl
  expect 0 "$MPSWEEP" explain wide.jsonl
  grep -q '^  2 workers do 1.7 times as much as threads 1×1: between 1.51 and 1.92, which leaves open whether anything limits them$' out
}

@test "each thread has its own" {
  observe 0 -l threads:3 -l hybrid:2x2 -- sh -c 'exec "$0" --threads "$MPSWEEP_THREADS"' "$UNAWARE"
  takes "1 wait, 20 launches, $COPIES"
  points 'all((.per_worker | length) == .workers and all(.per_worker[]; .ips > 0))' r.jsonl
  observe 2 -l threads:3 --timeout 8 -- "$UNAWARE" --threads 2
  points 'all(.error | test("^process 0 \\(unaware\\) works on the GPU with 2 of its 3 threads: it must have as many as MPSWEEP_THREADS gives"))' r.jsonl
}

@test "waits by events, contexts, polls and host functions, and graphs" {
  observe 0 -l threads:1 -- "$UNAWARE" --wait event
  takes "1 wait, 20 launches, $COPIES"
  observe 0 -l threads:1 -- "$UNAWARE" --wait context
  takes "1 wait, 20 launches, $COPIES"
  observe 0 -l threads:1 -- "$UNAWARE" --wait poll
  takes "1 poll, 20 launches, $COPIES"
  observe 0 -l threads:1 -- "$UNAWARE" --wait host
  takes "1 host function, 20 launches, $COPIES"
  observe 0 -l threads:1 -- "$UNAWARE" --graph
  takes "1 wait, 1 graph launch, $COPIES"
  observe 0 -l threads:1 -- "$UNAWARE" --wait never
  takes "20 launches, 1 copy in of 65536 bytes"
}

@test "threads of a pool make one row of iterations, and one may wait for another" {
  observe 0 -l threads:1 -- "$UNAWARE" --threads 4 --kernels 12
  takes "1 wait, 12 launches, $COPIES"
  observe 0 -l threads:1 -- "$UNAWARE" --wait other --kernels 12
  takes "1 wait, 12 launches, $COPIES"
}

@test "requests of different lengths are iterations that vary" {
  observe 0 -l processes:2 -- env -u MPSWEEP_PROCESS "$UNAWARE" --mode random
  points 'all(measured and (.observed.iteration
    | test("^1 wait, [0-9]+ launches, 1 copy in of [0-9]+ bytes, 1 copy out of [0-9]+ bytes on average$")))' r.jsonl
}

@test "processes whose iterations are unlike are warned of" {
  observe 0 -l processes:2 -- sh -c 'exec "$0" --kernels $((10 + 50 * MPSWEEP_PROCESS))' "$UNAWARE"
  points 'all(measured and any(.warnings[]; .kind == "iterations" and (.text | test("has 13 calls in one process and 63 in another"))))' r.jsonl
}

@test "processes whose iterations are others do not add up" {
  observe 2 -l processes:2 -- sh -c 'exec "$0" --kernels $((10 + 150 * MPSWEEP_PROCESS))' "$UNAWARE"
  points 'all(.status == "failed" and (.error | test("^an iteration has 13 calls in one process and 163 in another: .*--tick")))' r.jsonl
  observe 0 --tick sync -l processes:2 -- sh -c 'exec "$0" --kernels $((10 + 150 * MPSWEEP_PROCESS))' "$UNAWARE"
  points 'all(measured)' r.jsonl
}

@test "processes that a program starts need threads of the layout" {
  observe 0 -l hybrid:1x2 -- "$UNAWARE" --forks 1
  points 'all(measured and all(.per_worker[]; .ips > 0))' r.jsonl
  observe 2 -l processes:1 -l processes+mps:1 --duration 5 -- "$UNAWARE" --forks 1
  points 'all((if .mps then "" else "-timesliced" end) as $kind | .error | test("^process 0 \\(unaware\\) has more processes or threads with iterations than the 1 thread of the layout, .*\\(for P processes -l hybrid\($kind):Px2, or more\\)"))' r.jsonl
}

# Without copies in it takes seconds until what the first does is known.
@test "work of a second process counts before its iterations are found, too" {
  local program=$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program
  [ -x "$program" ] || skip "the fakes are not built"
  echo "'$program' kernel:8x128:100000:5 out:65536 & '$program' in:65536 kernel:8x128:100000:5 out:65536 & wait" >two.sh
  observe 2 -l processes:1 --duration 0.5 -- sh two.sh
  points 'all(.error | test("^process 0 \\(sh\\) (gives the GPU work from more processes|has more processes or threads with iterations) than the 1 thread of the layout, .*hybrid-timesliced:Px2"))' r.jsonl
}

@test "an iteration needs the process that it was found in" {
  local program=$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program
  [ -x "$program" ] || skip "the fakes are not built"
  cat >again.py <<END
import subprocess, time
while True:
    child = subprocess.Popen(["$program", "in:65536", "kernel:8x128:100000:5", "out:65536"])
    time.sleep(2)
    child.kill()
    child.wait()
END
  observe 2 -l processes:1 --duration 8 --timeout 20 -- python3 again.py
  points 'all(.error | test("had ended: keep one|which had iterations, has ended"))' r.jsonl
}

@test "a program that hangs before its iterations are known" {
  local program=$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program
  [ -x "$program" ] || skip "the fakes are not built"
  observe 2 -l processes:1 --timeout 8 -- "$program" kernel:8x128:100000:5 out:65536 stuck:20
  points 'all(.error | test("made its last call to the GPU [0-9.]+ s ago, before its iterations were known \\(it made 105 launches, 20 waits, 21 copies out, 1 load of code\\): it hangs, or works for that long without the GPU: look what it waits for, or give a longer --timeout$"))' r.jsonl
}

@test "processes that take one port get a hint at {port}" {
  cat >port.py <<'END'
import socket, time
taken = socket.socket()
taken.bind(("127.0.0.1", 0))
taken.listen()
socket.socket().bind(taken.getsockname())
END
  observe 2 -l processes:2 --timeout 10 -- python3 port.py
  points 'all(.error | test("Address already in use; its processes need a port each: write \\{port\\} in its command$"))' r.jsonl
}

@test "several waits are an iteration, and the load of a model is none" {
  observe 0 -l threads:1 -- "$UNAWARE" --steps 5 --kernels 8 --weights 300
  takes "5 waits, 40 launches, $COPIES"
  observe 0 -l threads:1 -- "$UNAWARE" --steps 12 --kernels 8
  takes "12 waits, 96 launches, $COPIES"
  points 'all(.observed.doubt == "steps")' r.jsonl
  grep -q 'of them are alike (its waits are alike, and --tick sync counts each)$' out
}

@test "loads of code are a start's, unless there are many launches between them" {
  local program=$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program
  observe 2 -l threads:1 --timeout 6 -- "$program" load in:1000 kernel:1x32:1:20 sync
  points 'all(.error | test("repeated nothing that could be an iteration .* loads of code"))' r.jsonl
  observe 0 -l threads:1 --timeout 25 -- "$program" load in:1000 kernel:1x32:1:2100 sync
  takes "1 wait, 2100 launches, 1 copy in of 1000 bytes"
}

@test "what --tick names" {
  observe 0 -l threads:1 --tick sync -- "$UNAWARE" --steps 2 --kernels 8
  points 'all(measured and (.observed.iteration | startswith("8 launches")))' r.jsonl
  observe 0 -l threads:1 --tick graph -- "$UNAWARE" --graph --steps 3
  points 'all(measured and (.observed.iteration | startswith("1 graph launch")))' r.jsonl
  observe 0 -l threads:1 --tick copy-out -- "$UNAWARE" --steps 3 --kernels 4
  takes "12 launches, $COPIES"
  observe 0 -l threads:1 --tick kernel:empty -- "$UNAWARE" --kernels 4
  points 'all(measured and (.observed.iteration | startswith("1 launch")))' r.jsonl
}

@test "ranges of NVTX" {
  observe 0 -l threads:1 --tick nvtx:answer -- "$UNAWARE" --steps 3 --range answer
  takes "NVTX range 'answer'"
  # It does not end with a range of another domain, which ends before there was any work.
  observe 0 -l threads:1 --tick nvtx:answer -- "$UNAWARE" --steps 3 --kernels 60 --range answer
  points 'all(measured and .latency_us.p50 > 30)' r.jsonl
  points 'all(.warnings | map(select(.kind == "iterations")) | length == 0)' r.jsonl
  observe 2 -l threads:1 --tick nvtx:answer --timeout 4 -- "$UNAWARE" --range other
  points 'all(.error | test("had no iterations by --tick nvtx:answer within .* s: give another --tick"))' r.jsonl
}

serves_the_rate() {
  observe 0 -l threads:1 --rate 50 --duration 0.5 -- "$UNAWARE" &&
    points 'all(measured and (.throughput_ips | . > 40 and . < 60) and .rate.offered_ips == 50)' r.jsonl
}

@test "an open loop starts iterations where one ended" {
  judged serves_the_rate
}

@test "programs without iterations, each with its reason" {
  observe 2 -l processes:2 --timeout 3 -- "$UNAWARE" --mode idle
  points 'all(.error | test("^process 1 \\(unaware\\) did not report that it is ready within"))' r.jsonl
  observe 2 -l processes:2 --timeout 3 -- "$UNAWARE" --mode random
  points 'all(.error | test("^process 1 \\(unaware\\) repeated nothing that could be an iteration within .* s \\(it made [0-9]+ launches, [0-9]+ waits, .*: give what ends one with --tick, such as sync for each wait, "))' r.jsonl
  observe 2 -l processes:2 --timeout 3 --tick kernel:nonesuch -- "$UNAWARE"
  points 'all(.error | test("had no iterations by --tick kernel:nonesuch within .* s \\(it made [0-9]+ launches"))' r.jsonl
  observe 2 -l threads:1 --timeout 3 -- "$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program" in:1000 sync
  points 'all(.error | test("launched nothing and copied nothing out within .* s \\(it made [0-9]+ waits, [0-9]+ cop.*let it report them"))' r.jsonl
}

@test "a program that loses the observer is named, with the process that did" {
  echo 'export LD_PRELOAD=/nothing.so; "$1" & wait' >loses.sh
  observe 2 -l threads:1 --timeout 3 -- sh loses.sh "$UNAWARE"
  points 'all(.error | test("^process 0 \\(sh\\) did not report that it is ready within .* s, and is not observed: its process [0-9]+ \\(.*unaware\\) lacks mpsweep-observer.so in LD_PRELOAD: pass the environment on, and a library of yours as LD_PRELOAD=library:\\$LD_PRELOAD"))' r.jsonl
  observe 0 -l threads:1 -- sh -c 'LD_PRELOAD=/nothing.so:$LD_PRELOAD exec "$0"' "$UNAWARE"
}

@test "a program that launches nothing has iterations of what it copies out" {
  observe 0 -l threads:1 -- "$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program" in:1000 out:2000 sync
  takes "1 wait, 1 copy in of 1000 bytes, 1 copy out of 2000 bytes"
  observe 0 -l threads:1 --tick copy-out -- "$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program" out:2000 sync
  takes "1 copy out of 2000 bytes"
  # That one of two threads has them is known without waiting for the other one, and also where
  # that one launches for it.
  observe 2 -l threads:2 --timeout 60 -- "$UNAWARE" --helped
  points 'all((.error | test("works on the GPU with 1 of its 2 threads")) and .seconds < 50)' r.jsonl
  observe 2 -l threads:2 --timeout 20 -- "$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program" in:1000 out:2000 sync
  points 'all(.error | test("works on the GPU with 1 of its 2 threads"))' r.jsonl
}

@test "programs that end or hang while they are measured" {
  observe 2 -l processes:2 --duration 1 -- "$UNAWARE" --mode exit
  points 'all(.error | test("^process 1 .* exited with status 3 before it was "))' r.jsonl
  observe 2 -l processes:2 --duration 1 -- "$UNAWARE" --mode done
  points 'all(.error | test("^process 1 .* exited with status 0 before .* it must go on until mpsweep ends it"))' r.jsonl
  observe 2 -l processes:2 -- "$UNAWARE" --mode crash
  points 'all(.error | test("^process 1 .* was killed by signal 9 .* before it was "))' r.jsonl
  observe 2 -l processes:2 -- "$UNAWARE" --mode pipe
  points 'all(.error | test("^process 1 .* was killed by signal 13 .* before it was "))' r.jsonl
  observe 2 -l processes:2 --timeout 5 -- "$UNAWARE" --mode hang
  points 'all(.error | test("^process 1 "))' r.jsonl
}

@test "a program that repeats something else while it gets warm is started once more" {
  # The window would begin while it does, and end long after.
  observe 0 -l threads:1 --duration 4 -- env -u MPSWEEP_PROCESS "$UNAWARE" --steps 2 --mode cold
  takes "2 waits, 40 launches, $COPIES"
}

@test "--tick none leaves a program alone" {
  observe 2 -l threads:1 --tick none --timeout 4 -- "$UNAWARE"
  points 'all(.error | test("^process 0 \\(unaware\\) did not report that it is ready"))' r.jsonl
}

@test "a program that the client is linked into is not observed" {
  observe 0 -l threads:1 --duration 2 -- "$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program" in:1000 \
    kernel:1x32:1000:3 sync
  points 'all(measured and (has("observed") | not))' r.jsonl
}

# found_by HOW: the iterations of a program that looks the driver up so.
found_by() {
  observe 0 -l threads:1 -- "$UNAWARE" --lookup "$1"
  takes "1 wait, 20 launches, $COPIES"
}

@test "however a program finds the driver" {
  found_by symbol
  found_by proc
  LD_PRELOAD=$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so found_by linked
}

@test "copies in any direction, and of rows" {
  local driver=$MPSWEEP_BUILD_DIR/tests/fakes/more_copies.so:$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so
  LD_PRELOAD=$driver observe 0 -l threads:1 -- "$UNAWARE" --lookup linked --copies unified
  takes "1 wait, 20 launches, $COPIES"
  LD_PRELOAD=$driver observe 0 -l threads:1 -- "$UNAWARE" --lookup linked --copies rows
  takes "1 wait, 20 launches, $COPIES"
}

@test "the observer leaves a profiler's place to it, and servers alone" {
  CUDA_INJECTION64_PATH=/nonexistent observe 0 -l threads:1 -- sh -c \
    '[ "$CUDA_INJECTION64_PATH" = /nonexistent ] || exit 3; exec "$0"' "$UNAWARE"
  takes "1 wait, 20 launches, $COPIES"
  expect 1 "$MPSWEEP" sweep --tick sync -l threads:1
  grep -q -- '--tick needs a program: -- COMMAND' err
  expect 1 "$MPSWEEP" sweep --tick often -- "$UNAWARE"
  grep -q "'often' is not a value of tick: it takes auto, none, sync," err
}

@test "where LD_PRELOAD cannot name the observer" {
  mkdir 'two words'
  for file in mpsweep mpsweep-worker mpsweep-guard mpsweep-observer.so mpsweep-emulated-cuda.so \
    mpsweep-emulated-mps-control; do
    cp "$MPSWEEP_BUILD_DIR/$file" 'two words'
  done
  expect 2 "two words/mpsweep" sweep "${OBSERVED[@]}" -l threads:1 -- "$UNAWARE"
  grep -q "two words/mpsweep-observer.so' cannot be loaded into programs: move it to a path without" out
}
