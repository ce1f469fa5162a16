# Structs to JSON; measures and prints nothing.
noinst_LIBRARIES += orchestrator/record/librecord.a
orchestrator_record_librecord_a_SOURCES = \
    orchestrator/record/mix.c orchestrator/record/precision.c orchestrator/record/precision.h \
    orchestrator/record/record.c orchestrator/record/record.h orchestrator/record/telemetry.c \
    orchestrator/record/telemetry.h orchestrator/record/time.c orchestrator/record/time.h \
    orchestrator/record/warnings.c orchestrator/record/warnings.h

unit_tests += \
    tests/unit/record/test_precision
