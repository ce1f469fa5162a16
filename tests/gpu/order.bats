#!/usr/bin/env bats
# The real driver does in the same order as the emulated one what the experiments rely on.

load helper

@test "kernels that wait, host functions, default streams and contexts: as on the emulated GPU" {
  real
  export CUDA_MPS_PIPE_DIRECTORY=$WORK/none
  expect 0 "$MPSWEEP_BUILD_DIR/tests/gpu/order_client"
  mv "$WORK/out" "$WORK/real"
  expect 0 "$MPSWEEP_BUILD_DIR/tests/gpu/order_client" "$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so"
  diff -u "$WORK/out" "$WORK/real"
}
