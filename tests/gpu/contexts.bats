#!/usr/bin/env bats
# Contexts and partitions of threads on a real GPU.

load helper

QUICK=(--duration 0.5 --warmup 0.2 --precision 50)

@test "16 threads over MPS do three times as much with contexts of their own" {
  real
  sweep_points 'length == 2 and all(.status == "ok" and .attached == {expected: 1, seen: 1}) and
    .[1].contexts == "own" and .[1].throughput_ips >= 3 * .[0].throughput_ips' \
    "${QUICK[@]}" -l threads+mps:16 --contexts shared,own
}

@test "own contexts: every launch, several streams, and processes beside each other" {
  real
  sweep_points 'length == 8 and all(measured)' "${QUICK[@]}" --contexts own \
    -l threads:4,hybrid:2x4 --launch stream,graph --streams 1,3
}

@test "partitions: no two threads have kernels on the same multiprocessor, and none on too many" {
  real
  sweep_points 'length == 12 and all(measured) and all(
    [.per_worker[] | .multiprocessors | split(",") | map(split("-") | map(tonumber) |
      [range(.[0]; (.[1] // .[0]) + 1)]) | add] as $sets |
    .sms as $all | (.sm_partition // 0) as $each |
    ($sets | add | length == (unique | length) and length <= $all) and
    all($sets[]; length > 0 and length <= $each))' \
    "${QUICK[@]}" -l threads:2,4,8 --sm-partition 8,16 --launch stream,graph
  sweep_points 'length == 1 and all(.status == "ok" and .sm_partition == [112, 16])' "${QUICK[@]}" \
    -l threads:2 --sm-partition 112/16 --streams 2
}

@test "partitions that the GPU does not have, or that MPS would not keep apart, are infeasible" {
  real
  sweep_points 'length == 4 and all(.status == "infeasible")' "${QUICK[@]}" \
    -l threads:32,threads+mps:2 --sm-partition 7,16
}
