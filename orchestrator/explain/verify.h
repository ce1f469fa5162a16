/*
 * Remedies put to the test: the point as it is and with the remedy, measured in turns.
 */
#pragma once

#include <jansson.h>

#include "files/results_write.h"
#include "orchestrator/explain/set.h"
#include "orchestrator/round/round.h"
#include "orchestrator/session/session.h"

struct verify_request {
    struct session *session;
    struct round_limits limits;
    uint64_t warmup_ns;
    unsigned rounds;
    struct results_writer *writer; /* a record each is written there */
    bool quiet;
};

/*
 * One test for each pair of binding ceiling and kind of remedy, on the point whose remedy is
 * predicted to give most. out becomes an array of the records (docs/results-format.md), also of
 * those that failed. The status is about the whole, as round_run's is: STATUS_INTERRUPTED after a
 * signal, with the finished ones in out.
 */
enum status explain_verify(const struct explain_set *set, const struct verify_request *request,
                           json_t **out);

/* Whether every one of the records is confirmed. */
bool explain_verify_all_confirmed(const json_t *records);

void explain_verify_print(FILE *out, const json_t *records);
