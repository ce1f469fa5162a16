#!/usr/bin/env bats
# Figures from results files.

load helper
LOOKS_FOR_LEAKS=1

measure() {
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2,4 -l processes+mps:1,2 \
    -l processes+mps:49 -q -o r.jsonl
}

# refuses_to_plot PATTERN ARGUMENTS...: status 1 and one line, and nothing new in the folder.
refuses_to_plot() {
  local before
  before=$(ls -A)
  refused "$@" || return 1
  [ "$(ls -A)" = "$before" ] || fail "left behind:" "$(ls -A)"
}

@test "a picture in each format" {
  needs_gnuplot
  measure
  local format
  for format in svg png pdf; do
    expect 0 "$MPSWEEP" plot r.jsonl -o "a.$format"
    [ ! -s out ]
    [ ! -s err ]
    [ "$(stat -c %s "a.$format")" -gt 2000 ]
  done
  head -5 a.svg | grep -q '<svg'
  tail -3 a.svg | grep -q '^</svg>'
  [ "$(head -c 8 a.png | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ]
  [ "$(head -c 5 a.pdf)" = %PDF- ]
  # Nothing else is left, and the rights are those of any new file.
  [ "$(ls -A)" = "$(printf 'a.pdf\na.png\na.svg\nerr\nout\nr.jsonl')" ]
  : >any
  [ "$(stat -c %a a.svg)" = "$(stat -c %a any)" ]
}

@test "the picture has a title, and a note that the GPU is emulated" {
  needs_gnuplot
  measure
  expect 0 "$MPSWEEP" plot r.jsonl -o a.svg --figure throughput
  grep -q 'EMULATED GPU' a.svg
  grep -q 'iterations/s' a.svg
  grep -q 'processes+mps' a.svg
  grep -q '>.*threads.*<' a.svg
}

@test "lists of shares are named, and are series of their own" {
  needs_gnuplot
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2,4 --priority 1 \
    --active-thread-percentage 30/70,70/30 --memory-limit 512M/2G -q -o shares.jsonl
  expect 0 "$MPSWEEP" plot shares.jsonl -o a.gp
  grep -q '^n_series = 2$' a.gp
  grep -q '30/70% active threads' a.gp
  grep -q '70/30% active threads' a.gp
  grep -q 'priority 1, memory limit 512M/2G' a.gp
  # Too long to be printed in full, and still not the same.
  local long=1001M/1002M/1003M/1004M/1005M/1006M/1007M
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:8 \
    --memory-limit "$long/1008M,$long/1009M" -q -o long.jsonl
  expect 0 "$MPSWEEP" plot long.jsonl -o long.gp
  grep -q '^n_series = 2$' long.gp
  [ "$(grep -o 'memory limit 1001M/1002M/[^"]*' long.gp | sort -u | wc -l)" -eq 2 ]
}

@test "results of a real GPU are not called emulated" {
  needs_gnuplot
  expect 0 "$MPSWEEP" plot "$MPSWEEP_SOURCE_DIR/tests/data/h200-sample.jsonl" -o a.svg
  absent 'EMULATED' a.svg
  grep -q 'H200' a.svg
}

@test "the data by itself, and drawn from it by hand the same picture" {
  needs_gnuplot
  measure
  expect 0 "$MPSWEEP" plot r.jsonl -o a.gp
  grep -q '^emulated = 1' a.gp
  # Each measured point is there with its number of workers; the one without a number is not.
  [ "$(grep -cE '^[0-9]+ [0-9.e+]+ [0-9.e+-]+$' a.gp)" -eq 5 ]
  absent '^49 ' a.gp
  local value
  value=$(points '.[] | select(.threads == 4) | .throughput_ips | floor' r.jsonl)
  grep -qE "^4 ${value%?}" a.gp
  gnuplot -c "$MPSWEEP_SOURCE_DIR/plots/throughput.gp" a.gp hand.svg 2>warnings 3>&-
  [ ! -s warnings ]
  expect 0 "$MPSWEEP" plot r.jsonl -o a.svg
  cmp a.svg hand.svg
}

@test "a picture is replaced only by a whole one" {
  needs_gnuplot
  measure
  echo old >a.svg
  expect 0 "$MPSWEEP" plot r.jsonl -o a.svg
  absent '^old$' a.svg
  echo old >a.svg
  echo prose >bad.jsonl
  refuses_to_plot "'bad.jsonl' is not an mpsweep results file" "$MPSWEEP" plot bad.jsonl -o a.svg
  [ "$(cat a.svg)" = old ]
  # One that goes wrong in the middle of it: gnuplot fails.
  mkdir bin
  printf '#!/bin/sh\necho "half of it"\necho "line 0: no ink" >&2\nexit 1\n' >bin/gnuplot
  chmod +x bin/gnuplot
  PATH=$WORK/bin:$PATH refuses_to_plot 'gnuplot: .*line 0: no ink' "$MPSWEEP" plot r.jsonl -o a.svg
  [ "$(cat a.svg)" = old ]
  printf '#!/bin/sh\nexit 0\n' >bin/gnuplot
  PATH=$WORK/bin:$PATH refuses_to_plot 'gnuplot: drew nothing' "$MPSWEEP" plot r.jsonl -o a.svg
  [ "$(cat a.svg)" = old ]
}

@test "an output that cannot be written" {
  needs_gnuplot
  measure
  mkdir folder.svg
  refuses_to_plot "cannot write 'missing/a.svg': No such file or directory" \
    "$MPSWEEP" plot r.jsonl -o missing/a.svg
  refuses_to_plot "cannot write 'folder.svg': Is a directory" \
    "$MPSWEEP" plot r.jsonl -o folder.svg
  mkfifo pipe.svg
  refuses_to_plot "cannot write 'pipe.svg': not a regular file" "$MPSWEEP" plot r.jsonl -o pipe.svg
  echo old >shut.svg
  chmod 444 shut.svg
  if [ ! -w shut.svg ]; then
    refuses_to_plot "cannot write 'shut.svg': Permission denied" "$MPSWEEP" plot r.jsonl -o shut.svg
  fi
  [ "$(cat shut.svg)" = old ]
  # No room for what it draws.
  limited() (ulimit -f 1 && "$@")
  echo old >full.gp
  jq -c 'if .type == "point" and .id == 0 then range(1; 100) as $n | .id = 100 + $n | .threads = $n
    | .workers = $n else . end' r.jsonl >long.jsonl
  refuses_to_plot "." limited "$MPSWEEP" plot long.jsonl -o full.gp
  [ "$(cat full.gp)" = old ]
}

@test "an unknown format, an unknown figure" {
  measure
  local name
  for name in a.jpg a a. .svg a.SVG a.svg.txt svg; do
    refuses_to_plot "unknown format of '$name': name it .svg, .png, .pdf or .gp" \
      "$MPSWEEP" plot r.jsonl -o $name
  done
  refuses_to_plot "'pie' is not a value of figure: it takes one of throughput\|latency" \
    "$MPSWEEP" plot r.jsonl -o a.svg --figure pie
}

@test "results without anything to draw" {
  measure
  : >empty.jsonl
  head -1 r.jsonl >header.jsonl
  head -1 r.jsonl | head -c 100 >torn.jsonl
  head -c 3000 /dev/urandom >noise.jsonl
  { head -1 r.jsonl; echo '{"type":"point"'; echo '{}'; } >broken.jsonl
  jq -c 'select(.type == "header" or .status == "infeasible")' r.jsonl >none.jsonl
  refuses_to_plot "'empty.jsonl' is empty" "$MPSWEEP" plot empty.jsonl -o a.svg
  refuses_to_plot "'header.jsonl' has no measured point to plot" "$MPSWEEP" plot header.jsonl -o a.svg
  refuses_to_plot "'none.jsonl' has no measured point to plot" "$MPSWEEP" plot none.jsonl -o a.svg
  refuses_to_plot "'torn.jsonl' has no whole line" "$MPSWEEP" plot torn.jsonl -o a.svg
  refuses_to_plot "'noise.jsonl' (is not an mpsweep results file|has no whole line)" \
    "$MPSWEEP" plot noise.jsonl -o a.svg
  refuses_to_plot "'broken.jsonl' line 2: not JSON" "$MPSWEEP" plot broken.jsonl -o a.svg
  refuses_to_plot "cannot open 'missing.jsonl': No such file" "$MPSWEEP" plot missing.jsonl -o a.svg
  refuses_to_plot "." "$MPSWEEP" plot "$WORK" -o a.svg
}

@test "a torn results file is drawn up to its last whole line" {
  needs_gnuplot
  measure
  head -c -40 r.jsonl >torn.jsonl
  expect 0 "$MPSWEEP" plot torn.jsonl -o a.gp
  [ "$(grep -cE '^[0-9]+ [0-9.e+]+ [0-9.e+-]+$' a.gp)" -ge 4 ]
}

@test "no gnuplot on PATH: what to install; the data needs none" {
  measure
  refuses_to_plot "cannot run 'gnuplot'.*apt-get install gnuplot-nox" env PATH=/nowhere \
    "$MPSWEEP" plot r.jsonl -o a.svg
  expect 0 env PATH=/nowhere "$MPSWEEP" plot r.jsonl -o a.gp
  [ -s a.gp ]
}

# Invariant F5.
@test "a full disk: one line, status 1, and the old picture stays" {
  needs_gnuplot
  measure
  # A limit on the size of files, in KiB, stands for the disk: gnuplot ignores that a write fails.
  small() (ulimit -f "$1" && shift && "$@")
  local name
  for name in a.svg a.png a.pdf; do
    refuses_to_plot "cannot write '$name': File too large" small 8 "$MPSWEEP" plot r.jsonl -o $name
    [ ! -e $name ]
  done
  refuses_to_plot "cannot write 'a.gp': File too large" small 1 "$MPSWEEP" plot r.jsonl -o a.gp
  echo old >a.svg
  refuses_to_plot "cannot write 'a.svg': File too large" small 8 "$MPSWEEP" plot r.jsonl -o a.svg
  [ "$(cat a.svg)" = old ]
}

# Invariant F5. gnuplot is a program that draws a part and waits.
@test "a signal while a picture is drawn leaves no file and no process" {
  measure
  mkdir fake
  mkfifo drawing
  printf '%s\n' '#!/bin/sh' 'for last; do :; done' '[ "$last" = .svg ] || exec >"$last"' \
    'echo "<svg>"' ": >$WORK/drawing" 'exec cat /dev/zero >/dev/null' >fake/gnuplot
  chmod +x fake/gnuplot
  local signal before
  echo old >a.svg
  : >out
  : >err
  before=$(ls -A)
  for signal in INT TERM HUP QUIT KILL; do
    start env --default-signal=QUIT PATH="$WORK/fake:$PATH" "$MPSWEEP" plot r.jsonl -o a.svg
    timeout $PATIENCE cat drawing
    kill -$signal "$PID"
    finish
    [ $STATUS -eq $((128 + $(kill -l $signal))) ]
    await $PATIENCE no_own_process
    [ "$(ls -A)" = "$before" ] || fail "left behind by $signal:" "$(ls -A)"
    [ "$(cat a.svg)" = old ]
  done
}
