# Processes on the GPU: their environment, their start, one way to end them.
noinst_LIBRARIES += orchestrator/crew/libcrew.a
orchestrator_crew_libcrew_a_SOURCES = \
    orchestrator/crew/pool.c orchestrator/crew/pool.h orchestrator/crew/crew.c \
    orchestrator/crew/crew.h orchestrator/crew/environment.c orchestrator/crew/environment.h \
    orchestrator/crew/ports.c orchestrator/crew/ports.h orchestrator/crew/program.c \
    orchestrator/crew/program.h

unit_tests += tests/unit/crew/test_crew
