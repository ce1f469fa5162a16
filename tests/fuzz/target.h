/*
 * A fuzz target: one file fuzz_NAME.c that defines both of these. It is linked with replay.c for
 * `make check`, and with libFuzzer for `make fuzz`; inputs to begin with are in corpus/NAME.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* NAME. */
extern const char fuzz_target_name[];

/* Feeds one input to what is tested, and aborts where a promise is broken. Returns 0. The name is
 * libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
