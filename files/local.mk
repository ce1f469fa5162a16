# Files that appear whole or not at all, the lines of results files, and templates.
noinst_LIBRARIES += libfiles.a
libfiles_a_SOURCES = \
    files/atomic_file.c files/atomic_file.h files/ending_signals.c files/ending_signals.h \
    files/file_name.c files/file_name.h \
    files/remove_tree.c files/remove_tree.h files/results_lines.c files/results_lines.h \
    files/results_read.c files/results_read.h files/results_record.c files/results_record.h \
    files/results_types.c files/results_types.h \
    files/results_write.c files/results_write.h files/template.c files/template.h \
    files/written.c files/written.h

# The one file of a test.
scratch = tests/unit/scratch.c tests/unit/scratch.h
unit_tests += \
    tests/unit/files/test_atomic_file tests/unit/files/test_results_read \
    tests/unit/files/test_results_record tests/unit/files/test_results_write \
    tests/unit/files/test_template tests/unit/files/test_written
tests_unit_files_test_atomic_file_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=open,--wrap=lstat
tests_unit_files_test_results_read_SOURCES = tests/unit/files/test_results_read.c $(scratch)
tests_unit_files_test_template_SOURCES = tests/unit/files/test_template.c tests/unit/tree.c \
    tests/unit/tree.h
