# What the tests of all rooms share: the environment, the kinds of tests, and the targets that are
# not part of `make check`.

TEST_EXTENSIONS = .sh .bats
BATS_LOG_COMPILER = $(BATS)
AM_TESTS_ENVIRONMENT = \
    export MPSWEEP_SOURCE_DIR='$(abs_top_srcdir)'; \
    export MPSWEEP_BUILD_DIR='$(abs_top_builddir)'; \
    export NVCC='$(NVCC)'; \
    export BATS='$(BATS)';

include tests/fakes/local.mk
include tests/bench/local.mk
include tests/gpu/local.mk
include tests/fuzz/local.mk
include tests/soak/local.mk

# All tests but the longest and those of commands, for builds that repeat only some of these: with
# --enable-sanitizer=address,undefined and =thread, and distcheck. Automake lists programs in TESTS by
# names of its own, so that no variable of ours could leave them out.
short_tests = $(filter-out $(first_tests) $(cli_tests),$(TESTS))
check-memory:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter $(memory_tests),$(TESTS)) $(short_tests)'
check-threads:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter $(thread_tests),$(TESTS)) $(short_tests)'
check-tarball:
	$(MAKE) $(AM_MAKEFLAGS) distcheck TESTS='$(filter $(place_tests),$(TESTS)) $(short_tests)'
.PHONY: check-memory check-threads check-tarball

# Static analysis, as CI runs it.
lint: mpsweep$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) $(top_srcdir)/tests/lint.sh
.PHONY: lint

# Adds an axis to a copy of the source as CONTRIBUTING.md describes, builds it and uses it.
check-axis: mpsweep$(EXEEXT)
	$(srcdir)/tests/axis/check $(srcdir) ./mpsweep$(EXEEXT) CC="$(CC)" CFLAGS="-g -O0"
.PHONY: check-axis
EXTRA_DIST += tests/axis/check
EXTRA_DIST += tests/lint.sh tests/check-layers tests/check-words tests/check-references tests/check-claims tests/claims.jq tests/cppcheck-suppressions .clang-tidy

# What the tests run, by room, in a build of its own: below coverage/, by gcc's gcov.
coverage:
	$(top_srcdir)/tests/coverage $(top_srcdir) coverage "$(TESTS_TO_COVER)"
.PHONY: coverage
EXTRA_DIST += tests/coverage

# On a machine with a GPU: the tests that need one. A missing GPU is a failure here, not a skip.
check-gpu: all
	$(AM_TESTS_ENVIRONMENT) export MPSWEEP_GPU_REQUIRED=1; $(BATS) $(top_srcdir)/tests/gpu
.PHONY: check-gpu


# An installed mpsweep works where it is: part of distcheck.
installcheck-local:
	$(DESTDIR)$(bindir)/mpsweep sweep --device emulated --quiet --layout threads:2 \
	    --layout processes+mps:2 --kernels 5 --duration 0.1 --precision 100 --output installed.jsonl
	$(DESTDIR)$(bindir)/mpsweep probe copy-block --device emulated --quiet --arms own-pageable
	$(CC) $(CFLAGS) $(SANITIZE) -o installed-ticker $(top_srcdir)/examples/program/ticker.c \
	    $$(PKG_CONFIG_SYSROOT_DIR=$(DESTDIR) PKG_CONFIG_PATH=$(DESTDIR)$(pkgconfigdir) \
	    $(PKG_CONFIG) --cflags --libs mpsweep-client) -Wl,-rpath,$(DESTDIR)$(libdir) $(LIBS)
	$(DESTDIR)$(bindir)/mpsweep sweep --device emulated --quiet --layout processes+mps:2 \
	    --duration 0.1 --precision 100 --output installed-program.jsonl -- ./installed-ticker
	rm -f installed-ticker installed.jsonl installed-program.jsonl
