#!/usr/bin/env bats
# Results files: never lost, never overwritten, whole up to the last line whatever happens.

load helper

PLAN=(-l threads:1,2 -l processes+mps:2)
MEASURE=("${TINY[@]}" "${PLAN[@]}" --quiet)

# IDs of the points in a file, in the order of its lines.
ids() { jq -s -c 'map(select(.type == "point").id)' "$1"; }

@test "a file that exists is refused, and stays as it is" {
  echo "something else" >old.jsonl
  refused "'old.jsonl' exists: give --resume to continue it, or another name" \
    "$MPSWEEP" sweep "${MEASURE[@]}" -o old.jsonl
  [ "$(cat old.jsonl)" = "something else" ]
  : >empty.jsonl
  refused "'empty.jsonl' exists" "$MPSWEEP" sweep "${MEASURE[@]}" -o empty.jsonl
  [ ! -s empty.jsonl ]
  ln -s nowhere.jsonl link.jsonl
  refused "link.jsonl" "$MPSWEEP" sweep "${MEASURE[@]}" -o link.jsonl
  [ ! -e nowhere.jsonl ]
}

@test "a file that cannot be made: one line, and nothing is measured" {
  refused "cannot write 'missing/x.jsonl': No such file or directory" \
    "$MPSWEEP" sweep "${MEASURE[@]}" -o missing/x.jsonl
  refused "cannot write '.*': (Is a directory|.*)" "$MPSWEEP" sweep "${MEASURE[@]}" -o "$WORK/"
  mkdir shut
  chmod 555 shut
  if ! touch shut/probe 2>/dev/null; then
    refused "cannot write 'shut/x.jsonl': Permission denied" \
      "$MPSWEEP" sweep "${MEASURE[@]}" -o shut/x.jsonl
  fi
  chmod 755 shut
}

@test "a FIFO that nothing reads is refused, instead of waiting for its reader" {
  local command both reader
  mkfifo f.jsonl
  for command in "sweep ${MEASURE[*]}" "probe copy-block --device emulated -q --rounds 1" \
    "tune --device emulated -q -l threads:1 --budget 60s"; do
    # shellcheck disable=SC2086
    refused "'f.jsonl' is a FIFO that no process reads: start its reader first" \
      timeout $PATIENCE "$MPSWEEP" $command -o f.jsonl
  done
  refused "cannot continue 'f.jsonl': not a regular file" \
    timeout $PATIENCE "$MPSWEEP" sweep "${MEASURE[@]}" --resume -o f.jsonl
  refused "cannot continue 'f.jsonl': not a regular file" \
    timeout $PATIENCE "$MPSWEEP" sweep "${MEASURE[@]}" --resume --dry-run -o f.jsonl
  [ -p f.jsonl ]
  exec {both}<>f.jsonl {reader}<f.jsonl {both}>&-
  expect 0 timeout $PATIENCE "$MPSWEEP" sweep "${MEASURE[@]}" -o f.jsonl
  cat <&"$reader" >read.jsonl
  assert_complete read.jsonl 3 0
}

@test "no command writes over what it reads" {
  local name
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o r.jsonl
  printf '[a]\nlayout = threads:1\n' >job.gp
  for name in r.gp r.html; do
    cp r.jsonl $name
  done
  ln -s r.gp link.gp
  ln r.gp one.jsonl
  refused "'r.gp' is one of the files to read: give another name" "$MPSWEEP" plot r.gp -o r.gp
  refused "'link.gp' is one of the files to read" "$MPSWEEP" plot r.gp -o link.gp
  refused "'r.gp' is one of the files to read" "$MPSWEEP" plot one.jsonl -o r.gp
  refused "'r.gp' is one of the files to read" \
    "$MPSWEEP" plot r.jsonl --figure ceilings --explained r.gp -o r.gp
  refused "'r.html' is one of the files to read" "$MPSWEEP" report r.jsonl r.html -o r.html
  refused "'r.gp' is one of the files to read" "$MPSWEEP" compare r.jsonl r.gp -o r.gp
  refused "'r.gp' is one of the files to read" "$MPSWEEP" compare r.gp r.jsonl -o r.gp
  refused "'job.gp' is one of the files to read" \
    "$MPSWEEP" trace job.gp --device emulated --figure job.gp
  for name in r.gp r.html; do
    cmp r.jsonl $name
  done
  [ -L link.gp ]
  grep -q '^layout' job.gp
}

@test "a sweep that cannot begin leaves no file behind" {
  mkdir few
  ln -s "$MPSWEEP_BUILD_DIR"/mpsweep-{worker,guard,emulated-cuda.so} few
  MPSWEEP_LIBEXEC_DIR=$WORK/few expect 1 "$MPSWEEP" sweep "${MEASURE[@]}" -o x.jsonl
  says "mpsweep-emulated-mps-control"
  [ ! -e x.jsonl ]
}

@test "a full disk: one line, status 1" {
  [ -c /dev/full ] || skip "no /dev/full here"
  expect 1 "$MPSWEEP" sweep "${MEASURE[@]}" -o /dev/full
  says "cannot write '/dev/full': No space left on device"
  [ -c /dev/full ]
}

# As a disk that is nearly full: what grows is near the limit, which is far beyond the memory that
# the emulated GPU lies in.
LIMIT=$((64 * 1024 * 1024))
limited() (ulimit -f $((LIMIT / 1024)) && "$@")

# make_big ROOM: big.jsonl, with the header of full.jsonl and no point; it has room for ROOM bytes.
make_big() {
  local line size
  head -1 full.jsonl >big.jsonl
  line=$(printf '{"type":"note","text":"%4000s"}' '')
  yes "$line" | head -c $((LIMIT - 32000)) | sed '$d' >>big.jsonl
  size=$(stat -c %s big.jsonl)
  printf '{"type":"note","text":"%*s"}\n' $((LIMIT - size - $1 - 27)) '' >>big.jsonl
}

# Invariant F1.
@test "a disk that fills up between two points: the file is whole up to its last line" {
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o full.jsonl --seed 0
  # Room for a header and a point, but not for three points.
  local size before
  make_big $(($(head -1 full.jsonl | wc -c) + $(sed -n 2p full.jsonl | wc -c) * 3 / 2))
  before=$(stat -c %s big.jsonl)
  expect 1 limited "$MPSWEEP" sweep "${MEASURE[@]}" -o big.jsonl --resume --seed 0
  says "cannot write 'big.jsonl': File too large; it is whole up to its last line"
  size=$(stat -c %s big.jsonl)
  [ "$size" -gt "$before" ]
  [ "$size" -le $LIMIT ]
  tail -c +$((before + 1)) big.jsonl >new.jsonl
  assert_whole new.jsonl
  jq -s -e 'map(select(.type == "point")) | length >= 1 and length < 3' new.jsonl
  # With room again, it continues.
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o big.jsonl --resume --seed 0
  tail -c +$((before + 1)) big.jsonl >new.jsonl
  assert_complete new.jsonl 3 0
}

@test "a disk that fills up in a tune: it prints what it has found" {
  local tune=(tune --device emulated --kernels 5 --bytes 64K --duration 0.05 --warmup 0.02
    "${PLAN[@]}" -m pinned --launch stream --schedule auto -b near --streams 1 -q)
  expect 0 "$MPSWEEP" "${tune[@]}" -o full.jsonl
  # Room for a header and some points, and each layout is measured more than once.
  make_big $(($(head -1 full.jsonl | wc -c) + $(sed -n 2p full.jsonl | wc -c) * 3))
  expect 1 limited "$MPSWEEP" "${tune[@]}" -o big.jsonl --resume --emit env --emit-dir deployed
  says "cannot write 'big.jsonl': File too large; it is whole up to its last line"
  grep -q '^best layout' out
  grep -q '^Next .*mpsweep tune .*--output big.jsonl .*--resume$' out
  [ ! -e deployed ]
  # With room again, it continues, and comes to an end.
  expect 0 "$MPSWEEP" "${tune[@]}" -o big.jsonl --resume
  [ "$(tail -1 big.jsonl | jq -r .type)" = footer ]
}

@test "--resume measures what is missing, and nothing else" {
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o all.jsonl
  cp all.jsonl before.jsonl
  # Nothing is missing: what is there stays, byte by byte.
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o all.jsonl --resume
  head -c "$(stat -c %s before.jsonl)" all.jsonl | cmp - before.jsonl
  assert_complete all.jsonl 3 0
  jq -s -e '[.[] | select(.type == "header") | .resumed] == [null, true]' all.jsonl
  [ "$(grep -cE '^[a-z+]+ +[12]×[12] ' out)" -eq 3 ]

  # One is missing.
  jq -c 'select(.type == "header" or .id == 0 or .id == 2)' all.jsonl | head -3 >part.jsonl
  cp part.jsonl before.jsonl
  # A dry run reads it, too, and leaves it as it is.
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" "${PLAN[@]}" -o part.jsonl --resume --dry-run
  grep -q '^plan: *3 points, 2 of them measured, ' out
  refused "'part.jsonl' holds another plan" "$MPSWEEP" sweep "${TINY[@]}" -l threads:3 -o part.jsonl --resume -n
  cmp part.jsonl before.jsonl
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" "${PLAN[@]}" -o part.jsonl --resume
  [ "$(grep -c 'iterations/s' err)" -eq 1 ]
  grep -q '^\[1/1\] threads 1×2' err
  head -c "$(stat -c %s before.jsonl)" part.jsonl | cmp - before.jsonl
  assert_complete part.jsonl 3 0

  # What failed, or was interrupted, is measured again; what cannot be, is not.
  jq -c 'if .id == 0 then .status = "failed" elif .id == 1 then .status = "interrupted"
    elif .id == 2 then .status = "infeasible" else . end' all.jsonl | head -4 >again.jsonl
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" "${PLAN[@]}" -o again.jsonl --resume
  [ "$(grep -c 'iterations/s' err)" -eq 2 ]
  assert_whole again.jsonl
  points 'map(outcome) == ["measured", "measured", "infeasible"]' again.jsonl
}

@test "--resume of a missing file is an error" {
  refused "cannot open 'new.jsonl': No such file or directory" \
    "$MPSWEEP" sweep "${MEASURE[@]}" -o new.jsonl --resume
  [ ! -e new.jsonl ]
}

# Invariant F2.
@test "a file torn anywhere is continued: each point once" {
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o whole.jsonl
  local size header offset offsets step
  size=$(stat -c %s whole.jsonl)
  header=$(head -1 whole.jsonl | wc -c)
  # Around the ends of lines, and all over the file.
  offsets="$header $((header + 1)) $(($(head -2 whole.jsonl | wc -c) - 1)) $(head -2 whole.jsonl | wc -c)"
  offsets+=" $(($(head -3 whole.jsonl | wc -c) - 2)) $(head -4 whole.jsonl | wc -c) $((size - 1))"
  step=$(((size - header) / 9))
  for offset in $offsets $(seq $((header + step / 2)) $step $((size - 1))); do
    head -c "$offset" whole.jsonl >torn.jsonl
    expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o torn.jsonl --resume || fail "cut at $offset" || return 1
    assert_complete torn.jsonl 3 0 || fail "cut at $offset" || return 1
    cmp -n "$header" whole.jsonl torn.jsonl
  done
  # Without a whole header it begins anew.
  for offset in 0 1 $((header / 2)) $((header - 1)); do
    head -c "$offset" whole.jsonl >torn.jsonl
    expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o torn.jsonl --resume || fail "cut at $offset"
    assert_complete torn.jsonl 3 0 || fail "cut at $offset"
  done
  # What does not look like ours is not ours to overwrite.
  printf 'notes without an end' >torn.jsonl
  refused "'torn.jsonl' has no whole line" "$MPSWEEP" sweep "${MEASURE[@]}" -o torn.jsonl --resume
  [ "$(cat torn.jsonl)" = 'notes without an end' ]
}

@test "killed between two rounds: the rounds until then are in the file, and --resume completes it" {
  local several=(sweep "${TINY_ROUNDS[@]}" -l threads:1,2 --rounds 12 -q)
  all_begun() { points 'length == 2' r.jsonl >/dev/null; } 2>/dev/null
  start "$MPSWEEP" "${several[@]}" -o r.jsonl
  await $PATIENCE all_begun
  kill -KILL "$PID"
  finish
  [ "$STATUS" -eq 137 ]
  assert_whole r.jsonl
  points 'all(measured and .throughput_ips > 0 and .rounds_left >= 4
    and .rounds_left + (.rounds | length) == 12)' r.jsonl
  expect 0 "$MPSWEEP" compare r.jsonl r.jsonl
  expect 0 "$MPSWEEP" merge r.jsonl -o part.jsonl
  points 'length == 2 and all(measured and has("rounds_left"))' part.jsonl

  # A run that is interrupted sooner leaves what the first has more of.
  local before
  before=$(jq -s '[.[] | select(.type == "point") | .rounds | length] | max' r.jsonl)
  begun_again() { jq -s -e '[.[] | select(.type == "header")] | length == 2' r.jsonl >/dev/null; }
  start "$MPSWEEP" "${several[@]}" -o r.jsonl --resume
  await $PATIENCE begun_again
  kill -INT "$PID"
  finish
  [ "$STATUS" -eq 130 ]
  points "all(.rounds | length >= 1) and (map(.rounds | length) | max) >= $before" r.jsonl

  cp r.jsonl kept.jsonl
  expect 0 "$MPSWEEP" "${several[@]}" -o r.jsonl --resume
  head -c "$(stat -c %s kept.jsonl)" r.jsonl | cmp - kept.jsonl
  assert_complete r.jsonl 2 0
  points 'all(.rounds | length == 12)' r.jsonl
  # After the first, second, fourth and eighth round, and the last; not with fewer than there were.
  jq -s -e --slurpfile kept kept.jsonl 'def rounds: map(select(.type == "point" and .id == 0)
    | .rounds | length);
    (.[($kept | length):] | rounds) == ([1, 2, 4, 8, 12] | map(select(. >= ($kept | rounds | last))))' \
    r.jsonl
  expect 0 "$MPSWEEP" merge r.jsonl -o whole.jsonl
  points 'length == 2 and all((.rounds | length == 12) and (has("rounds_left") | not))' whole.jsonl
}

# Invariant F3.
@test "--resume refuses what is not a results file, another plan and another GPU" {
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o all.jsonl
  cp all.jsonl kept.jsonl
  refused "holds another plan: it was begun with --layout threads:1,threads:2,processes\+mps:2, \
and this is --layout threads:1,threads:2; give what it was begun with, or another name" \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -q -o all.jsonl --resume
  cmp all.jsonl kept.jsonl
  # Neither what is measured may change, nor how.
  refused "'all.jsonl' holds another plan: it was begun with --rounds 1, and this is --rounds 2; " \
    "$MPSWEEP" sweep "${TINY_ROUNDS[@]}" "${PLAN[@]}" -q -o all.jsonl --resume --rounds 2
  refused "begun with --kernels 5 --bytes 65536 --duration .*, and this is --kernels 6 --bytes " \
    "$MPSWEEP" sweep --device emulated --kernels 6 "${PLAN[@]}" -q -o all.jsonl --resume
  cmp all.jsonl kept.jsonl
  # What holds for all sections of a job file is named once.
  printf '[one]\nlayout = threads:1\n[two]\nlayout = threads:2\n' >two.job
  expect 0 "$MPSWEEP" sweep two.job "${TINY[@]}" -q -o two.jsonl
  refused "begun with --rounds 1, and this is --rounds 2; give" \
    "$MPSWEEP" sweep two.job "${TINY_ROUNDS[@]}" --rounds 2 -q -o two.jsonl --resume
  # A long list loses its middle, with a sign; words are quoted as a shell needs them.
  refused "begun with --layout threads:1,threads:2,processes\+mps:2, and this is \
--layout threads:1,.*\.\.\..*,threads:60; give what" \
    "$MPSWEEP" sweep "${TINY[@]}" -l "threads:$(seq -s, 60)" -q -o all.jsonl --resume
  jq -c 'if .type == "header" then .workload.argv = ["./my program", "-x"]
    | .options.sweep.kernels = ["5", "6 7"] else . end' kept.jsonl >all.jsonl
  refused "begun with --layout .* --kernels 5,'6 7' -- './my program' -x, and this is " \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -q -o all.jsonl --resume
  # A tune of the same options has points of its own.
  local same=(--device emulated --kernels 5 --duration 0.05 --warmup 0.02 -q -o tuned.jsonl)
  expect 0 "$MPSWEEP" tune "${same[@]}" --budget 2
  refused "'tuned.jsonl' holds a tune, not a sweep: continue it with 'mpsweep tune', or give another name" \
    "$MPSWEEP" sweep "${same[@]}" --resume
  refused "'all.jsonl' holds a sweep, not a tune: continue it with 'mpsweep sweep', or give another name" \
    "$MPSWEEP" tune --device emulated --budget 2 -q -o all.jsonl --resume
  # What a record holds counts, whatever the header claims.
  jq -c 'if .type == "point" and .id == 1 then .processes += 7 else . end' kept.jsonl >all.jsonl
  refused "'all.jsonl' holds another plan" "$MPSWEEP" sweep "${MEASURE[@]}" -o all.jsonl --resume
  cp kept.jsonl all.jsonl

  jq -c 'if .type == "header" then .gpu.uuid = "GPU-00000000-1111" else . end' kept.jsonl >other.jsonl
  cp other.jsonl kept.jsonl
  refused "'other.jsonl' was begun on another machine .*\(GPU: GPU-00000000-1111 -> GPU-" \
    "$MPSWEEP" sweep "${MEASURE[@]}" -o other.jsonl --resume
  cmp other.jsonl kept.jsonl

  echo '{"type":"header","schema":99}' >future.jsonl
  refused "'future.jsonl' has schema 99; this program reads 1" \
    "$MPSWEEP" sweep "${MEASURE[@]}" -o future.jsonl --resume
  echo 'dear diary' >prose.jsonl
  refused "'prose.jsonl' is not an mpsweep results file" \
    "$MPSWEEP" sweep "${MEASURE[@]}" -o prose.jsonl --resume
  [ "$(cat prose.jsonl)" = 'dear diary' ]
  refused "." "$MPSWEEP" sweep "${MEASURE[@]}" -o "$WORK" --resume
}

# another TEXT COMMAND...: --resume of cut.jsonl refuses with the difference, and changes nothing.
another() {
  local text=$1
  shift
  refused "'cut.jsonl' was begun on another machine or with another program \(.*$text.*--force" \
    "$@" --resume
  cmp cut.jsonl kept.jsonl
}

# Invariant F3.
@test "--resume refuses another machine and other settings of it, and names what differs" {
  local measure=("$MPSWEEP" sweep "${MEASURE[@]}" -o cut.jsonl) field
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o all.jsonl
  head -2 all.jsonl | tee cut.jsonl >kept.jsonl
  MPSWEEP_EMULATED_MACHINE=slots=9 another 'emulated_machine: none -> slots=9' "${measure[@]}"
  MPSWEEP_EMUL_EFFECTS=-lazy-load another 'emulated_effects: none -> -lazy-load' "${measure[@]}"
  for field in '.driver = "11.4"' '.cpu_model = "i486"' '.cpu_list = "7"' '.cpu_quota = 77' \
    '.topology = "a package"' '.cpus = 99' '.binding.near = "elsewhere"' '.gpu.name = "Voodoo"' \
    '.emulated_machine = "slots=3"' '.gpus = [.gpu, .gpu]'; do
    jq -c "if .type == \"header\" then $field else . end" <all.jsonl | head -2 | tee cut.jsonl >kept.jsonl
    another ' -> ' "${measure[@]}" || fail "$field" || return 1
  done
  # The header of an earlier version lacks some of this.
  jq -c 'del(.cpu_model, .cpu_list, .cpu_quota, .binding)' <all.jsonl | head -2 >cut.jsonl
  expect 0 "${measure[@]}" --resume
  refused '--force is for --resume' "$MPSWEEP" sweep "${MEASURE[@]}" -o new.jsonl --force
}

@test "--resume refuses other CPUs than taskset left at the begin" {
  local first
  [ "$(nproc)" -gt 1 ] || skip "one CPU"
  first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o all.jsonl
  head -2 all.jsonl | tee cut.jsonl >kept.jsonl
  another "CPUs: .* -> $first" taskset -c "$first" "$MPSWEEP" sweep "${MEASURE[@]}" -o cut.jsonl
}

@test "--resume --force marks what is of another machine, for table, compare, explain and plot" {
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o all.jsonl
  head -2 all.jsonl >cut.jsonl
  MPSWEEP_EMULATED_MACHINE=slots=9 expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o cut.jsonl --resume --force
  says "the new points are marked"
  local mark='SOME POINTS ARE OF ANOTHER MACHINE OR PROGRAM: emulated_machine: none -> slots=9'
  grep -q "^$mark$" out
  grep -q '^warning  2 points: *measured on another machine' out
  jq -s -e 'map(select(.type == "header").other_machine)
    == [null, ["emulated_machine: none -> slots=9"]]' cut.jsonl
  jq -s -e 'map(select(.type == "point") | .warnings | any(.kind == "other-machine"))
    == [false, true, true]' cut.jsonl
  "$MPSWEEP" compare all.jsonl cut.jsonl >out 2>err 3>&- || [ $? -eq 3 ]
  grep -q "^NEW: $mark$" out
  expect 0 "$MPSWEEP" merge cut.jsonl -o merged.jsonl -q
  head -1 merged.jsonl | jq -e '.merged | length == 2'
  expect 0 "$MPSWEEP" plot cut.jsonl -o cut.gp
  grep -q 'SOME POINTS ARE OF ANOTHER MACHINE OR PROGRAM' cut.gp
}

@test "two sweeps and one file: the second is refused" {
  start "$MPSWEEP" sweep --device emulated --kernels 5 --duration 60 --warmup 0.02 "${PLAN[@]}" \
    -q -o shared.jsonl
  await $PATIENCE test -s shared.jsonl
  cp shared.jsonl kept.jsonl
  mkdir second
  local status=0
  "$MPSWEEP" sweep "${MEASURE[@]}" -o shared.jsonl >second/out 2>second/err 3>&- || status=$?
  [ $status -eq 1 ]
  grep -q "'shared.jsonl' exists" second/err
  status=0
  "$MPSWEEP" sweep --device emulated --kernels 5 --duration 60 --warmup 0.02 "${PLAN[@]}" -q \
    -o shared.jsonl --resume >second/out 2>second/err 3>&- || status=$?
  [ $status -eq 1 ]
  [ "$(wc -l <second/err)" -eq 1 ]
  grep -q "'shared.jsonl' is being written by another mpsweep: wait for it, or give another name" second/err
  cmp shared.jsonl kept.jsonl
  kill -INT "$PID"
  finish
  [ $STATUS -eq 130 ]
  assert_whole shared.jsonl
}

# -- standard output -------------------------------------------------------------------------------

@test "a reader that has read enough does not disturb a sweep" {
  local statuses
  "$MPSWEEP" sweep "${TINY[@]}" -l threads:1-4 -q -o piped.jsonl 3>&- | head -1 >line
  statuses=("${PIPESTATUS[@]}")
  [ "${statuses[0]}" -eq 0 ]
  grep -q '^EMULATED GPU' line
  assert_complete piped.jsonl 4 0
  # No process reads at all.
  "$MPSWEEP" sweep "${TINY[@]}" -l threads:1-4 -q -o deaf.jsonl 2>err 3>&- | true
  statuses=("${PIPESTATUS[@]}")
  [ "${statuses[0]}" -eq 0 ]
  [ ! -s err ]
  assert_complete deaf.jsonl 4 0
}

@test "closed standard descriptors: the file holds results and nothing else" {
  local status=0
  "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -o no-out.jsonl -q >&- 2>err 3>&- || status=$?
  [ $status -eq 1 ]
  says "cannot write standard output: Bad file descriptor"
  assert_complete no-out.jsonl 2 0
  status=0
  "$MPSWEEP" sweep "${TINY[@]}" -l threads:1,2 -l processes+mps:2 -o none.jsonl <&- >&- 2>&- 3>&- ||
    status=$?
  [ $status -eq 1 ]
  assert_complete none.jsonl 3 0
}

@test "closed standard output is an error of what is to be printed there, and of that alone" {
  local status=0
  "$MPSWEEP" version >&- 2>err 3>&- || status=$?
  [ $status -eq 1 ]
  says "cannot write standard output: Bad file descriptor"
  cp "$MPSWEEP_SOURCE_DIR/tests/data/emulated-sample.jsonl" r.jsonl
  status=0
  "$MPSWEEP" export r.jsonl >&- 2>err 3>&- || status=$?
  [ $status -eq 1 ]
  says "cannot write standard output: Bad file descriptor"
  "$MPSWEEP" plot r.jsonl -o figure.gp >&- 2>err 3>&-
  [ ! -s err ]
}

@test "standard output that takes nothing is an error" {
  [ -c /dev/full ] || skip "no /dev/full here"
  local status=0
  "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -q -o kept.jsonl >/dev/full 2>err 3>&- || status=$?
  [ $status -eq 1 ]
  says "cannot write standard output: No space left on device; 'kept.jsonl' was written$"
  points 'map(outcome) == ["measured"]' kept.jsonl
  # What is there already is named: a retry would be refused.
  status=0
  "$MPSWEEP" merge kept.jsonl -o merged.jsonl >/dev/full 2>err 3>&- || status=$?
  [ $status -eq 1 ]
  says "cannot write standard output: No space left on device; 'merged.jsonl' was written$"
  points 'map(outcome) == ["measured"]' merged.jsonl
  status=0
  "$MPSWEEP" emit kept.jsonl --point 0 --target env -o deployment -- true >&- 2>err 3>&- ||
    status=$?
  [ $status -eq 1 ]
  grep -q "cannot write standard output: Bad file descriptor; 'deployment' was written$" err
  [ -x deployment/start ]
  # explain writes before its end, too.
  status=0
  "$MPSWEEP" explain "$MPSWEEP_SOURCE_DIR/docs/results/h200-random-a.jsonl" >/dev/full 2>err 3>&- || status=$?
  [ $status -eq 1 ]
  says "cannot write standard output: No space left on device$"
}

@test "a reader that has enough makes no error, whenever it goes" {
  local both out
  mkfifo pipe
  exec {both}<>pipe {out}>pipe {both}>&-
  "$MPSWEEP" explain "$MPSWEEP_SOURCE_DIR/docs/results/h200-random-a.jsonl" >&"$out" 2>err 3>&-
  "$MPSWEEP" --help >&"$out" 2>>err 3>&-
  exec {out}>&-
  [ ! -s err ]
}

# -- texts that a terminal obeys -------------------------------------------------------------------

# printable COMMAND...: whatever its status, its output has no control character but line ends.
printable() {
  "$@" >out 2>err 3>&- || true
  if LC_ALL=C.UTF-8 grep -nP '[\x{0}-\x{9}\x{b}-\x{1f}\x{7f}-\x{9f}\x{202e}]' out err; then
    fail "control characters from: $*"
  fi
}

@test "escape sequences in a results file reach no terminal" {
  local field poison='\u001b]0;x\u0007\u009b31m\u202e\r\nwarning'
  expect 0 "$MPSWEEP" sweep "${MEASURE[@]}" -o good.jsonl
  jq -c --argjson x "\"$poison\"" '
    if .type == "header" then .host += $x | .driver += $x | .topology += $x | .gpu.name += $x
      | .kernel += $x | .mpsweep += $x | .binding.near += $x | .binding[$x] = "a" | .job = $x
      | .other_machine = [$x] | .started += $x
    elif .type == "point" then .section = $x | .warnings = [{kind: $x, text: $x}] | .workload += $x
      | if .id == 1 then .status = "failed" | .error = $x else . end
    else . end' good.jsonl >bad.jsonl
  for field in host driver topology kernel; do
    head -1 bad.jsonl | jq -e ".$field | contains(\"\u001b\")"
  done
  printable "$MPSWEEP" compare bad.jsonl bad.jsonl
  grep -q 'host.*�' out
  printable "$MPSWEEP" compare bad.jsonl bad.jsonl --format csv
  printable "$MPSWEEP" compare bad.jsonl bad.jsonl --format json
  printable "$MPSWEEP" explain bad.jsonl --duration 0.05 --warmup 0 --quiet
  printable "$MPSWEEP" plot bad.jsonl -o bad.gp
  printable cat bad.gp
  printable "$MPSWEEP" merge bad.jsonl -o merged.jsonl
  printable "$MPSWEEP" emit bad.jsonl --format env
  printable "$MPSWEEP" sweep "${MEASURE[@]}" -o bad.jsonl --resume
  printable "$MPSWEEP" sweep "${MEASURE[@]}" -o bad.jsonl --resume --force
}

# -- texts that are not UTF-8 ----------------------------------------------------------------------

@test "a plug-in whose path is not UTF-8 is refused by name, and other names are replaced" {
  cp "$MPSWEEP_BUILD_DIR/examples/plugin/skeleton.so" $'bad\xff.so'
  refused "'./bad.+[.]so' of workload is not UTF-8" \
    "$MPSWEEP" sweep "${MEASURE[@]}" -w $'./bad\xff.so' -o b.jsonl
  [ ! -e b.jsonl ]
  printf '[global]\nkernels = 5\n' >$'job\xff'
  SLURMD_NODENAME=$'n\xc0de' expect 0 "$MPSWEEP" sweep $'job\xff' "${MEASURE[@]}" -o b.jsonl
  head -1 b.jsonl | jq -e '.job == "job\ufffd" and .slurm_node == "n\ufffdde" and (.options.sweep | length > 10)'
}

@test "a host name that is not UTF-8 is replaced" {
  local hostile='printf "n\\377de" >/proc/sys/kernel/hostname && exec "$@"'
  unshare -u sh -c "$hostile" sh true 2>err || skip "$(cat err)"
  expect 0 unshare -u sh -c "$hostile" sh "$MPSWEEP" sweep "${MEASURE[@]}" -o host.jsonl
  head -1 host.jsonl | jq -e '.host == "n\ufffdde"'
}
