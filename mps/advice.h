/*
 * What an MPS client's CUDA error means and what to do about it, in words.
 */
#pragma once

/* Cause and remedy of a CUresult from 805 to 810, one line without a full stop; NULL for any
 * other. Source: the CUDA driver API's error list, and docs/mps.md. */
const char *mps_advice(int cuda_error);

/* Of a client that has more hardware queues than by default: the driver reports that they are used
 * up as out of memory, too. NULL: it is not that. */
const char *mps_advice_of_queues(int cuda_error);
