#!/usr/bin/env bats
# One call of mpsweep, its guard or a worker fails, as without memory, descriptors or processes.

load helper

# failing CALL#NTH@PROGRAM COMMAND...: tests/fakes/failing_call.c
failing() {
  local call=$1
  shift
  rm -f "$WORK/failed"
  env LD_PRELOAD="$MPSWEEP_BUILD_DIR/tests/fakes/failing_call.so" MPSWEEP_FAIL="$call" \
    MPSWEEP_FAILED="$WORK/failed" "$@"
}

# Sanitizers have functions of their own in these places.
needs_own_calls() {
  ! grep -qaE '__(asan|tsan)_init' "$MPSWEEP_BUILD_DIR/mpsweep" || skip "calls are a sanitizer's here"
}

SWEEP=("$MPSWEEP" sweep "${TINY[@]}" -q -o r.jsonl -l threads:2 -l processes+mps:1 --seed 0)

@test "a call that fails for one point takes its number, and not the sweep" {
  needs_own_calls
  local call layout pattern
  while IFS='|' read -r call layout pattern; do
    rm -f r.jsonl
    expect 2 failing "$call" "${SWEEP[@]}" || { echo "from: $call"; return 1; }
    points "length == 2 and (map(select(.status == \"failed\")) | length >= 1 and
      (map(select(.layout == \"$layout\" and (.error | test(\"$pattern\")))) | length == 1))
      and all((.status == \"failed\") != has(\"throughput_ips\"))" r.jsonl ||
      { echo "from: $call"; return 1; }
    tail -1 r.jsonl | jq -e '.type == "footer" and .status == 2' >/dev/null
  done <<'CALLS'
eventfd#1@mpsweep|threads|cannot make the descriptors of 1 processes: Too many open files
memfd_create#2@mpsweep|threads|cannot make shared memory: Too many open files
mmap#2@mpsweep|threads|cannot map [0-9]+ bytes of shared memory: Cannot allocate memory
calloc#1@mpsweep-worker|threads|worker 0 of 2: out of memory
mmap#1@mpsweep-worker|threads|worker process 0 of 1 ended unasked: exit status 64
pthread_create#1@mpsweep-worker|processes+mps|worker 0 of 1: cannot start the watching thread
pthread_create#2@mpsweep-worker|processes+mps|worker 0 of 1: cannot start thread 0: Resource temporarily
CALLS
}

@test "a call of libcurl that fails is the reason of its point" {
  needs_own_calls
  [ -x "$MPSWEEP_BUILD_DIR/mpsweep-load" ] || skip "built without libcurl"
  local call address='http://127.0.0.1:{port}'
  for call in curl_multi_add_handle curl_multi_perform curl_multi_poll; do
    rm -f r.jsonl
    expect 2 failing "$call#2@mpsweep-load" "$MPSWEEP" sweep "${TINY[@]}" -q -o r.jsonl -l processes:1 \
      --server --request "GET $address/" -- "$MPSWEEP_BUILD_DIR/tests/fakes/http-server" --port '{port}'
    points 'all(.status == "failed" and (.error | test("libcurl fails: Out of memory")))' r.jsonl ||
      { echo "from: $call"; return 1; }
  done
}

@test "a call that fails before the first point is one error that names what was refused" {
  needs_own_calls
  local call pattern
  while IFS='|' read -r call pattern; do
    refused "$pattern" failing "$call" "${SWEEP[@]}" || { echo "from: $call"; return 1; }
    [ ! -e r.jsonl ] || fail "a file is there after: $call"
  done <<'CALLS'
memfd_create#1@mpsweep|cannot create the emulated machine's state: Too many open files$
signalfd#1@mpsweep|cannot watch signals: Too many open files$
socketpair#1@mpsweep|cannot make a socket pair: Too many open files$
fork#1@mpsweep|cannot run '.*/mpsweep-guard': Resource temporarily unavailable$
fork#2@mpsweep|cannot run '.*/mpsweep-worker': Resource temporarily unavailable$
fork#1@mpsweep-guard|cannot run '.*/mpsweep-emulated-mps-control': Resource temporarily unavailable$
pipe2#1@mpsweep-guard|cannot run '.*/mpsweep-emulated-mps-control': Too many open files$
malloc#1@mpsweep-guard|cannot prepare the MPS daemon: Cannot allocate memory$
CALLS
}

@test "memory that runs out anywhere in a merge is one error, and no file" {
  needs_own_calls
  local call nth
  rm -f r.jsonl
  expect 0 "${SWEEP[@]}"
  for call in malloc calloc realloc; do
    nth=1
    while :; do
      rm -f all.jsonl
      failing "$call#$nth@mpsweep" "$MPSWEEP" merge r.jsonl -o all.jsonl >out 2>err && break
      [ -e failed ] && says '^mpsweep: .*out of memory|Cannot allocate memory$' ||
        fail "from: $call#$nth" || return 1
      [ ! -e all.jsonl ] || fail "a file is there after: $call#$nth" || return 1
      nth=$((nth < 10 ? nth + 1 : nth + nth / 5))
    done
    # All was allocated: the call that would have failed was never made.
    [ ! -e failed ] || fail "status 0 although a call failed: $call#$nth"
    [ "$nth" -gt 2 ]
  done
}
