#!/usr/bin/env bats
# Completion of command lines: the candidates of the program, and what shells make of them.

load helper

completions=$MPSWEEP_SOURCE_DIR/orchestrator/completions

# offers PATTERN WORD...: among the candidates for the last word, a whole line with its help left out.
offers() {
  local pattern=$1
  shift
  expect 0 "$MPSWEEP" completion -- "$@"
  [ ! -s err ]
  cut -f1 out | grep -qxE -- "$pattern" || fail "no '$pattern' for '$*': $(cat out)"
}

# offers_exactly WORDS WORD...
offers_exactly() {
  local wanted=$1
  shift
  expect 0 "$MPSWEEP" completion -- "$@"
  [ "$(cut -f1 out | tr '\n' ' ')" = "$wanted " ] || fail "for '$*': $(cat out)"
}

@test "commands: each of --help, and those of a family" {
  local word
  expect 0 "$MPSWEEP" --help
  for word in $(sed -n 's/^  mpsweep \([a-z]*\) .*/\1/p' out | sort -u); do
    offers "$word" ""
  done
  offers_exactly "sweep" sw
  offers_exactly "start stop status" mps st
  offers_exactly "submit status collect cancel" slurm ""
  offers_exactly "bash zsh fish" completion ""
  offers sweep help s
}

@test "options: all that the help of a command has, and no other" {
  local command option
  for command in sweep tune plot explain compare "mps start" "slurm submit" emit; do
    # shellcheck disable=SC2086 # two words
    expect 0 "$MPSWEEP" $command --help-all
    # shellcheck disable=SC2086
    "$MPSWEEP" completion -- $command -- 2>err | cut -f1 >offered
    for option in $(sed -nE 's/^ +(-[a-zA-Z], )?(--[a-z0-9-]+)( .*|$)/\2/p' out | sort -u); do
      grep -qxF -- "$option" offered || fail "$command lacks $option"
    done
    grep -qxF -- --help offered
  done
  expect 0 "$MPSWEEP" completion -- compare --lay
  [ ! -s out ]
}

@test "values: choices, items of a list, layouts, words of a form" {
  offers_exactly "json" sweep --format j
  offers_exactly "json" sweep -f j
  offers_exactly "json" sweep --format=j
  offers_exactly "pinned pageable" sweep --memory p
  offers_exactly "pinned,pageable" sweep --memory pinned,pag
  offers_exactly "threads: threads+mps:" tune -l thr
  offers_exactly "processes:1,hybrid: processes:1,hybrid-timesliced:" sweep -l processes:1,hy
  offers_exactly "all emulated" sweep --device ""
  offers_exactly "kubernetes" emit --target k
  # A former word of an option; one that takes no value.
  offers_exactly "kubernetes" emit a.jsonl --format k
  offers ":files" sweep --quiet ""
  offers "copy-block" probe c
  grep -q '	does ' out
}

@test "files, directories and commands are the shell's" {
  local words
  for words in "sweep" "plot" "sweep --output" "compare a.jsonl" "sweep -- python3" "mps run ls"; do
    # shellcheck disable=SC2086 # several words
    offers_exactly ":files" $words ""
  done
  offers_exactly ":directories" slurm status ""
  offers_exactly ":directories" mps stop --dir ""
  offers_exactly ":commands" sweep --rounds 3 -- ""
  offers_exactly ":commands" mps run ""
  # Where nothing else may stand, options may.
  offers "--figure" plot a.jsonl ""
}

@test "no words, words that are wrong, and other shells" {
  offers sweep
  for words in "frobnicate" "sweep --frobnicate" "mps frobnicate" "sweep --rounds"; do
    # shellcheck disable=SC2086 # several words
    expect 0 "$MPSWEEP" completion -- $words x
    [ ! -s err ]
  done
  refused "completion needs one of bash\|zsh\|fish" "$MPSWEEP" completion
  expect 0 "$MPSWEEP" completion --help
  grep -q 'mpsweep completion SHELL' out
  refused "completion needs one of bash\|zsh\|fish" "$MPSWEEP" completion tcsh
}

# completed LINE: what bash has after a tab at the end of the line, one a line.
completed() {
  bash -c 'source /dev/stdin <<<"$("$1" completion bash)"
    COMP_LINE="mpsweep $2" COMP_POINT=$((${#2} + 8)); _mpsweep "$1"; printf "%s\n" "${COMPREPLY[@]}"' \
    - "$MPSWEEP" "$1" | sort
}

@test "bash: commands, options, values, files" {
  touch results.jsonl "results of today.jsonl"
  mkdir resources
  [ "$(completed sw)" = sweep ]
  [ "$(completed "mps sta")" = "$(printf 'start\nstatus')" ]
  [ "$(completed "sweep --precis")" = --precision ]
  [ "$(completed "sweep --format j")" = json ]
  # Behind what ends a word in bash.
  [ "$(completed "sweep --format=j")" = json ]
  [ "$(completed "sweep --layout=threads:1,hybrid-")" = 1,hybrid-timesliced: ]
  [ "$(completed "plot results")" = "$(printf 'results of today.jsonl\nresults.jsonl')" ]
  [ "$(completed 'plot results\ ')" = "results of today.jsonl" ]
  [ "$(completed "sweep --output=results.")" = results.jsonl ]
  [ "$(completed "slurm status res")" = resources ]
  [ "$(completed "sweep -- bas")" = "$(bash -c 'compgen -c bas' | sort)" ]
}

@test "fish: commands, options, values, files" {
  command -v fish >/dev/null || skip "there is no fish"
  fish_completed() {
    PATH=$(dirname "$MPSWEEP"):$PATH HOME=$WORK fish --no-config -c \
      'mpsweep completion fish | source; complete -C "mpsweep $argv"' "$1" | cut -f1 | sort
  }
  touch results.jsonl
  [ "$(fish_completed sw)" = sweep ]
  [ "$(fish_completed "sweep --precis")" = --precision ]
  [ "$(fish_completed "sweep --format=j")" = --format=json ]
  [ "$(fish_completed "sweep --memory pinned,pag")" = pinned,pageable ]
  [ "$(fish_completed "plot res")" = results.jsonl ]
  [ "$(fish_completed "sweep --output=res")" = --output=results.jsonl ]
}

@test "zsh takes the script, and the programs have the files that are installed" {
  local shell
  for shell in bash zsh fish; do
    expect 0 "$MPSWEEP" completion $shell
    cmp out "$completions"/*mpsweep"$([ $shell = zsh ] || echo ".$shell")"
  done
  command -v zsh >/dev/null || skip "there is no zsh"
  zsh -n "$completions/_mpsweep"
}
