# Implements 'mpsweep explain': what limits each point, and what would lift it.
noinst_LIBRARIES += orchestrator/explain/libexplain.a
orchestrator_explain_libexplain_a_SOURCES = \
    orchestrator/explain/explain.c orchestrator/explain/explain.h orchestrator/explain/gpus.c \
    orchestrator/explain/json.c orchestrator/explain/point.c orchestrator/explain/point.h \
    orchestrator/explain/programs.c orchestrator/explain/programs.h \
    orchestrator/explain/set.c orchestrator/explain/set.h orchestrator/explain/text.c \
    orchestrator/explain/verify.c orchestrator/explain/verify.h
