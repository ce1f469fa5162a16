#include "orchestrator/round/internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "orchestrator/plan/plugin.h"

/* With fixed work the workers lengthen their slices as they need to, so that the first ones are
 * short enough for any work. */
#define FIXED_SLICE_NS (20 * NS_PER_US)

/* How many threads each OpenMP pool of a program has: what the user has set, or its worker's part
 * of the CPUs. By itself a pool has one for each CPU in sight, which spins while it waits: several
 * processes that share CPUs spend most of their time on that. */
static unsigned openmp_threads(const struct round *round, uint64_t (*masks)[BIND_WORDS],
                               unsigned workers)
{
    const char *own = getenv(POINT_OPENMP_VARIABLE);
    if (!point_is_program(round->point))
        return 0;
    if (own)
        return own[strspn(own, "0123456789")] == '\0' ? (unsigned)strtoul(own, NULL, 10) : 0;
    return workers > 1 ? bind_cpus_each(masks, workers, bind_usable_cpus(round->session->topology))
                       : 0;
}

/* Which GPU, CPUs and memory are a worker's. */
static enum status set_places(const struct round *round)
{
    const struct point *point = round->point;
    const struct session *session = round->session;
    const struct round_limits *limits = round->limits;
    unsigned streams = point_streams(point), threads = point_workers(point) / streams;
    uint64_t(*masks)[BIND_WORDS] = calloc(threads, sizeof *masks);
    unsigned *gpu_of = calloc(threads, sizeof *gpu_of);
    if (!masks || !gpu_of) {
        free(masks);
        free(gpu_of);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    for (unsigned i = 0; i < threads; i++)
        gpu_of[i] = point_gpu_of(point, i / point->threads);
    unsigned together = point_is_program(point) ? point->threads : 0;
    enum status status =
        bind_plan(session->topology, point->bind, gpu_of, threads, together, masks);
    if (status == STATUS_OK && !round->result->reused)
        round->crew->openmp_threads = openmp_threads(round, masks, threads);
    round->result->openmp_threads = round->crew->openmp_threads;
    for (unsigned i = 0; i < point_workers(point) && status == STATUS_OK; i++) {
        struct shm_slot *slot = round_slot(round, i);
        memcpy(slot->cpus, masks[i / streams], sizeof slot->cpus);
        if (limits->cpu_parts) {
            bind_process_mask(session->topology, point->bind, gpu_of[i / streams], slot->cpus);
            bind_part(slot->cpus, limits->cpu_part, limits->cpu_parts);
        }
    }
    for (unsigned p = 0; p < point_processes(point) && status == STATUS_OK; p++) {
        struct shm_process *process = shm_process_at(&round->shm, p);
        unsigned gpu = point_gpu_of(point, p);
        memcpy(process->device_uuid, gpu_at(session->gpus, gpu)->uuid, sizeof process->device_uuid);
        bind_process_mask(session->topology, point->bind, gpu, process->cpus);
        bind_nodes(session->topology, point->bind, gpu, process->nodes);
    }
    free(gpu_of);
    free(masks);
    return status;
}

/* Fills in what all workers of the point read; longest_ns is the longest window. */
static void make_settings(const struct point *point, uint64_t longest_ns, struct shm_settings *out)
{
    const struct work *work = &point->work;
    *out = (struct shm_settings){
        .memory = work->memory,
        .sync = work->sync,
        .launch = work->launch,
        .schedule = work->schedule,
        .workload = work->workload,
        .kernels = work->kernels,
        .blocks = work->blocks,
        .threads_per_block = work->threads_per_block,
        .spin = work->spin,
        .device = 0, /* the one that CUDA_VISIBLE_DEVICES leaves */
        .bytes = work->bytes,
        .delay_cycles = work->delay_cycles,
        .worked_bytes = work->worked_bytes,
        .slice_ns = work->iterations ? FIXED_SLICE_NS : longest_ns / SHM_SLICES + 1,
        .warmup_ns = work->warmup_ns,
        .iterations = work->iterations,
        .with_mps = point_over_mps(point),
        .server = point_is_server(point),
        .arrival = work->arrival,
        .copies = work->copies,
        .stagger_us = work->stagger_us,
        .streams = point->streams,
        .contexts = point->contexts,
        .rate_units = work->rate_units,
        .arrival_seed = work->arrival_seed,
    };
    if (point->mix)
        out->mix = *point->mix;
}

enum status round_assign(struct round *round)
{
    const struct point *point = round->point;
    struct crew *crew = round->crew;
    struct shm_settings settings;
    make_settings(point, round->limits->max_duration_ns, &settings);
    enum status status = STATUS_OK;
    if (!round->result->reused)
        status = crew_make(crew, point, round->turn->slots_most, &settings);
    round->shm = crew->shm;
    round->children = crew->pool.children;
    if (status == STATUS_OK) {
        shm_reset(&round->shm, &settings, point_processes(point), point->threads);
        status = plugin_of(point, &round->shm.header->plugin);
    }
    if (status == STATUS_OK)
        status = set_places(round);
    if (status == STATUS_OK) {
        round_deal_mix(round);
        round_deal_partitions(round);
        round->shm.header->keeps = round->turn->keeps;
    }
    if (status == STATUS_OK && round->result->reused)
        crew_bind(crew);
    if (status == STATUS_OK)
        shm_assign(&round->shm);
    return status;
}
