# Histograms, batch means, confidence intervals, comparisons; pure.
noinst_LIBRARIES += libstatistics.a
libstatistics_a_SOURCES = \
    statistics/effect.c statistics/effect.h statistics/histogram.c statistics/histogram.h \
    statistics/interval.c statistics/interval.h \
    statistics/statistics.c statistics/statistics.h statistics/steady.c statistics/steady.h \
    statistics/student.c statistics/student.h

first_tests += tests/unit/statistics/test_effect tests/unit/statistics/test_interval
unit_tests += \
    tests/unit/statistics/test_histogram \
    tests/unit/statistics/test_statistics tests/unit/statistics/test_steady
series = tests/unit/statistics/series.c tests/unit/statistics/series.h
tests_unit_statistics_test_histogram_SOURCES = tests/unit/statistics/test_histogram.c $(series)
tests_unit_statistics_test_interval_SOURCES = tests/unit/statistics/test_interval.c $(series)
tests_unit_statistics_test_steady_SOURCES = tests/unit/statistics/test_steady.c $(series)
