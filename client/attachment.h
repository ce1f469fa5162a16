/*
 * The attachment of this process to the shared memory of its point, for what shares the process
 * with the client library: the observer (observer/).
 *
 * Order of calls: client_attach(), which any thread may call and call again; once it has returned
 * true, the others, from any thread and to the very end: the client owns what they return, and
 * never releases it. The rest of the client is in include/mpsweep/client.h.
 */
#pragma once

#include <stdbool.h>

#include "include/mpsweep/client.h"
#include "shm/shm.h"
#include "trace/buffer.h"

/* Once a process. False: there is nothing to attach to, or the error is printed. */
bool client_attach(void);

const struct shm *client_shm(void);

/* The number of this process in it. */
unsigned client_process(void);

/* Where this process's trace goes; NULL: it is not traced. */
const struct trace_buffer *client_trace(void);

/* Prints what the process as a whole did wrong, notes it in its first slot, and wakes the
 * orchestrator. */
void client_fail_process(const char *text);

/* Wakes the orchestrator, which then looks at the slots. */
void client_wake_orchestrator(void);

/* As mpsweep_open(MPSWEEP_NEXT_THREAD), of a process that has attached. NULL without an error:
 * there is no handle left, which other processes of the program may have taken at the same moment.
 */
struct mpsweep *client_open_next(void);

/* Whether the handle's iterations count by now: the warm-up was over when the last one began. */
bool client_is_in_window(const struct mpsweep *handle);
