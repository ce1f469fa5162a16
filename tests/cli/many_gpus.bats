#!/usr/bin/env bats
# What is said of several GPUs: figures, comparison, explanation, tuning and deployments.

load helper

needs_gnuplot() { command -v gnuplot >/dev/null || skip "no gnuplot here"; }

# file NAME [HEADER-CHANGE] <<<POINTS: a results file. A line of POINTS is what differs from a plain
# point, as fields of a jq object; ids count from 0.
file() {
  local change=${2:-.}
  jq -nc "{type: \"header\", schema: 1, mpsweep: \"0.1.0\", started: \"2026-01-31T08:00:00Z\",
    host: \"h\", cpus: 16, driver: \"13.0\", gpu: {name: \"NVIDIA H200\", uuid: \"GPU-1\", emulated: false}}
    | $change" >"$1"
  jq -nc --arg text "$(cat)" '$text | split("\n") | map(select(. != "")) | to_entries[]
    | {id: .key, fields: (.value | fromjson)}
    | {type: "point", id: .id, layout: "threads", mps: false, processes: 1, threads: 1, memory: "pinned",
       sync: "stream", launch: "stream", schedule: "auto", connections: 8, connections_default: true,
       bind: "near", kernels: 220, blocks: 5, threads_per_block: 64, spin: 3072, bytes: 1441792,
       status: "ok", throughput_ips: 1000, ci95_rel: 0.001, error: null,
       latency_us: {p50: 1000, p90: 1100, p99: 1200, p999: null, max: 1300, mean: 1000},
       phase_us: {h2d: 20, launch: 660, sync: 200, d2h: 10}}
      + .fields | .workers = .processes * .threads * (.gpus // 1)
      | if .status != "ok" and .status != "unconverged"
        then del(.throughput_ips, .ci95_rel, .latency_us, .phase_us) else . end' >>"$1"
}

# draws FIGURE FILE [OPTIONS...]: as a.svg, without a word from gnuplot, and the data as a.gp.
draws() {
  local figure=$1 file=$2
  shift 2
  expect 0 "$MPSWEEP" plot "$file" --figure "$figure" -o a.svg "$@" || return 1
  [ ! -s err ] || return 1
  expect 0 "$MPSWEEP" plot "$file" --figure "$figure" -o a.gp "$@" || return 1
  gnuplot -c "$MPSWEEP_SOURCE_DIR/plots/$figure.gp" a.gp hand.svg 2>warnings 3>&- || return 1
  [ ! -s warnings ] || fail "gnuplot says:" "$(cat warnings)" || return 1
  cmp a.svg hand.svg || return 1
  tail -3 a.svg | grep -q '^</svg>'
}

# shows WORDS...: each stands in the picture.
shows() {
  local words
  for words in "$@"; do
    grep -qF -e "$words" a.svg || fail "not in the picture: $words" || return 1
  done
}

hides() { absent "$1" a.svg; }


# scales NAME [HEADER-CHANGE]: one layout on 1, 2 and 4 GPUs, over MPS with each choice of daemons, and
# one that has no point of one GPU. GPU 2 of four is slow.
scales() {
  file "$@" <<'P'
{"threads": 8, "throughput_ips": 1000, "ci95_rel": 0.003}
{"threads": 8, "throughput_ips": 1900, "ci95_rel": 0.004, "gpus": 2, "per_gpu": [{"gpu": 0, "uuid": "GPU-1", "throughput_ips": 960}, {"gpu": 1, "uuid": "GPU-2", "throughput_ips": 940}]}
{"threads": 8, "throughput_ips": 3000, "gpus": 4, "per_gpu": [{"gpu": 0, "throughput_ips": 800}, {"gpu": 1, "throughput_ips": 800}, {"gpu": 2, "throughput_ips": 600}, {"gpu": 3, "throughput_ips": 800}]}
{"layout": "processes+mps", "mps": true, "processes": 4, "throughput_ips": 500}
{"layout": "processes+mps", "mps": true, "processes": 4, "throughput_ips": 800, "gpus": 2, "mps_daemons": "shared"}
{"layout": "processes+mps", "mps": true, "processes": 4, "throughput_ips": 900, "gpus": 2, "mps_daemons": "per-gpu"}
{"threads": 16, "throughput_ips": 3000, "gpus": 2}
{"threads": 16, "gpus": 4, "status": "failed"}
P
}

@test "scaling: a curve a layout from one GPU on, with what so many times one would give" {
  needs_gnuplot
  scales r.jsonl
  draws scaling r.jsonl
  shows 'threads 1×8' 'processes+mps 4×1, one daemon' 'processes+mps 4×1, a daemon a GPU' ideal \
    'efficiency against one GPU (%)' '1 series without a point of one GPU' \
    'Not drawn: 1 failed (threads 1×16)'
  # One GPU, two and four of the same curve: 95% and 75%, the interval of both.
  grep -A5 -x 'ideal\[1\] = 1000' a.gp >curve
  grep -qx '1 1000 3 100 100 100' curve
  grep -qx '2 1900 7.6 95 94.525 95.475' curve
  grep -q '^4 3000 3 75 ' curve
  # Both choices of daemons begin with the same point of one GPU.
  [ "$(grep -c '^ideal\[[0-9]\] = 500$' a.gp)" -eq 2 ]
  grep -q '^2 800 0.8 80 ' a.gp
  grep -q '^2 900 0.9 90 ' a.gp
  # Nothing to be efficient against.
  grep -qx '2 3000 3 NaN NaN NaN' a.gp
  scales r.jsonl '.gpu.emulated = true'
  draws scaling r.jsonl
  shows 'EMULATED GPU'
}

@test "gpus: each beside the mean of its point, and the slow one named" {
  needs_gnuplot
  scales r.jsonl
  draws gpus r.jsonl
  shows 'threads 1×8, 2 GPUs' 'threads 1×8, 4 GPUs' 'GPU 3' '/s each, 2.1% apart' \
    '/s each, 26.7% apart: GPU 2 slow'
  hides '2.1% apart: GPU'
  grep -qx '2 2 -20' a.gp
  scales r.jsonl '.gpu.emulated = true'
  draws gpus r.jsonl
  shows '(EMULATED GPU)'
}

@test "results of one GPU have no figure of several" {
  file r.jsonl <<<'{}'
  refused "'r.jsonl' has no measured point of several GPUs" \
    "$MPSWEEP" plot r.jsonl --figure scaling -o a.svg
  refused "'r.jsonl' has no measured point of several GPUs" \
    "$MPSWEEP" plot r.jsonl --figure gpus -o a.svg
  [ ! -e a.svg ]
}

@test "figures and comparisons do not take two GPUs for one" {
  needs_gnuplot
  scales r.jsonl
  draws throughput r.jsonl
  shows 'threads, 2 GPUs' 'threads, 4 GPUs' 'processes+mps, 2 GPUs, one daemon'
  # Two files that differ in how many GPUs and daemons each point has share no other point.
  file base.jsonl <<'P'
{"threads": 8, "throughput_ips": 1000}
{"threads": 8, "throughput_ips": 1900, "gpus": 2}
{"layout": "processes+mps", "mps": true, "processes": 4, "gpus": 2, "mps_daemons": "shared"}
P
  file new.jsonl <<'P'
{"threads": 8, "throughput_ips": 1900, "gpus": 2}
{"threads": 8, "throughput_ips": 1000, "gpus": 1}
{"layout": "processes+mps", "mps": true, "processes": 4, "gpus": 2, "mps_daemons": "per-gpu"}
P
  expect 0 "$MPSWEEP" compare base.jsonl new.jsonl
  [ "$(tail -1 out)" = "0 worse, 0 better, 2 same, 0 unsure; 1 only in BASE, 1 only in NEW" ]
  grep -q '^only in BASE: processes+mps 4×1, 2 GPUs, one daemon' out
}
