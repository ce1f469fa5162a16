#include "explain/steps.h"

#include <string.h>

#include "common/digest.h"

/* JSON's integers are exact up to here, whatever reads them. */
#define EXACT_BITS 53

void steps_describe(const struct workload_step *steps, unsigned count, struct work *out)
{
    uint64_t id = DIGEST_EMPTY, copied = 0;
    out->workload = WORKLOAD_DESCRIBED;
    out->kernels = out->blocks = out->threads_per_block = out->spin = 0;
    out->delay_cycles = out->busy_ns = out->turns = out->think_ns = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct workload_step *step = &steps[i];
        uint64_t times = workload_step_times(steps, i);
        char text[WORKLOAD_STEP_TEXT];
        workload_step_text(step, text);
        id = digest_add(id, text, strlen(text) + 1);
        if (step->kind == STEP_COPY_IN || step->kind == STEP_COPY_OUT)
            copied += step->amount * times;
        else if (step->kind == STEP_BUSY)
            out->busy_ns += step->amount * times;
        else if (step->kind == STEP_WORK)
            out->turns += step->amount * times;
        else if (step->kind == STEP_THINK)
            out->think_ns += step->amount * times;
        else if (!workload_step_is_host(step))
            out->kernels += times;
    }
    out->bytes = copied / 2;
    out->steps_id = (id & ((UINT64_C(1) << EXACT_BITS) - 1)) | 1;
}
