#!/usr/bin/env bats
# Workload plug-ins on a real GPU: the driver's own calls, and a library of CUDA's.

load helper

QUICK=(--duration 0.3 --warmup 0.1 --precision 50)
LAYOUTS=(-l threads:1,4 -l processes:2 -l processes+mps:4 -l hybrid:2x2 --launch stream,graph \
  --streams 1,3)

# every FILE OPTIONS: each layout is measured, polled or not, and no leak is reported.
every() {
  sweep_points 'length == 20 and all(.status == "ok" and .throughput_ips > 0 and .cuda_error == 0
    and ([.warnings[] | select(.kind == "leak")] == []))' \
    "${QUICK[@]}" "${LAYOUTS[@]}" -w "$1" --workload-options "$2"
}

@test "the skeleton in every layout" {
  real
  every "$MPSWEEP_BUILD_DIR/examples/plugin/skeleton.so" kib=1024
}

@test "cuFFT in every layout" {
  real
  [ -e "$MPSWEEP_BUILD_DIR/examples/plugin/fft.so" ] || skip "cuFFT was not found by configure"
  every "$MPSWEEP_BUILD_DIR/examples/plugin/fft.so" '1024 64'
}

@test "a kernel of one's own in every layout" {
  real
  [ -e "$MPSWEEP_BUILD_DIR/examples/plugin/kernel.so" ] || skip "configure found no nvcc that links"
  every "$MPSWEEP_BUILD_DIR/examples/plugin/kernel.so" '65536 100'
}

@test "a leak of GPU memory is seen" {
  real
  sweep_points 'all(.status == "ok" and ([.warnings[] | select(.kind == "leak") | .text
    | test("64 MiB of GPU memory")] | any))' "${QUICK[@]}" \
    -w "$MPSWEEP_BUILD_DIR/tests/fakes/plugins/faulty.so" --workload-options init:leak-device -l threads:1
}
