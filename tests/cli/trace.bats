#!/usr/bin/env bats
# mpsweep trace, on the emulated GPU, which reports its calls and its work as CUPTI does.

load helper

EXAMPLE=$MPSWEEP_SOURCE_DIR/examples/delay-trace.job
BRIEF=(--device emulated --kernels 5 --bytes 64K --duration 0.1 -q)

# trace FILTER FILE: holds of the file; $calls and $work are its slices by begin.
trace() {
  jq -e '(.traceEvents | map(select(.ph == "X"))) as $slices |
    ($slices | map(select(.cat == "driver" or .cat == "runtime"))) as $calls |
    ($slices | map(select(.cat | IN("kernel", "copy", "set")))) as $work |
    (.traceEvents | map(select(.ph == "M" and .name == "thread_name"))) as $threads |
    '"$1" "$2" >/dev/null || fail "does not hold: $1" "$(head -c 1000 "$2")"
}

# sound FILE: what each viewer relies on.
sound() {
  trace '($slices | length > 0) and all($slices[]; .ts >= 0 and .dur >= 0)' "$1" || return 1
  # Slices of a thread nest, or do not overlap.
  trace '$slices | group_by([.pid, .tid]) | all(.[]; sort_by([.ts, -.dur]) |
    reduce .[] as $slice ({open: [], fine: true};
      .open |= map(select(. > $slice.ts)) |
      .fine = (.fine and ((.open | length) == 0 or .open[-1] >= $slice.ts + $slice.dur)) |
      .open += [$slice.ts + $slice.dur]) | .fine)' "$1" || return 1
  # They come in the order in which they begin.
  trace '[$slices[].ts] | . == sort' "$1" || return 1
  # Each piece of work has an arrow from a call that began before it.
  trace '(.traceEvents | map(select(.ph == "s")) | INDEX(.id)) as $from |
    (.traceEvents | map(select(.ph == "f"))) as $to |
    ($to | length) == ($work | length) and ($from | length) == ($to | length) and
    ([$calls[] | [.pid, .tid, .ts] | tostring] | INDEX(.)) as $begins |
    ([$work[] | [.pid, .tid, .ts] | tostring] | INDEX(.)) as $ends |
    all($to[]; $ends[[.pid, .tid, .ts] | tostring] and
      ($from[.id | tostring] | $begins[[.pid, .tid, .ts] | tostring] != null) and
      $from[.id | tostring].ts <= .ts)' "$1" || return 1
  # Each thread has a name.
  trace '([$threads[] | [.pid, .tid]] | unique) == ([$slices[] | [.pid, .tid]] | unique)' "$1"
}

@test "processes and threads over MPS: one file that viewers can read, on one clock" {
  export MPSWEEP_EMULATED_MACHINE=kernel_ns=200000
  expect 0 "$MPSWEEP" trace "${BRIEF[@]}" -l hybrid:2x2 -o t.json
  sound t.json
  trace '[.traceEvents[] | select(.name == "process_name").args.name] | length == 4' t.json
  trace '[$calls[].pid] | unique | length == 2' t.json
  trace '[$threads[].args.name | select(test("^stream"))] | length == 4' t.json
  trace '[$threads[].args.name | select(test("^thread [01] "))] | length == 4' t.json
  # The processes work at the same time: each begins before the other has ended.
  trace '$work | group_by(.pid) | map([.[0].ts, .[-1].ts]) | .[0][0] < .[1][1] and .[1][0] < .[0][1]' \
    t.json
  trace '$slices | all(.ts < 60e6)' t.json
  # Half the rate is 50% slower.
  trace '.otherData | 1 - .traced_ips / .plain_ips - .slowdown_rel | fabs < 1e-9' t.json
  trace '.otherData | .gpu.emulated and .processes == 2 and .summary.dropped == 0' t.json
  # 5 kernels and two copies an iteration, and nothing of the set-up or of tidying up.
  trace '[$calls[].name] | unique ==
    ["cuLaunchKernel", "cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync", "cuStreamSynchronize"]' t.json
  grep -q '^hybrid 2×2.*emulated: no real numbers' out
}

@test "the file has the options and the seed with which it was made" {
  expect 0 "$MPSWEEP" trace "${BRIEF[@]}" -l threads:2 --seed 7 --stagger 2ms -o t.json
  trace '.otherData | .seed == 7 and .section == null and .options.sweep.kernels == ["5"] and
    .options.sweep.stagger == "2ms" and .duration_s == 0.1 and .warmup_s == 0 and (.plan_id | length > 0) and (has("type") | not)' t.json
  expect 0 "$MPSWEEP" trace "$EXAMPLE" --device emulated -q --point pinned --iterations 1 -o e.json
  trace '.otherData | .job == "delay-trace.job" and .section == "pinned" and
    .options.pinned.memory == ["pinned"]' e.json
}

@test "the work of a graph: one call, with an arrow to each kernel" {
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:2 --launch graph --iterations 3 \
    --kernels 7 -o t.json
  sound t.json
  trace '[$calls[] | select(.name == "cuGraphLaunch")] | length == 6' t.json
  trace '[$work[] | select(.cat == "kernel")] | length == 42' t.json
  trace '[$work[] | select(.cat == "copy")] | length == 12' t.json
}

# point NAME WORDS...: the summary of the example's point, or its listing, has all of it; not WORDS.
says_of_point() {
  local job=$1 point=$2 words
  shift 2
  expect 0 "$MPSWEEP" trace "$job" --device emulated -q --point "$point" --print api-trace || return 1
  for words in "$@"; do
    if [[ $words = '!'* ]]; then
      absent "${words#!}" out || return 1
    else
      grep -qE -e "$words" out || fail "not said of $point: $words" "$(cat out)" || return 1
    fi
  done
}

@test "the example: transfers to pageable memory complete in issue order, and what to do about it" {
  # Ten times as slow, so that what else this machine does matters less.
  sed -E 's/^(step = kernel .*)$/\10/; s/^stagger = 10ms/stagger = 100ms/' "$EXAMPLE" >slow.job
  grep -q 'cycles=600000000$' slow.job
  # All copies in wait for the first copy out; then three threads wake at the same moment, and which of
  # their copies out comes first to the driver is theirs to decide where CPUs are few.
  judged says_of_point slow.job nosync \
    'transfers to and from pageable memory (mostly )?complete in issue order: of [3-6] that' \
    'longest: \[copy in\] of process 0 thread 1 waited .* ms .*, behind \[copy out\] of process 0 thread 0'
  # The copy out of the first thread is called long before its kernel ends.
  awk '/cuMemcpyDtoHAsync/ { exit !($2 > 300000 && $4 == 0) }' out
  judged says_of_point slow.job sync cuStreamSynchronize '!waited until'
  says_of_point "$EXAMPLE" pinned cuStreamSynchronize '!pageable memory'
}

@test "workers that are released one after the other" {
  expect 0 "$MPSWEEP" trace --device emulated -q -l hybrid-timesliced:2x2 --kernels 1 --iterations 1 \
    --stagger 30ms -o t.json
  # The first had finished before the last began.
  trace '$calls | group_by([.pid, .tid]) | map(.[0].ts / 1000 | floor) |
    . as $at | length == 4 and ([0, 1, 2, 3] | all(. as $n | $at[$n] >= 30 * $n))' t.json
  expect 0 "$MPSWEEP" sweep --device emulated -q -l threads:2 --duration 0.3 --kernels 20 --bytes 64K \
    --warmup 6.2 --stagger 6s -o s.jsonl
  # Who begins when it should is not late, but by what a busy machine keeps it waiting.
  points '.[0].start_skew_us < 5.9e6' s.jsonl
  jq -se '.[0].options.sweep.stagger == "6s"' s.jsonl
}

@test "a worker whose turn comes later than the timeout does not hang" {
  # However busy the machine is, an iteration takes less than 15 s.
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:2 --kernels 1 --iterations 1 \
    --stagger 16s --timeout 15 -o t.json
  trace '[$calls[].tid] | unique | length == 2' t.json
}

@test "the listings: a line each record, in the order in which they began" {
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:2 --kernels 5 --iterations 2 \
    --print gpu-trace -o t.json
  sed '/^$/,$d' out >listing
  [ "$(wc -l <listing)" -eq 29 ]
  [ "$(grep -c ' 5x1x1 .* 64x1x1 .* mpsweep_add_constant$' listing)" -eq 20 ]
  [ "$(grep -c ' 1.375MiB .* pinned  *device .* \[copy in\]$' listing)" -eq 4 ]
  tail -n +2 listing | awk '{ print $1 }' | sort -c -g
  # The same as in the file.
  [ "$(tail -n +2 listing | awk '{ printf "%.3f\n", 1000 * $1 }')" = \
    "$(jq -r '.traceEvents[] | select(.ph == "X" and (.cat == "kernel" or .cat == "copy")).ts' t.json |
      awk '{ printf "%.3f\n", $1 }')" ]
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:2 --kernels 5 --iterations 2 \
    --print api-trace
  sed '/^$/,$d' out >listing
  [ "$(grep -c ' cuLaunchKernel (mpsweep_add_constant)$' listing)" -eq 20 ]
  [ "$(grep -c ' cuStreamSynchronize$' listing)" -eq 4 ]
  tail -n +2 listing | awk '{ print $1 }' | sort -c -g
}

@test "the summary: time by call, gaps, overlap, admission, and what tracing costs" {
  expect 0 "$MPSWEEP" trace "${BRIEF[@]/0.1/0.5}" -l threads:4
  local words
  for words in '^traced .*: [0-9]+ calls, [0-9]+ kernels, [0-9]+ copies$' ' cuStreamSynchronize$' \
    '^GPU: at work for [0-9.]+% of the [0-9.]+ [mu]?s from its first work to its last; ' '^gaps: ' '^overlap: [0-9.]+% of the time of copies' \
    '^admission of kernels, .*: median ' '^admission of copies, ' \
    '^tracing: [0-9.]+ iterations/s without, [0-9.]+ with: [0-9.]+% '; do
    grep -qE -e "$words" out || fail "not there: $words" "$(cat out)"
  done
  [ ! -s err ]
  # Rates have no exponent, as in tables.
  expect 0 "$MPSWEEP" trace --device emulated --kernels 1 --bytes 1K --duration 0.1 -q -l threads:4
  grep -q '^tracing: ' out
  absent '[0-9]e+' out
}

@test "more than there is room for: a shorter trace without holes, and that is reported" {
  expect 0 "$MPSWEEP" trace --device emulated -q -l processes+mps:2 --kernels 100 --iterations 20 \
    --max-records 1000 -o t.json
  sound t.json
  trace '$slices | length <= 1000' t.json
  trace '.otherData.summary.after_full > 1000' t.json
  grep -qE '^cut: the records were full after .*; [0-9]+ later ones are left out' out
  # The calls of a process are numbered: none is missing before the end.
  trace '$calls | group_by(.pid) | length > 0 and
    all(.[]; map(.args.correlation) | max - min + 1 == length)' t.json
}

@test "a warm-up takes no room, and is not in the trace" {
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:1 --kernels 5 --warmup 0.4 \
    --duration 0.1 --max-records 4000 -o t.json
  sound t.json
  trace '.otherData.summary.after_full == 0 and ($slices[0].ts < 300e3)' t.json
}

@test "a CUPTI that takes no clock: its times are brought to ours" {
  export MPSWEEP_CUPTI=$MPSWEEP_BUILD_DIR/tests/fakes/cupti_other_clock.so
  export MPSWEEP_FAKE_CUPTI_BEHIND=$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so
  [ -e "$MPSWEEP_CUPTI" ] || skip "the fakes are not built"
  expect 0 "$MPSWEEP" trace "${BRIEF[@]}" -l processes+mps:2 -o t.json
  sound t.json
  trace '.otherData.cupti == 16 and ($slices | all(.ts < 60e6)) and ($work | length > 20)' t.json
  # What it drops at the end is not silently missing.
  MPSWEEP_FAKE_CUPTI_DROPPED=7 expect 0 "$MPSWEEP" trace "${BRIEF[@]}" -l processes:2
  grep -q '^lost: CUPTI dropped 14 records for want of buffers$' out
  # Too old a one.
  export MPSWEEP_FAKE_CUPTI_VERSION=12
  refused "cupti_other_clock.so' is too old: its version is 12, and 13 \(CUDA 11.0\) is needed" \
    "$MPSWEEP" trace "${BRIEF[@]}" -l threads:1
  # One that takes its process with it.
  export MPSWEEP_FAKE_CUPTI_VERSION=abort
  refused "no CUPTI: loading '.*cupti_other_clock.so' ended its process: killed by signal 6" \
    "$MPSWEEP" trace "${BRIEF[@]}" -l threads:1
}

@test "without CUPTI it prints what to do, and everything else works" {
  export MPSWEEP_CUPTI=$WORK/libcupti.so.13
  refused "no CUPTI: cannot load '$WORK/libcupti.so.13'" "$MPSWEEP" trace "${BRIEF[@]}" -l threads:1
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -q
  # A library that is something else.
  cp "$MPSWEEP_BUILD_DIR/tests/fakes/slow_exec.so" other.so || skip "the fakes are not built"
  MPSWEEP_CUPTI=$WORK/other.so refused "'$WORK/other.so' is not CUPTI, or too old: it has no 'cupti" \
    "$MPSWEEP" trace "${BRIEF[@]}" -l threads:1
}

@test "one point: the only one, or the one that is named" {
  refused 'the plan has 2 points, and a trace is of one: choose it with --point' \
    "$MPSWEEP" trace --device emulated -l threads:1,2
  refused 'the plan has 30 points' "$MPSWEEP" trace --device emulated -m pinned,pageable
  refused 'the plan has 3 points' "$MPSWEEP" trace "$EXAMPLE"
  refused "no point 'nowhere': --point takes the name of a section, or a number from 0 to 2" \
    "$MPSWEEP" trace "$EXAMPLE" --point nowhere
  refused "no point '3'" "$MPSWEEP" trace "$EXAMPLE" --point 3
  refused "no point '1x'" "$MPSWEEP" trace "$EXAMPLE" --point 1x
  refused "section \[nosync\] has 2 points" "$MPSWEEP" trace "$EXAMPLE" --connections 8,32 --point nosync
  refused "no point 'nowhere'" "$MPSWEEP" trace "$EXAMPLE" --list --point nowhere
  expect 0 "$MPSWEEP" trace "$EXAMPLE" --list
  [ "$(wc -l <out)" -eq 3 ]
  grep -q '^1	threads 1×4, pageable,.*released 10 ms apart.*	\[sync\]$' out
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:1,2 --kernels 1 --iterations 1 --point 1
  grep -q '^threads 1×2' out
  expect 0 "$MPSWEEP" trace --device emulated -q --kernels 1 --iterations 1
  grep -q '^threads 1×1' out
}

@test "bad input: one line with what would be right" {
  touch there.json
  refused "'there.json' exists: give another name" "$MPSWEEP" trace "${BRIEF[@]}" -l threads:1 \
    -o there.json
  [ ! -s there.json ]
  refused "cannot write 'nowhere/t.json': No such file" "$MPSWEEP" trace "${BRIEF[@]}" -l threads:1 \
    -o nowhere/t.json
  refused "cannot write 'nowhere/t.svg': No such file" "$MPSWEEP" trace "${BRIEF[@]}" -l threads:1 \
    -f nowhere/t.svg
  refused "unknown format of 'a.bmp'" "$MPSWEEP" trace "${BRIEF[@]}" -l threads:1 -f a.bmp
  refused "'everything' is not a value of print: it takes one of summary" \
    "$MPSWEEP" trace --print everything
  refused "'10' is not a value of stagger: it takes a time" "$MPSWEEP" trace --stagger 10
  refused "'5' is not a value of max-records" "$MPSWEEP" trace --max-records 5
  refused 'a rate that must be searched cannot be traced' "$MPSWEEP" trace -l threads:1 \
    --rate max-under-p99=5ms
  refused 'the last of 4 workers would begin 0.3 s after the first, when the window of 0.2 s is over' \
    "$MPSWEEP" trace -l hybrid:2x2 --stagger 100ms
  refused 'the last of 2 workers would begin 1 s after the first, when the warm-up of 0.4 s is over: give a longer warmup' \
    "$MPSWEEP" sweep --device emulated -l threads:2 --duration 2 --warmup 0.4 --stagger 1s
  refused 'stagger is for a closed loop' \
    "$MPSWEEP" sweep --device emulated -l threads:2 --stagger 10ms --rate closed,100
  refused 'iterations of 3 end a point when they are done: leave out duration' \
    "$MPSWEEP" trace -l threads:1 --iterations 3 --duration 1
}

@test "an iteration that is longer than the window is traced to its end" {
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:1 --workload delay --kernels 1 \
    --delay-cycles 1200000000 --duration 0.3 -o t.json
  trace '$work | any(.cat == "kernel" and .dur > 1199e3)' t.json
}

@test "a point that fails gives no trace, and status 2" {
  MPSWEEP_EMULATED_FAULT=cuLaunchKernel#30=crash expect 2 \
    "$MPSWEEP" trace "${FIXED[@]:0:8}" -q -l processes:2 -o t.json
  says 'ended unasked: killed by signal 11'
  [ ! -e t.json ]
  MPSWEEP_EMULATED_FAULT=cuMemAlloc=error:2 expect 2 \
    "$MPSWEEP" trace "${BRIEF[@]}" -l threads:1 -o t.json
  says 'infeasible: worker 0 of 1: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY'
}

@test "an interrupt ends it, and nothing stays behind" {
  start "$MPSWEEP" trace --device emulated -l processes+mps:2 --duration 30 -o t.json -q
  await $PATIENCE has_workers 2
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  [ ! -e t.json ]
  [ -z "$(find . -name '.mpsweep*')" ]
}

@test "the picture is drawn, and by hand it is the same" {
  needs_gnuplot
  expect 0 "$MPSWEEP" trace "$EXAMPLE" --device emulated -q --point nosync --figure a.svg
  grep -q 'process 0 thread 3: calls' a.svg
  grep -q 'EMULATED GPU' a.svg
  tail -3 a.svg | grep -q '^</svg>'
  expect 0 "$MPSWEEP" trace "$EXAMPLE" --device emulated -q --point nosync --figure a.gp
  gnuplot -c "$MPSWEEP_SOURCE_DIR/plots/timeline.gp" a.gp hand.svg 2>warnings 3>&-
  [ ! -s warnings ] || fail "gnuplot says:" "$(cat warnings)"
  tail -3 hand.svg | grep -q '^</svg>'
}

# Slow without tracing, which comes first, and quick with it.
@test "a picture's caption has the slowdown in the words of the summary" {
  local program=$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program
  [ -x "$program" ] || skip "the fakes are not built"
  # shellcheck disable=SC2016 # for the script
  printf '#!/bin/sh\nmkdir seen 2>/dev/null && exec "$1" sleep:50000 out:64\nexec "$1" out:64\n' >quicker
  chmod +x quicker
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:1 --duration 0.5 --figure a.gp -- ./quicker "$program"
  sed -n 's/^tracing: .*: \([0-9.]*% .*\)$/\1/p' out >words
  grep -q '^[0-9.]*% faster, which is chance$' words
  grep -qF "Tracing made it $(cat words)." a.gp || fail "not $(cat words): $(grep Tracing a.gp)"
}

@test "plug-ins and open loops are traced, too" {
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:2 --workload \
    "$MPSWEEP_BUILD_DIR/examples/plugin/null.so" --duration 0.05
  grep -q '^threads 1×2' out
  expect 0 "$MPSWEEP" trace "${BRIEF[@]}" -l threads:2 --rate 200 -o t.json
  sound t.json
}

@test "a program of the user's: its calls, its work and its iterations, in every process" {
  local program=$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program
  [ -x "$program" ] || skip "the fakes are not built"
  expect 0 "$MPSWEEP" trace --device emulated -q -l hybrid:2x1 --iterations 6 -o t.json -- "$program" \
    in:65536 kernel:4x128:20000:3 sync out:4096
  sound t.json
  trace '([$calls[].pid] | unique | length) == 2 and ([$work[] | select(.cat == "kernel")] | length) == 36' t.json
  trace '[$work[] | select(.cat == "copy") | .args.bytes] | (map(select(. == 65536)) | length) == 12
    and (map(select(. == 4096)) | length) == 12' t.json
  trace '[$threads[].args.name | select(test("^thread 0 "))] | length == 2' t.json
  trace '[$calls[].name] | unique ==
    ["cuLaunchKernel", "cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync", "cuStreamSynchronize"]' t.json
  # Each launch is within an iteration of its process.
  trace '[.traceEvents[] | select(.cat == "iteration")] | length == 24 and
    (group_by(.id) | all(map(.ph) == ["b", "e"])) and
    ([group_by(.id)[] | {pid: .[0].pid, from: .[0].ts, to: .[1].ts}] as $iterations |
     [$calls[] | select(.name == "cuLaunchKernel")] | all(. as $call | $iterations |
       any(.pid == $call.pid and .from <= $call.ts and $call.ts < .to)))' t.json
  grep -q '^iterations: 12, median' out
  absent '^lost' out
}

@test "a program that does not report its iterations: those that mpsweep finds" {
  local program=$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program
  [ -x "$program" ] || skip "the fakes are not built"
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:1 --iterations 4 -o t.json -- "$program" \
    in:4096 kernel:1x32:20000:3
  sound t.json
  trace '[.traceEvents[] | select(.cat == "iteration" and .ph == "b")] | length == 4' t.json
  trace '[$work[] | select(.cat == "kernel")] | length >= 12' t.json
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:1 --iterations 4 --tick copy-out -- \
    "$program" kernel:1x32:20000:3 out:1024
  grep -q '^iterations: 4, median' out
}

@test "a program that another tool traces is not traced" {
  local program=$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program
  [ -x "$program" ] || skip "the fakes are not built"
  CUDA_INJECTION64_PATH=/other.so expect 1 "$MPSWEEP" trace --device emulated -q -l threads:1 \
    -o t.json -- "$program" kernel:1x32:20000:3
  says "'.*gpu_program' cannot be traced beside '/other.so': unset CUDA_INJECTION64_PATH"
  [ ! -e t.json ]
}

@test "a program that gives the driver another library than the tracer has no empty trace" {
  local program=$MPSWEEP_BUILD_DIR/tests/fakes/silent_gpu_program
  [ -x "$program" ] || skip "the fakes are not built"
  expect 2 "$MPSWEEP" trace --device emulated -q -l threads:1 -o t.json -- \
    env -u CUDA_INJECTION64_PATH "$program" in:4096 kernel:1x32:50000:3 out:1024
  says 'process 0 works on the GPU, and the driver has loaded nothing that traces it: it must leave CUDA_INJECTION64_PATH as it is$'
  [ ! -e t.json ]
}

@test "a program that launches a graph, ends at once, or uses no GPU" {
  local program=$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program
  [ -x "$program" ] || skip "the fakes are not built"
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:1 --iterations 3 -o g.json -- "$program" \
    graph in:4096 kernel:1x32:1000:5
  trace '([$calls[] | select(.name == "cuGraphLaunch")] | length) == 3 and
    ([$work[] | select(.cat == "kernel")] | length) == 15' g.json
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:1 --iterations 3 -- "$program" idle sleep:100
  grep -q "^empty: process 0 did not use the GPU through CUDA's driver" out
  grep -q '^iterations: 3, median' out
  expect 2 "$MPSWEEP" trace --device emulated -q -l threads:1 -o e.json -- "$program" early
  says 'process 0 .gpu_program. exited with status 0 before it was asked to stop'
  [ ! -e e.json ]
}

@test "a program is traced over MPS, and through processes between that close descriptors" {
  local program=$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program
  [ -x "$program" ] || skip "the fakes are not built"
  expect 0 "$MPSWEEP" trace --device emulated -q -l processes+mps:2 --iterations 3 -o m.json -- "$program" \
    kernel:1x32:1000:2
  trace '[$work[] | select(.cat == "kernel")] | length == 12' m.json
  command -v python3 >/dev/null || return 0
  # The emulated machine's descriptor cannot be found again: without the GPU.
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:1 --iterations 3 -- python3 -c \
    'import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))' "$program" idle sleep:100
  grep -q '^iterations: 3, median' out
  # What is found first takes the number that the other one had.
  cat >close.py <<'PROGRAM'
import os, sys
fields = os.environ["MPSWEEP_CLIENT"].split()
if len(fields) > 5:  # it is traced
    trace = int(fields[5])
    os.closerange(3, 256)
    while os.dup(2) < trace:
        pass
    os.close(trace)
    for number in range(3, trace):
        os.set_inheritable(number, True)
os.execv(sys.argv[1], sys.argv[1:])
PROGRAM
  expect 0 "$MPSWEEP" trace --device emulated -q -l threads:1 --iterations 3 -- python3 close.py "$program" idle \
    sleep:100
  grep -q '^iterations: 3, median' out
}
