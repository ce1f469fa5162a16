# Implements 'mpsweep emit': deployments.
noinst_LIBRARIES += orchestrator/emit/libemit.a
orchestrator_emit_libemit_a_SOURCES = \
    orchestrator/emit/choose.c orchestrator/emit/choose.h \
    orchestrator/emit/deployment.c orchestrator/emit/deployment.h \
    orchestrator/emit/deployment_read.c orchestrator/emit/deployment_service.c \
    orchestrator/emit/directory.c \
    orchestrator/emit/directory.h orchestrator/emit/emit.c orchestrator/emit/emit.h \
    orchestrator/emit/formats.c orchestrator/emit/quote.c orchestrator/emit/quote.h \
    orchestrator/emit/request.h \
    orchestrator/emit/values.c orchestrator/emit/values.h \
    orchestrator/emit/warnings.c orchestrator/emit/warnings.h

unit_tests += \
    tests/unit/emit/test_formats tests/unit/emit/test_quote
