/*
 * What CUPTI's activity API records of the emulated GPU: calls of the driver, kernels, copies. The
 * library exports CUPTI's entry points beside the driver's, so that a tracer finds both in it.
 *
 * Calls: process_enter() opens one, and ENTER() in process.h closes it where the entry point
 * returns, whatever way that is. Work: activity_watch() before it is given to the
 * model, then one of activity_...() for each piece. While nothing is enabled all of it does
 * nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "device/cupti_abi.h"
#include "emul/cuda/fault.h"
#include "emul/cuda/handles.h"
#include "emul/cuda/kernels.h"
#include "emul/model/model.h"

/* Declares the entry points with their exported names. */
#define ACTIVITY_DECLARE_ENTRY(field, symbol, version, need, parameters)                           \
    __attribute__((visibility("default"))) cupti_result symbol parameters;
CUPTI_SYMBOLS(ACTIVITY_DECLARE_ENTRY)

struct activity_call {
    enum entry entry;
    uint64_t begin_ns;
    uint32_t correlation; /* 0: nothing is enabled */
};

/* The calling thread is in an entry point. */
void activity_begin_call(enum entry entry);
struct activity_call activity_current_call(void);
void activity_end_call(const struct activity_call *call);

/* The calling thread continues what a call of that correlation has put off. */
void activity_resume_call(uint32_t correlation);

/* Whether what the GPU does is wanted. */
bool activity_wants_work(void);

/* Has the model note where it places what is issued next; NULL: no more. Under the state's lock. */
void activity_watch(struct model_process *model, struct model_place *places, uint32_t room);

/* A piece of work of the current call. A place without an end was not noted, and is left out. */
void activity_kernel(const struct kernel_call *kernel, cuda_stream stream,
                     const struct model_place *place);
void activity_copy(const struct copy_call *copy, bool pageable, cuda_stream stream,
                   const struct model_place *place);
void activity_peer_copy(cuda_context to, cuda_context from, uint64_t bytes, cuda_stream stream,
                        const struct model_place *place);
