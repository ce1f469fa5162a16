bin_PROGRAMS += mpsweep
mpsweep_SOURCES = \
    orchestrator/main.c orchestrator/exit_status.h \
    orchestrator/calibrate.c orchestrator/calibrate.h \
    orchestrator/calibrate_points.c orchestrator/calibrate_points.h \
    orchestrator/calibrate_plan.c orchestrator/calibrate_plan.h \
    orchestrator/cause.c \
    orchestrator/children.c orchestrator/children.h \
    orchestrator/collect.c \
    orchestrator/doctor.c orchestrator/doctor.h \
    orchestrator/environment.c orchestrator/environment.h \
    orchestrator/doctor_daemons.c orchestrator/doctor_daemons.h \
    orchestrator/doctor_gpu.c orchestrator/doctor_gpu.h \
    orchestrator/doctor_machine.c orchestrator/doctor_machine.h \
    orchestrator/doctor_mps.c orchestrator/doctor_mps.h \
    orchestrator/doctor_report.c orchestrator/doctor_report.h \
    orchestrator/explain.c orchestrator/explain.h \
    orchestrator/explain_command.c orchestrator/explain_command.h \
    orchestrator/explain_json.c \
    orchestrator/explain_point.c orchestrator/explain_point.h \
    orchestrator/explain_text.c \
    orchestrator/explain_verify.c orchestrator/explain_verify.h \
    orchestrator/help.c orchestrator/help.h \
    orchestrator/mps_command.c orchestrator/mps_command.h \
    orchestrator/mps_run.c orchestrator/mps_status.c \
    orchestrator/limits.c orchestrator/limits.h orchestrator/limits_file.c \
    orchestrator/limits_command.c orchestrator/limits_command.h \
    orchestrator/limits_plan.c orchestrator/limits_plan.h \
    orchestrator/limits_search.c orchestrator/limits_search.h \
    orchestrator/plan.c orchestrator/plan.h \
    orchestrator/plot.c orchestrator/plot.h orchestrator/plot_figure.h \
    orchestrator/plot_text.c orchestrator/plot_throughput.c \
    orchestrator/progress.c orchestrator/progress.h \
    orchestrator/record.c orchestrator/record.h \
    orchestrator/round.c orchestrator/round.h orchestrator/round_internal.h \
    orchestrator/session.c orchestrator/session.h \
    orchestrator/shares.c orchestrator/shares_json.c orchestrator/shares.h \
    orchestrator/sweep.c orchestrator/sweep.h \
    orchestrator/table.c orchestrator/table.h \
    orchestrator/workers.c
mpsweep_LDADD = libexplain.a libbind.a libmps.a libprobe.a libemul.a libdevice.a libshm.a libcommon.a \
    $(HWLOC_LIBS) $(JANSSON_LIBS) $(INIH_LIBS)

# The manual pages are printed by the program, from the table that drives its command line.
man1_MANS = mpsweep.1 mpsweep-mps.1
CLEANFILES += $(man1_MANS)
mpsweep.1: mpsweep$(EXEEXT)
	$(AM_V_GEN)./mpsweep$(EXEEXT) help --manual >$@.new && mv $@.new $@
mpsweep-mps.1: mpsweep$(EXEEXT)
	$(AM_V_GEN)./mpsweep$(EXEEXT) help --manual mps >$@.new && mv $@.new $@

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_calibration tests/unit/test_limits
TESTS += tests/unit/test_calibration tests/unit/test_limits
tests_unit_test_calibration_SOURCES = tests/unit/test_calibration.c \
    explain/calibration_json.c orchestrator/calibrate_points.c orchestrator/plan.c \
    orchestrator/shares.c
tests_unit_test_calibration_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_calibration_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(INIH_LIBS) $(CMOCKA_LIBS)

tests_unit_test_limits_SOURCES = tests/unit/test_limits.c \
    orchestrator/limits.c orchestrator/limits_file.c orchestrator/plan.c \
    orchestrator/shares.c
tests_unit_test_limits_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_limits_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(INIH_LIBS) $(CMOCKA_LIBS)
endif
