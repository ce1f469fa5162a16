#!/usr/bin/env bats
# Processes of a sweep over MPS struck at any moment, beside a real daemon: nothing of the sweep
# stays, and no number is wrong. STRIKES (50) of them are drawn from SEED (1). With DEVICE=emulated
# all of it runs without a GPU; numbers prove nothing there. Tables also go to the folder OUT.

load helper

DEVICE=${DEVICE:-0}
CLIENT=$MPSWEEP_BUILD_DIR/tests/gpu/fault_client
# Two points, since what a strike costs the next point counts, too.
PLAN=(-l processes+mps:2 -l hybrid:2x2 --duration 0.7 --max-duration 1.4 --warmup 0.1)
PRECISION=2
# Unstruck sweeps, and Student's t for a value beside that many: one in a thousand lies beyond.
UNSTRUCK=8
STUDENT=5.41
# What is struck must be gone by then, in seconds.
CLEAN_S=5

on_device() { [ "$DEVICE" = emulated ] || real; }

# show FORMAT VALUES...: a line for who watches, and for OUT.
show() {
  local line
  # shellcheck disable=SC2059
  printf -v line "$@"
  echo "# $line" >&3
  [ -z "${OUT:-}" ] || echo "$line" >>"$OUT/strikes.txt"
}

now_ms() { local now=${EPOCHREALTIME/[.,]/}; echo $((now / 1000)); }
seconds() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

# begin OPTIONS...: a sweep in the background.
begin() {
  rm -f x.jsonl
  start "$MPSWEEP" sweep --device "$DEVICE" --seed 0 --precision $PRECISION --timeout 5 -q -o x.jsonl "$@"
  BEGUN_MS=$(now_ms)
}

ended() { [ ! -d "/proc/$PID" ] || grep -q '^State:.Z' "/proc/$PID/status" 2>/dev/null; }
private() { find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'mpsweep-??????'; }
nothing_of_ours() { no_own_process && [ -z "$(private)" ]; }
records() { { grep -c '"type":"point"' x.jsonl; } 2>/dev/null; }

# -- strikes ---------------------------------------------------------------------------------------

guard_of() { children_named "$PID" mpsweep-guard | head -1; }
daemon_of() {
  local pid guard
  guard=$(guard_of)
  for pid in $([ -z "$guard" ] || children_of "$guard"); do
    ! command_line "$pid" | grep -qx -e -f || echo "$pid"
  done
}
server_of() {
  local pid daemon
  if [ "$DEVICE" = emulated ]; then
    daemon=$(daemon_of)
    [ -z "$daemon" ] || children_of "$daemon" | head -1
    return
  fi
  for pid in $(own_processes); do
    ! command_line "$pid" | head -1 | grep -q 'nvidia-cuda-mps-server$' || echo "$pid"
  done
}

# The process that a strike at a KIND hits: of several workers any; none where there is none.
victims() {
  local workers
  case $1 in
  worker)
    mapfile -t workers < <(workers_of "$PID")
    [ ${#workers[@]} -eq 0 ] || echo "${workers[RANDOM % ${#workers[@]}]}"
    ;;
  guard) guard_of ;;
  daemon) daemon_of ;;
  server) server_of ;;
  sweep) echo "$PID" ;;
  both) echo "$PID $(guard_of)" ;;
  esac
}

# strike KIND SIGNAL [MS]: as soon as there is one; STOP for so long. False: the sweep ended before.
strike() {
  local hit
  is_met() { hit=$(victims "$1"); ended || [ -n "$hit" ]; }
  await 60 is_met "$1"
  ! ended || return 1
  STRUCK_MS=$(now_ms)
  # shellcheck disable=SC2086 # one or two
  kill -"$2" $hit 2>/dev/null || return 1
  if [ "$2" = STOP ]; then
    sleep "$(seconds "$3")"
    # shellcheck disable=SC2086
    kill -CONT $hit 2>/dev/null || true
  fi
}

# settle: waits for the sweep's end, and then until nothing of it is left. Sets STATUS, TOOK and CLEAN
# (seconds from the strike to the end, and from there), and FAULTS (words).
settle() {
  local end_ms pid gone=${1:-nothing_of_ours}
  FAULTS=''
  if ! await 90 ended 2>/dev/null; then
    FAULTS=' hangs'
    kill -KILL "$PID"
  fi
  finish
  end_ms=$(now_ms)
  TOOK=$(seconds $((end_ms - STRUCK_MS)))
  await 30 "$gone" 2>/dev/null || true
  CLEAN=$(seconds $(($(now_ms) - end_ms)))
  [ "${CLEAN%.*}" -lt $CLEAN_S ] || FAULTS+=" not-clean"
  for pid in $(own_processes); do
    FAULTS+=" left:$(basename "$(command_line "$pid" | head -1)")"
    kill -KILL "$pid" 2>/dev/null || true
  done
  if [ "$gone" = nothing_of_ours ] && [ -n "$(private)" ]; then
    FAULTS+=" left:directory"
    rm -rf "$(private)"
  fi
  [ ! -s x.jsonl ] || assert_whole x.jsonl 2>>whole || FAULTS+=" torn-file"
}

# The last record of each point.
states() { jq -s -r '[.[] | select(.type == "point")] | group_by(.id) | map(last | .status) | join(" ")' x.jsonl 2>/dev/null; }

# numbers FILE: appends "strike point throughput interval" of each `ok` point.
numbers() {
  [ ! -s x.jsonl ] || jq -s -r --arg strike "$2" '[.[] | select(.type == "point")] | group_by(.id) | map(last)[] |
    select(.status == "ok") | [$strike, .id, .throughput_ips, .ci95_rel] | join(" ")' x.jsonl >>"$1"
  # Where there is no proof there is no number.
  [ ! -s x.jsonl ] || jq -s -e 'all(.[] | select(.type == "point" and .status == "failed");
    has("throughput_ips") | not)' x.jsonl >/dev/null || FAULTS+=" number-of-failed"
}

heading() { show '%3s %-7s %-6s %8s %6s %-24s %8s %8s %s' no struck with 'at s' status points 'ended s' 'clean s' ''; }

# conclude NUMBER KIND SIGNAL: the row of a strike.
conclude() {
  case $2 in
  sweep | both) ;;
  *) [ "$STATUS" -lt 128 ] || FAULTS+=" status" ;;
  esac
  show '%3d %-7s %-6s %8s %6d %-24s %8s %8s %s' "$1" "$2" "$3" "$(seconds $((STRUCK_MS - BEGUN_MS)))" "$STATUS" \
    "$(states)" "$TOOK" "$CLEAN" "$FAULTS"
  [ -z "$FAULTS" ] || FAILED=$((FAILED + 1))
}

@test "SIGKILL of each process of a sweep, as soon as it is there and while its workers run" {
  on_device
  local moment kind number=0
  FAILED=0
  heading
  for moment in first running; do
    for kind in worker guard server daemon sweep both; do
      begin -l processes+mps:2 --duration 4 --max-duration 4 --warmup 0.1
      if [ $moment = running ]; then
        await 60 has_workers 2
        sleep 2
      elif [ $kind = both ]; then
        await 60 eval '[ -n "$(guard_of)" ]'
      fi
      strike $kind KILL
      # No process was left to remove the directory: the next run does.
      settle "$([ $kind = both ] && echo no_own_process || echo nothing_of_ours)"
      conclude $((number += 1)) $kind KILL
    done
  done
  expect 0 "$MPSWEEP" sweep --device "$DEVICE" -l threads:1 --duration 0.1 --warmup 0 --precision 100 -q
  [ -z "$(private)" ]
  [ $FAILED -eq 0 ]
}

# unstruck: a sweep that is left alone.
unstruck() {
  begin "${PLAN[@]}"
  STRUCK_MS=$BEGUN_MS
  settle
  numbers base 0
  LIFE_MS=$(($(now_ms) - BEGUN_MS))
  show '    %-7s %-6s %8s %6d %-24s %8s %8s %s' nothing - - "$STATUS" "$(states)" "$TOOK" "$CLEAN" "$FAULTS"
}

# Compares the `ok` numbers of struck sweeps with those of the unstruck: each within its interval, or the
# precision that was asked for, of where another unstruck one would lie.
compare_numbers() {
  awk -v student=$STUDENT -v precision=$PRECISION '
    NR == FNR { n[$2]++; sum[$2] += $3; squares[$2] += $3 * $3; next }
    {
      if (n[$2] < 3) next
      mean = sum[$2] / n[$2]
      variance = (squares[$2] - n[$2] * mean * mean) / (n[$2] - 1)
      own = $4 * 100 > precision ? $4 * 100 : precision
      spread = student * sqrt((variance > 0 ? variance : 0) * (1 + 1 / n[$2])) / mean * 100
      off = ($3 - mean) / mean * 100
      count[$2]++
      if (off * off > worst[$2] * worst[$2]) worst[$2] = off
      allowed[$2] = spread
      if (off > own + spread || off < -own - spread)
        printf "wrong: strike %d, point %d: %.4g iterations/s, off by %+.2f%%, %.2f%% allowed\n", $1, $2, $3, off, own + spread
    }
    END {
      for (id in count)
        printf "point %d: %d unstruck, %.5g iterations/s, another one within ±%.2f%%; %d struck, the farthest off by %+.2f%%\n",
          id, n[id], sum[id] / n[id], allowed[id], count[id], worst[id]
    }' base struck
}

@test "SIGKILL, SIGTERM, SIGSTOP and SIGCONT of any process at any moment" {
  on_device
  local kinds=(worker guard server daemon sweep) signals=(KILL TERM STOP) kind signal hit moment pause
  local strikes=${STRIKES:-50} number=0 done=0 line
  FAILED=0
  : >base
  : >struck
  RANDOM=${SEED:-1}
  show '%d strikes, seed %d' "$strikes" "${SEED:-1}"
  heading
  while [ $number -lt "$strikes" ]; do
    # Between the others, so that a drift of the GPU counts as what it is.
    if [ $((number * UNSTRUCK / strikes)) -ge $done ]; then
      done=$((done + 1))
      hit=$RANDOM
      unstruck
      RANDOM=$hit
    fi
    # All are drawn before anything depends on time.
    kind=${kinds[RANDOM % 5]} signal=${signals[RANDOM % 3]}
    moment=$((RANDOM % 1000)) pause=$((100 + RANDOM % 5900)) hit=$RANDOM
    begin "${PLAN[@]}"
    sleep "$(seconds $((LIFE_MS * moment / 1000)))"
    if strike $kind $signal $pause; then
      number=$((number + 1))
      settle
      numbers struck $number
      [ $signal != STOP ] || signal+=$((pause / 100))
      conclude $number $kind $signal
    else
      # The sweep had ended before it, and counts as one left alone.
      STRUCK_MS=$BEGUN_MS
      settle
      numbers base 0
    fi
    RANDOM=$hit
  done
  compare_numbers >verdict
  while read -r line; do show '%s' "$line"; done <verdict
  [ $FAILED -eq 0 ]
  [ "$DEVICE" = emulated ] || absent '^wrong' verdict
}

# -- clients ---------------------------------------------------------------------------------------

# with_stranger WORKERS OPTION...: a sweep over MPS that runs for long enough, and a stranger among its
# clients.
with_stranger() {
  start "$MPSWEEP" sweep -l processes+mps:"$1" -l processes+mps:1 -l threads:1 --seed 0 --duration 6 \
    --max-duration 6 -q -o x.jsonl
  await 60 has_workers "$1"
  shift
  CUDA_MPS_PIPE_DIRECTORY=$(private)/mps "$CLIENT" "$@" >ready 2>client 3>&- &
  STRANGER=$!
  await 20 grep -q ready ready
}

@test "an illegal address beside seven healthy clients: what is lost, and until when" {
  on_device
  local lost_ms failed_ms next_ms
  has_records() { [ "$(records)" -ge "$1" ] || ended; }
  if [ "$DEVICE" = emulated ]; then
    MPSWEEP_EMULATED_FAULT=cuStreamSynchronize#20=fatal:700@7 begin -l processes+mps:8 -l processes+mps:1 \
      -l threads:1 --duration 3 --max-duration 3
    await 60 has_workers 8
  else
    with_stranger 7 illegal 2000
    await 20 grep -q 'ILLEGAL_ADDRESS (700)' client
  fi
  lost_ms=$(now_ms)
  await 60 has_records 1
  failed_ms=$(now_ms)
  await 60 has_records 2
  next_ms=$(now_ms)
  finish
  wait "${STRANGER:-$PID}" || true
  [ "$STATUS" -eq 2 ]
  assert_complete x.jsonl 3 2
  show 'an illegal address in one client beside seven:'
  show 'lost: %s' "$(jq -s -r '[.[] | select(.type == "point" and .status == "failed") |
    "\(.layout) \(.processes): \(.error)"] | join("; ")' x.jsonl)"
  show 'the point was recorded as failed after %s s, the next one measured after %s s more, in %s s' \
    "$(seconds $((failed_ms - lost_ms)))" "$(seconds $((next_ms - failed_ms)))" \
    "$(jq -s -r '[.[] | select(.type == "point")][1].seconds' x.jsonl)"
  points 'map(.status) | .[0] == "failed" and all(.[1:][]; . == "ok" or . == "unconverged")' x.jsonl
  [ "$DEVICE" != emulated ] || return 0
  points ".[0].error | test(\"fatal GPU error of one MPS client was given to all of them\") and
    test(\"process $(cut -d ' ' -f 2 ready), which is not a worker\") and test(\"worker process 1\")" x.jsonl
}

@test "a client that is killed in the middle of a kernel" {
  real
  with_stranger 2 endless 500
  kill -KILL "$STRANGER"
  wait "$STRANGER" || true
  finish
  # It may take the others with it, and then the point's error has it; the next ones are measured.
  assert_complete x.jsonl 3 "$STATUS"
  points '.[1:] | all(measured)' x.jsonl
  points '.[0] | .status == "ok" or (.status == "failed" and (has("throughput_ips") | not))' x.jsonl
  points '.[0] | [.status, .error]' x.jsonl >&3 2>/dev/null || true
}
