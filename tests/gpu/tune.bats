#!/usr/bin/env bats
# mpsweep tune on a real GPU, from a cold start. Written for the built-in iteration on an H200, where
# the layouts that one would take without a search stop at a fifth of what the GPU can compute. About
# five minutes.

load helper

# answer FILTER: of the tune's record in t.jsonl, with the figures of a calibration in c.jsonl as $known.
answer() {
  jq -se --slurpfile calibrated c.jsonl "(\$calibrated | map(select(.type == \"calibration\")) | first) as \$known
    | map(select(.type == \"tune\")) | last | $1" \
    t.jsonl >/dev/null || fail "does not hold: $1" "$(jq -c 'select(.type == "tune")' t.jsonl)"
}

# reaches SHARE SECONDS: of what the GPU can compute, within a budget.
reaches() {
  real
  expect 0 "$MPSWEEP" sweep -l threads:1 --rounds 1 --duration 0.1 --calibrate -q -o c.jsonl
  expect 0 "$MPSWEEP" tune --budget "$2s" -q -o t.jsonl
  answer ".seconds <= $2 and .verdict != \"none\""
  answer ".winner.value >= $1 * \$known.arithmetic_ips"
}

@test "98% of what the GPU can compute, within 30 s" {
  reaches 0.98 30
}

@test "99% within a minute, which leaves time for a calibration" {
  reaches 0.99 60
  answer '.guide == "calibration"'
}

@test "99% within two minutes, and what one would take without a search" {
  reaches 0.99 120
  answer '.winner.value as $best | .naive | length == 4 and all(.throughput_ips < $best / 3 or .status != "ok")'
}

@test "a limit of the latency holds in a fresh run of the winner" {
  real
  expect 0 "$MPSWEEP" tune --max-p99 6ms --budget 45s -q -o t.jsonl
  jq -se 'map(select(.type == "tune")) | last | .seconds <= 45 and .winner.p99_us < 6000' t.jsonl
  local again
  read -ra again <<<"$(jq -r 'select(.type == "tune") | .winner.options' t.jsonl)"
  expect 0 "$MPSWEEP" "${again[@]}" -q -o again.jsonl
  points 'length == 1 and all(.latency_us.p99 < 6000)' again.jsonl
}
