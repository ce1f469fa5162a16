# What stands in for something that fails, in tests of the command line: programs to put in the place
# of others, and a library to preload. Not tests: programs to automake only, so that it links them.
check_PROGRAMS += \
    tests/fakes/nvidia-cuda-mps-control \
    tests/fakes/hold_process \
    tests/fakes/program \
    tests/fakes/slow_exec.so

tests_fakes_nvidia_cuda_mps_control_SOURCES = tests/fakes/mps_control.c
tests_fakes_nvidia_cuda_mps_control_LDADD = libcommon.a

tests_fakes_hold_process_SOURCES = tests/fakes/hold_process.c

tests_fakes_program_SOURCES = tests/fakes/program.c
tests_fakes_program_LDADD = libmpsweep-client.a

# Without sanitizers: it is loaded before them.
tests_fakes_slow_exec_so_SOURCES = tests/fakes/slow_exec.c
tests_fakes_slow_exec_so_CFLAGS = -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden
tests_fakes_slow_exec_so_LDFLAGS = -shared

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_fakes
TESTS += tests/unit/test_fakes
tests_unit_test_fakes_SOURCES = tests/unit/test_fakes.c
tests_unit_test_fakes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_fakes_LDADD = libcommon.a $(CMOCKA_LIBS)
endif
