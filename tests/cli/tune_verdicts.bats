#!/usr/bin/env bats
# What mpsweep tune reports of each verdict, and what reads it.

load helper
LOOKS_FOR_LEAKS=1

TUNE=(tune --device emulated --kernels 5 --bytes 64K --warmup 0.05 --duration 0.1 -q -m pinned
  --launch stream --schedule auto -b near -c default --active-thread-percentage default --streams 1
  -l threads:1,2,3 -l processes+mps:2 --budget 60s)

# Measured once for all tests of this file.
setup_file() {
  BATS_MEASURED=$(mktemp -d /tmp/mpt.XXXXXX)
  export BATS_MEASURED
  (
    cd "$BATS_MEASURED" || exit 1
    "$MPSWEEP_BUILD_DIR/mpsweep" "${TUNE[@]}" -o r.jsonl >out 2>err
  )
}

teardown_file() { rm -rf "$BATS_MEASURED"; }

# prints CHANGE: the answer with its record changed by a filter, printed again.
prints() {
  jq -c "if .type == \"tune\" then .ended = \"complete\" | $1 else . end" "$BATS_MEASURED/r.jsonl" >r.jsonl
  expect 0 "$MPSWEEP" "${TUNE[@]}" -o r.jsonl --resume
}

line() { grep -qE "^$1$" out || fail "no line is '$1'" "$(cat out)"; }

@test "a winner" {
  prints '.verdict = "winner" | .equal = [] | del(.preferred, .unfinished) | .margin = {over: 0, rel: 0.5, ci95: [0.4, 0.6]}'
  line 'best layout for throughput: .*'
  line 'margin over the next: \+50\.0% \(95%: \+40\.0% to \+60\.0%\)'
  absent 'as good\|unfinished' out
}

@test "equals: all of them stand in the table, the first one is recommended" {
  prints '.verdict = "equal" | .winner.point = 1 | .equal = [1, 2, 0] | del(.preferred, .unfinished, .margin)'
  line '2 others are as good, as far as the data show'
  [ "$(grep -c '^as good  ' out)" -eq 2 ]
  [ "$(grep -E '^(best|as good)  ' out | awk '{print $1}' | xargs)" = "best as as" ]
  prints '.verdict = "equal" | .winner.point = 1 | .equal = [1, 3] | del(.preferred, .unfinished, .margin)'
  line '1 other is as good, as far as the data show'
  # Its reason is about the one that does most; the first of the others would be taken without it.
  prints '.verdict = "equal" | .winner.point = 1 | .equal = [1, 2, 0] | .preferred = {for: "cpus", over: 0, equals: 3}'
  line 'threads 1×1, .* and 1 other are as good: the best uses fewer CPUs \([0-9.]+ of [0-9.]+\)'
  line 'threads 1×3, .* comes next: [0-9.]+ CPUs, p99 of [0-9.]+ ms'
  prints '.verdict = "equal" | .winner.point = 1 | .equal = [1, 0, 2] | .preferred = {for: "cpus", over: 0, equals: 3}'
  absent 'comes next' out
}

@test "an unfinished search: what is reached of what is predicted, and what would suffice" {
  local words
  prints '.verdict = "unfinished" | .equal = [] | .unfinished =
    {share: 0.47, of: 19100, better_chance: 0.62, budget_s: 74.2, command: "tune --budget 75s"}'
  line 'unfinished: more time would probably find a better layout; 47% of the highest prediction \(19100 iterations/s\) is reached; a layout that does 5% more is 62% likely'
  line 'best layout so far, for throughput: .*'
  line 'what would probably suffice: mpsweep tune --budget 75s'
  # Where nothing is predicted nothing is claimed.
  prints '.verdict = "unfinished" | .equal = [] | .unfinished = {better_chance: 0}'
  line 'unfinished: more time would probably find a better layout'
  absent 'suffice' out
  # Nor is it where all that is open is which of those that were measured is better.
  prints '.verdict = "unfinished" | .equal = [] | .unfinished = {better_chance: 0.03, open: true}'
  line 'unfinished: more rounds would show whether another layout is as good; a layout that does 5% more is 3% likely'
  line 'Best .*; another one may be as good'
  # An estimate is never sure.
  prints '.verdict = "unfinished" | .equal = [] | .unfinished = {better_chance: 0.997}'
  line 'unfinished: .* layout; a layout that does 5% more is over 99% likely'
  prints '.verdict = "unfinished" | .equal = [] | .unfinished = {better_chance: 1}'
  line 'unfinished: .* layout; a layout that does 5% more is over 99% likely'
  prints '.verdict = "unfinished" | .equal = [] | .unfinished = {better_chance: 0.004}'
  line 'unfinished: .* layout; a layout that does 5% more is under 1% likely'
  # It is deployed under its name.
  expect 0 "$MPSWEEP" emit r.jsonl --format env -o deployed
  grep -q 'the best so far of a tuning that is not finished' out
}

@test "the command of an unfinished search asks the same with more time" {
  local again space=(tune --device emulated --kernels 5 --bytes 64K -m pinned,pageable -l threads:1,2
    -l hybrid:2x2 --streams 1)
  expect 0 "$MPSWEEP" "${space[@]}" -q --budget 3s -o r.jsonl
  jq -se 'any(.unfinished.command)' r.jsonl >/dev/null || skip "no budget was named"
  read -ra again <<<"$(jq -r 'select(.type == "tune") | .unfinished.command' r.jsonl)"
  [[ "${again[*]}" =~ ^"tune --device emulated --layout threads:1 "(.*)" --output r.jsonl --quiet --resume --budget "[0-9]+s$ ]]
  [[ " ${again[*]} " == *" --layout hybrid:2x2 "*" --memory pinned,pageable "* ]]
  # The same space.
  "$MPSWEEP" "${space[@]}" --list >before
  "$MPSWEEP" "${again[@]}" --list >after
  cmp before after
}

@test "no winner, and which layout came closest" {
  jq -c 'if .type == "tune" then .ended = "complete" | .verdict = "none" | .closest = .winner | .winner = null
    | .equal = [] elif .type == "point" then .latency_us.p99 = 46400 else . end' "$BATS_MEASURED/r.jsonl" >r.jsonl
  expect 4 "$MPSWEEP" "${TUNE[@]}" -o r.jsonl --resume
  line 'no layout was found that surely meets the constraints'
  line 'closest: .*'
  # As in the table of export.
  line 'closest .* 46\.40 .*'
  line 'Best   none: no layout was found that surely meets the constraints'
}

@test "nothing that has a number: no word of constraints" {
  jq -c 'if .type == "tune" then .ended = "complete" | .verdict = "none" | .winner = null | .equal = []
    | del(.closest) else . end' "$BATS_MEASURED/r.jsonl" >r.jsonl
  expect 4 "$MPSWEEP" "${TUNE[@]}" -o r.jsonl --resume
  line 'Best   none: no layout was found that works'
  absent 'constraints' out
}

@test "the limit of the latency beside the closest one's" {
  local limited='if .type == "tune" then .ended = "complete" | .verdict = "none" | .closest = .winner | .winner = null
    | .equal = [] | .constraints.max_p99_us = 50000.5 | .closest.p99_us = 36700'
  jq -c "$limited | .closest.p99_bounds_us = [30000, 62000] else . end" "$BATS_MEASURED/r.jsonl" >r.jsonl
  expect 4 "$MPSWEEP" "${TUNE[@]}" --max-p99 50.0005ms -o r.jsonl --resume
  line 'p99: 36\.7 ms, at most 62 with 95% confidence; not surely below the limit of 50.* ms'
  jq -c "$limited | .closest.p99_us = 70000 | del(.closest.p99_bounds_us) else . end" "$BATS_MEASURED/r.jsonl" >r.jsonl
  expect 4 "$MPSWEEP" "${TUNE[@]}" --max-p99 50.0005ms -o r.jsonl --resume
  line 'p99: 70 ms, an upper end of its interval is not known; above the limit of 50.* ms'
  jq -c "$limited | del(.closest.p99_bounds_us) elif .type == \"point\" then .iterations = 126 else . end" \
    "$BATS_MEASURED/r.jsonl" >r.jsonl
  expect 4 "$MPSWEEP" "${TUNE[@]}" --max-p99 50.0005ms -o r.jsonl --resume
  line 'p99: 36\.7 ms, of 126 iterations; an upper end takes 368, and a longer --budget has longer windows; .*'
  jq -c "$limited | del(.closest.p99_bounds_us) elif .type == \"point\" then .iterations = 760 else . end" \
    "$BATS_MEASURED/r.jsonl" >r.jsonl
  expect 4 "$MPSWEEP" "${TUNE[@]}" --max-p99 50.0005ms -o r.jsonl --resume
  line 'p99: 36\.7 ms, of 760 iterations, of which those near each other are alike: an upper end takes more, .*'
}

@test "a winner whose figure is below that of one look at the next" {
  jq -c 'if .type == "point" and .id == 1 then .throughput_ips = 1e6 | .rounds |= .[:1]
    elif .type == "tune" then .ended = "complete" | .verdict = "winner" | .equal = [] | del(.preferred, .unfinished)
      | .winner.point = 0 | .winner.rounds = 3 | .margin = {over: 1, rel: 0.02} else . end' \
    "$BATS_MEASURED/r.jsonl" >r.jsonl
  expect 0 "$MPSWEEP" "${TUNE[@]}" -o r.jsonl --resume
  line 'the next did more in the search; finals decide: .*'
}

@test "an interval of more than the whole figure has its ends in words, the table and a page" {
  jq -c 'if .type == "point" and .id == 0 then .throughput_ips = 3939 | .ci95_rel = 1.143
    elif .type == "tune" then .ended = "complete" | .verdict = "winner" | .equal = []
      | .winner += {point: 0, value: 3939, throughput_ips: 3939, ci95: [1255, 12358]}
      | del(.preferred, .unfinished, .margin) else . end' "$BATS_MEASURED/r.jsonl" >r.jsonl
  expect 0 "$MPSWEEP" "${TUNE[@]}" -o r.jsonl --resume
  line '3939 iterations/s \(95%: 1255 to 12358\), .*'
  line 'best  .*  3939 +1255 to 12358 .*'
  absent '±1[0-9][0-9]' out
  ! command -v gnuplot >/dev/null || {
    expect 0 "$MPSWEEP" report r.jsonl -o page.html
    grep -q '3939</strong> iterations/s (95%: 1255 to 12358), p99 ' page.html
  }
}

@test "one budget for a search without time for finals: that of the command" {
  prints '.verdict = "unfinished" | .equal = [] | .unfinished =
    {better_chance: 0, finals_budget_s: 30, budget_s: 74.2, command: "tune --budget 75s"}'
  line 'unfinished: there was too little time for finals, which are fresh starts'
  line 'what would probably suffice: mpsweep tune --budget 75s'
  prints '.verdict = "unfinished" | .equal = [] | .unfinished = {better_chance: 0, finals_budget_s: 30}'
  line 'unfinished: .*: give --budget 30s or more'
}

@test "a tie of an earlier version is still read" {
  prints '.verdict = "tie" | .winner.point = 1 | .tied = [1, 2] | del(.equal, .preferred, .unfinished, .margin)'
  line '1 other is as good, as far as the data show'
  grep -q '^as good  ' out
  expect 0 "$MPSWEEP" plot r.jsonl --figure search -o search.gp
  grep -q 'verdict: tie' search.gp
  expect 0 "$MPSWEEP" emit r.jsonl --format env -o deployed
  grep -q 'the winner of the tuning' out
}

@test "naive layouts for which no time was left" {
  jq -c 'if .type == "tune" then .ended = "complete" | .naive[-1] |= {point, what, layout, status: "not measured"}
    else . end' "$BATS_MEASURED/r.jsonl" >r.jsonl
  local id
  id=$(jq 'select(.type == "tune").naive[-1].point' r.jsonl)
  jq -c "select(.type != \"point\" or .id != $id)" r.jsonl >less.jsonl
  # The winner must be another one.
  jq -c "if .type == \"tune\" and .winner.point == $id then .winner.point = 1 - .winner.point else . end" \
    less.jsonl >r.jsonl
  expect 0 "$MPSWEEP" "${TUNE[@]}" -o r.jsonl --resume
  grep -qE '^N processes\+MPS .* not measured ' out
}

@test "a record that names points outside the plan does not answer: the search goes on" {
  local change
  for change in '.winner.point = 99' '.equal = [0, -1]' '.margin = {over: 1000000000, rel: 0.5}' \
    '.preferred = {for: "cpus", over: -7, equals: 3}'; do
    prints ".verdict = \"winner\" | .equal = [] | del(.preferred, .unfinished, .margin) | $change"
    [ "$(grep -c '"type":"tune"' r.jsonl)" -eq 2 ]
  done
}
