# `make bench`: what mpsweep itself costs, on this machine. Not part of `make check`.
EXTRA_PROGRAMS += tests/bench/bench
EXTRA_PROGRAMS += tests/bench/client
EXTRA_PROGRAMS += tests/bench/poll
tests_bench_client_LDADD = libmpsweep-client.a $(LDADD)

# What the search of mpsweep tune finds, on machines that are simulated.
EXTRA_PROGRAMS += tests/bench/tune_bench
tests_bench_tune_bench_SOURCES = tests/bench/tune_bench.c $(tune_machines)
# And which kinds of layouts are the best there.
EXTRA_PROGRAMS += tests/bench/tune_kinds
tests_bench_tune_kinds_SOURCES = tests/bench/tune_kinds.c $(tune_machines)
# How soon searches find the best layout, among layouts that were all measured.
EXTRA_PROGRAMS += tests/bench/regret
CLEANFILES += tests/bench/regret$(EXEEXT)
tests_bench_regret_SOURCES = tests/bench/regret.c tests/bench/recorded.c tests/bench/recorded.h $(tune_machines)
# How often the observer finds the iterations of programs that are drawn at random.
EXTRA_PROGRAMS += tests/accuracy/iterations
CLEANFILES += tests/accuracy/iterations$(EXEEXT)
tests_accuracy_iterations_SOURCES = \
    tests/accuracy/families.c tests/accuracy/families.h tests/accuracy/iterations.c \
    tests/unit/observer/client.h observer/inputs.c observer/report.c observer/watcher.c \
    $(period_sources)
tests_accuracy_iterations_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
# A million lines of results.
EXTRA_PROGRAMS += tests/bench/make_results
CLEANFILES += tests/bench/make_results$(EXEEXT)
# Tests measure memory with it, too.
check_PROGRAMS += tests/bench/peak
EXTRA_DIST += tests/bench/scale

bench-scale: all tests/bench/make_results$(EXEEXT) tests/bench/peak$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) $(top_srcdir)/tests/bench/scale
.PHONY: bench-scale

# On an idle computer: what calibrate, explain and tune find on emulated machines that are known.
EXTRA_DIST += tests/bench/model.bats
bench-model: all
	$(AM_TESTS_ENVIRONMENT) $(BATS) $(top_srcdir)/tests/bench/model.bats
.PHONY: bench-model

bench_programs = tests/bench/bench$(EXEEXT) tests/bench/client$(EXEEXT) tests/bench/poll$(EXEEXT) \
    tests/bench/tune_bench$(EXEEXT) tests/bench/tune_kinds$(EXEEXT)
bench_servers = tests/fakes/http-server$(EXEEXT)
CLEANFILES += $(bench_programs)
EXTRA_DIST += tests/bench/run tests/bench/tick.py tests/bench/agree.py tests/accuracy/draw tests/accuracy/evaluate tests/accuracy/gaps tests/accuracy/remedies tests/accuracy/replays tests/accuracy/searches.gp tests/accuracy/space tests/accuracy/spaces/builtin.job tests/accuracy/spaces/decode.job tests/accuracy/spaces/detect.job tests/accuracy/spaces/torch.job tests/accuracy/table tests/accuracy/turns.job tests/accuracy/turns_border.job tests/accuracy/turns_queues.job tests/accuracy/turns_unseen.job tests/accuracy/turns_after.job tests/accuracy/turns_after.cu

bench: all $(bench_programs) $(bench_servers)
	$(AM_TESTS_ENVIRONMENT) $(top_srcdir)/tests/bench/run
.PHONY: bench
