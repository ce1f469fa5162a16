#!/usr/bin/env bats
# Answers of servers under load: those that are expected, those that are wrong or do not come, and
# what counts them.

load helper
load server

@test "answers of the status and the text that are expected" {
  measure 0 -l processes:1 --expect 200 -- "$SERVER" --port '{port}' --delay-ms 1
  points 'all(measured and .requests == (.requests | .errors = 0 | .wrong_answers = 0))' r.jsonl
  measure 0 -l processes:1 --expect 503 -- "$SERVER" --port '{port}' --delay-ms 1 --status 503
  points 'all(measured and .requests.wrong_answers == 0)' r.jsonl
  measure 0 -l processes:1 --expect pong -- "$SERVER" --port '{port}' --delay-ms 1 --text 'ping pong'
  points 'all(measured and .requests.wrong_answers == 0)' r.jsonl
  # In a stream, too, where it comes in two parts.
  measure 0 -l processes:1 --expect pong -- "$SERVER" --port '{port}' --stream-ms 1 --text pong
  points 'all(measured and .requests.wrong_answers == 0)' r.jsonl
  # At the end of a long answer.
  cat >long.py <<'END'
import http.server, sys

class Long(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = b"ping" * 500000 + b"pong"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *words):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Long).serve_forever()
END
  measure 0 -l processes:1 --expect pong -- python3 long.py '{port}'
  points 'all(measured and .requests.wrong_answers == 0)' r.jsonl
  measure 2 -l processes:1 --expect pang -- python3 long.py '{port}'
  points "all(.status == \"failed\" and (.error | test(\"an answer of 2000004 bytes without 'pang'\")))" r.jsonl
}

@test "a redirect is not followed, and named with its target" {
  cat >redirect.py <<'END'
import http.server, sys

class Redirect(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", "/login")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Redirect).serve_forever()
END
  INFER=(--request "GET $ADDRESS/infer")
  measure 2 -l processes:1 -- python3 redirect.py '{port}'
  points 'all(.error | test("HTTP 302 to http://127.0.0.1:[0-9]+/login, which is not followed$"))' r.jsonl
  measure 2 -l processes:1 --ready "$ADDRESS/health" --timeout 3 -- python3 redirect.py '{port}'
  points 'all(.error | test("HTTP 302 to http://127.0.0.1:[0-9]+/login, which is not followed\\)$"))' r.jsonl
  measure 0 -l processes:1 --expect 302 -- python3 redirect.py '{port}'
}

@test "wrong answers are counted apart, and named below the results" {
  measure 0 -l processes:1 --streams 2 --expect 200 -- \
    "$SERVER" --port '{port}' --delay-ms 2 --status 500 --every 3
  points 'all(measured and .requests.wrong_answers > 0 and .requests.errors == 0)' r.jsonl
  points 'all(.requests.first | test("HTTP 500"))' r.jsonl
  # One of three: half as many as are good, but for those at the window's edges.
  points 'all(.iterations - 2 * .requests.wrong_answers | fabs <= 6)' r.jsonl
  grep -qE '^warning +processes 1×1×2: [0-9]+% of the requests failed: 0 had no answer, [0-9]+ a wrong one; the first: HTTP 500' out
  measure 0 -l processes:1 --streams 2 --expect pong -- \
    "$SERVER" --port '{port}' --delay-ms 2 --text pong --wrong-text ping --every 3
  points 'all(measured and .requests.wrong_answers > 0 and .requests.errors == 0)' r.jsonl
  grep -qE "a wrong one; the first: an answer of 4 bytes without 'pong'" out
}

@test "csv and openmetrics have the requests that failed" {
  local errors wrong
  measure 0 -l processes:1 --streams 2 -- "$SERVER" --port '{port}' --delay-ms 2 --status 500 --every 3
  read -r errors wrong < <(jq -r 'select(.type == "point").requests | "\(.errors) \(.wrong_answers)"' r.jsonl)
  [ "$wrong" -gt 0 ]
  expect 0 "$MPSWEEP" export r.jsonl -f csv
  [ "$(paste -d= <(head -1 out | tr , '\n') <(tail -1 out | tr , '\n') | grep -E '^(errors|wrong_answers)=')" \
    = "errors=$errors"$'\n'"wrong_answers=$wrong" ]
  expect 0 "$MPSWEEP" export r.jsonl -f openmetrics
  grep -qE "^mpsweep_point_errors\{.*\} $errors\$" out
  grep -qE "^mpsweep_point_wrong_answers\{.*\} $wrong\$" out
  # Points of other workloads have none.
  jq -c 'del(.requests)' r.jsonl >p.jsonl
  expect 0 "$MPSWEEP" export p.jsonl -f csv
  absent wrong_answers out
  expect 0 "$MPSWEEP" export p.jsonl -f openmetrics
  absent wrong_answers out
}

# tuned STATUS OPTIONS...: of one layout, whose server answers two of three requests well.
tuned() {
  local wanted=$1
  shift
  rm -f t.jsonl
  expect "$wanted" "$MPSWEEP" tune --server --device emulated --warmup 0.05 --duration 0.2 -q "${INFER[@]}" \
    -l processes:1 --streams 4 --bind near --budget 60s -o t.jsonl "$@" -- \
    "$SERVER" --port '{port}' --delay-ms 2 --status 503 --every 3
}
FAILED='3[0-9](\.[0-9])?% of the requests failed'

@test "a tuning and a deployment warn of requests that failed" {
  tuned 0
  grep -qE "^warning: $FAILED: 0 had no answer, [0-9]+ a wrong one; the first: HTTP 503" out
  grep -qE "^Best .* iterations/s.*; $FAILED" out
  expect 0 "$MPSWEEP" emit t.jsonl --target env -o deployed -- "$SERVER" --port '{port}' --delay-ms 2 --status 503 --every 3
  grep -qE "^mpsweep: warning: point [0-9]+: $FAILED: .* the first: HTTP 503" err
  grep -qE "WARNING:\*\* point [0-9]+: $FAILED: " deployed/README.md
  # They are beyond any limit.
  refused "has a p99 that is not surely below 60 s: p99 later than any, since $FAILED" \
    "$MPSWEEP" emit t.jsonl --point 0 --max-p99 60s --target env -o none -- "$SERVER" --port '{port}'
  tuned 4 --max-p99 60s
  grep -qE '^p99: later than any, since too many requests failed; above the limit of 60 s' out
  grep -qE "^warning: $FAILED: " out
}

@test "a tuning counts the good answers of a rate, and names the rate" {
  tuned 0 --rate max-under-p50=60s
  jq -se 'map(select(.type == "tune"))[0].winner | .value < 0.75 * .rate_ips and .value > 0.6 * .rate_ips
    and .ci95[0] < .value and .value < .ci95[1]' t.jsonl
  grep -qE "^Best .*: holds [0-9.]+/s of an open loop with a p50 of .*; $FAILED" out
}

@test "connections that a server closes are errors" {
  measure 0 -l processes:1 --streams 2 -- "$SERVER" --port '{port}' --delay-ms 2 --close --every 3
  points 'all(measured and .requests.errors > 0 and .requests.wrong_answers == 0
    and (.requests.first | length > 0))' r.jsonl
  points 'all(.iterations - 2 * .requests.errors | fabs <= 6)' r.jsonl
  # In the middle of an answer.
  measure 0 -l processes:1 --streams 2 -- "$SERVER" --port '{port}' --stream-ms 2 --close --every 3
  points 'all(measured and .requests.errors > 0)' r.jsonl
}

@test "a stall ends at --request-timeout" {
  DURATION=1 LONGEST=2 measure 0 -l processes:1 --streams 2 --request-timeout 0.5 -- \
    "$SERVER" --port '{port}' --delay-ms 2 --stall --every 20
  points 'all(measured and .requests.errors > 0 and .requests.wrong_answers == 0)' r.jsonl
  points 'all(.latency_us.max < 500000)' r.jsonl
  # It begins in the warm-up, and lasts for longer than the window.
  DURATION=0.3 LONGEST=1 fails 'process 1 .*had no answer within the window of .* --request-timeout' \
    --request-timeout 5 -- --delay-ms 2 --stall --every 3
  fails 'process 1 .*first request, POST http://127.0.0.1:[0-9]+/.*: no answer within 0.5 s' --request-timeout 0.5 --timeout $HUNG -- --delay-ms 2 --stall
}

@test "answers of a wrong length are errors, and end at --request-timeout" {
  local length
  for length in none -5; do
    measure 0 -l processes:1 --streams 2 -- "$SERVER" --port '{port}' --delay-ms 2 --length "$length" --every 3
    points 'all(measured and .requests.errors > 0 and .requests.wrong_answers == 0
      and (.requests.first | test("not valid HTTP/1.0 or 1.1: .*Content-Length")))' r.jsonl
  done
  # Of more bytes than come, or than any number holds.
  for length in 4096 99999999999999999999; do
    DURATION=1 LONGEST=2 measure 0 -l processes:1 --streams 2 --request-timeout 0.5 -- \
      "$SERVER" --port '{port}' --delay-ms 2 --length "$length" --every 20
    points 'all(measured and .requests.errors > 0 and .requests.wrong_answers == 0
      and (.requests.first | test("^no answer within 0.5 s")))' r.jsonl
  done
}

@test "where all answers are wrong, or all connections closed, there is no number" {
  fails "HTTP 500, and --expect asks for 200: '.+ok.+true.+'" --expect 200 -- --status 500
  # For longer than --timeout, too: requests end all the time.
  DURATION=$((HUNG + 1)) LONGEST=$((HUNG + 1)) fails 'HTTP 500' --expect 200 --timeout $HUNG -- --status 500
  # Without asking for another protocol nothing comes behind it.
  fails 'process 1 .*first request, POST http://127.0.0.1:[0-9]+/.*: HTTP 101' -- --status 101
  fails "an answer of 4 bytes without 'true'" --expect true -- --wrong-text ping
  fails 'process 1 .*first request, POST http://127.0.0.1:[0-9]+/.*: the connection was closed without an answer' -- --close
}

@test "requests that fail are beyond the limit of a searched rate" {
  DURATION=0.3 LONGEST=1 measure 0 -l processes:1 --streams 4 --rate max-under-p99=60s -- \
    "$SERVER" --port '{port}' --delay-ms 2 --status 503 --every 3
  points 'all(.status == "infeasible" and (.error | test("^[234][0-9]% of the requests at [0-9.]+/s had "
    + "no good answer, and p99 allows 1%; the first: HTTP 503: ")))' r.jsonl
  points 'all(.rate.search | length > 0 and all((.held | not) and .p99_us == null
    and .failed_share > 0.2 and .failed_share < 0.5))' r.jsonl
}

# serves_beyond_capacity: of three requests the server answers two well. What its closed loop does is
# less than what may be offered.
serves_beyond_capacity() {
  DURATION=0.5 LONGEST=1 measure 0 -l processes:1 --streams 4 --rate max-under-p50=60s -- \
    "$SERVER" --port '{port}' --delay-ms 5 --serial --status 503 --every 3 &&
    points 'all(measured and .rate.offered_ips > .throughput_ips and (.rate.search[0].offered_ips as $first
      | .rate.search | any(.offered_ips > 1.5 * $first)))' r.jsonl
}

@test "where requests fail in the closed loop, the rate is searched upward" {
  judged serves_beyond_capacity
  points 'all(.rate | has("capacity_ips") | not)' r.jsonl
}
