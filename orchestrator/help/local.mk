# Help and manual pages.
noinst_LIBRARIES += orchestrator/help/libhelp.a
orchestrator_help_libhelp_a_SOURCES = \
    orchestrator/help/help.c orchestrator/help/help.h orchestrator/help/manual.c \
    orchestrator/help/parts.c orchestrator/help/parts.h
