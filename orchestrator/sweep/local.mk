# Implements 'mpsweep sweep': every point of a plan, or of one shard of it.
noinst_LIBRARIES += orchestrator/sweep/libsweep.a
orchestrator_sweep_libsweep_a_SOURCES = \
    orchestrator/sweep/deal.c orchestrator/sweep/part.c orchestrator/sweep/print.c \
    orchestrator/sweep/publish.c orchestrator/sweep/shard.c orchestrator/sweep/shard.h \
    orchestrator/sweep/sweep.c orchestrator/sweep/sweep.h

unit_tests += \
    tests/unit/sweep/test_shard
tests_unit_sweep_test_shard_SOURCES = tests/unit/sweep/test_shard.c $(plan_rig)
