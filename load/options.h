/*
 * What mpsweep-load is asked to do: which server to start, how it is known to be ready, and which
 * request to send to it.
 */
#pragma once

#include <stdint.h>

#include "common/status.h"
#include "job/arrivals.h"
#include "job/bodies.h"

struct load_options {
    const char *ready;  /* a URL that answers 2xx once the server could serve; NULL: when it takes
                            connections */
    const char *method; /* of the request, as "POST" */
    const char *url;
    const char *header;        /* more lines of it, as "Content-Type: application/json"; or NULL */
    struct bodies bodies;      /* owned */
    long expected_status;      /* 0: any of 200 to 299 */
    const char *expected_text; /* that the answer holds; NULL: none */
    uint64_t timeout_ns;       /* of a request */
    struct arrivals arrivals;  /* of an open loop; none: the settings have them. Owned */
    char *const *command;      /* the server's, ended by NULL */
};

/* Reads the words that orchestrator/crew/program.c makes. STATUS_USAGE, STATUS_SYSTEM and
 * STATUS_MEMORY name the word or the file. */
enum status load_options_read(int argc, char **argv, struct load_options *out);

void load_options_release(struct load_options *options);
