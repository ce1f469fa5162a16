#!/usr/bin/env bats
# Servers under load that fail: before they are ready, while they are asked, and with the sweep.

load helper
load server

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
