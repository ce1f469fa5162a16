#!/usr/bin/env bats
# mpsweep explain: what it prints about results made by hand.

load helper
LOOKS_FOR_LEAKS=1

HEADER='{"type":"header","schema":1,"mpsweep":"0.1.0","gpu":{"name":"NVIDIA H200","uuid":"GPU-00000000-0000-0000-0000-000000000000","sms":132,"emulated":false},"driver":"13.0","topology":"16 cores","plan":9}'
CALIBRATION='{"type":"calibration","work":{"workload":"builtin","kernels":220,"blocks":5,"threads_per_block":64,"spin":3072,"bytes":1441792,"delay_cycles":0},"single_stream_ips":284,"single_graph_ips":270,"single_stream_cpu_us":560,"single_graph_cpu_us":60,"single_pageable_ips":274,"process_launches_per_s":890000,"gpu_launches_per_s":900000,"graph_kernels_per_s":5000000,"arithmetic_ips":19058,"h2d_bytes_per_s":55e9,"d2h_bytes_per_s":55e9,"both_bytes_per_s":51e9,"process_unsynced_ips":1190,"process_pageable_graph_ips":474,"single_spin_cpu_us":3520,"crowd_workers":8,"crowd_stream_ips":1960,"cpus":16,"sms":132,"seconds":20,"notes":[]}'

# point ID LAYOUT P T QUEUES IPS [FIELDS]: a record; IPS 0 has no measurement.
point() {
  jq -nc --argjson id "$1" --arg layout "$2" --argjson p "$3" --argjson t "$4" --argjson c "$5" \
    --argjson ips "$6" --argjson more "${7:-{\}}" '
    {type: "point", id: $id, layout: $layout, mps: ($layout | test("mps|hybrid$")),
     processes: $p, threads: $t, workers: ($p * $t), memory: "pinned", sync: "stream",
     launch: "stream", schedule: "auto", connections: $c, bind: "near", kernels: 220, blocks: 5,
     threads_per_block: 64, spin: 3072, bytes: 1441792, status: "ok"}
    + if $ips > 0 then {throughput_ips: $ips, ci95_rel: 0.001}
      else {status: "infeasible", error: "out of memory"} end + $more'
}

# The forum's experiment in short, with the figures of an H200.
results() {
  echo "$HEADER"
  echo "$CALIBRATION"
  point 3 processes 8 1 8 268
  point 0 threads 1 8 8 1972
  point 1 threads 1 12 8 1913
  point 2 threads 1 16 8 1994
  point 4 processes+mps 16 1 2 3236
  point 5 processes+mps 32 1 2 3896
  point 6 threads 1 128 32 18964 '{"launch": "graph", "schedule": "block"}'
  point 7 processes+mps 64 1 2 0
  echo '{"type":"footer","status":0,"points":{},"seconds":1}'
}

@test "a table of all points, in the order of the plan" {
  results >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl
  [ ! -s err ]
  grep -qx 'NVIDIA H200, driver CUDA 13.0, 16 cores' out
  grep -qE '^layout +P×T +launch +queues +schedule +iterations/s +predicted +limited by +ceiling +reached +next$' out
  grep -qE '^threads +1×12 +stream +8 +auto +1913 +1960 +hardware queues +2272 +84% +too few workers 3408$' out
  grep -qE '^processes +8×1 .* time slicing +284.0 +94% ' out
  grep -qE '^processes\+mps +16×1 .* launch rate of the GPU +4091 +79% ' out
  grep -qE '^threads +1×128 +graph +32 +block +18964 +[0-9]+ +arithmetic +19058 +100% ' out
  [ "$(grep -E '^(threads|processes)[+mps]* +[0-9]+×[0-9]+ ' out | awk '{print $2}' | tr '\n' ' ')" = \
    '1×8 1×12 1×16 8×1 16×1 32×1 1×128 ' ]
  grep -qx '1 point without a measurement left out' out
}

@test "points of an open loop do what is offered: they are left out, and that is reported" {
  local rate='{"rate": {"offered_ips": 400, "arrival": "constant"}}'
  { results; point 8 threads 1 8 8 400 "$rate"; point 9 threads 1 12 8 0 "$rate"; } >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl
  absent '^threads .* 400 ' out
  grep -qx '2 points of an open loop left out: throughput is what was offered, .*' out
  grep -qx '1 point without a measurement left out' out
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e 'map(.id) == [0, 1, 2, 3, 4, 5, 6]' out
  { echo "$HEADER"; echo "$CALIBRATION"; point 0 threads 1 8 8 400 "$rate"; } >r.jsonl
  refused "'r.jsonl' holds only points of open loops, .* without --rate" "$MPSWEEP" explain r.jsonl
}

@test "points with several streams a thread: iterations in flight, and what limits the thread" {
  local graph='{"launch": "graph", "streams": 64}' stream='{"streams": 32}'
  { results; point 8 threads 1 1 8 15500 "$graph"; point 9 threads 1 1 32 1476 "$stream"; } >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl
  grep -qE '^layout +P×T×S +streams +launch ' out
  grep -qE '^threads +1×1×64 +64 +graph .* 15500 +1[4-6][0-9]{3} +threads that poll +16667 +93% ' out
  grep -qE '^threads +1×1×32 +32 +stream .* threads that poll +1786 ' out
  grep -qE '^threads +1×8 +1 ' out
  sed -e ':a;N;$!ba;s/\n    */ /g' out >lines
  grep -qE 'a thread serves its 32 streams one after the other, and an iteration keeps it for 560 us' lines
  grep -qE 'lift it with --launch graph: .* \(predicted for 1×1×32: [78][0-9]{3}/s' lines
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e 'map(select(.id == 8)) | .[0] | .streams == 64 and .limited_by == "polling"
    and .remedy.options == "--layout threads:2 --streams 32" and .remedy.streams == 32
    and .remedy.threads == 2 and (.remedy.advice | test("2 threads of each process poll"))' out
}

@test "more threads than CPUs: few threads poll the streams of all, if they launch graphs" {
  {
    echo "$HEADER"; echo "$CALIBRATION"
    point 0 threads 1 32 32 3700 '{"schedule": "block"}'
    point 1 processes+mps 8 1 2 2150 '{"launch": "graph"}'
    point 2 threads 1 24 8 6480 '{"launch": "graph"}'
  } >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e 'map(.remedy) | .[0].options == "--launch graph"
    and .[1].kind == "streams" and .[1].processes == 8 and .[1].threads == 1 and .[1].streams >= 8
    and .[2].kind == "streams" and .[2].processes == 1 and .[2].threads <= 2' out
}

@test "one reason for points that share it, with what lifts it" {
  results >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl
  [ "$(grep '^   lift' out | wc -L)" -le 100 ] || fail "$(cat out)"
  # Paragraphs in one line each.
  sed -e ':a;N;$!ba;s/\n    */ /g' out >lines
  grep -qE '^threads 1×12, 1×16, queues 8 — hardware queues: \(at 1×16\) a process has 8 hardware queues for its 16 threads, and rows of kernels in one queue .*; the next ceiling: ' lines
  grep -qE 'lift it with --connections 16: give each process 16 .* \(predicted for 1×16: 3184/s, ×1.6 of the measured [0-9]+, then limited by: launch path of a process\)' lines
  grep -qE '^processes 8×1, queues 8 — time slicing: without MPS .* --layout processes\+mps:8: ' lines
  grep -qE '^processes\+mps 16×1, 32×1, queues 2 — launch rate of the GPU: .* --launch graph --schedule block: .* more of them than CPUs ' lines
  grep -qE '^threads 1×128, launch graph, queues 32, schedule block — arithmetic: .* no option of mpsweep lifts it: .* a bigger GPU' lines
  [ "$(grep -c ' — ' lines)" -eq 5 ]
}

@test "far below its ceiling: an option that leaves it, and comes nearer to it" {
  cp "$MPSWEEP_SOURCE_DIR/docs/results/h200-random.jsonl" r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl
  sed -e ':a;N;$!ba;s/\n    */ /g' out >lines
  grep -qE 'threads 1×4, .* — copies both ways: .* come nearer to it with --launch graph: capture the iteration .* \(predicted for 1×4: [0-9]+/s, .* then limited by: copies both ways\)' lines
  grep -qE 'no option of mpsweep is predicted to give clearly more: copy fewer bytes' lines
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e 'map(select(.remedy.lifts == false)) | length > 5
    and all(.remedy.kind != "none" and .reached < 0.9 and .remedy.predicted_gain > 1.05)
    and all(.remedy.predicted_ips > 1.05 * .throughput_ips)' out
  jq -e 'any(.reached < 0.9 and .remedy.kind == "none")' out
}

@test "JSON: an object each point, ceilings lowest first" {
  results >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  [ ! -s err ]
  jq -e 'map(.id) == [0, 1, 2, 3, 4, 5, 6]' out
  jq -e 'map(.limited_by) == ["workers", "queues", "queues", "time-slicing", "gpu-launch",
    "gpu-launch", "arithmetic"]' out
  jq -e 'all(.ceilings | map(.ips) == (map(.ips) | sort))' out
  jq -e 'all(.limited_by == (.ceilings[] | select(.binding) | .name))' out
  jq -e 'all(.ceilings | map(select(.binding)) | length == 1)' out
  jq -e 'all(.lost_by_waiting >= 0 and .lost_by_waiting < 1) and .[6].waits_for == "arithmetic"' out
  jq -e '.[1] | .ceilings[0] == {name: "queues", title: "hardware queues", ips: 2272,
    binding: true} and .next == "workers" and (.reached - 0.842 | fabs) < 0.001' out
  jq -e '.[2].remedy | .kind == "connections" and .options == "--connections 16"
    and .layout == "threads" and .processes == 1 and .threads == 16 and .connections == 16
    and .then == "process-launch" and (.predicted_ips / 1994 - .gain | fabs) < 0.001' out
  jq -e '.[6].remedy | .kind == "none" and has("predicted_ips") == false' out
  jq -e 'all(.predicted_ips / .throughput_ips | . > 0.85 and . < 1.15)' out
}

@test "the last calibration of a work counts, and others are for others" {
  results >r.jsonl
  jq -c '.single_stream_ips = 100 | .crowd_workers = 0' <<<"$CALIBRATION" >>r.jsonl
  jq -c '.single_stream_ips = 1 | .work.kernels = 7' <<<"$CALIBRATION" >>r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e '.[0].ceilings[0] | .name == "workers" and .ips == 800' out
}

@test "figures that were not measured make no ceilings" {
  { echo "$HEADER"; point 0 threads 1 4 8 100; } >r.jsonl
  jq -c '{type, work, arithmetic_ips}' <<<"$CALIBRATION" >>r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e '.[0] | (.ceilings | map(.name)) == ["arithmetic"] and .predicted_ips == 0' out
  jq -c '{type, work}' <<<"$CALIBRATION" >>r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e '.[0] | .ceilings == [] and .limited_by == null and .next == null' out
  expect 0 "$MPSWEEP" explain r.jsonl
  grep -q 'not known' out
}

@test "without a calibration it takes the GPU, which is not here" {
  results | grep -v calibration >r.jsonl
  cp r.jsonl before
  refused "'r.jsonl': it has no calibration for its points, and to make one takes its GPU GPU-0000" \
    "$MPSWEEP" explain r.jsonl
  cmp before r.jsonl
  results >r.jsonl
  refused "'r.jsonl': to verify takes its GPU GPU-0000" "$MPSWEEP" explain r.jsonl --verify
  results | jq -c 'del(.gpu.uuid)' >r.jsonl
  refused "'r.jsonl' does not name the GPU that it is from" "$MPSWEEP" explain r.jsonl --verify
}

@test "a GPU with another UUID is another GPU" {
  results | jq -c 'if .type == "header" then .gpu.emulated = true else . end' >r.jsonl
  cp r.jsonl before
  refused "'r.jsonl' was measured on another machine \(.*GPU: GPU-0000[0-9-]* -> GPU-" \
    "$MPSWEEP" explain r.jsonl --verify
  cmp before r.jsonl
}

@test "files that cannot be explained" {
  refused 'explain needs a results file' "$MPSWEEP" explain
  refused "cannot open 'no.jsonl'" "$MPSWEEP" explain no.jsonl
  : >empty
  refused "'empty' is empty" "$MPSWEEP" explain empty
  echo '{"a": 1}' >other
  refused "'other' is not an mpsweep results file" "$MPSWEEP" explain other
  echo "$HEADER" >r.jsonl
  refused "'r.jsonl' has no measured point: nothing to explain" "$MPSWEEP" explain r.jsonl
  point 7 processes+mps 64 1 2 0 >>r.jsonl
  refused "'r.jsonl' has no measured point: nothing to explain" "$MPSWEEP" explain r.jsonl
  results >good.jsonl
  refused "unexpected argument 'b'" "$MPSWEEP" explain good.jsonl b
  refused "'xml' is not a value of format: it takes one of text\|markdown\|json" \
    "$MPSWEEP" explain good.jsonl --format xml
  refused "unknown option '--memory'" "$MPSWEEP" explain good.jsonl --memory pinned
}

# A field of a point, a value that cannot be.
bad_fields() {
  cat <<'TABLE'
processes "8"
processes 0
threads -1
threads 5000
connections null
memory "unified"
launch 7
sync ""
schedule "stream|none"
kernels 0
bytes -1
spin 1e300
delay_cycles "long"
active_thread_percentage 0
active_thread_percentage [30, 101]
active_thread_percentage "all"
TABLE
}

@test "points with fields that cannot be are named" {
  local field value
  while read -r field value; do
    results | jq -c --arg field "$field" --argjson value "$value" \
      'if .id == 2 then .[$field] = $value else . end' >r.jsonl
    refused "'r.jsonl'(: point 2: '$field' is missing or invalid| line 6: '$field' of the point is .*, not )" \
      "$MPSWEEP" explain r.jsonl
  done < <(bad_fields)
  results | jq -c 'if .id == 2 then del(.threads) else . end' >r.jsonl
  refused "'r.jsonl': point 2: 'threads' is missing or invalid" "$MPSWEEP" explain r.jsonl
  results | jq -c 'if .type == "calibration" then .single_stream_ips = "fast" else . end' >r.jsonl
  refused "'r.jsonl': a calibration's 'single_stream_ips'" "$MPSWEEP" explain r.jsonl
}

@test "an active thread percentage for each process" {
  { echo "$HEADER"
    point 0 processes+mps 2 1 2 49 '{"active_thread_percentage": [1, null]}'
    jq -c '.arithmetic_ips = 74 | .single_stream_ips = 49 | .crowd_workers = 0' <<<"$CALIBRATION"
  } >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e '.[0] | .limited_by == "thread-cap" and (.ceilings[0].ips - 49.74 | fabs) < 0.001
    and .remedy.options == "--active-thread-percentage default"' out
}

@test "threads that pass the ceiling of their queues take turns: no wall, and no promise from it" {
  # 32 threads on 16 CPUs, predicted to run in rows, as 8 workers would do 2272.
  { echo "$HEADER"; echo "$CALIBRATION"
    point 0 threads 1 32 8 2509
    point 1 threads 1 32 8 1563
    point 2 threads 1 4 8 1250
    point 3 threads+mps 1 16 2 650
  } >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e '.[0] | .limited_by == "process-launch" and .predicted_ips < 2272
    and all(.ceilings[]; .name != "queues")
    and .passed.name == "queues" and .passed.ips == 2272 and (.passed.reached - 1.104 | fabs) < 0.001
    and (.remedy | .predicted_ips / 2509 - .predicted_gain | fabs < 0.001)
    and .remedy.predicted_gain == .remedy.gain' out
  jq -e '.[1] | .limited_by == "queues" and has("passed") == false' out
  # Any other ceiling that is passed was measured too low. Where no other one is near it is the best
  # that is known.
  jq -e '.[2] | .limited_by == "workers" and .passed.name == "workers"' out
  # So are queues where no thread waits for launches.
  jq -e '.[3] | .limited_by == "queues" and .passed.name == "queues"
    and any(.ceilings[]; .name == "queues")' out
  expect 0 "$MPSWEEP" explain r.jsonl
  sed -e ':a;N;$!ba;s/\n    */ /g' out >lines
  grep -q '8 hardware queues for 32 threads, rows of kernels would do 2272/s, which is passed by 10%: threads that wait for each other.s launches take turns, and streams that take turns share a queue' lines
  grep -q '^threads 1×4.* measured is 10% above it: the calibration found less than there is' lines
  # One that is near is named in its place, with nothing lost, and the remedy is for it. What is
  # within the interval of the point is not passed.
  { echo "$HEADER"; jq -c '.both_bytes_per_s = 1e9 | .arithmetic_ips = 900' <<<"$CALIBRATION"
    point 0 threads 1 4 8 880
    point 1 threads 1 4 8 880 '{"ci95_rel": 0.4}'
  } >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e '.[0] | .limited_by == "arithmetic" and .reached < 1 and .lost_by_waiting == 0
    and .passed.name == "copy-both" and .passed.reached > 1.2 and .next == "workers"' out
  jq -e '.[1] | .limited_by == "copy-both" and has("passed") == false' out
  expect 0 "$MPSWEEP" explain r.jsonl
  sed -e ':a;N;$!ba;s/\n    */ /g' out >lines
  grep -q '^threads 1×4 — arithmetic: .*; measured is 27% above what was predicted to be the limit, copies both ways with 693.6/s: the calibration found less than there is' lines
  # With a CPU each, that is predicted.
  { echo "$HEADER"; jq -c '.cpus = 32' <<<"$CALIBRATION"; point 0 threads 1 32 8 2856; } >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e '.[0] | .limited_by == "process-launch" and .predicted_ips > 2700 and has("passed") == false
    and (.reason | test("rows of kernels would do 2272/s: threads that wait"))' out
  # Here by a chance, that has words; with many more threads or few it is sure.
  jq -e '.[0] | .turns_chance > 0.5 and .turns_chance < 0.8
    and (.reason | test("; with kernels of this length 32 threads on 8 hardware queues launch in turns in [67][0-9]% of runs and in rows in the others"))' out
  { echo "$HEADER"; jq -c '.cpus = 64' <<<"$CALIBRATION"; point 0 threads 1 64 8 2856; point 1 threads 1 12 8 1954; } >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e 'all(has("turns_chance") == false and (.reason | test("of runs and in rows") | not))
    and .[0].limited_by == "process-launch" and .[1].limited_by == "queues"' out
}

# merged FILTER...: r.jsonl as merge makes it of two runs on GPU A and one on GPU B; the last run, again
# on A, brought a calibration of its own. FILTER changes each record.
merged() {
  { jq -c '.host = "one" | .gpu.uuid = "GPU-aaaaaaaa-1" | .merged = [
      {host: "one", driver: .driver, gpu: {uuid: "GPU-aaaaaaaa-1"}},
      {host: "two", driver: .driver, gpu: {uuid: "GPU-bbbbbbbb-2"}},
      {host: "one", driver: .driver, gpu: {uuid: "GPU-aaaaaaaa-1"}}]' <<<"$HEADER"
    jq -c '.source = 1 | .single_stream_ips = 142 | .crowd_workers = 0' <<<"$CALIBRATION"
    jq -c '.source = 2' <<<"$CALIBRATION"
    point 0 threads 1 4 8 1022 '{"source": 0}'
    point 1 threads 1 4 8 511 '{"source": 1}'
    point 2 threads 1 4 8 1020 '{"source": 2}'
  } | jq -c "${1:-.}" >r.jsonl
}

@test "points of a merged file have the calibration of their own GPU" {
  merged
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e 'map(.source) == [0, 1, 2] and all(.calibrated)
    and map(.ceilings[0].ips) == [1136, 568, 1136]' out
  expect 0 "$MPSWEEP" explain r.jsonl
  grep -qE '^GPU +layout +P×T ' out
  grep -qE '^GPU-aaaaaaaa +threads +1×4 +1022 +[0-9]+ +too few workers +1136 +90% ' out
  grep -qE '^GPU-bbbbbbbb +threads +1×4 +511.0 +[0-9.]+ +too few workers +568.0 +90% ' out
  grep -q '^threads 1×4, on GPU-aaaaaaaa — too few workers' out
  grep -q '^threads 1×4, on GPU-bbbbbbbb — too few workers' out
  absent 'cannot be explained' out
  # Another driver is another origin, also on the same GPU.
  merged 'if .merged then .merged[2].driver = "14.0" else . end'
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e 'map(.calibrated) == [false, true, true]' out
}

@test "points of a GPU without a calibration in a merged file are listed but not explained" {
  merged 'select(.type != "calibration" or .source != 1)'
  cp r.jsonl before
  expect 0 "$MPSWEEP" explain r.jsonl --format json
  jq -e 'map(.calibrated) == [true, false, true]
    and (.[1] | .ceilings == [] and .limited_by == null and .predicted_ips == 0)' out
  expect 0 "$MPSWEEP" explain r.jsonl
  grep -qE '^GPU-bbbbbbbb +threads +1×4 +511.0 +- +not known ' out
  absent 'on GPU-bbbbbbbb —' out
  sed -e ':a;N;$!ba;s/\n  */ /g' out >lines
  grep -q '^1 point cannot be explained: there is no calibration of its GPU, as of GPU-bbbbbbbb-2 of host two,' lines
  # The figure has the others.
  expect 0 "$MPSWEEP" plot r.jsonl --figure ceilings -o ceilings.svg
  merged 'select(.type != "calibration")'
  refused "'r.jsonl' is merged from runs on several GPUs, and holds no calibration" \
    "$MPSWEEP" explain r.jsonl
  merged
  refused "'r.jsonl' is merged from runs on several GPUs: verify remedies with the file of one" \
    "$MPSWEEP" explain r.jsonl --verify
  merged 'if .type == "point" and .id == 1 then .source = 3 else . end'
  refused "'r.jsonl': a point names a 'source'" "$MPSWEEP" explain r.jsonl
  merged 'if .type == "calibration" then .source = -1 else . end'
  refused "'r.jsonl': a calibration names a 'source'" "$MPSWEEP" explain r.jsonl
}

@test "a merged file of one GPU is as one of a run: what is not known takes that GPU" {
  merged 'select(.source != 1)
    | if .merged then .merged[1] = .merged[0] else . end | select(.type != "calibration")'
  refused "'r.jsonl': it has no calibration for its points, and to make one takes its GPU GPU-aaaaaaaa-1" \
    "$MPSWEEP" explain r.jsonl
}

@test "help and the manual page name it" {
  expect 0 "$MPSWEEP" explain --help
  grep -q -- '--verify' out
  expect 0 "$MPSWEEP" help --manual explain
  grep -q '^\.SH explain' out
}

@test "a next ceiling below the one that limits is marked, with what the mark means" {
  expect 0 "$MPSWEEP" explain "$MPSWEEP_SOURCE_DIR/docs/results/h200-explain.jsonl"
  grep -qE '^processes\+mps +16×1 .* launch rate of the GPU +4581 +71% +too few workers 4521 †$' out
  [ "$(grep -c '†' out)" -eq 2 ]
  grep -qx '† lower than the ceiling that limits: it holds for workers that never wait' out
  results | jq -c 'select(.type != "point" or .id < 3)' >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl
  absent '†' out
}

# -- programs ----------------------------------------------------------------------------------------

# limited NAME LIMIT INSTEAD: of the points of p.json, which name as many workers elsewhere.
limited() {
  jq -e --arg name "$1" --arg limit "$2" --argjson instead "$3" 'map(select("\(.layout) \(.processes)x\(.threads)" == $name))
    | length >= 1 and all(.limited_by == (if $limit == "" then null else $limit end)
      and ((.instead != null) == $instead))' p.json >/dev/null ||
    fail "$1 should be limited by '$2'" "$(jq -c '.[]' p.json)"
}

@test "of a program the points together show what limits each" {
  local decode=$MPSWEEP_SOURCE_DIR/docs/results/h100-layouts-decode.jsonl
  expect 0 "$MPSWEEP" explain "$decode"
  [ "$(grep -c ' iterations/s.*; an iteration is 1 wait, 1584 launches, ' out)" -eq 31 ]
  # Each point is compared with the one worker of its own MPS setting.
  grep -q '^  4 workers do 3.87 times as much as threads+mps 1×1: between 3.14 and 4.77, which leaves open' out
  grep -q '^  16 workers do 7.96 times as much as threads+mps 1×1: the CPUs limit them: 15.1 of 16 are busy$' out
  grep -q '^  4 workers do 1.45 times as much as threads+mps 1×1: something in their process limits them, ' out
  grep -A1 '^  12 workers do 2.89 times as much as threads 1×1: without MPS processes take turns' out |
    grep -q '^    processes+mps 12×1 does 2.5 times as much$'
  grep -q '^  12 workers do 7.34 .*: not the CPUs (12.0 of 16 are busy) but something else' out
  grep -q '^hybrid 8×4, 4 queues: ' out
  # As those with a calibration, points that did not converge have a mark, and keep their interval.
  grep -q '^threads 1×2: 80.94 iterations/s (unconverged, 49.80 to 131.5); an iteration is ' out
  grep -q '^The best is hybrid 8×2. Its 1584 launches may be much of the 30.73 ms of a CPU' out
  "$MPSWEEP" explain "$decode" --format json >p.json
  # In the order of the plan, which is not that of the file, whatever that is.
  diff <(sed -nE 's/^([a-z+-]+ [0-9]+×[0-9]+)[:,].* iterations.*/\1/p' out) \
    <(jq -r '.[] | "\(.layout) \(.processes)×\(.threads)"' p.json)
  jq -e 'map(.id) == (map(.id) | sort) and all(.status and .ci95_rel and .workers and .connections)
    and (map(select(.processes * .threads == 1)) | length == 2 and all(.times_one == 1 and .one == .id))' p.json
  local order
  for order in '.' '-.'; do
    jq -sc "map(select(.type != \"point\")) + (map(select(.type == \"point\")) | group_by(.id) | map(last)
      | sort_by(.id | $order)) | .[]" "$decode" >r.jsonl
    "$MPSWEEP" explain r.jsonl | diff out - || fail "the order of the lines makes a difference"
    "$MPSWEEP" explain r.jsonl --format json | diff p.json -
  done
  limited 'processes+mps 4x1' "" false
  limited 'threads 1x1' "" true
  limited 'threads 1x4' process true
  limited 'hybrid 8x2' cpus false
  limited 'threads+mps 1x4' process true
  limited 'processes 12x1' time-slicing true
  limited 'processes+mps 12x1' shared false
}

@test "of a described workload: points that do the same in the same way are compared" {
  jq -nc '{type: "header", schema: 1, cpus: 16, gpu: {name: "a GPU", uuid: "GPU-1"}, workloads: {detect: {check: "yes",
      steps: ["copy-in 3M", "kernel duration=50us count=60", "kernel bytes=16M count=2", "synchronize"]}}},
    ({type: "point", id: (1, 2, 3, 4), status: "ok", workload: "detect", memory: "pinned", sync: "stream",
      launch: "stream", schedule: "auto", processes: 1, threads: 1, layout: "threads", mps: false, ci95_rel: 0.01,
      throughput_ips: 100, cpu: {us_per_iteration: 9000}}
    | if .id == 2 then .launch = "graph" | .throughput_ips = 400
      elif .id == 3 then .threads = 16 | .throughput_ips = 300 | .cpu.us_per_iteration = 50000
      elif .id == 4 then .processes = 16 | .layout = "processes+mps" | .mps = true | .throughput_ips = 900
      else . end)' >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl
  # Busy CPUs show nothing of workers that spin.
  grep -A1 '^  16 workers do 3 times as much as one: something in their process limits them, such as its hardware queues' out |
    grep -q '^    processes+mps 16×1 does 3 times as much$'
  # One over MPS was not measured: the line names what it compares with.
  grep -q '^  16 workers do 9 times as much as threads 1×1: ' out
  grep -q '^The best is processes+mps 16×1. Its 62 launches may be much of ' out
  grep -qx 'with --launch graph a CUDA graph has one in their place.' out
  "$MPSWEEP" explain r.jsonl --format json >p.json
  limited 'threads 1x16' process true
  # Of graphs one alone was measured.
  jq -e '.[1].times_one == 1 and .[0].times_one == 1 and .[3].times_one == 9 and .[3].one == 1' p.json
}

@test "no verdict stands that the interval of the one worker leaves open" {
  jq -nc '{type: "header", schema: 1, cpus: 16, gpu: {name: "a GPU", uuid: "GPU-1"}},
    ({type: "point", id: (1, 2, 3), status: "ok", workload: "w.so", processes: 1, threads: 1, layout: "threads",
      mps: false, ci95_rel: 0.01, throughput_ips: 100}
    | if .id == 1 then .status = "unconverged" | .ci95_rel = 0.5
      elif .id == 2 then .threads = 4 | .throughput_ips = 390 else .threads = 8 | .throughput_ips = 400 end)' >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl
  grep -q '^threads 1×1: 100.0 iterations/s (unconverged, 60.65 to 164.9)$' out
  grep -q '^  4 workers do 3.9 times as much as one: between 2.37 and 6.43, which leaves open' out
  grep -q '^  8 workers do 4 times as much as one: something in their process' out ||
    fail "$(cat out)"
  # Of two rounds it has hardly any bounds.
  jq -c 'if .id == 1 then .rounds = [{}, {}] else . end' r.jsonl >two.jsonl
  expect 0 "$MPSWEEP" explain two.jsonl
  grep -q '^  4 workers do 3.9 times as much as one: between 3.04 and 5.01, which leaves open' out
}

@test "of a program that ticks, too; where nothing can be compared it names what to measure" {
  local decode=$MPSWEEP_SOURCE_DIR/docs/results/h100-layouts-decode.jsonl
  jq -c 'del(.observed) | select(.type != "point" or .layout == "threads")' "$decode" >r.jsonl
  expect 0 "$MPSWEEP" explain r.jsonl
  grep -qE '^threads 1×4: 90.33 iterations/s \(unconverged, 24.78 to 329.3\)$' out
  grep -A1 '^  4 workers do 1.44 .*: something in their process may limit them' out |
    grep -q '^    --layout processes+mps:4 would show it$'
  ! grep -q 'The best is' out || fail "it cannot know launches"
  # As docs/tuning-your-service.md has it.
  expect 0 "$MPSWEEP" explain "$MPSWEEP_SOURCE_DIR/docs/results/h200-tune-torch.jsonl"
  sed -n '/^threads 1×16: /,/^processes+mps 16×1: /p' "$MPSWEEP_SOURCE_DIR/docs/tuning-your-service.md" >shown
  [ "$(grep -cxFf out shown)" -eq 5 ] || fail "the page shows other than:" "$(cat out)"
  # Two points with as many workers of one layout have names that differ.
  grep -qx 'processes+mps 4×1: 12769 iterations/s' out
  grep -qx 'processes+mps 4×1, 50% active threads: 12426 iterations/s' out
  # A server's workers are requests in flight.
  jq -c 'if .type == "point" then .requests = {} else . end' r.jsonl >s.jsonl
  local only="'s.jsonl' holds only points of servers, whose workers are requests in flight: what limits a server is not known"
  refused "$only" "$MPSWEEP" explain s.jsonl
  # With a rate as well: without one it would be no better known.
  jq -c 'if .type == "point" then .requests = {} | .rate = {} else . end' r.jsonl >s.jsonl
  refused "$only" "$MPSWEEP" explain s.jsonl
  refused "$only" "$MPSWEEP" plot s.jsonl --figure ceilings -o s.svg
}
