# The MPS controller: a private daemon, its directory, commands, replies and log; and the guard, a
# program that owns the daemon.
noinst_LIBRARIES += libmps.a
libmps_a_SOURCES = \
    mps/advice.c mps/advice.h mps/control.c mps/control.h mps/controller.c mps/controller.h \
    mps/directory.c mps/directory.h mps/guard.h mps/guard_message.c mps/internal.h mps/kept.c \
    mps/kept.h mps/log.c mps/log.h mps/probe.c mps/probe.h mps/reply.c mps/reply.h \
    mps/reply_table.c mps/scan.c mps/settings.c mps/settings.h mps/state.c mps/state.h

pkglibexec_PROGRAMS += mpsweep-guard
mpsweep_guard_SOURCES = mps/guard.c mps/guard_daemon.c
mpsweep_guard_LDADD = libmps.a libwire.a libfiles.a libcommon.a $(JANSSON_LIBS)

unit_tests += \
    tests/unit/mps/test_advice tests/unit/mps/test_directory tests/unit/mps/test_directory_at \
    tests/unit/mps/test_kept tests/unit/mps/test_log \
    tests/unit/mps/test_mps tests/unit/mps/test_reply tests/unit/mps/test_reply_table \
    tests/unit/mps/test_settings tests/unit/mps/test_state
waiting_tests += tests/unit/mps/test_kept_peer
mps_harness = tests/unit/mps/harness.c tests/unit/mps/harness.h
tests_unit_mps_test_directory_SOURCES = tests/unit/mps/test_directory.c $(mps_harness)
tests_unit_mps_test_directory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=openat
tests_unit_mps_test_directory_at_SOURCES = tests/unit/mps/test_directory_at.c $(mps_harness)
tests_unit_mps_test_kept_SOURCES = tests/unit/mps/test_kept.c $(mps_harness) $(emul_mps)
tests_unit_mps_test_kept_peer_SOURCES = tests/unit/mps/test_kept_peer.c $(mps_harness)
tests_unit_mps_test_mps_SOURCES = tests/unit/mps/test_mps.c $(mps_harness)
tests_unit_mps_test_settings_SOURCES = tests/unit/mps/test_settings.c $(mps_harness)
tests_unit_mps_test_state_SOURCES = tests/unit/mps/test_state.c $(mps_harness)
