#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/text.h"
#include "orchestrator/campaign/internal.h"
#include "orchestrator/crew/environment.h"
#include "wire/lengths.h"
#include "wire/message.h"

/* As a share: what is found is within LENGTH_TOLERANCE, and one that is coarse within this. */
#define LENGTHS_DIFFER 0.05

/* Kernels that have a duration, each once. */
struct asked {
    struct workload_step steps[WORKER_LENGTHS_MOST];
    unsigned count;
};

static bool is_like(const struct workload_step *a, const struct workload_step *b)
{
    return a->kind == b->kind && a->blocks == b->blocks && a->threads == b->threads &&
           a->shared == b->shared && a->asked_ns == b->asked_ns;
}

/* Adds a kernel that was not asked for yet. */
static enum status asked_add(struct asked *asked, const struct workload_step *step)
{
    for (unsigned i = 0; i < asked->count; i++)
        if (is_like(&asked->steps[i], step))
            return STATUS_OK;
    if (asked->count == WORKER_LENGTHS_MOST)
        return status_set(STATUS_USAGE, "more than %d kernels of different durations",
                          WORKER_LENGTHS_MOST);
    asked->steps[asked->count++] = *step;
    return STATUS_OK;
}

static const char *amount_name(const struct workload_step *step)
{
    return step->kind == STEP_MEMORY ? "bytes" : "spin";
}

/* Whether an entry is this step's; it comes from a file, and may be anything. */
static bool entry_tells(const json_t *entry, const struct workload_step *step, uint64_t *amount)
{
    const char *bound = text_at(entry, "bound");
    json_int_t found = integer_at(entry, amount_name(step));
    double asked_us = json_number_value(json_object_get(entry, "asked_us"));
    if (strcmp(bound, workload_bound_name(step->kind)) != 0 ||
        integer_at(entry, "blocks") != (json_int_t)step->blocks ||
        integer_at(entry, "threads") != (json_int_t)step->threads ||
        integer_at(entry, "shared") != (json_int_t)step->shared ||
        fabs(asked_us * 1e3 - (double)step->asked_ns) > 0.5 || found <= 0 ||
        (step->kind != STEP_MEMORY && found > INT32_MAX))
        return false;
    *amount = (uint64_t)found;
    return true;
}

static bool is_known(const json_t *lengths, const struct workload_step *step, uint64_t *amount)
{
    for (size_t i = 0; i < json_array_size(lengths); i++)
        if (entry_tells(json_array_get(lengths, i), step, amount))
            return true;
    return false;
}

/* Fills in what is known, and gathers the rest. */
static enum status take_known(struct point *points, size_t count, const json_t *lengths,
                              struct asked *asked)
{
    enum status status = STATUS_OK;
    asked->count = 0;
    for (size_t p = 0; p < count; p++) {
        for (unsigned s = 0; points[p].mix && s < WORKLOAD_STEPS && status == STATUS_OK; s++) {
            struct workload_step *step = &points[p].mix->steps[s];
            if (step->asked_ns && !is_known(lengths, step, &step->amount))
                status = asked_add(asked, step);
        }
    }
    return status;
}

static enum status add_found(const struct asked *asked, const struct worker_lengths *answer,
                             json_t *lengths)
{
    for (unsigned i = 0; i < answer->count; i++) {
        const struct workload_step *step = &asked->steps[i];
        json_t *entry =
            json_pack("{s:s, s:i, s:i, s:f, s:f, s:I}", "bound", workload_bound_name(step->kind),
                      "blocks", (int)step->blocks, "threads", (int)step->threads, "asked_us",
                      (double)step->asked_ns / 1e3, "got_us", answer->found[i].got_ns / 1e3,
                      amount_name(step), (json_int_t)answer->found[i].amount);
        if (step->shared)
            json_object_set_new(entry, "shared", json_integer(step->shared));
        if (!entry || json_array_append_new(lengths, entry) != 0)
            return status_set(STATUS_MEMORY, "out of memory for the lengths of kernels");
    }
    return STATUS_OK;
}

/* What the worker program wrote, or what kept it from writing. */
static enum status take_answer(const struct child_result *result, const struct asked *asked,
                               struct worker_lengths *answer)
{
    const struct message_begin begin = {WORKER_LENGTHS_MAGIC, WORKER_LENGTHS_VERSION};
    char ending[64], text[WORKLOAD_STEP_TEXT];
    if (!WIFEXITED(result->wait_status) || WEXITSTATUS(result->wait_status) != 0)
        return status_set(STATUS_WORKER, "measuring the lengths of kernels: %s",
                          child_ending_text(result->wait_status, ending, sizeof ending));
    enum status status = message_check("lengths of kernels", begin, sizeof *answer, result->output,
                                       result->output_bytes);
    if (status != STATUS_OK)
        return status;
    memcpy(answer, result->output, sizeof *answer);
    if (answer->count > asked->count ||
        (answer->status == STATUS_OK && answer->count != asked->count))
        return status_set(STATUS_PROTOCOL, "lengths of kernels: %u instead of %u", answer->count,
                          asked->count);
    answer->error[sizeof answer->error - 1] = '\0';
    if (answer->status == STATUS_OK)
        return STATUS_OK;
    if (answer->status != STATUS_UNSUPPORTED || answer->count == asked->count)
        return status_set((enum status)answer->status, "measuring the lengths of kernels: %s",
                          answer->error);
    return status_set(STATUS_UNSUPPORTED, "a kernel cannot be as long as '%s' asks: %s",
                      workload_step_text(&asked->steps[answer->count], text), answer->error);
}

/* On one GPU; steps with an amount are only measured. */
static enum status ask(struct session *session, unsigned gpu, const struct asked *asked,
                       uint64_t timeout_ns, struct worker_lengths *answer)
{
    char kernels[WORKER_LENGTHS_TEXT];
    struct text text = {.at = kernels, .size = sizeof kernels};
    struct gpu_environment variables;
    struct child_result result;
    text_append(&text, "%s", gpu_at(session->gpus, gpu)->uuid);
    for (unsigned i = 0; i < asked->count; i++) {
        const struct workload_step *step = &asked->steps[i];
        text_append(&text, ",%u:%u:%u:%u:%llu", step->kind, step->blocks, step->threads,
                    step->shared, (unsigned long long)step->asked_ns);
        if (step->amount)
            text_append(&text, ":%llu", (unsigned long long)step->amount);
    }
    const char *const argv[] = {
        session->worker_program, "--lengths", kernels, *session->driver_path ? "--driver" : NULL,
        session->driver_path,    NULL};
    const struct point alone = {.layout = LAYOUT_THREADS};
    enum status status = gpu_environment_make(session, &alone, gpu, 0, &variables);
    if (status != STATUS_OK)
        return status;
    const struct child_options options = {
        .argv = argv,
        .env_set = variables.set,
        .env_unset = variables.unset,
        .keep = &session->machine_fd,
        .keep_count = session->machine_fd >= 0,
        .output_cap = sizeof *answer,
        .deadline_ns = clock_now_ns() + timeout_ns,
        .interrupt = session->signal_fd >= 0 ? &session->signal_fd : NULL,
    };
    status = child_run(&options, &result);
    if (status == STATUS_TIMEOUT)
        return status_set(STATUS_TIMEOUT,
                          "the lengths of kernels were not found within %.3g s: give a longer "
                          "--timeout",
                          (double)timeout_ns / 1e9);
    if (status == STATUS_INTERRUPTED)
        return session_check_signals(session);
    if (status != STATUS_OK)
        return status;
    status = take_answer(&result, asked, answer);
    child_result_release(&result);
    return status;
}

static enum status find(struct session *session, struct point *points, size_t count,
                        uint64_t timeout_ns, bool quiet, campaign_notify notify, json_t *lengths)
{
    struct asked asked;
    struct worker_lengths answer = {0};
    uint64_t begin_ns = clock_now_ns();
    enum status status = take_known(points, count, lengths, &asked);
    if (status != STATUS_OK || asked.count == 0)
        return status;
    status = ask(session, 0, &asked, timeout_ns, &answer);
    if (status == STATUS_OK)
        status = add_found(&asked, &answer, lengths);
    if (status == STATUS_OK)
        status = take_known(points, count, lengths, &asked);
    if (status == STATUS_OK && !quiet)
        campaign_notify_text(
            notify, "found the length%s of %u kernel%s in %.1f s", answer.count == 1 ? "" : "s",
            answer.count, answer.count == 1 ? "" : "s", (double)(clock_now_ns() - begin_ns) / 1e9);
    return status;
}

/* -- other GPUs -------------------------------------------------------------------------------- */

/* The entry of a step's kernel, found before. */
static json_t *entry_of(json_t *lengths, const struct workload_step *step)
{
    uint64_t amount;
    for (size_t i = 0; i < json_array_size(lengths); i++)
        if (entry_tells(json_array_get(lengths, i), step, &amount) && amount == step->amount)
            return json_array_get(lengths, i);
    return NULL;
}

/* Of GPU number gpu, from the first on. NULL: not measured. */
static json_t *of_gpu(const json_t *entry, unsigned gpu)
{
    json_t *other, *others = json_object_get(entry, "other_gpus");
    size_t index;
    json_array_foreach(others, index, other)
    {
        if (integer_at(other, "gpu") == (json_int_t)gpu)
            return other;
    }
    return NULL;
}

/* Kernels of points that use this GPU, not yet measured there. */
static enum status gather_unmeasured(const struct point *points, size_t count, json_t *lengths,
                                     unsigned gpu, struct asked *asked)
{
    enum status status = STATUS_OK;
    asked->count = 0;
    for (size_t p = 0; p < count; p++) {
        bool uses = points[p].mix && point_gpus(&points[p]) > gpu;
        for (unsigned s = 0; uses && s < WORKLOAD_STEPS && status == STATUS_OK; s++) {
            const struct workload_step *step = &points[p].mix->steps[s];
            if (step->asked_ns && !of_gpu(entry_of(lengths, step), gpu))
                status = asked_add(asked, step);
        }
    }
    return status;
}

/* Notes how long kernels take on another GPU, and reports those that differ there. */
static enum status add_other(const struct asked *asked, const struct worker_lengths *answer,
                             unsigned gpu, campaign_notify notify, json_t *lengths)
{
    for (unsigned i = 0; i < answer->count; i++) {
        json_t *entry = entry_of(lengths, &asked->steps[i]);
        double first_us = json_number_value(json_object_get(entry, "got_us"));
        double got_us = answer->found[i].got_ns / 1e3;
        json_t *other = json_pack("{s:i, s:f}", "gpu", (int)gpu, "got_us", got_us);
        json_t *others = json_object_get(entry, "other_gpus");
        if (entry && !others) {
            others = json_array();
            json_object_set_new(entry, "other_gpus", others);
        }
        if (!other || json_array_append_new(others, other) != 0)
            return status_set(STATUS_MEMORY, "out of memory for the lengths of kernels");
        char text[WORKLOAD_STEP_TEXT];
        if (fabs(got_us / first_us - 1.0) > LENGTHS_DIFFER)
            campaign_notify_text(
                notify,
                "'%s' takes %.4g us on GPU %u and %.4g us on GPU 0, for which its work "
                "was found: GPUs get the same work, and not the same time",
                workload_step_text(&asked->steps[i], text), got_us, gpu, first_us);
    }
    return STATUS_OK;
}

/* The work was found on the first GPU; whether it takes as long on the others is only looked at. */
static enum status measure_others(struct session *session, const struct point *points, size_t count,
                                  uint64_t timeout_ns, campaign_notify notify, json_t *lengths)
{
    struct asked asked;
    struct worker_lengths answer = {0};
    enum status status = STATUS_OK;
    for (unsigned gpu = 1; gpu < session->gpus->count && status == STATUS_OK; gpu++) {
        status = gather_unmeasured(points, count, lengths, gpu, &asked);
        if (status != STATUS_OK || asked.count == 0)
            continue;
        status = ask(session, gpu, &asked, timeout_ns, &answer);
        if (status == STATUS_OK)
            status = add_other(&asked, &answer, gpu, notify, lengths);
    }
    return status;
}

enum status lengths_find(struct session *session, struct point *points, size_t count,
                         uint64_t timeout_ns, bool quiet, campaign_notify notify, json_t *lengths)
{
    enum status status = find(session, points, count, timeout_ns, quiet, notify, lengths);
    if (status == STATUS_OK)
        status = measure_others(session, points, count, timeout_ns, notify, lengths);
    return status;
}
