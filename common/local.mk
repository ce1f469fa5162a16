noinst_LIBRARIES += libcommon.a
libcommon_a_SOURCES = \
    common/child.c common/child.h common/child_run.c \
    common/clock.c common/clock.h \
    common/digest.c common/digest.h \
    common/histogram.c common/histogram.h \
    common/interval.c common/interval.h \
    common/jobfile.c common/jobfile.h \
    common/layout_text.c common/layout_text.h \
    common/memory_file.c common/memory_file.h \
    common/new_file.c common/new_file.h \
    common/options.c common/options.h common/options_table.c \
    common/paths.c common/paths.h \
    common/process.c common/process.h \
    common/process_tree.c common/process_tree.h \
    common/random.h \
    common/rate.c common/rate.h \
    common/publish.c common/publish.h \
    common/replace_file.c common/replace_file.h \
    common/results_lines.c common/results_lines.h common/results_read.c common/results_read.h \
    common/results_write.c common/results_write.h \
    common/statistics.c common/statistics.h \
    common/status.c common/status.h \
    common/student.c common/student.h \
    common/steady.c common/steady.h \
    common/text.c common/text.h \
    common/workload_text.c common/workload_text.h \
    common/workload_trace.c common/workload_mix.c common/workload_mix.h
