#!/usr/bin/env bats
# Any process killed, in any phase: what 'mps run', 'mps start' and a sweep over MPS have
# started ends, and nothing of it stays. Each test is one phase of one command; all ways to be hit are
# tried beside each other, each in a directory of its own below that of the test.

load helper
load mps

STRIKES=(INT TERM HUP KILL guard daemon both)

# find_child PID PATTERN: a child whose command line, on one line, matches, in FOUND.
find_child() {
  local pid
  local -a WORDS CHILDREN
  FOUND=
  [ -n "$1" ] || return 1
  read_children "$1"
  for pid in "${CHILDREN[@]}"; do
    read_words "$pid"
    [[ ! "${WORDS[*]} " =~ $2 ]] || { FOUND=$pid; return 0; }
  done
  return 1
}

# Before its exec it is a copy of who started it.
has_guard() { find_child "$PID" "${GUARD_LIKE:-/mpsweep-guard }"; }
has_daemon() { has_guard && find_child "$FOUND" "${DAEMON_LIKE:-/mpsweep-emulated-mps-control -f }"; }
lacks_workers() { ! has_workers "$1"; }

# -- the commands ----------------------------------------------------------------------------------

# The process of the command is in PID. A command that is run ends with its input.
start_command() {
  case $1 in
  run) start "${MPS_RUN[@]}" -q --priority 1 -- cat hold ;;
  start) start "${MPS_START[@]}" --priority 1 ;;
  sweep)
    start "$MPSWEEP" sweep --device emulated --kernels 5 --warmup 0.02 --precision 100 \
      --duration "${DURATION:-20}" -l processes+mps:2 -q -o r.jsonl
    ;;
  esac
}

# come_to PHASE COMMAND: in the background, until it is there.
come_to() {
  local -x MPSWEEP_EMULATED_FAULT='' LD_PRELOAD=''
  local -x MPSWEEP_TEST_EXEC_PAUSE='' MPSWEEP_TEST_EXEC_MARK=$PWD/held/mark
  local -x ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
  local preload=$MPSWEEP_BUILD_DIR/tests/fakes/slow_exec.so
  export FAKE_MODE='' FAKE_LOG=$PWD/fake.log
  export MPSWEEP_EMULATED_HOLD=$PWD/held/held
  mkdir held
  mkfifo hold
  case $1 in
  guard-exec)
    # Preloaded into the command only: what the test runs is not to be held.
    # Where there is no daemon to be killed yet, all continues to its own end.
    MPSWEEP_TEST_EXEC_PAUSE=mpsweep-guard GUARD_LIKE=/mpsweep DURATION=0.1
    hold_exec "$preload" "$2"
    ;;
  guard-idle)
    # The guard is there, and the devices are being asked for.
    MPSWEEP_EMULATED_FAULT=cuInit=hold DURATION=0.1 start_command "$2"
    await $PATIENCE is_held
    await $PATIENCE has_guard
    ;;
  daemon-exec)
    MPSWEEP_TEST_EXEC_PAUSE=mpsweep-emulated-mps-control DAEMON_LIKE='mpsweep-guard --socket'
    hold_exec "$preload" "$2"
    ;;
  starting)
    FAKE_MODE=daemon=hold start_command "$2"
    await $PATIENCE is_held
    ;;
  settings)
    FAKE_MODE=get_default_client_priority=hold start_command "$2"
    await $PATIENCE is_held
    ;;
  server)
    MPSWEEP_EMULATED_FAULT=cuDevicePrimaryCtxRetain=hold start_command "$2"
    await $PATIENCE is_held
    ;;
  running)
    start_command "$2"
    if [ "$2" = run ]; then
      exec 9>hold # which waits for who reads
    else
      await $PATIENCE has_workers 2
    fi
    ;;
  draining)
    if [ "$2" = run ]; then
      # The command has ended, and who is left is asked for.
      FAKE_MODE=get_client_list=hold start_command "$2"
      : >hold
      await $PATIENCE is_held
    else
      MPSWEEP_EMULATED_FAULT=cuStreamDestroy=hold@0 DURATION=0.1 start_command "$2"
      await $PATIENCE is_held
      await $PATIENCE lacks_workers 2
    fi
    ;;
  quitting)
    FAKE_MODE=quit=hold DURATION=0.05 start_command "$2"
    [ "$2" = sweep ] || : >hold
    await $PATIENCE is_held
    ;;
  esac
}

# hold_exec LIBRARY COMMAND: until its child is held before its exec.
hold_exec() {
  LD_PRELOAD=$1 start_command "$2"
  await $PATIENCE test -e held/mark
}

# end_now [PID]: the kernel ends it when it next would run, and what is held is to see it gone.
end_now() {
  [ -n "${1-}" ] || return 0
  kill -KILL "$1"
  await $PATIENCE is_gone "$1"
}

is_gone() { [ ! -d "/proc/$1" ] || is_zombie "$1"; }

# strike WHAT: hits who is there.
strike() {
  local guard daemon
  has_guard || true
  guard=$FOUND
  has_daemon || FOUND=
  daemon=$FOUND
  case $1 in
  INT | TERM | HUP | KILL) kill "-$1" "$PID" ;;
  guard) end_now $guard ;;
  daemon) end_now $daemon ;;
  both) kill -KILL "$PID" $guard ;;
  esac
  # What was held continues, and nothing is held any more.
  release
}

# The command has the pipe open, or will not come to it: to open it, it needs its other end.
reads_or_gone() {
  local fd
  [ -d "/proc/$PID" ] && ! is_zombie "$PID" || return 0
  find_child "$PID" '^cat ' || return 1
  for fd in "/proc/$FOUND/fd/"*; do
    [ ! "$fd" -ef hold ] || return 0
  done
  return 1
}

# A process that was not killed continues until it is ended.
end_rest() {
  local command=$1 phase=$2 strike=$3
  case $strike in
  guard | daemon)
    if [ "$command" = run ]; then
      # Unless the command was never begun.
      exec 9<>hold
      await $PATIENCE reads_or_gone
      exec 9>&-
    elif [ "$command" = sweep ] && [ "$phase" = running ]; then
      kill -INT "$PID" 2>/dev/null || true
    fi
    ;;
  esac
}

# Which exit statuses a command may have.
allowed() {
  local command=$1 phase=$2 strike=$3 signal
  case $strike in
  KILL | both) echo 137 ;;
  INT | TERM | HUP)
    signal=$((128 + $(kill -l "$strike")))
    case $command-$phase in
    *-guard-exec | *-guard-idle) echo "$signal" ;; # nothing to report yet
    run-running) echo "$signal" ;;                 # the command's own end
    run-draining | run-quitting) echo 0 ;;         # the command had ended well
    sweep-draining | sweep-quitting) echo '0|130' ;;
    run-*) echo 125 ;;
    *) echo 130 ;;
    esac
    ;;
  guard)
    case $command-$phase in
    sweep-running) echo '2|130' ;;
    sweep-server) echo '1|2' ;; # before the first point, or for its workers
    sweep-draining | sweep-quitting) echo '0|1|2' ;;
    run-running | run-draining | run-quitting) echo 0 ;; # the command's own
    run-*) echo 125 ;;
    *) echo 1 ;;
    esac
    ;;
  daemon)
    case $command-$phase in
    *-guard-exec | *-guard-idle) echo 0 ;; # there was none
    run-running | run-draining | run-quitting) echo 0 ;;
    sweep-running) echo '2|130' ;;
    sweep-draining) echo '0|2' ;;
    sweep-quitting) echo 0 ;;
    run-*) echo 125 ;;
    *) echo 1 ;;
    esac
    ;;
  esac
}

# One way to be hit, in a directory of its own.
hit() {
  local command=$1 phase=$2 strike=$3 wanted
  export TMPDIR=$TMPDIR/$strike WORK=$TMPDIR/$strike/work
  mkdir -p "$WORK"
  cd "$WORK"
  come_to "$phase" "$command"
  strike "$strike"
  end_rest "$command" "$phase" "$strike"
  finish
  wanted=$(allowed "$command" "$phase" "$strike")
  [[ $STATUS =~ ^($wanted)$ ]] || fail "status $STATUS instead of $wanted, saying:" "$(cat out err)"
  if [ "$command" = start ] && [ "$STATUS" -eq 0 ]; then
    expect 0 "$MPSWEEP" mps stop
  fi
  await $LEFTOVER_PATIENCE no_own_process
  if [ "$strike" = both ] && ! nothing_private; then
    # No process was left to remove it: the next run does.
    expect 0 "${MPS_RUN[@]}" -q -- true
  fi
  nothing_private || fail "the directory is left:" "$(find "$TMPDIR" ! -path "$WORK*")"
}

# matrix COMMAND PHASE: all of them beside each other.
matrix() {
  local strike failed=0
  local -A pids
  export MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is ''
  mkdir "$WORK/shm"
  for strike in "${STRIKES[@]}"; do
    (TMPDIR=$WORK hit "$1" "$2" "$strike") >"$WORK/$strike.log" 2>&1 3>&- &
    pids[$strike]=$!
  done
  for strike in "${STRIKES[@]}"; do
    wait "${pids[$strike]}" ||
      { failed=1; echo "-- $strike to $1 while $2:" >&2; cat "$WORK/$strike.log" >&2; }
  done
  nothing_shared || { echo "left in /dev/shm" >&2; failed=1; }
  return $failed
}

# Others may work there meanwhile.
nothing_shared() {
  none_new() { [ -z "$(find /dev/shm -maxdepth 1 -newer "$WORK/shm" -name 'mpsweep-??????')" ]; }
  await $PATIENCE none_new
}

@test "run: hit between fork and exec of the guard" { matrix run guard-exec; }
@test "run: hit while the guard has nothing to do yet" { matrix run guard-idle; }
@test "run: hit between fork and exec of the daemon" { matrix run daemon-exec; }
@test "run: hit while the daemon starts" { matrix run starting; }
@test "run: hit while settings are read back" { matrix run settings; }
@test "run: hit while the server comes up" { matrix run server; }
@test "run: hit while the command runs" { matrix run running; }
@test "run: hit while clients are looked for that the command left" { matrix run draining; }
@test "run: hit while the daemon quits" { matrix run quitting; }
@test "start: hit between fork and exec of the guard" { matrix start guard-exec; }
@test "start: hit while the guard has nothing to do yet" { matrix start guard-idle; }
@test "start: hit between fork and exec of the daemon" { matrix start daemon-exec; }
@test "start: hit while the daemon starts" { matrix start starting; }
@test "start: hit while settings are read back" { matrix start settings; }
@test "start: hit while the server comes up" { matrix start server; }
# Invariant D1.
@test "sweep: hit between fork and exec of the guard" { matrix sweep guard-exec; }
@test "sweep: hit while the guard has nothing to do yet" { matrix sweep guard-idle; }
@test "sweep: hit between fork and exec of the daemon" { matrix sweep daemon-exec; }
@test "sweep: hit while the daemon starts" { matrix sweep starting; }
@test "sweep: hit while the server comes up" { matrix sweep server; }
@test "sweep: hit while workers run" { matrix sweep running; }
@test "sweep: hit while workers drain" { matrix sweep draining; }
@test "sweep: hit while the daemon quits" { matrix sweep quitting; }

@test "a daemon that lists no clients is asked once, and ended" {
  daemon_is get_client_list=silent
  MPSWEEP_LIBEXEC_DIR=$WORK/programs start "$MPSWEEP" sweep "${TINY[@]}" -q -l processes+mps:1 -o r.jsonl
  await $PATIENCE grep -qs ' get_client_list' fake.log
  local asked
  asked=$(grep -c ' get_client_list' fake.log)
  kill -KILL "$PID"
  finish
  assert_nothing_left
  [ $(($(grep -c ' get_client_list' fake.log) - asked)) -eq 1 ]
}
