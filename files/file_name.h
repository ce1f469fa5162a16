/*
 * Names of files that are to be written: one that ends as another kind of file does is a mistake.
 */
#pragma once

#include "common/status.h"

/* STATUS_USAGE where path has the ending of another kind of file than wanted (".jsonl"), or is a
 * format's name and no more, or "-", which elsewhere stands for standard output: 't.svg' for a
 * timeline, 'csv' for results. The text has what they are ("results") and the right ending. Names
 * without a known ending are fine. */
enum status file_name_check(const char *path, const char *what, const char *wanted);
