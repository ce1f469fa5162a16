# Implements 'mpsweep compare': a verdict for each point of two runs.
noinst_LIBRARIES += orchestrator/compare/libcompare.a
orchestrator_compare_libcompare_a_SOURCES = \
    orchestrator/compare/again.c orchestrator/compare/compare.c orchestrator/compare/compare.h \
    orchestrator/compare/comparison.c orchestrator/compare/comparison.h \
    orchestrator/compare/match.c orchestrator/compare/match.h orchestrator/compare/next.c \
    orchestrator/compare/plot.c orchestrator/compare/print.c
