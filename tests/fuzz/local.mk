# Fuzz targets: fuzz_NAME.c, each with inputs to begin with in corpus/NAME. `make check` replays
# those; `make fuzz` looks for more with libFuzzer (./configure CC=clang --enable-fuzzing).
fuzz_replays = tests/fuzz/replay_files tests/fuzz/replay_jobfile tests/fuzz/replay_merge \
    tests/fuzz/replay_mps_reply tests/fuzz/replay_mps_state tests/fuzz/replay_results \
    tests/fuzz/replay_wire tests/fuzz/replay_words
fuzz_programs = tests/fuzz/fuzz_files tests/fuzz/fuzz_jobfile tests/fuzz/fuzz_merge \
    tests/fuzz/fuzz_mps_reply tests/fuzz/fuzz_mps_state tests/fuzz/fuzz_results \
    tests/fuzz/fuzz_wire tests/fuzz/fuzz_words
check_PROGRAMS += $(fuzz_replays)
TESTS += $(fuzz_replays)
EXTRA_PROGRAMS += $(fuzz_programs)
CLEANFILES += $(fuzz_programs)
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/run

tests_fuzz_replay_files_SOURCES = tests/fuzz/fuzz_files.c tests/fuzz/replay.c \
    tests/fuzz/target.h
tests_fuzz_fuzz_files_SOURCES = tests/fuzz/fuzz_files.c tests/fuzz/target.h
tests_fuzz_fuzz_files_LDFLAGS = $(AM_LDFLAGS) $(FUZZER)

tests_fuzz_replay_jobfile_SOURCES = tests/fuzz/fuzz_jobfile.c tests/fuzz/replay.c \
    tests/fuzz/target.h
tests_fuzz_fuzz_jobfile_SOURCES = tests/fuzz/fuzz_jobfile.c tests/fuzz/target.h
tests_fuzz_fuzz_jobfile_LDFLAGS = $(AM_LDFLAGS) $(FUZZER)

tests_fuzz_replay_merge_SOURCES = tests/fuzz/fuzz_merge.c tests/fuzz/replay.c \
    tests/fuzz/target.h
tests_fuzz_fuzz_merge_SOURCES = tests/fuzz/fuzz_merge.c tests/fuzz/target.h
tests_fuzz_fuzz_merge_LDFLAGS = $(AM_LDFLAGS) $(FUZZER)

tests_fuzz_replay_mps_reply_SOURCES = tests/fuzz/fuzz_mps_reply.c tests/fuzz/replay.c \
    tests/fuzz/target.h
tests_fuzz_fuzz_mps_reply_SOURCES = tests/fuzz/fuzz_mps_reply.c tests/fuzz/target.h
tests_fuzz_fuzz_mps_reply_LDFLAGS = $(AM_LDFLAGS) $(FUZZER)

tests_fuzz_replay_mps_state_SOURCES = tests/fuzz/fuzz_mps_state.c tests/fuzz/replay.c \
    tests/fuzz/target.h
tests_fuzz_fuzz_mps_state_SOURCES = tests/fuzz/fuzz_mps_state.c tests/fuzz/target.h
tests_fuzz_fuzz_mps_state_LDFLAGS = $(AM_LDFLAGS) $(FUZZER)

tests_fuzz_replay_results_SOURCES = tests/fuzz/fuzz_results.c tests/fuzz/replay.c \
    tests/fuzz/target.h
tests_fuzz_fuzz_results_SOURCES = tests/fuzz/fuzz_results.c tests/fuzz/target.h
tests_fuzz_fuzz_results_LDFLAGS = $(AM_LDFLAGS) $(FUZZER)

tests_fuzz_replay_wire_SOURCES = tests/fuzz/fuzz_wire.c tests/fuzz/replay.c \
    tests/fuzz/target.h
tests_fuzz_fuzz_wire_SOURCES = tests/fuzz/fuzz_wire.c tests/fuzz/target.h
tests_fuzz_fuzz_wire_LDFLAGS = $(AM_LDFLAGS) $(FUZZER)

tests_fuzz_replay_words_SOURCES = tests/fuzz/fuzz_words.c tests/fuzz/replay.c \
    tests/fuzz/target.h emul/cuda/fault.c
tests_fuzz_fuzz_words_SOURCES = tests/fuzz/fuzz_words.c tests/fuzz/target.h emul/cuda/fault.c
tests_fuzz_fuzz_words_LDFLAGS = $(AM_LDFLAGS) $(FUZZER)

# Each target runs for this long. A seed gives much the same inputs each time; 0 is random.
FUZZ_SECONDS = 60
FUZZ_SEED = 0

if FUZZING
fuzz: $(fuzz_programs)
	FUZZ_SECONDS='$(FUZZ_SECONDS)' FUZZ_SEED='$(FUZZ_SEED)' $(top_srcdir)/tests/fuzz/run \
	    $(fuzz_programs)
else
fuzz:
	@echo "make fuzz: this build has no fuzzer: ./configure CC=clang --enable-fuzzing" >&2
	@exit 1
endif
.PHONY: fuzz

clean-local:
	rm -rf tests/fuzz/found
