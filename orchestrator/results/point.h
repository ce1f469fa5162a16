/*
 * A point's record in words, for figures and comparisons: its layout, and each setting by itself.
 * Any record is safe to read.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/json.h"

#define POINT_TEXT_BYTES 64

/* What a title leaves unsaid. */
#define POINT_DEFAULT_CONNECTIONS "default connections"

/* The settings, besides layout, P and T, in the order in which they are said. */
enum point_setting {
    POINT_GPUS,
    POINT_MPS_DAEMONS,
    POINT_MEMORY,
    POINT_SYNC,
    POINT_LAUNCH,
    POINT_CONNECTIONS,
    POINT_ACTIVE_THREADS,
    POINT_PRIORITY,
    POINT_MEMORY_LIMIT,
    POINT_SCHEDULE,
    POINT_BIND,
    POINT_WORKLOAD,
    POINT_WORKLOAD_OPTIONS,
    POINT_KERNELS,
    POINT_BLOCKS,
    POINT_BLOCK_THREADS,
    POINT_SPIN,
    POINT_DELAY,
    POINT_BYTES,
    POINT_RATE,
    POINT_SETTINGS
};

/* GPUs of a point, each with its layout: 1 where the record says nothing. */
unsigned point_gpus_of(const json_t *point);

/* The record's field of a setting. */
const char *point_setting_field(enum point_setting setting);

/* "pageable", "no sync", "8 connections", "1.375 MiB each way"; "" where a record has none, or
 * where it makes no difference. Texts that differ belong to settings that differ, and the other way
 * round but for settings that change nothing. */
void point_setting_text(const json_t *point, enum point_setting setting,
                        char text[POINT_TEXT_BYTES]);

/* Layouts in the order of a legend; a figure's colour of each is its number from 1. */
extern const char *const point_layouts[];
extern const int point_layout_count;

/* Its index there; point_layout_count for one that is not known. */
int point_layout(const json_t *point);

/* "hybrid 8×2" */
void point_name(const json_t *point, char text[POINT_TEXT_BYTES]);

/* True with status ok or unconverged and a throughput that is finite and not negative. */
bool point_is_measured(const json_t *point);

/* True if its rate, in an open loop, is one that a search found: a result and no setting. */
bool point_rate_is_searched(const json_t *point);

/* Why a point has no number: "infeasible: too many clients", and "interrupted" just once. Returns
 * text. */
#define POINT_FAILURE_TEXT 1100
const char *point_failure(const json_t *point, char text[POINT_FAILURE_TEXT]);
