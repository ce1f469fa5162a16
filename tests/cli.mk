# Tests of the command line (bats, jq), on the emulated GPU.
cli_tests = \
    tests/cli/compare.bats \
    tests/cli/container.bats \
    tests/cli/doctor.bats \
    tests/cli/emit.bats \
    tests/cli/explain.bats \
    tests/cli/emulated.bats \
    tests/cli/fakes.bats \
    tests/cli/faults.bats \
    tests/cli/figures.bats \
    tests/cli/files.bats \
    tests/cli/gpus.bats \
    tests/cli/fixed.bats \
    tests/cli/limits.bats \
    tests/cli/many_gpus.bats \
    tests/cli/mps.bats \
    tests/cli/mps_failures.bats \
    tests/cli/mps_kill.bats \
    tests/cli/mps_places.bats \
    tests/cli/mps_run.bats \
    tests/cli/mps_usage.bats \
    tests/cli/numa.bats \
    tests/cli/openloop.bats \
    tests/cli/phases.bats \
    tests/cli/plot.bats \
    tests/cli/probe.bats \
    tests/cli/reuse.bats \
    tests/cli/signals.bats \
    tests/cli/slurm.bats \
    tests/cli/sweep.bats \
    tests/cli/telemetry.bats \
    tests/cli/usage.bats
# These measure the emulated GPU for minutes: 'make check SLOW_TESTS=' leaves them out, where all
# that they run has been run by others.
SLOW_TESTS = \
    tests/cli/calibrate.bats \
    tests/cli/explain_emulated.bats
# These take a minute, and try nothing that depends on where the sources are: distcheck leaves them out.
LONG_TESTS = \
    tests/cli/described.bats \
    tests/cli/emit_run.bats \
    tests/cli/emit_slurm.bats \
    tests/cli/emit_systemd.bats \
    tests/cli/plugin.bats \
    tests/cli/probe_more.bats \
    tests/cli/program.bats \
    tests/cli/slurm_cluster.bats \
    tests/cli/trace.bats \
    tests/cli/tune.bats
EXTRA_DIST += $(cli_tests) $(LONG_TESTS) tests/cli/calibrate.bats tests/cli/explain_emulated.bats \
    tests/cli/helper.bash tests/cli/cluster.bash tests/cli/emit.bash tests/cli/mps.bash tests/cli/probe.bash tests/cli/record-types.awk \
    tests/cli/kubernetes_fields.py tests/slurm/cluster tests/systemd/machine
if HAVE_BATS
TESTS += $(SLOW_TESTS) $(LONG_TESTS) $(cli_tests)
endif
