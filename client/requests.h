/*
 * For our own program that sends requests to a server (load/): an iteration is a request, and some
 * have no good answer. In its handles, beside what include/mpsweep/client.h has.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "include/mpsweep/client.h"

/* Ends the iteration, as mpsweep_end_or_hold(): when its answer began to arrive, and when it ended;
 * moments of the clock. */
int client_end_answered(struct mpsweep *handle, uint64_t first_byte_ns, uint64_t last_byte_ns);

struct arrivals;

enum client_bad {
    CLIENT_BAD_ERROR,  /* there was no answer */
    CLIENT_BAD_ANSWER, /* a wrong one */
};

/* Ends the iteration as mpsweep_cancel() does, and counts it apart; text has the reason. */
void client_end_bad(struct mpsweep *handle, enum client_bad bad, const char *text);

/* Why the server is not ready as far as known, "" if it is not. */
void client_note_unready(const char *text);

/* Whether the first request waits for its answer, before which no handle is ready. */
void client_set_asking(bool asking);

/* The number of this process; sets *processes to how many have a part in the assignment. */
unsigned client_number(unsigned *processes);

/* A process was killed, perhaps with work on the GPU. */
void client_note_cut_off(void);

/* Before a handle is ready: where an open loop with arrivals of a trace takes them from; the caller
 * keeps what they own. */
void client_use_arrivals(const struct arrivals *arrivals);

/* Before a handle is ready: what gives the CPU times that count in the place of the caller's, in
 * equal parts for the threads of each point, and the moment that they are of. data is its own. */
void client_use_cpu(void (*read)(void *data, uint64_t *wall_ns, uint64_t *used_ns), void *data);

/* A moment of the clock: the next planned start of the handle's thread; UINT64_MAX: there is none,
 * or it does not run. */
uint64_t client_next_start_ns(const struct mpsweep *handle);
