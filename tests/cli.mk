# Tests of the command line (bats, jq), on the emulated GPU. Each list has the longest first: where
# several run at once, no long one remains for the end.

# These start for long what other tests have started: 'make check SLOW_TESTS=' leaves them out where a
# sanitizer looks for defects of the programs.
slow_tests = \
    tests/cli/calibrate.bats \
    tests/cli/explain_emulated.bats \
    tests/cli/slurm_cluster.bats \
    tests/cli/emit_run.bats \
    tests/cli/emit_slurm.bats \
    tests/cli/emit_systemd.bats \
    tests/cli/mps_places.bats
# These do not depend on the place of the sources: distcheck leaves them out.
long_tests = \
    tests/cli/tune.bats \
    tests/cli/tune_rate.bats \
    tests/cli/tune_streams.bats \
    tests/cli/tune_time.bats \
    tests/cli/tune_verdicts.bats \
    tests/cli/reuse.bats \
    tests/cli/program.bats \
    tests/cli/program_reuse.bats \
    tests/cli/observe.bats \
    tests/cli/plugin.bats \
    tests/cli/probe_more.bats \
    tests/cli/signals.bats \
    tests/cli/probe.bats \
    tests/cli/faults.bats \
    tests/cli/mps_kill.bats \
    tests/cli/openloop.bats \
    tests/cli/mps_failures.bats \
    tests/cli/trace.bats \
    tests/cli/record.bats \
    tests/cli/tutorials.bats \
    tests/cli/numa.bats \
    tests/cli/mps.bats \
    tests/cli/stalls.bats \
    tests/cli/streams.bats \
    tests/cli/program_streams.bats \
    tests/cli/contexts.bats \
    tests/cli/partitions.bats \
    tests/cli/gpus.bats \
    tests/cli/described.bats \
    tests/cli/limits.bats \
    tests/cli/slurm_fleet.bats \
    tests/cli/telemetry.bats \
    tests/cli/phases.bats \
    tests/cli/many_gpus.bats \
    tests/cli/fakes.bats \
    tests/cli/fixed.bats \
    tests/cli/gpus_failures.bats \
    tests/cli/writers.bats \
    tests/cli/failing_calls.bats \
    tests/cli/compare.bats \
    tests/cli/emulated.bats \
    tests/cli/mps_run.bats \
    tests/cli/container.bats \
    tests/cli/mps_usage.bats
SLOW_TESTS = $(slow_tests)
LONG_TESTS = $(long_tests)
if HAVE_CURL
long_tests += tests/cli/server.bats
endif
cli_tests = \
    tests/cli/closing.bats \
    tests/cli/sweep.bats \
    tests/cli/files.bats \
    tests/cli/merge.bats \
    tests/cli/slurm.bats \
    tests/cli/usage.bats \
    tests/cli/documents.bats \
    tests/cli/completion.bats \
    tests/cli/jobfiles.bats \
    tests/cli/emit.bats \
    tests/cli/emit_choice.bats \
    tests/cli/emit_servers.bats \
    tests/cli/figures.bats \
    tests/cli/explain.bats \
    tests/cli/plot.bats \
    tests/cli/report.bats \
    tests/cli/doctor.bats \
    tests/cli/layers.bats \
    tests/cli/claims.bats
# The lists themselves: 'make dist SLOW_TESTS=' must still distribute all tests.
EXTRA_DIST += $(cli_tests) $(long_tests) $(slow_tests) \
    tests/cli/helper.bash tests/cli/emit.bash tests/cli/figures.bash tests/cli/mps.bash tests/cli/parked.bash tests/cli/probe.bash tests/cli/slurm.bash \
    tests/cli/record-types.awk tests/cli/cluster.bash tests/cli/kubernetes_fields.py \
    tests/slurm/cluster tests/systemd/machine
if HAVE_BATS
TESTS += $(LONG_TESTS) $(SLOW_TESTS) $(cli_tests)
endif

# 'make check-threads' leaves these out, since ThreadSanitizer would find nothing: programs of one
# thread (mpsweep that reads and writes files, the MPS controller, its guard and its daemon; mps.bats
# and mps_run.bats still run their signal handlers), workers that do the same as those of sweep.bats
# and reuse.bats, started by a search, a script or Slurm, and plain arithmetic.
one_thread_tests = \
    tests/cli/tune.bats \
    tests/cli/tune_streams.bats \
    tests/cli/tune_time.bats \
    tests/cli/tune_verdicts.bats \
    tests/cli/mps_kill.bats \
    tests/cli/emit_run.bats \
    tests/cli/emit_slurm.bats \
    tests/cli/emit_systemd.bats \
    tests/cli/mps_failures.bats \
    tests/cli/slurm_cluster.bats \
    tests/cli/mps_places.bats \
    tests/cli/writers.bats \
    tests/cli/failing_calls.bats \
    tests/cli/merge.bats \
    tests/cli/slurm.bats \
    tests/cli/slurm_fleet.bats \
    tests/cli/usage.bats \
    tests/cli/documents.bats \
    tests/cli/jobfiles.bats \
    tests/cli/emit.bats \
    tests/cli/emit_choice.bats \
    tests/cli/emit_servers.bats \
    tests/cli/figures.bats \
    tests/cli/many_gpus.bats \
    tests/cli/explain.bats \
    tests/cli/compare.bats \
    tests/cli/plot.bats \
    tests/cli/report.bats \
    tests/cli/doctor.bats \
    tests/cli/layers.bats \
    tests/cli/claims.bats \
    tests/cli/mps_usage.bats \
    tests/cli/numa.bats \
    tests/cli/limits.bats \
    tests/cli/fakes.bats \
    tests/unit/bind/test_bind tests/unit/bind/test_bind_gpus tests/unit/bind/test_bind_table tests/unit/results/test_effect \
    tests/unit/statistics/test_histogram tests/unit/statistics/test_interval tests/unit/statistics/test_statistics \
    tests/unit/statistics/test_steady tests/unit/tune/test_machines tests/unit/tune/test_families \
    tests/unit/tune/test_search tests/unit/tune/test_gp tests/unit/tune/test_bounds tests/unit/tune/test_space tests/unit/probes/test_verdict
