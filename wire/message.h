/*
 * What all answers of the worker program have in common: plain data that begins with a magic
 * number and a version.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct message_begin {
    uint64_t magic;
    uint32_t version;
};

/* Checks that data is a whole message of the kind and version that begin describes, of
 * whole_bytes. STATUS_PROTOCOL: it is not; the text begins with name. */
enum status message_check(const char *name, struct message_begin begin, size_t whole_bytes,
                          const void *data, size_t bytes);
