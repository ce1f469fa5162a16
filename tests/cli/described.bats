#!/usr/bin/env bats
# Workloads described in a job file, alone and as a mix.

load helper

EXAMPLE=$MPSWEEP_SOURCE_DIR/examples/inference.job
# Points of a fraction of a second each.
BRIEF=(--device emulated --duration 0.2 --max-duration 6 --warmup 0.1 --precision 100 --rounds 1)

# job STEPS...: two.job with workload "detect" of these steps, and "embed".
job() {
  {
    echo '[workload detect]'
    printf 'step = %s\n' "$@"
    cat <<'JOB'
[workload embed]
step = copy-in 64K
step = kernel blocks=4 threads=64 bytes=64K
step = copy-out 64K
JOB
  } >two.job
}

DETECT=("copy-in 64K" "kernel blocks=5 threads=64 duration=250us count=3" "copy-out 16K")

# lengths_are_right FILE COUNT: each kernel that was asked to take so long does, within 2%.
lengths_are_right() {
  jq -s -e --argjson count "$2" '.[0].steps | length == $count and
    all(.got_us / .asked_us | 0.98 < . and . < 1.02)' "$1" >/dev/null ||
    fail "not $2 kernels, each within 2%:" "$(head -1 "$1" | jq -c .steps)"
}

@test "the example measures two workloads and a mix of them, each kernel with its duration" {
  for_ratios
  expect 0 "$MPSWEEP" sweep "$EXAMPLE" "${BRIEF[@]}" -o out.jsonl
  grep -q '^mpsweep: found the lengths of 3 kernels in ' err
  assert_complete out.jsonl 16 0
  lengths_are_right out.jsonl 3
  points "all(measured)" out.jsonl
  points 'map(.workload) | unique == ["detect", "detect:3+embed:1", "embed"]' out.jsonl
  # What the steps were stands in the header, as one could write it.
  head -1 out.jsonl | jq -e '.workloads.embed == {"steps": ["copy-in 128K",
    "kernel blocks=132 threads=256 duration=30us bound=memory count=6",
    "kernel blocks=16 threads=128 duration=15us count=4", "copy-out 16K", "think 200us"],
    "check": "yes"}'
  # Every output was checked.
  points 'all(.workloads | all(.checked))' out.jsonl
}

@test "a mix: workers are dealt by weight, and each workload has its own figures" {
  for_ratios
  job "${DETECT[@]}"
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]:0:10}" -l hybrid:2x4 -w detect:3+embed,embed -r 2 -q \
    -o out.jsonl
  points '.[0].workloads | map([.name, .weight, .workers]) == [["detect", 3, 6], ["embed", 1, 2]]' \
    out.jsonl
  # In the order of the workers' numbers.
  points '.[0].per_worker | map(.workload[:1]) | add == "ddeddded"' out.jsonl
  # Together they are the whole; of two rounds, means.
  points 'all((.workloads | map(.throughput_ips) | add) / .throughput_ips | 0.999 < . and . < 1.001)' \
    out.jsonl
  points 'all((.workloads | map(.iterations) | add) == .iterations)' out.jsonl
  points '.[0].workloads | all(.latency_us | 0 < .p50 and .p50 <= .p99)' out.jsonl
  points '.[1].workloads | length == 1 and .[0].workers == 8' out.jsonl
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:4 -w detect:3+embed -q
  grep -qE '^mix +threads 1×4: detect [0-9.]+/s of 3 workers, p50 [0-9.]+ ms, p99 [0-9.]+ ms; embed ' \
    out
}

@test "a mix of more workloads than there are workers is infeasible, and the sweep continues" {
  job "${DETECT[@]}"
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:1-3 -l processes+mps:2 -w detect:3+embed \
    -q -o out.jsonl
  points "(map(.status == \"infeasible\") == [true, true, false, true]) and (.[2] | measured)" out.jsonl
  # A list and a dry run know it.
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:1-3 -w detect:3+embed --list -f json
  jq -s -e 'map(.status) == ["infeasible", "infeasible", "planned"]
    and (.[1].error | startswith("too few workers"))' out
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:1-3 -w detect:3+embed --dry-run
  grep -q '^plan:     3 points, 2 of them infeasible, about ' out
  points '.[1].error == "too few workers for '\''detect:3+embed'\'': 2, and it takes 3 until each workload has one"' \
    out.jsonl
}

@test "graphs are cut at steps of the host, and all ways give the same results" {
  job "copy-in 64K" "kernel blocks=5 threads=64 duration=250us count=3" "device-copy 64K" synchronize \
    "kernel blocks=5 threads=64 duration=250us bound=cache" \
    "think 50us" "kernel cycles=2000 count=2" "busy 50us" "kernel blocks=5 threads=64 bytes=64K" \
    "copy-out 16K count=2"
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:2 -w detect --launch stream,graph \
    -m pinned,pageable -s stream,none -b none -q -o out.jsonl
  points "length == 5 and all(measured)" out.jsonl
  points '[.[] | select(.launch == "graph")] | all(.phase_us | .h2d == null and .d2h == null)' out.jsonl
  points 'all(.latency_us.p50 > 100)' out.jsonl
}

@test "what the GPU gives back wrong is seen, also by one workload of a mix" {
  for_ratios
  job "${DETECT[@]}"
  # Only the second worker runs the second workload; what it copies out is altered. The lengths are
  # known from the run before, whose process would hear of the fault, too.
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l processes:2 -w detect+embed -q -o out.jsonl
  head -1 out.jsonl >cut.jsonl
  MPSWEEP_EMULATED_FAULT=cuMemcpyDtoHAsync#5=corrupt@1 expect 2 "$MPSWEEP" sweep two.job "${BRIEF[@]}" \
    -l processes:2 -w detect+embed -q --resume -o cut.jsonl
  points '.[0] | .status == "failed" and (.error |
    test("^worker 1 of 2: wrong result of workload .embed., step 3: element [0-9]+ is "))' cut.jsonl
}

@test "lengths are found on other machines, too, and an impossible one is reported" {
  for_ratios
  job "kernel blocks=5 threads=64 duration=12us" "kernel blocks=320 threads=64 duration=40us" \
    "kernel blocks=10 threads=64 duration=100us bound=memory" "kernel duration=20ms"
  MPSWEEP_EMULATED_MACHINE=spin_ns=3,graph_kernel_ns=900,device_mb_per_s=80000 expect 0 \
    "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:1 -w detect -q -o out.jsonl
  lengths_are_right out.jsonl 4
  # By the model's own figures: 900 ns and 3 ns a step; and 32 bytes a vector at 2 of 32 slots.
  head -1 out.jsonl | jq -e '.steps[0] | (0.9 + 0.003 * .spin) / 12 | 0.98 < . and . < 1.02'
  head -1 out.jsonl | jq -e '.steps[2] | (0.9 + 2 * .bytes * 16 / 80000) / 100 | 0.98 < . and . < 1.02'
  # The usual machine's kernels take 10 us when they do nothing.
  job "kernel blocks=5 threads=64 duration=3us"
  refused "a kernel cannot be as long as 'kernel blocks=5 threads=64 duration=3us' asks: the shortest takes 10 us here" \
    "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:1 -w detect -q -o none.jsonl
  [ ! -e none.jsonl ]
  # No lengths are found where no point has such a kernel.
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:1 -w embed -q -o out2.jsonl
  head -1 out2.jsonl | jq -e 'has("steps") | not'
}

@test "measuring lengths has a deadline, and its errors are reported" {
  job "${DETECT[@]}"
  MPSWEEP_EMULATED_FAULT=cuGraphLaunch#3=hang refused \
    'the lengths of kernels were not found within 1.5 s: give a longer --timeout$' \
    "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:1 -w detect -q --timeout 1.5
  MPSWEEP_EMULATED_FAULT=cuMemAlloc=error:2 refused \
    'measuring the lengths of kernels: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY' \
    "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:1 -w detect -q
  MPSWEEP_EMULATED_FAULT=cuGraphLaunch#3=crash refused \
    'measuring the lengths of kernels: killed by signal 11' \
    "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:1 -w detect -q
}

has_asked() { [ -n "$(children_of "$PID" | while read -r pid; do command_line "$pid" | grep -x -e --lengths; done)" ]; }

@test "a sweep that is ended while it measures lengths leaves nothing, not even a file" {
  local signal
  job "${DETECT[@]}"
  for signal in INT KILL; do
    rm -f out.jsonl
    MPSWEEP_EMULATED_FAULT=cuGraphLaunch#3=hang start \
      "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:1 -w detect -q -o out.jsonl
    await $PATIENCE has_asked
    kill -s $signal "$PID"
    finish
    [ "$STATUS" -eq "$([ $signal = INT ] && echo 130 || echo 137)" ]
    # What is killed cannot remove it; it continues from there as from no file.
    [ $signal = KILL ] || [ ! -e out.jsonl ]
    await $LEFTOVER_PATIENCE no_own_process
  done
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -l threads:1 -w detect -q -o out.jsonl --resume
  assert_complete out.jsonl 1 0
}

@test "with several GPUs the same work is measured on each, and a line reports what differs" {
  for_ratios
  export MPSWEEP_EMUL_DEVICES=2
  job "${DETECT[@]}"
  local two=("${BRIEF[@]:2}" --device emulated:0,1 -l threads:1 -w detect -q -o out.jsonl)
  # On the second GPU, a worker that is given twice the work, and so takes longer.
  programs_but mpsweep-worker
  cat >programs/mpsweep-worker <<END
#!/bin/sh
case \$2 in *:*:*:*:*:*) amount=\${2##*:}; set -- "\$1" "\${2%:*}:\$((2 * amount))" "\$3" "\$4" ;; esac
exec "$MPSWEEP_BUILD_DIR/mpsweep-worker" "\$@"
END
  chmod +x programs/mpsweep-worker
  MPSWEEP_LIBEXEC_DIR=$WORK/programs expect 0 "$MPSWEEP" sweep two.job "${two[@]}" --gpus-per-point 1,2
  lengths_are_right out.jsonl 1
  head -1 out.jsonl | jq -e '.steps[0] | (.other_gpus | map(.gpu)) == [1] and
    .other_gpus[0].got_us > 1.1 * .got_us'
  grep -qE "^mpsweep: 'kernel blocks=5 threads=64 duration=250us count=3' takes [0-9.]+ us on GPU 1 and [0-9.]+ us on GPU 0, " err
  # What is known is not measured again.
  head -1 out.jsonl >cut.jsonl
  mv cut.jsonl out.jsonl
  expect 0 "$MPSWEEP" sweep two.job "${two[@]}" --gpus-per-point 1,2 --resume
  absent 'on GPU 1 and' err
  jq -s -e '[.[] | select(.type == "header") | .steps] | .[0] == .[1]' out.jsonl
  # A GPU that no point uses is not measured.
  expect 0 "$MPSWEEP" sweep two.job "${two[@]/out.jsonl/one.jsonl}" --gpus-per-point 1
  head -1 one.jsonl | jq -e '.steps[0] | has("other_gpus") | not'
}

@test "--resume continues with the lengths that were found, and not with other steps" {
  job "${DETECT[@]}"
  local measure=("$MPSWEEP" sweep two.job "${BRIEF[@]}" -l "threads:1,2" -w detect -o out.jsonl)
  expect 0 "${measure[@]}"
  # Impossible lengths show which ones are used.
  head -1 out.jsonl | jq -c '.steps[0].spin = 1' >cut.jsonl
  mv cut.jsonl out.jsonl
  expect 0 "${measure[@]}" --resume
  absent 'found the length' err
  jq -s -e '[.[] | select(.type == "header") | .steps[0].spin] == [1, 1]' out.jsonl
  job "${DETECT[@]/250us/260us}"
  refused "'out.jsonl' holds another plan" "${measure[@]}" --resume
}

@test "the shared memory of kernels is part of their length, and a GPU that has less refuses" {
  job "copy-in 64K" "kernel blocks=5 threads=64 shared=100K duration=250us" "work 1000" "kernel shared=200K cycles=10"
  local measure=("$MPSWEEP" sweep two.job "${BRIEF[@]}" -l "threads:2" -w detect,embed -q)
  expect 0 "${measure[@]}" -o out.jsonl
  head -1 out.jsonl | jq -e '.steps | map(.shared) == [102400]'
  points 'all(measured)' out.jsonl
  expect 0 env MPSWEEP_EMULATED_CAPABILITY=80 "${measure[@]}" -o small.jsonl
  points 'map(.status) == ["infeasible", "ok"] and (.[0].error | test("up to 166912 bytes of shared memory"))' small.jsonl
  MPSWEEP_EMULATED_CAPABILITY=89 refused \
    "a kernel cannot be as long as 'kernel blocks=5 threads=64 shared=100K duration=250us' asks: a block has up to 101376 bytes of shared memory on this GPU, and not 102400" \
    "${measure[@]}" -o none.jsonl
}

@test "each mistake in a description has its line" {
  local says
  while IFS='|' read -r step says; do
    job "copy-in 4K" "${step%"${step##*[! ]}"}"
    refused "'two.job' line 3: ${says# }" "$MPSWEEP" sweep two.job --list
  done <<'TABLE'
copyin 4M               | unknown step 'copyin'; did you mean 'copy-in'\?$
kernel duration=15      | '15' has no unit: duration takes a time from 1us to 1s, as in 15us$
kernel thread=5         | unknown key 'thread' of kernel; did you mean 'threads'\?$
kernel shared=228K duration=15us | '228K' is not a value of shared: it takes a size from 16 bytes to 227K, as in 48K$
work 200us              | '200us' is not a value of work: it takes a number of turns, of about a nanosecond, from 1 to 10000000000$
copy-out 1000           | '1000' is not a multiple of 16 bytes$
copy-out                | 'copy-out' needs a size: step = copy-out 1M$
think 0us               | '0us' is not a value of think: it takes a time from 1us to 10s, as in 200us$
copy-in 2.5M            | '2.5M' is not a value of copy-in: a size has no decimals: write 2560K$
TABLE
  printf '[workload x]\ncheck = yes\nstep = copy-out 4K\n' >x.job
  refused "'x.job' line 1: workload 'x' has nothing to check: that takes a copy-in and, after it, a copy-out$" \
    "$MPSWEEP" sweep x.job --list
  # Not of the section at which it becomes known.
  printf '[global]\n[workload x]\nstep = think 1ms\n\n[a]\nlayout = threads:1\n' >x.job
  refused "^mpsweep: 'x.job' line 2: workload 'x' leaves the GPU without work" "$MPSWEEP" sweep x.job --list
  # The words of a point are known when all workloads are.
  printf '[a]\nlayout = threads:1\nworkload = x:0\n[workload x]\nstep = copy-in 4K\n' >x.job
  refused "^mpsweep: 'x.job' line 3: 'x:0': a weight is a number from 1 to 1000" "$MPSWEEP" sweep x.job --list
  printf '[global]\nworkload = y\n[a]\nlayout = threads:1\n[b]\nlayout = threads:2\n' >x.job
  refused "^mpsweep: 'x.job' line 2: 'y' is not a value of workload: " "$MPSWEEP" sweep x.job --list
  # The command line has none.
  refused "^mpsweep: 'z' is not a value of workload: " "$MPSWEEP" sweep x.job -w z --list
  job "${DETECT[@]}"
  refused "'detekt' is not a value of workload: it takes one of builtin.*detect.embed" \
    "$MPSWEEP" sweep two.job -w detekt --list
  refused "'detect:3\+embde' is not a value of workload: 'embde' is not a \[workload NAME\] of the job file; there are detect.embed$" \
    "$MPSWEEP" sweep two.job -w detect:3+embde --list
}

@test "the numbers of the built-in workload make no difference to a described one" {
  job "${DETECT[@]}"
  expect 0 "$MPSWEEP" sweep two.job -w detect,detect:4,builtin -l threads:2 --kernels 5,7 --bytes 64K --list
  [ "$(wc -l <out)" -eq 3 ]
  grep -q $'^0\tthreads 1×2, pinned, detect$' out
  # Nor does a plan need a GPU.
  [ ! -s err ]
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -w detect+embed -l threads:2 --dry-run
  # A mix has no calibration; the plan stays as it is.
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -w detect+embed -l threads:2 --dry-run --calibrate
  grep -q $'^0\tthreads 1×2, pinned, detect+embed$' out
}

@test "an open loop, fixed work and both layouts over MPS take described workloads" {
  job "${DETECT[@]}"
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -w detect+embed -l threads:4 --rate 200 -q -o rate.jsonl
  points '.[0] | .rate.offered_ips == 200 and (.workloads | length) == 2' rate.jsonl
  expect 0 "$MPSWEEP" sweep two.job --device emulated -w detect -l threads+mps:2 --iterations 50 --rounds 1 -q \
    -o fixed.jsonl
  points '.[0] | .iterations == 100 and .workloads[0].iterations == 100' fixed.jsonl
}

@test "a repeat of steps is done so often, and what comes back is right" {
  job "copy-in 64K" "repeat 3" "  kernel blocks=4 threads=64 bytes=64K" "  repeat 2" \
    "    device-copy 64K" "  end" "end" "copy-out 64K"
  expect 0 "$MPSWEEP" sweep two.job "${BRIEF[@]}" -w detect,detect+embed -l threads:2 \
    --launch stream,graph -q -o out.jsonl
  points 'length == 4 and all(.workloads | all(.checked))' out.jsonl
  # The file has it as it was written.
  head -1 out.jsonl | jq -e '.workloads.detect.steps == ["copy-in 64K", "repeat 3",
    "kernel blocks=4 threads=64 bytes=64K", "repeat 2", "device-copy 64K", "end", "end",
    "copy-out 64K"]'
  expect 0 "$MPSWEEP" explain out.jsonl
  job "repeat 3" "copy-in 64K"
  refused "'two.job' line 1: workload 'detect' has a 'repeat' without an 'end'" \
    "$MPSWEEP" sweep two.job --device emulated -o none.jsonl
  job "copy-in 64K" "end"
  refused "'two.job' line 3: an 'end' without a 'repeat' before it" \
    "$MPSWEEP" sweep two.job --device emulated -o none.jsonl
}

@test "the manual page knows every word of a description" {
  local page=$MPSWEEP_SOURCE_DIR/docs/mpsweep-workload.5 word
  for word in copy-in copy-out device-copy kernel synchronize think busy work repeat end \
    blocks threads shared duration cycles bytes bound count check step; do
    sed 's/\\f[BIR]//g; s/\\-/-/g' "$page" | grep -qw -e "$word" || fail "the page does not know '$word'"
  done
}
