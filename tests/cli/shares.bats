#!/usr/bin/env bats
# Shares of MPS clients: multiprocessors, priority and memory of each process.

load helper
load records
LOOKS_FOR_LEAKS=1

@test "an active thread percentage limits the multiprocessors of a worker" {
  sweep_points '(map(select(.active_thread_percentage == null).sms) | .[0]) as $all
    | (map(select(.active_thread_percentage == 50).sms) | .[0]) as $half
    | length == 2 and $all > 0 and $half <= $all / 2 + 2 and $half >= $all / 2 - 2' \
    "${TINY[@]}" -l processes+mps:2 --active-thread-percentage default,50
}

SHARED=("${TINY[@]}" -l processes+mps:2 --active-thread-percentage 30/70)

@test "uneven shares: each process has its own multiprocessors" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2,3 -l hybrid:2x2 -l threads+mps:2 \
    --active-thread-percentage default,30/70 --seed 0 -q -o s.jsonl
  record_complaints s.jsonl >complaints
  diff /dev/null complaints
  points 'map([.processes, .active_thread_percentage]) == [
    [2, null], [2, [30, 70]], [3, null], [3, [30, 70, 30]],
    [2, null], [2, [30, 70]], [1, null], [1, 30]]' s.jsonl
  points '(map(select(.active_thread_percentage == null)) | all(has("clients") | not))
    and (map(select(.active_thread_percentage != null)) | all(
      (.clients | length) == .processes and [.clients[].process] == [range(.processes)]
      and .sms == .clients[0].sms))' s.jsonl
  # The emulated GPU rounds down, as real ones do.
  points '.[0].sms as $all | map(.clients // empty | .[]) | length == 8 and all(
    .sms == ($all * .active_thread_percentage / 100 | floor)
    and .active_thread_percentage == [30, 70][.process % 2]
    and .priority == null and .memory_limit == null)' s.jsonl
}

@test "the shares of a point are on record, in the table and in the file to continue with" {
  local -a shares=("${SHARED[@]}" --priority default,0/1 --memory-limit 512M/default,2G)
  expect 0 "$MPSWEEP" sweep "${shares[@]}" --seed 0 -q -o s.jsonl
  record_complaints s.jsonl >complaints
  diff /dev/null complaints
  points 'map([.priority, .memory_limit]) == [[null, [536870912, null]], [null, 2147483648],
    [[0, 1], [536870912, null]], [[0, 1], 2147483648]]' s.jsonl
  points 'all(.clients | all(.memory_free > 0 and .memory_free <= (.memory_limit // infinite)))' \
    s.jsonl
  points '.[2].clients | map(del(.sms, .memory_free)) == [
    {process: 0, active_thread_percentage: 30, priority: 0, memory_limit: 536870912},
    {process: 1, active_thread_percentage: 70, priority: 1, memory_limit: null}]' s.jsonl
  grep -q '30/70% active threads' out
  grep -qE '^layout +P×T +priority +limit ' out
  grep -qE '^processes\+mps +2×1 +- +512M/default ' out
  grep -qE '^processes\+mps +2×1 +0/1 +2G ' out
  head -1 s.jsonl | jq -e '.options.sweep | .["active-thread-percentage"] == ["30/70"]
    and .priority == ["default", "0/1"] and .["memory-limit"] == ["512M/default", "2G"]'

  # Three of the points, and the fourth measured later.
  grep -v '"id":2,' s.jsonl | grep -v '"type":"footer"' >cut.jsonl
  expect 0 "$MPSWEEP" sweep "${shares[@]}" -q -o cut.jsonl --resume --format csv
  assert_complete cut.jsonl 4 0
  points '.[2].clients[1].active_thread_percentage == 70' cut.jsonl
  [ "$(cut -d, -f 9-11 out | tr '\n' ' ')" = "active_thread_percentage,priority,memory_limit \
30/70,,536870912/default 30/70,,2147483648 30/70,0/1,536870912/default 30/70,0/1,2147483648 " ]
  refused "'cut.jsonl' holds another plan" "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 \
    --active-thread-percentage 70/30 --priority default,0/1 --memory-limit 512M/default,2G \
    -o cut.jsonl --resume
}

@test "the workers get their shares, and nothing is inherited" {
  CUDA_MPS_CLIENT_PRIORITY=1 CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=5 \
    CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=64M start "$MPSWEEP" sweep --device emulated --kernels 5 \
    -l processes+mps:4 --duration 60 -q --active-thread-percentage 30/70/default \
    --priority 1/0/default --memory-limit 2G/512M/default
  local pid process
  are_four() { [ "$(workers_of "$PID" | wc -l)" -eq 4 ]; }
  await $PATIENCE are_four
  for pid in $(workers_of "$PID"); do
    tr '\0' '\n' <"/proc/$pid/environ" >environment
    process=$(sed -n 's/^MPSWEEP_PROCESS=//p' environment)
    grep -E '^CUDA_MPS_(CLIENT|ACTIVE|PINNED)' environment | sort >"shares.$process" || true
  done
  diff shares.0 - <<'VARIABLES'
CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30
CUDA_MPS_CLIENT_PRIORITY=1
CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2048M
VARIABLES
  diff shares.1 - <<'VARIABLES'
CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=70
CUDA_MPS_CLIENT_PRIORITY=0
CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=512M
VARIABLES
  [ ! -s shares.2 ]
  diff shares.0 shares.3
  kill -TERM "$PID"
  finish
  [ "$STATUS" -eq 130 ]
}

# worker_without VARIABLE: workers that do not get it.
worker_without() {
  local program
  rm -rf "$WORK/programs"
  mkdir "$WORK/programs"
  for program in mpsweep-guard mpsweep-emulated-cuda.so mpsweep-emulated-mps-control; do
    ln -s "$MPSWEEP_BUILD_DIR/$program" "$WORK/programs"
  done
  printf '#!/bin/sh\nunset %s\nexec "%s" "$@"\n' "$1" "$MPSWEEP_BUILD_DIR/mpsweep-worker" \
    >"$WORK/programs/mpsweep-worker"
  chmod +x "$WORK/programs/mpsweep-worker"
}

@test "a share that did not come about: no number" {
  worker_without CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  expect 2 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 \
    --active-thread-percentage default,100/70 --seed 0 -q -o s.jsonl
  points 'map(outcome) == ["measured", "failed"]' s.jsonl
  points '.[0].sms as $all | .[1] | .error == "worker process 1 of 2 has \($all) multiprocessors, "
    + "but was given 70% of \($all): no measurement" and .active_thread_percentage == [100, 70]
    and (has("throughput_ips") or has("clients") | not)' s.jsonl
  record_complaints s.jsonl >complaints
  diff /dev/null complaints

  worker_without CUDA_MPS_PINNED_DEVICE_MEM_LIMIT
  expect 2 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 --memory-limit default,default/512M \
    --seed 0 -q -o m.jsonl
  points 'map(outcome) == ["measured", "failed"]' m.jsonl
  points '.[1] | .error | test("^worker process 1 of 2 has [0-9]+ MiB of memory left, but was "
    + "given 512 MiB: no measurement$")' m.jsonl
}

@test "a client that may not have the memory that it needs is infeasible" {
  sweep_points '.[0].throughput_ips > 0 and .[1].status == "infeasible"' "${TINY[@]/64K/16M}" \
    -l processes+mps:1 --memory-limit 1G,16M
}
