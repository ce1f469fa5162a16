noinst_LIBRARIES += libshm.a
libshm_a_SOURCES = shm/shm.c shm/shm.h
