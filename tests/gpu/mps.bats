#!/usr/bin/env bats
# The MPS controller and the real daemon: what the emulated one can only play. After each test nothing
# may be left, see teardown() in helper.bash.

load helper

CLIENT=$MPSWEEP_BUILD_DIR/tests/gpu/fault_client

# Own processes that run a program of that name.
running() {
  local pid
  for pid in $(own_processes); do
    [ "$(basename "$(command_line "$pid" | head -1)")" != "$1" ] || echo "$pid"
  done
}
runs() { [ -n "$(running "$1")" ]; }

# The private directory of what this test has started.
private() { find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'mpsweep-??????'; }

# -- the commands ----------------------------------------------------------------------------------

@test "start, status, env, stop: settings are read back, and a client gets them" {
  real
  local all
  all=$("$MPSWEEP" doctor | sed -nE 's/.* ([0-9]+) multiprocessors.*/\1/p')
  expect 0 "$MPSWEEP" mps start --gpu 0 --active-thread-percentage 50 --memory-limit 0=4G --priority 1
  grep -qE "a probe was its client: $((all / 2)) of $all multiprocessors, 3\.[0-9] GiB free" out
  expect 0 "$MPSWEEP" mps status
  grep -qE '^settings +active threads 50.0%, priority 1 .below normal., memory of GPU 0 4G$' out
  grep -qE '^version +[0-9]+ ' out
  (eval "$("$MPSWEEP" mps env)" && "$CLIENT" idle 60000 >ready) &
  local client=$!
  await 20 grep -q ready ready
  expect 0 "$MPSWEEP" mps status --format json
  jq -e --argjson pid "$(cut -d ' ' -f 2 ready)" \
    '.problem == null and (.servers | length == 1 and .[0].state == "active") and
     (.clients | length == 1 and .[0].pid == $pid and (.[0].command | test("fault_client idle")))' out
  # It is in use: stop names the users, and ends it only by force.
  expect 1 "$MPSWEEP" mps stop
  grep -q "^  $(cut -d ' ' -f 2 ready) " err
  expect 0 "$MPSWEEP" mps stop --force
  [ -z "$(private)" ]
  kill -KILL "$(cut -d ' ' -f 2 ready)"
  wait "$client" || true
}

@test "a limit for a GPU that is not there is refused, and one between whole GiB holds" {
  real
  refused "the MPS daemon has no GPU '99'" "$MPSWEEP" mps start --memory-limit 99=4G
  expect 0 "$MPSWEEP" mps start --gpu 0 --memory-limit 0=1536M
  # The context takes its part of it.
  grep -qE ' (0\.9|1\.[0-4]) GiB free' out
  expect 0 "$MPSWEEP" mps stop
}

@test "run: the command's exit status, and the proof that it ran over MPS" {
  real
  expect 3 "$MPSWEEP" mps run -- sh -c '"$0" idle 0 && exit 3' "$CLIENT"
  grep -qE '^mpsweep: 1 process of the command ran over MPS: [0-9]+$' err
  expect 0 "$MPSWEEP" mps run -- true
  grep -q 'no process of the command was an MPS client' err
}

@test "run: a client that is left behind with an endless kernel is terminated" {
  real
  expect 0 "$MPSWEEP" mps run -- sh -c '"$0" endless 0 >ready 2>client & until grep -q ready ready; do :; done; sleep 1' "$CLIENT"
  grep -q 'left 1 MPS client, terminated now' err
  await 20 grep -q 'MPS_CLIENT_TERMINATED (810)' client
}

@test "an external daemon is used and left as it was" {
  real
  expect 0 "$MPSWEEP" mps start --active-thread-percentage 25
  local before after
  before=$("$MPSWEEP" mps status --format json | jq -c '[.daemon, .settings]')
  eval "$("$MPSWEEP" mps env)"
  sweep_points 'all(measured) and (map(select(.mps)) | all(.sms > 0 and
      .attached == {expected: .processes, seen: .processes}))' \
    --mps external -l threads:1 -l processes+mps:2 --duration 0.3 --warmup 0.1 --precision 50
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  after=$("$MPSWEEP" mps status --format json | jq -c '[.daemon, .settings]')
  [ "$before" = "$after" ]
  expect 0 "$MPSWEEP" mps stop
}

# -- kill matrix -----------------------------------------------------------------------------------

# phase NAME: waits until the sweep PID has come so far.
had_workers() { [ "$(workers_of "$PID" | wc -l)" -ge 3 ]; }
has_no_workers() { [ "$(workers_of "$PID" | wc -l)" -eq 0 ]; }
is_draining() { local count; count=$(workers_of "$PID" | wc -l); [ "$count" -lt 3 ]; }
phase() {
  case $1 in
  guarded) await 30 runs mpsweep-guard ;;
  starting) await 30 runs nvidia-cuda-mps-control ;;
  server) await 30 runs nvidia-cuda-mps-server ;;
  workers) await 30 had_workers ;;
  running)
    await 30 had_workers
    iterates() { [ "$(cat /proc/"$(workers_of "$PID" | head -1)"/task/*/status 2>/dev/null |
      awk '/ctxt_switches/ { sum += $2 } END { print sum + 0 }')" -gt 300 ]; }
    await 30 iterates
    ;;
  draining)
    await 30 had_workers
    await 30 is_draining
    ;;
  quitting)
    await 30 had_workers
    await 30 has_no_workers
    ;;
  esac
}

# killed SIGNAL WHOM PHASES...: in each phase of a sweep of its own.
killed() {
  local signal=$1 whom=$2 phase victims duration
  shift 2
  for phase in "$@"; do
    duration=30
    case $phase in draining | quitting) duration=0.5 ;; esac
    rm -f x.jsonl
    start "$MPSWEEP" sweep -l processes+mps:3 --duration $duration --max-duration $duration \
      --warmup 0.1 -q -o x.jsonl
    phase "$phase"
    case $whom in
    sweep) victims=$PID ;;
    guard) victims=$(running mpsweep-guard) ;;
    both) victims="$PID $(running mpsweep-guard)" ;;
    daemon) victims=$(running nvidia-cuda-mps-control | head -1) ;;
    esac
    # shellcheck disable=SC2086 # several, or none any more
    kill -"$signal" $victims 2>/dev/null || true
    # It continues with the next point, which lasts; before it watches for signals, SIGINT would end it
    # as well as its guard, which is another case.
    case $whom:$phase in
    guard:guarded) ;;
    guard:* | daemon:*) kill -INT "$PID" 2>/dev/null || true ;;
    esac
    finish
    echo "$signal to $whom, $phase: exit status $STATUS" >&2
    await $LEFTOVER_PATIENCE no_own_process || return 1
    [ "$whom" = both ] || [ -z "$(private)" ] || { echo "directory is left" >&2; return 1; }
    [ ! -s x.jsonl ] || assert_whole x.jsonl || return 1
  done
}

PHASES=(guarded starting server workers running draining quitting)

@test "kill matrix: SIGINT in each phase" { real; killed INT sweep "${PHASES[@]}"; }
@test "kill matrix: SIGTERM in each phase" { real; killed TERM sweep "${PHASES[@]}"; }
@test "kill matrix: SIGKILL in each phase" { real; killed KILL sweep "${PHASES[@]}"; }
@test "kill matrix: SIGKILL of the guard in each phase" { real; killed KILL guard "${PHASES[@]}"; }
@test "kill matrix: SIGKILL of the daemon in each phase" {
  real
  killed KILL daemon starting server workers running draining
}

@test "kill matrix: SIGKILL of sweep and guard at once: the next run clears the directory" {
  real
  killed KILL both starting server running
  expect 0 "$MPSWEEP" sweep -l threads:1 --duration 0.1 --warmup 0 --precision 100 -q
}

# -- what the GPU allows ---------------------------------------------------------------------------

@test "the limits of this GPU and driver are found, kept, and kept to" {
  real
  expect 0 "$MPSWEEP" doctor --limits
  cat out >&2
  [ -z "${OUT:-}" ] || cp "$XDG_CACHE_HOME/mpsweep/limits.json" "$OUT/limits.json"
  [ -z "${OUT:-}" ] || cp out "$OUT/limits.txt"
  sweep_points 'map(select(.connections == 32)) | all(.status == "infeasible" and
      (.error | test("found by .mpsweep doctor --limits."))) and length == 1' \
    -l processes+mps:16 -c 2,32 --duration 0.3 --warmup 0.1 --precision 50
}
