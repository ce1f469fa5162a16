#!/usr/bin/env bats
# Workload plug-ins: they are measured like the built-in work, and whatever they do wrong costs
# their point, or is reported before anything is measured.

load helper

PLUGINS=$MPSWEEP_BUILD_DIR/tests/fakes/plugins
EXAMPLES=$MPSWEEP_BUILD_DIR/examples/plugin
FAULTY=$PLUGINS/faulty.so
QUICK=(--device emulated --duration 0.1 --warmup 0.02 --precision 100 --rounds 1)

# -- what cannot be used is known before anything is measured ---------------------------------------

# FILE | OPTIONS | PATTERN
unusable() {
  cat <<'TABLE'
./none.so   |                  | there is no such file in '@HERE@'
none.so     |                  | there is no such file in '@HERE@'
./folder/   |                  | it is not a file
./text      |                  | it cannot be loaded as a shared object: .*
./program   |                  | it cannot be loaded as a shared object: .*
./other.so  |                  | it is not a workload plug-in: it exports no 'mpsweep_workload' .*
./lost.so   |                  | there is no such file in '@HERE@'
./abi.so    |                  | it is for workload ABI 7, and this mpsweep knows 1: build it with .*
./short.so  |                  | it claims that its 'mpsweep_workload' has 24 bytes, and that of ABI 1 has .*
./no_init.so |                 | its callback 'init' is missing .NULL.
./no_check.so |                | it claims to check its results, but its callback 'check' is missing .NULL.
./faulty.so | describe:error   | asked to refuse its options
./faulty.so | describe:silent  | describe fails with 7 and without a reason
./faulty.so | describe:crash   | the process that loaded and described it ended: killed by signal 11 .*
./faulty.so | describe:exit    | it ended the process that loaded and described it
./faulty.so | describe:hang    | it was not loaded and described within 1 s
./faulty.so | name=            | describe gives no name
./faulty.so | name=12345678901234567890123456789012345678901234567890123456789012345 | describe gives a name of more than 63 characters
./faulty.so | name=über        | describe gives a name with a byte that is not printable ASCII
./faulty.so | bits=64          | describe gives capabilities 0x44, of which ABI 1 knows only 0xf
./skeleton.so | kb=3           | its options are kib=N, N from 1 to 1048576
TABLE
}

make_files() {
  mkdir folder
  echo text >text
  ln -s "$MPSWEEP" program
  ln -s "$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so" other.so
  ln -s nowhere.so lost.so
  ln -s "$PLUGINS"/*.so "$EXAMPLES/skeleton.so" .
}

@test "a file that cannot be used: one line, status 1, and no results" {
  local file options pattern timeout failed=0 count=0
  make_files
  while IFS='|' read -r file options pattern; do
    count=$((count + 1))
    file=${file// /} options=${options// /} pattern=${pattern# }
    timeout=$PATIENCE
    [[ $options != *:hang ]] || timeout=1
    refused "^mpsweep: workload '$file': $pattern$" "$MPSWEEP" sweep "${QUICK[@]}" --timeout $timeout \
      -w "builtin,$file" ${options:+--workload-options "$options"} -l threads:1 -o none.jsonl ||
      { echo "with $file $options" >&2; failed=1; }
    [ ! -e none.jsonl ] || { echo "$file left results" >&2; failed=1; rm none.jsonl; }
  done < <(unusable | sed "s|@HERE@|$PWD|")
  [ $count -gt 15 ]
  [ $failed -eq 0 ]
  # Also in a job file elsewhere.
  mkdir jobs
  printf '[a]\nlayout = threads:1\nworkload = ./my plug.so\n' >jobs/j.job
  refused "^mpsweep: workload './my plug.so': there is no such file in '$PWD'$" \
    "$MPSWEEP" sweep jobs/j.job "${QUICK[@]}"
  refused "^mpsweep: workload '/none.so': there is no such file$" \
    "$MPSWEEP" sweep "${QUICK[@]}" -w /none.so -l threads:1
}

@test "what a file does while it is loaded, it does to its own process" {
  FAULTY_AT_LOAD=crash refused 'ended: killed by signal 11' "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY" -l threads:1
  FAULTY_AT_LOAD=exit refused 'it ended the process' "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY" -l threads:1
  FAULTY_AT_LOAD=hang refused 'not loaded and described within 1 s' \
    "$MPSWEEP" sweep "${QUICK[@]}" --timeout 1 -w "$FAULTY" -l threads:1
  # What it prints does not get into the answer, nor into what is printed.
  FAULTY_AT_LOAD=print expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY" -l threads:1 -q
  absent 'a plug-in that prints' out
}

@test "a dry run looks at the plug-in, a list does not" {
  refused 'there is no such file' "$MPSWEEP" sweep "${QUICK[@]}" -w ./none.so -l threads:1 --dry-run
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w ./none.so --workload-options 'n=4, m' -l threads:1 --list
  grep -qF "none.so 'n=4, m'" out
}

# -- measuring ---------------------------------------------------------------------------------------

@test "a plug-in is measured in every layout, by stream and as a graph" {
  cp "$EXAMPLES/skeleton.so" mine.so
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w ./mine.so --workload-options kib=16 \
    --launch stream,graph -l threads:1,2 -l processes:2 -l processes+mps:2 -l threads+mps:2 \
    -l hybrid:2x2 -l hybrid-timesliced:2x2 -q -o p.jsonl
  assert_complete p.jsonl 14 0
  points 'all(measured and .throughput_ips > 0 and .workload == "./mine.so"
    and .workload_options == "kib=16" and .phase_us.h2d == null and .phase_us.d2h == null
    and .phase_us.launch > 0 and .phase_us.sync > 0 and .cuda_error == 0
    and ([has("kernels", "blocks", "threads_per_block", "spin", "bytes", "memory", "sync")] | any | not))' \
    p.jsonl
  head -1 p.jsonl | jq -e '.workload.plugins | map(del(.digest)) == [{workload: "./mine.so", workload_options: "kib=16",
    name: "skeleton", version: "1", abi: 1, capabilities: ["graph-safe", "thread-safe", "checks", "stream-safe"]}]'
  # The line above the table names it and its options.
  grep -q "workload ./mine.so, options 'kib=16'" out
}

@test "the null plug-in is an iteration of nothing" {
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$EXAMPLES/null.so" --launch stream,graph -l threads:1,2 -q -o n.jsonl
  points 'all(measured and .latency_us.p50 < 1000)' n.jsonl
}

@test "a plug-in beside the built-in work, and axes that mean nothing to it" {
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" --kernels 5,6 -w "builtin,$FAULTY" --memory pinned,pageable \
    --workload-options threads -l threads:1,2 -q -o b.jsonl
  # Kernels and memory are the built-in work's.
  assert_complete b.jsonl 10 0
  points '([.[] | select(.workload == "builtin")] | length == 8 and all(has("kernels", "memory"))
    and all(has("workload_options") | not))' b.jsonl
}

@test "a job file has plug-ins of its own by section, with options" {
  cat >plug.job <<END
[one]
workload = $FAULTY
workload-options = threads graph
layout = threads:2
[two]
workload = $FAULTY
layout = threads:2
[three]
layout = threads:2
kernels = 5
END
  expect 0 "$MPSWEEP" sweep plug.job "${QUICK[@]}" -q -o j.jsonl
  points 'map([.section, outcome, .workload_options]) == [["one", "measured", "threads graph"],
    ["two", "infeasible", null], ["three", "measured", null]]' j.jsonl
  expect 0 "$MPSWEEP" compare j.jsonl j.jsonl
  # The same plug-in with other options is another plan.
  sed -i 's/threads graph/graph threads/' plug.job
  refused 'holds another plan' "$MPSWEEP" sweep plug.job "${QUICK[@]}" -q -o j.jsonl --resume
}

@test "a plug-in that was rebuilt is not continued" {
  local options=("${QUICK[@]}" -w ./built.so -l threads:1,2 -q -o d.jsonl)
  cp "$EXAMPLES/skeleton.so" built.so
  expect 0 "$MPSWEEP" sweep "${options[@]}"
  head -1 d.jsonl | jq -e '.workload.plugins[0].digest | test("^[0-9a-f]{16}$")'
  head -2 d.jsonl >cut.jsonl
  cp cut.jsonl d.jsonl
  expect 0 "$MPSWEEP" sweep "${options[@]}" --resume
  assert_complete d.jsonl 2 0
  # What stands behind its sections is not loaded: it describes itself as before.
  echo >>built.so
  cp cut.jsonl d.jsonl
  refused "'d.jsonl' was begun .* another program \(content of './built.so': [0-9a-f]* -> " \
    "$MPSWEEP" sweep "${options[@]}" --resume
  cmp cut.jsonl d.jsonl
  # A file without the build is read as before.
  sed -i 's/"digest":"[^"]*",//' d.jsonl
  expect 0 "$MPSWEEP" sweep "${options[@]}" --resume
}

@test "points that its capabilities exclude are infeasible, and start no process" {
  FAULTY_LOG=$WORK/calls expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY" --launch stream,graph \
    -l threads:1,2 -q -o i.jsonl
  points 'map(outcome) == ["measured", "infeasible", "infeasible", "infeasible"]' i.jsonl
  points '[.[1].error, .[2].error] == ["workload '"'$FAULTY'"' is not graph-safe: it can only be launched by stream",
    "workload '"'$FAULTY'"' is not thread-safe: a process can have one thread only"]' i.jsonl
  # Asked once, and once more by the worker of the only point.
  [ "$(grep -c describe calls)" -eq 2 ]
  [ "$(grep -c init calls)" -eq 1 ]
}

@test "workers are used again by points of the same plug-in, and of no other workload" {
  FAULTY_LOG=$WORK/calls expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY,builtin" --kernels 5,6 \
    --workload-options 'threads graph' --launch stream,graph -l processes+mps:2 -q -o r.jsonl
  points '[.[] | select(.workload != "builtin") | .reused] | sort == [null, true]' r.jsonl
  points '[.[] | select(.workload == "builtin") | .reused] | sort == [null, true, true, true]' r.jsonl
  # Two processes, each with an instance for each of two points, and the first question.
  [ "$(cut -d ' ' -f 1 calls | sort -u | wc -l)" -eq 3 ]
  [ "$(grep -c init calls)" -eq 4 ]
  [ "$(grep -c fini calls)" -eq 4 ]
  [ "$(grep -c describe calls)" -eq 3 ]
  FAULTY_LOG=$WORK/calls2 expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY" --no-reuse \
    --workload-options 'threads graph' --launch stream,graph -l processes+mps:2 -q -o f.jsonl
  [ "$(cut -d ' ' -f 1 calls2 | sort -u | wc -l)" -eq 5 ]
}

# -- what it does wrong costs its point ---------------------------------------------------------------

# bad LAYOUT OPTIONS STATUS PATTERN: of the plug-in's point; the built-in ones beside it are measured.
bad() {
  local layout=$1 options=$2 status=$3 pattern=$4 wanted=2
  local -a times=("${QUICK[@]}" --kernels 5)
  [ "$status" = failed ] || wanted=0
  [[ $options != *:hang* ]] || times=("${HANGING[@]}")
  rm -f w.jsonl
  expect $wanted "$MPSWEEP" sweep "${times[@]}" -w "builtin,$FAULTY,delay" \
    --workload-options "threads $options" -l "$layout" --delay-cycles 1000 --seed 0 -q -o w.jsonl || return 1
  assert_complete w.jsonl 3 $wanted || return 1
  points "map(outcome) == [\"measured\", \"$status\", \"measured\"]" w.jsonl >/dev/null ||
    fail "not the plug-in's point alone is $status:" "$(points 'map([.status, .error])' w.jsonl)" || return 1
  points ".[1] | (.error | test(\"$pattern\")) and (has(\"throughput_ips\") | not)" w.jsonl >/dev/null ||
    fail "the error should match $pattern:" "$(points '.[1].error' w.jsonl)"
}

# OPTIONS | STATUS | PATTERN
wrong() {
  cat <<'TABLE'
init:error@1    | failed     | ^worker 1 of 2: workload 'faulty': init: asked to fail in init 42$
init:silent@1   | failed     | ^worker 1 of 2: workload 'faulty': init: it fails with 7 and without a reason$
init:oom@1      | infeasible | ^worker 1 of 2: workload 'faulty': init: asked to have no memory in init: CUDA_ERROR_OUT_OF_MEMORY
init:crash@1    | failed     | ^worker process 1 of 2 ended unasked: killed by signal 11 .*; workload '.*' was in its init for worker 1
init:exit@1     | failed     | ^worker process 1 of 2 ended unasked: exit status 0; workload '.*' was in its init for worker 1
init:hang@1     | failed     | ^only 1 of 2 workers got ready within .* s; workload '.*' was in its init for worker 1
iterate:error#1@1 | failed   | ^worker 1 of 2: workload 'faulty': iterate: asked to fail
iterate:error#9@1 | failed   | ^worker 1 of 2: workload 'faulty': iterate: asked to fail
iterate:oom#9@1 | failed     | ^worker 1 of 2: workload 'faulty': iterate: .* CUDA_ERROR_OUT_OF_MEMORY
iterate:crash#9@1 | failed   | ^worker process 1 of 2 ended unasked: killed by signal 11 .*; workload '.*' was in its iterate, completed or check$
iterate:exit#9@1 | failed    | ^worker process 1 of 2 ended unasked: exit status 0; workload
iterate:hang#1@1 | failed    | ^only 1 of 2 workers got ready .*; workload '.*' was in its iterate, completed or check for worker 1$
completed:error#9@1 | failed | ^worker 1 of 2: workload 'faulty': completed: asked to fail in completed 42$
completed:crash#9@1 | failed | ^worker process 1 of 2 ended unasked: killed by signal 11 .*; workload '.*' was in its iterate, completed or check$
iterate:hang#9@1 | failed    | ^worker 1 of 2 hangs: no iteration ended for 5 s; workload '.*' was in its iterate, completed or check$
check:error#9@1 | failed     | ^worker 1 of 2: workload 'faulty': wrong result: asked to fail in check 42$
check:silent#1@1 | failed    | ^worker 1 of 2: workload 'faulty': wrong result: it fails with 7 and without a reason$
fini:crash@1    | failed     | ^worker process 1 of 2 ended unasked: killed by signal 11 .*; workload '.*' was in its fini for worker 1$
fini:hang@1     | failed     | ^worker 1 of 2 did not stop within 5 s; workload '.*' was in its fini for worker 1$
fini:exit@1     | failed     | ended.*; workload '.*' was in its fini for worker 1$
TABLE
}

wrong_in() {
  local options status pattern failed=0 count=0
  while IFS='|' read -r options status pattern; do
    count=$((count + 1))
    bad "$1" "${options// /}" "${status// /}" "${pattern# }" ||
      { echo "with $options" >&2; failed=1; }
  done < <(wrong)
  [ $count -gt 15 ]
  [ $failed -eq 0 ]
}

@test "one of two processes goes wrong" { wrong_in processes:2; }
@test "one of two processes over MPS goes wrong" { wrong_in processes+mps:2; }

@test "a thread that goes wrong takes the number of all, and every instance that was made is ended" {
  FAULTY_LOG=$WORK/calls bad threads:3 'iterate:error#9' failed "^worker [012] of 3: workload 'faulty': iterate"
  [ "$(grep -c fini calls)" -eq "$(grep -c init calls)" ]
  # After an init that fails there is nothing to end.
  FAULTY_LOG=$WORK/none bad threads:3 'init:error' failed 'workload .faulty.: init'
  absent fini none
}

@test "a reason that a plug-in gives is one line of text" {
  bad processes:1 'iterate:error#1' failed 'asked to fail in iterate 42$'
  points '.[1].error | test("[^ -~]") | not' w.jsonl
}

@test "a plug-in may log" {
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY" --workload-options 'init:log@1' -l processes:2 -q
  says "^mpsweep: workload 'faulty', worker 1 of 2: in init$"
}

@test "a result that comes back wrong is noticed, by stream and as a graph" {
  local launch
  for launch in stream graph; do
    rm -f c.jsonl
    MPSWEEP_EMULATED_FAULT='cuMemcpyDtoHAsync#1=corrupt@1' expect 2 "$MPSWEEP" sweep "${QUICK[@]}" \
      -w "$EXAMPLES/skeleton.so" --launch $launch -l processes:2 -q -o c.jsonl
    points '.[0].error | test("worker 1 of 2: workload .skeleton.: wrong result: .* came back as ")' c.jsonl
  done
}

@test "memory that is not released is reported" {
  local kib=65536
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY" --workload-options 'threads init:leak-device' \
    -l threads:1,2 -q -o d.jsonl
  points 'all(measured and ([.warnings[] | select(.kind == "leak") | .text]
    | index("workload '"'$FAULTY'"' leaks: for each instance, 64 MiB of GPU memory are not free again after its fini") != null))' d.jsonl
  grep -q '^warning.* 64 MiB of GPU memory' out
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY" --workload-options 'threads init:leak-host' \
    -l processes:2 -l threads:2 -q -o h.jsonl
  points 'all([.warnings[] | select(.kind == "leak") | .text | test("MiB of host memory")] == [true])' h.jsonl
  # And nothing of a plug-in that does give it back. Sanitizers keep what is freed.
  ! grep -qaE '__(asan|tsan)_init' "$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so" || kib=64
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$EXAMPLES/skeleton.so" --workload-options kib=$kib \
    --launch stream,graph -l threads:1,2 -q -o clean.jsonl
  points 'all([.warnings[] | select(.kind == "leak")] == [])' clean.jsonl
}

@test "a leak costs three instances more, which are made for certainty" {
  FAULTY_LOG=$WORK/calls expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY" \
    --workload-options 'init:leak-device' -l threads:1 -q
  [ "$(grep -c init calls)" -eq 4 ]
  [ "$(grep -c fini calls)" -eq 4 ]
  FAULTY_LOG=$WORK/clean expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY" -l threads:1 -q
  [ "$(grep -c init clean)" -eq 1 ]
}

@test "an interrupt ends a plug-in that hangs, and nothing is left" {
  start "$MPSWEEP" sweep "${QUICK[@]}" --timeout 60 -w "$FAULTY" --workload-options init:hang \
    -l processes+mps:2 -q -o k.jsonl
  await $PATIENCE has_workers 2
  kill -INT "$PID"
  finish
  [ $STATUS -eq 130 ]
  assert_whole k.jsonl
}

@test "a killed sweep leaves no plug-in behind" {
  start "$MPSWEEP" sweep "${QUICK[@]}" --timeout 60 -w "$FAULTY" --workload-options iterate:hang#9 \
    -l processes+mps:2 -q -o k.jsonl
  await $PATIENCE has_workers 2
  kill -KILL "$PID"
  finish
}

has_workers() { [ "$(workers_of "$PID" | wc -l)" -eq "$1" ]; }

# -- what is known of the built-in work only ----------------------------------------------------------

@test "nothing is calibrated for it, and explain compares its points" {
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "$FAULTY" -l threads:1 -l processes:2 --calibrate -o c.jsonl
  grep -q "^no calibration for workload '$FAULTY': there is one for the built-in and for described workloads, not for plug-ins, programs and mixes$" err
  [ "$(grep -c calibrat c.jsonl)" -eq 1 ] # an option in the header
  # Neither a calibration nor a GPU is asked for.
  expect 0 "$MPSWEEP" explain c.jsonl
  grep -qE '^processes 2×1: [0-9.]+ iterations/s( \(unconverged.*\))?$' out
  grep -qE '^  2 workers do [0-9.]+ times as much as one: ' out
  grep -q '^Ceilings and predictions take a calibration' out
  refused "holds only points of workloads without a calibration, such as '$FAULTY': 'mpsweep sweep --calibrate' makes one of built-in and described workloads, and 'mpsweep record' describes a program" \
    "$MPSWEEP" explain c.jsonl --verify
  refused 'holds only points of workloads' "$MPSWEEP" plot c.jsonl --figure ceilings -o c.svg
}

@test "a kernel of one's own: its options, and that the emulated GPU has no runtime" {
  [ -e "$EXAMPLES/kernel.so" ] || skip "configure found no nvcc that links"
  refused "its options are 'COUNT STEPS': 1 to 67108864 numbers, 1 to 1000000 steps$" \
    "$MPSWEEP" sweep "${QUICK[@]}" -w "$EXAMPLES/kernel.so" --workload-options '65536 0' -l threads:1
  ! ldconfig -p | grep -q 'libcuda\.so\.1' || skip "the runtime finds a real driver"
  expect 2 "$MPSWEEP" sweep "${QUICK[@]}" -w "$EXAMPLES/kernel.so" -l threads:2 -q -o k.jsonl
  points '.[0].error | test("init: cudaMallocHost: cudaErrorInsufficientDriver .35.: the emulated GPU has no CUDA runtime")' k.jsonl
}

@test "the examples' sources are built by the command in their first lines" {
  local name
  for name in null skeleton; do
    command=$(sed -n "s/^ \* *\(cc -O2 .*\)/\1/p" "$MPSWEEP_SOURCE_DIR/examples/plugin/$name.c")
    [ "$command" = "cc -O2 -shared -fPIC -o $name.so $name.c" ]
    command -v cc >/dev/null || skip "no cc"
    cp "$MPSWEEP_SOURCE_DIR/examples/plugin/$name.c" .
    # shellcheck disable=SC2086
    $command -I "$MPSWEEP_SOURCE_DIR/include" -Wall -Werror
    expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w "./$name.so" -l threads:2 -q
  done
  # And as C++.
  command -v c++ >/dev/null || skip "no c++"
  c++ -x c++ -std=c++11 -shared -fPIC -I "$MPSWEEP_SOURCE_DIR/include" -o cpp.so null.c
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -w ./cpp.so -l threads:2 -q
}
