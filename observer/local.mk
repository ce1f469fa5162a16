# What comes into programs that do not report their own iterations, or are traced: the client with an
# observer. It exports what must stand in the place of other functions.
pkglibexec_PROGRAMS += mpsweep-observer.so
period_sources = \
    observer/internal.h observer/marks.c observer/period.c observer/period.h observer/varying.c
mpsweep_observer_so_SOURCES = \
    observer/calls.h observer/has_client.c observer/has_client.h \
    observer/inject.c observer/inputs.c observer/inputs.h observer/interpose.c observer/nvtx.c \
    observer/report.c observer/report.h observer/watcher.c observer/watcher.h $(period_sources) \
    tracing/activities.c tracing/activities.h tracing/injected.c tracing/injected.h \
    device/cupti.c device/cupti.h device/library.c device/library.h wire/tick.c wire/tick.h \
    common/process.c common/process.h \
    $(client_sources)
mpsweep_observer_so_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
mpsweep_observer_so_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,--version-script=$(srcdir)/observer/symbols.map
EXTRA_DIST += observer/symbols.map
mpsweep_observer_so_LDADD =


unit_tests += \
    tests/unit/observer/test_period tests/unit/observer/test_requests \
    tests/unit/observer/test_steps tests/unit/observer/test_tick tests/unit/observer/test_watcher
tests_unit_observer_test_period_SOURCES = \
    tests/unit/observer/test_period.c tests/unit/observer/marks.h $(period_sources)
tests_unit_observer_test_requests_SOURCES = \
    tests/unit/observer/test_requests.c tests/unit/observer/marks.h $(period_sources)
tests_unit_observer_test_steps_SOURCES = \
    tests/unit/observer/test_steps.c tests/unit/observer/marks.h $(period_sources)
tests_unit_observer_test_tick_SOURCES = tests/unit/observer/test_tick.c wire/tick.c
tests_unit_observer_test_watcher_SOURCES = \
    tests/unit/observer/test_watcher.c tests/unit/observer/client.h observer/inputs.c \
    observer/report.c observer/watcher.c \
    $(period_sources)
tests_unit_observer_test_watcher_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
