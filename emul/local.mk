# The emulated machine: what the orchestrator links, the driver's stand-in, the MPS daemon's.

noinst_LIBRARIES += libemul.a
libemul_a_SOURCES = \
    emul/emul_state.h emul/state.c \
    emul/machine.h emul/machine.c \
    emul/effects.h emul/effects.c \
    emul/model.h emul/model.c emul/slices.c

# A library that is only ever loaded at run time: a program of automake's, linked as shared.
pkglibexec_PROGRAMS += mpsweep-emulated-cuda.so
mpsweep_emulated_cuda_so_SOURCES = \
    $(libemul_a_SOURCES) \
    emul/process.h emul/process.c \
    emul/activity.h emul/activity.c \
    emul/device_names.h emul/device.c emul/context.c emul/green.c \
    emul/allocate.c emul/module.h emul/module.c \
    emul/deferred.h emul/deferred.c emul/stream.c emul/event.c \
    emul/copies.h emul/copies.c emul/copy.c emul/peer.c \
    emul/launch.c emul/hold.c emul/graph.c \
    emul/kernels.h emul/kernels.c \
    emul/memory.h emul/memory.c \
    emul/entry.h emul/fault.h emul/fault.c \
    emul/visible.h emul/visible.c \
    emul/mps_link.h emul/mps_link.c \
    common/clock.c common/process.c common/status.c
mpsweep_emulated_cuda_so_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
mpsweep_emulated_cuda_so_LDFLAGS = $(AM_LDFLAGS) -shared

pkglibexec_PROGRAMS += mpsweep-emulated-mps-control
mpsweep_emulated_mps_control_SOURCES = \
    emul/control.h emul/control_main.c emul/control_server.c emul/control_clients.c \
    emul/control_commands.c emul/control_log.c \
    emul/device_names.h emul/visible.h emul/visible.c emul/mps_link.h emul/mps_link.c
mpsweep_emulated_mps_control_LDADD = libcommon.a

if HAVE_CMOCKA
emul_tests = \
    tests/unit/test_emul_machine \
    tests/unit/test_emul_model \
    tests/unit/test_emul_fault \
    tests/unit/test_emul_cuda \
    tests/unit/test_emul_steps \
    tests/unit/test_emul_hold \
    tests/unit/test_emul_order \
    tests/unit/test_emul_contexts \
    tests/unit/test_emul_effects \
    tests/unit/test_emul_mps \
    tests/unit/test_emul_mps_replies \
    tests/unit/test_emul_mps_faults
check_PROGRAMS += $(emul_tests)
TESTS += $(emul_tests)

tests_unit_test_emul_model_SOURCES = tests/unit/test_emul_model.c
tests_unit_test_emul_model_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_model_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_test_emul_machine_SOURCES = tests/unit/test_emul_machine.c
tests_unit_test_emul_machine_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_machine_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_test_emul_fault_SOURCES = tests/unit/test_emul_fault.c emul/fault.c
tests_unit_test_emul_fault_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_fault_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_test_emul_cuda_SOURCES = \
    tests/unit/test_emul_cuda.c tests/unit/emul_driver.c tests/unit/emul_driver.h
tests_unit_test_emul_cuda_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_cuda_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_test_emul_steps_SOURCES = \
    tests/unit/test_emul_steps.c tests/unit/emul_driver.c tests/unit/emul_driver.h
tests_unit_test_emul_steps_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_steps_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_test_emul_hold_SOURCES = tests/unit/test_emul_hold.c
tests_unit_test_emul_hold_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_hold_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

emul_rig = \
    tests/unit/emul_rig.c tests/unit/emul_rig.h \
    tests/unit/emul_driver.c tests/unit/emul_driver.h
tests_unit_test_emul_order_SOURCES = tests/unit/test_emul_order.c $(emul_rig)
tests_unit_test_emul_order_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_order_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_test_emul_contexts_SOURCES = tests/unit/test_emul_contexts.c $(emul_rig)
tests_unit_test_emul_contexts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_contexts_LDADD = libcommon.a $(CMOCKA_LIBS)

tests_unit_test_emul_effects_SOURCES = tests/unit/test_emul_effects.c $(emul_rig)
tests_unit_test_emul_effects_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_effects_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

emul_mps_harness = \
    tests/unit/emul_mps.c tests/unit/emul_mps.h \
    tests/unit/emul_driver.c tests/unit/emul_driver.h \
    emul/mps_link.c
tests_unit_test_emul_mps_SOURCES = tests/unit/test_emul_mps.c $(emul_mps_harness)
tests_unit_test_emul_mps_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_mps_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_test_emul_mps_replies_SOURCES = tests/unit/test_emul_mps_replies.c $(emul_mps_harness)
tests_unit_test_emul_mps_replies_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_mps_replies_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)

tests_unit_test_emul_mps_faults_SOURCES = tests/unit/test_emul_mps_faults.c $(emul_mps_harness)
tests_unit_test_emul_mps_faults_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_emul_mps_faults_LDADD = libemul.a libcommon.a $(CMOCKA_LIBS)
endif
