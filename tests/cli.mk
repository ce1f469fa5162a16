# Tests of the command line (bats, jq), on the emulated GPU: the longest first, since several run at
# once, and no long one remains for the end.
if HAVE_CURL
server_tests = tests/cli/server.bats tests/cli/server_failures.bats \
    tests/cli/server_requests.bats tests/cli/server_answers.bats
endif
cli_tests = \
    tests/cli/program.bats \
    tests/cli/program_left.bats \
    tests/cli/tune_time.bats \
    tests/cli/tune.bats \
    tests/cli/plugin.bats \
    tests/cli/reuse.bats \
    tests/cli/program_reuse.bats \
    tests/cli/openloop.bats \
    tests/cli/faults.bats \
    tests/cli/trace.bats \
    tests/cli/probe.bats \
    tests/cli/tune_rate.bats \
    tests/cli/observe.bats \
    tests/cli/probe_more.bats \
    $(server_tests) \
    tests/cli/sweep.bats \
    tests/cli/shares.bats \
    tests/cli/signals.bats \
    tests/cli/record.bats \
    tests/cli/streams.bats \
    tests/cli/mps_failures.bats \
    tests/cli/emit_run.bats \
    tests/cli/program_streams.bats \
    tests/cli/help.bats \
    tests/cli/usage.bats \
    tests/cli/report.bats \
    tests/cli/described.bats \
    tests/cli/many_gpus.bats \
    tests/cli/tutorials.bats \
    tests/cli/calibrate.bats \
    tests/cli/slurm_cluster.bats \
    tests/cli/emit_servers.bats \
    tests/cli/stalls.bats \
    tests/cli/mps_places.bats \
    tests/cli/fixed.bats \
    tests/cli/tune_streams.bats \
    tests/cli/emit_slurm.bats \
    tests/cli/mps.bats \
    tests/cli/files.bats \
    tests/cli/gpus.bats \
    tests/cli/fakes.bats \
    tests/cli/layers.bats \
    tests/cli/slurm.bats \
    tests/cli/slurm_collect.bats \
    tests/cli/publish.bats \
    tests/cli/partitions.bats \
    tests/cli/closing.bats \
    tests/cli/contexts.bats \
    tests/cli/emit.bats \
    tests/cli/phases.bats \
    tests/cli/plot.bats \
    tests/cli/emit_systemd.bats \
    tests/cli/telemetry.bats \
    tests/cli/writers.bats \
    tests/cli/gpus_failures.bats \
    tests/cli/emulated.bats \
    tests/cli/slurm_fleet.bats \
    tests/cli/limits.bats \
    tests/cli/mps_kill.bats \
    tests/cli/doctor.bats \
    tests/cli/compare.bats \
    tests/cli/merge.bats \
    tests/cli/explain_emulated.bats \
    tests/cli/numa.bats \
    tests/cli/figures.bats \
    tests/cli/figures_ceilings.bats \
    tests/cli/heatmap.bats \
    tests/cli/mps_run.bats \
    tests/cli/explain.bats \
    tests/cli/tune_verdicts.bats \
    tests/cli/completion.bats \
    tests/cli/documents.bats \
    tests/cli/failing_calls.bats \
    tests/cli/emit_choice.bats \
    tests/cli/mps_usage.bats \
    tests/cli/jobfiles.bats \
    tests/cli/container.bats \
    tests/cli/claims.bats

# Some are repeated elsewhere, beside short_tests. Under AddressSanitizer
# (`make check-memory`), which doubles what a process costs: those that run the most lines for their
# time, beyond those of the unit tests, until all together run 93% of what all tests do.
memory_tests = \
    tests/cli/probe_more.bats \
    tests/cli/report.bats \
    tests/cli/trace.bats \
    tests/cli/record.bats \
    tests/cli/many_gpus.bats \
    tests/cli/doctor.bats \
    tests/cli/merge.bats \
    tests/cli/contexts.bats \
    tests/cli/partitions.bats \
    tests/cli/mps_places.bats \
    tests/cli/slurm_fleet.bats \
    tests/cli/completion.bats \
    tests/cli/explain_emulated.bats \
    tests/cli/emit_choice.bats \
    tests/cli/failing_calls.bats \
    tests/cli/mps_usage.bats \
    tests/cli/gpus_failures.bats \
    tests/cli/stalls.bats \
    tests/cli/jobfiles.bats \
    tests/cli/tune_verdicts.bats \
    $(server_tests)
# Under ThreadSanitizer (`make check-threads`): those whose processes have several threads.
thread_tests = \
    tests/cli/reuse.bats \
    tests/cli/sweep.bats \
    tests/cli/shares.bats \
    tests/cli/openloop.bats \
    tests/cli/streams.bats \
    tests/cli/signals.bats \
    tests/cli/observe.bats \
    tests/cli/program_streams.bats \
    $(server_tests)
# From a tarball (`make check-tarball`): those that read files of the source tree.
place_tests = \
    tests/cli/report.bats \
    tests/cli/compare.bats \
    tests/cli/figures.bats \
    tests/cli/figures_ceilings.bats \
    tests/cli/claims.bats \
    tests/cli/plot.bats \
    tests/cli/emit_systemd.bats \
    tests/cli/tutorials.bats \
    tests/cli/layers.bats \
    tests/cli/completion.bats \
    tests/cli/documents.bats \
    tests/cli/jobfiles.bats \
    tests/cli/container.bats
# As programs do, so that TESTS is run in its order: what waits for config.h would come last.
$(cli_tests:.bats=.log): config.h
EXTRA_DIST += $(cli_tests) \
    tests/cli/helper.bash tests/cli/emit.bash tests/cli/figures.bash tests/cli/mps.bash tests/cli/parked.bash tests/cli/probe.bash tests/cli/records.bash tests/cli/server.bash tests/cli/slurm.bash \
    tests/cli/record-types.awk tests/cli/cluster.bash tests/cli/kubernetes_fields.py \
    tests/slurm/cluster tests/systemd/machine
if HAVE_BATS
TESTS += $(cli_tests)
endif
