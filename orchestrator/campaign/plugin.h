/*
 * Plug-in workloads in the orchestrator, which never loads one: it asks the worker program
 * what they are (wire/plugin_answer.h).
 */
#pragma once

#include <jansson.h>

#include "orchestrator/plan/plan.h"
#include "orchestrator/session/session.h"

/* Asks all plug-ins of a plan, each once, and notes in its points what they can do. out is a new
 * array for the header of results, empty without plug-ins. Each has timeout_ns.
 * STATUS_USAGE: one cannot be used, and the text names it and the reason; STATUS_INTERRUPTED: by a
 * signal. */
enum status plugin_ask_all(const struct session *session, struct plan *plan, uint64_t timeout_ns,
                           json_t **out);
