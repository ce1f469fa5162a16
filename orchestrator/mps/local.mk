# Implements 'mpsweep mps': a daemon that stays.
noinst_LIBRARIES += orchestrator/mps/libmps.a
orchestrator_mps_libmps_a_SOURCES = \
    orchestrator/mps/internal.h orchestrator/mps/mps.c orchestrator/mps/mps.h orchestrator/mps/run.c \
    orchestrator/mps/status.c
