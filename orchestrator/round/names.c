/* How the errors of a round name workers and their GPUs. With one GPU they leave
 * it out. */
#include <stdio.h>

#include "common/text.h"
#include "orchestrator/round/internal.h"

static bool has_several(const struct round *round)
{
    return point_gpus(round->point) > 1;
}

const char *round_worker_name(const struct round *round, unsigned worker, char out[ROUND_NAME_TEXT])
{
    const struct point *point = round->point;
    unsigned process = round_process_of(round, worker), streams = point_streams(point);
    unsigned thread = worker % point_slots(point) / streams;
    char gpu[GPU_NAME_TEXT];
    struct text text = {.at = out, .size = ROUND_NAME_TEXT};
    text_append(&text, "worker %u of %u", worker, point_workers(point));
    if (has_several(round))
        text_append(&text, " (%s, process %u of %u, thread %u of %u",
                    gpu_name(round->session->gpus, point_gpu_of(point, process), gpu), process,
                    point_processes(point), thread, point->threads);
    else if (streams > 1)
        text_append(&text, " (process %u of %u, thread %u of %u", process, point_processes(point),
                    thread, point->threads);
    if (streams > 1)
        text_append(&text, ", stream %u of %u", worker % streams, streams);
    if (has_several(round) || streams > 1)
        text_append(&text, ")");
    return out;
}

const char *round_gpu_of_process(const struct round *round, unsigned process, const char *before,
                                 const char *after, char out[ROUND_NAME_TEXT])
{
    char gpu[GPU_NAME_TEXT];
    out[0] = '\0';
    if (has_several(round))
        snprintf(out, ROUND_NAME_TEXT, "%s%s%s", before,
                 gpu_name(round->session->gpus, point_gpu_of(round->point, process), gpu), after);
    return out;
}

const char *round_gpus_text(const struct round *round, uint32_t gpus, char out[ROUND_NAME_TEXT])
{
    char gpu[GPU_NAME_TEXT];
    struct text text = {.at = out, .size = ROUND_NAME_TEXT};
    out[0] = '\0';
    for (unsigned i = 0; has_several(round) && i < point_gpus(round->point); i++)
        if (gpus & UINT32_C(1) << i)
            text_append(&text, "%s%s", text.length ? ", " : " (",
                        gpu_name(round->session->gpus, i, gpu));
    if (text.length)
        text_append(&text, ")");
    return out;
}

uint32_t round_failed_gpus(const struct round *round)
{
    const struct point *point = round->point;
    uint32_t gpus = 0;
    for (unsigned p = 0; round->children && p < round->crew->pool.count; p++) {
        const struct gpu_child *child = &round->children[p];
        if (child->forced || (child->ended && child->wait_status != 0))
            gpus |= UINT32_C(1) << child->gpu;
    }
    for (unsigned i = 0; round->shm.header && i < point_workers(point); i++) {
        unsigned process = round_process_of(round, i);
        const struct shm_slot *slot = round_slot(round, i);
        if (atomic_load_explicit(&slot->state, memory_order_acquire) == SHM_STATE_FAILED)
            gpus |= UINT32_C(1) << point_gpu_of(point, process);
    }
    return gpus;
}
