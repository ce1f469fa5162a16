# shellcheck shell=bash
# What all command-line tests share. Each test works in a temporary directory of its own, which is
# also its mark: it stands in the environment of every process that the test starts, so that what is
# left over is found without knowing names, and tests may run beside each other.

bats_require_minimum_version 1.5.0

: "${MPSWEEP_BUILD_DIR:?is the folder with the built programs}"
: "${MPSWEEP_SOURCE_DIR:?is the folder with the sources}"

MPSWEEP=$MPSWEEP_BUILD_DIR/mpsweep
# A control program that misbehaves on request, see tests/fakes/mps_control.c.
FAKE_CONTROL=$MPSWEEP_BUILD_DIR/tests/fakes/nvidia-cuda-mps-control
MARKED=$MPSWEEP_BUILD_DIR/tests/cli/marked

# Points of a fraction of a second each, in one round; and in as many as a test gives. They copy
# little: the emulated GPU copies with the CPUs of this machine.
SMALL_ROUNDS=(--device emulated --kernels 20 --bytes 64K --duration 0.2 --warmup 0.1 --precision 50)
SMALL=("${SMALL_ROUNDS[@]}" --rounds 1)
TINY_ROUNDS=(--device emulated --kernels 5 --bytes 64K --duration 0.05 --warmup 0.02 --precision 100)
TINY=("${TINY_ROUNDS[@]}" --rounds 1)
# in_rounds OPTIONS...: ROUNDS is what makes them options of one round, unless they have rounds.
in_rounds() {
  ROUNDS=(--rounds 1)
  [[ " $* " != *" --rounds "* ]] || ROUNDS=()
}
# Each worker comes to its fault, however seldom it gets a CPU: no window ends before.
FIXED=(--device emulated --kernels 5 --bytes 64K --warmup 0.02 --iterations 10 --rounds 1)

# A test that hangs is ended by bats, so that the others still count.
BATS_TEST_TIMEOUT=600
# How long anything may take here before it counts as stuck: slow machines and sanitizers included.
PATIENCE=120
# How long what belongs to a killed sweep may take to end by itself.
LEFTOVER_PATIENCE=60
# A --timeout for workers of which one hangs: a busy machine keeps the others waiting for less. And
# points whose window is open for longer, while the worker that hangs keeps them from converging.
HUNG=5
HANGING=(--device emulated --kernels 5 --bytes 64K --duration 0.3 --max-duration 9 --warmup 0.02
  --precision 100 --timeout $HUNG --rounds 1)

# jq 1.6 takes 40 ms to start, ten times as long as gojq, which does the same.
! command -v gojq >/dev/null || jq() { gojq "$@"; }

# bats looks at every command, which takes longer than most of them: it is to look at those of a test
# only, not at those of the functions that a test calls.
setup() {
  set +T
  enter
}

# A test's own environment and folder.
enter() {
  local name
  for name in "${!CUDA_@}" "${!MPSWEEP_@}"; do
    case $name in
    MPSWEEP_BUILD_DIR | MPSWEEP_SOURCE_DIR | MPSWEEP_GPU_REQUIRED) ;;
    *) unset "$name" ;;
    esac
  done
  unset XDG_RUNTIME_DIR FAKE_MODE FAKE_LOG DAEMON
  # ThreadSanitizer lets each process sleep for a second at its end.
  export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}atexit_sleep_ms=0
  # The observer comes before AddressSanitizer into a program, and does nothing before it is ready. To
  # look for leaks doubles what a process costs: unit tests do, and files that set LOOKS_FOR_LEAKS.
  export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0:detect_leaks=${LOOKS_FOR_LEAKS:-0}
  # Short: the private directory goes below it, and a socket's path is short.
  until
    printf -v TMPDIR '/tmp/mpt.%03x%03x' $((RANDOM % 4096)) $((RANDOM % 4096))
    WORK=$TMPDIR/work
    [ ! -e "$TMPDIR" ] && mkdir -m 700 "$TMPDIR" "$WORK"
  do
    [ -w /tmp ] || return 1
  done
  export TMPDIR
  export MPSWEEP_EMULATED_HOLD=$WORK/hold/held
  # Limits that the user has found must not change what is measured here.
  export XDG_CACHE_HOME=$WORK/cache
  cd "$WORK" || return 1
}

teardown() {
  local failed=0
  cd / || return 1
  TMPDIR='' "$MARKED" clear "$TMPDIR" $LEFTOVER_PATIENCE || failed=1
  # Programs of root can replace it, and what reads or compares with it fails long after.
  [ -c /dev/null ] || { fail "/dev/null is no device any more: $(ls -l /dev/null 2>&1)" || failed=1; }
  return $failed
}

fail() {
  printf '%s\n' "$@" >&2
  return 1
}

# -- processes -------------------------------------------------------------------------------------

# await SECONDS COMMAND...: until the command succeeds. It looks less and less often: looking takes the
# time of those that it waits for.
await() {
  local end=$((SECONDS + $1)) pause=02 nothing
  shift
  exec {nothing}<> <(:)
  until "$@"; do
    [ $SECONDS -lt $end ] || { echo "waited in vain for: $*" >&2; exec {nothing}>&-; return 1; }
    read -r -t 0.$pause -u $nothing || true
    case $pause in 02) pause=05 ;; 05) pause=10 ;; *) pause=20 ;; esac
  done
  exec {nothing}>&-
}

# Process IDs of what this test started and has not ended; tests/cli/marked.c finds them.
own_processes() { TMPDIR='' "$MARKED" list "$TMPDIR"; }
no_own_process() { TMPDIR='' "$MARKED" none "$TMPDIR"; }
assert_nothing_left() { TMPDIR='' "$MARKED" left "$TMPDIR" $LEFTOVER_PATIENCE; }

# Processes take long to start here, and tests look at others often: what follows starts none.

# Children of a process, in CHILDREN.
read_children() {
  local stat text state parent rest
  CHILDREN=()
  # Some kernels have a list, of what the main thread has started.
  if [ -e "/proc/$1/task/$1/children" ]; then
    { read -r -a CHILDREN <"/proc/$1/task/$1/children"; } 2>/dev/null || true
    return
  fi
  for stat in /proc/[0-9]*/stat; do
    { read -r text <"$stat"; } 2>/dev/null || continue
    # PID (NAME) STATE PARENT ...; the name may hold anything.
    read -r state parent rest <<<"${text##*) }"
    [ "$parent" != "$1" ] || CHILDREN+=("${text%% *}")
  done
}

# The same, one a line.
children_of() {
  local -a CHILDREN
  read_children "$1"
  [ ${#CHILDREN[@]} -eq 0 ] || printf '%s\n' "${CHILDREN[@]}"
}

# The words of a process's command line, in WORDS; none of one that has ended.
read_words() {
  WORDS=()
  { mapfile -d '' -t WORDS <"/proc/$1/cmdline"; } 2>/dev/null || true
}

# The same, one a line.
command_line() {
  local -a WORDS
  read_words "$1"
  [ ${#WORDS[@]} -eq 0 ] || printf '%s\n' "${WORDS[@]}"
}

# children_named PARENT PROGRAM: those that run a program of the build folder.
children_named() {
  local pid
  local -a WORDS CHILDREN
  read_children "$1"
  for pid in "${CHILDREN[@]}"; do
    read_words "$pid"
    [ "${WORDS[0]-}" != "$MPSWEEP_BUILD_DIR/$2" ] || printf '%s\n' "$pid"
  done
  return 0
}

# The worker processes of a sweep, in WORKERS: children that were given shared memory.
read_workers() {
  local pid
  local -a WORDS CHILDREN
  WORKERS=()
  read_children "$1"
  for pid in "${CHILDREN[@]}"; do
    read_words "$pid"
    [[ " ${WORDS[*]} " != *' --shm '* ]] || WORKERS+=("$pid")
  done
}

# The same, one a line.
workers_of() {
  local -a WORKERS
  read_workers "$1"
  [ ${#WORKERS[@]} -eq 0 ] || printf '%s\n' "${WORKERS[@]}"
}

# has_workers COUNT: whether the background program has COUNT of them, or more.
has_workers() {
  local -a WORKERS
  read_workers "$PID"
  [ ${#WORKERS[@]} -ge "$1" ]
}

# start COMMAND...: in the background, its process in PID, its output in files out and err.
start() {
  # A shell's background commands ignore SIGINT, which mpsweep would respect.
  env --default-signal=INT,HUP,TERM "$@" >"$WORK/out" 2>"$WORK/err" 3>&- &
  PID=$!
}

# A process that the fault "hold" has stopped in a call: await is_held, and let it continue, with all
# that come later.
holding() {
  mkdir "$WORK/hold"
  export MPSWEEP_EMULATED_FAULT=$1
}
is_held() { [ -e "$MPSWEEP_EMULATED_HOLD" ]; }
# Renamed, not removed: another process may be about to be held in it.
release() { mv -T "${MPSWEEP_EMULATED_HOLD%/*}" "${MPSWEEP_EMULATED_HOLD%/*}.$RANDOM"; }

# Ends what start() started and was not waited for.
finish() {
  STATUS=0
  wait "$PID" || STATUS=$?
}

is_gone() { ! kill -0 "$1" 2>/dev/null; }

# Its first thread is one before the others have ended, and who waits for it does not see it until then.
is_zombie() {
  local threads=("/proc/$1/task/"*)
  [ ${#threads[@]} -eq 1 ] && grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

# -- programs in the place of others -----------------------------------------------------------------

PROGRAMS=(mpsweep-worker mpsweep-probe mpsweep-guard mpsweep-emulated-cuda.so mpsweep-emulated-mps-control)

# programs_but NAME: a folder with links to the other programs.
programs_but() {
  local program
  rm -rf "$WORK/programs"
  mkdir "$WORK/programs"
  for program in "${PROGRAMS[@]}"; do
    [ "$program" = "$1" ] || ln -s "$MPSWEEP_BUILD_DIR/$program" "$WORK/programs"
  done
}

# daemon_is MODE: a daemon that misbehaves, see tests/fakes/mps_control.c.
daemon_is() {
  programs_but mpsweep-emulated-mps-control
  ln -s "$FAKE_CONTROL" "$WORK/programs/mpsweep-emulated-mps-control"
  export FAKE_MODE=$1 FAKE_LOG=$WORK/fake.log
}

# -- what a command prints -------------------------------------------------------------------------

# expect STATUS COMMAND...: with output in files out and err.
expect() {
  local wanted=$1 status=0
  shift
  "$@" >"$WORK/out" 2>"$WORK/err" 3>&- || status=$?
  [ $status -eq "$wanted" ] && return 0
  echo "exit status $status instead of $wanted from: $*" >&2
  cat "$WORK/out" "$WORK/err" >&2
  return 1
}

# says(PATTERN): standard error is one line that the extended regular expression matches.
says() {
  local -a lines
  mapfile -t lines <"$WORK/err"
  if [ ${#lines[@]} -ne 1 ] || [[ ! ${lines[0]} =~ $1 ]]; then
    echo "standard error should be one line that matches: $1" >&2
    echo "it is:" >&2
    cat "$WORK/err" >&2
    return 1
  fi
}

# refused PATTERN COMMAND...: status 1, one line on standard error, nothing on standard output.
refused() {
  local pattern=$1
  shift
  expect 1 "$@" || return 1
  says "$pattern" || { echo "from: $*" >&2; return 1; }
  [ ! -s "$WORK/out" ] || fail "there is output beside the error of: $*" "$(cat "$WORK/out")"
}

# no_environment PATTERN OPTIONS...: 'mps env' refuses, and a shell that evaluates it ends with -e.
no_environment() {
  local pattern=$1
  shift
  expect 1 "$MPSWEEP" mps env "$@" || return 1
  says "$pattern" || return 1
  [ "$(cat "$WORK/out")" = false ] || fail "it prints: $(cat "$WORK/out")"
}

# absent PATTERN FILE...: no line of them matches. (A plain '!' would not end a test.)
absent() {
  local pattern=$1 file
  shift
  for file; do
    [ "$file" = - ] || [ -e "$file" ] || fail "there is no $file" || return 1
  done
  if grep -e "$pattern" "$@" >&2; then
    fail "should not be in $*: $pattern"
  fi
}

# -- results ---------------------------------------------------------------------------------------

# points FILTER FILE: a jq filter over the array of a file's points, the last record of each place
# in the plan. There must be some: of none, all are anything. How precise a number is depends on the
# computer's other work, so a filter asks whether a point is `measured`, or for its `outcome`.
points() {
  jq -s -e "def measured: .status == \"ok\" or .status == \"unconverged\";
    def outcome: if measured then \"measured\" else .status end;
    [.[] | select(.type == \"point\")] | group_by(.id) | map(last)
    | if length == 0 then error(\"there is no point\") else . end | $1" "$2" && return
  # The reason, for a reader of the log.
  jq -c 'select(.type == "point") | {layout, processes, threads, memory, launch, workload, status,
    throughput_ips, p50: .latency_us.p50?, error, warnings: [.warnings[]?.text]}' "$2" >&2
  return 1
}

# sweep_points FILTER OPTIONS...: the same for a sweep of its own, which must measure all points.
sweep_points() {
  local filter=$1 file
  shift
  file=$WORK/sweep.$BASHPID.$((SWEEPS = SWEEPS + 1)).jsonl
  expect 0 "$MPSWEEP" sweep "$@" --quiet -o "$file" || return 1
  points "$filter" "$file"
}

# Python cannot load a library that was built for a sanitizer.
needs_python() {
  command -v python3 >/dev/null || skip "no python3 here"
  ! nm -D "$MPSWEEP_BUILD_DIR/libmpsweep-client.so.1" | grep -q '__asan_\|__tsan_\|__ubsan_' ||
    skip "Python cannot load a library with sanitizers"
  export PYTHONDONTWRITEBYTECODE=1
  python_itself
}

# Where python3 is a script that looks for the interpreter each time, it is looked for once.
python_itself() {
  local known=$BATS_RUN_TMPDIR/python
  [ -s "$known" ] || python3 -c 'import os, sys; print(os.path.dirname(sys.executable))' >"$known"
  PATH=$(<"$known"):$PATH
}

# Every line is a record, the first one a header. Tests check files often, so each check is one
# process of jq.
WHOLE='def whole: if endswith("\n") | not then error("it ends within a line") else . end
  | split("\n")[:-1] | map(try fromjson catch error("not JSON: \(.)"))
  | if all(type == "object") | not then error("a line is no record") else . end
  | if .[0].type != "header" then error("it does not begin with a header") else . end;'

assert_whole() {
  jq -R -s "$WHOLE whole | empty" "$1" || fail "$1 is not whole:" "$(cat "$1")"
}

# struck_in_flight OPTIONS...: a sweep of two processes with 8 streams is interrupted, and another one
# killed: each leaves a whole file, and no process.
struck_in_flight() {
  local signal
  for signal in INT KILL; do
    start "$MPSWEEP" sweep --device emulated --duration 60 --precision 0.01 --streams 8 -q -o $signal.jsonl "$@"
    await $PATIENCE has_workers 2 || return 1
    kill -$signal "$PID"
    finish
    [ "$STATUS" -eq "$([ $signal = INT ] && echo 130 || echo 137)" ] || fail "status $STATUS" || return 1
    assert_whole $signal.jsonl || return 1
    await $LEFTOVER_PATIENCE no_own_process || return 1
  done
}

# assert_complete FILE COUNT STATUS: whole, each of COUNT points finished exactly once, and a footer.
assert_complete() {
  jq -R -s --argjson count "$2" --argjson status "$3" "$WHOLE whole
    | [.[] | select(.type == \"point\" and (has(\"rounds_left\") | not)) | .id] as \$finished
    | if (\$finished | sort) != [range(\$count)] then
        error(\"not each of \(\$count) points once: \(\$finished)\") else . end
    | if .[-1].type != \"footer\" or .[-1].status != \$status then
        error(\"the last line is no footer of status \(\$status): \(.[-1])\") else empty end" "$1" ||
    fail "$1 is not complete:" "$(cat "$1")"
}

# To be called by tests that draw.
needs_gnuplot() { command -v gnuplot >/dev/null || skip "no gnuplot here"; }

# To be called by tests that compare how fast things are.
for_ratios() {
  ! grep -qaE '__(t|a)san_init' "$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so" ||
    skip "a sanitizer is too slow for ratios"
}

# Whether the threads that waited for the GPU returned on time, if any did, and had a CPU when they
# were ready to run at least half of the time: emul/model/lateness.h. More threads than CPUs that launch
# all the time lack them for a third of it on an idle computer, too.
was_on_time() {
  [ -n "$(ls "$WORK/lateness")" ] || {
    was_idle
    return
  }
  od -An -v -w64 -t u8 "$WORK"/lateness/* 2>/dev/null | awk '
    { planned += $2; late += $3; if ($4 > longest) longest = $4; watched += $7; unserved += $8 }
    END { exit planned > 0 && (late >= planned / 20 || longest >= 10e6) ||
      watched > 0 && unserved >= watched / 2 }'
}

# with_pending SIGNAL COMMAND...: it has the signal from its beginning on.
with_pending() {
  python3 - "$@" <<'PY'
import os, signal, sys
number = getattr(signal, "SIG" + sys.argv[1])
# A shell's background commands ignore SIGINT, which mpsweep would respect.
signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_BLOCK, [number])
os.kill(os.getpid(), number)
os.execv(sys.argv[2], sys.argv[2:])
PY
}

# Time that CPUs had nothing to do, and all of it, since the computer started.
cpu_times() { awk '/^cpu / { for (i = 2; i < 10; i++) all += $i; print $5 + $6, all; exit }' /proc/stat; }

# Whether the CPUs had nothing to do for at least half of the time since CPUS_BEFORE: where nothing
# waited for the emulated GPU, the test's own processes slept.
was_idle() {
  echo "$CPUS_BEFORE $(cpu_times)" | awk '{ exit 2 * ($3 - $1) < $4 - $2 }'
}

# judged COMMAND...: which claims something about speeds. A computer that was late cannot judge it.
judged() {
  for_ratios
  rm -rf "$WORK/lateness"
  mkdir "$WORK/lateness"
  CPUS_BEFORE=$(cpu_times)
  MPSWEEP_EMUL_LATENESS=$WORK/lateness "$@" && return
  was_on_time || skip "the computer was behind the emulated GPU"
  fail "the computer was on time, and yet this failed: $*"
}
