# The interference experiments: a row and the functions of its arms in a file each, the program that
# runs one arm, and what makes a verdict of the samples. The command line reads the rows.

noinst_LIBRARIES += libprobes.a
libprobes_a_SOURCES = \
    probes/probe.h probes/rows.h probes/registry.c \
    probes/run.c probes/shm.c probes/shm.h \
    probes/series.c probes/series.h \
    probes/verdict.c probes/verdict.h \
    probes/watchdog.c probes/watchdog.h \
    probes/copier.c probes/copier.h \
    probes/waiting_copy.c probes/waiting_copy.h \
    probes/copy_block.c probes/launch_delay.c probes/lazy_load.c \
    probes/holder.c probes/holder.h \
    probes/staging.c probes/staging.h \
    probes/told.c probes/told.h \
    probes/context_admission.c probes/launch_contention.c probes/peer_stall.c \
    worker/context.c worker/context.h
# What the arms call.
probes_libraries = libprobes.a libkernels.a libdevice.a

pkglibexec_PROGRAMS += mpsweep-probe
mpsweep_probe_SOURCES = probes/main.c
mpsweep_probe_LDADD = $(probes_libraries) libcommon.a -lm

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_verdict tests/unit/test_probes
TESTS += tests/unit/test_verdict tests/unit/test_probes
tests_unit_test_verdict_SOURCES = tests/unit/test_verdict.c
tests_unit_test_verdict_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_verdict_LDADD = libprobes.a libcommon.a $(CMOCKA_LIBS) -lm
tests_unit_test_probes_SOURCES = tests/unit/test_probes.c
tests_unit_test_probes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_probes_LDADD = $(probes_libraries) libcommon.a $(CMOCKA_LIBS) -lm
check_PROGRAMS += tests/unit/test_probe_series
TESTS += tests/unit/test_probe_series
tests_unit_test_probe_series_SOURCES = tests/unit/test_probe_series.c
tests_unit_test_probe_series_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_probe_series_LDADD = libprobes.a libcommon.a $(CMOCKA_LIBS) -lm
check_PROGRAMS += tests/unit/test_told
TESTS += tests/unit/test_told
tests_unit_test_told_SOURCES = tests/unit/test_told.c
tests_unit_test_told_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_told_LDADD = $(probes_libraries) libcommon.a $(CMOCKA_LIBS) -lm
endif
