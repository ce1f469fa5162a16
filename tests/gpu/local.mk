# Tests that need a real GPU, and their programs; see check-gpu in tests/local.mk.
EXTRA_DIST += tests/gpu/helper.bash tests/gpu/frameworks.py tests/gpu/binding.bats tests/gpu/contexts.bats tests/gpu/emit.bats tests/gpu/explain.bats tests/gpu/gpus.bats \
    tests/gpu/many_gpus.bats tests/gpu/merge.bats tests/gpu/mps.bats tests/gpu/order.bats tests/gpu/plugin.bats tests/gpu/probe.bats \
    tests/gpu/probe_more.bats tests/gpu/program.bats tests/gpu/real.bats tests/gpu/slurm.bats \
    tests/gpu/strikes.bats tests/gpu/trace.bats tests/gpu/tune.bats

noinst_PROGRAMS += tests/gpu/fault_client

noinst_PROGRAMS += tests/gpu/order_client
