/*
 * What the threads of one worker process share: the driver, the context and the module.
 */
#pragma once

#include "device/driver.h"
#include "shm/shm.h"

struct worker_process {
    struct shm shm;
    int event_fd; /* told of every change of a state */
    unsigned index;
    struct cuda_driver driver;
    cuda_device device;
    cuda_context context; /* the device's primary one */
    cuda_module module;
    cuda_function add_constant, delay, compute, streaming;
};

/* Loads the driver (driver_path NULL: the machine's), proves attachment to MPS or its absence,
 * makes the context, loads all modules, and publishes what was learned in the process record.
 * The calling thread has the context current afterwards. */
enum status worker_process_open(struct worker_process *process, const char *driver_path);

/* For a further assignment: binds the process's threads and memory as its record says, proves again
 * what the assignment relies on, and publishes it. Called by the thread that opened it, while no
 * worker runs. */
enum status worker_process_renew(struct worker_process *process);

/* Parks after assignment number finished: to be called when every worker has ended. */
void worker_process_park(const struct worker_process *process, uint32_t finished);

/* After every thread has ended. */
void worker_process_close(struct worker_process *process);

/* Publishes a state of a slot and wakes the orchestrator. */
void worker_set_state(const struct worker_process *process, struct shm_slot *slot,
                      enum shm_state state);
