#!/usr/bin/env bats
# The batch script of 'mpsweep slurm' on real GPUs, started as Slurm would: one GPU of several in
# CUDA_VISIBLE_DEVICES, a private daemon, SIGTERM, and another GPU after a requeue.

load helper

# A run of two shards in 'run', of which a fake sbatch knows.
a_run() {
  mkdir bin
  printf '#!/bin/sh\necho 42\n' >bin/sbatch
  printf '#!/bin/sh\n' >bin/squeue
  chmod +x bin/*
  PATH=$WORK/bin:$PATH
  expect 0 "$MPSWEEP" slurm submit --nodes 2 --dir run --quiet -l threads:1,4 -l processes+mps:1,4 \
    -m pinned,pageable --warmup 0.1 --precision 50 "$@"
}

# task N GPU: on that GPU alone.
task() { env SLURM_ARRAY_TASK_ID="$1" CUDA_VISIBLE_DEVICES="$2" sh run/shard.sbatch; }

uuid_of() { nvidia-smi --query-gpu=uuid --format=csv,noheader -i "$1"; }

two_gpus() { [ "$(nvidia-smi -L | grep -c '^GPU')" -ge 2 ] || skip "there is one GPU"; }

@test "two shards on a GPU: each has a daemon of its own, and collect makes one file of them" {
  real
  a_run --duration 0.3
  expect 0 task 0 0
  expect 0 task 1 0
  expect 0 "$MPSWEEP" slurm collect run
  points 'length == 8 and all(.status == "ok" and .throughput_ips > 0)
    and all(.[] | select(.mps); .attached.expected == .attached.seen)' run/all.jsonl
}

@test "two shards on two GPUs: each is measured on the one that Slurm gave it" {
  real
  two_gpus
  a_run --duration 0.3
  start env SLURM_ARRAY_TASK_ID=0 CUDA_VISIBLE_DEVICES=0 sh run/shard.sbatch
  task 1 1 >out1 2>err1
  finish
  [ $STATUS -eq 0 ]
  for gpu in 0 1; do
    [ "$(head -1 run/shard-$gpu.jsonl | jq -r .gpu.uuid)" = "$(uuid_of $gpu)" ]
  done
  expect 0 "$MPSWEEP" slurm collect run
  points 'length == 8 and all(measured)' run/all.jsonl
}

@test "a shard that is queued again continues with another GPU" {
  real
  two_gpus
  a_run --duration 1
  start env SLURM_ARRAY_TASK_ID=0 CUDA_VISIBLE_DEVICES=0 sh run/shard.sbatch
  await $PATIENCE grep -qs '^{"type":"point"' run/shard-0.jsonl.part
  kill -TERM "$PID"
  finish
  [ $STATUS -eq 130 ]
  expect 0 task 0 1
  [ "$(jq -r 'select(.type == "header") | .gpu.uuid' run/shard-0.jsonl)" = "$(uuid_of 0; uuid_of 1)" ]
  points 'all(measured)' run/shard-0.jsonl
}
