#!/usr/bin/env bats
# An MPS daemon of one's own, as a command: started, looked at, used and stopped, and gone without a
# trace afterwards, which is looked at after every test.

load helper
load mps

# -- start, status, stop ---------------------------------------------------------------------------

@test "start, status and stop: a fresh private directory, and nothing afterwards" {
  keep
  local directory
  directory=$(private)
  [ "$(stat -c %a "$directory")" = 700 ]
  grep -qE "^an MPS daemon \(process [0-9]+\) runs in $directory$" out
  grep -qx "  stop it   mpsweep mps stop --dir $directory" out
  grep -q 'ready .* a probe was its client: 32 of 32 multiprocessors' out
  expect 0 "$MPSWEEP" mps status
  [ ! -s err ]
  grep -qE "^directory +$directory$" out
  grep -qE '^daemon +process [0-9]+, running since [0-9T:-]+Z, guarded by process [0-9]+$' out
  grep -qE '^GPU +mpsweep emulated GPU \(emulated\)$' out
  grep -qE '^version +13000 \(CUDA 13.0\)$' out
  grep -qE '^settings +active threads 100.0%, priority 0 \(normal\)$' out
  grep -qE '^server +process [0-9]+, active$' out
  grep -qE '^clients +0$' out
  absent problem out
  # It asks, and orders nothing.
  expect 0 "$MPSWEEP" mps stop
  [ ! -s out ]
  [ ! -s err ]
  nothing_private
  refused 'no MPS daemon of mpsweep.s was found: .mpsweep mps start. starts one' "$MPSWEEP" mps stop
}

@test "the status by the pipe directory, and as Markdown: each line an item" {
  keep
  expect 0 "$MPSWEEP" mps status --dir "$(private)/mps" --format markdown
  grep -qxF -- "- directory  $(private)" out
  [ -z "$(grep -v '^- ' out)" ]
  expect 0 "$MPSWEEP" mps stop
}

@test "the status for Prometheus" {
  keep
  expect 0 "$MPSWEEP" mps status --format openmetrics
  grep -qxF "mpsweep_mps_up{directory=\"$(private)\"} 1" out
  grep -qxF "mpsweep_mps_clients{directory=\"$(private)\"} 0" out
  grep -qE '^mpsweep_mps_server\{pid="[0-9]+",state="active"\} 1$' out
  [ "$(tail -1 out)" = '# EOF' ]
  expect 0 "$MPSWEEP" mps stop
}

@test "a directory that is not UTF-8: its status has U+FFFD in the place of a byte" {
  local directory=$'odd\xff\033'
  mkdir -m 700 "$directory"
  keep --dir "$directory"
  grep -q "^an MPS daemon .* runs in $WORK/odd��$" out
  absent $'\033' <(head -1 out)
  expect 0 "$MPSWEEP" mps status --dir "$directory"
  grep -q "^directory  *$WORK/odd��$" out
  expect 0 "$MPSWEEP" mps status --dir "$directory" -f json
  jq -e --arg directory "$WORK/odd��" '.answers and .directory == $directory
    and .pipe_directory == $directory + "/mps"' out
  expect 0 "$MPSWEEP" mps stop --dir "$directory"
}

@test "the status as JSON: each field" {
  keep
  expect 0 "$MPSWEEP" mps status --format json
  jq -e --arg directory "$(private)" '.type == "mps-status" and .schema == 1
    and .started_by_mpsweep and .emulated and .answers and .problem == null and .version == 13000
    and .directory == $directory and .pipe_directory == $directory + "/mps"
    and (.started | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$")) and .gpu == null
    and .partitions == [] and .clients == [] and (.servers | length == 1)
    and (.servers[0] | .state == "active" and .pid > 1)
    and .settings == {active_thread_percentage: 100, priority: 0, memory_limit_bytes: {}}
    and ([.daemon, .guard] | all(.running and .pid > 1 and .start_time > 0))
    and .daemon.pid != .guard.pid' out
  local what pid
  for what in daemon guard; do
    pid=$(jq ".$what.pid" out)
    # Together with the time of its start it identifies one process.
    [ "$(sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f20)" = "$(jq ".$what.start_time" out)" ]
  done
  expect 0 "$MPSWEEP" mps stop
}

@test "settings are set before the first client, and read back" {
  keep --active-thread-percentage 40 --priority 1 --memory-limit 0=2G
  grep -qx '  settings  active threads 40.0%, priority 1, memory 0=2G (read back)' out
  grep -q '12 of 32 multiprocessors, 2.0 GiB free' out
  expect 0 "$MPSWEEP" mps status
  grep -qE '^settings +active threads 40.0%, priority 1 \(below normal\), memory of GPU 0 2G$' out
  kept .settings | jq -e '. == {active_thread_percentage: 40, priority: 1,
    memory_limit_bytes: {"0": 2147483648}}'
  expect 0 "$MPSWEEP" mps stop
  # One alone: the others are as they were.
  keep --active-thread-percentage 12.5
  kept .settings | jq -e '. == {active_thread_percentage: 12.5, priority: 0, memory_limit_bytes: {}}'
  expect 0 "$MPSWEEP" mps stop
}

# The emulated daemon has no partitions: the documented answers of one with them.
GPU='GPU-6d707377-6565-702d-656d-756c61746564'
PARTITIONED="version=reply:CUDA MPS Control for Linux. Binary version: 13010"
LSPART="lspart=reply:GPU Partition free used free used clients\n chunk chunk SM SM\n"
LSPART+="GPU-6d707377 - 0 6 0 48 -\nGPU-6d707377 Dx4A - 4 - 32 Yes\nGPU-6d707377 AAAD - 2 - 16 No"

@test "static partitions: made with the documented commands, and listed with their variable" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is "$PARTITIONED,sm_partition#1=reply:$GPU/Dx4A,sm_partition#2=reply:Partition $GPU/AAAD created,$LSPART"
  keep --static "0=4,$GPU=2"
  grep -qx "  partition  CUDA_MPS_SM_PARTITION=$GPU/Dx4A: 4 chunks, 32 multiprocessors, in use" out
  grep -qx "  partition  CUDA_MPS_SM_PARTITION=$GPU/AAAD: 2 chunks, 16 multiprocessors" out
  grep -q ' daemon -f -S$' fake.log
  [ "$(sed -n 's/.* sm_partition *//p' fake.log)" = "add $GPU 4"$'\n'"add $GPU 2" ]
  expect 0 "$MPSWEEP" mps status
  grep -qx "partition  CUDA_MPS_SM_PARTITION=$GPU/AAAD: 2 chunks, 16 multiprocessors" out
  kept .partitions | jq -e --arg gpu $GPU '. == [
    {name: ($gpu + "/Dx4A"), chunks: 4, sms: 32, used: true},
    {name: ($gpu + "/AAAD"), chunks: 2, sms: 16, used: false}]'
  expect 0 "$MPSWEEP" mps stop
}

@test "static partitions: a client gets the one that is named" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is "$PARTITIONED,sm_partition=reply:$GPU/Dx4A,$LSPART"
  # The probe that shows that the daemon is ready.
  mv programs/mpsweep-worker real-worker
  printf '#!/bin/sh\necho "$CUDA_MPS_SM_PARTITION" >>%s/partition\nexec %s/real-worker "$@"\n' \
    "$WORK" "$WORK" >programs/mpsweep-worker
  chmod +x programs/mpsweep-worker
  keep --static 0=4
  expect 0 "$MPSWEEP" mps stop
  grep -qx "$GPU/Dx4A" partition || fail "the probe was given:" "$(cat partition)"
}

@test "static partitions: what the daemon does not make is an error, and nothing stays" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is "$PARTITIONED,$LSPART,sm_partition=reply:Failed to fulfill the requested SM partition of 99 chunks"
  refused "a partition of 99 chunks on GPU $GPU: the MPS daemon has too few chunks left: ask for fewer chunks" \
    "${MPS_START[@]}" --static 0=99
  FAKE_MODE="$PARTITIONED,$LSPART" refused "has no command 'sm_partition'" "${MPS_START[@]}" --static 0=1
  FAKE_MODE="$PARTITIONED,sm_partition=reply:$GPU/Dx4A" refused "has no command 'lspart'" \
    "${MPS_START[@]}" --static 0=1
  nothing_private
}

# Works from everywhere, is named by its absolute path, and leaves what was there before.
dir_works() {
  local given=$1 path=$2 there=$3 before=
  [ "$there" = new ] || { mkdir -m 700 "$path" && before=$(stat -c %i "$path"); }
  keep --dir "$given" || return 1
  [ "$(stat -c %a "$path")" = 700 ] || return 1
  [ "$(kept .directory --dir "$given")" = "$path" ] || return 1
  # It is not among those that are found by themselves.
  refused 'needs --dir DIR' "$MPSWEEP" mps status || return 1
  (cd / && expect 0 "$MPSWEEP" mps stop --dir "$path") || return 1
  if [ "$there" = new ]; then
    [ ! -e "$path" ]
  else
    [ "$(stat -c %i "$path")" = "$before" ] && [ -z "$(ls -A "$path")" ]
  fi
}

@test "a directory of one's own choice: new or empty, by any path" {
  local long given path there failed=0
  long=$(printf 'x%.0s' $(seq $((70 - ${#WORK}))))
  while IFS='|' read -r given path there; do
    dir_works "$given" "$WORK/$path" "$there" || { echo "with --dir '$given'" >&2; failed=1; }
  done <<TABLE
$WORK/one|one|new
$WORK/two///|two|new
three|three|new
./four/|four|there
../${WORK##*/}/five|five|there
six and 'seven'|six and 'seven'|new
$WORK/$long|$long|new
TABLE
  [ $failed -eq 0 ]
}

@test "a client is seen with its process and its command; stop leaves a busy daemon alone" {
  keep
  add_client "$(private)/mps"
  expect 0 "$MPSWEEP" mps status
  grep -qE '^clients +1$' out
  grep -qE "^  $CLIENT_PID +[0-9]+ +[0-9]+ +GPU-[^ ]+ +${CLIENT[0]} --probe --driver " out
  kept . | jq -e --argjson pid "$CLIENT_PID" '.servers[0].pid as $server |
    .clients | length == 1 and (.[0] | .pid == $pid and .server == $server and .id > 0
    and (.device | startswith("GPU-")) and (.command | test("mpsweep-worker --probe --driver ")))'
  local before
  before=$(kept '[.daemon, .guard, .servers]')
  expect 1 "$MPSWEEP" mps stop
  [ ! -s out ]
  [ "$(wc -l <err)" -eq 2 ]
  head -1 err | grep -q '1 client uses the daemon; end its clients, or give --force:$'
  tail -1 err | grep -qE "^  $CLIENT_PID +.*mpsweep-worker"
  [ "$(kept '[.daemon, .guard, .servers]')" = "$before" ]
  [ "$(kept '.clients | length')" -eq 1 ]
  kill -0 "$CLIENT_PID"
  end_client
  expect 0 "$MPSWEEP" mps stop
}

@test "stop --force ends a busy daemon" {
  keep
  add_client "$(private)/mps"
  expect 0 "$MPSWEEP" mps stop --force
  [ ! -s err ]
  nothing_private
  end_client
}

@test "two stops at once: both succeed or report that it has ended, and nothing is left" {
  keep
  local directory first=0 second=0
  directory=$(private)
  "$MPSWEEP" mps stop --dir "$directory" 2>one 3>&- &
  local pid=$!
  "$MPSWEEP" mps stop --dir "$directory" 2>two 3>&- || second=$?
  wait $pid || first=$?
  [ $((first + second)) -le 1 ]
  [ "$(cat one two | wc -l)" -eq $((first + second)) ]
  nothing_private
}

@test "the daemon was killed: status reports how it ended, env refuses, stop clears it away" {
  keep
  kill -KILL "$(kept .daemon.pid)"
  ended() { [ "$(kept .daemon.running)" = false ]; }
  await $PATIENCE ended
  expect 1 "$MPSWEEP" mps status
  grep -qE '^problem +the daemon has ended: killed by signal 9 \(Killed\)$' out
  grep -qE '^daemon +process [0-9]+, started at ' out
  expect 1 "$MPSWEEP" mps status -f openmetrics
  grep -qxF "mpsweep_mps_up{directory=\"$(private)\"} 0" out
  grep -qxF "mpsweep_mps_problem{directory=\"$(private)\"} 1" out
  absent mpsweep_mps_clients{ out
  expect 1 "$MPSWEEP" mps status -f json
  jq -e '.answers == false and .settings == null and .guard.running
    and (.problem | test("killed by signal 9"))' out
  no_environment "has ended: killed by signal 9 .*'mpsweep mps stop --dir $(private)' clears it away"
  expect 1 sh -ec 'eval "$("$1" mps env)"; echo this runs without MPS' - "$MPSWEEP"
  [ ! -s out ]
  expect 0 "$MPSWEEP" mps stop
  [ ! -s err ]
  nothing_private
}

@test "the guard was killed: its daemon goes with it, and stop clears the rest away" {
  keep
  local daemon
  daemon=$(kept .daemon.pid)
  kill -KILL "$(kept .guard.pid)"
  await $PATIENCE is_gone "$daemon"
  expect 1 "$MPSWEEP" mps status
  grep -qE '^problem +the daemon has ended' out
  kept . | jq -e '(.guard.running | not) and (.daemon.running | not)'
  no_environment 'has ended'
  expect 0 "$MPSWEEP" mps stop
  nothing_private
  # Or the next start does.
  keep
  daemon=$(kept .daemon.pid)
  kill -KILL "$(kept .guard.pid)"
  await $PATIENCE is_gone "$daemon"
  keep
  [ "$(private | wc -l)" -eq 1 ]
  expect 0 "$MPSWEEP" mps stop
  # A directory that the user had made stays, and empty.
  mkdir -m 700 own
  keep --dir own
  kill -KILL "$(jq .guard.pid own/state)"
  expect 0 "$MPSWEEP" mps stop --dir own
  [ -d own ] && [ -z "$(ls -A own)" ]
}

@test "a signal ends one that runs by itself, and nothing is left" {
  local signal guard
  for signal in TERM INT HUP; do
    keep
    guard=$(kept .guard.pid)
    kill -$signal "$guard"
    await $PATIENCE is_gone "$guard"
    nothing_private
  done
}

@test "several daemons: one must be named" {
  keep
  absent 'beside' out
  local alone
  alone=$(private)
  keep
  grep -q "^  beside    another daemon of mpsweep runs in $alone: give 'mps status' --dir\$" out
  local first second
  { read -r first; read -r second; } < <(private)
  local command
  for command in stop status; do
    refused "there are 2 MPS daemons of mpsweep's: name one with --dir \(.*$first" \
      "$MPSWEEP" mps $command
    grep -qF "$second" err
  done
  no_environment "there are 2 MPS daemons of mpsweep's: name one with --dir \(.*$first"
  keep
  grep -qE "^  beside    2 other daemons of mpsweep run, as in ($first|$second): give 'mps status' --dir\$" out
  expect 0 "$MPSWEEP" mps stop --dir "$(sed -n "s/^an MPS daemon .* runs in //p" out)"
  expect 0 "$MPSWEEP" mps stop --dir "$first"
  [ "$(kept .directory)" = "$second" ]
  expect 0 "$MPSWEEP" mps stop
}

@test "a daemon that stays holds nothing of its starter" {
  mkfifo pipe
  exec 8<>pipe
  : >lock
  # A pipeline around it ends, and a lock that was held meanwhile is free.
  { flock 7 && keep; } 7>lock
  flock -n lock true
  local pid
  for pid in $(kept .guard.pid,.daemon.pid,.servers[0].pid); do
    [ -z "$(find "/proc/$pid/fd" -lname "$WORK/*")" ]
    # Nor the folder in which it was started, nor the terminal.
    [ "$(readlink "/proc/$pid/cwd")" = / ]
    [ "$(readlink "/proc/$pid/fd/0")" = /dev/null ]
  done
  exec 8>&-
  expect 0 "$MPSWEEP" mps stop
}

@test "what a user has set for MPS does not reach the daemon" {
  local -x CUDA_MPS_PIPE_DIRECTORY=$WORK/none CUDA_MPS_LOG_DIRECTORY=$WORK/none
  local -x CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=10 CUDA_MPS_CLIENT_PRIORITY=1
  local -x CUDA_MPS_PROTOCOL_VERSION=3 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1G
  keep
  grep -q '32 of 32 multiprocessors, 8.0 GiB free' out
  local pid directory
  directory=$(private)
  for pid in $(kept .daemon.pid,.servers[0].pid); do
    [ "$(variables_of "$pid" | grep CUDA_MPS | sort | xargs)" = \
      'CUDA_MPS_LOG_DIRECTORY CUDA_MPS_PIPE_DIRECTORY' ]
    tr '\0' '\n' <"/proc/$pid/environ" | grep -qxF "CUDA_MPS_PIPE_DIRECTORY=$directory/mps"
    tr '\0' '\n' <"/proc/$pid/environ" | grep -qxF "CUDA_MPS_LOG_DIRECTORY=$directory/log"
  done
  kept .settings | jq -e '. == {active_thread_percentage: 100, priority: 0, memory_limit_bytes: {}}'
  # Nor the commands of a shell that asks.
  (
    eval "$("$MPSWEEP" mps env)"
    [ "${!CUDA_MPS_*}" = 'CUDA_MPS_LOG_DIRECTORY CUDA_MPS_PIPE_DIRECTORY' ]
  )
  expect 0 "$MPSWEEP" mps stop
  # Nor a command that is run.
  expect 0 "${MPS_RUN[@]}" -q -- env
  [ "$(grep CUDA_MPS out | cut -d= -f1 | sort | xargs)" = \
    'CUDA_MPS_LOG_DIRECTORY CUDA_MPS_PIPE_DIRECTORY' ]
  [ ! -e none ]
}

# -- env -------------------------------------------------------------------------------------------

@test "env: a shell's commands become clients, whatever the directory's name and wherever they run" {
  local name="a b'c\"\$HOME\`d"
  keep --dir "$name"
  # The lines that start offers can be typed.
  local use stop
  use=$(sed -n 's/^  use it    //p' out)
  stop=$(sed -n 's/^  stop it   //p' out)
  cat >client.sh <<'SCRIPT'
eval "$1"
cd /
shift
exec "$@"
SCRIPT
  local -x PATH=$MPSWEEP_BUILD_DIR:$PATH
  hold_open
  sh client.sh "$use" "${CLIENT[@]}" <hold >client.out 3>&- 9>&- &
  CLIENT_PID=$!
  await $PATIENCE test -s client.out
  [ "$(kept '.clients[].pid' --dir "$name")" = "$CLIENT_PID" ]
  end_client
  (cd / && expect 0 sh -c "$stop")
  [ ! -e "$name" ]
}

# -- sweeps over an external daemon ----------------------------------------------------------------

@test "sweep --mps external: over a kept daemon, which is the same afterwards" {
  keep --active-thread-percentage 50
  local before
  before=$(kept '[.daemon, .guard, .servers, .settings, .clients]')
  CUDA_MPS_PIPE_DIRECTORY=$(private)/mps sweep_points 'all(measured and .throughput_ips > 0)
    and all(.[] | select(.mps); .attached.expected == .attached.seen and .attached.seen > 0)
    and all(has("other_clients") | not)' \
    "${TINY[@]}" --mps external -l processes+mps:2 -l hybrid:2x2 -l threads:1
  # What it gives its clients belongs to the figures.
  jq -s -e --arg pipe "$(private)/mps" '.[0].external_mps ==
    {pipe_directory: $pipe, active_thread_percentage: 50, priority: 0, memory_limit: null}' \
    "$WORK"/sweep.*.jsonl
  [ "$(kept '[.daemon, .guard, .servers, .settings, .clients]')" = "$before" ]
  [ "$(private | wc -l)" -eq 1 ]
  # Beside a stranger's client, too, which is reported.
  add_client "$(private)/mps"
  CUDA_MPS_PIPE_DIRECTORY=$(private)/mps sweep_points 'all(measured and .other_clients == 1)' \
    "${TINY[@]}" --mps external -l processes+mps:2
  grep -q 'beside 1 other MPS client$' out
  [ "$(kept '.clients[].pid')" = "$CLIENT_PID" ]
  end_client
  expect 0 "$MPSWEEP" mps stop
}

@test "sweep --mps external: refused where there is no daemon to use" {
  local sweep=("$MPSWEEP" sweep "${TINY[@]}" --mps external -l processes+mps:1 -q)
  mkdir -m 700 empty
  refused 'CUDA_MPS_PIPE_DIRECTORY; it is not set' "${sweep[@]}"
  CUDA_MPS_PIPE_DIRECTORY=empty refused 'it is not an absolute path' "${sweep[@]}"
  CUDA_MPS_PIPE_DIRECTORY=$WORK/none refused "'.*/none' is not a directory" "${sweep[@]}"
  CUDA_MPS_PIPE_DIRECTORY=$WORK/empty refused "the MPS daemon of '.*/empty': no MPS control daemon answers" \
    "${sweep[@]}"
  [ -z "$(ls -A empty)" ]
}

@test "sweep --mps external: refused while a server is in its fault state" {
  keep
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is get_server_status=faulty
  CUDA_MPS_PIPE_DIRECTORY=$(private)/mps refused 'its server is in state FAULT: every client of it must end first' \
    "$MPSWEEP" sweep "${TINY[@]}" --mps external -l processes+mps:1 -q
  unset MPSWEEP_LIBEXEC_DIR
  [ "$(kept .answers)" = true ]
  expect 0 "$MPSWEEP" mps stop
}
