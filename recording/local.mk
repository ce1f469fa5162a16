# What a worker and a client record, and how they wait for a planned start.
noinst_LIBRARIES += librecording.a
librecording_a_SOURCES = \
    recording/cpu.c recording/cpu.h recording/pace.c recording/pace.h \
    recording/recorder.c recording/recorder.h

unit_tests += \
    tests/unit/recording/test_bind tests/unit/recording/test_pace \
    tests/unit/recording/test_recorder
