# Implements 'mpsweep tune': the search for the best layout.
noinst_LIBRARIES += orchestrator/tune/libtune.a
orchestrator_tune_libtune_a_SOURCES = \
    orchestrator/tune/candidates.c orchestrator/tune/internal.h orchestrator/tune/judge.c \
    orchestrator/tune/measure.c orchestrator/tune/near.c orchestrator/tune/prefer.c \
    orchestrator/tune/record.c \
    orchestrator/tune/report.c orchestrator/tune/search.c orchestrator/tune/search.h \
    orchestrator/tune/search_internal.h orchestrator/tune/space.c orchestrator/tune/space.h \
    orchestrator/tune/tune.c orchestrator/tune/tune.h

unit_tests += tests/unit/tune/test_bounds tests/unit/tune/test_search tests/unit/tune/test_space
first_tests += tests/unit/tune/test_machines
tests_unit_tune_test_bounds_SOURCES = tests/unit/tune/test_bounds.c tests/unit/tune/rig.c tests/unit/tune/rig.h
tests_unit_tune_test_machines_SOURCES = tests/unit/tune/test_machines.c tests/unit/tune/machine.c tests/unit/tune/machine.h
tests_unit_tune_test_search_SOURCES = tests/unit/tune/test_search.c tests/unit/tune/rig.c tests/unit/tune/rig.h
tests_unit_tune_test_space_SOURCES = tests/unit/tune/test_space.c $(plan_rig) tests/unit/explain/h200.h
