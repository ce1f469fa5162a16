# Tests of the command line (bats, jq), on the emulated GPU.
cli_tests = \
    tests/cli/doctor.bats \
    tests/cli/fakes.bats \
    tests/cli/faults.bats \
    tests/cli/files.bats \
    tests/cli/limits.bats \
    tests/cli/plot.bats \
    tests/cli/signals.bats \
    tests/cli/sweep.bats \
    tests/cli/usage.bats
EXTRA_DIST += $(cli_tests) tests/cli/helper.bash tests/cli/record-types.awk
if HAVE_BATS
TESTS += $(cli_tests)
endif
