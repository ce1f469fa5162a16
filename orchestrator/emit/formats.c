#include "orchestrator/emit/request.h"

#include <string.h>

#include "orchestrator/emit/internal.h"
#include "orchestrator/results/point.h"

static const struct format {
    const char *name;
    emit_format_check *check; /* NULL: it runs all commands */
    emit_format_write *write;
    emit_writer *usage;
} formats[] = {
    {"env", NULL, emit_env_write, emit_env_usage},
    {"systemd", emit_systemd_check, emit_systemd_write, emit_systemd_usage},
    {"slurm", NULL, emit_slurm_write, emit_slurm_usage},
    {"kubernetes", emit_kubernetes_check, emit_kubernetes_write, emit_kubernetes_usage},
    {"compose", NULL, emit_compose_write, emit_compose_usage},
    {"json", NULL, emit_json_write, emit_json_usage},
};

#define FORMATS (sizeof formats / sizeof *formats)

const char *emit_format_name(size_t index)
{
    return index < FORMATS ? formats[index].name : NULL;
}

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

static void write_readme(FILE *file, const struct deployment *deployment, unsigned process)
{
    (void)process;
    emit_readme_write(file, deployment, find_format(deployment->request->format)->usage);
}

static enum status check_format(const struct format *format, const struct deployment *deployment)
{
    return format->check ? format->check(deployment) : STATUS_OK;
}

enum status emit_check(const char *format_name, const char *directory, char *const *command)
{
    const struct emit_request request = {
        .format = format_name, .directory = directory, .command = command};
    const struct format *format = find_format(format_name);
    struct deployment deployment;
    if (!format)
        return status_set(STATUS_USAGE, "'%s' is no format of a deployment", format_name);
    enum status status = emit_output_check(directory);
    if (status != STATUS_OK)
        return status;
    status = deployment_make_command(&request, &deployment);
    if (status != STATUS_OK)
        return status;
    status = check_format(format, &deployment);
    deployment_release(&deployment);
    return status;
}

enum status emit_write(const struct emit_request *request)
{
    struct deployment deployment;
    struct emit_output output;
    const struct format *format = find_format(request->format);
    if (!format)
        return status_set(STATUS_USAGE, "'%s' is no format of a deployment", request->format);
    enum status status = deployment_make(request, &deployment);
    if (status != STATUS_OK)
        return status;
    status = check_format(format, &deployment);
    if (status == STATUS_OK)
        status = emit_output_open(request->directory, &output);
    if (status == STATUS_OK) {
        format->write(&deployment, &output);
        emit_output_file(&output, "README.md", false, write_readme, &deployment, 0);
        status = emit_output_close(&output);
    }
    deployment_release(&deployment);
    return status;
}

static const json_t *find_point(const json_t *points, json_int_t id)
{
    const json_t *point;
    size_t index;
    json_array_foreach(points, index, point)
    {
        if (point_integer(point, "id") == id)
            return point;
    }
    return NULL;
}

static bool is_ok(const json_t *point)
{
    return point_is_measured(point) && strcmp(point_string(point, "status"), "ok") == 0;
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
                          (long long)id, path, point_string(point, "status"));
    *out = point;
    return STATUS_OK;
}

enum status emit_pick(const struct results *results, const char *path, int64_t id,
                      const json_t **point, char *chosen, size_t chosen_size)
{
    const json_t *winner = json_object_get(results->tune, "winner");
    const json_t *best = NULL, *candidate;
    size_t index;
    enum status status;
    if (id >= 0) {
        status = pick_by_id(results->points, path, id, point);
        if (status == STATUS_OK)
            snprintf(chosen, chosen_size, "asked for by its number");
        return status;
    }
    if (json_is_integer(json_object_get(winner, "point"))) {
        status = pick_by_id(results->points, path, point_integer(winner, "point"), point);
        if (status == STATUS_OK)
            snprintf(chosen, chosen_size, "the winner of the tuning");
        return status;
    }
    json_array_foreach(results->points, index, candidate)
    {
        if (is_ok(candidate) && (!best || point_number(candidate, "throughput_ips") >
                                              point_number(best, "throughput_ips")))
            best = candidate;
    }
    if (!best)
        return status_set(STATUS_USAGE,
                          "'%s' has no point that is ok: measure one, or name another with --point",
                          path);
    snprintf(chosen, chosen_size,
             results->tune ? "the highest throughput: the tuning has no winner"
                           : "the highest throughput of the file");
    *point = best;
    return STATUS_OK;
}
