# The interference experiments: a row and the functions of its arms in a file each, the program that
# runs one arm, and what makes a verdict of the samples. The command line reads the rows.

noinst_LIBRARIES += libprobes.a
libprobes_a_SOURCES = \
    probes/probe.h probes/rows.h probes/registry.c \
    probes/run.c probes/shm.c probes/shm.h \
    probes/series.c probes/series.h \
    probes/verdict.c probes/verdict.h \
    probes/experiments/watchdog.c probes/experiments/watchdog.h \
    probes/experiments/copier.c probes/experiments/copier.h \
    probes/experiments/waiting_copy.c probes/experiments/waiting_copy.h \
    probes/experiments/copy_block.c probes/experiments/launch_delay.c probes/experiments/lazy_load.c \
    probes/experiments/holder.c probes/experiments/holder.h \
    probes/experiments/staging.c probes/experiments/staging.h \
    probes/told.c probes/told.h \
    probes/experiments/context_admission.c probes/experiments/launch_contention.c probes/experiments/peer_stall.c \
    device/context.c device/context.h
# What the arms call.
probes_libraries = libprobes.a libkernels.a libdevice.a

pkglibexec_PROGRAMS += mpsweep-probe
mpsweep_probe_SOURCES = probes/main.c
mpsweep_probe_LDADD = $(probes_libraries) libcommon.a -lm

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/probes/test_verdict tests/unit/probes/test_probes
TESTS += tests/unit/probes/test_verdict tests/unit/probes/test_probes
tests_unit_probes_test_verdict_SOURCES = tests/unit/probes/test_verdict.c
tests_unit_probes_test_verdict_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_probes_test_verdict_LDADD = libprobes.a libcommon.a $(CMOCKA_LIBS) -lm
tests_unit_probes_test_probes_SOURCES = tests/unit/probes/test_probes.c
tests_unit_probes_test_probes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_probes_test_probes_LDADD = $(probes_libraries) libcommon.a $(CMOCKA_LIBS) -lm
check_PROGRAMS += tests/unit/probes/test_series
TESTS += tests/unit/probes/test_series
tests_unit_probes_test_series_SOURCES = tests/unit/probes/test_series.c
tests_unit_probes_test_series_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_probes_test_series_LDADD = libprobes.a libcommon.a $(CMOCKA_LIBS) -lm
check_PROGRAMS += tests/unit/probes/test_told
TESTS += tests/unit/probes/test_told
tests_unit_probes_test_told_SOURCES = tests/unit/probes/test_told.c
tests_unit_probes_test_told_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_probes_test_told_LDADD = $(probes_libraries) libcommon.a $(CMOCKA_LIBS) -lm
endif
