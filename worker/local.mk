pkglibexec_PROGRAMS += mpsweep-worker
mpsweep_worker_SOURCES = \
    worker/main.c \
    worker/process.c worker/process.h \
    worker/life.c \
    worker/iteration.c worker/iteration.h \
    worker/record.c worker/record.h
mpsweep_worker_LDADD = libkernels.a libdevice.a libshm.a libcommon.a
