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
  sweep_points 'length == 8 and all(.status == "ok")' "${QUICK[@]}" --contexts own \
    -l threads:4,hybrid:2x4 --launch stream,graph --streams 1,3
}
