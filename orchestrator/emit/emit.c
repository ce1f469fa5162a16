#include "orchestrator/emit/emit.h"

#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "files/results_read.h"
#include "orchestrator/console/report.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/point.h"

void emit_report(FILE *out, const struct emit_request *request)
{
    char name[POINT_TEXT_BYTES], number[32], gpus[32] = "";
    point_name(request->point, name);
    if (point_gpus_of(request->point) > 1)
        snprintf(gpus, sizeof gpus, " on each of %u GPUs", point_gpus_of(request->point));
    fprintf(out, "point %lld (%s): %s%s, %s iterations/s\n",
            (long long)integer_at(request->point, "id"), request->chosen, name, gpus,
            text_number(number_at(request->point, "throughput_ips"), number, sizeof number));
    if (origin_is_emulated(request->header))
        fputs("EMULATED GPU: it was not measured on hardware, and the UUID does not belong to a "
              "real GPU\n",
              out);
    if (!request->command)
        fputs("no command was given: put it where the files have EDIT-ME\n", out);
    fprintf(out, "'%s' is written: its README.md describes how to start, check and stop it\n",
            request->directory);
}

static const json_t *find_point(const json_t *points, json_int_t id)
{
    const json_t *point;
    size_t index;
    json_array_foreach(points, index, point)
    {
        if (integer_at(point, "id") == id)
            return point;
    }
    return NULL;
}

static bool is_ok(const json_t *point)
{
    return point_is_measured(point) && strcmp(text_at(point, "status"), "ok") == 0;
}

static enum status pick_by_id(const json_t *points, const char *path, int64_t id,
                              const json_t **out)
{
    const json_t *point = find_point(points, id);
    if (!point)
        return status_set(STATUS_USAGE,
                          "'%s' has no point %lld: its %zu points are numbered from 0", path,
                          (long long)id, json_array_size(points));
    if (!point_is_measured(point))
        return status_set(STATUS_USAGE, "point %lld of '%s' is %s and has no measurement",
                          (long long)id, path, text_at(point, "status"));
    *out = point;
    return STATUS_OK;
}

/* Picks the point of a results file to deploy: the one of an id, or with id -1 the winner of its
 * tune record, else the best ok point by throughput. chosen: which, in words. *point belongs to
 * results. STATUS_USAGE: there is none, or it has no measurement. */
static enum status pick(const struct results *results, const char *path, int64_t id,
                        const json_t **point, const char **chosen)
{
    const json_t *winner = json_object_get(json_object_get(results->tune, "winner"), "point");
    const json_t *best = NULL, *candidate;
    size_t index;
    *chosen = "asked for by its number";
    if (id < 0 && json_is_integer(winner)) {
        bool unfinished = strcmp(text_at(results->tune, "verdict"), "unfinished") == 0;
        *chosen = unfinished ? "the best so far of a tuning that is not finished"
                             : "the winner of the tuning";
        id = json_integer_value(winner);
    }
    if (id >= 0 || json_is_integer(winner))
        return pick_by_id(results->points, path, id, point);
    json_array_foreach(results->points, index, candidate)
    {
        if (is_ok(candidate) &&
            (!best || number_at(candidate, "throughput_ips") > number_at(best, "throughput_ips")))
            best = candidate;
    }
    if (!best)
        return status_set(STATUS_USAGE,
                          "'%s' has no point that is ok: measure one, or name another with --point",
                          path);
    *chosen = results->tune ? "the highest throughput: the tuning has no winner"
                            : "the highest throughput of the file";
    *point = best;
    return STATUS_OK;
}

int emit_command(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    const char *path = invocation->operands[0];
    struct results results = {0};
    bool asked = options_text(options, OPTION_EMIT_POINT) != NULL;
    struct emit_request request = {
        .results = path,
        .format = options_text(options, OPTION_EMIT_FORMAT),
        .directory = options_text(options, OPTION_EMIT_OUTPUT),
        .command = invocation->rest,
        .port = options_integer(options, OPTION_EMIT_PORT),
        .image = options_text(options, OPTION_EMIT_IMAGE),
    };
    enum status status = emit_check(request.format, request.directory, request.command);
    if (status == STATUS_OK)
        status = results_load(path, NULL, &results);
    if (status == STATUS_OK)
        status = pick(&results, path, asked ? options_integer(options, OPTION_EMIT_POINT) : -1,
                      &request.point, &request.chosen);
    if (status == STATUS_OK) {
        request.header = results.header;
        status = emit_write(&request);
    }
    if (status == STATUS_OK)
        emit_report(stdout, &request);
    int result = report(status);
    results_release(&results);
    return result;
}
