# Unit tests (cmocka) of the components that have no file of their own for them.
if HAVE_CMOCKA
small_tests = \
    tests/unit/test_process \
    tests/unit/test_histogram \
    tests/unit/test_statistics \
    tests/unit/test_interval \
    tests/unit/test_steady \
    tests/unit/test_options \
    tests/unit/test_jobfile \
    tests/unit/test_new_file \
    tests/unit/test_workload_text \
    tests/unit/test_compare \
    tests/unit/test_plan \
    tests/unit/test_shares \
    tests/unit/test_turns \
    tests/unit/test_gpus \
    tests/unit/test_doctor \
    tests/unit/test_shm \
    tests/unit/test_results_write \
    tests/unit/test_mps \
    tests/unit/test_mps_advice \
    tests/unit/test_mps_directory \
    tests/unit/test_mps_directory_at \
    tests/unit/test_mps_kept \
    tests/unit/test_mps_kept_peer \
    tests/unit/test_mps_settings \
    tests/unit/test_mps_state \
    tests/unit/test_mps_log \
    tests/unit/test_mps_reply \
    tests/unit/test_mps_reply_table
check_PROGRAMS += $(small_tests)
TESTS += $(small_tests)

tests_unit_test_process_SOURCES = tests/unit/test_process.c
tests_unit_test_process_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_process_LDADD = libcommon.a $(CMOCKA_LIBS)

series = tests/unit/series.c tests/unit/series.h
tests_unit_test_histogram_SOURCES = tests/unit/test_histogram.c $(series)
tests_unit_test_histogram_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_histogram_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_test_statistics_SOURCES = tests/unit/test_statistics.c
tests_unit_test_statistics_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_statistics_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_test_interval_SOURCES = tests/unit/test_interval.c $(series)
tests_unit_test_interval_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_interval_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_test_steady_SOURCES = tests/unit/test_steady.c $(series)
tests_unit_test_steady_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_steady_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_test_options_SOURCES = tests/unit/test_options.c
tests_unit_test_options_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_options_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_test_new_file_SOURCES = tests/unit/test_new_file.c
tests_unit_test_new_file_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_new_file_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=open
tests_unit_test_new_file_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_test_jobfile_SOURCES = tests/unit/test_jobfile.c
tests_unit_test_jobfile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_jobfile_LDADD = libcommon.a $(INIH_LIBS) $(CMOCKA_LIBS)

tests_unit_test_workload_text_SOURCES = tests/unit/test_workload_text.c
tests_unit_test_workload_text_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_workload_text_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_test_compare_SOURCES = tests/unit/test_compare.c orchestrator/results/effect.c
tests_unit_test_compare_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_compare_LDADD = libcommon.a -lm $(CMOCKA_LIBS)

plan_rig = tests/unit/plan_rig.c tests/unit/plan_rig.h
tests_unit_test_plan_SOURCES = tests/unit/test_plan.c $(plan_rig) $(plan_sources)
tests_unit_test_plan_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_plan_LDADD = libmps.a libcommon.a $(INIH_LIBS) $(CMOCKA_LIBS)

tests_unit_test_turns_SOURCES = tests/unit/test_turns.c orchestrator/plan/turns.c $(plan_rig) $(plan_sources)
tests_unit_test_turns_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_turns_LDADD = libmps.a libcommon.a $(INIH_LIBS) $(CMOCKA_LIBS)

tests_unit_test_gpus_SOURCES = tests/unit/test_gpus.c orchestrator/plan/turns.c $(plan_rig) \
    $(plan_sources) emul/model/visible.h emul/model/visible.c
tests_unit_test_gpus_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_gpus_LDADD = libmps.a libcommon.a $(INIH_LIBS) $(CMOCKA_LIBS)

tests_unit_test_shares_SOURCES = tests/unit/test_shares.c orchestrator/plan/shares.c \
    orchestrator/results/shares.c
tests_unit_test_shares_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_shares_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_test_doctor_SOURCES = \
    tests/unit/test_doctor.c tests/unit/tree.c tests/unit/tree.h \
    orchestrator/doctor/daemons.c orchestrator/doctor/machine.c orchestrator/doctor/report.c
tests_unit_test_doctor_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_doctor_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_test_shm_SOURCES = tests/unit/test_shm.c
tests_unit_test_shm_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_shm_LDADD = libshm.a libcommon.a $(CMOCKA_LIBS)

tests_unit_test_results_write_SOURCES = tests/unit/test_results_write.c
tests_unit_test_results_write_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_results_write_LDADD = libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

mps_harness = tests/unit/mps_harness.c tests/unit/mps_harness.h
tests_unit_test_mps_SOURCES = tests/unit/test_mps.c $(mps_harness)
tests_unit_test_mps_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mps_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_test_mps_advice_SOURCES = tests/unit/test_mps_advice.c
tests_unit_test_mps_advice_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mps_advice_LDADD = libmps.a $(CMOCKA_LIBS)

tests_unit_test_mps_directory_SOURCES = tests/unit/test_mps_directory.c $(mps_harness)
tests_unit_test_mps_directory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mps_directory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=openat
tests_unit_test_mps_directory_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_test_mps_directory_at_SOURCES = tests/unit/test_mps_directory_at.c $(mps_harness)
tests_unit_test_mps_directory_at_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mps_directory_at_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_test_mps_kept_SOURCES = tests/unit/test_mps_kept.c $(mps_harness) $(emul_mps_harness)
tests_unit_test_mps_kept_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mps_kept_LDADD = libmps.a libprobe.a libemul.a libcommon.a $(JANSSON_LIBS) \
    $(CMOCKA_LIBS)

tests_unit_test_mps_kept_peer_SOURCES = tests/unit/test_mps_kept_peer.c $(mps_harness)
tests_unit_test_mps_kept_peer_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mps_kept_peer_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) \
    $(CMOCKA_LIBS)

tests_unit_test_mps_settings_SOURCES = tests/unit/test_mps_settings.c $(mps_harness)
tests_unit_test_mps_settings_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mps_settings_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_test_mps_state_SOURCES = tests/unit/test_mps_state.c $(mps_harness)
tests_unit_test_mps_state_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mps_state_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_test_mps_log_SOURCES = tests/unit/test_mps_log.c
tests_unit_test_mps_log_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mps_log_LDADD = libmps.a libcommon.a $(CMOCKA_LIBS)

tests_unit_test_mps_reply_SOURCES = tests/unit/test_mps_reply.c
tests_unit_test_mps_reply_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mps_reply_LDADD = libmps.a libcommon.a $(CMOCKA_LIBS)

tests_unit_test_mps_reply_table_SOURCES = tests/unit/test_mps_reply_table.c
tests_unit_test_mps_reply_table_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_mps_reply_table_LDADD = libmps.a libcommon.a $(CMOCKA_LIBS)
endif
