/*
 * What counts as an iteration of a program that does not report its own: the text of --tick, which
 * the orchestrator checks and the observer (observer/) obeys.
 */
#pragma once

#include <stdbool.h>

enum tick_kind {
    TICK_NONE,     /* the program reports its iterations itself, or not at all */
    TICK_AUTO,     /* the period of the thread's waits */
    TICK_SYNC,     /* each wait for work that was launched */
    TICK_GRAPH,    /* each launch of a graph */
    TICK_COPY_OUT, /* each copy to the host, or several in a row */
    TICK_KERNEL,   /* each launch of a kernel whose name contains a text */
    TICK_NVTX,     /* each NVTX range of a name, from its push to its pop */
};

struct tick {
    enum tick_kind kind;
    const char *name; /* of the kernel or range, part of the text; else NULL */
};

/* Why what TICK_AUTO takes for an iteration may be none. */
enum tick_doubt {
    TICK_SURE,
    TICK_STEPS, /* it has several waits, most of them like the one before: each may be one */
    TICK_KINDS, /* inputs begin work of several kinds, in any order: a request may have several */
    TICK_WAITS, /* no input begins it, and its waits differ */
};

#define TICK_FORMS "auto, none, sync, graph, copy-out, kernel:NAME or nvtx:NAME"

/* False: it is not one of TICK_FORMS. */
bool tick_parse(const char *text, struct tick *out);
