# Implements 'mpsweep trace': a timeline of one layout.
noinst_LIBRARIES += orchestrator/trace/libtrace.a
orchestrator_trace_libtrace_a_SOURCES = \
    orchestrator/trace/demangle.c orchestrator/trace/demangle.h orchestrator/trace/internal.h \
    orchestrator/trace/output.c orchestrator/trace/point.c orchestrator/trace/run.c orchestrator/trace/run.h \
    orchestrator/trace/trace.c \
    orchestrator/trace/trace.h
