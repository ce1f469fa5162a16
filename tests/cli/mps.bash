# shellcheck shell=bash
# What the tests of 'mpsweep mps' share: to be loaded after helper.

MPS_START=("$MPSWEEP" mps start --gpu emulated)
MPS_RUN=("$MPSWEEP" mps run --gpu emulated)
# Makes itself a client of the daemon that its environment names, and stays until its input ends.
CLIENT=("$MPSWEEP_BUILD_DIR/mpsweep-worker" --probe --driver
  "$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so")

# The private directories in the usual place.
private() { find "$TMPDIR" -mindepth 1 -maxdepth 1 -name 'mpsweep-??????'; }

nothing_private() { [ -z "$(private)" ]; }

# kept FILTER [--dir DIR]: from the status of the daemon that runs by itself.
kept() {
  local filter=$1
  shift
  "$MPSWEEP" mps status -f json "$@" 2>/dev/null 3>&- | jq -r "$filter"
}

# keep [OPTION...]: starts a daemon that stays, and prints that.
keep() {
  expect 0 "${MPS_START[@]}" "$@" || return 1
  [ ! -s "$WORK/err" ] || fail "standard error should be silent:" "$(cat "$WORK/err")"
}

# A pipe on whose other end hold_open() keeps a hand, for the standard input of clients.
hold_open() {
  [ -p "$WORK/hold" ] || mkfifo "$WORK/hold"
  exec 9<>"$WORK/hold"
}

let_go() { exec 9>&-; }

# add_client PIPE_DIRECTORY: a client in CLIENT_PID, which let_go() ends.
add_client() {
  hold_open
  rm -f "$WORK/client.out"
  CUDA_MPS_PIPE_DIRECTORY=$1 "${CLIENT[@]}" <"$WORK/hold" >"$WORK/client.out" 2>/dev/null 3>&- 9>&- &
  CLIENT_PID=$!
  await $PATIENCE test -s "$WORK/client.out"
}

# Its daemon may have ended it.
end_client() {
  let_go
  wait "$CLIENT_PID" || true
}

# The names of the variables that a process was started with.
variables_of() { tr '\0' '\n' <"/proc/$1/environ" | cut -d= -f1; }
