#include <stdio.h>
#include <string.h>

#include "files/results_read.h"
#include "orchestrator/console/report.h"
#include "orchestrator/campaign/plugin.h"
#include "orchestrator/campaign/campaign.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/table.h"

#define HEADER_MOST (1 << 20)

enum status sweep_begin_file(struct sweep *sweep, bool resumed, enum status so_far)
{
    enum status status = so_far;
    if (status == STATUS_OK)
        status = results_write(&sweep->writer, sweep->header);
    if (status == STATUS_OK)
        status = sweep_write_beyond(sweep);
    if (status != STATUS_OK && sweep->writer.regular && !resumed)
        remove(sweep->writer.path);
    return status;
}

json_t *sweep_measured_points(const struct sweep *sweep)
{
    json_t *points = json_array();
    for (size_t i = 0; i < sweep->plan.count; i++)
        if (sweep->records[i])
            json_array_append(points, sweep->records[i]);
    return points;
}

/* A shard that is queued again may come to another node. Its points for reference tell how that
 * one's GPU differs; without any, what is in one file must be of one GPU. */
static bool may_move(const struct sweep *sweep)
{
    return sweep->shard.count > 0 && !sweep->shard.fleet && sweep->shard.reference > 0;
}

/* gpus: the header's, absent with one. */
static bool same_gpus(const struct sweep *sweep, const json_t *gpus)
{
    const struct session *session = &sweep->session;
    size_t count = json_array_size(gpus);
    if ((count ? count : 1) != session->gpus->count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *uuid = json_string_value(json_object_get(json_array_get(gpus, i), "uuid"));
        if (!uuid || strcmp(uuid, gpu_at(session->gpus, i)->uuid) != 0)
            return false;
    }
    return true;
}

/* Takes over the finished points of an earlier run, if it is the same part of the same plan on the
 * same GPUs. */
static enum status load_earlier(struct sweep *sweep, const char *path, struct results *results)
{
    enum status status = results_load(path, results);
    if (status != STATUS_OK)
        return status;
    const char *plan_id = json_string_value(json_object_get(results->header, "plan_id"));
    const char *uuid =
        json_string_value(json_object_get(json_object_get(results->header, "gpu"), "uuid"));
    if (!plan_id || strcmp(plan_id, sweep->plan.id) != 0)
        return status_set(STATUS_USAGE,
                          "'%s' holds another plan: give the job and options that it was begun "
                          "with, or another name",
                          path);
    const char *rebuilt = plugin_rebuilt(
        json_object_get(json_object_get(results->header, "workload"), "plugins"), sweep->plugins);
    if (rebuilt)
        return status_set(STATUS_USAGE,
                          "'%s' was measured with another build of '%s': give another name, or the "
                          "plug-in that it was begun with",
                          path, rebuilt);
    json_t *shard = sweep_shard_json(sweep);
    bool same = shard && json_equal(shard, json_object_get(results->header, "shard"));
    json_decref(shard);
    if (!same && (sweep->shard.count > 0 || json_object_get(results->header, "shard"))) {
        char name[64];
        return status_set(STATUS_USAGE,
                          "'%s' is of another part of the plan, and this is %s: give the --shard, "
                          "--fleet, --reference and --seed that it was begun with, or another name",
                          path, shard_name(&sweep->shard, name, sizeof name));
    }
    bool other_gpus = !same_gpus(sweep, json_object_get(results->header, "gpus"));
    bool moved = !uuid || strcmp(uuid, gpu_at(sweep->session.gpus, 0)->uuid) != 0;
    if (moved && !may_move(sweep))
        return status_set(STATUS_USAGE, "'%s' was measured on GPU %s; this is %s", path,
                          uuid ? uuid : "unknown", gpu_at(sweep->session.gpus, 0)->uuid);
    if (other_gpus && !may_move(sweep))
        return status_set(STATUS_USAGE,
                          "'%s' was measured on other GPUs, or in another order: give the --device "
                          "that it was begun with",
                          path);
    moved |= other_gpus;
    if (moved)
        fprintf(stderr,
                "mpsweep: '%s' was begun on GPU %s: points for reference are measured again\n",
                path, uuid ? uuid : "unknown");
    json_t *lengths = json_object_get(results->header, "steps");
    if (!moved)
        json_array_extend(sweep->calibrations, results->calibrations);
    if (!moved && json_is_array(lengths))
        sweep->lengths = json_deep_copy(lengths);
    size_t wanted =
        sweep->takes_any_rounds ? 1 : (size_t)options_integer(sweep->options, OPTION_ROUNDS);
    for (size_t i = 0; i < json_array_size(results->points); i++) {
        json_t *record = json_array_get(results->points, i);
        const char *word = point_string(record, "status");
        json_int_t id = json_integer_value(json_object_get(record, "id"));
        bool measured = strcmp(word, "ok") == 0 || strcmp(word, "unconverged") == 0;
        size_t rounds = json_array_size(json_object_get(record, "rounds"));
        bool finished = (measured && rounds >= wanted) || strcmp(word, "infeasible") == 0;
        if (!finished || id < 0 || (size_t)id >= sweep->plan.count)
            continue;
        if (moved && sweep->owner[id] == SHARD_ALL)
            continue;
        /* Left out earlier: that holds as long as the limits do. */
        if (json_object_get(record, "limits_found") && !sweep->beyond[id])
            continue;
        json_decref(sweep->records[id]);
        sweep->records[id] = json_incref(record);
        sweep->beyond[id] = false;
    }
    return STATUS_OK;
}

/* A file that a kill or a full disk left without even its header: to go on with it is to begin. It
 * must look like ours as far as it goes. */
static bool is_cut_in_header(const char *path)
{
    static const char begin[] = "{\"type\":\"header\"";
    FILE *file = fopen(path, "re");
    int byte = EOF;
    size_t bytes = 0;
    if (!file)
        return false;
    while ((byte = fgetc(file)) != EOF && byte != '\n' && bytes < HEADER_MOST) {
        if (bytes < sizeof begin - 1 && byte != begin[bytes])
            break;
        bytes++;
    }
    bool failed = ferror(file) != 0;
    fclose(file);
    return byte == EOF && !failed;
}

enum status sweep_open_results(struct sweep *sweep)
{
    const char *path = sweep_output(sweep);
    bool resume = options_switch(sweep->options, OPTION_RESUME);
    struct results results = {0};
    enum status status = STATUS_OK;
    if (!path)
        return STATUS_OK;
    if (resume && is_cut_in_header(path)) {
        status = results_append(path, 0, &sweep->writer);
    } else if (resume) {
        status = load_earlier(sweep, path, &results);
        if (status == STATUS_OK)
            status = results_append(path, (long long)results.whole_bytes, &sweep->writer);
        results_release(&results);
    } else {
        status = results_create(path, &sweep->writer);
    }
    return status;
}

void sweep_print_results(const struct sweep *sweep, const json_t *points, const json_t *footer)
{
    const char *format = options_text(sweep->options, OPTION_FORMAT);
    if (strcmp(format, "csv") == 0) {
        table_print_csv(stdout, sweep->header, points);
    } else if (strcmp(format, "json") == 0) {
        const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(10);
        json_dumpf(sweep->header, stdout, flags);
        fputc('\n', stdout);
        for (size_t i = 0; i < json_array_size(sweep->calibrations); i++) {
            json_dumpf(json_array_get(sweep->calibrations, i), stdout, flags);
            fputc('\n', stdout);
        }
        for (size_t i = 0; i < json_array_size(points); i++) {
            json_dumpf(json_array_get(points, i), stdout, flags);
            fputc('\n', stdout);
        }
        json_dumpf(footer, stdout, flags);
        fputc('\n', stdout);
    } else {
        table_print(stdout, sweep->header, points);
    }
}

int sweep_exit_status(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->plan.count; i++) {
        const char *word =
            sweep->records[i] ? point_string(sweep->records[i], "status") : "interrupted";
        if (strcmp(word, "failed") == 0)
            return EXIT_SOME_FAILED;
    }
    return EXIT_ALL_MEASURED;
}
