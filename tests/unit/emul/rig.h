/*
 * What tests of the emulated driver's newer calls share: memory, streams and kernels of one
 * context, and things that keep a stream waiting until they are released. Only in children
 * (emul_driver.h).
 */
#pragma once

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/unit/emul/driver.h"

#define RIG_ELEMENTS 256
#define RIG_BYTES (RIG_ELEMENTS * sizeof(int))

struct rig {
    cuda_context context; /* the primary one of device 0 */
    cuda_module module;
    cuda_function add, delay, empty, hold;
    cuda_stream stream, other; /* non-blocking ones */
    cuda_device_pointer a, b;
    int *in, *out;  /* pinned; in[i] is i, out holds -1 */
    unsigned *flag; /* of hold kernels, 0 */
    unsigned long long *held;
    sem_t gate; /* of host functions */
};

extern struct emul_driver rig_cuda;

/* Loads, initialises, makes the primary context current, and fills the rig. Of the kernels, only
 * the empty one has been launched. */
void rig_start(struct rig *rig);

cuda_result rig_launch_add(const struct rig *rig, int value,
                           cuda_stream stream); /* b = a + value */
cuda_result rig_launch_delay(const struct rig *rig, uint64_t ns, unsigned blocks,
                             cuda_stream stream);
cuda_result rig_launch_empty(const struct rig *rig, cuda_stream stream);
cuda_result rig_launch_hold(const struct rig *rig, uint64_t bound_ns, cuda_stream stream);
void rig_wait_holding(const struct rig *rig); /* until the kernel runs */
void rig_set_flag(struct rig *rig);

/* Keeps the stream waiting until rig_open_gate(). */
void rig_close_gate(struct rig *rig, cuda_stream stream);
void rig_open_gate(struct rig *rig);

/* The shortest of that many launches of an empty kernel, ns: it has no other thread's turns in it.
 */
uint64_t rig_shortest_launch_ns(const struct rig *rig, cuda_stream stream, int launches);

/* Waits for so long for another thread's post. */
bool rig_wait_post(sem_t *post, uint64_t at_most_ns);

/* Runs the body in a child with variables set, "NAME=VALUE NAME=VALUE", or "". Returns its exit
 * status, -1 if it was killed. */
int rig_run(void (*body)(void), const char *variables);
