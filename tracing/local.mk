# Records what the own process's CUDA calls and its GPU do, into the memory of a trace.
noinst_LIBRARIES += libtracing.a
libtracing_a_SOURCES = tracing/activities.c tracing/activities.h tracing/injected.c tracing/injected.h
