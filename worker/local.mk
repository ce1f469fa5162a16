# What reads the answer of a probe, or about a plug-in: for whoever asks.
noinst_LIBRARIES += libprobe.a
libprobe_a_SOURCES = worker/probe_check.c worker/probe.h \
    worker/plugin_answer_check.c worker/plugin_answer.h

# What a plug-in is built with.
pkginclude_HEADERS += include/mpsweep/workload.h

pkglibexec_PROGRAMS += mpsweep-worker
mpsweep_worker_SOURCES = \
    worker/main.c \
    worker/bind.c \
    worker/context.c worker/context.h \
    worker/probe.c worker/probe.h \
    worker/process.c worker/process.h \
    worker/life.c \
    worker/memory.c worker/memory.h \
    worker/timeline.c worker/timeline.h \
    worker/program.c worker/program.h \
    worker/words.c worker/words.h \
    worker/pace.c worker/pace.h \
    worker/engine.c worker/engine.h \
    worker/described.c worker/described.h \
    worker/described_open.c \
    worker/length.c worker/length.h worker/lengths.c worker/lengths.h \
    worker/iteration.c worker/iteration.h \
    worker/plugin.c worker/plugin.h \
    worker/plugin_answer.c \
    worker/plugin_load.c worker/plugin_load.h \
    worker/plugin_memory.c worker/plugin_memory.h \
    worker/record.c worker/record.h \
    worker/cpu.c worker/cpu.h \
    worker/sampling.c worker/sampling.h
mpsweep_worker_LDADD = libtrace.a libprobe.a libkernels.a libdevice.a libshm.a libcommon.a

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

check_PROGRAMS += tests/unit/test_plugin
TESTS += tests/unit/test_plugin
tests_unit_test_plugin_SOURCES = tests/unit/test_plugin.c \
    worker/plugin_load.c worker/plugin_memory.c
tests_unit_test_plugin_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_plugin_LDADD = libprobe.a libdevice.a libcommon.a $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_iteration_copies
TESTS += tests/unit/test_iteration_copies
tests_unit_test_iteration_copies_SOURCES = tests/unit/test_iteration_copies.c tests/unit/fake_memory.c \
    tests/unit/fake_memory.h worker/iteration.c worker/memory.c worker/sampling.c
tests_unit_test_iteration_copies_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_iteration_copies_LDADD = libdevice.a libcommon.a $(CMOCKA_LIBS)
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_described tests/unit/test_length
TESTS += tests/unit/test_described tests/unit/test_length
tests_unit_test_described_SOURCES = tests/unit/test_described.c tests/unit/fake_memory.c \
    tests/unit/fake_memory.h worker/described.c worker/described_open.c worker/memory.c worker/sampling.c
tests_unit_test_described_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_described_LDADD = libdevice.a libcommon.a $(CMOCKA_LIBS)
tests_unit_test_length_SOURCES = tests/unit/test_length.c worker/length.c
tests_unit_test_length_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_length_LDADD = libcommon.a $(CMOCKA_LIBS) -lm
endif
