#!/usr/bin/env bats
# What the program accepts, and how it refuses the rest.

load helper

@test "unknown command" {
  refused "unknown command 'swep'; did you mean 'sweep'\?" "$MPSWEEP" swep
  refused "unknown command 'doc'; did you mean 'doctor'\?" "$MPSWEEP" doc
  refused "unknown command 'doktor'; did you mean 'doctor'\?" "$MPSWEEP" doktor
  refused "unknown command 'slurm stauts'; did you mean 'slurm status'\?" "$MPSWEEP" slurm stauts
  refused "unknown command 'mps strat'; did you mean 'mps start'\?" "$MPSWEEP" mps strat
  refused "unknown command 'mps stat'; did you mean 'mps status'\?" "$MPSWEEP" mps stat
  refused "unknown command 'collect'; did you mean 'slurm collect'\?" "$MPSWEEP" collect
  refused "unknown command 'mps sweep'; did you mean 'sweep'\?" "$MPSWEEP" mps sweep
  refused "unknown command 'frobnicate': it is one of sweep, tune, .*, doctor, mps, slurm$" \
    "$MPSWEEP" frobnicate
  refused "unknown command 'foo bar': it is one of sweep, .*, slurm$" "$MPSWEEP" help foo bar
  # What is none, but has a place in a command.
  refused "unknown command 'a.job'; did you mean 'mpsweep sweep a.job'\?" "$MPSWEEP" a.job
  refused "unknown command 'forum'; did you mean 'mpsweep sweep forum'\?" "$MPSWEEP" forum
  refused "unknown command 'a.jsonl'; did you mean 'mpsweep export a.jsonl'\?" "$MPSWEEP" a.jsonl
  refused "unknown option '-d' before a command: options come after it, as in 'mpsweep sweep -d" \
    "$MPSWEEP" -d emulated sweep
  refused "unknown command 'mps frobnicate': it is one of mps start, .*, mps env$" \
    "$MPSWEEP" mps frobnicate
}

@test "what help and version do not expect is named" {
  refused "unexpected argument 'extra'$" "$MPSWEEP" help rate extra
  refused "unexpected argument 'extra'$" "$MPSWEEP" help sweep extra
  refused "unexpected argument 'extra'$" "$MPSWEEP" help slurm status extra more
  refused "unexpected argument 'extra'$" "$MPSWEEP" help no sync extra
  refused "unexpected argument 'extra'$" "$MPSWEEP" version extra
  refused "unexpected argument '-x'$" "$MPSWEEP" --version -x
  refused "--help takes no value \(options: 'mpsweep sweep --help'\)$" "$MPSWEEP" sweep --help=1
  refused "--help-all takes no value \(options" "$MPSWEEP" slurm submit --help-all=
  refused "unknown command 'slurm stauts'; did you mean 'slurm status'\?" \
    "$MPSWEEP" help slurm stauts
  local words
  for words in 'help sweep --help' 'help slurm help' 'version --help' 'help slurm status --help'; do
    # shellcheck disable=SC2086
    expect 0 "$MPSWEEP" $words
  done
}

@test "words of other tools: the error names what they mean here" {
  refused "unknown command 'run'; did you mean 'sweep'\?" "$MPSWEEP" run
  refused "unknown command 'deploy'; did you mean 'emit'\?" "$MPSWEEP" deploy
  refused "unknown option '--procs'; did you mean '--layout processes:N'\?" "$MPSWEEP" sweep --procs 4
  refused "unknown option '--threads'; did you mean '--layout threads:N'\?" "$MPSWEEP" tune --threads 4
  # Of two as near, the one with two letters swapped.
  refused "unknown command 'mps stauts'; did you mean 'mps status'\?" "$MPSWEEP" mps stauts
  refused "unknown option '--gpu'; did you mean '--device'\?" "$MPSWEEP" sweep --gpu 0
  refused "unknown option '--qps'; did you mean '--rate'\?" "$MPSWEEP" sweep --qps 10
  refused "unknown option '--csv'; did you mean '--format csv'\?" "$MPSWEEP" compare a b --csv
  refused "'prometheus' is not a value of format: .*; did you mean 'openmetrics'\?" "$MPSWEEP" export a -f prometheus
  refused "'md' is not a value of format: .*; did you mean 'markdown'\?" "$MPSWEEP" export a -f md
  refused "one of table\|.*\|json; did you mean 'table'\? \(options" "$MPSWEEP" sweep -f tabel
  # Of a short word nearly every option is near.
  refused "unknown option '--foo' \(options" "$MPSWEEP" sweep --foo
  # An option is meant by what it begins with.
  refused "unknown option '--dur'; did you mean '--duration'\?" "$MPSWEEP" sweep --dur 1
  # 'far' does not mean 'near'.
  refused "one of near\|scatter\|none \(options" "$MPSWEEP" sweep --bind far
  refused "unknown option '--hlep'; did you mean '--help'\?" "$MPSWEEP" tune --hlep
  refused "unknown option '--verison'; did you mean '--version'\?" "$MPSWEEP" --verison
  refused "unknown option '--help-al'; did you mean '--help-all'\?" "$MPSWEEP" sweep --help-al
  # Not where the command lacks what is meant.
  refused "unknown option '--qps' \(options" "$MPSWEEP" plot a --qps 10
}

@test "a layout without counts: what is proposed is the same layout" {
  refused "layout 'processes' has no worker counts: write processes:1-16 \(" "$MPSWEEP" sweep -l processes
  refused "layout 'hybrid-timesliced' has no worker counts: write hybrid-timesliced:8x2 \(" \
    "$MPSWEEP" sweep -l hybrid-timesliced
  refused "layout 'threads' has no worker counts: write threads:1-16 \(" "$MPSWEEP" sweep -l "threads: 4"
}

@test "shares without a process or a thread are noted" {
  expect 0 "$MPSWEEP" sweep --device emulated --list -l processes+mps:1,2 --active-thread-percentage 30/30/40
  says "active-thread-percentage 30/30/40: no point has a process for the last of its 3 values"
  expect 0 "$MPSWEEP" sweep --device emulated --list -l threads:2 --sm-partition 8/16/8
  says "sm-partition 8/16/8: no point has a thread for the last of its 3 values"
  expect 0 "$MPSWEEP" sweep --device emulated --list -l processes+mps:2,3 --active-thread-percentage 30/30/40
  [ ! -s err ]
}

@test "a dry run refuses the results file that the run would refuse" {
  refused "'r.txt' is not a name for results" "$MPSWEEP" sweep --device emulated -n -l threads:1 -o r.txt
  refused "nosuch" "$MPSWEEP" sweep --device emulated -n -l threads:1 -o nosuch/r.jsonl
}

@test "former words of options still work" {
  local word
  refused "'x' is not a value of target: it takes one of env" "$MPSWEEP" emit a.jsonl --format x -o d
  refused "'x' is not a value of target: it takes one of env" "$MPSWEEP" emit a.jsonl -f x -o d
  refused "emit needs --target env\|systemd" "$MPSWEEP" emit a.jsonl -o d
  refused "--target is given twice" "$MPSWEEP" emit a.jsonl -o d --target env --format env
  refused "cannot open 'a.jsonl'" "$MPSWEEP" emit a.jsonl --format env -o d
  refused "unknown format of 't.txt'" "$MPSWEEP" trace --device emulated -l threads:1 -f t.txt
  for word in "--json" "--format json" "-f json"; do
    # shellcheck disable=SC2086 # two words
    refused "'d'" "$MPSWEEP" slurm status d $word
  done
  refused "--json takes no value" "$MPSWEEP" slurm status d --json=yes
  for word in --gpu --device -g -d; do
    expect 0 "$MPSWEEP" mps run -q $word emulated -- true
  done
}

@test "a time is a number of seconds, or has its unit; a limit of the latency has its unit" {
  # It ends soon, and not before an iteration has.
  expect 0 "$MPSWEEP" sweep --device emulated -l threads:1 --kernels 5 --bytes 64K --rounds 1 --precision 100 \
    --duration 600ms --max-duration 18.0s --warmup 20000us --timeout 1m -q -o r.jsonl
  head -1 r.jsonl | jq -e '.options.sweep | [.duration, .["max-duration"], .warmup, .timeout]
    == ["0.6", "18", "0.02", "60"]'
  expect 0 "$MPSWEEP" tune --device emulated --budget 30 --dry-run
  grep -q '30 s at most' out
  printf '[global]\nduration = 90ms\nmax-duration = 2m\n' >times.job
  refused "max-duration of 120 s is more than 30 times duration of 0.09 s" "$MPSWEEP" sweep times.job
  refused "'5' is not a value of max-p99: .* with its unit" "$MPSWEEP" tune --max-p99 5
}

@test "a results file, a timeline or a job with the name of another kind of file is refused" {
  refused "'out.csv' is not a name for results: name it .jsonl" "$MPSWEEP" sweep "${TINY[@]}" -o out.csv
  refused "'csv' is not a name for results: name it .jsonl \(--format is what is printed\)" \
    "$MPSWEEP" sweep "${TINY[@]}" --output csv
  refused "'-' is not a name for results: name it .jsonl \(--format is what is printed\)" \
    "$MPSWEEP" sweep "${TINY[@]}" -o -
  refused "'-' is not a name for a report: name it .html" "$MPSWEEP" report a.jsonl -o -
  refused "'-' cannot be a deployment's directory" "$MPSWEEP" emit a.jsonl --target env -o -
  refused "'t.svg' is not a name for results" "$MPSWEEP" tune --device emulated -o t.svg
  refused "'p.json' is not a name for results" "$MPSWEEP" probe copy-block --device emulated -o p.json
  refused "'all.json' is not a name for results" "$MPSWEEP" merge a.jsonl -o all.json
  refused "'t.svg' is not a name for a timeline: name it .json \(--figure FILE draws it\)" \
    "$MPSWEEP" trace --device emulated -l threads:1 -o t.svg
  refused "'r.jsonl' is not a name for a job: name it .job" \
    "$MPSWEEP" record --device emulated -o r.jsonl -- true
  # Nor does a slip make a name of its own.
  refused "'n.jsn' is not a name for a timeline: name it .json" "$MPSWEEP" trace --device emulated -l threads:1 -o n.jsn
  refused "'n.json5' is not a name for a timeline: name it .json" \
    "$MPSWEEP" trace --device emulated -l threads:1 -o n.json5
  refused "'x.txt' is not a name for a job: name it .job" "$MPSWEEP" record --device emulated -o x.txt -- true
  refused "'d.txt/r.jsonll' is not a name for results" "$MPSWEEP" sweep "${TINY[@]}" -o d.txt/r.jsonll
  refused "'r.jsnl' is not a name for results" "$MPSWEEP" sweep "${TINY[@]}" -o r.part --publish r.jsnl
  [ -z "$(ls | grep -vx 'out\|err')" ]
}

@test "a name without the ending of a kind of file is fine" {
  local name
  mkdir d.txt
  for name in plain h200.2026-11-28 r.v2 d.txt/plain upper.JSONL ending. .hidden; do
    expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -q -o "$name"
    [ -s "$name" ]
  done
}

# is_markdown TITLES SIDES: of the first table in out, behind an empty line; rows have as many cells.
is_markdown() {
  awk -v titles="$1" -v sides="$2" '
    /^\|/ && !begun { if (before != "" || $0 !~ titles) exit 1; begun = NR; cells = NF }
    begun && NR == begun + 1 { if ($0 !~ sides) exit 1 }
    begun && NR >= begun && !ended { if (/^\|/) { if (NF != cells) exit 1; rows++ } else { ended = 1; if ($0 != "") exit 1 } }
    { before = $0 }
    END { exit !(rows >= 3 && ended) }' FS='|' out || fail "$(cat out)"
}

@test "tables as Markdown: of a sweep, a comparison, an explanation and a merge" {
  local work="--kernels 5 --duration 0.05 --precision 100 -r 1 -q"
  expect 0 "$MPSWEEP" sweep --device emulated -l threads:1,2 $work -o a.jsonl -f markdown
  is_markdown '^\| layout \| P×T \|' '^\| --- \| ---: \|'
  grep -q '^| threads | 1×2 |' out
  grep -q '^Saved  a.jsonl$' out
  expect 0 "$MPSWEEP" compare a.jsonl a.jsonl --format markdown
  is_markdown '^\| layout \| P×T \| BASE/s' '^\| --- \| ---: \| ---: \|'
  expect 0 "$MPSWEEP" explain "$MPSWEEP_SOURCE_DIR/docs/results/h200-explain.jsonl" -f markdown
  is_markdown '^\| layout \| P×T \|' '^\| --- \| ---: \|'
  # What follows is a list, in which a line goes on to its end: four blanks would begin code.
  grep -q '^- threads .* — hardware queues: ' out
  grep -q '^  - lift it with --connections ' out
  absent '^   \|^ [^ ]' out
  expect 0 "$MPSWEEP" merge a.jsonl -o b.jsonl -f markdown
  grep -q '^1 file, 1 GPU: 2 of 2 points' out
}

@test "colours: of errors and verdicts, on request, and not in a pipe" {
  local red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
  export TERM=xterm
  expect 1 "$MPSWEEP" plot none.jsonl -o a.svg --color always
  grep -qF "${red}mpsweep:$plain cannot open 'none.jsonl'" err
  refused "cannot open 'none.jsonl'" "$MPSWEEP" plot none.jsonl -o a.svg
  refused "'some' is not a value of color: it takes one of auto\|always\|never" "$MPSWEEP" doctor --color some
  "$MPSWEEP" doctor --device emulated --color always >out || true
  grep -qF "${green}ok$plain       " out
  "$MPSWEEP" doctor --device emulated >out || true
  grep -q '^ok       ' out
  [ -z "$(grep $'\e' out)" ]
}

@test "a list and a dry run have the format that is asked for" {
  local command
  for command in sweep tune; do
    expect 0 "$MPSWEEP" $command --device emulated -l threads:1,2 --kernels 5 --list -f json
    jq -se 'length > 1 and all(.type == "planned" and .status == "planned" and .kernels == 5)
      and (map(.id) == [range(length)])' out
    expect 0 "$MPSWEEP" $command --device emulated -l threads:1,2 --kernels 5 --dry-run -f json
    jq -se '.[0].type == "plan" and .[0].gpu.emulated and .[0].plan == length - 1
      and (.[1:] | all(.type == "planned"))' out
    expect 0 "$MPSWEEP" $command --device emulated -l threads:1,2 --list -f csv
    head -1 out | grep -q '^layout,processes,threads'
    [ "$(grep -cE '^threads,.*,planned,.*,yes,,[0-9]+$' out)" -eq "$(grep -c '^threads,' out)" ]
    expect 0 "$MPSWEEP" $command --device emulated -l threads:1,2 --list -f markdown
    grep -q '^- 0	threads 1×1' out
    [ -z "$(grep -v '^- [0-9]' out)" ]
  done
  expect 0 "$MPSWEEP" sweep --device emulated -l threads:1,2 --dry-run -f json
  jq -se '.[0].estimated_s > 0 and .[0].most_s > .[0].estimated_s and .[0].infeasible == 0' out
}

# Windows grow to what is nearly never precise enough.
takes_at_most() {
  local sweep=("$MPSWEEP" sweep --device emulated --kernels 5 --bytes 64K --duration 0.1 --warmup 0.05
    --max-duration 0.8 --precision 0.01 -l threads:1,8 -l processes:4 -l processes+mps:4)
  rm -f r.jsonl
  expect 0 "${sweep[@]}" --dry-run -f json
  jq -r 'select(.type == "plan").most_s' out >most
  expect 0 "${sweep[@]}" -q -o r.jsonl
  jq -e --argjson most "$(cat most)" 'select(.type == "footer") | .seconds <= $most' r.jsonl
}

@test "a sweep takes at most as long as its plan reports" {
  expect 0 "$MPSWEEP" sweep --device emulated -l threads:1 --dry-run
  grep -qE '^plan: +1 point, about [0-9.]+ s, at most [0-9.]+ s$' out
  judged takes_at_most
  points 'length == 4 and all(.rounds[].seconds > 0.39)' r.jsonl
}

@test "a program without '--' before it: where it goes" {
  refused "unexpected argument 'serve.py'; a program goes behind '--' \(" "$MPSWEEP" tune python3 serve.py
  refused "unexpected argument './serve'; a program goes behind '--' \(" "$MPSWEEP" record -o a.job ./serve
  refused "this is not text; a program goes behind '--': -- $MPSWEEP_BUILD_DIR/mpsweep-worker$" \
    "$MPSWEEP" sweep "$MPSWEEP_BUILD_DIR/mpsweep-worker"
  printf '#!/bin/sh\nexec serve\n' >serve
  refused "'serve' line .*[^-]$" "$MPSWEEP" sweep serve
  absent 'behind' err
  chmod +x serve
  refused "cannot open 'sh': .*; a program goes behind '--': -- sh$" "$MPSWEEP" tune sh
  echo '"""Serves."""' >serve.py
  refused "; a program goes behind '--': -- python3 serve.py$" "$MPSWEEP" sweep serve.py
  refused "'serve' line .*; a program goes behind '--': -- serve$" "$MPSWEEP" sweep serve
  refused "is a directory, not a job file$" "$MPSWEEP" sweep .
}

# Words of the command line, then a pattern of the error.
bad_words() {
  cat <<'TABLE'
--memroy pinned              | unknown option '--memroy'; did you mean '--memory'\?
--proceses 4                 | unknown option '--proceses'; did you mean '--layout processes:N'\?
--thread 4                   | unknown option '--thread'; did you mean '--layout threads:N'\?
--kernel 5                   | unknown option '--kernel'; did you mean '--kernels'\?
--nothing-like-it            | unknown option '--nothing-like-it' 
-x                           | unknown option '-x'
--figure throughput          | unknown option '--figure'; it belongs to trace, plot
--budget 30s                 | unknown option '--budget'; it belongs to tune 
--bugdet 30s                 | unknown option '--bugdet'; '--budget' belongs to tune 
a.job b.job                  | unexpected argument 'b.job'; a program goes behind '--' 
--memory                     | --memory needs a value: pinned\|pageable
-l                           | -l needs a value: NAME:COUNTS
--output                     | --output needs a value: FILE
--bytes 256KB                | '256KB' is not a value of bytes: KB may mean powers of 1000: write 256K for those of 1024
--bytes 900G                 | '900G' is not a value of bytes: it takes a whole number from 1024 to 274877906944
-o --dry-run                 | -o needs a value: FILE; '--dry-run' is an option
--emulated                   | unknown option '--emulated'; did you mean '--device emulated'
--quiet=yes                  | --quiet takes no value
--resume=no -o x.jsonl       | --resume takes no value
-qn                          | '-qn': write short switches one by one
-t 1 --duration 2            | --duration is given twice
--memory pinned -m pageable  | --memory is given twice
--list --list                | --list is given twice
--device=                    | device is empty
--output=                    | output is empty
--memory unified             | 'unified' is not a value of memory: it takes one of pinned\|pageable
--memory=                    | '' of memory has an empty item
--memory pinned,             | 'pinned,' of memory has an empty item
--memory ,pinned             | ',pinned' of memory has an empty item
--sync event                 | 'event' is not a value of sync: it takes one of stream\|none
--launch kernel              | 'kernel' is not a value of launch: it takes one of stream\|graph
--schedule fast              | 'fast' is not a value of schedule: it takes one of auto\|spin\|yield\|block
--bind far                   | 'far' is not a value of bind: it takes one of near\|scatter\|none
--workload saxpy             | 'saxpy' is not a value of workload: it takes one of builtin\|delay
--workload mine.c            | .*, or the path of a plug-in, such as \./mine\.so$
--workload my.mine.cu        | .*, or the path of a plug-in, such as \./my\.mine\.so$
--workload mine.cpp          | .*, or the path of a plug-in, such as \./mine\.so$
--workload mine.cc           | .*, or the path of a plug-in, such as \./mine\.so$
--workload mine.com          | .*, or the path of a plug-in, such as \./mine\.com\.so$
--format xml                 | 'xml' is not a value of format: it takes one of table\|markdown\|csv\|json
--format table,csv           | 'table,csv' is not a value of format
--connections 0              | '0' is not a value of connections: it takes default or a whole number from 1 to 32
--connections 33             | '33' is not a value of connections: .* from 1 to 32
--connections 8-             | '8-' is not a value of connections
--connections 30-33          | '30-33' is not a value of connections: .* from 1 to 32
--connections 8-2            | range '8-2' of connections runs backwards
--active-thread-percentage 0    | '0' is not a value of active-thread-percentage: .* from 1 to 100
--active-thread-percentage 101  | '101' is not a value of active-thread-percentage: .* from 1 to 100
--active-thread-percentage 10%  | '10%' is not a value of active-thread-percentage
--active-thread-percentage 30/170 | in '30/170': '170' is not a value of active-thread-percentage: .* from 1 to 100; '/' stands between the values of several processes
--active-thread-percentage 30/    | in '30/': '' is not a value of active-thread-percentage
--active-thread-percentage 1-5/9  | in '1-5/9': '1-5' is not a value of active-thread-percentage
--priority 2                 | '2' is not a value of priority: it takes default or a whole number from 0 to 1
--priority=-1                | '-1' is not a value of priority
--priority 0/low             | in '0/low': 'low' is not a value of priority
--memory-limit 15M           | '15M' is not a value of memory-limit: it takes default or a size from 16M to 1048576M, with K, M or G
--memory-limit 1024          | '1024' is not a value of memory-limit
--memory-limit 1.5G          | '1.5G' is not a value of memory-limit
--memory-limit 1G/2T         | in '1G/2T': '2T' is not a value of memory-limit
--memory-limit 16385K        | '16385K' is not a multiple of 1M
--memory-limit 1G-2G         | '1G-2G' of memory-limit: sizes take a list
--kernels 5/6                | '5/6' is not a value of kernels
--kernels 0                  | '0' is not a value of kernels: it takes a whole number from 1 to 100000
--kernels 100001             | '100001' is not a value of kernels
--kernels 1.5                | '1.5' is not a value of kernels
--kernels -1                 | '-1' is not a value of kernels
--kernels 0x10               | '0x10' is not a value of kernels
--kernels 99999999999999999999 | '99999999999999999999' is not a value of kernels
--kernels many               | 'many' is not a value of kernels
--kernels 5,,6               | '5,,6' of kernels has an empty item
--kernels 1-9999             | range '1-9999' of kernels has more than 4096 values
--blocks 0                   | '0' is not a value of blocks
--threads-per-block 1025     | '1025' is not a value of threads-per-block: .* from 1 to 1024
--spin 1e3                   | '1e3' is not a value of spin
--bytes 1000                 | '1000' is not a value of bytes: .* from 1024 to .*, with K, M or G
--bytes 1025                 | '1025' is not a multiple of 1024 bytes
--bytes 4KB                  | '4KB' is not a value of bytes
--bytes 9999999999G          | '9999999999G' is not a value of bytes
--bytes 2K-1K                | range '2K-1K' of bytes runs backwards
--delay-cycles -5            | '-5' is not a value of delay-cycles
--duration 0                 | '0' is not a value of duration: it takes a time from 0.01 to 86400 s: a number of seconds, or one with its unit, as in 500ms, 10s, 2m or 1h
--duration 1d                | '1d' is not a value of duration
--duration 5ms               | '5ms' is not a value of duration
--duration nan               | 'nan' is not a value of duration
--duration 0x1p1             | '0x1p1' is not a value of duration
--duration inf               | 'inf' is not a value of duration
--duration 1,2               | '1,2' is not a value of duration
--duration=                  | '' is not a value of duration
--warmup -1                  | '-1' is not a value of warmup: it takes a time from 0 to 3600 s
--precision 0                | '0' is not a value of precision
--precision 101              | '101' is not a value of precision: .* to 100
--max-duration 0             | '0' is not a value of max-duration
--duration 2 --max-duration 1 | max-duration of 1 s is shorter than duration of 2 s
--rounds 0                   | '0' is not a value of rounds: it takes a whole number from 1 to 1000
--rounds 2-3                 | '2-3' is not a value of rounds
--seed -1                    | '-1' is not a value of seed
--timeout 0                  | '0' is not a value of timeout: it takes a time from 0.1 to 86400 s
--limits maybe               | 'maybe' is not a value of limits: it takes one of known\|ignore
--limits                     | --limits needs a value: known\|ignore
--resume                     | --resume needs --output FILE
-l threads:0                 | '0' is not a count of layout 'threads': it takes N or a range, as in 1-16, up to 1024 workers
-l threads:5000              | '5000' is not a count of layout 'threads': .* up to 1024 workers
-l threads:8-2               | '8-2' is not a count of layout 'threads': it takes N or a range
-l threads:1-5000            | '1-5000' is not a count of layout 'threads'
-l threads:-3                | '-3' is not a count of layout 'threads'
-l threads:2x2               | '2x2' is not a count of layout 'threads'
-l threads:                  | layout 'threads' has no worker counts
-l ,                         | unknown layout ''
-l threads:1,x               | 'x' is not a count of layout 'threads'
-l threads                   | layout 'threads' has no worker counts: write threads:1-16
-l 4                         | unknown layout '4': it is one of threads, processes,
-l thread:4                  | unknown layout 'thread'; did you mean 'threads'\?
-l threads=8                 | unknown layout 'threads=8'; did you mean 'threads:8'\?
-l hybrid=8x2                | unknown layout 'hybrid=8x2'; did you mean 'hybrid:8x2'\?
-l mps8                      | unknown layout 'mps8'; did you mean 'processes\+mps:8'\?
-l mps:4                     | unknown layout 'mps'; did you mean 'processes\+mps'\?
-l hybird:2x2                | unknown layout 'hybird'; did you mean 'hybrid'\?
-l=                          | unknown layout
-l hybrid:8                  | '8' is not a count of layout 'hybrid': it takes PxT, as in 8x2
-l hybrid:0x4                | '0x4' is not a count of layout 'hybrid'
-l hybrid:4x                 | '4x' is not a count of layout 'hybrid'
-l hybrid:2x2x2              | '2x2x2' is not a count of layout 'hybrid'
-l hybrid:64x64              | '64x64' is not a count of layout 'hybrid': .* up to 1024 workers
-l hybrid:2-4x2              | '2-4x2' is not a count of layout 'hybrid'
-l hybrid                    | layout 'hybrid' has no worker counts: write hybrid:8x2
TABLE
}

@test "bad options of sweep: one line that names what is wrong and what is right" {
  local words pattern count=0 failed=0
  while IFS='|' read -r words pattern; do
    read -ra words <<<"$words"
    pattern=${pattern# }
    refused "^mpsweep: ${pattern% }" "$MPSWEEP" sweep "${words[@]}" || failed=1
    count=$((count + 1))
  done < <(bad_words)
  [ $count -gt 80 ]
  [ $failed -eq 0 ]
}

@test "bad words for plot and doctor" {
  refused "plot needs a results file" "$MPSWEEP" plot
  refused "plot needs a results file" "$MPSWEEP" plot -o x.svg
  refused "plot needs --output FILE" "$MPSWEEP" plot x.jsonl
  refused "unknown option '--layout'" "$MPSWEEP" plot x.jsonl --layout threads:1
  refused "unexpected argument 'y.jsonl'" "$MPSWEEP" plot x.jsonl y.jsonl -o x.svg
  refused "--limits takes no value" "$MPSWEEP" doctor --limits=known
  refused "unexpected argument 'me'" "$MPSWEEP" doctor me
  refused "unknown option '--devise'; did you mean '--device'" "$MPSWEEP" doctor --devise emulated
}

@test "a device that is not there" {
  # With a driver, what is wrong is the number; without one, that there is no driver.
  expect 1 "$MPSWEEP" sweep --device 977 -l threads:1
  says "no device 977: there|no NVIDIA driver"
  refused "no device 'emulatd': it takes .*; did you mean 'emulated'\?" "$MPSWEEP" sweep -d emulatd
  expect 1 "$MPSWEEP" sweep --device nonsense -l threads:1
  says "no device 'nonsense': it takes a number, a UUID|no NVIDIA driver"
}

@test "where there is no driver, the default is the emulated GPU, with a notice" {
  ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' || skip "there is a driver here"
  expect 0 "$MPSWEEP" sweep "${TINY[@]:2}" -l threads:1
  grep -q 'no NVIDIA driver here: using the EMULATED GPU' err
  grep -q '^EMULATED GPU' out
  expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l threads:1
  absent 'no NVIDIA driver' err
}

@test "what follows -- is not an option" {
  refused "cannot run '--list': No such file" "$MPSWEEP" sweep -- --list
}

@test "a dry run prints what would be done, and measures nothing" {
  expect 0 "$MPSWEEP" sweep "${SMALL[@]}" -l threads:1-3 --dry-run -o none.jsonl
  grep -q '^GPU: .*emulated: no real numbers' out
  grep -qE '^plan: +3 points, about ' out
  grep -qE '^machine: +[0-9]+ package' out
  grep -qE '^binding: ' out
  [ "$(grep -c 'threads 1×' out)" -eq 3 ]
  [ ! -e none.jsonl ]
}

@test "a workload that no point has is noted, unless the command line names others" {
  printf '[workload seen]\nstep = kernel duration=1us\n[workload unseen]\nstep = kernel duration=1us\n[s]\nlayout = threads:2\nworkload = seen\n' >two.job
  expect 0 "$MPSWEEP" sweep --device emulated -n two.job
  [ "$(cat err)" = "mpsweep: no point has [workload unseen]: 'workload = unseen' in [global] or a section of points uses it" ]
  expect 0 "$MPSWEEP" sweep --device emulated -n two.job --workload unseen
  [ ! -s err ]
}

@test "an option that makes no difference to any point is noted, with what it is for" {
  expect 0 "$MPSWEEP" sweep --device emulated -n -l processes:2,threads:2 --delay-cycles 5,6 \
    --active-thread-percentage 30,60 --priority default --arrival poisson
  [ "$(cat err)" = "\
mpsweep: --active-thread-percentage makes no difference here: it is for layouts over MPS
mpsweep: --delay-cycles makes no difference here: it is for --workload delay
mpsweep: --arrival makes no difference here: it is for --rate" ]
  expect 0 "$MPSWEEP" sweep --device emulated -n -l processes:2,processes+mps:2 --rate 5,closed --seed 0 \
    --active-thread-percentage 30,60 --arrival poisson
  [ ! -s err ]
}

@test "options of programs, shards and daemons are noted where there are none" {
  local list=(--device emulated -l threads:2 --list)
  expect 0 "$MPSWEEP" sweep "${list[@]}" --port 3000 --program-log d
  [ "$(cat err)" = "\
mpsweep: --port makes no difference here: it is for a program behind '--'
mpsweep: --program-log makes no difference here: it is for a program behind '--'" ]
  [ ! -e d ]
  expect 0 "$MPSWEEP" sweep "${list[@]}" --reference 3
  says "^mpsweep: --reference makes no difference here: it is for --shard$"
  # A user who names a daemon believes that it is measured.
  expect 0 "$MPSWEEP" sweep "${list[@]}" --mps external
  says "^mpsweep: --mps makes no difference here: it is for layouts over MPS$"
  printf '[global]\nmps = external\nreference = 3\n[s]\nlayout = threads:2\n' >m.job
  expect 0 "$MPSWEEP" sweep m.job --device emulated --list
  says "^mpsweep: 'm.job' line 2: mps makes no difference here: it is for layouts over MPS$"
  printf '[t]\nlayout = processes+mps:2\n' >>m.job
  expect 0 "$MPSWEEP" sweep m.job --device emulated --list
  [ ! -s err ]
  expect 0 "$MPSWEEP" sweep "${list[@]}" --mps private --shard 0/2 --reference 3 -o {shard}.jsonl
  [ ! -s err ]
  expect 0 "$MPSWEEP" sweep "${list[@]}" --port 3000 --program-log d -- true
  [ ! -s err ]
}

@test "a key of a job file that makes no difference to any point is noted, with its line" {
  printf '[workload a]\nstep = kernel duration=1us\n[global]\narrival = poisson\nworkload = a\n' >k.job
  printf '[s]\nlayout = threads:2\nkernels = 7\nblocks = 5\nsync = none\n' >>k.job
  expect 0 "$MPSWEEP" sweep --device emulated -n k.job
  [ "$(cat err)" = "\
mpsweep: 'k.job' line 8: kernels makes no difference here: it is for --workload builtin or delay
mpsweep: 'k.job' line 4: arrival makes no difference here: it is for --rate" ]
  expect 0 "$MPSWEEP" sweep --device emulated -n k.job -q
  [ ! -s err ]
  # A key is for some section's points, or for those that this command line leaves out.
  printf '[t]\nworkload = builtin\nrate = 100\n' >>k.job
  expect 0 "$MPSWEEP" sweep --device emulated -n k.job
  [ ! -s err ]
  expect 0 "$MPSWEEP" sweep --device emulated -n k.job -w a --rate closed
  [ ! -s err ]
  printf '[s]\nlayout = threads:2\nkernels = 7\n' >p.job
  expect 0 "$MPSWEEP" sweep --device emulated -n p.job -- true
  [ "$(cat err)" = "mpsweep: 'p.job' line 3: kernels makes no difference here: it is for --workload builtin or delay" ]
}

@test "a window of a bare number without a layout is noted as that, not as threads" {
  local notice="mpsweep: windows of 8 s ('8s' leaves out this notice); for 8 threads: -l threads:8"
  expect 0 "$MPSWEEP" sweep --device emulated -n -t 8
  [ "$(cat err)" = "$notice" ]
  for options in '-t 8s' '-t 1' '-t 8 -l threads:8' '-t 8 -q'; do
    # shellcheck disable=SC2086 # several words
    expect 0 "$MPSWEEP" sweep --device emulated -n $options
    [ ! -s err ]
  done
}

@test "a stack that is too small is an error, not a crash" {
  (
    ulimit -s 128
    refused "the stack is limited to 128 KiB: mpsweep needs 1024 \('ulimit -s 1024'\)" \
      "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 -q
  )
  (
    ulimit -s 1024
    expect 0 "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 -q
  )
}

# Whatever few descriptors allow: a point is measured, or the reason is the number of files.
@test "too few descriptors are reported as that" {
  local files
  for files in 10 14 18 22 30 40; do
    (
      ulimit -n $files
      timeout $PATIENCE "$MPSWEEP" sweep "${TINY[@]}" -l processes+mps:2 -q -o f$files.jsonl >out 2>err
    ) || true
    [ ! -s err ] || says 'Too many open files|pen files'
    [ -s err ] || points 'all(.status == "ok" or .status == "unconverged" or
      (.error | test("open files")))' f$files.jsonl
  done
}
