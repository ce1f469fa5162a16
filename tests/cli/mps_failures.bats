#!/usr/bin/env bats
# Whatever a control program, a server or a driver does wrong: 'mps start', 'mps run' and a sweep over
# MPS end in time, report the cause in one clear line, and leave nothing.

load helper
load mps

# Longest that one may take: deadlines of one command (5 s), of a daemon's start (15 s) and of its end.
MOST_SECONDS=45

# fails_with WANTED PATTERN SECONDS COMMAND...: one line, nothing on standard output, in time.
fails_with() {
  local wanted=$1 pattern=$2 most=$3 begin=$SECONDS
  shift 3
  : >"$FAKE_LOG"
  expect "$wanted" "$@" && says "$pattern" || return 1
  [ ! -s out ] || fail "there is output beside the error:" "$(cat out)" || return 1
  [ $((SECONDS - begin)) -le "$most" ] || fail "it took $((SECONDS - begin)) s: $*" || return 1
  await $LEFTOVER_PATIENCE no_own_process || fail "processes are left by: $*" || return 1
  nothing_private || fail "a directory is left by: $*"
}

# in_all_ways MODE SECONDS PATTERN: each command that starts a daemon of its own.
in_all_ways() {
  local mode=$1 most=$2 pattern=$3
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is "$mode"
  fails_with 1 "^mpsweep: $pattern" "$most" "${MPS_START[@]}" "${SETTINGS[@]}" || return 1
  fails_with 125 "^mpsweep: $pattern" "$most" "${MPS_RUN[@]}" "${SETTINGS[@]}" -- touch ran || return 1
  [ ! -e ran ] || fail "the command ran" || return 1
  [ ${#SETTINGS[@]} -eq 0 ] || return 0 # which a sweep of layouts does not order
  fails_with 1 "^mpsweep: the plan has layouts over MPS, but: $pattern" "$most" \
    "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 -l threads:1 -q -o no.jsonl || return 1
  [ ! -e no.jsonl ] || fail "there are results"
}

# each_of FUNCTION: with each line of the table on standard input, MODE | SECONDS | PATTERN.
each_of() {
  local mode most pattern failed=0 count=0
  while IFS='|' read -r mode most pattern; do
    count=$((count + 1))
    mode=${mode%"${mode##*[! ]}"} most=${most// /} pattern=${pattern# }
    "$1" "$mode" "$most" "$pattern" || { echo "with $mode" >&2; failed=1; }
  done
  [ $count -gt 0 ] && [ $failed -eq 0 ]
}

SETTINGS=()

@test "a daemon that does not come up" {
  each_of in_all_ways <<'TABLE'
daemon=reply:no GPU for you    | 5 | the MPS control daemon ended at its start: no GPU for you$
daemon=reply:                  | 5 | the MPS control daemon ended at its start$
daemon=fail:9                | 5 | the MPS control daemon ended at its start$
daemon=empty                 | 5 | the MPS control daemon ended at its start$
daemon=stale                 | 5 | the MPS control daemon ended at its start: An instance of this daemon is already running$
daemon=dies:20,get_server_list=slow:300 | 5 | the MPS control daemon ended at its start
TABLE
}

@test "answers that cannot be read" {
  each_of in_all_ways <<'TABLE'
get_server_list=wrong        | 5  | the MPS daemon answered 'babble 12 babble', which is not a list of processes$
get_server_list=garbage      | 5  | the MPS daemon answered '[ -~]*', which is not a list of processes$
get_server_list=huge         | 5  | the MPS daemon's reply is too long: more than 1048576 bytes$
get_server_list=reply:12\n3 4  | 5  | the MPS daemon answered '3 4', which is not a list of processes$
get_server_list=reply:-7       | 5  | the MPS daemon answered '-7', which is not a list of processes$
get_server_list=reply:Unknown command "get_server_list" | 5 | .*has no command 'get_server_list'
TABLE
}

@test "settings that are not taken, or not to be read" {
  local get=get_default set=set_default percentage=active_thread_percentage
  local memory=device_pinned_mem_limit priority=client_priority
  SETTINGS=(--active-thread-percentage 50 --priority 1 --memory-limit 0=1G)
  each_of in_all_ways <<TABLE
${set}_$percentage=old     | 5 | the MPS daemon did not take an active thread percentage of 50.0: it has 100.0$
${set}_$priority=old       | 5 | the MPS daemon did not take a client priority of 1: it has 0$
${set}_$memory=old         | 5 | the MPS daemon did not take a memory limit of 1G for GPU 0: it has none
${get}_$memory=reply:2G      | 5 | the MPS daemon did not take a memory limit of 1G for GPU 0: it has 2G
${set}_$memory=empty,${get}_$memory=reply:1G | 5 | the MPS daemon has a memory limit of 1G, but a client is given more$
${get}_$percentage=empty   | 5 | the MPS daemon answered nothing, which is not a percentage$
${get}_$percentage=wrong   | 5 | the MPS daemon answered 'babble 12 babble', which is not a percentage$
${get}_$percentage=huge    | 5 | the MPS daemon's reply is too long: more than 1048576 bytes$
${get}_$percentage=fail:1  | 5 | no MPS control daemon answers in
${set}_$percentage=fail:1  | 5 | no MPS control daemon answers in
${get}_$priority=empty     | 5 | the MPS daemon answered nothing, which is not a
${get}_$priority=reply:2     | 5 | the MPS daemon answered '2', which is not a
${get}_$memory=garbage     | 5 | the MPS daemon answered more than one line, which is not an amount of memory$
TABLE
}

# Invariant D3.
@test "a driver that does not let the probe in: the error, and what to do about it" {
  local fault pattern failed=0
  while IFS='|' read -r fault pattern; do
    fault=${fault// /} pattern=${pattern# }
    MPSWEEP_EMULATED_FAULT=$fault in_all_ways '' 5 "$pattern" ||
      { echo "with $fault" >&2; failed=1; }
  done <<'TABLE'
cuDevicePrimaryCtxRetain=error:805 | a probe could not become an MPS client: .*CUDA_ERROR_MPS_CONNECTION_FAILED \(805\).*admitted no client
cuDevicePrimaryCtxRetain=error:806 | a probe could not become an MPS client: .*CUDA_ERROR_MPS_RPC_FAILURE \(806\).*dmesg
cuDevicePrimaryCtxRetain=error:808 | a probe could not become an MPS client: .*\(808\).*takes? no more MPS clients: use fewer processes
cuDevicePrimaryCtxRetain=error:809 | a probe could not become an MPS client: .*\(809\).*lower --connections
cuDevicePrimaryCtxRetain=error:2   | a probe could not become an MPS client: .*CUDA_ERROR_OUT_OF_MEMORY \(2\)
cuDevicePrimaryCtxRetain=crash     | a probe could not become an MPS client: killed by signal 11
cuDevicePrimaryCtxRetain=exit:3    | a probe could not become an MPS client: exit status 3
attach=skip                        | a probe did not become an MPS client: .*fell back to time slicing; .*same user
TABLE
  [ $failed -eq 0 ]
}

@test "a server that is not ready yet is waited for" {
  local -x MPSWEEP_EMULATED_FAULT=cuDevicePrimaryCtxRetain=error:807
  expect 0 "${MPS_RUN[@]}" -q -- true
  [ ! -s err ]
}

# -- the slow ones, beside each other ----------------------------------------------------------------

# slow_start NAME FAULT MODE OPTIONS...: 'mps start' in the background, with a log of its own.
slow_start() {
  local name=$1 fault=$2 mode=$3
  shift 3
  MPSWEEP_EMULATED_FAULT=$fault FAKE_MODE=$mode FAKE_LOG=$WORK/$name.log \
    "${MPS_START[@]}" "$@" >"$name.out" 2>"$name.err" 3>&- &
  PIDS[$name]=$!
}

slow_ended() {
  local name=$1 status=0
  wait "${PIDS[$name]}" || status=$?
  cp "$name.err" err
  [ $status -eq 1 ] && says "^mpsweep: $2" && [ ! -s "$name.out" ] || fail "$name: status $status"
}

@test "control programs and servers that never answer: each wait ends" {
  local begin=$SECONDS
  local -A PIDS
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is ''
  slow_start silent '' any=silent
  slow_start failing '' any=fail:1
  slow_start daemon '' daemon=silent
  slow_start setting '' get_default_client_priority=silent --priority 1
  slow_start refusing cuDevicePrimaryCtxRetain#1+=error:807 ''
  slow_ended silent 'the MPS control daemon did not answer within 15 s$'
  # It was asked with patience, and not for ever.
  grep -c ' get_server_list' silent.log | grep -qE '^[2-5]$'
  slow_ended failing 'the MPS control daemon did not answer within 15 s$'
  slow_ended daemon 'the MPS control daemon did not answer within 15 s$'
  slow_ended setting "the MPS control daemon of '.*' did not answer 'get_default_client_priority' in time$"
  slow_ended refusing 'a probe could not become an MPS client: .*\(807\).*even after 10 s of trying'
  [ $((SECONDS - begin)) -le $MOST_SECONDS ]
  nothing_private
}

@test "daemons that do not end as ordered are ended" {
  local mode begin directory number=0
  local -a stops
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is ''
  for mode in quit=silent quit=fail:1 quit=wrong quit=empty quit=huge daemon=unkillable \
    quit=silent,daemon=unkillable get_client_list=fail:1 get_client_list=wrong \
    terminate_client=silent; do
    number=$((number + 1))
    FAKE_MODE=$mode keep --dir "$WORK/$number"
  done
  begin=$SECONDS
  for directory in $(seq $number); do
    # As the modes of the daemons, those of the commands are of the guard's environment.
    "$MPSWEEP" mps stop --force --dir "$WORK/$directory" >"$directory.out" 2>"$directory.err" 3>&- &
    stops+=($!)
  done
  for directory in $(seq $number); do
    wait "${stops[directory - 1]}" || fail "daemon $directory: status $?" "$(cat "$directory.err")"
    [ ! -s "$directory.err" ] && [ ! -e "$WORK/$directory" ] || fail "daemon $directory is left"
  done
  [ $((SECONDS - begin)) -le $MOST_SECONDS ]
  no_own_process
}

@test "a daemon that does not end after a command: the command's status counts" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is daemon=unkillable
  expect 7 "${MPS_RUN[@]}" -q -- sh -c 'exit 7'
  [ ! -s err ]
  grep -q 'daemon-ignored SIGTERM' fake.log
  nothing_private
}

@test "status and stop of a daemon whose control program fails" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  local mode pattern failed=0
  daemon_is ''
  keep
  while IFS='|' read -r mode pattern; do
    mode=${mode%"${mode##*[! ]}"} pattern=${pattern# }
    FAKE_MODE=$mode expect 1 "$MPSWEEP" mps status
    grep -qE "^problem +$pattern" out || { echo "with $mode" >&2; cat out >&2; failed=1; }
    absent $'\033' out
    FAKE_MODE=$mode expect 1 "$MPSWEEP" mps status -f json
    jq -e '.problem | type == "string"' out >/dev/null || failed=1
  done <<'TABLE'
get_server_list=wrong      | the MPS daemon answered 'babble 12 babble', which is not a list of processes
get_server_list=fail:1     | no MPS control daemon answers in
get_server_status=faulty   | server [0-9]+ is in its fault state: it takes no clients until all
get_server_status=garbage  | the MPS daemon answered more than one line, which is not a server's status
get_server_status=wrong    | the MPS daemon answered 'babble 12 babble', which is not a server's status
ps=wrong                   | the MPS daemon answered
ps=huge                    | the MPS daemon's reply is too long
get_default_client_priority=wrong | the MPS daemon answered
TABLE
  [ $failed -eq 0 ]
  # One problem does not hide another.
  local faulty='is in its fault state: [^;]+'
  FAKE_MODE='get_server_list=reply:11\n12,get_server_status=faulty' expect 1 "$MPSWEEP" mps status
  grep -qE "^problem +server 11 $faulty; server 12 $faulty\$" out
  # What is not known is not made up.
  FAKE_MODE=get_server_status=wrong expect 1 "$MPSWEEP" mps status
  grep -qE '^server +process [0-9]+, unknown$' out
  # An unreadable version counts as missing.
  FAKE_MODE=version=garbage expect 0 "$MPSWEEP" mps status
  absent '^version' out
  FAKE_MODE=version=wrong expect 0 "$MPSWEEP" mps status -f json
  jq -e '.version == null' out
  expect 0 "$MPSWEEP" mps stop
}

@test "a daemon that does not report whether it has clients is stopped only by force" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is get_client_list=wrong
  keep
  expect 1 "$MPSWEEP" mps stop
  grep -q "^mpsweep: cannot find out whether the daemon has clients: .*babble.*; end its clients, or give --force:$" err
  expect 0 "$MPSWEEP" mps stop --force
}
