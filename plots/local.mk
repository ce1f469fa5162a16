plotsdir = $(pkgdatadir)/plots
dist_plots_DATA = plots/throughput.gp plots/style.gp plots/compare.gp \
    plots/ceilings.gp plots/fleet.gp plots/gpus.gp plots/heatmap.gp plots/latency.gp plots/launch.gp \
    plots/panels.gp plots/phases.gp plots/probe.gp plots/probe-series.gp plots/rows.gp plots/scaling.gp \
    plots/search.gp plots/timeline.gp

EXTRA_DIST += tests/data/h200-sample.jsonl tests/data/emulated-sample.jsonl

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/common/test_child tests/unit/common/test_child_spawn \
    tests/unit/files/test_results_read
TESTS += tests/unit/common/test_child tests/unit/common/test_child_spawn tests/unit/files/test_results_read

tests_unit_common_test_child_SOURCES = tests/unit/common/test_child.c
tests_unit_common_test_child_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_common_test_child_LDADD = libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_common_test_child_spawn_SOURCES = tests/unit/common/test_child_spawn.c
tests_unit_common_test_child_spawn_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_common_test_child_spawn_LDADD = libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_files_test_results_read_SOURCES = tests/unit/files/test_results_read.c
tests_unit_files_test_results_read_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_files_test_results_read_LDADD = libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)
endif
