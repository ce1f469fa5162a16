# shellcheck shell=bash
# For tests of figures: results made by hand, and what a picture shows.

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
      + .fields | .workers = .processes * .threads * (.streams // 1) * (.gpus // 1)
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

# explained FILE: what explain would print of it, with some ceilings.
explained() {
  jq -sc '[.[] | select(.type == "point" and .throughput_ips) | {id, layout, processes, threads,
    predicted_ips: 2000, limited_by: "queues", ceilings: [
      {name: "queues", title: "hardware queues", ips: 2000.0, binding: true},
      {name: "arithmetic", title: "arithmetic", ips: 19000.5, binding: false}]}]' "$1"
}
