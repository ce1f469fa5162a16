/*
 * The state of one emulated machine, shared by all its processes through one memfd.
 *
 * The orchestrator creates it and hands the descriptor to its workers, named by the environment
 * variable EMUL_STATE_VARIABLE as "FD PID": its own number and the orchestrator's, where a process
 * finds it when a program between has closed it. The memory starts with magic, version and length,
 * which are checked on attach. A robust mutex guards the model: a process may die while it holds
 * it.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "common/status.h"
#include "emul/model/model.h"

#define EMUL_STATE_VARIABLE "MPSWEEP_EMULATED_FD"
#define EMUL_STATE_NAME "mpsweep-emulated"            /* as /proc shows it */
#define EMUL_STATE_MAGIC UINT64_C(0x3170656d756c61bd) /* never valid UTF-8 text */
#define EMUL_STATE_VERSION 4

/* How many GPUs there are, all of the same kind: 1 to EMUL_DEVICES_MAX, 1 by default. */
#define FAULT_VARIABLE "MPSWEEP_EMULATED_FAULT" /* emul/cuda/fault.h */
#define EMUL_DEVICES_VARIABLE "MPSWEEP_EMUL_DEVICES"
#define EMUL_DEVICES_MAX 8

struct emul_state {
    uint64_t magic;
    uint32_t version;
    uint32_t devices;
    uint64_t length; /* of the whole mapping, bytes */
    effects_off effects_off;
    pthread_mutex_t mutex;
    uint64_t host_free_ns;                 /* see struct model_process */
    struct model models[EMUL_DEVICES_MAX]; /* one a device; untouched ones take no memory */
};

/* Makes the state of a new, idle machine, as EMUL_MACHINE_VARIABLE (emul/model/machine.h),
 * EMUL_DEVICES_VARIABLE and EMUL_EFFECTS_VARIABLE describe it; STATUS_USAGE names what is wrong
 * there. The descriptor is close-on-exec and the caller's. */
enum status emul_state_create(int *fd);

/* Maps the state after checking it; the descriptor stays the caller's. STATUS_PROTOCOL names what
 * does not fit. */
enum status emul_state_attach(int fd, struct emul_state **state);

/* Holds the models for the caller and returns the first; repairs them before if their last holder
 * died. */
struct model *emul_state_lock(struct emul_state *state);
void emul_state_unlock(struct emul_state *state);
