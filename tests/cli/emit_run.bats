#!/usr/bin/env bats
# Deployments as they run, with the emulated GPU and its MPS daemon: started, proved, and stopped
# without a trace.

load helper
load emit

@test "env: daemon, workers, proof; then nothing of it is left" {
  prepare
  emit env d --point 3 -- serve "${HARD[@]}" "${PLACED[@]}"
  serves_nothing d
  expect 1 d/check
  says 'it does not run'
  # What the shell has is not what was measured.
  CUDA_LAUNCH_BLOCKING=1 CUDA_MPS_CLIENT_PRIORITY=1 CUDA_MPS_NEW_SETTING=1 expect 0 d/start
  absent 'CUDA_LAUNCH\|CUDA_MPS_CLIENT\|CUDA_MPS_NEW' environment.1
  [ "$(grep -c '^worker [01]: attached: process [0-9]*, client [0-9]* of MPS server [0-9]*$' out)" -eq 2 ]
  [ "$(stat -L -c %a d/run)" = 700 ]
  [ "$(stat -L -c %a d/run/mps)" = 700 ]
  expect 0 d/check
  # The very words, each process with its own numbers.
  printf '%s\0' "${HARD[@]}" "${PLACED_1[@]}" | cmp - words.1
  grep -qx 'CUDA_VISIBLE_DEVICES=GPU-6d707377-6565-702d-656d-756c61746564' environment.1
  grep -qx 'CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50' environment.1
  grep -qx 'CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=512M' environment.1
  grep -qx 'CUDA_DEVICE_MAX_CONNECTIONS=8' environment.1
  grep -qx 'MPSWEEP_PROCESS=1' environment.1
  grep -qx 'MPSWEEP_THREADS=2' environment.1
  grep -qx 'MPSWEEP_MPS=1' environment.1
  grep -qx 'MPSWEEP_SEED=7' environment.1
  grep -qx 'MPSWEEP_GPU=GPU-6d707377-6565-702d-656d-756c61746564' environment.1
  # The daemon's limits are those of the deployment, for clients that ask for nothing, too.
  local pipe
  pipe=$(readlink d/run)/mps
  [ "$(echo get_default_active_thread_percentage | CUDA_MPS_PIPE_DIRECTORY=$pipe nvidia-cuda-mps-control)" = 50.0 ]
  [ "$(echo get_default_device_pinned_mem_limit 0 | CUDA_MPS_PIPE_DIRECTORY=$pipe nvidia-cuda-mps-control)" = 512M ]
  # Each worker is on its CPU.
  local pid wanted
  read -r pid _ <d/worker-1.pid
  wanted=$(sed -n "s/^export MPSWEEP_CPUS='\(.*\)'$/\1/p" d/worker-1.env)
  [ "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$pid/status")" = "$wanted" ]
  # A second one does not disturb the first.
  expect 1 d/start
  says 'it runs already'
  expect 0 d/check
  expect 0 d/stop
  await $PATIENCE no_own_process
  [ ! -e d/run ]
  [ ! -L d/run ]
  expect 0 d/stop
  grep -qx 'it does not run' out
  expect 1 d/check
  # It can be started again.
  expect 0 d/start
  expect 0 d/stop
}

# runs DAEMONS: each of four workers is proved a client, with its own GPU; then nothing is left.
runs() {
  emit env d --point 3 -- serve
  expect 0 d/start
  [ "$(grep -c '^worker [0-3]: attached: ' out)" -eq 4 ]
  [ "$(find d -name 'daemon*.pid' | wc -l)" -eq "$1" ]
  [ "$(grep -h '^CUDA_VISIBLE_DEVICES=' environment.[02] | sort -u)" = CUDA_VISIBLE_DEVICES=GPU-6d707377-6565-702d-656d-756c61746564 ]
  [ "$(grep -h '^CUDA_VISIBLE_DEVICES=' environment.[13] | sort -u)" = CUDA_VISIBLE_DEVICES=GPU-6d707377-6565-702d-656d-756c61746565 ]
  [ "$(grep -h '^CUDA_MPS_PIPE_DIRECTORY=' environment.? | sort -u | wc -l)" -eq "$1" ]
  absent MPSWEEP_MPS_GPUS environment.0
  expect 0 d/check
  # A worker that ends is reported, with either daemon.
  local pid
  read -r pid _ <d/worker-3.pid
  kill -TERM "$pid"
  await $PATIENCE is_gone "$pid"
  expect 1 d/check
  grep -q '^worker 3: not running' out
  expect 0 d/stop
  [ -z "$(find d -name '*.pid')" ]
  await $PATIENCE no_own_process
}

@test "env: two GPUs over one daemon, which has its limits on both" {
  prepare
  on_two_gpus shared 3
  runs 1
}

@test "env: two GPUs over a daemon each; one that dies is reported, and the rest continues" {
  prepare
  on_two_gpus per-gpu 3
  runs 2
  rm -rf d
  emit env d --point 3 -- serve
  expect 0 d/start
  local pid
  read -r pid _ <d/daemon-1.pid
  kill -KILL "$(children_of "$pid")"
  await $PATIENCE is_gone "$pid"
  expect 1 d/check
  grep -q '^worker 0: attached: ' out
  grep -q '^worker 1: not attached: ' out
  expect 0 d/stop
  await $PATIENCE no_own_process
}

@test "env: a worker that is not a client is reported, whatever else it does" {
  prepare
  cat >bin/idle <<IDLE
#!/bin/bash
read -r <>"$WORK/forever"
IDLE
  chmod +x bin/idle
  emit env d --point 3 -- idle
  sed -i 's/^MPSWEEP_START_TIMEOUT=.*/MPSWEEP_START_TIMEOUT=1/' d/deployment.env
  expect 1 d/start
  grep -qE '^worker 0: not attached: process [0-9]+ is no client of the daemon' out
  grep -q '^start: not attached after 1 s' err
  # What failed was ended.
  [ ! -L d/run ]
  await $PATIENCE no_own_process
}

@test "env: a worker that ends is reported, and the rest is ended" {
  prepare
  emit env d --point 3 -- sh -c 'echo no such model >&2; exit 3'
  expect 1 d/start
  grep -q '^start: worker [01] ended: no such model$' err
  [ ! -L d/run ]
  emit env late --point 3 -- serve
  expect 0 late/start
  local pid
  read -r pid _ <late/worker-1.pid
  kill -KILL "$pid"
  await $PATIENCE is_gone "$pid"
  expect 1 late/check
  grep -q '^worker 0: attached' out
  grep -q '^worker 1: not running, see ' out
  expect 0 late/stop
}

@test "env: a client that the worker started counts as the worker's" {
  prepare
  emit env d --point 3 -- sh -c 'serve & wait'
  expect 0 d/start
  [ "$(grep -c ': attached: process ' out)" -eq 2 ]
  expect 0 d/stop
  await $PATIENCE no_own_process
}

@test "env: a worker that does not hear SIGTERM is killed in the end" {
  prepare
  emit env d --point 3 -- sh -c 'trap "" TERM; exec serve'
  sed -i 's/^MPSWEEP_STOP_TIMEOUT=.*/MPSWEEP_STOP_TIMEOUT=1/' d/deployment.env
  expect 0 d/start
  expect 0 d/stop
  grep -q 'workers are still there after 1 s: they are killed' err
  await $PATIENCE no_own_process
}

@test "env: a daemon that does not start, does not follow, or dies" {
  prepare
  emit env d --point 3 -- serve
  ln -sf /bin/false bin/nvidia-cuda-mps-control
  expect 1 d/start
  grep -qE '^start: the daemon did not start: the daemon ended while it started$' err
  [ ! -L d/run ]
  # What the daemon itself reports is there, too.
  rm bin/nvidia-cuda-mps-control
  printf '#!/bin/sh\necho "no GPU here" >&2\nexit 1\n' >bin/nvidia-cuda-mps-control
  chmod +x bin/nvidia-cuda-mps-control
  expect 1 d/start
  grep -qx 'start: the daemon did not start: the daemon ended while it started: no GPU here' err
  # Without the program, that.
  rm bin/nvidia-cuda-mps-control
  mkdir tools
  local tool
  for tool in bash sh cat date dirname env grep mkdir mktemp readlink rm rmdir sed setsid sleep sort tail timeout ln taskset; do
    ln -s "$(command -v $tool)" tools/
  done
  expect 1 env PATH="$PWD/bin:$PWD/tools" d/start
  grep -qx 'start: the daemon did not start: cannot find nvidia-cuda-mps-control in PATH: it comes with the driver' err
  # One with another limit than the requested one.
  cat >bin/nvidia-cuda-mps-control <<CONTROL
#!/bin/bash
[ \$# -eq 0 ] || exec "$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control" "\$@"
sed 's/^set_default_active.*/get_server_list/' | "$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control"
CONTROL
  chmod +x bin/nvidia-cuda-mps-control
  expect 1 d/start
  grep -q "^start: the daemon did not start: the daemon has an active thread percentage of '100.0' in place of '50'" err
  await $PATIENCE no_own_process
  # From 1G on it reports whole gigabytes, and no others are right.
  sed -i "s/^sed .* |/sed 's|limit 0 1536M|limit 0 '\"\$OTHER\"'|' |/" bin/nvidia-cuda-mps-control
  sed -i 's/^MPSWEEP_MPS_MEMORY=.*/MPSWEEP_MPS_MEMORY="1536M"/' d/deployment.env
  OTHER=2048M expect 1 d/start
  grep -q "the daemon has a memory limit of '2G' in place of '1536M'" err
  OTHER=1536M expect 0 d/start
  expect 0 d/stop
  await $PATIENCE no_own_process
  sed -i 's/^MPSWEEP_MPS_MEMORY=.*/MPSWEEP_MPS_MEMORY="512M"/' d/deployment.env
  rm bin/nvidia-cuda-mps-control
  ln -sf "$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control" bin/nvidia-cuda-mps-control
  expect 0 d/start
  local pid
  read -r pid _ <d/daemon.pid
  kill -KILL "$pid"
  # Its child, the daemon, continues: stop finds it by its socket.
  expect 0 d/stop
  await $PATIENCE no_own_process
}

@test "env: without MPS or a port a worker is there only once it is the program" {
  prepare
  # A shell that is held where it looks for the program, as a busy machine would hold it.
  mkfifo gate
  emit env d --point 4 -- nosuchprog
  sed -i "s|^exec |read -r _ <'$WORK/gate'\n&|" d/command
  # The script sleeps where it has looked at the workers, and goes on waiting.
  printf '#!/bin/sh\n: >"%s/slept"\nexec %s "$@"\n' "$WORK" "$(command -v sleep)" >bin/sleep
  chmod +x bin/sleep
  start d/start
  await $PATIENCE test -e slept
  exec 5<>gate
  printf 'go\ngo\n' >&5
  finish
  exec 5>&-
  [ "$STATUS" -eq 1 ]
  [ ! -s out ]
  grep -q '^start: worker [01] ended: .*nosuchprog' err
  [ ! -L d/run ]
  await $PATIENCE no_own_process
}

@test "env: start that is interrupted leaves nothing" {
  prepare
  cat >bin/idle <<IDLE
#!/bin/bash
: >"$WORK/began"
read -r <>"$WORK/forever"
IDLE
  chmod +x bin/idle
  emit env d --point 3 -- idle
  local signal
  for signal in INT TERM HUP; do
    rm -f began
    start d/start
    await $PATIENCE test -e began
    kill -$signal "$PID"
    finish
    [ "$STATUS" -eq 1 ]
    [ ! -L d/run ]
    await $PATIENCE no_own_process
  done
}

@test "env: without MPS no daemon is found, even a default one" {
  prepare
  emit env d --point 4 -- serve
  # One that every client of this shell finds.
  export CUDA_MPS_PIPE_DIRECTORY=$PWD/theirs CUDA_MPS_LOG_DIRECTORY=$PWD/theirs
  mkdir theirs
  sh d/mps run >daemon.out 2>&1 3>&- &
  local daemon=$! client
  await $PATIENCE sh d/mps ready
  CUDA_DEVICE_MAX_CONNECTIONS=1 CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=10 expect 0 d/start
  # They have made their contexts.
  await $PATIENCE test -s probe.0 -a -s probe.1
  absent 'CUDA_DEVICE_MAX\|CUDA_MPS_ACTIVE' environment.0
  grep -qE '^worker 1: running, process [0-9]+; this layout has no MPS$' out
  grep -qx "CUDA_MPS_PIPE_DIRECTORY=$(readlink d/run)/off" environment.0
  [ -z "$(ls -A d/run/off)" ]
  # No server was started for them.
  [ -z "$(echo get_server_list | nvidia-cuda-mps-control)" ]
  # It can fail: a worker of this shell is its client.
  MPSWEEP_PROCESS=2 bin/serve >worker.out 2>&1 3>&- &
  client=$!
  await $PATIENCE sh d/mps attached $client
  kill -TERM $client
  expect 0 d/stop
  kill -TERM $daemon
  wait $daemon
  await $PATIENCE no_own_process
}

@test "env: without a command all refuses, loudly" {
  prepare
  emit env d
  grep -q '^no command was given' out
  grep -q 'EDIT ME' d/README.md
  expect 1 d/start
  says "start: edit me: '.*/d/command' has no command yet"
  expect 1 d/check
  says "check: edit me: '.*/d/command' has no command yet"
  expect 78 sh d/command
  [ ! -L d/run ]
}

@test "env: a directory whose name is hard to quote, and a stale run" {
  prepare
  local name=$'d it\'s "$x" \n%'
  emit env "$name" --point 3 -- serve
  expect 0 "./$name/start"
  expect 0 "./$name/stop"
  # As after a crash of the machine, whose /tmp is empty then.
  ln -s "$TMPDIR/mpsweep-d.gone" "$name/run"
  expect 1 "./$name/check"
  expect 0 "./$name/start"
  expect 0 "./$name/check"
  expect 0 "./$name/stop"
}

@test "env: a private directory that is taken away hides nothing that runs" {
  prepare
  mkdir runtime
  emit env d --point 3 -- serve
  # A session's directory does not last as long as a deployment.
  XDG_RUNTIME_DIR=$PWD/runtime expect 0 d/start
  [ -z "$(ls -A runtime)" ]
  rm -rf "$(readlink d/run)"
  expect 1 d/check
  says "was taken away while it runs"
  expect 1 d/start
  says 'it runs already'
  expect 0 d/stop
  grep -qx 'stopped' out
  await $PATIENCE no_own_process
  [ -z "$(ls d/*.pid 2>/dev/null)" ]
  expect 0 d/start
  expect 0 d/stop
}

@test "containers: the scripts that kubernetes and compose run" {
  prepare
  emit compose d --point 3 -- serve
  mkdir volume
  export MPSWEEP_RUN=$WORK/volume MPSWEEP_MPS=1 MPSWEEP_GPU_FILE=$PWD/volume/gpu
  export CUDA_MPS_PIPE_DIRECTORY=$PWD/volume/mps CUDA_MPS_LOG_DIRECTORY=$PWD/volume/log
  expect 1 sh d/check 0
  says 'worker 0: not running'
  MPSWEEP_START_TIMEOUT=0 expect 1 sh d/worker 0 serve
  says "worker 0: not started without MPS: the daemon in '.*' is not ready"
  MPSWEEP_PROCESS=0 CUDA_LAUNCH_BLOCKING=1 CUDA_DEVICE_MAX_CONNECTIONS='' CUDA_MPS_CLIENT_PRIORITY=1 \
    sh d/worker 0 serve 'a b' >worker.out 2>&1 3>&- &
  local worker=$! daemon
  # The sidecar writes which GPU it was allotted. It comes later, as after a crash.
  NVIDIA_VISIBLE_DEVICES=GPU-1234 sh d/mps run >daemon.out 2>&1 3>&- &
  daemon=$!
  await $PATIENCE sh d/mps ready
  [ "$(cat volume/gpu)" = GPU-1234 ]
  await $PATIENCE sh d/check 0
  grep -qx 'CUDA_VISIBLE_DEVICES=GPU-1234' environment.0
  absent 'CUDA_LAUNCH\|CUDA_DEVICE_MAX\|CUDA_MPS_LOG' environment.0
  grep -qx 'CUDA_MPS_CLIENT_PRIORITY=1' environment.0
  grep -qx 'MPSWEEP_GPU=GPU-1234' environment.0
  [ "$(cat volume/worker-0.pid)" = $worker ]
  kill -TERM $worker
  await $PATIENCE is_gone $worker
  expect 1 sh d/check 0
  kill -TERM $daemon
  wait $daemon
  grep -q '^mps: ready' daemon.out
  expect 78 sh d/worker 0 EDIT-ME
  says 'edit me: this worker has no command yet'
  # One GPU for several containers, without MPS.
  rm volume/gpu
  NVIDIA_VISIBLE_DEVICES=GPU-5678 sh d/mps hold 2>hold.out 3>&- &
  daemon=$!
  await $PATIENCE grep -qs GPU-5678 volume/gpu
  kill -TERM $daemon
  wait $daemon
  await $PATIENCE no_own_process
}

# Programs of Slurm that do what the job's script needs of them, on this machine.
fake_slurm() {
  cat >bin/srun <<'SRUN'
#!/bin/bash
printf '%s\n' "$@" >>"$FAKE_LOG"
while [[ $1 == --* ]]; do
  [[ $1 != --ntasks=* ]] || tasks=${1#*=}
  shift
done
trap 'kill -KILL $(cat "$FAKE_LOG.tasks"); exit 143' TERM
for ((i = 0; i < tasks; i++)); do
  SLURM_PROCID=$i "$@" &
  echo $! >>"$FAKE_LOG.tasks"
done
status=0
for pid in $(cat "$FAKE_LOG.tasks"); do wait "$pid" || status=$?; done
exit $status
SRUN
  cat >bin/scancel <<'SCANCEL'
#!/bin/bash
printf '%s\n' "scancel $*" >>"$FAKE_LOG"
kill -TERM $(cat "$FAKE_LOG.tasks")
SCANCEL
  chmod +x bin/srun bin/scancel
  export FAKE_LOG=$WORK/slurm.log SLURM_JOB_ID=17 MPSWEEP_LOCAL_DIR=$TMPDIR CUDA_VISIBLE_DEVICES=GPU-99
}

@test "slurm: the job's life, as far as it goes without Slurm" {
  prepare
  fake_slurm
  emit slurm d --point 3 -- serve "${HARD[@]}" "${PLACED[@]}"
  serves_nothing d
  cd d
  start env SLURM_SUBMIT_DIR="$PWD" CUDA_LAUNCH_BLOCKING=1 CUDA_MPS_CLIENT_PRIORITY=1 ./job.sbatch
  await $PATIENCE grep -qs '^to look again: ' ../out
  [ "$(grep -c '^worker [01]: attached: process ' ../out)" -eq 2 ]
  printf '%s\0' "${HARD[@]}" "${PLACED_1[@]}" | cmp - ../words.1
  grep -qx 'CUDA_VISIBLE_DEVICES=GPU-99' ../environment.1
  absent 'CUDA_LAUNCH\|CUDA_MPS_CLIENT' ../environment.1
  grep -qx 'MPSWEEP_GPU=GPU-99' ../environment.1
  grep -qx -e '--cpu-bind=mask_cpu:.*' "$FAKE_LOG"
  # As Slurm does before the job's time is over.
  kill -TERM "$PID"
  finish
  [ "$STATUS" -eq 143 ]
  grep -qx 'scancel --signal=TERM 17.0' "$FAKE_LOG"
  await $PATIENCE no_own_process
  [ -z "$(ls -d "$TMPDIR"/mpsweep-j.* 2>/dev/null)" ]
  # Workers that fail end the job.
  rm "$FAKE_LOG.tasks"
  cd ..
  emit slurm failing --point 3 -- sh -c 'exit 5'
  cd failing
  expect 5 env SLURM_SUBMIT_DIR="$PWD" ./job.sbatch
  grep -q '^the workers ended before all of them were attached, status 5$' ../err
  await $PATIENCE no_own_process
  cd ..
  expect 1 env SLURM_SUBMIT_DIR="$PWD" d/job.sbatch
  says "is not this deployment's directory: submit there"
  emit slurm none --point 3
  cd none
  expect 1 env SLURM_SUBMIT_DIR="$PWD" ./job.sbatch
  says "edit me: '.*/none/command' has no command yet"
}
