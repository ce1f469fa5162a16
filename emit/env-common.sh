# shellcheck shell=sh
# shellcheck disable=SC2154 # here is theirs
# What start, stop and check share. A process is known by its number and its start time, which are
# kept here: the private directory may be taken away while it runs.

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# The time at which a process started; a name may hold anything, even ") ".
start_time() {
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # shellcheck disable=SC2086 # words
  set -- ${stat##*)}
  # A zombie has ended.
  [ "$1" != Z ] && printf '%s\n' "${20}"
}

# remember PID NAME
remember() {
  printf '%s %s\n' "$1" "$(start_time "$1")" >"$here/$2.pid"
}

# Whether what was remembered under a name still runs, with its number in $pid.
is_alive() {
  pid=
  read -r pid started 2>/dev/null <"$here/$1.pid" || return 1
  [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ]
}

# Whether anything that was remembered still runs.
is_any_alive() {
  for file in "$here"/daemon*.pid "$here"/worker-*.pid; do
    name=${file##*/}
    ! is_alive "${name%.pid}" || return 0
  done
  return 1
}

# The daemons' names, a line each: "daemon", or of one for each GPU "daemon-0", ...
daemon_names() {
  daemon=0
  while [ "$daemon" -lt "$MPSWEEP_DAEMONS" ]; do
    if [ "$MPSWEEP_DAEMONS" -gt 1 ]; then echo "daemon-$daemon"; else echo daemon; fi
    daemon=$((daemon + 1))
  done
}

# The directory of a daemon by its name, and of the one of a worker by the worker's number.
pipe_of_daemon() {
  case $1 in
  daemon) printf '%s\n' "$run/mps" ;;
  *) printf '%s\n' "$run/mps-${1#daemon-}" ;;
  esac
}
pipe_of_worker() {
  if [ "$MPSWEEP_DAEMONS" -gt 1 ]; then
    pipe_of_daemon "daemon-$(($1 % MPSWEEP_DAEMONS))"
  else
    pipe_of_daemon daemon
  fi
}
