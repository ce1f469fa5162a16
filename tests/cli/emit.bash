# shellcheck shell=bash
# What tests of deployments share: results that were not measured, and words that are hard to quote.

# Point 0: 3 processes over MPS, each with shares of its own. 1: threads without MPS, faster, but not
# ok. 2: refused. 3: 2×2 over MPS, the best that is ok. 4: 2 processes without MPS.
write_results() {
  local cpu
  cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
  jq -c --argjson cpu "$cpu" '
    .type = "point" | .sync = "stream" | .launch = "graph" | .schedule = "block" | .memory = "pinned"
    | .connections //= 8 | .connections_default //= false
    | .bind //= "near" | .status //= "ok" | .rounds = [{}, {}]
    | .latency_us = {p50: 1234.5, p99: 2345.6} | .ci95_rel //= 0.0123
    | . as $point
    | if .bind == "near" then
        .per_worker //= [range(.processes) as $p | range(.threads) as $t
                         | {process: $p, thread: $t, cpus: "\($cpu)"}]
      else . end' >points.tmp <<'POINTS'
{"id":0,"layout":"processes+mps","mps":true,"processes":3,"threads":1,"throughput_ips":1000,"active_thread_percentage":[30,null,70],"memory_limit":[536870912,1073741824,2147483648],"priority":[0,1,1],"per_worker":[{"process":0,"cpus":"0,2-3"},{"process":1,"cpus":"64"},{"process":2,"cpus":"4"}]}
{"id":1,"layout":"threads","mps":false,"processes":1,"threads":4,"throughput_ips":9000,"ci95_rel":0.9,"status":"unconverged"}
{"id":2,"layout":"processes+mps","mps":true,"processes":99,"threads":1,"status":"infeasible"}
{"id":3,"layout":"hybrid","mps":true,"processes":2,"threads":2,"throughput_ips":3000,"active_thread_percentage":50,"memory_limit":536870912}
{"id":4,"layout":"processes","mps":false,"processes":2,"threads":1,"throughput_ips":500,"connections_default":true,"bind":"none"}
POINTS
  {
    echo '{"type":"header","schema":1,"mpsweep":"0","started":"2030-01-01T00:00:00Z","host":"node`<|","driver":"13.0","seed":7,"gpu":{"name":"a GPU","uuid":"GPU-6d707377-6565-702d-656d-756c61746564","emulated":true}}'
    cat points.tmp
    echo '{"type":"footer","status":0}'
  } >results.jsonl
  rm points.tmp
}

# Words that need quoting; without placeholders.
HARD=(a 'two words' "it's" 'say "hi"' '$HOME $(id) `id` $$' '100% %i %h %%n' '-x' '--' ''
  'back\slash\n' '#no comment' '; rm -rf *' 'für 京都 😀' '}' '~' '!x' '&y *z'
  $'two\nlines' $'tab\there' $'\e[1m bell\a' $'\u2028 \u0085 \ufeff' 'key: value' '- item' '=')
# And some that hold placeholders: for process 1 of 2 with 2 threads and port 9000.
PLACED=('{{other} ${{HOME} {{' '{process}' 'p{process}of{processes}' '--port={port}' '{threads}$x{threads}')
PLACED_1=('{other} ${HOME} {' '1' 'p1of2' '--port=9001' '2$x2')

# emit FORMAT DIRECTORY WORDS...: must work.
emit() {
  local format=$1 directory=$2
  shift 2
  expect 0 "$MPSWEEP" emit results.jsonl --format "$format" -o "$directory" --port 9000 "$@"
}

# A Python with a YAML parser; other tools are looked for by their names.
python_with_yaml() {
  local candidate
  for candidate in /usr/bin/python3 python3; do
    if "$candidate" -c 'import yaml' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

needs() {
  command -v "$1" >/dev/null || skip "no $1: apt-get install $2"
}

# A directory in front of PATH with the emulated daemon under the name of the real one, and a worker
# that makes a context, writes its words down and stays.
prepare() {
  write_results
  mkdir bin
  ln -s "$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control" bin/nvidia-cuda-mps-control
  PATH=$PWD/bin:$PATH
  # Never written to: a worker that reads it stays until it gets a signal.
  mkfifo forever
  cat >bin/serve <<SERVE
#!/bin/bash
printf '%s\0' "\$@" >"$WORK/words.\$MPSWEEP_PROCESS"
env >"$WORK/environment.\$MPSWEEP_PROCESS"
exec "$MPSWEEP_BUILD_DIR/mpsweep-worker" --probe --driver "$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so" <>"$WORK/forever" >"$WORK/probe.\$MPSWEEP_PROCESS"
SERVE
  chmod +x bin/serve
}

# as_server OPTIONS: the results are of a server with these options of the sweep, a JSON object beside
# those that any has, and one that was ready after 45.2 s.
as_server() {
  jq -c --argjson options "$1" '
    if .type == "header" then .workload = {name: "serve", argv: ["serve", "--port", "{port}"]}
      | .options = {sweep: ({server: "yes", timeout: "60",
          request: "POST http://127.0.0.1:{port}/infer"} + $options)}
    elif .type == "point" then .ready_s = 45.2 | .requests = {errors: 0, wrong_answers: 0, first: null}
    else . end' results.jsonl >served.jsonl
  mv served.jsonl results.jsonl
}
# Both of two ports in a row are free, as far as anything listens.
find_ports() {
  local try
  for try in $(shuf -i 24000-29000 -n 20); do
    if ! (exec 5<>"/dev/tcp/127.0.0.1/$try") 2>/dev/null && ! (exec 5<>"/dev/tcp/127.0.0.1/$((try + 1))") 2>/dev/null; then
      PORT=$try
      return 0
    fi
  done
  fail 'no free ports'
}

# serves_nothing DIRECTORY: its workers, which have a {port}, take no connections on it.
serves_nothing() { sed -i '/MPSWEEP_READY=/d' "$1"/worker-*.env; }

# The results of prepare(), as if they were of two GPUs. $1: the daemons, $2: the point.
on_two_gpus() {
  local other=GPU-6d707377-6565-702d-656d-756c61746565
  jq -c --arg daemons "$1" --argjson point "$2" --arg other "$other" \
    'if .type == "header" then . as $h | .gpus = [$h.gpu, $h.gpu + {uuid: $other}]
     elif .id == $point then .gpus = 2 | .mps_daemons = $daemons
       | .per_gpu = [{gpu: 0, uuid: "GPU-6d707377-6565-702d-656d-756c61746564"}, {gpu: 1, uuid: $other}]
       | .per_worker = [.per_worker[] | ., .] else . end' results.jsonl >two.jsonl
  mv two.jsonl results.jsonl
  export MPSWEEP_EMUL_DEVICES=2
}
