#!/usr/bin/env bats
# What a job file may have, and how the program refuses the rest.

load helper
LOOKS_FOR_LEAKS=1

# A bad job file from standard input, and the error about it.
bad_job() {
  cat >bad.job
  refused "$1" "$MPSWEEP" sweep bad.job --list
}

@test "job files: what is wrong, with its line" {
  bad_job "'bad.job' line 3: unknown key 'memroy'; did you mean 'memory'\?" <<'J'
[global]
kernels = 5
memroy = pinned
J
  bad_job "'bad.job' line 2: 'layout threads' has no '=': write 'layout = threads:1,2'$" <<'J'
[global]
layout threads:1,2
J
  bad_job "'bad.job' line 2: unknown key 'zzzzzzzz'$" <<'J'
[global]
zzzzzzzz = 1
J
  bad_job "'bad.job' line 2: 'kernels' comes before any section: begin with \[global\]" <<'J'
# nothing yet
kernels = 5
[global]
J
  bad_job "'bad.job' line 3: 'duration' holds for the whole sweep: write it into \[global\]" <<'J'
[one]
layout = threads:1
duration = 1
J
  bad_job "'bad.job' line 4: 'kernels' is given twice in \[one\]" <<'J'
[one]
kernels = 5
layout = threads:1
kernels = 6
J
  bad_job "'bad.job' line 2: 'output' is for the command line only" <<'J'
[global]
output = x.jsonl
J
  bad_job "'bad.job' line 3: 'resume' is for the command line only" <<'J'
[global]
kernels = 5
resume = yes
J
  bad_job "'bad.job' line 5: section \[one\] appears twice" <<'J'
[one]
layout = threads:1
[two]
layout = threads:2
[one]
layout = threads:3
J
  bad_job "'bad.job' line 3: \[global\] must come first" <<'J'
[one]
layout = threads:1
[global]
kernels = 5
J
  bad_job "'bad.job' line 2: 'many' is not a value of kernels" <<'J'
[global]
kernels = many
J
  bad_job "'bad.job' line 3: '8-2' is not a count of layout 'threads'" <<'J'
[global]
layout = threads:1
layout = threads:8-2
J
  bad_job "'bad.job' line 2 is neither \[section\] nor key = value" <<'J'
[global]
this is prose
J
  bad_job "'bad.job' line 1 is neither .* nor key = value, as a job file has them; a program goes behind '--'" <<'J'
[global
kernels = 5
J
}

# Each of these once ran the plan without what follows.
@test "job files: text that would be dropped is an error" {
  bad_job "'bad.job' line 1: 'layout = threads:1' follows \[global\]" <<<'[global] layout = threads:1'
  bad_job "'bad.job' line 3: 'layout = threads:1' follows \[one\]" \
    <<<$'# a comment\r\n[global]\r\n [one]layout = threads:1\r\n'
  bad_job "'bad.job' line 1: a carriage return ends no line" <<<$'[global]\rlayout = threads:1\rkernels = 5\r'
  bad_job "'bad.job' line 2: a carriage return ends no line" <<<$'[global]\nlayout = threads:1\rkernels = 5'
  bad_job "'bad.job' line 1: a carriage return ends no line" \
    < <(printf '[global]\r'; printf 'kernels = 5\r%.0s' {1..100})
  bad_job "'bad.job' line 2: there is a NUL byte" < <(printf '[global]\nlayout = threads:\0001\n')
  bad_job "'bad.job' line 1: there is a NUL byte" < <(printf '[global]\0\nlayout = threads:1\n')
  bad_job "'bad.job' line 2: it is not UTF-8" <<<$'[global]\nworkload = \xff.so'
}

@test "job files: lines may end with CRLF, and a comment may follow a section" {
  printf '\xef\xbb\xbf[global] ; a comment\r\nkernels = 5\r\n[one]\t# another\r\nlayout = threads:3\r\n' >dos.job
  expect 0 "$MPSWEEP" sweep dos.job --list
  [ "$(cat out)" = "$(printf '0\tthreads 1×3, pinned, 5 kernels')" ]
  printf '[global]\r\nlayout = threads:3\r' >cut.job
  expect 0 "$MPSWEEP" sweep cut.job --list
  [ "$(cat out)" = "$(printf '0\tthreads 1×3, pinned')" ]
}

@test "job files: a line that is too long" {
  { echo '[global]'; printf 'layout = threads:1'; printf ',%d' {2..400}; echo; } >long.job
  refused "'long.job' line 2: it is too long: begin the next line with a space" \
    "$MPSWEEP" sweep long.job --list
}

@test "job files: what is not a job file" {
  refused "'/' is a directory, not a job file" "$MPSWEEP" sweep / --list
  refused "cannot open 'missing.job': No such file or directory" "$MPSWEEP" sweep missing.job
  refused "cannot open 'forumm': No such file or directory; did you mean 'forum'?" \
    "$MPSWEEP" sweep forumm
  refused "cannot open 'examples/graps.job': No such file or directory; did you mean 'graphs'?" \
    "$MPSWEEP" sweep examples/graps.job
  echo '{"type":"header","schema":1}' >r.jsonl
  refused "'r.jsonl' line 1: this is JSON, as in a results file, which --output FILE --resume continues" \
    "$MPSWEEP" sweep r.jsonl
  head -c 4096 "$MPSWEEP" >binary.job
  refused "'binary.job' line [0-9]+" "$MPSWEEP" sweep binary.job --list
  : >empty.job
  expect 0 "$MPSWEEP" sweep empty.job --list -l threads:7
  [ "$(cat out)" = "$(printf '0\tthreads 1×7, pinned')" ]
  [ "$(cat err)" = "mpsweep: 'empty.job' has nothing in it: the default plan runs, with the options given here" ]
  printf '# only this\n\n' >empty.job
  expect 0 "$MPSWEEP" sweep empty.job --list
  grep -q "^mpsweep: 'empty.job' has nothing in it: " err
  printf '[global]\n' >global.job
  expect 0 "$MPSWEEP" sweep global.job --list
  [ ! -s err ]
}

@test "job files: a comment behind a value begins with a semicolon" {
  printf '[global]\nlayout = threads:3 ; three\n' >semicolon.job
  expect 0 "$MPSWEEP" sweep semicolon.job --list
  printf '[global]\nlayout = threads:3 # three\n' >hash.job
  refused "'hash.job' line 2: .*; a comment behind a value begins with ' ;'$" "$MPSWEEP" sweep hash.job --list
  printf '[global]\nkernels = 3\t# three\n' >hash.job
  refused "'hash.job' line 2: .*; a comment behind a value begins with ' ;'$" "$MPSWEEP" sweep hash.job --list
  printf '[global]\nlayout = three#\n' >hash.job
  expect 1 "$MPSWEEP" sweep hash.job --list
  absent comment err
}

@test "job files: a layout continues over lines, and may stand there several times" {
  cat >layouts.job <<'J'
[global]
layout = threads:1,2,
    4
layout = processes:2
    hybrid:2x2, 4x2
J
  expect 0 "$MPSWEEP" sweep layouts.job --list
  diff out - <<'LIST'
0	threads 1×1, pinned
1	threads 1×2, pinned
2	threads 1×4, pinned
3	processes 2×1, pinned
4	hybrid 2×2, pinned
5	hybrid 4×2, pinned
LIST
}

@test "job files: the plan as a list; the command line is stronger" {
  cat >small.job <<'J'
[global]
kernels = 20
memory = pinned, pageable

[plain]
layout = threads:1-2
sync = stream, none

[queues]
layout = threads:2, processes+mps:2
memory = pageable
connections = 2, 32
active-thread-percentage = default, 50
launch = graph
schedule = block
bind = none
J
  expect 0 "$MPSWEEP" sweep small.job --list
  [ ! -s err ]
  diff out - <<'LIST'
0	threads 1×1, pinned, 20 kernels
1	threads 1×1, pageable, 20 kernels
2	threads 1×1, pageable, no sync, 20 kernels
3	threads 1×2, pinned, 20 kernels
4	threads 1×2, pageable, 20 kernels
5	threads 1×2, pageable, no sync, 20 kernels
6	threads 1×2, pageable, graph, 2 queues, block, bind none, 20 kernels
7	threads 1×2, pageable, graph, 32 queues, block, bind none, 20 kernels
8	processes+mps 2×1, pageable, graph, 2 queues, block, bind none, 20 kernels
9	processes+mps 2×1, pageable, graph, 2 queues, 50% threads, block, bind none, 20 kernels
10	processes+mps 2×1, pageable, graph, 32 queues, block, bind none, 20 kernels
11	processes+mps 2×1, pageable, graph, 32 queues, 50% threads, block, bind none, 20 kernels
LIST
  expect 0 "$MPSWEEP" sweep small.job --list --memory pinned --launch stream --connections default \
    --schedule auto --bind near --active-thread-percentage default
  diff out - <<'LIST'
0	threads 1×1, pinned, 20 kernels
1	threads 1×2, pinned, 20 kernels
2	processes+mps 2×1, pinned, 20 kernels
LIST
}

@test "the examples are valid job files" {
  local job
  for job in "$MPSWEEP_SOURCE_DIR"/examples/*.job; do
    expect 0 "$MPSWEEP" sweep "$job" --list
    [ "$(wc -l <out)" -ge 3 ]
  done
}

@test "examples are found by their name from anywhere, behind files of the user's" {
  local name
  for name in emulated emulated.job examples/emulated.job; do
    expect 0 "$MPSWEEP" sweep $name --list
    cmp out <("$MPSWEEP" sweep "$MPSWEEP_SOURCE_DIR/examples/emulated.job" --list)
  done
  printf '[global]\nlayout = threads:3\n' >emulated
  expect 0 "$MPSWEEP" sweep emulated --list
  [ "$(wc -l <out)" -eq 1 ]
  refused "^mpsweep: cannot open 'emulate': No such file" "$MPSWEEP" sweep emulate --list
  refused "cannot open 'other/emulated.job'" "$MPSWEEP" sweep other/emulated.job --list
  refused "cannot open '../examples/emulated.job'" "$MPSWEEP" sweep ../examples/emulated.job --list
}
