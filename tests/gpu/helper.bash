# Shared by the tests on a real GPU. Without one they skip, unless it was demanded.

load ../cli/helper

setup_file() {
  if ! nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    [ -z "${MPSWEEP_GPU_REQUIRED:-}" ] || { echo "no GPU here: nvidia-smi shows none" >&2; return 1; }
    export NO_GPU=1
  fi
}

real() { [ -z "${NO_GPU:-}" ] || skip "no GPU here"; }
