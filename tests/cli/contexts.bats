#!/usr/bin/env bats
# One CUDA context for all threads of a process, or one for each.

load helper

FEW=(--device emulated --kernels 5 --bytes 64K --warmup 0.02 --precision 100 --duration 0.3
  --max-duration 9 --rounds 1)

@test "own contexts in every kind of layout, launch, memory and workload: all outputs are right" {
  printf '%s\n' '[workload mixed]' 'step = copy-in 16K' 'step = kernel duration=200us' \
    'step = copy-out 16K' >w.job
  sweep_points 'length == 8 and all(measured and .contexts == "own")' "${FEW[@]}" --contexts own \
    -l threads:3,threads+mps:3 --launch stream,graph --memory pinned,pageable
  sweep_points 'length == 2 and all(measured and .attached.seen == .attached.expected)' "${FEW[@]}" \
    --contexts own -l hybrid:2x2,hybrid-timesliced:2x2 --streams 3
  sweep_points 'length == 2 and all(measured)' "${FEW[@]}" --contexts own -l threads:2 -w delay \
    --streams 1,3
  sweep_points 'length == 2 and all(measured)' w.job "${FEW[@]}" --contexts own \
    -l threads:2,threads+mps:2 -w mixed
}

@test "how records, tables, labels, CSV and comparisons show it; without it nothing changes" {
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --contexts shared,own -q -o r.jsonl
  grep -q '^layout *P×T *contexts ' out
  grep -qE '^threads +1×2 +own ' out
  points 'map(.contexts) == [null, "own"]' r.jsonl
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --contexts shared,own --list
  grep -q 'threads 1×2, own contexts, ' out
  expect 0 "$MPSWEEP" compare r.jsonl r.jsonl
  grep -qE '^threads +1×2 +own ' out
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --contexts own -q -f csv -o c.jsonl
  grep -q '^layout,processes,threads,workers,contexts,' out
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 -q -f csv -o d.jsonl
  absent contexts out
}

@test "a thread alone, and a plug-in, have one context either way" {
  sweep_points 'length == 1 and all(measured and .contexts == null)' "${FEW[@]}" \
    -l processes:2 --contexts shared,own
  sweep_points 'length == 1 and all(measured and .contexts == null)' "${FEW[@]}" -l threads:2 \
    --contexts shared,own -w "$MPSWEEP_BUILD_DIR/examples/plugin/skeleton.so"
}

@test "points that differ in contexts alone share their processes, and are continued as they were" {
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads+mps:3 --contexts shared,own --streams 1,2 -q \
    -o r.jsonl
  points 'map(.reused) | sort == [null, true, true, true]' r.jsonl
  head -2 r.jsonl >cut.jsonl
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads+mps:3 --contexts shared,own --streams 1,2 -q \
    --resume -o cut.jsonl
  points 'length == 4 and all(measured)' cut.jsonl
  refused 'holds another plan' "$MPSWEEP" sweep "${FEW[@]}" -l threads+mps:3 --contexts own \
    --streams 1,2 -q --resume -o cut.jsonl
}

@test "a share is proved of every context of a client" {
  sweep_points 'length == 1 and all(measured and .clients[0].sms == 16)' "${FEW[@]}" \
    -l threads+mps:2 --contexts own --active-thread-percentage 50
}

@test "a context that cannot be made: infeasible, with the driver's words" {
  MPSWEEP_EMULATED_FAULT='cuCtxCreate#2+=error:2' \
    expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:3 --contexts shared,own -q -o r.jsonl
  points 'map(outcome) == ["measured", "infeasible"] and
    (.[1].error | test("cuCtxCreate: CUDA_ERROR_OUT_OF_MEMORY"))' r.jsonl
}

@test "a wrong result in a context of one's own names the worker" {
  MPSWEEP_EMULATED_FAULT='cuMemcpyDtoHAsync#9=corrupt' \
    expect 2 "$MPSWEEP" sweep "${FIXED[@]}" -l threads:2 --contexts own -q -o r.jsonl
  points 'all(.status == "failed" and (.error | test("^worker [01] of 2: wrong result")))' r.jsonl
}

@test "over MPS own contexts do not wait for each other's queues; without it they take turns" {
  judged sweep_points '(map({key: "\(.layout) \(.contexts // "shared")", value: .throughput_ips}) | from_entries) |
    .["threads+mps own"] > 2 * .["threads+mps shared"] and .["threads shared"] > 2 * .["threads own"]' \
    --device emulated --bytes 64K --kernels 50 -t 0.5 -l threads:8,threads+mps:8 --contexts shared,own
}

@test "emit, explain and programs refuse them by name" {
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --contexts own -q -o r.jsonl
  refused 'has a context for each thread' "$MPSWEEP" emit r.jsonl --point 0 --format env -o d
  refused 'holds only points with a context or a partition for each thread' "$MPSWEEP" explain r.jsonl
  refused "contexts is the program's own business" "$MPSWEEP" sweep --device emulated -l threads:2 \
    --contexts own -- true
  refused "'each' is not a value of contexts" "$MPSWEEP" sweep "${FEW[@]}" --contexts each
}
