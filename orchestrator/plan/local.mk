# Points from a job; pure.
noinst_LIBRARIES += orchestrator/plan/libplan.a
orchestrator_plan_libplan_a_SOURCES = \
    orchestrator/plan/describe.c orchestrator/plan/device_choice.c orchestrator/plan/device_choice.h \
    orchestrator/plan/internal.h orchestrator/plan/placeholders.c \
    orchestrator/plan/placeholders.h orchestrator/plan/plan.c orchestrator/plan/plan.h \
    orchestrator/plan/plan_id.c orchestrator/plan/plugin.c orchestrator/plan/plugin.h \
    orchestrator/plan/point.c orchestrator/plan/point.h orchestrator/plan/requests.c \
    orchestrator/plan/settings.c orchestrator/plan/settings.h \
    orchestrator/plan/shares.c orchestrator/plan/shares.h orchestrator/plan/turns.c \
    orchestrator/plan/turns.h orchestrator/plan/workload.c

unit_tests += \
    tests/unit/plan/test_gpus tests/unit/plan/test_placeholders tests/unit/plan/test_plan tests/unit/plan/test_settings \
    tests/unit/plan/test_shares tests/unit/plan/test_turns
plan_rig = tests/unit/plan/plan_rig.c tests/unit/plan/plan_rig.h
tests_unit_plan_test_gpus_SOURCES = tests/unit/plan/test_gpus.c $(plan_rig)
tests_unit_plan_test_plan_SOURCES = tests/unit/plan/test_plan.c $(plan_rig)
tests_unit_plan_test_settings_SOURCES = tests/unit/plan/test_settings.c $(plan_rig)
tests_unit_plan_test_turns_SOURCES = tests/unit/plan/test_turns.c $(plan_rig)
