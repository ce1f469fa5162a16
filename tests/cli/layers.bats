#!/usr/bin/env bats
# What 'make lint' rejects of the layers, words and references: a small tree, and one violation of each kind.

load helper

# Eight rooms, each of which includes the next: no room may have more than 15% of the code.
ROOMS=(one two three four five six seven eight)

plant_tree() {
  command -v python3 >/dev/null || skip "no python3 here"
  python_itself
  rm -rf tree
  mkdir -p tree/docs
  local i room next
  for i in "${!ROOMS[@]}"; do
    room=${ROOMS[i]} next=${ROOMS[i + 1]:-}
    mkdir "tree/$room"
    echo "int $room(void);" >"tree/$room/$room.h"
    {
      echo "#include \"$room/$room.h\""
      echo "${next:+#include \"$next/$next.h\"}"
      printf 'int x;\n%.0s' {1..40}
    } >"tree/$room/$room.c"
    echo "SOURCES = $room/$room.c $room/$room.h" >"tree/$room/local.mk"
    printf '# The room %s.\n%s: %s\n' "$room" "$room" "$next" >>tree/docs/rooms.txt
  done
}

# rejected PATTERN CHECK: the extended regular expression matches a finding.
rejected() {
  expect 1 "$MPSWEEP_SOURCE_DIR/tests/$2" tree || return 1
  grep -qE -e "$1" out || fail "a line should match: $1" "they are:" "$(cat out)"
}

@test "a tree without violations passes" {
  plant_tree
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/check-layers" tree
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/check-words" tree
  [ ! -s out ]
}

@test "an include that the table lacks is rejected, upward or downward" {
  plant_tree
  echo '#include "one/one.h"' >>tree/three/three.c
  rejected "^three/three\.c:43: 'three' may not include 'one/one\.h': docs/rooms\.txt lacks 'one'" \
    check-layers
  plant_tree
  echo '#include "three/three.h"' >>tree/one/one.c
  rejected "^one/one\.c:43: 'one' may not include 'three/three\.h'" check-layers
}

@test "the internal header of another room is rejected, even where the table permits the room" {
  plant_tree
  echo 'int internal;' >tree/two/internal.h
  sed -i 's|$| two/internal.h|' tree/two/local.mk
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/check-layers" tree
  echo '#include "two/internal.h"' >>tree/two/two.c
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/check-layers" tree
  echo '#include "two/internal.h"' >>tree/one/one.c
  rejected "^one/one\.c:43: 'two/internal\.h' belongs to 'two' alone" check-layers
}

@test "a permission that no file uses is rejected" {
  plant_tree
  sed -i 's/^one: two/one: {two,three}/' tree/docs/rooms.txt
  rejected "^docs/rooms\.txt:2: no file of 'one' includes 'three': remove it" check-layers
}

@test "a cycle of rooms is rejected, even where the table permits it" {
  plant_tree
  echo '#include "one/one.h"' >>tree/three/three.c
  sed -i 's/^three: four/three: four one/' tree/docs/rooms.txt
  rejected "^docs/rooms\.txt:6: 'three' may include only rooms below it, which 'one' is not" \
    check-layers
}

@test "a cycle of files is rejected, and a source and its header count as one" {
  plant_tree
  echo 'int y;' >tree/one/other.h
  printf '#include "%s"\n' one/other.h one/one.h >tree/one/other.c
  echo '#include "one/other.h"' >>tree/one/one.h
  sed -i '1s/$/ one\/other.c one\/other.h/' tree/one/local.mk
  rejected "^one/other\.c:2: closes the cycle of includes one/one -> one/other -> one/one$" \
    check-layers
}

@test "a room that is too large is rejected, and so is a file that its local.mk lacks" {
  plant_tree
  printf 'int y;\n%.0s' {1..80} >>tree/one/one.c
  rejected '^one:1: it has 29% of the code: the maximum is 15%' check-layers
  plant_tree
  local i
  for ((i = 0; i < 26; i++)); do
    : >"tree/one/$i.h"
    sed -i "1s/\$/ one\/$i.h/" tree/one/local.mk
  done
  rejected '^one:1: it has 29 files: the maximum is 28' check-layers
  plant_tree
  : >tree/one/forgotten.h
  rejected "^one/local\.mk:1: does not list 'one/forgotten\.h'" check-layers
}

@test "a room without a line or a charter is rejected" {
  plant_tree
  mkdir tree/nine
  : >tree/nine/nine.c
  echo 'SOURCES = nine/nine.c' >tree/nine/local.mk
  rejected "^nine/nine\.c:1: 'nine' is not a room of docs/rooms\.txt: add its line" check-layers
  plant_tree
  sed -i '1d' tree/docs/rooms.txt
  rejected "^docs/rooms\.txt:1: 'one' needs one line, below its charter$" check-layers
}

@test "a banned word is rejected in comments, texts, names of tests and Markdown" {
  plant_tree
  banned() {
    plant_tree
    printf '%b' "$2" >"tree/one/$1"
    rejected "^one/$1:$3: '$4': " check-words
  }
  banned x.c '/* It\n * tells us. */\n' 2 tells
  banned x.c 'char *x = "a\\nsaid "\n    "b";\n' 1 said
  banned x.c 'char *x = "it is "\n    "no number";\n' 1 'is no'
  banned x.h '// So\n// many of them.\n' 1 'So many'
  banned x.bats '@test "nobody is left" {\n' 1 nobody
  banned x.sh '#!/bin/sh\ntrue \043 foretold\n' 2 foretold
  banned x.md 'One\nword is none of these.\n' 2 'is none of'
  banned x.5 '.B x\nsays it.\n' 2 says
}

@test "names, code and what the English needs are not rejected" {
  plant_tree
  cat >tree/one/x.c <<'END'
#include "probes/told.h"
/* There is no case of fake_say, say() or probes/told.h; it is no longer here. */
int tell, say;
END
  # shellcheck disable=SC2016 # Markdown's code
  printf '%s\n' '`says` and [it](told.md)' '```' 'told' '```' >tree/one/x.md
  printf 'says x # comment\n' >tree/one/x.bash
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/check-words" tree
}

@test "a long line of Markdown is rejected, but not a table, a link's target or code" {
  plant_tree
  local long
  long=$(printf 'word %.0s' {1..21})
  printf '%s\n' "$long" >tree/one/x.md
  rejected '^one/x\.md:1: 104 columns: wrap it at 100' check-words
  printf '%s\n' "| $long |" "[link](${long// /})" '```' "$long" '```' >tree/one/x.md
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/check-words" tree
}

@test "a reference to what is not there is rejected" {
  plant_tree
  mkdir tree/tests
  printf 'int one(void)\n{\n    return two();\n}\n' >>tree/one/one.c
  printf '/* gone() has a comment and a call. */\nint x = sizeof gone();\n' >>tree/one/one.c
  echo '/* Invariant A1. */' >tree/tests/test.c
  echo 'Calls `one()` of `one/one.c`.' >tree/CONTRIBUTING.md
  echo '- **A1.** It holds.' >tree/docs/ARCHITECTURE.md
  echo 'Reliable.' >tree/docs/reliability.md
  mkdir tree/docs/results
  touch tree/docs/results/one.jsonl
  echo 'EXTRA_DIST += docs/results/one.jsonl' >tree/docs/local.mk
  expect 0 "$MPSWEEP_SOURCE_DIR/tests/check-references" tree
  echo 'Calls `gone()` of `one/gone.c`.' >tree/CONTRIBUTING.md
  echo '- **A2.** It holds, too.' >>tree/docs/ARCHITECTURE.md
  rejected "^CONTRIBUTING\.md:1: no C file defines 'gone\(\)'" check-references
  rejected "^CONTRIBUTING\.md:1: there is no file 'one/gone\.c'" check-references
  touch tree/docs/results/two.jsonl
  rejected "^docs/local\.mk: lacks 'docs/results/two\.jsonl'" check-references
  rejected "^docs/ARCHITECTURE\.md:2: no test cites 'invariant A2'" check-references
}
