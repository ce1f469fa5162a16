#!/usr/bin/env bats
# The figure of ceilings of `mpsweep plot`, from results made by hand and what explain prints of them.

load helper
load figures

@test "ceilings: measured beside what was possible, and which one binds" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 8}
{"threads": 16, "throughput_ips": 1990}
{"threads": 32, "status": "infeasible"}
P
  explained r.jsonl >e.json
  draws ceilings r.jsonl --explained e.json
  shows measured 'hardware queues' arithmetic 'threads 1×16' 'Not drawn: 1 infeasible (threads 1×32)'
  grep -qx '1 2000 1 1' a.gp
  grep -qx '1 19000.5 2 0' a.gp
  grep -qx "binding\[2\] = 'hardware queues'" a.gp
  # As an object with the points in it, of some points, without titles.
  jq -c '{points: [.[0] | .ceilings |= map(del(.title))]}' e.json >o.json
  draws ceilings r.jsonl --explained o.json
  shows queues '1 without ceilings (threads 1×16)'
  # What is wrong with the other file.
  refused "'none.json' is not what 'mpsweep explain --format json' prints" \
    "$MPSWEEP" plot r.jsonl --figure ceilings --explained none.json -o b.svg
  refused "'r.jsonl' is not what 'mpsweep explain --format json' prints" \
    "$MPSWEEP" plot r.jsonl --figure ceilings --explained r.jsonl -o b.svg
  echo '{"a": 1}' >bad.json
  refused "'bad.json' is not what .* no array of points" \
    "$MPSWEEP" plot r.jsonl --figure ceilings --explained bad.json -o b.svg
  echo '[]' >bad.json
  refused "'r.jsonl' has no measured point with ceilings" \
    "$MPSWEEP" plot r.jsonl --figure ceilings --explained bad.json -o b.svg
  jq -c '.[1].threads = 5' e.json >bad.json
  refused "the explanations are not of 'r.jsonl': point 1 is another one there" \
    "$MPSWEEP" plot r.jsonl --figure ceilings --explained bad.json -o b.svg
  [ ! -e b.svg ]
}

@test "ceilings: computed from the calibration in the results" {
  needs_gnuplot
  local published=$MPSWEEP_SOURCE_DIR/docs/results/h200-rounds.jsonl
  refused "'$published' has no calibration for its points: 'mpsweep explain $published' makes" \
    "$MPSWEEP" plot "$published" --figure ceilings -o b.svg
  [ ! -e b.svg ]
  jq -nc '{type: "calibration", work: {workload: "builtin", kernels: 220, blocks: 5,
    threads_per_block: 64, spin: 3072, bytes: 1441792, delay_cycles: 0},
    single_stream_ips: 282.6, process_launches_per_s: 1.004e6, gpu_launches_per_s: 1.008e6,
    arithmetic_ips: 19154}' | cat "$published" - >r.jsonl
  draws ceilings r.jsonl
  shows 'hardware queues, 86%' 'launch rate of the GPU, 85%' 'launch path of a process'
  # As in explain.
  mv a.gp computed.gp
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  mv out e.json
  draws ceilings r.jsonl --explained e.json
  cmp a.gp computed.gp
  expect 0 "$MPSWEEP" plot r.jsonl --figure all -o all
  [ -s all/ceilings.svg ]
}

@test "ceilings: one looks the same in every figure" {
  needs_gnuplot
  local order
  file r.jsonl <<<'{}'
  for order in . reverse; do
    jq -nc '[{id: 0, ceilings: [
      {name: "other", ips: 9000}, {name: "queues", title: "hardware queues", ips: 1200, binding: true},
      {name: "arithmetic", title: "arithmetic", ips: 1300}]
      | '$order'}]' >e.json
    draws ceilings r.jsonl --explained e.json
    grep -A1 "^names.*'hardware queues'$" a.gp | grep '^marks\[.\] = 5$'
    grep -A1 "^names.*'arithmetic'$" a.gp | grep '^marks\[.\] = 4$'
  done
  # Every kind has a mark of its own, once.
  sed -n 's/^    \[CEILING_.* = {"\([a-z-]*\)".*/\1/p' "$MPSWEEP_SOURCE_DIR/explain/ceilings.c" >kinds
  [ "$(wc -l <kinds)" -ge 16 ]
  diff <(sort kinds) <(sed -n '/marked\[\] = /,/};/p' "$MPSWEEP_SOURCE_DIR/orchestrator/plot/ceilings.c" |
    grep -o '"[a-z-]*"' | tr -d '"' | sort)
  # As many shapes as gnuplot has beside the dot, and no third ceiling of one.
  sed -n 's/^array shapes\[16\] = \[\(.*\)\]$/\1/p' "$MPSWEEP_SOURCE_DIR/plots/ceilings.gp" | tr -d ' ' | tr , '\n' >shapes
  [ "$(head -14 shapes | sort -nu | tr '\n' ' ')" = '1 2 3 4 5 6 8 9 10 11 12 13 14 15 ' ]
  [ "$(wc -l <shapes)" -eq 16 ]
  [ "$(sort shapes | uniq -c | sort -n | awk 'END { print $1 }')" -eq 2 ]
}

@test "ceilings: beside the one that binds stands the lowest of the others alone" {
  needs_gnuplot
  file r.jsonl <<'P'
{"throughput_ips": 900}
{"threads": 2, "throughput_ips": 900}
{"threads": 3, "throughput_ips": 900}
P
  jq -nc '[[1500, 1200], [800, 3000], [11000, 12000]] | [to_entries[] | {id: .key, ceilings: [
    {name: "cpus", title: "CPUs", ips: .value[0]}, {name: "queues", title: "queues", ips: 1000, binding: true},
    {name: "arithmetic", title: "arithmetic", ips: .value[1]}]}]' >e.json
  draws ceilings r.jsonl --explained e.json
  # It may be below the one that binds; far above that it is left out.
  diff - <(sed -n '/^\$ceilings/,/^EOD/p' a.gp | sed '1d;$d') <<'C'
1 1000 1 1
1 1200 2 0
2 800 3 0
2 1000 1 1
3 1000 1 1
C
  grep -qF 'Mark: the lowest of the other ceilings' a.gp
}

@test "ceilings: numbers below it have room on less than a decade" {
  needs_gnuplot
  draws ceilings "$MPSWEEP_SOURCE_DIR/docs/results/h200-x4-tune.jsonl"
  shows '>20000<' '>50000<' '>100000<'
  hides '>40000<'
  hides '>80000<'
}

@test "ceilings: fields of any type, more names than marks" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 1}
{"threads": 2}
P
  cat >e.json <<'J'
[3, null, {"id": 1.5}, {"id": 0, "ceilings": [1, {"name": "ü'☃", "ips": 1e12, "binding": true}, {"name": 5, "ips": 7},
  {"name": "zero", "ips": 0}, {"name": "text", "ips": "x"}]}, {"id": 1, "limited_by": 7, "ceilings": {"a": 1}}]
J
  draws ceilings r.jsonl --explained e.json
  shows "ü" '1 without ceilings'
  # Numbers of the axis meet each other nowhere.
  jq -nc '[{id: 0, ceilings: [{name: "far", ips: 9000}]}, {id: 1, ceilings: [{name: "high", ips: 1e12}]}]' >far.json
  draws ceilings r.jsonl --explained far.json
  hides '>10000<'
  file r.jsonl <<<"$(for i in {1..40}; do echo "{\"threads\": $i}"; done)"
  jq -nc '[range(40) | {id: ., ceilings: [{name: "c\(.)", ips: (100 + .), binding: true}]}]' >e.json
  draws ceilings r.jsonl --explained e.json
  shows c0 c15 c39
  grep -qx 'n_names = 16' a.gp
}
