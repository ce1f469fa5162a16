noinst_LIBRARIES += libmps.a
libmps_a_SOURCES = \
    mps/controller.c mps/controller.h mps/guard.h \
    mps/control.c mps/control.h \
    mps/directory.c mps/directory.h \
    mps/log.c mps/log.h \
    mps/reply.c mps/reply.h mps/reply_table.c \
    mps/reply_error.c mps/reply_error.h \
    mps/scan.c mps/scan.h

pkglibexec_PROGRAMS += mpsweep-guard
mpsweep_guard_SOURCES = mps/guard.c
mpsweep_guard_LDADD = libmps.a libcommon.a
