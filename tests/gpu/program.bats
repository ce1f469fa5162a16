#!/usr/bin/env bats
# Programs as workload on a real GPU with the real MPS daemon. `make check-gpu` demands the GPU;
# elsewhere these skip.

load helper

TICKER=$MPSWEEP_BUILD_DIR/examples/program/ticker

QUICK=(--duration 0.3 --warmup 0.1 --precision 50 -q -o r.jsonl)

@test "a program is measured in every layout, and attachment proved" {
  real
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -l threads:2 -l processes:2 -l processes+mps:2 \
    -l threads+mps:2 -l hybrid:2x2 -l hybrid-timesliced:2x2 -- "$TICKER" 200
  points '
    length == 6 and all(measured and .throughput_ips > 0 and .workload == "ticker") and
    all(if .mps then .attached == {expected: .processes, seen: .processes}
        else .attached.expected == 0 end)' r.jsonl
}

@test "a shell between mpsweep and the client of the daemon" {
  real
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" -l processes+mps:2 -- sh -c '"$0" 200; exit $?' "$TICKER"
  points '.[0] | measured and .attached.seen == 2' r.jsonl
}

@test "SIGKILL of mpsweep ends programs that are MPS clients" {
  real
  has_tickers() { [ "$(own_processes | while read -r pid; do command_line "$pid" | grep -x "$TICKER"; done | wc -l)" -ge 2 ]; }
  start "$MPSWEEP" sweep --duration 60 -l processes+mps:2 -q -- "$TICKER" 200
  await $PATIENCE has_tickers
  kill -KILL "$PID"
  finish
  [ "$STATUS" -eq 137 ]
}

@test "a PyTorch model is served in every layout" {
  real
  python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null || skip "no PyTorch here"
  export PYTHONDONTWRITEBYTECODE=1
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" --timeout 120 -l threads:2 -l processes:2 \
    -l processes+mps:2 -l hybrid:2x2 -- \
    python3 "$MPSWEEP_SOURCE_DIR/examples/program/serve_torch.py"
  points 'length == 4 and all(measured and .throughput_ips > 0)' r.jsonl
}

@test "an event loop serves several streams of a thread, with PyTorch where it is" {
  real
  command -v python3 >/dev/null || skip "no python3 here"
  export PYTHONDONTWRITEBYTECODE=1
  expect 0 "$MPSWEEP" sweep "${QUICK[@]}" --timeout 120 -l threads:2 -l processes+mps:2 --streams 1,4 -- \
    python3 "$MPSWEEP_SOURCE_DIR/examples/program/serve_streams.py"
  points 'length == 4 and all(measured and .throughput_ips > 0 and (.per_worker | all(.ips > 0)))' r.jsonl
}

# counts_as NAME MODULE: mpsweep measures that program of frameworks.py as the program itself does: an
# iteration more or less than the program's would be off by a factor of two or more.
counts_as() {
  local counted
  real
  python3 -c "import $2" 2>/dev/null || skip "no $2 here"
  export PYTHONDONTWRITEBYTECODE=1 TORCHINDUCTOR_CACHE_DIR=$PWD/inductor
  # What Python's processes leave behind when they are ended is not mpsweep's.
  expect 0 "$MPSWEEP" sweep --duration 1 --rounds 1 --precision 50 --timeout 120 -q -o r.jsonl -l processes+mps:2 -- \
    env TMPDIR="$PWD" python3 "$MPSWEEP_SOURCE_DIR/tests/gpu/frameworks.py" "$1" "$PWD/own"
  # What both count in the last second: before, the observer may still look for iterations.
  counted=$(for file in own.*; do tail -n 4 "$file" | sort -n | sed -n 3p; done | awk '{sum += $1} END {print sum}')
  echo "# $1: mpsweep $(jq -r 'select(.layout) | "\(.throughput_ips)/s, \(.observed.iteration)"' r.jsonl); the program $counted/s" >&3
  points "length == 1 and (.[0].throughput_ips / $counted | . > 0.7 and . < 1.4)" r.jsonl
}

@test "JAX, which copies and waits in threads of its own" { counts_as jax_batches jax; }
@test "JAX, with texts of any length" { counts_as jax_texts jax; }
@test "CuPy and cuFFT" { counts_as cupy_spectra cupy; }
@test "CuPy, with data that stay on the GPU and as many steps as it takes" { counts_as clusters cupy; }
@test "a language model of transformers, with texts of any length" { counts_as texts transformers; }
@test "batches of any size" { counts_as batches torch; }
@test "threads of a pool" { counts_as pool torch; }
@test "a thread that launches, and another one that waits" { counts_as stages torch; }
@test "a model of torch.compile" { counts_as compiled torch; }
@test "training, which looks at the loss each ten steps" { counts_as training torch; }
@test "training that waits only for its loss, each twenty steps" { counts_as pinned torch; }
@test "training whose steps wait twice, which looks at the loss each ten steps" { counts_as scaled torch; }
@test "a request with two inputs, of which one is for any number of words" { counts_as speech torch; }
@test "a diffusion model, which does not wait between its steps" { counts_as images torch; }
@test "three streams, of which one is waited for much later" { counts_as pipeline torch; }
@test "a graph for each number of texts at work" { counts_as tokens torch; }
@test "no kernel at all" { counts_as copies torch; }
@test "an engine in a process of its own, with texts of any length" { counts_as engine torch; }
@test "a warm-up for each size of a batch" { counts_as sizes torch; }
@test "training with a validation now and then" { counts_as epochs torch; }
@test "a mixture of experts, with a wait for each of them" { counts_as experts torch; }
@test "training whose steps have four batches" { counts_as accumulated torch; }
@test "training that keeps checkpoints" { counts_as checkpoints torch; }
@test "training whose last batch of a step has hardly more" { counts_as fused torch; }
@test "many words for a short prompt" { counts_as stories torch; }
@test "photos, which a pool of OpenMP copies into pinned memory" { counts_as photos torch; }

# photos FILE: the rate of eight processes of it that are not bound.
photos() {
  expect 0 "$MPSWEEP" sweep --duration 2 --rounds 1 --precision 50 --timeout 120 -q -o "$1" -l processes+mps:8 \
    --bind none -- env TMPDIR="$PWD" python3 "$MPSWEEP_SOURCE_DIR/tests/gpu/frameworks.py" photos "$PWD/own" &&
    jq -r 'select(.layout).throughput_ips' "$1"
}

@test "processes that share CPUs do not spend them on pools of OpenMP" {
  local each part
  real
  python3 -c "import torch" 2>/dev/null || skip "no torch here"
  [ "$(nproc)" -ge 8 ] || skip "fewer than 8 CPUs here"
  export PYTHONDONTWRITEBYTECODE=1
  unset OMP_NUM_THREADS
  part=$(photos part.jsonl)
  # As PyTorch has it by itself.
  each=$(OMP_NUM_THREADS=$(nproc) photos each.jsonl)
  echo "# a thread for each CPU $each/s, its part $part/s" >&3
  jq -en "$part > 2 * $each"
}
