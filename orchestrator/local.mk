# The plan of a job: for whoever makes points.
plan_sources = orchestrator/plan.c orchestrator/device_choice.c orchestrator/device_choice.h \
    orchestrator/plan_described.c orchestrator/plan_program.c \
    orchestrator/plan_workload.c orchestrator/placeholders.c orchestrator/shares.c

# Merging without output, for tests, too.
merge_sources = orchestrator/merge_check.c orchestrator/merge_choose.c \
    orchestrator/merge_fleet.c orchestrator/merge_fleet.h \
    orchestrator/merge_gpus.c orchestrator/merge_gpus.h \
    orchestrator/merge_judge.c orchestrator/merge_read.c orchestrator/merge_record.c

bin_PROGRAMS += mpsweep
mpsweep_SOURCES = \
    orchestrator/main.c orchestrator/exit_status.h \
    orchestrator/bracket.c orchestrator/bracket.h \
    orchestrator/calibrate.c orchestrator/calibrate.h orchestrator/calibrate_parts.c \
    orchestrator/calibrate_points.c orchestrator/calibrate_points.h \
    orchestrator/calibrate_plan.c orchestrator/calibrate_plan.h \
    orchestrator/cause.c \
    orchestrator/children.c orchestrator/children.h \
    orchestrator/cores.c orchestrator/cores.h orchestrator/numa.c orchestrator/numa.h \
    orchestrator/collect.c \
    orchestrator/compare.c orchestrator/compare.h orchestrator/compare_plot.c \
    orchestrator/compare_effect.c orchestrator/compare_effect.h \
    orchestrator/compare_match.c orchestrator/compare_match.h orchestrator/compare_print.c \
    orchestrator/crew.c orchestrator/crew.h \
    orchestrator/described.c orchestrator/described.h \
    orchestrator/described_lengths.c orchestrator/described_record.c \
    orchestrator/doctor.c orchestrator/doctor.h \
    orchestrator/environment.c orchestrator/environment.h \
    orchestrator/estimate.c orchestrator/estimate.h \
    orchestrator/doctor_daemons.c orchestrator/doctor_daemons.h \
    orchestrator/doctor_gpu.c orchestrator/doctor_gpu.h \
    orchestrator/doctor_machine.c orchestrator/doctor_machine.h \
    orchestrator/doctor_mps.c orchestrator/doctor_mps.h \
    orchestrator/doctor_report.c orchestrator/doctor_report.h \
    orchestrator/emit.c orchestrator/emit.h \
    orchestrator/emit_command.c orchestrator/emit_command.h \
    orchestrator/emit_compose.c \
    orchestrator/emit_container.c orchestrator/emit_container.h \
    orchestrator/emit_deployment.c orchestrator/emit_deployment.h \
    orchestrator/emit_env.c orchestrator/emit_format.h \
    orchestrator/emit_json.c orchestrator/emit_kubernetes.c \
    orchestrator/emit_output.c orchestrator/emit_output.h \
    orchestrator/emit_readme.c orchestrator/emit_slurm.c orchestrator/emit_systemd.c \
    orchestrator/emit_text.c orchestrator/emit_text.h \
    orchestrator/explain.c orchestrator/explain.h \
    orchestrator/explain_command.c orchestrator/explain_command.h \
    orchestrator/explain_gpus.c orchestrator/explain_json.c \
    orchestrator/explain_origin.c orchestrator/explain_origin.h \
    orchestrator/explain_point.c orchestrator/explain_point.h \
    orchestrator/explain_text.c \
    orchestrator/explain_verify.c orchestrator/explain_verify.h \
    orchestrator/fixed.c orchestrator/fixed.h \
    orchestrator/help.c orchestrator/help.h \
    orchestrator/merge.c orchestrator/merge.h orchestrator/merge_internal.h \
    $(merge_sources) \
    orchestrator/merge_print.c orchestrator/merge_print.h orchestrator/merge_print_fleet.c \
    orchestrator/merge_write.c \
    orchestrator/mps_command.c orchestrator/mps_command.h \
    orchestrator/mps_run.c orchestrator/mps_status.c \
    orchestrator/limits.c orchestrator/limits.h orchestrator/limits_file.c \
    orchestrator/limits_command.c orchestrator/limits_command.h \
    orchestrator/limits_plan.c orchestrator/limits_plan.h \
    orchestrator/limits_search.c orchestrator/limits_search.h \
    orchestrator/openloop.c orchestrator/openloop.h \
    $(plan_sources) orchestrator/plan.h \
    orchestrator/plugin.c orchestrator/plugin.h orchestrator/plugin_round.c \
    orchestrator/plot.c orchestrator/plot.h orchestrator/plot_figure.h \
    orchestrator/plot_ceilings.c orchestrator/plot_fleet.c orchestrator/plot_heatmap.c orchestrator/plot_latency.c \
    orchestrator/plot_launch.c orchestrator/plot_panels.c orchestrator/plot_panels.h \
    orchestrator/plot_gpus.c orchestrator/plot_scaling.c \
    orchestrator/plot_phases.c orchestrator/plot_probe.c orchestrator/plot_probe_series.c \
    orchestrator/plot_rows.c orchestrator/plot_rows.h \
    orchestrator/plot_search.c \
    orchestrator/plot_series.c orchestrator/plot_series.h \
    orchestrator/plot_text.c orchestrator/plot_throughput.c \
    orchestrator/point_key.c orchestrator/point_key.h \
    orchestrator/point_text.c orchestrator/point_text.h \
    orchestrator/probe_arm.c orchestrator/probe_command.c orchestrator/probe_command.h \
    orchestrator/probe_internal.h orchestrator/probe_measure.c orchestrator/probe_progress.c \
    orchestrator/probe_record.c orchestrator/probe_table.c \
    orchestrator/progress.c orchestrator/progress.h \
    orchestrator/record.c orchestrator/record.h \
    orchestrator/record_time.c orchestrator/record_time.h \
    orchestrator/round.c orchestrator/round.h orchestrator/round_internal.h \
    orchestrator/round_proofs.c orchestrator/round_window.c orchestrator/round_names.c orchestrator/round_program.c \
    orchestrator/placeholders.h \
    orchestrator/ports.c orchestrator/ports.h \
    orchestrator/program.c orchestrator/program.h \
    orchestrator/saturation.c orchestrator/saturation.h \
    orchestrator/scaling.c orchestrator/scaling.h \
    orchestrator/session.c orchestrator/session.h \
    orchestrator/daemons.c \
    orchestrator/per_gpu.c orchestrator/per_gpu.h orchestrator/per_gpu_table.c \
    orchestrator/shard.c orchestrator/shard.h orchestrator/shard_deal.c \
    orchestrator/shard_ranges.c orchestrator/shard_ranges.h \
    orchestrator/shares_json.c orchestrator/shares.h \
    orchestrator/sureness.c orchestrator/sureness.h \
    orchestrator/sweep.c orchestrator/sweep.h orchestrator/sweep_internal.h \
    orchestrator/slurm.h orchestrator/slurm_command.h \
    orchestrator/slurm_collect.c orchestrator/slurm_jobs.c orchestrator/slurm_programs.c \
    orchestrator/slurm_run.c orchestrator/slurm_submit.h \
    orchestrator/slurm_script.c orchestrator/slurm_shard.c orchestrator/slurm_status.c \
    orchestrator/slurm_submit.c orchestrator/slurm_words.c \
    orchestrator/sweep_publish.c \
    orchestrator/sweep_plan.c orchestrator/sweep_results.c orchestrator/sweep_workload.c \
    orchestrator/sweep_shard.c \
    orchestrator/table.c orchestrator/table.h \
    orchestrator/telemetry.c orchestrator/telemetry.h \
    orchestrator/telemetry_record.c orchestrator/telemetry_record.h \
    orchestrator/telemetry_window.c orchestrator/telemetry_window.h \
    orchestrator/trace_command.c orchestrator/trace_command.h orchestrator/trace_internal.h \
    orchestrator/trace_names.c orchestrator/trace_names.h \
    orchestrator/trace_output.c orchestrator/trace_point.c \
    orchestrator/tune.c orchestrator/tune.h orchestrator/tune_internal.h \
    orchestrator/tune_measure.c orchestrator/tune_record.c orchestrator/tune_report.c \
    orchestrator/tune_rank.c orchestrator/tune_space.c orchestrator/tune_space.h \
    orchestrator/tune_judge.c orchestrator/tune_near.c orchestrator/tune_search.c \
    orchestrator/tune_search.h orchestrator/tune_search_internal.h \
    orchestrator/turns.c orchestrator/turns.h \
    orchestrator/warnings.c orchestrator/warnings.h \
    orchestrator/window.c orchestrator/window.h \
    orchestrator/workers.c
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
check_PROGRAMS += tests/unit/test_bracket
TESTS += tests/unit/test_bracket
tests_unit_test_bracket_SOURCES = tests/unit/test_bracket.c orchestrator/bracket.c
tests_unit_test_bracket_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_bracket_LDADD = $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_calibration
TESTS += tests/unit/test_calibration
tests_unit_test_calibration_SOURCES = tests/unit/test_calibration.c \
    explain/calibration.c explain/calibration_json.c orchestrator/calibrate_points.c \
    $(plan_sources)
tests_unit_test_calibration_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_calibration_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(INIH_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_emit_text
TESTS += tests/unit/test_emit_text
tests_unit_test_emit_text_SOURCES = tests/unit/test_emit_text.c orchestrator/emit_text.c
tests_unit_test_emit_text_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emit_text_LDADD = $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_scaling
TESTS += tests/unit/test_scaling
tests_unit_test_scaling_SOURCES = tests/unit/test_scaling.c orchestrator/scaling.c \
    orchestrator/point_key.c orchestrator/point_text.c \
    orchestrator/shares.c orchestrator/shares_json.c
tests_unit_test_scaling_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_scaling_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_slurm
TESTS += tests/unit/test_slurm
tests_unit_test_slurm_SOURCES = tests/unit/test_slurm.c orchestrator/emit_text.c \
    orchestrator/slurm_programs.c orchestrator/slurm_run.c orchestrator/slurm_words.c
tests_unit_test_slurm_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_slurm_LDADD = libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_fixed
TESTS += tests/unit/test_fixed
tests_unit_test_fixed_SOURCES = tests/unit/test_fixed.c orchestrator/fixed.c
tests_unit_test_fixed_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_fixed_LDADD = libshm.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

telemetry_tests = tests/unit/test_telemetry tests/unit/test_telemetry_window
check_PROGRAMS += $(telemetry_tests)
TESTS += $(telemetry_tests)
tests_unit_test_telemetry_SOURCES = tests/unit/test_telemetry.c \
    orchestrator/telemetry.c orchestrator/telemetry_window.c
tests_unit_test_telemetry_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_telemetry_LDADD = libdevice.a libcommon.a $(CMOCKA_LIBS)
tests_unit_test_telemetry_window_SOURCES = tests/unit/test_telemetry_window.c \
    orchestrator/telemetry_window.c orchestrator/telemetry_record.c orchestrator/warnings.c \
    orchestrator/cores.c $(plan_sources)
tests_unit_test_telemetry_window_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_telemetry_window_LDADD = libbind.a libmps.a libdevice.a libcommon.a \
    $(HWLOC_LIBS) $(JANSSON_LIBS) $(INIH_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_limits
TESTS += tests/unit/test_limits
tests_unit_test_limits_SOURCES = tests/unit/test_limits.c \
    orchestrator/limits.c orchestrator/limits_file.c $(plan_sources)
tests_unit_test_limits_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_limits_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(INIH_LIBS) $(CMOCKA_LIBS)
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_window tests/unit/test_sureness
TESTS += tests/unit/test_window tests/unit/test_sureness
tests_unit_test_window_SOURCES = tests/unit/test_window.c $(series) orchestrator/window.c
tests_unit_test_window_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_window_LDADD = libshm.a libcommon.a $(CMOCKA_LIBS)

tests_unit_test_sureness_SOURCES = tests/unit/test_sureness.c \
    orchestrator/sureness.c orchestrator/warnings.c
tests_unit_test_sureness_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_sureness_LDADD = libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)
endif

# The search, and what it is tried on: machines that are simulated.
tune_parts = orchestrator/tune_judge.c orchestrator/tune_near.c orchestrator/tune_rank.c \
    orchestrator/tune_search.c orchestrator/tune_space.c orchestrator/calibrate_points.c \
    orchestrator/compare_effect.c orchestrator/turns.c $(plan_sources)
tune_simulated = $(tune_parts) tests/unit/tune_machine.c tests/unit/tune_machine.h
if HAVE_CMOCKA
tune_tests = tests/unit/test_tune_machines tests/unit/test_tune_search \
    tests/unit/test_tune_bounds tests/unit/test_tune_space
check_PROGRAMS += $(tune_tests)
TESTS += $(tune_tests)
tests_unit_test_tune_machines_SOURCES = tests/unit/test_tune_machines.c $(tune_simulated)
tests_unit_test_tune_machines_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_tune_machines_LDADD = libexplain.a libmps.a libcommon.a $(JANSSON_LIBS) \
    $(INIH_LIBS) $(CMOCKA_LIBS) -lm
tune_rig = $(tune_parts) tests/unit/tune_rig.c tests/unit/tune_rig.h
tests_unit_test_tune_bounds_SOURCES = tests/unit/test_tune_bounds.c $(tune_rig)
tests_unit_test_tune_bounds_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_tune_bounds_LDADD = libexplain.a libmps.a libcommon.a $(JANSSON_LIBS) \
    $(INIH_LIBS) $(CMOCKA_LIBS) -lm
tests_unit_test_tune_search_SOURCES = tests/unit/test_tune_search.c $(tune_rig)
tests_unit_test_tune_search_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_tune_search_LDADD = libexplain.a libmps.a libcommon.a $(JANSSON_LIBS) \
    $(INIH_LIBS) $(CMOCKA_LIBS) -lm
tests_unit_test_tune_space_SOURCES = tests/unit/test_tune_space.c tests/unit/h200.h $(plan_rig) \
    $(tune_parts)
tests_unit_test_tune_space_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_tune_space_LDADD = libexplain.a libmps.a libcommon.a $(JANSSON_LIBS) \
    $(INIH_LIBS) $(CMOCKA_LIBS) -lm
endif
