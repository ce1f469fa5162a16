#!/usr/bin/env bats
# What the GPU allows over MPS: found by trying, kept, and used by sweeps.

load helper

KEPT=cache/mpsweep/limits.json
FIND=("$MPSWEEP" doctor --limits --device emulated)

probes() {
  local pid
  for pid in $(children_of "$PID"); do
    ! command_line "$pid" | grep -qx -e --probe || printf '%s\n' "$pid"
  done
}
has_probes() { [ "$(probes | wc -l)" -ge "$1" ]; }

# Limits as the search writes them, of N clients with 8 connections each, found long ago.
write_limits() {
  local uuid cuda
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -q -o header.jsonl
  uuid=$(head -1 header.jsonl | jq -r .gpu.uuid)
  cuda=$(head -1 header.jsonl | jq -r .driver)
  mkdir -p "${KEPT%/*}"
  jq -n --arg uuid "$uuid" --arg cuda "${2:-$cuda}" --argjson clients "$1" '{schema: 1, limits: [
    {uuid: $uuid, cuda: $cuda, release: "", found: "2001-02-03T04:05:06Z",
     rows: [{connections: 8, clients: $clients, refused: 2, error: "x (2)"}]}]}' >$KEPT
}

@test "the search finds cap and budget, prints and keeps them; sweeps use them" {
  expect 0 "${FIND[@]}"
  absent 'MPS limits: not known' out
  [ ! -s err ]
  # connections clients queues refused with
  grep -qE '^ +1 +48 +48  .*CUDA_ERROR_MPS_MAX_CLIENTS_REACHED \(808\)$' out
  grep -qE '^ +2 +48 +96  .*CUDA_ERROR_MPS_MAX_CLIENTS_REACHED \(808\)$' out
  grep -qE '^ +4 +31 +124  .*CUDA_ERROR_OUT_OF_MEMORY \(2\)$' out
  grep -qE '^ +8 +15 +120  .*CUDA_ERROR_OUT_OF_MEMORY \(2\)$' out
  grep -qE '^ +16 +7 +112  .*CUDA_ERROR_OUT_OF_MEMORY \(2\)$' out
  grep -qE '^ +32 +3 +96  .*CUDA_ERROR_OUT_OF_MEMORY \(2\)$' out
  grep -qE '^48 clients, 128 queues \(found 20' out
  grep -qxF "kept in $WORK/$KEPT" out
  jq -e '.schema == 1 and (.limits | length) == 1 and
    ([.limits[0].rows[] | [.connections, .clients, .refused]] ==
      [[1,48,808],[2,48,808],[4,31,2],[8,15,2],[16,7,2],[32,3,2]])' $KEPT
  [ "$(find cache -type f)" = $KEPT ]
  # From here on the doctor knows.
  expect 0 "$MPSWEEP" doctor --device emulated
  grep -qE '^ok +MPS limits: 48 clients, 128 queues \(found 20' out

  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2,16 -l hybrid:15x1 -c 8 -o known.jsonl
  grep -q '^mpsweep: 1 of 3 points left out: .*--limits ignore' err
  grep -q '^\[2/2\]' err
  points 'map(outcome) == ["measured", "infeasible", "measured"] and (.[1] |
    (.error | test("^this GPU and driver allow 15 MPS clients with 8 connections each \\(found by .mpsweep doctor --limits. on 20[0-9-]+\\)$"))
    and .cuda_error == 2 and .seconds == 0 and has("limits_found"))' known.jsonl
  grep -qE '^processes\+mps +16×1 .*infeasible: this GPU and driver allow 15 MPS clients' out

  # Asked to try, it gets the driver's own refusal.
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2,16 -l hybrid:15x1 -c 8 --limits ignore \
    -o tried.jsonl
  absent 'left out' err
  points 'map(outcome) == ["measured", "infeasible", "measured"] and (.[1] |
    (.error | test("worker [0-9]+ of 16: .*CUDA_ERROR_OUT_OF_MEMORY.*; perhaps the MPS clients. hardware queues are used up: lower --connections")) and
    (has("limits_found") | not))' tried.jsonl
}

@test "a point beyond the limits starts nothing, not even the daemon" {
  write_limits 12
  mkdir programs
  ln -s "$MPSWEEP_BUILD_DIR"/mpsweep-{worker,guard,emulated-cuda.so} programs
  ln -s "$FAKE_CONTROL" programs/mpsweep-emulated-mps-control
  export MPSWEEP_LIBEXEC_DIR=$WORK/programs FAKE_MODE='daemon=reply:no GPU for you'
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:13 -c 8,9 -l threads:1 -q -o r.jsonl
  [ ! -s err ]
  assert_complete r.jsonl 4 0
  points '[.[] | select(.mps) | .status] == ["infeasible", "infeasible"]' r.jsonl
  refused 'no GPU for you' "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:12 -c 8 -q
}

@test "list and dry run show what is left out, and its time does not count" {
  write_limits 12
  expect 0 "$MPSWEEP" sweep --device emulated -l processes+mps:12,13 -c 8 --list
  [ "$(grep -c . out)" -eq 2 ]
  grep -qE '^1	processes\+mps 13×1, .*	infeasible: .* on 2001-02-03\)$' out
  absent '^0.*infeasible' out
  expect 0 "$MPSWEEP" sweep --device emulated -l processes+mps:13 -l threads:1 -c 8 -t 100 \
    --rounds 1 --dry-run
  grep -qE '^plan: +2 points, 1 of them infeasible, about 1 min 4' out
  grep -qE '^0	processes\+mps 13×1, .*infeasible: ' out
  expect 0 "$MPSWEEP" sweep --device emulated -l processes+mps:13 -c 8 --list --limits ignore
  absent infeasible out
}

@test "fewer connections, layouts without MPS and other drivers are not concerned" {
  write_limits 2
  expect 0 "$MPSWEEP" sweep --device emulated -l processes+mps:3 -c default,7,8 --list
  [ "$(grep -c infeasible out)" -eq 1 ]
  expect 0 "$MPSWEEP" sweep --device emulated -l processes:3,hybrid-timesliced:3x2 -c 8 --list
  absent infeasible out
  # A newer driver may allow more.
  rm header.jsonl
  write_limits 2 99.9
  expect 0 "$MPSWEEP" sweep --device emulated -l processes+mps:3 -c 8 --list
  absent infeasible out
  expect 0 "$MPSWEEP" doctor --device emulated
  grep -q "MPS limits: not known for this GPU and driver; 'mpsweep doctor --limits' finds them" out
}

@test "resume: what was left out stays so while the limits hold, and what was tried counts" {
  local sweep=("$MPSWEEP" sweep "${TINY[@]}" -l "processes+mps:2,3" -c 8 -q -o r.jsonl)
  write_limits 2
  expect 0 "${sweep[@]}"
  points 'map(outcome) == ["measured", "infeasible"]' r.jsonl
  expect 0 "${sweep[@]}" --resume
  assert_complete r.jsonl 2 0
  expect 0 "${sweep[@]}" --resume --limits ignore
  points 'map(outcome) == ["measured", "measured"]' r.jsonl
  expect 0 "${sweep[@]}" --resume
  points 'map(outcome) == ["measured", "measured"]' r.jsonl
}

@test "a file of limits that is broken: one line, and as if there were none" {
  mkdir -p "${KEPT%/*}"
  printf '{"schema": 1, "limi' >$KEPT
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 -q
  says "^mpsweep: '.*limits.json' does not hold MPS limits: line 1: .*; going on as if there were no"
  # The user did not ask about MPS.
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -q
  [ ! -s err ]
  expect 0 "$MPSWEEP" doctor --device emulated
  grep -qE "^warning +MPS limits: '.*limits.json' does not hold MPS limits" out
  grep -q -- '-> find them again: mpsweep doctor --limits' out
  expect 0 "${FIND[@]}"
  expect 0 "$MPSWEEP" doctor --device emulated
  grep -qE '^ok +MPS limits: 48 clients' out
}

@test "no place for the file: the limits are shown, and a line reports it" {
  (unset HOME XDG_CACHE_HOME && expect 1 "${FIND[@]}")
  says 'the limits are not kept: neither XDG_CACHE_HOME nor HOME names a folder'
  grep -qE '^48 clients, 128 queues' out
  echo file >blocked
  XDG_CACHE_HOME=$WORK/blocked expect 1 "${FIND[@]}"
  says "the limits are not kept: cannot make the folder '$WORK/blocked.*': "
  [ "$(cat blocked)" = file ]
}

@test "each number of connections gets a daemon of its own" {
  mkdir programs
  ln -s "$MPSWEEP_BUILD_DIR"/mpsweep-{worker,guard,emulated-cuda.so} programs
  cat >programs/mpsweep-emulated-mps-control <<S
#!/bin/sh
[ "\$1" != -f ] || echo started >>'$WORK/starts'
exec '$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control' "\$@"
S
  chmod +x programs/mpsweep-emulated-mps-control
  MPSWEEP_LIBEXEC_DIR=$WORK/programs expect 0 "${FIND[@]}"
  # One more is the doctor's own.
  [ "$(wc -l <starts)" -eq 7 ]
}

@test "a client that breaks ends the search, and nothing is kept" {
  MPSWEEP_EMULATED_FAULT='cuInit=crash@3' expect 1 "${FIND[@]}"
  says 'MPS client 4 \(connections: 1\) ended without an answer'
  MPSWEEP_EMULATED_FAULT='attach=skip@2' expect 1 "${FIND[@]}"
  says 'MPS client 3 is not attached to the MPS daemon'
  MPSWEEP_EMULATED_FAULT='cuDevicePrimaryCtxRetain=error:999@0' expect 1 "${FIND[@]}"
  says 'not even one MPS client gets a context: .*CUDA_ERROR_UNKNOWN \(999\)'
  [ ! -e cache ]
}

@test "SIGINT amid the search" {
  holding cuInit=hold@5
  start "${FIND[@]}"
  await $PATIENCE is_held
  kill -INT "$PID"
  release
  finish
  [ "$STATUS" -eq 130 ]
  says '^mpsweep: interrupted$'
  [ ! -e cache ]
}

@test "SIGKILL amid the search" {
  MPSWEEP_EMULATED_FAULT='cuInit=hang@5' start "${FIND[@]}"
  await $PATIENCE has_probes 6
  kill -KILL "$PID"
  finish
  [ "$STATUS" -eq 137 ]
  [ ! -e cache ]
}
