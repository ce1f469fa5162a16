#!/usr/bin/env bats
# Where workers and their memory are on a real machine, whatever it looks like: against what the
# kernel itself reports about the GPUs' places.

load helper

SHORT=(--duration 0.3 --max-duration 1 --precision 20 -q)

# What the kernel reports about a GPU's PCI device.
device_of() {
  local bus
  bus=$(nvidia-smi -i "$1" --query-gpu=pci.bus_id --format=csv,noheader | tr '[:upper:]' '[:lower:]')
  echo "/sys/bus/pci/devices/${bus: -12}"
}

# gpu_file NUMBER NAME
gpu_file() { cat "$(device_of "$1")/$2"; }

told() { [ -r "$(device_of 0)/local_cpulist" ] || skip "the kernel tells nothing of the GPU's place here"; }

# cpus LIST: "0-2,5" as "0 1 2 5".
cpus() {
  local range
  for range in ${1//,/ }; do seq -s ' ' "${range%-*}" "${range#*-}"; done | paste -sd' '
}

# within LIST LIST: the first is part of the second.
within() {
  local cpu
  for cpu in $(cpus "$1"); do
    [[ " $(cpus "$2") " == *" $cpu "* ]] || return 1
  done
}

nodes() { find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' | wc -l; }

@test "workers are near their GPU, as the kernel reports, and no two GPUs share a CPU" {
  real
  told
  local near gpus gpu of_gpu one used=
  expect 0 "$MPSWEEP" sweep --device all "${SHORT[@]}" -l threads:2 -o r.jsonl
  gpus=$(head -1 r.jsonl | jq '.gpus // [.gpu] | length')
  for ((gpu = 0; gpu < gpus; gpu++)); do
    near=$(gpu_file "$gpu" local_cpulist)
    of_gpu=$(jq -r "select(.type == \"point\").per_worker[] | select((.gpu // 0) == $gpu).cpus" r.jsonl)
    [ "$(echo "$of_gpu" | wc -l)" -eq 2 ]
    for one in $of_gpu; do
      within "$one" "$near" || fail "GPU $gpu: CPUs $one are not within $near"
      # With so few workers each has a CPU of its own.
      [[ $one =~ ^[0-9]+$ ]] || skip "fewer CPUs than workers near GPU $gpu"
      [[ " $used " != *" $one "* ]] || fail "CPU $one is used twice"
      used+=" $one"
    done
  done
}

@test "host buffers are near the GPU, pinned and pageable" {
  real
  told
  local node
  [ "$(nodes)" -gt 1 ] || skip "one NUMA node here"
  node=$(gpu_file 0 numa_node)
  [ "$node" -ge 0 ] || skip "the kernel does not know the GPU's node"
  expect 0 "$MPSWEEP" sweep --device 0 "${SHORT[@]}" -l processes:2 --memory pinned,pageable -o r.jsonl
  points 'any(has("memory_policy"))' r.jsonl &&
    skip "no memory policy here: $(points '.[0].memory_policy' r.jsonl)"
  points "map(select(.memory == \"pageable\")) | all(.per_worker | all(.numa == \"$node\"))" r.jsonl
  # The kernel may not report the place of pinned memory.
  points "map(select(.memory == \"pinned\")) | all(.per_worker | all(.numa == null or .numa == \"$node\"))" r.jsonl
  points 'all([.warnings[].kind] | index("far-memory") == null)' r.jsonl
}

@test "a machine of one node has no record of nodes" {
  real
  [ "$(nodes)" -le 1 ] || skip "several NUMA nodes here"
  expect 0 "$MPSWEEP" sweep --device 0 "${SHORT[@]}" -l processes:2 -o r.jsonl
  points 'all((.per_worker | all(has("numa") | not)) and (has("memory_policy") | not))' r.jsonl
}

@test "every way of binding measures, on all GPUs" {
  real
  expect 0 "$MPSWEEP" sweep --device all "${SHORT[@]}" -l processes+mps:4 --bind near,scatter,none -o r.jsonl
  points 'length == 3 and all(.status == "ok" or .status == "unconverged")' r.jsonl
  points 'map(select(.bind == "none")) | all(.per_worker | all(.cpus == "none"))' r.jsonl
}
