# The emulated machine: what the orchestrator links, the driver's stand-in, the MPS daemon's.

noinst_LIBRARIES += libemul.a
libemul_a_SOURCES = \
    emul/model/state.h emul/model/state.c \
    emul/model/machine.h emul/model/machine.c \
    emul/model/effects.h emul/model/effects.c \
    emul/model/model.h emul/model/model.c emul/model/slices.c

# A library that is only ever loaded at run time: a program of automake's, linked as shared.
pkglibexec_PROGRAMS += mpsweep-emulated-cuda.so
mpsweep_emulated_cuda_so_SOURCES = \
    $(libemul_a_SOURCES) \
    emul/cuda/process.h emul/cuda/process.c \
    emul/cuda/activity.h emul/cuda/activity.c \
    emul/model/device_names.h emul/cuda/device.c emul/cuda/context.c emul/cuda/green.c \
    emul/cuda/allocate.c emul/cuda/module.h emul/cuda/module.c \
    emul/cuda/deferred.h emul/cuda/deferred.c emul/cuda/stream.c emul/cuda/event.c \
    emul/cuda/copies.h emul/cuda/copies.c emul/cuda/copy.c emul/cuda/peer.c \
    emul/cuda/launch.c emul/cuda/hold.c emul/cuda/graph.c \
    emul/cuda/kernels.h emul/cuda/kernels.c \
    emul/cuda/memory.h emul/cuda/memory.c \
    emul/cuda/entry.h emul/cuda/fault.h emul/cuda/fault.c \
    emul/model/visible.h emul/model/visible.c \
    emul/model/mps_link.h emul/model/mps_link.c \
    common/clock.c common/process.c common/status.c
mpsweep_emulated_cuda_so_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
mpsweep_emulated_cuda_so_LDFLAGS = $(AM_LDFLAGS) -shared

pkglibexec_PROGRAMS += mpsweep-emulated-mps-control
mpsweep_emulated_mps_control_SOURCES = \
    emul/mps/control.h emul/mps/main.c emul/mps/server.c emul/mps/clients.c \
    emul/mps/commands.c emul/mps/log.c \
    emul/model/device_names.h emul/model/visible.h emul/model/visible.c emul/model/mps_link.h emul/model/mps_link.c
mpsweep_emulated_mps_control_LDADD = libcommon.a

if HAVE_CMOCKA
emul_tests = \
    tests/unit/emul/test_machine \
    tests/unit/emul/test_model \
    tests/unit/emul/test_fault \
    tests/unit/emul/test_cuda \
    tests/unit/emul/test_steps \
    tests/unit/emul/test_hold \
    tests/unit/emul/test_order \
    tests/unit/emul/test_contexts \
    tests/unit/emul/test_effects \
    tests/unit/emul/test_mps \
    tests/unit/emul/test_mps_replies \
    tests/unit/emul/test_mps_faults
check_PROGRAMS += $(emul_tests)
TESTS += $(emul_tests)

tests_unit_emul_test_model_SOURCES = tests/unit/emul/test_model.c
tests_unit_emul_test_model_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_model_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_emul_test_machine_SOURCES = tests/unit/emul/test_machine.c
tests_unit_emul_test_machine_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_machine_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_emul_test_fault_SOURCES = tests/unit/emul/test_fault.c emul/cuda/fault.c
tests_unit_emul_test_fault_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_fault_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_emul_test_cuda_SOURCES = \
    tests/unit/emul/test_cuda.c tests/unit/emul/driver.c tests/unit/emul/driver.h
tests_unit_emul_test_cuda_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_cuda_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_emul_test_steps_SOURCES = \
    tests/unit/emul/test_steps.c tests/unit/emul/driver.c tests/unit/emul/driver.h
tests_unit_emul_test_steps_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_steps_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_emul_test_hold_SOURCES = tests/unit/emul/test_hold.c
tests_unit_emul_test_hold_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_hold_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

emul_rig = \
    tests/unit/emul/rig.c tests/unit/emul/rig.h \
    tests/unit/emul/driver.c tests/unit/emul/driver.h
tests_unit_emul_test_order_SOURCES = tests/unit/emul/test_order.c $(emul_rig)
tests_unit_emul_test_order_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_order_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_emul_test_contexts_SOURCES = tests/unit/emul/test_contexts.c $(emul_rig)
tests_unit_emul_test_contexts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_contexts_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_emul_test_effects_SOURCES = tests/unit/emul/test_effects.c $(emul_rig)
tests_unit_emul_test_effects_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_effects_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

emul_mps_harness = \
    tests/unit/emul/mps.c tests/unit/emul/mps.h \
    tests/unit/emul/driver.c tests/unit/emul/driver.h \
    emul/model/mps_link.c
tests_unit_emul_test_mps_SOURCES = tests/unit/emul/test_mps.c $(emul_mps_harness)
tests_unit_emul_test_mps_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_mps_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_emul_test_mps_replies_SOURCES = tests/unit/emul/test_mps_replies.c $(emul_mps_harness)
tests_unit_emul_test_mps_replies_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_mps_replies_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_emul_test_mps_faults_SOURCES = tests/unit/emul/test_mps_faults.c $(emul_mps_harness)
tests_unit_emul_test_mps_faults_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_emul_test_mps_faults_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)
endif
