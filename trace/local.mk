# Traces: what workers recorded, and what is made of it.

noinst_LIBRARIES += libtrace.a
libtrace_a_SOURCES = \
    trace/buffer.c trace/buffer.h \
    trace/chrome.c trace/chrome.h \
    trace/gantt.c trace/gantt.h \
    trace/listing.c trace/listing.h \
    trace/summary.c trace/summary.h trace/summary_print.c \
    trace/timeline.c trace/timeline.h

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/trace/test_timeline tests/unit/trace/test_output
TESTS += tests/unit/trace/test_timeline tests/unit/trace/test_output
trace_made = tests/unit/trace/made.c tests/unit/trace/made.h
tests_unit_trace_test_timeline_SOURCES = tests/unit/trace/test_timeline.c $(trace_made)
tests_unit_trace_test_timeline_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_trace_test_timeline_LDADD = libtrace.a libcommon.a $(CMOCKA_LIBS)
tests_unit_trace_test_output_SOURCES = tests/unit/trace/test_output.c $(trace_made)
tests_unit_trace_test_output_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_trace_test_output_LDADD = libtrace.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS) -lm

check_PROGRAMS += tests/unit/trace/test_demangle
TESTS += tests/unit/trace/test_demangle
tests_unit_trace_test_demangle_SOURCES = tests/unit/trace/test_demangle.c orchestrator/trace/demangle.c
tests_unit_trace_test_demangle_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_trace_test_demangle_LDADD = libdevice.a libcommon.a $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/trace/test_devices
TESTS += tests/unit/trace/test_devices
tests_unit_trace_test_devices_SOURCES = tests/unit/trace/test_devices.c worker/timeline.c $(emul_rig)
tests_unit_trace_test_devices_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_trace_test_devices_LDADD = libtrace.a libdevice.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS) -lm
endif
