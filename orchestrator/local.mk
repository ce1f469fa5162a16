# The plan of a job: for whoever makes points.
plan_sources = orchestrator/plan/plan.c orchestrator/plan/device_choice.c orchestrator/plan/device_choice.h \
    orchestrator/plan/described.c orchestrator/plan/program.c \
    orchestrator/plan/workload.c orchestrator/plan/placeholders.c orchestrator/plan/shares.c

# Merging without output, for tests, too.
merge_sources = orchestrator/merge/check.c orchestrator/merge/choose.c \
    orchestrator/merge/fleet.c orchestrator/merge/fleet.h \
    orchestrator/merge/gpus.c orchestrator/merge/gpus.h \
    orchestrator/merge/judge.c orchestrator/merge/read.c orchestrator/merge/record.c

bin_PROGRAMS += mpsweep
mpsweep_SOURCES = \
    orchestrator/main.c orchestrator/console/exit_status.h \
    orchestrator/campaign/bracket.c orchestrator/campaign/bracket.h \
    orchestrator/calibrate/run.c orchestrator/calibrate/run.h orchestrator/calibrate/parts.c \
    orchestrator/calibrate/points.c orchestrator/calibrate/points.h \
    orchestrator/calibrate/plan.c orchestrator/calibrate/plan.h \
    orchestrator/round/cause.c \
    orchestrator/crew/children.c orchestrator/crew/children.h \
    orchestrator/round/placement.c orchestrator/round/placement.h orchestrator/round/numa.c orchestrator/round/numa.h \
    orchestrator/round/collect.c \
    orchestrator/compare/compare.c orchestrator/compare/compare.h orchestrator/compare/plot.c \
    orchestrator/results/effect.c orchestrator/results/effect.h \
    orchestrator/compare/match.c orchestrator/compare/match.h orchestrator/compare/print.c \
    orchestrator/crew/crew.c orchestrator/crew/crew.h \
    orchestrator/round/mix.c orchestrator/round/mix.h \
    orchestrator/campaign/lengths.c orchestrator/record/mix.c \
    orchestrator/doctor/doctor.c orchestrator/doctor/doctor.h \
    orchestrator/crew/environment.c orchestrator/crew/environment.h \
    orchestrator/campaign/estimate.c orchestrator/campaign/estimate.h \
    orchestrator/doctor/daemons.c orchestrator/doctor/daemons.h \
    orchestrator/doctor/gpu.c orchestrator/doctor/gpu.h \
    orchestrator/doctor/machine.c orchestrator/doctor/machine.h \
    orchestrator/doctor/mps.c orchestrator/doctor/mps.h \
    orchestrator/doctor/report.c orchestrator/doctor/report.h \
    orchestrator/emit/formats.c orchestrator/emit/formats.h \
    orchestrator/emit/emit.c orchestrator/emit/emit.h \
    orchestrator/emit/compose.c \
    orchestrator/emit/container.c orchestrator/emit/container.h \
    orchestrator/emit/deployment.c orchestrator/emit/deployment.h \
    orchestrator/emit/env.c orchestrator/emit/internal.h \
    orchestrator/emit/json.c orchestrator/emit/kubernetes.c \
    orchestrator/emit/directory.c orchestrator/emit/directory.h \
    orchestrator/emit/readme.c orchestrator/emit/slurm.c orchestrator/emit/systemd.c \
    orchestrator/emit/quote.c orchestrator/emit/quote.h \
    orchestrator/explain/set.c orchestrator/explain/set.h \
    orchestrator/explain/explain.c orchestrator/explain/explain.h \
    orchestrator/explain/gpus.c orchestrator/explain/json.c \
    orchestrator/results/origin.c orchestrator/results/origin.h \
    orchestrator/explain/point.c orchestrator/explain/point.h \
    orchestrator/explain/text.c \
    orchestrator/explain/verify.c orchestrator/explain/verify.h \
    orchestrator/round/fixed.c orchestrator/round/fixed.h \
    orchestrator/help.c orchestrator/help.h \
    orchestrator/merge/merge.c orchestrator/merge/merge.h orchestrator/merge/internal.h \
    $(merge_sources) \
    orchestrator/merge/print.c orchestrator/merge/print.h orchestrator/merge/print_fleet.c \
    orchestrator/merge/write.c \
    orchestrator/mps/mps.c orchestrator/mps/mps.h \
    orchestrator/mps/run.c orchestrator/mps/status.c \
    orchestrator/session/mps_limits.c orchestrator/session/mps_limits.h orchestrator/session/mps_limits_file.c \
    orchestrator/doctor/limits.c orchestrator/doctor/limits.h \
    orchestrator/campaign/limits.c orchestrator/campaign/limits.h \
    orchestrator/doctor/limits_search.c orchestrator/doctor/limits_search.h \
    orchestrator/round/openloop.c orchestrator/round/openloop.h \
    $(plan_sources) orchestrator/plan/plan.h \
    orchestrator/campaign/plugin.c orchestrator/campaign/plugin.h orchestrator/round/plugin.c \
    orchestrator/plot/plot.c orchestrator/plot/plot.h orchestrator/plot/internal.h \
    orchestrator/plot/ceilings.c orchestrator/plot/fleet.c orchestrator/plot/heatmap.c orchestrator/plot/latency.c \
    orchestrator/plot/launch.c orchestrator/plot/panels.c orchestrator/plot/panels.h \
    orchestrator/plot/gpus.c orchestrator/plot/scaling.c \
    orchestrator/plot/phases.c orchestrator/plot/probe.c orchestrator/plot/probe_series.c \
    orchestrator/plot/rows.c orchestrator/plot/rows.h \
    orchestrator/plot/search.c \
    orchestrator/plot/series.c orchestrator/plot/series.h \
    orchestrator/plot/text.c orchestrator/plot/throughput.c \
    orchestrator/results/point_key.c orchestrator/results/point_key.h \
    orchestrator/results/point.c orchestrator/results/point.h \
    orchestrator/probe/arm.c orchestrator/probe/probe.c orchestrator/probe/probe.h \
    orchestrator/probe/internal.h orchestrator/probe/measure.c orchestrator/probe/progress.c \
    orchestrator/probe/record.c orchestrator/probe/table.c \
    orchestrator/console/progress.c orchestrator/console/progress.h \
    orchestrator/record/record.c orchestrator/record/record.h \
    orchestrator/record/time.c orchestrator/record/time.h \
    orchestrator/round/round.c orchestrator/round/round.h orchestrator/round/internal.h \
    orchestrator/round/proofs.c orchestrator/round/measure.c orchestrator/round/names.c orchestrator/round/program.c \
    orchestrator/plan/placeholders.h \
    orchestrator/crew/ports.c orchestrator/crew/ports.h \
    orchestrator/crew/program.c orchestrator/crew/program.h \
    orchestrator/campaign/saturation.c orchestrator/campaign/saturation.h \
    orchestrator/results/scaling.c orchestrator/results/scaling.h \
    orchestrator/session/session.c orchestrator/session/session.h \
    orchestrator/session/daemons.c \
    orchestrator/round/per_gpu.c orchestrator/round/per_gpu.h orchestrator/results/table_gpus.c \
    orchestrator/sweep/shard.c orchestrator/sweep/shard.h orchestrator/sweep/deal.c \
    orchestrator/results/number_ranges.c orchestrator/results/number_ranges.h \
    orchestrator/results/shares.c orchestrator/plan/shares.h \
    orchestrator/record/precision.c orchestrator/record/precision.h \
    orchestrator/sweep/sweep.c orchestrator/sweep/sweep.h orchestrator/campaign/campaign.h \
    orchestrator/slurm/internal.h orchestrator/slurm/slurm.h \
    orchestrator/slurm/collect.c orchestrator/slurm/jobs.c orchestrator/slurm/programs.c \
    orchestrator/slurm/run.c orchestrator/slurm/jobs.h \
    orchestrator/slurm/script.c orchestrator/slurm/shard.c orchestrator/slurm/status.c \
    orchestrator/slurm/submit.c orchestrator/slurm/sbatch_words.c \
    orchestrator/sweep/publish.c \
    orchestrator/sweep/print.c orchestrator/campaign/results_file.c orchestrator/campaign/workload.c \
    orchestrator/sweep/part.c \
    orchestrator/results/table.c orchestrator/results/table.h \
    orchestrator/session/telemetry.c orchestrator/session/telemetry.h \
    orchestrator/record/telemetry.c orchestrator/record/telemetry.h \
    orchestrator/session/telemetry_window.c orchestrator/session/telemetry_window.h \
    orchestrator/trace/trace.c orchestrator/trace/trace.h orchestrator/trace/internal.h \
    orchestrator/trace/demangle.c orchestrator/trace/demangle.h \
    orchestrator/trace/output.c orchestrator/trace/point.c \
    orchestrator/tune/tune.c orchestrator/tune/tune.h orchestrator/tune/internal.h \
    orchestrator/tune/measure.c orchestrator/tune/record.c orchestrator/tune/report.c \
    orchestrator/tune/candidates.c orchestrator/tune/space.c orchestrator/tune/space.h \
    orchestrator/tune/judge.c orchestrator/tune/near.c orchestrator/tune/search.c \
    orchestrator/tune/search.h orchestrator/tune/search_internal.h \
    orchestrator/plan/turns.c orchestrator/plan/turns.h \
    orchestrator/record/warnings.c orchestrator/record/warnings.h \
    orchestrator/round/window.c orchestrator/round/window.h \
    orchestrator/round/assign.c
mpsweep_LDADD = libtrace.a libexplain.a libbind.a libmps.a libprobe.a libprobes.a libkernels.a libemul.a libdevice.a libshm.a libcommon.a \
    $(HWLOC_LIBS) $(JANSSON_LIBS) $(INIH_LIBS)

# The manual pages are printed by the program, from the table that drives its command line.
man1_MANS = mpsweep.1 mpsweep-mps.1 mpsweep-tune.1 mpsweep-probe.1 mpsweep-trace.1 \
    mpsweep-merge.1 mpsweep-slurm.1
CLEANFILES += $(man1_MANS)
mpsweep.1: mpsweep$(EXEEXT)
	$(AM_V_GEN)./mpsweep$(EXEEXT) help --manual >$@.new && mv $@.new $@
mpsweep-mps.1: mpsweep$(EXEEXT)
	$(AM_V_GEN)./mpsweep$(EXEEXT) help --manual mps >$@.new && mv $@.new $@
mpsweep-tune.1: mpsweep$(EXEEXT)
	$(AM_V_GEN)./mpsweep$(EXEEXT) help --manual tune >$@.new && mv $@.new $@
mpsweep-probe.1: mpsweep$(EXEEXT)
	$(AM_V_GEN)./mpsweep$(EXEEXT) help --manual probe >$@.new && mv $@.new $@
mpsweep-trace.1: mpsweep$(EXEEXT)
	$(AM_V_GEN)./mpsweep$(EXEEXT) help --manual trace >$@.new && mv $@.new $@
mpsweep-merge.1: mpsweep$(EXEEXT)
	$(AM_V_GEN)./mpsweep$(EXEEXT) help --manual merge >$@.new && mv $@.new $@
mpsweep-slurm.1: mpsweep$(EXEEXT)
	$(AM_V_GEN)./mpsweep$(EXEEXT) help --manual slurm >$@.new && mv $@.new $@

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/campaign/test_bracket
TESTS += tests/unit/campaign/test_bracket
tests_unit_campaign_test_bracket_SOURCES = tests/unit/campaign/test_bracket.c orchestrator/campaign/bracket.c
tests_unit_campaign_test_bracket_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_campaign_test_bracket_LDADD = $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/explain/test_calibration
TESTS += tests/unit/explain/test_calibration
tests_unit_explain_test_calibration_SOURCES = tests/unit/explain/test_calibration.c \
    explain/calibration.c explain/calibration_json.c orchestrator/calibrate/points.c \
    $(plan_sources)
tests_unit_explain_test_calibration_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_explain_test_calibration_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(INIH_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/emit/test_quote
TESTS += tests/unit/emit/test_quote
tests_unit_emit_test_quote_SOURCES = tests/unit/emit/test_quote.c orchestrator/emit/quote.c
tests_unit_emit_test_quote_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emit_test_quote_LDADD = $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/results/test_scaling
TESTS += tests/unit/results/test_scaling
tests_unit_results_test_scaling_SOURCES = tests/unit/results/test_scaling.c orchestrator/results/scaling.c \
    orchestrator/results/point_key.c orchestrator/results/point.c \
    orchestrator/plan/shares.c orchestrator/results/shares.c
tests_unit_results_test_scaling_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_results_test_scaling_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/slurm/test_slurm
TESTS += tests/unit/slurm/test_slurm
tests_unit_slurm_test_slurm_SOURCES = tests/unit/slurm/test_slurm.c orchestrator/emit/quote.c \
    orchestrator/slurm/programs.c orchestrator/slurm/run.c orchestrator/slurm/sbatch_words.c
tests_unit_slurm_test_slurm_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_slurm_test_slurm_LDADD = libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/round/test_fixed
TESTS += tests/unit/round/test_fixed
tests_unit_round_test_fixed_SOURCES = tests/unit/round/test_fixed.c orchestrator/round/fixed.c
tests_unit_round_test_fixed_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_round_test_fixed_LDADD = libshm.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

telemetry_tests = tests/unit/session/test_telemetry tests/unit/session/test_telemetry_window
check_PROGRAMS += $(telemetry_tests)
TESTS += $(telemetry_tests)
tests_unit_session_test_telemetry_SOURCES = tests/unit/session/test_telemetry.c \
    orchestrator/session/telemetry.c orchestrator/session/telemetry_window.c
tests_unit_session_test_telemetry_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_session_test_telemetry_LDADD = libdevice.a libcommon.a $(CMOCKA_LIBS)
tests_unit_session_test_telemetry_window_SOURCES = tests/unit/session/test_telemetry_window.c \
    orchestrator/session/telemetry_window.c orchestrator/record/telemetry.c orchestrator/record/warnings.c \
    orchestrator/round/placement.c $(plan_sources)
tests_unit_session_test_telemetry_window_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_session_test_telemetry_window_LDADD = libbind.a libmps.a libdevice.a libcommon.a \
    $(HWLOC_LIBS) $(JANSSON_LIBS) $(INIH_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/session/test_mps_limits
TESTS += tests/unit/session/test_mps_limits
tests_unit_session_test_mps_limits_SOURCES = tests/unit/session/test_mps_limits.c \
    orchestrator/session/mps_limits.c orchestrator/session/mps_limits_file.c $(plan_sources)
tests_unit_session_test_mps_limits_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_session_test_mps_limits_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(INIH_LIBS) $(CMOCKA_LIBS)
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/round/test_window tests/unit/record/test_precision
TESTS += tests/unit/round/test_window tests/unit/record/test_precision
tests_unit_round_test_window_SOURCES = tests/unit/round/test_window.c $(series) orchestrator/round/window.c
tests_unit_round_test_window_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_round_test_window_LDADD = libshm.a libcommon.a $(CMOCKA_LIBS)

tests_unit_record_test_precision_SOURCES = tests/unit/record/test_precision.c \
    orchestrator/record/precision.c orchestrator/record/warnings.c
tests_unit_record_test_precision_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_record_test_precision_LDADD = libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)
endif

# The search, and what it is tried on: machines that are simulated.
tune_parts = orchestrator/tune/judge.c orchestrator/tune/near.c orchestrator/tune/candidates.c \
    orchestrator/tune/search.c orchestrator/tune/space.c orchestrator/calibrate/points.c \
    orchestrator/results/effect.c orchestrator/plan/turns.c $(plan_sources)
tune_simulated = $(tune_parts) tests/unit/tune/machine.c tests/unit/tune/machine.h
if HAVE_CMOCKA
tune_tests = tests/unit/tune/test_machines tests/unit/tune/test_search \
    tests/unit/tune/test_bounds tests/unit/tune/test_space
check_PROGRAMS += $(tune_tests)
TESTS += $(tune_tests)
tests_unit_tune_test_machines_SOURCES = tests/unit/tune/test_machines.c $(tune_simulated)
tests_unit_tune_test_machines_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tune_test_machines_LDADD = libexplain.a libmps.a libcommon.a $(JANSSON_LIBS) \
    $(INIH_LIBS) $(CMOCKA_LIBS) -lm
tune_rig = $(tune_parts) tests/unit/tune/rig.c tests/unit/tune/rig.h
tests_unit_tune_test_bounds_SOURCES = tests/unit/tune/test_bounds.c $(tune_rig)
tests_unit_tune_test_bounds_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tune_test_bounds_LDADD = libexplain.a libmps.a libcommon.a $(JANSSON_LIBS) \
    $(INIH_LIBS) $(CMOCKA_LIBS) -lm
tests_unit_tune_test_search_SOURCES = tests/unit/tune/test_search.c $(tune_rig)
tests_unit_tune_test_search_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tune_test_search_LDADD = libexplain.a libmps.a libcommon.a $(JANSSON_LIBS) \
    $(INIH_LIBS) $(CMOCKA_LIBS) -lm
tests_unit_tune_test_space_SOURCES = tests/unit/tune/test_space.c tests/unit/explain/h200.h $(plan_rig) \
    $(tune_parts)
tests_unit_tune_test_space_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tune_test_space_LDADD = libexplain.a libmps.a libcommon.a $(JANSSON_LIBS) \
    $(INIH_LIBS) $(CMOCKA_LIBS) -lm
endif
