#!/usr/bin/env bats
# mpsweep trace on a real GPU, with the CUDA Toolkit's CUPTI. About a minute.

load helper

EXAMPLE=$MPSWEEP_SOURCE_DIR/examples/delay-trace.job

# holds FILTER: of t.json, with its slices, calls and work by name.
holds() {
  jq -e '(.traceEvents | map(select(.ph == "X"))) as $slices |
    ($slices | map(select(.cat == "driver" or .cat == "runtime"))) as $calls |
    ($slices | map(select(.cat | IN("kernel", "copy", "set")))) as $work | '"$1" t.json >/dev/null ||
    fail "does not hold: $1" "$(jq -c .otherData t.json)"
}

has_cupti() {
  "$MPSWEEP_BUILD_DIR/mpsweep-worker" --cupti-check ${MPSWEEP_CUPTI:+--cupti "$MPSWEEP_CUPTI"} >/dev/null 2>&1 ||
    skip "no CUPTI here"
}

# What has been recorded is all there, and on one clock.
complete() {
  holds '.otherData.summary | .dropped == 0 and .after_full == 0'
  holds '(.traceEvents | map(select(.ph == "f")) | length) == ($work | length)'
  holds '$slices | all(.ts >= 0 and .dur >= 0 and .ts < 60e6)'
}

@test "layouts with and without MPS: each kernel has its call, and runs after it" {
  real
  has_cupti
  local layout
  for layout in threads:4 processes:2 processes+mps:4 hybrid:2x2; do
    rm -f t.json
    expect 0 "$MPSWEEP" trace -q -l $layout --kernels 20 --iterations 10 -o t.json
    complete
    # 20 kernels and 2 copies of each of 10 iterations of each worker.
    holds '(.otherData | .processes * .threads) as $workers |
      ([$work[] | select(.cat == "kernel")] | length) == 200 * $workers and
      ([$work[] | select(.cat == "copy")] | length) == 20 * $workers'
    # No kernel begins before its call: two microseconds for what clocks of CPU and GPU differ by.
    holds '(.traceEvents | map(select(.ph == "s")) | INDEX(.id)) as $from |
      [.traceEvents[] | select(.ph == "f") | .ts - $from[.id | tostring].ts] | min > -2'
  done
}

@test "graphs: a call and many kernels" {
  real
  has_cupti
  expect 0 "$MPSWEEP" trace -q -l threads:2 --launch graph --kernels 20 --iterations 10 -o t.json
  complete
  holds '[$calls[] | select(.name | test("^cuGraphLaunch"))] | length == 20'
  holds '[$work[] | select(.cat == "kernel")] | length == 400'
}

# cuFFT's kernels are C++; which it takes is its own affair.
@test "a plug-in: kernels of C++ have readable names, and keep their symbols" {
  real
  has_cupti
  [ -e "$MPSWEEP_BUILD_DIR/examples/plugin/fft.so" ] || skip "cuFFT was not found by configure"
  expect 0 "$MPSWEEP" trace -q -w "$MPSWEEP_BUILD_DIR/examples/plugin/fft.so" --workload-options '1024 64' \
    -l threads:2 --iterations 10 -o t.json --print gpu-trace
  complete
  holds '[$work[] | select(.cat == "kernel")] | length > 0 and all(.name | startswith("_Z") | not)'
  holds '[$work[].args.symbol | select(. != null)] | length > 0 and all(startswith("_Z"))'
  absent ' _Z[0-9A-Z]' out
}

# What this driver does is for the reader to see: it is printed.
@test "the example: transfers to pageable memory are judged, and there are none with pinned" {
  real
  has_cupti
  expect 0 "$MPSWEEP" trace "$EXAMPLE" -q --point nosync --print api-trace -o t.json
  complete
  holds '.otherData.summary.pageable | .crossed >= 3 and (.verdict | test("complete in issue order"))'
  echo "# $(grep -A 1 'transfers to' out)" >&3
  rm t.json
  expect 0 "$MPSWEEP" trace "$EXAMPLE" -q --point sync -o t.json
  holds '.otherData.summary.pageable | .waited == 0'
  rm t.json
  expect 0 "$MPSWEEP" trace "$EXAMPLE" -q --point pinned -o t.json
  holds '.otherData.summary.pageable | .copies == 0'
}

@test "a program of the user's, over MPS and not" {
  real
  has_cupti
  local layout program=$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program
  for layout in processes:2 processes+mps:2; do
    rm -f t.json
    expect 0 "$MPSWEEP" trace -q -l $layout --iterations 10 -o t.json -- "$program" \
      in:65536 kernel:4x128:20000:3 sync out:4096
    complete
    holds '[$work[] | select(.cat == "kernel")] | length == 60'
    holds '[$work[] | select(.cat == "copy")] | length == 40'
    holds '[.traceEvents[] | select(.cat == "iteration")] | length == 40'
  done
}

@test "what a program does is recorded as a workload that takes as long" {
  real
  has_cupti
  expect 0 "$MPSWEEP" record -q -o mine.job -- "$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program" \
    in:1048576 kernel:4x128:200000:3 sync busy:500 out:65536
  [ "$(sed -nE 's/^step = //; T; s/(duration=|busy )[0-9.]+[mu]s/\1T/; p' mine.job)" = 'copy-in 1M
kernel blocks=4 threads=128 duration=T count=3
synchronize
busy T
copy-out 64K' ] || fail "the steps are:" "$(cat mine.job)"
  awk '/^replay / { off = $NF + 0; found = off > -10 && off < 10 } END { exit !found }' out ||
    fail "the replay is not like it" "$(cat out)"
}
