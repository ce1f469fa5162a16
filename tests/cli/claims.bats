#!/usr/bin/env bats
# What checks that the figures of the documents agree with the results files that they come from. Of
# the documents themselves `make lint` does.

load helper

# A tree with one document, one results file, and the row that has its figures.
plant_documents() {
  mkdir -p tree/docs/results tree/tests
  cp "$MPSWEEP_SOURCE_DIR"/tests/claims.jq tree/tests/
  local point='"type":"point","layout":"threads","processes":1,"threads":16'
  printf '{%s,"id":%s,"connections":%s,"throughput_ips":%s}\n' \
    "$point" 1 8 1924.82 "$point" 2 32 3595.09 >tree/docs/results/x.jsonl
  echo 'It did 3595 iterations/s, and 1925 before.' >tree/README.md
  printf 'README.md\tIt did {3595} iterations/s, and {1925} before.\tx.jsonl\t%s\n' \
    'ips("1x16 32q", "1x16 8q")' >tree/docs/claims.tsv
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/check-claims" tree
}

setup_file() {
  command -v python3 >/dev/null || skip "no python3 here"
  python_itself
}

# found PATTERN: the check fails, and the extended regular expression matches its only finding.
found() {
  expect 1 "$MPSWEEP_SOURCE_DIR/tests/check-claims" tree || return 1
  if [ "$(wc -l <out)" -ne 1 ] || ! grep -qE -e "$1" out; then
    fail "one line should match: $1" "they are:" "$(cat out)"
  fi
}

@test "a wrong figure is reported with its document, its file and both numbers, and mended" {
  plant_documents
  # Another row has the figure in its text.
  printf 'README.md\tIt did {3595} iterations/s, and 1925\tx.jsonl\tips("1x16 32q")\n' >>tree/docs/claims.tsv
  sed -i 's/1925/1924/' tree/README.md tree/docs/claims.tsv
  found "^README\.md:1: 'It did 3595 iterations/s, and 1924 before\.': 1924 there, 1924\.82 in x\.jsonl$"
  expect 1 "$MPSWEEP_SOURCE_DIR/tests/check-claims" --fix tree
  grep -q '^It did 3595 iterations/s, and 1925 before\.$' tree/README.md
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/check-claims" tree
}

@test "a figure that has no row is reported" {
  plant_documents
  # shellcheck disable=SC2016 # Markdown's code
  echo 'It does 98.7 iterations/s in `1234` and x1235.' >>tree/README.md
  found "^README\.md:2: no row of docs/claims\.tsv has '98\.7 iterations/s' of "
  sed -i '$d' tree/README.md
  # Where only settings are, no rate may be without a row either.
  echo 'Up to 1000 ms. It does 98/s.' >tree/docs/settings.md
  found "^docs/settings\.md:1: no row of docs/claims\.tsv has '98/s' of "
}

@test "a claim that the document does not hold is reported, and one that nothing measures" {
  plant_documents
  printf 'README.md\tIt does {98.7} here\tmissing.jsonl\t1\n' >>tree/docs/claims.tsv
  found "^docs/claims\.tsv:[0-9]+: README\.md does not hold 'It does 98\.7 here'"
  echo 'It does 98.7 here' >>tree/README.md
  found "^README\.md:[0-9]+: 'It does 98\.7 here': .*No such file.*missing\.jsonl"
  sed -i '$s/missing.jsonl\t1/-\tby hand/' tree/docs/claims.tsv
  found "^README\.md:[0-9]+: 'It does 98\.7 here' comes from no results file: write 'by hand' beside it"
  sed -i '$s/$/, by hand/' tree/README.md
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/check-claims" tree
}

@test "a program that a section names stands for its figures, if it is there" {
  plant_documents
  # shellcheck disable=SC2016 # Markdown's code
  printf '%s\n' '## Simulated' 'As `tests/x` prints: 98.7%.' '## Other' 'It is 97%.' >>tree/README.md
  printf 'README.md\t## Simulated\tsection\ttests/x\n' >>tree/docs/claims.tsv
  printf 'README.md\tIt is {97}%%.\t-\tsetting\n' >>tree/docs/claims.tsv
  found "^docs/claims\.tsv:2: there is no 'tests/x'"
  touch tree/tests/x.c
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/check-claims" tree
  sed -i 's/.tests.x. prints/it prints/' tree/README.md
  found "^README\.md:2: '## Simulated' does not name 'tests/x', which prints its figures"
}
# -- the scripts behind the tables and figures --------------------------------------------------------

# Each new results file may change it, and the whole evaluation takes minutes.
@test "the evaluation's comparison of machines is that of the committed results" {
  local results=$MPSWEEP_SOURCE_DIR/docs/results
  python3 -B -c 'import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("evaluate", sys.argv[1])
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("evaluate", loader))
loader.exec_module(module)
module.machines()' "$MPSWEEP_SOURCE_DIR/tests/accuracy/evaluate" >machines
  [ "$(grep -c '^[a-z_]* *[0-9]' machines)" -eq 4 ]
  sed -n '/^the built-in workload, calibrated on/,/^$/p' "$results/evaluation.txt" | grep . | diff - <(grep . machines)
}

@test "scripts of the evaluation report what they lack in one line" {
  local accuracy=$MPSWEEP_SOURCE_DIR/tests/accuracy
  expect 1 "$MPSWEEP_SOURCE_DIR/tests/bench/agree.py"
  grep -qx 'usage: agree.py FILE.jsonl...' err
  expect 1 "$MPSWEEP_SOURCE_DIR/tests/bench/agree.py" missing.jsonl
  grep -qx "agree.py: .*'missing.jsonl'" err
  expect 2 "$accuracy/evaluate" --mpsweep missing
  grep -q "error: no program 'missing'" err
  expect 1 env MPSWEEP=missing "$accuracy/table" "$MPSWEEP_SOURCE_DIR/docs/results/h200-random.jsonl"
  grep -qx "table: no program 'missing': MPSWEEP names it" err
  expect 1 env MPSWEEP="$MPSWEEP" "$accuracy/table" missing.jsonl
  grep -qx "table: 'missing.jsonl' cannot be read" err
}

@test "the figure of the searches needs the tables" {
  needs_gnuplot
  expect 1 "$MPSWEEP_SOURCE_DIR/tests/accuracy/searches.gp" missing.txt
  grep -qx 'usage: searches.gp EVALUATION, a readable file of tests/accuracy/evaluate' err
  [ ! -s out ]
}

@test "the figure of the searches shows what its lines are, and that its axes differ" {
  needs_gnuplot
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/accuracy/searches.gp" "$MPSWEEP_SOURCE_DIR/docs/results/evaluation.txt"
  grep -qF 'lines: the median of 50 searches; bars: down to the worst tenth; the vertical axes differ' out
}
