#!/usr/bin/env bats
# What the documents name is there: tests, pages, and the options of commands.

load helper

@test "the tests that docs/mps.md names beside its promises are there" {
  local tests=$MPSWEEP_SOURCE_DIR/tests name count=0
  # In one line; bold text ends the part of a promise.
  tr -s '\n ' '  ' <"$MPSWEEP_SOURCE_DIR/docs/mps.md" | sed 's/\*\*/\n/g' | grep -o 'Held by:.*' >held
  [ "$(wc -l <held)" -eq 6 ]
  while read -r name; do
    count=$((count + 1))
    grep -qF -e "$name" <(grep -h '^@test' "$tests"/cli/*.bats "$tests"/gpu/*.bats) ||
      fail "no test is named: $name"
  done < <(grep -oE '\*[^*]+\*' held | tr -d '*')
  [ $count -gt 10 ]
  for name in $(grep -oE '`[a-z]+/[a-z_]+\.bats`' held | tr -d '`'); do
    [ -e "$tests/$name" ] || fail "there is no $name"
  done
}

# links FILE...: what they link to is there.
links() {
  local file target count=0
  for file; do
    while read -r target; do
      count=$((count + 1))
      [ -e "${file%/*}/$target" ] || fail "$file: there is no $target" || return 1
    done < <(grep -oE '\]\([^)# ]+' "$file" | cut -c 3- | grep -v '^https\?:')
  done
  [ $count -gt 100 ]
}

documents() { ls "$MPSWEEP_SOURCE_DIR"/{README,CHANGELOG,CONTRIBUTING}.md "$MPSWEEP_SOURCE_DIR"/docs/{,results/}*.md; }

@test "what the documents link to is there" {
  local files
  mapfile -t files < <(documents)
  links "${files[@]}"
}

@test "what the installed documents link to is there, and the program finds its examples beside them" {
  [ -e "$MPSWEEP_BUILD_DIR/Makefile" ] || skip "this build cannot be installed"
  local files examples
  expect 0 env -u MAKEFLAGS -u MFLAGS make -C "$MPSWEEP_BUILD_DIR" install-data DESTDIR="$PWD/root"
  mapfile -t files < <(find root -path '*/doc/*' -name '*.md')
  [ ${#files[@]} -eq "$(documents | wc -l)" ]
  links "${files[@]}"
  examples=$(find root -path '*/mpsweep/examples' -type d)
  [ "$(find root -type l -name examples -exec realpath {} +)" = "$(realpath "$examples")" ]
  expect 0 env MPSWEEP_DATA_DIR="${examples%/*}" "$MPSWEEP" sweep emulated --list
}

@test "every figure has a text for readers who do not see it" {
  local files
  mapfile -t files < <(documents)
  [ "$(cat "${files[@]}" | grep -c '^!\[')" -gt 20 ]
  absent '!\[ *\]' "${files[@]}"
}

@test "the index names every page, and README stays short" {
  local page docs=$MPSWEEP_SOURCE_DIR/docs
  for page in "$docs"/*.md; do
    [ "${page##*/}" = index.md ] || grep -qF "](${page##*/})" "$docs/index.md" || fail "not in the index: $page"
  done
  [ "$(wc -c <"$MPSWEEP_SOURCE_DIR/README.md")" -le 7168 ]
}

# Lines of examples, and commands amid a text: up to a comment, and to what another program gets.
@test "the commands of the documents have the options that they show" {
  local command option count=0
  local -a words
  declare -A help
  while read -r -a words; do
    command=${words[1]}
    [[ $command != @(mps|slurm) ]] || command+=" ${words[2]}"
    if [ -z "${help[$command]-}" ]; then
      # shellcheck disable=SC2086 # a command of two words
      help[$command]=$("$MPSWEEP" $command --help-all) || fail "no command: ${words[*]}"
      [ "$command" != 'slurm submit' ] || help[$command]+=$'\n'$("$MPSWEEP" sweep --help-all)
    fi
    for option in "${words[@]:2}"; do
      [[ $option =~ ^--[a-z][a-z0-9-]* && $option != --help* ]] || continue
      option=${BASH_REMATCH[0]}
      count=$((count + 1))
      [[ ${help[$command]} =~ $'\n  '(-., |    )"$option"[[:space:]] ]] ||
        fail "no $option: ${words[*]}"
    done
  done < <(documents | xargs grep -hoE '(^|`)mpsweep [a-z][^`#|]*' | sed 's/^`//; s/ -- .*//' |
    grep -e ' --')
  [ $count -gt 70 ]
}
