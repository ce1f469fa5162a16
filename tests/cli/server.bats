#!/usr/bin/env bats
# Servers under load: started, awaited, asked over HTTP in closed and open loops, and every way in
# which they themselves fail. Their answers: server_answers.bats.

load helper
load server

# -- measured ----------------------------------------------------------------------------------------

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

@test "what a server receives: its body, on connections that stay" {
  printf 'x=1&y=2' >body
  measure 0 -l processes:1 --streams 2 --body body --expect 200 -- "$SERVER" --port '{port}' --wants 'x=1&y=2'
  points 'all(measured and .requests.wrong_answers == 0)' r.jsonl
  measure 2 -l processes:1 --body body --expect 200 -- "$SERVER" --port '{port}' --wants other
  points 'all(.status == "failed" and (.error | test("HTTP 400")))' r.jsonl
  # Without a body.
  INFER=(--ready "$ADDRESS/health" --request "GET $ADDRESS/infer")
  measure 0 -l processes:1 --expect 200 -- "$SERVER" --port '{port}' --wants ''
}

@test "several headers, and a body's type" {
  cat >headers.py <<'END'
import http.server, sys

class Headers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        text = "|".join(self.headers.get(name, "") for name in ("Content-Type", "X-One", "X-Two"))
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *words):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Headers).serve_forever()
END
  INFER=(--request "POST $ADDRESS/")
  echo x >body
  measure 0 -l processes:1 --body body --expect 'application/x-www-form-urlencoded|1 a|' --header 'X-One: 1 a' \
    -- python3 headers.py '{port}'
  measure 0 -l processes:1 --body body --expect 'a/b|1 a|two' --header 'Content-Type: a/b' --header 'X-One: 1 a' \
    --header 'x-two: two' -- python3 headers.py '{port}'
  # From a job file, and other lines are another plan.
  printf '[global]\nheader = X-One: 1\nheader = X-Two: 2\n[a]\nlayout = processes:1\n' >headers.job
  measure 0 headers.job --body body --expect 'urlencoded|1|2' -- python3 headers.py '{port}'
  refused 'another plan' "$MPSWEEP" sweep "${SERVER_SMALL[@]}" "${INFER[@]}" --resume -o r.jsonl -l processes:1 \
    --body body --expect 'urlencoded|1|2' --header 'X-One: 1' -- python3 headers.py '{port}'
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

@test "connections that are asked to close have one request each" {
  cat >once.py <<'END'
import http.server, sys

class Once(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    served = False

    def do_GET(self):
        self.send_response(500 if self.served else 200)
        self.served = True
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
        self.close_connection = False

    def log_message(self, *words):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Once).serve_forever()
END
  INFER=(--request "GET $ADDRESS/")
  measure 0 -l processes:1 --streams 2 --header 'connection: Close' -- python3 once.py '{port}'
  points 'all(measured and .requests.errors == 0 and .requests.wrong_answers == 0)' r.jsonl
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

# -- open loop ---------------------------------------------------------------------------------------

@test "a rate that a server serves" {
  DURATION=1 measure 0 -l processes:1 --streams 8 --rate 100 --arrival constant,poisson -- \
    "$SERVER" --port '{port}' --delay-ms 5
  points 'length == 2 and all(measured and .rate.offered_ips == 100 and .latency_us.p50 >= 4950)' r.jsonl
  points 'all(.rate.achieved_ips > 0 and .rate.achieved_ips < 150)' r.jsonl
}

@test "arrivals of a file" {
  # Four at once, then a pause: a serial server makes three of four wait.
  printf '%s\n' 0 0 0 0 1 1 1 1 2 2 2 2 >burst
  DURATION=1 measure 0 -l processes:1 --streams 8 --rate 40 --arrival constant,trace --arrivals burst -- \
    "$SERVER" --port '{port}' --delay-ms 10 --serial
  points 'map(.rate.arrival) == ["constant", "trace"] and all(measured and .rate.offered_ips == 40)' r.jsonl
  points '.[1].latency_us.p90 >= 38000' r.jsonl
  printf '1\n0\n' >bad
  refused 'bad:2: 0 s comes after 1 s' "$MPSWEEP" sweep "${SERVER_SMALL[@]}" "${INFER[@]}" -l processes:1 --rate 40 \
    --arrival trace --arrivals bad -- "$SERVER"
  refused 'arrival trace needs' "$MPSWEEP" sweep "${SERVER_SMALL[@]}" "${INFER[@]}" -l processes:1 --rate 40 \
    --arrival trace -- "$SERVER"
  refused 'arrivals needs --arrival trace' "$MPSWEEP" sweep "${SERVER_SMALL[@]}" "${INFER[@]}" -l processes:1 --rate 40 \
    --arrivals burst -- "$SERVER"
  refused 'arrival trace needs' "$MPSWEEP" sweep -l threads:1 --rate 40 --arrival trace
  refused '^mpsweep: --arrival trace needs a --rate: ' "$MPSWEEP" sweep "${SERVER_SMALL[@]}" "${INFER[@]}" \
    -l processes:1 --arrival trace --arrivals burst -- "$SERVER" --port '{port}'
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

# -- servers that fail -------------------------------------------------------------------------------

@test "a server that ends before it is ready" {
  take_port
  measure 2 -l processes:1 -- "$SERVER" --port "$TAKEN" --gpu
  kill "$TAKER"
  points "all(.status == \"failed\" and (.error | test(\"exited with status 1 before it was ready; its last words: http-server: port $TAKEN is taken; its command has no [{]port[}]: \")))" r.jsonl
  [ ! -s err ]
  # shellcheck disable=SC2016
  measure 2 -l processes:2 -- sh -c 'echo "the model is missing" >&2; exit 3'
  points 'all(.status == "failed"
    and (.error | test("exited with status 3 before it was ready; its last words: the model is missing")))' r.jsonl
  # The same reason stands once in the table.
  # shellcheck disable=SC2016
  measure 2 -l threads:1,2 -- sh -c 'echo "the model is missing" >&2; exit 3'
  grep -qE '^threads +1×1 .* failed: process 0 .* the model is missing' out
  grep -qE '^threads +1×2 .* failed: as above$' out
  # Whichever process was the first.
  jq -c 'if .type == "point" then (.threads | tostring) as $n | .error |= sub("^process 0"; "process " + $n)
    else . end' r.jsonl >p.jsonl
  expect 0 "$MPSWEEP" export p.jsonl
  grep -qE '^threads +1×1 .* failed: process 1 .* the model is missing' out
  grep -qE '^threads +1×2 .* failed: as above$' out
}

@test "a server that is never ready" {
  fails 'process 1 .*was not ready within [0-9.]+ s: no answer of 200 to 299 came from http://127.0.0.1:[0-9]+/health \\(HTTP 503\\)$' --timeout 3 -- --ready-after 1000
  fails 'process 1 .*was not ready within [0-9.]+ s' --timeout 3 -- --refuse
  # It is, but never answers.
  fails 'process 1 .*was not ready within [0-9.]+ s: its first request has no answer yet, which --timeout limits: POST http://127.0.0.1:[0-9]+/infer' \
    --timeout 3 --request-timeout 60 -- --stall
  cat >plain.py <<'PROGRAM'
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = server.accept()
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    connection.close()
PROGRAM
  # It does not speak TLS.
  INFER=(--ready "https${ADDRESS#http}/health" --request "POST $ADDRESS/infer")
  measure 2 -l processes:1 --timeout 3 -- python3 plain.py '{port}'
  points 'all(.error | test("came from https://127.0.0.1:[0-9]+/health \\(SSL "))' r.jsonl
  INFER=(--request "POST $ADDRESS/infer")
  # shellcheck disable=SC2016
  measure 2 -l processes:2 --timeout 3 -- sh -c '[ "$1" = 1 ] || exec "$SERVER" --port "$2"
    echo "port $2" >&2
    exec sleep 60' sh '{process}' '{port}'
  points 'all(.error | test("process 1 .*it took no connection for POST http://127.0.0.1:[0-9]+/infer; "))' r.jsonl
  # The port of the second process, not of the first.
  points 'all(.error | capture("127.0.0.1:(?<tried>[0-9]+)/infer.*port (?<own>[0-9]+)$") | .tried == .own)' r.jsonl
}

# make_slow: slow.py PORT SECONDS takes that long for each answer at /health. It notes that it is asked,
# and how long a client waited that gave up before.
make_slow() {
  command -v python3 >/dev/null || skip "no python3 here"
  cat >slow.py <<'PROGRAM'
import select, signal, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Slow(BaseHTTPRequestHandler):
    def do_GET(self):
        begin = time.monotonic()
        open("asked", "w").close()
        if self.path == "/health" and select.select([self.connection], [], [], float(sys.argv[2]))[0]:
            with open("waited", "a") as file:
                print(time.monotonic() - begin, file=file)
            return
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

# At its end it waits for these notes.
ThreadingHTTPServer.daemon_threads = False
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Slow).serve_forever()
PROGRAM
  INFER=(--ready "$ADDRESS/health" --request "GET $ADDRESS/infer")
}

@test "a server whose health takes seconds is ready, and one that never answers is named" {
  make_slow
  measure 0 -l processes:1 -- python3 slow.py '{port}' 1.5
  [ ! -e waited ]
  measure 2 -l processes:1 --timeout 8 -- python3 slow.py '{port}' 3600
  points 'all(.error | test("came from http://127.0.0.1:[0-9]+/health \\(no answer within 5 s\\)"))' r.jsonl
}

@test "a wait for the answer of health ends at once when it is interrupted" {
  make_slow
  start "$MPSWEEP" sweep "${SERVER_SMALL[@]}" --rounds 1 --duration 0.3 "${INFER[@]}" -l processes:1 -o r.jsonl -- \
    python3 slow.py '{port}' 3600
  await $PATIENCE test -e asked
  kill -INT "$PID"
  await $PATIENCE is_gone "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  # Not because its time was over.
  awk '{ exit $1 >= 4 }' waited
}

@test "an answer that breaks HTTP is named" {
  cat >odd.py <<'PROGRAM'
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = server.accept()
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nwell\r\n0\r\n\r\n")
    connection.close()
PROGRAM
  INFER=(--request "POST $ADDRESS/infer")
  measure 2 -l processes:1 -- python3 odd.py '{port}'
  points 'all(.error | test("its first request, POST http://127.0.0.1:[0-9]+/infer: .*chunk"))' r.jsonl
}

@test "a server with https is asked for HTTP/1.1 alone" {
  cat >hello.py <<'END'
import socket, sys

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    hello = listener.accept()[0].recv(16384)
    if hello:
        with open("protocols", "a") as protocols:
            print(b"\x02h2" in hello, b"\x08http/1.1" in hello, file=protocols)
END
  expect 2 "$MPSWEEP" sweep "${SERVER_SMALL[@]}" --timeout $HUNG -l processes:1 \
    --request 'GET https://127.0.0.1:{port}/' -- python3 hello.py '{port}'
  [ "$(sort -u protocols)" = "False True" ]
}

@test "a server whose certificate is not trusted fails at once" {
  command -v openssl >/dev/null || skip "there is no openssl"
  openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=127.0.0.1 \
    -addext subjectAltName=IP:127.0.0.1 2>/dev/null
  cat >tls.py <<'END'
import http.server, ssl, sys

server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.BaseHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
END
  INFER=(--request 'GET https://127.0.0.1:{port}/')
  measure 2 --timeout 600 -l processes:1 -- python3 tls.py '{port}'
  points 'all(.status == "failed" and (.error |
    test("https://127.0.0.1:[0-9]+/: .*certificate.*: add the authority that signed it")))' r.jsonl
}

@test "a command without {port} gets a notice before anything starts" {
  expect 0 "$MPSWEEP" sweep --dry-run --server --device emulated "${INFER[@]}" -l processes:2 -- "$SERVER" --port 8000
  grep -qxF 'mpsweep: the command has no {port}, as --request has: its server must take its port from MPSWEEP_PORT' err
  expect 0 "$MPSWEEP" sweep --dry-run --server --device emulated "${INFER[@]}" -l processes:2 -- "$SERVER" --port '{port}'
  absent 'MPSWEEP_PORT' err
}

@test "a server that ends under load" {
  fails 'process 1 .*exited with status 3 before it was asked to stop' -- --delay-ms 1 --exit-after 20
}

@test "a sweep that is interrupted ends its servers" {
  start "$MPSWEEP" sweep "${SERVER_SMALL[@]}" --rounds 1 --duration 300 --max-duration 300 "${INFER[@]}" \
    -l processes:2 -o r.jsonl -- "$SERVER" --port '{port}' --delay-ms 1
  await $PATIENCE server_runs
  kill -INT "$PID"
  await $PATIENCE is_gone "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  ! server_runs
}

@test "a sweep that is killed takes its servers along" {
  start "$MPSWEEP" sweep "${SERVER_SMALL[@]}" --rounds 1 --duration 300 --max-duration 300 "${INFER[@]}" \
    -l processes:2 -o r.jsonl -- "$SERVER" --port '{port}' --delay-ms 1
  await $PATIENCE server_runs
  kill -KILL "$PID"
  finish
  await $LEFTOVER_PATIENCE no_own_process
  # What a killed sweep cannot remove itself.
  find "$TMPDIR" -mindepth 1 -maxdepth 1 ! -name work -exec rm -rf {} +
}

# -- bad usage ---------------------------------------------------------------------------------------

@test "what cannot be a server under load is refused" {
  local sweep=("$MPSWEEP" sweep --device emulated -l processes:1)
  local run=(-- "$SERVER" --port '{port}')
  refused 'server' "${sweep[@]}" --request "GET $ADDRESS/infer" "${run[@]}"
  refused 'server' "${sweep[@]}" --ready "$ADDRESS/health" "${run[@]}"
  refused 'request' "${sweep[@]}" --server "${run[@]}"
  refused 'server' "${sweep[@]}" --expect 200 "${run[@]}"
  refused "program|--" "${sweep[@]}" --server "${INFER[@]}"
  refused 'METHOD URL' "${sweep[@]}" --server --request "post $ADDRESS/infer" "${run[@]}"
  refused 'METHOD URL' "${sweep[@]}" --server --request "$ADDRESS/infer" "${run[@]}"
  refused 'gopher' "${sweep[@]}" --server --request "GET gopher://127.0.0.1:{port}/" "${run[@]}"
  refused 'infer now' "${sweep[@]}" --server --request "GET $ADDRESS/infer now" "${run[@]}"
  local authority
  for authority in '' :8000 127.0.0.1:80a 127.0.0.1:0 127.0.0.1:99999 127.0.0.1: '[::1' '[::1]:x' 'me@'; do
    refused 'is not a value of request: it takes METHOD URL' \
      "${sweep[@]}" --server --request "GET http://$authority/infer" "${run[@]}"
  done
  refused "'http://:1/health' is not a value of ready" \
    "${sweep[@]}" --server --ready http://:1/health --request "GET $ADDRESS/infer" "${run[@]}"
  refused 'nowhere' "${sweep[@]}" --server --request "GET nowhere" "${run[@]}"
  refused 'request' "${sweep[@]}" --server --request '' "${run[@]}"
  refused 'gopher' "${sweep[@]}" --server --ready 'gopher://127.0.0.1' --request "GET $ADDRESS/infer" "${run[@]}"
  refused '\{prot\}' "${sweep[@]}" --server --request 'GET http://127.0.0.1:{prot}/infer' "${run[@]}"
  refused "^mpsweep: 'GET http://127.0.0.1:8000/' sends all requests to one port, but the command has \{port\}, one for each server: write \{port\} in --request, too" \
    "${sweep[@]}" --server --request 'GET http://127.0.0.1:8000/' "${run[@]}"
  refused "^mpsweep: 'http://127.0.0.1:8000/health' asks one port, but the command has \{port\}, one for each server: write \{port\} in --ready, too" \
    "${sweep[@]}" --server --ready http://127.0.0.1:8000/health --request "GET $ADDRESS/infer" "${run[@]}"
  local header
  for header in 'Authorization Bearer abc' 'Two Words: x' ': x' 'Empty: ' 'Empty;' $'A: b\r' $'A: b\rC: d' \
    $'A: b\nC' $'A: b\n' $'A: \x01' $'A: b\x7f'; do
    refused "^mpsweep: '${header//[[:cntrl:]]/.}' is not a value of header: it takes NAME: VALUE" \
      "${sweep[@]}" --server "${INFER[@]}" --header "$header" "${run[@]}"
  done
  truncate -s 17M large
  refused "body 'large' is not a file of at most 16 MiB" "${sweep[@]}" --server "${INFER[@]}" --body large "${run[@]}"
  refused 'missing.json.*No such file' "${sweep[@]}" --server "${INFER[@]}" --body missing.json "${run[@]}"
  refused "^mpsweep: 'HEAD http:[^ ]*/infer' sends no body: leave out --body" \
    "${sweep[@]}" --server --request "HEAD $ADDRESS/infer" --body "$SERVER" "${run[@]}"
  refused 'request-timeout' "${sweep[@]}" --server "${INFER[@]}" --request-timeout -1 "${run[@]}"
}

@test "a body, or arrivals, that can be read only once are refused before anything starts" {
  local sweep=("$MPSWEEP" sweep --device emulated -l processes:1 --rate 40 --server "${INFER[@]}")
  local run=(-- "$SERVER" --port '{port}') file once="is not a regular file, .*: write it to a file"
  mkfifo pipe
  for file in pipe / /dev/null <(echo '{"x": 1}'); do
    refused "^mpsweep: the body '$file' $once$" "${sweep[@]}" --body "$file" "${run[@]}"
  done
  for file in pipe <(printf '0\n1\n'); do
    refused "^mpsweep: the arrivals '$file' $once$" "${sweep[@]}" --arrival trace --arrivals "$file" "${run[@]}"
  done
  echo '{"x": 1}' >body.json
  # The server's start has another standard input.
  refused "^mpsweep: the body '/dev/stdin' $once$" "${sweep[@]}" --body /dev/stdin "${run[@]}" <body.json
}

@test "another request is another plan" {
  measure 0 -l processes:1 -- "$SERVER" --port '{port}' --delay-ms 1
  local again=("$MPSWEEP" sweep "${SERVER_SMALL[@]}" --rounds 1 --duration 0.3 --max-duration 3 -o r.jsonl --resume
    -l processes:1 --ready "$ADDRESS/health")
  refused 'another plan|was begun with' "${again[@]}" --request "POST $ADDRESS/other" -- \
    "$SERVER" --port '{port}' --delay-ms 1
  expect 0 "${again[@]}" --request "POST $ADDRESS/infer" -- "$SERVER" --port '{port}' --delay-ms 1
}

@test "a body or arrivals whose content changes are not continued, and compare names them" {
  local file sweep=("$MPSWEEP" sweep "${SERVER_SMALL[@]}" --rounds 1 --duration 0.1 --max-duration 3 -o r.jsonl
    "${INFER[@]}" -l processes:1 --body body --rate 40 --arrival trace --arrivals times)
  local run=(-- "$SERVER" --port '{port}')
  echo one >body
  printf '0\n1\n' >times
  expect 0 "${sweep[@]}" "${run[@]}"
  head -1 r.jsonl | jq -e '.workload.request_files | map(.path, .bytes) == ["body", 4, "times", 4]'
  expect 0 "${sweep[@]}" --resume "${run[@]}"
  cp r.jsonl before.jsonl
  for file in body times; do
    cp "$file" kept
    echo 2 >>"$file"
    refused "'r.jsonl' was begun .*\(content of '$file': [0-9a-f]*, 4 bytes -> [0-9a-f]*, 6 bytes\).*--force" \
      "${sweep[@]}" --resume "${run[@]}"
    cmp r.jsonl before.jsonl
    cp kept "$file"
  done
  expect 0 "$MPSWEEP" compare before.jsonl r.jsonl
  absent 'CONTENT' out
  echo two >body
  rm r.jsonl
  expect 0 "${sweep[@]}" "${run[@]}"
  "$MPSWEEP" compare before.jsonl r.jsonl >out || [ $? -eq 3 ]
  grep -qE "^DIFFERENT CONTENT OF 'body': \"[0-9a-f]{16}\" in BASE, \"[0-9a-f]{16}\" in NEW$" out
  # Another build of the server may be what is compared: it is named all the same.
  absent 'different content' out
  jq -c 'if .type == "header" then .workload.files[0].digest = "0" else . end' before.jsonl >built.jsonl
  "$MPSWEEP" compare built.jsonl r.jsonl >out || [ $? -eq 3 ]
  grep -qE "^different content of '.*/http-server': \"0\" in BASE, \"[0-9a-f]{16}\" in NEW$" out
  # A file of an earlier version has no content of them.
  jq -c 'del(.workload?.request_files?)' before.jsonl >r.jsonl
  expect 0 "${sweep[@]}" --resume "${run[@]}"
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
