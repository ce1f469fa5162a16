#!/usr/bin/env bats
# The figures of `mpsweep plot` besides throughput, from results made by hand.

load helper
load figures

FIGURES=(throughput latency phases launch heatmap)

@test "latency: a panel each percentile, with its bounds, by workers" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 1, "latency_us": {"p50": 1000, "p90": 1100, "p99": 1200, "p999": 1300, "mean": 1, "bounds": {"p50": [990, 1010], "p99": [1150, 1400], "p999": null}}}
{"threads": 8, "latency_us": {"p50": 2000, "p90": 2100, "p99": 2200, "p999": null, "mean": 1}}
{"layout": "processes+mps", "mps": true, "processes": 4}
{"threads": 9, "status": "failed"}
P
  draws latency r.jsonl
  shows median '90th percentile' '99th percentile' '99.9th percentile' 'latency (ms)' \
    'workers (processes × threads × streams)' 'processes+mps' 'Not drawn: 1 failed (threads 1×9)'
  grep -qx '1 1 0.99 1.01 1.1 1.1 1.1 1.2 1.15 1.4 1.3 1.3 1.3' a.gp
  grep -qx '8 2 2 2 2.1 2.1 2.1 2.2 2.2 2.2 NaN NaN NaN' a.gp
  # No samples for a percentile anywhere: no panel for it.
  file r.jsonl <<<'{}'
  draws latency r.jsonl
  grep -qx 'n_panels = 3' a.gp
  hides '99.9th'
}

@test "latency: by the offered rate, where there is one" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 4, "rate": {"offered_ips": 500, "arrival": "poisson"}}
{"threads": 4, "rate": {"offered_ips": 900.5, "arrival": "poisson"}}
{"threads": 8, "rate": {"offered_ips": 500, "arrival": "constant"}}
{"threads": 8}
P
  draws latency r.jsonl
  shows 'offered rate (iterations/s)' 'threads 1×4, poisson arrivals' 'threads 1×8, constant arrivals'
  grep -qF 'Not drawn: 1 without a rate or a latency (threads 1×8)' a.gp
  grep -q '^900.5 ' a.gp
  grep -qx 'n_series = 2' a.gp
}

@test "latency: what is overloaded is grey, and the limit of a search is a line" {
  needs_gnuplot
  file r.jsonl <<'P'
{"rate": {"offered_ips": 500}}
{"rate": {"offered_ips": 600}}
{"rate": {"offered_ips": 700, "saturated": true}}
{"rate": {"offered_ips": 800, "saturated": false}}
{"rate": {"offered_ips": 620, "goal": {"percentile": "p99", "us": 2500}}}
P
  draws latency r.jsonl
  # The limit stands in a title: at its line it would meet the data.
  shows '>99th percentile, limit 2.5 ms<' 'Grey: overloaded'
  # The lines from and to a grey point are, too.
  [ "$(sed -nE 's/^([5-8]00|620) .* ([0-2])$/\1 \2/p' a.gp | tr '\n' ' ')" = '500 0 600 0 620 1 700 2 800 1 ' ]
  [ "$(grep '^limits' a.gp | tr '\n' ' ')" = 'limits[1] = 0 limits[2] = 0 limits[3] = 2.5 ' ]
  # Without either there is neither.
  file r.jsonl <<<'{"rate": {"offered_ips": 500}}'
  draws latency r.jsonl
  hides 'limit '
}

# Whole numbers of the picture's axes.
numbers() { grep -oE '>[0-9]+<' a.svg | tr -d '<>' | sort -nu | tr '\n' ' '; }

@test "numbers of an axis of workers or rates are few enough to have room" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 1, "throughput_ips": 3, "latency_us": {"p50": 1000, "p90": 1000}}
{"threads": 1024, "throughput_ips": 4, "latency_us": {"p50": 1000, "p90": 1000}}
P
  draws throughput r.jsonl
  [[ $(numbers) == *' 4 256 512 768 1024 ' ]] || fail "$(numbers)"
  draws latency r.jsonl
  [[ $(numbers) == *' 256 512 768 1024 ' ]] || fail "$(numbers)"
  file r.jsonl <<'P'
{"rate": {"offered_ips": 200}, "latency_us": {"p50": 1000, "p90": 1000}}
{"rate": {"offered_ips": 600000}, "latency_us": {"p50": 1000, "p90": 1000}}
P
  draws latency r.jsonl
  [[ $(numbers) == *' 200000 400000 600000 ' ]] || fail "$(numbers)"
}

@test "error bars are alike in the figures of series, and none begins below zero" {
  needs_gnuplot
  local figure
  for figure in throughput scaling panels probe-series; do
    grep -q '@error_bars' "$MPSWEEP_SOURCE_DIR/plots/$figure.gp" || fail "$figure"
    absent 'yerrorbars' "$MPSWEEP_SOURCE_DIR/plots/$figure.gp"
  done
  file r.jsonl <<<'{"ci95_rel": 1.5}'
  draws throughput r.jsonl
  hides '>−500<'
}

@test "throughput: the bar of a searched rate is a step of the search" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 4, "rate": {"offered_ips": 500, "arrival": "constant"}, "throughput_ips": 500}
{"threads": 4, "rate": {"offered_ips": 700, "goal": {"percentile": "p99", "us": 5}}, "throughput_ips": 700, "ci95_rel": 0.57}
P
  draws throughput r.jsonl
  grep -qx '500 500 0.5' a.gp
  grep -qx '700 700 35' a.gp
  shows 'Bars of searched rates: a step of the search.'
  file r.jsonl <<<'{"threads": 4, "throughput_ips": 500}'
  draws throughput r.jsonl
  hides 'searched rates'
}

@test "throughput: what is served of an offered rate" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 4, "rate": {"offered_ips": 500, "arrival": "constant"}, "throughput_ips": 500}
{"threads": 4, "rate": {"offered_ips": 900.5, "arrival": "constant"}, "throughput_ips": 640}
{"threads": 8, "rate": {"offered_ips": 500, "arrival": "constant"}, "throughput_ips": 501}
{"threads": 8, "rate": {"offered_ips": 700, "arrival": "constant", "goal": {"percentile": "p99", "us": 5}}}
{"threads": 8}
P
  draws throughput r.jsonl
  shows 'Served rate by offered rate' 'offered rate (iterations/s)' 'served rate (iterations/s)' \
    'threads 1×4' 'threads 1×8' 'served = offered'
  grep -qF 'Not drawn: 1 without a rate or a number (threads 1×8)' a.gp
  grep -qx 'n_series = 2' a.gp
  grep -qx 'ideal_slope = 1' a.gp
  grep -qx '900.5 640 0.64' a.gp
  # Rates that a search found are results: they are throughputs of workers.
  file r.jsonl <<'P'
{"threads": 4, "rate": {"offered_ips": 500, "goal": {"percentile": "p99", "us": 5}}}
{"threads": 8, "rate": {"offered_ips": 700, "goal": {"percentile": "p99", "us": 5}}}
P
  draws throughput r.jsonl
  shows 'Throughput by number of workers' '>N/4 × the best of 4 workers<'
  grep -qx 'n_series = 1' a.gp
}

@test "throughput: the dotted line is that of the best layout of the fewest workers" {
  needs_gnuplot
  file r.jsonl <<'P'
{"throughput_ips": 280}
{"threads": 8, "throughput_ips": 3000}
{"launch": "graph", "throughput_ips": 300}
{"launch": "graph", "threads": 8, "throughput_ips": 2500}
P
  draws throughput r.jsonl
  shows '>N × the best of 1 worker<'
  hides '>ideal<'
  grep -qx 'ideal_slope = 300' a.gp
  # What the line stands on is not certain.
  sed -i 's/"status":"ok"\(.*"throughput_ips":300\)/"status":"unconverged"\1/' r.jsonl
  draws throughput r.jsonl
  shows '>N × the best of 1 worker, unconverged<'
}

@test "host and heatmap: rates are no series of their own" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 4, "rate": {"offered_ips": 500, "arrival": "constant"}, "cpu": {"in_use": 1}}
{"threads": 4, "rate": {"offered_ips": 900, "arrival": "constant"}, "cpu": {"in_use": 2}, "throughput_ips": 1500}
{"threads": 8, "rate": {"offered_ips": 500, "arrival": "constant"}, "cpu": {"in_use": 1.5}, "throughput_ips": 1200}
P
  draws host r.jsonl
  shows 'threads 1×4' 'threads 1×8' 'constant arrivals' '>1×8<'
  grep -qx 'n_series = 2' a.gp
  # A layout has its label once, also where another one stands between.
  [ "$(grep -c '>1×4<' a.svg)" -eq 1 ]
  # A map is of one rate, which its title names.
  draws heatmap r.jsonl
  shows 'Throughput by processes and threads, 500/s (iterations/s)' 'Not drawn: 1 of other settings'
}

@test "phases: the shares of an iteration" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 1}
{"threads": 2, "phases": {"h2d": {"mean": 100}, "launch": {"mean": 200}, "sync": {"mean": 300}, "d2h": {"mean": 400}}}
{"threads": 3, "launch": "graph", "phase_us": {"h2d": null, "launch": 100, "sync": 800, "d2h": null}}
{"threads": 4, "phase_us": {"h2d": 500, "launch": 500, "sync": 500, "d2h": 500}}
{"threads": 5, "phase_us": null}
P
  draws phases r.jsonl
  shows 'copy in' launch synchronise 'copy out' rest 'threads 1×2' '1.000 ms' '2.000 ms' \
    'Not drawn: 1 without phases (threads 1×5)'
  grep -qx '1 0 0.02000 0.68000 0.88000 0.89000 1' a.gp
  grep -qx '2 0 0.10000 0.30000 0.60000 1.00000 1' a.gp
  grep -q ' 0 0.00000 0.10000 0.90000 0.90000 1$' a.gp
  # More in the phases than in all: their sum counts.
  grep -q ' 0 0.25000 0.50000 0.75000 1.00000 1$' a.gp
  # What graphs do stands where there are some.
  shows 'With graph launch the copies are part of the graph'
  jq -c 'select(.launch != "graph")' r.jsonl >stream.jsonl
  draws phases stream.jsonl
  shows 'On the right: mean latency.'
  hides 'With graph launch'
}

@test "launch: one call, as recorded or from the phase" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 1}
{"threads": 2, "phases": {"launch_call": {"mean": 7.5, "p99": 30, "samples": 9}}}
{"threads": 3, "launch": "graph", "phase_us": {"launch": 25}}
{"threads": 4, "phase_us": {}}
P
  draws launch r.jsonl
  shows mean '99th percentile' 'launch call (µs)' 'Not drawn: 1 without a launch time (threads 1×4)'
  grep -qx '1 3 3 3 NaN NaN NaN' a.gp
  grep -qx '2 7.5 7.5 7.5 30 30 30' a.gp
  grep -qx '3 25 25 25 NaN NaN NaN' a.gp
  file r.jsonl <<<'{}'
  draws launch r.jsonl
  grep -qx 'n_panels = 1' a.gp
  hides '99th percentile'
}

@test "host: throughput by CPUs in use, and what no layout outdoes with as few" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 16, "cpu": {"on_cpu": 1.0}, "throughput_ips": 3000}
{"threads": 64, "schedule": "block", "cpu": {"in_use": 0.5}, "throughput_ips": 2000}
{"threads": 65, "schedule": "block", "cpu": {"in_use": 0.502}, "throughput_ips": 2100}
{"streams": 64, "cpu": {"in_use": 1}, "throughput_ips": 9000}
{"threads": 2, "streams": 32, "cpu": {"in_use": 2}, "throughput_ips": 9080}
{"threads": 2, "streams": 64, "cpu": {"in_use": 2.1}, "throughput_ips": 9100}
{"threads": 3, "streams": 64, "cpu": {"in_use": 6}, "throughput_ips": 9200}
{"threads": 3}
{"threads": 4, "cpu": {"in_use": null}}
P
  draws host r.jsonl
  shows 'CPUs in use' 'threads, schedule auto' 'threads 1×2×S' '>1×65<' '>1×2×64<' '>1×3×64<' \
    'Not drawn: 2 without a CPU time (threads 1×3, threads 1×4)'
  diff - <(sed -n '/^\$front/,/^EOD/p' a.gp | sed '1d;$d') <<'F'
0.502 2100 1×65
1 9000 1×1×64
2.1 9100 1×2×64
6 9200 1×3×64
F
  # Where there is no room for both, the better one has a label.
  hides '>1×1×64<'
  grep -qx '16 3000' a.gp
  grep -qx '2 9080' a.gp
  grep -qx 'cpus_max = 16' a.gp
  draws host r.jsonl --width 84mm
  shows '>1×65<' '>1×3×64<'
  hides '>1×[12]×64<'
  # One point, which used nothing; numbers of any size; none at all.
  file r.jsonl '.gpu.emulated = true' <<<'{"cpu": {"in_use": 0}, "throughput_ips": 0}'
  draws host r.jsonl
  shows 'EMULATED GPU'
  file r.jsonl <<'P'
{"layout": "läyout \u0027☃", "throughput_ips": 1e15, "cpu": {"in_use": 1e-9}}
{"threads": 700, "throughput_ips": 1e-9, "cpu": {"in_use": 1e5}}
{"threads": 4, "cpu": {"in_use": -1}}
{"threads": 5, "cpu": {"in_use": 1e300}}
{"threads": 6, "cpu": {}}
P
  draws host r.jsonl
  grep -qx 'n_series = 2' a.gp
  file r.jsonl <<<'{"cpu": {"in_use": "x"}}'
  refused "'r.jsonl' has no measured point with the CPU time that it used" \
    "$MPSWEEP" plot r.jsonl --figure host -o b.svg
}

# gate NAME [X]: a probe whose arms are their own controls, with two arms of a series.
gate() {
  jq -nc --arg name "$1" --argjson x "${2:-48}" '{type: "probe", probe: $name, verdict: "observed", xlabel: "workers",
    effect: {metric: "iteration", control_metric: "iteration behind the gate"},
    arms: [1, $x | {arm: "threads-\(.)", control: "threads-\(.)", series: "threads", x: ., status: "ok",
      median_us: 2000, ci95_us: [1900, 2100], p99_us: 2200,
      metrics: [{metric: "iteration behind the gate", median_us: 1000, ci95_us: [900, 1100], p99_us: 1200}]}]}'
}

@test "probe-series: the title is what was timed, and the legend has the dashed lines" {
  needs_gnuplot
  file r.jsonl </dev/null
  gate launch-gate >>r.jsonl
  draws probe-series r.jsonl
  # The number is the probe's.
  grep -qx '#define LAUNCHES 220' "$MPSWEEP_SOURCE_DIR/probes/experiments/launch_gate.c"
  shows '>Time of 220 kernels of each worker<' '>dashed: behind the gate<' '>32<' '>48<'
  hides 'launch-gate|iteration'
  # Two probes have a panel each, with what is timed there.
  gate other >>r.jsonl
  draws probe-series r.jsonl
  shows '>What the delay depends on<' '>launch-gate: time of 220 kernels of each worker<' \
    '>other: iteration<' '>dashed: the control<'
}

@test "probe-series: a line across is a control, too; none, no entry" {
  needs_gnuplot
  file r.jsonl </dev/null
  gate plain 33 | jq -c 'del(.effect.control_metric) | .arms[].control = "threads-1" | del(.arms[].metrics)' >>r.jsonl
  draws probe-series r.jsonl
  shows '>What the delay depends on<' '>plain: iteration<' '>dashed: the control<' '>32<'
  # It would meet 32.
  hides '>33<'
  sed -i 's/"control":"threads-1"/"control":"none"/g' r.jsonl
  draws probe-series r.jsonl
  hides 'dashed'
}

@test "every figure: one point, any names, huge and tiny numbers, real and emulated" {
  needs_gnuplot
  local figure
  file one.jsonl '.gpu.emulated = true' <<<'{}'
  file odd.jsonl '.host = "höst ☃ '"'"'%s" | .gpu = {}' <<'P'
{"layout": "läyout '☃", "throughput_ips": 1e15, "latency_us": {"p50": 1e-6, "p90": 1, "p99": 1e12, "mean": 1e12, "bounds": {"p50": "x", "p99": [5, -1]}}, "phase_us": {"launch": 1e9}, "memory": "päge able"}
{"threads": 700, "throughput_ips": 1e-9, "latency_us": {"p99": []}, "phases": {"launch": [1]}, "phase_us": {"h2d": "no"}, "rate": {"offered_ips": "fast"}, "kernels": 0}
{"threads": 4, "launch": "grä%ph", "phase_us": {"launch": 1e-9, "sync": -3}}
{"layout": "hybrid", "processes": 1000, "threads": 999}
P
  for figure in "${FIGURES[@]}"; do
    draws "$figure" one.jsonl || fail "figure $figure of one.jsonl"
    shows 'EMULATED GPU'
    draws "$figure" odd.jsonl || fail "figure $figure of odd.jsonl"
    hides EMULATED
    draws "$figure" "$MPSWEEP_SOURCE_DIR/docs/results/h200-mixed.jsonl" || fail "figure $figure"
  done
  explained one.jsonl >e.json
  draws ceilings one.jsonl --explained e.json
  shows 'EMULATED GPU'
  # What fills the picture has it in the title, without a mark whose ends would cover the axes.
  for figure in phases heatmap ceilings; do
    draws "$figure" one.jsonl --explained e.json
    shows '(EMULATED GPU)'
    hides '<text>EMULATED GPU</text>'
  done
  explained odd.jsonl >e.json
  draws ceilings odd.jsonl --explained e.json
}

@test "a caption that is too long ends with a sign, behind a whole character" {
  local count
  for count in 1 2 3 4; do
    file r.jsonl ".host = \"a\" * $count + \"😀\" * 250" <<<'{}'
    expect 0 "$MPSWEEP" plot r.jsonl -o a.gp
    iconv -f UTF-8 -t UTF-8 a.gp >whole.gp
    grep -q "^paragraphs\[1\] = .* a*?*…'$" whole.gp
  done
}

@test "rows beyond what a picture holds are counted" {
  needs_gnuplot
  local n
  for n in $(seq 1 260); do echo "{\"threads\": $n}"; done | file r.jsonl
  draws phases r.jsonl
  shows 'Not drawn for want of room: 10 more'
}

@test "gpus: GPUs that are alike beside long texts have numbers to each side" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 2, "gpus": 2, "kernels": 9, "per_gpu": [{"gpu": 0, "throughput_ips": 500}, {"gpu": 1, "throughput_ips": 500}]}
{"threads": 64, "gpus": 2, "launch": "graph", "connections": 16, "connections_default": false, "schedule": "block", "bind": "none", "throughput_ips": 1234567, "ci95_rel": 0, "per_gpu": [{"gpu": 0, "throughput_ips": 620000.5}, {"gpu": 1, "throughput_ips": 614566.5}]}
P
  draws gpus r.jsonl
  shows '>−2%<' '>0%<' '>+2%<'
}

@test "a legend with names longer than the page has smaller letters" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 64, "launch": "graph", "connections": 16, "connections_default": false, "schedule": "block"}
{"threads": 64, "connections": 32, "connections_default": false, "bind": "none"}
P
  draws throughput r.jsonl --width 84mm
  shows '>threads, graph launch, 16 queues, schedule block, bind near<' '>threads, stream launch, 32 queues, '
  hides 'font-size="7.00"'
  draws throughput r.jsonl
  grep -q 'font-size="7.50"' a.svg
}

@test "search and throughput: what a tune looked at in short may hold more" {
  needs_gnuplot
  local name=$MPSWEEP_SOURCE_DIR/docs/results/h100-tune-150s-http-1.jsonl figure
  jq -c 'if .id == 118 then .rate.failed_ips = 2900 else . end' "$name" >look.jsonl
  local -A note=([search]='Hollow ones may hold more than what is drawn' [throughput]='1 point was looked at in short, and may hold more')
  for figure in search throughput; do
    draws $figure look.jsonl
    grep -q "${note[$figure]}" a.gp
    draws $figure "$name"
    absent 'may hold more' a.gp
  done
}

@test "search: a name that the line of the best would go through begins above it" {
  needs_gnuplot
  draws search "$MPSWEEP_SOURCE_DIR/docs/results/h200-tune.jsonl"
  # The line is as high as the threads of the point before.
  local -A begins
  local name
  for name in 'N threads' '1×1'; do
    begins[$name]=$(grep -B1 "<text>$name<" a.svg | sed -nE 's/.*translate\([^,]*,([0-9.]+)\).*/\1/p')
    [ -n "${begins[$name]}" ] || fail "no $name"
  done
  [ "${begins['1×1']}" = "${begins['N threads']}" ] || fail "${begins[@]}"
}

@test "search: names of neighbours in the order stand upright beside each other" {
  needs_gnuplot
  file r.jsonl <<'P'
{"tune": {"first": 1}, "throughput_ips": 250}
{"tune": {"first": 2}, "throughput_ips": 300, "threads": 2}
{"tune": {"first": 3, "stage": "final"}, "throughput_ips": 5000, "threads": 3}
{"tune": {"first": 4}, "throughput_ips": 4900, "threads": 4}
P
  echo '{"type":"tune","winner":{"point":2},"naive":[{"point":0,"layout":"1×1"},{"point":1,"layout":"N threads"},{"point":3,"layout":"high"}]}' >>r.jsonl
  draws search r.jsonl
  shows '>1×1<' '>N threads<' '>best: threads 1×3<'
  jq -c 'if .id == 1 or .id == 2 then .status = "unconverged" else . end' r.jsonl >unsure.jsonl
  draws search unsure.jsonl
  shows '>1×1<' '>N threads, unconverged<' '>best: threads 1×3, unconverged<'
  [ "$(grep -c 'rotate(-90' a.svg)" -eq 3 ]
  # In a long search they have no room beside each other: the first one stays.
  sed -i '/"tune":{"first":3/s/"first":3/"first":300/' r.jsonl
  draws search r.jsonl
  shows '>1×1<'
  hides '>N threads<'
  # What is left out takes no room from the next one.
  jq -c 'if .id == 1 then .tune.first = 4 elif .id == 3 then .tune.first = 9 else . end' r.jsonl >next.jsonl
  draws search next.jsonl
  shows '>1×1<' '>high<'
  hides '>N threads<'
}

@test "fleet: names that would meet have room below the axis" {
  needs_gnuplot
  local name height
  for name in n gpu-node-of-a-cluster; do
    file r.jsonl </dev/null
    jq -nc --arg name $name '{type: "fleet", limit_rel: 0.03, standing_out: 0, nodes: [range(12)
      | {node: ., host: "\($name)\(.)", ratio: 1, quartiles: [0.99, 1.01], stands_out: false}]}' >>r.jsonl
    draws fleet r.jsonl
    shows ">${name}11<"
    height+=" $(sed -n 's/.*viewBox="0 0 504 \([0-9]*\)".*/\1/p' a.svg)"
  done
  read -ra height <<<"$height"
  [ "${height[1]}" -gt "$((height[0] + 50))" ] || fail "${height[*]}"
  grep -q 'rotate(-60' a.svg
}

@test "a narrow plot has a small mark of an emulated GPU" {
  needs_gnuplot
  file r.jsonl '.gpu.emulated = true' <<<'{}'
  draws throughput r.jsonl --width 3.5in
  grep -B2 '>EMULATED GPU<' a.svg | grep -q 'font-size="19.00"'
  draws throughput r.jsonl
  grep -B2 '>EMULATED GPU<' a.svg | grep -q 'font-size="38.00"'
}

@test "long labels of rows keep what distinguishes them" {
  needs_gnuplot
  file r.jsonl <<'P'
{"threads": 2, "kernels": 9}
{"threads": 64, "launch": "graph", "connections": 16, "connections_default": false, "schedule": "block", "bind": "near"}
{"threads": 64, "launch": "graph", "connections": 16, "connections_default": false, "schedule": "block", "bind": "none"}
{"threads": 64, "launch": "graph", "connections": 32, "connections_default": false, "schedule": "block", "bind": "none"}
{"threads": 3, "launch": "graph", "connections": 32, "connections_default": false, "schedule": "block", "bind": "none"}
P
  draws phases r.jsonl
  diff - <(grep '^labels' a.gp) <<'L'
labels[1] = 'threads 1×2, bind near, 9 kernels'
labels[2] = 'threads 1×64, graph launch, 16 queues, …, bind near, …'
labels[3] = 'threads 1×64, graph launch, 16 queues, …, bind none, …'
labels[4] = 'threads 1×3, graph launch, 32 queues, schedule block, …'
labels[5] = 'threads 1×64, graph launch, 32 queues, schedule block, …'
L
  # A name alone that is too long is cut at its end.
  file r.jsonl </dev/null
  jq -nc '{type: "probe", probe: "p", verdict: "observed", arms: [{arm: ("ü" * 70), median_us: 5}]}' >>r.jsonl
  draws probe r.jsonl
  grep -qx "labels\[2\] = 'ü\{59\}…'" a.gp
}

@test "results without what a figure needs: what is missing" {
  file r.jsonl <<<'{"latency_us": {"mean": 5}, "phase_us": {}}'
  refused "'r.jsonl' has no measured point with latency percentiles" \
    "$MPSWEEP" plot r.jsonl --figure latency -o a.svg
  refused "'r.jsonl' has no measured point with the time of its phases" \
    "$MPSWEEP" plot r.jsonl --figure phases -o a.svg
  refused "'r.jsonl' has no measured point with launch times" \
    "$MPSWEEP" plot r.jsonl --figure launch -o a.svg
  file r.jsonl <<<'{"status": "failed"}'
  refused "'r.jsonl' has no measured point to plot" "$MPSWEEP" plot r.jsonl --figure heatmap -o a.svg
  [ ! -e a.svg ]
}

# of_memories MEMORIES LAYOUTS: a point with two workers of each layout, in each memory.
of_memories() {
  local memory layout
  for layout in $2; do
    for memory in $1; do
      echo "{\"layout\": \"$layout\", \"memory\": \"$memory\", \"threads\": 2}"
    done
  done
}

@test "throughput: more than eight series have a panel for what splits them" {
  needs_gnuplot
  local layouts="threads processes processes+mps threads+mps hybrid-timesliced"
  { of_memories "pinned pageable" "$layouts"; echo '{"connections": 32, "connections_default": false}'; } | file r.jsonl
  draws throughput r.jsonl
  grep -qx 'n_panels = 2' a.gp
  grep -qx "panel_titles\[1\] = 'pinned'" a.gp
  grep -qx "panel_titles\[2\] = 'pageable, sync'" a.gp
  # The legend has one entry for both panels, and what differs within one.
  grep -qx 'n_legend = 6' a.gp
  shows pinned 'pageable, sync' threads+mps 'threads, 32 queues'
  hides 'threads, pinned'
  draws throughput r.jsonl --width 84mm
  # A title stands above its panel and hides nothing; one that is wider has several lines.
  draws throughput "$MPSWEEP_SOURCE_DIR/docs/results/h100-tune-45s-detect-3.jsonl"
  shows '>pinned, stream launch, 8 queues, <' '>schedule auto, bind near<'
  hides 'filter:url(#textbox)'
  # Eight have one panel.
  { of_memories pinned "$layouts"; of_memories pageable "threads processes processes+mps"; } | file r.jsonl
  draws throughput r.jsonl
  absent '^n_panels' a.gp
  shows 'threads, pinned' 'threads, pageable, sync'
}

@test "all figures that the results allow, in a folder" {
  needs_gnuplot
  file r.jsonl <<<'{"phase_us": {}}'
  expect 0 "$MPSWEEP" plot r.jsonl --figure all -o figures
  [ ! -s err ]
  [ "$(ls -A figures)" = "$(printf 'heatmap.svg\nlatency.svg\nthroughput.svg')" ]
  grep -qx 'figures/latency.svg' out
  grep -q "^no phases: 'r.jsonl' has no measured point" out
  grep -q "^no ceilings: 'r.jsonl'" out
  file r.jsonl <<<'{}'
  explained r.jsonl >e.json
  expect 0 "$MPSWEEP" plot r.jsonl --figure all -o figures/ --explained e.json
  [ "$(find figures -name '*.svg' | wc -l)" -eq 6 ]
  file r.jsonl <<<'{"status": "failed"}'
  expect 1 "$MPSWEEP" plot r.jsonl --figure all -o none
  says "'r.jsonl' has nothing to draw"
  [ ! -e none ]
  mkdir none
  expect 1 "$MPSWEEP" plot r.jsonl --figure all -o none
  [ -d none ]
  echo x >plain
  expect 1 "$MPSWEEP" plot r.jsonl --figure all -o plain
  expect 1 "$MPSWEEP" plot r.jsonl --figure all -o missing/figures
  says "cannot write 'missing/figures': No such file or directory"
  refused "'all.png' is not the name of a directory: all figures go into one, as DIRECTORY/NAME.svg" \
    "$MPSWEEP" plot r.jsonl --figure all -o all.png
  [ ! -e all.png ]
}

@test "a width: the picture's, with text of a paper's size" {
  needs_gnuplot
  local figure width
  file r.jsonl '.host = "a-host-of-a-long-name-in-a-cluster"' <<'P'
{"threads": 1, "cpu": {"in_use": 1}, "tune": {"first": 1}}
{"threads": 8, "gpus": 2, "cpu": {"in_use": 2}, "tune": {"first": 2}, "per_gpu": [{"gpu": 0, "throughput_ips": 500}, {"gpu": 1, "throughput_ips": 500}]}
{"threads": 8, "cpu": {"in_use": 2}, "tune": {"first": 3}}
P
  for figure in throughput latency launch heatmap host scaling search; do
    draws "$figure" r.jsonl --width 84mm || fail "$figure"
    grep -q 'viewBox="0 0 238 ' a.svg || fail "$figure: $(grep viewBox a.svg)"
    # No line of the caption is longer than the page, and its end is there.
    [ "$(grep -A1 'font-size="6.50"' a.svg | sed -n 's/.*<text>\(.*\)<\/text>/\1/p' | wc -L)" -le 64 ] || fail "$figure"
    shows 'mpsweep 0.1.0'
  done
  for width in 3.31in 8.4cm; do
    expect 0 "$MPSWEEP" plot r.jsonl --width $width -o a.svg
    grep -q 'viewBox="0 0 238 ' a.svg
  done
  expect 0 "$MPSWEEP" plot r.jsonl -o a.svg
  grep -q 'viewBox="0 0 504 ' a.svg
  # Labels of rows need their page.
  refused "the figure 'phases' has a row for each point: it takes 7in or more" \
    "$MPSWEEP" plot r.jsonl --figure phases --width 84mm -o b.svg
  expect 0 "$MPSWEEP" plot r.jsonl --figure all --width 84mm -o all
  grep -qx 'all/host.svg' out
  grep -qx "no phases: the figure 'phases' has a row for each point: it takes 7in or more" out
  [ ! -e all/phases.svg ]
  draws phases r.jsonl --width 8in
  for width in 3.3 in 3.3inch 2in 21in -3in nanmm; do
    refused "'$width' is not a width: it is 3.3in, 84mm or 8.4cm, from 2.5in to 20in" \
      "$MPSWEEP" plot r.jsonl --width "$width" -o b.svg
  done
  [ ! -e b.svg ]
}
