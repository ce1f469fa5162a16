# What stands in for something that fails, in tests of the command line: programs to put in the place
# of others, and a library to preload. Not tests: programs to automake only, so that it links them.
check_PROGRAMS += \
    tests/fakes/nvidia-cuda-mps-control \
    tests/fakes/hold_process \
    tests/fakes/program \
    tests/fakes/unaware \
    tests/fakes/http-server \
    tests/fakes/cupti_other_clock.so \
    tests/fakes/numa.so \
    tests/fakes/lying_rename.so \
    tests/fakes/slow_exec.so \
    tests/fakes/failing_call.so \
    tests/fakes/more_copies.so

tests_fakes_nvidia_cuda_mps_control_SOURCES = tests/fakes/mps_control.c emul/cuda/fault.c
tests_fakes_nvidia_cuda_mps_control_LDADD = libcommon.a

tests_fakes_hold_process_LDADD =

tests_fakes_program_SOURCES = tests/fakes/program.c emul/model/lateness.c
tests_fakes_program_LDADD = libmpsweep-client.a libcommon.a

# For the tests on a real GPU, too.
noinst_PROGRAMS += tests/fakes/gpu_program tests/fakes/silent_gpu_program tests/cli/marked

# No fake: what each test ends with. Without sanitizers: it starts a thousand times.
tests_cli_marked_CFLAGS = -std=gnu11 $(WARNINGS)
tests_cli_marked_LDFLAGS =
tests_cli_marked_LDADD =
tests_fakes_gpu_program_SOURCES = tests/fakes/gpu_program.c
tests_fakes_gpu_program_LDADD = libmpsweep-client.a libkernels.a libdevice.a libcommon.a
tests_fakes_silent_gpu_program_SOURCES = tests/fakes/gpu_program.c
tests_fakes_silent_gpu_program_CPPFLAGS = $(AM_CPPFLAGS) -DSILENT
tests_fakes_silent_gpu_program_LDADD = libkernels.a libdevice.a libcommon.a
tests_fakes_unaware_SOURCES = tests/fakes/unaware.c
tests_fakes_unaware_LDADD =

tests_fakes_http_server_SOURCES = \
    tests/fakes/http_server/answers.c tests/fakes/http_server/internal.h \
    tests/fakes/http_server/main.c tests/fakes/http_server/options.c \
    tests/fakes/http_server/requests.c tests/fakes/http_server/times.c emul/model/lateness.c
tests_fakes_http_server_LDADD = libcommon.a

tests_fakes_cupti_other_clock_so_SOURCES = tests/fakes/cupti_other_clock.c
tests_fakes_cupti_other_clock_so_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
tests_fakes_cupti_other_clock_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_fakes_cupti_other_clock_so_LDADD =

# Without sanitizers: it is loaded before them.
tests_fakes_slow_exec_so_SOURCES = tests/fakes/slow_exec.c
tests_fakes_slow_exec_so_CFLAGS = -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden
tests_fakes_slow_exec_so_LDFLAGS = -shared
tests_fakes_slow_exec_so_LDADD =
tests_fakes_failing_call_so_SOURCES = tests/fakes/failing_call.c
tests_fakes_failing_call_so_CFLAGS = -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden
tests_fakes_failing_call_so_LDFLAGS = -shared
tests_fakes_failing_call_so_LDADD =
tests_fakes_more_copies_so_SOURCES = tests/fakes/more_copies.c
tests_fakes_more_copies_so_CFLAGS = -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden
tests_fakes_more_copies_so_LDFLAGS = -shared
tests_fakes_more_copies_so_LDADD =
tests_fakes_numa_so_SOURCES = tests/fakes/numa.c
tests_fakes_numa_so_CFLAGS = -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden
tests_fakes_numa_so_LDFLAGS = -shared
tests_fakes_numa_so_LDADD =

tests_fakes_lying_rename_so_SOURCES = tests/fakes/lying_rename.c
tests_fakes_lying_rename_so_CFLAGS = -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden
tests_fakes_lying_rename_so_LDFLAGS = -shared
tests_fakes_lying_rename_so_LDADD =

# Plug-ins that misbehave: as their options request, and those that cannot wait for them.
plugin_lies = tests/fakes/plugins/abi.so tests/fakes/plugins/short.so \
    tests/fakes/plugins/no_init.so tests/fakes/plugins/no_check.so tests/fakes/plugins/old.so
check_PROGRAMS += $(plugin_lies)
# For the tests on a real GPU, too.
noinst_PROGRAMS += tests/fakes/plugins/faulty.so
plugin_flags = -std=gnu11 $(WARNINGS) -fPIC
tests_fakes_plugins_faulty_so_SOURCES = tests/fakes/plugins/faulty.c
tests_fakes_plugins_faulty_so_CPPFLAGS = -I$(top_srcdir) -D_GNU_SOURCE=
tests_fakes_plugins_faulty_so_CFLAGS = $(plugin_flags)
tests_fakes_plugins_faulty_so_LDFLAGS = -shared
tests_fakes_plugins_faulty_so_LDADD =
tests_fakes_plugins_abi_so_SOURCES = tests/fakes/plugins/lies.c
tests_fakes_plugins_abi_so_CPPFLAGS = -I$(top_srcdir) -DLIE_ABI=7
tests_fakes_plugins_abi_so_CFLAGS = $(plugin_flags)
tests_fakes_plugins_abi_so_LDFLAGS = -shared
tests_fakes_plugins_abi_so_LDADD =
tests_fakes_plugins_short_so_SOURCES = tests/fakes/plugins/lies.c
tests_fakes_plugins_short_so_CPPFLAGS = -I$(top_srcdir) -DLIE_SIZE=24
tests_fakes_plugins_short_so_CFLAGS = $(plugin_flags)
tests_fakes_plugins_short_so_LDFLAGS = -shared
tests_fakes_plugins_short_so_LDADD =
tests_fakes_plugins_no_init_so_SOURCES = tests/fakes/plugins/lies.c
tests_fakes_plugins_no_init_so_CPPFLAGS = -I$(top_srcdir) -DLIE_INIT=NULL
tests_fakes_plugins_no_init_so_CFLAGS = $(plugin_flags)
tests_fakes_plugins_no_init_so_LDFLAGS = -shared
tests_fakes_plugins_no_init_so_LDADD =
tests_fakes_plugins_no_check_so_SOURCES = tests/fakes/plugins/lies.c
tests_fakes_plugins_no_check_so_CPPFLAGS = -I$(top_srcdir) -DLIE_CHECK=NULL
tests_fakes_plugins_no_check_so_CFLAGS = $(plugin_flags)
tests_fakes_plugins_no_check_so_LDFLAGS = -shared
tests_fakes_plugins_no_check_so_LDADD =
# As built with the header before 'completed' was added to it.
tests_fakes_plugins_old_so_SOURCES = tests/fakes/plugins/lies.c
tests_fakes_plugins_old_so_CPPFLAGS = -I$(top_srcdir) -DLIE_COMPLETED=crash \
    '-DLIE_SIZE=offsetof(struct mpsweep_workload, completed)'
tests_fakes_plugins_old_so_CFLAGS = $(plugin_flags)
tests_fakes_plugins_old_so_LDFLAGS = -shared
tests_fakes_plugins_old_so_LDADD =

unit_tests += tests/unit/fakes/test_fakes
