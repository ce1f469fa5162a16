#!/usr/bin/env bats
# Rates: planned starts, what counts from where, overload, and the search for what a layout serves.

load helper

# An iteration takes at least 20 ms here, however fast or slow the machine is.
SERVICE_MS=20
sweep_of_service() {
  local status=$1
  shift
  rm -f r.jsonl
  in_rounds "$@"
  MPSWEEP_EMULATED_FAULT="cuStreamSynchronize#1+=slow:$SERVICE_MS" expect "$status" \
    "$MPSWEEP" sweep --device emulated --kernels 5 --bytes 64K --warmup 0.1 "${ROUNDS[@]}" -q -o r.jsonl "$@"
}

@test "without a rate there is nothing about rates" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 --arrival constant,poisson -o r.jsonl
  points 'length == 1 and (.[0] | has("rate") | not)' r.jsonl
  absent 'offered\|poisson' out
}

@test "overload: served is what can be, latency has the queue and service time has not" {
  sweep_of_service 0 -l threads:2 --rate 2000 --arrival constant,poisson --duration 0.5
  points 'length == 2 and (map(.rate.arrival) == ["constant", "poisson"])' r.jsonl
  points 'all(.rate.offered_ips == 2000 and .rate.saturated)' r.jsonl
  # Two workers at 20 ms.
  points 'all(.rate.achieved_ips > 0 and .rate.achieved_ips < 110
    and .rate.achieved_ips == .throughput_ips)' r.jsonl
  points 'all(.rate.service_us | .p50 >= 19000 and .p99 >= .p50 and .mean >= 19000)' r.jsonl
  # What is served in the window was planned at its beginning or before.
  points 'all(.latency_us.p50 > .rate.service_us.p50)' r.jsonl
  points 'all(.rate.late_share > 0.9 and .rate.backlog > 500)' r.jsonl
  points 'all(.warnings | map(select(.kind == "overloaded"))
    | length == 1 and (.[0].text | test("offer less")))' r.jsonl
  # Beside each row, and what to do once.
  grep -qE '^threads +1×2 +2000 +[0-9].*  overloaded$' out
  grep -qE '^threads +1×2 +2000 poisson +[0-9].*  overloaded$' out
  [ "$(grep -c '^warning .* offer less' out)" -eq 1 ]
}

within_the_load() {
  sweep_of_service 0 -l threads:2 --rate 20 --duration 1 --max-duration 1 || return 1
  points 'all(.rate.saturated | not) and all(.warnings // [] | map(.kind) | index("overloaded") | not)' r.jsonl &&
    # Ten starts a worker in the window; those at its edges may be in or out.
    points 'all(.iterations >= 17 and .iterations <= 23)' r.jsonl &&
    points 'all(.rate.achieved_ips > 16 and .rate.achieved_ips < 24)' r.jsonl &&
    points 'all(.rate.late_share < 0.5 and .rate.backlog <= 2)' r.jsonl &&
    # So few show little about p99.
    points 'all(.status == "unconverged" and .rounds[0].seconds >= 0.9)' r.jsonl
}

@test "what can be served is served, and its latency is the service time" {
  judged within_the_load
  points 'all(.latency_us.p50 >= .rate.service_us.p50 * 0.95)' r.jsonl
  points 'all(.interval | has("needs_s") or has("needs_rounds") | not)' r.jsonl
  grep -qE '  unconverged: (1[7-9]|2[0-3]) iterations, and p99 needs 368: give --max-duration 20\.3$' out
}

@test "a window lasts as long as it takes to offer 1000 iterations" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]:0:6}" --warmup 0.02 --precision 100 --rounds 1 -l threads:4 --duration 1 \
    --rate 500,200000 --max-duration 3 -q -o r.jsonl
  points 'map(.rounds[0].seconds) | .[0] > 1.9 and .[0] <= 2 and .[1] <= 1' r.jsonl
  # Longer than --max-duration it is not.
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 --rate 10 --max-duration 1.5 -q -o s.jsonl
  points 'all(.rounds[0].seconds <= 1.5 and .rounds[0].seconds > 1.45)' s.jsonl
}

@test "every layout and schedule waits for its starts" {
  expect 0 "$MPSWEEP" sweep "${TINY_ROUNDS[@]}" -l processes:2 -l processes+mps:2 -l hybrid:2x2 \
    --schedule spin,yield,block --launch graph --rate 100 --arrival poisson --max-duration 1.5 \
    --rounds 2 -q -o r.jsonl
  points 'length == 9 and all(.rate | .offered_ips == 100 and .arrival == "poisson")' r.jsonl
  points 'all(.rounds | length == 2)' r.jsonl
}

@test "a worker that waits for its start is not hung, and no other worker is spared" {
  # Starts are at 0 s, in the warm-up if the machine is not busy, and at 10 s.
  expect 0 "$MPSWEEP" sweep --device emulated --kernels 5 -l threads:1 --rate 0.1 --timeout $HUNG \
    --warmup 0.1 --duration 18 --max-duration 18 --rounds 1 -q -o r.jsonl
  points 'all(.iterations == 1 or .iterations == 2)' r.jsonl
  MPSWEEP_EMULATED_FAULT="cuStreamSynchronize#5=hang" expect 2 "$MPSWEEP" sweep \
    --device emulated --kernels 5 -l threads:1 --rate 100 --timeout $HUNG --duration 20 --max-duration 20 --rounds 1 -q
  grep -q 'worker 0 of 1 hangs' out
}

@test "a window without a start is reported" {
  # The first start is planned for the begin of the warm-up, in which a busy computer makes it, too.
  expect 2 "$MPSWEEP" sweep --device emulated --kernels 5 --duration 0.05 --warmup 1 --precision 100 \
    -l threads:1 --rate 0.1 --max-duration 0.1 --rounds 1 -q -o r.jsonl
  points 'all(.status == "failed" and (.error | test("no iteration began .*--max-duration"))
    and .rate == {offered_ips: 0.1, arrival: "constant"})' r.jsonl
}

@test "the end of a window is heard in a wait" {
  # The second start is after 100 s.
  expect 0 "$MPSWEEP" sweep --device emulated --kernels 5 -l threads:1 --rate 0.01 --warmup 0 \
    --duration 4 --max-duration 4 --rounds 1 --timeout 20 --schedule auto,block -q -o r.jsonl
  points 'length == 2 and all(.iterations == 1 and .seconds < 100)' r.jsonl
}

@test "interrupted at a low rate: at once" {
  start "$MPSWEEP" sweep --device emulated --kernels 5 -l processes:2 --rate 0.01 --duration 500 \
    --max-duration 500 --timeout 400 -q -o r.jsonl
  # Past their first starts, which are at 0 s and 100 s, or on the way there.
  workers_wait() { [ "$(workers_of "$PID" | wc -l)" -eq 2 ]; }
  await $PATIENCE workers_wait
  kill -INT "$PID"
  await $PATIENCE is_gone "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  points 'all(.status == "interrupted" and .rate == {offered_ips: 0.01, arrival: "constant"})' r.jsonl
}

# -- the search ------------------------------------------------------------------------------------

found() {
  sweep_of_service 0 -l threads:2 --rate max-under-p99=200ms --duration 0.5 --max-duration 1 || return 1
  # Two workers at 20 ms serve less than 100; half of it is easy.
  points 'all(.rate.offered_ips > 20 and .rate.offered_ips < 110)' r.jsonl &&
    points 'all((.rate.saturated | not) and .latency_us.p99 <= 200000)' r.jsonl
}

@test "a search ends with a bracket of 5%, and measures what it found" {
  judged found
  points 'all(.rate.goal == {percentile: "p99", us: 200000})' r.jsonl
  points 'all(.rate.search | length >= 3 and all(.offered_ips > 0 and .p99_us > 0 and .seconds > 0
    and .backlog >= 0 and (.held | type == "boolean")))' r.jsonl
  # The highest that held, lowered where the full window showed less.
  points 'all(.rate | ([.search[] | select(.held).offered_ips] | max) as $held
    | .offered_ips <= $held + 0.001 and .offered_ips > 0.81 * $held)' r.jsonl
  points 'all(.rate.search | ([.[] | select(.held).offered_ips] | max) as $held
    | [.[] | select((.held | not) and .offered_ips > $held).offered_ips]
    | length == 0 or min <= $held * 1.06)' r.jsonl
  grep -qE 'threads +1×2 +[0-9.]+ p99<200 ms +[0-9]' out
}

@test "a search that finds nothing: infeasible, with what was seen" {
  sweep_of_service 0 -l threads:1 --rate max-under-p50=5ms --arrival poisson --duration 0.4
  points 'all(.status == "infeasible" and .cuda_error == 0 and (has("throughput_ips") | not))' r.jsonl
  points 'all(.error | test("^p50 of [0-9.e+]+ m?s at [0-9.]+/s already exceeds 5 ms$"))' r.jsonl
  points 'all(.rate | .offered_ips == null and .arrival == "poisson" and (.search | length > 0
    and all((.held | not) and .p50_us > 5000)))' r.jsonl
  grep -qE 'threads .* - poisson p50<5 ms .* infeasible: p50 of ' out
}

# Its capacity is that of the first iterations, and the others take 300 ms.
queue_grows() {
  rm -f r.jsonl
  MPSWEEP_EMULATED_FAULT="cuStreamSynchronize#150+=slow:300" expect 0 "$MPSWEEP" sweep \
    --device emulated --kernels 5 --bytes 64K --warmup 0 --rounds 1 --duration 1 --max-duration 1 \
    -l threads:1 --rate max-under-p50=60s -q -o r.jsonl &&
    points 'all(.status == "infeasible" and (.error | test("^the queue grows at [0-9.]+/s: [0-9]+ "
        + "iterations were left waiting, with a p50 of [0-9.e+]+ m?s until then$"))
      and (.rate.search | all((.held | not) and .backlog > 2 and .p50_us < 60e6)))' r.jsonl
}

@test "a queue that grows is a reason of its own, however low the latency still is" {
  judged queue_grows
}

# Below a rate that holds, a computer that stands still for long leaves a queue.
several_rounds() {
  sweep_of_service 0 -l threads:1 --rate max-under-p50=2s --duration 0.3 \
    --max-duration 3 --rounds 3 &&
    points 'all((.rounds | length == 3) and .rate.goal.percentile == "p50")' r.jsonl
}

@test "rounds: one search, and all measure the rate that it found" {
  judged several_rounds
}

@test "what fails in a search fails the point" {
  # The first one after the two rehearsals, in a window that no machine is too slow for.
  MPSWEEP_EMULATED_FAULT="cuStreamSynchronize#3=error:719" expect 2 "$MPSWEEP" sweep \
    --device emulated --kernels 5 --duration 20 --max-duration 20 \
    -l threads:1 --rate max-under-p99=1s -q -o r.jsonl
  points 'all(.status == "failed" and .cuda_error == 719 and .rate.offered_ips == null)' r.jsonl
}

@test "interrupted in a search: the steps so far are kept" {
  start "$MPSWEEP" sweep --device emulated --kernels 5 -l processes:2 --rate max-under-p99=1s \
    --duration 100 --max-duration 100 -q -o r.jsonl
  await $PATIENCE has_workers 2
  kill -TERM "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  assert_whole r.jsonl
  points 'all(.status == "interrupted" and .rate.offered_ips == null)' r.jsonl
}

finds_a_rate() {
  rm -f r.jsonl
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 --rate max-under-p99=1s -q -o r.jsonl &&
    points 'all(measured and .rate.offered_ips != null)' r.jsonl
}

@test "a rate that misses its goal after all is reported as such" {
  judged finds_a_rate
  # As the full window would have it that shows more than the short ones did, and nothing else.
  jq -c 'if .type == "point" then .status = "unconverged" | .iterations = 1000 | .ci95_rel = 0.3
    | .rate.saturated = false | del(.stalled) else select(.type != "footer") end' r.jsonl >again.jsonl
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 --rate max-under-p99=1s -q --resume \
    -o again.jsonl
  grep -qE '  unconverged: p99 under 1 s does not hold at the rate found: give a longer --duration$' out
}

# -- plan and output -------------------------------------------------------------------------------

@test "rates and arrivals multiply, but not for a closed loop" {
  expect 0 "$MPSWEEP" sweep -l threads:1 --rate closed,100,0.5,max-under-p999=20us \
    --arrival constant,poisson --list
  cut -f2 out >list
  diff list - <<'LIST'
threads 1×1, pinned
threads 1×1, pinned, 100/s
threads 1×1, pinned, 100/s, poisson
threads 1×1, pinned, 0.5/s
threads 1×1, pinned, 0.5/s, poisson
threads 1×1, pinned, max under p999 20 us
threads 1×1, pinned, max under p999 20 us, poisson
LIST
  printf '[a]\nlayout = threads:1\nrate = closed, max-under-p90=1.5ms\narrival = poisson\n' >a.job
  expect 0 "$MPSWEEP" sweep a.job --list
  [ "$(cut -f2 out | tail -1)" = "threads 1×1, pinned, max under p90 1.5 ms, poisson" ]
}

@test "csv has the rate" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 --rate closed,500 --format csv -q --seed 0
  head -1 out | tr , '\n' >titles
  column() { grep -nx "$1" titles | cut -d: -f1; }
  [ "$(sed -n 2p out | cut -d, -f "$(column offered_ips)")" = "" ]
  [ "$(sed -n 3p out | cut -d, -f "$(column offered_ips),$(column arrival)")" = "500,constant" ]
  [[ $(sed -n 3p out | cut -d, -f "$(column saturated)") =~ ^(yes|no)$ ]]
  [[ $(sed -n 3p out | cut -d, -f "$(column late_share),$(column service_p99_us)") =~ ^[0-9.e-]+,[0-9.e+]+$ ]]
}

@test "csv has the limit of a rate that was searched" {
  local columns
  expect 0 "$MPSWEEP" sweep --device emulated -l threads:1 --rate max-under-p99=10ms,max-under-p50=1.5ms,5 --list \
    --format csv
  columns=$(head -1 out | tr , '\n' | grep -nxE 'goal_percentile|goal_us' | cut -d: -f1 | paste -sd,)
  cut -d, -f "$columns" out >limits
  diff limits - <<'LIMITS'
goal_percentile,goal_us
p99,10000
p50,1500
,
LIMITS
}

@test "a rate that is none is refused, with what would be one" {
  local value
  for value in 0 -1 0.001 1e9 "5 potatoes" 0x10 nan max-under-p99= max-under-p99=5 max-under-p98=5ms \
    max-under-p99=0ms max-under-p99=5msec; do
    refused "'$value' is not a value of rate: it takes closed, a number .* or max-under-p99=5ms" \
      "$MPSWEEP" sweep --rate "$value" --list
  done
  refused "'regular' is not a value of arrival: it takes one of constant\|poisson" \
    "$MPSWEEP" sweep --arrival regular --list
}
