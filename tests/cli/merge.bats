#!/usr/bin/env bats
# Shards of a plan, and one file of them. What is measured is measured once, for all tests; most of
# them change copies of that.

load helper
LOOKS_FOR_LEAKS=1

PLAN=(--device emulated --kernels 5 --duration 0.05 --warmup 0.02 --precision 100
  -l threads:1,2,4 -l processes:1,2 -l processes+mps:2 --rounds 1)

setup_file() {
  MADE=$(mktemp -d /tmp/mpt.XXXXXX)
  export MADE
  local shard
  for shard in 0 1 2; do
    XDG_CACHE_HOME=$MADE TMPDIR=$MADE "$MPSWEEP_BUILD_DIR/mpsweep" sweep "${PLAN[@]}" --quiet \
      --shard $shard/3 -o "$MADE/part-{shard}.jsonl" >/dev/null || return 1
  done
}

teardown_file() { rm -rf "$MADE"; }

# parts: fresh copies of the three shards, here.
parts() { cp "$MADE"/part-?.jsonl .; }

merge() { "$MPSWEEP" merge "$@"; }

# ids FILE: of its points, sorted.
ids() { jq -s -c 'map(select(.type == "point").id) | sort' "$1"; }

# record TYPE FILTER FILE
record() { jq -s -e "map(select(.type == \"$1\")) | length == 1 and (.[0] | $2)" "$3" >/dev/null ||
  fail "no such record: $1 $2" "$(jq -c "select(.type == \"$1\")" "$3")"; }

# As if each shard had been measured on a GPU of its own: node N has N in its UUID and host.
# nodes FILTER: then changes each record, with $n for its node.
nodes() {
  local n
  for n in 0 1 2; do
    jq -c --argjson n $n "if .type == \"header\" then .gpu.uuid = \"GPU-\(\$n)\" | .host = \"node-\(\$n)\"
      else . end | $1" "$MADE/part-$n.jsonl" >"part-$n.jsonl"
  done
}

# fleet NODES FILTER: a file each, made of all points, with $n for the node.
fleet() {
  local n
  merge "$MADE"/part-?.jsonl -o whole.jsonl --quiet
  for ((n = 0; n < $1; n++)); do
    jq -c --argjson n $n --argjson of "$1" "if .type == \"header\" then del(.merged)
        | .gpu.uuid = \"GPU-\(\$n)\" | .host = \"node-\(\$n)\"
        | .shard = {index: \$n, count: \$of, purpose: \"fleet\", reference: 0, points: \"0-5\",
            reference_points: \"\"}
      elif .type == \"point\" then del(.source)
        | .throughput_ips = 100 * (.id + 1) * (1 + (\$n * 7 + .id * 3) % 5 / 1000)
      elif .type == \"merge\" then empty else . end | $2" whole.jsonl >"node-$n.jsonl"
  done
}

# A point of the second shard that is not for reference.
own_point() {
  jq -s 'map(select(.type == "point").id) - [.[0].shard.reference_points | tonumber] | .[0]' "$MADE/part-1.jsonl"
}

@test "three shards have the points of one run, none lost and none twice" {
  parts
  expect 0 merge part-*.jsonl -o all.jsonl
  # A busy machine may leave some unconverged.
  grep -qE '^3 files, 1 GPU: 6 of 6 points \([0-9]+ (ok|unconverged)(, [0-9]+ unconverged)?\)$' out
  [ "$(ids all.jsonl)" = '[0,1,2,3,4,5]' ]
  assert_complete all.jsonl 6 0
  # What a run without shards would have measured.
  expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --list
  [ "$(wc -l <out)" -eq 6 ]
  [ "$(jq -s -r 'map(select(.type == "point")) | sort_by(.id)[] | "\(.id)\t\(.layout) \(.processes)×\(.threads)"' all.jsonl)" = \
    "$(cut -d, -f1 out)" ]
  # Each record is as its shard wrote it, with where it is from.
  jq -c 'select(.type == "point")' part-?.jsonl | sort -u >parts
  jq -c 'select(.type == "point") | del(.source)' all.jsonl | while IFS= read -r line; do
    grep -qxF -e "$line" parts || fail "no shard has: $line" || exit 1
  done
  jq -s -e '(.[0].merged | length) == 3 and ([.[0].merged[].shard.index] == [0, 1, 2])
    and (.[0] | has("shard") | not) and (map(select(.type == "point").source) | unique) == [0, 1, 2]' all.jsonl
}

@test "the summary as JSON: the records about the merge, as the file has them" {
  parts
  expect 0 merge part-*.jsonl -o all.jsonl -f json
  jq -s -e '.[0].type == "merge" and .[0].files == 3 and .[0].missing_points == 0' out
  diff out <(grep -E '^\{"type":"(merge|gpus-differ|fleet|fleet-point)"' all.jsonl)
  expect 2 merge part-0.jsonl part-2.jsonl -o some.jsonl -f json
  jq -s -e '.[0].missing[0].shards == "1"' out
  expect 0 merge part-*.jsonl -o quiet.jsonl -f json -q
  [ ! -s out ]
}

@test "the order of the files makes no difference" {
  parts
  merge part-0.jsonl part-1.jsonl part-2.jsonl -o a.jsonl --quiet
  merge part-2.jsonl part-0.jsonl part-1.jsonl -o b.jsonl --quiet
  cmp a.jsonl b.jsonl
}

@test "a merged file is one to plot, compare and resume" {
  parts
  expect 0 merge part-*.jsonl -o all.jsonl --quiet
  [ ! -s out ]
  expect 0 "$MPSWEEP" plot all.jsonl -o all.gp
  grep -q "n_series = 3" all.gp
  merge part-*.jsonl -o again.jsonl --quiet
  expect 0 "$MPSWEEP" compare all.jsonl again.jsonl
  merge part-0.jsonl part-2.jsonl -o some.jsonl --quiet || [ $? -eq 2 ]
  expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --quiet -o some.jsonl --resume
  points 'map(.id) == [0, 1, 2, 3, 4, 5]' some.jsonl
}

@test "a shard that is missing: which points, and status 2" {
  parts
  expect 2 merge part-0.jsonl part-2.jsonl -o some.jsonl
  grep -qE '^missing: points [0-9,-]+: no results file for shard 1$' out
  record merge '.missing[0].shards == "1" and .missing_points > 0' some.jsonl
  record footer '.status == 2' some.jsonl
  # What is there and what is missing is the plan.
  jq -s -e '(map(select(.type == "merge"))[0].missing_points) + (map(select(.type == "point")) | length) == 6' some.jsonl
}

@test "a file that was cut counts up to its last whole line" {
  parts
  local id
  id=$(own_point)
  # That one last; the second half of the last point and the footer are lost.
  grep -v -e '"type":"footer"' -e "\"type\":\"point\",\"id\":$id," part-1.jsonl >cut.jsonl
  grep -e "\"type\":\"point\",\"id\":$id," part-1.jsonl | head -c 300 >>cut.jsonl
  cp cut.jsonl before
  expect 2 merge part-0.jsonl cut.jsonl part-2.jsonl -o some.jsonl
  cmp cut.jsonl before
  grep -qx "missing: point $id: 'cut.jsonl': the file ends within a line" out
  grep -q "^cut: 'cut.jsonl' ends within a line: its .* whole lines\? \(is\|are\) used$" out
  # One that was cut in its header, and one that is empty, have nothing to give.
  head -c 100 part-1.jsonl >cut.jsonl
  : >empty.jsonl
  expect 2 merge part-0.jsonl cut.jsonl part-2.jsonl empty.jsonl -o fewer.jsonl
  grep -q "no results file for shard 1" out
}

@test "of a point that is there twice the finished record counts, else the first" {
  parts
  local id
  # Failed there and measured by another run.
  id=$(own_point)
  jq -c "if .id == $id then .status = \"failed\" | del(.throughput_ips) else . end" part-1.jsonl >failed.jsonl
  jq -c 'if .type == "point" then .seconds = 77 else . end' part-1.jsonl >again.jsonl
  expect 0 merge part-0.jsonl failed.jsonl again.jsonl part-2.jsonl -o all.jsonl
  grep -q "^twice: points .*: the better record is kept, or else the first$" out
  [ "$(ids all.jsonl)" = '[0,1,2,3,4,5]' ]
  jq -s -e "map(select(.type == \"point\" and .id == $id)) | length == 1 and .[0].seconds == 77" all.jsonl
  expect 0 merge part-0.jsonl part-1.jsonl again.jsonl part-2.jsonl -o first.jsonl
  # Of equal ones the first in the order of names.
  jq -s -e "map(select(.type == \"point\" and .id == $id)) | length == 1 and .[0].seconds == 77" first.jsonl
  # A point that was only begun is missing.
  jq -c "if .id == $id then .status = \"interrupted\" else . end" part-1.jsonl >begun.jsonl
  expect 2 merge part-0.jsonl begun.jsonl part-2.jsonl -o begun-all.jsonl
  grep -q "^missing: point $id: 'begun.jsonl'" out
  # A resumed file has a point more than once, and that is not reported.
  { cat begun.jsonl; head -1 part-1.jsonl | jq -c '.resumed = true'; tail -n +2 part-1.jsonl; } >resumed.jsonl
  expect 0 merge part-0.jsonl resumed.jsonl part-2.jsonl -o resumed-all.jsonl
  absent '^twice' out
}

@test "files that do not belong together are refused, and nothing is written" {
  parts
  jq -c 'if .type == "header" then .plan_id = "0123456789abcdef" else . end' part-1.jsonl >other.jsonl
  refused "'part-0.jsonl' and 'other.jsonl' are of different plans \([0-9a-f:]+ and 0123456789abcdef\)" \
    merge part-0.jsonl other.jsonl -o all.jsonl
  jq -c 'if .type == "header" then .shard.purpose = "fleet" else . end' part-1.jsonl >node.jsonl
  refused "'part-0.jsonl' is a shard and 'node.jsonl' is of a fleet" merge part-0.jsonl node.jsonl -o all.jsonl
  jq -c 'if .type == "header" then .gpu.emulated = false else . end' part-1.jsonl >real.jsonl
  refused "from the emulated GPU" merge part-0.jsonl real.jsonl -o all.jsonl
  refused "'part-0.jsonl' and './part-0.jsonl' are one file" merge part-0.jsonl ./part-0.jsonl -o all.jsonl
  echo hello >text.jsonl
  refused "'text.jsonl' is not an mpsweep results file" merge part-0.jsonl text.jsonl -o all.jsonl
  sed '3s/^{/x/' part-1.jsonl >broken.jsonl
  refused "'broken.jsonl' line 3: not JSON" merge part-0.jsonl broken.jsonl -o all.jsonl
  sed '2s/"id":[0-9]*/"id":6/' part-1.jsonl >beyond.jsonl
  refused "'beyond.jsonl' line 2: point 6 of a plan of 6 points" merge part-0.jsonl beyond.jsonl -o all.jsonl
  refused "cannot open 'none.jsonl'" merge part-0.jsonl none.jsonl -o all.jsonl
  refused "merge needs results files" "$MPSWEEP" merge -o all.jsonl
  refused "merge needs --output FILE" "$MPSWEEP" merge part-0.jsonl
  refused "not a regular file" merge part-0.jsonl /dev/null -o all.jsonl
  mkfifo pipe
  refused "'pipe' is not a regular file" timeout 60 "$MPSWEEP" merge part-0.jsonl pipe -o all.jsonl
  [ ! -e all.jsonl ]
  merge part-*.jsonl -o all.jsonl --quiet
  refused "'all.jsonl' line 1: merged already" merge all.jsonl part-0.jsonl -o twice.jsonl
}

@test "drivers, versions and options that differ are reported and recorded; --strict refuses them" {
  parts
  jq -c 'if .type == "header" then .driver = "12.4" | .options.sweep.timeout = "9" else . end' part-2.jsonl >p2.jsonl
  expect 0 merge part-0.jsonl part-1.jsonl p2.jsonl -o all.jsonl
  grep -q "^differs: driver: '13.0' in part-0.jsonl, part-1.jsonl; '12.4' in p2.jsonl$" out
  grep -q "^differs: option timeout of \[sweep\]: '60' in .*; '9' in p2.jsonl$" out
  [ "$(grep -c ^differs out)" -eq 2 ]
  record merge '[.differs[].what] | contains(["driver"])' all.jsonl
  refused "^mpsweep: --strict: the files differ in driver, option timeout of \[sweep\]$" \
    merge part-0.jsonl part-1.jsonl p2.jsonl -o strict.jsonl --strict
  expect 0 merge part-*.jsonl -o strict.jsonl --strict
}

@test "texts of headers are shortened, and cannot control the terminal" {
  parts
  jq -c 'if .type == "header" then .topology = "one package with very many cores and hardware threads, at node A"
    else . end' part-0.jsonl >p0.jsonl
  jq -c 'if .type == "header" then .topology = "one package with very many cores and hardware threads, at node B"
    | .kernel = "\u001b[2Jgone\n" | .host = "\u001b]0;title\u0007" | .options["\u001b[31m"] = {"\u001b[1m": "1"}
    | .gpu.uuid = "GPU-\u001b[7m" else . end' part-1.jsonl >p1.jsonl
  expect 0 merge p0.jsonl p1.jsonl part-2.jsonl -o all.jsonl
  grep -q "^differs: topology: 'one package with very .*s, at node A' in p0.jsonl; 'one package with very .*s, at node B' in p1.jsonl;" out
  grep -qF "'?[2Jgone?' in p1.jsonl" out
  grep -qF 'differs: option ?[1m of [?[31m]: ' out
  # Neither there nor in the table of GPUs.
  grep -q '^GPU-?\[7m .*?\]0;title?' out
  [ -z "$(tr -d '\n[:print:]\200-\377' <out)" ]
}

@test "an output that exists stays as it is without --force, and an input always" {
  parts
  echo old >all.jsonl
  refused "'all.jsonl' exists: give --force to replace it, or another name" merge part-*.jsonl -o all.jsonl
  [ "$(cat all.jsonl)" = old ]
  expect 0 merge part-*.jsonl -o all.jsonl --force
  assert_complete all.jsonl 6 0
  cp part-0.jsonl before
  refused "'part-0.jsonl' is one of the files to read: give another name" \
    merge part-*.jsonl -o part-0.jsonl --force
  cmp part-0.jsonl before
  refused "cannot write 'none/all.jsonl': No such file" merge part-*.jsonl -o none/all.jsonl
  mkdir all
  refused "cannot write 'all': Is a directory" merge part-*.jsonl -o all --force
  # Nothing is left of what was not finished.
  [ -z "$(find . -name '.*' -type f)" ]
}

@test "a file system that lies about rename is named" {
  parts
  local preload=$MPSWEEP_BUILD_DIR/tests/fakes/lying_rename.so
  [ -e "$preload" ] || skip "the fakes are not built"
  export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
  env LD_PRELOAD="$preload" true || skip "nothing can be preloaded here"
  refused "'\./\.all\.jsonl\.[0-9-]*' cannot be renamed to 'all.jsonl': the file system reported success, but did nothing; the file is under its old name" \
    env LD_PRELOAD="$preload" MPSWEEP_LIE=nothing "$MPSWEEP" merge part-*.jsonl -o all.jsonl
  [ ! -e all.jsonl ]
  rm .all.jsonl.*
  refused "'all.jsonl' is not what .* was renamed to be" \
    env LD_PRELOAD="$preload" MPSWEEP_LIE=cut "$MPSWEEP" merge part-*.jsonl -o all.jsonl
  expect 0 env LD_PRELOAD="$preload" "$MPSWEEP" merge part-*.jsonl -o all.jsonl --force
}

@test "a full disk leaves no file" {
  parts
  (ulimit -f 4 && exec "$MPSWEEP" merge part-*.jsonl -o all.jsonl) >out 2>err && return 1
  says "cannot write 'all.jsonl': File too large"
  [ -z "$(find . -name '*all.jsonl*')" ]
}

@test "GPUs that differ are reported with their factors, and no number is changed" {
  # The middle one is slower by a tenth, in what it has measured for reference, too.
  nodes 'if .type == "point" then .throughput_ips = 1000 * (1 - (if $n == 1 then 0.1 else 0 end)) | .ci95_rel = 0.004 else . end'
  expect 0 merge part-*.jsonl -o all.jsonl
  grep -q '^GPUs: they differ by more than 1%, by 1 point for reference' out
  grep -qE '^GPU-1 +node-1 +0\.93[0-9]+ .* 1  slower$' out
  record gpus-differ '.differ and (.gpus | length) == 3 and .gpus[1].differs and .gpus[1].factor < 0.94
    and .gpus[1].ci95[0] < .gpus[1].factor and .gpus[1].ci95[1] > .gpus[1].factor' all.jsonl
  points 'all(.throughput_ips == if .source == 1 then 900 else 1000 end)' all.jsonl
}

@test "GPUs that do not differ: none is accused" {
  nodes 'if .type == "point" then .throughput_ips = 1000 + $n | .ci95_rel = 0.004 else . end'
  expect 0 merge part-*.jsonl -o all.jsonl
  grep -q '^GPUs: none surely differs by more than 1%' out
  absent slower out
  record gpus-differ '(.differ | not) and all(.gpus[]; .differs | not)' all.jsonl
}

@test "a fleet: a table of nodes, and the one that stands out with its telemetry" {
  fleet 5 'if .type == "point" then .telemetry = {sm_clock_mhz: {min: 1, mean: (if $n == 3 then 1200 else 1980 end), max: 1},
      power_w: {mean: 500}, temperature_c: {mean: (if $n == 3 then 88 else 61 end)}, throttled_share: (if $n == 3 then 0.9 else 0 end),
      throttle: (if $n == 3 then ["hw thermal"] else [] end)}
    | if $n == 3 then .throughput_ips *= 0.8 else . end else . end'
  expect 0 merge node-*.jsonl -o fleet.jsonl
  grep -q '^nodes: 1 of 5 stands out' out
  grep -qE '^3 +node-3 +0\.(79|80)[0-9]+ .* 6  stands out$' out
  grep -q 'clock 1200 MHz (usual: 1980), .*temperature 88 °C (usual: 61), throttled 90% of the time (usual: 0); clock held down by: hw thermal$' out
  grep -qE '^0 +threads 1×1 +5 ' out
  record fleet '.standing_out == 1 and [.nodes[].stands_out] == [false, false, false, true, false]' fleet.jsonl
  jq -s -e 'map(select(.type == "fleet-point")) | length == 6 and all(.[]; (.ratios | length) == 5 and .ratios[3] < 0.81)' fleet.jsonl
  # All that was measured is there: one node's as the point, the others' beside it.
  jq -s -e 'map(select(.type == "point")) | (map(.id) | sort) == [0, 1, 2, 3, 4, 5] and all(.[]; .source != 3)' fleet.jsonl
  jq -s -e 'map(select(.type == "node")) | length == 24' fleet.jsonl
  expect 0 "$MPSWEEP" plot fleet.jsonl --figure fleet -o fleet.svg
  [ -s fleet.svg ]
  expect 0 "$MPSWEEP" plot fleet.jsonl -o all.gp
  refused "'part.jsonl' is not of a fleet" bash -c 'cp "$MADE"/part-0.jsonl part.jsonl && '"$MPSWEEP"' plot part.jsonl --figure fleet -o x.gp'
}

@test "a deployment is of the node that measured its point, and all that shows the file names its nodes" {
  fleet 3 'if .type == "header" then .started = "2030-01-0\($n + 1)T00:00:00Z" | .topology = "machine \($n)"
    | .gpu.uuid = "GPU-6d707377-6565-702d-656d-756c6174656\($n)" else . end'
  expect 0 merge node-*.jsonl -o fleet.jsonl
  local id source uuid all='node-0, node-1, node-2'
  read -r id source < <(jq -r 'select(.type == "point" and .source == 2) | "\(.id) \(.source)"' fleet.jsonl)
  expect 0 "$MPSWEEP" emit fleet.jsonl --point "$id" --target env -o d
  grep -qxF "| machine | node-$source |" d/README.md
  grep -qxF "| processors | machine $source |" d/README.md
  grep -qxF '| measured | 2030-01-03T00:00:00Z |' d/README.md
  uuid=GPU-6d707377-6565-702d-656d-756c6174656
  grep -qxF "| its UUID | $uuid$source |" d/README.md
  grep -qF "$uuid$source" d/deployment.env
  expect 0 "$MPSWEEP" export fleet.jsonl
  grep -qxF "a fleet of 3 hosts: $all; each row is the record of the node with the median throughput" out
  expect 0 "$MPSWEEP" export fleet.jsonl -f openmetrics
  grep -qF "mpsweep_run{host=\"$all\",gpu=\"mpsweep emulated GPU\",uuid=\"${uuid}0, ${uuid}1, ${uuid}2\"," out
  expect 0 "$MPSWEEP" plot fleet.jsonl -o fleet.gp
  grep -qF ", 3 hosts: $all, 2030" fleet.gp
  expect 0 "$MPSWEEP" report fleet.jsonl -o fleet.html
  grep -qF "<p>a fleet of 3 hosts: $all; each row" fleet.html
  grep -qxF "<dt>hosts</dt><dd>$all</dd>" fleet.html
  grep -qxF "<dt>UUIDs</dt><dd>${uuid}0, ${uuid}1, ${uuid}2</dd>" fleet.html
  expect 0 "$MPSWEEP" compare fleet.jsonl node-1.jsonl
  grep -q "^BASE .*, hosts $all, 2030" out
  grep -q '^NEW .*, host node-1, 2030' out
  # Shards of one plan: each row is of one node, and is not one of several.
  nodes .
  expect 0 merge part-*.jsonl -o all.jsonl
  expect 0 "$MPSWEEP" export all.jsonl
  grep -qxF "3 hosts: $all" out
}

@test "a fleet of equal nodes, and one that lacks points" {
  fleet 4 'if $n == 2 and .type == "point" and .id > 3 then empty else . end'
  expect 2 merge node-*.jsonl -o fleet.jsonl
  grep -q "^missing: points 4-5: 'node-2.jsonl'" out
  grep -q '^nodes: none stands out' out
  expect 2 merge node-[013].jsonl -o three.jsonl
  grep -q '^missing: no results file for nodes 2$' out
  grep -qE '^1 .* \(1\) +[0-9.]+ \(3\)$' out
}

@test "a shard continues with its own file, and with no other" {
  parts
  cp part-1.jsonl whole.jsonl
  head -n 2 whole.jsonl >part-1.jsonl
  expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --quiet --shard 1/3 -o 'part-{shard}.jsonl' --resume
  [ "$(jq -s 'map(select(.type == "point").id) | unique' part-1.jsonl)" = \
    "$(jq -s 'map(select(.type == "point").id) | unique' whole.jsonl)" ]
  [ "$(jq -s 'map(select(.type == "point")) | length' part-1.jsonl)" = \
    "$(jq -s 'map(select(.type == "point")) | length' whole.jsonl)" ]
  expect 0 merge part-*.jsonl -o all.jsonl
  refused "'part-1.jsonl' is of another part of the plan, and this is shard 2 of 3" \
    "$MPSWEEP" sweep "${PLAN[@]}" --quiet --shard 2/3 -o part-1.jsonl --resume
  refused "and this is shard 1 of 3" \
    "$MPSWEEP" sweep "${PLAN[@]}" --quiet --shard 1/3 --reference 2 -o part-1.jsonl --resume
  refused "and this is a whole plan" "$MPSWEEP" sweep "${PLAN[@]}" --quiet -o part-1.jsonl --resume
}

@test "a shard that continues on another GPU measures its points for reference again" {
  parts
  local reference
  reference=$(head -1 part-1.jsonl | jq '.shard.reference_points | tonumber')
  jq -c 'if .type == "header" then .gpu.uuid = "GPU-elsewhere" else . end' part-1.jsonl >moved.jsonl
  mv moved.jsonl part-1.jsonl
  expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --quiet --shard 1/3 -o part-1.jsonl --resume
  says "'part-1.jsonl' was begun on another machine \(GPU: GPU-elsewhere -> GPU-.*\): points for reference are measured again"
  [ "$(jq -s -c 'map(select(.resumed)) | length' part-1.jsonl)" -eq 1 ]
  [ "$(tail -n 2 part-1.jsonl | head -1 | jq .id)" -eq "$reference" ]
  expect 0 merge part-*.jsonl -o all.jsonl
  head -1 all.jsonl | jq -e '[.merged[].gpu.uuid] | length == 4 and contains(["GPU-elsewhere"])'
}

@test "--shard: what it takes, and that one file is not written by all" {
  refused "'3/3' is not a shard: it is I/N" "$MPSWEEP" sweep "${PLAN[@]}" --shard 3/3
  refused "shard auto needs a task of Slurm" "$MPSWEEP" sweep "${PLAN[@]}" --shard auto
  refused "fleet needs --shard" "$MPSWEEP" sweep "${PLAN[@]}" --fleet
  refused "\{shard\} needs --shard" "$MPSWEEP" sweep "${PLAN[@]}" -o '{shard}.jsonl'
  refused "unknown placeholder '\{gpu\}'" "$MPSWEEP" sweep "${PLAN[@]}" --shard 0/2 -o '{gpu}.jsonl'
  export SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_COUNT=3
  refused "3 tasks would all write 'x.jsonl': put \{shard\} into the name" \
    "$MPSWEEP" sweep "${PLAN[@]}" --shard auto -o x.jsonl
  expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --shard auto -o '{shard}.jsonl' --list
  [ "$(cut -f1 out | sort -n | jq -s -c .)" = "$(ids "$MADE/part-1.jsonl")" ]
  expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --shard 1/3 --fleet --list
  [ "$(wc -l <out)" -eq 6 ]
  expect 0 "$MPSWEEP" sweep "${PLAN[@]}" --shard 1/3 --dry-run
  grep -q '^shard:    shard 1 of 3, . points of 6, 1 of them for reference$' out
}
