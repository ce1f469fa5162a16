#!/usr/bin/env bats
# 'mpsweep mps' with wrong words, in wrong places and on what is not its own: one clear line, and
# everything stays as it was.

load helper
load mps

@test "wrong options: one clear line each" {
  local pattern failed=0 count=0
  local -a words
  while IFS='|' read -r pattern line; do
    read -ra words <<<"$line"
    count=$((count + 1))
    pattern=${pattern%"${pattern##*[! ]}"}
    refused "$pattern" "$MPSWEEP" mps "${words[@]}" || failed=1
  done <<'TABLE'
unknown command 'mps bogus': it is one of mps start, mps stop, mps status, mps run, mps env | bogus
unknown command 'mps Start'                            | Start
unknown command 'mps --force'                          | --force
unknown option '--force'                               | start --force
unknown option '--bogus'                               | start --bogus
unknown option '--quiet'                               | start --quiet
unknown option '--priority'                            | stop --priority 1
unknown option '--gpu'                                 | stop --gpu emulated
unknown option '--format'                              | env --format json
unknown option '--force'                               | status --force
unexpected argument 'extra'                            | start extra
unexpected argument 'extra'                            | stop extra
unexpected argument 'extra'                            | env extra
unexpected argument 'extra'                            | status extra
'xml' is not a value of format                         | status --format xml
--dir needs a value: DIR                               | start --dir
--device is given twice                                | start --gpu emulated -g emulated
--device is given twice                                | start --device emulated -d emulated
--gpu needs a value: UUID                              | start --gpu
--dir is given twice                                   | stop --dir a --dir b
--priority is given twice                              | start --priority 1 --priority 0
--memory-limit is given twice                          | start --memory-limit 0=1G --memory-limit 1=1G
'2' is not a value of priority                         | start --gpu emulated --priority 2
'-1' is not a value of priority                        | start --gpu emulated --priority -1
'low' is not a value of priority                       | start --gpu emulated --priority low
'0' is not a value of active-thread-percentage: .* 0.1 to 100 | start --gpu emulated --active-thread-percentage 0
'101' is not a value of active-thread-percentage       | start --gpu emulated --active-thread-percentage 101
'50%%' is not a value of active-thread-percentage      | start --gpu emulated --active-thread-percentage 50%%
'nan' is not a value of active-thread-percentage       | start --gpu emulated --active-thread-percentage nan
'5G' names no GPU: it takes GPU=SIZE, as 0=4G          | start --gpu emulated --memory-limit 5G
'' is not a memory limit                                  | start --gpu emulated --memory-limit 0=
'2.5G' is not a memory limit: it takes whole MiB          | start --gpu emulated --memory-limit 0=2.5G
'-1G' is not a memory limit                               | start --gpu emulated --memory-limit 0=-1G
'0' is not a memory limit                                 | start --gpu emulated --memory-limit 0=0
'15M' is not a memory limit: .*at least 16M               | start --gpu emulated --memory-limit 0=15M
'17000K' is not a memory limit                            | start --gpu emulated --memory-limit 0=17000K
'4GB' is not a memory limit                               | start --gpu emulated --memory-limit 0=4GB
'99999999T' is not a memory limit                         | start --gpu emulated --memory-limit 0=99999999T
'99999999999999999999' is not a memory limit              | start --gpu emulated --memory-limit 0=99999999999999999999
'' is not a GPU                                           | start --gpu emulated --memory-limit =4G
'all' is not a GPU                                        | start --gpu emulated --memory-limit all=4G
'' names no GPU                                        | start --gpu emulated --memory-limit 0=4G,
names GPU 0 twice                                      | start --gpu emulated --memory-limit 0=4G,0=2G
names more than 16 GPUs                                | start --gpu emulated --memory-limit 0=1G,1=1G,2=1G,3=1G,4=1G,5=1G,6=1G,7=1G,8=1G,9=1G,10=1G,11=1G,12=1G,13=1G,14=1G,15=1G,16=1G
clients of static partitions have no active thread percentage | start --gpu emulated --static 0=4 --active-thread-percentage 50
'4' names no GPU: static takes GPU=CHUNKS              | start --gpu emulated --static 4
'0' is not a number of chunks: static takes 1 to 999   | start --gpu emulated --static 0=0
'4x' is not a number of chunks                         | start --gpu emulated --static 0=2,0=4x
static partitions take the MPS programs of CUDA 13.1 or later: '.*' is of CUDA 13.0 | start --gpu emulated --static 0=4
unknown option '--static'                              | stop --static 0=4
the MPS daemon has no GPU '9': it has 1, numbered from 0    | start --gpu emulated --memory-limit 9=4G
no MPS daemon of mpsweep's was found                   | stop
no MPS daemon of mpsweep's was found                   | stop --force
no MPS daemon of mpsweep's was found                   | status
TABLE
  [ $count -gt 40 ]
  [ $failed -eq 0 ]
  no_environment "no MPS daemon of mpsweep's was found"
  refused 'dir is empty' "$MPSWEEP" mps start --dir ''
}

@test "wrong options of run: one clear line each, status 125, and no command" {
  local pattern line failed=0
  local -a words
  while IFS='|' read -r pattern line; do
    read -ra words <<<"$line"
    pattern=${pattern%"${pattern##*[! ]}"}
    { expect 125 "$MPSWEEP" mps run "${words[@]}" && says "$pattern" && [ ! -s out ]; } ||
      { echo "from: mps run $line" >&2; failed=1; }
  done <<'TABLE'
mps run needs a command                    | --gpu emulated
mps run needs a command                    | --gpu emulated --
unknown option '--bogus'                   | --bogus -- touch ran
unknown option '--force'                   | --force -- touch ran
unknown option '--format'                  | --format json -- touch ran
'7' is not a value of priority             | --gpu emulated --priority 7 -- touch ran
'x' names no GPU                           | --gpu emulated --memory-limit x -- touch ran
cannot use '/no/such/dir': /no/such: No such file or directory | --gpu emulated --dir /no/such/dir -- touch ran
TABLE
  [ $failed -eq 0 ] && [ ! -e ran ]
}

@test "without a command: the help" {
  expect 1 "$MPSWEEP" mps
  grep -q 'mpsweep mps start' out err
  expect 0 "$MPSWEEP" mps --help
  local command
  for command in start stop status run env; do
    grep -q "^  mpsweep mps $command" out
  done
}

@test "directories that will not do: why, and they stay as they are" {
  local pattern name failed=0 before
  mkdir -m 755 open
  mkdir -m 700 full parent target lost
  touch full/something
  mkdir -m 777 everybodys
  chmod 777 everybodys
  ln -s target link
  ln -s nowhere dangling
  touch file
  # What has a name of ours but is not our work is not touched either.
  mkdir lost/mps
  touch lost/mps/precious
  chmod 755 lost
  before=$(find . ! -name out ! -name err -printf '%p %m %i\n' | sort)
  local long
  long=$(printf 'x%.0s' $(seq $((71 - ${#WORK}))))
  while IFS='|' read -r name pattern; do
    refused "$pattern" "${MPS_START[@]}" --dir "$name" || failed=1
  done <<TABLE
missing/one|cannot use 'missing/one': .*missing: No such file or directory
open|'.*/open' exists, and it is not yours alone: chmod 700 it, or give another name
full|'.*/full' is not empty, and what is in it is not mpsweep's: give another name
link|cannot use '.*/link': it is a link, or not a directory
link/|it is a link, or not a directory
dangling|it is a link, or not a directory
file|it is a link, or not a directory
file/below|cannot (use|make) '.*file/below': .*Not a directory
everybodys/one|others may write '.*/everybodys' \(mode 0777\): a private directory in it would not be safe
lost|lost
$WORK/$long|has 72 characters: at most 71 are allowed
/|cannot be a private directory: give it a name of its own
.|cannot be a private directory
parent/..|cannot be a private directory
TABLE
  [ $failed -eq 0 ]
  [ "$(find . ! -name out ! -name err -printf '%p %m %i\n' | sort)" = "$before" ]
  # One that is in use.
  keep --dir used
  refused "an MPS daemon of mpsweep's lives in" "${MPS_START[@]}" --dir used
  expect 125 "${MPS_RUN[@]}" --dir used -- true
  [ "$(kept .answers --dir used)" = true ]
  expect 0 "$MPSWEEP" mps stop --dir used
}

# Invariant D2.
@test "what is not ours is not stopped, not offered and not changed" {
  local control=$MPSWEEP_BUILD_DIR/mpsweep-emulated-mps-control
  mkdir -m 700 theirs
  local -x CUDA_MPS_PIPE_DIRECTORY=$WORK/theirs CUDA_MPS_LOG_DIRECTORY=$WORK/theirs
  "$control" -f >/dev/null 2>&1 3>&- &
  local daemon=$!
  answers() { echo get_server_list | "$control" >/dev/null 2>&1; }
  await $PATIENCE answers
  local before command
  before=$(find theirs ! -type p -printf '%p %i %m\n' | sort)
  for command in 'stop' 'stop --force'; do
    # shellcheck disable=SC2086
    refused "'theirs' holds no MPS daemon that 'mpsweep mps start' has started" \
      "$MPSWEEP" mps $command --dir theirs
    # shellcheck disable=SC2086
    refused 'no MPS daemon of mpsweep' "$MPSWEEP" mps $command
  done
  no_environment "'theirs' holds no MPS daemon that 'mpsweep mps start' has started" --dir theirs
  no_environment 'no MPS daemon of mpsweep'
  refused 'is not empty' "${MPS_START[@]}" --dir theirs
  # It may be looked at.
  refused "^mpsweep: '0' is not a value of device: a status is of a whole daemon, and takes 'emulated' alone$" \
    "$MPSWEEP" mps status --dir theirs --device 0
  expect 0 "$MPSWEEP" mps status --dir theirs --gpu emulated
  grep -q '(not mpsweep.s: only looked at)' out
  grep -q '^GPU .*(emulated)$' out
  grep -qE '^server +none yet' out
  "$MPSWEEP" mps status --dir theirs --gpu emulated -f json 3>&- | jq -e '
    (.started_by_mpsweep | not) and .answers and .servers == [] and .clients == []
    and (has("daemon") or has("guard") or has("directory") | not)'
  [ "$(find theirs ! -type p -printf '%p %i %m\n' | sort)" = "$before" ]
  kill -0 $daemon
  # One that has gone away, and left its socket.
  kill -KILL $daemon
  wait $daemon || true
  expect 1 "$MPSWEEP" mps status --dir theirs --gpu emulated
  grep -qE '^problem +no MPS control daemon answers' out
}

@test "records that are not to be trusted: a copy, a moved directory, a link, open to others" {
  keep --dir kept
  local daemon before
  daemon=$(kept .daemon.pid --dir kept)
  mkdir -m 700 copy
  cp kept/state copy/
  refused "'copy' is another directory than the one that was started there" "$MPSWEEP" mps stop --dir copy --force
  ln -s kept link
  refused 'not a directory, or a link' "$MPSWEEP" mps stop --dir link
  mkdir -m 700 wrong
  echo '{"schema": 1}' >wrong/state
  refused "'wrong/state': no record of an MPS daemon of mpsweep's" "$MPSWEEP" mps stop --dir wrong
  mkdir -m 700 linked
  ln -s "$WORK/kept/state" linked/state
  refused 'holds no MPS daemon' "$MPSWEEP" mps stop --dir linked
  chmod 755 kept
  refused 'can be entered by others: it is not as mpsweep made it' "$MPSWEEP" mps stop --dir kept
  chmod 700 kept
  kill -0 "$daemon"
  mv kept moved
  refused "there is no directory .kept." "$MPSWEEP" mps stop --dir kept
  refused "no MPS control daemon answers in .*/kept/mps.; end its clients, or give --force" "$MPSWEEP" mps stop --dir moved
  mv moved kept
  expect 0 "$MPSWEEP" mps stop --dir kept
}
