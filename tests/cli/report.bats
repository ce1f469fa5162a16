#!/usr/bin/env bats
# A page of results: what stands in it, what does not get into it, and what a browser makes of it.

load helper
load figures

RESULTS=$MPSWEEP_SOURCE_DIR/docs/results

# page FILES...: report.html of them, without a word.
page() {
  expect 0 "$MPSWEEP" report "$@" -o report.html || return 1
  [ ! -s out ] && [ ! -s err ] || fail "it printed:" "$(cat out err)"
}

# holds WORDS...: each stands in the page.
holds() {
  local words
  for words in "$@"; do
    grep -qF -e "$words" report.html || fail "the page lacks: $words" || return 1
  done
}

# The cells of the row of point $1, a line each.
row_of() {
  sed -nE "/^<tr[^>]*><td>$1<\\/td>/p" report.html | sed -E 's/<\/t[dh]>/\n/g; s/<[^>]*>//g' |
    sed -E 's/<[^>]*>//g'
}

@test "a page of a tune: the winner, its ceiling, all points, figures, the machine" {
  needs_gnuplot
  page "$RESULTS/h200-tune.jsonl"
  holds '<h3>hybrid 4×64, pinned, graph, block</h3>' '<strong>19008</strong> iterations/s' \
    'Point 2046, the winner of the tuning.' 'of what <strong>arithmetic</strong> allows' \
    '<th scope="row">processes+mps 16×1, pinned</th><td>3236</td><td>5.87×</td>' \
    '<pre>mpsweep explain ' '<figure id="f0-search">' '<figure id="f0-ceilings">' '<dd>NVIDIA H200</dd>' 'best: hybrid 4×64'
  [ "$(grep -c '^<tr[^>]*><td>' report.html)" -eq "$(jq -s 'map(select(.type == "point").id) | unique | length' \
    "$RESULTS/h200-tune.jsonl")" ]
  grep '^<tr class="best"><td>2046</td>' report.html
  [ "$(row_of 80 | sed -n '2,9p' | paste -sd '|')" = \
    'threads 1×16, pinned|1988|±0.5%|9.765|2261|hardware queues|87.9%|ok' ]
}

@test "what one would have had without a search is marked where it is unconverged" {
  needs_gnuplot
  page "$RESULTS/h100-tune-150s-http-2.jsonl"
  holds 'threads 1×1, python3, highest rate with p99 under 50 ms</th><td>362.2</td><td>7.52×, unconverged</td>'
}

@test "a rate that was looked at in short is marked as the least that a layout holds" {
  needs_gnuplot
  local name=$RESULTS/h100-tune-150s-http-1.jsonl
  page "$name"
  absent '<td>≥\|<td>≤' report.html
  jq -c 'if .id == 0 then .rate.failed_ips = 700 else . end' "$name" >look.jsonl
  page look.jsonl
  holds '<td>≥388.5</td><td>≤5.02×</td>' '<p class="note">≥: looked at in short, it holds at least that rate.</p>'
  [ "$(row_of 0 | sed -n 3p)" = '≥388.5' ]
  # It sorts by the number.
  grep -qF 'replace(/[±≥]/, "")' report.html
}

@test "what would lift the ceiling has its options, apart from the command that measures again" {
  needs_gnuplot
  jq -c 'select(.type != "point" or (.layout == "threads" and .threads == 16 and .connections == 8))' \
    "$RESULTS/h200-explain.jsonl" >limited.jsonl
  page limited.jsonl
  sed -n '/class="winner"/,/<\/section>/p' report.html >best
  sed -n '/^<p>What would lift it: .*:<\/p>$/,/^<pre>mpsweep/p' best | sed 's/ --layout .*//' >shown
  [ "$(sed 1d shown)" = '<pre>--connections 16</pre>
<p>Measure it again:</p>
<pre>mpsweep sweep' ]
}

@test "better points that are not taken are named beside the best" {
  needs_gnuplot
  file r.jsonl <<<'{"throughput_ips": 774}
{"status": "unconverged", "threads": 2, "throughput_ips": 1463, "ci95_rel": 0.56847}'
  page r.jsonl
  # Rounded as in tables.
  [ "$(row_of 1 | sed -n 4p)" = ±56.9% ]
  holds '<h3>threads 1×1, pinned' \
    '<p>Better, but not taken: point 1, threads 1×2, pinned, with <strong>1463</strong> iterations/s, is unconverged.</p>'
}

@test "an unconverged point is the best where its whole interval lies above that of all others" {
  needs_gnuplot
  page "$RESULTS/h200-repeat-1.jsonl"
  # The best one that is ok has 573 iterations/s.
  holds '<h3>hybrid 16×2, ' '<strong>3918</strong> iterations/s' \
    'Point 21, the highest throughput of the file; unconverged, but surely more than those that are ok.'
  grep '^<tr class="best"><td>21</td>' report.html
  absent 'not taken' report.html
}

@test "without a point that is ok the best one is marked as unconverged, but not of a tuning" {
  needs_gnuplot
  file r.jsonl <<<'{"status": "unconverged"}
{"status": "unconverged", "threads": 2, "throughput_ips": 2000}
{"status": "failed", "threads": 3}'
  page r.jsonl
  holds '<h3>threads 1×2, pinned' 'Point 1, the highest throughput, but unconverged, and no point is ok: more --rounds' \
    '--point 1 --target env'
  echo '{"type":"tune","verdict":"none","constraints":{"max_p99_us":2000}}' >>r.jsonl
  page r.jsonl
  holds '<h3>No best layout</h3>'
}

@test "the command of a point measures the same point" {
  needs_gnuplot
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:2 -l hybrid:2x2 --memory pageable --launch graph \
    --connections 4 -q -o r.jsonl
  page r.jsonl
  local id command
  for id in 0 1; do
    command=$(row_of $id | sed -n '10p')
    [[ $command == "mpsweep sweep --device emulated --layout "*" --warmup 0.02"* ]]
    # shellcheck disable=SC2086 # its words need no quotes
    expect 0 "$MPSWEEP" ${command#mpsweep } -q -o "again-$id.jsonl"
    diff <(jq -c 'select(.type == "point" and .id == '$id') |
      [.layout, .processes, .threads, .memory, .launch, .connections, .kernels, .bytes]' r.jsonl) \
      <(jq -c 'select(.type == "point") |
      [.layout, .processes, .threads, .memory, .launch, .connections, .kernels, .bytes]' "again-$id.jsonl")
  done
  holds 'EMULATED GPU'
}

@test "the command of a described workload's point has its job file" {
  needs_gnuplot
  mkdir 'my jobs'
  printf '%s\n' '[workload det]' 'step = kernel cycles=1000' '[global]' 'workload = det' 'memory = pageable,pinned' \
    'layout = threads:1,2' >'my jobs/d.job'
  expect 0 "$MPSWEEP" sweep 'my jobs/d.job' "${TINY[@]}" -q -o r.jsonl
  local id command
  id=$(jq 'select(.type == "point" and .threads == 2 and .memory == "pinned").id' r.jsonl)
  command=$(command_of r.jsonl "$id")
  [[ $command == "mpsweep sweep 'my jobs/d.job' --device emulated --layout threads:2 --memory pinned --workload det --"* ]]
  eval "expect 0 \"\$MPSWEEP\" ${command#mpsweep } -q -o again.jsonl"
  points 'length == 1 and (.[0] | .threads == 2 and .memory == "pinned" and .workload == "det")' again.jsonl
  # Another section of it would be measured, too.
  printf '[%s]\nlayout = processes:1\n' one two | cat 'my jobs/d.job' - >two.job
  expect 0 "$MPSWEEP" sweep two.job "${TINY[@]}" -l threads:1 --memory pinned -q -o two.jsonl
  [ "$(command_of two.jsonl 0)" = 'its job file' ]
}

# command_of FILE ID: what measures the point again, without entities.
command_of() {
  page "$1" && row_of "$2" | sed -n 10p | sed "s/&#39;/'/g; s/&quot;/\"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g"
}

@test "a rate that was searched is known to a step of the search" {
  needs_gnuplot
  page "$RESULTS/h100-tune-150s-http-1.jsonl"
  holds '<strong>1950</strong> iterations/s (1854 to 2049, a step of the search), p99'
  [ "$(row_of 110 | sed -n 4p)" = '±5.0%' ]
  # A look leaves it to the finals to narrow the rate.
  jq -c 'if .type == "tune" then empty elif .id == 110 then .tune.stage = "look" | .rate.failed_ips = 2500
    else . end' "$RESULTS/h100-tune-150s-http-1.jsonl" >look.jsonl
  page look.jsonl
  [ "$(row_of 110 | sed -n 4p)" = – ]
}

@test "the command of a server's point has what the server is asked, and the rate that tune found" {
  needs_gnuplot
  local name=$RESULTS/h100-tune-150s-http-1.jsonl
  [ "$(command_of "$name" 110)" = "mpsweep $(jq -r 'select(.type == "tune").winner.options' "$name")" ]
  # A sweep searches its rate again.
  [[ $(command_of "$RESULTS/h200-open-loop.jsonl" 8) == *' --rate max-under-p99=25000.000us --arrival poisson '* ]]
  file r.jsonl '.workload = {name: "srv", argv: ["srv", "{port}"]} | .options.sweep = {server: "yes",
      ready: "http://127.0.0.1:{port}/ok", request: "POST http://127.0.0.1:{port}/", header: "A: b c",
      body: "my body", expect: "200", "request-timeout": "2.5", port: "30000", timeout: "600", tick: "auto",
      "program-log": "log", seed: "7"}' <<<'{"workload": "srv", "launch": null, "memory": null}'
  jq -c 'del(.launch, .memory, .sync, .schedule, .kernels, .blocks, .threads_per_block, .spin, .bytes)' \
    r.jsonl >all.jsonl
  [ "$(command_of all.jsonl 0)" = "mpsweep sweep --layout threads:1 --server --ready \
'http://127.0.0.1:{port}/ok' --request 'POST http://127.0.0.1:{port}/' --header 'A: b c' --body 'my body' \
--expect 200 --request-timeout 2.5 --port 30000 --timeout 600 -- srv '{port}'" ]
  # What a file lacks is left out.
  jq -c 'del(.options.sweep["body", "header", "ready", "port", "timeout", "expect"])' all.jsonl >some.jsonl
  [ "$(command_of some.jsonl 0)" = "mpsweep sweep --layout threads:1 \
--server --request 'POST http://127.0.0.1:{port}/' --request-timeout 2.5 -- srv '{port}'" ]
  # What explain refuses is not recommended.
  jq -c 'if .type == "point" then .requests = {errors: 0, wrong: 0} else . end' all.jsonl >served.jsonl
  refused 'holds only points of servers' "$MPSWEEP" explain served.jsonl
  page served.jsonl
  absent 'mpsweep explain' report.html
  holds '<pre>mpsweep plot served.jsonl'
  jq -c 'del(.options)' all.jsonl >none.jsonl
  [ "$(command_of none.jsonl 0)" = "mpsweep sweep --layout threads:1 -- srv '{port}'" ]
}

@test "the same file gives the same bytes, and several files stand below each other" {
  needs_gnuplot
  page "$RESULTS/h200-open-loop.jsonl" "$RESULTS/h200-tune-p99.jsonl"
  mv report.html first.html
  page "$RESULTS/h200-open-loop.jsonl" "$RESULTS/h200-tune-p99.jsonl"
  cmp first.html report.html
  [ "$(grep -c '<article>' report.html)" -eq 2 ]
  holds 'the highest rate found with a p99 under 25 ms'
  # No two parts of the page have the same name, and each that is referred to is there.
  grep -oE " id=[\"'][^\"']+" report.html | sed -E "s/.*[\"']//" | sort >names
  uniq -d names | diff /dev/null -
  grep -oE "href=[\"']#[^\"']+" report.html | sed 's/.*#//' | sort -u | comm -23 - names | diff /dev/null -
}

@test "the page loads nothing" {
  needs_gnuplot
  page "$RESULTS/h200-forum.jsonl"
  holds "default-src 'none'"
  grep -oE '(https?:)?//[a-z][a-z0-9.]+' report.html | grep -vE '^http://www\.w3\.org$' | diff /dev/null -
  ! grep -qiE '<(link|img|iframe|object|embed)|@import|src=' report.html
}

@test "nothing from a file becomes a part of the page" {
  needs_gnuplot
  local bad='<script>x</script><img src=y>"&'"'"
  file bad.jsonl ".host = \"$(sed 's/"/\\"/' <<<"$bad")\" | .gpu.name = .host | .topology = .host" <<EOF
{"warnings": [{"kind": "k", "text": "$(sed 's/"/\\"/' <<<"$bad")"}]}
{"layout": "<script>z</script>", "threads": 2}
{"status": "failed", "error": "$(sed 's/"/\\"/' <<<"$bad")", "threads": 4}
EOF
  page bad.jsonl
  holds '&lt;script&gt;x&lt;/script&gt;&lt;img src=y&gt;&quot;&amp;&#39;'
  [ "$(grep -o '<script' report.html | wc -l)" -eq 1 ]
  absent '<img' report.html
  mv bad.jsonl '<script>w.jsonl'
  page '<script>w.jsonl'
  [ "$(grep -o '<script' report.html | wc -l)" -eq 1 ]
}

# many COUNT: results with that many points.
many() {
  jq -nc '{type: "header", schema: 1, mpsweep: "0.1.0", started: "2026-01-31T08:00:00Z", host: "h",
    cpus: 16, driver: "13.0", gpu: {name: "NVIDIA H200", uuid: "GPU-1", emulated: false}}'
  jq -nc --argjson count "$1" 'range($count) | {type: "point", id: ., layout: "hybrid", mps: true,
    processes: (. / 40 | floor + 1), threads: (. % 40 + 1), memory: "pinned", sync: "stream",
    launch: "stream", schedule: "auto", connections: 2, connections_default: true, bind: "near",
    kernels: 220, blocks: 5, threads_per_block: 64, spin: 3072, bytes: 1441792, status: "ok",
    throughput_ips: (1000 + . * 7 % 919), ci95_rel: 0.01,
    latency_us: {p50: 1000, p90: 1100, p99: 1200, max: 1300, mean: 1000},
    phase_us: {h2d: 20, launch: 660, sync: 200, d2h: 10}}
    | .workers = .processes * .threads'
}

@test "a page of a thousand points is at most two million bytes" {
  needs_gnuplot
  many 1000 >many.jsonl
  page many.jsonl
  [ "$(grep -c '^<tr[^>]*><td>' report.html)" -eq 1000 ]
  [ "$(stat -c %s report.html)" -le 2000000 ]
}

@test "what has nothing to report is refused, and an older page stays" {
  echo old >report.html
  file empty.jsonl </dev/null
  refused "'empty.jsonl' holds no points to report" "$MPSWEEP" report empty.jsonl -o report.html
  refused "cannot open 'missing.jsonl'" "$MPSWEEP" report missing.jsonl -o report.html
  refused "'report.svg' is not a name for a report: name it .html" "$MPSWEEP" report empty.jsonl -o report.svg
  refused 'report needs --output FILE' "$MPSWEEP" report empty.jsonl
  refused 'report needs a results file' "$MPSWEEP" report -o report.html
  [ "$(cat report.html)" = old ]
}

@test "a disk that is full long before the page ends is reported as that; an older page stays" {
  needs_gnuplot
  echo old >report.html
  limited() (ulimit -f 64 && "$@")
  refused "cannot write 'report.html': File too large" \
    limited "$MPSWEEP" report "$RESULTS/h200-explain.jsonl" -o report.html
  [ "$(cat report.html)" = old ]
}

@test "a file without a number, and one of probes alone" {
  needs_gnuplot
  file failed.jsonl <<<'{"status": "failed", "error": "it broke"}'
  page failed.jsonl
  holds 'No best layout' 'failed: it broke'
  absent 'mpsweep explain' report.html
  # That is an option of another command.
  absent '[-][-]point' report.html
  page "$RESULTS/h200-probes.jsonl"
  holds '<figure id="f0-probe">'
  ! grep -q "<h3>Points" report.html
}

# browse SCRIPT: what the script notes with note() in a browser that shows report.html, in noted. What
# the browser complains about is an error.
browse() {
  command -v chromium >/dev/null || skip "no chromium here"
  {
    printf '%s\n' '<script>const notes = []; const note = (text) => notes.push(text);' \
      'addEventListener("error", (event) => note("error: " + event.message));</script>'
    cat report.html
    printf '<script>%s\ndocument.body.textContent = "NOTED" + notes.join("\\nNOTED");</script>\n' "$1"
  } >driven.html
  timeout $PATIENCE chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --disable-crash-reporter --no-first-run --user-data-dir="$WORK/browser" --enable-logging=stderr \
    --window-size=1280,1000 --dump-dom "file://$PWD/driven.html" >dom 2>complaints 3>&- || return 1
  ! grep CONSOLE complaints || return 1
  sed -nE 's/.*NOTED//p' dom | sed 's/<.*//' >noted
}

@test "in a browser the table sorts, the figure shows the winner, and nothing complains" {
  needs_gnuplot
  page "$RESULTS/h200-tune.jsonl"
  # shellcheck disable=SC2016 # of JavaScript
  browse '
    const table = document.querySelector("table.points"), heads = table.tHead.rows[0].cells;
    const first = (column) => table.tBodies[0].rows[0].cells[column].textContent;
    const sort = (column) => heads[column].querySelector("button").click();
    note(first(0));
    sort(0); note(first(0) + " " + heads[0].getAttribute("aria-sort"));
    sort(2); sort(2); note(first(2) + " " + heads[2].getAttribute("aria-sort"));
    sort(1); note(first(1));
    const best = Array.from(document.querySelectorAll("#f0-search text"))
      .find((text) => text.textContent.includes("best: hybrid 4×64"));
    const box = best.getBoundingClientRect();
    const frame = document.querySelector("#f0-search .picture").getBoundingClientRect();
    note(box.width > 20 && box.left >= frame.left && box.right <= frame.right && box.top >= frame.top
      && box.bottom <= frame.bottom ? "shown" : "not shown");
    const picture = document.querySelector("#f0-search .picture"), svg = picture.querySelector("svg");
    const view = () => svg.getAttribute("viewBox").split(" ").map(Number);
    const whole = view()[2];
    const wheel = () => picture.dispatchEvent(new WheelEvent("wheel",
      { deltaY: -300, clientX: frame.left + 9, clientY: frame.top + 9, cancelable: true }));
    wheel(); note(view()[2] === whole ? "still" : "zoomed");
    picture.focus(); wheel(); note(view()[2] < whole ? "zoomed" : "still");
    picture.dispatchEvent(new MouseEvent("dblclick")); note(view()[2] === whole ? "whole" : "part");'
  local best
  best=$(jq -s 'map(select(.type == "point")) | group_by(.id) | map(last | select(.throughput_ips)) |
    max_by(.throughput_ips).id' "$RESULTS/h200-tune.jsonl")
  diff noted - <<EOF
$best
0 ascending
267.7 ascending
hybrid 2×32, pinned, graph, block
shown
still
zoomed
whole
EOF
}

@test "in a browser ten thousand points sort" {
  needs_gnuplot
  many 10000 >many.jsonl
  page many.jsonl
  browse 'document.querySelectorAll(".points thead button")[0].click();
    const rows = document.querySelector(".points").tBodies[0].rows;
    note(rows.length + " " + rows[0].cells[0].textContent + " " + rows[9999].cells[0].textContent);
    note(Array.from(rows).filter((row) => row.offsetHeight > 0).length);
    const more = document.querySelector("button.more");
    note(more.textContent);
    more.click();
    note(getComputedStyle(rows[9999]).display + " " + document.querySelectorAll("button.more").length);'
  [ "$(cat noted)" = '10000 0 9999
1000
Show all 10,000 points
table-row 0' ]
}

# -- mpsweep export --------------------------------------------------------------------------------

@test "export: the formats of a sweep, from its file" {
  expect 0 "$MPSWEEP" sweep --device emulated -q -l threads:1,2 --duration 0.05 --rounds 1 -o r.jsonl
  for format in table markdown csv json; do
    expect 0 "$MPSWEEP" sweep --resume --device emulated -q -l threads:1,2 --duration 0.05 --rounds 1 \
      -f $format -o r.jsonl
    grep threads out | sort >swept
    expect 0 "$MPSWEEP" export r.jsonl -f $format
    # A sweep adds what is best, and the commands that go on.
    [ -z "$(grep threads out | grep -v '"header"' | sort | comm -13 swept -)" ]
    [ "$(grep -c threads out)" -ge 2 ]
  done
  expect 0 "$MPSWEEP" export r.jsonl -f json
  [ "$(jq -r .type out | sort | uniq -c | awk '/point/ { print $1 }')" -eq 2 ]
  refused 'a results file' "$MPSWEEP" export
  refused 'openmetrics' "$MPSWEEP" export r.jsonl -f openmetric
}

@test "export: the head has the CPUs of those bindings that its points have" {
  file r.jsonl '.binding = {near: "CPUs 0-1", scatter: "CPUs 2-3", none: "CPUs 0-3"}' <<'P'
{"threads": 1}
{"threads": 2, "bind": "none"}
P
  expect 0 "$MPSWEEP" export r.jsonl
  [ "$(grep '^binding ' out)" = $'binding near: CPUs 0-1\nbinding none: CPUs 0-3' ]
}

@test "export: a rate that was searched is known to a step of the search" {
  expect 0 "$MPSWEEP" export "$RESULTS/h200-open-loop.jsonl"
  # A round at that rate has an interval of ±9.2%.
  grep -qE '^threads .* 1282 poisson p99<25 ms +1272 +±5\.0% ' out
  grep -qE '^threads .* 1600 poisson +1600 +±17\.4% ' out
  grep -qx 'rates    95% of one that was searched is a step of the search' out
  expect 0 "$MPSWEEP" export "$RESULTS/h200-open-loop.jsonl" -f csv
  [ "$(awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i } { print $column["ci95_rel"] }' out |
    tr '\n' ' ')" = 'ci95_rel 0.747 0.1744 0.05 0.5654 0.001106 0.05 0.7464 0.04338 0.05 ' ]
  expect 0 "$MPSWEEP" export "$RESULTS/h200-open-loop.jsonl" -f openmetrics
  grep -q '^mpsweep_point_half_width_ratio{point="5",.*} 0\.05$' out
  grep -q '^# HELP mpsweep_point_half_width_ratio .*of a searched rate, a step of the search' out
  expect 0 "$MPSWEEP" report "$RESULTS/h200-open-loop.jsonl" -o page.html
  grep -qF '>95% of a rate that was searched is a step of the search.<' page.html
  expect 0 "$MPSWEEP" report "$RESULTS/h200-forum.jsonl" -o page.html
  absent 'a step of the search' page.html
  # Looks of a tune leave it to the finals to narrow it.
  expect 0 "$MPSWEEP" export "$RESULTS/h100-tune-150s-http-1.jsonl"
  grep -qE '^hybrid .* 8×16 .* 2321 p99<50 ms +2322 +- ' out
  grep -qE '^hybrid .* 8×4 .* 1951.3 p99<50 ms +1950 +±5\.0% ' out
  expect 0 "$MPSWEEP" export "$RESULTS/h100-tune-150s-http-1.jsonl" -f openmetrics
  grep -q '^mpsweep_point_half_width_ratio{.*shape="8×4".*} 0\.05$' out
  absent '^mpsweep_point_half_width_ratio{.*shape="8×16".*}' out
}

@test "export: in the order of the plan" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -q -l threads:1-3 -o r.jsonl
  # As a later run may have measured them.
  jq -c -s '(map(select(.type == "point")) | sort_by(.id) | reverse) as $points
    | .[0], $points[], .[-1]' r.jsonl >reversed.jsonl
  expect 0 "$MPSWEEP" export reversed.jsonl -f json
  jq -s -e 'map(select(.type == "point").id) == [0, 1, 2]' out
  expect 0 "$MPSWEEP" export reversed.jsonl -f csv
  [ "$(cut -d , -f 3 out | tr '\n' ' ')" = 'threads 1 2 3 ' ]
}

# Lines that Prometheus does not take as a gauge, a comment or a value; and those that are there twice.
odd_metrics() {
  grep -vE '^# (TYPE [a-z_]+ gauge|HELP [a-z_]+ .+|EOF)$|^[a-z_]+(\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\})? [-+0-9.e]+$' "$1"
  sed 's/ [^ ]*$//' "$1" | grep -v '^#' | sort | uniq -d
  [ "$(tail -1 "$1")" = '# EOF' ] || echo 'no end'
}

@test "export: metrics that Prometheus takes, one of each point and quantile" {
  local file
  for file in h200-forum h200-open-loop h200-tune h200-question-b; do
    expect 0 "$MPSWEEP" export "$MPSWEEP_SOURCE_DIR/docs/results/$file.jsonl" --format openmetrics
    [ -z "$(odd_metrics out)" ] || fail "odd in $file:" "$(odd_metrics out | head)"
    grep -q '^mpsweep_point_iterations_per_second{.*layout="threads"' out
    grep -q '^mpsweep_point_latency_seconds{.*quantile="0.99"} 0\.' out
  done
  grep -q '^mpsweep_run{.*gpu="NVIDIA H200".*emulated="0"} 1$' out
  # A text of the file cannot end its label.
  jq -c 'if .type == "header" then .host = "a\"b\\c\nd" else . end' \
    "$MPSWEEP_SOURCE_DIR/docs/results/h200-open-loop.jsonl" >odd.jsonl
  expect 0 "$MPSWEEP" export odd.jsonl -f openmetrics
  [ -z "$(odd_metrics out)" ]
  grep -qF 'host="a' out
}
