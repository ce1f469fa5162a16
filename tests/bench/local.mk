# `make bench`: what mpsweep itself costs, on this machine. Not part of `make check`.
EXTRA_PROGRAMS += tests/bench/bench
tests_bench_bench_SOURCES = tests/bench/bench.c worker/cpu.c worker/record.c worker/sampling.c
tests_bench_bench_LDADD = libshm.a libcommon.a
EXTRA_PROGRAMS += tests/bench/client
tests_bench_client_SOURCES = tests/bench/client.c
tests_bench_client_LDADD = libmpsweep-client.a libshm.a libcommon.a
CLEANFILES += tests/bench/bench$(EXEEXT) tests/bench/client$(EXEEXT)
EXTRA_DIST += tests/bench/run tests/bench/tick.py

bench: all tests/bench/bench$(EXEEXT) tests/bench/client$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) $(top_srcdir)/tests/bench/run
.PHONY: bench
