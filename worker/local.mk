# What reads a probe's answer: for whoever starts one.
noinst_LIBRARIES += libprobe.a
libprobe_a_SOURCES = worker/probe_check.c worker/probe.h

pkglibexec_PROGRAMS += mpsweep-worker
mpsweep_worker_SOURCES = \
    worker/main.c \
    worker/bind.c \
    worker/context.c worker/context.h \
    worker/probe.c worker/probe.h \
    worker/process.c worker/process.h \
    worker/life.c \
    worker/program.c worker/program.h \
    worker/words.c worker/words.h \
    worker/pace.c worker/pace.h \
    worker/engine.c worker/engine.h \
    worker/iteration.c worker/iteration.h \
    worker/record.c worker/record.h \
    worker/cpu.c worker/cpu.h \
    worker/sampling.c worker/sampling.h
mpsweep_worker_LDADD = libprobe.a libkernels.a libdevice.a libshm.a libcommon.a

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_pace
TESTS += tests/unit/test_pace
tests_unit_test_pace_SOURCES = tests/unit/test_pace.c worker/pace.c
tests_unit_test_pace_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_pace_LDADD = libshm.a libcommon.a $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/test_probe tests/unit/test_record tests/unit/test_worker_bind
TESTS += tests/unit/test_probe tests/unit/test_record tests/unit/test_worker_bind
tests_unit_test_worker_bind_SOURCES = tests/unit/test_worker_bind.c worker/bind.c
tests_unit_test_worker_bind_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_worker_bind_LDADD = $(CMOCKA_LIBS)
tests_unit_test_probe_SOURCES = tests/unit/test_probe.c
tests_unit_test_probe_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_probe_LDADD = libprobe.a libcommon.a $(CMOCKA_LIBS)
tests_unit_test_record_SOURCES = tests/unit/test_record.c \
    worker/cpu.c worker/record.c worker/sampling.c
tests_unit_test_record_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_record_LDADD = libshm.a libcommon.a $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_iteration_copies
TESTS += tests/unit/test_iteration_copies
tests_unit_test_iteration_copies_SOURCES = tests/unit/test_iteration_copies.c worker/iteration.c \
    worker/sampling.c
tests_unit_test_iteration_copies_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_iteration_copies_LDADD = libdevice.a libcommon.a $(CMOCKA_LIBS)
endif
