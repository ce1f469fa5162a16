/*
 * Shared memory that a test of the client library has made: one process of four threads, or of two
 * with two streams each.
 */
#pragma once

#include "include/mpsweep/client.h"
#include "shm/shm.h"
#include "trace/buffer.h"

#define THREADS 4

extern struct shm shm;
extern int event_fd;               /* which the library wakes the orchestrator by */
extern struct trace_buffer traced; /* where it marks iterations */
extern const struct shm_settings closed_loop;

/* Set-up and tear-down of a group of tests. */
int make_memory(void **state);
int free_memory(void **state);

/* A fresh assignment, as if nothing had been. */
void lay_out(const struct shm_settings *settings);

struct shm_slot *slot_of(unsigned thread);
uint32_t state_of(unsigned thread);

/* The handle of a thread that has begun. */
struct mpsweep *running(const struct shm_settings *settings);

void assert_failed(unsigned thread, const char *text);
