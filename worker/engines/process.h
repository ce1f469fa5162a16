/*
 * What the threads of one worker process share: the driver, and a context unless each has its own.
 */
#pragma once

#include "device/driver.h"
#include "shm/shm.h"
#include "worker/engines/contexts.h"

struct worker_process {
    struct shm shm;
    int event_fd; /* counts changes of states */
    unsigned index;
    struct cuda_driver driver;
    cuda_device device;
    struct worker_context context; /* the device's primary one */
    /* Of its multiprocessors, for the threads in turn: worker/engines/partition.h. */
    cuda_resource *parts;
    unsigned part_size;
    struct worker_buffers *buffers; /* worker/engines/buffers.h; NULL: it keeps none */
};

/* Maps the crew's shared memory, of which the process is number process->index. STATUS_PROTOCOL:
 * it is none that we know, or has no such process. */
enum status worker_process_attach(struct worker_process *process, int shm);

/* Loads the driver (driver_path NULL: the machine's), proves attachment to MPS or its absence,
 * makes the context, loads all modules, and publishes what was learned in the process record.
 * The calling thread has the context current afterwards. */
enum status worker_process_open(struct worker_process *process, const char *driver_path);

/* For a further assignment: binds the process's threads and memory as its record demands, has its
 * threads wait as the settings demand, proves again what the assignment relies on, and publishes
 * it. Called by the thread that opened it, while no worker runs. */
enum status worker_process_renew(struct worker_process *process);

/* The context that the calling thread works in, which is current afterwards: the process's, or one
 * made in *own, where the settings demand that. Of several whole contexts the process record has
 * the most multiprocessors and the least memory left. *own is all zero before, and to be closed. */
enum status worker_process_enter(const struct worker_process *process, struct worker_context *own,
                                 const struct worker_context **out);

/* Parks after assignment number finished: to be called when every worker has ended. */
void worker_process_park(const struct worker_process *process, uint32_t finished);

/* After every thread has ended. */
void worker_process_close(struct worker_process *process);

/* Publishes a state of a slot and wakes the orchestrator. */
void worker_set_state(const struct worker_process *process, struct shm_slot *slot,
                      enum shm_state state);

/* Waits for all that is in the stream: awake or asleep, as the schedule of the context has it. */
enum status worker_synchronize(const struct worker_process *process, cuda_stream stream);

/* A graph captured from a stream, of calls of this thread alone. Order of calls: begin, the calls
 * to capture, end with the status of those, which ends the capture in any case; free is fine at any
 * time. All zero: none. */
struct worker_graph {
    cuda_graph graph;
    cuda_graph_exec exec;
};

enum status worker_graph_begin(const struct worker_process *process, cuda_stream stream);
enum status worker_graph_end(const struct worker_process *process, cuda_stream stream,
                             enum status captured, struct worker_graph *graph);
void worker_graph_free(const struct worker_process *process, struct worker_graph *graph);

/* The second half of worker_graph_end(): makes a captured graph ready to launch. */
enum status worker_graph_instantiate(const struct worker_process *process, cuda_stream stream,
                                     struct worker_graph *graph);
