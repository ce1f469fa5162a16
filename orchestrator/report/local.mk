# Implements 'mpsweep report': results as one HTML page.
noinst_LIBRARIES += orchestrator/report/libreport.a
orchestrator_report_libreport_a_SOURCES = \
    orchestrator/report/figures.c orchestrator/report/html.c orchestrator/report/internal.h \
    orchestrator/report/page.c orchestrator/report/points.c orchestrator/report/report.c \
    orchestrator/report/report.h orchestrator/report/words.c
report_parts = orchestrator/report/page.css orchestrator/report/page.js
EXTRA_DIST += $(report_parts)
# The program contains both.
orchestrator/report/page.$(OBJEXT): $(report_parts)
