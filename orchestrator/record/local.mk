# Structs to JSON; measures and prints nothing.
noinst_LIBRARIES += orchestrator/record/librecord.a
orchestrator_record_librecord_a_SOURCES = \
    orchestrator/record/difference.c orchestrator/record/header.c orchestrator/record/internal.h \
    orchestrator/record/machine.c orchestrator/record/mix.c \
    orchestrator/record/openloop.c orchestrator/record/per_gpu.c \
    orchestrator/record/placement.c orchestrator/record/precision.c \
    orchestrator/record/record.c orchestrator/record/program.c orchestrator/record/requests.c orchestrator/record/record.h orchestrator/record/settings.c orchestrator/record/telemetry.c \
    orchestrator/record/time.c orchestrator/record/warnings.c

unit_tests += \
    tests/unit/record/test_precision
