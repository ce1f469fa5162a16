#!/usr/bin/env bats
# The interference experiments on a real GPU: they end in time, every arm gives numbers, and what is
# known of every driver so far is found.

load helper

# of_type TYPE FILTER FILE: of the only record of a type.
of_type() {
  jq -s -e "map(select(.type == \"$1\")) | length == 1 and (.[0] | $2)" "$3" >/dev/null ||
    fail "does not hold of $3: $2" "$(jq -c . "$3")"
}

@test "copy-block: a waiting pageable copy on the legacy default stream blocks launches, others do not" {
  real
  expect 0 "$MPSWEEP" probe copy-block -q -o r.jsonl
  of_type probe '.verdict == "observed" and .effect.arm == "legacy-pageable"' r.jsonl
  of_type probe '.arms | all(.status == "ok")' r.jsonl
  of_type probe '.arms | map(select(.arm == "legacy-pageable"))[0] | .blocked == .samples' r.jsonl
  of_type probe '.arms | map(select(.arm == "own-pageable" or .arm == "legacy-pinned")) | all(.blocked == 0)' r.jsonl
}

@test "launch-delay: every arm measured, those over MPS as clients" {
  real
  "$MPSWEEP" probe launch-delay -q -o r.jsonl || [ $? -eq 2 ]
  of_type probe '.arms | length == 11 and all(.status == "ok" and .samples > 1000)' r.jsonl
  of_type probe '.arms | map(select(.mps)) | length == 2 and all(.attached.expected == .attached.seen)' r.jsonl
}

@test "lazy-load: a first launch waits for a copy that waits, one that was launched before does not" {
  real
  expect 0 "$MPSWEEP" probe lazy-load -q -o r.jsonl
  of_type probe '.arms | length == 9 and all(.status == "ok" and .samples == 24)' r.jsonl
  of_type probe '.verdict == "observed" and .effect.arm == "lazy-waiting"' r.jsonl
  of_type probe '.arms | map(select(.arm == "warm-waiting"))[0] | .blocked == 0 and .verdict == "not observed"' r.jsonl
}

@test "all probes: a few minutes on one GPU" {
  real
  "$MPSWEEP" probe all -q -o r.jsonl || [ $? -eq 2 ]
  # The one that needs two comes on top of that.
  jq -s -e 'map(select(.type == "probe" and .probe != "peer-stall") | .seconds)
    | length == 6 and add < 240' r.jsonl >/dev/null
  assert_whole r.jsonl
  [ "$(tail -1 r.jsonl | jq -r .type)" = footer ]
}
