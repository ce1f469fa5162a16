#!/usr/bin/env bats
# mpsweep explain on a real GPU: the calibration, the ceiling that it names for each layout of the
# built-in iteration, the prediction, and one remedy. Written for an H200; other GPUs with 8 queues a
# process and far more multiprocessors than one worker needs have the same limits. About 100 s.

load helper

SHORT=(--duration 0.4 --max-duration 0.8 --warmup 0.1 --precision 10 --quiet)

# One point a line: layout, P×T or P×T×S, limited by; the launch path is a process's or the GPU's. How
# fast a thread launches differs from one set of processes to the next: one that polls may pass what
# the calibration saw, and by more than predictions may be off.
points_are_explained() {
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -r '.[] | "\(.layout) \(.processes)x\(.threads)\(if .streams then "x\(.streams)" else "" end) \(if .passed.name == "polling" then "polling" else .limited_by end | sub("(process|gpu)-launch"; "launch"))"' \
    "$WORK/out" | LC_ALL=C sort >named
  diff - named <<'LIMITS' || fail "explained:" "$(cat "$WORK/out")"
processes 8x1 time-slicing
processes+mps 16x1 launch
processes+mps 8x1 workers
threads 1x128 arithmetic
threads 1x16 queues
threads 1x1x112 arithmetic
threads 1x1x32 polling
threads 1x8 workers
threads+mps 1x16 queues
LIMITS
  jq -e 'map(select(.limited_by != "polling" and .passed.name != "polling")) | all(.predicted_ips / .throughput_ips | . > 0.85 and . < 1.15)' "$WORK/out" ||
    fail "predicted too far from measured:" \
      "$(jq -c '.[] | [.layout, .processes, .threads, .throughput_ips, .predicted_ips]' "$WORK/out")"
}

@test "what limits each layout, how much of it is predicted, and a remedy that holds" {
  real
  cat >points.job <<'JOB'
[streams]
layout = threads:8,16
layout = processes:8
layout = processes+mps:8,16
layout = threads+mps:16
[graphs]
layout = threads:128
connections = 32
launch = graph
schedule = block
[polled]
layout = threads:1
streams = 112
launch = graph
[polled-single-launches]
layout = threads:1
streams = 32
JOB
  expect 0 "$MPSWEEP" sweep "${SHORT[@]}" --calibrate -o r.jsonl points.job
  assert_whole r.jsonl
  points_are_explained
  # The picture of it, from the same file.
  expect 0 "$MPSWEEP" plot r.jsonl --figure ceilings -o ceilings.gp
  grep -qx "binding\[[0-9]*\] = 'time slicing'" ceilings.gp
  # One point with its calibration: 8 queues for 16 threads. More queues and more processes over MPS are
  # predicted to do about the same, so that either may be what is verified.
  jq -c 'select(.type != "point" or (.layout == "threads" and .threads == 16))' r.jsonl >one.jsonl
  expect 0 "$MPSWEEP" explain one.jsonl --verify --duration 0.4 --warmup 0.1 --precision 10 --quiet
  grep -Eq 'limited by queues, with --(connections 16|layout hybrid:[0-9]+x[0-9]+).*: confirmed$' "$WORK/out" ||
    fail "verified:" "$(tail -3 "$WORK/out")"
  jq -s -e '[.[] | select(.type == "verification")] | length == 1 and all(.gain > 1.3)' one.jsonl
}
