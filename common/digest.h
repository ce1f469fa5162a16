/*
 * FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): distinguishes things that differ
 * by chance or by an edit; it protects against no attacker.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define DIGEST_EMPTY UINT64_C(0xcbf29ce484222325)

/* Continues `hash` with these bytes. */
uint64_t digest_add(uint64_t hash, const void *data, size_t bytes);

/* Of a file's content; *out is set only on success. STATUS_SYSTEM, with the path and why. */
enum status digest_file(const char *path, uint64_t *out);
