/* Prints how far a run is, and cancels it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/console/report.h"
#include "orchestrator/slurm/internal.h"
#include "orchestrator/slurm/slurm.h"

/* In a word or two. Returns text. */
static const char *state_text(const struct slurm_view *view, unsigned i, char *text, size_t size)
{
    const struct slurm_job *job = slurm_view_job(view, i);
    switch (slurm_view_state(view, i)) {
    case SLURM_SHARD_FINISHED:
        snprintf(text, size, "finished");
        break;
    case SLURM_SHARD_AT_WORK:
        snprintf(text, size, "%s", job->state);
        break;
    case SLURM_SHARD_BROKEN:
        snprintf(text, size, "broken");
        break;
    default:
        snprintf(text, size, "%s%s%s%s", view->shards[i].path[0] ? "unfinished" : "missing",
                 job ? " (" : "", job ? job->state : "", job ? ")" : "");
    }
    return text;
}

static const char *points_text(const struct slurm_shard *shard, char *text, size_t size)
{
    size_t recorded = shard->done + shard->failed;
    if (shard->points == 0)
        snprintf(text, size, "-");
    else if (shard->failed > 0)
        snprintf(text, size, "%zu/%zu, %zu failed", recorded, shard->points, shard->failed);
    else
        snprintf(text, size, "%zu/%zu", recorded, shard->points);
    return text;
}

/* Finds what is in a shard's way, unless it is finished. */
static const char *trouble(const struct slurm_view *view, const struct slurm_shard *shard,
                           const struct slurm_job *job)
{
    if (shard->broken[0])
        return shard->broken;
    if (shard->published)
        return "";
    if (job && strcmp(job->state, "pending") == 0)
        return view->run.fleet && strcmp(job->reason, "BadConstraints") == 0
                   ? "BadConstraints: every node has measured another shard"
                   : job->reason;
    return shard->error;
}

static const char *node_of(const struct slurm_shard *shard, const struct slurm_job *job)
{
    return job && job->node[0] ? job->node : shard->node;
}

static void print_shards(const struct slurm_view *view)
{
    static const char *const titles[] = {"state", "node",      "points",
                                         "since", "time left", "last error, or why it waits"};
    struct columns table = {0};
    columns_add(&table, "shard", COLUMNS_RIGHT);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        columns_add(&table, titles[i], COLUMNS_LEFT);
    for (unsigned i = 0; i < view->run.shards; i++) {
        const struct slurm_shard *shard = &view->shards[i];
        const struct slurm_job *job = slurm_view_job(view, i);
        bool at_work = slurm_view_state(view, i) == SLURM_SHARD_AT_WORK;
        char state[64], points[64];
        columns_cell(&table, "%u", i);
        columns_cell(&table, "%s", state_text(view, i, state, sizeof state));
        columns_cell(&table, "%s", node_of(shard, job));
        columns_cell(&table, "%s", points_text(shard, points, sizeof points));
        columns_cell(&table, "%s", at_work ? job->since : "");
        columns_cell(&table, "%s", at_work ? job->left : "");
        columns_cell(&table, "%s", trouble(view, shard, job));
        columns_end_row(&table);
    }
    columns_print(stdout, &table, 0);
}

static void print_table(const struct slurm_view *view)
{
    const json_t *manifest = view->run.manifest;
    char hint[SLURM_HINT_BYTES];
    long long points = json_integer_value(json_object_get(manifest, "plan"));
    printf("%s of %lld point%s on %u node%s, '%s'\n\n", view->run.fleet ? "fleet" : "shards",
           points, points == 1 ? "" : "s", view->run.shards, view->run.shards == 1 ? "" : "s",
           view->run.directory);
    print_shards(view);
    size_t at_work = view->states[SLURM_SHARD_AT_WORK], left = view->states[SLURM_SHARD_LEFT];
    size_t broken = view->states[SLURM_SHARD_BROKEN];
    printf("\n%zu finished, %zu %s, %zu %s left", view->states[SLURM_SHARD_FINISHED], at_work,
           at_work == 1 ? "runs or waits" : "run or wait", left, left == 1 ? "is" : "are");
    if (broken)
        printf(", %zu %s broken", broken, broken == 1 ? "is" : "are");
    if (view->states[SLURM_SHARD_LEFT])
        printf(": %s", slurm_hint(view->run.directory, "submit --again", hint));
    else if (view->states[SLURM_SHARD_FINISHED] == view->run.shards)
        printf(": %s", slurm_hint(view->run.directory, "collect", hint));
    putchar('\n');
    for (unsigned i = 0; i < view->run.shards; i++)
        slurm_view_print_same(view, i, stdout, "");
}

static json_t *text_or_null(const char *text)
{
    return *text ? json_string(text) : json_null();
}

static json_t *shard_object(const struct slurm_view *view, unsigned i)
{
    static const char *const names[] = {"finished", "at work", "left", "broken"};
    const struct slurm_shard *shard = &view->shards[i];
    const struct slurm_job *job = slurm_view_job(view, i);
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o}", "shard",
                     (int)i, "state", names[slurm_view_state(view, i)], "job_state",
                     text_or_null(job ? job->state : ""), "node", text_or_null(node_of(shard, job)),
                     "since", text_or_null(job ? job->since : ""), "time_left",
                     text_or_null(job && slurm_job_is_active(job) ? job->left : ""), "points",
                     (json_int_t)shard->points, "done", (json_int_t)shard->done, "failed",
                     (json_int_t)shard->failed, "file", text_or_null(shard->path), "error",
                     text_or_null(trouble(view, shard, job)), "same_node_as",
                     shard->same_as == SLURM_NO_SHARD ? json_null() : json_integer(shard->same_as));
}

static void print_json(const struct slurm_view *view)
{
    json_t *shards = json_array();
    for (unsigned i = 0; i < view->run.shards; i++)
        json_array_append_new(shards, shard_object(view, i));
    json_t *object =
        json_pack("{s:s, s:s, s:O, s:O, s:b, s:I, s:I, s:I, s:I, s:I, s:o}", "directory",
                  view->run.directory, "purpose", view->run.fleet ? "fleet" : "shard", "plan",
                  json_object_get(view->run.manifest, "plan"), "submissions",
                  slurm_run_submissions(&view->run), "slurm_answered", view->asked, "finished",
                  (json_int_t)view->states[SLURM_SHARD_FINISHED], "at_work",
                  (json_int_t)view->states[SLURM_SHARD_AT_WORK], "left",
                  (json_int_t)view->states[SLURM_SHARD_LEFT], "broken",
                  (json_int_t)view->states[SLURM_SHARD_BROKEN], "same", (json_int_t)view->same,
                  "shards", shards);
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
}

int slurm_status_command(const struct invocation *invocation)
{
    struct slurm_view view;
    int result;
    enum status status = slurm_view_look(invocation->operands[0], true, &view);
    if (status != STATUS_OK) {
        result = report(status);
    } else {
        if (strcmp(options_text(invocation->options, OPTION_SLURM_FORMAT), "json") == 0)
            print_json(&view);
        else
            print_table(&view);
        bool wrong = view.states[SLURM_SHARD_LEFT] || view.states[SLURM_SHARD_BROKEN] || view.same;
        result = wrong                              ? EXIT_SOME_FAILED
                 : view.states[SLURM_SHARD_AT_WORK] ? EXIT_AT_WORK
                                                    : EXIT_ALL_MEASURED;
    }
    slurm_view_release(&view);
    return result;
}

int slurm_cancel_command(const struct invocation *invocation)
{
    struct slurm_run run;
    char hint[SLURM_HINT_BYTES];
    enum status status = slurm_run_load(invocation->operands[0], &run);
    if (status != STATUS_OK)
        return report(status);
    int lock = -1;
    /* A job that another mpsweep submits right now is not in the manifest yet. A user who may not
     * write here submits nothing. */
    status = slurm_run_lock(&run, &lock);
    if (status != STATUS_BUSY)
        status = slurm_scancel(&run);
    if (status == STATUS_OK)
        printf("the jobs are cancelled; what is measured stays: %s\n",
               slurm_hint(run.directory, "submit --again", hint));
    if (lock >= 0)
        close(lock);
    slurm_run_release(&run);
    return report(status);
}
