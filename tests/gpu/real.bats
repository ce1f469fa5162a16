#!/usr/bin/env bats
# On a real GPU with the real MPS daemon. `make check-gpu` demands the GPU; elsewhere these skip.

load helper

QUICK=(--duration 0.3 --warmup 0.1 --precision 50)

@test "the doctor finds the machine ready" {
  real
  expect 0 "$MPSWEEP" doctor
  grep -q '^ok .*a private daemon starts and answers' "$WORK/out"
  grep -qE '^ok +MPS programs: .* for CUDA [0-9]+\.[0-9], as the driver' "$WORK/out"
}

@test "every layout is measured, and attachment proved" {
  real
  sweep_points '
    length == 6 and all(.status == "ok" and .throughput_ips > 0 and .cuda_error == 0) and
    all(if .mps then .attached == {expected: .processes, seen: .processes}
        else .attached.expected == 0 end)' \
    "${QUICK[@]}" -l threads:2 -l processes:2 -l processes+mps:2 -l threads+mps:2 -l hybrid:2x2 \
    -l hybrid-timesliced:2x2
  jq -s -e '.[0] | .gpu.emulated == false and .gpu.sms > 0' "$WORK"/sweep.*.jsonl
}

@test "telemetry: clocks, power and joules of the real GPU" {
  real
  sweep_points 'all(.telemetry | .samples > 5 and .power_w.min > 20 and .power_w.max < 1500 and
    .sm_clock_mhz.min > 100 and .memory_clock_mhz.min > 100 and .joules_per_iteration > 0 and
    .memory_used_bytes > 0 and .throttle != null and (has("silent") | not)) and
    all(.warnings | any(.kind == "neighbour") | not)' --duration 1 --precision 50 --rounds 2 \
    -l threads:8 -l processes:2 -l processes+mps:4
  head -1 "$WORK"/sweep.*.jsonl | jq -e '.gpu.max_sm_clock_mhz > 100 and .gpu.power_limit_w > 20'
  # As many watts by the counter as by the power.
  points 'all((.telemetry.energy_j / ([.rounds[].seconds] | add) / .telemetry.power_w.mean)
    | . > 0.5 and . < 2)' "$WORK"/sweep.*.jsonl
}

@test "pageable memory, graphs and each way of waiting are measured" {
  real
  sweep_points 'all(measured)' "${QUICK[@]}" -l threads:2 -m pinned,pageable -s stream,none \
    --launch stream,graph --schedule auto,spin,yield,block
  sweep_points 'all(measured)' "${QUICK[@]}" -l processes+mps:2 -w delay --kernels 3 \
    --delay-cycles 100000
}

@test "what the driver refuses is infeasible, and the sweep continues" {
  real
  sweep_points '
    (map(select(.connections == 8)) | length == 1 and all(.status == "infeasible" and
      .cuda_error != 0 and (has("throughput_ips") | not))) and
    (map(select(.connections == 2)) | all(measured))' \
    "${QUICK[@]}" -l processes+mps:16 -c 2,8
}

@test "a share of the multiprocessors is what the workers get" {
  real
  sweep_points '(.[0].sms as $all | .[1].sms < $all * 0.3 and .[1].sms > 0)' \
    "${QUICK[@]}" -l processes+mps:1 --active-thread-percentage default,25
}

@test "uneven shares are what each of the processes gets" {
  real
  sweep_points '(.[0].sms as $all | .[1].clients | length == 2 and
    (.[0].sms > 0 and .[0].sms <= $all * 0.3) and (.[1].sms > $all * 0.5 and .[1].sms <= $all * 0.7))' \
    "${QUICK[@]}" -l processes+mps:2 --active-thread-percentage default,30/70
  sweep_points 'all(.status == "ok" and (.clients | length == 2 and
    all(.memory_free < .memory_limit)))' "${QUICK[@]}" -l processes+mps:2 --priority 0/1 --memory-limit 2G/4G
}

@test "a client that may not have the memory that it needs is infeasible" {
  real
  sweep_points 'map(.status) == ["ok", "infeasible"]' "${QUICK[@]}" -l processes+mps:1 \
    --bytes 1G --memory-limit 8G,1G
}

@test "a stranger's daemon is neither used nor touched" {
  real
  local pipe=$WORK/foreign
  mkdir "$pipe"
  CUDA_MPS_PIPE_DIRECTORY=$pipe CUDA_MPS_LOG_DIRECTORY=$pipe nvidia-cuda-mps-control -f \
    >/dev/null 2>&1 3>&- &
  local daemon=$!
  ask() { echo "$1" | CUDA_MPS_PIPE_DIRECTORY=$pipe nvidia-cuda-mps-control; }
  await 10 ask get_server_list >/dev/null
  CUDA_MPS_PIPE_DIRECTORY=$pipe sweep_points 'all(measured)' "${QUICK[@]}" \
    -l threads:1 -l processes+mps:1
  expect 0 "$MPSWEEP" doctor
  grep -q "^warning *MPS daemon of .*: PID $daemon, pipe directory '$pipe'" "$WORK/out"
  # No client of ours ever came to it, so that it has no server.
  [ -z "$(ask get_server_list)" ]
  ask quit
  wait "$daemon" || true
}

# phase SIGNAL: a sweep over MPS is ended while its workers run; the teardown looks for leftovers.
end_running() {
  start "$MPSWEEP" sweep -l processes+mps:4 -l hybrid:2x2 --duration 30 --max-duration 30 \
    -o "$WORK/x.jsonl"
  running() { [ "$(workers_of "$PID" | wc -l)" -ge 2 ] && nvidia_mps_server; }
  nvidia_mps_server() { own_processes | while read -r p; do tr '\0' ' ' <"/proc/$p/cmdline"; done |
    grep -q nvidia-cuda-mps-server; }
  await 30 running
  kill -"$1" "$PID"
  finish
}

@test "interrupted over MPS: nothing stays, the results are whole" {
  real
  end_running INT
  [ "$STATUS" -eq 130 ]
  assert_whole "$WORK/x.jsonl"
  tail -1 "$WORK/x.jsonl" | jq -e '.type == "footer" and .status == 130'
}

@test "terminated over MPS: nothing stays" {
  real
  end_running TERM
  [ "$STATUS" -eq 130 ]
}

@test "killed over MPS: daemon, server, workers and directory go by themselves" {
  real
  end_running KILL
  [ "$STATUS" -eq 137 ]
  assert_whole "$WORK/x.jsonl"
}

@test "a worker killed amid a run over MPS fails its point only" {
  real
  start "$MPSWEEP" sweep -l processes+mps:3 -l threads:1 --seed 0 --duration 4 --max-duration 4 \
    -o "$WORK/x.jsonl"
  three() { [ "$(workers_of "$PID" | wc -l)" -eq 3 ]; }
  await 30 three
  kill -KILL "$(workers_of "$PID" | head -1)"
  finish
  [ "$STATUS" -eq 2 ]
  points '.[0].status == "failed" and (.[0] | has("throughput_ips") | not) and
          (.[0].error | test("killed by signal 9")) and .[1].status == "ok"' "$WORK/x.jsonl"
}

# Ratios measured in one run.
@test "32 queues lift 16 threads by more than half" {
  real
  sweep_points '(map(select(.connections == 32)) | .[0].throughput_ips) /
                (map(select(.connections == 8)) | .[0].throughput_ips) > 1.5' \
    -l threads:16 -c 8,32 --duration 1
}

@test "processes without MPS take turns, over MPS they run together" {
  real
  sweep_points '
    (map(select(.layout == "processes")) | .[0].throughput_ips as $one | .[1].throughput_ips / $one)
      < 1.1 and
    (map(select(.layout == "processes+mps")) | .[0].throughput_ips as $one |
      .[1].throughput_ips / $one) > 5' \
    -l processes:1,8 -l processes+mps:1,8 --duration 0.5
}

@test "workers that serve one point after the other give what fresh ones give" {
  real
  local -a some=(--duration 1 --precision 50 -l threads:4,8 -l processes+mps:8,4
    --launch stream,graph -q)
  expect 0 "$MPSWEEP" sweep "${some[@]}" -o "$WORK/reused.jsonl"
  expect 0 "$MPSWEEP" sweep "${some[@]}" -o "$WORK/fresh.jsonl" --no-reuse
  points 'length == 8 and all(measured) and (map(select(.reused)) | length == 6)' \
    "$WORK/reused.jsonl"
  points 'length == 8 and all(.status == "ok" and (has("reused") | not))' "$WORK/fresh.jsonl"
  jq -s -e 'map(select(.type == "point")) | group_by(.id) | all(length == 2 and
    (.[0].throughput_ips / .[1].throughput_ips | 0.94 < . and . < 1.06))' \
    "$WORK/reused.jsonl" "$WORK/fresh.jsonl"
}

@test "described workloads: kernels have their durations, their outputs are right, a mix is measured" {
  real
  cat >long.job <<'JOB'
[workload compute]
step = copy-in 64K
step = kernel blocks=64 threads=256 duration=50us count=200
step = copy-out 16K
check = yes
[workload memory]
step = copy-in 64M
step = kernel blocks=264 threads=512 duration=200us bound=memory count=50
step = device-copy 64M
step = copy-out 16K
check = yes
[workload small]
step = kernel duration=5us
JOB
  expect 0 "$MPSWEEP" sweep long.job "${QUICK[@]}" -l threads:1 --launch stream,graph \
    -w compute,memory,small,compute+memory:2 -q -o long.jsonl
  jq -s -e '.[0].steps | length == 3 and all(.got_us / .asked_us | 0.98 < . and . < 1.02)' long.jsonl
  # 200 kernels of 50 us: 10 ms and the copies.
  points '[.[] | select(.workload == "compute")] | length == 2 and
    all(.status == "ok" and .latency_us.p50 > 9700 and .latency_us.p50 < 11000)' long.jsonl
  points '[.[] | select(.workload == "memory")] | all(.status == "ok" and .latency_us.p50 > 9700)' long.jsonl
  # One worker is none for a mix.
  points '[.[] | select(.workload == "compute+memory:2")] | all(.status == "infeasible")' long.jsonl
  expect 0 "$MPSWEEP" sweep long.job "${QUICK[@]}" -l processes+mps:3 -l hybrid:3x2 -m pinned,pageable \
    --launch stream,graph -w compute+memory:2 -q -o mix.jsonl
  # How fast is not the question: pageable graphs of 64 MiB hold each other up for whole windows.
  points 'length == 8 and all((.status == "ok" or .status == "unconverged") and
    .throughput_ips > 0 and (.workloads | all(.checked)))' mix.jsonl
}

@test "described workloads: the cache holds the working set of one process, and not of two" {
  real
  local kernels="blocks=39 threads=184 duration=5us count=20"
  printf '%s\n' "[workload loads]" "step = copy-in 4K" "step = kernel $kernels bound=cache" \
    "[workload computes]" "step = copy-in 4K" "step = kernel $kernels" >two.job
  expect 0 "$MPSWEEP" sweep two.job "${QUICK[@]}" -l processes+mps:1,2 --launch graph \
    -w loads,computes -q -o two.jsonl
  points 'length == 4 and all(.throughput_ips > 0) and
    ([.[] | select(.workload == "loads").throughput_ips] | .[1] / .[0]) <
    0.9 * ([.[] | select(.workload == "computes").throughput_ips] | .[1] / .[0])' two.jsonl
}

@test "an open loop far below what can be served: all is served, and hardly anything waits" {
  real
  sweep_points 'length == 1 and all(.status == "ok" and (.rate.saturated | not) and
    .rate.achieved_ips > 97 and .rate.achieved_ips < 103 and
    .latency_us.p50 < 1.2 * .rate.service_us.p50)' \
    -l threads:2 --rate 100 --arrival constant --precision 50
}

@test "an open loop beyond the capacity is reported" {
  real
  sweep_points 'all(.rate.saturated and .rate.achieved_ips < 2000)' \
    "${QUICK[@]}" -l threads:1 --rate 2000
}

@test "fixed work: the forum's formula beside the common window" {
  real
  sweep_points 'length == 2 and all(.status == "ok" and .fixed.iterations_per_worker == 300 and
    .fixed.throughput_ips < 1.1 * .throughput_ips and .fixed.throughput_ips > 0.8 * .throughput_ips)' \
    -l threads:1,4 --iterations 300 --warmup 0.2
}
