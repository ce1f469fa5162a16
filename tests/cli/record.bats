#!/usr/bin/env bats
# mpsweep record, on the emulated GPU: the words of a program are the steps of its workload.

load helper

PROGRAM=$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program

# record STATUS WORDS...: of a program that does the words.
record() {
  local status=$1
  shift
  [ -x "$PROGRAM" ] || skip "the fakes are not built"
  rm -f mine.job
  expect "$status" "$MPSWEEP" record --device emulated -q --duration "${DURATION:-0.6}" --crowd "${CROWD:-0}" -o mine.job -- "$PROGRAM" "$@"
}

# in_time: the file, with the host's work as the time that it takes at a turn each nanosecond.
in_time() {
  awk '/^step = work / { us = $4 / 1000; $4 = us < 1000 ? us "us" : us / 1000 "ms" } { print }' mine.job
}

# steps: without times, which a busy machine makes longer, and without what the host does for less
# than a millisecond, which is not one of the programs' words, and the wait before it. A slow machine
# does that between launches, too: kernels that it parts are one step.
steps() {
  in_time |
    sed -nE 's/^step = //; T; /^(think|work) [0-9.]+us$/d; s/(duration=|think |work )[0-9.]+[mu]s/\1T/; p' |
    sed '${/^synchronize$/d}' | awk '
    function flush() { if (step != "") print step (count > 1 ? " count=" count : "") }
    {
      text = $0; times = 1
      if (match(text, / count=[0-9]+$/)) {
        times = substr(text, RSTART + 7) + 0; text = substr(text, 1, RSTART - 1)
      }
      if (text == step && text ~ /^kernel/) { count += times; next }
      flush(); step = text; count = times
    }
    END { flush() }'
}

# are STEP...: the file's steps, in their order.
are() {
  [ "$(steps)" = "$(printf '%s\n' "$@")" ] || fail "the steps are:" "$(cat mine.job)"
}

# step PATTERN LEAST MOST: the time of the step, in microseconds.
lasts() {
  in_time | awk -v pattern="$1" -v least="$2" -v most="$3" '$0 ~ pattern {
    time = $0; sub(/.*(duration=|think |work )/, "", time)
    us = time ~ /ms/ ? time * 1000 : time + 0
    found = us >= least && us <= most } END { exit !found }' ||
    fail "not $2 to $3 us: $1" "$(cat mine.job)"
}

@test "copies, kernels with a count, a wait, and the host's sleep" {
  mkdir lateness
  MPSWEEP_EMUL_LATENESS=$WORK/lateness record 0 in:1048576 kernel:4x128:200000:3 sync sleep:20000 out:65536
  # Who waits long for a CPU after each sleep looks like one that computes.
  was_on_time || { in_time | sed 's/^step = work \([0-9.]*ms\)$/step = think \1/' >timed.job && mv timed.job mine.job; }
  are 'copy-in 1M' 'kernel blocks=4 threads=128 duration=T count=3' synchronize 'think T' 'copy-out 64K'
  # The emulated GPU's clock has 1 GHz, and a kernel takes a little more than it waits.
  lasts '^step = kernel' 99 520
  lasts '^step = think' 5000 400000
  grep -q '^launch = stream$' mine.job
  grep -q '^memory = pinned$' mine.job
  grep -q '^\[workload gpu_program\]$' mine.job
  grep -qF 'in:1048576 kernel:4x128:200000:3 sync sleep:20000 out:65536' mine.job
  grep -q '^# .*emulated: no real numbers' mine.job
  grep -qE '^recorded 5 iterations of gpu_program \((no two|[2-5]) alike\) on .*: 5 steps in .mine.job.$' out
  grep -qE '^replay [0-9.]+ ms, program [0-9.]+ ms: [+-][0-9.]+%( |$)' out
}

# Its replay takes as long as the program does, which may leave it little on a busy computer.
work_is_recorded() {
  record 0 kernel:1x32:100000:1 sync busy:20000 out:1024 &&
    are 'kernel blocks=1 threads=32 duration=T' synchronize 'work T' 'copy-out 1K' &&
    lasts '^step = work' 5000 400000
}

@test "the host's work is not a sleep" {
  judged work_is_recorded
}

# Its time is that on a part of the CPUs, which is a quarter of what it takes on all.
fastest_counts() {
  record 0 kernel:1x32:100000:1 sync wide:40000 out:1024 &&
    lasts '^step = work' 5000 20000
}

@test "of a program alone the fastest CPUs count" {
  [ "$(nproc)" -ge 2 ] || skip "one CPU has no parts"
  judged fastest_counts
}

@test "a program that does not report its iterations" {
  # They must be found first.
  DURATION=3 PROGRAM=${PROGRAM%gpu_program}silent_gpu_program record 0 in:4096 kernel:1x32:50000:3 out:1024
  are 'copy-in 4K' 'kernel blocks=1 threads=32 duration=T count=3' 'copy-out 1K'
}

@test "the file is a job" {
  record 0 in:4096 kernel:1x32:50000:2 kernel:2x64:50000:1 out:4096
  are 'copy-in 4K' 'kernel blocks=1 threads=32 duration=T count=2' \
    'kernel blocks=2 threads=64 duration=T' 'copy-out 4K'
  expect 0 "$MPSWEEP" sweep mine.job --device emulated -q --duration 0.1 --rounds 1 -o r.jsonl
  points 'length == 1 and .[0].status != "failed" and .[0].throughput_ips > 0' r.jsonl
}

@test "graphs, pageable memory, another name and number of iterations" {
  record 0 graph in:65536 kernel:8x64:30000:4 out:1024
  are 'copy-in 64K' 'kernel blocks=8 threads=64 duration=T count=4' 'copy-out 1K'
  grep -q '^launch = graph$' mine.job
  rm mine.job
  expect 0 "$MPSWEEP" record --device emulated -q --duration "${DURATION:-0.6}" --crowd 0 -o mine.job -n 3 --name of-mine -- \
    "$PROGRAM" pageable in:65536 kernel:1x32:30000:1 out:1024
  grep -q '^memory = pageable$' mine.job
  grep -q '^\[workload of-mine\]$' mine.job
  grep -q '^workload = of-mine$' mine.job
  grep -q '^# 3 iterations' mine.job
}

# is_named NAME WORDS...: the workload of a program that the words run.
is_named() {
  rm -f mine.job
  expect 0 "$MPSWEEP" record --device emulated -q --duration 0.2 --crowd 0 -o mine.job -- "${@:2}"
  grep -qxF "[workload $1]" mine.job || fail "not $1: $(grep '^\[work' mine.job)"
  grep -qxF "workload = $1" mine.job
}

@test "a workload has the name of the script that an interpreter runs" {
  [ -x "$PROGRAM" ] || skip "the fakes are not built"
  mkdir a.dir
  echo "exec '$PROGRAM' out:64" >'a.dir/my serve.v2.sh'
  is_named my_serve_v2 bash -e 'a.dir/my serve.v2.sh' other
  is_named my_serve_v2 /bin/bash -o pipefail 'a.dir/my serve.v2.sh'
  echo "import os; os.execv('$PROGRAM', ['gpu_program', 'out:64'])" >serve.py
  is_named serve python3 -X utf8 serve.py --port 1
  grep -q '^recorded 5 iterations of serve.py (' out
  # What has no script has the interpreter's, where its process does not show more.
  is_named python3 python3 -c "import os; os.execv('$PROGRAM', ['gpu_program', 'out:64'])" serve.py
  # And a program has its own, however it begins.
  ln -s "$PROGRAM" bashful
  is_named bashful ./bashful out:64
  grep -q '^recorded 5 iterations of bashful (' out
}

@test "a workload has the name of the program that another one runs" {
  [ -x "$PROGRAM" ] || skip "the fakes are not built"
  is_named gpu_program env ANY=1 nice -n 1 "$PROGRAM" out:64
  grep -q '^recorded 5 iterations of gpu_program (' out
  is_named gpu_program bash -c "exec '$PROGRAM' out:64" serve.py
}

# A copy to pageable memory takes 10 ms.
lasts_as_long() {
  rm -f mine.job
  MPSWEEP_EMULATED_MACHINE=pageable_mb_per_s=100 record 0 in:1048576 kernel:1x32:1:1 staged:1048576 || return 1
  grep -q '^memory = pinned$' mine.job || fail "the other memory" "$(cat mine.job)" || return 1
  tail -n 2 mine.job | grep -q '^step = synchronize$' &&
    tail -n 1 mine.job | grep -qE '^step = (work|think) ' &&
    lasts '^step = (work|think)' 5000 100000 || fail "no host time at the end" "$(cat mine.job)"
}

@test "what no step has is the host's: the other kind of memory" {
  judged lasts_as_long
}

# Four processes of which one at a time is on the GPU do as much as one. With the program's four
# blocks its kernels would run side by side.
more_blocks() {
  rm -f mine.job
  CROWD=4 record 0 lock:lock kernel:4x128:5000000:2 || return 1
  awk '/^step = kernel/ { sub(/.*blocks=/, ""); found = $1 > 8 } END { exit !found }' mine.job ||
    fail "the kernels have too few blocks" "$(cat mine.job)" || return 1
  grep -qE '^with 4 processes over MPS: replay [0-9.]+/s, program [0-9.]+/s: [+-][0-9.]+%, with [0-9.]+ times' out ||
    fail "no word about the blocks" "$(cat out)"
}

@test "kernels get more blocks until several processes do as much as the program's" {
  judged more_blocks
  grep -qE '^# with 4 processes over MPS the program does [0-9.]+/s, this workload [0-9.]+/s: ' mine.job
}

@test "rates have no exponent, as in tables" {
  CROWD=2 record 0 out:64
  grep -q '^with 2 processes over MPS: replay ' out
  absent '[0-9]e+' out mine.job
}

@test "the head of a file without kernels has no word about them" {
  CROWD=2 record 0 out:64
  grep -q '^# with 2 processes over MPS the program does ' mine.job
  grep '^with 2 processes over MPS: replay ' out >line
  absent '[Kk]ernels\|blocks' mine.job line
  record 0 out:64
  absent '[Kk]ernels' mine.job
  CROWD=2 record 0 kernel:1x32:1000:1
  tr '\n' ' ' <mine.job |
    grep -qE "# Its kernels have [^#]*the program's blocks and (compute|wait for the cache)(, # so that they leave|\. # No other)"
}

@test "the head has the kernels leave as much of the GPU only where the workload does as much" {
  # Processes that sleep one by one do half of what the workload's do, whatever its blocks are.
  CROWD=2 record 0 lock:lock kernel:1x32:1000:1 sleep:5000
  grep -qE '^# with 2 processes over MPS .*: [+][0-9]{2}' mine.job
  tr '\n' ' ' <mine.job | grep -qE "# Its kernels have [^#]*\. # No other number of blocks came nearer to the program: "
  absent 'as much\|leave other' mine.job
}

# What holds processes up beside each other is their host.
same_blocks() {
  rm -f mine.job
  CROWD=4 record 0 kernel:4x128:200000:2 sync busy:20000 || return 1
  grep -q '^step = kernel blocks=4 threads=128' mine.job ||
    fail "the kernels have other blocks" "$(cat mine.job)"
  grep -qE "^with 4 processes over MPS: .*, with the program's blocks$" out
}

@test "blocks stay as they are where others do not help" {
  judged same_blocks
}

@test "a program that cannot run several times is recorded alone" {
  CROWD=2 record 0 single:lock kernel:4x128:200000:2
  # On a busy machine what is recorded may take longer than the program, which is worth a warning, too.
  grep -v "^mpsweep: warning: the workload's iterations are not as long as the program's: " err >others || true
  mv others err
  says '^mpsweep: warning: with 2 processes over MPS the program could not be measured, so what it does beside others is not in the workload: .*status 91'
  are 'kernel blocks=4 threads=128 duration=T count=2'
  grep -q '^# Kernels of a duration compute' mine.job
  absent 'with 2 processes over MPS: replay' out
}

@test "a program that cannot be started again is compared with what it did before" {
  [ -x "$PROGRAM" ] || skip "the fakes are not built"
  # One to measure, one to trace, and four for the crowd; then other blocks ask for the crowd again.
  cat >six-times.sh <<'EOF'
echo >>starts
[ "$(wc -l <starts)" -le 6 ] || exit 9
exec "$@"
EOF
  expect 0 "$MPSWEEP" record --device emulated -q --duration 0.3 --crowd 4 -o mine.job -- \
    sh six-times.sh "$PROGRAM" lock:lock kernel:4x128:5000000:2
  [ "$(wc -l <starts)" -gt 6 ]
  grep -q '^with 4 processes over MPS: replay ' out
  absent 'could not be measured' err
}

@test "two crowds that are too many clients take turns as a whole" {
  # A daemon has 48.
  DURATION=0.2 CROWD=25 record 0 kernel:1x32:100000:1 sync
  grep -q '^with 25 processes over MPS: replay ' out
}

# unrolled: the kernels of an iteration, repeats and counts included.
unrolled() {
  awk -v times=1 '
    !/^step = / { next }
    $3 == "repeat" { outer[++depth] = times; times *= $4 }
    $3 == "end" { times = outer[depth--] }
    $3 == "kernel" { kernels += times * (match($0, /count=[0-9]+/) ? substr($0, RSTART + 6) : 1) }
    END { print kernels }' mine.job
}

@test "what comes several times in a row is a repeat" {
  local words=(in:4096) word layer
  for ((word = 0; word < 8; word++)); do
    for ((layer = 0; layer < 5; layer++)); do
      words+=(kernel:4x128:200000:1 kernel:2x64:90000:1 kernel:8x32:450000:2)
    done
    words+=(kernel:1x32:100000:1)
  done
  record 0 "${words[@]}" out:4096
  grep -q '^# What comes several times in a row is a repeat, of the means of all times.$' mine.job
  grep -q '^step = repeat 8$' mine.job || fail "no repeat" "$(cat mine.job)"
  absent '^# Unlike steps' mine.job
  [ "$(unrolled)" -eq $((8 * (5 * 4 + 1))) ] || fail "$(unrolled) kernels" "$(cat mine.job)"
  # The workload is one that can be measured.
  expect 0 "$MPSWEEP" sweep mine.job --device emulated --duration 0.2 --rounds 1 --precision 100 -q -o mine.jsonl
}

@test "each measurement is reported as it begins" {
  [ -x "$PROGRAM" ] || skip "the fakes are not built"
  expect 0 "$MPSWEEP" record --device emulated --duration 0.2 --crowd 2 -o mine.job -- "$PROGRAM" kernel:4x128:200000:2 sync
  for what in 'measuring the program alone' 'measuring the program in 2 processes over MPS' 'tracing the program alone' \
    'tracing the workload alone' 'measuring the workload alone' 'measuring the workload in 2 processes over MPS'; do
    grep -q "^mpsweep: $what\$" err
  done
  absent 'found the length' err
}

@test "one iteration in five that is slow changes nothing" {
  record 0 kernel:1x32:100000:2 sync slow:50000
  are 'kernel blocks=1 threads=32 duration=T count=2'
}

@test "what cannot be recorded: one line, and no file" {
  record 2 idle sleep:1000
  says "'.*gpu_program' does not use the GPU through CUDA's driver: there is nothing to record"
  record 2 sleep:1000
  says "the iterations of '.*gpu_program' give the GPU nothing: there is nothing to record"
  expect 2 "$MPSWEEP" record --device emulated -q --crowd 0 -o mine.job -- "$MPSWEEP_BUILD_DIR/tests/fakes/unaware" --forks 1
  says 'some would not count: start fewer, which record needs, or '
  record 2 early kernel:1x32:1000:1
  says 'exited with status 0 before it was asked to stop'
  MPSWEEP_CUPTI=/nowhere.so record 1 kernel:1x32:1000:1
  says "/nowhere.so"
  [ ! -e mine.job ]
  : >mine.job
  refused "mine.job" "$MPSWEEP" record --device emulated -o mine.job -- "$PROGRAM"
  refused "cannot write 'nosuch/n.job': No such file" "$MPSWEEP" record --device emulated -o nosuch/n.job -- "$PROGRAM"
  refused 'record needs a program: -- PROGRAM' "$MPSWEEP" record --device emulated -o n.job
  refused 'record needs --output FILE' "$MPSWEEP" record --device emulated -- "$PROGRAM"
  refused "'a b' is not a name for a workload" \
    "$MPSWEEP" record --device emulated -o n.job --name 'a b' -- "$PROGRAM"
  refused "'49' is not a value of crowd" "$MPSWEEP" record --crowd 49 -o n.job -- "$PROGRAM"
  refused "'0' is not a value of iterations" "$MPSWEEP" record -n 0 -o n.job -- "$PROGRAM"
}
