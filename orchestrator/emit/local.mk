# Implements 'mpsweep emit': deployments.
noinst_LIBRARIES += orchestrator/emit/libemit.a
orchestrator_emit_libemit_a_SOURCES = \
    orchestrator/emit/compose.c orchestrator/emit/container.c orchestrator/emit/container.h \
    orchestrator/emit/deployment.c orchestrator/emit/deployment.h \
    orchestrator/emit/deployment_read.c orchestrator/emit/directory.c \
    orchestrator/emit/directory.h orchestrator/emit/emit.c orchestrator/emit/emit.h \
    orchestrator/emit/env.c orchestrator/emit/formats.c orchestrator/emit/internal.h \
    orchestrator/emit/kubernetes.c orchestrator/emit/quote.c orchestrator/emit/quote.h \
    orchestrator/emit/readme.c orchestrator/emit/request.h orchestrator/emit/slurm.c \
    orchestrator/emit/systemd.c

unit_tests += \
    tests/unit/emit/test_quote
