# shellcheck shell=sh
# shellcheck disable=SC2154 # run is theirs
# What start, stop and check share. A process is known by its number and its start time.

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
  printf '%s %s\n' "$1" "$(start_time "$1")" >"$run/$2.pid"
}

# Whether what was remembered under a name still runs, with its number in $pid.
is_alive() {
  pid=
  read -r pid started 2>/dev/null <"$run/$1.pid" || return 1
  [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ]
}
