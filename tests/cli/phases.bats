#!/usr/bin/env bats
# Where the time of an iteration goes: phases, single launch calls, CPU.

load helper

ALL_LAYOUTS=(-l threads:1,3 -l processes:2 -l processes+mps:2 -l hybrid:2x2)
# SMALL, but for the kernels.
TIMES=(--device emulated --duration 0.2 --warmup 0.1 --precision 50 --rounds 1)

@test "phases: histograms of each, which agree with their means and with the latency" {
  expect 0 "$MPSWEEP" sweep "${SMALL[@]}" "${ALL_LAYOUTS[@]}" -m pinned,pageable -q -o p.jsonl
  points 'length == 10' p.jsonl
  points 'all(.phases | keys == ["d2h", "h2d", "launch", "launch_call", "sync"])' p.jsonl
  points 'all(.phases[] | 0 < .mean and 0 < .p50 and .p50 <= .p99 and .samples > 0)' p.jsonl
  points 'all(.phases as $h | .phase_us | to_entries | all(.value == $h[.key].mean))' p.jsonl
  points 'all(.iterations as $n | .phases | [.h2d, .launch, .sync, .d2h] | all(.samples == $n))' \
    p.jsonl
  # They are what an iteration is made of, one after the other.
  points 'all(.latency_us.mean as $mean | .phases | [.h2d, .launch, .sync, .d2h]
    | map(.mean) | add | . <= $mean * 1.0001 and . >= $mean * 0.999)' p.jsonl
}

@test "single launch calls are samples of the launch phase" {
  expect 0 "$MPSWEEP" sweep "${TIMES[@]}" "${ALL_LAYOUTS[@]}" --kernels 2,50 -q -o p.jsonl
  points 'length == 10' p.jsonl
  # A call is a part of all calls, and not all of them are timed more than once.
  points 'all(.phases.launch_call.samples <= .iterations * .kernels)' p.jsonl
  points 'all(.phases | .launch_call.p50 <= .launch.p99)' p.jsonl
  points 'map(select(.kernels == 50)) | all(.phases | .launch_call.mean < .launch.mean)' p.jsonl
  # Of many calls, never more than 256 in an iteration.
  sweep_points 'all(.phases.launch_call.samples | . > 0) and
    all(.phases.launch_call.samples <= .iterations * 256)' "${TIMES[@]}" --kernels 1000 --spin 0 \
    -l threads:1,2
}

@test "where an iteration has one launch, the phase is the call" {
  expect 0 "$MPSWEEP" sweep "${SMALL[@]}" -l threads:2 -l processes+mps:2 --launch graph -q \
    -o graph.jsonl
  points 'all(.phases | .h2d == null and .d2h == null and .launch.samples > 0
    and .launch_call == .launch)' graph.jsonl
  points 'all(.per_worker | all(.h2d_us == null and .d2h_us == null and .launch_us > 0
    and .sync_us > 0))' graph.jsonl
  sweep_points 'all(.phases | .launch_call == .launch and .h2d.mean > 0)' "${TIMES[@]}" \
    --kernels 1 -l threads:2
}

@test "phases and CPU time of each worker, and the slowest one" {
  expect 0 "$MPSWEEP" sweep "${SMALL[@]}" "${ALL_LAYOUTS[@]}" -q -o p.jsonl
  points 'all(.per_worker | all(.h2d_us > 0 and .launch_us > 0 and .sync_us > 0 and .d2h_us > 0))' \
    p.jsonl
  # The whole lies between its parts.
  for phase in h2d launch sync d2h; do
    points "all((.per_worker | map(.${phase}_us)) as \$us | .phase_us.$phase
      | . >= (\$us | min) * 0.9999 and . <= (\$us | max) * 1.0001)" p.jsonl
  done
  points 'all((.per_worker | map(.cpu_us_per_iteration)) as $us | .cpu.us_per_iteration
    | . > 0 and . >= ($us | min) * 0.9999 and . <= ($us | max) * 1.0001)' p.jsonl
  points 'all(.cpu, .per_worker[] | .on_cpu > 0 and .on_cpu <= 1.0001 and .run_delay_us >= 0 and .voluntary_switches >= 0
    and .involuntary_switches >= 0)' p.jsonl
  points 'all((.per_worker | map(.ips) | min) as $least | .per_worker[.slowest_worker].ips == $least)' \
    p.jsonl
}

@test "several rounds: figures of all of them" {
  expect 0 "$MPSWEEP" sweep "${SMALL_ROUNDS[@]}" -l threads:2 --rounds 3 -q -o r.jsonl
  points 'all(.iterations as $n | .phases | [.h2d, .launch, .sync, .d2h] | all(.samples == $n))' \
    r.jsonl
  points 'all(.cpu.on_cpu > 0 and .cpu.on_cpu <= 1.0001)' r.jsonl
  # Kernels so long that timing each of their launches is next to nothing.
  expect 0 "$MPSWEEP" sweep --device emulated --kernels 5 --spin 30000 --warmup 0 --iterations 4 \
    --rounds 3 -l threads:1 -q -o f.jsonl
  points 'all(.phases.launch_call.samples == 3 * 4 * 5)' f.jsonl
  # per_worker is of the last round only.
  points 'all(.cpu.us_per_iteration != .per_worker[0].cpu_us_per_iteration)' f.jsonl
}

@test "who waits awake is on the CPU, who blocks is not, and gives it up each time" {
  # More workers than cores would have to wait for a CPU.
  judged sweep_points '(map({(.schedule): .cpu}) | add) as $cpu
    | $cpu.spin.on_cpu > 2 * $cpu.block.on_cpu and $cpu.yield.on_cpu > 2 * $cpu.block.on_cpu
    and $cpu.spin.us_per_iteration > 2 * $cpu.block.us_per_iteration
    and $cpu.block.voluntary_switches >= 0.9 and $cpu.spin.voluntary_switches < 0.5' \
    "${TIMES[@]}" --kernels 100 -l threads:1 --schedule spin,yield,block
}

@test "CPUs in use: what all workers compute, and not more than there are" {
  printf '[workload busy]\nstep = busy 2ms\nstep = kernel duration=200us\n' >busy.job
  local range=".cpu.in_use <= $(nproc --all) * 1.001"
  expect 0 "$MPSWEEP" sweep busy.job "${TIMES[@]:0:8}" -w busy -l threads:1,2 -l processes:2 \
    --rounds 2 -q -f csv -o b.jsonl --seed 0
  points 'length == 3 and all(.cpu.us_per_iteration >= 2000 and .in_flight == .workers)' b.jsonl
  points "all(.cpu.in_use > 0 and $range)" b.jsonl
  # In the table of the same numbers.
  diff <(awk -F, 'NR == 1 { while ($++at != "cpus_in_use"); next } { print $at }' out) \
    <(jq 'select(.type == "point" and (has("rounds_left") | not)).cpu.in_use' b.jsonl | awk '{ printf "%.4g\n", $1 }')
  # A process uses what its only worker does, and what its other threads do.
  points 'map(select(.threads == 1)) | length == 2 and
    all(.cpu.in_use >= 0.99 * .processes * .cpu.on_cpu)' b.jsonl
  sweep_points "length == 2 and all(.in_flight == .processes * 2 * 3 and .cpu.in_use > 0 and $range)" \
    "${TIMES[@]}" -l threads:2 -l hybrid:2x2 --streams 3
}
