#!/usr/bin/env bats
# A deployment with the real driver and the real MPS daemon: measured, written, started, proved, and
# stopped without a trace.

load helper

@test "env: two processes over MPS with shares of their own" {
  real
  expect 0 "$MPSWEEP" sweep -l processes+mps:2 --active-thread-percentage 25/50 --memory-limit 2G \
    --duration 0.3 --precision 20 --quiet -o out.jsonl
  # Stays until it gets a signal.
  mkfifo forever
  cat >serve <<SERVE
#!/bin/bash
exec "$MPSWEEP_BUILD_DIR/mpsweep-worker" --probe <>"$WORK/forever" >"$WORK/probe.\$MPSWEEP_PROCESS"
SERVE
  chmod +x serve
  expect 0 "$MPSWEEP" emit out.jsonl --format env -o d -- ./serve
  expect 0 d/start
  [ "$(grep -c '^worker [01]: attached: process ' out)" -eq 2 ]
  local pipe
  pipe=$(readlink d/run)/mps
  [ "$(echo get_default_active_thread_percentage | CUDA_MPS_PIPE_DIRECTORY=$pipe nvidia-cuda-mps-control)" = 50.0 ]
  [ "$(echo get_default_device_pinned_mem_limit 0 | CUDA_MPS_PIPE_DIRECTORY=$pipe nvidia-cuda-mps-control)" = 2G ]
  local pid
  read -r pid _ <d/worker-1.pid
  kill -TERM "$pid"
  await $PATIENCE is_gone "$pid"
  expect 1 d/check
  expect 0 d/stop
  await $PATIENCE no_own_process
}
