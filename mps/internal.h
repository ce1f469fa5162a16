/*
 * Private to the library. Reading bytes that a daemon wrote: lines, words and numbers. The bytes
 * need not end with NUL and may hold anything; nothing is read beyond their end. The takers move
 * `at` on only if they succeed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct mps_scan {
    const char *at;
    size_t bytes; /* left from at on */
};

/* Space or tab. */
bool mps_scan_is_blank(char character);

/* Takes the next line that is not blank, without its end (LF or CR LF) and the blanks before that.
 * false: none is left. ended (may be NULL): false if the text stops without a line end. */
bool mps_scan_line(struct mps_scan *text, struct mps_scan *line, bool *ended);

/* Takes blanks, if any, and the run of other bytes behind them. false: none is left. */
bool mps_scan_word(struct mps_scan *scan, struct mps_scan *word);

/* Takes exactly this text; mps_scan_text_end() from the end. */
bool mps_scan_text(struct mps_scan *scan, const char *text);
bool mps_scan_text_end(struct mps_scan *scan, const char *text);

/* The scan is exactly this text. */
bool mps_scan_is(struct mps_scan scan, const char *text);

/* Takes all decimal digits here: one at least, no sign. false, too, if the number is above most. */
bool mps_scan_number(struct mps_scan *scan, uint64_t most, uint64_t *number);

/* The scan is exactly one such number. */
bool mps_scan_is_number(struct mps_scan scan, uint64_t most, uint64_t *number);

/*
 * Errors of replies. nvidia-cuda-mps-control ends with status 0 whatever the daemon answered, so
 * that only their texts show its complaints.
 */

/* Records that the line is not what was wanted ("a percentage"): STATUS_PROTOCOL. */
enum status mps_reply_odd(struct mps_scan line, const char *wanted);

/* Records the complaint, or that the line is odd. Never STATUS_OK. */
enum status mps_reply_refused(struct mps_scan line, const char *wanted);
