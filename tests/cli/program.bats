#!/usr/bin/env bats
# Programs of the user as the workload: what they receive, how they are measured, and every way in
# which they misbehave.

load helper
load mps

setup_file() {
  export PROGRAM=$MPSWEEP_BUILD_DIR/tests/fakes/program
  export TICKER=$MPSWEEP_BUILD_DIR/examples/program/ticker
}

PROGRAM_SMALL=(--device emulated --warmup 0.02 --precision 100 -q)

# measure STATUS OPTIONS... -- PROGRAM...: into r.jsonl. In this order, in a window of DURATION.
measure() {
  local wanted=$1
  shift
  rm -f r.jsonl
  in_rounds "$@"
  expect "$wanted" "$MPSWEEP" sweep "${PROGRAM_SMALL[@]}" "${ROUNDS[@]}" --duration "${DURATION:-0.1}" \
    --seed "${SEED:-0}" -o r.jsonl "$@"
}

# fails MODE PATTERN OPTIONS...: process 1 of two does, with that reason; the next point is well.
fails() {
  local mode=$1 pattern=$2
  shift 2
  measure 2 "$@" -l threads:1 -- "$PROGRAM" "$mode" || return 1
  [ ! -s err ] || fail "standard error should be silent:" "$(cat err)" || return 1
  points '(.[:-1] | all(.status == "failed" and (has("throughput_ips") | not)))
    and (.[-1] | measured)' r.jsonl >/dev/null ||
    fail "$mode: not all but the last one failed:" "$(cat out)" || return 1
  points ".[:-1] | all(.error | test(\"^process 1 \\\\(program\\\\) $pattern\"))" r.jsonl \
    >/dev/null || fail "$mode should match $pattern:" "$(points 'map(.error)' r.jsonl)"
}

LAYOUTS=(-l processes:2 -l processes+mps:2 -l hybrid:2x2 -l hybrid-timesliced:2x2)

# -- measured ----------------------------------------------------------------------------------------

@test "threads that wait for a CPU are warned of" {
  [ -r /proc/self/schedstat ] || skip "the kernel does not count such waits"
  first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
  rm -f r.jsonl
  expect 0 taskset -c "$first" "$MPSWEEP" sweep "${PROGRAM_SMALL[@]}" --rounds 1 --duration 0.3 -o r.jsonl \
    -l processes:4 --bind near,none -- "$MPSWEEP_BUILD_DIR/tests/fakes/gpu_program" idle busy:2000
  points 'map(.warnings[] | select(.kind == "few-cores")) | length == 2' r.jsonl
  [ "$(grep -cE "^warning .* its threads waited for a CPU for [0-9]+% of the time; .* or '--bind none' if" out)" = 1 ]
}

@test "a program is measured in every layout" {
  measure 0 "${LAYOUTS[@]}" -l threads:3 -l threads+mps:2 -- "$TICKER" 200
  points 'length == 6 and all(measured and .throughput_ips > 0 and .workload == "ticker")' \
    r.jsonl
  points 'all(.latency_us.p50 >= 195 and (.per_worker | length) == .workers)' r.jsonl
  points 'map(select(.mps)) | length == 3 and all(.attached.seen == .processes)' r.jsonl
  points 'all(.phase_us == {h2d: null, launch: null, sync: null, d2h: null})' r.jsonl
  points 'all([has("sms", "reused", "memory", "kernels")] | any | not)' r.jsonl
  absent 'pinned\|kernels\|spin' out
  head -1 r.jsonl | jq -e --arg program "$TICKER" \
    '.workload | .files[0].path == $program and del(.files) == {name: "ticker", argv: [$program, "200"]}'
}

@test "fixed work, several rounds, and a rate" {
  measure 0 -l processes:2 --rounds 2 -- "$TICKER" 200
  points '.[0].rounds | length == 2' r.jsonl
  rm r.jsonl
  expect 0 "$MPSWEEP" sweep --device emulated -q --rounds 1 --iterations 50 --warmup 0.02 -l hybrid:2x2 \
    -o r.jsonl -- "$TICKER" 200
  points '.[0] | .iterations == 200 and .fixed.iterations_per_worker == 50' r.jsonl
  DURATION=0.5 measure 0 -l processes:2 --rate 200 --arrival constant,poisson -- "$TICKER" 200
  points 'length == 2 and all(measured and .rate.offered_ips > 0)' r.jsonl
}

@test "a program that reports its iterations: another end of one is noted" {
  measure 0 -l processes:1 --tick sync -- "$TICKER" 200
  points '.[0] | [.warnings[] | select(.kind == "iterations").text]
    == ["\u0027ticker\u0027 reports its iterations: --tick sync makes no difference"]' r.jsonl
  measure 0 -l processes:1 -- "$TICKER" 200
  points '.[0] | all(.warnings[]; .kind != "iterations")' r.jsonl
}

@test "the highest rate under a latency is searched with fresh programs" {
  DURATION=0.5 measure 0 -l processes:2 --rate max-under-p99=1s --max-duration 1 -- "$TICKER" 500
  points '.[0] | measured and .throughput_ips > 0' r.jsonl
}

# What one process of the next sweep receives, in files told.N.
teller() {
  cat >teller <<'SCRIPT'
#!/bin/sh
{
  echo "$*"
  echo "$MPSWEEP_PROCESS/$MPSWEEP_PROCESSES $MPSWEEP_THREADS $MPSWEEP_SEED $MPSWEEP_PORT"
  echo "$MPSWEEP_GPU"
} >told.$MPSWEEP_PROCESS
exec "$TICKER" 100
SCRIPT
  chmod +x teller
}

@test "unless its length is given a window has 30 iterations of each worker" {
  expect 0 "$MPSWEEP" sweep --device emulated -q -l threads:2 --warmup 0.4 --precision 100 \
    --max-duration 9 --rounds 1 -o r.jsonl -- "$TICKER" 20000
  points 'all(measured and (.rounds[0].seconds as $seconds
    | .per_worker | length == 2 and all(.ips * $seconds > 29.9)))' r.jsonl
}

@test "programs receive their numbers" {
  teller
  SEED=7 measure 0 -l hybrid:2x3 --port 23456 -- ./teller \
    '{process}/{processes}' --threads={threads} --seed '{seed}' '{{"port":{port}}' '{gpu}' '{port}{process}'
  local uuid
  uuid=$(head -1 r.jsonl | jq -r .gpu.uuid)
  for process in 0 1; do
    port=$(sed -n 's/^.*{"port":\([0-9]*\)} .*/\1/p' told.$process)
    [ "$port" -ge $((23456 + process)) ]
    [ "$(sed -n 1p told.$process)" = "$process/2 --threads=3 --seed 7 {\"port\":$port} $uuid $port$process" ]
    [ "$(sed -n 2p told.$process)" = "$process/2 3 7 $port" ]
    [ "$(sed -n 3p told.$process)" = "$uuid" ]
  done
  head -1 r.jsonl | jq -e '.workload.argv[1] == "{process}/{processes}"'
}

@test "a port on which another program listens is not given away" {
  command -v python3 >/dev/null || skip "no python3 here"
  teller
  cat >listen.py <<'SCRIPT'
import socket, sys
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
with open("port", "w") as file:
    file.write("%d\n" % server.getsockname()[1])
sys.stdin.read()
SCRIPT
  mkfifo gate
  python3 listen.py <gate 3>&- &
  local listener=$!
  exec 7>gate
  await $PATIENCE test -s port
  measure 0 -l processes:2 --port "$(cat port)" -- ./teller '{port}'
  exec 7>&-
  wait $listener
  [ "$(head -1 told.0)" -gt "$(cat port)" ]
  [ "$(head -1 told.1)" -eq $(($(head -1 told.0) + 1)) ]
}

@test "a program in a shell, and one that serves in a child, are measured and proved" {
  measure 0 -l processes:2 -l processes+mps:2 -- sh -c '"$0" 100; exit $?' "$TICKER"
  points 'all(measured and .workload == "sh") and .[1].attached == {expected: 2, seen: 2}' r.jsonl
  measure 0 -l processes:2 -l processes+mps:2 -- "$PROGRAM" in-child
  points 'all(measured) and .[1].attached.seen == 2' r.jsonl
}

@test "what programs print is dropped, or in a log" {
  measure 0 -l processes:2 -- "$PROGRAM" garble
  absent garbage out
  absent garbage err
  measure 0 -l processes:2 --program-log logs -- "$PROGRAM" garble
  [ "$(grep -c garbage logs/point-0-process-1.log)" -gt 19000 ]
  [ -e logs/point-0-process-0.log ]
  absent garbage err
  # A folder that cannot be made is an error before any point costs time; a dry run makes none.
  touch file
  refused "cannot use 'file/logs' as program-log: Not a directory" "$MPSWEEP" sweep --device emulated \
    -l processes:2 --program-log file/logs -o no.jsonl -- "$PROGRAM" well
  refused "cannot use 'file' as program-log: Not a directory" "$MPSWEEP" tune --device emulated \
    --program-log file -o no.jsonl -- "$PROGRAM" well
  refused "cannot use 'none/logs/' as program-log: No such file or directory" "$MPSWEEP" trace --device emulated \
    -l processes:2 --program-log none/logs/ -o t.json -- "$PROGRAM" well
  [ ! -e no.jsonl ]
  [ ! -e t.json ]
  expect 0 "$MPSWEEP" sweep --device emulated -l processes:2 --program-log new -n -- "$PROGRAM" well
  [ ! -e new ]
}

@test "outside of mpsweep a program runs as usual" {
  export MPSWEEP_DRIVER=$MPSWEEP_BUILD_DIR/mpsweep-emulated-cuda.so
  run -0 "$TICKER" 1
  [ -z "$output" ]
}

# -- Python --------------------------------------------------------------------------------------------

python_program() {
  needs_python
  cat >program.py <<'SCRIPT'
import ctypes, os, sys, threading, time
import mpsweep
mode = sys.argv[1] if mpsweep.process_number() == mpsweep.process_count() - 1 else ""
if mpsweep.is_measured():
    driver, context = ctypes.CDLL(os.environ["MPSWEEP_DRIVER"]), ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
if mode == "raise":
    raise ValueError("no such model")
def serve():
    mpsweep.ready()
    done = 0
    while mpsweep.running():
        try:
            with mpsweep.iteration():
                time.sleep(0.001)
                done += 1
                if mode == "cancel" and done % 2:
                    raise KeyError
        except KeyError:
            pass
        mpsweep.check(mode != "wrong" or done < 10, "not the answer")
        if not mpsweep.is_measured() and done == 10:
            break
    if mode == "cancel":
        print(done, file=open("done", "w"))
    mpsweep.close()
threads = [threading.Thread(target=serve) for _ in range(mpsweep.thread_count())]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("done")
SCRIPT
}

@test "a Python program is measured in every layout" {
  python_program
  measure 0 "${LAYOUTS[@]}" -l threads:3 -- python3 program.py well
  points 'length == 5 and all(measured and .latency_us.p50 >= 1000)' r.jsonl
  points 'map(select(.mps)) | length == 2 and all(.attached.seen == 2)' r.jsonl
  DURATION=0.3 measure 0 -l hybrid-timesliced:2x2 --rate 100 -- python3 program.py well
  points 'all(measured)' r.jsonl
  # Every other one was cancelled, and does not count.
  rm r.jsonl
  expect 0 "$MPSWEEP" sweep --device emulated --rounds 1 --iterations 20 -l processes:2 -q -o r.jsonl -- \
    python3 program.py cancel
  points '.[0].iterations == 40' r.jsonl
  [ "$(cat done)" -ge 40 ]
}

@test "the smallest Python example is measured in every layout, and runs by hand" {
  needs_python
  local ticker=$MPSWEEP_SOURCE_DIR/examples/program/ticker.py
  measure 0 "${LAYOUTS[@]}" -l threads:3 -- python3 "$ticker" 200
  points 'length == 5 and all(measured and .latency_us.p50 >= 195)' r.jsonl
  points 'map(select(.mps)) | length == 2 and all(.attached.seen == 2)' r.jsonl
  PYTHONPATH=$MPSWEEP_SOURCE_DIR/client expect 0 python3 "$ticker" 1
  [ ! -s out ]
}

@test "a failure in a Python program is reported" {
  python_program
  measure 2 -l processes:2 -- python3 program.py raise
  points '.[0].error == "process 1 (python3) exited with status 1 before it was ready; its last words: ValueError: no such model"' r.jsonl
  measure 2 -l processes:2 -- python3 program.py wrong
  points '.[0].error | test("^process 1 .python3. failed in thread 0: not the answer")' r.jsonl
}

@test "last words may be of any language, but obey no terminal" {
  measure 2 -l processes:1 -- sh -c "printf 'boom é €\\342\\200\\256\\302\\233\\377\\033[1m\\n' >&2; exit 3"
  points '.[0].error | endswith("its last words: boom é €???????[1m")' r.jsonl
  grep -qF 'its last words: boom é €???????[1m' out
}

@test "a program that opens the real driver on the emulated GPU: where the emulated one is" {
  measure 2 -l processes:1 -- sh -c 'echo "OSError: libcuda.so.1: cannot open shared object file" >&2; exit 1'
  points '.[0].error | test("last words: OSError: libcuda.so.1: .* file; the emulated GPU.s driver is the library named by .MPSWEEP_DRIVER$")' r.jsonl
}

@test "a build tree that was moved has the client for Python, and the examples" {
  local name
  python_program
  mkdir -p moved/build moved/client moved/examples
  for name in mpsweep "${PROGRAMS[@]}" libmpsweep-client.so.1; do
    cp "$MPSWEEP_BUILD_DIR/$name" moved/build
  done
  cp "$MPSWEEP_SOURCE_DIR/client/mpsweep.py" moved/client
  cp "$MPSWEEP_SOURCE_DIR/examples/forum.job" moved/examples/moved.job
  MPSWEEP=$PWD/moved/build/mpsweep measure 0 -l threads:2 -- python3 program.py well
  points 'all(measured)' r.jsonl
  expect 0 moved/build/mpsweep sweep moved --list
}

@test "a Python program that does without the client is named as the reason" {
  printf 'try:\n  import nothing\nexcept ImportError:\n  pass\n' >program.py
  measure 2 -l threads:1 -- python3 program.py
  points '.[0].error | test("exited with status 0 before it was ready, without iterations on the GPU and without a call to mpsweep.s client .import mpsweep, or mpsweep_open")' r.jsonl
}

@test "a program that goes on as a daemon is named as one" {
  measure 2 -l processes:2 -- sh -c 'sleep 1000 &'
  points '.[0].error | test("exited with status 0 before it was ready, and left a process that goes on without it, as a daemon does: it must stay in the foreground until mpsweep ends it \\(no .&., .setsid --wait.\\)$")' r.jsonl
}

@test "a Python program that mpsweep has not started runs as usual" {
  python_program
  PYTHONPATH=$MPSWEEP_SOURCE_DIR/client run -0 python3 program.py well
  [ "$output" = done ]
}

@test "mpsweep.py names what it cannot load" {
  needs_python
  export PYTHONPATH=$MPSWEEP_SOURCE_DIR/client
  MPSWEEP_CLIENT=1 MPSWEEP_CLIENT_LIBRARY=/nowhere.so run -1 python3 -c 'import mpsweep; mpsweep.ready()'
  [[ "${lines[-1]}" == "RuntimeError: mpsweep.py cannot load '/nowhere.so' (MPSWEEP_CLIENT_LIBRARY names it): "* ]]
  export MPSWEEP_CLIENT_LIBRARY=$MPSWEEP_BUILD_DIR/libmpsweep-client.so.1
  MPSWEEP_CLIENT='99 3 4 5 0' run -1 python3 -c 'import mpsweep; mpsweep.ready()'
  [[ "$output" == *"speaks version 1 of the protocol, and mpsweep version 99"* ]]
}

@test "descriptors that a launcher closes are found all the same" {
  python_program
  echo 'import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], close_fds=True))' >launch.py
  measure 0 -l processes:2 -- python3 launch.py python3 program.py well
  points 'all(measured)' r.jsonl
}

@test "the example that serves PyTorch is well-formed" {
  command -v python3 >/dev/null || skip "no python3 here"
  local file=$MPSWEEP_SOURCE_DIR/examples/program/serve_torch.py
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file"
  run -0 python3 "$file" --help
  [[ "$output" == *--batch* ]]
  python3 -c 'import torch' 2>/dev/null || {
    run -1 python3 "$file"
    [ "$output" = "serve_torch.py: needs PyTorch: pip install torch" ]
  }
}

@test "a library of another version is named" {
  # In C it continues without ticks, and what it printed stands in the error.
  measure 2 -l processes:1 --timeout $HUNG -- \
    sh -c 'MPSWEEP_CLIENT="7 ${{MPSWEEP_CLIENT#* }" exec "$0" 100' "$TICKER"
  points '.[0].error | test("its last words: mpsweep: .*speaks version 1 of the protocol, and mpsweep version 7")' \
    r.jsonl
}

# -- bad usage -------------------------------------------------------------------------------------------

@test "results that the program would save are probably meant for mpsweep" {
  local sweep=("$MPSWEEP" sweep --device emulated -l processes:1 --list)
  expect 0 "${sweep[@]}" -- "$TICKER" -o r.jsonl
  says "'-o r.jsonl' behind '--' is the program's: write it before '--'"
  expect 0 "${sweep[@]}" -- "$TICKER" --output r.jsonl
  says "'--output r.jsonl' behind '--' is the program's"
  expect 0 "${sweep[@]}" -- "$TICKER" -o picture.png
  absent "behind '--'" err
}

@test "what cannot be a program is refused" {
  local sweep=("$MPSWEEP" sweep --device emulated)
  refused "there is no program after '--'" "${sweep[@]}" --
  refused "cannot run './nothing': No such file" "${sweep[@]}" -- ./nothing
  refused "cannot run '/': it is a directory" "${sweep[@]}" -- /
  : >nothing.py
  mkdir nothing
  refused "cannot run 'nothing.py': the file of that name here is not executable: write its interpreter before it$" \
    "${sweep[@]}" -- nothing.py
  refused "cannot run './nothing.py': it is not executable: 'chmod \+x' makes it so, or write its interpreter before it$" \
    "${sweep[@]}" -- ./nothing.py
  chmod +x nothing.py
  refused "cannot run 'nothing.py': No such file or directory; did you mean './nothing.py'\?$" "${sweep[@]}" -- nothing.py
  refused "cannot run 'nothing': No such file or directory$" "${sweep[@]}" -- nothing
  refused "unknown placeholder '\{prot\}' in 'a\{prot\}': it is one of \{process\}, .*'\{\{' is a brace" \
    "${sweep[@]}" -- "$TICKER" 'a{prot}'
  refused "unknown placeholder '\{' in 'a\{'" "${sweep[@]}" -- "$TICKER" 'a{'
  refused "the workload is 'delay' or the program" "${sweep[@]}" -w delay -- "$TICKER"
  refused "memory is the program's own business" "${sweep[@]}" -m pageable -- "$TICKER"
  refused "launch is the program's own business" "${sweep[@]}" --launch graph -- "$TICKER"
  refused "schedule is the program's own business" "${sweep[@]}" --schedule spin -- "$TICKER"
  refused "stagger is the program's own business" "${sweep[@]}" --stagger 10ms -- "$TICKER"
}

@test "another command is another plan" {
  measure 0 -l processes:1 -- "$TICKER" 200
  refused 'another plan|was begun with' "$MPSWEEP" sweep "${PROGRAM_SMALL[@]}" --rounds 1 --duration 0.1 \
    -o r.jsonl --resume -l processes:1 -- "$TICKER" 100
  expect 0 "$MPSWEEP" sweep "${PROGRAM_SMALL[@]}" --rounds 1 --duration 0.1 -o r.jsonl --resume \
    -l processes:1 -- "$TICKER" 200
}

@test "a program that was rebuilt, or whose script was edited, is not continued" {
  local sweep=("$MPSWEEP" sweep "${PROGRAM_SMALL[@]}" --rounds 1 --duration 0.1 -o r.jsonl --resume -l processes:1)
  cp "$TICKER" own
  echo 'exec "$@"' >start.sh
  measure 0 -l processes:1 -- sh start.sh ./own 200
  head -1 r.jsonl | jq -e '.workload.files | map(.path) | .[0][-3:] == "/sh" and .[1:] == ["start.sh", "./own"]'
  cp r.jsonl kept.jsonl
  echo >>own
  refused "content of './own': [0-9a-f]*, [0-9]+ bytes -> .*--force" "${sweep[@]}" -- sh start.sh ./own 200
  cp "$TICKER" own
  echo '# edited' >>start.sh
  refused "content of 'start.sh': [0-9a-f]*, 10 bytes -> [0-9a-f]*, 19 bytes" "${sweep[@]}" -- sh start.sh ./own 200
  cmp r.jsonl kept.jsonl
  echo 'exec "$@"' >start.sh
  expect 0 "${sweep[@]}" -- sh start.sh ./own 200
}

# -- misbehaviour ------------------------------------------------------------------------------------------

@test "a program that cannot be started" {
  printf '#!/nowhere/sh\n' >script
  chmod +x script
  measure 2 -l processes:2 -- ./script
  points '.[0].error | test("^process [01] .script. could not be started: cannot run .[.]/script.: its interpreter is missing")' \
    r.jsonl
  echo true >script
  measure 2 -l processes:2 -- ./script
  points '.[0].error | test("cannot run .[.]/script.: Exec format error: a script begins with #!")' r.jsonl
}

@test "programs that end before they are ready" {
  fails exit-0 'exited with status 0 before it was ready, without iterations on the GPU and without a call to .*' "${LAYOUTS[@]}"
  fails exit-3 'exited with status 3 before it was ready; its last words:   the model is missing .$' \
    "${LAYOUTS[@]}"
  fails exit-unfinished '.*before it was ready; its last words: the last line has no end$' -l processes:2
  fails crash 'was killed by signal 6 .* before it was ready$' "${LAYOUTS[@]}"
}

@test "programs that end while they are measured" {
  fails exit-running 'exited with status 4 before it was asked to stop$' "${LAYOUTS[@]}"
  fails crash-running 'was killed by signal 9 .* before it was asked to stop$' "${LAYOUTS[@]}"
  fails close-early 'failed in thread [01]: its handle was closed before mpsweep asked to stop$' \
    -l processes:2
  fails status 'ended with exit status 3 after it was asked to stop$' -l processes:2 -l hybrid:2x2
}

@test "a wrapper that outlives its program, and a handle that forked processes share" {
  fails outlived 'goes on, but its process [0-9]+, which had iterations, has ended$' \
    -l processes:2 -l processes+mps:2
  fails forked 'failed in thread 0: its handle was opened before fork[(][)]: each process opens its own$' \
    -l processes:2
}

@test "programs that end no iteration" {
  fails half 'began iterations in its thread 0 and ended none: each mpsweep_begin[(][)] needs an mpsweep_end[(][)]' \
    -l processes:2 --timeout 20
}

@test "programs that are never ready" {
  local pattern='did not report that it is ready within [0-9.]+ s: it must call mpsweep_ready'
  fails never-open "$pattern" -l processes:2 -l hybrid:2x2 --timeout $HUNG
  fails never-ready "$pattern" -l processes:2 --timeout $HUNG
}

@test "programs that begin no iteration" {
  fails never-tick 'began no iteration for [0-9.]+ s: it must call mpsweep_begin' -l processes:2 \
    -l hybrid:2x2 --timeout $HUNG
  # Also in the open loop, and where the window is over before.
  fails never-tick 'began no iteration' -l processes:2 --rate 300 --timeout $HUNG
  fails never-tick 'began no iteration' -l processes:2 --timeout 20
}

@test "programs that hang in an iteration" {
  DURATION=10 fails hang 'hangs: no iteration ended for 5 s in its thread 0$' -l processes:2 \
    -l processes+mps:2 --timeout $HUNG
  fails hang 'hangs: its iteration did not end within [0-9.]+ s of the stop' -l processes:2 --timeout $HUNG
}

@test "a wrong result gives no number" {
  fails wrong 'failed in thread [01]: answer 5 is not that of the reference' "${LAYOUTS[@]}"
}

@test "programs with the wrong number of threads" {
  fails fewer 'opened handles for 1 of its 2 threads within .* MPSWEEP_THREADS gives' -l hybrid:2x2 \
    --timeout $HUNG
  fails more 'opened more than the 2 handles of its threads .MPSWEEP_THREADS=2, MPSWEEP_STREAMS=1.$' -l hybrid:2x2
  fails beyond 'opened handle 2, and has handles 0 to 1 in this layout' -l hybrid:2x2
  fails twice 'opened handle 0 twice$' -l hybrid:2x2
}

@test "no use of the GPU, no number over MPS" {
  fails no-gpu 'is not a client of the MPS daemon: no measurement; .*, and leave its user, CUDA_MPS_PIPE_DIRECTORY and CUDA_VISIBLE_DEVICES as they are' -l processes+mps:2 -l hybrid:2x2
}

@test "programs that continue after the stop are measured and ended by SIGTERM" {
  measure 0 -l processes:2 -l processes+mps:2 -- "$PROGRAM" ignore-stop
  points 'all(measured)' r.jsonl
  measure 0 -l processes:2 -- "$PROGRAM" idle-after-stop
}

@test "programs that do not even react to SIGTERM are killed, and have no number" {
  measure 2 -l processes:2 -l processes+mps:2 --timeout $HUNG -- "$PROGRAM" ignore-all
  points 'all(.error | test("^process [01] .program. did not end within 5 s of the stop, or a process that it has started did not"))' \
    r.jsonl
}

@test "over MPS a program that does not end is terminated as a client before it is killed" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is ''
  measure 2 -l processes+mps:2 --timeout $HUNG -- "$PROGRAM" ignore-all
  [ "$(grep -c ' terminate_client ' fake.log)" -eq 1 ]
}

@test "a program over a foreign daemon, and one that finds it by itself" {
  keep
  local -x CUDA_MPS_PIPE_DIRECTORY
  CUDA_MPS_PIPE_DIRECTORY=$(private)/mps
  measure 0 --mps external -l processes:2 -l processes+mps:2 -- "$TICKER" 200
  points 'all(measured) and (map(.attached.seen) == [0, 2])' r.jsonl
  measure 2 --mps external -l processes:2 -l processes+mps:2 -- \
    sh -c 'CUDA_MPS_PIPE_DIRECTORY="$1" exec "$0" 200' "$TICKER" "$CUDA_MPS_PIPE_DIRECTORY"
  points 'map(outcome) == ["failed", "measured"] and
    (.[0].error | test("is a client of the MPS daemon where MPS must be off"))' r.jsonl
  expect 0 "$MPSWEEP" mps stop
}

@test "the shares of MPS clients reach the program" {
  cat >shares <<'SCRIPT'
#!/bin/sh
echo "$CUDA_MPS_ACTIVE_THREAD_PERCENTAGE $CUDA_DEVICE_MAX_CONNECTIONS" >shares.$MPSWEEP_PROCESS
exec "$TICKER" 200
SCRIPT
  chmod +x shares
  measure 0 -l processes+mps:2 --active-thread-percentage 30/70 --connections 4 -- ./shares
  [ "$(cat shares.0 shares.1)" = "$(printf '30 4\n70 4')" ]
  points '.[0].clients | map(.active_thread_percentage) == [30, 70] and all(has("sms") | not)' r.jsonl
}

@test "a program has the limits and the module loading of the user" {
  cat >limits <<'SCRIPT'
#!/bin/sh
echo "$(ulimit -Sn) $(ulimit -Hc) $CUDA_MODULE_LOADING" >limits.found
exec "$TICKER" 200
SCRIPT
  chmod +x limits
  local files
  files=$(($(ulimit -Hn) < 300 ? $(ulimit -Hn) : 300))
  (
    ulimit -Sn "$files"
    CUDA_MODULE_LOADING=LAZY measure 0 -l processes:1 -- ./limits
  )
  [ "$(cat limits.found)" = "$files $(ulimit -Hc) LAZY" ]
}

@test "processes of a program divide the CPUs among their pools of OpenMP" {
  cat >pools <<'SCRIPT'
#!/bin/sh
echo "${OMP_NUM_THREADS-own}" >pools.$MPSWEEP_PROCESSES
exec "$TICKER" 200
SCRIPT
  chmod +x pools
  unset OMP_NUM_THREADS
  # One alone, and more than there are CPUs: any two of these processes share some.
  local most
  most=$(($(nproc) + 1))
  measure 0 -l "processes:1,$most" --no-reuse -- ./pools
  [ "$(cat pools.1) $(cat "pools.$most")" = 'own 1' ]
  points 'map(.omp_num_threads) == [null, 1]' r.jsonl
  OMP_NUM_THREADS=3 measure 0 -l processes:1,2 --no-reuse -- ./pools
  [ "$(cat pools.1) $(cat pools.2)" = '3 3' ]
  points 'all(.omp_num_threads == 3)' r.jsonl
  # Of a deployment, too: it has no variable of the shell that measured.
  expect 0 "$MPSWEEP" emit r.jsonl --target env --point 1 -o deployed -- ./pools
  grep -qx "export OMP_NUM_THREADS='3'" deployed/worker-1.env
}

@test "a program that ends and leaves behind what talks for ever" {
  measure 2 -l processes:1 -- sh -c 'yes it goes on >&2 & exit 3'
  points '.[0].error | test("exited with status 3 before it was ready")' r.jsonl
}

@test "over MPS a program that died of SIGTERM costs the daemon, for the sake of the next point" {
  local -x MPSWEEP_LIBEXEC_DIR=$WORK/programs
  daemon_is ''
  measure 0 -l processes+mps:2 -l processes+mps:3 -- "$PROGRAM" ignore-stop
  [ "$(grep -c ' daemon ' fake.log)" -eq 2 ]
}

@test "what a program leaves behind is ended with it" {
  measure 0 -l processes:2 -l processes+mps:2 -- "$PROGRAM" grandchild
  points 'all(measured)' r.jsonl
  # Killed after a while.
  measure 0 -l processes:2 -l processes+mps:2 --timeout 20 -- "$PROGRAM" stubborn-grandchild
  points 'all(measured)' r.jsonl
}
