# Messages between programs.
noinst_LIBRARIES += libwire.a
libwire_a_SOURCES = \
    wire/lengths.h wire/load.h wire/message.c wire/message.h wire/plugin_answer.c wire/plugin_answer.h wire/probe.c wire/probe.h \
    wire/program.h wire/tick.c wire/tick.h

unit_tests += \
    tests/unit/wire/test_probe
