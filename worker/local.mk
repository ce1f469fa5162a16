# The worker program: the life of a process and of its threads. What an iteration is, engines decide.

# What a plug-in is built with.
pkginclude_HEADERS += include/mpsweep/workload.h

noinst_LIBRARIES += libworker.a
libworker_a_SOURCES = \
    worker/internal.h worker/keeper.c worker/keeper.h worker/length.c worker/length.h worker/lengths.c worker/life.c worker/plugin_answer.c \
    worker/probe.c worker/program.c worker/program.h \
    worker/streams.c worker/streams.h worker/words.c worker/words.h worker/engines/buffers.c worker/engines/buffers.h worker/engines/contexts.c \
    worker/engines/contexts.h worker/engines/described.c worker/engines/described.h \
    worker/engines/described_open.c worker/engines/engine.h worker/engines/engines.c \
    worker/engines/iteration.c worker/engines/iteration.h worker/engines/memory.c \
    worker/engines/memory.h worker/engines/partition.c worker/engines/partition.h worker/engines/plugin.c worker/engines/plugin.h \
    worker/engines/plugin_load.c worker/engines/plugin_load.h worker/engines/plugin_memory.c \
    worker/engines/plugin_memory.h worker/engines/process.c worker/engines/process.h \
    worker/engines/sampling.c worker/engines/sampling.h

pkglibexec_PROGRAMS += mpsweep-worker
mpsweep_worker_SOURCES = worker/main.c
mpsweep_worker_LDADD = libworker.a libtracing.a libtrace.a librecording.a libwire.a libkernels.a libdevice.a \
    libshm.a libjob.a libstatistics.a libcommon.a

unit_tests += \
    tests/unit/worker/test_described tests/unit/worker/test_iteration_copies \
    tests/unit/worker/test_length tests/unit/worker/test_partition tests/unit/worker/test_plugin tests/unit/worker/test_words
fake_memory = tests/unit/worker/fake_memory.c tests/unit/worker/fake_memory.h
tests_unit_worker_test_described_SOURCES = tests/unit/worker/test_described.c $(fake_memory)
tests_unit_worker_test_iteration_copies_SOURCES = tests/unit/worker/test_iteration_copies.c $(fake_memory)
