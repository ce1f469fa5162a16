/*
 * What the replies' readers share: errors. nvidia-cuda-mps-control ends with status 0 whatever the
 * daemon answered, so that its complaints are known by their text alone.
 */
#pragma once

#include "common/status.h"
#include "mps/internal.h"

/* STATUS_OK if the line is none of the complaints that we know; otherwise its code, recorded in our
 * own words: STATUS_UNSUPPORTED (no such command), STATUS_NOT_FOUND (no such server, client, or no
 * daemon), STATUS_USAGE (a value it does not take). */
enum status mps_reply_complaint(struct mps_scan line);

/* Records that the line is not what was wanted ("a percentage"): STATUS_PROTOCOL. */
enum status mps_reply_odd(struct mps_scan line, const char *wanted);

/* mps_reply_complaint(), and if it is none, mps_reply_odd(). Never STATUS_OK. */
enum status mps_reply_refused(struct mps_scan line, const char *wanted);
