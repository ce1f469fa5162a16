# What a user writes: options, job files, and the words of layouts, rates and workloads.
noinst_LIBRARIES += libjob.a
libjob_a_SOURCES = \
    job/arrivals.c job/arrivals.h job/bodies.c job/bodies.h job/crew.h job/jobfile.c \
    job/jobfile.h job/layout_text.c job/option_words.c job/option_words.h job/options.c \
    job/options.h \
    job/options_table.c job/point.h job/queues.h job/rate.c job/rate.h \
    job/work.h job/workload_mix.c job/workload_mix.h \
    job/workload_text.c job/workload_text.h job/workload_trace.c

unit_tests += \
    tests/unit/job/test_arrivals tests/unit/job/test_bodies tests/unit/job/test_jobfile \
    tests/unit/job/test_options tests/unit/job/test_queues tests/unit/job/test_workload_text
tests_unit_job_test_arrivals_SOURCES = tests/unit/job/test_arrivals.c $(scratch)
tests_unit_job_test_bodies_SOURCES = tests/unit/job/test_bodies.c $(scratch)
tests_unit_job_test_jobfile_SOURCES = tests/unit/job/test_jobfile.c $(scratch)
