#!/usr/bin/env bats
# Is this machine ready, and if not, what to type.

load helper
LOOKS_FOR_LEAKS=1

# finding WORD PATTERN: a line of the report.
finding() {
  grep -qE -e "^$1 +$2" out || fail "no '$1' line that matches: $2" "$(cat out)"
}

# advised PATTERN TEXT: the line below the finding that matches has this text.
advised() {
  grep -A1 -E -e "^(warning|problem) +$1" out | grep '^ *->' | grep -qF -e "$2" ||
    fail "no advice '$2' below: $1" "$(cat out)"
}

# Every warning and every problem is followed by what to do, and all are counted.
assert_advised() {
  awk '/^(warning|problem) / { if (want) exit 1; want = 1; next }
    { if (want && !/^ +-> [^ ]/) { want = 0; bad = 1; exit } want = 0 }
    END { exit want || bad }' out || fail "a finding without advice:" "$(cat out)"
  [ "$(tail -1 out | sed -E 's/^(not )?ready: //')" = "$(grep -c '^problem ' out |
    sed 's/$/ problems/; s/^1 problems/1 problem/'), $(grep -c '^warning ' out |
    sed 's/$/ warnings/; s/^1 warnings/1 warning/')" ] || fail "wrong sums:" "$(cat out)"
}

# What the doctor sees of a real GPU: the emulated driver under the real one's name, an NVML with one
# GPU, and MPS programs that report VERSION. with_real runs commands there.
make_real() {
  [ -e "$MPSWEEP_BUILD_DIR/tests/unit/device/fake_nvml_whole.so" ] || skip "built by make check with cmocka"
  mkdir -p lib bin
  ln -sf "$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so" lib/libcuda.so.1
  ln -sf "$MPSWEEP_BUILD_DIR/tests/unit/device/fake_nvml_whole.so" lib/libnvidia-ml.so.1
  cat >bin/nvidia-cuda-mps-control <<END
#!/bin/sh
if [ "\$1" = -v ]; then
  echo "\$CUDA_MPS_PIPE_DIRECTORY" >'$WORK/asked'
  printf '$1'
  exit 0
fi
exec '$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control' "\$@"
END
  printf '#!/bin/sh\nexit 1\n' >bin/nvidia-cuda-mps-server
  chmod +x bin/*
}
with_real() { env LD_LIBRARY_PATH="$WORK/lib" PATH="$WORK/bin:/nowhere" FAKE_NVML="${1-alone calm}" \
  "${@:2}"; }
CONTROL_SAYS='CUDA MPS Control for Linux/Unix/QNX. Binary version: '

@test "the emulated GPU: ready" {
  expect 0 "$MPSWEEP" doctor --device emulated
  [ ! -s err ]
  finding ok 'GPU: .*emulated.*no real numbers'
  # Its workers sleep: few CPUs limit nothing.
  absent 'CPUs: only' out
  finding ok 'MPS: a private daemon starts and answers'
  finding ok 'driver: emulated, CUDA [0-9]+\.[0-9]'
  finding ok 'CUPTI: .*/mpsweep-emulated-cuda.so, version [0-9]+$'
  finding ok 'compute mode: default'
  finding ok 'MPS programs: emulated'
  finding ok 'MPS variables: none is set'
  finding ok "private directory: in '$TMPDIR'$"
  finding ok "user: $(id -un) \\(uid $(id -u)\\)"
  finding ok 'container: '
  finding '(ok|warning)' '/dev/shm: .* free'
  finding '(ok|warning)' 'locked memory: '
  finding '(ok|warning)' 'processes and threads: '
  finding '(ok|warning)' 'address space: '
  finding ok 'CPUs: [0-9]+ package'
  finding ok 'binding: '
  [ "$(nproc)" -eq 1 ] || finding '(ok|warning)' 'speed of the CPUs: .* of the fastest now'
  finding '(ok|warning)' 'open files: limit of [0-9]+'
  tail -1 out | grep -qE '^ready: 0 problems, [0-9]+ warnings?$'
  absent '^problem' out
}

@test "JSON has each finding of the text, and the sum" {
  expect 0 "$MPSWEEP" doctor --device emulated
  cp out text
  expect 0 "$MPSWEEP" doctor --device emulated --format json
  jq -e '.ready and .problems == 0 and .warnings == ([.findings[] | select(.finding == "warning")] | length)
    and (.findings | all(.finding == "ok" or .advice != null))' out
  # What is free, others' daemons and how fast CPUs are may differ from one call to the next.
  jq -r '.findings[] | select(.check | test("^(/dev/shm$|MPS daemon|speed of)") | not) | "\(.finding) \(.check): \(.text)"' \
    out >found
  [ "$(wc -l <found)" -ge 15 ]
  grep -E '^(ok|warning|problem) ' text | grep -vE ' (/dev/shm:|MPS daemon|speed of)' | sed 's/  */ /' | diff - found
  expect 1 "$MPSWEEP" doctor --device 0 --format json
  jq -e '(.ready | not) and .problems >= 1 and (.findings | any(.finding == "problem" and .advice != null))' out
  expect 1 "$MPSWEEP" doctor --limits --format json
  grep -q "give either it or '--format json'" err
}

@test "a path that is not UTF-8 is printed as text, and its finding is in the JSON" {
  local odd=$WORK/odd$'\xff\033'
  mkdir -m 700 "$odd"
  TMPDIR=$odd expect 0 "$MPSWEEP" doctor --device emulated
  finding ok "private directory: in '$WORK/odd��'"
  absent "$(printf '\033')" out
  TMPDIR=$odd expect 0 "$MPSWEEP" doctor --device emulated --format json
  jq -e '.findings | all(. != null) and any(.check == "private directory")' out
}

@test "a gnuplot that does not run is a warning" {
  mkdir bin
  printf '#!/bin/sh\nexit 127\n' >bin/gnuplot
  chmod +x bin/gnuplot
  PATH=$WORK/bin:$PATH expect 0 "$MPSWEEP" doctor --device emulated
  finding warning 'plots: gnuplot does not run: exit status 127'
  advised 'plots: gnuplot does not run' "'gnuplot --version' shows why"
}

@test "each warning and each problem is followed by what to do" {
  # In a place where as much as possible is amiss.
  (ulimit -n 256 -l 32 &&
    expect 0 env PATH=/nowhere CUDA_MPS_LOG_DIRECTORY=/x CUDA_MPS_PIPE_DIRECTORY=/y \
      "$(printf 'CUDA_MPS_\033')=1" MPSWEEP_EMULATED_COMPUTE_MODE=3 \
      "$MPSWEEP" doctor --device emulated)
  finding warning 'open files: limit of 256'
  finding warning 'locked memory: limit of 32 KiB'
  advised 'locked memory' 'ulimit -l unlimited'
  finding warning 'compute mode: EXCLUSIVE_PROCESS'
  advised 'compute mode' 'nvidia-smi -i GPU-6d707377-6565-702d-656d-756c61746564 -c DEFAULT'
  finding warning 'MPS variables are set: CUDA_MPS_LOG_DIRECTORY CUDA_MPS_PIPE_DIRECTORY and 1 with'
  grep -q -- 'unset CUDA_MPS_LOG_DIRECTORY CUDA_MPS_PIPE_DIRECTORY$' out
  absent "$(printf '\033')" out
  finding warning 'plots: no gnuplot'
  grep -q -- '-> apt-get install gnuplot-nox' out
  grep -q -- '-> ulimit -n 4096' out
  assert_advised
}

@test "without a driver: a warning, and what it takes for real numbers" {
  if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then skip "there is a driver here"; fi
  expect 0 "$MPSWEEP" doctor
  finding warning 'GPU: .*no NVIDIA driver here'
  grep -q -- "-> for real numbers, run where 'nvidia-smi' shows a GPU" out
  tail -1 out | grep -qE '^ready: 0 problems'
  # A user who names a device wants a real one.
  expect 1 "$MPSWEEP" doctor --device 0
  finding problem 'GPU: cannot use a GPU: no NVIDIA driver'
  grep -q -- '-> install the NVIDIA driver, or use --device emulated' out
  tail -1 out | grep -qE '^not ready: 1 problem, '
}

@test "a daemon that does not start is a problem" {
  mkdir programs
  ln -s "$MPSWEEP_BUILD_DIR"/mpsweep-{worker,guard,emulated-cuda.so} programs
  ln -s "$FAKE_CONTROL" programs/mpsweep-emulated-mps-control
  FAKE_MODE='daemon=reply:no GPU for you' MPSWEEP_LIBEXEC_DIR=$WORK/programs expect 1 "$MPSWEEP" doctor --device emulated
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

@test "a foreign MPS daemon is reported, and left alone" {
  mkdir foreign
  cp "$(command -v sleep)" nvidia-cuda-mps-control
  CUDA_MPS_PIPE_DIRECTORY=$WORK/foreign ./nvidia-cuda-mps-control 600 3>&- &
  PID=$!
  runs() { [ "$(command_line "$PID" | head -1)" = ./nvidia-cuda-mps-control ]; }
  await $PATIENCE runs
  expect 0 "$MPSWEEP" doctor --device emulated
  finding warning "MPS daemon of $(id -un): PID $PID, pipe directory '$WORK/foreign'$"
  advised "MPS daemon of .* PID $PID" "mpsweep leaves it alone"
  advised "MPS daemon of .* PID $PID" \
    "echo get_server_list | CUDA_MPS_PIPE_DIRECTORY='$WORK/foreign' nvidia-cuda-mps-control"
  # It does not keep a private one from starting.
  finding ok 'MPS: a private daemon starts and answers'
  assert_advised
  runs
  [ -z "$(ls -A foreign)" ]
  kill "$PID"
  finish
  [ "$STATUS" -eq 143 ]
  expect 0 "$MPSWEEP" doctor --device emulated
  absent "PID $PID" out
}

@test "a daemon of another mpsweep is reported as such" {
  mkdir -p mpsweep-Ab12Cd/mps
  cp "$(command -v sleep)" nvidia-cuda-mps-control
  CUDA_MPS_PIPE_DIRECTORY=$WORK/mpsweep-Ab12Cd/mps ./nvidia-cuda-mps-control 600 3>&- &
  PID=$!
  runs() { [ "$(command_line "$PID" | head -1)" = ./nvidia-cuda-mps-control ]; }
  await $PATIENCE runs
  expect 0 "$MPSWEEP" doctor --device emulated
  finding ok "MPS daemon of another mpsweep of yours: PID $PID, pipe directory '$WORK/mpsweep-Ab12Cd"
  kill "$PID"
  finish
}

@test "a daemon that stays is listed, an emulated one, too" {
  expect 0 "$MPSWEEP" mps start --device emulated
  expect 0 "$MPSWEEP" mps status --format json
  local pid pipes
  { read -r pid; read -r pipes; } < <(jq -r '.daemon.pid, .pipe_directory' out)
  expect 0 "$MPSWEEP" doctor --device emulated
  finding ok "MPS daemon of another mpsweep of yours: PID $pid, pipe directory '$pipes'$"
  absent 'none runs' out
  expect 0 "$MPSWEEP" mps stop
}

@test "a real GPU, as its driver, NVML and MPS programs report it" {
  make_real "$CONTROL_SAYS"'13000\nCopyright\n'
  expect 0 with_real 'alone calm' "$MPSWEEP" doctor
  finding ok 'GPU: .* multiprocessors'
  finding ok 'driver: release 580\.65\.06, CUDA 13\.0'
  finding ok 'compute mode: default'
  finding ok 'persistence mode: on'
  finding ok 'MIG: off'
  finding ok 'other processes on this GPU: none'
  finding ok "MPS programs: $WORK/bin/nvidia-cuda-mps-control for CUDA 13\.0, as the driver; without static partitions"
  finding ok 'MPS: a private daemon starts and answers'
  absent 'clocks' out
  # The request for the version reaches no daemon.
  grep -qxE "$TMPDIR/mpsweep-[^/]+/off" asked

  MPSWEEP_EMULATED_COMPUTE_MODE=3 expect 0 with_real 'mig no-persistence' "$MPSWEEP" doctor
  finding warning 'compute mode: EXCLUSIVE_PROCESS'
  finding warning 'persistence mode: off'
  advised 'persistence' '-pm 1'
  finding warning 'MIG: on'
  advised 'MIG' '-mig 0'
  finding warning 'other processes on this GPU: 2'
  finding warning 'clocks are held down: power cap, hw thermal'
  assert_advised

  expect 0 with_real 'no-driver' "$MPSWEEP" doctor
  finding ok 'driver: CUDA 13\.0'
  finding warning 'NVML: .*Driver Not Loaded'
  absent '^[a-z]* *\(MIG\|persistence\|other processes\)' out
  assert_advised
}

@test "MPS programs that are missing, of another release, or not understood" {
  make_real "$CONTROL_SAYS"'12080\n'
  expect 0 with_real '' "$MPSWEEP" doctor
  finding warning 'MPS programs: .* for CUDA 12\.8, unlike the driver; without static partitions'
  assert_advised
  make_real "$CONTROL_SAYS"'13010\n'
  expect 0 with_real '' "$MPSWEEP" doctor
  finding warning 'MPS programs: .* for CUDA 13\.1, unlike the driver; with static partitions'

  local reply
  for reply in "$CONTROL_SAYS" "$CONTROL_SAYS"'13000x\n' "$CONTROL_SAYS"'-13000\n' \
    "$CONTROL_SAYS"'1\n' "x$CONTROL_SAYS"'13000\n' 'CUDA MPS Control \n. Binary version: 13000\n' \
    "$CONTROL_SAYS"'13000' '\033[31m\n' ''; do
    make_real "$reply"
    expect 0 with_real '' "$MPSWEEP" doctor
    finding warning 'MPS programs: .*/nvidia-cuda-mps-control does not print its version' ||
      fail "from: $reply"
    absent "$(printf '\033')" out
  done

  rm bin/nvidia-cuda-mps-server
  expect 1 with_real '' "$MPSWEEP" doctor
  finding problem "MPS programs: no 'nvidia-cuda-mps-server' beside '$WORK/bin/nvidia-cuda-mps-con"
  absent 'private daemon' out

  rm bin/nvidia-cuda-mps-control
  expect 1 with_real '' "$MPSWEEP" doctor
  finding problem "MPS programs: cannot run 'nvidia-cuda-mps-control': No such file"
  advised 'MPS programs' "install the driver's MPS programs"
  absent 'private daemon' out
  assert_advised
}

# in_mounts SCRIPT: the doctor where a shell script has changed what is mounted.
in_mounts() {
  local flags=-m
  [ "$(id -u)" -eq 0 ] || flags=-rm
  unshare $flags true 2>/dev/null || skip "no mount namespaces here"
  # shellcheck disable=SC2016
  unshare $flags bash -c "set -e; $1"'; shift; exec "$@"' - - "$MPSWEEP" doctor --device emulated
}
READ_ONLY='ro() { mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; }'

@test "the private directory takes the first place that can be written" {
  XDG_RUNTIME_DIR=/proc expect 0 "$MPSWEEP" doctor --device emulated
  finding ok "private directory: in '$TMPDIR'; not writable, not safe, or too long: '/proc'"
  expect 0 in_mounts "$READ_ONLY; ro /tmp"
  finding ok "private directory: in '/dev/shm'; not writable, not safe, or too long: '$TMPDIR', '/tmp'"
  finding ok 'MPS: a private daemon starts and answers'
  expect 1 in_mounts "$READ_ONLY; ro /tmp; ro /var/tmp; ro /dev/shm"
  finding problem 'no place for a private directory, as TMPDIR can name: .*Read-only file system'
  advised 'no place' 'export TMPDIR=DIRECTORY'
  finding warning '/dev/shm: not writable'
  tail -1 out | grep -qE '^not ready: 1 problem, '
  assert_advised
}

@test "a small /dev/shm is a warning" {
  expect 0 in_mounts 'mount -t tmpfs -o size=1m none /dev/shm'
  finding warning '/dev/shm: (1\.0 MiB|[0-9]+ KiB) free'
  advised '/dev/shm' 'docker run --shm-size=1g'
}
