#!/usr/bin/env bats
# Telemetry and its warnings, end to end: the emulated driver under the real one's name, so that
# mpsweep takes it for a GPU that NVML knows, and a fake NVML (tests/unit/device/fake_nvml.c).

load helper

# Of all warnings those that come from NVML: a busy machine makes windows unsteady, too.
OF_TELEMETRY='(.warnings | map(select(.kind == "throttled" or .kind == "neighbour")))'

# with_gpu WORDS COMMAND...: the fake NVML behaves as WORDS request.
with_gpu() {
  [ -e "$MPSWEEP_BUILD_DIR/tests/unit/device/fake_nvml_whole.so" ] || skip "built by make check with cmocka"
  mkdir -p lib bin
  ln -sf "$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so" lib/libcuda.so.1
  ln -sf "$MPSWEEP_BUILD_DIR/tests/unit/device/fake_nvml_whole.so" lib/libnvidia-ml.so.1
  ln -sf "$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control" bin/nvidia-cuda-mps-control
  env LD_LIBRARY_PATH="$WORK/lib" PATH="$WORK/bin:$PATH" FAKE_NVML="$1" "${@:2}"
}

# measure WORDS OPTIONS...: a sweep into x.jsonl, its table in out.
measure() {
  rm -f x.jsonl
  in_rounds "$@"
  expect 0 with_gpu "$1" "$MPSWEEP" sweep --kernels 20 --duration 0.2 --warmup 0.1 --precision 50 -q \
    "${ROUNDS[@]}" -o x.jsonl "${@:2}"
}

# warned KIND PATTERN: every point has such a warning, and the table one line with the text.
warned() {
  points "all(.warnings | map(select(.kind == \"$1\")) | length == 1 and (.[0].text | test(\"$2\")))" \
    x.jsonl
  [ "$(grep -cE "^warning  .*$2" out)" -eq 1 ]
}
unwarned() {
  points "all(.warnings | any(.kind == \"$1\") | not)" x.jsonl
}

@test "each point has the GPU's state in its windows, and the table has joules" {
  measure 'ours calm' -l threads:1,2 --schedule block
  head -1 x.jsonl | jq -e '.gpu.max_sm_clock_mhz == 2010 and .gpu.power_limit_w == 700'
  points 'all(.telemetry | .samples > 0 and .sm_clock_mhz == {min: 1980, mean: 1980, max: 1980} and
    .power_w.mean == 300 and .gpu_utilisation == 0 and .memory_used_bytes == 4194304 and
    .throttle == [] and .throttled_share == 0 and .energy_from == "counter" and .processes > 0 and
    (has("silent") | not))' x.jsonl
  points 'all((.telemetry.joules_per_iteration * .throughput_ips * .rounds[0].seconds) as $energy
    | .telemetry.energy_j | . > 0 and . > $energy * 0.999 and . < $energy * 1.001)' x.jsonl
  points "all($OF_TELEMETRY == [])" x.jsonl
  absent '^warning.*\(held down\|not ours\)' out
  grep -qE 'fair +J/iter$' out
  # Behind it there may be what a busy machine makes of a point.
  [ "$(grep -cE '^threads +1×[12] .* [01]\.[0-9]{2} +[0-9.]+(  [a-z].*)?$' out)" -eq 2 ]
  [ ! -s err ]
}

@test "csv has the telemetry, and nothing where there is none" {
  measure 'alone calm' -l threads:1 --format csv
  grep -q ',joules_per_iteration,power_w,sm_clock_mhz,emulated,error,id$' out
  grep -qE '^threads,.*,[0-9.e+-]+,300,1980,no,,0$' out
  expect 0 with_gpu 'alone calm no-driver' "$MPSWEEP" sweep "${TINY[@]:2}" -l threads:1 -q --format csv
  grep -qE '^threads,.*,[0-9.]+,,,,no,,0$' out
}

@test "rounds add up" {
  measure 'alone calm' -l threads:1 --rounds 3
  points 'all(.telemetry.samples >= 3 and
    (.telemetry.energy_j / .telemetry.joules_per_iteration) as $iterations |
    ([.rounds[] | .throughput_ips * .seconds] | add) as $counted |
    $iterations > $counted * 0.999 and $iterations < $counted * 1.001)' x.jsonl
}

@test "without the counter, power is integrated" {
  measure 'alone calm no-energy' -l threads:1
  points 'all(.telemetry.energy_from == "power" and
    (.telemetry.energy_j / .rounds[0].seconds | . > 299.9 and . < 300.1))' x.jsonl
}

@test "no NVML, or one without a driver: no telemetry, and not a word" {
  measure 'no-driver' -l threads:1
  points 'all(has("telemetry") | not)' x.jsonl
  [ ! -s err ]
  absent 'J/iter' out
}

@test "the emulated GPU has no telemetry of a real one" {
  measure 'busy stranger' -l threads:1 --device emulated
  points "all((has(\"telemetry\") | not) and $OF_TELEMETRY == [])" x.jsonl
  head -1 x.jsonl | jq -e '.gpu | has("max_sm_clock_mhz") | not'
  absent 'held down\|not ours\|J/iter' out
}

@test "NVML that does not answer is reported once, and not used" {
  measure 'hang' -l threads:1,2
  says 'NVML does not answer within 3 s: no telemetry$'
  points 'length == 2 and all(.throughput_ips > 0 and (has("telemetry") | not))' x.jsonl
}

@test "a clock that is held down" {
  measure 'ours' -l threads:1,2
  warned throttled 'held down all the time: power cap, hw thermal .limit 700 W.'
  points 'all(.telemetry.throttle == ["power cap", "hw thermal"])' x.jsonl
  unwarned neighbour
}

@test "neighbours: by their numbers, by the count, by what they did before" {
  measure 'ours calm stranger' -l threads:1
  warned neighbour '1 process that is not ours'
  measure 'far calm' -l threads:1
  unwarned neighbour
  points 'all(.telemetry.processes == 1)' x.jsonl
  measure 'far calm stranger' -l threads:1
  warned neighbour 'at least 1 process that is not ours'
  measure 'ours calm busy' -l threads:1
  warned neighbour '90% busy before the sweep'
  measure 'ours calm full' -l threads:1
  warned neighbour '40.0 GiB of the GPU.s memory'
}

@test "over MPS neither workers nor server are strangers" {
  measure 'ours calm' -l processes+mps:2 -l hybrid:2x2
  points 'all(.throughput_ips > 0)' x.jsonl
  unwarned neighbour
}

@test "more workers that spin than CPUs" {
  local cpu
  cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
  with_gpu "" true
  taskset() { command taskset -c "$cpu" "$@"; }
  expect 0 taskset env LD_LIBRARY_PATH="$WORK/lib" FAKE_NVML='alone calm' "$MPSWEEP" sweep \
    --kernels 20 --duration 0.2 --warmup 0.1 --precision 100 -q -o x.jsonl -l threads:2 \
    --schedule auto,spin,block
  points 'map({key: .schedule, value: (.warnings | any(.kind == "few-cores"))}) | from_entries ==
    {auto: true, spin: true, block: false}' x.jsonl
  [ "$(grep -cE "^warning .* more threads than the 1 CPU that .*; give '--schedule block'" out)" -eq 2 ]
}

@test "interrupted while NVML is asked: the results are whole, and nothing stays" {
  with_gpu 'ours calm' true
  start env LD_LIBRARY_PATH="$WORK/lib" FAKE_NVML='ours calm' "$MPSWEEP" sweep -l threads:1,2 \
    --duration 30 --max-duration 30 -q -o x.jsonl
  await $PATIENCE has_workers 1
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  assert_whole x.jsonl
}

@test "a search for iterations per joule continues where no naive layout can win" {
  expect 0 with_gpu 'alone calm' "$MPSWEEP" tune --objective ips-per-watt -l hybrid:2x2 -m pinned \
    --launch stream --streams 1 --schedule auto -b near -c default \
    --active-thread-percentage default \
    --kernels 20 --duration 0.2 --warmup 0.05 -q --rounds 2 --budget 60s -o x.jsonl
  jq -se 'map(select(.type == "tune"))[0] | .objective == "ips-per-watt" and .winner.value > 0
    and (.winner.what | test("^hybrid 2×2"))' x.jsonl
}

@test "a search for iterations per joule ends early where no power is reported" {
  expect 1 with_gpu 'alone calm no-energy no-power' "$MPSWEEP" tune --objective ips-per-watt \
    -l threads:1 --kernels 20 --duration 0.2 --warmup 0.05 -q --guide measuring --streams 1 --budget 300s
  says "objective 'ips-per-watt' needs the GPU's power, and NVML does not report it$"
}
