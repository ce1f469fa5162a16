# Implements 'mpsweep tune'; search/ decides what to measure.
noinst_LIBRARIES += orchestrator/tune/libtune.a
orchestrator_tune_libtune_a_SOURCES = \
    orchestrator/tune/candidates.c orchestrator/tune/closing.c orchestrator/tune/dry_run.c \
    orchestrator/tune/gpus.c orchestrator/tune/internal.h orchestrator/tune/measure.c \
    orchestrator/tune/observe.c orchestrator/tune/pace.c orchestrator/tune/record.c \
    orchestrator/tune/report.c orchestrator/tune/report_none.c orchestrator/tune/report_table.c \
    orchestrator/tune/sections.c orchestrator/tune/sections.h orchestrator/tune/space.c \
    orchestrator/tune/space.h orchestrator/tune/threads.c orchestrator/tune/tune.c \
    orchestrator/tune/tune.h orchestrator/tune/words.c \
    orchestrator/tune/search/belief.c orchestrator/tune/search/choose.c \
    orchestrator/tune/search/costs.c orchestrator/tune/search/costs.h \
    orchestrator/tune/search/eligible.c orchestrator/tune/search/finals.c \
    orchestrator/tune/search/gp.c orchestrator/tune/search/gp.h \
    orchestrator/tune/search/internal.h orchestrator/tune/search/judge.c \
    orchestrator/tune/search/prefer.c orchestrator/tune/search/search.c \
    orchestrator/tune/search/search.h orchestrator/tune/search/starts.c

# Simulated machines, of three families.
tune_machines = \
    tests/unit/tune/chance.h tests/unit/tune/kinds.c tests/unit/tune/kinds.h \
    tests/unit/tune/machine.c tests/unit/tune/machine.h tests/unit/tune/machine_service.c \
    tests/unit/tune/machine_service.h tests/unit/tune/machine_soft.c \
    tests/unit/tune/machine_soft.h tests/unit/tune/machine_usl.c tests/unit/tune/machine_usl.h \
    tests/unit/tune/machine_usl_draw.c tests/unit/tune/machine_usl_measure.c

unit_tests += tests/unit/tune/test_bounds tests/unit/tune/test_costs tests/unit/tune/test_gp \
    tests/unit/tune/test_eligible tests/unit/tune/test_equals tests/unit/tune/test_finals \
    tests/unit/tune/test_order tests/unit/tune/test_search tests/unit/tune/test_space \
    tests/unit/tune/test_starts
first_tests += tests/unit/tune/test_machines tests/unit/tune/test_families
tests_unit_tune_test_families_SOURCES = tests/unit/tune/test_families.c $(tune_machines)
tests_unit_tune_test_bounds_SOURCES = tests/unit/tune/test_bounds.c tests/unit/tune/rig.c tests/unit/tune/rig.h
tests_unit_tune_test_eligible_SOURCES = tests/unit/tune/test_eligible.c tests/unit/tune/rig.c tests/unit/tune/rig.h
tests_unit_tune_test_equals_SOURCES = tests/unit/tune/test_equals.c tests/unit/tune/rig.c tests/unit/tune/rig.h
tests_unit_tune_test_finals_SOURCES = tests/unit/tune/test_finals.c tests/unit/tune/rig.c tests/unit/tune/rig.h
tests_unit_tune_test_order_SOURCES = tests/unit/tune/test_order.c tests/unit/tune/rig.c tests/unit/tune/rig.h
tests_unit_tune_test_costs_SOURCES = tests/unit/tune/test_costs.c
tests_unit_tune_test_gp_SOURCES = tests/unit/tune/test_gp.c
tests_unit_tune_test_machines_SOURCES = tests/unit/tune/test_machines.c $(tune_machines)
tests_unit_tune_test_search_SOURCES = tests/unit/tune/test_search.c tests/unit/tune/rig.c tests/unit/tune/rig.h
tests_unit_tune_test_starts_SOURCES = tests/unit/tune/test_starts.c tests/unit/tune/rig.c tests/unit/tune/rig.h
tests_unit_tune_test_space_SOURCES = tests/unit/tune/test_space.c $(plan_rig) tests/unit/explain/h200.h
