# One window of one point, proved and collected; no JSON, no printing.
noinst_LIBRARIES += orchestrator/round/libround.a
orchestrator_round_libround_a_SOURCES = \
    orchestrator/round/assign.c orchestrator/round/cause.c orchestrator/round/collect.c \
    orchestrator/round/fixed.c orchestrator/round/internal.h orchestrator/round/measure.c \
    orchestrator/round/measurement.c orchestrator/round/measurement.h orchestrator/round/mix.c \
    orchestrator/round/names.c orchestrator/round/openloop.c orchestrator/round/openloop.h \
    orchestrator/round/partition.c orchestrator/round/percentiles.c \
    orchestrator/round/percentiles.h orchestrator/round/placement.c orchestrator/round/plugin.c \
    orchestrator/round/program.c orchestrator/round/program_observed.c orchestrator/round/proofs.c \
    orchestrator/round/result.c orchestrator/round/result.h orchestrator/round/round.c \
    orchestrator/round/round.h orchestrator/round/wait.c orchestrator/round/window.c \
    orchestrator/round/window.h

unit_tests += \
    tests/unit/round/test_fixed tests/unit/round/test_measurement tests/unit/round/test_openloop \
    tests/unit/round/test_stopping tests/unit/round/test_window
first_tests += tests/unit/round/test_percentiles
tests_unit_round_test_percentiles_SOURCES = tests/unit/round/test_percentiles.c $(series)
tests_unit_round_test_openloop_SOURCES = tests/unit/round/test_openloop.c $(series)
tests_unit_round_test_stopping_SOURCES = tests/unit/round/test_stopping.c $(series)
tests_unit_round_test_window_SOURCES = tests/unit/round/test_window.c $(series)
