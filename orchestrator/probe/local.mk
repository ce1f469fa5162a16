# Implements 'mpsweep probe': the interference experiments.
noinst_LIBRARIES += orchestrator/probe/libprobe.a
orchestrator_probe_libprobe_a_SOURCES = \
    orchestrator/probe/arm.c orchestrator/probe/internal.h orchestrator/probe/list.c \
    orchestrator/probe/measure.c orchestrator/probe/probe.c orchestrator/probe/probe.h \
    orchestrator/probe/record.c
