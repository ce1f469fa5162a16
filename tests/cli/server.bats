#!/usr/bin/env bats
# Servers under load: started, awaited, asked over HTTP in closed and open loops, and deployed. What
# is asked: server_requests.bats; their answers: server_answers.bats; every way in which they
# themselves fail: server_failures.bats.

load helper
load server

# -- measured ---------------------------------------------------------------------------------------

# A busy computer makes all of these slower, and never faster: 5 ms are 200/s.
@test "a serial server serves what it serves, on one connection and on four" {
  DURATION=0.5 measure 0 -l processes:1 --streams 1,4 -- "$SERVER" --port '{port}' --delay-ms 5 --serial
  points 'length == 2 and all(measured and .workload == "http-server")' r.jsonl
  points 'all(.throughput_ips < 212)' r.jsonl
  # Each of four waits for the three others.
  points 'map(.latency_us.p50) | .[0] >= 4950 and .[1] >= 18000' r.jsonl
  points 'all(.requests | .errors == 0 and .wrong_answers == 0 and (.first // "") == "")' r.jsonl
  # An answer in one piece is not a stream.
  absent '^answers' out
  points 'all(.first_byte_us.p50 >= 4950 and .first_byte_us.p50 <= .latency_us.p50
    and .first_byte_us.p50 <= .first_byte_us.p90 and .first_byte_us.p90 <= .first_byte_us.p99
    and .first_byte_us.p99 <= .first_byte_us.max)' r.jsonl
  absent 'wrong one' out
}

# They begin together: spread over the times until then, the first answers would be 2.7 times as many.
@test "the window of a serial server begins once each connection has had an answer" {
  LONGEST=0.4 measure 0 -l processes:1,2 --streams 8 -- "$SERVER" --port '{port}' --delay-ms 50 --serial
  points 'length == 2 and all(measured and .throughput_ips < 21.2 * .processes)' r.jsonl
  points 'all(.latency_us.p50 >= 390000)' r.jsonl
}

# serves OPTIONS...: a share of what 5 ms allow, of each worker, or of each of PARTS.
serves() {
  DURATION=0.5 measure 0 -l processes:1,2 --streams 1,4 -- "$SERVER" --port '{port}' --delay-ms 5 "$@" &&
    points "all(.throughput_ips > 60 * ${PARTS:-.workers})" r.jsonl
}

serves_a_rate() {
  DURATION=1 measure 0 -l processes:1 --streams 8 --rate 100 --arrival constant,poisson -- \
    "$SERVER" --port '{port}' --delay-ms 5 &&
    points 'all(.rate.achieved_ips > 50 and .fairness_jain == 1)' r.jsonl
}

@test "nothing but the server holds up its answers" {
  judged serves
  PARTS=.processes judged serves --serial
  judged serves_a_rate
}

@test "a parallel server serves each connection, and two servers twice as much" {
  DURATION=0.5 measure 0 -l processes:1,2 --streams 1,4 -- "$SERVER" --port '{port}' --delay-ms 5
  points 'length == 4 and all(measured and .latency_us.p50 >= 4950)' r.jsonl
  points 'all(.throughput_ips < 212 * .workers)' r.jsonl
  points 'map(.workers) | sort == [1, 2, 4, 8]' r.jsonl
}

@test "a server that serves one connection at a time" {
  cat >single.py <<'END'
import http.server, sys

class Single(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    served = 0

    def do_GET(self):
        Single.served += 1
        self.send_response(500 if "bad" in sys.argv and Single.served % 2 == 0 else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *words):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Single).serve_forever()
END
  INFER=(--request "GET $ADDRESS/")
  measure 0 -l processes:1 -- python3 single.py '{port}'
  points 'all(measured and .requests.errors == 0 and (.warnings // [] | all(.kind != "unanswered")))' r.jsonl
  # The others wait for as long as the first one stays.
  measure 0 -l processes:1 --streams 4 -- python3 single.py '{port}'
  points 'all(.requests.errors == 0 and (.warnings | any(.kind == "unanswered" and
    (.text | test("^3 of 4 connections had no good answer within the window of "))))) ' r.jsonl
  measure 0 -l processes:1 --streams 4 -- python3 single.py '{port}' bad
  points 'all(.requests.wrong_answers > 0 and
    (.warnings | any(.kind == "bad_answers") and any(.kind == "unanswered")))' r.jsonl
}

@test "a server over MPS is proved to be a client" {
  measure 0 -l processes:2 -l processes+mps:2 -- "$SERVER" --port '{port}' --delay-ms 1 --gpu
  points 'length == 2 and all(measured) and (map(select(.mps)) | length == 1
    and all(.attached == {expected: 2, seen: 2}))' r.jsonl
  measure 2 -l processes+mps:2 -- "$SERVER" --port '{port}' --delay-ms 1
  points 'all(.status == "failed"
    and (.error | test("is not a client of the MPS daemon: no measurement")))' r.jsonl
}

@test "a tuning names what failed, and why" {
  "$MPSWEEP" tune --server --device emulated --warmup 0.05 --duration 0.1 -q "${INFER[@]}" \
    -l processes:1 -l processes+mps:1 --streams 1 --bind near --budget 30s -o t.jsonl -- \
    "$SERVER" --port '{port}' --delay-ms 1 >out 2>err || [ $? -eq 2 ]
  grep -qE '^[12] layouts? failed; .*processes\+mps 1×1.*is not a client of the MPS daemon' out
}

@test "a server is awaited until it is ready, or listens" {
  measure 0 -l processes:2 -- "$SERVER" --port '{port}' --delay-ms 1 --ready-after 0.5
  points 'all(measured and .requests.errors == 0)' r.jsonl
  INFER=(--request "POST $ADDRESS/infer")
  measure 0 -l processes:2 -- "$SERVER" --port '{port}' --delay-ms 1
  points 'all(measured and .requests.errors == 0)' r.jsonl
}

@test "a window is as long as the iterations of a server need" {
  # 30 of 40 ms; on a busy computer they take longer.
  expect 0 "$MPSWEEP" sweep "${SERVER_SMALL[@]}" --rounds 1 "${INFER[@]}" -l processes:1 -o r.jsonl -- \
    "$SERVER" --port '{port}' --delay-ms 40
  points 'all(.rounds[0].seconds > 1.1)' r.jsonl
}

@test "a deployment of a server" {
  measure 0 -l processes:2 --streams 4 -- "$SERVER" --port '{port}' --delay-ms 1
  # A busy computer leaves it imprecise.
  sed -i 's/"status":"unconverged"/"status":"ok"/' r.jsonl
  expect 0 "$MPSWEEP" emit r.jsonl --format systemd -o deployed -- "$SERVER" --port '{port}' --delay-ms 1
  grep -q '^2 worker processes, without MPS; measured with 4 requests in flight at each' deployed/README.md
  grep -qE '^\| requests in flight \| 4 \|' deployed/README.md
  grep -q '^The workers listen on 8000 8001\.' deployed/README.md
  # Their program decides how its code is loaded, as when it was measured.
  [ -z "$(grep -rl CUDA_MODULE_LOADING deployed)" ]
  [ ! -s err ]
  expect 0 "$MPSWEEP" emit r.jsonl --format systemd -o one-port -- "$SERVER" --port 8000 --delay-ms 1
  grep -q '^mpsweep: warning: each of the 2 processes measured had a port of its own by {port}, and the command has no {port}' err
  grep -q 'WARNING:.* and the command has no {port}' one-port/README.md
  absent 'CUDA streams' deployed/README.md
}

@test "a server in a shell, and one that ignores SIGTERM, are ended" {
  measure 0 -l processes:2 -- sh -c '"$0" --port "$1" --delay-ms 1; exit $?' "$SERVER" '{port}'
  # The shell itself only waits.
  points 'all(measured and .cpu.in_use > 0)' r.jsonl
  rm r.jsonl
  # Whether that gives a number is not asked here: teardown looks for what is left.
  "$MPSWEEP" sweep "${SERVER_SMALL[@]}" --rounds 1 --duration 0.2 "${INFER[@]}" -l processes:2 --timeout $HUNG \
    -o r.jsonl -- "$SERVER" --port '{port}' --delay-ms 1 --stubborn >out 2>err || [ $? -eq 2 ]
  ! server_runs
}

# As a server that cleans up.
@test "a server gets SIGTERM, and time" {
  # shellcheck disable=SC2016
  measure 0 -l processes:2 -- sh -c '"$0" --port "$1" --delay-ms 1 & pid=$!
    trap "echo >>ended; kill $pid; exit 0" TERM; wait' "$SERVER" '{port}'
  points 'all(measured)' r.jsonl
  [ "$(wc -l <ended)" -eq 2 ]
}

@test "servers have an address each, at which nothing listens before" {
  take_port
  INFER=(--request "POST http://127.0.0.1:$TAKEN/infer")
  measure 2 -l processes:1 -- "$SERVER" --port 1
  kill "$TAKER"
  points "all(.error | test(\"http://127.0.0.1:$TAKEN/infer takes connections before its server is started: end what\"))" r.jsonl
  measure 0 -l processes:2 -- "$SERVER" --port 1
  points 'all(.status == "infeasible" and (.error | test("^its 2 servers would have one address")))' r.jsonl
}

@test "a stream has its first byte before its last" {
  measure 0 -l processes:1 --streams 2 -- "$SERVER" --port '{port}' --stream-ms 10
  points 'all(measured and .first_byte_us.p50 >= 9900 and .latency_us.p50 >= 19800
    and .first_byte_us.p50 < .latency_us.p50)' r.jsonl
}

@test "fixed work, and several rounds, each with fresh servers" {
  measure 0 -l processes:2 --rounds 2 -- "$SERVER" --port '{port}' --delay-ms 1
  points '.[0].rounds | length == 2' r.jsonl
  rm r.jsonl
  expect 0 "$MPSWEEP" sweep --server --device emulated -q --rounds 1 --iterations 50 --warmup 0.02 \
    -l processes:2 --streams 2 "${INFER[@]}" -o r.jsonl -- "$SERVER" --port '{port}' --delay-ms 1
  points '.[0] | .iterations == 200 and .fixed.iterations_per_worker == 50' r.jsonl
}

@test "a command without {port} gets a notice before anything starts" {
  expect 0 "$MPSWEEP" sweep --dry-run --server --device emulated "${INFER[@]}" -l processes:2 -- "$SERVER" --port 8000
  grep -qxF 'mpsweep: the command has no {port}, as --request has: its server must take its port from MPSWEEP_PORT' err
  expect 0 "$MPSWEEP" sweep --dry-run --server --device emulated "${INFER[@]}" -l processes:2 -- "$SERVER" --port '{port}'
  absent 'MPSWEEP_PORT' err
}

@test "the example of a server is well-formed" {
  command -v python3 >/dev/null || skip "no python3 here"
  local file=$MPSWEEP_SOURCE_DIR/examples/program/serve_http.py
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file"
  run -0 python3 "$file" --help
  [[ "$output" == *--port* ]]
  python3 -c 'import torch, aiohttp' 2>/dev/null || {
    run -1 python3 "$file"
    [[ "$output" == "serve_http.py: needs PyTorch and aiohttp: pip install torch aiohttp ("* ]]
  }
}

@test "emit: a measured server is deployed with its ports, and what shows that it is ready" {
  measure 0 -l processes:2 -- "$SERVER" --port '{port}'
  expect 0 "$MPSWEEP" emit r.jsonl --point 0 --format kubernetes -o d --port 9000 -- "$SERVER" --port '{port}'
  # Other warnings may be of the measurement, on a busy machine.
  [ "$(grep -c "take one port" err)" -eq 0 ]
  [ "$(grep -c 'httpGet: {path: "/health", port: 900[01], scheme: "HTTP"}' d/deployment.yaml)" -eq 2 ]
  [ "$(grep -c 'port: 900[01], targetPort: "worker-[01]"' d/service.yaml)" -eq 2 ]
  grep -q '^When it was measured, the workers were ready after [0-9.]* s\.$' d/README.md
}

# -- open loop --------------------------------------------------------------------------------------

@test "a rate that a server serves" {
  DURATION=1 measure 0 -l processes:1 --streams 8 --rate 100 --arrival constant,poisson -- \
    "$SERVER" --port '{port}' --delay-ms 5
  points 'length == 2 and all(measured and .rate.offered_ips == 100 and .latency_us.p50 >= 4950)' r.jsonl
  points 'all(.rate.achieved_ips > 0 and .rate.achieved_ips < 150)' r.jsonl
}

@test "many connections hide no rate that a server cannot serve" {
  DURATION=1 LONGEST=1 measure 0 -l processes:1 --streams 16 --rate 40 -- \
    "$SERVER" --port '{port}' --delay-ms 1500
  points 'all(.rate.saturated and (.warnings | any(.kind == "overloaded")))' r.jsonl
  # Of 50 at most 20 are served, and 16 are on their way.
  DURATION=1 LONGEST=1 measure 0 -l processes:1 --streams 16 --rate 50 -- \
    "$SERVER" --port '{port}' --delay-ms 50 --serial
  points 'all(.rate.saturated and .rate.backlog >= 12)' r.jsonl
}

@test "latency is counted from the planned start" {
  # 50/s are served of 100/s: of the requests in the window, half were planned long before.
  DURATION=1 LONGEST=1 measure 0 -l processes:1 --streams 2 --rate 100 -- \
    "$SERVER" --port '{port}' --delay-ms 20 --serial
  points 'all(.rate.saturated and .rate.achieved_ips < 55 and .rate.backlog > 10)' r.jsonl
  points 'all(.rate.service_us.p50 >= 19000 and .latency_us.p50 > 2 * .rate.service_us.p50)' r.jsonl
  points 'all(.warnings | map(.kind) | index("overloaded"))' r.jsonl
}

@test "the highest rate under a latency" {
  DURATION=0.5 LONGEST=1 measure 0 -l processes:1 --streams 4 --rate max-under-p50=200ms -- \
    "$SERVER" --port '{port}' --delay-ms 10 --serial
  points 'all(measured and .rate.offered_ips > 0 and .rate.offered_ips < 115)' r.jsonl
  # Where connections wait for each other, some of them for the first time, none stands still.
  DURATION=0.5 LONGEST=1 measure 0 -l processes:1 --streams 8 --rate max-under-p50=10s -- \
    "$SERVER" --port '{port}' --delay-ms 100 --serial
  points 'all(measured and .rate.capacity_ips < 10.6 and .rate.offered_ips <= .rate.capacity_ips)' r.jsonl
}
