#!/usr/bin/env bats
# What a sweep measures, prints and writes.

load helper
load records
LOOKS_FOR_LEAKS=1

ALL_LAYOUTS=(-l threads:1,3 -l processes:2 -l processes+mps:2 -l threads+mps:2 -l hybrid:2x3
  -l hybrid-timesliced:2x2)

# -- records ---------------------------------------------------------------------------------------

@test "every layout: each record has the documented fields, with their types" {
  expect 0 "$MPSWEEP" sweep "${SMALL[@]}" "${ALL_LAYOUTS[@]}" --seed 0 -q -o all.jsonl
  [ ! -s err ]
  assert_complete all.jsonl 7 0
  record_complaints all.jsonl >complaints
  diff /dev/null complaints

  # Of iterations that are so long only a worker that waits for 1.5 s stands still.
  MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#1+=slow:300' expect 0 "$MPSWEEP" sweep --device emulated \
    --kernels 20 --bytes 64K --rounds 1 --duration 2 --max-duration 4 -l threads:1 \
    --rate 5000,max-under-p50=1us -q -o rate.jsonl
  record_complaints rate.jsonl >complaints
  diff /dev/null complaints
  points 'all(has("rate")) and any(has("warnings"))' rate.jsonl

  printf '[workload a]\nstep = copy-in 4K\nstep = kernel duration=200us\n[workload b]\nstep = copy-in 4K\n' >ab.job
  expect 0 "$MPSWEEP" sweep ab.job "${SMALL[@]}" -l threads:2 -w a+b -q -o described.jsonl
  record_complaints described.jsonl >complaints
  diff /dev/null complaints

  points 'map([.layout, .processes, .threads, .workers, .mps])' all.jsonl
  points 'map([.layout, .processes, .threads, .workers, .mps]) == [
    ["threads", 1, 1, 1, false], ["threads", 1, 3, 3, false],
    ["processes", 2, 1, 2, false], ["processes+mps", 2, 1, 2, true],
    ["threads+mps", 1, 2, 2, true], ["hybrid", 2, 3, 6, true],
    ["hybrid-timesliced", 2, 2, 4, false]]' all.jsonl
  points 'all(measured and .error == null and .cuda_error == 0)' all.jsonl
  # In the plan's order, with seed 0.
  jq -s -e 'map(select(.type == "point").id) == [range(7)]' all.jsonl
}

@test "every layout: the figures of a record agree with each other" {
  expect 0 "$MPSWEEP" sweep "${SMALL[@]}" "${ALL_LAYOUTS[@]}" -m pinned,pageable -q -o all.jsonl
  points 'length == 14' all.jsonl
  # A busy machine leaves too few iterations for an interval.
  points 'all(.throughput_ips > 0 and .iterations > 0 and (.ci95_rel == null or .ci95_rel >= 0))' all.jsonl
  points 'all(.latency_us | 0 < .p50 and .p50 <= .p90 and .p90 <= .p99 and .p99 <= .max * 1.05
    and .mean <= .max)' all.jsonl
  points 'all(.latency_us | [.p50, .p90, .p99, .max, .mean] | all(type == "number"))' all.jsonl
  # Bounds hold their percentile; some iterations are too few for them, or too much alike.
  points 'all(.iterations as $n | .latency_us | . as $l
    | [["p50", 6], ["p90", 36], ["p99", 368], ["p999", 3688]]
    | all(. as [$name, $least] | $l.bounds[$name]
      | if $n < $least then . == null
        else . == null or .[0] <= $l[$name] and $l[$name] <= .[1] and .[1] <= $l.max end))' all.jsonl
  points 'all((.iterations >= 3688) == (.latency_us.p999 != null))' all.jsonl
  points 'map(select(.ci95_rel != null)) | length > 0 and all(.interval
    | (.method == "batch means" or .method == "autoregressive") and .batches >= 5
    and .lag1 < 1 and .between_rounds_rel == null and .steady_from_s >= 0)' all.jsonl
  points 'map(select(.ci95_rel != null))
    | all(.interval.steady_from_s <= .rounds[0].seconds * 0.05)' all.jsonl
  points 'map(select(.ci95_rel != null))
    | all(.interval.recurring_s > 0 and .interval.before_rel > -1)' all.jsonl
  points 'all(.warnings | all((.kind | length > 3) and (.text | length > 20)))' all.jsonl
  points 'all(.phase_us | keys == ["d2h", "h2d", "launch", "sync"])' all.jsonl
  points 'all(. as $p | .phase_us | .h2d + .launch + .sync + .d2h
    | . > 0 and . <= $p.latency_us.mean * 1.1)' all.jsonl
  points 'all(.rounds | length == 1 and (.[0] | .throughput_ips > 0 and .seconds >= 0.15))' all.jsonl
  points 'all(.rounds[0].throughput_ips as $t | .throughput_ips - $t | fabs < 1e-6 * $t)' all.jsonl
  points 'all(.fairness_jain > 0 and .fairness_jain <= 1.000001)' all.jsonl
  points 'all(.start_skew_us >= 0 and .ready_s > 0 and .seconds > 0.25)' all.jsonl
  # Each worker is there once, and together they make the whole.
  points 'all(. as $p | [.per_worker[] | [.process, .thread]] | sort
    == [range($p.processes) as $i | range($p.threads) as $j | [$i, $j]])' all.jsonl
  points 'all(.per_worker | all(.ips > 0 and .p50_us > 0 and .p99_us >= .p50_us
    and (.cpus | type == "string")))' all.jsonl
  points 'all(. as $p | [.per_worker[].ips] | add | . / $p.throughput_ips | 0.8 < . and . < 1.25)' \
    all.jsonl
  points 'all(.attached == (if .mps then {expected: .processes, seen: .processes}
    else {expected: 0, seen: 0} end))' all.jsonl
  points 'all(.connections_default and .connections == (if .mps then 2 else 8 end))' all.jsonl
}

@test "the header has what made the results" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -m pinned,pageable --seed 5 -q -o a.jsonl
  head -1 a.jsonl | jq -e '.schema == 1 and .plan == 4 and .seed == 5 and (has("job") | not)'
  head -1 a.jsonl | jq -e '.started | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$")'
  head -1 a.jsonl | jq -e '.gpu | .emulated == true and .sms > 0 and .memory > 0
    and (.name | test("emulated")) and (.compute_capability | test("^[0-9]+\\.[0-9]+$"))
    and (.uuid | test("^GPU-")) and (.pci | type == "string")'
  head -1 a.jsonl | jq -e '.options.sweep | .kernels == ["5"] and .duration == "0.05"
    and .memory == ["pinned", "pageable"] and .layout == ["threads:1", "threads:2"]'
  head -1 a.jsonl | jq -e '.workload.name == "builtin" and .cpus > 0'
  tail -1 a.jsonl | jq -e '.type == "footer" and .status == 0 and .seconds > 0
    and ([.points[]] | add) == 4'

  printf '[global]\nkernels = 5\n[one]\nlayout = threads:1\n[two]\nlayout = threads:2\n' >two.job
  expect 0 "$MPSWEEP" sweep "$PWD/two.job" "${TINY[@]:0:2}" "${TINY[@]:4}" -q -o b.jsonl
  # The directory is not recorded.
  head -1 b.jsonl | jq -e '.job == "two.job" and (.options | keys == ["one", "two"])'
  points 'map(.section) == ["one", "two"]' b.jsonl
  # Another plan, another digest; the same plan, the same one.
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -m pinned,pageable -q -o c.jsonl
  [ "$(head -1 a.jsonl | jq .plan_id)" = "$(head -1 c.jsonl | jq .plan_id)" ]
  [ "$(head -1 a.jsonl | jq .plan_id)" != "$(head -1 b.jsonl | jq .plan_id)" ]
}

# -- axes ------------------------------------------------------------------------------------------

@test "a graph: one launch, and still each result is right" {
  expect 0 "$MPSWEEP" sweep "${SMALL[@]}" -l threads:2,processes+mps:2 --launch stream,graph \
    -m pinned,pageable -q -o graph.jsonl
  points 'map(.launch) | sort == ["graph", "graph", "graph", "graph", "stream", "stream",
    "stream", "stream"]' graph.jsonl
  points 'map(select(.launch == "graph")) | all(.phase_us.h2d == null and .phase_us.d2h == null
    and .phase_us.launch > 0)' graph.jsonl
}

@test "the delay workload" {
  sweep_points 'all(measured and .delay_cycles > 0 and .blocks == 1
    and .threads_per_block == 1)' "${SMALL[@]}" -l threads:1,2 --workload delay \
    --delay-cycles 10000,20000
  record_complaints sweep.*.jsonl >complaints
  diff /dev/null complaints
  # Twice the cycles are more time.
  longer='(map(select(.delay_cycles == 1000000)) | .[0].latency_us.p50) > 2 *
    (map(select(.delay_cycles == 100000)) | .[0].latency_us.p50)'
  judged sweep_points "$longer" "${SMALL[@]}" -l threads:1 -w delay \
    --delay-cycles 100000,1000000
}

@test "settings that make no difference are one point" {
  expect 0 "$MPSWEEP" sweep --list -l threads:2 -m pinned -s stream,none
  [ "$(wc -l <out)" -eq 1 ]
  expect 0 "$MPSWEEP" sweep --list -l threads:2 -m pinned,pageable -s stream,none
  [ "$(wc -l <out)" -eq 3 ]
  expect 0 "$MPSWEEP" sweep --list -l threads:2 --active-thread-percentage default,50
  [ "$(wc -l <out)" -eq 1 ]
  expect 0 "$MPSWEEP" sweep --list -l threads+mps:2 --active-thread-percentage default,50
  [ "$(wc -l <out)" -eq 2 ]
  expect 0 "$MPSWEEP" sweep --list -l threads:2 --priority 0,1 --memory-limit 1G,2G
  [ "$(wc -l <out)" -eq 1 ]
  expect 0 "$MPSWEEP" sweep --list -l processes+mps:2 \
    --active-thread-percentage 30/30,30,30/70,30/70/30
  [ "$(wc -l <out)" -eq 2 ]
  expect 0 "$MPSWEEP" sweep --list -l threads:2 -l threads:1-3,2
  [ "$(wc -l <out)" -eq 3 ]
}

@test "connections, schedule and binding reach the workers and are recorded" {
  sweep_points 'length == 8 and all(.connections == 32 and .connections_default == false)
    and (map(.schedule) | unique) == ["auto", "block", "spin", "yield"]
    and (map(.bind) | unique) == ["none", "scatter"]' \
    "${TINY[@]}" -l threads:2 --connections 32 --schedule auto,spin,yield,block \
    --bind scatter,none
}

@test "rounds: each point in each round, with processes of its own" {
  expect 0 "$MPSWEEP" sweep "${TINY_ROUNDS[@]}" -l threads:1,2 -l processes+mps:1,2 --rounds 3 -o r.jsonl
  assert_complete r.jsonl 4 0
  points 'all(.rounds | length == 3 and all(.throughput_ips > 0))' r.jsonl
  # A measured point is reported once, in its last round.
  [ "$(grep -c 'iterations/s' err)" -eq 4 ]
  grep -q '^\[12/12\] ' err
}

@test "three rounds by default; the table reports which intervals are of one" {
  expect 0 "$MPSWEEP" sweep "${TINY_ROUNDS[@]}" -l threads:1,2 -q -o r.jsonl
  points 'all(measured and (.rounds | length == 3) and .interval.method == "between rounds")' r.jsonl
  absent '^rounds ' out
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -q
  grep -q '^rounds   all points have one: 95% is that of one set of processes, ' out
}

@test "the random order is the same for one seed, and another for another" {
  order() { jq -s -c 'map(select(.type == "point").id)' "$1"; }
  local seed
  for seed in 1 2 3; do
    expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1-8 -q --seed $seed -o $seed.jsonl
  done
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1-8 -q --seed 2 -o again.jsonl
  [ "$(order 2.jsonl)" = "$(order again.jsonl)" ]
  [ "$(order 1.jsonl)" != "$(order 2.jsonl)" ]
  [ "$(order 2.jsonl)" != "$(order 3.jsonl)" ]
  [ "$(order 1.jsonl | jq -c sort)" = '[0,1,2,3,4,5,6,7]' ]
}

@test "a point that stays imprecise is unconverged, after half the longest window at least" {
  sweep_points 'all(.status == "unconverged" and .throughput_ips > 0 and .error == null
    and .rounds[0].seconds >= 0.75)' --device emulated --kernels 20 -l processes:2 \
    --duration 0.1 --warmup 0.1 --max-duration 1.5 --precision 0.01 --rounds 1
}

# advises FILE CHANGE REMARK: the table of the file, were its points changed so.
advises() {
  # A busy computer may have stopped a worker, which would be the remark.
  jq -c "if .type == \"point\" then del(.stalled) | $2 else . end" "$1" >changed.jsonl
  expect 0 "$MPSWEEP" export changed.jsonl
  grep -Eq "  unconverged: $3\$" out || fail "the remark should be: $3" "$(cat out)"
}

@test "an unconverged point has what was reached, and what to give" {
  expect 0 "$MPSWEEP" sweep --device emulated --kernels 5 -l threads:2 --duration 0.1 --warmup 0.05 \
    --max-duration 1.2 --precision 0.01 --rounds 1 -q -o one.jsonl
  # Where another program takes the CPUs so that the interval is wide, a longer window is not the advice.
  points 'all(has("stalled") or .interval.needs_s >= 2.4 and (.interval | has("needs_rounds") | not))' one.jsonl
  advises one.jsonl '.ci95_rel = 0.18711 | .interval.needs_s = 7200' \
    '±18\.8% after [01](\.[0-9]+)? s: give --max-duration 7200'
  # The column of the row has the same figure.
  grep -q '  ±18\.8%  .*  unconverged: ±18\.8%' out
  advises one.jsonl '.ci95_rel = 0.9 | .interval.needs_s = 7200' \
    '±90\.0% after [01](\.[0-9]+)? s: look for other work on the CPUs, or give --rounds 5'

  expect 0 "$MPSWEEP" sweep --device emulated --kernels 5 -l threads:2 --duration 0.5 --warmup 0.05 \
    --max-duration 0.5 --precision 0.01 --rounds 2 -q -o two.jsonl
  advises two.jsonl '.interval.needs_rounds = 50' \
    '±[0-9.e+]+% after 2 rounds: give --rounds 50'
  advises two.jsonl '.interval.needs_rounds = 696' \
    '±[0-9.e+]+% after 2 rounds: look for other work on the CPUs, or give a longer --duration'
  points 'all(.interval | .method == "between rounds" and .between_rounds_rel >= 0
    and .needs_rounds > 2 and (has("needs_s") | not))' two.jsonl
}

# Each warning of the record is under the table, behind the point.
assert_warnings_printed() {
  jq -r 'select(.type == "point") | "\(.layout) \(.processes)×\(.threads)" as $p
    | .warnings[] | "warning  \($p): \(.text)"' "$1" >expected
  grep '^warning  ' out >printed
  diff expected printed
}

with_outliers() {
  MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#20=slow:300' expect 0 "$MPSWEEP" sweep \
    --device emulated --kernels 5 -l threads:1 --duration 1.5 --warmup 0.01 --precision 100 --rounds 1 \
    -q -o r.jsonl || return 1
  points 'all([.warnings[] | select(.kind == "outliers")]
    | length == 1 and (.[0].text | test("look for other work")))' r.jsonl
}

@test "outliers: iterations far beyond the others are warned of, once" {
  judged with_outliers
  assert_warnings_printed r.jsonl
}

stepped() {
  rm -f r.jsonl
  MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#100+=slow:20' expect 0 "$MPSWEEP" sweep \
    --device emulated --kernels 20 -l threads:1 --duration 2 --warmup 0.01 --precision 100 --rounds 1 \
    -q -o r.jsonl
  points 'all(([.warnings[] | select(.kind == "unsteady")]
      | length == 1 and (.[0].text | test("throughput fell by .*give --warmup [0-9.]+")))
    and .status == "unconverged" and .interval.steady_from_s == 0 and .interval.before_rel > 0.1
    and (.throughput_ips * .rounds[0].seconds - .iterations | fabs) < 3)' r.jsonl
}

@test "a level that changes within the window is warned of, and all of it counts" {
  judged stepped
  assert_warnings_printed r.jsonl
}

# -- the model of the emulated GPU -----------------------------------------------------------------

# ratio FILTER FILTER: the throughputs of the points that two filters select, one by the other.
ratio='def ips(f): map(select(f).throughput_ips) | if length == 1 then .[0]
  else error("\(length) points") end;
  def ratio(f; g): ips(f) / ips(g);'

# By medians: a window of 0.2 s has twelve turns of four processes, of which it cuts two.
@test "model: processes without MPS take turns" {
  judged sweep_points 'def p50(f): map(select(f).latency_us.p50) | if length == 1 then .[0]
      else error("\(length) points") end;
    4 * p50(.processes == 1) / p50(.processes == 4) | 0.7 < . and . < 1.15' \
    "${SMALL[@]}" -l processes:1,4
}

# The same work, but of kernels enough to be more than what queues hold.
LONGER=(--device emulated --kernels 40 --duration 0.2 --warmup 0.1 --precision 50 --rounds 1)

@test "model: threads of one process share eight queues, and 32 lift that" {
  judged sweep_points "$ratio"'
    def point(n; c): .threads == n and .connections == c;
    ratio(point(16; 8); point(8; 8)) < 1.4 and ratio(point(16; 32); point(16; 8)) > 1.4' \
    "${LONGER[@]}" -l threads:8,16 --connections default,32
}

@test "model: threads over MPS share two queues" {
  judged sweep_points "$ratio"' ratio(.threads == 8; .threads == 2) < 1.4' \
    "${LONGER[@]}" -l threads+mps:2,8
}

@test "model: processes over MPS go beyond what threads reach" {
  judged sweep_points "$ratio"' ratio(.layout == "processes+mps"; .layout == "threads")
    > 1.4' "${LONGER[@]}" -l threads:16 -l processes+mps:16
}

@test "model: a pageable copy out without a synchronisation holds the others up" {
  judged sweep_points "$ratio"' ratio(.sync == "none"; .sync == "stream") < 0.85' \
    "${SMALL[@]/64K/1408K}" -l threads:8 -m pageable -s stream,none
}

# -- what the GPU refuses --------------------------------------------------------------------------

@test "more clients than MPS takes: infeasible, and the other points are measured" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -l processes+mps:49 -l processes+mps:2 -q \
    --seed 0 -o many.jsonl
  [ ! -s err ]
  assert_complete many.jsonl 3 0
  points 'map(outcome) == ["measured", "infeasible", "measured"]' many.jsonl
  points '.[1] | .cuda_error == 808 and (.error | test("worker [0-9]+ of 49: .*\\(808\\)"))
    and (has("throughput_ips") or has("latency_us") or has("rounds") | not)' many.jsonl
  grep -qE '^processes\+mps +49×1 .*infeasible: worker .*808' out
  record_complaints many.jsonl >complaints
  diff /dev/null complaints
}

# -- a stranger's daemon ---------------------------------------------------------------------------

# Invariants D2 and D5.
@test "a stranger's MPS daemon is neither used nor touched" {
  local control=$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control
  local -x CUDA_MPS_PIPE_DIRECTORY=$WORK/theirs CUDA_MPS_LOG_DIRECTORY=$WORK/theirs
  local daemon before
  mkdir theirs
  "$control" -f >log 2>&1 3>&- &
  daemon=$!
  await $PATIENCE test -S theirs/control
  answers() { echo "start_server -uid $(id -u)" | "$control" >/dev/null && echo get_server_list | "$control" | grep -qE '^[0-9]+$'; }
  await $PATIENCE answers
  before=$(echo get_server_list | "$control")
  find theirs | sort >files

  CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=5 CUDA_DEVICE_MAX_CONNECTIONS=1 CUDA_VISIBLE_DEVICES=3 \
    CUDA_LAUNCH_BLOCKING=1 expect 0 \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:2 -l processes:2 -l processes+mps:2 -q -o mine.jsonl
  points 'map(outcome) == ["measured", "measured", "measured"]' mine.jsonl
  points 'map(.attached.seen) == [0, 0, 2]' mine.jsonl
  points 'map(.connections) == [8, 8, 2]' mine.jsonl
  points 'map(.sms) | unique | length == 1' mine.jsonl

  kill -0 $daemon
  [ "$(echo get_server_list | "$control")" = "$before" ]
  [ -z "$(echo "get_client_list $before" | "$control")" ]
  find theirs | sort | diff files -
  # The sweep never came to it.
  absent 'NEW CLIENT' log
  echo quit | "$control"
  wait $daemon
}

# -- printing --------------------------------------------------------------------------------------

# Columns where words begin or end in each line of a table: with all cells aligned, there is a blank
# at the same display column in each line between any two of them.
@test "the table is aligned, also beyond ASCII" {
  local LC_ALL=C.UTF-8
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,12 -l hybrid-timesliced:2x2 \
    -l processes+mps:49 -m pinned,pageable -q
  grep -q '^EMULATED GPU: these numbers' out
  # Up to the warnings, if there are any.
  sed '1,/^$/d' out | sed '/^$/,$d' >rows
  [ "$(wc -l <rows)" -eq 9 ]
  local titles line start
  titles=$(head -1 rows)
  [[ $titles =~ ^'layout '.*' P×T  memory '.*' iterations/s '.*95%.*'p50 ms'.*'p99 ms  CPUs  fair'$ ]]
  # A number ends where its title ends, a word begins where its title begins.
  start=${titles%%memory*}
  while IFS= read -r line; do
    [[ ${line:${#start}} =~ ^(memory|pinned|pageable)\  ]]
    [ "${line:${#start}-2:2}" = '  ' ]
  done <rows
  start=${titles%%iterations/s*}iterations/s
  while IFS= read -r line; do
    [[ ${line:${#start}-1:1} =~ [0-9s-] ]]
    [ "${line:${#start}:1}" = ' ' ]
  done <rows
  start=${titles%%P×T*}P×T
  while IFS= read -r line; do
    [[ ${line:${#start}-1:1} =~ [0-9T] ]]
    [ "${line:${#start}:2}" = '  ' ]
  done <rows
  absent ' $' out
}

@test "csv: as many fields in each line, the error quoted" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -l processes+mps:49 -l hybrid:2x2 -q \
    --format csv
  [ "$(wc -l <out)" -eq 4 ]
  local title count line rest
  title=$(head -1 out)
  count=$(tr -cd , <<<"$title" | wc -c)
  [ "$count" -gt 20 ]
  while IFS= read -r line; do
    # A quoted field is one, whatever it holds.
    rest=$(sed -E 's/"([^"]|"")*"/quoted/g' <<<"$line")
    [ "$(tr -cd ',' <<<"$rest" | wc -c)" -eq "$count" ]
    [[ $rest != *'"'* ]]
  done <out
  grep -qE '^threads,1,1,1,pinned,.*,(ok|unconverged),[0-9.e+]+,.*,yes,,0$' out
  grep -qE '^hybrid,2,2,4,pinned,.*,(ok|unconverged),[0-9.e+]+,.*,yes,,2$' out
  grep -qE '^processes\+mps,49,1,49,.*,infeasible,{12}yes,.*808.*,1$' out
}

@test "json: what a file would hold" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -q --format json -o file.jsonl --seed 0
  assert_complete out 2 0
  diff <(jq -S 'select(.type == "point")' out) <(jq -S 'select(.type == "point")' file.jsonl)
  diff <(jq -S 'select(.type == "header")' out) <(jq -S 'select(.type == "header")' file.jsonl)
}

@test "progress goes to standard error, a line a point, and --quiet is silent" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1-3 -o r.jsonl
  [ "$(wc -l <err)" -eq 3 ]
  [ "$(grep -cE '^\[[1-3]/3\] threads 1×[1-3], pinned, 5 kernels, 64 KiB: [0-9.e+]+ iterations/s(, unconverged)?$' err)" -eq 3 ]
  absent $'\r' err
  # Results come with the last round only.
  expect 0 "$MPSWEEP" sweep "${TINY_ROUNDS[@]}" -l threads:1-3 --rounds 3
  [ "$(grep -cE '^\[[36]/9\] .* s left: [12] of 3 rounds measured$' err)" -eq 2 ]
  expect 0 "$MPSWEEP" sweep "${TINY_ROUNDS[@]}" -l threads:1-3 --rounds 2 --quiet
  [ ! -s err ]
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1-3 --quiet
  [ ! -s err ]
}

# peak_kb POINTS: the peak memory of a sweep of so little work that its points end at once.
peak_kb() {
  "$MPSWEEP_BUILD_DIR/tests/bench/peak" "$MPSWEEP" sweep --device emulated -l threads:1 \
    --kernels "1-$1" --iterations 1 --warmup 0 --rounds 2 -q >out 2>err 3>&- || return 1
  awk 'END { if ($NF != 0) exit 1; print int($3 * 1000) }' err
}

@test "memory does not grow with what was measured" {
  [ -e "$MPSWEEP_BUILD_DIR/tests/bench/peak" ] || skip "the program that measures it is not built"
  ! grep -qaE '__(asan|tsan)_init' "$MPSWEEP" || skip "a sanitizer keeps memory for itself"
  local few many
  few=$(peak_kb 10)
  many=$(peak_kb 110)
  # The histograms of a point alone take 66 KB.
  [ $((many - few)) -lt 2000 ] || fail "$few KB with 10 points, $many KB with 110"
}
