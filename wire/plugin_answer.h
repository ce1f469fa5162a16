/*
 * What a plug-in is, asked in a process of its own before anything is measured:
 *
 *     mpsweep-worker --describe-workload FILE OPTIONS
 *
 * loads FILE, an absolute path, validates and describes it, and writes one struct plugin_answer to
 * standard output, also where it is not usable. What the plug-in itself prints is dropped. A file
 * that crashes, hangs or ends the process gives no answer: the asker has a deadline.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define PLUGIN_ANSWER_MAGIC UINT64_C(0xb16e69676e6c7570)
#define PLUGIN_ANSWER_VERSION 1

/* Plain data, texts end with NUL, unused bytes are zero. */
struct plugin_answer {
    uint64_t magic;
    uint32_t version;
    int32_t status;        /* enum status: OK, or why it cannot be used, in error */
    uint32_t abi;          /* of the plug-in */
    uint32_t capabilities; /* MPSWEEP_WORKLOAD_... */
    char name[64], plugin_version[64];
    char error[512];
};

/* Is what was written a whole struct of this version? STATUS_PROTOCOL if not. */
enum status plugin_answer_check(const struct plugin_answer *answer, size_t bytes);
