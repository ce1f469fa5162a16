# Implements 'mpsweep doctor': whether this machine is ready.
noinst_LIBRARIES += orchestrator/doctor/libdoctor.a
orchestrator_doctor_libdoctor_a_SOURCES = \
    orchestrator/doctor/daemons.c orchestrator/doctor/doctor.c orchestrator/doctor/doctor.h \
    orchestrator/doctor/gpu.c orchestrator/doctor/internal.h orchestrator/doctor/limits.c \
    orchestrator/doctor/limits_search.c orchestrator/doctor/machine.c orchestrator/doctor/mps.c

unit_tests += \
    tests/unit/doctor/test_doctor
tests_unit_doctor_test_doctor_SOURCES = tests/unit/doctor/test_doctor.c tests/unit/tree.c tests/unit/tree.h
