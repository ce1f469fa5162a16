# shellcheck shell=bash
# What the tests of mpsweep probe share. PROBE is the name of the probe that a test is about.

# What takes a test no longer than it must.
QUICK=(--device emulated -q --rounds 3)

# verdict FILE [PROBE]
verdict() { jq -r "select(.type == \"probe\" and .probe == \"${2:-$PROBE}\") | .verdict" "$1"; }

# of_type TYPE FILTER FILE: of the only record of a type.
of_type() { jq -s -e "map(select(.type == \"$1\")) | length == 1 and (.[0] | $2)" "$3" >/dev/null; }

# holds FILTER FILE: of the only probe's record.
holds() {
  of_type probe "$1" "$2" ||
    fail "does not hold: $1" "$(jq 'select(.type == "probe")' "$2")"
}

# says_of VERDICT OPTIONS...: what the probe $PROBE finds.
says_of() {
  local wanted=$1
  shift
  rm -f r.jsonl
  expect 0 "$MPSWEEP" probe "$PROBE" "${QUICK[@]}" -o r.jsonl "$@" || return 1
  [ "$(verdict r.jsonl)" = "$wanted" ] ||
    fail "$(verdict r.jsonl) instead of $wanted" "$(jq 'select(.type == "probe")' r.jsonl)"
}

# off VERDICT OPTIONS...: the same of a machine without the effect. On a busy one the interval of a
# few short rounds may be too wide for a verdict: then there is another run, of three.
off() {
  local trial
  for trial in 1 2 3; do
    MPSWEEP_EMUL_EFFECTS=-$PROBE says_of "$@" && return
    [ -s r.jsonl ] && [ "$(verdict r.jsonl)" = inconclusive ] || return 1
    echo "# run $trial was inconclusive"
  done
  return 1
}
