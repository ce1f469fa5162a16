noinst_LIBRARIES += libcommon.a
libcommon_a_SOURCES = \
    common/child.c common/child.h common/child_run.c \
    common/clock.c common/clock.h \
    common/digest.c common/digest.h \
    statistics/histogram.c statistics/histogram.h \
    statistics/interval.c statistics/interval.h \
    job/jobfile.c job/jobfile.h \
    job/layout_text.c job/layout_text.h \
    common/memory_file.c common/memory_file.h \
    files/new_file.c files/new_file.h \
    job/options.c job/options.h job/options_table.c \
    common/paths.c common/paths.h \
    common/process.c common/process.h \
    common/process_tree.c common/process_tree.h \
    common/random.h \
    job/rate.c job/rate.h \
    files/publish.c files/publish.h \
    files/replace_file.c files/replace_file.h \
    files/results_lines.c files/results_lines.h files/results_read.c files/results_read.h \
    files/results_write.c files/results_write.h \
    statistics/statistics.c statistics/statistics.h \
    common/status.c common/status.h \
    statistics/student.c statistics/student.h \
    statistics/steady.c statistics/steady.h \
    common/text.c common/text.h \
    job/workload_text.c job/workload_text.h \
    job/workload_trace.c job/workload_mix.c job/workload_mix.h
