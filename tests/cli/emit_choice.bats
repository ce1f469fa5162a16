#!/usr/bin/env bats
# Which point a deployment takes of a results file, which better ones it does not take, and what it
# warns of.

load helper
LOOKS_FOR_LEAKS=1
load emit

# add FIELDS...: more points, each like point 3 with the fields of a JSON object. They are numbered
# from 5.
add() {
  local fields id=4
  for fields; do
    id=$((id + 1))
    jq -c --argjson fields "$fields" --argjson id $id \
      'select(.id == 3) | . + $fields + {id: $id}' results.jsonl >more.jsonl
    cat more.jsonl >>results.jsonl
  done
}

# chosen LINE: the line of the point that was taken is this one.
chosen() { grep -qxF "$1" out || fail "should be there: $1" "$(cat out)"; }

@test "a better point that is not taken is named, and why" {
  write_results
  emit env d
  chosen 'point 3 (the highest throughput of the points that qualify): hybrid 2×2, 3000 iterations/s'
  chosen 'better, but not taken: point 1 (threads 1×4, 9000 iterations/s) is unconverged'
  grep -qF '| better, not taken | point 1 (threads 1×4, 9000 iterations/s) is unconverged |' d/README.md
  # Only then it is the best of all.
  grep -v '"id":1,' results.jsonl >best.jsonl
  expect 0 "$MPSWEEP" emit best.jsonl --format env -o best
  chosen 'point 3 (the highest throughput of the file): hybrid 2×2, 3000 iterations/s'
  absent 'not taken' out
  absent 'not taken' best/README.md
}

@test "of better points that are not taken the three best are named, and the others counted" {
  write_results
  add '{"throughput_ips": 3100, "contexts": "own"}' '{"throughput_ips": 9500, "ci95_rel": 0.9, "status": "unconverged"}' \
    '{"throughput_ips": 3200, "sm_partition": 16}' '{"throughput_ips": 2900, "status": "unconverged"}'
  emit env d
  grep '^better, but not taken: ' out >named
  diff - named <<'NAMED'
better, but not taken: point 6 (hybrid 2×2, 9500 iterations/s) is unconverged
better, but not taken: point 1 (threads 1×4, 9000 iterations/s) is unconverged
better, but not taken: point 7 (hybrid 2×2, 3200 iterations/s) has a partition for each thread, which a program must make by itself
better, but not taken: 1 more
NAMED
  grep -qF '| | and 1 more |' d/README.md
}

@test "an unconverged point is taken where its whole interval lies above all that is ok" {
  write_results
  add '{"throughput_ips": 4000, "ci95_rel": 0.2, "status": "unconverged"}' \
    '{"throughput_ips": 4500, "ci95_rel": 0.4, "status": "unconverged"}'
  emit env d
  chosen 'point 5 (the highest throughput of the points that qualify; unconverged, but surely more than those that are ok): hybrid 2×2, 4000 iterations/s'
  chosen 'better, but not taken: point 6 (hybrid 2×2, 4500 iterations/s) is unconverged and may do less than one that is ok'
  grep -q 'point 5 is unconverged: its figures are not certain' err
  # However narrow its interval is, of one that stood still, or changed, it does not have all.
  local seen
  for seen in '"stalled": {"process": 0, "thread": 1, "seconds": 1.5}' '"warnings": [{"kind": "unsteady", "text": "x"}]'; do
    write_results
    add "{\"throughput_ips\": 4000, \"ci95_rel\": 0.01, \"status\": \"unconverged\", $seen}"
    rm -rf d
    emit env d
    chosen 'better, but not taken: point 5 (hybrid 2×2, 4000 iterations/s) is unconverged'
  done
  rm -rf d
  # An open loop that is unconverged may not hold its rate; and the limit is for all.
  write_results
  add '{"throughput_ips": 5000, "ci95_rel": 0.01, "status": "unconverged", "rate": {"offered_ips": 5000, "saturated": false}}' \
    '{"throughput_ips": 4000, "ci95_rel": 0.2, "status": "unconverged", "latency_us": {"p50": 1, "p99": 9000}}'
  emit env limited --max-p99 5ms
  chosen 'point 3 (the highest throughput with a p99 surely below 5 ms): hybrid 2×2, 3000 iterations/s'
  chosen 'better, but not taken: point 5 (hybrid 2×2, 5000 iterations/s) is unconverged'
}

@test "--max-p99: the upper end of the interval counts, as for a tune" {
  write_results
  add '{"throughput_ips": 4000, "latency_us": {"p50": 1, "p99": 4900, "bounds": {"p99": [4700, 5100]}}}' \
    '{"throughput_ips": 3500, "latency_us": {"p50": 1, "p99": 4800, "bounds": {"p99": [4600, 5000]}}}' \
    '{"throughput_ips": 5000, "latency_us": {"p50": 1, "p99": 100, "bounds": {"p99": null}}}'
  emit env d --max-p99 5ms
  chosen 'point 6 (the highest throughput with a p99 surely below 5 ms): hybrid 2×2, 3500 iterations/s'
  chosen 'better, but not taken: point 7 (hybrid 2×2, 5000 iterations/s) has a p99 not surely below 5 ms: p99 of 100 us, an upper end of its interval is not known'
  chosen 'better, but not taken: point 5 (hybrid 2×2, 4000 iterations/s) has a p99 not surely below 5 ms: p99 of 4.9 ms (95%: 4.7 ms to 5.1 ms)'
  # A record without intervals has its percentile alone.
  emit env older --max-p99 2.4ms
  chosen 'point 3 (the highest throughput with a p99 surely below 2.4 ms): hybrid 2×2, 3000 iterations/s'
  refused "'results.jsonl' has no point whose p99 is surely below 90 us: point 7 comes closest, with a p99 of 100 us, an upper end of its interval is not known; --point 7 without --max-p99 takes it$" \
    "$MPSWEEP" emit results.jsonl --format env -o none --max-p99 90us
  refused "point 5 of 'results.jsonl' has a p99 that is not surely below 5 ms: p99 of 4.9 ms \(95%: 4.7 ms to 5.1 ms\)$" \
    "$MPSWEEP" emit results.jsonl --format env -o none --max-p99 5ms --point 5
  refused "'soon' is not a value of max-p99" "$MPSWEEP" emit results.jsonl --format env -o none --max-p99 soon
  [ ! -e none ]
}

@test "--max-p99 and a tuning: its winner if that meets the limit, or else the best that does" {
  write_results
  add '{"throughput_ips": 4000, "latency_us": {"p50": 1, "p99": 4900, "bounds": {"p99": [4700, 5100]}}}'
  echo '{"type":"tune","verdict":"winner","winner":{"point":5}}' >>results.jsonl
  emit env winner --max-p99 6ms
  chosen 'point 5 (the winner of the tuning): hybrid 2×2, 4000 iterations/s'
  emit env other --max-p99 5ms
  chosen 'point 3 (the highest throughput with a p99 surely below 5 ms): hybrid 2×2, 3000 iterations/s'
  grep -q '^better, but not taken: point 5 ' out
}

@test "a tuning that found no layout for its limit: none is deployed for less" {
  write_results
  echo '{"type":"tune","verdict":"none","constraints":{"max_p99_us":2000}}' >>results.jsonl
  refused "'results.jsonl' has no point whose p99 is surely below 2 ms: point [03] comes closest" \
    "$MPSWEEP" emit results.jsonl --format env -o none
  [ ! -e none ]
  # As the tuning named it, also where another one has the same latency.
  echo '{"type":"tune","verdict":"none","closest":{"point":3},"constraints":{"max_p99_us":2000}}' >>results.jsonl
  refused "point 3 comes closest, with a p99 of 2.346 ms; --point 3 takes it$" \
    "$MPSWEEP" emit results.jsonl --format env -o none
  # The error names a way that leads there.
  emit env named --point 3
  chosen 'point 3 (asked for by its number): hybrid 2×2, 3000 iterations/s'
  emit env asked --max-p99 3ms
  chosen 'point 3 (the highest throughput with a p99 surely below 3 ms: the tuning has no winner): hybrid 2×2, 3000 iterations/s'
}

@test "an overloaded point is never deployed" {
  write_results
  add '{"throughput_ips": 8000, "rate": {"offered_ips": 20000, "arrival": "poisson", "saturated": true}}'
  local refusal='is overloaded: it was offered more than it serves'
  emit env d
  grep -q "^better, but not taken: point 5 (hybrid 2×2, 8000 iterations/s) $refusal" out
  refused "point 5 of 'results.jsonl' $refusal" "$MPSWEEP" emit results.jsonl --format env -o none --point 5
  [ ! -e none ]
}

@test "open loops: the rate that was offered counts, and among equals the lower latency" {
  write_results
  add '{"throughput_ips": 5010, "rate": {"offered_ips": 5000, "saturated": false}, "latency_us": {"p50": 1, "p99": 900}}' \
    '{"throughput_ips": 4990, "rate": {"offered_ips": 5000, "saturated": false}, "latency_us": {"p50": 1, "p99": 800}}'
  emit env d
  chosen 'point 6 (the highest throughput of the points that qualify): hybrid 2×2, 4990 iterations/s'
}

@test "rates that were searched under a limit come before rates that were given" {
  write_results
  local found='{"throughput_ips": 2000, "rate": {"offered_ips": 2000, "saturated": false, "goal": {"percentile": "p99", "us": 5000}}}'
  add "$found" '{"throughput_ips": 1500, "rate": {"offered_ips": 1500, "saturated": false, "goal": {"percentile": "p99", "us": 5000}}}'
  emit env d
  chosen 'point 5 (the highest rate found with a p99 under 5 ms): hybrid 2×2, 2000 iterations/s'
  grep -q '^better, but not taken: point 3 (hybrid 2×2, 3000 iterations/s) was not found under a limit: p99 of 2.346 ms$' out
  emit env given --max-p99 3ms
  chosen 'point 3 (the highest throughput with a p99 surely below 3 ms): hybrid 2×2, 3000 iterations/s'
  add "$found" "$found" "$found" '{"throughput_ips": 1, "rate": {"offered_ips": 1, "goal": {"percentile": "p50", "us": 5000}}}'
  refused "'results.jsonl' has rates that were searched under different limits: choose with --max-p99 or --point" \
    "$MPSWEEP" emit results.jsonl --format env -o none
}

# -- warnings --------------------------------------------------------------------------------------

# of_program WORDS...: the results are of this command. None: of the built-in workload.
of_program() {
  jq -c --args 'if .type != "header" then .
    elif $ARGS.positional == [] then .workload = {name: "builtin"}
    else .workload = {name: $ARGS.positional[0], argv: $ARGS.positional} end' -- "$@" <results.jsonl >of.jsonl
  mv of.jsonl results.jsonl
}

# warned TEXT FILES...: standard error is one warning with this text, and so is a line of each file.
warned() {
  local text=$1
  shift
  grep -qxF "mpsweep: warning: $text" err || fail "no such warning: $text" "$(cat err)" || return 1
  [ "$(wc -l <err)" -eq 1 ]
  [ $# -eq 0 ] || [ "$(grep -lF "# WARNING: $text." "$@" | wc -l)" -eq $# ]
}

@test "another command than the measured one: a warning that names both, and a comment" {
  write_results
  of_program python3 serve.py --port '{port}'
  local text='point 3 measured the command ["python3", "serve.py", "--port", "{port}"], and ["python3", "other.py", "--port", "{port}"] is deployed: the figures are those of the measured one'
  local format
  for format in env systemd slurm kubernetes compose; do
    emit $format $format -- python3 other.py --port '{port}'
    warned "$text"
    grep -qxF "> **WARNING:** $text." $format/README.md
  done
  warned "$text" env/deployment.env systemd/*-worker@.service slurm/job.sbatch \
    kubernetes/{deployment,service}.yaml compose/compose.yaml
  # A word more, or less.
  emit env more -- python3 serve.py --port '{port}' --fast
  grep -q '^mpsweep: warning: ' err
  emit env less -- python3 serve.py --port
  grep -q '^mpsweep: warning: ' err
}

@test "the same command, apart from what its placeholders stand for: no warning" {
  write_results
  of_program serve '--port={port}' '{{x' 'p{process}of{processes}' '{seed}'
  local words
  emit env same -- serve '--port={port}' '{{x' 'p{process}of{processes}' '{seed}'
  [ ! -s err ]
  emit env filled -- serve '--port={port}' '{{x' p0of2 '{threads}'
  [ ! -s err ]
  absent WARNING filled/deployment.env
  # One port is not enough for two.
  emit env port -- serve --port=7000 '{{x' p0of2 '{threads}'
  warned 'each of the 2 processes measured had a port of its own by {port}, and the command has no {port}: unless it reads MPSWEEP_PORT, all of them take one port and only the first starts' port/deployment.env
  emit env other -- serve --port=7000 '{{x' 'p{process}' '{threads}'
  grep -q '^mpsweep: warning: ' err
  emit env brace -- serve --port=7000 x p0of2 1
  grep -q '^mpsweep: warning: ' err
  # Nothing is compared without a command.
  emit env none
  [ ! -s err ]
  grep -qxF 'no command was given, and measured was ["serve", "--port={port}", "{{x", "p{process}of{processes}", "{seed}"]: put it where the files have EDIT-ME' out
}

@test "a command, or none yet, in place of another kind of workload: a warning that names the workload" {
  write_results
  of_program
  emit env d -- python3 'se
rve.py'
  warned "point 3 measured the built-in workload, and the command [\"python3\", \"se\\nrve.py\"] is deployed: the figures are not those of this command ('mpsweep sweep ... -- COMMAND' measures it)" d/deployment.env
  jq -c 'if .type == "point" then .workload = "./mi\u001bne.so" else . end' results.jsonl >plugin.jsonl
  expect 0 "$MPSWEEP" emit plugin.jsonl --format env -o plugin -- serve
  grep -q "^mpsweep: warning: point 3 measured the workload './mi.*ne.so', and the command \[\"serve\"\] is deployed" err
  absent $'\e' err
  # Also without a command, which is put in later.
  emit env none
  warned "point 3 measured the built-in workload, and no program: the figures are not those of the one that will run ('mpsweep sweep ... -- COMMAND' measures it)" none/deployment.env
  grep -q '^no command was given: ' out
}

@test "an unconverged point that is asked for: a warning" {
  write_results
  add '{"status": "unconverged", "ci95_rel": 0.56847}'
  emit env d --point 5
  warned 'point 5 is unconverged: its figures are not certain' d/deployment.env
  # Rounded as in tables.
  grep -qF 'iterations/s ±56.9% (95%)' d/README.md
}

@test "a sweep that is not finished: what is chosen is the best so far" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1-4 -q -o measured.jsonl
  # A busy computer leaves some of them imprecise.
  sed 's/"status":"unconverged"/"status":"ok"/' measured.jsonl >whole.jsonl
  head -4 whole.jsonl >cut.jsonl
  expect 0 "$MPSWEEP" export cut.jsonl
  grep -qx "NOT FINISHED: 3 of 4 points; 'mpsweep sweep --resume' measures the rest" out
  expect 0 "$MPSWEEP" emit cut.jsonl --target env -o cut
  grep -qE '^point [0-3] \(the highest throughput so far, of a sweep that has 3 of its 4 points\): ' out
  grep -q 'the highest throughput so far, of a sweep that has 3 of its 4 points' cut/README.md
  # A point that lacks rounds is measured anew, in all of them.
  jq -c 'if .id == 1 then .rounds_left = 1 else . end' whole.jsonl >lacking.jsonl
  expect 0 "$MPSWEEP" export lacking.jsonl
  grep -qx "NOT FINISHED: 3 of 4 points; 'mpsweep sweep --resume' measures the rest" out
  expect 0 "$MPSWEEP" emit lacking.jsonl --target env -o lacking
  grep -qE '^point [0-3] \(the highest throughput so far, of a sweep that has 3 of its 4 points\): ' out
  expect 0 "$MPSWEEP" report lacking.jsonl -o r.html
  grep -q '<p class="unfinished">NOT FINISHED: 3 of 4 points; ' r.html
  if command -v gnuplot >/dev/null; then
    expect 0 "$MPSWEEP" plot cut.jsonl -o r.svg
    grep -q 'NOT FINISHED: 3 of 4 points' r.svg
    expect 0 "$MPSWEEP" plot whole.jsonl -o r.svg
    absent 'NOT FINISHED' r.svg
  fi
  expect 0 "$MPSWEEP" report whole.jsonl -o r.html
  absent 'NOT FINISHED' r.html
  expect 0 "$MPSWEEP" export whole.jsonl
  absent 'NOT FINISHED' out
  # A shard is a part of it.
  jq -c 'if .type == "header" then .shard = {} else . end' cut.jsonl >shard.jsonl
  expect 0 "$MPSWEEP" export shard.jsonl
  absent 'NOT FINISHED' out
  expect 0 "$MPSWEEP" emit whole.jsonl --target env -o whole
  absent 'so far' out
  # A tuning without its record looked at a part, too; what it plans is all that it may look at.
  jq -c 'if .type == "point" then .tune = {stage: "look", order: 1} else . end' cut.jsonl >tuning.jsonl
  expect 0 "$MPSWEEP" export tuning.jsonl
  grep -qx "NOT FINISHED: 3 layouts, not compared in finals; 'mpsweep tune --resume' goes on" out
  head -2 tuning.jsonl >one.jsonl
  expect 0 "$MPSWEEP" export one.jsonl
  grep -qx "NOT FINISHED: 1 layout, not compared in finals; 'mpsweep tune --resume' goes on" out
  expect 0 "$MPSWEEP" emit tuning.jsonl --target env -o tuning
  grep -qE '^point [0-3] \(the highest throughput so far, of a tuning that was cut off before its finals\): ' out
}
