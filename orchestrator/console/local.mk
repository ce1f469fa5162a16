# What every command prints with.
noinst_LIBRARIES += orchestrator/console/libconsole.a
orchestrator_console_libconsole_a_SOURCES = \
    orchestrator/console/closing.c orchestrator/console/closing.h \
    orchestrator/console/color.c orchestrator/console/color.h \
    orchestrator/console/columns.c orchestrator/console/columns.h \
    orchestrator/console/invocation.h \
    orchestrator/console/metrics.c orchestrator/console/metrics.h \
    orchestrator/console/progress.c orchestrator/console/progress.h \
    orchestrator/console/report.c orchestrator/console/report.h

unit_tests += \
    tests/unit/console/test_color tests/unit/console/test_columns tests/unit/console/test_progress
