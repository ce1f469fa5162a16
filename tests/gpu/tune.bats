#!/usr/bin/env bats
# mpsweep tune on a real GPU, from a cold start. Written for the built-in iteration on an H200, where
# the layouts that one would take without a search stop at a fifth of what the GPU can compute. About
# five minutes.

load helper

# answer FILTER: of the tune's record in t.jsonl, with the calibration's figures as $known.
answer() {
  jq -se "(map(select(.type == \"calibration\")) | first) as \$known | map(select(.type == \"tune\")) | last | $1" \
    t.jsonl >/dev/null || fail "does not hold: $1" "$(jq -c 'select(.type == "tune")' t.jsonl)"
}

@test "97% of what the GPU can compute, within two minutes" {
  real
  expect 0 "$MPSWEEP" tune --budget 120s -q -o t.jsonl
  answer '.seconds <= 121 and .verdict != "none"'
  answer '.winner.value >= 0.97 * $known.arithmetic_ips'
  answer '.winner.value as $best | .naive | length == 4 and all(.throughput_ips < $best / 3 or .status != "ok")'
}

@test "a limit of the latency holds in a fresh run of the winner" {
  real
  expect 0 "$MPSWEEP" tune --max-p99 6ms --budget 120s -q -o t.jsonl
  answer '.winner.p99_us < 6000'
  local again
  read -ra again <<<"$(jq -r 'select(.type == "tune") | .winner.options' t.jsonl)"
  expect 0 "$MPSWEEP" "${again[@]}" -q -o again.jsonl
  points 'length == 1 and all(.latency_us.p99 < 6000)' again.jsonl
}
