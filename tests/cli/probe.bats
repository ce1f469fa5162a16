#!/usr/bin/env bats
# mpsweep probe: the verdict follows the effect, switched on and off in the emulated GPU; records,
# formats, failures, interrupts, and what is not taken.

load helper
load probe

# -- verdicts --------------------------------------------------------------------------------------

@test "copy-block: observed where the copy keeps the launch lock, with what stops it" {
  PROBE=copy-block
  says_of observed
  holds '.effect.arm == "legacy-pageable" and .effect.control == "legacy-pinned"' r.jsonl
  holds '.effect.metric == "launch call" and .effect.unit == "us" and .effect.value > 90000' r.jsonl
  holds '.effect.ci95[0] > .effect.matters_ratio and .effect.ratio < .effect.ci95[1]' r.jsonl
  # Each of those launches hung until it was released; no other one did.
  holds '.arms[] | select(.arm == "legacy-pageable") | .samples == 9 and .blocked == 9' r.jsonl
  holds '.arms | map(select(.arm != "legacy-pageable")) | length == 5 and all(.blocked == 0)' r.jsonl
  holds '.remedy | test("pinned memory")' r.jsonl
  holds '(.remedy_arm == "legacy-pinned" or .remedy_arm == "own-pageable") and .remedy_gain > 20' r.jsonl
  grep -q '^verdict: observed: with legacy-pageable the launch call takes [0-9.]* m\?s' out
  tr -s '\n ' '  ' <out | grep -q '; 9 of 9 hung until a watchdog released them remedy: copy to pinned memory'
  grep -q 'legacy-pageable .* 9 of 9 .* observed' out
  grep -q '^EMULATED GPU' out
  [ ! -s err ]
}

@test "copy-block: not observed where it does not" {
  PROBE=copy-block
  judged off 'not observed'
  holds '.remedy == null and .error == null and (has("remedy_gain") | not)' r.jsonl
  holds '.arms | all(.blocked == 0 and .status == "ok")' r.jsonl
  absent '^remedy' out
}

DELAY=(--arms 'pageable-1m,pinned-1m,process-1m,mps-1m,batch-1m')

launches_are_delayed() {
  says_of observed "${DELAY[@]}" &&
    holds '.effect.arm == "pageable-1m" and .effect.control == "alone"' r.jsonl &&
    holds '.arms[] | select(.arm == "process-1m") | .verdict == "not observed"' r.jsonl
}

@test "launch-delay: observed where copies of another thread delay launches" {
  PROBE=launch-delay
  judged launches_are_delayed
  # The case is that of the list, since the probe's own is not in it; controls come by themselves.
  holds '.arms | map(.arm) | contains(["alone", "alone-mps", "alone-batch"])' r.jsonl
  holds '.arms | length == 8 and all(.samples > 0 and .median_us > 0 and .p99_us >= .median_us)' r.jsonl
  # No number over MPS without proof.
  holds '.arms[] | select(.arm == "mps-1m") | .mps and .processes == 2
    and .attached == {expected: 2, seen: 2}' r.jsonl
  holds '.arms | map(select(.mps | not)) | all(has("attached") | not)' r.jsonl
  holds '.arms[] | select(.arm == "pageable-1m") | .x == 1048576 and (.series | length > 0)' r.jsonl
  # As they were timed: what is scaled leaves the geometric mean of a group's levels where it is.
  holds '.arms | all(.dropped == 0 and .unscaled.median_us > 0 and
    .unscaled.p99_us >= .unscaled.median_us and .unscaled.max_us >= .unscaled.p99_us)' r.jsonl
}

larger_are_delayed() {
  says_of observed --arms pageable-16m,pinned-1m &&
    holds '.effect.arm == "pageable-16m"' r.jsonl
}

@test "launch-delay: smaller copies are no remedy for larger ones" {
  PROBE=launch-delay
  judged larger_are_delayed
  holds '.remedy != null and (has("remedy_arm") | not)' r.jsonl
}

@test "launch-delay: not observed where they do not" {
  PROBE=launch-delay
  judged off 'not observed' --arms pageable-1m,batch-1m
}

@test "lazy-load: observed where a first launch waits for a copy, and not where it does not" {
  PROBE=lazy-load
  says_of observed --arms lazy-waiting,eager-waiting,warm-waiting
  holds '.effect.arm == "lazy-waiting" and (.remedy_arm | IN("eager-waiting", "warm-waiting"))' r.jsonl
  holds '.arms | length == 6' r.jsonl
  says_of observed --arms lazy-copy
  holds '.effect.arm == "lazy-copy"' r.jsonl
  says_of observed --arms lazy-waiting
  holds '.arms[] | select(.arm == "lazy-waiting") | .blocked == .samples and .samples == 24' r.jsonl
  judged off 'not observed' --arms lazy-copy
}

@test "a few that hang are not nothing" {
  # One launch in eight, which no median shows.
  MPSWEEP_EMUL_EFFECTS=-lazy-load MPSWEEP_EMULATED_FAULT='cuLaunchKernel#3=slow:80' expect 2 \
    "$MPSWEEP" probe lazy-load "${QUICK[@]}" -o r.jsonl --arms lazy-waiting
  [ "$(verdict r.jsonl lazy-load)" = inconclusive ]
  holds '.error == "some hung, however long the median is"' r.jsonl
  holds '.arms[] | select(.arm == "lazy-waiting") | .verdict == "inconclusive"
    and .blocked >= 1 and .blocked < .samples / 2' r.jsonl
}

# -- records and formats ---------------------------------------------------------------------------

@test "one record a probe, as documented, between header and footer" {
  PROBE=copy-block
  says_of observed --format json --arms legacy-pageable
  cmp r.jsonl out
  assert_whole r.jsonl
  [ "$(jq -r .type r.jsonl | xargs)" = 'header probe footer' ]
  of_type header '.schema == 1 and .gpu.emulated and .probes == ["copy-block"]' r.jsonl
  of_type footer '.status == 0 and .probes == {observed: 1}' r.jsonl
  # Every field is in the table of the documentation, and the other way round.
  awk -f "$MPSWEEP_SOURCE_DIR/tests/cli/record-types.awk" \
    "$MPSWEEP_SOURCE_DIR/docs/results-format.md" | awk '$1 == "probe" { print $2, $3 }' >fields
  [ "$(wc -l <fields)" -gt 10 ]
  jq -r 'select(.type == "probe") | keys[]' r.jsonl >keys
  while read -r key; do grep -q "^$key " fields || fail "not documented: $key"; done <keys
  while read -r field optional; do
    [ "$optional" = yes ] || grep -qx "$field" keys || fail "not there: $field"
  done <fields
  # And of an arm.
  jq -r 'select(.type == "probe") | .arms[] | keys[]' r.jsonl | sort -u >keys
  while read -r key; do
    grep -q "\`$key\`" "$MPSWEEP_SOURCE_DIR/docs/results-format.md" || fail "not documented: $key"
  done <keys
}

@test "CSV: a line an arm" {
  expect 0 "$MPSWEEP" probe copy-block "${QUICK[@]}" --format csv --arms own-pageable
  [ "$(wc -l <out)" -eq 3 ]
  [ "$(sed 's/[^,]//g' out | sort -u | wc -l)" -eq 1 ]
  grep -qE '^copy-block,not observed,own-pageable,own-pinned,1,no,ok,[0-9]+,0,[0-9.]+' out
  grep -qE '^copy-block,not observed,own-pinned,,1,no,ok,' out
}

@test "the list: what there is, and what each does" {
  expect 0 "$MPSWEEP" probe --list
  grep -q '^copy-block: does a device-to-host copy' out
  grep -q '^launch-delay: ' out
  grep -q '^lazy-load: ' out
  grep -qE '^    legacy-pinned +pinned copy .*\(control\)$' out
  grep -qE '^    mps-256m .*\(over MPS\)$' out
  grep -qE '^    pageable-4k .*\(only with --arms\)$' out
  expect 0 "$MPSWEEP" probe lazy-load --list
  absent '^copy-block' out
}

@test "figures of what was found" {
  needs_gnuplot
  # Whatever the verdict is.
  "$MPSWEEP" probe launch-delay "${QUICK[@]}" -o r.jsonl --arms pageable-4k,pageable-64k || [ $? -eq 2 ]
  for figure in probe probe-series; do
    expect 0 "$MPSWEEP" plot r.jsonl --figure $figure -o a.svg
    [ ! -s err ]
    grep -q 'EMULATED GPU' a.svg
    expect 0 "$MPSWEEP" plot r.jsonl --figure $figure -o a.gp
    gnuplot -c "$MPSWEEP_SOURCE_DIR/plots/$figure.gp" a.gp hand.svg 2>warnings 3>&-
    [ ! -s warnings ]
    cmp a.svg hand.svg
  done
  grep -q 'bytes of a copy' a.svg
  refused "'r.jsonl' has no measured point to plot" "$MPSWEEP" plot r.jsonl --figure throughput -o b.svg
  # It is what there is to draw.
  expect 0 "$MPSWEEP" plot r.jsonl -o b.svg
  expect 0 "$MPSWEEP" plot r.jsonl --figure probe -o a.svg
  cmp a.svg b.svg
}

@test "a file of probes: commands for points name what it holds, and what draws it" {
  cp "$MPSWEEP_SOURCE_DIR/docs/results/h200-probes.jsonl" p.jsonl
  local words
  for words in 'explain p.jsonl' 'emit p.jsonl --target env -o d' \
    'compare p.jsonl p.jsonl' "compare $MPSWEEP_SOURCE_DIR/tests/data/h200-sample.jsonl p.jsonl"; do
    # shellcheck disable=SC2086 # words
    refused "^mpsweep: 'p.jsonl' holds probes, and no points: 'mpsweep export FILE' prints them, 'mpsweep plot FILE -o IMAGE' draws them$" \
      "$MPSWEEP" $words
  done
  [ ! -e d ]
}

@test "a file of probes is exported as the probes were printed" {
  local file=$MPSWEEP_SOURCE_DIR/docs/results/h200-probes.jsonl arms
  arms=$(jq 'select(.type == "probe") | [(.arms | length), 1] | max' "$file" | awk '{ sum += $1 } END { print sum }')
  expect 0 "$MPSWEEP" export "$file" -f csv
  [ "$(wc -l <out)" -eq $((1 + arms)) ]
  head -1 out | grep -q '^probe,probe_verdict,arm,control,processes,mps,status,samples,'
  diff <(sed 1d out | cut -d , -f 1 | uniq) <(jq -r 'select(.type == "probe") | .probe' "$file")
  expect 0 "$MPSWEEP" export "$file"
  grep -qE '^arm .* median +95% +p99 .* verdict' out
  [ "$(grep -c '^verdict: ' out)" -eq "$(grep -c '"type":"probe"' "$file")" ]
  expect 0 "$MPSWEEP" export "$file" -f markdown
  grep -q '^| arm | ' out
  expect 0 "$MPSWEEP" export "$file" -f json
  diff <(jq -Sc . out) <(jq -Sc . "$file")
  refused 'holds probes: there are metrics of points only' "$MPSWEEP" export "$file" -f openmetrics
}

@test "figures of what is nearly the same have numbers on their axes" {
  needs_gnuplot
  "$MPSWEEP" probe launch-delay "${QUICK[@]}" -o r.jsonl --arms pageable-4k,pageable-64k || [ $? -eq 2 ]
  jq -c 'if .type == "probe" then .arms |=
    map(.median_us = 12.1 | .ci95_us = [12.05, 12.15] | .p99_us = 12.2) else . end' r.jsonl >s.jsonl
  for figure in probe probe-series; do
    expect 0 "$MPSWEEP" plot s.jsonl --figure $figure -o $figure.svg
    [ "$(grep -cE '>1[123] µs<' $figure.svg)" -ge 2 ]
  done
}

@test "an arm whose control failed is not drawn as a control" {
  # Of the two only the control has pinned memory.
  MPSWEEP_EMULATED_FAULT='cuMemHostAlloc=error:2' expect 2 "$MPSWEEP" probe copy-block "${QUICK[@]}" \
    -o r.jsonl --arms own-pageable
  holds '.arms | map(.status) == ["ok", "failed"]' r.jsonl
  expect 0 "$MPSWEEP" plot r.jsonl --figure probe -o a.gp
  # The last column is the kind: 4 has no verdict.
  grep -A 1 '^[$]arms << EOD' a.gp | grep -qE '^2 .* 4$'
}

# -- what goes wrong -------------------------------------------------------------------------------

@test "an arm that fails: inconclusive, and why" {
  MPSWEEP_EMULATED_FAULT='cuLaunchKernel#3=error:719' expect 2 \
    "$MPSWEEP" probe copy-block "${QUICK[@]}" -o r.jsonl --arms legacy-pageable
  [ "$(verdict r.jsonl copy-block)" = inconclusive ]
  holds '.error | test("CUDA_ERROR_LAUNCH_FAILED")' r.jsonl
  holds '.arms | all(.status == "failed" and (has("median_us") | not))' r.jsonl
  tail -1 r.jsonl | jq -e '.status == 2 and .probes == {inconclusive: 1}'
  MPSWEEP_EMULATED_FAULT='cuLaunchKernel#3=crash' expect 2 \
    "$MPSWEEP" probe copy-block "${QUICK[@]}" -o s.jsonl --arms legacy-pageable
  holds '.error | test("killed by signal 11")' s.jsonl
}

@test "a copy that fails does not keep its host function waiting" {
  # Neither the copy, nor what comes before there is one. The function itself gives up after 5 s.
  local call
  for call in cuMemcpyDtoHAsync cuEventRecord; do
    MPSWEEP_EMULATED_FAULT=$call=error:719 expect 2 "$MPSWEEP" probe copy-block "${QUICK[@]}" \
      -o $call.jsonl --arms legacy-pageable
    holds ".arms | length == 2 and all(.error | test(\"^$call: .*719\"))" $call.jsonl
    holds '.seconds < 5' $call.jsonl
  done
}

@test "an arm whose copies fail does not wait for more of them" {
  # In the thread that copies: its first call, and a copy.
  local fault
  for fault in cuCtxSetCurrent#2 cuMemcpyDtoHAsync#3; do
    rm -f r.jsonl s.jsonl
    MPSWEEP_EMULATED_FAULT=$fault=error:700 expect 2 timeout $PATIENCE "$MPSWEEP" probe launch-delay \
      "${QUICK[@]}" --timeout 3600 -o r.jsonl --arms pageable-64k
    holds '.error | test("^pageable-64k: cu.*700")' r.jsonl
    MPSWEEP_EMULATED_FAULT=$fault=error:700 expect 2 timeout $PATIENCE "$MPSWEEP" probe lazy-load \
      "${QUICK[@]}" --timeout 3600 -o s.jsonl --arms lazy-copy
    holds '.error | test("^lazy-copy: cu.*700")' s.jsonl
  done
}

@test "an arm that hangs is ended, and the others are measured" {
  # Only who copies makes a second stream.
  MPSWEEP_EMULATED_FAULT='cuStreamCreate#2=hang' expect 2 "$MPSWEEP" probe launch-delay "${QUICK[@]}" \
    --timeout 10 -o r.jsonl --arms pageable-64k
  holds '.arms | map(.arm + " " + .status) == ["alone ok", "pageable-64k failed"]' r.jsonl
  holds '.error | test("pageable-64k: it did not get ready in time")' r.jsonl
}

@test "an arm that is late is reported" {
  MPSWEEP_EMULATED_FAULT=cuInit=slow:400@0 expect 2 "$MPSWEEP" probe copy-block "${QUICK[@]}" \
    --timeout 0.2 -o r.jsonl --arms own-pageable
  holds '.error | test("^own-pageable: .*: 0.2 s were over")' r.jsonl
}

@test "without MPS the rest is measured, and the reason is printed" {
  daemon_is 'daemon=reply:no GPU for you'
  MPSWEEP_LIBEXEC_DIR=$WORK/programs expect 0 "$MPSWEEP" probe launch-delay "${QUICK[@]}" \
    -o r.jsonl --arms mps-1m
  [ "$(verdict r.jsonl launch-delay)" = 'needs MPS' ]
  holds '.arms | all(.status == "not here" and (.error | test("needs MPS: ")))' r.jsonl
}

@test "a program that cannot be run is a failure, and not for lack of MPS" {
  programs_but mpsweep-probe
  printf '#!/none/such\n' >"$WORK/programs/mpsweep-probe"
  chmod +x "$WORK/programs/mpsweep-probe"
  MPSWEEP_LIBEXEC_DIR=$WORK/programs expect 2 "$MPSWEEP" probe copy-block "${QUICK[@]}" \
    -o r.jsonl --arms own-pageable
  [ "$(verdict r.jsonl copy-block)" = inconclusive ]
  holds '.arms | all(.status == "failed" and (.error | test("cannot run .*mpsweep-probe")))' r.jsonl
}

@test "a process that is not a client of the daemon gives no number" {
  MPSWEEP_EMULATED_FAULT=attach=skip@1 expect 2 "$MPSWEEP" probe launch-delay "${QUICK[@]}" \
    -o r.jsonl --arms mps-1m
  holds '.arms[] | select(.arm == "mps-1m") | .status == "failed"
    and (.error | test("not attached to the MPS daemon"))' r.jsonl
}

@test "nor does one that the daemon does not know" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  # The first answer is about the client with which a daemon shows that it is ready.
  daemon_is 'get_client_list#2=empty'
  expect 2 "$MPSWEEP" probe launch-delay "${QUICK[@]}" -o r.jsonl --arms mps-1m
  holds '.arms | map(select(.status == "failed")) | length == 1 and
    (.[0].error | test("^([12] of [12] process(es)? (is not a client|are not clients)) of the MPS daemon"))' r.jsonl
}

@test "a round that the deadline cut short is none" {
  # It does end on request, and has samples by then.
  MPSWEEP_EMULATED_FAULT='cuStreamSynchronize#30=slow:2500' expect 2 "$MPSWEEP" probe launch-delay \
    "${QUICK[@]}" --timeout 1 -o r.jsonl --arms alone,pageable-64k
  of_type probe '.arms | map(select(.arm == "alone"))[0] |
    .status == "failed" and (.error | test("^not finished after 1 s \\(--timeout\\)$"))' r.jsonl
}

# -- its end ---------------------------------------------------------------------------------------

arm_processes() { children_named "$PID" mpsweep-probe; }
has_arm() { [ -n "$(arm_processes)" ]; }

@test "interrupted: finished probes are kept, and nothing is left" {
  holding cuModuleGetLoadingMode=hold
  start "$MPSWEEP" probe all --device emulated -q --rounds 2 -o r.jsonl --arms own-pageable,lazy-copy
  await $PATIENCE is_held
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  assert_whole r.jsonl
  [ "$(jq -r .type r.jsonl | xargs)" = 'header probe footer' ]
  tail -1 r.jsonl | jq -e '.status == 130'
  says interrupted
}

# so_many COUNT: that many processes have been started.
so_many() {
  arm_processes >>seen
  [ "$(sort -u seen | wc -w)" -ge "$1" ]
}

@test "interrupted: the rounds that were finished give a verdict" {
  start "$MPSWEEP" probe copy-block --device emulated --rounds 100 -o r.jsonl --arms own-pageable
  # Two arms, so that there are three rounds.
  await $PATIENCE so_many 7
  kill -TERM "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  assert_whole r.jsonl
  [ "$(jq -r .type r.jsonl | xargs)" = 'header probe footer' ]
  of_type probe '.ended_early == "interrupted" and .effect.ratio > 0 and (.verdict | length) > 0
    and (.arms | length) == 2 and all(.arms[]; .status == "ok" and .rounds >= 3 and .rounds < 100
      and .median_us > 0)' r.jsonl
  of_type footer '.status == 130 and ([.probes[]] | add) == 1' r.jsonl
  grep -q '^verdict: ' out
  tr -s ' \n' ' ' <out | grep -q 'it ended early (interrupted), so that this is from the rounds'
}

@test "interrupted before an arm was measured: what there is, and no verdict" {
  # Pinned memory comes second with this seed, and is what never comes.
  holding cuMemHostAlloc=hold
  start "$MPSWEEP" probe copy-block --device emulated --rounds 3 --seed 3 -o r.jsonl --arms own-pageable
  await $PATIENCE is_held
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  of_type probe '.verdict == "inconclusive" and .effect == null and .ended_early == "interrupted"
    and .error == "own-pinned: no round of it was measured"
    and (.arms | map({(.arm): .status}) | add) == {"own-pageable": "ok", "own-pinned": "interrupted"}
    and .arms[0].rounds == 1' r.jsonl
}

@test "killed: its processes end, also those that hang in a launch" {
  MPSWEEP_EMULATED_FAULT='cuLaunchKernel#2=hang' start "$MPSWEEP" probe copy-block \
    --device emulated -q -o r.jsonl
  await $PATIENCE has_arm
  kill -KILL "$PID"
  finish
  await $LEFTOVER_PATIENCE no_own_process
}

# -- what is not taken -----------------------------------------------------------------------------

@test "bad input: one line with what would be right" {
  refused "probe needs a name: one of launch-delay, copy-block, .*or all$" "$MPSWEEP" probe
  refused "unknown probe 'copyblock': it is one of launch-delay, copy-block, .*or all$" \
    "$MPSWEEP" probe copyblock
  refused "there is no arm 'pinned': it is one of all, legacy-pageable, " \
    "$MPSWEEP" probe copy-block --arms pinned
  refused "there is no arm '': it is one of all, " "$MPSWEEP" probe copy-block --arms own-pageable,
  refused "--arms 'alone' leaves only controls, which show nothing alone: add one of pageable-4k, " \
    "$MPSWEEP" probe launch-delay --arms alone
  refused "--arms 'alone,own-pinned' leaves only controls" "$MPSWEEP" probe all --arms alone,own-pinned
  refused "'0' is not a value of rounds: it takes default or a whole number from 1 to 100" \
    "$MPSWEEP" probe copy-block --rounds 0
  refused "unexpected argument 'lazy-load'" "$MPSWEEP" probe copy-block lazy-load
  refused "unknown option '--layout'" "$MPSWEEP" probe copy-block --layout threads:1
  echo mine >r.jsonl
  refused "'r.jsonl' exists: give another name" "$MPSWEEP" probe copy-block "${QUICK[@]}" -o r.jsonl
  [ "$(cat r.jsonl)" = mine ]
  refused "cannot (make|open|create) 'none/r.jsonl'|none/r.jsonl" \
    "$MPSWEEP" probe copy-block "${QUICK[@]}" -o none/r.jsonl
  refused "no device 7|cannot use a GPU" "$MPSWEEP" probe copy-block --device 7 -q
  programs_but mpsweep-probe
  MPSWEEP_LIBEXEC_DIR=$WORK/programs refused "mpsweep-probe" "$MPSWEEP" probe copy-block "${QUICK[@]}"
}
