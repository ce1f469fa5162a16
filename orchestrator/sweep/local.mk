# Implements 'mpsweep sweep': every point of a plan, or of one shard of it.
noinst_LIBRARIES += orchestrator/sweep/libsweep.a
orchestrator_sweep_libsweep_a_SOURCES = \
    orchestrator/sweep/closing.c orchestrator/sweep/internal.h orchestrator/sweep/print.c orchestrator/sweep/publish.c orchestrator/sweep/sweep.c \
    orchestrator/sweep/sweep.h
