#!/usr/bin/env bats
# --publish: results get their name when they are whole, also on file systems that lie.

load helper

# lies HOW: a sweep whose results must be published on a file system that lies.
lies() {
  rm -f x.part x.jsonl
  expect "$2" env LD_PRELOAD="$MPSWEEP_BUILD_DIR/tests/fakes/lying_rename.so" \
    ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
    MPSWEEP_LIE="$1" "$MPSWEEP" sweep "${TINY[@]}" -l threads:1-2 --quiet -o x.part --publish x.jsonl
}

@test "a file system that lies about a rename is found out, and what it did is what counts" {
  lies nothing 1
  says "'x.part' cannot be renamed to 'x.jsonl': the file system reported success, but did nothing; the file is under its old name"
  assert_complete x.part 2 0
  lies lost 1
  says "cannot be renamed to 'x.jsonl': .*the file is under neither name"
  lies cut 1
  says "'x.jsonl' is not what 'x.part' was renamed to be \([0-9]+ bytes of [0-9]+\)"
  lies both 1
  says "'x.part' is still there after it was renamed to 'x.jsonl'"
  # An answer that was lost: the second request finds nothing, and the first was carried out.
  lies twice 0
  assert_complete x.jsonl 2 0
  [ ! -e x.part ]
}

@test "--publish: a file that took the place of the run's own is not published" {
  start "$MPSWEEP" sweep "${TINY_ROUNDS[@]}" -l threads:1-3 --rounds 3 --quiet -o x.part --publish x.jsonl
  await $PATIENCE test -s x.part
  mv x.part x.aside
  echo another >x.part
  finish
  [ $STATUS -eq 1 ]
  grep -q "'x.part' is no longer the file that this run wrote: .* it is not published" err
  [ ! -e x.jsonl ]
  [ "$(cat x.part)" = another ]
  points 'length == 3' x.aside
}

@test "--publish: not over what is there, not without a file, not while points are missing" {
  refused 'publish needs --output FILE' "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 --publish x.jsonl
  echo precious >x.jsonl
  refused "'x.jsonl', the name to publish, exists" \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -o x.part --publish x.jsonl
  [ ! -e x.part ]
  [ "$(cat x.jsonl)" = precious ]
  # Found out before an hour's measurement, not after it.
  refused "cannot write 'none/x.jsonl': No such file or directory" \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -o x.part --publish none/x.jsonl
  refused "'./z.jsonl' is the name that the file has until it is published: give another name" \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -o z.jsonl --publish ./z.jsonl
  refused "'/dev/null' cannot be renamed to 'y.jsonl': not a regular file" \
    "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -o /dev/null --publish y.jsonl
  if [ -w /dev/shm ] && [ "$(stat -c %d /dev/shm)" != "$(stat -c %d .)" ]; then
    refused "'x.part' cannot be renamed to '/dev/shm/.*': they are on different file systems" \
      "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 -o x.part --publish "/dev/shm/mpsweep.$$.jsonl"
  fi
  [ ! -e x.part ]
  # A point that failed has its record, and the file is as whole as it will be.
  expect 2 env MPSWEEP_EMULATED_FAULT='cuLaunchKernel#3=error:719' "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 --quiet \
    -o y.part --publish y.jsonl
  assert_complete y.jsonl 1 2
}
