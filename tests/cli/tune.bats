#!/usr/bin/env bats
# mpsweep tune, on emulated machines that are slow enough for a busy computer to distinguish layouts.

load helper

# An iteration of one worker alone takes 10 ms, and workers with queues of their own do not disturb
# each other: the more of them, the more is done.
export_machine() { export MPSWEEP_EMULATED_MACHINE=kernel_ns=2000000,graph_kernel_ns=2000000; }

PLAIN=(-m pinned --launch stream --schedule auto -b near --streams 1
  --active-thread-percentage default)
FEW=(-l threads:1,2,4 -l processes:2 -l processes+mps:2 -l hybrid:2x2)
BASE=(tune --device emulated --kernels 5 --bytes 64K --warmup 0.05 -q --rounds 3 "${PLAIN[@]}")
TUNE=("${BASE[@]}" --duration 0.2 -c default)

record() { jq -c 'select(.type == "tune")' "$1"; }

# holds FILTER FILE: of the tune's record.
holds() {
  record "$2" | jq -e "$1" >/dev/null || fail "does not hold of $(record "$2"): $1"
}

has_points() { [ -e r.jsonl ] && [ "$(grep -c '"type":"point"' r.jsonl)" -ge "$1" ]; }

is_whole() { jq -e . "$1" >/dev/null; }

# Four threads are too many: it is 2×2 over MPS, which does twice what the next can.
has_one_winner() {
  rm -f r.jsonl
  expect 0 "$MPSWEEP" "${TUNE[@]}" "${FEW[@]}" --max-threads 3 --budget 60s -o r.jsonl &&
    holds '.verdict == "winner" and (.winner.what | test("^hybrid 2×2")) and .margin.rel > 0.5
      and .margin.ci95[0] > 0' r.jsonl &&
    holds '.naive | all(.throughput_ips > 0)' r.jsonl
}

@test "the best of a few layouts, with everything that is printed about it" {
  export_machine
  judged has_one_winner
  holds '.objective == "throughput" and .ended == "complete"' r.jsonl
  holds '.equal == []' r.jsonl
  holds '.winner.rounds >= 3 and .winner.ci95[0] < .winner.value and .winner.value < .winner.ci95[1]' r.jsonl
  holds '.constraints == {max_threads: 3} and .budget_s == 60 and .seconds > 0' r.jsonl
  holds '.space == 5 and .measured >= 5 and .guide == "measuring"' r.jsonl
  holds '.naive | map(.layout) | .[0] == "1×1"' r.jsonl
  # The record comes last but the footer; its points are those of the file.
  [ "$(tail -2 r.jsonl | head -1 | jq -r .type)" = tune ]
  [ "$(tail -1 r.jsonl | jq -r '.type, .status' | xargs)" = "footer 0" ]
  jq -se 'map(select(.type == "tune"))[0].winner.point as $id
    | map(select(.type == "point" and .id == $id)) | last
    | .layout == "hybrid" and .processes == 2 and .threads == 2 and .tune.stage == "final"
      and .tune.first <= .tune.order and (.rounds | length >= 3)' r.jsonl
  jq -se 'map(select(.type == "point")) | all(.tune.order >= 1 and .tune.first >= 1)' r.jsonl
  grep -q '^best layout for throughput: hybrid 2×2' out
  grep -q '^margin over the next: +' out
  grep -qE '^1×1 +threads 1×1' out
  grep -qE '^measured [0-9]+ of 5 layouts in ' out
  grep -qF ' [emulated: no real numbers]' out
}

@test "the rows of a table are marked where they are unconverged" {
  local words=(tune --device emulated --kernels 5 --bytes 64K -m pinned --launch stream --streams 1
    --duration 0.05 --warmup 0.02 --rounds 2 -l threads:1,2 --budget 60s -q)
  expect 0 "$MPSWEEP" "${words[@]}" -o whole.jsonl
  for status in unconverged ok; do
    jq -c --arg status $status 'if .type == "point" and .threads == 1 then .status = $status else . end' \
      whole.jsonl >r.jsonl
    expect 0 "$MPSWEEP" "${words[@]}" -o r.jsonl --resume
    grep '^1×1 ' out >$status
  done
  grep -q '%  unconverged$' unconverged
  absent unconverged ok
}

@test "what is printed to measure it again does so" {
  export_machine
  expect 0 "$MPSWEEP" "${TUNE[@]}" -l threads:1,4 --budget 60s -o r.jsonl
  local words threads
  words=$(record r.jsonl | jq -r .winner.options)
  [[ $words =~ ^"sweep --device emulated --layout threads:"([14])" " ]]
  threads=${BASH_REMATCH[1]}
  # shellcheck disable=SC2086 # words of a command line
  expect 0 "$MPSWEEP" $words -q -o again.jsonl
  jq -se '.[1:] | map(.id) | unique | length == 1' \
    <(record r.jsonl) <(jq -c 'select(.type == "point")' again.jsonl)
  diff <(jq -sc --argjson threads "$threads" 'map(select(.type == "point" and .threads == $threads)) | last
      | [.layout, .processes, .threads, .memory, .launch, .schedule, .bind, .kernels]' r.jsonl) \
    <(jq -sc 'map(select(.type == "point"))[0]
      | [.layout, .processes, .threads, .memory, .launch, .schedule, .bind, .kernels]' again.jsonl)
}

@test "with a calibration: what limits the winner, which explain prints, too" {
  MPSWEEP_EMULATED_MACHINE=kernel_ns=300000,slots=2 expect 0 "$MPSWEEP" "${TUNE[@]}" \
    --spin 0 --blocks 5 -l threads:1,2,8 --guide calibration --budget 100s -o r.jsonl
  holds '.guide == "calibration" and (.limited_by | type == "string")
    and (.limit.reason | length > 10)' r.jsonl
  [ "$(jq -r .type r.jsonl | sed -n 2p)" = calibration ]
  grep -q '^limited by ' out
  expect 0 "$MPSWEEP" explain r.jsonl
  grep -q 'threads 1×[128]' out
  grep -q 'limited by' out
}

# -- constraints -----------------------------------------------------------------------------------

@test "a constraint that no layout meets" {
  export_machine
  expect 4 "$MPSWEEP" "${TUNE[@]}" "${FEW[@]}" --max-p99 10us --budget 60s -o r.jsonl
  holds '.verdict == "none" and .winner == null and .equal == []' r.jsonl
  holds '.closest.p99_us > 1000' r.jsonl
  [ "$(tail -1 r.jsonl | jq .status)" -eq 4 ]
  grep -q '^no layout was found that surely meets the constraints' out
  grep -q '^closest: ' out
}

# Two buffers of 9 MiB for each worker.
@test "more GPU memory than is allowed" {
  export_machine
  local large=("${BASE[@]/64K/9M}" --duration 0.5 -c default -l threads:1,2 --budget 60s)
  expect 4 "$MPSWEEP" "${large[@]}" --max-gpu-memory 16M -o r.jsonl
  holds '.winner == null and .constraints.max_gpu_memory_bytes == 16777216' r.jsonl
  jq -se 'map(select(.type == "point")) | length > 0 and
    all(.throughput_ips > 0 and .tune.gpu_memory_bytes > 16777216)' r.jsonl
  expect 0 "$MPSWEEP" "${large[@]}" --max-gpu-memory 100G
}

@test "layouts that the driver refuses, and those that fail" {
  export_machine
  MPSWEEP_EMULATED_FAULT='cuDevicePrimaryCtxRetain=error:2@2' expect 0 "$MPSWEEP" "${TUNE[@]}" \
    -l threads:1,2 -l processes:3,6 --budget 60s -o r.jsonl
  holds '.winner.what | test("^threads 1×[12]")' r.jsonl
  jq -se 'map(select(.type == "point" and .processes >= 3)) | length > 0
    and all(.status == "infeasible")' r.jsonl
}

@test "where nothing works it prints why, and does not ask for time" {
  export_machine
  MPSWEEP_EMULATED_FAULT='cuModuleLoadData#1+=error:209' expect 4 "$MPSWEEP" "${TUNE[@]}" \
    -l threads:1,2 --budget 60s -o r.jsonl
  holds '.verdict == "none" and .winner == null and .ended == "failed"' r.jsonl
  grep -q '^no layout was found that works; threads 1×1.*: failed: .*cuModuleLoadData' out
  absent 'budget\|more time' out
}

alone_is_fastest() {
  MPSWEEP_EMULATED_MACHINE=kernel_ns=2000000,slots=1 expect 0 "$MPSWEEP" "${TUNE[@]}" \
    --objective p99 -l threads:1,4 --budget 60s -o r.jsonl || return 1
  holds '.objective == "p99" and (.winner.what | test("^threads 1×1"))' r.jsonl
}

@test "the lowest latency" {
  judged alone_is_fastest
  grep -qE '^best layout( so far,)? for p99: threads 1×1' out
  grep -q '^p99 of .* ms' out
}

# -- time ------------------------------------------------------------------------------------------

@test "with too small a budget it prints what it reached" {
  export_machine
  local status=0
  "$MPSWEEP" "${BASE[@]}" "${FEW[@]}" -c default --duration 1.5 --budget 1s -o r.jsonl >out 2>err || status=$?
  [ $status -eq 0 ] || [ $status -eq 4 ]
  holds '.ended == "budget"' r.jsonl
  grep -qE 'more time might find a better one|give a longer --budget' out
}

@test "a daemon that does not answer is a failure, not the end of the time" {
  export_machine
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is get_client_list=silent
  expect 0 "$MPSWEEP" "${BASE[@]}" --duration 2 -c default -l threads:1,2 -l processes+mps:2 \
    --budget 300s -o r.jsonl
  jq -se 'map(select(.type == "point" and .mps)) | length > 0
    and all(.status == "failed" and (.error | test("did not answer")))' r.jsonl
  holds '.ended == "complete" and (.winner.what | test("^threads 1×[12]"))' r.jsonl
}

@test "interrupted, it keeps what was measured, and continues from there" {
  export_machine
  local space=(-l threads:1-8 -l processes+mps:1-4)
  start "$MPSWEEP" "${BASE[@]}" "${space[@]}" -c default --duration 1.5 --budget 500s -o r.jsonl
  await $PATIENCE has_points 3
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  is_whole r.jsonl
  holds '.ended == "interrupted" and .winner != null' r.jsonl
  grep -qE '^best layout( so far,)? for throughput: ' out
  absent 'would probably suffice' out
  cp r.jsonl before.jsonl
  expect 0 "$MPSWEEP" "${BASE[@]}" "${space[@]}" -c default --duration 1.5 --budget 500s -o r.jsonl --resume
  cmp -n "$(stat -c %s before.jsonl)" before.jsonl r.jsonl
  # What was looked at is not looked at again; finals are a measurement of their own.
  jq -se 'map(select(.type == "point" and .tune.stage != "halve" and .tune.stage != "final").id)
    | length == (unique | length)' r.jsonl
  jq -se 'map(select(.type == "tune")) | length == 2 and .[1].ended == "complete"' r.jsonl
  jq -se 'map(select(.type == "point").tune.order) | . == sort and length == (unique | length)' r.jsonl

  # And once all is known, nothing is measured.
  cp r.jsonl done.jsonl
  expect 0 "$MPSWEEP" "${BASE[@]}" "${space[@]}" -c default --duration 1.5 --budget 500s -o r.jsonl --resume
  cmp done.jsonl r.jsonl
  grep -qE '^best layout( so far,)? for throughput: ' out
}

@test "killed, it leaves whole lines" {
  export_machine
  start "$MPSWEEP" "${BASE[@]}" "${FEW[@]}" -c default --duration 1.5 --budget 500s -o r.jsonl
  await $PATIENCE has_points 2
  kill -KILL "$PID"
  finish
  is_whole r.jsonl
  expect 0 "$MPSWEEP" "${BASE[@]}" "${FEW[@]}" -c default --duration 1.5 --budget 200s -o r.jsonl --resume
  holds '.ended == "complete"' r.jsonl
}

# -- before ----------------------------------------------------------------------------------------

@test "the space as a list, restricted by what is given" {
  expect 0 "$MPSWEEP" tune --device emulated --list
  local all
  all=$(wc -l <out)
  [ "$all" -gt 300 ]
  grep -q 'graph' out
  grep -q 'pageable' out
  expect 0 "$MPSWEEP" tune --device emulated --list --launch stream -m pinned --streams 1 --max-processes 2 \
    --max-threads 4
  [ "$(wc -l <out)" -lt "$all" ]
  absent 'graph\|pageable\|4×1\|1×8' out
  expect 0 "$MPSWEEP" tune --device emulated --list "${PLAIN[@]}" -c default -l threads:3
  [ "$(grep -c 'threads 1×3' out)" -eq 1 ]
}

@test "a dry run prints what it would do first, and does nothing" {
  expect 0 "$MPSWEEP" tune --device emulated --dry-run -o r.jsonl
  [ ! -e r.jsonl ]
  grep -qE '^space: +[0-9]+ layouts' out
  grep -q 'threads 1×1, pinned$' out
  # Each layout once.
  [ -z "$(grep -P '^\d+\t' out | sort | uniq -d)" ]
  grep -q 'calibration' out
  expect 0 "$MPSWEEP" tune --device emulated --dry-run --guide measuring --budget 45s
  grep -q 'measuring alone, 45 s at most' out
}

@test "a job file holds what tune needs, and serves a sweep, too" {
  printf '[global]\nkernels = 5\nbytes = 64K\nlayout = threads:1,2\nobjective = throughput\nbudget = 20s\nmax-p99 = 1s\nduration = 0.5\n' >my.job
  expect 0 "$MPSWEEP" tune my.job "${PLAIN[@]}" --device emulated -q -o r.jsonl
  holds '.budget_s == 20 and .constraints.max_p99_us == 1000000' r.jsonl
  holds '.winner.options | startswith("sweep my.job ")' r.jsonl
  head -1 r.jsonl | jq -e '.job == "my.job"'
  expect 0 "$MPSWEEP" sweep my.job --device emulated --precision 100 -q
}

@test "CSV and JSON" {
  export_machine
  expect 0 "$MPSWEEP" "${TUNE[@]}" -l threads:1,2 --budget 30s -f json
  [ "$(jq -r .type out | sort -u | xargs)" = "footer header point tune" ]
  [ "$(tail -2 out | head -1 | jq -r .type)" = tune ]
  expect 0 "$MPSWEEP" "${TUNE[@]}" -l threads:1,2 --budget 30s -f csv
  [ "$(wc -l <out)" -ge 4 ]
  head -1 out | grep -q '^id,\|layout'
}

@test "plot and compare take its results" {
  export_machine
  expect 0 "$MPSWEEP" "${TUNE[@]}" "${FEW[@]}" --budget 60s -o r.jsonl
  expect 0 "$MPSWEEP" plot r.jsonl -o a.gp
  expect 0 "$MPSWEEP" plot r.jsonl --figure search -o search.gp
  # Which of the best is a matter of the machine's load.
  grep -q "'best: " search.gp
  grep -qE "= '1×1(, unconverged)?'$" search.gp
  [ "$(sed -n '/^\$points/,/^EOD/p' search.gp | wc -l)" -ge 6 ]
  if command -v gnuplot >/dev/null; then
    expect 0 "$MPSWEEP" plot r.jsonl --figure search -o search.svg
    [ ! -s err ]
    tail -3 search.svg | grep -q '^</svg>'
  fi
  "$MPSWEEP" compare r.jsonl r.jsonl >out
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -q -o sweep.jsonl
  refused "'sweep.jsonl' holds no search of 'mpsweep tune'" "$MPSWEEP" plot sweep.jsonl \
    --figure search -o x.gp
}

# -- bad input -------------------------------------------------------------------------------------

@test "where clients found no room, as many queues of others are not tried" {
  local layouts=(-l "processes+mps:1,2,4,8,16" -l "hybrid:2x2,4x2,8x2,16x2,8x4,16x4")
  expect 0 "$MPSWEEP" "${BASE[@]}" "${layouts[@]}" --duration 0.1 -c 16,32 --budget 30s \
    --max-processes 16 --max-threads 4 -o r.jsonl
  points 'map(select(.status == "infeasible")) | length >= 1 and all(.cuda_error == 2)' r.jsonl
  points 'map(select(.status == "infeasible")) | sort_by(.tune.order) as $all
    | all(range(1; $all | length); . as $i | $all[$i] as $one | all($all[:$i][];
        .processes > $one.processes
        or .processes * .connections > $one.processes * $one.connections))' r.jsonl
  # Those with room are.
  points 'map(select(measured and .mps)) | length >= 2' r.jsonl
}

@test "what makes no sense is refused, and nothing is left" {
  local tune=("$MPSWEEP" tune --device emulated -o no.jsonl)
  refused "'0' is not a value of budget: it takes a time from 1 to 86400 s" "${tune[@]}" --budget 0
  refused "'0s' is not a value of budget" "${tune[@]}" --budget 0s
  refused "'5' is not a value of max-p99" "${tune[@]}" --max-p99 5
  refused "'-5ms' is not a value of max-p99" "${tune[@]}" --max-p99=-5ms
  refused "'5 ms' is not a value of max-p99" "${tune[@]}" --max-p99 '5 ms'
  refused "'1e3s' is not a value of budget" "${tune[@]}" --budget 1e3s
  refused "'0' is not a value of max-processes: it takes a whole number from 1" "${tune[@]}" --max-processes 0
  refused "'0' is not a value of max-threads" "${tune[@]}" --max-threads 0
  refused "'1K' is not a value of max-gpu-memory" "${tune[@]}" --max-gpu-memory 1K
  refused "'latency' is not a value of objective: it takes one of throughput.p99.ips-per-watt" \
    "${tune[@]}" --objective latency
  refused "objective 'ips-per-watt' needs the GPU's power.*emulated" "${tune[@]}" --objective ips-per-watt
  refused "one workload, and 'kernels' has 2 values" "${tune[@]}" --kernels 5,6
  refused "leave out '--max-p99'" "${tune[@]}" --rate max-under-p99=5ms --max-p99 5ms
  refused "none of the layouts given is within" "${tune[@]}" -l processes:8 --max-processes 4
  refused "no calibration for this workload in this loop" "${tune[@]}" --rate 100 --guide calibration
  refused "resume needs --output" "$MPSWEEP" tune --device emulated --resume
  refused "unknown option '--iterations'" "${tune[@]}" --iterations 5
  refused "unknown option '--max-p9'; did you mean '--max-p99'" "${tune[@]}" --max-p9 5ms
  printf '[global]\niterations = 5\n' >fixed.job
  refused "'iterations' of the job is for a sweep only" "$MPSWEEP" tune fixed.job --device emulated
  printf '[a]\nkernels = 5\n[b]\nkernels = 6\n' >two.job
  refused "'kernels' differs between the sections" "$MPSWEEP" tune two.job --device emulated
  [ ! -e no.jsonl ]
  : >there.jsonl
  refused "'there.jsonl'.*exists" "$MPSWEEP" tune --device emulated -o there.jsonl
}

@test "a file of another space is not continued" {
  export_machine
  expect 0 "$MPSWEEP" "${TUNE[@]}" -l threads:1,2 --budget 30s -o r.jsonl
  cp r.jsonl before.jsonl
  refused "'r.jsonl' holds another plan" "$MPSWEEP" "${TUNE[@]}" -l threads:1,3 -o r.jsonl --resume
  cmp before.jsonl r.jsonl
}

# -- workloads that are not built in ---------------------------------------------------------------

# tune_others OPTIONS...: without axes that a program has not.
tune_others() {
  expect 0 "$MPSWEEP" tune --device emulated -q --duration 0.2 --warmup 0.05 --rounds 2 -c default \
    --active-thread-percentage default -b near -l threads:1,3 --budget 60s -o r.jsonl "$@"
}

@test "a program is tuned, and the winner's deployment runs it" {
  tune_others --emit env --emit-dir deployed -- "$MPSWEEP_BUILD_DIR/examples/program/ticker" 200
  holds '.winner.what | test("^threads 1×[13]")' r.jsonl
  holds '.guide == "measuring" and .limited_by == null' r.jsonl
  holds '.winner.options | endswith(" -- \(env.MPSWEEP_BUILD_DIR)/examples/program/ticker 200")' r.jsonl
  points 'all(.workload == "ticker")' r.jsonl
  grep -q "'deployed' is written" out
  [ -x deployed/start ]
  grep -q 'ticker' deployed/command
  # What is printed to measure it again does so.
  local again
  read -ra again <<<"$(record r.jsonl | jq -r .winner.options)"
  expect 0 "$MPSWEEP" "${again[@]:0:1}" -q -o again.jsonl "${again[@]:1}"
  points "length == 1 and all(.workload == \"ticker\" and
    .threads == $(record r.jsonl | jq -r '.winner.what | capture("1×(?<t>[0-9]+)").t'))" again.jsonl
}

@test "one start of a program serves looks at smaller layouts; few of its processes idle in the finals" {
  expect 0 "$MPSWEEP" tune --device emulated -q --duration 0.2 --warmup 0.05 --rounds 2 -c default \
    --active-thread-percentage default -b near -l processes+mps:1,2,4,8 -l hybrid:4x2,8x2 \
    --budget 60s -o r.jsonl -- "$MPSWEEP_BUILD_DIR/examples/program/ticker" 200
  points 'map(select(.mps and .reused and .idle_processes > 0)) | length > 0' r.jsonl
  points 'map(select(.rounds | length == 2)) | length > 0
    and all(2 * (.idle_processes // 0) <= .processes)' r.jsonl
  # The command has their number: no start serves another one.
  expect 0 "$MPSWEEP" tune --device emulated -q --duration 0.2 --warmup 0.05 --rounds 2 -c default \
    --active-thread-percentage default -b near -l processes+mps:1,2,4 --budget 60s -o n.jsonl \
    -- "$MPSWEEP_BUILD_DIR/examples/program/ticker" '20{processes}'
  points 'length >= 3 and all(.idle_processes // 0 | . == 0)' n.jsonl
}

@test "a program that does not start is tried in a few layouts, and its last words stand in one line" {
  expect 4 "$MPSWEEP" tune --device emulated --budget 60s -o r.jsonl \
    -- sh -c 'echo no configuration >&2; exit 3'
  holds '.verdict == "none" and .ended == "failed"' r.jsonl
  # Not for each: where there are two processes the other one may be the first to end.
  [ "$(grep -c 'no configuration$' err)" -ge 1 ]
  [ "$(grep -c ': failed: for the same reason$' err)" -ge 1 ]
  points 'length >= 3 and length <= 5 and any(.mps) and any(.processes > 1) and any(.threads > 1)' r.jsonl
  [ "$(grep -c 'last words' out)" -eq 1 ]
  grep -q '^no layout was found that works; threads 1×1, .*: failed: .* exited with status 3 before it was ready; its last words: no configuration$' out
}

@test "a window that an iteration outlasts goes on, on the same processes" {
  needs_python
  cat >late.py <<'END'
import os, sys, time
import mpsweep

open(sys.argv[1], "a").write("started\n")
worker = mpsweep.Worker()
worker.ready()
if not os.path.exists(sys.argv[2]):
    open(sys.argv[2], "w")
    with worker:
        time.sleep(3)
while worker.running():
    with worker:
        time.sleep(0.001)
END
  expect 0 "$MPSWEEP" tune --device emulated -q --duration 2 --warmup 0.05 --rounds 2 -b near \
    -l threads:1 --max-threads 1 --max-processes 1 --budget 60s -o r.jsonl \
    -- python3 late.py "$WORK/starts" "$WORK/begun"
  points '.[0] | measured' r.jsonl
  # One for each record: the look and the rounds.
  [ "$(wc -l <starts)" -eq "$(jq -s 'map(select(.type == "point")) | length' r.jsonl)" ]
}

@test "a plug-in is tuned, and graphs are tried with one that can be captured" {
  tune_others -w "$MPSWEEP_BUILD_DIR/examples/plugin/skeleton.so" --workload-options kib=4
  holds '.winner.what | test("^threads 1×[13]")' r.jsonl
  points 'any(.launch == "graph" and measured)' r.jsonl
  holds '.guide == "measuring"' r.jsonl
  header=$(head -1 r.jsonl)
  jq -e '.workload.plugins | length == 1' <<<"$header" >/dev/null
}

@test "a described workload is tuned, its kernels with their durations" {
  printf '[workload a]\nstep = copy-in 4K\nstep = kernel duration=200us\nstep = think 2ms\n' >a.job
  expect 0 "$MPSWEEP" tune a.job -w a --device emulated -q --duration 0.2 --warmup 0.05 --rounds 2 \
    -m pinned --launch stream --schedule auto -c default --active-thread-percentage default -b near \
    -l threads:1,4 --budget 60s -o r.jsonl
  holds '.winner.what | test("^threads 1×[14]")' r.jsonl
  jq -e '.steps | length == 1 and .[0].asked_us == 200' <<<"$(head -1 r.jsonl)" >/dev/null
}

@test "a deployment that cannot be written is known before the search" {
  mkdir taken
  : >taken/file
  refused "'taken'" "$MPSWEEP" tune --device emulated --emit env --emit-dir taken -o no.jsonl
  refused "'bash' is not a value of emit" "$MPSWEEP" tune --device emulated --emit bash -o no.jsonl
  refused 'emit-dir needs --emit FORMAT' "$MPSWEEP" tune --device emulated --emit-dir d -o no.jsonl
  refused '\{gpu\} is not known before Kubernetes has' \
    "$MPSWEEP" tune --device emulated --emit kubernetes --emit-dir d -o no.jsonl -- sleep '{gpu}'
  refused "systemd expands nothing in a program's path" \
    "$MPSWEEP" tune --device emulated --emit systemd --emit-dir d -o no.jsonl -- '/$x/sleep' 1
  refused "word 2 of the command is not UTF-8" \
    "$MPSWEEP" tune --device emulated --emit env --emit-dir d -o no.jsonl -- sleep $'\xff'
  [ ! -e no.jsonl ]
  [ ! -e d ]
}
