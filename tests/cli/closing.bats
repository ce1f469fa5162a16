#!/usr/bin/env bats
# Where results go without --output, and what a measurement ends with: Best, Saved, Next.

load helper

SWEEP=("${TINY[@]}" -l "threads:1,2" -q)

# measured COMMAND...: it measures all; its table, for the functions below.
measured() {
  expect 0 "$@" || return 1
  cp out table
}
# The lines from "Best" on.
closing() { sed -n '/^Best /,$p' table; }
saved() { closing | sed -n 's/^Saved  //p'; }
# next WORD: the command for it, as it would be pasted.
next() { closing | sed -E 's/^Next /     /' | sed -n "s|^ *\($MPSWEEP $1 .*\)|\1|p"; }

@test "a sweep saves its results, and its last lines are the best, the file and what comes next" {
  measured "$MPSWEEP" sweep "${SWEEP[@]}"
  [ ! -s err ]
  closing | grep -qE '^Best   threads 1×[12], pinned, 5 kernels, 64 KiB: [0-9.]+ iterations/s( ±[0-9.]+%)?, p99 [0-9.]+ ms'
  saved | grep -qxE 'mpsweep-results/sweep-[0-9]{8}-[0-9]{6}(-[0-9]+)?\.jsonl'
  assert_complete "$(saved)" 2 0
  [ "$(closing | cut -c1-7 | tr -s ' \n' ' ')" = 'Best Saved Next ' ]
  # What stands there can be pasted.
  next emit >paste
  expect 0 bash paste
  [ -e deployment/README.md ]
  next explain | grep -q "^$MPSWEEP explain $(saved)\$"
}

@test "one that is faster, but not precise enough to be the best, is named" {
  expect 0 "$MPSWEEP" sweep "${SWEEP[@]}" -o whole.jsonl
  # As if the second point had done that.
  with_faster() {
    jq -c --argjson half "$1" 'select(.type != "footer") | if .type != "point" then . elif .id == 1
      then .status = "unconverged" | .throughput_ips = 987654321 | .ci95_rel = $half
      else .status = "ok" end' whole.jsonl >cut.jsonl
    measured "$MPSWEEP" sweep "${SWEEP[@]}" -o cut.jsonl --resume
    closing | absent 'may do as much' -
  }
  with_faster null
  closing | grep -q '^Best   threads 1×1, '
  closing | grep -qE '^       threads 1×2, .* may do more, 987654321 iterations/s, but is unconverged$'
  with_faster 1.56847
  closing | grep -q '^Best   threads 1×1, '
  closing | grep -qE '^       threads 1×2, .* may do more, 987654321 iterations/s ±156.9%, but is unconverged$'
}

@test "the best is one that no other surely does more than, also if it is not precise enough" {
  expect 0 "$MPSWEEP" sweep "${SWEEP[@]}" -l processes:1 -o whole.jsonl
  jq -c 'select(.type != "footer") | if .type != "point" then .
    elif .id == 1 then .status = "unconverged" | .throughput_ips = 87654321 | .ci95_rel = 0.2
    elif .id == 2 then .status = "unconverged" | .throughput_ips = 98765432 | .ci95_rel = 1.1
    else .status = "ok" end' whole.jsonl >cut.jsonl
  measured "$MPSWEEP" sweep "${SWEEP[@]}" -l processes:1 -o cut.jsonl --resume
  closing | grep -qE '^Best   threads 1×2, .*: 87654321 iterations/s ±20.0%, p99 .* ms, unconverged$'
  closing | grep -qE '^       processes 1×1, .* may do more, 98765432 iterations/s ±110.0%, but is unconverged$'
  next emit | absent '--point' -
  next emit >paste
  expect 0 bash paste
  grep -q '^point 1 (the highest throughput of the points that qualify; unconverged, but surely more than those that are ok)' out
  grep -q '^better, but not taken: point 2 (.*) is unconverged and may do less than one that is ok$' out
  # Rounded as in the table.
  jq -c '.ci95_rel = if .id == 1 then 0.56847 else .ci95_rel end' cut.jsonl >wide.jsonl
  measured "$MPSWEEP" sweep "${SWEEP[@]}" -l processes:1 -o wide.jsonl --resume
  grep -q '  ±56.9%  .*  unconverged: ±56.9%' table
  closing | grep -qE '^Best   threads 1×2, .*: 87654321 iterations/s ±56.9%, p99 '
}

@test "the best is the fastest point of the file, and others that may be are counted" {
  measured "$MPSWEEP" sweep "${SWEEP[@]}" -l processes:1
  local best others
  best=$(jq -s '[.[] | select(.type == "point")] | max_by([.status == "ok", .throughput_ips]) as $ok
    | map(select(.throughput_ips * (1 - (.ci95_rel // 1)) > $ok.throughput_ips * (1 + ($ok.ci95_rel // 0))))
    | max_by(.throughput_ips) // $ok' "$(saved)")
  closing | grep -q "^Best   $(jq -r '"\(.layout) \(.processes)×\(.threads)"' <<<"$best"), "
  # Of those that are faster, but not ok, the fastest has a line of its own.
  others=$(jq -s --argjson best "$best" '[.[] | select(.type == "point")] | max_by(.throughput_ips) as $first
    | [.[] | select(.id != $best.id and .id != $first.id and .throughput_ips * (1 + (.ci95_rel // 0))
      >= $best.throughput_ips * (1 - ($best.ci95_rel // 0)))] | length' "$(saved)")
  case $others in
  0) closing | absent 'may do as much' - ;;
  1) closing | grep -q '; 1 other may do as much$' ;;
  *) closing | grep -q "; $others others may do as much\$" ;;
  esac
}

@test "iterations of different work have a best each" {
  measured "$MPSWEEP" sweep "${SWEEP[@]/64K/64K,128K}" -l threads:1
  # Others that may do more have lines of their own.
  [ "$(closing | grep -cE ': [0-9.]+ iterations/s')" -eq 2 ]
  closing | grep -qE '^Best   .* 64 KiB: '
  closing | grep -qE '^       .* 128 KiB: '
}

@test "nothing that was measured: no best" {
  MPSWEEP_EMULATED_FAULT=cuLaunchKernel=error:700 expect 2 "$MPSWEEP" sweep "${SWEEP[@]}"
  cp out table
  closing | grep -qx 'Best   none: no point has a number'
  closing | absent '^Next' -
  assert_complete "$(saved)" 2 2
  MPSWEEP_EMULATED_FAULT=cuLaunchKernel=error:700 expect 2 "$MPSWEEP" sweep "${SWEEP[@]}" --rate 100
  cp out table
  closing | grep -qx 'Best   none: no point has a number, or kept up with its load'
}

@test "no number that is precise enough: the command that deploys the best one names it" {
  measured "$MPSWEEP" sweep "${TINY[@]/#100/0.01}" --max-duration 0.1 -l threads:1,2 -q
  closing | grep -q '^Best   .*, unconverged'
  next emit | grep -q -- ' --point [01] '
  next emit >paste
  expect 0 bash paste
  [ -e deployment/README.md ]
}

@test "the deployment of a program has its command: it can start" {
  local program=("$MPSWEEP_BUILD_DIR/examples/program/ticker" 200) command
  for command in "sweep --max-duration 1" "tune --budget 60s --rounds 2"; do
    # shellcheck disable=SC2086 # words
    measured "$MPSWEEP" $command --device emulated --duration 0.05 --warmup 0.02 \
      -l processes:2 -q -- "${program[@]}"
    next emit | grep -q -- " --target env --output deployment -- ${program[*]}\$"
    next emit >paste
    expect 0 bash paste
    absent 'no command was given' out
    absent EDIT-ME deployment/command
    rm -r deployment
  done
}

@test "sweeps at the same time do not share a file" {
  local pids=() pid
  for _ in 1 2 3; do
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -q >/dev/null 2>>err 3>&- &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
  [ "$(find mpsweep-results -name 'sweep-*.jsonl' | wc -l)" -eq 3 ]
  local file
  for file in mpsweep-results/*; do assert_complete "$file" 1 0; done
}

@test "data on standard output stays data; the file is named on standard error" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -f json
  [ "$(jq -c . out | wc -l)" -eq "$(wc -l <out)" ]
  grep -qE "^mpsweep: the results go to 'mpsweep-results/sweep-.*\.jsonl'$" err
  measured "$MPSWEEP" sweep "${SWEEP[@]}" -f csv
  [ "$(wc -l <out)" -eq 3 ]
  [ ! -s err ]
  [ "$(find mpsweep-results -name 'sweep-*.jsonl' | wc -l)" -eq 2 ]
}

@test "with --output there is no other file; a device is none to go on with" {
  measured "$MPSWEEP" sweep "${SWEEP[@]}" -o "my results.jsonl"
  [ "$(saved)" = "my results.jsonl" ]
  next explain | grep -q "explain 'my results.jsonl'$"
  measured "$MPSWEEP" sweep "${SWEEP[@]}" -o /dev/null
  closing | absent '^Next' -
  [ ! -e mpsweep-results ]
}

@test "results that are published have their final name" {
  measured "$MPSWEEP" sweep "${SWEEP[@]}" -o begun.jsonl --publish done.jsonl
  [ "$(saved)" = done.jsonl ]
  [ -e done.jsonl ]
  next explain | grep -q "explain done.jsonl$"
}

@test "what measures nothing saves nothing" {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" --list
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" --dry-run
  refused "no device 7" "$MPSWEEP" sweep "${TINY[@]:2}" --device emulated:7
  [ ! -e mpsweep-results ]
}

@test "where no file can be made, the sweep goes on without" {
  : >mpsweep-results
  measured "$MPSWEEP" sweep "${SWEEP[@]}"
  says "^mpsweep: cannot write 'mpsweep-results/sweep-.*': Not a directory; the results are not saved, which --output FILE does elsewhere$"
  closing | grep -qx 'Saved  nowhere: --output FILE keeps the results'
  closing | absent '^Next' -
}

@test "where the folder cannot be written to, the file that is named is the first one tried" {
  ln -s nowhere mpsweep-results
  measured "$MPSWEEP" sweep "${SWEEP[@]}"
  says "^mpsweep: cannot write 'mpsweep-results/sweep-[0-9]*-[0-9]*\.jsonl': No such file or directory; "
}

@test "interrupted: the command that is printed continues it" {
  local form
  for form in table csv; do
    holding 'cuInit=hold@0'
    start "$MPSWEEP" sweep "${TINY_ROUNDS[@]}" --rounds 2 -l threads:1 -l "processes:2" --seed 0 -f $form
    await $PATIENCE is_held
    kill -INT "$PID"
    release
    unset MPSWEEP_EMULATED_FAULT
    finish
    [ "$STATUS" -eq 130 ]
    cp out table
    if [ $form = table ]; then
      grep -q '2 of 2 points lack rounds' out
      next sweep >paste
    else
      sed -n 's/^mpsweep: to continue: //p' err >paste
    fi
    grep -q -- "--layout threads:1 --layout processes:2 .*--rounds 2 .*--output mpsweep-results/.* --resume" paste
    expect 0 bash paste
    points 'map(measured) == [true, true]' mpsweep-results/*
    [ "$(find mpsweep-results -type f | wc -l)" -eq 1 ]
    rm -r mpsweep-results "$WORK"/hold*
  done
}

@test "interrupted: one point lacks its rounds" {
  holding 'cuInit=hold@0'
  start "$MPSWEEP" sweep "${TINY_ROUNDS[@]}" --rounds 2 -l threads:1
  await $PATIENCE is_held
  kill -INT "$PID"
  release
  finish
  [ "$STATUS" -eq 130 ]
  grep -q '1 of 1 point lacks rounds: --resume measures it anew, in all rounds$' out
}

@test "tune: the same, and its file continues, too" {
  measured "$MPSWEEP" tune --device emulated --kernels 5 --bytes 64K --duration 0.05 --warmup 0.02 \
    --rounds 2 -l threads:1,2 --budget 60s -q
  [ ! -s err ]
  closing | grep -qE '^Best   threads 1×.*: [0-9.]+ iterations/s \(95%: [0-9.]+ to [0-9.]+\), p99 [0-9.]+ ms'
  saved | grep -qxE 'mpsweep-results/tune-[0-9]{8}-[0-9]{6}\.jsonl'
  next plot | grep -q -- " $(saved) --figure search --output picture.svg$"
  next emit >paste
  expect 0 bash paste
  [ -e deployment/README.md ]
  # Asked again, the file answers.
  local file
  file=$(ls mpsweep-results/*)
  measured "$MPSWEEP" tune --device emulated --kernels 5 --bytes 64K --duration 0.05 --warmup 0.02 \
    --rounds 2 -l threads:1,2 --budget 60s -q --resume -o "$file"
  [ "$(saved)" = "$file" ]
}

@test "the commands that ./quickstart ends with work where it was called" {
  local tool from
  mkdir -p tree/build tree/examples bin
  cp "$MPSWEEP_SOURCE_DIR/quickstart" tree/
  touch tree/Makefile.in tree/build/config.status tree/examples/emulated.job
  # All that it needs is installed and built, and its program prints itself as the next command.
  for tool in gcc make autoconf automake pkg-config gnuplot dpkg-query; do
    printf '#!/bin/sh\necho install ok installed\n' >"bin/$tool"
  done
  cat >tree/build/mpsweep <<'FAKE'
#!/bin/sh
[ "$1" = sweep ] || exit 0
[ -e "$2" ] || exit 1
while [ "$1" != -o ]; do shift; done
echo '{}' >"$2"
echo "Next   $0 explain $2"
FAKE
  printf '#!/bin/sh\n' >tree/configure
  chmod +x bin/* tree/build/mpsweep tree/configure
  for from in tree .; do
    expect 0 env PATH="$PWD/bin:$PATH" sh -c 'cd "$1" && exec "$2"' - "$from" "$PWD/tree/quickstart"
    sed -n 's/^Next   //p' out >paste
    [ "$(wc -l <paste)" -eq 1 ]
    (cd "$from" && bash "$WORK/paste")
  done
  cd tree
  expect 0 env PATH="$WORK/bin:$PATH" ./quickstart
  grep -q '^Next   build/mpsweep explain ' "$WORK/out"
}
