#!/usr/bin/env bats
# What a server under load is asked: method, headers, body and arrivals, connections and certificates,
# and which of them make a request, or a plan, another one.

load helper
load server

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

@test "another body for each request" {
  seq -f '{"x": %g}' 100000 >bodies
  measure 0 -l processes:1 --streams 4 --bodies bodies --expect 200 -- "$SERVER" --port '{port}' --record got
  points 'all(measured and .requests.errors == 0)' r.jsonl
  head -1 r.jsonl | jq -e '.workload.request_files | map(.path, .bodies) == ["bodies", 100000]'
  # Connections of one server take them in the file's order; at once they may arrive in another.
  sort -V got | cmp - <(head -n "$(wc -l <got)" bodies)
  # Two servers take them in turn.
  rm got
  measure 0 -l processes:2 --bodies bodies -- "$SERVER" --port '{port}' --record 'got.{process}'
  cmp got.0 <(awk 'NR % 2 == 1' bodies | head -n "$(wc -l <got.0)")
  cmp got.1 <(awk 'NR % 2 == 0' bodies | head -n "$(wc -l <got.1)")
  # At the end they begin again: each server has all before it has one again.
  printf '%s\r\n' a b c d >bodies
  measure 0 -l processes:2 --bodies bodies -- "$SERVER" --port '{port}' --record 'four.{process}'
  [ "$(head -9 four.0 | tr -d '\n')" = acbdacbda ]
  [ "$(head -9 four.1 | tr -d '\n')" = bdacbdacb ]
}

@test "a server that serves several points gets further bodies in each" {
  seq 100000 >bodies
  printf '[global]\nbodies = bodies\n[a]\nlayout = processes:1\nrate = 100,200\n' >further.job
  measure 0 further.job -- "$SERVER" --port '{port}' --record got
  points 'length == 2 and any(.reused)' r.jsonl
  cmp got <(head -n "$(wc -l <got)" bodies)
  # Each start of a server begins with the first one.
  measure 0 further.job --no-reuse -- "$SERVER" --port '{port}' --record again
  [ "$(grep -cx 1 again)" -eq 2 ]
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

# -- refused ----------------------------------------------------------------------------------------

@test "what cannot be a server under load is refused" {
  local sweep=("$MPSWEEP" sweep --device emulated -l processes:1)
  local run=(-- "$SERVER" --port '{port}')
  refused 'server' "${sweep[@]}" --request "GET $ADDRESS/infer" "${run[@]}"
  refused 'server' "${sweep[@]}" --ready "$ADDRESS/health" "${run[@]}"
  refused 'request' "${sweep[@]}" --server "${run[@]}"
  refused 'server' "${sweep[@]}" --expect 200 "${run[@]}"
  refused '^mpsweep: --request is for a server: add --server$' "${sweep[@]}" --request "GET $ADDRESS/infer"
  refused '^mpsweep: --expect is for a server: add --server$' "${sweep[@]}" --expect 200
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
  for header in 'content-length: 5' $'A: b\nContent-Length: 5'; do
    refused '^mpsweep: --header has the length of a body, .*: leave out Content-Length$' \
      "${sweep[@]}" --server "${INFER[@]}" --header "$header" "${run[@]}"
  done
  truncate -s 17M large
  refused "body 'large' is not a file of at most 16 MiB" "${sweep[@]}" --server "${INFER[@]}" --body large "${run[@]}"
  refused 'missing.json.*No such file' "${sweep[@]}" --server "${INFER[@]}" --body missing.json "${run[@]}"
  refused "^mpsweep: 'HEAD http:[^ ]*/infer' sends no body: leave out --body" \
    "${sweep[@]}" --server --request "HEAD $ADDRESS/infer" --body "$SERVER" "${run[@]}"
  echo x >one
  refused '^mpsweep: --body and --bodies exclude each other: leave out one$' \
    "${sweep[@]}" --server "${INFER[@]}" --body one --bodies one "${run[@]}"
  refused "^mpsweep: 'HEAD http:[^ ]*/infer' sends no body: leave out --bodies" \
    "${sweep[@]}" --server --request "HEAD $ADDRESS/infer" --bodies one "${run[@]}"
  refused '^mpsweep: --bodies is for a server: add --server$' "${sweep[@]}" --bodies one "${run[@]}"
  refused "^mpsweep: cannot read the bodies 'missing': No such file" \
    "${sweep[@]}" --server "${INFER[@]}" --bodies missing "${run[@]}"
  printf '' >one
  refused "^mpsweep: the bodies 'one' are empty: write one a line$" \
    "${sweep[@]}" --server "${INFER[@]}" --bodies one "${run[@]}"
  printf 'x\n\ny\n' >one
  refused '^mpsweep: one:2: the line is blank: delete it$' \
    "${sweep[@]}" --server "${INFER[@]}" --bodies one "${run[@]}"
  refused '^mpsweep: large:1: the body is longer than 16 MiB$' \
    "${sweep[@]}" --server "${INFER[@]}" --bodies large "${run[@]}"
  refused 'request-timeout' "${sweep[@]}" --server "${INFER[@]}" --request-timeout -1 "${run[@]}"
}

@test "a body, or arrivals, that can be read only once are refused before anything starts" {
  local sweep=("$MPSWEEP" sweep --device emulated -l processes:1 --rate 40 --server "${INFER[@]}")
  local run=(-- "$SERVER" --port '{port}') file once="is not a regular file, .*: write it to a file"
  mkfifo pipe
  for file in pipe / /dev/null <(echo '{"x": 1}'); do
    refused "^mpsweep: the body '$file' $once$" "${sweep[@]}" --body "$file" "${run[@]}"
    refused "^mpsweep: the bodies '$file' $once$" "${sweep[@]}" --bodies "$file" "${run[@]}"
  done
  for file in pipe <(printf '0\n1\n'); do
    refused "^mpsweep: the arrivals '$file' $once$" "${sweep[@]}" --arrival trace --arrivals "$file" "${run[@]}"
  done
  echo '{"x": 1}' >body.json
  # The server's start has another standard input.
  refused "^mpsweep: the body '/dev/stdin' $once$" "${sweep[@]}" --body /dev/stdin "${run[@]}" <body.json
}

# -- another plan -----------------------------------------------------------------------------------

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
  sweep[-8]=--bodies
  rm r.jsonl
  expect 0 "${sweep[@]}" "${run[@]}"
  cp r.jsonl bodies.jsonl
  echo three >>body
  refused "'r.jsonl' was begun .*content of 'body': .*--force" "${sweep[@]}" --resume "${run[@]}"
  rm r.jsonl
  expect 0 "${sweep[@]}" "${run[@]}"
  "$MPSWEEP" compare bodies.jsonl r.jsonl >out || [ $? -eq 3 ]
  grep -qE "^DIFFERENT CONTENT OF 'body': " out
  cp before.jsonl r.jsonl
  sweep[-8]=--body
  # Another build of the server may be what is compared: it is named all the same.
  absent 'different content' out
  jq -c 'if .type == "header" then .workload.files[0].digest = "0" else . end' before.jsonl >built.jsonl
  "$MPSWEEP" compare built.jsonl r.jsonl >out || [ $? -eq 3 ]
  grep -qE "^different content of '.*/http-server': \"0\" in BASE, \"[0-9a-f]{16}\" in NEW$" out
  # A file of an earlier version has no content of them.
  jq -c 'del(.workload?.request_files?)' before.jsonl >r.jsonl
  expect 0 "${sweep[@]}" --resume "${run[@]}"
}
