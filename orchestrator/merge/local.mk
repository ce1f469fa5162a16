# Implements 'mpsweep merge': one file from many.
noinst_LIBRARIES += orchestrator/merge/libmerge.a
orchestrator_merge_libmerge_a_SOURCES = \
    orchestrator/merge/check.c orchestrator/merge/choose.c orchestrator/merge/fleet.c \
    orchestrator/merge/gpus.c orchestrator/merge/internal.h orchestrator/merge/judge.c \
    orchestrator/merge/merge.c orchestrator/merge/merge.h orchestrator/merge/names.c \
    orchestrator/merge/print.c orchestrator/merge/print_fleet.c orchestrator/merge/read.c \
    orchestrator/merge/record.c orchestrator/merge/write.c

unit_tests += \
    tests/unit/merge/test_models
