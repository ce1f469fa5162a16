#!/usr/bin/env bats
# An MPS daemon of one's own on machines that are not as one expects: another user, places that cannot
# be written, a PID 1 that does not care for orphans, processes that do not end.

load helper
load mps

# -- users and places ------------------------------------------------------------------------------

@test "as an unprivileged user, whose daemon even root does not stop by mistake" {
  [ "$(id -u)" -eq 0 ] || skip "only root can be somebody else"
  command -v setpriv >/dev/null || skip "no setpriv here"
  local user=(setpriv --reuid 65534 --regid 65534 --clear-groups env TMPDIR="$WORK/theirs")
  chmod 755 "$TMPDIR" "$WORK"
  mkdir theirs
  chown 65534:65534 theirs
  "${user[@]}" test -x "$MPSWEEP" || skip "others cannot run $MPSWEEP"
  expect 0 "${user[@]}" "${MPS_START[@]}" --priority 1
  local directory pid
  directory=$(find "$WORK/theirs" -mindepth 1 -maxdepth 1)
  [ "$(stat -c '%u %a' "$directory")" = '65534 700' ]
  expect 0 "${user[@]}" "$MPSWEEP" mps status -f json
  jq -e '.answers and .problem == null and .settings.priority == 1' out
  for pid in $(jq '.guard.pid, .daemon.pid, .servers[0].pid' out); do
    [ "$(stat -c %u "/proc/$pid")" -eq 65534 ]
  done
  refused "'$directory' belongs to user 65534, not to you" "$MPSWEEP" mps stop --force --dir "$directory"
  no_environment "'$directory' belongs to user 65534, not to you" --dir "$directory"
  TMPDIR=$WORK/theirs refused 'no MPS daemon of mpsweep.s was found' "$MPSWEEP" mps stop --force
  expect 0 "${user[@]}" "$MPSWEEP" mps stop
  expect 3 "${user[@]}" "${MPS_RUN[@]}" -q -- sh -c 'exit 3'
  [ -z "$(ls -A theirs)" ]
  # Nor can that user stop one of root's.
  keep
  directory=$(private)
  expect 1 "${user[@]}" "$MPSWEEP" mps stop --dir "$directory"
  says "cannot open '$directory': Permission denied"
  expect 0 "$MPSWEEP" mps stop
}

@test "where /tmp is read-only and there is no /run: another place is taken" {
  unshare -m true 2>/dev/null || skip "no mount namespaces for us"
  cat >place.sh <<'SCRIPT'
set -e
mpsweep=$1
# This shell's own /dev/shm: no other is touched.
mount -t tmpfs -o mode=1777 none /dev/shm
mount -t tmpfs -o ro none /run
mount --bind /tmp /tmp
mount -o remount,ro,bind /tmp
"$mpsweep" mps start --gpu emulated | grep -o 'runs in .*'
"$mpsweep" mps status --format json | jq -c '[.answers, .problem]'
"$mpsweep" mps stop
"$mpsweep" mps run --gpu emulated -q -- sh -c 'echo "$CUDA_MPS_PIPE_DIRECTORY"'
ls -A /dev/shm
mount -o remount,ro /dev/shm
mount -t tmpfs -o ro none /var/tmp
if "$mpsweep" mps start --gpu emulated; then exit 1; fi
SCRIPT
  expect 0 unshare -m --propagation private sh place.sh "$MPSWEEP"
  [ "$(wc -l <out)" -eq 3 ] || fail "$(cat out)"
  sed -n 1p out | grep -qE '^runs in /dev/shm/mpsweep-.{6}$'
  [ "$(sed -n 2p out)" = '[true,null]' ]
  sed -n 3p out | grep -qE '^/dev/shm/mpsweep-.{6}/mps$'
  says '^mpsweep: no place for a private directory, as TMPDIR can name: .*/var/tmp.*: Read-only file system'
}

# None of ours is in PLACE, and mpsweep took another one.
passed_over() {
  expect 0 "$@" "${MPS_RUN[@]}" -q -- sh -c 'echo "$CUDA_MPS_PIPE_DIRECTORY"; ls -A "$0"' "$WORK/place"
  [ "$(wc -l <out)" -eq 1 ] || fail "something is in the place:" "$(cat out)"
  absent "$WORK/place" out
}

@test "a place where others may write is passed over: they could put another directory there" {
  local mode
  for mode in 777 770 702; do
    rm -rf place
    mkdir place
    chmod $mode place
    passed_over env TMPDIR="$WORK/place"
    passed_over env XDG_RUNTIME_DIR="$WORK/place"
  done
  XDG_RUNTIME_DIR=$WORK/place expect 0 "$MPSWEEP" doctor --device emulated
  grep -qF "private directory: in '$TMPDIR'; not writable, not safe, or too long: '$WORK/place'" out
  # Not so where each may remove only what is one's own.
  chmod 1777 place
  XDG_RUNTIME_DIR=$WORK/place expect 0 "${MPS_RUN[@]}" -q -- sh -c 'echo "$CUDA_MPS_PIPE_DIRECTORY"'
  grep -q "^$WORK/place/mpsweep-" out
}

@test "so is a place that belongs to another user" {
  [ "$(id -u)" -eq 0 ] || skip "only root can give a directory away"
  mkdir place
  chown 65534 place
  passed_over env TMPDIR="$WORK/place"
  passed_over env XDG_RUNTIME_DIR="$WORK/place"
  refused "'$WORK/place' belongs to user 65534: a private directory in it would not be safe" \
    "${MPS_START[@]}" --dir place/one
}

@test "under a PID 1 that never waits: nothing but zombies, which are not taken for daemons" {
  unshare -pf --mount-proc true 2>/dev/null || skip "no process namespaces for us"
  cat >life.sh <<'SCRIPT'
set -eu
mpsweep=$1
start() { "$mpsweep" mps start --gpu emulated >/dev/null; }
kept() { "$mpsweep" mps status --format json | jq "$1"; }
is_zombie() { grep -qs '^State:.Z' "/proc/$1/status"; }
await() {
  tries=0
  until "$@"; do
    tries=$((tries + 1))
    [ $tries -lt 1000 ] || { echo "in vain: $*" >&2; exit 1; }
    sleep 0.02
  done
}
start
"$mpsweep" mps stop
start
guard=$(kept .guard.pid)
daemon=$(kept .daemon.pid)
kill -KILL "$guard"
await is_zombie "$guard"
await is_zombie "$daemon"
"$mpsweep" mps status --format json | jq -c '[.guard.running, .daemon.running, .answers]' || true
"$mpsweep" mps stop
"$mpsweep" mps run --gpu emulated -q -- sleep 600 &
run=$!
await sh -c 'grep -lsx sleep.600. /proc/[0-9]*/cmdline -a | grep -qv /proc/1/'
kill -KILL $run
{ wait $run; } 2>/dev/null || true
rest() {
  for status in /proc/[0-9]*/status; do
    awk '/^Name:/ { name = $2 } /^State:/ { state = $2 } END { if (state != "Z") print name }' \
      "$status" 2>/dev/null || true
  done | grep -cE 'mpsweep|sleep' || true
}
# But for PID 1.
alone() { [ "$(rest)" -eq 1 ]; }
await alone
ls -A "$TMPDIR" | grep -v '^work$' || true
echo end
SCRIPT
  # Once it is another program, PID 1 has children that it does not know of.
  start unshare -pf --kill-child --mount-proc sh -c '
    { sh life.sh "$1" >life.out 2>life.err; : >over; } & exec sleep 600' \
    sh "$MPSWEEP"
  await $PATIENCE test -e over || fail "$(cat life.out life.err)"
  kill -KILL "$PID"
  finish
  [ "$(cat life.out)" = $'[false,false,false]\nend' ] || fail "$(cat life.out life.err)"
}

# -- a worker that cannot be ended ------------------------------------------------------------------

# pipe_of WORKER: that it was given.
pipe_of() { tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^CUDA_MPS_PIPE_DIRECTORY=//p'; }

is_client() {
  CUDA_MPS_PIPE_DIRECTORY=$(pipe_of "$1") "$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control" \
    <<<ps 2>/dev/null | grep -qw "$1"
}

@test "workers that cannot be ended keep their daemons, which go when they are gone" {
  export MPSWEEP_EMUL_DEVICES=2
  start "$MPSWEEP" sweep --device emulated:all --kernels 20 --warmup 0.05 --precision 100 --duration 60 \
    --mps-daemons per-gpu -l processes+mps:2 -l processes+mps:1 --seed 0 -q -o r.jsonl
  await $PATIENCE has_workers 4
  # Both of GPU 0 and one of GPU 1; each of their threads, once all are there.
  local -a workers=()
  local worker threads='' holder status=0 first second
  mapfile -t workers < <(workers_of "$PID" | sort -n)
  for worker in "${workers[@]}"; do
    await $PATIENCE is_client "$worker"
  done
  unset 'workers[3]'
  first=$(dirname "$(pipe_of "${workers[0]}")")
  second=$(dirname "$(pipe_of "${workers[1]}")")
  for worker in "${workers[@]}"; do
    threads+=" $(ls "/proc/$worker/task")"
  done
  hold_open
  # shellcheck disable=SC2086
  "$MPSWEEP_BUILD_DIR/tests/fakes/hold_process" $threads <hold >held 2>held.err 3>&- 9>&- &
  holder=$!
  holding() { [ -s held ] || [ -s held.err ]; }
  await $PATIENCE holding
  if [ ! -s held ]; then
    kill -KILL "$PID"
    wait $holder || status=$?
    [ $status -ne 77 ] || skip "tracing is not permitted: $(cat held.err)"
    fail "$(cat held.err)"
  fi
  kill -INT "$PID"
  finish
  [ "$STATUS" -ne 0 ]
  grep -qE "processes (${workers[0]}, ${workers[2]}|${workers[2]}, ${workers[0]}) could not be ended: their MPS daemon stays in '$first' until they are gone" err
  grep -qF "process ${workers[1]} could not be ended: its MPS daemon stays in '$second' until it is gone" err
  # They are there, and name who is left.
  kept '[.answers, .guard.running, .daemon.running]' --dir "$first" | jq -e 'all'
  kept '[.answers, .guard.running, .daemon.running]' --dir "$second" | jq -e 'all'
  assert_whole r.jsonl
  points 'all(has("throughput_ips") | not)' r.jsonl
  let_go
  wait $holder || true
  await $LEFTOVER_PATIENCE no_own_process
  await $LEFTOVER_PATIENCE nothing_private
}
