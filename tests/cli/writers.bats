#!/usr/bin/env bats
# Several processes that would write one results file: one of them does, and no line disappears.
# tests/fakes/lying_rename.c holds a process before it gets its lock: what happens meanwhile is the
# test's choice, not the scheduler's.

load helper

PLAN=(-l threads:1,2 -l processes+mps:2)
MEASURE=("${TINY[@]}" "${PLAN[@]}" --quiet)
RESUME=(sweep "${MEASURE[@]}" --resume)
BUSY="is being written by another mpsweep: wait for it, or give another name"

setup_file() {
  export SLOW=$MPSWEEP_BUILD_DIR/tests/fakes/lying_rename.so
  [ -e "$SLOW" ] || skip "the fakes are not built"
  export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
  env LD_PRELOAD="$SLOW" true || skip "nothing can be preloaded here"
}

# The whole file of a sweep in whole.jsonl, and its header and first point in r.jsonl.
begun() {
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o whole.jsonl || return 1
  head -2 whole.jsonl >r.jsonl
}

# start_held COMMAND...: mpsweep in the background, until it asks for the lock of results.
start_held() {
  mkfifo reached granted
  start env LD_PRELOAD="$SLOW" MPSWEEP_LIE=slow MPSWEEP_LIE_REACHED="$WORK/reached" \
    MPSWEEP_LIE_GRANTED="$WORK/granted" "$MPSWEEP" "$@"
  timeout $PATIENCE cat reached
}

# Lets it have the lock, and waits for its end.
release_held() {
  timeout $PATIENCE sh -c ': >granted'
  finish
}

# What a file held, in kept.jsonl, is its begin; and all of it is whole lines.
assert_kept() {
  head -c "$(stat -c %s kept.jsonl)" "$1" | cmp - kept.jsonl ||
    fail "$1 lost lines:" "$(jq -c '[.type, .id]' "$1")" || return 1
  assert_whole "$1"
}

# Another process than the held one, with its own output.
beside() {
  local wanted=$1 status=0
  shift
  mkdir -p beside
  "$MPSWEEP" "$@" >beside/out 2>beside/err 3>&- || status=$?
  [ $status -eq "$wanted" ] || fail "exit status $status of $*:" "$(cat beside/err)"
}

# Invariant F7, as in all of these.
@test "explain beside a sweep: what the sweep adds before explain has the lock stays" {
  begun
  start_held explain r.jsonl --duration 0.05 --warmup 0.02 --quiet
  beside 0 "${RESUME[@]}" -o r.jsonl
  cp r.jsonl kept.jsonl
  points 'length == 3' r.jsonl
  release_held
  [ $STATUS -eq 0 ]
  assert_kept r.jsonl
  [ "$(tail -n +$(($(wc -l <kept.jsonl) + 1)) r.jsonl | jq -r .type | sort -u)" = calibration ]
}

@test "two --resume: what one adds before the other has the lock stays, and is not measured again" {
  begun
  start_held "${RESUME[@]}" -o r.jsonl
  beside 0 "${RESUME[@]}" -o r.jsonl
  cp r.jsonl kept.jsonl
  release_held
  [ $STATUS -eq 0 ]
  assert_kept r.jsonl
  [ "$(jq -r 'select(.type == "point") | .id' r.jsonl | wc -l)" -eq 3 ]
}

@test "a new file that another process takes over before its maker has the lock" {
  local command
  for command in "sweep ${MEASURE[*]}" "probe copy-block --device emulated -q --rounds 1"; do
    rm -rf r.jsonl reached granted
    # shellcheck disable=SC2086
    start_held $command -o r.jsonl
    [ -e r.jsonl ]
    beside 0 "${RESUME[@]}" -o r.jsonl
    cp r.jsonl kept.jsonl
    release_held
    [ $STATUS -eq 1 ]
    says "'r.jsonl' has [0-9]+ bytes, and this process has left it with 0: another one writes to it"
    cmp r.jsonl kept.jsonl
  done
}

@test "a shard that is queued again beside its old process: what that publishes stays" {
  local shard=(sweep "${MEASURE[@]}" --shard 0/1 -o part.jsonl --publish r.jsonl)
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" --shard 0/1 -o whole.jsonl
  head -2 whole.jsonl >part.jsonl
  start_held "${shard[@]}" --resume
  beside 0 "${shard[@]}" --resume
  cp r.jsonl kept.jsonl
  release_held
  [ $STATUS -eq 1 ]
  says "cannot open 'part.jsonl': No such file or directory"
  cmp r.jsonl kept.jsonl
  [ ! -e part.jsonl ]
}

@test "tune --resume beside itself" {
  local tune=(tune --device emulated --kernels 5 --duration 0.05 --warmup 0.02 -q --rounds 1 -m pinned --launch stream --schedule auto -b near --streams 1
    --active-thread-percentage default -c default -l threads:1,2 --budget 60s)
  beside 0 "${tune[@]}" -o whole.jsonl
  head -2 whole.jsonl >r.jsonl
  start_held "${tune[@]}" --resume -o r.jsonl
  beside 0 "${tune[@]}" --resume -o r.jsonl
  cp r.jsonl kept.jsonl
  release_held
  [ $STATUS -eq 0 ]
  # It found the answer of the other one, and added nothing.
  cmp r.jsonl kept.jsonl
}

@test "while a sweep writes, all that would write too are refused at once" {
  begun
  cp whole.jsonl other.jsonl
  start "$MPSWEEP" sweep --device emulated --kernels 5 --duration 60 --warmup 0.02 "${PLAN[@]}" \
    -q -o busy.jsonl
  await $PATIENCE test -s busy.jsonl
  cp busy.jsonl kept.jsonl
  # As fast as that: without a driver.
  export MPSWEEP_LIBEXEC_DIR=$WORK/nothing
  mkdir nothing
  beside 1 sweep --device emulated --kernels 5 --duration 60 --warmup 0.02 "${PLAN[@]}" -q \
    -o busy.jsonl --resume
  grep -qx "mpsweep: 'busy.jsonl' $BUSY" beside/err
  beside 1 tune --device emulated --resume -o busy.jsonl
  grep -qx "mpsweep: 'busy.jsonl' $BUSY" beside/err
  beside 1 merge whole.jsonl --force -o busy.jsonl
  grep -qx "mpsweep: 'busy.jsonl' $BUSY" beside/err
  beside 1 probe copy-block --device emulated -o busy.jsonl
  grep -qx "mpsweep: 'busy.jsonl' exists: give another name" beside/err
  beside 1 sweep "${MEASURE[@]}" -o busy.jsonl
  grep -qx "mpsweep: 'busy.jsonl' exists: give --resume to continue it, or another name" beside/err
  cmp busy.jsonl kept.jsonl
  kill -INT "$PID"
  finish
  [ $STATUS -eq 130 ]
  assert_kept busy.jsonl
}

@test "explain is refused at once while another process writes, unless it only reads" {
  begun
  start_held explain r.jsonl --duration 0.05 --warmup 0.02 --quiet
  release_held
  [ $STATUS -eq 0 ]
  # Another process that holds the lock, and writes nothing.
  exec 8<>r.jsonl
  flock 8
  beside 0 explain r.jsonl
  MPSWEEP_LIBEXEC_DIR=$WORK/nothing beside 1 explain r.jsonl --verify
  grep -qx "mpsweep: 'r.jsonl' $BUSY" beside/err
  exec 8>&-
}
