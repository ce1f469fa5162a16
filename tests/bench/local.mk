# `make bench`: what mpsweep itself costs, on this machine. Not part of `make check`.
EXTRA_PROGRAMS += tests/bench/bench
tests_bench_bench_SOURCES = tests/bench/bench.c recording/cpu.c recording/record.c recording/sampling.c
tests_bench_bench_LDADD = libshm.a libcommon.a
EXTRA_PROGRAMS += tests/bench/client
tests_bench_client_SOURCES = tests/bench/client.c
tests_bench_client_LDADD = libmpsweep-client.a libshm.a libcommon.a

# What the search of mpsweep tune finds, on machines that are simulated.
EXTRA_PROGRAMS += tests/bench/tune_bench
tests_bench_tune_bench_SOURCES = tests/bench/tune_bench.c $(tune_simulated)
tests_bench_tune_bench_LDADD = libexplain.a libmps.a libcommon.a $(JANSSON_LIBS) $(INIH_LIBS) -lm
# A million lines of results.
EXTRA_PROGRAMS += tests/bench/make_results tests/bench/peak
tests_bench_make_results_SOURCES = tests/bench/make_results.c
tests_bench_make_results_LDADD = libcommon.a $(JANSSON_LIBS) -lm
tests_bench_peak_SOURCES = tests/bench/peak.c
tests_bench_peak_LDADD = libcommon.a
CLEANFILES += tests/bench/make_results$(EXEEXT) tests/bench/peak$(EXEEXT)
EXTRA_DIST += tests/bench/scale

bench-scale: all tests/bench/make_results$(EXEEXT) tests/bench/peak$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) $(top_srcdir)/tests/bench/scale
.PHONY: bench-scale

CLEANFILES += tests/bench/bench$(EXEEXT) tests/bench/client$(EXEEXT) tests/bench/tune_bench$(EXEEXT)
EXTRA_DIST += tests/bench/run tests/bench/tick.py

bench: all tests/bench/bench$(EXEEXT) tests/bench/client$(EXEEXT) tests/bench/tune_bench$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) $(top_srcdir)/tests/bench/run
.PHONY: bench
