#!/usr/bin/env bats
# 'mpsweep mps run': a command over a daemon that lives as long as it does, and is not in its way.

load helper
load mps

@test "run: the command's own exit status, and what kept it from running" {
  local line wanted failed=0
  local -a command
  echo 'not a program' | tee data >nonsense
  chmod +x nonsense
  while read -r line; do
    IFS='|' read -ra command <<<"$line"
    wanted=${command[0]}
    command=("${command[@]:1}")
    expect "$wanted" "${MPS_RUN[@]}" -q -- "${command[@]}" || failed=1
    if [ "${command[0]}" = sh ]; then
      [ ! -s err ] || { cat err >&2; failed=1; }
    else
      says "^mpsweep: cannot run '${command[0]}': " || failed=1
    fi
    [ ! -s out ] || failed=1
    nothing_private || failed=1
  done <<'TABLE'
0|sh|-c|exit 0
1|sh|-c|exit 1
7|sh|-c|exit 7
255|sh|-c|exit 255
137|sh|-c|kill -KILL $$
143|sh|-c|kill -TERM $$
139|sh|-c|ulimit -c 0; kill -SEGV $$
127|no-such-command
127|./no/such/command
126|./data
126|./nonsense
126|./
TABLE
  [ $failed -eq 0 ]
}

@test "run: words, streams and the place of the command are its own" {
  printf 'one\0two\n' >in
  local status=0
  "${MPS_RUN[@]}" -- sh -c 'pwd; cat; printf "%s." "$@"; echo error >&2; test ! -t 0' \
    sh -q '' 'a  b' --help <in >out 2>err 3>&- || status=$?
  [ $status -eq 0 ]
  { pwd; cat in; printf '%s.' -q '' 'a  b' --help; } | cmp - out
  [ "$(head -1 err)" = error ]
  # Nothing but the warning joins it.
  [ "$(wc -l <err)" -eq 2 ]
  # Without --, too: options after the command are the command's.
  expect 0 "${MPS_RUN[@]}" echo --quiet
  [ "$(cat out)" = --quiet ]
  # A closed stream stays closed, or is empty; nothing of ours takes its place.
  "${MPS_RUN[@]}" -q -- sh -c 'read -r line || echo none' <&- >out 2>err 3>&-
  [ "$(cat out)" = none ]
}

@test "run: the command runs as it would run by itself" {
  # Of the signals those that have names: the last ones of the mask are the C library's, and a
  # sanitizer's.
  local facts='sed -n "s/^\(Sig[BI].*:\).*\(.......\)$/\1 \2/p" /proc/self/status
    ulimit -Sn; umask; ls /proc/self/fd; nice'
  ulimit -Sn 256
  umask 027
  sh -c "$facts" >alone 3>&-
  [ "$(grep -c ^Sig alone)" -eq 2 ]
  expect 0 "${MPS_RUN[@]}" -q -- sh -c "$facts"
  diff alone out
}

@test "run: the proof names the processes that were clients" {
  local status=0
  "${MPS_RUN[@]}" -- "${CLIENT[@]}" </dev/null >out 2>err 3>&- || status=$?
  [ $status -eq 0 ]
  says '^mpsweep: 1 process of the command ran over MPS: [0-9]+ \(the command itself\)$'
  # Children, and children's children.
  cat >two.sh <<'SCRIPT'
"$@" >one.out </dev/null & echo $! >pids
("$@" >two.out </dev/null & echo $! >>pids; wait $!)
wait
SCRIPT
  expect 0 "${MPS_RUN[@]}" -- sh two.sh "${CLIENT[@]}"
  says '^mpsweep: 2 processes of the command ran over MPS:( [0-9]+){2}$'
  local pid
  for pid in $(cat pids); do
    grep -qE ": .*\b$pid\b" err
  done
  # A command that attaches to no daemon, and one that looks elsewhere.
  expect 0 "${MPS_RUN[@]}" -- true
  says 'warning: no process of the command was an MPS client'
  expect 0 "${MPS_RUN[@]}" -- env CUDA_MPS_PIPE_DIRECTORY="$WORK/none" "${CLIENT[@]}"
  says 'warning: no process of the command was an MPS client: .* or looked for a daemon elsewhere'
  expect 0 "${MPS_RUN[@]}" --quiet -- true
  [ ! -s err ]
}

@test "run: settings are the daemon's" {
  expect 0 "${MPS_RUN[@]}" -q --active-thread-percentage 30 --priority 1 --memory-limit 0=1G -- \
    sh -c 'for what in active_thread_percentage client_priority "device_pinned_mem_limit 0"; do
      echo "get_default_$what" | "$0"
    done' "$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control"
  [ "$(xargs <out)" = '30.0 1 1G' ]
}

@test "run: a chosen directory, and what is left of it" {
  mkdir -m 700 there
  expect 0 "${MPS_RUN[@]}" -q --dir there -- sh -c 'echo "$CUDA_MPS_PIPE_DIRECTORY"; ls -A there'
  [ "$(head -1 out)" = "$WORK/there/mps" ]
  [ -d there ]
  [ -z "$(ls -A there)" ]
  expect 0 "${MPS_RUN[@]}" -q --dir new -- true
  [ ! -e new ]
}

# A command that prints what it got.
write_listener() {
  cat >listener.sh <<'SCRIPT'
for signal in INT TERM HUP; do
  trap "kill \$!; echo got $signal; exit 5" $signal
done
sleep 600 &
: >ready
wait
SCRIPT
}

@test "run: signals reach the command, whose end is waited for" {
  local signal
  write_listener
  for signal in INT TERM HUP; do
    rm -f ready
    start "${MPS_RUN[@]}" -q -- bash listener.sh
    await $PATIENCE test -e ready
    kill -$signal "$PID"
    finish
    [ "$STATUS" -eq 5 ] || fail "status $STATUS after $signal"
    [ "$(cat out)" = "got $signal" ]
    nothing_private
  done
  # One that pays no attention continues.
  start "${MPS_RUN[@]}" -q -- bash -c 'trap "touch heard" TERM; touch ready2
    until [ -e over ]; do read -r -t 0.02 <> <(:) || true; done; exit 6'
  await $PATIENCE test -e ready2
  kill -TERM "$PID"
  await $PATIENCE test -e heard
  kill -0 "$PID"
  : >over
  finish
  [ "$STATUS" -eq 6 ]
}

@test "run: Ctrl-C is one signal to the command, not two" {
  command -v setsid >/dev/null || skip "no setsid here"
  # A shell of its own session; the terminal signals its whole process group.
  start setsid bash -c '"$@"; exit $?' shell "${MPS_RUN[@]}" -q -- bash -c '
    trap "echo got" INT; touch ready
    until [ -e over ]; do read -r -t 0.02 <> <(:) || true; done'
  await $PATIENCE test -e ready
  kill -INT -- "-$PID"
  : >over
  finish
  [ "$STATUS" -eq 0 ] || [ "$STATUS" -eq 130 ]
  nothing_private
}

@test "run: a client that the command left is named, and does not keep the daemon" {
  hold_open
  cat >leaves.sh <<'SCRIPT'
"$@" <hold >client.out 2>/dev/null &
echo $! >left
until [ -s client.out ]; do read -r -t 0.02 <> <(:) || true; done
exit 4
SCRIPT
  # What it left holds no descriptor of the test's.
  expect 4 "${MPS_RUN[@]}" -- bash leaves.sh "${CLIENT[@]}" 9>&-
  [ "$(wc -l <err)" -eq 2 ]
  head -1 err | grep -qE "warning: the command has ended, but left 1 MPS client, terminated now: $(cat left)$"
  tail -1 err | grep -qE "1 process of the command ran over MPS: $(cat left)$"
  nothing_private
  let_go
  await $PATIENCE is_gone "$(cat left)"
}

@test "run: the daemon dies meanwhile: the command's status, and a warning" {
  start "${MPS_RUN[@]}" -- bash -c 'echo "$CUDA_MPS_PIPE_DIRECTORY"
    touch ready; until [ -e over ]; do read -r -t 0.02 <> <(:) || true; done; exit 3'
  await $PATIENCE test -e ready
  local guard
  guard=$(children_named "$PID" mpsweep-guard)
  kill -KILL "$(children_named "$guard" mpsweep-emulated-mps-control)"
  no_daemon() { [ -z "$(children_named "$guard" mpsweep-emulated-mps-control)" ]; }
  await $PATIENCE no_daemon
  : >over
  finish
  [ "$STATUS" -eq 3 ]
  grep -q 'warning: the MPS control daemon ended by itself: killed by signal 9 (Killed), while the command ran' err
  nothing_private
}

@test "where there is no driver, the daemon is the emulated one, with a notice" {
  ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' || skip "there is a driver here"
  expect 3 "$MPSWEEP" mps run -q -- sh -c 'echo "$CUDA_MPS_PIPE_DIRECTORY"; exit 3'
  says '^mpsweep: no NVIDIA driver here: the MPS daemon is the EMULATED one'
  [ -s out ]
  XDG_RUNTIME_DIR=$TMPDIR expect 0 "$MPSWEEP" mps start --dir "$WORK/d"
  says '^mpsweep: no NVIDIA driver here: the MPS daemon is the EMULATED one'
  grep -q '(emulated)$' out
  expect 0 "$MPSWEEP" mps stop --dir "$WORK/d"
}
