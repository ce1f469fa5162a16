#include "orchestrator/crew/crew.h"

#include "orchestrator/crew/environment.h"
#include "orchestrator/crew/program.h"
#include "orchestrator/plan/turns.h"

enum status crew_make(struct crew *crew, const struct point *point, unsigned slots_most,
                      const struct shm_settings *settings)
{
    *crew = (struct crew)CREW_EMPTY;
    crew->started_for = *point;
    /* A program has as many threads as it is started with. */
    if (point_is_program(point))
        crew->started_for.threads = slots_most / point_streams(point);
    enum status status = shm_create(settings, point_processes(point), slots_most, &crew->shm);
    if (status == STATUS_OK)
        status = pool_make(point_processes(point), &crew->pool);
    for (unsigned p = 0; p < crew->pool.count; p++)
        crew->pool.children[p].gpu = point_gpu_of(point, p);
    return status;
}

static enum status worker_spawn(struct crew *crew, const struct session *session, unsigned index)
{
    struct gpu_environment variables;
    struct word_list words = {0};
    const struct session_trace *trace = session->trace;
    const struct point *point = &crew->started_for;
    enum status status =
        gpu_environment_make(session, point, point_gpu_of(point, index), index, &variables);
    if (status != STATUS_OK)
        return status;
    word_list_add(&words, "%s", session->worker_program);
    pool_add_words(&crew->pool, crew->shm.fd, index, &words);
    session_add_driver(session, &words);
    if (trace) {
        word_list_add(&words, "--trace");
        word_list_add(&words, "%d", trace->fd);
    }
    if (trace && trace->cupti) {
        word_list_add(&words, "--cupti");
        word_list_add(&words, "%s", trace->cupti);
    }
    const struct pool_start start = {.argv = &words,
                                     .set = variables.set,
                                     .unset = variables.unset,
                                     .keep_fd = crew->shm.fd,
                                     .trace_fd = trace ? trace->fd : 0};
    status = pool_spawn(&crew->pool, session, index, &start);
    word_list_release(&words);
    return status;
}

static struct program program_of(struct crew *crew)
{
    return (struct program){&crew->pool, &crew->shm, &crew->started_for, &crew->ports,
                            crew->openmp_threads};
}

enum status crew_spawn(struct crew *crew, const struct session *session, unsigned index)
{
    const struct program program = program_of(crew);
    return point_is_program(&crew->started_for) ? program_spawn(&program, session, index)
                                                : worker_spawn(crew, session, index);
}

void crew_bind(struct crew *crew)
{
    const struct program program = program_of(crew);
    if (point_is_program(&crew->started_for))
        program_bind(&program);
}

bool crew_is_fit(struct crew *crew, struct session *session, const struct point *point)
{
    if (crew->pool.count == 0 || !turns_serves(&crew->started_for, point) ||
        point_slots(point) > atomic_load(&crew->shm.header->slots_usable))
        return false;
    if (pool_reap(&crew->pool) >= 0 || !shm_parked(&crew->shm, 0))
        return false;
    return !point_over_mps(point) ||
           (!daemons_tainted(session->daemons) && daemons_check(session->daemons) == STATUS_OK);
}

enum status crew_end(struct crew *crew, struct session *session, uint64_t grace_ns, bool *tainted)
{
    if (!crew->shm.header)
        return STATUS_OK;
    if (!shm_is_stopping(crew->shm.header))
        shm_stop(&crew->shm, 0);
    shm_dismiss(&crew->shm);
    if (point_is_program(&crew->started_for))
        pool_hurry(&crew->pool, grace_ns);
    enum status status =
        pool_end(&crew->pool, session, point_over_mps(&crew->started_for), grace_ns, tainted);
    const struct program program = program_of(crew);
    if (status == STATUS_OK && point_is_program(&crew->started_for))
        status = program_end_orphans(&program);
    return status;
}

/* Whether it is an MPS client that may have had work on the GPU when it ended. */
static bool was_cut_off(const struct crew *crew, unsigned process)
{
    return point_over_mps(&crew->started_for) &&
           atomic_load(&shm_process_at(&crew->shm, process)->cut_off);
}

bool crew_taint(const struct crew *crew, struct session *session, bool failures)
{
    bool any = false;
    for (unsigned p = 0; p < crew->pool.count; p++) {
        const struct gpu_child *child = &crew->pool.children[p];
        if (!child->forced && (!failures || child->wait_status == 0) && !was_cut_off(crew, p))
            continue;
        daemons_taint(session->daemons, child->gpu);
        any = true;
    }
    return any;
}

enum status crew_dismiss(struct crew *crew, struct session *session, uint64_t grace_ns)
{
    bool tainted = false;
    if (!crew->shm.header)
        return STATUS_OK;
    enum status status = crew_end(crew, session, grace_ns, &tainted);
    if (point_over_mps(&crew->started_for))
        crew_taint(crew, session, true);
    crew_release(crew);
    return status;
}

enum status crew_dismiss_after(struct crew *crew, struct session *session, uint64_t grace_ns,
                               enum status status)
{
    struct status_saved saved;
    status_save(status, &saved);
    enum status ended = crew_dismiss(crew, session, grace_ns);
    return ended != STATUS_OK ? ended : status_restore(&saved);
}

void crew_release(struct crew *crew)
{
    pool_release(&crew->pool);
    shm_release(&crew->shm);
    ports_release(&crew->ports);
    *crew = (struct crew)CREW_EMPTY;
}
