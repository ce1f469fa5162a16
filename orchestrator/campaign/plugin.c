#include "orchestrator/campaign/plugin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/json.h"
#include "include/mpsweep/workload.h"
#include "mps/control.h"
#include "orchestrator/plan/plugin.h"
#include "wire/plugin_answer.h"

static enum status read_answer(const struct child_result *result, struct plugin_answer *out)
{
    char ending[64];
    if (!WIFEXITED(result->wait_status) || WEXITSTATUS(result->wait_status) != 0)
        return status_set(STATUS_USAGE, "the process that loaded and described it ended: %s",
                          child_ending_text(result->wait_status, ending, sizeof ending));
    if (result->output_bytes == 0)
        return status_set(STATUS_USAGE, "it ended the process that loaded and described it");
    enum status status = plugin_answer_check(
        (const struct plugin_answer *)(const void *)result->output, result->output_bytes);
    if (status != STATUS_OK)
        return status;
    memcpy(out, result->output, sizeof *out);
    return out->status == STATUS_OK ? STATUS_OK : status_set(STATUS_USAGE, "%s", out->error);
}

static enum status ask(const struct session *session, const struct work_plugin *plugin,
                       uint64_t timeout_ns, struct plugin_answer *out)
{
    struct mps_environment environment;
    const char *const argv[] = {session->worker_program, "--describe-workload", plugin->path,
                                plugin->options, NULL};
    mps_environment_make(daemons_at(session->daemons, 0)->off_directory, NULL, NULL, &environment);
    /* Whatever it does when it is loaded, it must not do to a GPU or to a foreign daemon. */
    const char *const set[] = {environment.set[0], "CUDA_VISIBLE_DEVICES=", NULL};
    const struct child_options options = {
        .argv = argv,
        .env_set = set,
        .env_unset = environment.unset,
        .output_cap = sizeof *out + 1,
        .deadline_ns = clock_now_ns() + timeout_ns,
        .interrupt = session->signal_fd >= 0 ? &session->signal_fd : NULL,
    };
    struct child_result result;
    enum status status = child_run(&options, &result);
    if (status == STATUS_TIMEOUT)
        return status_set(STATUS_USAGE, "it was not loaded and described within %.3g s",
                          (double)timeout_ns / 1e9);
    if (status != STATUS_OK)
        return status;
    status = read_answer(&result, out);
    child_result_release(&result);
    return status;
}

/* In a process without a GPU. */
static enum status ask_point(const struct session *session, const struct point *point,
                             uint64_t timeout_ns, struct plugin_answer *out)
{
    static struct work_plugin plugin;
    const char *path = point_workload(point);
    enum status status = plugin_of(point, &plugin);
    if (status != STATUS_OK)
        return status;
    *out = (struct plugin_answer){0};
    status = ask(session, &plugin, timeout_ns, out);
    if (status == STATUS_OK || status == STATUS_INTERRUPTED)
        return status;
    /* It is not looked for where the job file is. */
    if (out->status == STATUS_NOT_FOUND && *path != '/')
        status = status_set(status, "%s in '%.*s'", out->error,
                            (int)(strlen(plugin.path) - strlen(path) - 1), plugin.path);
    return status_prefix(status, "workload '%s': ", path);
}

/* A rebuilt one may measure something else under the same name. */
static enum status find_digest(const struct point *point, char *text, size_t size)
{
    static struct work_plugin plugin;
    uint64_t digest;
    enum status status = plugin_of(point, &plugin);
    if (status == STATUS_OK)
        status = digest_file(plugin.path, &digest);
    if (status != STATUS_OK)
        return status_prefix(status, "workload '%s': ", point_workload(point));
    snprintf(text, size, "%016" PRIx64, digest);
    return STATUS_OK;
}

static json_t *describe(const struct point *point, const struct plugin_answer *answer,
                        const char *digest)
{
    static const struct {
        unsigned bit;
        const char *word;
    } words[] = {
        {MPSWEEP_WORKLOAD_GRAPH_SAFE, "graph-safe"},
        {MPSWEEP_WORKLOAD_THREAD_SAFE, "thread-safe"},
        {MPSWEEP_WORKLOAD_CHECKS, "checks"},
        {MPSWEEP_WORKLOAD_STREAM_SAFE, "stream-safe"},
    };
    json_t *capabilities = json_array();
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (answer->capabilities & words[i].bit)
            json_array_append_new(capabilities, json_string(words[i].word));
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:s, s:i, s:o}", "workload", point_workload(point), "name",
                  json_text(answer->name), "version", json_text(answer->plugin_version), "digest",
                  digest, "abi", (int)answer->abi, "capabilities", capabilities);
    if (object && point->workload_options)
        json_object_set_new(object, "workload_options", json_string(point->workload_options));
    return object;
}

static void note(struct plan *plan, size_t first, const struct plugin_answer *answer)
{
    const struct point *asked = &plan->points[first];
    for (size_t i = first; i < plan->count; i++) {
        struct point *point = &plan->points[i];
        if (!plugin_is_same(asked, point))
            continue;
        point->not_graph_safe = !(answer->capabilities & MPSWEEP_WORKLOAD_GRAPH_SAFE);
        point->not_thread_safe = !(answer->capabilities & MPSWEEP_WORKLOAD_THREAD_SAFE);
        point->not_stream_safe = !(answer->capabilities & MPSWEEP_WORKLOAD_STREAM_SAFE);
    }
}

enum status plugin_ask_all(const struct session *session, struct plan *plan, uint64_t timeout_ns,
                           json_t **out)
{
    json_t *array = json_array();
    enum status status = array ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < plan->count && status == STATUS_OK; i++) {
        struct plugin_answer answer;
        char digest[17];
        const struct point *point = &plan->points[i];
        bool known = point->work.workload != WORKLOAD_PLUGIN;
        for (size_t j = 0; j < i && !known; j++)
            known = plugin_is_same(point, &plan->points[j]);
        if (known)
            continue;
        status = ask_point(session, point, timeout_ns, &answer);
        if (status == STATUS_OK)
            status = find_digest(point, digest, sizeof digest);
        if (status != STATUS_OK)
            break;
        note(plan, i, &answer);
        if (json_array_append_new(array, describe(point, &answer, digest)) != 0)
            status = status_set(STATUS_MEMORY, "out of memory");
    }
    if (status != STATUS_OK) {
        json_decref(array);
        return status;
    }
    *out = array;
    return STATUS_OK;
}
