#!/usr/bin/env bats
# mpsweep tune with a rate that is searched for: the layout that holds the most under a limit of the
# latency.

load helper

# An iteration of one worker alone takes 10 ms, and workers do not disturb each other.
MACHINE=kernel_ns=2000000,graph_kernel_ns=2000000
TUNE=(tune --device emulated -q -m pinned --launch stream --schedule auto -b near --streams 1 -c default
  --active-thread-percentage default --duration 0.3 --rounds 2 --budget 90s -o r.jsonl)
GOAL=(--rate max-under-p99=200ms)

setup_file() {
  export PROGRAM=$MPSWEEP_BUILD_DIR/tests/fakes/program
  export SERVER=$MPSWEEP_BUILD_DIR/tests/fakes/http-server
}

# holds FILTER: of the tune's record.
holds() {
  jq -c 'select(.type == "tune")' r.jsonl | jq -e "$1" >/dev/null ||
    fail "does not hold of $(jq -c 'select(.type == "tune")' r.jsonl): $1"
}

# finds THREADS OPTIONS...: a layout with that number of workers, its rate, its latency and the limit.
finds() {
  local workers=$1
  shift
  rm -f r.jsonl
  expect 0 "$MPSWEEP" "${TUNE[@]}" "${GOAL[@]}" "$@" &&
    holds '.goal == {percentile: "p99", us: 200000} and .winner.rounds >= 2 and .winner.rate_ips > 0
      and .winner.value == .winner.rate_ips and .winner.p99_us <= 200000' &&
    jq -se --argjson workers "$workers" '(map(select(.type == "tune"))[0].winner) as $winner
      | map(select(.type == "point" and .id == $winner.point)) | last
      | .workers == $workers and .rate.offered_ips == $winner.rate_ips and .tune.stage == "final"
        and (has("reused") | not)' r.jsonl >/dev/null
}

# One worker does a quarter of what four do, which its closed loop shows, or the first step.
finds_four_and_cuts_one_short() {
  finds 4 "$@" &&
    jq -se 'map(select(.type == "point" and .threads == 1 and .rate.to_beat_ips)) | length > 0
      and all(.status == "infeasible" and (.rate.search | length) <= 1
        and (.error | test("another layout holds")))' r.jsonl
}

@test "the built-in work: what does less is cut short, and the deployment is that of the winner" {
  export MPSWEEP_EMULATED_MACHINE=$MACHINE
  judged finds_four_and_cuts_one_short --kernels 5 --bytes 64K -l threads:4,1
  grep -qE '^best layout.* for the rate: threads 1×4' out
  grep -qE '^holds [0-9.]+/s of an open loop with a p99 of [0-9.]+ m?s; the limit is 200 ms$' out
  grep -qE '^1 other was cut short: it does not hold [0-9.]+/s, and the best (holds at least [0-9.]+% more|may hold no more)$' out
  jq -se '(map(select(.type == "tune"))[0].cut_short) as $cut
    | map(select(.type == "point" and .status == "infeasible")) | length == $cut.count
      and all([.rate.to_beat_ips, .rate.capacity_ips // infinite] | min == $cut.below_ips)' r.jsonl
  # A look leaves it to the finals to narrow what it found.
  jq -se 'map(select(.type == "point" and .throughput_ips)) | group_by(.tune.stage) | map({key: .[0].tune.stage, value: .})
    | from_entries | (.look | length > 0 and all(.rate.failed_ips > .rate.offered_ips
        and (.rate.failed_ips - .rate.offered_ips) <= 0.25 * .rate.failed_ips + 0.01))
      and (.final | length > 0 and all(.rate | has("failed_ips") | not))' r.jsonl
  # The figures of the line are those of the rate, as above.
  [ "$(sed -n 's/^Best .*: \(holds .*ms\).*/\1/p' out)" = "$(grep '^holds ' out)" ]
  absent '^Best .*iterations/s' out
  holds '.winner.options | test("--rate [0-9.]+ ") and (test("max-under") | not)'
  expect 0 "$MPSWEEP" emit r.jsonl --format env -o deployed
  grep -q 'threads 1×4' out
  # A look is narrowed by finals alone: as if the one that was cut short had held a rate.
  jq -sc '(map(select(.type == "point" and .threads == 4)) | last) as $look | .[]
    | if .type == "point" and .threads == 1 then . + ($look | {status, throughput_ips, ci95_rel, latency_us,
        rounds, iterations, cpu, rate}) | .rate.offered_ips = 11 | .rate.failed_ips = 14 | .throughput_ips = 11
        | .error = null else . end' r.jsonl >looked.jsonl
  expect 0 "$MPSWEEP" "${TUNE[@]/r.jsonl/looked.jsonl}" "${GOAL[@]}" --kernels 5 --bytes 64K -l threads:4,1 --resume
  grep -qE '^1×1 +threads 1×1, .* ≥11.00 +- ' out
  grep -qx '≥: looked at in short, it holds at least that rate' out
  expect 0 "$MPSWEEP" export looked.jsonl
  grep -qE '^threads +1×1 .* ≥11 p99<200 ms ' out
  grep -q '^≥  ' out
}

@test "a program that reports its iterations" {
  judged finds 2 -l processes:2 -- "$PROGRAM" well
}

# From its third start on it does less.
lowers_its_rate() {
  cat >slower.sh <<'END'
echo >>starts
[ "$(wc -l <starts)" -le 2 ] || export NAP_MS=5
exec "$1" well
END
  NAP_MS=4 expect 0 "$MPSWEEP" "${TUNE[@]}" "${GOAL[@]}" -l threads:1 --max-processes 1 \
    --max-threads 1 -- sh slower.sh "$PROGRAM" &&
    jq -se 'map(select(.type == "point" and .tune.stage == "final").rate.offered_ips)
      | length >= 2 and min < max' r.jsonl
}

@test "a rate that a later round lowers: its record has the time of all rounds" {
  judged lowers_its_rate
  jq -se 'map(select(.type == "point" and .tune.stage == "final"))
    | all(.seconds >= ([.rate.search[], .rounds[]] | map(.seconds) | add))' r.jsonl
}

@test "a server" {
  [ -x "$MPSWEEP_BUILD_DIR/mpsweep-load" ] || skip "no libcurl here"
  judged finds 4 --server --request 'GET http://127.0.0.1:{port}/infer' -l threads:4 -- \
    "$SERVER" --port '{port}' --delay-ms 10
  # Its clients' connections are not threads that launch: no hardware queues are tried for them.
  expect 0 "$MPSWEEP" tune --device emulated --server --request 'GET http://127.0.0.1:{port}/' \
    -l hybrid:2x32 --list -- "$SERVER" --port '{port}'
  grep -q '^[0-9]*.hybrid 2×32' out
  absent 'connections' out
}

# Where the budget ends is chance: in finals that have begun to narrow the rate of a look, for example.
@test "the command for a layout has the rate that is reported" {
  [ -x "$MPSWEEP_BUILD_DIR/mpsweep-load" ] || skip "no libcurl here"
  local budget
  for budget in 3 4 5 6; do
    rm -f r.jsonl
    "$MPSWEEP" tune --device emulated -q --budget ${budget}s -o r.jsonl --rate max-under-p99=1s --streams 4 \
      -l processes:1 --bind near --server --request 'GET http://127.0.0.1:{port}/' -- \
      "$SERVER" --port '{port}' --delay-ms 3 >out 2>err || [ $? -eq 4 ]
    holds '.winner | . == null or (.rate_ips as $rate | .options | contains("--rate \($rate) "))'
  done
}

# It only waits: each worker more does as much again.
reaches_the_border() {
  rm -f r.jsonl
  expect 0 "$MPSWEEP" tune --device emulated -q --budget 15s -o r.jsonl --server \
    --request 'GET http://127.0.0.1:{port}/' "$@" -- "$SERVER" --port '{port}' --delay-ms 20
}

@test "a server whose best layout is at the border of what is searched" {
  [ -x "$MPSWEEP_BUILD_DIR/mpsweep-load" ] || skip "no libcurl here"
  at_border() {
    reaches_the_border &&
      grep -qE '^it has the most (threads|processes) that are searched: --max-\1 [0-9]+ may' out
  }
  judged at_border
  # Limits that were given are those.
  reaches_the_border --max-processes 2 --max-threads 4
  absent 'it has the most' out
}

@test "a limit that no layout holds" {
  rm -f r.jsonl
  export MPSWEEP_EMULATED_MACHINE=$MACHINE
  expect 4 "$MPSWEEP" "${TUNE[@]}" --kernels 5 --bytes 64K -l threads:1,2 --rate max-under-p99=1ms
  grep -qE 'p99 of .* at .*/s already exceeds 1 ms' out
  holds '.verdict == "none" and .winner == null'
}

@test "a rate that no layout keeps up with" {
  rm -f r.jsonl
  export MPSWEEP_EMULATED_MACHINE=$MACHINE
  expect 4 "$MPSWEEP" "${TUNE[@]}" --kernels 5 --bytes 64K -l threads:1,2 --rate 5000 --objective p99
  grep -qx 'no layout that was tried keeps up with the rate: offer a lower --rate, or give a longer --budget' out
  grep -qx 'Best   none: no layout was found that keeps up with the rate' out
  holds '.verdict == "none" and .winner == null and .measured == 2'
}

@test "the limit is that of the rate, and so is the objective" {
  expect 1 "$MPSWEEP" "${TUNE[@]}" "${GOAL[@]}" -l threads:1 --max-p99 5ms
  grep -q "rate max-under-p99 has the limit of the latency: leave out '--max-p99'" err
  expect 1 "$MPSWEEP" "${TUNE[@]}" "${GOAL[@]}" -l threads:1 --objective p99
  grep -q "rate max-under-p99 the objective is the rate: leave out '--objective'" err
  expect 1 "$MPSWEEP" "${TUNE[@]}" "${GOAL[@]}",100 -l threads:1
  grep -q "one workload, and 'rate' has 2 values" err
}
