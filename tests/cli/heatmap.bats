#!/usr/bin/env bats
# The heat maps of `mpsweep plot`, from results made by hand.

load helper
load figures

@test "heatmap: P×T over MPS with its borders, and what could not be measured" {
  needs_gnuplot
  file r.jsonl <<'P'
{"layout": "threads+mps", "mps": true, "threads": 4, "throughput_ips": 571}
{"layout": "processes+mps", "mps": true, "processes": 8, "throughput_ips": 1906}
{"layout": "hybrid", "mps": true, "processes": 8, "threads": 4, "throughput_ips": 3936.4}
{"layout": "hybrid", "mps": true, "processes": 16, "threads": 4, "status": "infeasible"}
{"layout": "hybrid", "mps": true, "processes": 16, "threads": 2, "status": "failed"}
{"layout": "hybrid", "mps": true, "processes": 8, "threads": 4, "memory": "pageable", "throughput_ips": 77}
{"layout": "threads", "threads": 4, "throughput_ips": 88}
{"layout": "hybrid", "mps": true, "processes": 8, "threads": 4, "throughput_ips": 99}
P
  draws heatmap r.jsonl
  shows processes 'threads a process' 3936 1906 571.0 '×' 'Hatched' 'Over MPS' 'Not drawn: 2 of other settings' \
    '1 cell measured more than once'
  grep -qx '2 3 3936.4 3936 ×1' a.gp
  grep -qx '3 3 -1 × ×1' a.gp
  grep -qx '3 2 -1 ! ×1' a.gp
  hides '>77'
  hides '>×1'
  # Without MPS the same, and a map of one cell.
  file r.jsonl <<<'{}'
  draws heatmap r.jsonl
  shows 'Without MPS'
  hides Hatched
  file r.jsonl <<<'{"throughput_ips": 0}'
  draws heatmap r.jsonl
}

@test "heatmap: the map of the best, or what is missing of it" {
  needs_gnuplot
  local maps='{"throughput_ips": 1}
{"layout": "processes", "processes": 2, "throughput_ips": 2}
{"layout": "hybrid-timesliced", "processes": 2, "threads": 2, "throughput_ips": 3}
{"layout": "hybrid-timesliced", "processes": 2, "threads": 4, "throughput_ips": 4}
{"layout": "hybrid-timesliced", "processes": 4, "threads": 4, "throughput_ips": 5}
{"layout": "processes+mps", "mps": true, "processes": 2, "throughput_ips": 50}
{"layout": "processes+mps", "mps": true, "processes": 4, "throughput_ips": 60}'
  file r.jsonl <<<"$maps"
  draws heatmap r.jsonl
  shows 'Without MPS' 'Not drawn: 2 of other settings, among them the best,' 'processes+mps 4×1 with 60.00'
  file r.jsonl <<<"$maps"$'\n{"layout": "processes+mps", "mps": true, "processes": 8, "throughput_ips": 70}
{"layout": "processes+mps", "mps": true, "processes": 16, "throughput_ips": 55}'
  draws heatmap r.jsonl
  grep -qF 'Not drawn: 5 of other settings.' a.gp
  shows 'Over MPS'
  # The winner of a tune need not have the highest number.
  echo '{"type":"tune","winner":{"point":3}}' >>r.jsonl
  draws heatmap r.jsonl
  grep -qF 'Not drawn: 4 of other settings.' a.gp
  shows 'Without MPS'
}

@test "heatmap: the fewest streams that reach a cell's best" {
  needs_gnuplot
  file r.jsonl <<'P'
{"throughput_ips": 290}
{"streams": 128, "throughput_ips": 19000}
{"streams": 96, "throughput_ips": 18811}
{"streams": 64, "throughput_ips": 16400}
{"streams": 200, "status": "infeasible"}
{"threads": 2, "streams": 8, "throughput_ips": 5000}
{"threads": 2, "streams": 8, "throughput_ips": 6000}
{"threads": 4, "streams": 2, "status": "failed"}
{"threads": 4, "status": "infeasible"}
P
  draws heatmap r.jsonl
  shows 'processes, threads and streams' 18811 '×96' 5000 '×8' \
    "the fewest within 1% of the cell's best" '1 cell measured more than once'
  hides 'Not drawn'
  diff - <(sed -n '/^\$cells/,/^EOD/p' a.gp | sed '1d;$d' | sort) <<'C'
1 1 18811 18811 ×96
1 2 5000 5000 ×8
1 3 -1 × ×1
C
}

@test "heatmap: a map of few rows has few numbers beside its colours" {
  needs_gnuplot
  file r.jsonl <<<'{"throughput_ips": 19000}'
  draws heatmap r.jsonl
  shows '>5000<' '>15000<'
  hides '>2000<'
}

@test "heatmap: of few cells, the first of which has no figure" {
  file r.jsonl <<<'{"status": "failed", "threads": 1}
{"threads": 2}'
  expect 0 "$MPSWEEP" plot r.jsonl --figure heatmap -o r.gp
  grep -q 'Throughput by processes and threads (iterations/s)' r.gp
}

@test "heatmap: numbers that have no room stay out of cells and axis" {
  needs_gnuplot
  local forum=$MPSWEEP_SOURCE_DIR/docs/results/h200-forum.jsonl
  draws heatmap "$forum"
  shows '>4020<' '>28<'
  draws heatmap "$forum" --width 84mm
  hides '>4020<'
  hides '>10<'
  shows '>1<' '>4<' '>8<' '>28<' '>4000<'
}
