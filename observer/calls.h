/*
 * The driver's calls that an observer looks at, by what they mean for an iteration.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum call_kind {
    CALL_OTHER,
    CALL_LAUNCH,
    CALL_GRAPH,
    CALL_WAIT,          /* for all that a stream, an event or a context has to do */
    CALL_POLL,          /* whether that is done */
    CALL_COPY_IN,       /* to the GPU */
    CALL_COPY_OUT,      /* to the host */
    CALL_COPY_OUT_WAIT, /* and the caller waits for it */
    CALL_LOAD,          /* of code */
    CALL_KINDS
};

/* One call of the driver, which went well. */
struct call {
    enum call_kind kind;
    bool named;     /* a launch of the kernel that was asked for */
    uint64_t bytes; /* of a copy */
    uint64_t what;  /* stands for the kernel of a launch, else 0 */
};

/* What a call is, by the driver's name for it; its versions, as in cuMemcpyDtoH_v2 or
 * cuLaunchKernel_ptsz, are the same call. */
enum call_kind call_kind_of(const char *name);
