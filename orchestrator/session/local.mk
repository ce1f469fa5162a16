# GPUs, daemons, telemetry and known MPS limits of one run.
noinst_LIBRARIES += orchestrator/session/libsession.a
orchestrator_session_libsession_a_SOURCES = \
    orchestrator/session/cupti.c \
    orchestrator/session/daemons.c orchestrator/session/daemons.h \
    orchestrator/session/emulation.c orchestrator/session/emulation.h \
    orchestrator/session/gpus.c orchestrator/session/gpus.h \
    orchestrator/session/mps_limits.c \
    orchestrator/session/mps_limits.h orchestrator/session/mps_limits_file.c \
    orchestrator/session/session.c orchestrator/session/session.h \
    orchestrator/session/telemetry.c orchestrator/session/telemetry.h \
    orchestrator/session/telemetry_window.c orchestrator/session/telemetry_window.h

unit_tests += \
    tests/unit/session/test_mps_limits tests/unit/session/test_telemetry \
    tests/unit/session/test_telemetry_window
