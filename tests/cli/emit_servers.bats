#!/usr/bin/env bats
# Deployments whose workers take connections: where, and what shows that they are ready, in each
# format; and as they run.

load helper
load emit

setup_file() {
  export SERVER=$MPSWEEP_BUILD_DIR/tests/fakes/http-server
}

# served OPTIONS: results of a server, see as_server.
served() {
  write_results
  as_server "$1"
}
HEALTH='{"ready": "http://127.0.0.1:{port}/health?full=1"}'

# yaml PROGRAM FILE: Python with the file's document as d.
yaml() {
  local python
  python=$(python_with_yaml) || skip "no YAML parser: apt-get install python3-yaml"
  "$python" -c "import sys, yaml
d = yaml.safe_load(open(sys.argv[1], encoding='utf-8'))
$1" "${@:2}"
}

@test "kubernetes: readiness by HTTP, a start with its own time, named ports and a Service" {
  served "$HEALTH"
  emit kubernetes d -- serve --port '{port}'
  [ ! -s err ]
  yaml '
pod = d["spec"]["template"]["spec"]
# Four times what the start took.
assert d["spec"]["progressDeadlineSeconds"] == 181 + 480
for n, worker in enumerate(pod["containers"]):
    port = 9000 + n
    assert worker["ports"] == [{"name": f"worker-{n}", "containerPort": port, "protocol": "TCP"}], worker["ports"]
    assert worker["readinessProbe"]["httpGet"] == {"path": "/health?full=1", "port": port, "scheme": "HTTP"}
    start = worker["startupProbe"]
    assert start["exec"]["command"] == ["sh", "/mpsweep/check", str(n), "ready"]
    assert start["failureThreshold"] * start["periodSeconds"] in (181, 182)
    # Nothing is killed for not being ready.
    assert worker["livenessProbe"]["exec"]["command"] == ["sh", "/mpsweep/check", str(n)]
    environment = {e["name"]: e["value"] for e in worker["env"]}
    assert environment["MPSWEEP_READY"] == f"http://127.0.0.1:{port}/health?full=1"
' d/deployment.yaml
  yaml '
assert d["apiVersion"] == "v1" and d["kind"] == "Service" and d["metadata"]["name"] == "mpsweep-d"
assert "clusterIP" not in d["spec"] and d["spec"]["selector"] == {"app": "mpsweep-d"}
assert d["spec"]["ports"] == [
    {"name": f"worker-{n}", "port": 9000 + n, "targetPort": f"worker-{n}", "protocol": "TCP"} for n in (0, 1)]
' d/service.yaml
  yaml '
assert d["resources"] == ["deployment.yaml", "service.yaml"]
assert sorted(d["configMapGenerator"][0]["files"]) == ["check", "mps", "ready", "worker"]
' d/kustomization.yaml
  # The measured request is in none of the files.
  [ -z "$(grep -rl infer d)" ]
  grep -q '^A worker is ready when `http://127.0.0.1:{port}/health?full=1` answers 200 to 299\.$' d/README.md
  grep -q 'ready after 45.2 s\.$' d/README.md
}

@test "kubernetes: kubectl makes the Service, too" {
  needs kubectl kubectl
  served "$HEALTH"
  emit kubernetes d -- serve --port '{port}'
  expect 0 kubectl kustomize d
  [ "$(grep -c '^kind: Service$\|^kind: Deployment$\|^kind: ConfigMap$' out)" -eq 3 ]
}

@test "kubernetes: without a URL a worker is ready when it takes connections" {
  served '{"timeout": "500"}'
  emit kubernetes d
  yaml '
worker = d["spec"]["template"]["spec"]["containers"][1]
assert worker["readinessProbe"]["tcpSocket"] == {"port": 9001} and "httpGet" not in worker["readinessProbe"]
# As long as the measurement would have waited.
assert worker["startupProbe"]["failureThreshold"] == 250
' d/deployment.yaml
  grep -q 'A worker is ready when it takes connections on its port\.$' d/README.md
}

@test "a {port} in a command that was not measured as a server: the same, when it takes connections" {
  write_results
  emit kubernetes d -- serve --port '{port}'
  yaml '
worker = d["spec"]["template"]["spec"]["containers"][0]
assert worker["readinessProbe"]["tcpSocket"] == {"port": 9000}
assert worker["startupProbe"]["failureThreshold"] == 60
' d/deployment.yaml
  [ -e d/service.yaml ]
  grep -q '^A start may take 120 s\. ' d/README.md
  absent 'were ready after' d/README.md
}

@test "without a port nothing of it is there" {
  write_results
  local format
  for format in env systemd slurm kubernetes compose; do
    emit $format $format -- serve '{process}'
    [ -z "$(grep -rlE 'MPSWEEP_READY=|MPSWEEP_READY"|readiness|/ready|service.yaml' $format)" ]
    [ ! -e $format/ready ]
    [ ! -e $format/service.yaml ]
  done
  yaml 'assert all("ports" not in service for service in d["services"].values())' compose/compose.yaml
}

@test "a port for health alone, and HTTPS; one port of several workers is one of the Service" {
  served '{"ready": "https://localhost:9443", "request": "POST http://127.0.0.1:9090/infer"}'
  emit kubernetes d -- serve
  yaml '
for worker in d["spec"]["template"]["spec"]["containers"]:
    assert worker["ports"][0]["containerPort"] == 9090
    assert worker["readinessProbe"]["httpGet"] == {"path": "/", "port": 9443, "scheme": "HTTPS"}
' d/deployment.yaml
  yaml 'assert [p["port"] for p in d["spec"]["ports"]] == [9090]' d/service.yaml
  emit compose c -- serve
  yaml 'assert d["services"]["worker-0"]["ports"] == ["127.0.0.1:9090:9090"] and "ports" not in d["services"]["worker-1"]' c/compose.yaml
}

@test "of several sections, the URL of the point's own" {
  served "$HEALTH"
  jq -c 'if .type == "header" then .options = {a: .options.sweep, b: (.options.sweep + {ready: "http://127.0.0.1:{port}/b", timeout: "300"})}
    else .section = "b" end' results.jsonl >sections.jsonl
  mv sections.jsonl results.jsonl
  emit compose d -- serve --port '{port}'
  yaml '
worker = d["services"]["worker-1"]
assert worker["environment"]["MPSWEEP_READY"] == "http://127.0.0.1:9001/b"
assert worker["healthcheck"]["start_period"] == "300s"
' d/compose.yaml
}

@test "a URL that cannot be is not asked" {
  served '{"ready": "http://127.0.0.1:{pord}/", "request": "POST http://127.0.0.1:99999999/"}'
  emit kubernetes d -- serve
  yaml 'assert d["spec"]["template"]["spec"]["containers"][1]["readinessProbe"]["tcpSocket"] == {"port": 9001}' d/deployment.yaml
}

@test "compose: a port of each worker, on this machine only, and health that is readiness" {
  served "$HEALTH"
  emit compose d -- serve --port '{port}'
  yaml '
for n in (0, 1):
    worker = d["services"][f"worker-{n}"]
    assert worker["ports"] == [f"127.0.0.1:{9000 + n}:{9000 + n}"]
    assert worker["healthcheck"]["test"] == ["CMD", "sh", "/mpsweep/check", str(n), "ready"]
    assert worker["healthcheck"]["start_period"] == "181s"
    assert worker["environment"]["MPSWEEP_READY"] == f"http://127.0.0.1:{9000 + n}/health?full=1"
assert "ports" not in d["services"]["mps"]
' d/compose.yaml
}

@test "systemd: a worker counts as started when it is proved and ready" {
  served "$HEALTH"
  emit systemd d -- serve --port '{port}'
  grep '^ExecStartPost=' d/mpsweep-d-worker@.service >posts
  diff - posts <<'POSTS'
ExecStartPost=/bin/sh /usr/local/lib/mpsweep-d/mps await 181 $MAINPID
ExecStartPost=/bin/sh /usr/local/lib/mpsweep-d/ready await 181 "${MPSWEEP_READY}" $MAINPID
POSTS
  grep -qx 'TimeoutStartSec=372' d/mpsweep-d-worker@.service
  grep -qx 'MPSWEEP_READY="http://127.0.0.1:9001/health?full=1"' d/worker-1.env
  DESTDIR=$PWD/root expect 0 ./d/install
  [ -e root/usr/local/lib/mpsweep-d/ready ]
}

# -- as they run -----------------------------------------------------------------------------------

@test "the script 'ready': a server that loads, answers, and is gone" {
  find_ports
  local ready=$MPSWEEP_SOURCE_DIR/emit/ready url=http://127.0.0.1:$PORT/health
  refused "^ready: not ready: '$url' does not answer$" sh "$ready" "$url"
  refused "^ready: not ready: no process listens on port $PORT$" sh "$ready" "tcp://127.0.0.1:$PORT"
  refused "^ready: not ready: no process listens on port $PORT$" sh "$ready" "tcp://[::1]:$PORT/health"
  refused "^ready: not ready: no process listens on port $PORT$" sh "$ready" "tcp://user:pass@127.0.0.1:$PORT"
  refused "^ready: not ready after 0 s: '$url' does not answer$" sh "$ready" await 0 "$url"
  refused "^ready: not ready: process 0*[1-9][0-9]* has ended$" sh "$ready" await 60 "$url" "$(sh -c 'echo $$')"
  refused "^ready: 'localhost' is no URL with a port$" sh "$ready" localhost
  refused "^ready: await needs a number of seconds$" sh "$ready" await soon "$url"
  expect 0 sh "$ready" ''
  expect 0 sh "$ready" await 0 ''
  # Not ready for as long as it loads.
  start "$SERVER" --port "$PORT" --ready-after 3600
  await $PATIENCE sh "$ready" "tcp://127.0.0.1:$PORT"
  refused "^ready: not ready: '$url' answers 503$" sh "$ready" "$url"
  kill -TERM "$PID"
  finish
  start "$SERVER" --port "$PORT"
  expect 0 sh "$ready" await 60 "$url" "$PID"
  # A proxy is for other machines.
  http_proxy=http://127.0.0.1:1 expect 0 sh "$ready" "$url"
  kill -TERM "$PID"
  finish
}

@test "the script 'ready': with each of the programs that it may find" {
  find_ports
  local ready=$MPSWEEP_SOURCE_DIR/emit/ready url=http://127.0.0.1:$PORT tool program
  start "$SERVER" --port "$PORT" --ready-after 3600
  for tool in curl python3 wget none; do
    [ $tool = none ] || command -v $tool >/dev/null || continue
    mkdir only-$tool
    for program in date sleep timeout $tool; do
      [ $program != none ] || continue
      # Each as it is found here: it may be a script that needs others.
      printf '#!%s\nPATH="%s" exec "%s" "$@"\n' "$(command -v bash)" "$PATH" "$(command -v $program)" >only-$tool/$program
      chmod +x only-$tool/$program
    done
    await $PATIENCE sh "$ready" "tcp://127.0.0.1:$PORT"
    expect 0 env http_proxy=http://127.0.0.1:1 PATH="$PWD/only-$tool" /bin/sh "$ready" "$url/count"
    expect 0 env PATH="$PWD/only-$tool" /bin/sh "$ready" "$url/count?of=[1-2]&or={a,b}"
    # Without any of them it is seen only that a process listens.
    [ $tool = none ] || refused "^ready: not ready: '$url/health' " env PATH="$PWD/only-$tool" /bin/sh "$ready" "$url/health"
    [ $tool != none ] || expect 0 env PATH="$PWD/only-none" /bin/sh "$ready" "$url/health"
    [ $tool != none ] || expect 0 env PATH="$PWD/only-none" /bin/sh "$ready" "http://user:pass@[::1]:$PORT/"
  done
  kill -TERM "$PID"
  finish
}

@test "containers: a worker may be alive and not ready" {
  served "$HEALTH"
  find_ports
  expect 0 "$MPSWEEP" emit results.jsonl --format compose -o d --point 4 -- serve
  mkdir volume
  export MPSWEEP_RUN=$PWD/volume MPSWEEP_MPS=0 MPSWEEP_READY=http://127.0.0.1:$PORT/health
  refused '^worker 0: not running$' sh d/check 0 ready
  start sh d/worker 0 "$SERVER" --port "$PORT" --ready-after 3600
  await $PATIENCE sh d/ready "tcp://127.0.0.1:$PORT"
  expect 0 sh d/check 0
  expect 1 sh d/check 0 ready
  says "^ready: not ready: '$MPSWEEP_READY' answers 503$"
  kill -TERM "$PID"
  finish
  start sh d/worker 0 "$SERVER" --port "$PORT"
  await $PATIENCE sh d/check 0 ready
  kill -TERM "$PID"
  finish
}

@test "env: started when each worker is a client and ready; one that is not is reported" {
  prepare
  as_server '{"ready": "http://127.0.0.1:{port}/health"}'
  find_ports
  export MPSWEEP_DRIVER=$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so
  expect 0 "$MPSWEEP" emit results.jsonl --format env -o d --port "$PORT" -- "$SERVER" --gpu --port '{port}' --ready-after 1
  expect 0 d/start
  [ "$(grep -c '^worker [01]: attached: process ' out)" -eq 2 ]
  expect 0 sh d/ready "http://127.0.0.1:$((PORT + 1))/health"
  expect 0 d/check
  expect 0 d/stop
  await $PATIENCE no_own_process
  # A client that never becomes ready.
  expect 0 "$MPSWEEP" emit results.jsonl --format env -o never --port "$PORT" -- "$SERVER" --gpu --port '{port}' --ready-after 3600
  sed -i 's/^MPSWEEP_START_TIMEOUT=.*/MPSWEEP_START_TIMEOUT=2/' never/deployment.env
  expect 1 never/start
  grep -q "^worker 0: not ready: 'http://127.0.0.1:$PORT/health' answers 503, see '.*/never/log/worker-0.out'$" out
  grep -q '^start: not attached, or not ready, after 2 s$' err
  await $PATIENCE no_own_process
}
