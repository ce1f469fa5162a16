# The contract between orchestrator and workers: header, slots, release gate.
noinst_LIBRARIES += libshm.a
libshm_a_SOURCES = \
    shm/shm.c shm/shm.h

unit_tests += \
    tests/unit/shm/test_shm
