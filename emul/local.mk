# The emulated machine: its model, which the orchestrator links; the driver's stand-in; the MPS
# daemon's.

noinst_LIBRARIES += libemul.a
libemul_a_SOURCES = \
    emul/model/device_names.h emul/model/effects.c emul/model/effects.h \
    emul/model/lateness.c emul/model/lateness.h emul/model/machine.c emul/model/machine.h emul/model/model.c emul/model/model.h emul/model/mps_link.c \
    emul/model/mps_link.h emul/model/slices.c emul/model/state.c emul/model/state.h \
    emul/model/visible.c emul/model/visible.h

# A library that is only ever loaded at run time: a program of automake's, linked as shared.
pkglibexec_PROGRAMS += mpsweep-emulated-cuda.so
mpsweep_emulated_cuda_so_SOURCES = \
    $(libemul_a_SOURCES) emul/cuda/activity.c emul/cuda/activity.h emul/cuda/allocate.c \
  emul/cuda/context.c emul/cuda/copies.c \
    emul/cuda/copies.h emul/cuda/copy.c emul/cuda/deferred.c emul/cuda/deferred.h \
    emul/cuda/device.c emul/cuda/entries.h emul/cuda/event.c emul/cuda/fault.c emul/cuda/fault.h \
    emul/cuda/graph.c emul/cuda/handles.h emul/cuda/issue.c emul/cuda/issue.h emul/cuda/kernels.c \
    emul/cuda/kernels.h emul/cuda/launch.c emul/cuda/lookup.c emul/cuda/memory.c emul/cuda/memory.h \
    emul/cuda/process.c emul/cuda/process.h emul/cuda/stream.c common/clock.c common/memory_file.c common/process.c \
    common/status.c common/text.c
mpsweep_emulated_cuda_so_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
# Its entry points call themselves, and not those of a driver that is loaded beside it.
mpsweep_emulated_cuda_so_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-Bsymbolic
mpsweep_emulated_cuda_so_LDADD =

pkglibexec_PROGRAMS += mpsweep-emulated-mps-control
mpsweep_emulated_mps_control_SOURCES = \
    emul/mps/clients.c emul/mps/commands.c emul/mps/control.h emul/mps/log.c emul/mps/main.c \
    emul/mps/server.c
mpsweep_emulated_mps_control_LDADD = libemul.a libcommon.a

unit_tests += \
    tests/unit/emul/test_contexts tests/unit/emul/test_cuda \
    tests/unit/emul/test_effects tests/unit/emul/test_fault tests/unit/emul/test_hold \
    tests/unit/emul/test_injection tests/unit/emul/test_machine tests/unit/emul/test_model \
    tests/unit/emul/test_mps tests/unit/emul/test_mps_faults \
    tests/unit/emul/test_mps_replies tests/unit/emul/test_order tests/unit/emul/test_steps
emul_driver = tests/unit/emul/driver.c tests/unit/emul/driver.h
emul_rig = tests/unit/emul/rig.c tests/unit/emul/rig.h $(emul_driver)
emul_mps = tests/unit/emul/mps.c tests/unit/emul/mps.h $(emul_driver)
tests_unit_emul_test_contexts_SOURCES = tests/unit/emul/test_contexts.c $(emul_rig)
tests_unit_emul_test_cuda_SOURCES = tests/unit/emul/test_cuda.c $(emul_driver)
tests_unit_emul_test_effects_SOURCES = tests/unit/emul/test_effects.c $(emul_rig)
tests_unit_emul_test_fault_SOURCES = tests/unit/emul/test_fault.c emul/cuda/fault.c
tests_unit_emul_test_injection_SOURCES = tests/unit/emul/test_injection.c $(emul_driver)
tests_unit_emul_test_mps_SOURCES = tests/unit/emul/test_mps.c $(emul_mps)
tests_unit_emul_test_mps_faults_SOURCES = tests/unit/emul/test_mps_faults.c $(emul_mps)
tests_unit_emul_test_mps_replies_SOURCES = tests/unit/emul/test_mps_replies.c $(emul_mps)
tests_unit_emul_test_order_SOURCES = tests/unit/emul/test_order.c $(emul_rig)
tests_unit_emul_test_steps_SOURCES = tests/unit/emul/test_steps.c $(emul_driver)

if HAVE_CMOCKA
# What the emulated driver injects. Not a test: a program to automake only, so that it links it.
check_PROGRAMS += tests/unit/emul/injection.so
tests_unit_emul_injection_so_SOURCES = tests/unit/emul/injection.c
tests_unit_emul_injection_so_CFLAGS = $(AM_CFLAGS) -fPIC
tests_unit_emul_injection_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_unit_emul_injection_so_LDADD =
endif
