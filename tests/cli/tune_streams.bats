#!/usr/bin/env bats
# mpsweep tune where threads may have several streams, and the CPUs in use have a limit.

load helper
LOOKS_FOR_LEAKS=1

# A graph of 10 ms, of which the GPU runs 16 at a time.
export_machine() { export MPSWEEP_EMULATED_MACHINE=graph_kernel_ns=2000000,slots=16; }

PLAIN=(-m pinned --launch graph -b near --active-thread-percentage default -c default)
TUNE=(tune --device emulated --kernels 5 --bytes 64K --warmup 0.05 -q --rounds 3 --duration 0.3
  "${PLAIN[@]}")

# holds FILTER FILE: of the tune's record.
holds() {
  jq -c 'select(.type == "tune")' "$2" | jq -e "$1" >/dev/null ||
    fail "does not hold of $(jq -c 'select(.type == "tune")' "$2"): $1"
}

streams_win() {
  rm -f r.jsonl
  expect 0 "$MPSWEEP" "${TUNE[@]}" -l threads:1 --schedule auto --budget 20s -o r.jsonl &&
    holds '.winner.what | test("^threads 1×1×[1-9][0-9]*, ")' r.jsonl &&
    holds '.winner.throughput_ips > 500' r.jsonl # one stream: 100/s
}

@test "one thread with many streams, and the options that measure it again" {
  export_machine
  judged streams_win
  grep -qE '^best layout( so far,)? for throughput: threads 1×1×' out
  local again streams
  read -ra again <<<"$(jq -r 'select(.type == "tune") | .winner.options' r.jsonl)"
  streams=$(jq -r 'select(.type == "tune") | .winner.what' r.jsonl | sed 's/.*1×1×\([0-9]*\).*/\1/')
  [[ " ${again[*]} " == *" --streams $streams "* ]]
  expect 0 "$MPSWEEP" "${again[@]}" -q -o again.jsonl
  points "length == 1 and .[0].streams == $streams and .[0].launch == \"graph\"" again.jsonl
}

@test "streams that are given are kept to, and where they cannot be none are offered" {
  expect 0 "$MPSWEEP" tune --device emulated --list
  grep -q 'threads 1×1×64, pinned, graph$' out
  absent '×[0-9]*×[0-9]*, pinned, graph, block' out
  expect 0 "$MPSWEEP" tune --device emulated --list --streams 1
  absent '×[0-9]*×' out
  expect 0 "$MPSWEEP" tune --device emulated --list --streams 3 -l threads:2
  [ "$(grep -c 'threads 1×2×3' out)" -gt 1 ]
  expect 0 "$MPSWEEP" tune --device emulated --list -- /bin/true
  absent '×[0-9]*×' out
}

# -- CPUs ------------------------------------------------------------------------------------------

@test "a limit of the CPUs that no layout meets, and one that is met" {
  export_machine
  expect 4 "$MPSWEEP" "${TUNE[@]}" -l threads:1 --streams 2 --schedule spin --max-cpus 0.02 -o r.jsonl
  holds '.verdict == "none" and .winner == null and .constraints.max_cpus == 0.02' r.jsonl
  grep -q '^no layout was found that surely meets the constraints' out
  expect 0 "$MPSWEEP" "${TUNE[@]}" -l threads:1 --streams 2,4 --schedule auto --max-cpus 64 -o more.jsonl
  holds '.winner.cpus_in_use > 0 and .winner.cpus_in_use <= 64' more.jsonl
  grep -q '^CPUs in use: [0-9.]* (limit: 64)$' out
  grep -qE '^ +layout +iterations/s +95% +p99 ms +CPUs +share$' out
}

# The answer in r.jsonl with that in the place of `preferred`, printed again.
prints_preferred() {
  jq -c "if .type == \"tune\" then .preferred = $1 else . end" r.jsonl >p.jsonl
  expect 0 "$MPSWEEP" "${SMALL[@]}" -o p.jsonl --resume
  grep -qE "^$2$" out || fail "no line is '$2'" "$(cat out)"
}

@test "why one of several that are equal is the winner" {
  export_machine
  local SMALL=("${TUNE[@]}" -l threads:1 --streams "2,4" --schedule auto) other
  expect 0 "$MPSWEEP" "${SMALL[@]}" -o r.jsonl
  other=$(jq 'select(.type == "tune") | 1 - .winner.point' r.jsonl)
  prints_preferred "{for: \"cpus\", over: $other, equals: 2}" \
    'threads 1×1×[24], .* is as good: the best uses fewer CPUs \([0-9.]+ of [0-9.]+\)'
  prints_preferred "{for: \"p99\", over: $other, equals: 4}" \
    'threads 1×1×[24], .* and 2 others are as good: the best has the lower p99 \([0-9.]+ of [0-9.]+ ms\)'
  prints_preferred "{for: \"processes\", over: $other, equals: 3}" \
    'threads 1×1×[24], .* and 1 other are as good: the best takes fewer processes \(1 of 1\)'
}

@test "limits that make no sense are refused" {
  local tune=("$MPSWEEP" tune --device emulated -o no.jsonl) value
  for value in 0 -1 0.001 2000 many 1s; do
    refused "'$value' is not a value of max-cpus: it takes a number from 0.01 to 1024" \
      "${tune[@]}" "--max-cpus=$value"
  done
  refused "'0' is not a value of streams" "${tune[@]}" --streams 0
  refused "unknown option '--max-cpus'" "$MPSWEEP" sweep --device emulated --max-cpus 2
  [ ! -e no.jsonl ]
}
