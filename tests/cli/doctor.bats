#!/usr/bin/env bats
# Is this machine ready, and if not, what to type.

load helper

# finding WORD PATTERN: a line of the report.
finding() {
  grep -qE -e "^$1 +$2" out || fail "no '$1' line that matches: $2" "$(cat out)"
}

@test "the emulated GPU: ready" {
  expect 0 "$MPSWEEP" doctor --device emulated
  [ ! -s err ]
  finding ok 'GPU: .*emulated.*no real numbers'
  finding ok 'MPS: a private daemon starts and answers'
  finding ok 'CPUs: [0-9]+ package'
  finding ok 'binding: '
  finding '(ok|warning)' 'open files: limit of [0-9]+'
  tail -1 out | grep -qE '^ready: 0 problems, [0-9]+ warnings?$'
  absent '^problem' out
}

@test "each warning and each problem is followed by what to do" {
  # In a place where as much as possible is amiss.
  (ulimit -n 256 && expect 0 env PATH=/nowhere "$MPSWEEP" doctor --device emulated)
  finding warning 'open files: limit of 256'
  finding warning 'plots: no gnuplot'
  grep -q -- '-> apt-get install gnuplot-nox' out
  grep -q -- '-> ulimit -n 4096' out
  awk '/^(warning|problem)/ { want = 1; next } want && !/^ +-> [^ ]/ { exit 1 } { want = 0 }
    END { exit want }' out
  [ "$(grep -cE '^warning' out)" -eq "$(tail -1 out | sed -nE 's/.*, ([0-9]+) warnings?$/\1/p')" ]
}

@test "without a driver: a warning, and what it takes for real numbers" {
  if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then skip "there is a driver here"; fi
  expect 0 "$MPSWEEP" doctor
  finding warning 'GPU: .*no NVIDIA driver here'
  grep -q -- "-> for real numbers, run where 'nvidia-smi' shows a GPU" out
  tail -1 out | grep -qE '^ready: 0 problems'
  # Somebody who asks for a device wants a real one.
  expect 1 "$MPSWEEP" doctor --device 0
  finding problem 'GPU: cannot use a GPU: no NVIDIA driver'
  grep -q -- '-> install the NVIDIA driver, or use --device emulated' out
  tail -1 out | grep -qE '^not ready: 1 problem, '
}

@test "a daemon that does not start is a problem" {
  mkdir programs
  ln -s "$MPSWEEP_BUILD_DIR"/mpsweep-{worker,guard,emulated-cuda.so} programs
  ln -s "$MPSWEEP_SOURCE_DIR/tests/fakes/mps-control-refuses" programs/mpsweep-emulated-mps-control
  MPSWEEP_LIBEXEC_DIR=$WORK/programs expect 1 "$MPSWEEP" doctor --device emulated
  finding problem 'MPS: the MPS control daemon ended at its start: no GPU for you'
  finding ok 'GPU: '
  finding ok 'CPUs: '
  tail -1 out | grep -qE '^not ready: 1 problem, '
}

@test "a program of mpsweep that is missing is a problem, with its name" {
  mkdir programs
  ln -s "$MPSWEEP_BUILD_DIR"/mpsweep-{worker,guard,emulated-cuda.so} programs
  MPSWEEP_LIBEXEC_DIR=$WORK/programs expect 1 "$MPSWEEP" doctor --device emulated
  finding problem "GPU: cannot find program 'mpsweep-emulated-mps-control'"
  grep -q -- '-> build or install mpsweep again' out
}

@test "a driver that does not work is a problem" {
  MPSWEEP_EMULATED_FAULT=cuInit=error:999 expect 1 "$MPSWEEP" doctor --device emulated
  finding problem 'GPU: .*cuInit: CUDA_ERROR_UNKNOWN \(999\)'
}

@test "a GPU that cannot be used: why" {
  MPSWEEP_EMULATED_CAPABILITY=70 refused 'compute capability 7.0; mpsweep needs 7.5' \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1
  MPSWEEP_EMULATED_COMPUTE_MODE=2 refused "compute mode PROHIBITED: .*'nvidia-smi -c DEFAULT'" \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1
  MPSWEEP_EMULATED_COMPUTE_MODE=3 expect 0 "$MPSWEEP" doctor --device emulated
}
