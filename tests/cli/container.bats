#!/usr/bin/env bats
# mpsweep in a container: process numbers of its own, a root that is read-only, little memory in /tmp and
# /dev/shm, no /sys.

load helper

setup_file() {
  if ! command -v bwrap >/dev/null; then
    WHY="no bwrap: apt-get install bubblewrap"
  elif ! bwrap --unshare-all --ro-bind / / true 2>/dev/null; then
    WHY="bwrap may not make namespaces here"
  else
    WHY=
  fi
  export WHY
}

# contained OPTION... -- COMMAND...: this directory is /here in it, and all that can be written.
contained() {
  local options=()
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  CONTAINED=(bwrap --unshare-all --ro-bind / / --tmpfs /sys --proc /proc --dev /dev
    --size 1048576 --tmpfs /dev/shm --size 1048576 --tmpfs /tmp
    --ro-bind "$MPSWEEP_BUILD_DIR" "$MPSWEEP_BUILD_DIR" --ro-bind "$MPSWEEP_SOURCE_DIR" "$MPSWEEP_SOURCE_DIR"
    --bind "$WORK" /tmp/here --chdir /tmp/here --remount-ro / --setenv TMPDIR /tmp --setenv MARK "TMPDIR=$TMPDIR"
    "${options[@]}" "$@")
}

LONG=(--device emulated --layout processes+mps:2 --kernels 5 --duration 30 --max-duration 30 --warmup 0.02
  --precision 100 --quiet --rounds 1)

@test "container: every layout is measured as its first process, and a stop is heard" {
  [ -z "$WHY" ] || skip "$WHY"
  contained --as-pid-1 -- "$MPSWEEP" sweep "${TINY[@]}" --layout processes+mps:2 --layout threads:2 \
    --layout hybrid:2x2 --quiet -o out.jsonl
  expect 0 "${CONTAINED[@]}"
  assert_complete out.jsonl 3 0
  points 'map(measured) | all' out.jsonl
  # To the first process of a container only those signals come that it handles.
  contained --as-pid-1 -- "$MPSWEEP" sweep "${LONG[@]}" -o long.jsonl
  start "${CONTAINED[@]}"
  await $PATIENCE has_worker
  kill -TERM "$(children_of "$PID")"
  finish
  [ "$STATUS" -eq 130 ]
  assert_whole long.jsonl
  await $PATIENCE none_is_left
}

# Processes in the container have the mark in its variable.
marked() { env -u TMPDIR grep -lsazF "MARK=TMPDIR=$TMPDIR" /proc/[0-9]*/environ || true; }
none_is_left() { [ -z "$(marked)" ]; }
has_worker() {
  local file
  for file in $(marked); do
    ! command_line "$(basename "${file%/environ}")" | grep -qx -e --shm || return 0
  done
  return 1
}

@test "container: a sweep that is killed in one leaves neither processes nor files in it" {
  [ -z "$WHY" ] || skip "$WHY"
  mkfifo killed end
  contained -- bash -c 'ls -A /tmp /dev/shm >before; "$@" & read -r go <killed; kill -KILL $!; wait $!; read -r go <end
    ls -A /tmp /dev/shm >after' bash "$MPSWEEP" sweep "${LONG[@]}" -o long.jsonl
  start "${CONTAINED[@]}"
  await $PATIENCE has_worker
  echo go >killed
  await $PATIENCE only_the_shell
  echo go >end
  finish
  [ "$STATUS" -eq 0 ]
  grep -qx here before
  cmp before after
}
only_the_shell() {
  local file
  for file in $(marked); do
    case $(command_line "$(basename "${file%/environ}")" | head -1) in
    "$MPSWEEP_BUILD_DIR"/*) return 1 ;;
    esac
  done
}
