#!/usr/bin/env bats
# Two results files beside each other. The numbers are made by hand, so that each verdict is known.

load helper
LOOKS_FOR_LEAKS=1

# file NAME [HEADER-CHANGE] <<<POINTS: a results file. A line of POINTS is what differs from a plain
# point, as fields of a jq object; ids count from 0. A point has five rounds whose interval is as
# wide as its own.
file() {
  local change=${2:-.}
  jq -nc "{type: \"header\", schema: 1, mpsweep: \"0.1.0\", started: \"2026-01-31T08:00:00Z\",
    host: \"h\", kernel: \"Linux\", cpus: 16, topology: \"1 package\", driver: \"13.0\",
    workload: {name: \"builtin\"}, gpu: {name: \"NVIDIA H200\", uuid: \"GPU-1\", emulated: false}}
    | $change" >"$1"
  jq -nc -c --arg text "$(cat)" '$text | split("\n") | map(select(. != "")) | to_entries[]
    | {id: .key, fields: (.value | fromjson)}
    | {type: "point", id: .id, layout: "threads", mps: false, processes: 1, threads: 1, workers: 1,
       memory: "pinned", sync: "stream", launch: "stream", schedule: "auto", connections: 8,
       connections_default: true, bind: "near", kernels: 220, blocks: 5, threads_per_block: 64,
       spin: 3072, bytes: 1441792, status: "ok", throughput_ips: 1000, ci95_rel: 0.001, error: null,
       latency_us: {p50: 1000, p90: 1100, p99: 1200, p999: null, max: 1300, mean: 1000}}
      + .fields | if .status != "ok" then del(.throughput_ips, .ci95_rel, .latency_us) else . end
    | def five($value; $half): [-2, -1, 0, 1, 2] | map($value * (1 + . * $half / 1.963));
      (try (.latency_us | ((.bounds.p99[1] - .bounds.p99[0]) / 2 / .p99)) catch null) as $half
    | if (.ci95_rel | type) == "number" and (has("rounds") | not) then
        .rounds = [five(.throughput_ips; .ci95_rel)[] | {throughput_ips: .}]
        | if $half then .rounds = [[.rounds, five(.latency_us.p99; $half)] | transpose[]
            | .[0] + {p99_us: .[1]}] else . end
      else . end' \
    >>"$1"
  echo '{"type": "footer", "status": 0, "points": {}, "seconds": 1}' >>"$1"
}

# compare STATUS ARGUMENTS...: base.jsonl against new.jsonl
compare() {
  local wanted=$1
  shift
  expect "$wanted" "$MPSWEEP" compare base.jsonl new.jsonl "$@"
}

# verdict N: of a row of the JSON output, from 0
verdict() { jq -r ".points[$1].verdict" out; }

@test "each verdict, by the interval of the ratio" {
  file base.jsonl <<'P'
{"threads": 1}
{"threads": 2}
{"threads": 3}
{"threads": 4}
{"threads": 5, "ci95_rel": null}
P
  file new.jsonl <<'P'
{"threads": 1, "throughput_ips": 900}
{"threads": 2, "throughput_ips": 1100}
{"threads": 3, "throughput_ips": 1005}
{"threads": 4, "throughput_ips": 900, "ci95_rel": 0.3}
{"threads": 5, "throughput_ips": 500}
P
  compare 3
  grep -qE '^threads +1×1 +1000 +900\.0 +0\.9000 +0\.8989 to 0\.9011 +worse' out
  grep -qE '^threads +1×2 .* better ' out
  grep -qE '^threads +1×3 .* same ' out
  grep -qE '^threads +1×4 .* unsure ' out
  grep -qE '^threads +1×5 .* \? +unsure ' out
  [ "$(tail -1 out)" = "1 worse, 1 better, 1 same, 2 unsure" ]
  absent ' $' out
  grep -q '^1 of 5 points have too few rounds to show worse or better: .* --rounds 5, into new files$' out
  compare 3 -f json
  jq -e '.summary == {worse: 1, better: 1, same: 1, unsure: 2, without_number: 0, beyond_alone: 0,
    too_few_rounds: 1}' out
  jq -e '.points[0].throughput | .ratio == 0.9 and .low > 0.898 and .high < 0.902' out
  jq -e '.points[4].throughput | .low == null and .high == null' out
  # Beyond one threshold, within another.
  compare 0 --threshold 15 -f json
  [ "$(verdict 0)" = same ]
  compare 3 --threshold 0 -f json
  [ "$(verdict 2)" = better ]
  # Turned round, each verdict is the opposite.
  expect 3 "$MPSWEEP" compare new.jsonl base.jsonl -f json
  [ "$(jq -r '[.points[].verdict] | join(" ")' out)" = "better worse same unsure unsure" ]
}

@test "points are matched by their settings, wherever they stand" {
  file base.jsonl <<'P'
{"threads": 1, "throughput_ips": 100}
{"threads": 2, "throughput_ips": 200}
{"layout": "processes+mps", "mps": true, "processes": 2, "throughput_ips": 300}
{"threads": 2, "connections": 32, "connections_default": false, "throughput_ips": 400}
{"threads": 2, "active_thread_percentage": [30, 70], "throughput_ips": 500}
{"threads": 9}
P
  file new.jsonl <<'P'
{"threads": 2, "active_thread_percentage": [30, 70], "throughput_ips": 500}
{"threads": 2, "active_thread_percentage": [70, 30], "throughput_ips": 1}
{"threads": 2, "connections": 32, "connections_default": false, "throughput_ips": 400}
{"layout": "processes+mps", "mps": true, "processes": 2, "throughput_ips": 300}
{"threads": 2, "connections": 6, "throughput_ips": 200}
{"threads": 1, "throughput_ips": 100}
{"threads": 1, "kernels": 5, "throughput_ips": 1}
P
  # Measured in another order than the plan's.
  { head -1 base.jsonl && sed 1d base.jsonl | tac; } >turned.jsonl
  mv turned.jsonl base.jsonl
  compare 0
  [ "$(tail -1 out)" = "0 worse, 0 better, 5 same, 0 unsure; 1 only in BASE, 2 only in NEW" ]
  grep -q '^only in BASE: threads 1×9$' out
  grep -q '^only in NEW: threads 1×2, .*70/30% active threads; threads 1×1, 5 kernels$' out
  compare 0 -f json
  jq -e '[.points[].id] == [0, 1, 2, 3, 4]' out
  jq -e '[.points[] | .base.throughput_ips == .new.throughput_ips] | all' out
  jq -e '(.only_in_base | map(.threads)) == [9] and (.only_in_new | length) == 2' out
}

@test "points with the same settings are paired by section, then in order" {
  file base.jsonl <<'P'
{"section": "a", "throughput_ips": 100}
{"section": "b", "throughput_ips": 200}
{"section": "c", "throughput_ips": 300}
P
  file new.jsonl <<'P'
{"section": "b", "throughput_ips": 200}
{"section": "a", "throughput_ips": 100}
{"section": "d", "throughput_ips": 300}
{"section": "e", "throughput_ips": 1}
P
  compare 0
  [ "$(tail -1 out)" = "0 worse, 0 better, 3 same, 0 unsure; 1 only in NEW" ]
  grep -q '^3 points have the settings of others of their file' out
}

@test "a rate is a setting, one that a search found is not; latency counts at a rate" {
  file base.jsonl <<'P'
{"rate": {"offered_ips": 500.0, "arrival": "poisson"}, "throughput_ips": 500, "latency_us": {"p99": 1000, "bounds": {"p99": [990, 1010]}}}
{"rate": {"offered_ips": 700, "arrival": "poisson"}, "throughput_ips": 700, "latency_us": {"p99": 1000, "bounds": {"p99": [500, 2000]}}}
{"rate": {"offered_ips": 812.5, "arrival": "poisson", "search": [], "goal": {"percentile": "p99", "us": 5000.0}}, "throughput_ips": 812}
{"threads": 2, "latency_us": {"p99": 1000, "bounds": {"p99": [990, 1010]}}}
P
  file new.jsonl <<'P'
{"rate": {"offered_ips": 500, "arrival": "poisson"}, "throughput_ips": 500, "latency_us": {"p99": 1500, "bounds": {"p99": [1480, 1520]}}}
{"rate": {"offered_ips": 700, "arrival": "poisson"}, "throughput_ips": 700, "latency_us": {"p99": 1500, "bounds": {"p99": [900, 2500]}}}
{"rate": {"offered_ips": 640.25, "arrival": "poisson", "search": [], "goal": {"percentile": "p99", "us": 5000.0}}, "throughput_ips": 640}
{"rate": {"offered_ips": 812.5, "arrival": "poisson", "search": [], "goal": {"percentile": "p99", "us": 9000.0}}, "throughput_ips": 1}
{"threads": 2, "latency_us": {"p99": 1500, "bounds": {"p99": [1480, 1520]}}}
P
  compare 3
  grep -q 'only in NEW: .*p99 under 9 ms' out
  compare 3 -f json
  jq -e '.points[0] | .verdict == "worse" and .throughput.verdict == "same" and .p99.verdict == "worse"
    and .p99.counts and .p99.low > 1.4 and .p99.high < 1.6' out
  jq -e '.points[1] | .verdict == "unsure" and .p99.verdict == "unsure"' out
  jq -e '.points[2].verdict == "worse"' out
  # Without a rate it is shown, and the point is judged by its throughput.
  jq -e '.points[3] | .verdict == "same" and .p99.verdict == "worse" and (.p99.counts | not)' out
  compare 3
  grep -qE '^threads +1×2 .* same +1\.5000 +1\.[0-9]+ to 1\.[0-9]+ +worse' out
}

@test "a searched rate is known to a step of the search, whatever its rounds show" {
  # searched RATE HALF: a point whose rate a search found, with rounds of that interval.
  searched() {
    echo "{\"rate\": {\"offered_ips\": $1, \"search\": [], \"goal\": {\"percentile\": \"p99\",
      \"us\": 5000}}, \"throughput_ips\": $1, \"ci95_rel\": $2}" | tr -d '\n'
  }
  searched 800 0.5695 | file base.jsonl
  searched 801 0.5695 | file new.jsonl
  compare 0 -f json
  jq -e '.points[0] | .throughput.low > 0.92 and .throughput.high < 1.08 and .base.ci95_rel == 0.05' out
  # Rounds that agree do not make a difference within a step one of the layouts.
  searched 800 0.001 | file base.jsonl
  searched 770 0.001 | file new.jsonl
  compare 0
  [ "$(tail -1 out)" = '0 worse, 0 better, 0 same, 1 unsure' ]
  grep -q '^1 unsure by the steps of searched rates, which rounds do not narrow' out
  searched 640 0.001 | file new.jsonl
  compare 3
}

@test "latencies of one bucket of a histogram are not distinguished" {
  file base.jsonl <<<'{"latency_us": {"p99": 1000, "bounds": {"p99": [1000, 1000]}}}'
  file new.jsonl <<<'{"latency_us": {"p99": 1015, "bounds": {"p99": [1015, 1015]}}}'
  compare 0 -f json --threshold 0
  jq -e '.points[0].p99.verdict == "unsure"' out
  file new.jsonl <<<'{"latency_us": {"p99": 1050, "bounds": {"p99": [1050, 1050]}}}'
  compare 0 -f json --threshold 0
  jq -e '.points[0].p99.verdict == "worse"' out
}

@test "a point that is measured no longer is worse, and a regression" {
  file base.jsonl <<'P'
{"threads": 1}
{"threads": 2, "status": "failed", "error": "worker 0 crashed"}
{"threads": 3, "status": "infeasible", "error": "too many"}
{"threads": 4}
{"threads": 5, "status": "unconverged"}
P
  file new.jsonl <<'P'
{"threads": 1, "status": "failed", "error": "worker 1 of 1: hung, \"so\""}
{"threads": 2}
{"threads": 3, "status": "failed", "error": "no"}
{"threads": 4, "status": "interrupted"}
{"threads": 5}
P
  compare 3
  grep -qE '^threads +1×1 +1000 +- +- +- +worse .*NEW failed: worker 1 of 1: hung' out
  grep -qE '^threads +1×2 .* better .*BASE failed: worker 0 crashed' out
  grep -qE '^threads +1×3 +- .*BASE infeasible, NEW failed' out
  grep -qE '^threads +1×4 .* unsure .*NEW interrupted' out
  [ "$(tail -1 out)" = "1 worse, 2 better, 0 same, 1 unsure; 1 without a number in both" ]
  compare 3 -f csv
  grep -q 'worse,.*"NEW failed: worker 1 of 1: hung, ""so"""$' out
}

@test "numbers in CSV are numbers alone" {
  file base.jsonl <<<'{"kernels": 220, "bytes": 1441792, "workload": "builtin"}'
  expect 0 "$MPSWEEP" compare base.jsonl base.jsonl -f csv
  jq -R -s -e 'split("\n")[:2] | map(split(",")) | transpose | map({key: .[0], value: .[1]}) | from_entries
    | .kernels == "220" and .bytes == "1441792"' out
}

@test "rounds: the interval is of what differs between them" {
  file base.jsonl <<'P'
{"rounds": [{"throughput_ips": 990}, {"throughput_ips": 1000}, {"throughput_ips": 1010}]}
{"threads": 2, "rounds": [{"throughput_ips": 999}, {"throughput_ips": 1000}, {"throughput_ips": 1001}, {"throughput_ips": 1000.5}]}
{"threads": 3, "rounds": [{"throughput_ips": 999}, {"throughput_ips": 1000}, {"throughput_ips": 1001}]}
{"threads": 4, "rounds": [{"throughput_ips": 1000}]}
P
  file new.jsonl <<'P'
{"throughput_ips": 960, "rounds": [{"throughput_ips": 930}, {"throughput_ips": 960}, {"throughput_ips": 990}]}
{"threads": 2, "throughput_ips": 950, "rounds": [{"throughput_ips": 949}, {"throughput_ips": 950}, {"throughput_ips": 951}, {"throughput_ips": 950.5}]}
{"threads": 3, "throughput_ips": 950, "rounds": [{"throughput_ips": 949}, {"throughput_ips": 950}, {"throughput_ips": 951}]}
{"threads": 4, "rounds": [{"throughput_ips": 1000}]}
P
  compare 3 -f json
  # 1.80% and 0.58% of standard error, 2.4 degrees: ±6.9%.
  jq -e '.points[0] | .verdict == "unsure" and .throughput.low < 0.91 and .throughput.high > 1.02' out
  jq -e '.points[1].verdict == "worse"' out
  # Three rounds on each side come out like this by chance in one of 20 cases; one shows nothing.
  jq -e '.points[2] | .verdict == "unsure" and .throughput.high < 0.96' out
  jq -e '.points[3].verdict == "unsure"' out
  compare 3
  grep -q '^3 of 4 points have too few rounds' out
}

plan_of() { head -1 "$1" | jq -c '[.plan, .workload, .job, (.options | map_values(del(.rounds)))]'; }

@test "with too few rounds it prints the commands that measure more" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -l processes+mps:2 --no-reuse -q -o "one's.jsonl"
  printf '[a]\nlayout = threads:1\n[b]\nlayout = threads:2\n' >two.job
  expect 0 "$MPSWEEP" sweep two.job "${TINY[@]}" -q -o two.jsonl -- "$MPSWEEP_BUILD_DIR/tests/fakes/program"
  local name
  for name in "one's" two; do
    cp "$name.jsonl" copy.jsonl
    expect 0 "$MPSWEEP" compare "$name.jsonl" copy.jsonl
    grep -m 1 '^  mpsweep sweep ' out >command
    mpsweep() { expect 0 "$MPSWEEP" "$@"; }
    . ./command
    # The same plan and options, but for the rounds.
    [ "$(plan_of "$name.jsonl")" = "$(plan_of "$name-5-rounds.jsonl")" ]
    points 'length >= 2 and all(.rounds | length == 5)' "$name-5-rounds.jsonl"
  done
}

@test "of a tune, whose rounds are few, it has no command to repeat" {
  local one='{"tune": {"final": true}, "rounds": [{"throughput_ips": 1000}]}'
  local options='.options = {"": {"layout": ["threads:1"]}}'
  file base.jsonl "$options" <<<"$one"
  file new.jsonl "$options" <<<"${one/1000/1100}"
  compare 0
  [ "$(tail -2 out)" = "\
1 of 1 point has too few rounds to show worse or better: sweep the layouts of both files with --rounds 5, into new files
0 worse, 0 better, 0 same, 1 unsure" ]
}

@test "unsure points have the rounds that should decide on them, and their commands" {
  local options='.options = {"": {"layout": ["threads:1-3"], "rounds": "5"}}'
  printf '%s\n' '{"threads": 1}' '{"threads": 2}' '{"threads": 3}' | file base-5-rounds.jsonl "$options"
  file new.jsonl "$options" <<'P'
{"threads": 1, "throughput_ips": 950, "ci95_rel": 0.05}
{"threads": 2, "throughput_ips": 1019, "ci95_rel": 0.05}
{"threads": 3, "throughput_ips": 1000}
P
  expect 0 "$MPSWEEP" compare base-5-rounds.jsonl new.jsonl
  [ "$(grep -A4 '^1 unsure' out)" = "\
1 unsure so near to ±2% that 100 rounds would hardly decide: another --threshold may
about 26 rounds should decide on 1 unsure: repeat both sweeps with --rounds 26, into new files
  mpsweep sweep --layout threads:1-3 --rounds 26 -o base-26-rounds.jsonl
  mpsweep sweep --layout threads:1-3 --rounds 26 -o new-26-rounds.jsonl
0 worse, 0 better, 1 same, 2 unsure" ]
  # Of many rounds a few more may do.
  local many
  many='{threads: 1, throughput_ips: $ips, ci95_rel: 0.003,
    rounds: [range(60) | {throughput_ips: ($ips * (1 + 0.008 * (. % 5 - 2)))}]}'
  jq -nc --argjson ips 1000 "$many" | file base-5-rounds.jsonl "$options"
  jq -nc --argjson ips 976.8 "$many" | file new.jsonl "$options"
  expect 0 "$MPSWEEP" compare base-5-rounds.jsonl new.jsonl
  grep -qE '^about (6[1-9]|[7-9][0-9]) rounds should decide on 1 unsure' out
  # Such rounds with such an interval do; nothing is left to do.
  printf '%s\n' '{"threads": 1}' '{"threads": 3}' | file base.jsonl "$options"
  printf '%s\n' '{"threads": 1, "throughput_ips": 950}' '{"threads": 3}' | file new.jsonl "$options"
  compare 3
  absent 'unsure so near' out
  absent 'should decide' out
}

@test "these commands name the job file's folder, no defaults, and the emulated GPU" {
  mkdir jobs
  printf '[a]\nlayout = threads:1\n' >jobs/one.job
  expect 0 "$MPSWEEP" sweep jobs/one.job --device emulated --kernels 5 --bytes 1408K --duration 0.05 --precision 100 \
    --rounds 1 -q -o one.jsonl
  # As where there is no driver, and no device was named.
  jq -c 'if .type == "header" then del(.options[].device) else . end' one.jsonl >none.jsonl
  cp none.jsonl copy.jsonl
  expect 0 "$MPSWEEP" compare none.jsonl copy.jsonl
  grep -q '^  mpsweep sweep jobs/one.job --device emulated --layout ' out
  absent '--bytes' out
}

@test "among many points one must stand out farther" {
  local n
  for n in $(seq 1 60); do echo "{\"threads\": $n, \"ci95_rel\": 0.02}"; done | file base.jsonl
  for n in $(seq 1 60); do
    echo "{\"threads\": $n, \"ci95_rel\": 0.02, \"throughput_ips\": $((n == 7 ? 945 : 1000))}"
  done | file new.jsonl
  compare 0
  grep -qE '^1 unsure beyond ±2% by itself' out
  compare 3 --adjust none
  [ "$(tail -1 out)" = "1 worse, 0 better, 0 same, 59 unsure" ]
}

@test "a point that is unsure by two figures is one" {
  local n rate='"rate": {"offered_ips": 1000, "arrival": "constant"}, "ci95_rel": 0.02'
  for n in $(seq 1 60); do
    echo "{\"threads\": $n, $rate, \"latency_us\": {\"p99\": 1000, \"bounds\": {\"p99\": [960, 1040]}}}"
  done | file base.jsonl
  for n in $(seq 1 60); do
    echo "{\"threads\": $n, $rate, \"throughput_ips\": $((n == 7 ? 945 : 1000)),
      \"latency_us\": {\"p99\": $((n == 7 ? 1120 : 1000)), \"bounds\": {\"p99\": [$((n == 7 ? 1075 : 960)), $((n == 7 ? 1165 : 1040))]}}}" |
      tr -d '\n'
    echo
  done | file new.jsonl
  compare 0 -f json
  jq -e '.points[6] | .throughput.verdict == "unsure" and .p99.verdict == "unsure"' out
  jq -e '.summary.beyond_alone == 1' out
  # Both are beyond it.
  compare 3 --adjust none -f json
  jq -e '.points[6] | .throughput.verdict == "worse" and .p99.verdict == "worse"' out
}

@test "compare reports what differs between the machines" {
  file base.jsonl <<<'{}'
  file new.jsonl '.gpu.name = "NVIDIA A100" | .driver = "12.4" | .workload.name = "delay" | .cpus = 8' <<<'{}'
  compare 0
  grep -qx 'DIFFERENT GPU: "NVIDIA H200" in BASE, "NVIDIA A100" in NEW' out
  grep -qx 'DIFFERENT DRIVER: "13.0" in BASE, "12.4" in NEW' out
  grep -qx 'DIFFERENT WORKLOAD: "builtin" in BASE, "delay" in NEW' out
  grep -qx 'different number of CPUs: 16 in BASE, 8 in NEW' out
  file base.jsonl <<<'{}'
  file new.jsonl '.emulated_machine = "kernel_ns=25000"' <<<'{}'
  compare 0
  grep -qx 'DIFFERENT EMULATED MACHINE: "the defaults" in BASE, "kernel_ns=25000" in NEW' out
  expect 0 "$MPSWEEP" compare new.jsonl new.jsonl
  absent 'EMULATED MACHINE' out
  file base.jsonl '.cpu_quota = 0.0' <<<'{}'
  file new.jsonl '.cpu_quota = 0.5' <<<'{}'
  compare 0
  grep -qx 'different CPU quota: "none" in BASE, 0.5 in NEW' out
  # jq may write both alike.
  sed -i 's/"cpu_quota":[0-9.]*/"cpu_quota":0.0/' base.jsonl
  sed -i 's/"cpu_quota":[0-9.]*/"cpu_quota":0/' new.jsonl
  compare 0
  absent 'CPU quota' out
  file base.jsonl <<<'{}'
  file new.jsonl '.gpu.name = "NVIDIA A100" | .driver = "12.4" | .workload.name = "delay" | .cpus = 8' <<<'{}'
  compare 0 -f csv
  grep -q 'DIFFERENT GPU' err
  compare 0 -f json
  [ "$(jq '.differences | length' out)" -eq 4 ]
  file new.jsonl '.gpu.uuid = "GPU-2"' <<<'{}'
  compare 0
  grep -qx 'another GPU of the same kind' out
}

@test "another command is reported, as one types it; a long one from where it differs" {
  local long
  long=$(printf 'x%.0s' {1..150})
  of_command() { file "$1" ".workload = {name: \"serve\", argv: $2}" <<<'{}'; }
  of_command base.jsonl '["./serve", "--seed", "2000"]'
  of_command new.jsonl '["./serve", "--seed", "3 000"]'
  compare 0
  grep -qx "DIFFERENT COMMAND: \"./serve --seed 2000\" in BASE, \"./serve --seed '3 000'\" in NEW" out
  of_command base.jsonl "[\"./serve\", \"$long\", \"--seed\", \"2000\", \"$long\"]"
  of_command new.jsonl "[\"./serve\", \"$long\", \"--seed\", \"3000\", \"$long\"]"
  compare 0
  grep -qxE 'DIFFERENT COMMAND: "\.\.\. --seed 2000 x+\.\.\.x+" in BASE, "\.\.\. --seed 3000 x+\.\.\.x+" in NEW' out
  [ "$(grep 'DIFFERENT COMMAND' out | wc -L)" -lt 300 ]
  # Words that differ only where they are shortened are reported all the same.
  of_command base.jsonl "[\"${long}1$long\", null]"
  of_command new.jsonl "[\"${long}2$long\"]"
  compare 0
  grep -qE '^DIFFERENT COMMAND: "x+\.\.\.x+.* in BASE, "x+\.\.\.x+" in NEW$' out
  of_command new.jsonl null
  compare 0
  grep -q '^DIFFERENT COMMAND: .* in BASE, unknown in NEW$' out
  cp base.jsonl new.jsonl
  compare 0
  absent DIFFERENT out
}

@test "a word of a setting that is none is compared as it is" {
  file base.jsonl <<<'{}'
  jq -c 'if .type == "point" then .launch = "99999" | .memory = "4000000" else . end' base.jsonl >odd.jsonl
  expect 0 "$MPSWEEP" compare odd.jsonl odd.jsonl
}

# Invariant F6.
@test "an emulated GPU against a real one is refused; two emulated ones are marked" {
  file base.jsonl <<<'{}'
  file new.jsonl '.gpu.emulated = true' <<<'{}'
  refused "'new.jsonl' is of an emulated GPU and 'base.jsonl' of a real one" \
    "$MPSWEEP" compare base.jsonl new.jsonl
  refused "'new.jsonl' is of an emulated GPU and 'base.jsonl' of a real one" \
    "$MPSWEEP" compare new.jsonl base.jsonl
  expect 0 "$MPSWEEP" compare new.jsonl new.jsonl
  grep -q '^EMULATED GPU' out
  expect 0 "$MPSWEEP" compare new.jsonl new.jsonl -f csv
  grep -q ',yes,$' out
}

@test "files without a common point: the settings of which they share no value are named" {
  printf '%s\n' '{"threads": 1}' '{"threads": 2}' '{"threads": 1, "kernels": 110}' | file base.jsonl
  printf '%s\n' '{"threads": 2, "kernels": 40, "memory": "pageable"}' '{"kernels": 40}' | file new.jsonl
  refused "nothing to compare; --kernels: 220, 110 in BASE, 40 in NEW$" "$MPSWEEP" compare base.jsonl new.jsonl
}

@test "a file beside itself: it is named as one" {
  file base.jsonl <<<'{}'
  ln base.jsonl new.jsonl
  compare 0
  grep -qx 'BASE and NEW are one file' out
  # More rounds of it would show nothing.
  file base.jsonl <<<'{"rounds": [{"throughput_ips": 1000}]}'
  ln -f base.jsonl new.jsonl
  compare 0
  grep -q '^0 worse, 0 better, 0 same, 1 unsure$' out
  absent 'rounds to show\|mpsweep sweep' out
  cp base.jsonl copy.jsonl
  expect 0 "$MPSWEEP" compare base.jsonl copy.jsonl
  absent 'one file' out
}

@test "what it does not take" {
  file base.jsonl <<<'{}'
  file new.jsonl <<<'{"threads": 2}'
  refused "compare needs two results files" "$MPSWEEP" compare
  refused "compare needs two results files" "$MPSWEEP" compare base.jsonl
  refused "unexpected argument 'c'" "$MPSWEEP" compare a b c
  refused "cannot open 'none.jsonl'" "$MPSWEEP" compare base.jsonl none.jsonl
  refused "no point of 'new.jsonl' has the settings of one of 'base.jsonl': nothing to compare; --layout: threads 1×1 in BASE, threads 1×2 in NEW$" \
    "$MPSWEEP" compare base.jsonl new.jsonl
  refused "'-1' is not a value of threshold" "$MPSWEEP" compare base.jsonl base.jsonl --threshold -1
  refused "'bh' is not a value of adjust: it takes one of holm\|none" \
    "$MPSWEEP" compare base.jsonl base.jsonl --adjust bh
  refused "unknown format of 'a.txt'" "$MPSWEEP" compare base.jsonl base.jsonl -o a.txt
  refused "unknown option '--layout'" "$MPSWEEP" compare base.jsonl base.jsonl --layout threads:1
}

@test "a field of another type is refused, with its line" {
  local command
  file base.jsonl <<<'{}'
  file new.jsonl <<<'{"throughput_ips": "abc"}'
  jq -c '.plan = 1 | .plan_id = "0"' new.jsonl >planned.jsonl
  mv planned.jsonl new.jsonl
  for command in 'compare base.jsonl' export 'plot -o a.svg' 'report -o a.html' \
    'merge -o a.jsonl'; do
    # shellcheck disable=SC2086
    refused "^mpsweep: 'new.jsonl' line 2: 'throughput_ips' of the point is a string, not a number$" \
      "$MPSWEEP" $command new.jsonl
  done
  # What a command does not read, another one does: a merge reads few fields and copies all.
  jq -c 'if .type == "point" then .throughput_ips = 1 | .fairness_jain = [] else . end' \
    new.jsonl >few.jsonl
  for command in export 'merge -o a.jsonl' 'plot -o a.svg'; do
    # shellcheck disable=SC2086
    refused "'few.jsonl' line 2: 'fairness_jain' of the point is an array, not a number$" \
      "$MPSWEEP" $command few.jsonl
  done
  [ ! -e a.jsonl ]
}

@test "values within fields may be of any type; names of any letters are shown" {
  file base.jsonl '.host = "höst 计算" | .gpu = 7' <<'P'
{"layout": "läyout,☃", "throughput_ips": 1e308, "rounds": [{"a": 1}], "latency_us": {"p99": [1]}, "rate": {"offered_ips": "x"}}
{"layout": null, "throughput_ips": 1e-300, "threads": null, "rounds": [1, null], "ci95_rel": -1}
{"threads": 3, "throughput_ips": null, "ci95_rel": null}
{"threads": 4, "throughput_ips": 0}
{"threads": 5, "latency_us": {"p99": 1, "bounds": {"p99": [2, 3]}}, "telemetry": {"joules_per_iteration": 2}, "cpu": {"in_use": 4}}
P
  jq -c '.throughput_ips |= if type == "number" then . / 2 else . end
    | if .rounds | type == "array" then .rounds |= map(try (.throughput_ips /= 2) catch .) else . end
    | if .telemetry then .telemetry.joules_per_iteration = 3 | .cpu.in_use = 1 else . end' \
    base.jsonl >new.jsonl
  compare 3
  grep -q 'läyout,☃' out
  grep -qE 'CPUs ratio +J/iter ratio' out
  grep -qE '^threads +1×5 .* 0\.2500 +1\.5000$' out
  compare 3 -f csv
  grep -q ',p99_verdict,cpus_ratio,joules_ratio,' out
  grep -q ',0\.25,1\.5,' out
  [ "$(wc -l <out)" -eq 6 ]
  [ "$(awk -F'"[^"]*"' '{ $1 = $1; print gsub(/,/, ",") }' out | sort -u | wc -l)" -eq 1 ]
  compare 3 -f json
  jq -e '.points | length == 5 and .[4].cpus_ratio == 0.25' out
  head -c -70 new.jsonl >torn.jsonl
  expect 3 "$MPSWEEP" compare base.jsonl torn.jsonl
  grep -q '^NEW .*NOT FINISHED' out
  # Interrupted, it has its last line.
  jq -c 'if .type == "point" and .id == 0 then .status = "interrupted" | .error = "interrupted" |
    .throughput_ips = null else . end' new.jsonl >interrupted.jsonl
  run "$MPSWEEP" compare base.jsonl interrupted.jsonl
  echo "$output" | grep -q '^NEW .*NOT FINISHED'
  echo "$output" | grep -qE '  NEW interrupted$'
}

@test "the picture of all ratios" {
  needs_gnuplot
  file base.jsonl <<'P'
{"threads": 1}
{"threads": 2}
{"threads": 3, "memory": "pageable"}
{"threads": 4}
{"threads": 5}
P
  file new.jsonl <<'P'
{"threads": 1, "throughput_ips": 900}
{"threads": 2, "throughput_ips": 1100}
{"threads": 3, "memory": "pageable"}
{"threads": 4, "status": "failed", "error": "no"}
{"threads": 5, "ci95_rel": null}
P
  local format words
  for format in svg png pdf gp; do
    compare 3 -o "a.$format"
    [ ! -s err ]
    [ -s "a.$format" ]
    grep -q '^threads ' out || fail "the table is printed, too"
  done
  for words in 'Throughput, NEW / BASE' 'threads 1×1' 'pageable' '(NEW failed)' worse better same unsure \
    '2 worse, 1 better, 1 same, 1 unsure' 'A cross'; do
    grep -qF "$words" a.svg || fail "not in the picture: $words"
  done
  absent EMULATED a.svg
  gnuplot -c "$MPSWEEP_SOURCE_DIR/plots/compare.gp" a.gp hand.svg 2>warnings 3>&-
  [ ! -s warnings ]
  cmp a.svg hand.svg
  # One point, far away; nothing that differs at all; many.
  file base.jsonl <<<'{"throughput_ips": 1e9}'
  file new.jsonl '.gpu.name = "Ünkel ☃"' <<<'{"throughput_ips": 0.001}'
  compare 3 -o b.svg
  grep -qF 'DIFFERENT GPU' b.svg
  gnuplot_is_silent new.jsonl base.jsonl
  gnuplot_is_silent base.jsonl base.jsonl
  local n
  for n in $(seq 1 300); do echo "{\"threads\": $n, \"schedule\": \"$(printf 'x%.0s' $(seq 40))\"}"; done |
    file many.jsonl
  gnuplot_is_silent many.jsonl many.jsonl
  grep -qF 'Not drawn: 50 more' hand.svg
  # Nothing to draw.
  file base.jsonl <<<'{"status": "failed"}'
  refused "no point has a number in either file" "$MPSWEEP" compare base.jsonl base.jsonl -o c.svg
  [ ! -e c.svg ]
}

# gnuplot_is_silent BASE NEW: no warning about the picture of these two.
gnuplot_is_silent() {
  local status=0
  "$MPSWEEP" compare "$1" "$2" -o hand.gp >/dev/null || status=$?
  [ $status -eq 0 ] || [ $status -eq 3 ] || return 1
  gnuplot -c "$MPSWEEP_SOURCE_DIR/plots/compare.gp" hand.gp hand.svg 2>warnings 3>&- || return 1
  [ ! -s warnings ] || fail "gnuplot says:" "$(cat warnings)"
}

@test "a sweep and itself" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -l processes+mps:49 -q -o r.jsonl
  expect 0 "$MPSWEEP" compare r.jsonl r.jsonl
  grep -q '^EMULATED GPU' out
  tail -1 out | grep -qE '^0 worse, 0 better, .* 1 without a number in both$'
}
