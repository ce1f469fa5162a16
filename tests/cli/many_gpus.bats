#!/usr/bin/env bats
# Output about several GPUs: figures, comparison, explanation, tuning and deployments.

load helper
load figures

# scales NAME [HEADER-CHANGE]: one layout on 1, 2 and 4 GPUs, over MPS with each choice of daemons, and
# one that has no point of one GPU. GPU 2 of four is slow.
scales() {
  file "$@" <<'P'
{"threads": 8, "throughput_ips": 1000, "ci95_rel": 0.003}
{"threads": 8, "throughput_ips": 1900, "ci95_rel": 0.004, "gpus": 2, "per_gpu": [{"gpu": 0, "uuid": "GPU-1", "throughput_ips": 960}, {"gpu": 1, "uuid": "GPU-2", "throughput_ips": 940}]}
{"threads": 8, "throughput_ips": 3000, "gpus": 4, "per_gpu": [{"gpu": 0, "throughput_ips": 800}, {"gpu": 1, "throughput_ips": 800}, {"gpu": 2, "throughput_ips": 600}, {"gpu": 3, "throughput_ips": 800}]}
{"layout": "processes+mps", "mps": true, "processes": 4, "throughput_ips": 500}
{"layout": "processes+mps", "mps": true, "processes": 4, "throughput_ips": 800, "gpus": 2, "mps_daemons": "shared"}
{"layout": "processes+mps", "mps": true, "processes": 4, "throughput_ips": 900, "gpus": 2, "mps_daemons": "per-gpu"}
{"threads": 16, "throughput_ips": 3000, "gpus": 2}
{"threads": 16, "gpus": 4, "status": "failed"}
P
}

@test "scaling: a curve a layout from one GPU on, with N times the rate of one" {
  needs_gnuplot
  scales r.jsonl
  draws scaling r.jsonl
  shows 'threads 1×8' 'processes+mps 4×1, one daemon' 'processes+mps 4×1, a daemon a GPU' ideal \
    'efficiency against one GPU (%)' '1 series without a point of one GPU' \
    'Not drawn: 1 failed (threads 1×16)'
  # One GPU, two and four of the same curve: 95% and 75%, the interval of both.
  grep -A5 -x 'ideal\[1\] = 1000' a.gp >curve
  grep -qx '1 1000 3 100 100 100' curve
  grep -qx '2 1900 7.6 95 94.525 95.475' curve
  grep -q '^4 3000 3 75 ' curve
  # Both choices of daemons begin with the same point of one GPU.
  [ "$(grep -c '^ideal\[[0-9]\] = 500$' a.gp)" -eq 2 ]
  grep -q '^2 800 0.8 80 ' a.gp
  grep -q '^2 900 0.9 90 ' a.gp
  # Nothing to be efficient against.
  grep -qx '2 3000 3 NaN NaN NaN' a.gp
  scales r.jsonl '.gpu.emulated = true'
  draws scaling r.jsonl
  shows 'EMULATED GPU'
}

@test "gpus: each beside the mean of its point, and the slow one named" {
  needs_gnuplot
  scales r.jsonl
  draws gpus r.jsonl
  shows 'threads 1×8, 2 GPUs' 'threads 1×8, 4 GPUs' 'GPU 3' '/s each, 2.1% apart' \
    '/s each, 26.7% apart: GPU 2 slow'
  hides '2.1% apart: GPU'
  grep -qx '2 2 -20' a.gp
  scales r.jsonl '.gpu.emulated = true'
  draws gpus r.jsonl
  shows '(EMULATED GPU)'
}

@test "results of one GPU have no figure of several" {
  file r.jsonl <<<'{}'
  refused "'r.jsonl' has no measured point of several GPUs" \
    "$MPSWEEP" plot r.jsonl --figure scaling -o a.svg
  refused "'r.jsonl' has no measured point of several GPUs" \
    "$MPSWEEP" plot r.jsonl --figure gpus -o a.svg
  [ ! -e a.svg ]
}

@test "figures and comparisons do not take two GPUs for one" {
  needs_gnuplot
  scales r.jsonl
  draws throughput r.jsonl
  shows 'threads, 2 GPUs' 'threads, 4 GPUs' 'processes+mps, 2 GPUs, one daemon'
  # Two files that differ in how many GPUs and daemons each point has share no other point.
  file base.jsonl <<'P'
{"threads": 8, "throughput_ips": 1000}
{"threads": 8, "throughput_ips": 1900, "gpus": 2}
{"layout": "processes+mps", "mps": true, "processes": 4, "gpus": 2, "mps_daemons": "shared"}
P
  file new.jsonl <<'P'
{"threads": 8, "throughput_ips": 1900, "gpus": 2}
{"threads": 8, "throughput_ips": 1000, "gpus": 1}
{"layout": "processes+mps", "mps": true, "processes": 4, "gpus": 2, "mps_daemons": "per-gpu"}
P
  expect 0 "$MPSWEEP" compare base.jsonl new.jsonl
  [ "$(tail -1 out)" = "0 worse, 0 better, 0 same, 2 unsure; 1 only in BASE, 1 only in NEW" ]
  grep -q '^only in BASE: processes+mps 4×1, 2 GPUs, one daemon' out
}

# known FIELDS: r.jsonl with a calibration that has these fields, too, as known.jsonl.
known() {
  { head -1 r.jsonl
    jq -nc '{type: "calibration", work: {workload: "builtin", kernels: 220, blocks: 5,
      threads_per_block: 64, spin: 3072, bytes: 1441792, delay_cycles: 0}, single_stream_ips: 280,
      single_graph_ips: 280, single_stream_cpu_us: 10, single_graph_cpu_us: 10, arithmetic_ips: 1900000,
      process_launches_per_s: 1e9, gpu_launches_per_s: 1e9, graph_kernels_per_s: 1e9,
      process_graphs_per_s: 1e9, h2d_bytes_per_s: 3e9, d2h_bytes_per_s: 3e9, both_bytes_per_s: 3e9,
      pageable_bytes_per_s: 3e9, cpus: 64, sms: 132, seconds: 1, notes: []} + '"$1"
    sed 1d r.jsonl; } >known.jsonl
}

@test "explain: what GPUs share, how they scale, the slow one, and the better daemons" {
  scales r.jsonl
  known '{all_gpus: {gpus: 4, h2d_bytes_per_s: 12e9, d2h_bytes_per_s: 12e9, both_bytes_per_s: 3.2e9}}'
  expect 0 "$MPSWEEP" explain known.jsonl --format json
  jq -e 'map(select(.id == 2))[0] | .limited_by == "host-copies" and .gpus == 4
    and (.ceilings | map(select(.name == "host-copies"))[0].ips | . > 2219 and . < 2220)
    and .scaling.base == 0 and (.scaling.efficiency - 0.75 | fabs) < 1e-9
    and .shares_measured and .imbalance.kind == "slow" and .imbalance.gpu == 2 and .imbalance.of_the_others == 0.75' out
  # One GPU has its copies for itself, and is as it was.
  jq -e 'map(select(.id == 0))[0] | .limited_by == "copy-in" and (has("scaling") | not)
    and all(.ceilings[]; .name != "host-copies")' out
  jq -e 'map(select(.id == 4))[0].better_mps_daemons == {mps_daemons: "per-gpu", gain: 1.125}
    and map(select(.id == 5))[0].better_mps_daemons == null' out
  # Four GPUs have four times the copy engines.
  jq -e '[.[] | select(.id == 0 or .id == 2) | .ceilings[] | select(.name == "copy-in").ips]
    | .[1] / .[0] - 4 | fabs < 1e-9' out
  expect 0 "$MPSWEEP" explain known.jsonl
  tr -s ' \n' ' ' <out >flat
  grep -q 'host copies shared by GPUs: .*one GPU alone copies 3 GB/s each way at once, but 4 at once only 3.2 GB/s together' flat
  grep -q 'threads 1×8 on 4 GPUs (point 2): 75.0% ±0.2% of 4 times its one GPU; GPU 2 is 25% slower than the median of the others' flat
  grep -q -e '--mps-daemons per-gpu was measured 12.5% faster' flat
  absent 'was not measured' flat
  # A calibration of one GPU does not show what they share, and explain reports that.
  known '{}'
  expect 0 "$MPSWEEP" explain known.jsonl
  tr -s ' \n' ' ' <out >flat
  grep -q 'what the GPUs share of this machine was not measured' flat
  absent 'host copies shared' flat
  # The ceilings as a figure.
  if command -v gnuplot >/dev/null; then
    known '{all_gpus: {gpus: 4, both_bytes_per_s: 3.2e9}}'
    draws ceilings known.jsonl
    shows 'host copies shared by GPUs' 'threads 1×8, 4 GPUs'
  fi
}

@test "explain: a point of more GPUs than its header names is measured on none" {
  file r.jsonl '.gpu.emulated = true | .gpu.uuid = "GPU-6d707377-6565-702d-656d-756c61746564" | del(.gpu.name, .cpus)' <<'P'
{"threads": 2, "gpus": 9}
P
  cp r.jsonl before.jsonl
  expect 1 "$MPSWEEP" explain r.jsonl
  grep -q "^mpsweep: 'r.jsonl': point 0 has 9 GPUs, and the header names 1$" err
  cmp before.jsonl r.jsonl
}

# As emulated:all with N GPUs.
machine() { export MPSWEEP_EMUL_DEVICES=$1; }

two_gpus_do_twice_one() {
  rm -f r.jsonl
  expect 0 "$MPSWEEP" sweep --device emulated:all --gpus-per-point 1,2 -l threads:2 \
    -l processes+mps:2 --mps-daemons shared,per-gpu --schedule block "${SMALL[@]:2}" -q -o r.jsonl || return 1
  jq -se '[.[] | select(.type == "point")] as $p | ($p | length) == 5
    and ([$p[] | select(.gpus == 2)] | length) == 3
    and all($p[] | select(.gpus == 2); . as $two
      | first($p[] | select(.layout == $two.layout and .gpus == null)) as $one
      | $two.throughput_ips / $one.throughput_ips | . > 1.6 and . < 2.5)' r.jsonl
}

@test "sweep of one and two GPUs: scaling in explain's terms, and both figures" {
  machine 2
  judged two_gpus_do_twice_one
  needs_gnuplot
  draws scaling r.jsonl
  shows 'threads 1×2' 'processes+mps 2×1, one daemon' 'processes+mps 2×1, a daemon a GPU' 'EMULATED GPU'
  draws gpus r.jsonl
  shows 'All points: 2 GPUs' 'threads 1×2' 'GPU 1'
  # The same points again are the same.
  expect 0 "$MPSWEEP" compare r.jsonl r.jsonl
  tail -1 out | grep -q '^0 worse, 0 better, [0-9]* same, [0-9]* unsure$'
}

# tuned OPTIONS...
tuned() {
  rm -rf t.jsonl d
  expect 0 "$MPSWEEP" tune --device emulated:all --guide measuring --budget 60s --kernels 5 --duration 0.1 \
    --warmup 0.02 --memory pinned --launch stream --streams 1 --schedule block --bind near \
    --connections default \
    --active-thread-percentage default -q -o t.jsonl --emit systemd --emit-dir d "$@"
}

@test "tune: searched on one GPU, measured on all of them, and its deployment on all" {
  machine 2
  tuned -l threads:1,2 --max-threads 2
  grep -q '^2 × ' out
  grep -q '^each GPU: [0-9.]*, [0-9.]* iterations/s' out
  jq -se '.[] | select(.type == "tune") | .winner.per_gpu_ips | length == 2' t.jsonl
  jq -se 'map(select(.type == "point")) | (map(select(.tune.stage == "look")) | length == 2 and all(.gpus == null))
    and (map(select(.tune.stage == "final" or .tune.stage == "naive")) | length > 2 and all(.gpus == 2))' t.jsonl
  # The CPUs of one GPU are half of those that there are.
  if [ "$(nproc)" = 2 ]; then
    jq -se 'map(select(.type == "point" and .tune.stage == "look").per_worker[].cpus) | unique | length == 1' t.jsonl
  fi
  [ "$(grep -h '^CUDA_VISIBLE_DEVICES=' d/worker-*.env | sort -u | wc -l)" = 2 ]
  # The answer's options make the same point again: a layout of a GPU, and not the sum of all.
  local again
  read -ra again <<<"$(jq -r 'select(.type == "tune") | .winner.options' t.jsonl)"
  expect 0 "$MPSWEEP" "${again[@]}" --list
  grep -q "$(jq -r 'select(.type == "tune") | .winner.what' t.jsonl | sed 's/,.*//')" out
  # A figure has one measure for looks and finals.
  expect 0 "$MPSWEEP" plot t.jsonl --figure search -o search.gp
  grep -q "^ylabel = 'throughput of a GPU (iterations/s)'$" search.gp
  # One number of GPUs.
  expect 1 "$MPSWEEP" tune --device emulated:all --gpus-per-point 1,2 -q
  says "give 'gpus-per-point' as one number"
  expect 0 "$MPSWEEP" tune --device emulated:all --gpus-per-point 1 --dry-run
  absent 'searched on one GPU' out
}

@test "tune: GPUs that share the host are not limited by what one of them can do" {
  machine 2
  alike() {
    rm -f t.jsonl
    MPSWEEP_EMULATED_MACHINE=h2d_mb_per_s=1000,d2h_mb_per_s=1000,host_mb_per_s=$1 expect 0 "$MPSWEEP" tune \
      --device emulated:all --guide measuring --budget 30s -l threads:2 --kernels 1 --spin 1 --bytes 4M \
      -m pinned --launch stream --streams 1 --schedule block -b near -c default --duration 0.3 -q -o t.jsonl ||
      return 1
    jq -se "map(select(.type == \"tune\")) | last | .scaling | $2" t.jsonl
  }
  judged alike 0 '.shared | not'
  judged alike 1800 '.shared and .efficiency < 0.8'
  grep -qE "^[0-9.]+% of 2 times one GPU alone: they share the host's memory" out
  jq -se 'map(select(.type == "tune")) | last | has("limited_by") | not' t.jsonl
}

# The second process of these layouts is the one on GPU 1.
TWO=(--device emulated:all --guide measuring --kernels 5 --duration 0.1 --warmup 0.02 -m pinned
  --launch stream --streams 1 --schedule block -b near -c default --active-thread-percentage default
  -l threads:1,2 -q)

@test "tune: what works on one GPU alone is not the winner" {
  machine 2
  MPSWEEP_EMULATED_FAULT=cuDevicePrimaryCtxRetain=error:2@1 expect 4 "$MPSWEEP" tune "${TWO[@]}" \
    --budget 60s -o t.jsonl
  jq -se '.[] | select(.type == "tune") | .verdict == "none" and .winner == null' t.jsonl
  grep -q '^no layout was found that works; threads .* on each of 2 GPUs, .*GPU 1' out
}

@test "tune: without time for all GPUs the layout of one is not finished" {
  machine 2
  MPSWEEP_EMULATED_FAULT=cuDevicePrimaryCtxRetain=slow:60000@1 expect 0 "$MPSWEEP" tune "${TWO[@]}" \
    --budget 10s -o t.jsonl
  jq -se '.[] | select(.type == "tune") | .verdict == "unfinished" and .ended == "budget"
    and .winner.per_gpu_ips == null and (.winner.options | test("--gpus-per-point 1 "))' t.jsonl
  grep -q '^unfinished: ' out
  # And with more time it goes on with all.
  cp t.jsonl before.jsonl
  expect 0 "$MPSWEEP" tune "${TWO[@]}" --budget 60s -o t.jsonl --resume
  cmp -n "$(stat -c %s before.jsonl)" before.jsonl t.jsonl
  jq -se 'map(select(.type == "tune")) | last | (.winner.per_gpu_ips | length == 2) and .ended == "complete"' t.jsonl
  jq -se 'map(select(.type == "point" and .gpus == null).id) | length == 2 and . == unique' t.jsonl
}

# results of two GPUs, over MPS with one daemon (0), one each (1), and without MPS (2).
deployable() {
  file results.jsonl '.gpu = {name: "a GPU", uuid: "GPU-a0", emulated: true}' <<'P'
{"layout": "processes+mps", "mps": true, "processes": 2, "gpus": 2, "mps_daemons": "shared", "active_thread_percentage": [30, 70], "memory_limit": 536870912}
{"layout": "processes+mps", "mps": true, "processes": 2, "gpus": 2, "mps_daemons": "per-gpu", "active_thread_percentage": [30, 70]}
{"layout": "processes", "processes": 2, "gpus": 2}
{"layout": "processes", "processes": 2, "gpus": 2, "per_gpu": [{"gpu": 0, "uuid": "GPU-a0"}]}
P
  jq -c 'if .type == "point" then .per_gpu //= [{gpu: 0, uuid: "GPU-a0"}, {gpu: 1, uuid: "GPU-a1"}]
    | .per_worker = [range(4) | {process: ., thread: 0, cpus: "\(. % 2)"}] else . end' results.jsonl >more.jsonl
  mv more.jsonl results.jsonl
}

# emit POINT FORMAT: into folder FORMAT.
emit() {
  rm -rf "$2"
  expect 0 "$MPSWEEP" emit results.jsonl --point "$1" --format "$2" -o "$2" -- serve '{process}' "${@:3}"
}

# of VARIABLE: what each worker's environment has for it.
of() {
  sed -n "s/^$1=\"\(.*\)\"$/\1/p;s/^$1=\([^\"].*\)$/\1/p" systemd/worker-*.env | paste -sd' '
}

@test "emit: each worker has its GPU, its daemon, its shares and its CPUs" {
  deployable
  emit 0 systemd '{gpu}'
  [ "$(of CUDA_VISIBLE_DEVICES)" = 'GPU-a0 GPU-a1 GPU-a0 GPU-a1' ]
  [ "$(of CUDA_MPS_ACTIVE_THREAD_PERCENTAGE)" = '30 30 70 70' ]
  [ "$(of MPSWEEP_CPUS)" = '0 1 0 1' ]
  [ "$(of CUDA_MPS_PIPE_DIRECTORY)" = \
    '/run/mpsweep-systemd/mps /run/mpsweep-systemd/mps /run/mpsweep-systemd/mps /run/mpsweep-systemd/mps' ]
  grep -qx 'CUDA_VISIBLE_DEVICES="GPU-a0,GPU-a1"' systemd/mps.env
  emit 1 systemd
  [ "$(of CUDA_MPS_PIPE_DIRECTORY)" = \
    '/run/mpsweep-systemd/mps-0 /run/mpsweep-systemd/mps-1 /run/mpsweep-systemd/mps-0 /run/mpsweep-systemd/mps-1' ]
  grep -qx 'CUDA_VISIBLE_DEVICES="GPU-a0"' systemd/mps-0.env
  grep -qx 'CUDA_VISIBLE_DEVICES="GPU-a1"' systemd/mps-1.env
  emit 2 systemd
  [ ! -e systemd/mps.env ]
  [ "$(of CUDA_VISIBLE_DEVICES)" = 'GPU-a0 GPU-a1 GPU-a0 GPU-a1' ]
  emit 1 env
  grep -q '^point 1 (asked for by its number): processes+mps 2×1 on each of 2 GPUs, ' out
  grep -qx 'MPSWEEP_GPU_1="GPU-a1"' env/deployment.env
  # shellcheck disable=SC2016
  grep -qx 'MPSWEEP_GPU="$MPSWEEP_GPU_1"' env/worker-3.env
  grep -q '2×1 on each of 2 GPUs over MPS, a daemon each' env/README.md
  emit 0 slurm
  grep -qx '#SBATCH --gres=gpu:2' slurm/job.sbatch
  # Four workers on two CPUs: a job has no more tasks than CPUs.
  grep -qx '#SBATCH --ntasks=1' slurm/job.sbatch
  grep -qx '#SBATCH --cpus-per-task=2' slurm/job.sbatch
  grep -qx 'MPSWEEP_OVERCOMMIT=--overcommit' slurm/deployment.env
  refused "point 3 of 'results.jsonl' does not name each of its GPUs by its UUID" \
    "$MPSWEEP" emit results.jsonl --point 3 --format env -o none
  [ ! -e none ]
}

@test "emit: containers and units of several GPUs" {
  deployable
  # A replica each GPU, since Kubernetes allots GPUs to pods.
  emit 0 kubernetes
  grep -qx '  replicas: 2' kubernetes/deployment.yaml
  [ "$(grep -c 'name: "worker-' kubernetes/deployment.yaml)" -eq 2 ]
  grep -q 'The measurement had one daemon for all GPUs' kubernetes/README.md
  emit 1 kubernetes
  absent 'The measurement had one daemon' kubernetes/README.md
  emit 0 compose
  grep -q 'device_ids: \["GPU-a0", "GPU-a1"\]' compose/compose.yaml
  [ "$(grep -c '"service:mps"' compose/compose.yaml)" -eq 8 ]
  emit 1 compose
  [ "$(grep -c '"service:mps-1"' compose/compose.yaml)" -eq 4 ]
  [ "$(grep -c 'device_ids: \["GPU-a1"\]' compose/compose.yaml)" -eq 3 ]
  emit 1 systemd
  grep -qx 'BindsTo=mpsweep-systemd-mps@1.service' systemd/mpsweep-systemd-worker@3.service.d/daemon.conf
  grep -qx 'CUDA_VISIBLE_DEVICES="GPU-a1"' systemd/mps-1.env
  grep -qx 'CUDA_MPS_PIPE_DIRECTORY="/run/mpsweep-systemd/mps-1"' systemd/worker-3.env
  emit 0 systemd
  grep -qx 'CUDA_VISIBLE_DEVICES="GPU-a0,GPU-a1"' systemd/mps.env
  grep -qx 'MPSWEEP_MPS_GPUS=2' systemd/mps.env
  [ ! -e systemd/mpsweep-systemd-worker@3.service.d/daemon.conf ]
}
