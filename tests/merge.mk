# Tests of shards and of merging.
EXTRA_DIST += tests/cli/merge.bats
if HAVE_BATS
TESTS += tests/cli/merge.bats
endif

if HAVE_CMOCKA
merge_tests = tests/unit/sweep/test_shard tests/unit/merge/test_models
check_PROGRAMS += $(merge_tests)
TESTS += $(merge_tests)

tests_unit_sweep_test_shard_SOURCES = tests/unit/sweep/test_shard.c orchestrator/sweep/shard.c \
    orchestrator/sweep/deal.c orchestrator/results/number_ranges.c orchestrator/campaign/estimate.c \
    orchestrator/plan/turns.c $(plan_rig) $(plan_sources)
tests_unit_sweep_test_shard_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_sweep_test_shard_LDADD = libmps.a libcommon.a $(INIH_LIBS) $(JANSSON_LIBS) -lm $(CMOCKA_LIBS)

tests_unit_merge_test_models_SOURCES = tests/unit/merge/test_models.c \
    orchestrator/merge/fleet.c orchestrator/merge/gpus.c orchestrator/results/effect.c
tests_unit_merge_test_models_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_merge_test_models_LDADD = libcommon.a -lm $(CMOCKA_LIBS)
endif
