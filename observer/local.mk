# What the CUDA driver loads into programs that do not report their own iterations: the client with
# an observer. Its symbols are its own, whatever the program has loaded.
pkglibexec_PROGRAMS += mpsweep-observer.so
mpsweep_observer_so_SOURCES = \
    observer/calls.c observer/calls.h observer/inject.c observer/nvtx.c observer/period.c \
    observer/period.h observer/watcher.c observer/watcher.h \
    tracing/activities.c tracing/activities.h tracing/injected.c tracing/injected.h \
    device/cupti.c device/cupti.h device/library.c device/library.h wire/tick.c wire/tick.h \
    $(client_sources)
mpsweep_observer_so_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
mpsweep_observer_so_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,--version-script=$(srcdir)/observer/symbols.map
EXTRA_DIST += observer/symbols.map
mpsweep_observer_so_LDADD =


unit_tests += \
    tests/unit/observer/test_period tests/unit/observer/test_calls
tests_unit_observer_test_period_SOURCES = tests/unit/observer/test_period.c observer/period.c
tests_unit_observer_test_calls_SOURCES = tests/unit/observer/test_calls.c observer/calls.c wire/tick.c
