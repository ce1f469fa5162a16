# Implements 'mpsweep record': what an iteration of any program does, as a described workload.
noinst_LIBRARIES += orchestrator/capture/libcapture.a
orchestrator_capture_libcapture_a_SOURCES = \
    orchestrator/capture/alone.c orchestrator/capture/beside.c orchestrator/capture/capture.c \
    orchestrator/capture/capture.h orchestrator/capture/crowd.c \
    orchestrator/capture/describe.c orchestrator/capture/describe.h orchestrator/capture/file.c \
    orchestrator/capture/fit.c orchestrator/capture/fit.h \
    orchestrator/capture/fold.c orchestrator/capture/fold.h orchestrator/capture/internal.h \
    orchestrator/capture/iteration.c orchestrator/capture/iteration.h \
    orchestrator/capture/name.c orchestrator/capture/prepare.c orchestrator/capture/replay.c \
    orchestrator/capture/share.c orchestrator/capture/share.h

unit_tests += tests/unit/capture/test_capture
tests_unit_capture_test_capture_SOURCES = tests/unit/capture/test_capture.c $(trace_made)
unit_tests += tests/unit/capture/test_share
tests_unit_capture_test_share_SOURCES = tests/unit/capture/test_share.c
unit_tests += tests/unit/capture/test_fit
tests_unit_capture_test_fit_SOURCES = tests/unit/capture/test_fit.c
