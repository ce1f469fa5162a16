/*
 * Whether the program has the client of mpsweep, loaded or linked into it: it will report its
 * iterations itself.
 */
#pragma once

#include <stdbool.h>

bool has_client(void);
