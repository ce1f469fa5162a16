#!/usr/bin/env bats
# The commands of the tutorials work as they stand there, in their order, on the emulated GPU. Where
# they start a program of PyTorch, a stand-in takes its place.

load helper

# The commands of the page, with a program `mpsweep` that adds the device and, to sweeps, short
# windows, and a `python3` that starts the stand-ins.
setup_page() {
  mkdir -p path
  cat >path/mpsweep <<'SCRIPT'
#!/usr/bin/env bash
command=$1
shift
case $command in
sweep) set -- --device emulated --warmup 0.05 --rounds 1 "$@" ;;
record) set -- --device emulated --crowd 2 "$@" ;;
tune) set -- --device emulated "$@" ;;
esac
[[ $command != sweep || " ${*%% -- *} " == *' --duration '* ]] || set -- --duration 0.2 "$@"
exec "$MPSWEEP" "$command" "$@"
SCRIPT
  cat >path/python3 <<'SCRIPT'
#!/usr/bin/env bash
program=$1
shift
case $program in
serve.py) exec "$MPSWEEP_BUILD_DIR/tests/fakes/unaware" --kernels 12 ;;
serve_torch.py) exec "$MPSWEEP_BUILD_DIR/examples/program/ticker" 2000 ;;
-m) PATH=${PATH#*:} exec python3 -m "$@" ;;
serve_http.py) exec "$MPSWEEP_BUILD_DIR/tests/fakes/http-server" --gpu --text '{"y": [1]}' "$@" ;;
esac
echo "no stand-in for $program" >&2
exit 1
SCRIPT
  chmod +x path/*
  export MPSWEEP PATH="$PWD/path:$PATH"
}

# blocks PAGE: writes each of its blocks of commands to a file, block-1 and so on, and sets BLOCKS.
blocks() {
  BLOCKS=$(awk '/^```sh$/ { file = "block-" ++count; next } /^```/ { file = "" }
    file { print >file } END { print count }' "$MPSWEEP_SOURCE_DIR/docs/$1")
}

# runs NUMBER [STATUS [SED]]: one block, in which an expression of sed makes long things short.
runs() {
  sed -i "${3-}" "block-$1"
  expect "${2:-0}" timeout 120 bash -eu "block-$1"
}

@test "tuning a service of your own" {
  setup_page
  blocks tuning-your-service.md
  [ "$BLOCKS" = 4 ]
  runs 1
  points 'length == 2 and all(.throughput_ips > 0)' mpsweep-results/sweep-*.jsonl
  runs 2 0 's/150s/20s/; s/16/2/g'
  [ "$(jq 'select(.type == "tune") | .measured > 0' tuned.jsonl)" = true ]
  runs 3
  [ -s serve/README.md ]
  # What one would measure before and after: the same, so that nothing is worse.
  "$MPSWEEP" sweep --device emulated -q -l threads:1 --duration 0.2 --rounds 3 -o before.jsonl >/dev/null
  cp before.jsonl after.jsonl
  runs 4
}

@test "servers under load" {
  setup_page
  "$MPSWEEP" --version | grep -qF 'libcurl' || skip "built without libcurl"
  echo '{"x": [1, 2]}' >request.json
  blocks servers.md
  [ "$BLOCKS" = 3 ]
  runs 1 0 's/:1,2,4 /:1,2 /; s/ 1,4,16 / 1,4 /; s/mps:2,4/mps:2/'
  points 'length == 6 and all(.throughput_ips > 0 and .error == null)' served.jsonl
  runs 2 0 's/:1,2,4 /:1,2 /; s/ 1,4,16 / 1,4 /'
  points 'length == 4 and all(.throughput_ips > 0 and .error == null)' plain.jsonl
  runs 3 0 's/:1,2,4 /:1,2 /; s/ 1,4,16 / 1,4 /'
  points 'length == 4 and all(.throughput_ips > 0 and .error == null)' mixed.jsonl
}

@test "measuring layouts" {
  setup_page
  blocks measuring.md
  runs 1
  points 'length == 4 and all(.throughput_ips > 0)' first.jsonl
  grep -q '<svg' first.svg
  grep -q '<html' first.html
}

@test "a workload recorded from a program" {
  setup_page
  blocks workloads.md
  local block
  block=$(grep -lx 'mpsweep record .*' block-*)
  runs "${block#block-}" 0 's/1-8/1,2/g'
  grep -qE '^\[workload ' mine.job
  grep -qE '^step = kernel .*count=12$' mine.job
  points 'length == 4 and all(.throughput_ips > 0)' mine.jsonl
  jq -s -e 'map(select(.type == "calibration")) | length == 1 and .[0].work.workload == "described"' mine.jsonl
}
