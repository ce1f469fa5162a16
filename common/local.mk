# What every program needs: status codes, text, clocks, paths, child processes.
noinst_LIBRARIES += libcommon.a
libcommon_a_SOURCES = \
    common/child.c common/child.h common/child_run.c common/clock.c common/clock.h \
    common/descriptor.c common/descriptor.h common/digest.c common/digest.h common/host_work.c \
    common/host_work.h common/json.h common/memory_file.c common/memory_file.h \
    common/paths.c common/paths.h common/process.c common/process.h common/process_tree.c \
    common/process_tree.h common/random.h common/shell_word.c common/shell_word.h \
    common/status.c common/status.h common/text.c common/text.h

unit_tests += \
    tests/unit/common/test_child tests/unit/common/test_child_spawn tests/unit/common/test_clock \
    tests/unit/common/test_host_work \
    tests/unit/common/test_process tests/unit/common/test_shell_word \
    tests/unit/common/test_status tests/unit/common/test_text
