/*
 * Parts of the table (table.h) that have files of their own.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* table_gpus.c: a table of the points of several GPUs with a column for each of them, after an
 * empty line; nothing where there is no such point. */
void table_print_gpus(FILE *out, const json_t *points);

/* remarks.c: what stands behind a row's numbers; "" where all is well. Returns text. */
#define TABLE_REMARK 1400
const char *table_remark(const json_t *point, char text[TABLE_REMARK]);

/* Where points have one round, a line that their intervals are of one set of processes. */
void table_print_rounds(FILE *out, const json_t *points);

/* Where rates were searched, a line with what stands as their interval, and with what the mark of
 * those means that are the least that a layout holds. */
void table_print_searched(FILE *out, const json_t *points);

/* Of each server that streams its answers, a line with when they begin. */
void table_print_first_bytes(FILE *out, const json_t *points);

/* What was taken for an iteration of a program that does not report them, once for each different
 * one. */
void table_print_observed(FILE *out, const json_t *points);

/* Of each measured mix, a line with what each of its workloads did. */
void table_print_mixes(FILE *out, const json_t *points);

/* A line for each different warning, with the point that it is about, or how many points, after an
 * empty line; nothing where there is none. */
void table_print_warnings(FILE *out, const json_t *points);
