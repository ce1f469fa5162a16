/*
 * Sends requests to a server that is ready, each handle of the client one at a time, from the
 * common start to the stop.
 */
#pragma once

#include "common/status.h"
#include "load/options.h"
#include "load/server.h"

struct mpsweep;

/* Sends one request, and then, from the common start on, as many as mpsweep wants. handles: `count`
 * of them, opened and not ready. STATUS_WORKER: the first answer is bad, or the server has ended
 * (server->ended). */
enum status traffic_run(const struct load_options *options, struct server *server,
                        struct mpsweep *const *handles, unsigned count);
