# Tests of the command line (bats, jq), on the emulated GPU. Each list has the longest first: where
# several run at once, none is left to run alone at the end.

# These measure the emulated GPU for minutes: 'make check SLOW_TESTS=' leaves them out, where all
# that they run has been run by others.
slow_tests = \
    tests/cli/explain_emulated.bats \
    tests/cli/calibrate.bats
# These take 10 s or more, and try nothing that depends on where the sources are: distcheck leaves
# them out.
long_tests = \
    tests/cli/tune.bats \
    tests/cli/signals.bats \
    tests/cli/program.bats \
    tests/cli/plugin.bats \
    tests/cli/reuse.bats \
    tests/cli/mps_kill.bats \
    tests/cli/faults.bats \
    tests/cli/probe_more.bats \
    tests/cli/emit_run.bats \
    tests/cli/emit_slurm.bats \
    tests/cli/emit_systemd.bats \
    tests/cli/openloop.bats \
    tests/cli/mps_failures.bats \
    tests/cli/slurm_cluster.bats \
    tests/cli/trace.bats \
    tests/cli/mps.bats \
    tests/cli/mps_places.bats \
    tests/cli/gpus.bats \
    tests/cli/gpus_failures.bats \
    tests/cli/described.bats \
    tests/cli/limits.bats
SLOW_TESTS = $(slow_tests)
LONG_TESTS = $(long_tests)
cli_tests = \
    tests/cli/sweep.bats \
    tests/cli/files.bats \
    tests/cli/merge.bats \
    tests/cli/probe.bats \
    tests/cli/slurm.bats \
    tests/cli/slurm_fleet.bats \
    tests/cli/fixed.bats \
    tests/cli/usage.bats \
    tests/cli/phases.bats \
    tests/cli/telemetry.bats \
    tests/cli/emit.bats \
    tests/cli/figures.bats \
    tests/cli/numa.bats \
    tests/cli/many_gpus.bats \
    tests/cli/explain.bats \
    tests/cli/emulated.bats \
    tests/cli/compare.bats \
    tests/cli/plot.bats \
    tests/cli/fakes.bats \
    tests/cli/mps_run.bats \
    tests/cli/container.bats \
    tests/cli/doctor.bats \
    tests/cli/layers.bats \
    tests/cli/mps_usage.bats
# The lists themselves, since who leaves tests out with SLOW_TESTS= still distributes them.
EXTRA_DIST += $(cli_tests) $(long_tests) $(slow_tests) \
    tests/cli/helper.bash tests/cli/emit.bash tests/cli/figures.bash tests/cli/mps.bash tests/cli/probe.bash tests/cli/slurm.bash \
    tests/cli/record-types.awk tests/cli/cluster.bash tests/cli/kubernetes_fields.py \
    tests/slurm/cluster tests/systemd/machine
if HAVE_BATS
TESTS += $(SLOW_TESTS) $(LONG_TESTS) $(cli_tests)
endif

# What 'make check-threads' leaves out, for ThreadSanitizer would see nothing in it: programs of one
# thread (mpsweep that reads and writes files, the MPS controller, its guard and its daemon; of their
# signal handlers mps.bats and mps_run.bats are left), or workers that do what those of sweep.bats
# and reuse.bats do, started by a search, a script or Slurm; and plain arithmetic.
one_thread_tests = \
    tests/cli/tune.bats \
    tests/cli/mps_kill.bats \
    tests/cli/emit_run.bats \
    tests/cli/emit_slurm.bats \
    tests/cli/emit_systemd.bats \
    tests/cli/mps_failures.bats \
    tests/cli/slurm_cluster.bats \
    tests/cli/mps_places.bats \
    tests/cli/merge.bats \
    tests/cli/slurm.bats \
    tests/cli/slurm_fleet.bats \
    tests/cli/usage.bats \
    tests/cli/emit.bats \
    tests/cli/figures.bats \
    tests/cli/many_gpus.bats \
    tests/cli/explain.bats \
    tests/cli/compare.bats \
    tests/cli/plot.bats \
    tests/cli/doctor.bats \
    tests/cli/layers.bats \
    tests/cli/mps_usage.bats \
    tests/unit/bind/test_bind tests/unit/bind/test_bind_gpus tests/unit/bind/test_bind_table tests/unit/results/test_effect \
    tests/unit/statistics/test_histogram tests/unit/statistics/test_interval tests/unit/statistics/test_statistics \
    tests/unit/statistics/test_steady tests/unit/tune/test_machines tests/unit/tune/test_search \
    tests/unit/tune/test_space tests/unit/probes/test_verdict
