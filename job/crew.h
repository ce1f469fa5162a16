/*
 * How many processes of a crew may idle while others are measured. For the order of a plan's points
 * (orchestrator/plan/turns.h), and for a search that foresees it.
 */
#pragma once

/* Processes of a crew may idle: those that are parked have no work on the GPU. At most this many
 * for each that works. */
#define CREW_IDLE_MOST 15

/* Where a number is for keeps at most one idles for each two that work over MPS: 16 beside 16 idle
 * ones gave 3% to 9% more than 16 alone (docs/statistics.md). */
#define CREW_WORK_PER_IDLE 2
