#!/usr/bin/env bats
# Deployments as they are written: which point, whole or not at all, and right in the eyes of those
# who will read them.

load helper
load emit

@test "an error is one line, and nothing is written" {
  write_results
  emit_refused() {
    local pattern=$1
    shift
    refused "$pattern" "$MPSWEEP" emit "$@" || return 1
    [ ! -e d ] || fail "there is a directory after: emit $*"
  }
  emit_refused 'emit needs a results file'
  emit_refused 'emit needs --target env\|systemd' results.jsonl -o d
  emit_refused 'emit needs --output DIR' results.jsonl --format env
  emit_refused "'ansible' is not a value of target: it takes one of env\|systemd" results.jsonl --format ansible -o d
  emit_refused "'docker' is not a value of target: .*; did you mean 'compose'" results.jsonl --target docker -o d
  emit_refused "cannot open 'none.jsonl'" none.jsonl --format env -o d
  emit_refused "'results.jsonl' has no point 5: its points are 0, 1, 2, 3, 4$" results.jsonl --format env -o d --point 5
  # Those of a tuning are few, and in the order in which they were measured.
  jq -c 'select(.type != "point"), select(.id == 3) | if .type == "point"
    then .id = (492, 485, 7, 0) else . end' results.jsonl >few.jsonl
  emit_refused "'few.jsonl' has no point 3: its points are 0, 7, 485, 492$" few.jsonl --format env -o d --point 3
  jq -c 'if .type == "point" then .id += (10, 0) else . end' results.jsonl >many.jsonl
  emit_refused "'many.jsonl' has no point 5: its points are 0, 1, 2, 3, 4, 10, 11, 12 and 2 others$" \
    many.jsonl --format env -o d --point 5
  jq -c 'select(.type != "point" or .id == 3)' results.jsonl >one.jsonl
  emit_refused "'one.jsonl' has no point 5: its only point is 3$" one.jsonl --format env -o d --point 5
  emit_refused "point 2 of 'results.jsonl' is infeasible and has no measurement" results.jsonl --format env -o d --point 2
  emit_refused "'-1' is not a value of point" results.jsonl --format env -o d --point=-1
  emit_refused 'port 65535 is not the first of 2: it takes 1 to 65534' results.jsonl --format env -o d --port 65535
  emit_refused "word 2 of the command is not UTF-8" results.jsonl --format env -o d -- a $'\xff'
  emit_refused "unknown placeholder '\{prt\}' in 'x\{prt\}': it is one of \{process\}, .*'\{\{' is a brace" results.jsonl --format env -o d -- a 'x{prt}'
  emit_refused '\{gpu\} is not known before Kubernetes has allotted one' results.jsonl --format kubernetes -o d -- a '{gpu}'
  emit_refused "image 'bad image' has a blank: it takes a name as edit-me.invalid/your-image:tag$" \
    results.jsonl --format kubernetes -o d --image 'bad image' -- a
  emit_refused 'image is for kubernetes and compose: leave it out with --target env$' \
    results.jsonl --format env -o d --image reg/i:1 -- a
  emit_refused "the command's first word is empty" results.jsonl --format env -o d -- ''
  emit_refused "cannot write 'none/d': No such file" results.jsonl --format env -o none/d
  emit_refused "'\.' cannot be a deployment's directory" results.jsonl --format env -o .
  emit_refused "'x/\.\./' cannot be a deployment's directory" results.jsonl --format env -o x/../
  emit_refused "unexpected argument 'serve'" results.jsonl --format env -o d serve
  grep -v '"ok"' results.jsonl >none-ok.jsonl
  emit_refused "'none-ok.jsonl' has no point that is ok and can be deployed: --point 1 takes the best one, which is unconverged; more --rounds" \
    none-ok.jsonl --format env -o d
  grep -v unconverged none-ok.jsonl >none.jsonl
  emit_refused "'none.jsonl' has no point that is ok and can be deployed: measure one, or name another" \
    none.jsonl --format env -o d
  rm none.jsonl
}

@test "records that cannot be are refused" {
  write_results
  altered() {
    local pattern=$1
    jq -c "$2" results.jsonl >altered.jsonl
    refused "$pattern" "$MPSWEEP" emit altered.jsonl --format env -o d --point 3 || return 1
    [ ! -e d ]
  }
  altered 'names no GPU by its UUID' '(select(.type == "header").gpu.uuid) = "GPU-1; reboot"'
  altered 'names no GPU by its UUID' 'del(.gpu)'
  altered 'no numbers of processes and threads' '(select(.type == "point").processes) = 0'
  altered 'no numbers of processes and threads' '(select(.type == "point").threads) = 1e6'
  altered "'throughput_ips' of the point is a string, not a number" \
    '(select(.type == "point").throughput_ips) = "many"'
  altered 'a different number of shares than processes' '(select(.id == 3).active_thread_percentage) = [1,2,3]'
  altered "has an invalid 'active_thread_percentage'" '(select(.id == 3).active_thread_percentage) = 101'
  altered "has an invalid 'memory_limit'" '(select(.id == 3).memory_limit) = -1'
  altered "an invalid 'connections'" '(select(.id == 3).connections) = 1000'
}

@test "a directory is new or empty, or it is left alone" {
  write_results
  mkdir full empty
  echo mine >full/file
  : >file
  ln -s empty link
  local place
  for place in full full/ file link; do
    refused "'$place' exists: give a directory that is new or empty" \
      "$MPSWEEP" emit results.jsonl --format env -o $place
  done
  [ "$(ls -A full)" = file ]
  [ "$(cat full/file)" = mine ]
  emit env empty/
  [ -x empty/start ]
  # Nothing stays beside it.
  [ -z "$(find . -name '.*' ! -name .)" ]
}

@test "a failure in the middle leaves nothing behind" {
  write_results
  mkdir -p data/emit empty
  cp "$MPSWEEP_SOURCE_DIR"/emit/* data/emit
  rm data/emit/mps
  local format
  for format in env systemd slurm kubernetes compose; do
    MPSWEEP_DATA_DIR=$PWD/data refused "cannot find data file 'emit/mps'" \
      "$MPSWEEP" emit results.jsonl --format $format -o d
    MPSWEEP_DATA_DIR=$PWD/data refused "cannot find data file 'emit/mps'" \
      "$MPSWEEP" emit results.jsonl --format $format -o empty
  done
  # A disk that is full, as far as this program knows.
  expect 1 bash -c 'ulimit -f 1; exec "$@"' full "$MPSWEEP" emit results.jsonl --format kubernetes -o d
  says "cannot write 'd': File too large"
  [ ! -e d ]
  [ -z "$(ls -A empty)" ]
  [ -z "$(find . -name '.*' ! -name .)" ]
}

@test "a signal in the middle leaves nothing behind" {
  write_results
  needs python3 python3
  local signal
  for signal in INT TERM HUP; do
    # It comes before the first file, and stays pending.
    expect 130 with_pending $signal "$MPSWEEP" emit results.jsonl --format env -o d
    says "interrupted: 'd' is not written"
    [ ! -e d ]
    [ -z "$(find . -name '.*' ! -name .)" ]
  done
}

@test "which point: asked for, the winner of a tuning, the best that is ok" {
  write_results
  emit env best
  grep -q '^point 3 (the highest throughput of the points that qualify): hybrid 2×2, 3000 iterations/s$' out
  emit env asked --point 1
  grep -q '^point 1 (asked for by its number): threads 1×4, 9000' out
  { cat results.jsonl; echo '{"type":"tune","verdict":"winner","winner":{"point":0}}'; } >tuned.jsonl
  expect 0 "$MPSWEEP" emit tuned.jsonl --format env -o tuned
  grep -q '^point 0 (the winner of the tuning): processes+mps 3×1' out
  grep -q '^| point | 0, the winner of the tuning |$' tuned/README.md
  { cat results.jsonl; echo '{"type":"tune","verdict":"none"}'; } >none.jsonl
  expect 0 "$MPSWEEP" emit none.jsonl --format env -o none
  grep -q '^point 3 (the highest throughput of the points that qualify: the tuning has no winner)' out
  { cat results.jsonl; echo '{"type":"tune","winner":{"point":2}}'; } >wrong.jsonl
  refused "point 2 of 'wrong.jsonl' is infeasible" "$MPSWEEP" emit wrong.jsonl --format env -o wrong
}

@test "README.md: what it was made from, loudly if that was emulated" {
  write_results
  local format
  for format in env systemd slurm kubernetes compose; do
    emit $format $format -- serve 'a b'
    grep -q '^> \*\*EMULATED\.\*\*' $format/README.md
    grep -q '^| throughput | 3000 iterations/s ±1.2% (95%), 2 rounds, ok, EMULATED |$' $format/README.md
    grep -q '^| latency | p50 1.234 ms, p99 2.346 ms |$\|^| latency | p50 1.235 ms, p99 2.346 ms |$' $format/README.md
    grep -q '^| machine | node??? |$' $format/README.md
    grep -q '^| launch | graph |' $format/README.md
    grep -q '^    \["serve", "a b"\]$' $format/README.md
    grep -q '^## Another ' $format/README.md
  done
  jq -c '(select(.type == "header").gpu.emulated) = false' results.jsonl >real.jsonl
  expect 0 "$MPSWEEP" emit real.jsonl --format env -o real
  absent 'EMULATED' real/README.md
  absent 'EMULATED' real/deployment.env
}

@test "README.md: a rate that was searched is known to a step of the search, and rounds are counted" {
  write_results
  jq -c 'if .id == 3 then .rounds = [{}] | .rate = {offered_ips: 3000, goal: {percentile: "p99", us: 50000}}
    else . end' results.jsonl >searched.jsonl
  mv searched.jsonl results.jsonl
  emit kubernetes d
  grep -q '^| throughput | 3000 iterations/s (2850 to 3150, a step of the search), 1 round, ok, EMULATED |$' d/README.md
  # A look of a tune knows less.
  jq -c 'if .id == 3 then .rate.failed_ips = 3500 else . end' results.jsonl >look.jsonl
  mv look.jsonl results.jsonl
  emit env look
  grep -q '^| throughput | 3000 iterations/s (2850 to 3500, a step of the search), 1 round, ok, EMULATED |$' look/README.md
}

# of VARIABLE: what each worker's environment has for it, "-" for nothing.
of() {
  local file
  for file in d/worker-*.env; do
    sed -n "s/^$1=\"\(.*\)\"$/\1/p;s/^$1=\([^\"].*\)$/\1/p" "$file" | grep . || echo -
  done | paste -sd' '
}

@test "streams of a thread: in the environment, the layout's name and what the program must do" {
  write_results
  jq -c 'if .id == 3 then .streams = 16 else . end' results.jsonl >streams.jsonl
  mv streams.jsonl results.jsonl
  local format
  for format in env systemd slurm kubernetes compose; do
    emit $format $format --point 3 -- serve '{threads}x{streams}'
    grep -q '2×2×16 over MPS' $format/README.md
    grep -q '^2 worker processes of 2 threads each, with 16 CUDA streams a thread' $format/README.md
    grep -q '^| streams | 16 | CUDA streams of each thread, which polls them' $format/README.md
    grep -rqE '"2x16"|"\$MPSWEEP_THREADS"'"'x'"'"\$MPSWEEP_STREAMS"' $format
    grep -rA1 MPSWEEP_STREAMS $format | grep -q '[":]16["]\|=.16'
  done
  emit systemd d --point 0 -- serve '{threads}x{streams}'
  [ "$(of MPSWEEP_STREAMS)" = '1 1 1' ]
  absent '^| streams\|streams a thread' d/README.md
}

@test "each worker with its shares, CPUs and environment" {
  write_results
  emit systemd d --point 0 -- serve '{port}'
  [ "$(of CUDA_MPS_ACTIVE_THREAD_PERCENTAGE)" = '30 - 70' ]
  [ "$(of CUDA_MPS_PINNED_DEVICE_MEM_LIMIT)" = '0=512M 0=1024M 0=2048M' ]
  [ "$(of CUDA_MPS_CLIENT_PRIORITY)" = '0 1 1' ]
  [ "$(of CUDA_DEVICE_MAX_CONNECTIONS)" = '8 8 8' ]
  [ "$(of MPSWEEP_PROCESS) $(of MPSWEEP_PORT)" = '0 1 2 9000 9001 9002' ]
  [ "$(of MPSWEEP_THREADS) $(of MPSWEEP_SEED) $(of MPSWEEP_MPS)" = '1 1 1 7 7 7 1 1 1' ]
  local gpu=GPU-6d707377-6565-702d-656d-756c61746564
  [ "$(of CUDA_VISIBLE_DEVICES)" = "$gpu $gpu $gpu" ]
  [ "$(of MPSWEEP_GPU)" = "$gpu $gpu $gpu" ]
  [ "$(of MPSWEEP_CPUS)" = '0,2-3 64 4' ]
  grep -qx 'MPSWEEP_MPS_PERCENTAGE=""' d/mps.env
  grep -qx 'MPSWEEP_MPS_MEMORY="2048M"' d/mps.env
  grep -qx 'CPUAffinity=0,2-3' d/mpsweep-d-worker@0.service.d/cpus.conf
  rm -r d
  emit systemd d --point 4
  [ "$(of CUDA_DEVICE_MAX_CONNECTIONS)" = '- -' ]
  [ "$(of MPSWEEP_CPUS)" = '- -' ]
  [ ! -e d/mps.env ]
}

@test "CPUs of a list that was cut, or is none, are not known" {
  write_results
  local list
  for list in '0-3,5...' '0-5000' '3-' ',' '0x3' '-1'; do
    jq -c --arg list "$list" 'if .id == 0 then .per_worker[1].cpus = $list else . end' \
      results.jsonl >cut.jsonl
    expect 0 "$MPSWEEP" emit cut.jsonl --format systemd -o d --point 0
    [ "$(of MPSWEEP_CPUS)" = '- - -' ]
    grep -q 'are \*\*not bound\*\* to CPUs' d/README.md
    rm -r d
  done
}

@test "what the daemon of a measurement gave, the deployment's gives, too" {
  write_results
  jq -c '(select(.type == "header").external_mps) =
    {pipe_directory: "/run/theirs", active_thread_percentage: 40, priority: 1, memory_limit: 4294967296}
    ' results.jsonl >external.jsonl
  expect 0 "$MPSWEEP" emit external.jsonl --format systemd -o d --point 0
  grep -qx 'MPSWEEP_MPS_PERCENTAGE="70"' d/mps.env
  [ "$(of CUDA_MPS_ACTIVE_THREAD_PERCENTAGE)" = '30 40 70' ]
  [ "$(of CUDA_MPS_PINNED_DEVICE_MEM_LIMIT)" = '0=512M 0=1024M 0=2048M' ]
  [ "$(of CUDA_MPS_CLIENT_PRIORITY)" = '0 1 1' ]
  # The directory of that daemon is not ours.
  absent theirs d/worker-*.env
  rm -r d
  expect 0 "$MPSWEEP" emit external.jsonl --format systemd -o d --point 4
  [ "$(of CUDA_MPS_ACTIVE_THREAD_PERCENTAGE)" = '- -' ]
}

@test "scripts of all formats: sh and shellcheck" {
  needs shellcheck shellcheck
  write_results
  local format file point
  for point in 0 1 4; do
    emit env env-$point --point $point -- serve "${HARD[@]}" "${PLACED[@]}"
    emit slurm slurm-$point --point $point -- serve "${HARD[@]}" "${PLACED[@]}"
    emit env none-$point --point $point
    for format in systemd kubernetes compose; do
      emit $format $format-$point --point $point -- serve "${HARD[@]}"
    done
    for file in {env,slurm,none}-$point/{command,mps,check} {env,none}-$point/{start,stop,common.sh} \
      slurm-$point/{job.sbatch,job.sh,worker} systemd-$point/{install,check,mps,names.sh} \
      {kubernetes,compose}-$point/{mps,worker,check} {env,slurm}-$point/ready; do
      sh -n $file
      # Points share most of them. Words that look like variables are meant to stay as they are.
      cmp -s $file ${file/-$point/-0} && [ $point != 0 ] || shellcheck -e SC2016 $file
    done
    for file in {env,slurm}-$point/*.env; do
      sh -n $file
    done
  done
}

@test "the daemon's script: what it refuses" {
  local mps=$MPSWEEP_SOURCE_DIR/emit/mps
  refused "'dance' is none of run, configure, ready" sh "$mps" dance
  refused 'CUDA_MPS_PIPE_DIRECTORY is not set' sh "$mps" run
  local directory
  for directory in /tmp/nvidia-mps /run/nvidia-mps; do
    CUDA_MPS_PIPE_DIRECTORY=$directory refused 'is the directory of everybody' sh "$mps" run
  done
  CUDA_MPS_PIPE_DIRECTORY=mps refused "'mps' is no absolute path" sh "$mps" run
  CUDA_MPS_PIPE_DIRECTORY=/tmp/$(printf '%080d' 0) refused 'has 85 characters: a socket.s path allows 75' sh "$mps" run
  CUDA_MPS_PIPE_DIRECTORY=$PWD/none refused 'is not ready' sh "$mps" ready
  CUDA_MPS_PIPE_DIRECTORY=$PWD/none refused 'not attached: no daemon answers' sh "$mps" attached 1
}

# verify DIRECTORY: checks its units with systemd, with instances of the template.
verify_units() {
  local name=$1 unit units=()
  mkdir -p "$name.units"
  cp -R "$name"/mpsweep-* "$name.units"
  cd "$name.units" || return 1
  cp "mpsweep-$name-worker@.service" "mpsweep-$name-worker@0.service"
  [ ! -e "mpsweep-$name-mps@.service" ] || cp "mpsweep-$name-mps@.service" "mpsweep-$name-mps@0.service"
  # systemd rightly reports it as unsafe.
  sed -i '/^User=nobody$/d' ./*.service
  for unit in *.target *-mps.service *-mps@0.service *-worker@0.service; do
    [ ! -e "$unit" ] || units+=("./$unit")
  done
  SYSTEMD_UNIT_PATH=$PWD: expect 0 systemd-analyze verify --man=no "${units[@]}" || return 1
  # It warns and exits with 0 for what it does not understand; other units of the machine are not ours.
  absent "mpsweep-$name" "$WORK/err" || return 1
  cd ..
}

@test "systemd: systemd-analyze takes the units" {
  needs systemd-analyze systemd
  write_results
  emit systemd shares --point 0 -- serve --port '{port}' "${HARD[@]}"
  verify_units shares
  emit systemd threads --point 1 -- /bin/echo "${HARD[@]}" "${PLACED[@]}"
  [ ! -e threads/mpsweep-threads-mps.service ]
  verify_units threads
  emit systemd none --point 3
  verify_units none
  on_two_gpus per-gpu 3
  emit systemd each --point 3 -- serve "${HARD[@]}" "${PLACED[@]}"
  [ -e each/mpsweep-each-mps@.service ]
  verify_units each
  # It can fail.
  sed -i 's/^Type=exec/Type=exec\nRestart=sometimes/' none/mpsweep-none-worker@.service
  run ! verify_units none
}

@test "systemd: what is in the units" {
  write_results
  mkdir sub
  emit systemd "Über  Serve!" --point 0 -- sub/serve "${PLACED[@]}" 'a "b" %h $x \ {{x}' '{seed}{gpu}' $'\t'
  cd "Über  Serve!"
  local template='mpsweep--ber-serve-worker@.service'
  [ -e "$template" ] || template=$(ls mpsweep-*-worker@.service)
  grep -qxF "ExecStart=\"$WORK/sub/serve\" \"{other} \$\${HOME} {\" \"%i\" \"p%iof3\" \"--port=\${MPSWEEP_PORT}\" \"1\$\$x1\" \"a \\\"b\\\" %%h \$\$x \\\\ {x}\" \"7\${MPSWEEP_GPU}\" \"\\x09\"" "$template"
  grep -qx 'BindsTo=mpsweep-.*-mps.service' "$template"
  grep -qx 'After=mpsweep-.*-mps.service' "$template"
  grep -qx 'TimeoutStopSec=30' "$template"
  # After a crash of the daemon its restart has to bring the workers back.
  [ "$(grep -cx 'Wants=mpsweep-.*-worker@[012]\.service' mpsweep-*-mps.service)" -eq 3 ]
  grep -qx 'Restart=on-failure' "$template"
  grep -qx 'RuntimeDirectoryMode=0700' mpsweep-*-mps.service
  grep -qx 'LogsDirectoryMode=0700' mpsweep-*-mps.service
  # It comes back whatever ends it, however often, and the driver's services are there before.
  grep -qx 'Restart=always' mpsweep-*-mps.service
  local unit
  for unit in "$template" mpsweep-*-mps.service; do
    grep -qx 'StartLimitIntervalSec=0' "$unit"
    grep -qx 'After=nvidia-persistenced.service nvidia-fabricmanager.service' "$unit"
    grep -qx 'LimitNOFILE=65536' "$unit"
    grep -qx 'LimitMEMLOCK=infinity' "$unit"
  done
  grep -qx 'CPUAffinity=0,2-3' mpsweep-*@0.service.d/cpus.conf
  grep -qx 'CPUAffinity=64' mpsweep-*@1.service.d/cpus.conf
  grep -qx 'MPSWEEP_MPS_MEMORY="2048M"' mps.env
  grep -qx 'CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="0=1024M"' worker-1.env
  cd ..
  refused "the program's name 'a=b' has a '=': give its path" "$MPSWEEP" emit results.jsonl --format systemd -o d -- a=b
  local word
  for word in '/opt/$x/serve' './serve-{port}' '/srv/{gpu}/serve'; do
    refused "systemd expands nothing in a program's path: '/.*' must have no '\\$', \{port\} or \{gpu\}" \
      "$MPSWEEP" emit results.jsonl --format systemd -o d -- "$word"
  done
  emit systemd numbered -- '/srv/{process}/serve' '$x' '{port}' '{gpu}'
  mkdir '$x'
  cd '$x'
  refused "systemd expands nothing" "$MPSWEEP" emit ../results.jsonl --format systemd -o d -- ./serve
}

@test "systemd: install and remove, under another root" {
  write_results
  emit systemd d --point 0 -- serve
  DESTDIR=$PWD/root expect 0 ./d/install
  [ -e root/etc/systemd/system/mpsweep-d.target ]
  [ -e root/etc/systemd/system/mpsweep-d-worker@2.service.d/cpus.conf ]
  [ -e root/etc/mpsweep-d/worker-2.env ]
  [ -e root/etc/mpsweep-d/mps.env ]
  [ -e root/usr/local/lib/mpsweep-d/mps ]
  DESTDIR=$PWD/root expect 0 ./d/install
  DESTDIR=$PWD/root expect 0 ./d/install --remove
  [ -z "$(find root -type f)" ]
  emit systemd none --point 0
  DESTDIR=$PWD/root expect 1 ./none/install
  says 'edit me: .* has no command yet'
  expect 1 ./none/check
  says 'edit me: .* has no command yet'
}

# yaml PROGRAM FILE WORDS...: Python with the file's document as d, and the words.
yaml() {
  local python
  python=$(python_with_yaml) || skip "no YAML parser: apt-get install python3-yaml"
  "$python" -c "import sys, yaml
d = yaml.safe_load(open(sys.argv[1], encoding='utf-8'))
words = sys.argv[2:]
def undouble(word): return word.replace('\$\$', '\$')
$1" "${@:2}"
}

@test "compose: a YAML parser finds the same words, and order and health" {
  write_results
  emit compose d --image 'reg/i:$1' -- serve "${HARD[@]}" "${PLACED[@]}"
  yaml '
services = d["services"]
assert sorted(services) == ["mps", "worker-0", "worker-1"], sorted(services)
worker = services["worker-1"]
assert [undouble(w) for w in worker["command"]] == ["sh", "/mpsweep/worker", "1", *words], worker["command"]
assert undouble(worker["image"]) == "reg/i:$1"
assert worker["depends_on"]["mps"]["condition"] == "service_healthy"
assert worker["ipc"] == worker["pid"] == "service:mps"
assert worker["healthcheck"]["test"] == ["CMD", "sh", "/mpsweep/check", "1", "ready"]
assert worker["environment"]["MPSWEEP_PORT"] == "9001"
assert worker["environment"]["CUDA_MPS_PIPE_DIRECTORY"] == services["mps"]["environment"]["CUDA_MPS_PIPE_DIRECTORY"]
assert services["mps"]["environment"]["MPSWEEP_MPS_PERCENTAGE"] == "50"
device = worker["deploy"]["resources"]["reservations"]["devices"][0]
assert device["device_ids"] == ["GPU-6d707377-6565-702d-656d-756c61746564"]
' d/compose.yaml serve "${HARD[@]}" "${PLACED_1[@]}"
  emit compose plain --point 4 -- serve
  yaml '
assert sorted(d["services"]) == ["worker-0", "worker-1"]
assert "cpuset" not in d["services"]["worker-0"]
assert d["services"]["worker-0"]["environment"]["CUDA_MPS_PIPE_DIRECTORY"] == "/run/mpsweep/off"
assert d["services"]["worker-0"]["environment"]["CUDA_DEVICE_MAX_CONNECTIONS"] == ""
' plain/compose.yaml
}

@test "compose: docker-compose takes the files of several GPUs, with hard words" {
  needs docker-compose docker-compose
  write_results
  on_two_gpus per-gpu 3
  local directory=$'d it\'s: "$x" %'
  emit compose "$directory" --point 3 --image 'reg/i:$1' -- serve "${HARD[@]}" "${PLACED[@]}"
  cd "$directory"
  # What the older one of the distributions does not know yet.
  grep -v '^name: \|^        restart: true$\|^        bind: {create_host_path: false}$' compose.yaml >older.yaml
  [ "$(wc -l <compose.yaml)" -eq $(($(wc -l <older.yaml) + 1 + 4 + 6)) ]
  COMPOSE_PROJECT_NAME=d expect 0 docker-compose -f older.yaml config
  # As it reads the words: with its own quotes, a dollar sign is one again only in the container.
  yaml '
services = d["services"]
assert sorted(services) == ["mps-0", "mps-1", *(f"worker-{n}" for n in range(4))], sorted(services)
for n in range(4):
    worker = services[f"worker-{n}"]
    assert [undouble(w) for w in worker["command"]][-len(words):] == [w.replace("@", str(n)) for w in words], worker["command"]
    assert worker["ipc"] == worker["pid"] == f"service:mps-{n % 2}"
    assert worker["environment"]["CUDA_VISIBLE_DEVICES"][-2:] == ("64", "65")[n % 2]
    bind = worker["volumes"][1]
    assert bind["type"] == "bind" and bind["read_only"] and undouble(bind["source"]) == __import__("os").getcwd(), bind
' "$WORK/out" "${HARD[@]}" '{other} ${HOME} {' @ 'p@of4' '--port=900@' '2$x2'
  # It can fail.
  sed -i 's/    ulimits:/    ulimitz:/' older.yaml
  expect 1 docker-compose -f older.yaml config
}

@test "kubernetes: the fields are the API's, and of its types" {
  /usr/bin/python3 -c 'import kubernetes' 2>/dev/null || skip "no models of the API: apt-get install python3-kubernetes"
  write_results
  on_two_gpus per-gpu 3
  emit kubernetes two --point 3 --image 'reg/i:$1' -- serve "${HARD[@]}" '{process}'
  emit kubernetes threads --point 1 -- serve
  emit kubernetes plain --point 4 -- serve
  local fields=$MPSWEEP_SOURCE_DIR/tests/cli/kubernetes_fields.py
  emit kubernetes served -- serve '{port}'
  expect 0 /usr/bin/python3 "$fields" {two,threads,plain,served}/deployment.yaml served/service.yaml
  cat out
  [ ! -s out ]
  # It can fail.
  sed -i 's/periodSeconds: 10/periodSecond: "10"/' two/deployment.yaml
  expect 0 /usr/bin/python3 "$fields" two/deployment.yaml
  grep -q "V1Probe has no field 'periodSecond'" out
}

@test "kubernetes: a YAML parser finds the same words, and sidecar and probes" {
  write_results
  emit kubernetes d --image 'reg/i:$1' -- serve "${HARD[@]}" "${PLACED[@]}"
  yaml '
assert d["kind"] == "Deployment" and d["metadata"]["name"] == "mpsweep-d"
pod = d["spec"]["template"]["spec"]
(mps,) = pod["initContainers"]
assert mps["restartPolicy"] == "Always" and mps["resources"]["limits"]["nvidia.com/gpu"] == 1
assert mps["livenessProbe"]["exec"]["command"] == ["sh", "/mpsweep/mps", "ready"]
assert mps["startupProbe"]["exec"]["command"] == ["sh", "/mpsweep/mps", "ready"]
assert pod["shareProcessNamespace"] is True
worker = pod["containers"][1]
assert [undouble(w) for w in worker["command"]] == ["sh", "/mpsweep/worker", "1", *words], worker["command"]
assert worker["image"] == "reg/i:$1"
assert worker["livenessProbe"]["exec"]["command"] == ["sh", "/mpsweep/check", "1"]
environment = {e["name"]: e["value"] for e in worker["env"]}
assert environment["MPSWEEP_PORT"] == "9001" and environment["MPSWEEP_GPU_FILE"] == "/run/mpsweep/gpu"
assert all(isinstance(value, str) for value in environment.values())
volumes = {v["name"]: v for v in pod["volumes"]}
assert volumes["run"]["emptyDir"]["medium"] == "Memory"
' d/deployment.yaml serve "${HARD[@]}" "${PLACED_1[@]}"
  yaml 'assert d["kind"] == "Kustomization" and sorted(d["configMapGenerator"][0]["files"]) == ["check", "mps", "ready", "worker"]' d/kustomization.yaml
  emit kubernetes threads --point 1 -- serve
  yaml '
pod = d["spec"]["template"]["spec"]
assert "initContainers" not in pod
(worker,) = pod["containers"]
assert worker["resources"]["limits"]["nvidia.com/gpu"] == 1
assert not any(e["name"] == "NVIDIA_VISIBLE_DEVICES" for e in worker["env"])
' threads/deployment.yaml
}

# cpu_requests POINT: of the workers of a pod, each in a line; "-" for one without.
cpu_requests() {
  rm -rf cpus
  emit kubernetes cpus --point "$1" -- serve || return
  awk '/- name: "worker-/ { if (n++) print cpu; cpu = "-" }
    /^ *requests: / { gsub(/.*cpu: "|"}/, ""); cpu = $0 } END { print cpu }' cpus/deployment.yaml | paste -sd' '
}

@test "kubernetes: the CPUs' worth of a worker is its part of those that workers share" {
  write_results
  # Each its own; two of two threads each on one CPU; not bound, and all that there are is not known.
  [ "$(cpu_requests 0)" = '3 1 1' ]
  [ "$(cpu_requests 3)" = '500m 500m' ]
  [ "$(cpu_requests 4)" = '- -' ]
  jq -c 'if .type == "header" then .cpus = 2 | .cpu_quota = 0 elif .id == 4 then .processes = 8 | .threads = 8
    else . end' results.jsonl >two.jsonl
  cp two.jsonl results.jsonl
  [ "$(cpu_requests 4)" = "$(printf '250m%.0s ' {1..8} | sed 's/ $//')" ]
  # A server's threads are requests in flight.
  as_server '{}'
  [ "$(cpu_requests 4 | cut -d' ' -f1)" = 250m ]
  # A pod of each GPU has half of the workers, and half of the CPUs.
  jq -c 'if .id == 4 then .processes = 2 | .per_worker = [] else . end' two.jsonl >results.jsonl
  on_two_gpus per-gpu 4
  [ "$(cpu_requests 4)" = '500m 500m' ]
  # A container's quota, of all processes and of those that are bound.
  write_results
  jq -c 'if .type == "header" then .cpus = 16 | .cpu_quota = 2.5 else . end' results.jsonl >quota.jsonl
  mv quota.jsonl results.jsonl
  [ "$(cpu_requests 4)" = '1250m 1250m' ]
  [ "$(cpu_requests 0)" = '1500m 500m 500m' ]
  # A worker that has a GPU by itself has it without a request, too.
  write_results
  jq -c 'if .id == 1 then .bind = "none" | .status = "ok" else . end' results.jsonl >none.jsonl
  mv none.jsonl results.jsonl
  [ "$(cpu_requests 1)" = - ]
  grep -q 'limits: {nvidia.com/gpu: 1}' cpus/deployment.yaml
}

@test "kubernetes: kubectl makes the manifests" {
  needs kubectl kubectl
  write_results
  emit kubernetes d -- serve "${HARD[@]}"
  expect 0 kubectl kustomize d
  grep -q '^kind: ConfigMap' out
  grep -q '^kind: Deployment' out
}

@test "slurm: one node, a task a worker, bound as measured" {
  write_results
  emit slurm d --point 0 -- serve
  grep -qx '#SBATCH --ntasks=3' d/job.sbatch
  grep -qx '#SBATCH --cpus-per-task=1' d/job.sbatch
  grep -qx '#SBATCH --gres=gpu:1' d/job.sbatch
  grep -qx '#SBATCH --signal=B:TERM@70' d/job.sbatch
  grep -qx '#SBATCH --mem=0' d/job.sbatch
  grep -qx 'MPSWEEP_OVERCOMMIT=' d/deployment.env
  grep -qx 'MPSWEEP_CPU_BIND=--cpu-bind=mask_cpu:0xd,0x10000000000000000,0x10' d/deployment.env
  emit slurm plain --point 4 -- serve
  grep -qx 'MPSWEEP_CPU_BIND=--cpu-bind=none' plain/deployment.env
  absent 'cpus-per-task' plain/job.sbatch
  scontrol ping 2>/dev/null | grep -q UP || skip "no Slurm that answers: sbatch --test-only is not run"
  emit slurm small --point 1 -- serve
  cd small
  expect 0 sbatch --test-only job.sbatch
}
