# The interference experiments: a row and the functions of its arms in a file each, the program that
# runs one arm, and what makes a verdict of the samples. The command line reads the rows.
noinst_LIBRARIES += libprobes.a
libprobes_a_SOURCES = \
    probes/probe.h probes/registry.c probes/rows.h probes/run.c probes/series.c probes/series.h \
    probes/shm.c probes/shm.h probes/outcome.c probes/outcome.h probes/verdict.c probes/verdict.h \
    probes/experiments/context_admission.c probes/experiments/copier.c \
    probes/experiments/copier.h probes/experiments/copy_block.c probes/experiments/holder.c \
    probes/experiments/holder.h probes/experiments/launch_contention.c \
    probes/experiments/launch_delay.c probes/experiments/launch_gate.c \
    probes/experiments/launchers.c probes/experiments/launchers.h probes/experiments/lazy_load.c \
    probes/experiments/peer_stall.c probes/experiments/staging.c probes/experiments/staging.h \
    probes/experiments/waiting_copy.c probes/experiments/waiting_copy.h \
    probes/watchdog.c probes/watchdog.h

pkglibexec_PROGRAMS += mpsweep-probe
mpsweep_probe_SOURCES = probes/main.c
mpsweep_probe_LDADD = libprobes.a libkernels.a libdevice.a libstatistics.a libcommon.a -lm

unit_tests += \
    tests/unit/probes/test_probes tests/unit/probes/test_series tests/unit/probes/test_outcome \
    tests/unit/probes/test_verdict
