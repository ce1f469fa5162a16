# Unit tests (cmocka) of the components that have no file of their own for them.
if HAVE_CMOCKA
small_tests = \
    tests/unit/common/test_process \
    tests/unit/statistics/test_histogram \
    tests/unit/statistics/test_statistics \
    tests/unit/statistics/test_interval \
    tests/unit/statistics/test_steady \
    tests/unit/job/test_options \
    tests/unit/job/test_jobfile \
    tests/unit/files/test_new_file \
    tests/unit/job/test_workload_text \
    tests/unit/results/test_effect \
    tests/unit/plan/test_plan \
    tests/unit/plan/test_shares \
    tests/unit/plan/test_turns \
    tests/unit/plan/test_gpus \
    tests/unit/doctor/test_doctor \
    tests/unit/shm/test_shm \
    tests/unit/files/test_results_write \
    tests/unit/mps/test_mps \
    tests/unit/mps/test_advice \
    tests/unit/mps/test_directory \
    tests/unit/mps/test_directory_at \
    tests/unit/mps/test_kept \
    tests/unit/mps/test_kept_peer \
    tests/unit/mps/test_settings \
    tests/unit/mps/test_state \
    tests/unit/mps/test_log \
    tests/unit/mps/test_reply \
    tests/unit/mps/test_reply_table
check_PROGRAMS += $(small_tests)
TESTS += $(small_tests)

tests_unit_common_test_process_SOURCES = tests/unit/common/test_process.c
tests_unit_common_test_process_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_common_test_process_LDADD = libcommon.a $(CMOCKA_LIBS)

series = tests/unit/statistics/series.c tests/unit/statistics/series.h
tests_unit_statistics_test_histogram_SOURCES = tests/unit/statistics/test_histogram.c $(series)
tests_unit_statistics_test_histogram_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_statistics_test_histogram_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_statistics_test_statistics_SOURCES = tests/unit/statistics/test_statistics.c
tests_unit_statistics_test_statistics_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_statistics_test_statistics_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_statistics_test_interval_SOURCES = tests/unit/statistics/test_interval.c $(series)
tests_unit_statistics_test_interval_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_statistics_test_interval_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_statistics_test_steady_SOURCES = tests/unit/statistics/test_steady.c $(series)
tests_unit_statistics_test_steady_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_statistics_test_steady_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_job_test_options_SOURCES = tests/unit/job/test_options.c
tests_unit_job_test_options_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_job_test_options_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_files_test_new_file_SOURCES = tests/unit/files/test_new_file.c
tests_unit_files_test_new_file_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_files_test_new_file_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=open
tests_unit_files_test_new_file_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_job_test_jobfile_SOURCES = tests/unit/job/test_jobfile.c
tests_unit_job_test_jobfile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_job_test_jobfile_LDADD = libcommon.a $(INIH_LIBS) $(CMOCKA_LIBS)

tests_unit_job_test_workload_text_SOURCES = tests/unit/job/test_workload_text.c
tests_unit_job_test_workload_text_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_job_test_workload_text_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_results_test_effect_SOURCES = tests/unit/results/test_effect.c orchestrator/results/effect.c
tests_unit_results_test_effect_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_results_test_effect_LDADD = libcommon.a -lm $(CMOCKA_LIBS)

plan_rig = tests/unit/plan/plan_rig.c tests/unit/plan/plan_rig.h
tests_unit_plan_test_plan_SOURCES = tests/unit/plan/test_plan.c $(plan_rig) $(plan_sources)
tests_unit_plan_test_plan_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_plan_LDADD = libmps.a libcommon.a $(INIH_LIBS) $(CMOCKA_LIBS)

tests_unit_plan_test_turns_SOURCES = tests/unit/plan/test_turns.c orchestrator/plan/turns.c $(plan_rig) $(plan_sources)
tests_unit_plan_test_turns_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_turns_LDADD = libmps.a libcommon.a $(INIH_LIBS) $(CMOCKA_LIBS)

tests_unit_plan_test_gpus_SOURCES = tests/unit/plan/test_gpus.c orchestrator/plan/turns.c $(plan_rig) \
    $(plan_sources) emul/model/visible.h emul/model/visible.c
tests_unit_plan_test_gpus_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_gpus_LDADD = libmps.a libcommon.a $(INIH_LIBS) $(CMOCKA_LIBS)

tests_unit_plan_test_shares_SOURCES = tests/unit/plan/test_shares.c orchestrator/plan/shares.c \
    orchestrator/results/shares.c
tests_unit_plan_test_shares_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_shares_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_doctor_test_doctor_SOURCES = \
    tests/unit/doctor/test_doctor.c tests/unit/tree.c tests/unit/tree.h \
    orchestrator/doctor/daemons.c orchestrator/doctor/machine.c orchestrator/doctor/report.c
tests_unit_doctor_test_doctor_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_doctor_test_doctor_LDADD = libmps.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_shm_test_shm_SOURCES = tests/unit/shm/test_shm.c
tests_unit_shm_test_shm_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_shm_test_shm_LDADD = libshm.a libcommon.a $(CMOCKA_LIBS)

tests_unit_files_test_results_write_SOURCES = tests/unit/files/test_results_write.c
tests_unit_files_test_results_write_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_files_test_results_write_LDADD = libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

mps_harness = tests/unit/mps/harness.c tests/unit/mps/harness.h
tests_unit_mps_test_mps_SOURCES = tests/unit/mps/test_mps.c $(mps_harness)
tests_unit_mps_test_mps_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mps_test_mps_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_mps_test_advice_SOURCES = tests/unit/mps/test_advice.c
tests_unit_mps_test_advice_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mps_test_advice_LDADD = libmps.a $(CMOCKA_LIBS)

tests_unit_mps_test_directory_SOURCES = tests/unit/mps/test_directory.c $(mps_harness)
tests_unit_mps_test_directory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mps_test_directory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=openat
tests_unit_mps_test_directory_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_mps_test_directory_at_SOURCES = tests/unit/mps/test_directory_at.c $(mps_harness)
tests_unit_mps_test_directory_at_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mps_test_directory_at_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_mps_test_kept_SOURCES = tests/unit/mps/test_kept.c $(mps_harness) $(emul_mps_harness)
tests_unit_mps_test_kept_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mps_test_kept_LDADD = libmps.a libprobe.a libemul.a libcommon.a $(JANSSON_LIBS) \
    $(CMOCKA_LIBS)

tests_unit_mps_test_kept_peer_SOURCES = tests/unit/mps/test_kept_peer.c $(mps_harness)
tests_unit_mps_test_kept_peer_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mps_test_kept_peer_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) \
    $(CMOCKA_LIBS)

tests_unit_mps_test_settings_SOURCES = tests/unit/mps/test_settings.c $(mps_harness)
tests_unit_mps_test_settings_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mps_test_settings_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_mps_test_state_SOURCES = tests/unit/mps/test_state.c $(mps_harness)
tests_unit_mps_test_state_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mps_test_state_LDADD = libmps.a libprobe.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_mps_test_log_SOURCES = tests/unit/mps/test_log.c
tests_unit_mps_test_log_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mps_test_log_LDADD = libmps.a libcommon.a $(CMOCKA_LIBS)

tests_unit_mps_test_reply_SOURCES = tests/unit/mps/test_reply.c
tests_unit_mps_test_reply_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mps_test_reply_LDADD = libmps.a libcommon.a $(CMOCKA_LIBS)

tests_unit_mps_test_reply_table_SOURCES = tests/unit/mps/test_reply_table.c
tests_unit_mps_test_reply_table_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mps_test_reply_table_LDADD = libmps.a libcommon.a $(CMOCKA_LIBS)
endif
