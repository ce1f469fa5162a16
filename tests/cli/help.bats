#!/usr/bin/env bats
# Help, manual pages, and that each option in them is taken.

load helper

@test "no arguments: help on standard error" {
  expect 1 "$MPSWEEP"
  [ ! -s out ]
  grep -q '^  mpsweep sweep  ' err
  grep -q '^  mpsweep doctor  ' err
}

@test "help on standard output when it is asked for" {
  for words in help --help -h --help-all; do
    expect 0 "$MPSWEEP" $words
    [ ! -s err ]
    grep -q '^  mpsweep plot  ' out
  done
}

# fits_a_screen FILE
fits_a_screen() {
  [ "$(wc -l <"$1")" -le 56 ] || fail "$(wc -l <"$1") lines"
  [ "$(wc -L <"$1")" -le 100 ] || fail "$(awk 'length > 100' "$1")"
}

@test "help behind a command is its help, unless a file has that name" {
  expect 0 "$MPSWEEP" tune help
  head -1 out | grep -q '^mpsweep tune '
  expect 0 "$MPSWEEP" mps start help
  head -1 out | grep -q '^mpsweep mps start '
  printf '[global]\nlayout = threads:1\n' >help
  expect 0 "$MPSWEEP" sweep help --dry-run
  expect 0 "$MPSWEEP" export help --help
  expect 1 "$MPSWEEP" export help
}

@test "help is a screen, with the name of each option; --help-all is all of it" {
  local command option
  expect 0 "$MPSWEEP" --help
  fits_a_screen out
  for command in sweep tune trace; do
    expect 0 "$MPSWEEP" $command --help
    fits_a_screen out
    cp out short
    expect 0 "$MPSWEEP" $command --help-all
    [ "$(wc -L <out)" -le 100 ] || fail "$(awk 'length > 100' out)"
    [ "$(wc -l <out)" -gt 100 ]
    for option in $(sed -nE 's/^  (-., |    )(--[a-z0-9-]+).*/\2/p' out); do
      grep -qE -- "(^| )$option( |\$)" short || fail "$command --help lacks $option"
    done
    grep -q "^  mpsweep $command --help-all " short
    expect 0 "$MPSWEEP" help $command
    cmp out short
  done
  for command in sweep explain record probe 'slurm submit'; do
    # shellcheck disable=SC2086 # a command of two words
    expect 0 "$MPSWEEP" $command --help-all
    [ -z "$(grep -E '^[A-Z][A-Za-z ]+$' out | sort | uniq -d)" ] || fail "$command has a heading twice: $(cat out)"
  done
  for command in explain report export compare merge emit plot record probe doctor mps slurm \
    'mps start' 'mps run' 'slurm submit' 'slurm status'; do
    # shellcheck disable=SC2086 # a command of two words
    expect 0 "$MPSWEEP" $command --help
    [ "$(wc -L <out)" -le 100 ] || fail "$command: $(awk 'length > 100' out)"
  done
  # Few options are shown as they are.
  expect 0 "$MPSWEEP" doctor --help
  cp out short
  expect 0 "$MPSWEEP" doctor --help-all
  cmp out short
}

@test "help about the format: whether JSON is a record a line, or one value" {
  local command
  for command in export:'json is a record a line\.' explain:'json is one value\.' compare:'json is one value\.'; do
    expect 0 "$MPSWEEP" "${command%%:*}" --help-all
    tr -s ' \n' ' ' <out | grep -q "${command#*:}" || fail "not in: ${command%%:*} --help-all"
  done
}

@test "the version names the commit, and what the build has" {
  local word commit
  for word in --version -V version; do
    expect 0 "$MPSWEEP" $word
    [ "$(cut -c1-9 out | tr -s ' \n' ' ')" = "$(printf 'mpsweep %s commit CUDA kernels servers ' \
      "$(sed -n '1s/^mpsweep \(.\).*/\1/p' out)")" ] || fail "$(cat out)"
    head -1 out | grep -qxE 'mpsweep [0-9]+\.[0-9]+\.[0-9]+'
  done
  commit=$(sed -n 's/^commit *//p' out)
  grep -qxE '[0-9a-f]{12}|not known' <<<"$commit"
}

@test "help about a word: a command, an option, a value" {
  expect 0 "$MPSWEEP" help sweep
  grep -q '^mpsweep sweep \[JOBFILE\]' out
  local word
  for word in axes axis; do
    expect 0 "$MPSWEEP" help $word
    grep -q -- '--streams N' out
  done
  for word in rate --rate; do
    expect 0 "$MPSWEEP" help $word
    [ "$(head -1 out)" = "sweep, tune, trace" ]
    grep -q -- '--rate closed|R|max-under-pN=TIME' out
  done
  # What is an option of two kinds has both.
  expect 0 "$MPSWEEP" help target
  [ "$(head -1 out)" = emit ]
  expect 0 "$MPSWEEP" help pageable
  grep -q -- '--memory pinned|pageable' out
  for word in closed max-under-p99 max-under-p50=5ms; do
    expect 0 "$MPSWEEP" help $word
    grep -q -- '--rate closed|R|max-under-pN=TIME' out
  done
  expect 0 "$MPSWEEP" help axes
  cp out axes
  expect 0 "$MPSWEEP" help '*'
  cmp out axes
  diff <(grep -E '^ +(-., )?--' out | grep -v ' \*$') /dev/null
  [ "$(grep -cE -- ' --.* \*$' out)" -gt 20 ]
  expect 0 "$MPSWEEP" help format
  [ "$(grep -c -- '--format' out)" -gt 2 ]
  refused "'frobnicate' is not a command, option or value that help knows: 'mpsweep help' lists" "$MPSWEEP" help frobnicate
  # A word of a table has little to do with a command that is spelled a little like it.
  for word in sharp rest; do
    expect 1 "$MPSWEEP" help $word
    absent "mps start\|'tune'" err
  done
  refused "'swep' is not a command, option or value that help knows; did you mean 'sweep'\?" "$MPSWEEP" help swep
  refused "'rat' is not a command, option or value that help knows; did you mean 'rate'\?" "$MPSWEEP" help rat
  expect 0 "$MPSWEEP" help -l
  grep -q -- '-l, --layout NAME:COUNTS' out
  expect 0 "$MPSWEEP" help completion
  grep -q '^  mpsweep completion SHELL ' out
}

@test "help about a word of a table: its line of the manual" {
  local word
  "$MPSWEEP" help --manual | sed 's/\\-/-/g; s/\\://g' >manual
  # The layouts, the columns of a sweep, what becomes of points, and verdicts.
  for word in threads processes processes+mps threads+mps hybrid hybrid-timesliced P×T P×T×S iterations/s 95% p50 p99 CPUs \
    fair 'fixed work/s' J/iter scaling offered/s 'p50 ms' 'p99 ms' Saved Next call ok unconverged infeasible failed \
    interrupted worse better same unsure \
    emulated point round window worker iteration queues threads% predicted 'limited by' ceiling reached next \
    'too few workers' 'time slicing' arithmetic share closest winner equal 'as good' unfinished margin ratio \
    overloaded '?' ≥ - 'N threads' look final naive verdict arm control blocked; do
    expect 0 "$MPSWEEP" help "$word"
    head -1 out | grep -q "^  [^ ].*  [^ ]"
    grep -qxF "$(head -1 out)" manual
  done
  # Of the tables of merge and tune, and of several GPUs; and what else the help names.
  for word in workers client daemon job 'job file' node median/s spread lowest highest quartiles 'stands out' \
    apart 1×1 'N processes' 'N processes+MPS' NO_COLOR; do
    expect 0 "$MPSWEEP" help "$word"
    head -1 out | grep -q "^  [^ ].*  [^ ]"
    grep -qxF "$(head -1 out)" manual
  done
  # The other number, and what a value is in tables.
  for word in points:point layouts:layout connection:connections drifts:drift; do
    "$MPSWEEP" help "${word#*:}" >other
    expect 0 "$MPSWEEP" help "${word%:*}"
    cmp out other
  done
  expect 0 "$MPSWEEP" help no sync
  grep -qE '^ +-., --sync ' out
  # A column and a ceiling.
  expect 0 "$MPSWEEP" help cpus
  [ "$(grep -c '^  CPUs  ' out)" -eq 2 ]
  [ "$(wc -l <out)" -eq 3 ]
  local word
  for word in observed inconclusive median drift unsteady stalled outliers binding Best remedy settings calls; do
    expect 0 "$MPSWEEP" help "$word"
    grep -qE "^  $word  " out
  done
  # Heads of columns that are an option's.
  for word in limit SMs block; do
    expect 0 "$MPSWEEP" help "$word"
    grep -qE '^ +--[a-z-]+ ' out || grep -qE '^ +(-., )?--' out
  done
  # Words of one title need no quotes, and do not stand alone.
  expect 0 "$MPSWEEP" help too few workers
  grep -q '^  too few workers  ' out
  expect 1 "$MPSWEEP" help few
}

# The titles of the table of ceilings, as in the column "limited by".
ceiling_titles() {
  sed -nE 's/^ *\[CEILING_[A-Z_]+\] = \{"[a-z-]+", "([^"]+)",.*/\1/p' "$MPSWEEP_SOURCE_DIR/explain/ceilings.c"
}

@test "help about each step of the grammar: its line, and where the rest is" {
  local step
  printf '[workload w]\nstep = nothing-like-it\n' >w.job
  expect 1 "$MPSWEEP" sweep w.job --dry-run
  sed -n 's/.*; there are //p' err | tr -d , | tr ' ' '\n' >steps
  grep -qx work steps
  while read -r step; do
    expect 0 "$MPSWEEP" help "$step"
    head -1 out | grep -q "^  $step  *a step of a described workload (docs/workloads.md): "
  done <steps
  expect 0 "$MPSWEEP" help busy
  grep -q ': busy TIME, the host$' out
  expect 0 "$MPSWEEP" help kernel
  grep -q 'duration=TIME$' out
}

@test "help about a word in letters of another case" {
  local words
  for words in mps 'mps start' sweep rate pageable 'too few workers'; do
    # shellcheck disable=SC2086 # several words
    "$MPSWEEP" help $words >lower
    # shellcheck disable=SC2086
    expect 0 "$MPSWEEP" help ${words^^}
    diff lower out
  done
  refused "'FROBNICATE' is not a command" "$MPSWEEP" help FROBNICATE
  expect 1 "$MPSWEEP" help -T
}

@test "help about a ceiling: what it is, and what lifts it" {
  local title
  "$MPSWEEP" help --manual | sed 's/\\-/-/g; s/\\://g' >manual
  ceiling_titles >titles
  [ "$(wc -l <titles)" -eq "$(grep -cE '^    CEILING_[A-Z_]+,' "$MPSWEEP_SOURCE_DIR/explain/ceilings.h")" ]
  while read -r title; do
    expect 0 "$MPSWEEP" help "$title"
    grep -A 1 "^  $title  *a ceiling: .*;$" out >of
    tail -1 of | grep -qE '^ {20,}lifted by [^ ]' || fail "of $title: $(cat out)"
    [ "$(wc -L <of)" -le 100 ]
    grep -qxF "$(head -1 of)" manual
  done <titles
  # As JSON has it.
  "$MPSWEEP" help time slicing >title
  expect 0 "$MPSWEEP" help time-slicing
  cmp out title
  expect 0 "$MPSWEEP" help workers
  grep -q '^  too few workers  ' out
  # Nothing else stands between them.
  expect 0 "$MPSWEEP" help hardware queues
  [ "$(wc -l <out)" -eq 2 ]
}

@test "help about a probe: its question and its remedy" {
  local name
  expect 0 "$MPSWEEP" probe --list
  sed -nE 's/^([a-z-]+): .*/\1/p' out >names
  [ "$(wc -l <names)" -ge 7 ]
  while read -r name; do
    expect 0 "$MPSWEEP" help "$name"
    grep -q "^  $name  a probe: " out
    grep -q '^    remedy: ' out
    grep -qxF "    'mpsweep probe $name' asks it here" out
    [ "$(wc -L <out)" -le 100 ]
  done <names
}

# -- help and manual -------------------------------------------------------------------------------

table_names() {
  sed -nE 's/^ *\{OPTION_[A-Z0-9_]+, "([^"]+)",.*/\1/p' \
    "$MPSWEEP_SOURCE_DIR/job/options_table.c"
}

# The options in a command's help: name, letter, rest of the line, with a character between them
# that stands in none of them and, unlike white space, shows an empty one.
SEPARATOR=$'\x1f'
help_options() {
  # shellcheck disable=SC2086 # a command of two words
  "$MPSWEEP" $1 --help-all |
    sed -nE "s/^  (-(.), |    )--([a-z0-9-]+)(.*)\$/\\3$SEPARATOR\\2$SEPARATOR\\4/p"
}

# The options that the manual lists for a command. A family's page names its commands behind each.
manual_options() {
  "$MPSWEEP" help --manual "${1%% *}" | sed 's/\\-/-/g' | awk -v command="$1" '
    /^\.SH / { options = $2 == "OPTIONS" }
    options && /^\.B / {
      name = $0; sub(/^.*--/, "", name); sub(/ .*/, "", name)
      if (command !~ / /) print name
    }
    /^\(.*\)$/ && index(", " substr($0, 2, length($0) - 2) ", ", ", " command ", ") { print name }'
}

@test "each option of the table is in the manual, and in the help of the commands that take it" {
  [ "$(table_names | wc -l)" -gt 25 ]
  local command commands=(sweep tune trace record explain plot report export compare merge emit probe doctor 'mps start' 'mps stop' 'mps status' 'mps run' 'mps env'
    'slurm submit' 'slurm status' 'slurm collect')
  diff <(table_names | sort -u) \
    <(for command in "${commands[@]}"; do manual_options "$command"; done | sort -u)
  for command in "${commands[@]}"; do
    [ "$(manual_options "$command" | wc -l)" -ge 1 ]
    diff <(manual_options "$command") <(help_options "$command" | cut -d "$SEPARATOR" -f 1)
  done
}

@test "what an option is for one command stands only with that command" {
  expect 0 "$MPSWEEP" compare --help
  grep -q 'compare: a picture of all ratios' out
  absent 'sweep, tune: \|merge: ' out
  expect 0 "$MPSWEEP" mps stop --help
  grep -q 'stop, status, env: the daemon.s directory' out
  absent 'start, run: ' out
  expect 0 "$MPSWEEP" mps run --help
  grep -q 'mps run: no proof of attachment there' out
  expect 0 "$MPSWEEP" help --manual merge
  grep -q '^merge: results of all' out
  absent '^sweep, tune: \|mps run: ' out
  expect 0 "$MPSWEEP" help output
  grep -q '^ *sweep, tune: a results file' out
  grep -q '^ *merge: results of all' out
}

# A value that an option must take, from its help: the default, the first choice, or ours.
good_value() {
  local name=$1 rest=$2
  case $name in
  device) echo emulated ;;
  shard) echo 0/4 ;;
  output) echo new.svg ;;
  max-p99) echo 5ms ;;
  stagger) echo 10ms ;;
  point) echo 0 ;;
  figure) echo new.svg ;;
  max-processes | max-threads | max-cpus) echo 4 ;;
  max-gpu-memory) echo 1G ;;
  ready) echo 'http://127.0.0.1:{port}/' ;;
  request) echo 'GET http://127.0.0.1:{port}/' ;;
  header) echo 'A: b' ;;
  body | bodies | arrivals) printf '0\n1\n' >numbers && echo numbers ;;
  *)
    if [[ $rest =~ \ \ \ \[([^]]+)\] ]]; then
      echo "${BASH_REMATCH[1]}"
    else
      rest=${rest# }
      echo "${rest%%|*}"
    fi
    ;;
  esac
}

# What an option of a server is given with, as lines of a job file. None: it is not one.
server_settings() {
  case $1 in
  server | ready | header | body | bodies | expect | arrivals) echo 'request=GET http://127.0.0.1:{port}/' ;;
  request) ;;
  *) return 0 ;;
  esac
  [ "$1" = server ] || echo server=yes
  [ "$1" != arrivals ] || printf '%s\n' rate=10 arrival=trace
}

# takes_all COMMAND: every option of its help, in each of its forms.
takes_all() {
  local command=$1 name letter rest value count=0 extra few=() needs
  # A whole space of tune's takes long to print.
  [ "$command" != tune ] || few=(-l threads:1)
  while IFS=$SEPARATOR read -r name letter rest; do
    count=$((count + 1))
    # A switch is followed by nothing; --resume and --force want to know the file.
    if [[ -z $rest ]]; then
      extra=("${few[@]}")
      [ "$name" = resume ] && extra=(-o new.jsonl)
      [ "$name" = force ] && extra=(--resume -o new.jsonl)
      [ "$name" = fleet ] && extra=(--shard 0/4)
      [ "$name" = server ] && extra=("--$(server_settings server)")
      [ "$name" = list ] || extra+=(--list)
      [ "$name" = server ] && extra+=(-- true)
      expect 0 "$MPSWEEP" "$command" "--$name" "${extra[@]}" || return 1
      [ -z "$letter" ] || expect 0 "$MPSWEEP" "$command" "-$letter" "${extra[@]}" || return 1
      continue
    fi
    value=$(good_value "$name" "$rest")
    [ "$command $name" = "trace output" ] && value=new.json
    extra=("${few[@]}" --list)
    [ "$name" = emit-dir ] && extra+=(--emit env)
    [ "$name" = publish ] && extra+=(-o new.jsonl)
    mapfile -t needs < <(server_settings "$name" | sed 's/^/--/; s/=yes$//')
    extra+=("${needs[@]}")
    [[ $name != tick && ${#needs[@]} -eq 0 ]] || extra+=(-- true)
    expect 0 "$MPSWEEP" "$command" "--$name" "$value" "${extra[@]}" || return 1
    expect 0 "$MPSWEEP" "$command" "--$name=$value" "${extra[@]}" || return 1
    [ -s out ] || return 1
    [ -z "$letter" ] || expect 0 "$MPSWEEP" "$command" "-$letter" "$value" "${extra[@]}" || return 1
    [ -z "$letter" ] || expect 0 "$MPSWEEP" "$command" "-$letter$value" "${extra[@]}" || return 1
  done < <(help_options "$command")
  [ $count -gt 25 ]
}

@test "every option in --help-all of sweep is taken, in each of its forms" {
  takes_all sweep
}

@test "every option in --help-all of tune is taken, in each of its forms" {
  takes_all tune
}

@test "every option in --help-all of trace is taken, in each of its forms" {
  takes_all trace
}

@test "every option in --help of plot and doctor is taken" {
  refused "cannot open 'missing.jsonl'" "$MPSWEEP" plot missing.jsonl -o new.svg --figure throughput
  refused "cannot open 'missing.jsonl'" "$MPSWEEP" plot missing.jsonl --output new.svg
  expect 0 "$MPSWEEP" doctor --device emulated
  expect 0 "$MPSWEEP" doctor -d emulated
}

@test "each setting of the job file is a long option, and each long option a setting" {
  local name letter rest value count=0 command
  # Those under Output, which come last, are about one run.
  while IFS=$SEPARATOR read -r name letter rest; do
    [ "$name" != output ] || break
    # A switch takes a word here.
    value=$(good_value "$name" "$rest")
    printf '[global]\n%s = %s\n' "$name" "${value:-yes}" >one.job
    [ "$name" != fleet ] || echo 'shard = 0/4' >>one.job
    command=()
    server_settings "$name" >>one.job
    [[ $name != tick && -z $(server_settings "$name") ]] || command=(-- true)
    expect 0 "$MPSWEEP" sweep one.job --list "${command[@]}"
    count=$((count + 1))
  done < <(help_options sweep)
  [ $count -gt 20 ]
}

@test "the manuals are without warnings" {
  command -v groff >/dev/null || skip "no groff here"
  local page count=0
  : >warnings
  for page in mpsweep $("$MPSWEEP" help | sed -nE '/^  mpsweep (help|completion) /d; s/^  mpsweep ([a-z][a-z]*) .*/\1/p'); do
    count=$((count + 1))
    "$MPSWEEP" help --manual "$page" >"$page.1"
    groff -man -ww -z -Tutf8 -K utf8 "$page.1" 2>>warnings
    groff -man -Tutf8 -K utf8 "$page.1" 2>/dev/null | sed "s/.$(printf '\b')//g" >"$page.txt"
    grep -q 'EXIT STATUS' "$page.txt"
    grep -q "mpsweep $page\|mpsweep COMMAND" "$page.txt"
  done
  diff /dev/null warnings
  [ $count -eq 16 ]
  "$MPSWEEP" help --manual | diff - mpsweep.1
  grep -q 'mpsweep help WORD' mpsweep.txt
  grep -q 'mpsweep completion SHELL' mpsweep.txt
  grep -q 'mpsweep merge FILE' merge.txt
  grep -q 'mpsweep slurm collect DIR' slurm.txt
  grep -q 'MPSWEEP_CUPTI names' trace.txt
  grep -q 'mpsweep probe NAME|all' probe.txt
  grep -q 'mpsweep mps run' mps.txt
  grep -q 'P×T over MPS' sweep.txt
  grep -q -e '--max-p99' tune.txt
}

@test "help lists every exit status and every command's page has its own" {
  expect 0 "$MPSWEEP" --help
  for status in 0 1 2 3 4 5 130; do
    grep -q "^  $status  " out
  done
  for command in sweep compare 'mps run' 'slurm status'; do
    # shellcheck disable=SC2086 # a command of two words
    expect 0 "$MPSWEEP" $command --help-all
    grep -q '^Exit status$' out
    grep -A 3 '^Examples$' out | grep -q '^  '
  done
}
