/*
 * Names of files that are to be written: one that ends as another kind of file does is a mistake,
 * and so is that of a file to read.
 */
#pragma once

#include "common/status.h"

/* STATUS_USAGE where path has another ending than wanted (".jsonl"): a dot and 1 to 5 letters, or
 * a slip in the one wanted; or is a format's name and no more, or "-", which elsewhere stands for
 * standard output: 't.svg' or 't.jsn' for a timeline, 'csv' for results. The text has what they are
 * ("results") and the right ending. Names without such an ending are fine, as 'h200.2026-11-28'. */
enum status file_name_check(const char *path, const char *what, const char *wanted);

/* STATUS_USAGE where the output leads to an input (NULL: there is none), also by another name. */
enum status file_name_refuse_input(const char *output, const char *input);
