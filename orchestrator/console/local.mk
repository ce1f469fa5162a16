# What every command prints with.
noinst_LIBRARIES += orchestrator/console/libconsole.a
orchestrator_console_libconsole_a_SOURCES = \
    orchestrator/console/exit_status.h orchestrator/console/progress.c \
    orchestrator/console/progress.h
