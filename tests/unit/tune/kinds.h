/*
 * What kinds of layouts there are, and how near the best each of them comes on a simulated machine.
 */
#pragma once

#include "tests/unit/tune/machine.h"

enum tune_kind {
    TUNE_KIND_THREADS,           /* of one process, by stream; MPS or not */
    TUNE_KIND_THREADS_GRAPHS,    /* and with graphs */
    TUNE_KIND_POLLING,           /* of one process, several streams each */
    TUNE_KIND_PROCESSES,         /* over MPS, of one thread, by stream */
    TUNE_KIND_PROCESSES_GRAPHS,  /* and with graphs */
    TUNE_KIND_HYBRIDS,           /* of several threads, by stream */
    TUNE_KIND_HYBRIDS_GRAPHS,    /* and with graphs */
    TUNE_KIND_PROCESSES_POLLING, /* of one thread with several streams */
    TUNE_KIND_HYBRIDS_POLLING,   /* of several such threads */
    TUNE_KIND_TURNS,             /* processes without MPS */
    TUNE_KINDS
};

const char *tune_kind_name(enum tune_kind kind);
enum tune_kind tune_kind_of(const struct point *point);

/* True iterations/s of the best of each kind, 0 where all are refused; index of the best of all. */
size_t tune_kinds_find(const struct tune_truth *truth, const struct tune_space *space,
                       double best_ips[TUNE_KINDS]);
