#!/usr/bin/env bats
# The fakes of the other tests behave as their modes require, and nothing outlives them.

load helper
load mps

fake_setup() {
  export CUDA_MPS_PIPE_DIRECTORY=$WORK/pipe CUDA_MPS_LOG_DIRECTORY=$WORK/pipe FAKE_LOG=$WORK/fake.log
  export DAEMON=$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control
  mkdir pipe
}

# The real answers, in any mode of the fake.
real() { printf '%s\n' "$1" | "$DAEMON" 2>/dev/null; }
answers() { real get_server_list >/dev/null; }
is_silent() { ! answers; }

# start_fake MODE: a daemon through the fake, in PID.
start_fake() {
  FAKE_MODE=$1 start "$FAKE_CONTROL" -f
  await $PATIENCE answers
}

end_fake() {
  kill -TERM "$PID"
  finish
}

# asked MODE COMMAND: standard output and status of one command through the fake.
asked() {
  local status=0
  printf '%s\n' "$2" | FAKE_MODE=$1 "$FAKE_CONTROL" >said 2>err 3>&- || status=$?
  echo "$status" >status
}

# is_told MODE COMMAND STATUS TEXT
is_told() {
  asked "$1" "$2"
  [ "$(cat status)" -eq "$3" ] && [ "$(cat said)" = "$4" ] ||
    fail "$2 with $1: status $(cat status):" "$(cat said err)"
}

@test "the fake control program: answers" {
  fake_setup
  start_fake ''
  local get=get_default_active_thread_percentage set=set_default_active_thread_percentage
  is_told '' $get 0 100.0
  is_told "$set=fail:1" $get 0 100.0
  is_told "$get=fail:3" $get 3 ''
  is_told "$get=wrong" $get 0 'babble 12 babble'
  is_told 'any=wrong' $get 0 'babble 12 babble'
  is_told "$get=pass,any=wrong" $get 0 100.0
  is_told "$get=empty" $get 0 ''
  is_told "$get=reply:1 2\\n3" $get 0 '1 2
3'
  is_told "$get=cut" $get 0 100
  [ "$(wc -l <said)" -eq 0 ]
  is_told "$set=old" "$set 40" 0 100.0
  is_told 'any=old' 'set_default_client_priority 1' 0 ''
  is_told '' get_default_client_priority 0 0
  is_told "$set=empty" "$set 40" 0 ''
  is_told '' "$set 50" 0 50.0
  is_told 'get_server_status=faulty' 'get_server_status 1' 0 FAULT
  is_told '' '' 0 'Unknown command ""'
  asked "$get=huge" $get
  [ "$(wc -c <said)" -gt 4000000 ]
  asked "$get=garbage" $get
  LC_ALL=C grep -qaP '\xff' said
  asked "$get=what" $get
  [ "$(cat status)" -eq 64 ]
  # Several commands in one go; a slow one is slow.
  printf '%s\n' $get 'help' | FAKE_MODE='help=slow:300' "$FAKE_CONTROL" >said 3>&-
  [ "$(cat said)" = '50.0
Unknown command "help"' ]
  tail -1 fake.log | grep -qE '^[0-9]+\.[0-9]{3} [0-9]+ help$'
  end_fake
}

@test "the fake control program: only the N-th time, and versions" {
  fake_setup
  start_fake ''
  local mode='get_server_list#2=wrong,any#4=reply:four'
  is_told "$mode" get_server_list 0 ''
  is_told "$mode" get_server_list 0 'babble 12 babble'
  is_told "$mode" get_server_list 0 ''
  is_told "$mode" help 0 four
  is_told "$mode" help 0 'Unknown command "help"'
  FAKE_MODE='' "$FAKE_CONTROL" -v | grep -q 'Binary version: 13000'
  [ "$(FAKE_MODE=version=reply:none "$FAKE_CONTROL" --version)" = none ]
  end_fake
}

@test "the fake control program: one that never answers ends with who asked" {
  fake_setup
  start_fake ''
  echo get_server_list >command
  FAKE_MODE=get_server_list=silent "$FAKE_CONTROL" <command >said 3>&- &
  local silent=$!
  logged() { grep -q get_server_list fake.log; }
  await $PATIENCE logged
  kill -0 $silent
  kill -TERM $silent
  wait $silent || [ $? -eq 143 ]
  [ ! -s said ]
  end_fake
}

@test "the fake control program: daemons that do not come up" {
  fake_setup
  FAKE_MODE='daemon=reply:no GPU for you' expect 1 "$FAKE_CONTROL" -f
  says '^no GPU for you$'
  FAKE_MODE=daemon=fail:4 expect 4 "$FAKE_CONTROL" -f
  FAKE_MODE=daemon=empty expect 0 "$FAKE_CONTROL" -f
  [ -z "$(ls -A pipe)" ]
  FAKE_MODE=daemon=stale expect 1 "$FAKE_CONTROL" -f
  says '^An instance of this daemon is already running$'
  [ -S pipe/control ]
  is_silent
  # Which disturbs no other process.
  start_fake daemon=pass
  end_fake
  [ "$STATUS" -eq 0 ]
}

# Its server, too.
with_server() {
  real "start_server -uid $(id -u)" >/dev/null
  SERVER=$(real get_server_list)
  [ -n "$SERVER" ]
}

@test "the fake control program: a daemon that dies takes all along" {
  fake_setup
  # By its time: it may be over before a question comes.
  FAKE_MODE=daemon=dies:100 start "$FAKE_CONTROL" -f
  finish
  [ "$STATUS" -eq 1 ]
  is_silent
  grep -q ' daemon-died$' fake.log
  # By an event, with a server that is there.
  start_fake daemon=dies-at:1
  with_server
  hold_open
  "${CLIENT[@]}" <hold >/dev/null 2>&1 3>&- 9>&- &
  CLIENT_PID=$!
  finish
  [ "$STATUS" -eq 1 ]
  is_silent
  await $PATIENCE is_gone "$SERVER"
  end_client
}

@test "the fake control program: SIGTERM is passed on, SIGKILL leaves nothing" {
  fake_setup
  start_fake daemon=dies:600000
  with_server
  end_fake
  [ "$STATUS" -eq 0 ]
  await $PATIENCE is_gone "$SERVER"
  start_fake daemon=dies:600000
  with_server
  kill -KILL "$PID"
  finish
  await $PATIENCE no_own_process
}

@test "the fake control program: a daemon that only SIGKILL ends" {
  fake_setup
  start_fake daemon=unkillable
  with_server
  is_told daemon=unkillable 'quit -t 0' 0 ''
  kill -TERM "$PID"
  await $PATIENCE grep -q ' daemon-ignored SIGTERM$' fake.log
  answers
  kill -KILL "$PID"
  finish
  await $PATIENCE no_own_process
}

# -- between fork and exec -------------------------------------------------------------------------

@test "a preloaded library holds a child before its exec" {
  export MPSWEEP_TEST_EXEC_PAUSE=mpsweep-worker MPSWEEP_TEST_EXEC_MARK=$WORK/mark
  export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
  start env LD_PRELOAD="$MPSWEEP_BUILD_DIR/tests/fakes/slow_exec.so" \
    "$MPSWEEP" sweep "${TINY[@]}" -l processes:1 -q
  await $PATIENCE test -e mark
  # What is held is a copy of the sweep that has not become a worker.
  local held
  copies() { children_of "$PID" | while read -r child; do
    ! command_line "$child" | grep -qx sweep || echo "$child"; done; }
  held=$(copies)
  [ "$(echo "$held" | wc -w)" -eq 1 ]
  rm mark
  moved_on() { [ "$(copies)" != "$held" ]; }
  await $PATIENCE moved_on
  # Each worker is held anew; the rest continues as it is.
  kill -KILL "$PID"
  finish
}
