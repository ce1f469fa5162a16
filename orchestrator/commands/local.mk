# The table of commands, which dispatch, help and completion come from.
noinst_LIBRARIES += orchestrator/commands/libcommands.a
orchestrator_commands_libcommands_a_SOURCES = \
    orchestrator/commands/commands.c orchestrator/commands/commands.h
