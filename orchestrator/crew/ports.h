/*
 * Free ports for programs that listen.
 */
#pragma once

#include "common/status.h"

/* The lowest port from `first` on that is free, as are the count - 1 after it: no program listens
 * on them at any address of this machine. They may be taken the next moment. STATUS_NOT_FOUND:
 * there are none up to 65535. */
enum status ports_find(unsigned first, unsigned count, unsigned *out);
