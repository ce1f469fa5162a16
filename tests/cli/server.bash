# Servers under load and how they fail: load after helper.

setup_file() {
  export SERVER=$MPSWEEP_BUILD_DIR/tests/fakes/http-server
}

SERVER_SMALL=(--server --device emulated --warmup 0.05 --precision 100 -q)
ADDRESS='http://127.0.0.1:{port}'
INFER=(--ready "$ADDRESS/health" --request "POST $ADDRESS/infer")

# measure STATUS OPTIONS... -- SERVER...: into r.jsonl, in a window of DURATION.
measure() {
  local wanted=$1
  shift
  rm -f r.jsonl
  in_rounds "$@"
  expect "$wanted" "$MPSWEEP" sweep "${SERVER_SMALL[@]}" "${ROUNDS[@]}" --duration "${DURATION:-0.3}" \
    --max-duration "${LONGEST:-3}" "${INFER[@]}" -o r.jsonl "$@"
}

# fails PATTERN OPTIONS... -- OPTION-OF-SERVER...: process 1 of two has these, and one line gives the
# reason; the next point, of a server without them, is well.
fails() {
  local pattern=$1 options=()
  shift
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  cat >one_fails <<'SCRIPT'
#!/bin/sh
process=$1 port=$2
shift 2
[ "$process" = 1 ] || set --
exec "$SERVER" --port "$port" "$@"
SCRIPT
  chmod +x one_fails
  measure 2 "${options[@]}" -l processes:2 -l processes:1 -- ./one_fails '{process}' '{port}' "${@:2}" || return 1
  [ ! -s err ] || fail "standard error should be silent:" "$(cat err)" || return 1
  points 'length == 2 and (.[0] | .status == "failed" and (has("throughput_ips") | not))
    and (.[1] | measured)' r.jsonl >/dev/null || fail "not the first of two failed:" "$(cat out)" || return 1
  points ".[0].error | test(\"$pattern\") and (contains(\"\\n\") | not)" r.jsonl >/dev/null ||
    fail "should match $pattern:" "$(points 'map(.error)' r.jsonl)"
}

listens() { (exec 5<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# A server that is not mpsweep's, on port TAKEN.
take_port() {
  for TAKEN in $(shuf -i 24000-29000 -n 20); do
    "$SERVER" --port "$TAKEN" 2>/dev/null 3>&- &
    TAKER=$!
    taken_or_gone() { listens "$TAKEN" || is_gone "$TAKER"; }
    await $PATIENCE taken_or_gone
    is_gone "$TAKER" || return 0
  done
  fail "no free port"
}

server_runs() {
  local pid
  for pid in $(own_processes); do
    [ "$(command_line "$pid" | head -1)" != "$SERVER" ] || return 0
  done
  return 1
}
