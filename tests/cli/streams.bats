#!/usr/bin/env bats
# Several streams a thread, each with an iteration in flight: P×T×S.

load helper

WORK_OF=(--device emulated --kernels 5 --bytes 64K --warmup 0.02 --precision 100 --rounds 1)
FAULTY=$MPSWEEP_BUILD_DIR/tests/fakes/plugins/faulty.so
FEW=("${WORK_OF[@]}" --duration 0.3 --max-duration 9)

# a_workload NAME STEP...: described in w.job.
a_workload() {
  printf '%s\n' "[workload $1]" >w.job
  printf 'step = %s\n' "${@:2}" >>w.job
}

@test "every layout, launch and memory with one stream, three and 64: all outputs are right" {
  sweep_points 'length == 72 and all(measured and .workers == .processes * .threads * (.streams // 1))' \
    "${FIXED[@]}" -l threads:2 -l processes:2 -l processes+mps:2 -l threads+mps:2 \
    -l hybrid:2x2 -l hybrid-timesliced:2x2 --streams 1,3,64 --launch stream,graph \
    --memory pinned,pageable
}

@test "every workload with one stream, three and 64: all outputs are right" {
  a_workload mixed 'copy-in 16K' 'kernel duration=200us' synchronize 'think 100us' 'busy 120us' \
    'kernel duration=200us' 'copy-out 16K'
  sweep_points 'length == 3 and all(measured and .fairness_jain > 0)' "${FEW[@]}" -l threads:1 \
    --streams 1,3,64
  sweep_points 'length == 3 and all(measured)' "${FEW[@]}" -l threads:1 \
    --streams 1,3,64 --workload delay
  sweep_points 'length == 6 and all(measured)' w.job "${FEW[@]}" -l threads:1 \
    --streams 1,3,64 --launch stream,graph -w mixed
}

@test "P×T×S: what results have of it, and how tables, labels and comparisons show it" {
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l hybrid:2x2 --streams 1,3 -q -o r.jsonl
  grep -q '^layout *P×T×S *streams ' out
  grep -qE '^hybrid +2×2×3 +3 ' out
  points 'map(.streams) == [null, 3] and map(.workers) == [4, 12]' r.jsonl
  points 'last | .per_worker | map([.process, .thread, .stream]) ==
    [range(2) as $p | range(2) as $t | range(3) as $s | [$p, $t, $s]]' r.jsonl
  # A thread has one CPU time, which stands with the first of its streams.
  points 'last | .per_worker | all((.cpu_us_per_iteration != null) == (.stream == 0))' r.jsonl
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l hybrid:2x2 --streams 1,3 --list
  grep -q 'hybrid 2×2×3, ' out
  expect 0 "$MPSWEEP" compare r.jsonl r.jsonl
  grep -q '^layout *P×T×S  ' out
  grep -qE '^hybrid +2×2×3 ' out
  expect 0 "$MPSWEEP" emit r.jsonl --point 1 --format env -o d -- ./serve
  grep -q "^export MPSWEEP_STREAMS='\?3'\?$" d/worker-1.env
}

@test "points that differ in streams alone share their processes, and are continued as they were" {
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l processes:2 --streams 4,1,2 -q -o r.jsonl
  points 'map(.reused) | sort == [null, true, true]' r.jsonl
  head -2 r.jsonl >cut.jsonl
  expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l processes:2 --streams 4,1,2 -q --resume \
    -o cut.jsonl
  points 'length == 3 and all(measured)' cut.jsonl
  refused "holds another plan" "$MPSWEEP" sweep "${FEW[@]}" -l processes:2 \
    --streams 4,1,8 -q --resume -o cut.jsonl
}

@test "what is wrong with one stream names it" {
  MPSWEEP_EMULATED_FAULT='cuMemcpyDtoHAsync#40=corrupt' \
    expect 2 "$MPSWEEP" sweep "${FIXED[@]}" -l threads:2 --streams 3 -q -o r.jsonl
  points 'all(.status == "failed" and (.error |
    test("^worker [0-5] of 6 \\(process 0 of 1, thread [01] of 2, stream [0-2] of 3\\): wrong result: ")))' \
    r.jsonl
  MPSWEEP_EMULATED_FAULT='cuStreamQuery#5=hang' \
    expect 2 "$MPSWEEP" sweep "${HANGING[@]}" -l threads:1 --streams 2 -q -o h.jsonl
  points 'all(.status == "failed" and (.error |
    test("^worker [01] of 2 \\(process 0 of 1, thread 0 of 1, stream [01] of 2\\) hangs: ")))' h.jsonl
}

@test "an open loop: a start goes to a stream that is free, and none is left out" {
  # One stream alone cannot serve what is offered to both.
  a_workload slow 'copy-in 1K' 'kernel duration=200us' 'think 100ms' 'copy-out 1K'
  expect 0 "$MPSWEEP" sweep w.job "${WORK_OF[@]}" --duration 2 --max-duration 2 -w slow -l threads:1 \
    --streams 1,8 --rate 20 -q -o r.jsonl
  points 'map(.warnings | map(.kind) | any(. == "overloaded")) == [true, false]' r.jsonl
  points 'last | .per_worker | all(.ips > 0)' r.jsonl
}

@test "fixed work: each stream does its own" {
  sweep_points 'length == 1 and all(measured and (.per_worker | length == 3))' --device emulated --kernels 5 \
    --bytes 64K -l threads:1 --streams 3 --iterations 20
}

@test "each way of waiting, and one release after the other" {
  sweep_points 'length == 4 and all(measured)' "${FEW[@]}" -l threads:1 --streams 4 \
    --schedule auto,spin,yield,block
  sweep_points 'length == 1 and all(measured)' --device emulated --kernels 5 --bytes 64K \
    --warmup 0.2 --precision 100 -l threads:2 --streams 2 --stagger 10ms
}

@test "a plug-in that is stream-safe: by stream and as graphs, also where an iteration goes on" {
  sweep_points 'length == 6 and all(measured and .workers == (.streams // 1))' "${FEW[@]}" \
    -l threads:1 --streams 1,3,64 --launch stream,graph \
    -w "$MPSWEEP_BUILD_DIR/examples/plugin/skeleton.so"
  sweep_points 'length == 4 and all(measured)' "${FEW[@]}" -l hybrid:2x2 --streams 1,3 \
    --launch stream,graph -w "$FAULTY" --workload-options 'graph threads streams more=2'
  sweep_points 'length == 1 and all(measured and (.per_worker | length == 3))' --device emulated \
    -l threads:1 --streams 3 --iterations 20 -w "$FAULTY" --workload-options streams
  sweep_points 'length == 1 and all(measured and (.per_worker | all(.ips > 0)))' "${WORK_OF[@]}" \
    --duration 1 --max-duration 1 -l threads:1 --streams 4 --rate 400 -w "$FAULTY" \
    --workload-options streams
}

@test "a plug-in that is not: one stream a thread, and the error names what would be right" {
  local plugin
  # One built before there was such a capability, and one that is not thread-safe either.
  for plugin in "$MPSWEEP_BUILD_DIR/tests/fakes/plugins/old.so" "$FAULTY"; do
    expect 0 "$MPSWEEP" sweep "${FEW[@]}" -l threads:1 --streams 1,3 --launch stream \
      -w "$plugin" -q -o r.jsonl
    points 'map(outcome) == ["measured", "infeasible"]' r.jsonl
    points '.[1].error | test("is not stream-safe: a thread can have one stream only; if it never waits, add MPSWEEP_WORKLOAD_STREAM_SAFE")' r.jsonl
    rm r.jsonl
  done
}

@test "a plug-in: what is wrong with one stream names it" {
  local options
  for options in 'completed:error#40' 'check:error#40'; do
    expect 2 "$MPSWEEP" sweep "${FEW[@]}" -l threads:2 --streams 3 -q -w "$FAULTY" \
      --workload-options "threads streams $options" -o r.jsonl
    points 'all(.status == "failed" and (.error |
      test("^worker [0-5] of 6 \\(process 0 of 1, thread [01] of 2, stream [0-2] of 3\\): workload .faulty.: .* asked to fail")))' \
      r.jsonl
    rm r.jsonl
  done
  expect 2 "$MPSWEEP" sweep "${HANGING[@]}" -l threads:1 --streams 3 -q -w "$FAULTY" \
    --workload-options 'streams iterate:hang#9&1' -o h.jsonl
  points 'all(.status == "failed" and (.error |
    test("^worker 1 of 3 \\(process 0 of 1, thread 0 of 1, stream 1 of 3\\) hangs: .*; workload .* was in its iterate, completed or check$")))' h.jsonl
}

@test "interrupted and killed with iterations in flight: the file is whole, and nothing stays" {
  struck_in_flight --kernels 5 -l processes+mps:2
}

@test "numbers of streams that cannot be had" {
  refused "'0' is not a value of streams" "$MPSWEEP" sweep "${FEW[@]}" --streams 0
  refused "'257' is not a value of streams" "$MPSWEEP" sweep "${FEW[@]}" --streams 257
  refused 'threads 1x8x256 on 1 GPU has 2048 workers; at most 1024' "$MPSWEEP" sweep "${FEW[@]}" \
    -l threads:8 --streams 256
}
