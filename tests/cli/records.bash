# What docs/results-format.md has of the fields of records: load after helper.

# Complaints about a record, given the lines of record-types.awk.
check_types='
def is_a($wanted):
  if $wanted == "integer" then type == "number" and . == floor
  elif $wanted | test(" or ") then . as $value | any($wanted | split(" or ")[]; . as $one
    | $value | is_a($one))
  else type == $wanted end;
def complaints($fields):
  . as $record
  | ($record.status == "ok" or $record.status == "unconverged") as $measured
  | ($fields[]
      | . as [$name, $optional, $type]
      | if $record | has($name)
        then $record[$name] | select(is_a($type) | not) | "\($name) is \(.), not \($type)"
        elif $optional == "yes" or ($optional == "measured" and ($measured | not)) then empty
        else "\($name) is missing" end),
    ($record | keys[] | select(. as $key | any($fields[]; .[0] == $key) | not)
      | "\(.) is in no table");
[$types | split("\n")[] | select(length > 0) | split(" ")
  | [.[0], .[1], .[2], (.[3:] | join(" "))]] as $rows
| ([$rows[] | select(.[0] == "header") | .[1:]] + [["resumed", "yes", "boolean"]]) as $header
| ([$rows[] | select(.[0] == "point") | .[1:]]) as $point
| select(.type == "header") | complaints($header)
'

record_complaints() {
  local types
  types=$(awk -f "$MPSWEEP_SOURCE_DIR/tests/cli/record-types.awk" \
    "$MPSWEEP_SOURCE_DIR/docs/results-format.md")
  [ "$(grep -c '^header ' <<<"$types")" -gt 12 ] && [ "$(grep -c '^point ' <<<"$types")" -gt 30 ] ||
    fail "the tables of docs/results-format.md cannot be read:" "$types" || return 1
  jq -r --arg types "$types" "$check_types" "$1"
  jq -r --arg types "$types" \
    "${check_types%%| select(.type == \"header\")*} | select(.type == \"point\") | complaints(\$point)" "$1"
}
