/*
 * Plug-in workloads in the orchestrator, which never loads one: what they are is asked of the
 * worker program (wire/plugin_answer.h).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "orchestrator/plan/plan.h"
#include "orchestrator/round/round.h"
#include "orchestrator/session/session.h"
#include "wire/plugin_answer.h"

struct round; /* orchestrator/round/internal.h */

/* What workers are told of a point's plug-in: its absolute path, and its options. STATUS_USAGE: too
 * long. All zero for a point of another workload. */
enum status plugin_of(const struct point *point, struct shm_plugin *out);

/* Asks one, in a process without a GPU, with a deadline from now. STATUS_USAGE: it cannot be used,
 * and the text names it and says why; STATUS_INTERRUPTED: by a signal. */
enum status plugin_ask(const struct session *session, const struct point *point,
                       uint64_t timeout_ns, struct plugin_answer *out);

/* Asks all plug-ins of a plan, each once, and notes in its points what they can do. out is a new
 * array for the header of results, empty without plug-ins. Errors as of plugin_ask(). */
enum status plugin_ask_all(const struct session *session, struct plan *plan, uint64_t timeout_ns,
                           json_t **out);

/* Of two such arrays, the first plug-in whose file is another one now; NULL if all are the same, or
 * the earlier ones have no digests. Belongs to `now`. */
const char *plugin_rebuilt(const json_t *earlier, const json_t *now);

/* Whether the point's plug-in, as far as it was asked, rules the point out; why then says so. */
bool plugin_rules_out(const struct point *point, char *why, size_t size);

/* Adds to the error of a failed round in which part of a plug-in its workers were. To be called
 * while their shared memory is mapped. */
void plugin_add_place(const struct round *round);

/* Adds to a point's record what its plug-in did wrong without failing. */
void plugin_warn(json_t *record, const struct point *point, const struct round_result *result);
