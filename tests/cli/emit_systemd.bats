#!/usr/bin/env bats
# The emitted units under a real systemd (tests/systemd/machine), on two emulated GPUs: started, proved,
# killed here and there, stopped and removed.

load helper
load emit

setup_file() {
  MACHINE_DIR=$(mktemp -d /tmp/mps.XXXXXX)
  mkfifo "$MACHINE_DIR/alive"
  MACHINE_ENVIRONMENT=MPSWEEP_EMUL_DEVICES=2 "$MPSWEEP_SOURCE_DIR/tests/systemd/machine" "$MACHINE_DIR/machine" \
    <"$MACHINE_DIR/alive" >"$MACHINE_DIR/number" 2>"$MACHINE_DIR/err" 3>&- 4>&- &
  MACHINE_PID=$!
  exec 9>"$MACHINE_DIR/alive"
  until [ -s "$MACHINE_DIR/number" ] || ! kill -0 $MACHINE_PID 2>/dev/null; do
    read -r -t 0.05 <> <(:) || true
  done
  MACHINE=$(cat "$MACHINE_DIR/number")
  NO_MACHINE=$(cat "$MACHINE_DIR/err")
  export MACHINE MACHINE_DIR MACHINE_PID NO_MACHINE
  cd /
}

teardown_file() {
  exec 9>&-
  wait "$MACHINE_PID" 2>/dev/null || true
  rm -rf "$MACHINE_DIR"
}

# within COMMAND...: on that machine, in this directory.
within() { nsenter -t "$MACHINE" -p -m -C -i -n -u --wd="$PWD" "$@" 9>&-; }

# prepared DAEMONS DIRECTORY WORDS...: installed there.
prepared() {
  [ -n "$MACHINE" ] || skip "${NO_MACHINE:-no systemd for tests}"
  prepare
  on_two_gpus "$1" 3
  emit systemd "$2" --point 3 -- "${@:3}"
  serves_nothing "$2"
  within ln -sf "$WORK/bin/serve" "$WORK/bin/nvidia-cuda-mps-control" /usr/local/bin
  expect 0 within "./$2/install"
}

pid_of() { within systemctl show --property=MainPID --value "mpsweep-d-$1.service"; }
pids() { for unit in "$@"; do pid_of "$unit"; done; }
is_back() { [ "$(pid_of "$1")" -gt 0 ] && [ "$(pid_of "$1")" -ne "$2" ]; }

# Every worker is proved a client; also again, after something died.
is_up() {
  within ./d/check >"$WORK/check.out" 2>&1 && [ "$(grep -c '^worker [0-3]: attached: ' check.out)" -eq 4 ]
}
await_up() {
  await $PATIENCE is_up || { cat check.out >&2; within journalctl --no-pager -n 60 >&2; return 1; }
}

# What runs there beside systemd's own, and what asks.
strays() { within ps -e -o pid=,args= | grep -v -e systemd -e ' ps -e'; }
is_still() { [ -z "$(strays)" ]; }

is_removed() {
  expect 0 within systemctl stop mpsweep-d.target || return 1
  await $PATIENCE is_still || { strays >&2; return 1; }
  [ -z "$(within find /run/mpsweep-d -type f -o -type s 2>/dev/null)" ] || return 1
  [ -z "$(within systemctl list-units --failed --no-legend 'mpsweep-*')" ] || return 1
  expect 0 within ./d/install --remove || return 1
  [ -z "$(within find /etc /usr/local /run /var/log -name '*mpsweep-d*')" ]
}

@test "a daemon each: what dies comes back, with what depends on it and nothing else" {
  prepared per-gpu d serve "${HARD[@]}" "${PLACED[@]}"
  expect 0 within systemctl start mpsweep-d.target
  is_up
  local process before others
  for process in 0 1 2 3; do
    grep -qx "CUDA_VISIBLE_DEVICES=GPU-6d707377-6565-702d-656d-756c6174656$((process % 2 + 4))" "environment.$process"
    grep -qx "CUDA_MPS_PIPE_DIRECTORY=/run/mpsweep-d/mps-$((process % 2))" "environment.$process"
  done
  printf '%s\0' "${HARD[@]}" '{other} ${HOME} {' 1 p1of4 --port=9001 '2$x2' | cmp - words.1
  # A daemon dies: its workers go and come back, and those of the other one do not notice.
  before=$(pids mps@1 worker@1 worker@3)
  others=$(pids mps@0 worker@0 worker@2)
  within kill -KILL "$(pid_of mps@1)"
  await $PATIENCE is_back worker@1 "$(sed -n 2p <<<"$before")"
  await $PATIENCE is_back worker@3 "$(sed -n 3p <<<"$before")"
  await_up
  [ "$(pids mps@0 worker@0 worker@2)" = "$others" ]
  # A worker dies: it alone comes back.
  before=$(pids mps@0 worker@2)
  within kill -KILL "$(pid_of worker@0)"
  await $PATIENCE is_back worker@0 "$(sed -n 2p <<<"$others")"
  await_up
  [ "$(pids mps@0 worker@2)" = "$before" ]
  is_removed
}

@test "one daemon for all: ended by quit, restarted, and stopped for good" {
  prepared shared d serve
  expect 0 within systemctl start mpsweep-d.target
  is_up
  local daemon
  daemon=$(pid_of mps)
  for gpu in 0 1; do
    [ "$(echo get_default_device_pinned_mem_limit $gpu | within env CUDA_MPS_PIPE_DIRECTORY=/run/mpsweep-d/mps nvidia-cuda-mps-control)" = 512M ]
  done
  # 'quit' ends the daemon, which is not a failure.
  echo 'quit -t 1' | within env CUDA_MPS_PIPE_DIRECTORY=/run/mpsweep-d/mps nvidia-cuda-mps-control
  await $PATIENCE is_back mps "$daemon"
  await_up
  expect 0 within systemctl restart mpsweep-d.target
  await_up
  is_removed
}

@test "a server counts as started when it is a client and ready" {
  [ -n "$MACHINE" ] || skip "${NO_MACHINE:-no systemd for tests}"
  prepare
  as_server '{"ready": "http://127.0.0.1:{port}/health"}'
  find_ports
  cat >bin/serve <<SERVE
#!/bin/sh
export MPSWEEP_DRIVER="$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so"
exec "$MPSWEEP_BUILD_DIR/tests/fakes/http-server" --gpu "\$@"
SERVE
  expect 0 "$MPSWEEP" emit results.jsonl --format systemd -o d --port "$PORT" -- serve --port '{port}' --ready-after 1
  within ln -sf "$WORK/bin/serve" "$WORK/bin/nvidia-cuda-mps-control" /usr/local/bin
  expect 0 within ./d/install
  expect 0 within systemctl start mpsweep-d.target
  local port
  for port in "$PORT" $((PORT + 1)); do
    expect 0 within sh d/ready "http://127.0.0.1:$port/health"
  done
  expect 0 within ./d/check
  [ "$(grep -c '^worker [01]: attached: ' out)" -eq 2 ]
  is_removed
}
