#!/usr/bin/env bats
# Fixed work: --iterations.

load helper

WORK_OF=(--device emulated --kernels 5 --warmup 0.05 --rounds 1)
ALL_LAYOUTS=(-l threads:1,3 -l processes:2 -l processes+mps:2 -l hybrid:2x2)

@test "each worker runs exactly N iterations, in every layout" {
  expect 0 "$MPSWEEP" sweep "${WORK_OF[@]}" "${ALL_LAYOUTS[@]}" --iterations 40 \
    --launch stream,graph -q -o f.jsonl
  points 'length == 10 and all(measured and .iterations == 40 * .workers
    and .fixed.iterations_per_worker == 40)' f.jsonl
  points 'all(.phases | .launch.samples as $n | .sync.samples == $n)' f.jsonl
  points 'all(.workers as $workers | .phases.launch.samples == 40 * $workers
    and .cpu.us_per_iteration > 0)' f.jsonl
  # One is a number, too.
  sweep_points 'all(.iterations == .workers and .ci95_rel == null and .throughput_ips > 0)' \
    "${WORK_OF[@]}" --iterations 1 -l threads:1,2
}

@test "the forum's formula, and ours beside it" {
  expect 0 "$MPSWEEP" sweep "${WORK_OF[@]}" "${ALL_LAYOUTS[@]}" --iterations 60 -q -o f.jsonl
  # N x workers^2 / sum of the workers' times.
  points 'all(. as $p | ([.per_worker[].elapsed_s] | add) as $sum
    | (60 * .workers * .workers / $sum) / .fixed.throughput_ips | . > 0.999999 and . < 1.000001)' \
    f.jsonl
  points 'all(([.per_worker[].elapsed_s] | add / length) as $mean | .fixed
    | .elapsed_mean_s / $mean | . > 0.999999 and . < 1.000001)' f.jsonl
  points 'all(.fixed | .latency_mean_us / (.elapsed_mean_s / 60 * 1e6)
    | . > 0.999999 and . < 1.000001)' f.jsonl
  # All are at work between the first begin and the last end; an iteration takes its latency.
  points 'all(([.per_worker[].elapsed_s] | max) as $longest | .fixed.seconds >= $longest * 0.999999)' \
    f.jsonl
  points 'all(.fixed.latency_mean_us >= .latency_us.mean)' f.jsonl
  # The common window begins with the end of the warm-up, and ends before the last worker's work. So
  # do its iterations.
  points 'all(.fixed.begin_s as $begin | $begin >= 0 and .rounds[0].seconds > 0
    and .rounds[0].seconds <= ($begin + .fixed.seconds) * 1.000001)' f.jsonl
  points 'all(.throughput_ips * (.rounds[0].seconds - .interval.steady_from_s) <= (60 * .workers + .workers) * 1.000001)' f.jsonl
  # One worker is at work for the whole of it: both agree, except at the edges.
  judged sweep_points 'all(.throughput_ips / .fixed.throughput_ips | . > 0.9 and . < 1.1)' \
    "${WORK_OF[@]}" --iterations 200 -l threads:1
}

@test "of several rounds the best one counts, as in the forum" {
  expect 0 "$MPSWEEP" sweep "${WORK_OF[@]:0:6}" --iterations 20 --rounds 3 -l threads:2 -q -o f.jsonl
  points 'all((.rounds | length) == 3 and (.fixed.rounds_ips | length) == 3
    and .iterations == 3 * 2 * 20)' f.jsonl
  points 'all(.fixed | .throughput_ips == (.rounds_ips | max))' f.jsonl
  points 'all(.fixed | .throughput_ips * .elapsed_mean_s / (20 * 2)
    | . > 0.999999 and . < 1.000001)' f.jsonl
}

@test "work that is longer than any first guess" {
  # Slices begin with 41 ms for all of them.
  local work=(--device emulated --kernels 20 --warmup 0 --iterations 100 --rounds 1 -l threads:1)
  sweep_points 'all(.iterations == 100 and .fixed.seconds > 0.3 and .rounds[0].seconds > 0.25)' "${work[@]}"
  # Where others take the CPUs, what is steady may be too short for an interval.
  judged sweep_points 'all(.ci95_rel >= 0)' "${work[@]}"
}

@test "the table and csv have a column more, without fixed work they do not" {
  expect 0 "$MPSWEEP" sweep "${WORK_OF[@]}" --iterations 5 -l threads:1,2 -q
  grep -qE "iterations/s .*fixed work/s\$" out
  expect 0 "$MPSWEEP" sweep "${WORK_OF[@]}" --iterations 5 -l threads:1,2 -q -f csv
  head -1 out | grep -q ',fixed_throughput_ips,'
  [ "$(awk -F, '{ print NF }' out | sort -u | wc -l)" -eq 1 ]
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -q
  absent "fixed work" out
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -q -f csv -o t.jsonl
  absent fixed out
  points 'all(has("fixed") | not) and all(.per_worker[] | has("elapsed_s") | not)' t.jsonl
}

@test "a window makes no sense beside it, unless a stronger source overrides it" {
  local option
  for option in "--duration 1" "--precision 5" "--max-duration 2"; do
    # shellcheck disable=SC2086
    refused "iterations of 10 end a point when they are done: leave out ${option:2:8}" \
      "$MPSWEEP" sweep "${WORK_OF[@]}" --iterations 10 $option -l threads:1
  done
  refused "'x' is not a value of iterations: it takes a whole number from 0 to" \
    "$MPSWEEP" sweep --iterations x
  refused "'-1' is not a value of iterations" "$MPSWEEP" sweep --iterations -1
  refused "'1,2' is not a value of iterations" "$MPSWEEP" sweep --iterations 1,2

  printf '[global]\nduration = 30\nkernels = 5\nlayout = threads:1\n' >time.job
  expect 0 "$MPSWEEP" sweep time.job --device emulated --iterations 7 --rounds 1 -q -o f.jsonl
  points 'all(.iterations == 7)' f.jsonl
  printf '[global]\niterations = 9\nrounds = 1\nwarmup = 0\nkernels = 5\nlayout = threads:1\n' >work.job
  expect 0 "$MPSWEEP" sweep work.job --device emulated -q -o g.jsonl
  points 'all(.iterations == 9)' g.jsonl
  refused 'leave out duration, or give 0 iterations' "$MPSWEEP" sweep work.job --duration 1
  expect 0 "$MPSWEEP" sweep work.job --device emulated --duration 0.05 --precision 100 \
    --iterations 0 -q -o h.jsonl
  points 'all(has("fixed") | not)' h.jsonl
}

@test "it belongs to the plan, and the estimate does not know how long it takes" {
  expect 0 "$MPSWEEP" sweep "${WORK_OF[@]}" --iterations 5 -l threads:1 -q -o f.jsonl
  refused 'another plan' "$MPSWEEP" sweep "${WORK_OF[@]}" --iterations 6 -l threads:1 -q \
    -o f.jsonl --resume
  refused 'another plan' "$MPSWEEP" sweep "${WORK_OF[@]}" -l threads:1 -q -o f.jsonl --resume
  expect 0 "$MPSWEEP" sweep "${WORK_OF[@]}" --iterations 5 -l threads:1,2 --dry-run
  grep -qE 'plan: +2 points, .* and the time that the iterations take, which is not known before$' out
  grep -q 'iterations 5 each' out
}

@test "a worker that hangs in it is noticed, although the other has finished" {
  MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#4=hang@1' expect 2 "$MPSWEEP" sweep \
    "${WORK_OF[@]}" --iterations 10 --timeout $HUNG -l processes:2 -q -o f.jsonl
  points 'all(.status == "failed" and (.error | test("worker 1 of 2 hangs: no iteration ended"))
    and (has("fixed") | not))' f.jsonl
}

@test "a finished worker does not count as hung while another works" {
  # One process synchronizes for longer than one may hang.
  MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#1+=slow:100@1' expect 0 "$MPSWEEP" sweep \
    "${WORK_OF[@]}" --iterations 60 --timeout $HUNG -l processes+mps:2 -q -o f.jsonl
  points 'all(measured and .iterations == 120 and .fixed.seconds > 5
    and .slowest_worker == 1)' f.jsonl
}

is_iterating() {
  local pid
  for pid in $(workers_of "$PID"); do
    [ "$(awk '/^voluntary_ctxt_switches/ { sum += $2 } END { print sum + 0 }' \
      "/proc/$pid"/task/*/status)" -gt 300 ] && return 0
  done
  return 1
}

@test "ended in the middle of it, and killed: nothing stays" {
  start "$MPSWEEP" sweep "${WORK_OF[@]}" --iterations 1000000 -l processes+mps:2 -q -o f.jsonl
  await $PATIENCE is_iterating
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  assert_whole f.jsonl
  points 'all(.status == "interrupted" and (has("fixed") | not))' f.jsonl
  # Beside one that has finished, which only waits.
  MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#50=hang@1' start "$MPSWEEP" sweep "${WORK_OF[@]}" \
    --iterations 400 -l processes:2 -q -o g.jsonl
  await $PATIENCE is_iterating
  kill -KILL "$PID"
  finish
}
