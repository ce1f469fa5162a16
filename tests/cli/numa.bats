#!/usr/bin/env bats
# Host memory on the NUMA nodes near the GPU, on described machines. What the kernel is asked and
# answers comes from a preloaded library (tests/fakes/numa.c), unless a test notes otherwise.
load helper

# As hwloc writes a set of numbers: words of 32 bits, the highest first.
set_of() {
  local member word most=0 text=
  for member in $1; do [ $((member / 32)) -le $most ] || most=$((member / 32)); done
  for ((word = most; word >= 0; word--)); do
    local bits=0
    for member in $1; do [ $((member / 32)) -ne $word ] || bits=$((bits | 1 << member % 32)); done
    text+=${text:+,}$(printf '0x%x' $bits)
  done
  echo "$text"
}

# object KIND NUMBER CPUS NODES [ATTRIBUTES]: the begin of one.
object() {
  local cpus nodes
  cpus=$(set_of "$3") nodes=$(set_of "$4")
  echo "<object type='$1' os_index='$2' cpuset='$cpus' complete_cpuset='$cpus'" \
    "nodeset='$nodes' complete_nodeset='$nodes' ${5-}>"
}

end() { printf '</object>%.0s' $(seq "${1-1}"); }

# node NUMBER CPU BYTES: a node with one core.
node() {
  object NUMANode "$1" "$2" "$1" "local_memory='$3'"; end
  object Core "$2" "$2" "$1"; object PU "$2" "$2" "$1"; end 2
}

# gpu BUS: emulated GPU 0 has bus 00, and 1 has 01.
gpu() {
  echo "<object type='Bridge' bridge_type='0-1' depth='0' bridge_pci='ffff:[$1-$1]'>" \
    "<object type='PCIDev' pci_busid='ffff:$1:00.0' pci_type='0302 [10de:2330] [10de:0000] a1'" \
    "pci_link_speed='0'/></object>"
}

# machine WHERE [BYTES]: package 0 has node 0, package 1 has nodes 1 and 2. The emulated GPU is near
# "node 1", whose CPU this test may use, or "package 1"; a second one is near node 0. Nodes 0 and 2
# have so much memory. With "node 0" nodes 0 and 1 change places.
machine() {
  local a b c bytes=${2-1073741824} near=1 far=0
  [ "$1" != "node 0" ] || near=0 far=1
  a=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
  b=$((a + 1)) c=$((a + 2))
  {
    echo '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">'
    echo '<topology version="2.0">'
    object Machine 0 "$a $b $c" "0 1 2" \
      "allowed_cpuset='$(set_of "$a $b $c")' allowed_nodeset='0x7'"
    object Package 0 "$b" $far; node $far "$b" "$bytes"; gpu 01; end
    object Package 1 "$a $c" "$near 2"
    object Group 1 "$a" $near "kind='1001' subkind='0'"; node $near "$a" 1073741824
    [ "$1" = "package 1" ] || gpu 00
    end
    object Group 2 "$c" 2 "kind='1001' subkind='0'"; node 2 "$c" "$bytes"; end
    [ "$1" != "package 1" ] || gpu 00
    end 2
    echo '</topology>'
  } | tr "'" '"' | awk '{ while (sub(/<object type/, "<object gp_index=\"" ++n "\" type")); print }' \
    >machine.xml
  export HWLOC_XMLFILE=$PWD/machine.xml HWLOC_THISSYSTEM=1
}

# On that machine: what the workers ask of the kernel is in the file calls.
measure() {
  rm -f calls out.jsonl
  MPSWEEP_FAKE_NUMA_LOG=$PWD/calls LD_PRELOAD=$MPSWEEP_BUILD_DIR/tests/fakes/numa.so \
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 \
    "$MPSWEEP" sweep --device "${DEVICE:-emulated}" "${TINY[@]:2}" --quiet -o out.jsonl "$@" >out 2>err
}

# every CONDITION: all of them fulfil it.
every() {
  jq -es "[.[] | select(.type == \"point\")] | length > 0 and all(.[]; $1)" out.jsonl >/dev/null
}

# The nodes of all workers' buffers.
numa() { every "[.per_worker[].numa] | unique == [\"$1\"]"; }

warned() { every "[.warnings[] | select(.kind == \"far-memory\").text] == [\"$1\"]"; }

no_warning() { every '[.warnings[].kind] | index("far-memory") == null'; }

no_policy() { every 'has("memory_policy") | not'; }

# Per process and mode: how many calls.
calls() { cut -d' ' -f2- calls | sort | uniq -c | sed 's/^ *//'; }

# The mode is MPOL_PREFERRED, which is 1.
@test "host memory is asked for on the node near the GPU" {
  local memory
  machine "node 1"
  for memory in pinned pageable; do
    measure -l processes:3 --memory $memory
    [ "$(calls)" = "3 1 1 1" ]
    [ "$(cut -d' ' -f1 calls | sort -u | wc -l)" -eq 3 ]
    numa 1
    no_warning
    no_policy
  done
  jq -es '.[0].binding.near | test("host memory on NUMA node 1$")' out.jsonl >/dev/null
  "$MPSWEEP" sweep "${TINY[@]}" -l threads:1 --dry-run >plan
  grep '^binding:  near GPU ffff:00:00.0: .*, host memory on NUMA node 1$' plan
}

# Mode 5 is MPOL_PREFERRED_MANY.
@test "of several nodes near the GPU any will do, also where the kernel prefers only one" {
  machine "package 1"
  measure -l threads:2
  [ "$(calls)" = "1 5 1 2" ]
  numa 1
  MPSWEEP_FAKE_NUMA_OLD=1 MPSWEEP_FAKE_NUMA_PAGES=2 measure -l threads:2
  [ ! -e calls ]
  numa 2
  no_warning
  no_policy
}

@test "each of several GPUs has its own node and CPUs" {
  machine "node 1"
  export MPSWEEP_EMUL_DEVICES=2
  DEVICE=emulated:all measure -l processes:2
  [ "$(calls)" = "2 1 0 0
2 1 1 1" ]
  every '[.per_worker[] | [.gpu, .numa]] | unique == [[0, "1"], [1, "0"]]'
  no_warning
  # A machine with one CPU has none for the second GPU.
  local a
  a=$(jq -r 'select(.type == "point").per_worker[0].cpus' out.jsonl)
  if taskset -c $((a + 1)) true 2>/dev/null; then
    every "[.per_worker[] | [.gpu, .cpus]] | unique == [[0, \"$a\"], [1, \"$((a + 1))\"]]"
    jq -es '.[0].binding.near | test("^near GPU ffff:00:00.0: package 1, .* on NUMA node 1; " +
      "near GPU ffff:01:00.0: package 0, .* on NUMA node 0$")' out.jsonl >/dev/null
  else
    every "[.per_worker[].cpus] | unique == [\"$a\"]"
  fi
}

@test "a refused policy is reported, and buffers that are elsewhere" {
  machine "node 1"
  MPSWEEP_FAKE_NUMA_REFUSED=1 measure -l threads:2
  numa 0
  every '.memory_policy == "refused: Operation not permitted"'
  warned "host buffers of 2 of 2 workers lie on NUMA node 0, and not on 1 near their GPU; \
the system refused the memory policy (Operation not permitted): in a container, allow set_mempolicy, \
as --cap-add SYS_NICE does"
  MPSWEEP_FAKE_NUMA_REFUSED=38 MPSWEEP_FAKE_NUMA_PAGES=1 measure -l threads:2
  numa 1
  every '.memory_policy == "refused: Function not implemented"'
  no_warning
}

@test "a foreign policy is kept" {
  machine "node 1"
  MPSWEEP_FAKE_NUMA_INHERITED=1 MPSWEEP_FAKE_NUMA_PAGES=2 measure -l processes:2
  [ ! -e calls ]
  every '.memory_policy == "inherited"'
  warned "host buffers of 2 of 2 workers lie on NUMA node 2, and not on 1 near their GPU; \
there was a memory policy already, as from numactl, and it was kept"
}

@test "a node without room is reported" {
  machine "node 1"
  MPSWEEP_FAKE_NUMA_PAGES=0 measure -l threads:1
  no_policy
  warned "host buffers of 1 of 1 workers lie on NUMA node 0, and not on 1 near their GPU; \
there was no room, or the driver chose another place"
}

@test "buffers that are elsewhere are reported by GPU, since each has nodes of its own" {
  machine "node 1"
  export MPSWEEP_EMUL_DEVICES=2
  MPSWEEP_FAKE_NUMA_PAGES=2 DEVICE=emulated:all measure -l threads:1
  warned "GPU 0: host buffers of 1 of 1 workers lie on NUMA node 2, and not on 1 near their GPU; \
there was no room, or the driver chose another place\",\"GPU 1: host buffers of 1 of 1 workers lie on \
NUMA node 2, and not on 0 near their GPU; there was no room, or the driver chose another place"
  MPSWEEP_FAKE_NUMA_PAGES=1 DEVICE=emulated:all measure -l threads:1
  warned "GPU 1: host buffers of 1 of 1 workers lie on NUMA node 1, and not on 0 near their GPU; \
there was no room, or the driver chose another place"
}

@test "without binding, and scattered, memory lies where it is first used" {
  local bind
  machine "node 1"
  for bind in none scatter; do
    measure -l threads:1 --bind $bind
    [ ! -e calls ]
    numa 0
    no_warning
    jq -es ".[0].binding.$bind | test(\"NUMA\") | not" out.jsonl >/dev/null
  done
}

@test "workers that serve several points have the policy of each" {
  machine "node 1"
  # In the plan's order, and by the same process.
  measure -l threads:1 --bind near,none --seed 0
  every '(.bind == "none") == (.reused == true)'
  every '.per_worker[0].numa == (if .bind == "near" then "1" else "0" end)'
  [ "$(cut -d' ' -f1 calls | sort -u | wc -l)" -eq 1 ]
  [ "$(cut -d' ' -f2- calls | paste -sd,)" = "1 1 1,0 - -" ]
}

@test "a machine of one node is not queried, and its records have nothing" {
  machine "node 1" 0
  measure -l threads:1
  [ ! -e calls ]
  every '.per_worker[0] | has("numa") | not'
  no_policy
  jq -es '.[0].binding.near | test("NUMA") | not' out.jsonl >/dev/null
}

@test "workloads described in a job file have their buffers looked at, too" {
  machine "node 1"
  cat >steps.job <<'JOB'
[workload copies]
step = copy-in 64K
step = copy-out 64K
JOB
  measure steps.job -w copies -l threads:2
  numa 1
}

@test "programs and plug-ins get the policy" {
  machine "node 1"
  measure -l processes:2 -- "$MPSWEEP_BUILD_DIR/examples/program/ticker" 200
  [ "$(calls)" = "2 1 1 1" ]
  every '.per_worker[0] | has("numa") | not'
  cp "$MPSWEEP_BUILD_DIR/examples/plugin/skeleton.so" .
  measure -l processes:2 -w ./skeleton.so --workload-options kib=16
  [ "$(calls)" = "2 1 1 1" ]
  every '.per_worker[0] | has("numa") | not'
}

# Every machine has a node 0.
@test "the kernel itself takes the policy, and what a worker starts inherits it" {
  local program=$PWD/program
  machine "node 0"
  cat >"$program" <<'SH'
#!/bin/sh
grep -c 'prefer[^ ]*:0 ' /proc/self/numa_maps >maps
exec "$0.d/ticker" 200
SH
  chmod +x "$program"
  mkdir program.d
  ln -s "$MPSWEEP_BUILD_DIR/examples/program/ticker" program.d
  "$MPSWEEP" sweep "${TINY[@]}" -q -o out.jsonl -l processes:1 -- "$program" >out 2>err
  points 'all(measured)' out.jsonl
  every 'has("memory_policy") | not' || skip "no memory policies here: $(jq -r '.memory_policy // empty' out.jsonl)"
  [ "$(cat maps)" -gt 0 ]
  rm out.jsonl
  "$MPSWEEP" sweep "${TINY[@]}" -q -o out.jsonl -l threads:2 --memory pageable >out 2>err
  numa 0
  no_warning
}
