#!/usr/bin/env bats
# Several GPUs in one point: which process is where, over which daemon, what is recorded of each GPU,
# and what stays when one of them fails.

load helper

# Their own choice of a GPU is left out.
GPUS=("${TINY[@]:2}" --device emulated:all -q)

# Worker processes that record which GPU and which daemon they got.
placed_workers() {
  programs_but mpsweep-worker
  {
    echo '#!/bin/sh'
    # shellcheck disable=SC2016
    printf 'case " $* " in *" --shm "*) echo "$MPSWEEP_PROCESS $CUDA_VISIBLE_DEVICES %s" >>"%s";; esac\n' \
      '$CUDA_MPS_PIPE_DIRECTORY' "$WORK/started"
    printf 'exec "%s" "$@"\n' "$MPSWEEP_BUILD_DIR/mpsweep-worker"
  } >"$WORK/programs/mpsweep-worker"
  chmod +x "$WORK/programs/mpsweep-worker"
  export MPSWEEP_LIBEXEC_DIR=$WORK/programs
}

# distinct FIELD...: how many different values those fields of started have together.
distinct() { cut -d' ' -f"$1" started | sort -u | wc -l; }

uuids() { head -1 "$1" | jq -r '.gpus[].uuid'; }

@test "each layout runs on all GPUs, and its record has what each did" {
  export MPSWEEP_EMUL_DEVICES=3
  expect 0 "$MPSWEEP" sweep "${GPUS[@]}" -o r.jsonl -l threads:2,processes:2 \
    -l processes+mps:2,threads+mps:2,hybrid:2x2,hybrid-timesliced:2x2 --mps-daemons shared,per-gpu
  assert_complete r.jsonl 9 0
  points 'all(measured) and all(.gpus == 3 and (.per_gpu | map(.gpu)) == [0, 1, 2])' r.jsonl
  points 'all(.workers == 3 * .processes * .threads and (.per_worker | length) == .workers)' r.jsonl
  points 'all(.per_worker | all(.gpu == .process % 3))' r.jsonl
  points 'all((.per_gpu | map(.throughput_ips) | add) / .throughput_ips | . > 0.999 and . < 1.001)' r.jsonl
  # On a busy machine a GPU may have no iteration that began in the window.
  points 'all(.per_gpu | all((.latency_us | (.p50 // 0) == 0 or .p99 >= .p50) and (.cpus | length) > 0)
    and any(.latency_us.p50 > 0))' r.jsonl
  points 'all((.per_gpu | map(.throughput_ips) | (max - min) / (add / length)) - .gpu_imbalance | fabs < 1e-6)' r.jsonl
  points 'map(select(.mps)) | all(.attached == {expected: (3 * .processes), seen: (3 * .processes)})' r.jsonl
  points 'map(select(.mps) | .mps_daemons) | sort == (["per-gpu", "shared"] | map([., ., .]) | add)' r.jsonl
  points 'map(select(.mps | not)) | length == 3 and all(has("mps_daemons") | not)' r.jsonl
  [ "$(uuids r.jsonl | sort -u | wc -l)" -eq 3 ]
  jq -s -e '.[0].gpu == .[0].gpus[0] and (.[1].per_gpu | map(.uuid)) == (.[0].gpus | map(.uuid))' r.jsonl
}

@test "a point of one GPU has the record that it always had" {
  export MPSWEEP_EMUL_DEVICES=2
  expect 0 "$MPSWEEP" sweep "${TINY[@]:2}" -q --device emulated:1 -o r.jsonl -l processes+mps:2 --mps-daemons shared,per-gpu
  assert_complete r.jsonl 1 0
  points 'all([has("gpus", "mps_daemons", "per_gpu", "gpu_imbalance")] | any | not)' r.jsonl
  points 'all(.per_worker | all(has("gpu") | not))' r.jsonl
  jq -s -e '.[0] | (has("gpus") | not) and (.gpu.uuid | endswith("65"))' r.jsonl
}

@test "each process is given its GPU, and over MPS the daemon that serves it" {
  export MPSWEEP_EMUL_DEVICES=3
  placed_workers
  local daemons
  # Named in another order than the machine has them.
  for daemons in shared per-gpu; do
    rm -f started r.jsonl
    expect 0 "$MPSWEEP" sweep "${TINY[@]:2}" -q --device emulated:2,0 --mps-daemons $daemons \
      -l processes+mps:3 -o r.jsonl
    [ "$(distinct 1)" -eq 6 ]
    # Process p is on GPU p % 2 of those named.
    sort -n started | cut -d' ' -f2 >given
    { uuids r.jsonl; uuids r.jsonl; uuids r.jsonl; } | diff - given
    [ "$(sed -n 1p given | tail -c 3)" = 66 ]
    if [ $daemons = shared ]; then
      [ "$(distinct 3)" -eq 1 ]
    else
      [ "$(distinct 3)" -eq 2 ]
      [ "$(distinct 2,3)" -eq 2 ]
    fi
  done
}

@test "a daemon serves the GPUs that it was given, and no other" {
  export MPSWEEP_EMUL_DEVICES=2 CUDA_MPS_PIPE_DIRECTORY=$WORK/pipe
  local driver=$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so
  local first=GPU-6d707377-6565-702d-656d-756c61746564 second=GPU-6d707377-6565-702d-656d-756c61746565
  mkdir pipe
  CUDA_VISIBLE_DEVICES=$second start "$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control" -f
  await $PATIENCE test -S pipe/control
  CUDA_VISIBLE_DEVICES=$second expect 0 "$MPSWEEP_BUILD_DIR/mpsweep-worker" --probe --driver "$driver" </dev/null
  CUDA_VISIBLE_DEVICES=$first "$MPSWEEP_BUILD_DIR/mpsweep-worker" --query --driver "$driver" \
    >/dev/null 2>refusal || true
  grep -q CUDA_ERROR_NO_DEVICE refusal
  kill "$PID"
  finish
}

@test "points of fewer GPUs take the first ones; several give that many times as much" {
  export MPSWEEP_EMUL_DEVICES=2
  twice() {
    rm -f r.jsonl
    expect 0 "$MPSWEEP" sweep "${SMALL[@]:2}" -q --device emulated:all --gpus-per-point 1,2 -o r.jsonl \
      -l processes+mps:2 --mps-daemons shared,per-gpu || return 1
    points 'length == 3 and (.[0].throughput_ips as $one
      | .[1:] | all(.throughput_ips / $one | . > 1.8 and . < 2.2))' r.jsonl
  }
  judged twice
  grep -qE '^layout .* GPUs  daemons .* scaling' out
  grep -qE '^processes\+mps .* 1 .*  -$|^processes\+mps .* 1 .*  -  ' out
  grep -qE '^processes\+mps .* 2  per-gpu .* [0-9.]+%' out
  grep -qE '^layout +P×T  daemons +GPU 0 +GPU 1  apart$' out
  grep -qE '^processes\+mps  2×1 +shared( +[0-9.]+ \([0-9.]+\)){2}  +[0-9.]+%$' out
}

@test "copies of all GPUs share the host's memory where it is a ceiling" {
  export MPSWEEP_EMUL_DEVICES=2
  local work=(-l threads:2 --kernels 1 --spin 1 --bytes 4M --gpus-per-point '1,2')
  scaled() {
    rm -f r.jsonl
    MPSWEEP_EMULATED_MACHINE=h2d_mb_per_s=1000,d2h_mb_per_s=1000,$1 expect 0 "$MPSWEEP" sweep \
      --duration 0.2 --warmup 0.1 --precision 50 -q --device emulated:all "${work[@]}" -o r.jsonl || return 1
    points ".[1].throughput_ips / .[0].throughput_ips | $2" r.jsonl
  }
  judged scaled host_mb_per_s=0 '. > 1.7'
  # What one GPU copies both ways at once is all that there is.
  judged scaled host_mb_per_s=1800 '. < 1.3'
}

@test "GPUs that differ are named, and the one that stands out" {
  export MPSWEEP_EMUL_DEVICES=2 MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#1+=slow:40@1'
  differ() {
    rm -f r.jsonl
    expect 0 "$MPSWEEP" sweep "${SMALL[@]:2}" -q --device emulated:0,1 -o r.jsonl -l processes:1 || return 1
    points 'all(.gpu_imbalance > 0.05 and ([.warnings[] | select(.kind == "gpu-imbalance") | .text]
      | length == 1 and (.[0] | test("^the GPUs differ by [0-9]+%, from GPU 1 .GPU-6d707377-6565-702d-656d-756c61746565., the slowest, to GPU 0 .GPU-.*64., the fastest: compare"))))' r.jsonl || return 1
    grep -q '^warning .*from GPU 1 (GPU-.*65), the slowest' out
  }
  judged differ
  # Of three, one can stand out.
  stands_out() {
    rm -f r.jsonl
    MPSWEEP_EMUL_DEVICES=3 expect 0 "$MPSWEEP" sweep "${SMALL[@]:2}" -q --device emulated:all \
      -o r.jsonl -l processes:1 || return 1
    grep -q '^warning .*GPU 1 (GPU-.*65) is [0-9]*% slower than the median of the others: compare' out
  }
  judged stands_out
}

@test "a mix of workloads is the same on each GPU" {
  export MPSWEEP_EMUL_DEVICES=2
  cat >mix.job <<'JOB'
[workload a]
step = kernel blocks=1 threads=64 bytes=64K

[workload b]
step = kernel blocks=1 threads=64 bytes=64K

[sweep]
workload = a:1+b:1
layout = processes:2
JOB
  expect 0 "$MPSWEEP" sweep mix.job "${GPUS[@]}" -o r.jsonl
  points 'all([.per_worker[] | [.gpu, .workload]] | sort == [[0, "a"], [0, "b"], [1, "a"], [1, "b"]])' r.jsonl
  expect 0 "$MPSWEEP" sweep mix.job "${GPUS[@]}" -l processes:1 -o one.jsonl
  points 'all(.status == "infeasible" and (.error | test("too few workers")))' one.jsonl
}

@test "a crash on one GPU gives no number, and the next point is measured" {
  export MPSWEEP_EMUL_DEVICES=2
  local daemons
  for daemons in shared per-gpu; do
    rm -f r.jsonl
    MPSWEEP_EMULATED_FAULT='cuLaunchKernel#40=crash@1' expect 2 "$MPSWEEP" sweep "${FIXED[@]:2}" --device emulated:all -q --seed 0 \
      -l processes+mps:2 -l hybrid:1x2 --mps-daemons $daemons --gpus-per-point 2,1 -o r.jsonl
    points 'map([.processes, .gpus // 1, .status == "failed"])
      | . == [[2, 2, true], [2, 1, true], [1, 2, true], [1, 1, false]]' r.jsonl
  done
}

@test "a fatal error on one GPU is named with its daemon's clients" {
  export MPSWEEP_EMUL_DEVICES=2 MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#9=fatal:700@3'
  expect 2 "$MPSWEEP" sweep "${FIXED[@]:2}" --device emulated:all -q -l processes+mps:2 --mps-daemons per-gpu -o r.jsonl
  # Processes 1 and 3 are those of GPU 1, whose daemon's log names them.
  points 'all(.status == "failed" and (.error | test("given to all of them: worker process [13] .GPU 1., worker process [13] .GPU 1.")))' r.jsonl
}

@test "crews serve points of the same GPUs and daemons" {
  export MPSWEEP_EMUL_DEVICES=2
  placed_workers
  expect 0 "$MPSWEEP" sweep "${GPUS[@]}" -l hybrid:3x2,1x1,2x1 -o r.jsonl
  points 'all(measured) and length == 3 and (map(select(.reused)) | length) == 1' r.jsonl
  points 'map(select(.processes == 2)) | all(.idle_processes == 2)' r.jsonl
  [ "$(wc -l <started)" -eq 8 ]
  rm started r.jsonl
  expect 0 "$MPSWEEP" sweep "${GPUS[@]}" -l hybrid:3x2,1x1 --no-reuse -o r.jsonl
  points 'all(measured) and all(has("reused") | not)' r.jsonl
  [ "$(wc -l <started)" -eq 8 ]
  rm started r.jsonl
  expect 0 "$MPSWEEP" sweep "${GPUS[@]}" -l processes+mps:2 --gpus-per-point 1,2 --mps-daemons shared,per-gpu -o r.jsonl
  points 'all(measured) and all(has("reused") | not)' r.jsonl
  [ "$(wc -l <started)" -eq $((2 + 4 + 4)) ]
}

@test "resume continues with the points of several GPUs, on the same GPUs" {
  export MPSWEEP_EMUL_DEVICES=3
  local sweep=("$MPSWEEP" sweep "${TINY[@]:2}" -q -l threads:1 -l processes+mps:1 --gpus-per-point '1,2' --mps-daemons 'shared,per-gpu')
  expect 0 "${sweep[@]}" --device emulated:0,1 -o r.jsonl
  assert_complete r.jsonl 5 0
  head -3 r.jsonl >cut.jsonl
  refused "holds another plan|GPU 0: GPU-" "${sweep[@]}" --device emulated:1,0 -o cut.jsonl --resume
  refused "GPU 1: GPU-.* -> GPU-" "${sweep[@]}" --device emulated:0,2 -o cut.jsonl --resume
  refused "GPUs: 2 -> 3" "${sweep[@]}" --device emulated:0,1,2 -o cut.jsonl --resume
  expect 0 "${sweep[@]}" --device emulated:0,1 -o cut.jsonl --resume
  jq -s -e '[.[] | select(.type == "point") | .id] | sort == [range(5)]' cut.jsonl
  # A file of one GPU, begun before there could be more.
  jq -c 'if .type == "header" then del(.gpus) else . end' cut.jsonl | head -2 >old.jsonl
  refused "GPUs: 1 -> 2" "${sweep[@]}" --device emulated:0,1 -o old.jsonl --resume
}

@test "list, dry run and CSV have the GPUs" {
  export MPSWEEP_EMUL_DEVICES=2
  local plan=(--device emulated:all -l hybrid:2x2 --gpus-per-point '1,2' --mps-daemons per-gpu)
  expect 0 "$MPSWEEP" sweep "${plan[@]}" --list
  diff - out <<'LIST'
0	hybrid 2×2, pinned
1	hybrid 2×2 on each of 2 GPUs, a daemon a GPU, pinned
LIST
  expect 0 "$MPSWEEP" sweep "${plan[@]}" --dry-run
  grep -qE '^GPU 0: +mpsweep emulated GPU .*64\)' out
  grep -qE '^GPU 1: +mpsweep emulated GPU .*65\)' out
  grep -qF 'process 0 on GPU 0, process 1 on GPU 1, process 2 on GPU 0, and so on' out
  expect 0 "$MPSWEEP" sweep "${TINY[@]:2}" "${plan[@]}" -q -f csv
  head -1 out | grep -q '^layout,processes,threads,workers,gpus,mps_daemons,memory,'
  grep -q '^hybrid,2,2,4,1,,pinned,' out
  grep -q '^hybrid,2,2,8,2,per-gpu,pinned,' out
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -q -f csv
  head -1 out | grep -q '^layout,processes,threads,workers,memory,'
}

@test "after any kill none of several daemons stays" {
  export MPSWEEP_EMUL_DEVICES=3
  guards() { children_named "$PID" mpsweep-guard; }
  local victim
  for victim in KILL INT TERM guard; do
    rm -f r.jsonl
    start "$MPSWEEP" sweep --device emulated:all --kernels 5 --warmup 0.02 --precision 100 --duration 20 \
      -l processes+mps:1 --mps-daemons per-gpu -q -o r.jsonl
    await $PATIENCE has_workers 3
    [ "$(guards | wc -l)" -eq 3 ]
    if [ $victim = guard ]; then
      # The daemon of one GPU goes with it, and the point with the daemon.
      kill -KILL "$(guards | tail -1)"
      finish
      [ "$STATUS" -ne 0 ]
      points 'all(.status == "failed")' r.jsonl
    else
      kill -$victim "$PID"
      finish
    fi
    assert_nothing_left
  done
}

@test "killed while the second of two daemons starts: neither stays" {
  export MPSWEEP_EMUL_DEVICES=2
  mkdir hold
  daemon_is 'daemon#2=hold'
  MPSWEEP_LIBEXEC_DIR=$WORK/programs start "$MPSWEEP" sweep "${GPUS[@]}" -l processes+mps:1 --mps-daemons per-gpu -o r.jsonl
  await $PATIENCE is_held
  kill -KILL "$PID"
  finish
  assert_nothing_left
}

@test "a daemon that does not start in the midst of a sweep fails that point, and no other" {
  export MPSWEEP_EMUL_DEVICES=2
  programs_but mpsweep-emulated-mps-control
  # The first daemon is that of the point of one GPU; the second is GPU 0's of two.
  cat >programs/mpsweep-emulated-mps-control <<SH
#!/bin/sh
if [ "\$1" = -f ]; then
  echo >>'$WORK/started'
  [ "\$(wc -l <'$WORK/started')" -ne 2 ] || { echo "no room"; exit 3; }
fi
exec '$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control' "\$@"
SH
  chmod +x programs/mpsweep-emulated-mps-control
  MPSWEEP_LIBEXEC_DIR=$WORK/programs expect 2 "$MPSWEEP" sweep "${GPUS[@]}" --gpus-per-point '1,2' \
    -l processes+mps:1 -l threads:1 --mps-daemons per-gpu --seed 0 -o r.jsonl
  points '[.[].status == "failed"] == [false, true, false, false]
    and (.[1].error | startswith("GPU 0: ") and contains("no room"))' r.jsonl
  assert_nothing_left
}

@test "a command for one GPU refuses several" {
  export MPSWEEP_EMUL_DEVICES=2
  refused 'a trace is about one GPU' "$MPSWEEP" trace --device emulated:0,1 -l threads:1
  refused 'a probe is about one GPU' "$MPSWEEP" probe copy-block --device emulated:all
  refused "doctor is about one GPU, and device 'emulated:all' may be several: .*, as in --device emulated:0$" \
    "$MPSWEEP" doctor --limits --device emulated:all
  refused "doctor is about one GPU, and device '0,1' may be several: .*, as in --device 0$" "$MPSWEEP" doctor -d 0,1
  [ ! -s out ]
  local command
  for command in doctor probe; do
    expect 0 "$MPSWEEP" $command --help
    grep -qxF '  -d, --device N|UUID|emulated[:N]' out
    absent 'everal, as in 0,1' out
  done
  refused 'is about one GPU' "$MPSWEEP" mps start --gpu emulated:0,1
}

@test "bad choices of GPUs are one clear line" {
  export MPSWEEP_EMUL_DEVICES=2
  local sweep=("$MPSWEEP" sweep -l threads:1)
  refused "no device 2: there are 2, numbered from 0" "${sweep[@]}" --device emulated:0,2
  refused "device 'emulated:0,0' names GPU 0 twice" "${sweep[@]}" --device emulated:0,0
  refused "are the same GPU" "${sweep[@]}" --device emulated:0,GPU-6d707377-6565-702d-656d-756c61746564
  refused "has an empty item" "${sweep[@]}" --device emulated:0,
  refused "emulated GPUs and real ones are not measured together" "${sweep[@]}" --device emulated,0
  refused "gpus-per-point 3 is more than the 2 GPUs" "${sweep[@]}" --device emulated:all --gpus-per-point 3
  refused "as in emulated:all with MPSWEEP_EMUL_DEVICES=4$" "${sweep[@]}" --device emulated --gpus-per-point 4
  refused "'0' is not a value of gpus-per-point" "${sweep[@]}" --gpus-per-point 0
  refused "'two' is not a value of mps-daemons" "${sweep[@]}" --mps-daemons two
  refused "has 2000 workers" "$MPSWEEP" sweep -l threads:1000 --device emulated:all
  CUDA_MPS_PIPE_DIRECTORY=$WORK refused "mps external is one daemon for all GPUs" "$MPSWEEP" sweep -l processes+mps:1 --device emulated:all \
    --mps external --mps-daemons per-gpu
}

@test "without a driver, too few GPUs: the advice works" {
  if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then skip "there is a driver here"; fi
  local sweep=("$MPSWEEP" sweep --gpus-per-point 1,2 -l threads:1 -n)
  refused 'as in 0,1 or all, or emulated:all with MPSWEEP_EMUL_DEVICES=2$' "${sweep[@]}"
  MPSWEEP_EMUL_DEVICES=2 expect 0 "${sweep[@]}" --device emulated:all
}
