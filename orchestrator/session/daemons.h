/*
 * The MPS daemons of a run: one for all its GPUs or one for each, each with a controller
 * (mps/controller.h). GPUs go by their numbers (gpus.h).
 *
 * Order of calls: daemons_new(), daemons_serve(), then the others, daemons_free().
 */
#pragma once

#include "mps/controller.h"
#include "orchestrator/session/gpus.h"

struct daemons; /* opaque */

/* Makes the controller of the first daemon, which starts none yet. The strings must outlive it. */
enum status daemons_new(const struct mps_controller_options *options, struct daemons **out);

/* Names the GPUs that the daemons are for; they must outlive the daemons. */
void daemons_serve(struct daemons *daemons, const struct gpu_set *gpus);

/* As mps_controller_set_interrupt(), for all controllers, also those that are made later. */
void daemons_set_interrupt(struct daemons *daemons, int fd);

/* Has healthy daemons run for the first `gpus` GPUs, and no others; 0: none. per_gpu: each of these
 * GPUs has its own; otherwise one daemon sees them all. A healthy one that runs for the same GPUs
 * goes on. Of external daemons there is one, so that per_gpu must be false. */
enum status daemons_set(struct daemons *daemons, unsigned gpus, bool per_gpu);

/* The controller of the daemon that a process on a GPU is a client of, as they were set last; NULL
 * where one before it did not start. */
struct mps_controller *daemons_at(const struct daemons *daemons, unsigned gpu);

/* A client on a GPU ended badly, which may have left the daemon's server in a fault state: that
 * daemon is started anew before its next use. daemons_tainted(): any of them must be. */
void daemons_taint(struct daemons *daemons, unsigned gpu);
bool daemons_tainted(const struct daemons *daemons);

/* A client on a GPU could not be ended: its daemon stays until the client has gone. */
void daemons_note_unended(struct daemons *daemons, unsigned gpu, pid_t pid);

/* STATUS_SYSTEM: one of the daemons that were set last has ended by itself, or its guard has. */
enum status daemons_check(const struct daemons *daemons);

/* Ends all daemons; NULL is fine. Those with clients that could not be ended stay, and the error
 * names them all. */
enum status daemons_free(struct daemons *daemons);
