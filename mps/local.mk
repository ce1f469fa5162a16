noinst_LIBRARIES += libmps.a
libmps_a_SOURCES = \
    mps/advice.c mps/advice.h \
    mps/control.c mps/control.h \
    mps/controller.c mps/controller.h mps/guard.h \
    mps/directory.c mps/directory.h \
    mps/kept.c mps/kept.h \
    mps/log.c mps/log.h \
    mps/probe.c mps/probe.h \
    mps/reply.c mps/reply.h mps/reply_table.c \
    mps/reply_error.c mps/reply_error.h \
    mps/scan.c mps/scan.h \
    mps/settings.c mps/settings.h \
    mps/state.c mps/state.h

pkglibexec_PROGRAMS += mpsweep-guard
mpsweep_guard_SOURCES = mps/guard.c mps/guard_daemon.c
mpsweep_guard_LDADD = libmps.a libcommon.a $(JANSSON_LIBS)
