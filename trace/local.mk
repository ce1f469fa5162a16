# Traces: what workers recorded, and what is made of it; pure.
noinst_LIBRARIES += libtrace.a
libtrace_a_SOURCES = \
    trace/buffer.c trace/buffer.h trace/chrome.c trace/chrome.h trace/gantt.c trace/gantt.h \
    trace/listing.c trace/listing.h trace/summary.c trace/summary.h trace/summary_print.c \
    trace/timeline.c trace/timeline.h

unit_tests += \
    tests/unit/trace/test_demangle tests/unit/trace/test_devices tests/unit/trace/test_output \
    tests/unit/trace/test_timeline
trace_made = tests/unit/trace/made.c tests/unit/trace/made.h
tests_unit_trace_test_devices_SOURCES = tests/unit/trace/test_devices.c $(emul_rig)
tests_unit_trace_test_output_SOURCES = tests/unit/trace/test_output.c $(trace_made)
tests_unit_trace_test_timeline_SOURCES = tests/unit/trace/test_timeline.c $(trace_made)
