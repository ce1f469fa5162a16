# Read records: words, keys, scaling, tables.
noinst_LIBRARIES += orchestrator/results/libresults.a
orchestrator_results_libresults_a_SOURCES = \
    orchestrator/results/best.c orchestrator/results/best.h \
    orchestrator/results/fields.c orchestrator/results/fields.h orchestrator/results/internal.h \
    orchestrator/results/number_ranges.c orchestrator/results/number_ranges.h \
    orchestrator/results/origin.c orchestrator/results/origin.h orchestrator/results/point.c \
    orchestrator/results/point.h orchestrator/results/probe_record.c \
    orchestrator/results/probe_record.h orchestrator/results/rate.c orchestrator/results/rate.h \
    orchestrator/results/remarks.c orchestrator/results/scaling.c orchestrator/results/scaling.h \
    orchestrator/results/settings.c orchestrator/results/settings.h orchestrator/results/shares.c \
    orchestrator/results/shares.h orchestrator/results/table.c orchestrator/results/table.h \
    orchestrator/results/table_gpus.c

unit_tests += \
    tests/unit/results/test_fields tests/unit/results/test_point \
    tests/unit/results/test_scaling
