/*
 * Settings that each process of a point may have its own of, the active thread percentage, the
 * priority and the memory limit of MPS clients, or each thread of a process, as the partition.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/point.h"

/* What process has, or OPTION_SHARE_DEFAULT. */
int64_t shares_at(const struct point_shares *shares, unsigned process);

/* The shortest list that means the same for N processes; no list for defaults. */
struct point_shares shares_canonical(const struct point_shares *shares, unsigned processes);

/* "30/70", "default/1"; sizes as "512M/2G". One that does not fit is cut and ends in a digest of
 * the whole, so that different lists read differently; size is 32 at least. Returns out. */
const char *shares_text(const struct point_shares *shares, bool sizes, char *out, size_t size);

/*
 * Whether a process with this percentage may find this many of the GPU's multiprocessors. It is a
 * ceiling, which drivers round down to groups of multiprocessors but not below a smallest share:
 * 132 of them gave 8 at 1 to 5 percent, 38 at 30 and 130 at 99 (H200, driver 580).
 */
bool shares_fit_multiprocessors(int64_t percentage, int found, int all);
