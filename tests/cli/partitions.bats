#!/usr/bin/env bats
# Multiprocessors of its own for each thread of a process: green contexts. The emulated GPU has 32.

load helper

FEW=(--device emulated --kernels 5 --bytes 64K --warmup 0.02 --precision 100 --duration 0.3
  --max-duration 9 --rounds 1)

@test "each thread's kernels run on its own multiprocessors, and on as many as it was given" {
  sweep_points 'length == 4 and all(measured and
    ([.per_worker[].multiprocessors] == ["0-7", "8-15", "16-23", "24-31"]))' "${FEW[@]}" \
    -l threads:4 --sm-partition 8 --launch stream,graph --memory pinned,pageable
  sweep_points 'length == 1 and all(measured and .sm_partition == [8, 24] and
    ([.per_worker[].multiprocessors] == ["0-7", "8-31"]))' "${FEW[@]}" -l threads:2 \
    --sm-partition 8/24
  # Processes take turns, and may have the same ones; the streams of a thread share its part.
  sweep_points 'length == 1 and all(measured and ([.per_worker[].multiprocessors] ==
    ["0-7", "0-7", "8-31", "8-31", "0-7", "0-7", "8-31", "8-31"]))' "${FEW[@]}" \
    -l hybrid-timesliced:2x2 --sm-partition 8/24 --streams 2
  printf '%s\n' '[workload mixed]' 'step = copy-in 16K' 'step = kernel duration=200us' \
    'step = copy-out 16K' >w.job
  sweep_points 'length == 1 and all(measured and .per_worker[1].multiprocessors == "16-31")' \
    w.job "${FEW[@]}" -l threads:2 -w mixed --sm-partition 16
  sweep_points 'length == 1 and all(measured)' "${FEW[@]}" -l threads:2 -w delay --sm-partition 16
}

@test "a part of the multiprocessors does its part of the work" {
  printf '%s\n' '[workload wide]' 'step = copy-in 64K' \
    'step = kernel blocks=160 threads=64 duration=500us count=4' 'step = copy-out 64K' >w.job
  judged sweep_points '.[0].throughput_ips > 2 * .[1].throughput_ips' w.job --device emulated \
    -w wide -t 0.5 -l threads:1 --sm-partition default,8
}

@test "parts that overlap fail the point: the two workers and a multiprocessor are named" {
  MPSWEEP_EMULATED_FAULT='cuDevSmResourceSplitByCount=corrupt' \
    expect 2 "$MPSWEEP" sweep "${FEW[@]}" -l threads:3 --sm-partition 8 -q -o r.jsonl
  points 'all(.status == "failed" and .throughput_ips == null and .error ==
    "worker 0 of 3 and worker 1 of 3 have kernels on the same multiprocessor 0: their partitions overlap")' \
    r.jsonl
}

@test "what GPU, driver or MPS cannot give is infeasible, with a reason, and the sweep continues" {
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:4,threads+mps:4 --sm-partition 8,16,12,64 -q \
    --seed 0 -o r.jsonl
  points 'map(outcome) == ["measured", "infeasible", "infeasible", "infeasible",
    "infeasible", "infeasible", "infeasible", "infeasible"]' r.jsonl
  points '.[1].error | test("takes 64 multiprocessors, and this GPU has 32 to give in parts of 16")' \
    r.jsonl
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:4,threads+mps:4 --sm-partition 8,16 --dry-run
  grep -q '^plan:     4 points, 2 of them infeasible, about ' out
  [ "$(grep -c 'threads+mps .*	infeasible: sm-partition: MPS does not keep partitions apart' out)" -eq 2 ]
  points '.[2].error | test("has no parts of 12 multiprocessors, but of 16")' r.jsonl
  points '.[3].error | test("has no parts of 64 multiprocessors, but 32 in all")' r.jsonl
  points '.[4:] | all(.error | test("MPS does not keep partitions apart"))' r.jsonl
  MPSWEEP_EMULATED_FAULT='cuDeviceGetDevResource=error:801' \
    expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --sm-partition 8 -q -o old.jsonl
  points 'all(outcome == "infeasible" and (.error |
    test("sm-partition: cuDeviceGetDevResource: CUDA_ERROR_NOT_SUPPORTED")))' old.jsonl
  MPSWEEP_EMULATED_FAULT='cuGreenCtxCreate#2=error:2' \
    expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --sm-partition 8 -q -o full.jsonl
  points 'all(outcome == "infeasible" and (.error | test("cuGreenCtxCreate: CUDA_ERROR_OUT_OF")))' \
    full.jsonl
}

@test "points that differ in partitions alone share their processes, and are continued as they were" {
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --sm-partition default,8,8/16 -q -o r.jsonl
  points 'map(.reused) | sort == [null, true, true]' r.jsonl
  points 'map(.sm_partition) == [null, 8, [8, 16]]' r.jsonl
  head -2 r.jsonl >cut.jsonl
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --sm-partition default,8,8/16 -q --resume \
    -o cut.jsonl
  points 'length == 3 and all(measured)' cut.jsonl
  refused 'holds another plan' "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --sm-partition 8 -q \
    --resume -o cut.jsonl
}

@test "how tables, labels, CSV and comparisons show it; points that cannot differ are one" {
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --sm-partition default,8/16 -q -o r.jsonl
  grep -q '^layout *P×T *SMs ' out
  grep -qE '^threads +1×2 +8/16 ' out
  expect 0 "$MPSWEEP" compare r.jsonl r.jsonl
  grep -qE '^threads +1×2 +8/16 ' out
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --sm-partition 8,8/8,8/8/16 \
    --contexts shared,own --list
  [ "$(wc -l <out)" -eq 1 ]
  grep -q 'threads 1×2, 8 SMs a thread, ' out
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --sm-partition 8 --list \
    -w "$MPSWEEP_BUILD_DIR/examples/plugin/skeleton.so"
  absent SMs out
}

@test "wrong values, and commands that have no use for them" {
  refused "sm-partition '8/default' leaves a thread without a number" "$MPSWEEP" sweep "${FEW[@]}" \
    -l threads:2 --sm-partition 8/default
  refused "'0' is not a value of sm-partition.*several threads" "$MPSWEEP" sweep "${FEW[@]}" \
    --sm-partition 8/0
  refused "sm-partition is the program's own business" "$MPSWEEP" sweep --device emulated \
    -l threads:2 --sm-partition 8 -- true
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --sm-partition 8 -q -o r.jsonl
  refused 'has a partition for each thread' "$MPSWEEP" emit r.jsonl --point 0 --format env -o d
  refused 'a context or a partition for each thread' "$MPSWEEP" explain r.jsonl
}

@test "examples/partitions.job: four ways to share, and what each of the two workloads gets" {
  # Kernels that are long enough for a machine that is slow to launch them.
  sed 's|^sm-partition = .*|sm-partition = 24/8|; s|duration=20us|duration=100us|' \
    "$MPSWEEP_SOURCE_DIR/examples/partitions.job" >p.job
  grep -q '24/8' p.job
  grep -q 'duration=100us' p.job
  expect 0 "$MPSWEEP" sweep p.job --device emulated --duration 0.3 --warmup 0.05 --precision 100 \
    --max-duration 9 -q -o r.jsonl
  points 'map(.section) | unique == ["partitions", "priorities", "shared", "shares"]' r.jsonl
  points 'all(measured and (.workloads | map(.name) == ["batch", "online"]) and
    (.workloads | all(.throughput_ips > 0 and .latency_us.p99 > 0)))' r.jsonl
  points 'map(select(.section == "partitions")) | all([.per_worker[].multiprocessors] == ["0-23", "24-31"])' \
    r.jsonl
}
