# What reads the answer of a probe, or about a plug-in: for whoever asks.
noinst_LIBRARIES += libprobe.a
libprobe_a_SOURCES = wire/probe.c wire/probe.h \
    wire/plugin_answer.c wire/plugin_answer.h

# What a plug-in is built with.
pkginclude_HEADERS += include/mpsweep/workload.h

pkglibexec_PROGRAMS += mpsweep-worker
mpsweep_worker_SOURCES = \
    worker/main.c \
    recording/bind.c \
    device/context.c device/context.h \
    worker/probe.c wire/probe.h \
    recording/process.c recording/process.h \
    worker/life.c \
    worker/memory.c worker/memory.h \
    worker/timeline.c worker/timeline.h \
    worker/program.c worker/program.h \
    worker/words.c worker/words.h \
    recording/pace.c recording/pace.h \
    worker/engines/engine.c worker/engines/engine.h \
    worker/engines/described.c worker/engines/described.h \
    worker/engines/described_open.c \
    worker/length.c worker/length.h worker/lengths.c wire/lengths.h \
    worker/engines/iteration.c worker/engines/iteration.h \
    worker/engines/plugin.c worker/engines/plugin.h \
    worker/plugin_answer.c \
    worker/engines/plugin_load.c worker/engines/plugin_load.h \
    worker/engines/plugin_memory.c worker/engines/plugin_memory.h \
    recording/record.c recording/record.h \
    recording/cpu.c recording/cpu.h \
    recording/sampling.c recording/sampling.h
mpsweep_worker_LDADD = libtrace.a libprobe.a libkernels.a libdevice.a libshm.a libcommon.a

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/recording/test_pace
TESTS += tests/unit/recording/test_pace
tests_unit_recording_test_pace_SOURCES = tests/unit/recording/test_pace.c recording/pace.c
tests_unit_recording_test_pace_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_recording_test_pace_LDADD = libshm.a libcommon.a $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/wire/test_probe tests/unit/recording/test_record tests/unit/recording/test_bind
TESTS += tests/unit/wire/test_probe tests/unit/recording/test_record tests/unit/recording/test_bind
tests_unit_recording_test_bind_SOURCES = tests/unit/recording/test_bind.c recording/bind.c
tests_unit_recording_test_bind_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_recording_test_bind_LDADD = $(CMOCKA_LIBS)
tests_unit_wire_test_probe_SOURCES = tests/unit/wire/test_probe.c
tests_unit_wire_test_probe_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_wire_test_probe_LDADD = libprobe.a libcommon.a $(CMOCKA_LIBS)
tests_unit_recording_test_record_SOURCES = tests/unit/recording/test_record.c \
    recording/cpu.c recording/record.c recording/sampling.c
tests_unit_recording_test_record_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_recording_test_record_LDADD = libshm.a libcommon.a $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/worker/test_plugin
TESTS += tests/unit/worker/test_plugin
tests_unit_worker_test_plugin_SOURCES = tests/unit/worker/test_plugin.c \
    worker/engines/plugin_load.c worker/engines/plugin_memory.c
tests_unit_worker_test_plugin_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_worker_test_plugin_LDADD = libprobe.a libdevice.a libcommon.a $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/worker/test_iteration_copies
TESTS += tests/unit/worker/test_iteration_copies
tests_unit_worker_test_iteration_copies_SOURCES = tests/unit/worker/test_iteration_copies.c tests/unit/worker/fake_memory.c \
    tests/unit/worker/fake_memory.h worker/engines/iteration.c worker/memory.c recording/sampling.c
tests_unit_worker_test_iteration_copies_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_worker_test_iteration_copies_LDADD = libdevice.a libcommon.a $(CMOCKA_LIBS)
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/worker/test_described tests/unit/worker/test_length
TESTS += tests/unit/worker/test_described tests/unit/worker/test_length
tests_unit_worker_test_described_SOURCES = tests/unit/worker/test_described.c tests/unit/worker/fake_memory.c \
    tests/unit/worker/fake_memory.h worker/engines/described.c worker/engines/described_open.c worker/memory.c recording/sampling.c
tests_unit_worker_test_described_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_worker_test_described_LDADD = libdevice.a libcommon.a $(CMOCKA_LIBS)
tests_unit_worker_test_length_SOURCES = tests/unit/worker/test_length.c worker/length.c
tests_unit_worker_test_length_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_worker_test_length_LDADD = libcommon.a $(CMOCKA_LIBS) -lm
endif
