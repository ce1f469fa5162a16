# Implements 'mpsweep export': results for other programs.
noinst_LIBRARIES += orchestrator/export/libexport.a
orchestrator_export_libexport_a_SOURCES = \
    orchestrator/export/export.c orchestrator/export/export.h orchestrator/export/openmetrics.c
